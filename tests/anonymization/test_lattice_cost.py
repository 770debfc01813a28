import sys

import pytest

from bench.anonymisation import SHARED
from bench.lattice import ADULT_ROWS, LIMITS, MEMORY_LIMIT, Ratios, beside_anjana, hold, memory_ratio, time_ratios

pytestmark = pytest.mark.skipif(not SHARED.exists(), reason="the benchmark tables are no part of this repository")
GOOD = {"k": 15.0, "l": 30.0, "t": 39.0}


def test_a_search_costs_a_few_groupbys():
    tries = [time_ratios(ADULT_ROWS, repeats=3)[0] for _ in range(2)]
    for name, limit in {"k": 1, "l": 2, "t": 2}.items():
        assert min(ratios[name] for ratios in tries) <= limit * LIMITS[ADULT_ROWS], tries


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read as Linux tells it")
def test_a_search_needs_little_memory_beside_the_columns():
    assert memory_ratio(300_000) <= MEMORY_LIMIT


def test_a_ratio_over_its_limit_does_not_hold():
    good = Ratios(ADULT_ROWS, GOOD, GOOD, 9.0)
    assert hold([good])
    assert not hold([good, Ratios(ADULT_ROWS, {**GOOD, "k": 20.1}, GOOD, 1.0)])
    assert not hold([Ratios(1_000_000, dict.fromkeys(GOOD, 2.0), GOOD, 2.1)])


def test_another_library_that_is_not_there_is_no_failure():
    assert beside_anjana(sys.executable).startswith("anjana: not measured")
