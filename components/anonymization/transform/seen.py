"""What a model sees of columns that are generalised as a whole: one space for train rows, test rows and other sites.

The space follows from schema, hierarchies and levels alone, never from rows: a column on a level above 0 becomes the
midpoint of a group, the group's place in order, or a category whose values are all labels of the level. All rows of a
group look the same, so that nothing of a raw value is left. Where rows of one column are recoded to different levels
or ranges (local recoding), there is no such space, and a model sees the column's original domain instead.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from components.anonymization.declarations import SeenAs
from components.anonymization.hierarchies.checks import check_coverage
from components.anonymization.hierarchies.hierarchy import Hierarchy, Ladder, climb
from components.anonymization.hierarchies.training import middles
from components.anonymization.publishing import with_cells
from components.anonymization.representatives import Published
from components.anonymization.transform.seen_groups import Groups, groups_of, middles_of_values
from components.classes.coding import BoolArray, encode, take
from components.data.table import Table
from schemas.dataset import NUMERIC, TEMPORAL, Column, DatasetSchema, released
from schemas.faults import DataError

Seen = Callable[[Table], Table]

_NUMBERS = NUMERIC | TEMPORAL


@dataclass(frozen=True, slots=True)
class _View:
    """How one column on one level is seen.

    Parameters
    ----------
    column : Column
        Declares the cells that a model sees.
    hierarchy : Hierarchy
    level : int
    labels : pandas.Index, shape (G,), or None
        Every label of the level; None where the schema doesn't bound them.
    cells : array, shape (G,), or None
        What is seen of each.
    """

    column: Column
    hierarchy: Hierarchy
    level: int
    labels: pd.Index | None = None
    cells: Any = None


def full_domain(ladders: Sequence[Ladder], levels: Sequence[int], params: SeenAs) -> Seen:
    """Return what brings tables into the space of a full-domain generalisation.

    Parameters
    ----------
    ladders : sequence of Ladder
        Of the quasi-identifiers. What is returned keeps their hierarchies, and nothing of their rows.
    levels : sequence of int
        The level of each. Columns on level 0 stay as they are.
    params : SeenAs
        How numbers, dates and categories are seen.

    Returns
    -------
    callable
        Takes a `Table` of the dataset's schema, and returns one of the schema ``released(schema)`` in which generalised
        columns are declared anew. The target stays as it is, since it is what predictions are held against. Raises
        ``DataError`` where a hierarchy lacks values of the table.
    """
    climbed = [(ladder, level) for ladder, level in zip(ladders, levels, strict=True) if level > 0]
    return partial(_see, tuple(_view(ladder, level, params) for ladder, level in climbed))


def learned_from(seen: Seen, table: Table, columns: Sequence[Published], suppressed: BoolArray) -> Table:
    """Return the rows that a model learns from: those that are not suppressed, as `seen` shows them.

    Parameters
    ----------
    seen : callable
        As `full_domain` returns it.
    table : Table
        The table that was anonymised.
    columns : sequence of Published
        Its released columns. A target among them is learned as it was released.
    suppressed : ndarray of bool, shape (n,)
    """
    kept = Table(table.frame[~suppressed] if suppressed.any() else table.frame, table.schema)
    shown = seen(kept)
    targets = {one.column.name: one.training for one in columns if one.column.name in table.schema.targets}
    if not targets:
        return shown
    cells = {name: take(training, np.flatnonzero(~suppressed)) for name, training in targets.items()}
    return Table(with_cells(shown.frame, cells), shown.schema)


def _see(views: Sequence[_View], table: Table) -> Table:
    shown = [view for view in views if view.column.name not in table.schema.targets]
    schema = _declared(released(table.schema), shown)
    try:
        cells = {view.column.name: _cells(view, table) for view in shown}
    except DataError:
        check_coverage(table, {view.column.name: view.hierarchy for view in shown})  # tells of all columns at once
        raise
    kept = table.frame[[name for name in table.frame.columns if name in schema.names()]]
    return Table(with_cells(kept, cells), schema)


def _declared(schema: DatasetSchema, views: Sequence[_View]) -> DatasetSchema:
    new = {view.column.name: view.column for view in views}
    return schema.model_copy(update={"columns": [new.get(column.name, column) for column in schema.columns]})


def _cells(view: _View, table: Table) -> Any:
    """Look up what is seen of each row's group."""
    (attribute,) = encode(table.frame, [table.schema.column(view.column.name)])
    ladder = climb(attribute, view.hierarchy, table.schema.missing.markers)
    labels, groups = np.asarray(ladder.labels[view.level], dtype=object), ladder.groups[view.level]
    if view.labels is not None:
        return take(view.cells, view.labels.get_indexer(pd.Index(labels))[groups][attribute.codes], holes=True)
    if view.column.dtype in _NUMBERS:
        middles = middles_of_values(view.hierarchy, view.level, attribute.domain()[0])
        return take(middles, attribute.codes, holes=True)
    return pd.array(labels[groups][attribute.codes], dtype="string")


