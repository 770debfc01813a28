"""One column of stored cells becomes one column of its declared dtype; each cell that doesn't fit is known by place."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from components.data import text, typed
from components.data.extract import Cells
from components.data.text import Rules
from schemas.dataset import NUMERIC, TEXT_LIKE, Column, DType
from schemas.findings import Failure
from schemas.table import most_frequent
from schemas.wording import shown

STORED_NULL = "(stored as missing)"
"""Counted beside the declared markers: cells that the source itself stores as missing."""

ARROW: dict[DType, pa.DataType] = {
    "integer": pa.int64(),
    "number": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.timestamp("us"),
    "datetime": pa.timestamp("us", tz="UTC"),
}


@dataclass(frozen=True)
class Converted:
    """A column of its declared dtype.

    Parameters
    ----------
    series : pandas.Series, shape (n,)
        Cells that failed are missing here.
    failures : tuple of Failure
    missing : numpy.ndarray of bool, shape (n,)
        Cells that were missing at the source, as opposed to those that failed.
    markers : dict of str to int
        How many missing cells were written in which way.
    notes : tuple of str
    """

    series: pd.Series
    failures: tuple[Failure, ...]
    missing: np.ndarray
    markers: dict[str, int]
    notes: tuple[str, ...] = ()


def convert(cells: Cells, column: Column, rules: Rules) -> Converted:
    """Convert a column's cells to its declared dtype.

    Parameters
    ----------
    cells : Cells
    column : Column
    rules : Rules

    Returns
    -------
    Converted
    """
    stored = [part for part in (cells.text, cells.typed) if part is not None]
    rows = len(stored[0])
    markers: dict[str, int] = {}
    texts: pa.ChunkedArray | None = None
    if cells.text is not None:
        texts, markers = text.without_missing(text.cleaned(cells.text, rules), rules)
    others = None if cells.typed is None else typed.without_nan(cells.typed)
    present = np.zeros(rows, dtype=bool)
    for part in (texts, others):
        if part is not None:
            present |= part.is_valid().to_numpy()
    present[cells.odd] = True
    if blank := rows - int(present.sum()) - sum(markers.values()):
        markers[STORED_NULL] = blank
    notes: tuple[str, ...] = ()
    if column.dtype == "datetime":
        values, found, notes = _times(texts, others, column, cells.zones, rows)
    else:
        values, found = _values(texts, others, column, rules)
    series, disallowed = _series(values, column)
    if disallowed is not None:
        found["values"] = disallowed
    if len(cells.odd):
        found["kind"] = np.isin(np.arange(rows), cells.odd)
    hint = _hint(texts, column, found, rules)
    checked = int(present.sum())
    failures = tuple(
        Failure(column.name, check, at, checked, _tokens(cells, at), hint if check == "dtype" else "")
        for check, at in ((check, np.flatnonzero(failed)) for check, failed in found.items())
        if len(at)
    )
    return Converted(series, failures, ~present, markers, notes)


Found = dict[str, np.ndarray]
"""Which cells fail, by the name of the check."""


def _values(
    texts: pa.ChunkedArray | None, others: pa.ChunkedArray | None, column: Column, rules: Rules
) -> tuple[pa.ChunkedArray, Found]:
    """Convert both parts of a column and put them together; says which cells became null, by check."""
    parts: list[pa.ChunkedArray] = []
    found: Found = {}
    if texts is not None:
        parts.append(_from_text(texts, column, rules))
        found["dtype"] = _lost(texts, parts[-1])
    if others is not None:
        parts.append(typed.converted(others, column.dtype, ARROW.get(column.dtype, pa.string())))
        check = "text" if column.dtype in TEXT_LIKE else "dtype"
        failed = _lost(others, parts[-1])
        found[check] = found[check] | failed if check in found else failed
    return _together(parts), found


def _lost(before: pa.ChunkedArray, after: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(pc.and_(before.is_valid(), after.is_null()))


def _together(parts: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    return parts[0] if len(parts) == 1 else pc.coalesce(*parts)


def _from_text(texts: pa.ChunkedArray, column: Column, rules: Rules) -> pa.ChunkedArray:
    match column.dtype:
        case "integer":
            return text.integers(texts, rules)
        case "number":
            return text.numbers(texts, rules)
        case "boolean":
            return text.booleans(texts)
        case "date":
            return text.dates(texts, column)
        case _:
            return texts


def _times(
    texts: pa.ChunkedArray | None,
    others: pa.ChunkedArray | None,
    column: Column,
    zones: Mapping[str, int],
    rows: int,
) -> tuple[pa.ChunkedArray, Found, tuple[str, ...]]:
    """Convert times: to UTC where any cell states a zone, a cell without one then failing; else as they are."""
    parts: list[pa.ChunkedArray] = []
    zoned: np.ndarray = np.zeros(rows, dtype=bool)
    failed: np.ndarray = np.zeros(rows, dtype=bool)
    met = Counter(zones)
    if texts is not None:
        values, stated, counted = text.moments(texts, column)
        parts.append(values)
        failed |= _lost(texts, values)
        zoned |= stated
        met.update(counted)
    if others is not None:
        parts.append(typed.converted(others, "datetime", ARROW["datetime"]))
        failed |= _lost(others, parts[-1])
        if zone := getattr(others.type, "tz", None):
            stated = np.asarray(parts[-1].is_valid())
            zoned |= stated
            met.update({} if zones else {zone: int(stated.sum())})
    moments = _together(parts)
    if not zoned.any():
        return moments.cast(pa.timestamp("us")), {"dtype": failed}, ()
    naive = np.asarray(moments.is_valid()) & ~zoned
    moments = pc.if_else(pa.array(~naive), moments, pa.scalar(None, moments.type))
    listed = ", ".join(f"{zone} ({count})" for zone, count in sorted(met.items()))
    note = f"column {shown(column.name)}: times converted to UTC; zones at the source: {listed}"
    return moments, {"dtype": failed, "zone": naive}, (note,)


def _series(values: pa.ChunkedArray, column: Column) -> tuple[pd.Series, np.ndarray | None]:
    """Return the pandas column, and for a closed list of categories which cells are not on it."""
    nulls = values.null_count > 0
    match column.dtype:
        case "integer":
            cells = values.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
            return (cells if column.nullable or nulls else cells.astype("int64")), None
        case "boolean":
            cells = values.to_pandas(types_mapper={pa.bool_(): pd.BooleanDtype()}.get)
            return (cells if column.nullable or nulls else cells.astype("bool")), None
        case "number" | "date" | "datetime":
            return values.to_pandas(), None
        case "category" | "ordered" if column.values is not None:  # the schema's list, no frame
            codes = pc.index_in(values, value_set=pa.array(column.values, pa.string()))
            disallowed = pc.and_(values.is_valid(), codes.is_null()).to_numpy()
            dtype = pd.CategoricalDtype(column.values, ordered=column.dtype == "ordered")
            return pd.Series(pd.Categorical.from_codes(pc.fill_null(codes, -1).to_numpy(), dtype=dtype)), disallowed
        case _:
            return pd.Series(pd.arrays.ArrowStringArray(values)), None


def _hint(texts: pa.ChunkedArray | None, column: Column, found: Found, rules: Rules) -> str:
    if texts is None or not rules.has_marks or column.dtype not in NUMERIC or not found["dtype"].any():
        return ""
    if text.looks_like_decimal_commas(texts):
        typed = """'dataset.source.decimal=","' 'dataset.source.thousands="."'"""
        return f"the cells look like decimal commas: set {typed}"
    return ""


def _tokens(cells: Cells, positions: np.ndarray) -> tuple[str, ...]:
    """Return the most frequent failing cells, exactly as stored."""
    at = pa.array(positions)
    stored = [part.take(at).to_pandas().astype(object) for part in (cells.text, cells.typed) if part is not None]
    together = stored[0] if len(stored) == 1 else stored[0].combine_first(stored[1])
    return most_frequent(together.dropna().astype(str))
