"""From what a dataset declares to hierarchies that can be climbed, with the faults of all columns at once."""

import json
from collections.abc import Collection, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from components.anonymization.hierarchies.files import absent, read_columns
from components.anonymization.hierarchies.functions import declared_domain, n_levels, ruled_levels
from components.anonymization.hierarchies.hierarchy import Hierarchy
from components.anonymization.hierarchies.keys import reading_rules
from components.anonymization.hierarchies.structure import Rows, structured
from components.data.text import Rules
from schemas.dataset import Column, DatasetSchema
from schemas.faults import ConfigurationError, DataError, Fault
from schemas.hierarchy import SUPPRESSED, CsvHierarchy, Order, Tree
from schemas.wording import shown


def load(schema: DatasetSchema, base: Path, climbed: Collection[str] | None = None) -> dict[str, Hierarchy]:
    """Build the hierarchies that quasi-identifiers and sensitive columns declare.

    Parameters
    ----------
    schema : DatasetSchema
    base : Path
        What relative paths start from.
    climbed : collection of str, optional
        The columns whose hierarchies are wanted (see `climbing.climbed`); all without it. Of others, files must be
        there: a path that leads nowhere is a mistake, whatever is done with the file. What they hold isn't read.

    Returns
    -------
    dict of str to Hierarchy
        By column.

    Raises
    ------
    ConfigurationError
        A hierarchy that the configuration spells out is none; with the faults of all columns.
    DataError
        A file can't be read, or holds no hierarchy; with the faults of all columns.
    """
    rules = reading_rules(schema)
    folder = base / schema.hierarchies if schema.hierarchies else base
    found: dict[str, Hierarchy] = {}
    spelt: list[Fault] = []
    filed: list[Fault] = []
    for column in schema.columns:
        if column.role not in {"quasi_identifier", "sensitive"} or column.hierarchy is None:
            continue
        if climbed is not None and column.name not in climbed:
            filed += _absent(column, folder)
            continue
        wrong = filed if isinstance(column.hierarchy, CsvHierarchy) else spelt
        try:
            found[column.name], faults = _built(column, folder, rules)
        except DataError as error:
            faults = list(error.faults)
        wrong += faults
    if filed:
        raise DataError([*filed, *spelt])
    if spelt:
        raise ConfigurationError(spelt)
    return found


def hierarchy_of(column: Column, rows: Sequence[Sequence[str]], rules: Rules | None = None) -> Hierarchy:
    """Build a hierarchy from rows in memory: the raw value first, then its group on each level.

    Raises
    ------
    DataError
        The rows are no hierarchy; with all faults.
    """
    columns = [np.asarray(cells, dtype=object) for cells in zip(*rows, strict=True)]
    rows_of = Rows(f"column {shown(column.name)}, hierarchy", columns[0], tuple(columns[1:]))
    hierarchy, faults = structured(rows_of, column, rules or Rules(trim=True, normalize=True))
    if faults:
        raise DataError(faults)
    return hierarchy


def _absent(column: Column, folder: Path) -> list[Fault]:
    """Say that the file of a hierarchy isn't there, where it is one."""
    declared = column.hierarchy
    fault = absent(folder / declared.path, _place(column, declared)) if isinstance(declared, CsvHierarchy) else None
    return [] if fault is None else [fault]


def _place(column: Column, declared: CsvHierarchy) -> str:
    return f"column {shown(column.name)}, hierarchy {declared.path}"


def _built(column: Column, folder: Path, rules: Rules) -> tuple[Hierarchy, list[Fault]]:
    declared = column.hierarchy
    if isinstance(declared, CsvHierarchy):
        place = _place(column, declared)
        keys, *labels = read_columns(declared, folder / declared.path, place)
        return structured(Rows(place, keys, tuple(labels)), column, rules)
    if isinstance(declared, (Order, Tree)):
        table = _order_rows(declared, column) if isinstance(declared, Order) else _tree_rows(declared)
        keys, *labels = (np.array(cells, dtype=object) for cells in zip(*table, strict=True))
        if declared.top and len(set(labels[-1])) > 1:
            labels.append(np.full(len(keys), SUPPRESSED, dtype=object))
        place = f"dataset.columns.{column.name}.hierarchy"
        return structured(Rows(place, keys, tuple(labels), file=False), column, rules)
    return _ruled(column), []


def _order_rows(declared: Order, column: Column) -> list[tuple[str, ...]]:
    groups = [{value: label for label, group in level.items() for value in group} for level in declared.levels]
    return [(value, *(level[value] for level in groups)) for value in column.values or ()]


def _tree_rows(declared: Tree) -> list[tuple[str, ...]]:
    """Write each value's groups from the smallest up; a group stands for itself on the levels that it lacks below."""
    paths = declared.paths()
    depth = max(len(above) for _, above in paths)
    return [
        (_text(value), *(above[min(depth - level, len(above) - 1)] for level in range(1, depth + 1)))
        for value, above in paths
    ]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _ruled(column: Column) -> Hierarchy:
    """Build a hierarchy that follows a rule: over the declared domain, or without leaves until a table is there."""
    rule: Any = column.hierarchy
    domain = declared_domain(column)
    levels = range(n_levels(rule))
    if domain is None:
        nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=object)
        groups, labels = [nothing[0] for _ in levels], [nothing[1] for _ in levels]
    else:
        groups, labels = ruled_levels(column, domain)
    bounds = [column.dtype, column.values, column.min, column.max]
    told = json.dumps([rule.model_dump(mode="json"), bounds], ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return Hierarchy(column, labels[0], tuple(groups), tuple(labels), sha256(told.encode()).hexdigest())