def _view(ladder: Ladder, level: int, params: SeenAs) -> _View:
    """Find what is seen of one column, from its declarations alone."""
    hierarchy = ladder.hierarchy
    if hierarchy is None:
        raise TypeError("a column without a hierarchy is on level 0")
    column, groups = hierarchy.column, _shown(ladder, hierarchy, level)
    with_missing = ladder.labels[level][ladder.groups[level][-1]]  # what missing cells become; None where they stay so
    undeclared = dict.fromkeys(("values", "min", "max", "format", "hierarchy", "group"))
    nullable = column.nullable and with_missing is None
    blank = column.model_copy(update={**undeclared, "unique": False, "nullable": nullable})
    encoding = params.encode_numbers if column.dtype in _NUMBERS else params.encode_categories
    if encoding == "midpoint":
        return _in_the_middle(blank, hierarchy, level, groups, with_missing)
    if groups is None:
        return _View(blank.model_copy(update={"dtype": "text", "unit": None}), hierarchy, level)
    labels = groups.labels.tolist()
    if encoding == "one_hot":
        cells: Any = pd.Categorical.from_codes(np.arange(len(labels)), categories=labels)
        told: dict[str, Any] = {"dtype": "category", "values": labels}
    else:
        cells = pd.array(np.arange(len(labels)), dtype="Int64") if nullable else np.arange(len(labels))
        told = {"dtype": "integer", "min": 0, "max": len(labels) - 1}
    return _View(blank.model_copy(update={**told, "unit": None}), hierarchy, level, pd.Index(labels), cells)


def _shown(ladder: Ladder, hierarchy: Hierarchy, level: int) -> Groups | None:
    """Return the groups of a level that cells are published as: one that is called as missing cells are is none."""
    groups = groups_of(ladder, hierarchy, level)
    if groups is None or not len(hierarchy.leaves):  # those of a rule are never called so
        return groups
    shown = np.array([label is not None for label in ladder.labels[level][: len(groups.labels)]])
    ends = (None if end is None else end[shown] for end in (groups.low, groups.high))
    return Groups(groups.labels[shown], *ends)


def _in_the_middle(
    blank: Column, hierarchy: Hierarchy, level: int, groups: Groups | None, with_missing: str | None
) -> _View:
    """Show a number or date as the middle of its group."""
    column = hierarchy.column
    dtype = column.dtype if column.dtype in TEMPORAL else "number"
    if groups is None:
        bounds = {"min": column.min, "max": column.max}
        return _View(blank.model_copy(update={**bounds, "dtype": dtype}), hierarchy, level)
    cells = middles(groups.low, groups.high, column)
    empty = np.isnan(cells)
    ends = [cells[~empty].min(), cells[~empty].max()] if not empty.all() else []
    told: dict[str, Any] = {
        "dtype": dtype,
        "nullable": blank.nullable or (column.nullable and bool(empty[groups.labels == with_missing].any())),
        **dict(zip(("min", "max"), (_bound(end, column) for end in ends), strict=False)),
    }
    return _View(blank.model_copy(update=told), hierarchy, level, pd.Index(groups.labels), cells)


def _bound(end: Any, column: Column) -> float | str:
    if column.dtype not in TEMPORAL:
        return float(end)
    return str(np.datetime_as_string(end, unit="D" if column.dtype == "date" else "us"))
