"""Releases carry the noise that they are accounted with, on a grid that tells nothing in its low-order bits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.dp import mechanisms
from components.dp.clipping import clip
from components.dp.noise import Noise

SIZE = 200_000


def test_each_client_carries_its_own_noise():
    sent = mechanisms.noised_messages(clip(np.zeros((3, SIZE)), 0.5), 0.5, [1.0, 2.0, 4.0], Noise.from_seed(1))
    assert sent.std(axis=1) == pytest.approx([0.5, 1.0, 2.0], rel=0.01)
    assert np.abs(np.corrcoef(sent)[np.triu_indices(3, 1)]).max() < 0.02


def test_ten_equal_noises_averaged_are_a_tenth_of_the_variance():
    sent = mechanisms.noised_messages(clip(np.zeros((10, SIZE)), 1.0), 1.0, 2.0, Noise.from_seed(2))
    assert sent.mean(axis=0).std() == pytest.approx(2 / np.sqrt(10), rel=0.01)


@pytest.mark.parametrize("came", [10, 6])
def test_the_servers_noise_stays_that_of_the_clients_that_were_expected(came: int):
    updates = clip(np.zeros((came, SIZE)), 1.0)
    found = mechanisms.noised_average(updates, np.full(came, 0.1), 1.0, 1.0, Noise.from_seed(3))
    assert found.std() == pytest.approx(0.1, rel=0.01)


def test_dividing_by_those_that_came_would_widen_the_noise():
    updates = clip(np.zeros((6, SIZE)), 1.0)
    found = mechanisms.noised_average(updates, np.full(6, 1 / 6), 1.0, 1.0, Noise.from_seed(3))
    assert found.std() == pytest.approx(0.1667, rel=0.01)


def test_noise_follows_the_largest_weight():
    updates = clip(np.zeros((3, SIZE)), 1.0)
    found = mechanisms.noised_average(updates, [0.5, 0.25, 0.25], 1.0, 2.0, Noise.from_seed(4))
    assert found.std() == pytest.approx(1.0, rel=0.01)


def test_an_average_is_the_weighted_sum():
    updates = np.array([[0.1, 0.2], [0.3, -0.1]])
    found = mechanisms.noised_average(clip(updates, 1.0), [0.75, 0.25], 1.0, 0.0, Noise.from_seed(5))
    assert found == pytest.approx([0.15, 0.125], abs=1e-9)
    with pytest.raises(ValueError, match="nobody"):
        mechanisms.noised_average(clip(np.zeros((0, 2)), 1.0), [], 1.0, 1.0, Noise.from_seed(5))


def test_fewer_clients_carry_less_of_a_shared_noise():
    assert mechanisms.distributed_multiplier(1.0, 6, 10) == pytest.approx(0.775, abs=5e-4)
    sent = mechanisms.noised_messages(clip(np.zeros((6, SIZE)), 1.0), 1.0, 1 / np.sqrt(10), Noise.from_seed(6))
    assert sent.sum(axis=0).std() == pytest.approx(0.775, rel=0.01)


@given(st.floats(1e-5, 1e5), st.floats(0, 1e4), st.integers(0, 2**32))
def test_releases_lie_on_the_grid_and_rounding_makes_nothing_longer(norm: float, multiplier: float, seed: int):
    step = mechanisms.grid_step(norm, norm * multiplier)
    clipped = clip(np.random.default_rng(seed).normal(size=(4, 50)), norm)
    for found in (
        mechanisms.noised_messages(clipped, norm, multiplier, Noise.from_seed(seed)),
        mechanisms.towards_zero(clipped.updates, step),
    ):
        assert (np.abs(found / step) < 2**50).all()
        assert (found / step == np.rint(found / step)).all()
    assert (np.abs(found) <= np.abs(clipped.updates)).all()
    assert step <= max(norm, norm * multiplier) * 2.0**-32


@given(st.floats(1e-3, 1e3), st.floats(0.1, 10.0), st.integers(0, 2**32 - 1))
def test_an_average_lies_on_the_grid_of_its_sensitivity(norm: float, multiplier: float, seed: int):
    weights = [0.6, 0.3, 0.1]
    step = mechanisms.grid_step(0.6 * norm, 0.6 * norm * multiplier)
    clipped = clip(np.random.default_rng(seed).normal(size=(3, 50)), norm)
    found = mechanisms.noised_average(clipped, weights, norm, multiplier, Noise.from_seed(seed))
    assert (found / step == np.rint(found / step)).all()


def test_low_order_bits_tell_nothing():
    """Plain floating-point sums of two neighbouring updates fall on different numbers; grid releases do not."""
    step = mechanisms.grid_step(1.0, 1.0)
    for value in (0.0, 1 / 3):
        updates = clip(np.full((1, 1000), value / 32), 1.0)
        sent = mechanisms.noised_messages(updates, 1.0, 1.0, Noise.from_entropy())
        assert (sent % step == 0).all()
    plain = 1 / 96 + Noise.from_entropy().normal((1000,))
    assert (plain % step != 0).any()


def test_the_papers_noise_is_added_to_weights_as_they_are():
    found = mechanisms.noised_unclipped(np.full((2, SIZE), 100.0), [0.15, 0.3], Noise.from_seed(8))
    assert found.std(axis=1) == pytest.approx([0.15, 0.3], rel=0.01)
    assert found.mean() == pytest.approx(100, abs=0.01)
