"""Epsilon of what was released: known values, bounds, and calibration, with and without sampling."""

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from components.dp import accounting, sampled
from components.dp.accounting import epsilon, multiplier_for
from components.dp.releases import Releases, merged

KNOWN = [
    # multiplier, rate, times, delta, epsilon, by Renyi DP
    (1, 1, 1, 1e-5, 4.37718, 4.72851),
    (2, 1, 10, 1e-5, 7.51128, 8.07941),
    (4, 1, 10, 1e-5, 3.34141, 3.61710),
    (5, 1, 50, 1e-5, 6.57297, 7.07739),
    (10, 1, 100, 1e-5, 4.37718, 4.72851),
    (1.1, 0.01, 1000, 1e-5, 1.51537, 1.71177),
    (1.0, 0.0128, 790, 1e-5, 2.13229, 2.43196),
    (1.0, 0.0512, 200, 1e-5, 4.88588, 5.49822),
    (1.0, 0.1, 100, 1e-3, 4.78435, 5.65505),
    (2.0, 0.1, 100, 1e-5, 2.33740, 2.58057),
]


@pytest.mark.parametrize(("multiplier", "rate", "times", "delta", "expected", "renyi"), KNOWN)
def test_known_values(multiplier: float, rate: float, times: int, delta: float, expected: float, renyi: float):
    found = epsilon([Releases(multiplier, rate, times)], delta, check=True)
    assert found.value == pytest.approx(expected, abs=1e-4)
    assert found.check == pytest.approx(renyi, abs=1e-4)
    assert found.by == ("exact" if rate == 1 else "pld")
    assert found.value <= found.check <= 1.4 * found.value


def test_rounds_of_different_noise_are_one_gaussian():
    found = epsilon([Releases(2, times=5), Releases(4, times=5)], 1e-5, check=True)
    assert found.value == pytest.approx(5.67959, abs=1e-5)
    assert found.check == pytest.approx(6.12276, abs=1e-4)


def test_another_table_costs_twice_the_clip():
    assert epsilon([Releases(4, times=10, units=2)], 1e-5).value == pytest.approx(7.51128, abs=1e-5)
    assert epsilon([Releases(4, times=10)], 1e-5).value == pytest.approx(3.34141, abs=1e-5)


def test_one_accountant_grows_and_never_restarts():
    ten, twenty = (epsilon([Releases(5, times=times)], 1e-5, check=True) for times in (10, 20))
    assert (ten.value, twenty.value) == pytest.approx((2.59, 3.85), abs=5e-3)
    assert (ten.check, twenty.check) == pytest.approx((2.81, 4.16), abs=5e-3)


def test_the_largest_weight_sets_the_epsilon_of_a_weighted_average():
    # Weights .5, .25, .25 with noise for thirds: the largest is 1.5 thirds, and z = 2 is really 1.333.
    assert epsilon([Releases(2, units=1.5)], 1e-5).value == pytest.approx(3.147, abs=5e-4)
    assert epsilon([Releases(2)], 1e-5).value == pytest.approx(1.993, abs=5e-4)


def test_delta_at_an_epsilon_is_the_inverse_with_sampling_too():
    some = [Releases(1.1, 0.01, 1000)]
    assert accounting.delta([Releases(1)], 1.0) == pytest.approx(0.1269367, abs=1e-7)
    assert accounting.delta(some, epsilon(some, 1e-5).value) == pytest.approx(1e-5, rel=1e-3)


def test_sampled_and_full_releases_compose():
    both = [Releases(1.1, 0.01, 1000), Releases(10, times=4)]
    whole = epsilon(both, 1e-5, check=True)
    assert epsilon(both[:1], 1e-5).value < whole.value < epsilon(both[:1], 5e-6).value + epsilon(both[1:], 5e-6).value
    assert whole.value <= whole.check <= 1.4 * whole.value


@pytest.mark.parametrize("full", [Releases(4, times=5), Releases(1, times=2)])
def test_batches_that_miss_nobody_compose_with_full_releases_like_full_ones(full: Releases):
    nearly, whole = Releases(2, 1 - 1e-12, 5), Releases(2, times=5)
    assert epsilon([nearly, full], 1e-5).value == pytest.approx(epsilon([whole, full], 1e-5).value, abs=2e-4)


@pytest.mark.parametrize("epsilon_", [0.1, 0.5, 1.5])
@pytest.mark.parametrize("units", [1, 2])
def test_one_step_on_a_batch_has_the_delta_of_its_two_mixtures(units: int, epsilon_: float):
    rate, multiplier = 0.2, 1.0
    x = np.linspace(-12, 12, 400_001)

    def mixture(shift: float) -> np.ndarray:
        return (1 - rate) * norm.pdf(x, 0, multiplier) + rate * norm.pdf(x, shift, multiplier)

    pairs = [(mixture(1), mixture(-1))] if units == 2 else [(mixture(1), mixture(0)), (mixture(0), mixture(1))]
    expected = max(np.maximum(p - np.exp(epsilon_) * q, 0).sum() * (x[1] - x[0]) for p, q in pairs)
    found = accounting.delta([Releases(multiplier, rate, 1, units)], epsilon_)
    assert found == pytest.approx(expected, rel=1e-3, abs=1e-9)
    assert found >= expected * (1 - 1e-6)


