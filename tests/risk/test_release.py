"""Risk from class sizes: oracle values of the definitions, and a plain re-implementation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.risk.release import least_size, release_risk


def test_arirec_is_the_mean_over_classes_and_prosecutor_mean_over_records():
    risk = release_risk(np.array([1, 3]))
    assert risk.arirec == pytest.approx(2 / 3)
    assert risk.prosecutor_mean == pytest.approx(0.5)
    assert risk.prosecutor_max == 1.0
    assert risk.marketer == risk.prosecutor_mean
    assert risk.sample_uniques == 0.25


def test_a_threshold_is_passed_by_records_of_classes_that_are_too_small_for_it():
    risk = release_risk(np.array([1, 2, 4, 5, 10, 11]))
    assert risk.above == {"0.09": 22 / 33, "0.2": 7 / 33, "0.5": 1 / 33}


@pytest.mark.parametrize(
    ("threshold", "size"),
    [
        (0.09, 11),
        (0.2, 5),
        (0.5, 2),
        (1.0, 1),
        (0.1, 10),
        (1 / 49, 49),
        (0.3, 4),
        (0.05, 20),
        (0.0909, 12),
        (0.01, 100),
    ],
)
def test_a_class_of_the_least_size_is_the_smallest_that_does_not_exceed_a_threshold(threshold: float, size: int):
    assert least_size(threshold) == size


def test_thresholds_may_be_ones_own():
    risk = release_risk(np.array([1, 3, 4]), thresholds=[0.3, 1.0])
    assert risk.above == {"0.3": 0.5, "1": 0.0}


def test_without_classes_nothing_is_at_risk():
    risk = release_risk(np.array([], dtype=np.int64), 1.0)
    assert (risk.prosecutor_max, risk.prosecutor_mean, risk.arirec, risk.suppressed_share) == (0.0, 0.0, 0.0, 1.0)
    assert risk.sample_uniques == 0.0
    assert set(risk.above.values()) == {0.0}


@given(st.lists(st.integers(1, 30), min_size=1, max_size=30))
def test_every_figure_is_what_a_count_over_records_gives(sizes: list[int]):
    records = [size for size in sizes for _ in range(size)]
    risk = release_risk(np.array(sizes), 0.25)
    assert risk.prosecutor_max == max(1 / size for size in records)
    assert risk.prosecutor_mean == pytest.approx(sum(1 / size for size in records) / len(records))
    assert risk.arirec == pytest.approx(sum(1 / size for size in sizes) / len(sizes))
    assert risk.sample_uniques == records.count(1) / len(records)
    assert risk.suppressed_share == 0.25
    for name, threshold in (("0.2", 0.2), ("0.5", 0.5), ("0.09", 1 / 11)):
        over = [size for size in records if 1 / size > threshold + 1e-12]
        assert risk.above[name] == pytest.approx(len(over) / len(records))
