"""Columns as small integer codes in value order: what every search, criterion and representative here works on.

Codes are ranks, so that nothing depends on the order of rows, on the index or on how a frame numbers its
categories. They also spare the surrogate tree, which works in 32-bit floats, from rounding large numbers and dates.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from schemas.dataset import NUMERIC, TEMPORAL, Column

IntArray = npt.NDArray[np.signedinteger[Any]]
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
TextArray = npt.NDArray[np.object_]
Kind = Literal["number", "ordered", "nominal"]

MISSING = -1
LARGEST_KEY = 2**62
"""Mixed-radix keys stay below it, so that no step on the way overflows 64 bits."""

_CHUNK = 2**14
"""Rows looked at in one piece: few enough to stay in a processor's cache, and enough not to feel the calls."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of a table: a column, or the one-hot columns that belong together.

    Parameters
    ----------
    name : str
        The column, or the group.
    columns : tuple of Column
        The columns that hold it.
    kind : {"number", "ordered", "nominal"}
        What may be done with its values: averaged, compared, or only told apart.
    codes : ndarray of int, shape (n,)
        Rank of each row's value among the values that occur (declared order where one is declared); -1 is missing.
    size : int
        Number m of values that occur.
    source : tuple of array, one per column, each of shape (n,)
        The cells themselves, not copied.
    """

    name: str
    columns: tuple[Column, ...]
    kind: Kind
    codes: IntArray
    size: int
    source: tuple[Any, ...]

    def domain(self) -> list[Any]:
        """Return the value behind each code, one array of shape (m,) per column, in the column's own dtype."""
        rows = any_row_of(self.codes, self.size)
        return [take(cells, rows) for cells in self.source]

    def own_value(self) -> tuple[IntArray, int]:
        """Return codes in which missing is a value of its own, after all others, and how many values that makes."""
        missing = self.codes < 0
        if not missing.any():
            return self.codes, self.size
        return np.where(missing, self.size, self.codes), self.size + 1

    def cells(self, codes: IntArray, rows: IntArray | None = None) -> list[Any]:
        """Return the cells behind `codes`, one array per column, in the column's own dtype.

        With `rows`, cell i is that of ``codes[rows[i]]``.
        """
        places = codes if rows is None else codes[rows]
        return [take(values, places, holes=bool((codes < 0).any())) for values in self.domain()]


def encode(frame: pd.DataFrame, columns: Iterable[Column]) -> list[Attribute]:
    """Return one attribute per column.

    Parameters
    ----------
    frame : pandas.DataFrame
        Is not written to.
    columns : iterable of Column
        Columns of `frame`.
    """
    return [_attribute(frame[column.name], column) for column in columns]


def joined(attributes: Sequence[Attribute]) -> list[Attribute]:
    """Return the attributes with columns of one group (one-hot) put together into one nominal attribute.

    A row with a missing cell in a group counts as missing there.
    """
    groups: dict[str, list[Attribute]] = {}
    for attribute in attributes:
        column = attribute.columns[0]
        key = f"column:{column.name}" if column.group is None else f"group:{column.group}"
        groups.setdefault(key, []).append(attribute)
    return [members[0] if len(members) == 1 else _join(members) for members in groups.values()]


def combined(parts: Iterable[tuple[IntArray, int]]) -> tuple[IntArray, int]:
    """Give each distinct tuple of several code arrays its number, in lexicographic order.

    Parameters
    ----------
    parts : iterable of (codes, m)
        Codes of shape (n,) in [-1, m).

    Returns
    -------
    ids : ndarray of int, shape (n,)
        Rank of each row's tuple; equal tuples share it.
    count : int
        Number of distinct tuples.

    Notes
    -----
    A mixed-radix key, made dense again before it could overflow. Once all rows differ, further columns can change
    neither that nor their order.
    """
    key: IntArray | None = None
    span = 1
    for codes, size in parts:
        if key is None:
            key = np.zeros(len(codes), dtype=np.int64)
        if span > LARGEST_KEY // (size + 1):
            ranks, span = dense(key, span)
            if span == len(key):
                return ranks, span
            key = ranks.astype(np.int64)
        key *= size + 1
        key += codes
        key += 1
        span *= size + 1
    if key is None:
        raise ValueError("there is nothing to combine")
    return dense(key, span)


