"""Microaggregation: groups of similar rows get one value (Domingo-Ferrer and Mateo-Sanz 2002).

One column is sorted and cut into runs. Several are grouped by MDAV (Domingo-Ferrer and Torra 2005, algorithm 2) on
standardised values, or, where they hold too many different tuples for that, by runs along their first principal
component. Equal tuples always stay together, so that groups may be larger than asked, never smaller.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from components.anonymization.representatives import Published
from components.classes.coding import (
    MISSING,
    Attribute,
    FloatArray,
    IntArray,
    above_first,
    any_row_of,
    combined,
    halfway,
    take,
)
from components.classes.counts import Counts, most_frequent, sizes, tally

Function = Literal["mean", "median", "mode"]

MOST_TUPLES = 5_000
"""Different tuples up to which MDAV, whose time grows with their square, is used."""


@dataclass(frozen=True, slots=True)
class Microaggregated:
    """Rows in groups.

    Parameters
    ----------
    groups : ndarray of int, shape (n,)
        Group of each row.
    count : int
    columns : list of Published
        In the columns' own dtypes.
    by : {"sorted values", "MDAV", "first principal component"}
        How rows were grouped.
    """

    groups: IntArray
    count: int
    columns: list[Published]
    by: str


def microaggregate(units: Sequence[Attribute], size: int, function: Function) -> Microaggregated:
    """Group rows by their values, and give each group one value per column.

    Parameters
    ----------
    units : sequence of Attribute
        Of one column of numbers, dates or ordered values each.
    size : int
        Least rows in a group.
    function : {"mean", "median", "mode"}
        Of the group's values: the mean, the median (the mean of both middle ones), or the most frequent one, the
        smallest among equals. Whole numbers are rounded, halves up; dates to a day, times to a microsecond. Ordered
        values have no mean, and their median is the lower of both middle ones.

    Notes
    -----
    Missing cells stay missing: rows are grouped among those that miss the same columns, and where these are fewer
    than `size`, they make one smaller group.
    """
    patterns, n_patterns = combined(((unit.codes < 0).astype(np.int8), 2) for unit in units)
    tuples, n_tuples = combined((unit.codes, unit.size) for unit in units)
    rows, first = np.bincount(tuples, minlength=n_tuples), any_row_of(tuples, n_tuples)
    group = np.zeros(n_tuples, dtype=np.int64)
    count, by = 0, "sorted values"
    for pattern in range(n_patterns):
        members = np.flatnonzero(patterns[first] == pattern)
        known = [unit for unit in units if unit.codes[first[members[0]]] >= 0]
        points = np.column_stack(
            [_numbers(unit)[unit.codes[first[members]]] for unit in known] or [np.zeros(len(members))]
        )
        found, used = _grouped(points, rows[members], size)
        group[members] = count + found
        count += int(found.max()) + 1
        by = max(by, used, key=_BY.index)
    groups = group[tuples]
    return Microaggregated(groups, count, [_published(unit, groups, count, function) for unit in units], by)


_BY = ["sorted values", "MDAV", "first principal component"]


def _grouped(points: FloatArray, rows: IntArray, size: int) -> tuple[IntArray, str]:
    """Group distinct points (in lexicographic order) of so many rows each."""
    if points.shape[1] == 1:
        return _runs(rows, size), _BY[0]
    points = _standardised(points, rows)
    if len(points) <= MOST_TUPLES:
        return _mdav(points, rows, size), _BY[1]
    _, axes = np.linalg.eigh((points * rows[:, None]).T @ points)
    along = axes[:, -1] * np.sign(axes[np.argmax(np.abs(axes[:, -1])), -1])
    order = np.argsort(np.round(points @ along, 9), kind="stable")
    groups = np.empty(len(points), dtype=np.int64)
    groups[order] = _runs(rows[order], size)
    return groups, _BY[2]


def _standardised(points: FloatArray, rows: IntArray) -> FloatArray:
    """Return points with mean 0 and standard deviation 1 over the rows, per column."""
    points = np.ldexp(points, -np.frexp(np.abs(points).max(axis=0))[1])  # to where no sum or square overflows
    centred = points - np.average(points, axis=0, weights=rows)
    deviation = np.sqrt(np.average(centred**2, axis=0, weights=rows))
    return np.asarray(centred / np.where(deviation > 0, deviation, 1.0), dtype=np.float64)


def _runs(rows: IntArray, size: int) -> IntArray:
    """Cut points in a row into runs of at least `size` rows, each as short as can be; a remainder joins the last run.

    Where each run ends follows from where it starts. The starts that are reached from the first point are found by
    doubling the length of the jump.
    """
    below = np.concatenate(([0], np.cumsum(rows)))
    end = np.searchsorted(below, below[:-1] + size)  # the start of the run after one that starts here
    jump = np.append(np.where(end > len(rows), len(rows), end), len(rows))
    starts = np.zeros(len(rows) + 1, dtype=np.bool_)
    starts[0] = True
    while jump[0] < len(rows):
        starts[jump[starts]] = True
        jump = jump[jump]
    heads = np.flatnonzero(starts[:-1])
    if len(heads) > 1 and below[-1] - below[heads[-1]] < size:
        starts[heads[-1]] = False
    return np.asarray(np.cumsum(starts[:-1]) - 1, dtype=np.int64)


def _mdav(points: FloatArray, rows: IntArray, size: int) -> IntArray:
    """Group points by maximum distance to average vector: around the farthest one, and the one farthest from that."""
    groups = np.full(len(points), MISSING, dtype=np.int64)
    left = np.arange(len(points))
    count = 0

    def nearest(centre: FloatArray) -> None:
        nonlocal left, count
        distance = _squared(points[left], centre)
        order = np.argsort(distance, kind="stable")
        needed = int(np.searchsorted(np.cumsum(rows[left[order]]), size)) + 1
        groups[left[order[:needed]]] = count
        left = np.sort(left[order[needed:]])
        count += 1

    while rows[left].sum() >= 3 * size:
        centroid = np.average(points[left], axis=0, weights=rows[left])
        far = points[left[np.argmax(_squared(points[left], centroid))]]
        farther = points[left[np.argmax(_squared(points[left], far))]]
        nearest(far)
        if rows[left].sum() >= 2 * size:  # ties may have left few
            nearest(farther)
    if rows[left].sum() >= 2 * size:
        centroid = np.average(points[left], axis=0, weights=rows[left])
        nearest(points[left[np.argmax(_squared(points[left], centroid))]])
    if len(left) and count and rows[left].sum() < size:
        return _rejoined(points, rows, groups, left)
    groups[left] = count
    return groups


def _rejoined(points: FloatArray, rows: IntArray, groups: IntArray, left: IntArray) -> IntArray:
    """Put too few points that are left over into the group whose centre is nearest to theirs."""
    placed = groups >= 0
    total = np.bincount(groups[placed], weights=rows[placed])
    sums = [np.bincount(groups[placed], weights=(column * rows)[placed]) for column in points.T]
    centres = np.column_stack(sums) / total[:, None]
    joined = groups.copy()
    joined[left] = np.argmin(_squared(centres, np.average(points[left], axis=0, weights=rows[left])))
    return joined


def _squared(points: FloatArray, centre: FloatArray) -> FloatArray:
    """Return squared distances; rounded, so that equal ones are equal whatever their last bits."""
    return np.asarray(np.round(((points - centre) ** 2).sum(axis=1), 12), dtype=np.float64)


_LARGEST_ABOVE = 2.0**64 - 2.0**11
"""The largest float that 64 bits without a sign hold."""


def _numbers(unit: Attribute) -> FloatArray:
    """Return the number behind each code: whole numbers and dates (in microseconds) counted from the smallest on.

    For ordered values it is their place among the declared ones.
    """
    (values,) = unit.domain()
    if unit.columns[0].dtype == "number":
        return np.asarray(values, dtype=np.float64)
    if unit.columns[0].dtype == "ordered":
        return pd.Index(unit.columns[0].values or []).get_indexer(pd.Index(values)).astype(np.float64)
    return above_first(_whole(unit))


def _whole(unit: Attribute) -> IntArray:
    (values,) = unit.domain()
    if unit.columns[0].dtype == "integer":
        return np.asarray(values, dtype=np.int64)
    return np.asarray(pd.DatetimeIndex(values).as_unit("us").asi8)


def _published(unit: Attribute, groups: IntArray, count: int, function: Function) -> Published:
    known = unit.codes >= 0
    some = np.bincount(groups[known], minlength=count) > 0
    ranks = np.cumsum(some) - 1
    # Counts add up in the order of values, so that the order of rows is no matter.
    counts = tally(ranks[groups[known]], unit.codes[known], int(some.sum()), max(unit.size, 1))
    functions = _OF_ORDERED if unit.columns[0].dtype == "ordered" else _FUNCTIONS
    values = _typed(unit, functions[function](_numbers(unit), counts)) if known.any() else unit.domain()[0]
    cells = take(values, np.where(known, ranks[groups], MISSING), holes=not known.all())
    return Published(unit.columns[0], cells, cells)


def _mean(numbers: FloatArray, counts: Counts) -> FloatArray:
    exponent = int(np.frexp(np.abs(numbers).max())[1])
    numbers = np.ldexp(numbers, -exponent)  # to where no sum overflows
    mean = counts.total(numbers[counts.codes] * counts.counts) / sizes(counts)
    last = np.append(counts.starts[1:], len(counts.codes)) - 1
    mean = np.clip(mean, numbers[counts.codes[counts.starts]], numbers[counts.codes[last]])  # rounding may overstep
    return np.ldexp(mean, exponent)


def _median(numbers: FloatArray, counts: Counts) -> FloatArray:
    low, high = _middle_codes(counts)
    return np.asarray(halfway(numbers[low], numbers[high]), dtype=np.float64)


def _lower_median(numbers: FloatArray, counts: Counts) -> FloatArray:
    return numbers[_middle_codes(counts)[0]]


def _middle_codes(counts: Counts) -> tuple[IntArray, IntArray]:
    """Return the codes of the two middle rows of each class; of its middle row twice, where there is one."""
    reached = np.cumsum(counts.counts)
    within = sizes(counts).astype(np.int64)
    below = np.cumsum(within) - within
    low = np.searchsorted(reached, below + (within + 1) // 2)
    high = np.searchsorted(reached, below + within // 2 + 1)
    return counts.codes[low], counts.codes[high]


def _mode(numbers: FloatArray, counts: Counts) -> FloatArray:
    return numbers[most_frequent(counts)]


_FUNCTIONS: dict[str, Callable[[FloatArray, Counts], FloatArray]] = {"mean": _mean, "median": _median, "mode": _mode}
_OF_ORDERED = {"median": _lower_median, "mode": _mode}


def _typed(unit: Attribute, numbers: FloatArray) -> Any:
    """Return what `_numbers` made of cells as cells of the column's own dtype."""
    dtype = unit.columns[0].dtype
    if dtype == "number":
        return numbers
    if dtype == "ordered":
        declared = np.array(unit.columns[0].values, dtype=object)
        return pd.Series(declared[numbers.astype(np.int64)]).astype(unit.source[0].dtype).array
    step = 86_400_000_000 if dtype == "date" else 1
    steps = np.minimum(np.floor(numbers / step + 0.5), _LARGEST_ABOVE).astype(np.uint64)
    whole = (_whole(unit)[:1].view(np.uint64) + steps * np.uint64(step)).view(np.int64)
    if dtype != "integer":
        whole = whole.astype("datetime64[us]")
    cells = pd.Series(whole)
    zone = getattr(unit.source[0].dtype, "tz", None)
    cells = cells.dt.tz_localize(zone) if zone is not None else cells.astype(unit.source[0].dtype)
    return cells.to_numpy() if isinstance(cells.dtype, np.dtype) else cells.array
