import numpy as np
import pytest

from components.risk.release import release_risk


def test_arirec_is_the_mean_over_classes_and_prosecutor_mean_over_records():
    risk = release_risk(np.array([1, 3]))
    assert risk.arirec == pytest.approx(2 / 3)
    assert risk.prosecutor_mean == pytest.approx(0.5)
    assert risk.prosecutor_max == 1.0
    assert risk.marketer == risk.prosecutor_mean


def test_a_threshold_is_passed_by_records_of_classes_that_are_too_small_for_it():
    risk = release_risk(np.array([1, 2, 4, 5, 10, 11]))
    assert risk.above == {"0.09": 22 / 33, "0.2": 7 / 33, "0.5": 1 / 33}


def test_without_classes_nothing_is_at_risk():
    risk = release_risk(np.array([], dtype=np.int64), 1.0)
    assert (risk.prosecutor_max, risk.prosecutor_mean, risk.arirec, risk.suppressed_share) == (0.0, 0.0, 0.0, 1.0)
    assert set(risk.above.values()) == {0.0}
