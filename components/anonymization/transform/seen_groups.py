"""The groups of one level as the declarations tell them: labels in order, and the numbers that each spans.

Nothing here looks at a table. A hierarchy that lists its leaves has the groups of its leaves; one that is a rule over
declared bounds has all groups between them; any other has groups that can't be listed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from components.anonymization.hierarchies.functions import (
    LARGEST_DOMAIN,
    is_top,
    level_labels,
    level_spans,
)
from components.anonymization.hierarchies.hierarchy import Hierarchy, Ladder, TextArray
from components.anonymization.hierarchies.keys import moments
from components.anonymization.hierarchies.training import leaf_spans, middles
from schemas.dataset import NUMERIC, TEMPORAL, Column
from schemas.hierarchy import Intervals


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of a level.

    Parameters
    ----------
    labels : ndarray of str, shape (G,)
        In the order of their lowest values.
    low, high : ndarray, shape (G,), or None
        Lowest and highest number (float64) or moment (datetime64[us]) of each; NaN or NaT for a group of missing
        markers alone. None for columns of other kinds.
    """

    labels: TextArray
    low: Any = None
    high: Any = None


def groups_of(ladder: Ladder, hierarchy: Hierarchy, level: int) -> Groups | None:
    """Return all groups of a level above 0, or None where the schema doesn't bound them.

    Parameters
    ----------
    ladder : Ladder
        On `hierarchy`. Tells which leaves stand for missing cells; its rows play no part.
    hierarchy : Hierarchy
    level : int
    """
    column = hierarchy.column
    if len(hierarchy.leaves):
        return _of_leaves(ladder, hierarchy, level)
    points = _points(column, level)
    if points is None:
        return None
    rule: Any = column.hierarchy
    labels, first = np.unique(level_labels(rule, column, points, level).astype(str), return_index=True)
    order = np.argsort(first)
    spans = level_spans(rule, column, points[first[order]], level) if column.dtype in NUMERIC | TEMPORAL else ()
    return Groups(labels[order].astype(object), *spans)


def middles_of_values(hierarchy: Hierarchy, level: int, values: Any) -> Any:
    """Return the middle of the group that each value belongs to, where groups can't be listed."""
    rule: Any = hierarchy.column.hierarchy
    return middles(*level_spans(rule, hierarchy.column, values, level), hierarchy.column)


def _of_leaves(ladder: Ladder, hierarchy: Hierarchy, level: int) -> Groups:
    """Read the groups off the leaves, which stand in the order of their values."""
    column, labels = hierarchy.column, hierarchy.labels[level]
    if column.dtype not in NUMERIC | TEMPORAL:
        return Groups(labels)
    low, high, known = leaf_spans(ladder, level)
    if column.dtype in TEMPORAL:
        return Groups(labels, *(np.where(known, end, np.datetime64("NaT", "us")) for end in (low, high)))
    return Groups(labels, *(np.where(known, end, np.nan) for end in (low, high)))


def _points(column: Column, level: int) -> Any | None:
    """Return at least one value, in order, of each group between a column's bounds."""
    rule: Any = column.hierarchy
    if is_top(rule, level):
        return _any_value(column)
    if column.dtype not in NUMERIC | TEMPORAL or column.min is None or column.max is None:
        return None
    if column.dtype in TEMPORAL:
        low, high = moments([pd.Timestamp(column.min), pd.Timestamp(column.max)])
        return _dates(low, high, rule.levels[level - 1])
    return _numbers(rule, column, level)


def _any_value(column: Column) -> Any:
    """Return one value of a column's kind, for the level on which all values are one group."""
    if column.dtype in TEMPORAL:
        return np.zeros(1, dtype="datetime64[us]")
    return np.zeros(1) if column.dtype in NUMERIC else np.array([""], dtype=object)


def _dates(low: Any, high: Any, unit: str) -> Any | None:
    """Return the first day of each month, for finer units of each day, and both bounds."""
    finest = "datetime64[D]" if unit == "day" else "datetime64[M]"
    first, last = low.astype(finest), high.astype(finest)
    if int((last - first).astype(np.int64)) >= LARGEST_DOMAIN:
        return None
    return np.unique(np.clip(np.append(np.arange(first, last + 1).astype(low.dtype), high), low, high))


def _numbers(rule: Intervals, column: Column, level: int) -> Any | None:
    """Return the middle of each interval, both bounds, and the values on both sides of the open ends."""
    whole = column.dtype == "integer"
    low, high = float(str(column.min)), float(str(column.max))
    width = float(rule.widths[level - 1])
    first, last = ((bound - rule.origin) // width for bound in (low, high))
    if last - first >= LARGEST_DOMAIN:
        return None
    ends = [float(end) for end in (rule.lowest, rule.highest) if end is not None]
    inside = rule.origin + (np.arange(first, last + 1) + 0.5) * width
    points = np.concatenate([[low, high], ends, np.nextafter(ends, -np.inf), inside])
    if whole:
        low, high, points = np.ceil(low), np.floor(high), np.floor(points)
    return np.unique(np.clip(points, low, high)).astype(np.int64 if whole else np.float64)
