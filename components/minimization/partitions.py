"""One attribute cut into parts: ranges of a number or of ordered values, groups of others; and what a part loses."""

from dataclasses import dataclass
from math import floor, inf, log10
from typing import Self

import numpy as np
import numpy.typing as npt

from components.minimization.attributes import BELOW, Attribute, Codes
from components.minimization.domains import DAY

_UNITS = ("Y", "M", "D", "h", "m", "s", "us")
"""Of the calendar, from years to microseconds."""

Floats = npt.NDArray[np.float64]
Parts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Partition:
    """The parts that an attribute's values fall into.

    Parameters
    ----------
    attribute : Attribute
    cuts : tuple of float
        Of a number or ordered attribute, ascending: a part ends with a cut, which belongs to it. A first cut of minus
        infinity sets missing cells apart.
    groups : tuple of int
        Of a nominal attribute: the part of each value, and at last that of missing cells; from 0, none skipped.
    """

    attribute: Attribute
    cuts: tuple[float, ...] = ()
    groups: tuple[int, ...] = ()

    @classmethod
    def whole(cls, attribute: Attribute) -> Self:
        """Return the partition of one part: nothing is collected."""
        nominal = attribute.kind == "nominal"
        return cls(attribute, groups=(0,) * (len(attribute.values) + 1) if nominal else ())

    @property
    def size(self) -> int:
        """Number of parts."""
        return max(self.groups) + 1 if self.attribute.kind == "nominal" else len(self.cuts) + 1

    @property
    def missing(self) -> int:
        """Part of missing cells."""
        return self.groups[-1] if self.attribute.kind == "nominal" else 0

    @property
    def missing_apart(self) -> bool:
        """Whether missing cells are a part of their own."""
        if self.attribute.kind == "nominal":
            return self.size > 1 and self.groups.count(self.groups[-1]) == 1
        return self.cuts[:1] == (BELOW,)

    def parts(self, codes: Codes) -> Parts:
        """Return the part of each code."""
        if self.attribute.kind == "nominal":
            return np.asarray(self.groups, dtype=np.int64)[codes]
        return np.searchsorted(np.asarray(self.cuts), codes, side="left").astype(np.int64)

    def loss(self) -> Floats:
        """Return the NCP of each part, shape (size,): see `interval_loss`, `group_loss`; missing cells alone lose 0."""
        if self.size == 1:
            lost = float(not trivial(self.attribute))
            return np.array([lost])
        if self.attribute.kind == "nominal":
            sizes = np.bincount(self.groups[:-1], minlength=self.size)
            return group_loss(sizes, len(self.attribute.values))
        ends = np.array([BELOW, *self.cuts, inf])
        return interval_loss(self.attribute, ends[:-1], ends[1:])


def trivial(attribute: Attribute) -> bool:
    """Say whether the domain holds one value only, of which nothing can be lost."""
    return attribute.low >= attribute.high if attribute.kind == "number" else len(attribute.values) < 2


def group_loss(sizes: npt.NDArray[np.int64], values: int) -> Floats:
    """Return the NCP of groups: their size by the number of values; 0 of a single value (Xu et al. 2006)."""
    lost: Floats = np.where(sizes > 1, sizes / max(values, 1), 0.0)
    return lost


def interval_loss(attribute: Attribute, starts: Floats, ends: Floats) -> Floats:
    """Return the NCP of intervals (start exclusive, end inclusive), each clipped to the domain.

    Width by the domain's width for numbers, values by all values for ordered attributes; 0 where a single value is
    left (Xu et al. 2006, normalized certainty penalty).
    """
    if attribute.kind == "ordered":
        first = np.floor(np.maximum(starts, -1.0)) + 1
        last = np.floor(np.minimum(ends, len(attribute.values) - 1.0))
        return group_loss(np.maximum(last - first + 1, 0).astype(np.int64), len(attribute.values))
    start, end = np.maximum(starts, attribute.low), np.minimum(ends, attribute.high)
    width = np.maximum(end - start, 0.0) / ((attribute.high - attribute.low) or 1.0)
    if attribute.whole:
        # The lower bound of the domain is in the interval; any other start is not.
        first = np.where(starts < attribute.low, attribute.low, np.floor(start) + 1)
        width = np.where(np.floor(end) <= first, 0.0, width)
    return np.asarray(width, dtype=np.float64)