def dense(key: IntArray, span: int) -> tuple[IntArray, int]:
    """Replace whole numbers in [0, span) by their ranks; return the ranks and how many there are."""
    if span <= 4 * len(key):
        there = np.zeros(span, dtype=np.bool_)
        there[key] = True
        ranks: IntArray = np.cumsum(there, dtype=_small(span + 1)) - 1
        return ranks[key], int(ranks[-1]) + 1
    order = np.argsort(key)
    ordered = key[order]
    steps: IntArray = np.zeros(len(key), dtype=_small(len(key)))
    np.cumsum(ordered[1:] != ordered[:-1], out=steps[1:])
    ranks = np.empty_like(steps)
    ranks[order] = steps
    return ranks, int(steps[-1]) + 1 if len(key) else 0


def any_row_of(ids: IntArray, count: int) -> IntArray:
    """Return the position of one row per id, shape (count,); id -1 is passed over."""
    found = np.full(count + 1, MISSING, dtype=_small(len(ids)))
    for rows in pieces(len(ids)):
        found[ids[rows]] = np.arange(rows.start, rows.stop, dtype=found.dtype)
        if count <= _CHUNK and found[:count].min(initial=0) >= 0:  # most columns say all they can in their first rows
            break
    return found[:count]


def occurrences(codes: IntArray, size: int) -> IntArray:
    """Return how many rows hold each of the codes 0 to `size` - 1, shape (size,); -1 is passed over."""
    found = np.zeros(size + 1, dtype=np.int64)  # the last place is for missing, code -1
    for rows in pieces(len(codes)):
        np.add.at(found, codes[rows], 1)
    return found[:size]


def pieces(count: int) -> Iterator[slice]:
    """Yield the rows of a table in pieces, so that what is needed beside them does not grow with the table."""
    return (slice(start, min(start + _CHUNK, count)) for start in range(0, count, _CHUNK))


def _rank(series: pd.Series, column: Column) -> tuple[IntArray, int]:
    """Return the codes of a column's cells, -1 for missing, and how many values occur (see `Attribute`)."""
    declared = column.values  # a list of the schema, no frame
    if isinstance(series.dtype, pd.CategoricalDtype):
        used, codes = series.array.categories, series.array.codes
        order = np.flatnonzero(occurrences(codes, len(used)))
        if declared is None or used.tolist() != declared:  # the frame numbers them in another order than the schema
            order = order[_value_order(used[order], declared)]
    else:
        codes, used = _factorised(_cells(series))
        order = np.arange(len(used)) if declared is None else _value_order(used, declared)
    if np.array_equal(order, np.arange(len(used))):
        return codes, len(order)  # a categorical's own, which are read-only
    # The last place is for missing, code -1.
    ranks: IntArray = np.full(len(used) + 1, MISSING, dtype=_small(len(order)))
    ranks[order] = np.arange(len(order))
    return _looked_up(ranks, codes), len(order)


def _factorised(cells: Any) -> tuple[IntArray, Any]:
    """Return the codes of a column's cells, -1 for missing, and the values behind them, in order."""
    own: list[IntArray] = []  # numbered within each piece, by first appearance
    found = []
    for rows in pieces(len(cells)):
        places, used = pd.factorize(cells[rows])
        own.append(places.astype(_small(len(used))))
        found.append(used)
    if not found:
        return np.empty(0, dtype=np.int8), cells
    numbers, values = pd.factorize(_end_to_end(found), sort=True)
    ranks: IntArray = np.append(numbers, MISSING).astype(_small(len(values)))
    codes = np.empty(len(cells), dtype=ranks.dtype)
    start = 0
    for rows, part, used in zip(pieces(len(cells)), own, found, strict=True):
        codes[rows] = np.append(ranks[start : start + len(used)], ranks[-1])[part]
        start += len(used)
    return codes, values