def test_a_replaced_record_costs_more_than_one_taken_away():
    one, two = (epsilon([Releases(1.1, 0.01, 1000, units)], 1e-5, check=True) for units in (1, 2))
    assert 1.2 * one.value < two.value < epsilon([Releases(1.1, 1.0, 1000, 2)], 1e-5).value
    assert two.check is None


@pytest.mark.parametrize("releases", [[Releases(0)], [Releases(0, 0.1)], [Releases(1), Releases(0, 0.5, 3)]])
def test_a_release_without_noise_has_no_epsilon(releases: list[Releases]):
    found = epsilon(releases, 1e-5, check=True)
    assert found.value == math.inf
    assert found.check == math.inf
    assert accounting.delta(releases, 100.0) == 1


def test_nothing_released_costs_nothing():
    assert epsilon([], 1e-5, check=True).value == 0
    assert epsilon([Releases(1, times=0)], 1e-5).value == 0


@pytest.mark.parametrize(("multiplier", "rate", "times"), [(0.05, 0.1, 1000), (0.2, 0.1, 1000), (0.001, 0.5, 10_000)])
def test_a_senseless_guarantee_is_bounded_without_much_work(multiplier: float, rate: float, times: int):
    found = epsilon([Releases(multiplier, rate, times)], 1e-5, check=True)
    assert found.value > sampled.SENSELESS
    assert found.value <= epsilon([Releases(multiplier, 1, times)], 1e-5).value
    assert accounting.delta([Releases(multiplier, rate, times)], 1.0) == pytest.approx(1)


@pytest.mark.parametrize(
    ("rate", "times", "units"), [(0.004, 93, 2), (0.0124, 56, 2), (0.0022, 176, 1), (0.0186, 1, 1)]
)
def test_epsilon_moves_as_the_multiplier_does_where_a_record_is_hardly_ever_drawn(rate: float, times: int, units: int):
    # Many small steps would come to an epsilon in the thousands here, or to hardly any: neither says what these do.
    multipliers = np.geomspace(0.3, 0.6, 16)
    found = [epsilon([Releases(each, rate, times, units)], 1e-5).value for each in multipliers]
    steps = -np.diff(np.log(found)) / np.diff(np.log(multipliers))
    assert (steps > 0).all()
    assert (steps < 10).all()
    assert 1 < found[-1] < found[0] < 60


@settings(max_examples=20, deadline=None)
@given(st.floats(0.15, 2), st.floats(0.001, 0.9), st.integers(1, 300), st.sampled_from([1, 2]))
def test_the_bound_without_secret_batches_is_a_bound(multiplier: float, rate: float, times: int, units: int):
    some = (Releases(multiplier, rate, times, units),)
    assert epsilon(some, 1e-5).value <= sampled.bound(0.0, some, 1e-5)


def test_a_figure_near_the_limit_of_sense_is_told_without_a_word_of_warning() -> None:
    some = (Releases(0.150390625, 0.15625, 106),)
    assert 900 < epsilon(some, 1e-5).value <= sampled.bound(0.0, some, 1e-5)


def test_the_bound_without_secret_batches_is_what_the_draws_come_to():
    # One batch: with a probability of 1 - q nothing of the record is in it, and delta(eps) <= q delta_full(eps).
    rate, some = 0.01, Releases(0.5, 0.01)
    epsilon_ = sampled.bound(0.0, (some,), 1e-3)
    assert accounting.delta([some], epsilon_) <= rate * accounting.delta([Releases(0.5)], epsilon_) <= 1e-3


def test_the_bound_without_secret_batches_counts_what_is_drawn_of_every_kind_and_what_is_beyond_it():
    # Draws that are left aside have to be rarer, all together, than half of delta: the rest is for the noise.
    delta = 1e-3
    rare = tuple(Releases(0.1 + place / 100, 0.375 * delta) for place in range(4))
    assert accounting.delta(rare, sampled.bound(0.0, rare, delta)) <= delta
    full, seldom = Releases(4, times=10), (Releases(0.1, 0.9 * delta),)
    assert accounting.delta([full, *seldom], sampled.bound(math.sqrt(10) / 4, seldom, delta)) <= delta


def test_the_bound_without_secret_batches_is_no_looser_than_batches_of_all_and_tighter_where_they_are_small():
    often, seldom = Releases(1, 0.9, 3), Releases(0.3, 0.01, 100)
    assert sampled.bound(0.0, (often,), 1e-5) <= epsilon([replace(often, rate=1.0)], 1e-5).value
    assert sampled.bound(0.0, (seldom,), 1e-5) < epsilon([replace(seldom, rate=1.0)], 1e-5).value / 2