def roundest(low: float, high: float) -> float:
    """Return the number with the fewest digits in [low, high), nearest the middle among those; for cuts and middles.

    A cut between two values that occur tells less of them the rounder it is, and reads better on a form.
    """
    if not low < high:
        return low
    middle = low + (high - low) / 2
    for exponent in range(floor(log10(max(abs(low), abs(high), high - low))) + 1, -20, -1):
        unit = 10.0**exponent
        for step in (unit, unit / 2):
            near = round(middle / step) * step
            found = [float(f"{each:.12g}") for each in (near, near - step, near + step)]
            if fits := [each for each in found if low <= each < high]:
                return min(fits, key=lambda each: abs(each - middle))
    return middle


def between(attribute: Attribute, low: float, high: float) -> float:
    """Return where to cut between two neighbouring codes: the roundest place, `low` <= cut < `high`.

    Between whole neighbours, and between ordered values, that is the middle. A date is cut at the end of a year, a
    month or a day, a time at the beginning of one.
    """
    if low == BELOW:
        return BELOW
    if attribute.dtype == "date":
        begins = roundest_moment(low + DAY, high, least="D")
        return low if begins is None else begins - DAY
    if attribute.dtype == "datetime":
        begins = roundest_moment(low, high - 1)
        return low if begins is None else begins
    if attribute.kind == "ordered" or (attribute.whole and high - low <= 1):
        return low + (high - low) / 2
    return roundest(float(np.nextafter(low, high)), high)


def middle(attribute: Attribute, start: float, end: float) -> float:
    """Return the domain's value that stands for an interval: its rounded middle within the bounds.

    Parameters
    ----------
    attribute : Attribute
        Number or ordered.
    start, end : float
        Exclusive and inclusive; clipped to the domain. An interval of missing cells alone is represented by them.
    """
    if end == BELOW:
        return BELOW
    if attribute.kind == "ordered":
        first, last = floor(max(start, -1.0)) + 1, floor(min(end, len(attribute.values) - 1.0))
        return float(min((first + max(last, 0)) // 2, len(attribute.values) - 1))
    low, high = min(max(start, attribute.low), attribute.high), max(min(end, attribute.high), attribute.low)
    if attribute.whole:
        return _whole_middle(attribute.low if start < attribute.low else floor(low) + 1.0, float(floor(high)))
    if attribute.dtype == "date":
        return _date_middle(attribute.low if start < attribute.low else floor(low / DAY + 1) * DAY, high)
    quarter = max(high - low, 0.0) / 4
    found: float | None
    if attribute.dtype == "datetime":
        found = roundest_moment(low + quarter, high - quarter)
    else:
        found = roundest(low + quarter, high - quarter)
    return high if found is None or not start < found <= high else found


def roundest_moment(low: float, high: float, least: str = "us") -> float | None:
    """Return the beginning of a year, else month, day, hour, ... in [low, high], the one nearest the middle.

    Parameters
    ----------
    low, high : float
        Microseconds since 1970 UTC.
    least : {"D", "us"}
        The finest unit that is tried. None where none begins within.
    """
    centre = np.datetime64(int(low + (high - low) / 2), "us")
    for unit in _UNITS[: _UNITS.index(least) + 1]:
        begun = centre.astype(f"datetime64[{unit}]")
        both = [float((begun + step).astype("datetime64[us]").astype(np.int64)) for step in (0, 1)]
        if fits := [each for each in both if low <= each <= high]:
            return min(fits, key=lambda each: abs(each - low - (high - low) / 2))
    return None


def _date_middle(least: float, most: float) -> float:
    quarter = max(most - least, 0.0) / 4
    found = roundest_moment(least + quarter, most - quarter, least="D")
    return max(least + (most - least) / 2 // DAY * DAY, least) if found is None else found


def _whole_middle(least: float, most: float) -> float:
    if most - least < 10:
        return float(max((least + most) // 2, min(least, most)))
    return float(round(roundest(least + (most - least) / 4, most - (most - least) / 4)))