def _end_to_end(arrays: Sequence[Any]) -> Any:
    """Put arrays of one dtype one after the other."""
    if isinstance(arrays[0], np.ndarray):
        return np.concatenate(arrays)
    return pd.concat([pd.Series(one, copy=False) for one in arrays], ignore_index=True).array


def _looked_up(table: IntArray, places: IntArray) -> IntArray:
    """Return ``table[places]``; numpy makes 64 bits of places, and so is given few at a time."""
    found = np.empty(len(places), dtype=table.dtype)
    for rows in pieces(len(places)):
        found[rows] = table.take(places[rows])
    return found


def _cells(series: pd.Series) -> Any:
    """Return a column as the array that holds it."""
    return series.to_numpy() if isinstance(series.dtype, np.dtype) else series.array


def take(values: Any, places: IntArray, *, holes: bool = False) -> Any:
    """Return ``values[places]`` in their own dtype; with `holes`, place -1 is a missing cell."""
    if isinstance(values, np.ndarray):
        values = pd.api.extensions.take(values, places, allow_fill=holes)
    else:
        values = values.take(places, allow_fill=holes)
    return values + 0.0 if getattr(values.dtype, "kind", "") == "f" else values  # makes one zero of -0.0 and 0.0


def halfway(low: Any, high: Any) -> Any:
    """Return the middle of two numbers or moments, rounded down where they are whole; no step on the way overflows."""
    kind = getattr(low.dtype, "kind", "")
    if kind == "f":
        return low + (high / 2 - low / 2)
    if kind == "i":
        return low // 2 + high // 2 + (low % 2 + high % 2) // 2
    return low + (high - low) // 2


def above_first(whole: IntArray) -> FloatArray:
    """Return by how much whole numbers, of any shape but none smaller than the first, are above it.

    Between two of 64 bits lies what only 64 bits without a sign can hold.
    """
    unsigned = np.asarray(whole, dtype=np.int64).view(np.uint64)
    return np.asarray(unsigned - unsigned[:1], dtype=np.float64)


def _small(count: int) -> "np.dtype[np.signedinteger[Any]]":
    """Return the smallest type that holds -1 and 0 to `count` - 1: tables are large, and codes stay about."""
    smallest: np.dtype[Any] = np.min_scalar_type(-max(count, 1))
    return smallest


def _attribute(series: pd.Series, column: Column) -> Attribute:
    kind: Kind = "nominal"
    if column.dtype in NUMERIC | TEMPORAL:
        kind = "number"
    elif column.dtype == "ordered":
        kind = "ordered"
    codes, size = _rank(series, column)
    return Attribute(column.name, (column,), kind, codes, size, (_cells(series),))


def _value_order(values: Any, declared: Sequence[str] | None) -> IntArray:
    """Return the positions of distinct values in declared order, undeclared ones after them by value."""
    if declared is not None:
        place = pd.Index(declared).get_indexer(pd.Index(values))
        if (place >= 0).all():
            return np.argsort(place)
    by_value = np.asarray(pd.Index(values).argsort(), dtype=np.int64)
    if declared is None:
        return by_value
    place = place[by_value]
    return by_value[np.argsort(np.where(place < 0, len(declared), place), kind="stable")]


def _join(members: Sequence[Attribute]) -> Attribute:
    whole = np.logical_and.reduce([member.codes >= 0 for member in members])
    codes = np.full(len(whole), MISSING, dtype=np.int64)
    codes[whole], count = combined((member.codes[whole], member.size) for member in members)
    return Attribute(
        name=str(members[0].columns[0].group),
        columns=tuple(column for member in members for column in member.columns),
        kind="nominal",
        codes=codes.astype(_small(count)),
        size=count,
        source=tuple(cells for member in members for cells in member.source),
    )
