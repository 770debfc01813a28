"""What cuts the open boxes of one depth could have, and what each would make of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from components.anonymization.criteria.requirements import Requirement
from components.anonymization.mondrian.axes import Axis, upper_half
from components.anonymization.mondrian.tuples import placed
from components.classes.coding import MISSING, BoolArray, IntArray, any_row_of, combined
from components.classes.counts import Counts, tally

NONE = -1
"""No box, or no cut."""


@dataclass(frozen=True, slots=True)
class Open:
    """The boxes of one depth that may still be cut.

    Parameters
    ----------
    tuples : ndarray of int, shape (A,)
        Sorted by box.
    boxes : ndarray of int, shape (A,)
        0 to ``count - 1``.
    count : int
    budget : ndarray of int, shape (count,)
        Rows that each box may leave out.
    misses : ndarray of bool, shape (count,)
        Whether the box itself misses a criterion, as one to begin with may that was not cut yet.
    ranks : ndarray of int, shape (axes, A)
        Where the tuples lie.
    rows : ndarray of int, shape (A,)
        Rows of each tuple.
    counts : tuple of Counts, one per requirement
        With a position among these tuples as a class.
    """

    tuples: IntArray
    boxes: IntArray
    count: int
    budget: IntArray
    misses: BoolArray
    ranks: IntArray
    rows: IntArray
    counts: tuple[Counts, ...]

    @property
    def starts(self) -> IntArray:
        """Return the first position of each box, shape (count,)."""
        return np.searchsorted(self.boxes, np.arange(self.count))


@dataclass(frozen=True, slots=True)
class Offers:
    """The cuts that each open box could have.

    Cut c < D is the one along axis c; cut D + c tells the missing cells of axis c from all others.

    Parameters
    ----------
    ranked : ndarray of int, shape (2 D, boxes)
        The cuts of each box, the widest first; -1 where it has no more.
    nodes : ndarray of int, shape (D, boxes)
        Level of the lowest common ancestor of a box's values, where the axis has a hierarchy.
    starred : ndarray of bool, shape (boxes,)
        Whether that ancestor is ``*`` on every axis: rows that show nothing else count as suppressed.
    """

    ranked: IntArray
    nodes: IntArray
    starred: BoolArray


@dataclass(frozen=True, slots=True)
class Tried:
    """What cuts would make of some boxes.

    Parameters
    ----------
    places : ndarray of int
        Positions among the open tuples that are in these boxes.
    parts : ndarray of int
        Part of each of these tuples.
    parent : ndarray of int, shape (parts,)
        The box that each part would be cut from.
    rows : ndarray of int, shape (parts,)
    failed : ndarray of bool, shape (parts,)
        Whether the part misses a criterion.
    """

    places: IntArray
    parts: IntArray
    parent: IntArray
    rows: IntArray
    failed: BoolArray


def offered(axes: Sequence[Axis], level: Open) -> Offers:
    """Rank the cuts of each open box by the width of what they cut; of equals, missing cells and hierarchies first."""
    own, starts = level.ranks, level.starts
    low, high = np.minimum.reduceat(own, starts, axis=1), np.maximum.reduceat(own, starts, axis=1)
    widths = np.full((2 * len(axes), level.count), -1.0)
    nodes = np.zeros((len(axes), level.count), dtype=np.int64)
    starred = np.ones(level.count, dtype=np.bool_)
    for at, one in enumerate(axes):
        widths[at] = one.width(low[at], high[at])
        if one.ladder is not None:
            nodes[at] = one.node(low[at], high[at])
            starred &= one.stars[nodes[at], low[at]]
        if one.blank != MISSING:
            blanks = np.bitwise_or.reduceat(own[at] == one.blank, starts)
            widths[len(axes) + at][blanks & (low[at] < high[at])] = one.weight
    starred &= all(one.ladder is not None for one in axes)
    # Missing cells and the rare branches of a hierarchy soon allow no cut; numbers go on doing so.
    later = np.array([2 if one.ladder is None else 1 for one in axes] + [0] * len(axes))
    ranked = np.lexsort((np.broadcast_to(later[:, np.newaxis], widths.shape), -widths), axis=0)
    ranked[np.take_along_axis(widths, ranked, axis=0) < 0] = NONE
    return Offers(ranked, nodes, starred)


def attempted(
    axes: Sequence[Axis], requirements: Sequence[Requirement], level: Open, offers: Offers, cuts: IntArray
) -> Tried:
    """See what the parts would be if each box took one cut (-1: none), and which of them miss a criterion."""
    places = np.flatnonzero((cuts != NONE)[level.boxes])
    boxes, rows = level.boxes[places], level.rows[places]
    along, cut = cuts[boxes] % len(axes), cuts[boxes]
    own = level.ranks[along, places]
    sides = np.zeros(len(places), dtype=np.int64)
    linear = np.array([one.ladder is None for one in axes])[along] & (cut < len(axes))
    sides[linear] = upper_half(boxes[linear], level.count, own[linear], rows[linear])
    for at, one in enumerate(axes):
        if one.ladder is not None:
            here = cut == at
            sides[here] = one.groups[offers.nodes[at][boxes[here]] - 1, own[here]]
        if one.blank != MISSING:
            here = cut == len(axes) + at
            sides[here] = own[here] == one.blank
    parts, count = combined([(boxes, level.count), (sides, int(sides.max()) + 1)])
    parent = boxes[any_row_of(parts, count)]
    part_rows = sums(parts, rows, count)
    into = np.full(len(level.tuples), NONE)
    into[places] = parts
    return Tried(places, parts, parent, part_rows, failing(requirements, level.counts, into, part_rows))


def failing(requirements: Sequence[Requirement], counts: Sequence[Counts], into: IntArray, rows: IntArray) -> BoolArray:
    """Tell which parts, of some rows each, miss a criterion; `into` is the part of each class of `counts`, or -1."""
    count = len(rows)
    failed = np.zeros(count, dtype=np.bool_)
    for requirement, each in zip(requirements, counts, strict=True):
        if requirement.n_codes == 1:
            found = Counts(np.arange(count), np.zeros(count, dtype=np.int64), rows, count, 1)
        else:
            found = placed(each, into, count)
            found = tally(found.classes, found.codes, count, each.n_codes, weights=found.counts)
        failed |= ~requirement.met(requirement.score(found))
    return failed


def sums(ids: IntArray, amounts: IntArray, count: int) -> IntArray:
    """Sum whole numbers per id."""
    return np.asarray(np.bincount(ids, weights=amounts, minlength=count), dtype=np.int64)
