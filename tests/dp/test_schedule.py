"""What a run will release is known before anything is trained."""

import math

import pytest

from components.dp import schedule
from components.dp.accounting import epsilon, multiplier_for
from components.dp.equalising import servers_multiplier
from components.dp.releases import Releases


def test_steps_are_counted_with_the_last_short_batch():
    assert schedule.steps(1000, 64, 2) * 5 == 160
    assert schedule.per_record(1000, 64, 2, 5) == (Releases(1.0, 0.064, 160),)


@pytest.mark.parametrize("rows", [1, 63, 64])
def test_a_batch_of_all_rows_samples_nothing(rows: int):
    assert schedule.per_record(rows, 64, 2, 5) == (Releases(1.0, 1.0, 10),)


def test_shuffled_batches_earn_no_sampling_and_count_once_a_pass():
    assert schedule.per_record_shuffled(1000, 2, 5) == (Releases(1.0, 1.0, 10),)
    poisson = epsilon(schedule.per_record(1000, 64, 2, 5), 1e-5).value
    assert epsilon(schedule.per_record_shuffled(1000, 2, 5), 1e-5).value > poisson


def test_without_rows_or_rounds_nothing_is_released():
    assert schedule.per_record(0, 64, 2, 5) == ()
    assert schedule.per_record_shuffled(0, 2, 5) == ()
    assert schedule.per_record(1000, 64, 2, 0) == ()
    assert schedule.per_update(0, 2.0, 3.0) == ()


def test_an_adaptive_clip_costs_its_votes():
    pattern = schedule.per_update(10, 2.0, 3.0)
    assert pattern == (Releases(1.0, 1.0, 10, 2.0), Releases(3.0, 1.0, 10, 2.0))
    fixed = multiplier_for(3.0, 1e-5, schedule.per_update(10, 2.0))
    assert multiplier_for(3.0, 1e-5, pattern) == pytest.approx(fixed * math.sqrt(10 / 9))


@pytest.mark.parametrize(
    ("by", "expected"), [("variance", math.sqrt(1 + 4 + 16)), ("worst_epsilon", 1.0)], ids=["variance", "worst"]
)
def test_noise_at_the_server_is_made_comparable(by: str, expected: float):
    assert servers_multiplier([1.0, 2.0, 4.0], by, 10, 1e-5) == pytest.approx(expected)  # type: ignore[arg-type]


def test_the_mean_epsilon_can_be_kept():
    found = servers_multiplier([2.0, 4.0], "mean_epsilon", 10, 1e-5)
    assert epsilon([Releases(found, times=10)], 1e-5).value == pytest.approx((7.51128 + 3.34141) / 2, abs=1e-4)
    assert servers_multiplier([2.0, 2.0], "mean_epsilon", 10, 1e-5) == 2.0


def test_equal_noise_of_ten_clients_is_a_tenth_of_the_variance_on_the_average():
    # At the server the standard deviation of an average is multiplier * clip / clients.
    assert servers_multiplier([2.0] * 10, "variance", 10, 1e-5) / 10 == pytest.approx(2 / math.sqrt(10))
