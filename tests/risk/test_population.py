"""Risk to someone who knows the population: figures worked by hand, and against counting records in plain Python."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.risk.population import population_risk
from schemas.faults import DataError
from schemas.tables import METRICS


def test_figures_by_hand():
    # Classes of 1 and 3 among 4 and 6 of the population: 1/4 once, 1/6 three times.
    risk = population_risk(np.array([1, 3]), 20, np.array([4, 6]))
    assert risk.k_map == 4
    assert risk.journalist_max == 0.25
    assert risk.journalist_mean == pytest.approx((1 / 4 + 3 / 6) / 4)
    assert risk.marketer == risk.journalist_mean
    assert (risk.sampling_fraction, risk.estimated) == (0.2, False)


def test_without_a_population_table_its_classes_are_estimated_by_the_sampling_fraction():
    risk = population_risk(np.array([2, 3]), 50)
    assert risk.estimated
    assert risk.k_map == pytest.approx(20)
    assert risk.journalist_max == pytest.approx(1 / 20)
    assert risk.journalist_mean == pytest.approx((2 / 20 + 3 / 30) / 5)


def test_suppressed_records_were_drawn_too():
    risk = population_risk(np.array([2, 3]), 100, sampled=10)
    assert risk.sampling_fraction == 0.1
    assert risk.k_map == pytest.approx(20)


def test_the_sample_that_is_the_population_has_prosecutor_risk():
    sizes = np.array([1, 2, 5])
    risk = population_risk(sizes, 8, sizes)
    assert (risk.journalist_max, risk.journalist_mean) == (1.0, pytest.approx(3 / 8))
    assert risk.uniques_pitman.share == risk.uniques_zayatz.share == 1 / 8


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 50)), min_size=1, max_size=12))
def test_every_figure_is_what_a_count_over_records_gives(classes: list[tuple[int, int]]):
    sizes = [size for size, _ in classes]
    found = [size + more for size, more in classes]
    records = [fitting for size, fitting in zip(sizes, found, strict=True) for _ in range(size)]
    risk = population_risk(np.array(sizes), sum(found), np.array(found))
    assert risk.k_map == min(found)
    assert risk.journalist_max == max(1 / fitting for fitting in records)
    assert risk.journalist_mean == pytest.approx(sum(1 / fitting for fitting in records) / len(records))


def test_a_population_smaller_than_the_table_or_than_a_class_is_refused():
    with pytest.raises(DataError, match="4 persons in the population, and 5 in the table"):
        population_risk(np.array([2, 3]), 4)
    with pytest.raises(DataError, match="4 persons in the population, and 6 in the table"):
        population_risk(np.array([2]), 4, sampled=6)
    with pytest.raises(DataError, match="1 of 2 classes hold more persons") as caught:
        population_risk(np.array([2, 3]), 40, np.array([1, 30]))
    assert caught.value.exit_code == 3


def test_without_classes_nothing_is_at_risk():
    risk = population_risk(np.array([], dtype=np.int64), 10, sampled=5)
    assert (risk.k_map, risk.journalist_max, risk.journalist_mean, risk.sampling_fraction) == (0, 0, 0, 0.5)
    assert math.isnan(risk.uniques_pitman.share)


def test_all_figures_have_names_that_metrics_know():
    names = [name for name, _, _ in population_risk(np.array([1, 2]), 30).figures()]
    assert set(names) <= set(METRICS["anonymization"])
    assert len(names) == 6


def test_persons_with_rows_in_several_classes_were_drawn_once():
    risk = population_risk(np.array([10, 10, 10]), 100, sampled=10)  # ten persons, each with a row in every class
    assert (risk.sampling_fraction, risk.k_map, risk.journalist_max) == (0.1, 100, 0.01)
    assert population_risk(np.array([10, 10, 10]), 12, sampled=10).k_map == 12
