"""Divide distinct tuples into boxes, all open boxes of one depth at once (Mondrian; LeFevre et al. 2006, section 4).

A box is cut along the axis on which it is widest among those whose cut leaves only parts that meet every criterion.
All work is done on distinct tuples with their numbers of rows, by segments; nothing loops over rows or over boxes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from components.anonymization.criteria.requirements import Requirement
from components.anonymization.mondrian.axes import Axis
from components.anonymization.mondrian.trials import NONE, Offers, Open, Tried, attempted, failing, offered, sums
from components.anonymization.mondrian.tuples import Tuples, placed
from components.classes.coding import BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Division:
    """Tuples in boxes.

    Parameters
    ----------
    boxes : ndarray of int, shape (T,)
        Box of each tuple; -1 where a cut left the tuple out.
    count : int
        Number of boxes.
    cuts : ndarray of int, shape (axes,)
        How many cuts were made along each axis; one that left a single part, and only shrank its box, is not counted.
    depth : int
        Largest number of such cuts behind a box.
    """

    boxes: IntArray
    count: int
    cuts: IntArray
    depth: int


@dataclass(frozen=True, slots=True)
class _Cut:
    """What became of the open boxes.

    Parameters
    ----------
    boxes : ndarray of int, shape (A,)
        The new box of each open tuple; -1 where its box stays whole or the tuple is left out.
    taken : ndarray of int, shape (count,)
        The cut that each box took; -1 where it stays whole.
    budget, parent : ndarray of int
        Of each new box; the open box that it was cut from.
    """

    boxes: IntArray
    taken: IntArray
    budget: IntArray
    parent: IntArray

    def remnants(self, lost: BoolArray) -> IntArray:
        """Return the single new box that each open box was shrunk to, shape (count,); -1 where it was not.

        A box that is `lost` as it is, of shape (count,), is saved that way, and has nothing to go back to: -1 too.
        """
        found = np.full(len(lost), NONE)
        found[self.parent] = np.arange(len(self.parent))
        found[(np.bincount(self.parent, minlength=len(lost)) > 1) | lost] = NONE
        return found


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
    With a budget, a box that has no such cut may take one that leaves out the parts that miss a criterion: outlying
    tuples, such as a rare category, that would hold back the cut for all others. Of those that its budget allows it
    takes the cheapest that leaves several parts. One that leaves a single part comes last, and is made for the cuts
    that it may open: tuples that it left out come back if the box is never parted. So rows are left out only where
    that parts a box that could not be parted whole; or to save the others, of a box that is lost as it is: one to begin
    with that misses a criterion, or one that would show ``*`` on every axis.

    What is left of a budget goes to the parts in proportion to their rows, rounded down: never more than `budget` rows
    are left out in all, and what a box may spend depends on nothing but the boxes that it was cut from. Every choice is
    made for one box alone, without looking ahead: a larger budget lets more boxes be cut, but that it ends in no fewer
    of them can't be promised.
    """
    level = _first(axes, tuples, start, budget)
    final = np.full(len(tuples.rows), NONE, dtype=np.int64)
    owed = final.copy()  # the open box that a tuple, left out, comes back to if that stays whole
    depth = np.zeros(level.count, dtype=np.int64)
    closed = deepest = 0
    cuts = np.zeros(len(axes), dtype=np.int64)
    while level.tuples.size:
        offers = offered(axes, level)
        lost = level.misses | offers.starred
        new = _cut(axes, tuples.requirements, level, offers, lost)
        whole = new.taken == NONE
        closing = np.where(whole, closed + np.cumsum(whole) - 1, NONE)
        closed += int(np.count_nonzero(whole))
        final[level.tuples] = closing[level.boxes]
        remnant = new.remnants(lost)
        waiting = np.flatnonzero(owed != NONE)
        final[waiting], owed[waiting] = closing[owed[waiting]], remnant[owed[waiting]]
        out = (new.boxes == NONE) & ~whole[level.boxes]
        owed[level.tuples[out]] = remnant[level.boxes[out]]
        parting = ~whole & (remnant == NONE)
        cuts += np.bincount(new.taken[parting] % len(axes), minlength=len(axes))
        depth = (depth + parting)[new.parent]
        deepest = max(deepest, int(depth.max(initial=0)))
        level = _narrowed(level, new.boxes, new.budget)
    return Division(final, closed, cuts, deepest)


