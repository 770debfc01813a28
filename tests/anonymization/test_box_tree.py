"""Which box holds a tuple: told by the boxes alone, and the same as looking into each of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.anonymization.mondrian.box_tree import Extents, OverlapError, locate

SPAN = 6
Box = list[list[tuple[int, int, bool]]]
"""Per axis the intervals of a box: both ends, and whether another may have it to itself."""


def extents(boxes: list[Box], axis: int) -> Extents:
    found = [(number, *interval) for number, box in enumerate(boxes) for interval in box[axis]]
    box, low, high, soft = (np.array([one[at] for one in found], dtype=np.int64) for at in range(4))
    return Extents(box, low, high, soft.astype(np.bool_), SPAN)


def held(boxes: list[Box], points: list[tuple[int, ...]]) -> list[int]:
    axes = [extents(boxes, axis) for axis in range(len(boxes[0]))]
    columns = [np.array([point[axis] for point in points], dtype=np.int64) for axis in range(len(axes))]
    return locate(axes, len(boxes), columns).tolist()


def looked_up(boxes: list[Box], point: tuple[int, ...]) -> int:
    inside = [
        number
        for number, box in enumerate(boxes)
        if all(any(low <= at <= high for low, high, _ in intervals) for at, intervals in zip(point, box, strict=True))
    ]
    assert len(inside) <= 1
    return inside[0] if inside else -1


@st.composite
def divisions(draw: st.DrawFn) -> list[Box]:
    """Cut a block again and again, and let each part hold less than the cut left it, in several pieces even."""
    parts = [[set(range(SPAN)) for _ in range(3)]]
    for _ in range(draw(st.integers(0, 9))):
        part = parts.pop(draw(st.integers(0, len(parts) - 1)))
        axis = draw(st.integers(0, 2))
        values = sorted(part[axis])
        if draw(st.booleans()):  # a number's cut; else a category's
            at = draw(st.integers(0, len(values)))
            one = set(values[:at])
        else:
            one = draw(st.sets(st.sampled_from(values)))
        parts.extend(
            [side if number == axis else set(old) for number, old in enumerate(part)]
            for side in (one, part[axis] - one)
            if side
        )
    boxes = []
    for part in parts:
        smaller = [draw(st.sets(st.sampled_from(sorted(values)), min_size=1)) for values in part]
        boxes.append([[(value, value, False) for value in sorted(values)] for values in smaller])
    order = draw(st.permutations(range(len(boxes))))
    return [boxes[at] for at in order]


@settings(max_examples=150, deadline=None)
@given(boxes=divisions())
def test_each_tuple_is_found_where_looking_into_every_box_finds_it(boxes: list[Box]):
    points = [(x, y, z) for x in range(SPAN) for y in range(SPAN) for z in range(SPAN)]
    assert held(boxes, points) == [looked_up(boxes, point) for point in points]


def test_a_tuple_between_boxes_is_in_none():
    boxes: list[Box] = [[[(0, 1, False)]], [[(4, 5, False)]]]
    assert held(boxes, [(at,) for at in range(6)]) == [0, 0, -1, -1, 1, 1]


def test_a_box_that_holds_nothing_on_an_axis_holds_nothing():
    boxes: list[Box] = [[[(0, 5, False)], []], [[(0, 5, False)], [(1, 1, False)]]]
    assert held(boxes, [(0, 0), (0, 1)]) == [-1, 1]
    assert held([[[(0, 1, False)], []]], [(0, 0)]) == [-1]


def test_boxes_that_no_cut_parts_overlap():
    same: list[Box] = [[[(0, 2, False)]], [[(2, 3, False)]], [[(5, 5, False)]]]
    with pytest.raises(OverlapError, match="2 boxes"):
        held(same, [(0,)])
    around = [((0, 2), (0, 0)), ((3, 3), (0, 2)), ((1, 3), (3, 3)), ((0, 0), (1, 3))]  # a pinwheel: disjoint, uncut
    wheel: list[Box] = [[[(*x, False)], [(*y, False)]] for x, y in around]
    with pytest.raises(OverlapError, match="4 boxes"):
        held(wheel, [(0, 0)])


def test_what_another_box_may_have_to_itself_is_its_own_where_nothing_else_parts_the_two():
    star: Box = [[(0, 3, False), (5, 5, True)], [(0, 1, False)]]
    blank: Box = [[(5, 5, False)], [(0, 1, False)]]
    assert held([star, blank], [(0, 0), (5, 0), (4, 0)]) == [0, 1, -1]
    elsewhere: Box = [[(5, 5, False)], [(3, 3, False)]]
    assert held([star, elsewhere], [(5, 0), (5, 3)]) == [0, 1]  # the other axis parts them


def test_an_endless_staircase_is_given_up():
    # Each cut parts but one box from the rest, along one axis and the other in turn.
    ends = [(step, 300) if step % 2 else (step, step) for step in range(250)]
    boxes: list[Box] = [[[(step, x, False)], [(step, 300 + step - x, False)]] for step, (_, x) in enumerate(ends)]
    axes = [extents(boxes, axis) for axis in range(2)]
    axes = [Extents(one.box, one.low, one.high, one.soft, 400) for one in axes]
    with pytest.raises(OverlapError):
        locate(axes, len(boxes), [np.zeros(1, dtype=np.int64)] * 2)
