"""Recodings of chosen columns, each told by the schema, the hierarchy or the rows of those columns alone."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from components.anonymization.declarations import Microaggregate, TopBottom
from components.anonymization.hierarchies.hierarchy import Ladder
from components.anonymization.pipeline.microaggregation import microaggregate
from components.anonymization.pipeline.rules import LARGEST_INTEGER, LEAST_INTEGER, order_of
from components.anonymization.ranges import texts
from components.anonymization.representatives import Published
from components.classes.coding import Attribute, IntArray, combined, halfway, take
from schemas.dataset import NUMERIC, TEMPORAL, Column
from schemas.hierarchy import SUPPRESSED

AT_MOST, AT_LEAST = "<= ", ">= "
"""What stands before a bound in a column that is top and bottom coded."""


@dataclass(frozen=True, slots=True)
class Coded:
    """Some columns as they are released.

    Parameters
    ----------
    columns : list of Published
    codes : ndarray of int, shape (n,)
        Equal for rows that show the same on all of these columns.
    size : int
        Codes are 0 to ``size - 1``.
    facts : dict
        How it was done, without cell values.
    """

    columns: list[Published]
    codes: IntArray
    size: int
    facts: dict[str, Any]


def top_bottom(unit: Attribute, step: TopBottom) -> Coded:
    """Publish values up to a bottom as ``<= bottom``, and from a top on as ``>= top``; others stay, as text.

    A value that equals a bound is coded too, so that nothing tells it from those beyond. Missing cells stay missing.
    A model learns from the bound itself.

    Parameters
    ----------
    unit : Attribute
        Of one column of numbers, dates or ordered values.
    step : TopBottom
    """
    column, dtype = unit.columns[0], unit.source[0].dtype
    (values,) = unit.domain()
    keys, labels, training = order_keys(values, column), texts(values, column), values.copy()
    low, high = 0, unit.size  # values before the first are coded at the bottom, from the second on at the top
    if step.bottom is not None:
        bound = bound_of(column, step.bottom, dtype)
        low = int(np.searchsorted(keys, order_keys(bound, column)[0], side="right"))
        labels[:low], training[:low] = AT_MOST + texts(bound, column)[0], bound[0]
    if step.top is not None:
        bound = bound_of(column, step.top, dtype)
        high = int(np.searchsorted(keys, order_keys(bound, column)[0], side="left"))
        labels[high:], training[high:] = AT_LEAST + texts(bound, column)[0], bound[0]
    place = np.append(np.clip(np.arange(unit.size), low - 1, high), unit.size + 1)
    coded = np.append((place[:-1] < low) | (place[:-1] >= high), False)
    codes, size = combined([(place[unit.codes], unit.size + 2)])
    share = float(np.mean(coded[unit.codes]))
    shown = Published(
        column=column,
        cells=take(pd.array(labels, dtype="string"), unit.codes, holes=True),
        training=take(training, unit.codes, holes=bool((unit.codes < 0).any())),
        generalised=True,
    )
    return Coded([shown], codes, size, {"share_coded": share})


def microaggregated(units: Sequence[Attribute], step: Microaggregate) -> Coded:
    """Give groups of similar rows one value per column (see `components.anonymization.pipeline.microaggregation`)."""
    found = microaggregate(units, step.size, step.function)
    facts = {
        "grouped_by": found.by,
        "groups": found.count,
        "smallest_group": int(np.bincount(found.groups).min()),
        "rounded": [unit.name for unit in units if unit.columns[0].dtype != "number"],
    }
    codes, size = combined(
        (pd.factorize(one.cells, use_na_sentinel=False)[0], len(found.groups)) for one in found.columns
    )
    return Coded(found.columns, codes, size, facts)


def suppressed(unit: Attribute) -> Coded:
    """Publish ``*`` in every cell.

    A model sees the middle of what the schema declares: of the bounds, or of the values; where it declares neither,
    zero, the first of January 1970, or ``*``. It is the same in every row, and nothing is learned from it.
    """
    rows = len(unit.codes)
    columns = []
    for column, cells in zip(unit.columns, unit.source, strict=True):
        star = pd.array([SUPPRESSED], dtype="string").take(np.zeros(rows, dtype=np.int64))
        middle = take(_middle(column, cells.dtype), np.zeros(rows, dtype=np.int64))
        columns.append(Published(column, star, middle, generalised=True))
    return Coded(columns, np.zeros(rows, dtype=np.int8), 1, {})


def labels_on(ladder: Ladder, levels: int | IntArray) -> tuple[IntArray, int]:
    """Give each label that a column may show a number, and return what rows show on their levels.

    Parameters
    ----------
    ladder : Ladder
    levels : int or ndarray of int, shape (n,)
        The level of all rows, or of each. Labels of two levels that read alike are one.

    Returns
    -------
    codes : ndarray of int, shape (n,)
    count : int
        Codes are below it; not all need occur.
    """
    starts = np.cumsum([0, *(len(labels) for labels in ladder.labels[:-1])])
    labels = np.concatenate([np.asarray(labels, dtype=object) for labels in ladder.labels])
    numbers, different = pd.factorize(labels, use_na_sentinel=False)
    shown = numbers[np.stack(ladder.groups) + starts[:, np.newaxis]]
    return shown[levels, ladder.attribute.codes], len(different)


def bound_of(column: Column, bound: float | str, dtype: Any) -> Any:
    """Return a bound (see `components.anonymization.pipeline.rules.order_of`) as an array of one cell of a dtype."""
    value = order_of(column, bound)
    if column.dtype in TEMPORAL:
        moment = value if getattr(dtype, "tz", None) is not None else value.replace(tzinfo=None)
        return pd.DatetimeIndex([moment]).as_unit("us").array
    if column.dtype == "ordered":
        return pd.Categorical([bound], categories=column.values, ordered=True)
    return np.array([value], dtype=np.int64 if column.dtype == "integer" else np.float64)


def order_keys(values: Any, column: Column) -> Any:
    """Return numbers in the order of values: for times microseconds, for ordered values their declared place."""
    if column.dtype in TEMPORAL:
        return pd.DatetimeIndex(values).as_unit("us").asi8
    if column.dtype == "ordered":
        return pd.Index(column.values or []).get_indexer(pd.Index(texts(values, column)))
    return np.asarray(values, dtype=np.int64 if column.dtype == "integer" else np.float64)


def _middle(column: Column, dtype: Any) -> Any:
    """Return the middle of what the schema declares of a column, as an array of one cell."""
    if column.values is not None:
        value: Any = column.values[(len(column.values) - 1) // 2]
    elif column.dtype in NUMERIC | TEMPORAL:
        value = _middle_of_bounds(column, dtype)
    else:
        value = False if column.dtype == "boolean" else SUPPRESSED
    cells = pd.Series([value]).astype(dtype)
    return cells.to_numpy() if isinstance(cells.dtype, np.dtype) else cells.array


def _middle_of_bounds(column: Column, dtype: Any) -> Any:
    if column.dtype in NUMERIC:
        kind: Any = np.float64
        ends: list[Any] = [end for end in (column.min, column.max) if end is not None]
        if column.dtype == "integer":  # bounds may be declared between whole numbers, or beyond those that cells hold
            kind = np.int64
            ends = [min(max(math.floor(end), LEAST_INTEGER), LARGEST_INTEGER) for end in ends]
        cells = [np.array([end], dtype=kind) for end in ends]
        return halfway(cells[0], cells[-1])[0] if cells else 0
    zero: Any = pd.Timestamp(0, tz=getattr(dtype, "tz", None))
    declared = [bound_of(column, bound, dtype)[0] for bound in (column.min, column.max) if bound is not None]
    low, high = (declared[0], declared[-1]) if declared else (zero, zero)
    value = low + (high - low) / 2
    return value.normalize() if column.dtype == "date" else value
