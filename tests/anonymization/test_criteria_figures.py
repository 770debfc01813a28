"""Figures in messages: limits as they were asked for, and bounds that can be followed."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.anonymization.criteria.declarations import Alpha, LDistinct, LEntropy, takes
from components.anonymization.criteria.figures import TOLERANCE, bound_text, figure_text, limit_text

FIGURES = st.floats(1e-6, 1e12)


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (3, "3"),
        (3.0, "3"),
        (0.5, "0.5"),
        (0.333333, "0.333333"),
        (3.0000001, "3.0000001"),
        (1234567, "1234567"),
        (1e6, "1000000"),
    ],
)
def test_a_limit_is_told_as_it_was_asked_for(limit: float, text: str) -> None:
    assert limit_text(limit) == text


@given(FIGURES)
def test_a_limit_keeps_all_its_digits(limit: float) -> None:
    assert float(limit_text(limit)) == limit


@pytest.mark.parametrize(
    ("figure", "up", "text"),
    [
        (1 / 3, True, "0.333334"),
        (2 / 3, True, "0.666667"),
        (2 / 3, False, "0.666666"),
        (1.88988157, False, "1.88988"),
        (math.log(2), True, "0.693148"),
        (0.1 + 0.2, True, "0.3"),  # what rounding leaves is nothing
        (3 - 4e-13, False, "3"),
        (2, False, "2"),
        (math.inf, True, ""),
    ],
)
def test_a_bound_is_rounded_to_the_side_that_can_be_reached(figure: float, text: str, *, up: bool) -> None:
    assert bound_text(figure, up=up) == text


@given(FIGURES, st.booleans())
def test_whoever_follows_a_bound_gets_through(figure: float, up: bool) -> None:  # noqa: FBT001  # drawn
    bound = float(bound_text(figure, up=up))
    assert bound * (1 + TOLERANCE) >= figure if up else bound * (1 - TOLERANCE) <= figure
    assert math.isclose(bound, figure, rel_tol=2e-5)


def test_a_bound_that_no_configuration_takes_is_none() -> None:
    alpha, entropy, distinct = Alpha(alpha=0.2), LEntropy(l=2.5), LDistinct(l=3)
    assert bound_text(1.0, up=True, admits=lambda limit: takes(alpha, "alpha", limit)) == ""
    assert bound_text(0.9999999, up=True, admits=lambda limit: takes(alpha, "alpha", limit)) == "0.9999999"
    assert bound_text(1.0, up=False, admits=lambda limit: takes(entropy, "l", limit)) == ""
    assert bound_text(1.0, up=False, admits=lambda limit: takes(distinct, "l", limit)) == ""
    assert bound_text(2.0, up=False, admits=lambda limit: takes(distinct, "l", limit)) == "2"


@pytest.mark.parametrize(
    ("figure", "beside", "text"),
    [
        (1 / 3, 0.5, "0.333333"),
        (1 / 3, 0.333333, "0.333333333"),
        (3.0, 3.0000001, "3"),
        (math.inf, 2.0, "infinite"),
    ],
)
def test_a_figure_is_told_apart_from_the_limit_beside_it(figure: float, beside: float, text: str) -> None:
    assert figure_text(figure, beside) == text
