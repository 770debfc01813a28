"""A released file as an outsider reads it: plain text, counted row by row by the slow checker of the tests."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from math import inf, isclose, isinf
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

from bench.made import MARKER, ROW, TREE
from bench.product import ROOT
from bench.truth import covers
from components.anonymization.criteria.declarations import Criterion
from schemas.dataset import DatasetSchema

SUPPRESSED = "*"
LIMITS = {"k": "k", "l_distinct": "l", "l_entropy": "l", "l_recursive": "c", "alpha": "alpha", "t": "t"}
LIMITS |= {"beta": "beta", "beta_enhanced": "beta", "delta_disclosure": "delta", "k_map": "k"}
AT_LEAST, BELOW = {"k", "l_distinct", "l_entropy", "k_map"}, {"l_recursive", "delta_disclosure"}
NUMBERS = {"integer", "number"}
ROUNDING = 1e-9
OF_RECORD = {
    "arirec": "arirec",
    "mean": "prosecutor_mean",
    "max": "prosecutor_max",
    "uniques": "sample_uniques",
}
ABOVE = {"below_11": "0.09", "above_a_fifth": "0.2", "above_a_half": "0.5"}
"""What the slow checker calls figures of risk, and what a record calls them."""


@cache
def checker() -> ModuleType:
    """Return the slow checker: tests are no package that it could be imported from."""
    spec = spec_from_file_location("slow", ROOT / "tests" / "anonymization" / "slow.py")
    if spec is None or spec.loader is None:
        raise ImportError("the slow checker is not where it should be")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cells(path: Path) -> list[dict[str, str]]:
    """Read a CSV file as text."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def standing(cell: str, shown: Mapping[str, bytes | str]) -> list[str]:
    """Name the texts in which a cell stands.

    One that a hash may hold stands there as a whole only, behind whatever JSON writes for a line end or a tab: five
    digits come about by chance inside one of a few thousand hashes, times and real numbers.
    """
    sought = re.escape(cell)
    if re.fullmatch("[0-9a-f]+", cell):
        sought = rf"(?:(?<![0-9A-Za-z])(?<![0-9]\.)|(?<=\\[nrt])){sought}(?![0-9A-Za-z])"
    found = re.compile(sought.encode())
    as_bytes = {name: text.encode() if isinstance(text, str) else text for name, text in shown.items()}
    return [name for name, content in as_bytes.items() if found.search(content)]


@dataclass(frozen=True)
class Asked:
    """What a release must be held against.

    Parameters
    ----------
    table : sequence of mapping of str to str
        The rows that were anonymised, each told apart by the column `bench.made.ROW`.
    schema : DatasetSchema
        Of the table.
    criteria : sequence of Criterion
        What was asked for, k first, each with its column.
    kept : sequence of str
        Identifiers that stay, masked or pseudonymised.
    replaced : sequence of str
        Quasi-identifiers that show the values of other rows; the labels of all others must cover the row's own.
    """

    table: Sequence[Mapping[str, str]]
    schema: DatasetSchema
    criteria: Sequence[Criterion]
    kept: Sequence[str] = ()
    replaced: Sequence[str] = ()


def differences(release: Path, asked: Asked, told: Mapping[str, Any]) -> list[str]:
    """Count a released file, and say where it is not what was asked for, told, or in the table.

    Parameters
    ----------
    release : Path
        The CSV file.
    asked : Asked
    told : mapping
        What was measured on the release, as a record says it (``anonymization.after``).

    Returns
    -------
    list of str
        Empty where all agrees.
    """
    rows, original = cells(release), {row[ROW]: row for row in asked.table}
    schema, criteria = asked.schema, asked.criteria
    found = list(_changed(rows, original, asked)) or list(_untrue(rows, original, asked))
    if found or not rows:
        return found or ["the release has no rows"]
    counted = measured(rows, asked)
    found += _otherwise(counted, told, schema)
    for criterion, reached, one in zip(criteria, counted["criteria"], told["criteria"], strict=True):
        if not one["met"] or not meets(criterion, reached):
            found.append(f"{criterion.name}: the file reaches {reached}, which does not do")
        if not _alike(reached, one["reached"]):
            found.append(f"{criterion.name}: the file reaches {reached}, told was {one['reached']}")
    return found


