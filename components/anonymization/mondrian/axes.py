"""Attributes as axes that boxes of tuples can be cut along: where each value lies, and how wide some values are."""

from dataclasses import dataclass, replace

import numpy as np

from components.anonymization.hierarchies.hierarchy import Ladder
from components.anonymization.representatives import scale
from components.classes.coding import MISSING, Attribute, BoolArray, FloatArray, IntArray, any_row_of, combined
from schemas.hierarchy import SUPPRESSED


@dataclass(frozen=True, slots=True)
class Axis:
    """One attribute, its values in the order in which cuts part them.

    Parameters
    ----------
    unit : Attribute
    weight : float
        What its widths count for, beside those of other axes.
    ranks : ndarray of int, shape (unit.size + 1,)
        Place of each value code in that order; the last one is for missing cells, which code -1 finds by itself.
    size : int
        Number r of ranks: the values that occur, missing among them.
    blank : int
        Rank of missing cells; -1 where there is none.
    position : ndarray of float, shape (r,)
        Where each rank lies on [0, 1], for an axis without a hierarchy. Missing cells lie with the rank before them.
    groups : ndarray of int, shape (levels, r)
        Group of each rank on each level of the hierarchy, one group on the last; no levels without a hierarchy.
    shares : ndarray of float, shape (levels, r)
        Share of the hierarchy's leaves under that group.
    stars : ndarray of bool, shape (levels, r)
        Whether that group's label is ``*``.
    ladder : Ladder or None
        The hierarchy that cuts follow; on its last level is one group.
    """

    unit: Attribute
    weight: float
    ranks: IntArray
    size: int
    blank: int
    position: FloatArray
    groups: IntArray
    shares: FloatArray
    stars: BoolArray
    ladder: Ladder | None = None

    def ranks_of(self, rows: IntArray) -> IntArray:
        """Return the rank of the attribute's value in each of some rows."""
        return self.ranks[self.unit.codes[rows]]

    def node(self, low: IntArray, high: IntArray) -> IntArray:
        """Return the level of the lowest common ancestor of ranks `low` to `high`: 0 where they are one value.

        Ranks follow the tree, so that whatever holds the first and the last of some values holds all of them.
        """
        return np.asarray(np.argmax(self.groups[:, low] == self.groups[:, high], axis=0), dtype=np.int64)

    def width(self, low: IntArray, high: IntArray) -> FloatArray:
        """Return the weighted width of ranks `low` to `high`; -1 where there is nothing to cut.

        That is the range of numbers, dates and ordered values by that of the table (LeFevre et al. 2006, section 4);
        of a hierarchy, the share of leaves under the lowest common ancestor, from 0 for a single leaf to 1; for
        other categories the steps between the two in the order of frequency.
        """
        if self.ladder is None:
            return np.where(high > low, self.weight * (self.position[high] - self.position[low]), -1.0)
        node = self.node(low, high)
        single = 1.0 / self.ladder.leaves
        share = (self.shares[node, low] - single) / max(1.0 - single, single)
        return np.where(node > 0, self.weight * np.clip(share, 0.0, 1.0), -1.0)


def axis(unit: Attribute, ladder: Ladder | None = None, weight: float = 1.0) -> Axis:
    """Return the axis of an attribute.

    Parameters
    ----------
    unit : Attribute
        Of one column, or a one-hot group.
    ladder : Ladder, optional
        Its hierarchy; used for categories only, since numbers, dates and ordered values are cut between neighbours.
    weight : float
    """
    if ladder is not None and unit.kind == "nominal":
        return _climbing(unit, ladder, weight)
    order = np.arange(unit.size)
    position = scale(unit)
    if unit.kind == "nominal":  # by frequency, so that a cut parts frequent values from rare ones
        order = np.argsort(-np.bincount(unit.codes[unit.codes >= 0], minlength=unit.size), kind="stable")
    has_blanks = bool((unit.codes < 0).any())
    size = unit.size + has_blanks
    return Axis(
        unit=unit,
        weight=weight,
        ranks=_ranked(np.append(order, unit.size)),
        size=size,
        blank=unit.size if has_blanks else MISSING,
        position=np.append(position, position[-1:] if unit.size else 0.0)[:size],
        groups=np.zeros((0, size), dtype=np.int64),
        shares=np.zeros((0, size)),
        stars=np.zeros((0, size), dtype=np.bool_),
    )