def _first(axes: Sequence[Axis], tuples: Tuples, start: tuple[IntArray, int] | None, budget: int) -> Open:
    """Open the boxes to begin with."""
    ranks = np.stack([one.ranks_of(tuples.first).astype(np.int32) for one in axes])
    boxes, count = start if start is not None else (np.zeros(len(tuples.rows), dtype=np.int64), 1)
    rows = sums(boxes, tuples.rows, count)
    misses = failing(tuples.requirements, tuples.counts, boxes, rows)
    shares = rows * budget // int(tuples.rows.sum())
    level = Open(np.arange(len(boxes)), boxes, count, shares, misses, ranks, tuples.rows, tuples.counts)
    return replace(_narrowed(level, boxes, shares), misses=misses)


def _narrowed(level: Open, boxes: IntArray, budget: IntArray) -> Open:
    """Go on with the tuples that are in new boxes (-1: the others), in the order of these."""
    going = np.flatnonzero(boxes != NONE)
    order = going[np.argsort(boxes[going])]
    places = np.full(len(boxes), NONE)
    places[order] = np.arange(len(order))
    return Open(
        tuples=level.tuples[order],
        boxes=boxes[order],
        count=len(budget),
        budget=budget,
        misses=np.zeros(len(budget), dtype=np.bool_),
        ranks=level.ranks[:, order],
        rows=level.rows[order],
        counts=tuple(placed(one, places, len(order)) for one in level.counts),
    )


def _cut(
    axes: Sequence[Axis], requirements: Sequence[Requirement], level: Open, offers: Offers, lost: BoolArray
) -> _Cut:
    """Cut every open box that can be, along the widest axis whose cut costs nothing, or else where it costs least."""
    none = np.zeros(0, dtype=np.int64)
    new = _Cut(np.full(len(level.tuples), NONE), np.full(level.count, NONE), none, none)
    rows = sums(level.boxes, level.rows, level.count)
    waiting = ~_too_small(requirements, rows, np.where(lost, level.budget, 0))
    fewest = 2 * rows
    cheapest = np.full(level.count, NONE)
    for offer in offers.ranked:
        trying = waiting & (offer != NONE)
        if not trying.any():
            break
        tried = attempted(axes, requirements, level, offers, np.where(trying, offer, NONE))
        cost = sums(tried.parent, np.where(tried.failed, tried.rows, 0), level.count)
        free = trying & (cost == 0)
        new = _take(new, level, tried, np.where(free, offer, NONE))
        waiting &= ~free
        gains = lost | (np.bincount(tried.parent[~tried.failed], minlength=level.count) > 1)
        price = np.where(gains, cost, cost + rows)  # a cut that gains nothing by itself comes after all that do
        better = trying & (cost <= level.budget) & (cost < rows) & (price < fewest)
        fewest, cheapest = np.where(better, price, fewest), np.where(better, offer, cheapest)
    paid = np.where(waiting, cheapest, NONE)
    if (paid != NONE).any():
        new = _take(new, level, attempted(axes, requirements, level, offers, paid), paid)
    return new


def _take(new: _Cut, level: Open, tried: Tried, taken: IntArray) -> _Cut:
    """Cut the boxes that take the cut that was tried (-1: the others), and leave out parts that miss a criterion."""
    good = (taken[tried.parent] != NONE) & ~tried.failed
    if not good.any():
        return new
    number = np.where(good, np.cumsum(good) - 1 + len(new.budget), NONE)[tried.parts]
    boxes = new.boxes.copy()
    boxes[tried.places] = np.maximum(boxes[tried.places], number)
    left = level.budget - sums(tried.parent, np.where(tried.failed, tried.rows, 0), level.count)
    parent = tried.parent[good]
    kept = sums(parent, tried.rows[good], level.count)
    budget = left[parent] * tried.rows[good] // kept[parent]
    return _Cut(boxes, np.maximum(new.taken, taken), np.append(new.budget, budget), np.append(new.parent, parent))


def _too_small(requirements: Sequence[Requirement], rows: IntArray, spare: IntArray) -> BoolArray:
    """Tell the boxes that hold fewer rows than two parts need, and none to spare for being shrunk to a single one."""
    k = max((one.asked for one in requirements if one.name == "k"), default=0.0)  # of persons there are no more
    return np.asarray((rows < 2 * k) & (spare == 0))
