"""Divide distinct tuples into boxes, all open boxes of one depth at once (Mondrian; LeFevre et al. 2006, section 4).

A box is cut along the axis on which it is widest among those whose cut leaves only parts that meet every criterion.
All work is done on distinct tuples with their numbers of rows, by segments; nothing loops over rows or over boxes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from components.anonymization.criteria.requirements import Requirement
from components.anonymization.mondrian.axes import Axis, upper_half
from components.anonymization.mondrian.tuples import Tuples, placed
from components.classes.coding import MISSING, BoolArray, IntArray, any_row_of, combined
from components.classes.counts import Counts, tally

_NONE = -1
_SHARE_OF_BOX = 50
"""A cut that costs no more than this part of a box's rows is made in the order of widths, as if it cost nothing."""


@dataclass(frozen=True, slots=True)
class Division:
    """Tuples in boxes.

    Parameters
    ----------
    boxes : ndarray of int, shape (T,)
        Box of each tuple; -1 where a paid cut left the tuple out.
    count : int
        Number of boxes.
    cuts : ndarray of int, shape (axes,)
        How many cuts were made along each axis.
    depth : int
        Largest number of cuts behind a box.
    """

    boxes: IntArray
    count: int
    cuts: IntArray
    depth: int


@dataclass(frozen=True, slots=True)
class _Open:
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
    ranks: IntArray
    rows: IntArray
    counts: tuple[Counts, ...]

    @property
    def starts(self) -> IntArray:
        return np.searchsorted(self.boxes, np.arange(self.count))


@dataclass(frozen=True, slots=True)
class _Offers:
    """The cuts that each open box could have.

    Cut c < D is the one along axis c; cut D + c tells the missing cells of axis c from all others.

    Parameters
    ----------
    ranked : ndarray of int, shape (2 D, boxes)
        The cuts of each box, the widest first; -1 where it has no more.
    nodes : ndarray of int, shape (D, boxes)
        Level of the lowest common ancestor of a box's values, where the axis has a hierarchy.
    """

    ranked: IntArray
    nodes: IntArray


@dataclass(frozen=True, slots=True)
class _Tried:
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


@dataclass(frozen=True, slots=True)
class _Cut:
    """What became of the open boxes.

    Parameters
    ----------
    boxes : ndarray of int, shape (A,)
        The new box of each open tuple; -1 where its box stays whole or the tuple is left out.
    taken : ndarray of int, shape (count,)
        The cut that each box took; -1 where it stays whole.
    budget : ndarray of int
        Of each new box.
    """

    boxes: IntArray
    taken: IntArray
    budget: IntArray


def divide(
    axes: Sequence[Axis], tuples: Tuples, start: tuple[IntArray, int] | None = None, budget: int = 0
) -> Division:
    """Cut boxes of tuples until no box has a cut whose parts all meet every criterion.

    Parameters
    ----------
    axes : sequence of Axis
        What may be cut along, on the table that `tuples` come from.
    tuples : Tuples
    start : (ids, count), optional
        The boxes to begin with; all tuples in one without it. One that misses a criterion, and can't be cut, stays.
    budget : int
        Most rows that may be left out.

    Notes
    -----
    With a budget, a cut may leave out the parts that miss a criterion: outlying tuples, such as a rare category, that
    would hold back the cut for all others. It is then as good as any, if it costs the box no more than a fiftieth of
    its rows; a box that has no such cut takes the cheapest that its budget allows. What is left of a budget goes to
    the parts in proportion to their rows, rounded down: never more than `budget` rows are left out in all, and what a
    box may spend depends on nothing but the boxes that it was cut from.
    """
    ranks = np.stack([one.ranks_of(tuples.first).astype(np.int32) for one in axes])
    boxes, count = start if start is not None else (np.zeros(len(tuples.rows), dtype=np.int64), 1)
    shares = _sums(boxes, tuples.rows, count) * budget // int(tuples.rows.sum())
    level = _Open(np.arange(len(boxes)), boxes, count, shares, ranks, tuples.rows, tuples.counts)
    level = _narrowed(level, boxes, shares)
    final = np.full(len(boxes), _NONE, dtype=np.int64)
    closed = depth = 0
    cuts = np.zeros(len(axes), dtype=np.int64)
    while level.tuples.size:
        new = _cut(axes, tuples.requirements, level)
        whole = new.taken == _NONE
        stays = whole[level.boxes]
        final[level.tuples[stays]] = closed + (np.cumsum(whole) - 1)[level.boxes[stays]]
        closed += int(np.count_nonzero(whole))
        cuts += np.bincount(new.taken[~whole] % len(axes), minlength=len(axes))
        level = _narrowed(level, new.boxes, new.budget)
        depth += bool(level.tuples.size)
    return Division(final, closed, cuts, depth)


def _narrowed(level: _Open, boxes: IntArray, budget: IntArray) -> _Open:
    """Go on with the tuples that are in new boxes (-1: the others), in the order of these."""
    going = np.flatnonzero(boxes != _NONE)
    order = going[np.argsort(boxes[going])]
    places = np.full(len(boxes), _NONE)
    places[order] = np.arange(len(order))
    return _Open(
        tuples=level.tuples[order],
        boxes=boxes[order],
        count=len(budget),
        budget=budget,
        ranks=level.ranks[:, order],
        rows=level.rows[order],
        counts=tuple(placed(one, places, len(order)) for one in level.counts),
    )