def measured(rows: Sequence[Mapping[str, str]], asked: Asked) -> dict[str, Any]:
    """Measure released rows with the slow checker, all criteria with them, each reached by the worst class."""
    schema, original = asked.schema, {row[ROW]: row for row in asked.table}
    persons = None if schema.subject_id is None else [original[row[ROW]][schema.subject_id] for row in rows]
    found: dict[str, Any] = checker().slow_measure(
        _typed(rows, schema), schema, _typed(asked.table, schema), persons, asked.criteria, {"ill": TREE}
    )
    return found


def meets(criterion: Criterion, reached: float) -> bool:
    """Tell whether the figure of the worst class will do, rounding aside."""
    limit = getattr(criterion, LIMITS[criterion.name])
    if criterion.name in AT_LEAST:
        return bool(reached >= limit * (1 - ROUNDING))
    if criterion.name in BELOW:
        return bool(reached < limit)
    return bool(reached <= limit + ROUNDING)


def _changed(
    rows: Sequence[Mapping[str, str]], original: Mapping[str, Mapping[str, str]], asked: Asked
) -> Iterator[str]:
    """Yield what differs from the table beside quasi-identifiers: columns, rows, cells."""
    schema = asked.schema
    hidden = {*schema.names("identifier", "drop"), schema.subject_id} - set(asked.kept)
    expected = [name for name in schema.names() if name not in hidden]
    if rows and list(rows[0]) != expected:
        yield f"the columns are {list(rows[0])} instead of {expected}"
        return
    if len({row[ROW] for row in rows}) < len(rows) or not {row[ROW] for row in rows} <= original.keys():
        yield "there are rows that are none of the table, or twice"
        return
    for name in expected:
        same = sum(row[name] == original[row[ROW]][name] for row in rows)
        if name in asked.kept and same:
            yield f"{same} cells of {name} are shown as they are"
        elif name not in (*schema.quasi_identifiers, *asked.kept) and same < len(rows):
            yield f"{len(rows) - same} cells of {name} are changed"


def _untrue(
    rows: Sequence[Mapping[str, str]], original: Mapping[str, Mapping[str, str]], asked: Asked
) -> Iterator[str]:
    """Yield the columns whose labels do not cover the cells that they stand for."""
    for name in asked.schema.quasi_identifiers:
        untrue = sum(not covers(row[name], original[row[ROW]][name], name) for row in rows)
        if name not in asked.replaced and untrue:
            yield f"{untrue} labels of {name} are not true"


def _typed(rows: Sequence[Mapping[str, str]], schema: DatasetSchema) -> pd.DataFrame:
    """Return quasi-identifiers as text, and sensitive numbers as numbers; None where missing."""
    columns = {}
    for name in (*schema.quasi_identifiers, *schema.sensitive):
        shown = [None if row[name] == MARKER else row[name] for row in rows]
        if name in schema.sensitive and schema.column(name).dtype in NUMBERS:
            shown = [None if cell is None else float(cell) for cell in shown]
        columns[name] = pd.Series(shown, dtype=object)
    return pd.DataFrame(columns)


def _otherwise(counted: Mapping[str, Any], told: Mapping[str, Any], schema: DatasetSchema) -> list[str]:
    """Return the figures that were told otherwise than counted."""
    pairs = {name: (counted[name], told[name]) for name in ("k", "k_rows", "k_wildcard", "classes", "suppressed")}
    pairs |= {name: (counted[name], told["risk"][there]) for name, there in OF_RECORD.items()}
    pairs |= {name: (counted[name], told["risk"]["above"][there]) for name, there in ABOVE.items()}
    for column in schema.sensitive:
        pairs |= {f"{name} of {column}": (one, told["columns"][column][name]) for name, one in counted[column].items()}
    return [f"{name}: counted {one}, told {other}" for name, (one, other) in pairs.items() if not _alike(one, other)]


def _alike(counted: float, told: float | str) -> bool:
    number = inf if told == "infinite" else float(told)
    return counted == number if isinf(counted) else isclose(counted, number, rel_tol=ROUNDING, abs_tol=ROUNDING)
