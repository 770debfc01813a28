"""What stands for a generalised cell where a model learns in the original domain: told by the label alone."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from components.anonymization.hierarchies.functions import level_spans
from components.anonymization.hierarchies.keys import keys_of_texts, moments
from components.classes.coding import MISSING, BoolArray, FloatArray, IntArray, halfway, take
from components.data.text import Rules
from schemas.dataset import TEMPORAL, TEXT_LIKE, Column
from schemas.hierarchy import Dates, Flat, Intervals

if TYPE_CHECKING:
    from components.anonymization.hierarchies.hierarchy import Hierarchy, Ladder


def original_domain(ladder: "Ladder", levels: IntArray, kept: BoolArray | None = None) -> Any:
    """Return a column of the original domain that the released cells tell (see `hierarchy.Ladder`).

    Parameters
    ----------
    ladder : Ladder
    levels : ndarray of int, shape () or (n,)
    kept : ndarray of bool, shape (n,), optional
        The rows that are not suppressed; no other may tell what stands for a group.

    Returns
    -------
    array, shape (n,)
        In the column's own dtype. Rows on level 0 keep their cells; a group that holds no value which the schema
        admits is missing.
    """
    attribute = ladder.attribute
    (own,) = attribute.domain()
    pool, places = [pd.Series(own)], [np.append(np.arange(attribute.size), MISSING)]
    weight = _even_shares(ladder, levels, kept)
    start = attribute.size
    for level in range(1, len(ladder.groups)):
        stands, known = _representatives(ladder, level, weight)
        pool.append(_typed(stands, attribute.columns[0], pool[0].dtype))
        there = np.append(known, False)  # a group of missing cells alone stays missing
        groups = np.minimum(ladder.groups[level], len(known))
        places.append(np.where(there[groups], start + groups, MISSING))
        start += len(known)
    chosen = np.stack(places)[levels, attribute.codes]
    whole = pd.concat(pool, ignore_index=True)
    cells = whole.to_numpy() if isinstance(whole.dtype, np.dtype) else whole.array
    return take(cells, chosen, holes=bool((chosen < 0).any()))


def _representatives(ladder: "Ladder", level: int, weight: FloatArray) -> tuple[Any, BoolArray]:
    """Return what stands for each group of a level of the hierarchy, and which groups have such a value."""
    hierarchy = _hierarchy(ladder)
    column, rule = hierarchy.column, hierarchy.column.hierarchy
    if column.dtype in {"integer", "number"} or column.dtype in TEMPORAL:
        if isinstance(rule, (Intervals, Dates, Flat)):
            low, high, known = _ruled_spans(ladder, level, rule)
        else:
            low, high, known = leaf_spans(ladder, level)
        if column.dtype == "integer":
            low, high = _whole(low), _whole(high)
        return middles(low, high, column), known
    if not len(hierarchy.leaves):
        return np.asarray(ladder.labels[level], dtype=object), ladder.labels[level] != None  # noqa: E711  # of an array
    admitted = _admitted(ladder)
    groups, count = hierarchy.groups[level], len(hierarchy.labels[level])
    sizes = np.bincount(groups[admitted], minlength=count)
    order = np.flatnonzero(admitted)
    order = order[np.lexsort((order, -weight[order], groups[order]))]
    first = np.cumsum(sizes) - sizes
    at = first + (np.maximum(sizes - 1, 0) // 2 if column.dtype == "ordered" else 0)
    chosen = order[np.minimum(at, max(len(order) - 1, 0))] if len(order) else np.zeros(count, dtype=np.int64)
    return hierarchy.leaves[chosen], sizes > 0


def _hierarchy(ladder: "Ladder") -> "Hierarchy":
    if ladder.hierarchy is None:
        raise TypeError("an attribute that is held as it is has nothing to climb")
    return ladder.hierarchy


def _even_shares(ladder: "Ladder", levels: IntArray, kept: BoolArray | None) -> FloatArray:
    """Return how many rows each leaf has when every row's group is shared out evenly; all alike for ordered ones."""
    hierarchy = _hierarchy(ladder)
    weight = np.zeros(len(hierarchy.leaves))
    if hierarchy.column.dtype not in {"text", "category", "boolean"} or not len(weight):
        return weight
    admitted = _admitted(ladder)
    codes = ladder.attribute.codes
    if kept is not None:
        codes, levels = codes[kept], levels if levels.ndim == 0 else levels[kept]
    for level in np.unique(levels):
        rows = codes if levels.ndim == 0 else codes[levels == level]
        groups, count = hierarchy.groups[level], len(hierarchy.labels[level])
        amounts = np.bincount(ladder.groups[level][rows], minlength=count)[:count]
        sizes = np.bincount(groups[admitted], minlength=count)
        weight += (amounts / np.maximum(sizes, 1))[groups]
    return np.round(weight, 6)


