from collections import Counter
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.anonymization.criteria.requirements import Requirement
from components.anonymization.hierarchies.hierarchy import Ladder
from components.anonymization.lattice import collapsing, numbering, space
from components.anonymization.lattice.collapsing import collapse, suppressed_rows
from components.anonymization.lattice.numbering import Numbering, counted
from components.anonymization.lattice.space import dimension
from components.classes import coding
from components.classes.coding import Attribute, IntArray
from components.classes.counts import distinct, sizes

SMALLEST_KEY = 64
"""So small that numbers of three columns no longer fit."""


@given(pieces=st.lists(st.lists(st.integers(0, 2**60) | st.integers(0, 5), max_size=30), max_size=8))
def test_numbers_are_counted_over_all_pieces(pieces: list[list[int]]):
    numbers, amounts = counted(np.array(piece, dtype=np.int64) for piece in pieces)
    expected = np.unique(np.array([one for piece in pieces for one in piece], dtype=np.int64), return_counts=True)
    assert numbers.tolist() == expected[0].tolist()
    assert amounts.tolist() == expected[1].tolist()


def test_a_table_that_stops_repeating_itself_is_counted_right():
    rng = np.random.default_rng(0)
    pieces = [rng.integers(0, 50, 200) for _ in range(5)] + [
        np.arange(start, start + 200) for start in range(0, 2000, 150)
    ]
    numbers, amounts = counted(pieces)
    expected = np.unique(np.concatenate(pieces), return_counts=True)
    assert np.array_equal(numbers, expected[0])
    assert np.array_equal(amounts, expected[1])


@pytest.mark.parametrize("largest", [SMALLEST_KEY, 2**62])
def test_numbers_are_in_the_order_of_their_tuples_and_give_them_back(monkeypatch: pytest.MonkeyPatch, largest: int):
    monkeypatch.setattr(numbering, "LARGEST_KEY", largest)
    tuples = np.array([one for one in product(range(4), range(3), range(5), range(2), range(3)) if sum(one) % 3])
    columns = list(tuples.T)
    numbers = numbering.numbering(
        [4, 3, 5, 2, 3], lambda: [[one[:50] for one in columns], [one[50:] for one in columns]]
    )
    assert bool(numbers.ranked) is (largest == SMALLEST_KEY)
    keys = numbers.keys(columns)
    assert (np.diff(keys) > 0).all()
    assert keys.max() < numbers.span
    assert np.array_equal(np.stack(numbers.groups(keys)).T, tuples)


def test_a_numbering_of_one_column_is_its_codes():
    codes = np.array([2, 0, 1], dtype=np.int8)
    assert Numbering((3,), {}).keys([codes]).tolist() == [2, 0, 1]


def ladder(codes: IntArray, size: int) -> Ladder:
    """Two values a group, then all in one; missing climbs on its own."""
    attribute = Attribute("q", (), "nominal", codes, size, ())
    places = np.arange(size + 1)
    groups = (places, np.where(places == size, size, places // 2), np.zeros(size + 1, dtype=np.int64))
    shares = tuple(np.full(size + 1, 1 / max(size, 1)) for _ in groups)
    hierarchy: Any = SimpleNamespace(digest="")
    return Ladder(attribute, groups, (None, None, None), shares, size, hierarchy)


Drawn = tuple[list[list[int]], list[int], tuple[int, ...]]


def searched(columns: list[list[int]], values: list[int], levels: tuple[int, ...]) -> tuple[Any, ...]:
    """Return all that a space holds, and the rows that one node suppresses."""
    codes = [np.array(column, dtype=np.int8) for column in columns]
    rows = np.array(values, dtype=np.int8)
    asked = [
        Requirement("k", "", 2.0, np.zeros_like(rows), 1, sizes, absorbing=True),
        Requirement("l_distinct", "ill", 2.0, rows, 3, distinct, absorbing=True),
    ]
    found = collapse([dimension(ladder(one, int(one.max()) + 1)) for one in codes], asked)
    pairs = found.counts[1]
    assert pairs is not None
    told = [np.stack(found.codes), found.rows, pairs.classes, pairs.codes, pairs.counts]
    return *(one.tolist() for one in told), suppressed_rows(found, found.attempt(levels)).tolist()


@st.composite
def tables(draw: st.DrawFn) -> Drawn:
    rows, columns = draw(st.integers(1, 40)), draw(st.integers(1, 5))
    largest = draw(st.lists(st.integers(-1, 4), min_size=columns, max_size=columns))
    cells = [draw(st.lists(st.integers(-1, most), min_size=rows, max_size=rows)) for most in largest]
    values = draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows))
    return cells, values, tuple(draw(st.lists(st.integers(0, 2), min_size=columns, max_size=columns)))


@given(drawn=tables(), chunk=st.integers(1, 7))
def test_neither_pieces_nor_many_columns_change_a_space(drawn: Drawn, chunk: int):
    expected = searched(*drawn)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(coding, "_CHUNK", chunk)
        assert searched(*drawn) == expected
        for module in (numbering, collapsing, space):
            patched.setattr(module, "LARGEST_KEY", SMALLEST_KEY)
        assert searched(*drawn) == expected


@given(drawn=tables())
def test_rows_of_classes_that_miss_a_requirement_are_suppressed(drawn: Drawn):
    columns, values, levels = drawn

    def shown(code: int, level: int) -> int:
        return (code, -1 if code < 0 else code // 2, 0)[level]

    classes = [tuple(map(shown, row, levels)) for row in zip(*columns, strict=True)]
    members = {one: [value for other, value in zip(classes, values, strict=True) if other == one] for one in classes}
    bad = [len(members[one]) < 2 or len(set(members[one])) < 2 for one in classes]
    assert searched(*drawn)[-1] == bad


def test_tuples_and_values_are_told_apart_where_their_numbers_together_pass_64_bits():
    draw = np.random.default_rng(2)
    columns = [draw.integers(0, 8, 60).astype(np.int8) for _ in range(20)]  # 8**20 = 2**60 tuples, times 16 values
    columns[0][:2] = 7
    values = draw.integers(0, 16, 60)
    for column in columns:
        column[30:] = column[:30]  # each tuple twice
        column[-1] = 7
    asked = [Requirement("l_distinct", "ill", 2.0, values, 16, distinct, absorbing=True)]
    found = collapse([dimension(ladder(one, 8)) for one in columns], asked)
    pairs = found.counts[0]
    assert pairs is not None
    told = {
        (*(int(codes[tuple_]) for codes in found.codes), int(value)): int(count)
        for tuple_, value, count in zip(pairs.classes, pairs.codes, pairs.counts, strict=True)
    }
    assert told == Counter(
        (*(int(cell) for cell in row), int(value)) for *row, value in zip(*columns, values, strict=True)
    )
