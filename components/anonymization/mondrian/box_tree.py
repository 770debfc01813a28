"""Which of many boxes holds a tuple: cuts between boxes, told by the boxes alone, down which all tuples go at once.

Boxes that a division by cuts left (see `partition`), and any of them, can be parted along one
of the axes again; so that nothing of the cuts has to be handed on beside the boxes. All boxes and tuples of one depth
are parted at once; nothing loops over tuples, over boxes or over both.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from components.classes.coding import BoolArray, IntArray, any_row_of

NOWHERE = -1
MOST_CUTS = 200
"""Cuts behind one box; a division at medians needs a few dozen, of which several may be made at once."""


class OverlapError(ValueError):
    """Boxes can't be parted by cuts: some tuple may lie in several."""

    def __init__(self, boxes: int) -> None:
        super().__init__(f"{boxes} boxes can't be told apart by cuts")
        self.boxes = boxes


@dataclass(frozen=True, slots=True)
class Extents:
    """What boxes hold along one axis, as intervals of whole numbers in [0, span).

    Parameters
    ----------
    box : ndarray of int, shape (e,)
        The box that each interval belongs to. A box may have several; one that has none holds nothing.
    low, high : ndarray of int, shape (e,)
        Both ends are in it.
    soft : ndarray of bool, shape (e,)
        Whether another box may have the interval to itself, if that is the only way to tell the two apart.
    span : int
    """

    box: IntArray
    low: IntArray
    high: IntArray
    soft: BoolArray
    span: int


@dataclass(frozen=True, slots=True)
class _Parts:
    """What the boxes of each node fall into along one axis.

    Parameters
    ----------
    of_box : ndarray of int, shape (boxes,)
    count : int
    per_node : ndarray of int, shape (nodes,)
    low, high : ndarray of int, shape (intervals,)
        Disjoint and sorted, each with its node times the span added.
    of_interval : ndarray of int, shape (intervals,)
    """

    of_box: IntArray
    count: int
    per_node: IntArray
    low: IntArray
    high: IntArray
    of_interval: IntArray


def locate(axes: Sequence[Extents], n_boxes: int, points: Sequence[IntArray]) -> IntArray:
    """Return the box that holds each tuple, -1 where none does.

    Parameters
    ----------
    axes : sequence of Extents
    n_boxes : int
    points : sequence of ndarray of int, one per axis, each of shape (T,)
        Where the tuples lie, in [0, span).

    Raises
    ------
    OverlapError
        The boxes can't be parted.
    """
    found = np.full(len(points[0]), NOWHERE, dtype=np.int64)
    boxes = np.flatnonzero(np.all([np.bincount(one.box, minlength=n_boxes) > 0 for one in axes], axis=0))
    nodes, tuples = np.zeros(len(boxes), dtype=np.int64), np.arange(len(found) if len(boxes) else 0)
    at = np.zeros(len(tuples), dtype=np.int64)
    for _ in range(MOST_CUTS):
        if not len(boxes):
            break
        alone = np.bincount(nodes) == 1
        there = alone[at]
        found[tuples[there]] = boxes[any_row_of(nodes, len(alone))[at[there]]]
        numbers = np.cumsum(~alone) - 1
        boxes, nodes = boxes[~alone[nodes]], numbers[nodes[~alone[nodes]]]
        tuples, at = tuples[~there], numbers[at[~there]]
        if len(boxes):
            nodes, at = _cut(axes, (boxes, nodes, n_boxes), [one[tuples] for one in points], at)
            tuples, at = tuples[at != NOWHERE], at[at != NOWHERE]
    if len(boxes):
        raise OverlapError(len(boxes))
    for one, point in zip(axes, points, strict=True):
        if (found != NOWHERE).any():
            found[~_holds(one, found, point)] = NOWHERE
    return found


