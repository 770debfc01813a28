"""Hierarchies that are a rule and no list: intervals, masks, calendar units and flat ones.

Labels follow from a value and the declaration alone, whatever other values a table holds.
"""

import math
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from components.anonymization.hierarchies.keys import keys_of_values, moments, number_texts
from components.classes.coding import FloatArray, IntArray, TextArray
from schemas.dataset import TEMPORAL, TEXT_LIKE, Column
from schemas.faults import DataError, Fault
from schemas.hierarchy import SUPPRESSED, Dates, Flat, Intervals, Mask

Rule = Intervals | Mask | Dates | Flat

LARGEST_DOMAIN = 100_000
"""Whole numbers or days between two bounds that are listed as leaves."""

_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_RESOLUTION = 2.0**53
_LARGEST_POWER = sys.float_info.max_10_exp
_EPOCH = np.datetime64("1970-01-01", "us")


def declared_domain(column: Column) -> Any | None:
    """Return all values that a column may hold, in their order; None where the schema doesn't bound them."""
    if column.dtype in TEXT_LIKE:
        return None if column.values is None else np.asarray(column.values, dtype=object)
    if column.dtype == "boolean":
        return np.array([False, True])
    if column.dtype not in {"integer", "date"} or column.min is None or column.max is None:
        return None
    if column.dtype == "integer":
        low, high = int(np.ceil(float(column.min))), int(np.floor(float(column.max)))
        return np.arange(low, high + 1) if high - low < LARGEST_DOMAIN else None
    days = np.array([column.min, column.max], dtype="datetime64[D]")
    count = int((days[1] - days[0]).astype(np.int64)) + 1
    return np.arange(days[0], days[1] + 1).astype("datetime64[us]") if count <= LARGEST_DOMAIN else None


def n_levels(rule: Rule) -> int:
    """Return the number of levels, the raw values included."""
    match rule:
        case Intervals():
            return 1 + len(rule.widths) + rule.top
        case Mask():
            return 1 + len(rule.keep) + rule.top
        case Dates():
            return 1 + len(rule.levels) + rule.top
    return 2


def ruled_levels(column: Column, values: Any) -> tuple[list[IntArray], list[TextArray]]:
    """Return group codes and labels of different values, in their order, on every level of a rule.

    Parameters
    ----------
    column : Column
        Its hierarchy is a rule.
    values : array, shape (m,)
        In the column's own dtype, none missing.
    """
    rule: Any = column.hierarchy
    groups, labels = [], []
    for level in range(n_levels(rule)):
        codes, found = pd.factorize(level_labels(rule, column, values, level))
        groups.append(codes.astype(np.int64))
        labels.append(np.array([SUPPRESSED] if is_top(rule, level) else found, dtype=object))
    return groups, labels


def level_labels(rule: Rule, column: Column, values: Any, level: int) -> TextArray:
    """Return what each value becomes on a level.

    Parameters
    ----------
    rule : Intervals, Mask, Dates or Flat
    column : Column
    values : array, shape (m,)
        In the column's own dtype, none missing.
    level : int
        Below `n_levels`; 0 is the raw value.

    Raises
    ------
    DataError
        Numbers are too large for the width of an interval to count.
    """
    if level == 0:
        return keys_of_values(values, column)
    if is_top(rule, level):
        return np.full(len(values), SUPPRESSED, dtype=object)
    if isinstance(rule, Intervals):
        return _interval_labels(rule, column, values, level)
    if isinstance(rule, Mask):
        return _masked(values, rule.keep[level - 1], rule.side)
    unit = rule.levels[level - 1] if isinstance(rule, Dates) else "day"
    return _calendar_labels(moments(values), unit)


def level_spans(rule: Rule, column: Column, values: Any, level: int) -> tuple[Any, Any]:
    """Return the lowest and the highest number or moment of the group that each value belongs to on a level above 0.

    The bounds are those of the declarations: no value of the table but the group's own label plays a part. An open
    end without a declared bound is taken to be as far away as the first interval is wide; where nothing is declared
    at all a group is taken to be at 0, or at the beginning of 1970.

    Returns
    -------
    low, high : ndarray, shape (m,)
        Floats, or datetime64[us]. A whole number's group ends at its largest member.
    """
    if column.dtype in TEMPORAL:
        return _calendar_spans(rule, column, values, level)
    lowest, highest = _outer_numbers(rule, column)
    if not isinstance(rule, Intervals) or is_top(rule, level):
        return np.full(len(values), lowest), np.full(len(values), highest)
    numbers = np.asarray(values, dtype=np.float64)
    low, high = _interval_ends(rule, column, numbers, level)
    low = np.where(np.isneginf(low), lowest, low)
    high = np.where(np.isposinf(high), highest, high - 1 if column.dtype == "integer" else high)
    low = low if column.min is None else np.maximum(low, float(column.min))
    return low, high if column.max is None else np.minimum(high, float(column.max))


def is_top(rule: Rule, level: int) -> bool:
    """Tell whether a level is the one on which all values, whatever a table holds, are one group."""
    return level > 0 and (isinstance(rule, Flat) or (rule.top and level == n_levels(rule) - 1))


def _interval_labels(rule: Intervals, column: Column, values: Any, level: int) -> TextArray:
    low, high = _interval_ends(rule, column, np.asarray(values, dtype=np.float64), level)
    labels = "[" + number_texts(low) + ", " + number_texts(high) + ")"
    if rule.lowest is not None:
        labels = np.where(np.isneginf(low), "< " + _number_text(rule.lowest), labels)
    if rule.highest is not None:
        labels = np.where(np.isposinf(high), ">= " + _number_text(rule.highest), labels)
    return np.asarray(labels, dtype=object)