def upper_half(boxes: IntArray, n_boxes: int, ranks: IntArray, rows: IntArray) -> IntArray:
    """Return 1 for tuples above the cut that leaves the two sides of their box most alike in rows, else 0.

    That is at the median (LeFevre et al. 2006, section 4.1), on the side of it that is the more balanced; the lower of
    two equals. Equal values are never parted.

    Parameters
    ----------
    boxes, ranks, rows : ndarray of int, shape (a,)
        Box, rank on the axis that it is cut along, and number of rows of each tuple.
    n_boxes : int
    """
    if not len(boxes):
        return np.zeros(0, dtype=np.int64)
    cells, count = combined([(boxes, n_boxes), (ranks, int(ranks.max()) + 1)])
    amounts = np.bincount(cells, weights=rows, minlength=count).astype(np.int64)
    some = any_row_of(cells, count)
    box, below = boxes[some], np.cumsum(amounts)
    starts = np.flatnonzero(np.diff(box, prepend=MISSING))
    segment = np.cumsum(np.diff(box, prepend=MISSING) != 0) - 1
    total = np.diff(below[np.append(starts[1:], count) - 1], prepend=0)[segment]
    below -= (below[starts] - amounts[starts])[segment]
    apart = np.abs(2 * below - total)
    best = np.minimum.reduceat(apart, starts)[segment] == apart
    first = np.minimum.reduceat(np.where(best, np.arange(count), count), starts)
    last_below = np.empty(n_boxes, dtype=np.int64)
    last_below[box[starts]] = first
    return np.asarray(cells > last_below[boxes], dtype=np.int64)


def _climbing(unit: Attribute, ladder: Ladder, weight: float) -> Axis:
    """Return the axis of a category whose hierarchy is climbed: its values in the order of the tree's branches."""
    has_blanks = bool((unit.codes < 0).any())
    codes = np.arange(unit.size + has_blanks)
    if len(np.unique(ladder.groups[-1][codes])) > 1:
        ladder = topped(ladder)
    groups = np.stack(ladder.groups)[:, codes]
    shares = np.stack([share[group[codes]] for share, group in zip(ladder.shares, ladder.groups, strict=True)])
    labels = [np.asarray(one, dtype=object) == SUPPRESSED for one in ladder.labels]
    stars = [star[group[codes]] for star, group in zip(labels, ladder.groups, strict=True)]
    order = np.lexsort(groups)
    ranks = _ranked(order if has_blanks else np.append(order, unit.size))
    return Axis(
        unit=unit,
        weight=weight,
        ranks=ranks,
        size=len(order),
        blank=int(ranks[MISSING]) if has_blanks else MISSING,
        position=np.zeros(len(order)),
        groups=groups[:, order],
        shares=shares[:, order],
        stars=np.stack(stars)[:, order],
        ladder=ladder,
    )


def topped(ladder: Ladder) -> Ladder:
    """Add a level on which all values, and missing cells, are one group: the hierarchy brings them together on none."""
    hierarchy, star = ladder.hierarchy, np.array([SUPPRESSED], dtype=object)
    if hierarchy is not None:
        hierarchy = replace(
            hierarchy,
            groups=(*hierarchy.groups, np.zeros_like(hierarchy.groups[0])),
            labels=(*hierarchy.labels, star),
        )
    return replace(
        ladder,
        groups=(*ladder.groups, np.zeros_like(ladder.groups[0])),
        labels=(*ladder.labels, star),
        shares=(*ladder.shares, np.ones(1)),
        hierarchy=hierarchy,
    )


def _ranked(order: IntArray) -> IntArray:
    """Return the place of each code in an order."""
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return ranks
