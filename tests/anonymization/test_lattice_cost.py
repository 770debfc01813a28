import sys
from dataclasses import replace

import pytest

from bench.anonymisation import SHARED
from bench.lattice import (
    ADULT_ROWS,
    FIXED_MEMORY,
    LIMITS,
    MEMORY_LIMIT,
    TUPLE_MEMORY,
    Distinct,
    Ratios,
    beside_anjana,
    code_bytes,
    distinct,
    memory,
    table,
    time_ratios,
)

needs_adult = pytest.mark.skipif(not SHARED.exists(), reason="the benchmark tables are no part of this repository")
GOOD = Ratios(
    ADULT_ROWS, {"k": 15.0, "l": 30.0, "t": 39.0}, dict.fromkeys("klt", 0.1), dict.fromkeys("klt", 1_900_000), 180_972
)


@needs_adult
def test_a_search_costs_a_few_groupbys():
    tries = [time_ratios(ADULT_ROWS, repeats=3)[0] for _ in range(2)]
    for name, limit in {"k": 1, "l": 2, "t": 2}.items():
        assert min(ratios[name] for ratios in tries) <= limit * LIMITS[ADULT_ROWS], tries


@needs_adult
@pytest.mark.parametrize("criterion", ["k", "l", "t"])
def test_a_search_all_in_needs_less_than_twice_the_codes(criterion: str):
    made = table(300_000)
    assert memory(made, criterion) <= MEMORY_LIMIT * code_bytes(made)


@needs_adult
@pytest.mark.parametrize("criterion", ["k", "l", "t"])
def test_few_rows_need_little_more_than_their_tuples(criterion: str):
    assert memory(table(ADULT_ROWS), criterion) <= FIXED_MEMORY


def test_rows_that_are_all_distinct_need_a_few_numbers_each():
    found = distinct(30_000)
    assert found.holds, found


def test_a_figure_over_its_limit_does_not_hold():
    assert GOOD.holds
    assert not replace(GOOD, times={**GOOD.times, "k": 20.1}).holds
    assert not replace(GOOD, times={**GOOD.times, "t": 40.1}).holds
    assert not replace(GOOD, peaks={**GOOD.peaks, "l": FIXED_MEMORY + 1}).holds
    many = replace(GOOD, rows=1_000_000, times=dict.fromkeys("klt", 2.0), codes=6_000_000)
    assert replace(many, peaks=dict.fromkeys("klt", 12_000_000)).holds
    assert not replace(many, peaks=dict.fromkeys("klt", 12_000_001)).holds
    assert Distinct(10, 10 * TUPLE_MEMORY, 60).holds
    assert not Distinct(10, 10 * TUPLE_MEMORY + 1, 60).holds


@needs_adult
def test_another_library_that_is_not_there_is_no_failure():
    assert beside_anjana(sys.executable).startswith("anjana: not measured")