def _cut(axes: Sequence[Axis], requirements: Sequence[Requirement], level: _Open) -> _Cut:
    """Cut every open box that can be, along the widest axis whose cut will do."""
    offers = _offers(axes, level)
    new = _Cut(np.full(len(level.tuples), _NONE), np.full(level.count, _NONE), np.zeros(0, dtype=np.int64))
    rows = _sums(level.boxes, level.rows, level.count)
    waiting = ~_too_small(requirements, rows, level.budget)
    fewest = level.budget + 1
    cheapest = np.full(level.count, _NONE)
    for offer in offers.ranked:
        trying = waiting & (offer != _NONE)
        if not trying.any():
            break
        tried = _try(axes, requirements, level, offers, np.where(trying, offer, _NONE))
        lost = _sums(tried.parent, np.where(tried.failed, tried.rows, 0), level.count)
        fine = trying & (lost <= np.minimum(level.budget, rows // _SHARE_OF_BOX))
        new = _take(new, level, tried, np.where(fine, offer, _NONE))
        waiting &= ~fine
        better = trying & (lost < np.minimum(fewest, rows))
        fewest, cheapest = np.where(better, lost, fewest), np.where(better, offer, cheapest)
    paid = np.where(waiting, cheapest, _NONE)
    if (paid != _NONE).any():
        new = _take(new, level, _try(axes, requirements, level, offers, paid), paid)
    return new


def _offers(axes: Sequence[Axis], level: _Open) -> _Offers:
    """Rank the cuts of each open box by the width of what they cut; of equals, missing cells and hierarchies first."""
    own, starts = level.ranks, level.starts
    low, high = np.minimum.reduceat(own, starts, axis=1), np.maximum.reduceat(own, starts, axis=1)
    widths = np.full((2 * len(axes), level.count), -1.0)
    nodes = np.zeros((len(axes), level.count), dtype=np.int64)
    for at, one in enumerate(axes):
        widths[at] = one.width(low[at], high[at])
        if one.ladder is not None:
            nodes[at] = one.node(low[at], high[at])
        if one.blank != MISSING:
            blanks = np.bitwise_or.reduceat(own[at] == one.blank, starts)
            widths[len(axes) + at][blanks & (low[at] < high[at])] = one.weight
    # Missing cells and the rare branches of a hierarchy soon allow no cut; numbers go on doing so.
    later = np.array([2 if one.ladder is None else 1 for one in axes] + [0] * len(axes))
    ranked = np.lexsort((np.broadcast_to(later[:, np.newaxis], widths.shape), -widths), axis=0)
    ranked[np.take_along_axis(widths, ranked, axis=0) < 0] = _NONE
    return _Offers(ranked, nodes)


def _try(
    axes: Sequence[Axis], requirements: Sequence[Requirement], level: _Open, offers: _Offers, cuts: IntArray
) -> _Tried:
    """See what the parts would be if each box took one cut (-1: none), and which of them miss a criterion."""
    places = np.flatnonzero((cuts != _NONE)[level.boxes])
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
    part_rows = _sums(parts, rows, count)
    into = np.full(len(level.tuples), _NONE)
    into[places] = parts
    failed = np.zeros(count, dtype=np.bool_)
    for requirement, counts in zip(requirements, level.counts, strict=True):
        if requirement.n_codes == 1:
            of_parts = Counts(np.arange(count), np.zeros(count, dtype=np.int64), part_rows, count, 1)
        else:
            of_parts = placed(counts, into, count)
            of_parts = tally(of_parts.classes, of_parts.codes, count, counts.n_codes, weights=of_parts.counts)
        failed |= ~requirement.met(requirement.score(of_parts))
    return _Tried(places, parts, parent, part_rows, failed)


def _take(new: _Cut, level: _Open, tried: _Tried, taken: IntArray) -> _Cut:
    """Cut the boxes that take the cut that was tried (-1: the others), and leave out parts that miss a criterion."""
    good = (taken[tried.parent] != _NONE) & ~tried.failed
    if not good.any():
        return new
    number = np.where(good, np.cumsum(good) - 1 + len(new.budget), _NONE)[tried.parts]
    boxes = new.boxes.copy()
    boxes[tried.places] = np.maximum(boxes[tried.places], number)
    left = level.budget - _sums(tried.parent, np.where(tried.failed, tried.rows, 0), level.count)
    parent = tried.parent[good]
    kept = _sums(parent, tried.rows[good], level.count)
    budget = left[parent] * tried.rows[good] // kept[parent]
    return _Cut(boxes, np.maximum(new.taken, taken), np.append(new.budget, budget))


def _too_small(requirements: Sequence[Requirement], rows: IntArray, budget: IntArray) -> BoolArray:
    """Tell the boxes that hold fewer rows than two parts need, and can't pay."""
    k = max((one.asked for one in requirements if one.name == "k"), default=0.0)  # of persons there are no more
    return np.asarray((rows < 2 * k) & (budget == 0))


def _sums(ids: IntArray, amounts: IntArray, count: int) -> IntArray:
    """Sum whole numbers per id."""
    return np.asarray(np.bincount(ids, weights=amounts, minlength=count), dtype=np.int64)