@np.errstate(over="ignore", invalid="ignore")
def _interval_ends(rule: Intervals, column: Column, values: FloatArray, level: int) -> tuple[FloatArray, FloatArray]:
    """Return both ends of each value's interval, infinite at the open ends.

    Ends are whole numbers of the declaration's smallest decimal place, divided once: 0.3 lies in [0.3, 0.4), which
    repeated sums of 0.1 would miss.
    """
    parts = [Decimal(repr(number)) for number in (rule.origin, rule.widths[level - 1])]
    places = max(0, *(-int(part.as_tuple().exponent) for part in parts))
    origin, width = (float(part.scaleb(places)) for part in parts)
    scale = float(10**places) if places <= _LARGEST_POWER else math.inf
    number = np.floor((values * scale - origin) / width)
    reach = np.abs((number + 1) * width + origin)
    inside = np.ones(len(values), dtype=np.bool_)
    if rule.lowest is not None:
        inside &= values >= rule.lowest
    if rule.highest is not None:
        inside &= values < rule.highest
    if not np.all(reach[inside] < _RESOLUTION):  # what overflowed above is refused here
        raise DataError(
            Fault(
                f"column '{column.name}', its hierarchy",
                "holds numbers so large that intervals of this width can't be told apart",
                remedy="declare lowest and highest, or a larger width",
            )
        )
    number -= values < (origin + number * width) / scale
    number += values >= (origin + (number + 1) * width) / scale
    low, high = (origin + number * width) / scale, (origin + (number + 1) * width) / scale
    if rule.lowest is not None:
        low, high = np.maximum(low, rule.lowest), np.where(values < rule.lowest, rule.lowest, high)
        low[values < rule.lowest] = -np.inf
    if rule.highest is not None:
        low, high = np.where(values >= rule.highest, rule.highest, low), np.minimum(high, rule.highest)
        high[values >= rule.highest] = np.inf
    return low, high


def _number_text(number: float) -> str:
    return str(number_texts(np.array([number], dtype=np.float64))[0])


def _outer_numbers(rule: Rule, column: Column) -> tuple[float, float]:
    """Return the lowest and the highest number that is declared."""
    low = None if column.min is None else float(column.min)
    high = None if column.max is None else float(column.max)
    if isinstance(rule, Intervals):
        width = float(rule.widths[0])
        if low is None:
            low = float(rule.origin) if rule.lowest is None else rule.lowest - width
        if high is None:
            high = low + float(rule.widths[-1]) if rule.highest is None else rule.highest + width
    if low is None:
        low = min(0.0, 0.0 if high is None else high)
    return low, max(low, low if high is None else high)


def _masked(values: Any, keep: int, side: str) -> TextArray:
    """Show `keep` characters and a star for each of the others: lengths stay."""
    cells = pa.array(np.asarray(pd.Series(values).astype(str), dtype=object), pa.string())
    stars = pc.binary_repeat("*", pc.max_element_wise(pc.subtract(pc.utf8_length(cells), keep), 0))
    if side == "suffix":
        shown = pc.utf8_slice_codeunits(cells, 0, keep)
        return np.asarray(pc.binary_join_element_wise(shown, stars, "").to_numpy(zero_copy_only=False), dtype=object)
    shown = pc.utf8_slice_codeunits(cells, -keep) if keep else pc.utf8_slice_codeunits(cells, 0, 0)
    return np.asarray(pc.binary_join_element_wise(stars, shown, "").to_numpy(zero_copy_only=False), dtype=object)


def _calendar_labels(when: Any, unit: str) -> TextArray:
    if unit in {"day", "month"}:
        return _iso(when, "D" if unit == "day" else "M")
    years = when.astype("datetime64[Y]").astype(np.int64) + 1970
    if unit == "decade":
        return np.asarray(_integers(years // 10 * 10) + "s", dtype=object)
    if unit == "quarter":
        months = when.astype("datetime64[M]").astype(np.int64) % 12
        return np.asarray(_iso(when, "Y") + "-Q" + _integers(months // 3 + 1), dtype=object)
    return _iso(when, "Y")


def _iso(when: Any, unit: str) -> TextArray:
    return np.asarray(np.datetime_as_string(when.astype(f"datetime64[{unit}]")), dtype=object)


def _integers(numbers: Any) -> TextArray:
    return np.asarray(numbers.astype(str), dtype=object)


def _calendar_spans(rule: Rule, column: Column, values: Any, level: int) -> tuple[Any, Any]:
    last = np.timedelta64(1, "D") if column.dtype == "date" else np.timedelta64(1, "us")
    lowest, highest = _outer_moments(column)
    if not isinstance(rule, Dates) or is_top(rule, level):
        found = [_EPOCH if end is None else end for end in (lowest or highest, highest or lowest)]
        return tuple(np.full(len(values), end) for end in found)  # type: ignore[return-value]
    when, unit = moments(values), rule.levels[level - 1]
    if unit == "day":
        low = when.astype("datetime64[D]")
        high = (low + 1).astype("datetime64[us]") - last
    else:
        size = _MONTHS[unit]
        since_year_0 = when.astype("datetime64[M]").astype(np.int64) + 1970 * 12
        low = (since_year_0 // size * size - 1970 * 12).astype("datetime64[M]")
        high = (low + size).astype("datetime64[us]") - last
    low = low.astype("datetime64[us]")
    low = low if lowest is None else np.maximum(low, lowest)
    return low, high if highest is None else np.minimum(high, highest)


def _outer_moments(column: Column) -> tuple[Any, Any]:
    """Return the declared bounds as datetime64[us], None where there is none."""
    bounds = (None if bound is None else pd.Timestamp(bound) for bound in (column.min, column.max))
    low, high = (None if bound is None else moments([bound])[0] for bound in bounds)
    return low, high
