"""What agreed boxes show on a column, brought beside the values of a table: as typed cells, and as intervals."""

import re
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np
import pandas as pd

from components.anonymization.hierarchies.hierarchy import Hierarchy, Ladder
from components.anonymization.mondrian.axes import topped
from components.anonymization.mondrian.box_tree import NOWHERE, Extents
from components.anonymization.pipeline.steps import order_keys
from components.anonymization.ranges import texts
from components.anonymization.transform.agreement import BoxColumn
from components.classes.coding import Attribute, BoolArray, IntArray, TextArray, encode
from schemas.dataset import NUMERIC, TEMPORAL, Column
from schemas.hierarchy import SUPPRESSED

_FORMS = {
    "integer": r"-?[0-9]{1,19}",
    "number": r"-?[0-9]{1,400}(\.[0-9]{1,400})?(e[+-]?[0-9]{1,3})?",
    "date": r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "datetime": r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z?",
}


@dataclass(frozen=True, slots=True)
class Members:
    """The values that covers name, one after the other.

    Parameters
    ----------
    cover : ndarray of int, shape (m,)
        The cover of each.
    texts : ndarray of str, shape (m,)
        None for missing cells.
    """

    cover: IntArray
    texts: TextArray

    @property
    def known(self) -> BoolArray:
        """Tell values from missing cells."""
        return np.array([text is not None for text in self.texts], dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Placed:
    """A column of agreed boxes beside the values of a table.

    Parameters
    ----------
    axis : BoxColumn
    unit : Attribute
        The table's.
    extents : Extents
        Of all boxes.
    points : ndarray of int, shape (size + 1,)
        Where each value code lies; the last place is for missing.
    ladder : Ladder or None
        The hierarchy whose labels are shown.
    levels : ndarray of int, shape (covers,)
        The lowest level that has each label; -1 where none has.
    """

    axis: BoxColumn
    unit: Attribute
    extents: Extents
    points: IntArray
    ladder: Ladder | None
    levels: IntArray


def members_of(axis: BoxColumn) -> Members:
    """Take covers apart into their members."""
    sizes = [len(cover) for cover in axis.covers]
    named = np.array(list(chain.from_iterable(axis.covers)), dtype=object)
    return Members(np.repeat(np.arange(len(sizes)), sizes), named)


def placed(axis: BoxColumn, unit: Attribute, ladder: Ladder | None) -> Placed:
    """Bring what boxes show on a column beside the values of a table.

    Parameters
    ----------
    axis : BoxColumn
    unit : Attribute
        Of the same column.
    ladder : Ladder or None
        Its own, where labels are shown.
    """
    members = members_of(axis)
    levels = np.zeros(len(axis.covers), dtype=np.int64)
    if ladder is not None:
        ladder, levels, groups = _levels_of(members.texts, ladder)
        intervals, points = _under_labels(ladder, levels, groups)
    elif axis.shows == "range":
        intervals, points = _between(members, unit)
    else:
        intervals, points = _among(members, unit)
    return Placed(axis, unit, _of_boxes(intervals, np.array(axis.boxes)), points, ladder, levels)


def unreadable(axis: BoxColumn, column: Column, hierarchy: Hierarchy | None) -> int:
    """Count the covers that a column of the schema can't show.

    Parameters
    ----------
    axis : BoxColumn
    column : Column
    hierarchy : Hierarchy or None
        The column's.
    """
    members = members_of(axis)
    named = members.texts[members.known]
    if axis.shows == "label":
        if hierarchy is None or not len(hierarchy.leaves):
            return 0
        labels = {SUPPRESSED, *chain.from_iterable(hierarchy.labels)}
        return sum(text not in labels for text in named)
    try:
        keys = keys_of(named, column)
    except ValueError:
        return len(axis.covers)
    first = np.flatnonzero(np.diff(members.cover[members.known], prepend=NOWHERE) == 0)
    return int(np.count_nonzero(keys[first] <= keys[first - 1])) if axis.shows == "range" else 0


def shows_of(column: Column) -> Literal["range", "set"]:
    """Return how a column without labels shows what a box holds."""
    return "range" if column.dtype in NUMERIC | TEMPORAL | {"ordered"} else "set"


def keys_of(named: TextArray, column: Column) -> Any:
    """Return numbers in the order of values that are written as `components.anonymization.ranges.texts` writes them.

    Raises
    ------
    ValueError
        A text is no value of the column; without the text.
    """
    if column.dtype == "ordered":
        keys = pd.Index(column.values or []).get_indexer(pd.Index(named))
        if (keys < 0).any():
            raise ValueError("is no declared value")
        return keys
    if column.dtype not in _FORMS:
        return np.zeros(len(named), dtype=np.int64)
    if not all(re.fullmatch(_FORMS[column.dtype], text) for text in named):
        raise ValueError(f"is no {column.dtype}")
    try:
        if column.dtype in TEMPORAL:
            return np.array([text.removesuffix("Z") for text in named], dtype="datetime64[us]").astype(np.int64)
        if column.dtype == "integer":
            return np.array([int(text) for text in named], dtype=np.int64)
        keys = np.array([float(text) for text in named], dtype=np.float64)
    except (ValueError, OverflowError):
        raise ValueError(f"is no {column.dtype}") from None
    if not np.isfinite(keys).all():
        raise ValueError(f"is no {column.dtype}")
    return keys


def typed(named: TextArray, unit: Attribute) -> Attribute:
    """Return values that are written as text as an attribute with cells of a table's own dtype, one row each."""
    column, dtype = unit.columns[0], unit.source[0].dtype
    cells: Any
    if isinstance(dtype, pd.CategoricalDtype):
        more = [text for text in dict.fromkeys(named) if text not in dtype.categories]
        cells = pd.Categorical(named, categories=[*dtype.categories, *more], ordered=dtype.ordered)
    elif column.dtype == "boolean":
        cells = pd.Series(named == "True").astype(dtype)
    elif column.dtype in TEMPORAL:
        moments = pd.DatetimeIndex(keys_of(named, column).astype("datetime64[us]"))
        cells = (moments if getattr(dtype, "tz", None) is None else moments.tz_localize("UTC")).astype(dtype)
    elif column.dtype in NUMERIC:
        cells = pd.Series(keys_of(named, column)).astype(dtype)
    else:
        cells = pd.array(named, dtype=dtype)
    return encode(pd.DataFrame({column.name: cells}), [column])[0]


Intervals = tuple[IntArray, IntArray, IntArray, BoolArray, int]
"""Cover, low, high and softness of each interval, and their span."""


def _between(members: Members, unit: Attribute) -> tuple[Intervals, IntArray]:
    """Place ranges among the values of a table; missing cells lie beyond all of them."""
    column, known = unit.columns[0], members.known
    keys, own = keys_of(members.texts[known], column), order_keys(unit.domain()[0], column)
    every = np.unique(np.concatenate([keys, own]))
    at = np.searchsorted(every, keys)
    first = np.flatnonzero(np.diff(members.cover[known], prepend=NOWHERE))
    last = np.append(first[1:], len(at)) - 1 if len(first) else first
    cover = members.cover[known][first]
    return _with_missing(members, cover, at[first], at[last], len(every)), np.append(
        np.searchsorted(every, own), len(every)
    )


def _among(members: Members, unit: Attribute) -> tuple[Intervals, IntArray]:
    """Place sets among the values of a table, each value by itself."""
    own, known = texts(unit.domain()[0], unit.columns[0]), members.known
    every = pd.Index(pd.unique(np.concatenate([members.texts[known], own])))
    at = every.get_indexer(pd.Index(members.texts[known]))
    points = np.append(every.get_indexer(pd.Index(own)), len(every))
    return _with_missing(members, members.cover[known], at, at, len(every)), points


def _with_missing(members: Members, cover: IntArray, low: IntArray, high: IntArray, beyond: int) -> Intervals:
    gaps = members.cover[~members.known]
    at = np.full(len(gaps), beyond)
    return (
        np.append(cover, gaps),
        np.append(low, at),
        np.append(high, at),
        np.zeros(len(cover) + len(gaps), dtype=np.bool_),
        beyond + 1,
    )


def _levels_of(labels: TextArray, ladder: Ladder) -> tuple[Ladder, IntArray, IntArray]:
    """Return the lowest level that has each label (-1: none, as yet), and its group there; None is missing cells."""
    levels, groups = np.full(len(labels), NOWHERE), np.full(len(labels), NOWHERE)
    missing = np.array([label is None for label in labels], dtype=np.bool_)
    levels[missing], groups[missing] = 0, ladder.groups[0][-1]
    if SUPPRESSED in labels and not any(SUPPRESSED in shown for shown in ladder.labels):
        ladder = topped(ladder)
    for level, shown in enumerate(ladder.labels):
        there = np.flatnonzero([text is not None for text in shown])
        at = pd.Index(np.asarray(shown, dtype=object)[there]).get_indexer(pd.Index(labels))
        new = (levels < 0) & (at >= 0)
        levels[new], groups[new] = level, there[at[new]]
    return ladder, levels, groups


def _under_labels(ladder: Ladder, levels: IntArray, groups: IntArray) -> tuple[Intervals, IntArray]:
    """Place labels along the branches of a hierarchy, where what is under one label lies side by side.

    A label that a table knows no value under has no interval. One that may stand for missing cells beside values
    leaves them to a box that shows nothing else, where these two can't be told apart otherwise: that box was cut off.
    """
    size = ladder.attribute.size
    order = np.lexsort([one[:size] for one in ladder.groups])
    place = np.empty(size, dtype=np.int64)
    place[order] = np.arange(size)
    cover = np.arange(len(levels))
    low, high = np.full(len(levels), size), np.full(len(levels), NOWHERE)
    missing = np.zeros(len(levels), dtype=np.bool_)
    for level, of_values in enumerate(ladder.groups):
        mine = levels == level
        first = np.full(max(int(of_values.max()) + 1, len(ladder.labels[level])), size)
        last = np.full(len(first), NOWHERE)
        np.minimum.at(first, of_values[:size], place)
        np.maximum.at(last, of_values[:size], place)
        low[mine], high[mine] = first[groups[mine]], last[groups[mine]]
        missing[mine] = groups[mine] == of_values[-1]
    some = low <= high
    gaps = cover[missing]
    at = np.full(len(gaps), size)
    soft = np.append(np.zeros(int(some.sum()), dtype=np.bool_), some[gaps])
    intervals = np.append(cover[some], gaps), np.append(low[some], at), np.append(high[some], at), soft, size + 1
    return intervals, np.append(place, size)


def _of_boxes(intervals: Intervals, boxes: IntArray) -> Extents:
    """Give each box the intervals of its cover."""
    cover, low, high, soft, span = intervals
    order = np.argsort(cover, kind="stable")
    sizes = np.bincount(cover, minlength=int(boxes.max()) + 1)
    at = order[spread_out(sizes, boxes)]
    return Extents(np.repeat(np.arange(len(boxes)), sizes[boxes]), low[at], high[at], soft[at], span)


def spread_out(sizes: IntArray, chosen: IntArray) -> IntArray:
    """Return the places of all members of chosen covers, one cover after the other, where members are in that order."""
    starts = np.cumsum(sizes) - sizes
    ends = np.cumsum(sizes[chosen])
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts[chosen] - ends + sizes[chosen], sizes[chosen])