def _cut(
    axes: Sequence[Extents], level: tuple[IntArray, IntArray, int], points: Sequence[IntArray], at: IntArray
) -> tuple[IntArray, IntArray]:
    """Part the boxes of every node along the axis on which they fall into most parts.

    Returns
    -------
    nodes : ndarray of int
        New node of each box.
    at : ndarray of int
        New node of each tuple; -1 where it lies between boxes.
    """
    nodes = level[1]
    parts = [_parts(one, level) for one in axes]
    most = np.max([one.per_node for one in parts], axis=0)
    if (most < 2).any():
        parts = [_parts(one, level, hard=most < 2) for one in axes]
        most = np.max([one.per_node for one in parts], axis=0)
        if (most < 2).any():
            raise OverlapError(int(np.count_nonzero((most < 2)[nodes])))
    along = np.argmax([one.per_node for one in parts], axis=0)
    chosen, goes = np.zeros(len(nodes), dtype=np.int64), np.full(len(at), NOWHERE, dtype=np.int64)
    before = 0
    for number, (axis, part) in enumerate(zip(axes, parts, strict=True)):
        mine = along[nodes] == number
        chosen[mine] = before + part.of_box[mine]
        here = np.flatnonzero(along[at] == number)
        key = at[here] * axis.span + points[number][here]
        place = np.searchsorted(part.low, key, side="right") - 1
        inside = (place >= 0) & (key <= part.high[np.maximum(place, 0)])
        goes[here[inside]] = before + part.of_interval[place[inside]]
        before += part.count
    used = np.full(before, NOWHERE, dtype=np.int64)
    kept = np.unique(chosen)
    used[kept] = np.arange(len(kept))
    return used[chosen], np.where(goes == NOWHERE, NOWHERE, used[goes])


def _parts(axis: Extents, level: tuple[IntArray, IntArray, int], hard: BoolArray | None = None) -> _Parts:
    """Let boxes whose intervals meet, or that meet the same other boxes, be in one part.

    Parameters
    ----------
    axis : Extents
    level : (boxes, nodes, n_boxes)
    hard : ndarray of bool, shape (nodes,), optional
        Nodes in which soft intervals are left aside.
    """
    boxes, nodes, n_boxes = level
    place = np.full(n_boxes, NOWHERE, dtype=np.int64)
    place[boxes] = np.arange(len(boxes))
    counts = place[axis.box] != NOWHERE
    if hard is not None:
        counts &= ~(axis.soft & hard[nodes[place[axis.box]]])
    own = place[axis.box[counts]]
    node = nodes[own] * axis.span
    low = node + axis.low[counts]
    order = np.argsort(low)
    own, low, high = own[order], low[order], (node + axis.high[counts])[order]
    reach = np.maximum.accumulate(high)
    starts = low > np.append(np.int64(NOWHERE), reach[:-1])  # an interval that begins beyond all before it
    interval = np.cumsum(starts) - 1
    total = len(boxes) + int(np.count_nonzero(starts))
    links = coo_array((np.ones(len(own), dtype=np.int8), (own, len(boxes) + interval)), shape=(total, total))
    count, labels = connected_components(links, directed=False)
    labels = labels.astype(np.int64)
    of_box = labels[: len(boxes)]
    return _Parts(
        of_box=of_box,
        count=int(count),
        per_node=np.bincount(nodes[any_row_of(of_box, int(count))], minlength=int(nodes.max()) + 1),
        low=low[starts],
        high=reach[np.append(starts[1:], True)] if len(own) else reach,
        of_interval=labels[len(boxes) :],
    )


def _holds(axis: Extents, found: IntArray, points: IntArray) -> BoolArray:
    """Tell the tuples that their box holds along one axis."""
    keys = axis.box * axis.span + axis.low
    order = np.argsort(keys)
    key = found * axis.span + points
    place = np.searchsorted(keys[order], key, side="right") - 1
    ends = (axis.box * axis.span + axis.high)[order]
    return np.asarray((found != NOWHERE) & (place >= 0) & (key <= ends[np.maximum(place, 0)]))