def _admitted(ladder: "Ladder") -> BoolArray:
    """Tell which leaves are values that the column's schema admits; one that stands for missing is none."""
    hierarchy = _hierarchy(ladder)
    column = hierarchy.column
    leaves = hierarchy.index
    present = np.array([label is not None for label in ladder.labels[0][: len(leaves)]], dtype=np.bool_)
    if column.dtype not in TEXT_LIKE:
        return present & keys_of_texts(hierarchy.leaves, column, Rules()).known
    return present if column.values is None else present & leaves.isin(column.values)


def _ruled_spans(ladder: "Ladder", level: int, rule: Any) -> tuple[Any, Any, BoolArray]:
    """Return the ends of the groups that occur, by the rule alone."""
    values = ladder.attribute.domain()[0]
    ends = level_spans(rule, ladder.attribute.columns[0], values, level)
    count = len(ladder.labels[level])
    known = np.zeros(count, dtype=np.bool_)
    groups = ladder.groups[level][:-1]
    known[groups] = True
    low, high = (np.zeros(count, dtype=end.dtype) for end in ends)
    low[groups], high[groups] = ends
    return low, high, known


def leaf_spans(ladder: "Ladder", level: int) -> tuple[Any, Any, BoolArray]:
    """Return the lowest and the highest leaf of each group of a level, of those that are values of the column.

    A leaf beyond the column's bounds is none, nor is one that stands for missing cells.

    Parameters
    ----------
    ladder : Ladder
        Of a column of numbers or dates whose hierarchy lists its leaves. Its rows play no part.
    level : int

    Returns
    -------
    low, high : ndarray, shape (groups,)
        Numbers (int64 or float64) or datetime64[us].
    known : ndarray of bool, shape (groups,)
        Which groups hold a value; ends of others mean nothing.
    """
    hierarchy = _hierarchy(ladder)
    column, keys = hierarchy.column, keys_of_texts(hierarchy.leaves, hierarchy.column, Rules())
    inside = _admitted(ladder)
    for bound, beyond in ((column.min, np.less), (column.max, np.greater)):
        if bound is not None:
            end = moments([bound])[0] if column.dtype in TEMPORAL else bound
            inside &= ~beyond(keys.values, end)
    groups, count = hierarchy.groups[level][inside], len(hierarchy.labels[level])
    order = np.lexsort((keys.values[inside], groups))
    sizes = np.bincount(groups, minlength=count)
    ordered = keys.values[inside][order]
    known = sizes > 0
    low, high = (np.zeros(count, dtype=keys.values.dtype) for _ in range(2))
    ends = np.cumsum(sizes)[known]
    low[known], high[known] = ordered[ends - sizes[known]], ordered[ends - 1]
    return low, high, known


def middles(low: Any, high: Any, column: Column) -> Any:
    """Return the middle of each span of numbers or moments, rounded down where ends are int64 or days.

    In a column's original domain the middle of whole numbers is one; where a model sees the middle of a group as a
    number (see `components.anonymization.transform.seen`), its ends are floats, and it is not rounded.

    Parameters
    ----------
    low, high : ndarray, shape (m,)
    column : Column
    """
    half = halfway(low, high)
    return half.astype("datetime64[D]").astype("datetime64[us]") if column.dtype == "date" else half


def _whole(numbers: Any) -> IntArray:
    """Return numbers as 64 bits hold them; declared bounds may lie beyond."""
    if numbers.dtype.kind == "f":
        numbers = np.clip(numbers, -(2.0**63), 2.0**63 - 2.0**10)  # the largest float that fits
    return np.asarray(numbers.astype(np.int64))


def _typed(stands: Any, column: Column, dtype: Any) -> pd.Series:
    if isinstance(dtype, pd.DatetimeTZDtype):
        return pd.Series(pd.DatetimeIndex(stands).tz_localize("UTC"), dtype=dtype)
    if column.dtype == "boolean":
        stands = stands == "true"
    found: pd.Series = pd.Series(stands, dtype=dtype)
    return found