@pytest.mark.parametrize("units", [1, 2])
def test_beyond_many_batches_delta_is_that_of_batches_of_all(units: int):
    beyond = Releases(700, 0.1, sampled.MANY + 1, units)
    assert 0 < accounting.delta([beyond], 3.0) == accounting.delta([replace(beyond, rate=1.0)], 3.0) < 1


def test_more_batches_than_anybody_trains_are_bounded_without_much_work():
    close, beyond = Releases(70, 0.1, sampled.MANY), Releases(70, 0.1, sampled.MANY + 1)
    assert epsilon([close], 1e-5).value < epsilon([beyond], 1e-5).value < 1.2 * epsilon([close], 1e-5).value
    found = multiplier_for(3.0, 1e-5, (Releases(1, 0.1, 10**10),))
    assert 2.99 < epsilon([Releases(found, 0.1, 10**10)], 1e-5).value <= 3
    assert accounting.delta([beyond], 3.0) <= accounting.delta([replace(beyond, rate=1.0)], 3.0)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.6, 8), st.floats(0.002, 0.9), st.integers(1, 300), st.sampled_from([1e-3, 1e-5, 1e-7]))
def test_sampling_only_helps_and_renyi_is_looser(multiplier: float, rate: float, times: int, delta: float):
    found = epsilon([Releases(multiplier, rate, times)], delta, check=True)
    assert found.value <= epsilon([Releases(multiplier, 1, times)], delta).value
    assert found.value <= found.check + 1e-9


@settings(max_examples=20, deadline=None)
@given(st.lists(st.builds(Releases, st.floats(0.5, 9), st.just(1.0), st.integers(1, 9), st.floats(0.1, 3)), max_size=6))
def test_the_order_of_rounds_changes_nothing(releases: list[Releases]):
    assert merged(releases) == merged(reversed(releases))
    assert epsilon(releases, 1e-5) == epsilon(reversed(releases), 1e-5)


@pytest.mark.parametrize(
    ("target", "pattern", "multiplier"),
    [
        (1, Releases(1), 3.73063),
        (8, Releases(1, times=10), 1.89809),
        (3, Releases(1, times=10), 4.39744),
        (3, Releases(1, 0.0128, 790), 0.86204),
    ],
)
def test_calibration_gives_the_known_multipliers(target: float, pattern: Releases, multiplier: float):
    assert multiplier_for(target, 1e-5, (pattern,)) == pytest.approx(multiplier, abs=1e-4)


@settings(max_examples=15, deadline=None)
@given(st.floats(0.2, 40), st.floats(0.001, 0.9), st.integers(1, 300), st.sampled_from([1, 2]))
def test_a_calibrated_multiplier_spends_nearly_its_target_and_never_more(
    target: float, rate: float, times: int, units: int
):
    found = multiplier_for(target, 1e-5, (Releases(1, rate, times, units),))
    spent = epsilon([Releases(found, rate, times, units)], 1e-5).value
    assert spent <= target
    assert spent == pytest.approx(target, rel=1e-3)


def test_calibration_counts_a_second_release_with_other_noise():
    pattern = (Releases(1, times=10), Releases(3, times=10))
    found = multiplier_for(3.0, 1e-5, pattern)
    assert found == pytest.approx(4.39744 * math.sqrt(10 / 9), abs=1e-4)


def test_calibration_keeps_what_sampled_releases_have_of_each_others_noise():
    kinds = Releases(1, 0.05, 40), Releases(3, 0.05, 40)
    found = multiplier_for(2.0, 1e-5, kinds)
    spent = epsilon([replace(each, multiplier=each.multiplier * found) for each in kinds], 1e-5).value
    assert 1.999 < spent <= 2.0


@pytest.mark.parametrize(
    ("target", "delta", "pattern"),
    [(0, 1e-5, (Releases(1),)), (1, 0, (Releases(1),)), (1, 1e-5, ()), (1, 1e-5, (Releases(0),))],
)
def test_what_can_not_be_calibrated_is_refused(target: float, delta: float, pattern: tuple[Releases, ...]):
    with pytest.raises(ValueError, match="are needed"):
        multiplier_for(target, delta, pattern)


@pytest.mark.parametrize(
    "wrong",
    [
        {"multiplier": -1},
        {"multiplier": math.nan},
        {"multiplier": math.inf},
        {"multiplier": 1, "rate": 0},
        {"multiplier": 1, "rate": 1.1},
        {"multiplier": 1, "times": -1},
        {"multiplier": 1, "units": 0},
        {"multiplier": 1, "rate": 0.5, "units": 1.5},
    ],
)
def test_wrong_releases_can_not_be_made(wrong: dict[str, float]):
    with pytest.raises(ValueError, match=r"."):
        Releases(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [0, 1, -1, math.nan])
def test_delta_lies_between_nought_and_one(delta: float):
    with pytest.raises(ValueError, match="delta"):
        epsilon([Releases(1)], delta)


def test_exact_accounting_imports_no_accountant():
    code = (
        "import sys; from components.dp.accounting import epsilon; from components.dp.releases import Releases; "
        "epsilon([Releases(2)], 1e-5); sys.exit('dp_accounting' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
