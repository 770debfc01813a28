"""The exact guarantee of composed Gaussians, from no privacy loss worth telling to a senseless one."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from components.dp import gaussian


def test_delta_at_an_epsilon_is_known():
    assert gaussian.delta(1.0, 1.0) == pytest.approx(0.1269367, abs=1e-7)


@pytest.mark.parametrize(
    ("multiplier", "expected"),
    [(2, 7.51128), (3, 4.65298), (4, 3.34141), (6, 2.11398), (8, 1.53468)],
)
def test_ten_releases_have_their_known_epsilon(multiplier: float, expected: float):
    assert gaussian.epsilon(math.sqrt(10) / multiplier, 1e-5) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("target", "times", "multiplier"), [(1, 1, 3.73063), (8, 10, 1.89809), (3, 10, 4.39744)])
def test_a_target_epsilon_gives_its_known_multiplier(target: float, times: int, multiplier: float):
    assert math.sqrt(times) / gaussian.mu_for(target, 1e-5) == pytest.approx(multiplier, abs=1e-5)


@example(8.0, -1.9)  # where an epsilon has no digits left for what delta follows from
@given(st.floats(-12, 8), st.floats(-14, -1))
def test_epsilon_and_delta_are_each_others_inverse_for_every_size_of_loss(power: float, power_of_delta: float):
    mu, delta = 10.0**power, 10.0**power_of_delta
    epsilon = gaussian.epsilon(mu, delta)
    assert 0 <= epsilon < math.inf
    if epsilon > 0:
        assert gaussian.delta(mu, epsilon) == pytest.approx(delta, rel=1e-5)
    else:
        assert gaussian.delta(mu, 0.0) <= delta * (1 + 1e-9)


@given(st.floats(0.01, 1e4), st.floats(1e-12, 0.1))
def test_a_calibrated_mu_never_exceeds_its_target(target: float, delta: float):
    found = gaussian.epsilon(gaussian.mu_for(target, delta), delta)
    assert found <= target
    assert found == pytest.approx(target, rel=1e-6)


@given(st.floats(1e-7, 1e-4), st.floats(0, 5))
def test_tiny_losses_agree_with_the_integral_that_they_are(mu: float, ratio: float):
    # d/d mu of delta at a fixed ratio eps/mu is nearly phi(x) - x Phi(-x).
    density = math.exp(-ratio * ratio / 2) / math.sqrt(2 * math.pi)
    expected = mu * (density - ratio * math.erfc(ratio / math.sqrt(2)) / 2)
    assert gaussian.delta(mu, ratio * mu) == pytest.approx(expected, rel=1e-3)


@given(st.floats(-9, 0))
def test_at_an_epsilon_of_0_delta_is_the_distance_of_two_gaussians(power: float):
    mu = 10.0**power
    assert gaussian.delta(mu, 0.0) == pytest.approx(math.erf(mu / math.sqrt(8)), rel=1e-9)


@pytest.mark.parametrize("mu", [10.5, 11.0, 12.0])
def test_what_is_left_to_a_delta_of_1_is_both_tails(mu: float):
    assert 1 - gaussian.delta(mu, 0.0) == pytest.approx(math.erfc(mu / math.sqrt(8)), rel=1e-3)


def test_nothing_released_costs_nothing_and_no_noise_costs_everything():
    assert gaussian.delta(0.0, 0.0) == 0
    assert gaussian.epsilon(0.0, 1e-5) == 0
    assert gaussian.delta(math.inf, 1e9) == 1
    assert gaussian.epsilon(math.inf, 1e-5) == math.inf
