"""One canonical text form for the values of a column, whether they come from its cells or from a hierarchy.

Numbers are their shortest text (34, 34.0 and " 34 " are one value), dates and times ISO 8601, booleans true and
false, and text is trimmed and in Unicode NFC as the column's source reads it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from components.classes.coding import BoolArray, TextArray
from components.data import text
from components.data.text import Rules
from schemas.dataset import Column, DatasetSchema, DType

_EXACT = 2.0**53
"""Whole numbers up to here have a float of their own."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Values in canonical form.

    Parameters
    ----------
    texts : ndarray of str, shape (n,)
    values : array, shape (n,)
        The same as numbers (float64 or int64), moments (datetime64[us]) or texts: what they are sorted and averaged
        by. Meaningless where ``known`` is false.
    known : ndarray of bool, shape (n,)
        Which of them are values that the column's dtype admits.
    """

    texts: TextArray
    values: Any
    known: BoolArray


def reading_rules(schema: DatasetSchema) -> Rules:
    """Return how the dataset's source reads text cells: hierarchies are read alike."""
    source = schema.source
    return Rules(
        trim=getattr(source, "trim", True),
        normalize=getattr(source, "normalize", True),
        decimal=getattr(source, "decimal", "."),
        thousands=getattr(source, "thousands", None),
        markers=tuple(schema.missing.markers),
    )


def marker_keys(markers: Sequence[str], column: Column, rules: Rules | None = None) -> TextArray:
    """Return all forms in which a hierarchy may hold a missing marker: as it is declared, and as it is read.

    Parameters
    ----------
    markers : sequence of str
    column : Column
    rules : Rules, optional
        How the column's cells are read; trimmed without them.
    """
    told = _marker_keys(tuple(markers), column.dtype, column.format, rules or Rules(trim=True, normalize=True))
    return np.array(told, dtype=object)


@lru_cache(maxsize=256)  # every climb asks for them
def _marker_keys(markers: tuple[str, ...], dtype: DType, layout: str | None, rules: Rules) -> tuple[str, ...]:
    column = Column.model_construct(name="", dtype=dtype, format=layout)
    return tuple(dict.fromkeys([*markers, *keys_of_texts(list(markers), column, rules).texts]))


def keys_of_values(values: Any, column: Column) -> TextArray:
    """Return the canonical texts of typed values without missing ones.

    Parameters
    ----------
    values : array, shape (m,)
        In the column's own dtype.
    column : Column
    """
    if column.dtype == "integer":
        return _integer_texts(np.asarray(values, dtype=np.int64))
    if column.dtype == "number":
        return number_texts(np.asarray(values, dtype=np.float64))
    if column.dtype in {"date", "datetime"}:
        return _moment_texts(moments(values), column)
    if column.dtype == "boolean":
        return np.where(np.asarray(values, dtype=np.bool_), "true", "false").astype(object)
    return np.asarray(pd.Series(values).astype(str), dtype=object)


def keys_of_texts(texts: Sequence[str] | TextArray, column: Column, rules: Rules) -> Keys:
    """Bring the texts of a hierarchy's values to canonical form, as the column's cells are read.

    Parameters
    ----------
    texts : sequence of str, shape (n,)
    column : Column
    rules : Rules

    Notes
    -----
    A number that the source's decimal and thousands marks don't explain is read with a decimal point. What is no
    value of the column's dtype stays the text that it is.
    """
    raw = pa.chunked_array([pa.array(texts, pa.string())])
    # Only text-like columns may keep blanks: they are no part of a number.
    cells = text.cleaned(raw, rules if column.dtype in _AS_TEXT else Rules(trim=True, normalize=True))
    plain = np.asarray(cells.to_numpy(), dtype=object)
    if column.dtype in _AS_TEXT:
        return Keys(plain, plain, np.ones(len(plain), dtype=np.bool_))
    values, known = _typed(cells, column, rules)
    canonical = plain.copy()
    canonical[known] = keys_of_values(values[known], column)
    return Keys(canonical, values, known)


def number_texts(values: Any) -> TextArray:
    """Write numbers in their shortest form that reads back: 34, 34.5, 1e+16."""
    shortest = pd.Series((values + 0.0).astype(str), dtype="str")  # the sum makes one zero of -0.0 and 0.0
    return np.asarray(shortest.str.removesuffix(".0"), dtype=object)


def moments(values: Any) -> Any:
    """Return dates and times as datetime64[us], those with a zone in UTC."""
    index = pd.DatetimeIndex(values)
    return (
        (index if index.tz is None else index.tz_convert("UTC").tz_localize(None)).to_numpy().astype("datetime64[us]")
    )


_AS_TEXT = frozenset({"text", "category", "ordered"})


def _typed(cells: pa.ChunkedArray, column: Column, rules: Rules) -> tuple[Any, BoolArray]:
    if column.dtype == "integer":
        return _integers(cells, rules)
    if column.dtype == "number":
        parsed = _numbers(cells, rules)
    elif column.dtype == "boolean":
        parsed = text.booleans(cells)
    elif column.dtype == "date":
        parsed = _with_format(text.dates, cells, column)
    else:
        parsed = _with_format(lambda some, one: text.moments(some, one)[0], cells, column).cast(pa.timestamp("us"))
    known = np.asarray(parsed.is_valid())
    return np.asarray(pc.fill_null(parsed, pa.scalar(0).cast(parsed.type)).to_numpy()), known


def _integers(cells: pa.ChunkedArray, rules: Rules) -> tuple[Any, BoolArray]:
    """Read whole numbers; 34.0 is one."""
    direct = text.integers(cells, rules)
    known = direct.is_valid().to_numpy().copy()
    values = np.asarray(pc.fill_null(direct, 0).to_numpy()).astype(np.int64)
    others = np.flatnonzero(~known)
    floats = np.asarray(_numbers(cells.take(pa.array(others)), rules).to_numpy(), dtype=np.float64)
    whole = (floats % 1 == 0) & (np.abs(floats) < _EXACT)
    values[others[whole]] = floats[whole].astype(np.int64)
    known[others[whole]] = True
    return values, known


def _numbers(cells: pa.ChunkedArray, rules: Rules) -> pa.ChunkedArray:
    return pc.coalesce(text.numbers(cells, rules), text.numbers(cells, Rules()))


def _with_format(read: Any, cells: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    """Read dates by the column's format, and those that don't follow it as ISO 8601."""
    found = read(cells, column)
    return (
        found if column.format is None else pc.coalesce(found, read(cells, column.model_copy(update={"format": None})))
    )


def _integer_texts(values: Any) -> TextArray:
    return np.asarray(values.astype(str), dtype=object)


def _moment_texts(values: Any, column: Column) -> TextArray:
    if column.dtype == "date":
        values = values.astype("datetime64[D]")
    return np.asarray(np.datetime_as_string(values), dtype=object)
