"""Attributes in bins: what a split of some rows can tell of their answers, for all places to split at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from components.minimization.attributes import BELOW, Attribute, Codes
from components.minimization.partitions import between
from components.minimization.personal.evidence import Bools, Evidence, Floats, Integers

MOST = 256
"""Bins of a number or ordered attribute; where it has more values, bins hold equally many rows."""

DIRECTIONS = 8
"""Ways to put the values of a nominal attribute in order, where there are more answers than two."""


@dataclass(frozen=True, eq=False, slots=True)
class Binned:
    """One attribute in bins. Bin 0 of a number or ordered one, and the last of another, holds missing cells.

    Parameters
    ----------
    attribute : Attribute
    lows, highs : ndarray of float, shape (bins - 1,)
        Of a number or ordered attribute: least and greatest code of each bin but that of missing cells.
    size : int
        Number of bins.
    """

    attribute: Attribute
    lows: Floats
    highs: Floats
    size: int

    @classmethod
    def of(cls, attribute: Attribute, codes: Codes) -> "Binned":
        """Return bins for the codes of some rows."""
        if attribute.kind == "nominal":
            return cls(attribute, np.empty(0), np.empty(0), len(attribute.values) + 1)
        values, counts = np.unique(codes[codes != BELOW], return_counts=True)
        if len(values) > MOST:
            group = (np.cumsum(counts) - counts) * MOST // counts.sum()
            starts = np.flatnonzero(np.diff(group, prepend=-1))
        else:
            starts = np.arange(len(values))
        ends = np.append(starts[1:], len(values))[: len(starts)] - 1  # no bin where no value is known
        return cls(attribute, values[starts], values[ends], len(starts) + 1)

    def place(self, codes: Codes) -> Integers:
        """Return the bin of each code."""
        if self.attribute.kind == "nominal":
            return codes.astype(np.int64)
        return np.searchsorted(self.lows, codes, side="right")

    @property
    def missing(self) -> int:
        """Bin of missing cells."""
        return self.size - 1 if self.attribute.kind == "nominal" else 0

    def cut(self, split: "Split") -> float:
        """Return where a number or ordered attribute is cut: between the bins that are told apart, or after all."""
        left, right = (np.flatnonzero(side[1:]) for side in (split.left, split.right))
        if not len(right):
            return self.attribute.high if self.attribute.kind == "number" else float(len(self.attribute.values) - 1)
        return between(self.attribute, self.highs[left[-1]], self.lows[right[0]])


@dataclass(frozen=True, eq=False, slots=True)
class Split:
    """The best way to split some rows by one attribute.

    Parameters
    ----------
    gain : float
        Doubt that it takes away; 0 where there is no way.
    tried : int
        Ways that were looked at.
    left, right : ndarray of bool, shape (bins,)
        Bins that go left, and right; bins without rows do neither.
    """

    gain: float
    tried: int
    left: Bools
    right: Bools


def best_split(binned: Binned, sums: Floats, real: Integers, evidence: Evidence, min_rows: int) -> Split:
    """Return the best split of rows whose answers add up to `sums`, shape (bins, sums).

    On each side there are `min_rows` of the `real` ones, shape (bins,): a row that was made up is nobody's, and many
    may hold what one person's row says.

    Numbers and ordered values are cut, with missing cells on either side. The values of other attributes are put in
    the order of the mean answer and cut there: the best of all groupings for two answers or one number (Breiman et al.
    1984, section 4.2), with more answers the best of one order for each of the most frequent.
    """
    count = evidence.counts(sums)
    orders = _orders(binned, sums, count, evidence)
    if not orders:
        return Split(0.0, 1, count > 0, np.zeros(binned.size, dtype=np.bool_))
    total = sums.sum(axis=0)
    whole = float(evidence.doubt(total))
    best, tried, left = 0.0, 0, count > 0
    for order in orders:
        below = np.cumsum(sums[order], axis=0)[:-1]
        above = total - below
        here = np.cumsum(real[order])[:-1]
        allowed = (here >= min_rows) & (real.sum() - here >= min_rows)
        tried += int(np.count_nonzero(allowed))
        gains = np.where(allowed, whole - evidence.doubt(below) - evidence.doubt(above), 0.0)
        where = int(gains.argmax())
        if gains[where] > best:
            best, left = float(gains[where]), np.zeros(binned.size, dtype=np.bool_)
            left[order[: where + 1]] = True
    right = (count > 0) & ~left
    if binned.attribute.kind != "nominal" and not left[1:].any():
        left, right = right, left  # missing cells alone: everything known is up to the end of the domain
    return Split(best, max(tried, 1), left, right)


def told(binned: Binned, sums: Floats, evidence: Evidence, parts: int) -> tuple[float, int]:
    """Return the doubt that is gone when the attribute is known in at most `parts` ranges, and how many those are.

    Ranges hold about equally many of the rows; missing cells, and each value of a nominal attribute, count alone.
    """
    count = evidence.counts(sums)
    filled = count > 0
    if binned.attribute.kind == "nominal":
        grouped = sums[filled]
    else:
        known = count.copy()
        known[0] = 0
        group = np.minimum((np.cumsum(known) - known / 2) * parts // max(known.sum(), 1), parts - 1).astype(np.int64)
        group[0] = parts
        grouped = np.zeros((parts + 1, sums.shape[1]))
        np.add.at(grouped, group, sums)
        grouped = grouped[evidence.counts(grouped) > 0]
    gone = float(evidence.doubt(sums.sum(axis=0)) - evidence.doubt(grouped).sum())
    return gone, len(grouped)


def _orders(binned: Binned, sums: Floats, count: Floats, evidence: Evidence) -> Sequence[Integers]:
    """Return the orders of bins, without empty ones, in which a cut is looked for."""
    filled = np.flatnonzero(count > 0)
    if len(filled) < 2:
        return []
    if binned.attribute.kind != "nominal":
        orders = [filled]
        if filled[0] == binned.missing:
            orders.append(np.roll(filled, -1))
        return orders
    shares = evidence.shares(sums[filled])
    heaviest = np.argsort(-(shares * count[filled, None]).sum(axis=0), kind="stable")[:DIRECTIONS]
    return [filled[np.argsort(shares[:, each], kind="stable")] for each in heaviest]
