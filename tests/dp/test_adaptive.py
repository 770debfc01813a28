"""The clip follows the quantile that was asked for, by votes that are noised."""

import numpy as np
import pytest

from components.dp.adaptive import NORMS, following, votes
from components.dp.clipping import clip
from components.dp.noise import Noise


def test_the_clip_follows_the_quantile_of_the_norms():
    draws = np.random.default_rng(0)
    noise, norm, clients = Noise.from_seed(1), 10.0, 200
    for _ in range(150):
        updates = np.abs(draws.normal(size=(clients, 1)))
        norm = following(norm, float(votes(clip(updates, norm), noise, 3.0).sum()), clients, 0.5, 0.2)
    assert norm == pytest.approx(0.6745, rel=0.2)


def test_votes_are_half_a_unit_apart_from_nobodys():
    noise = Noise.from_seed(2)
    found = clip([[0.1], [5.0], [np.nan]], 1.0)
    assert votes(found, noise, 0.0).tolist() == [0.5, -0.5, 0.5]
    many = clip(np.zeros((100_000, 1)), 1.0)
    assert votes(many, noise, 3.0).std() == pytest.approx(1.5, rel=0.02)


def test_a_share_beyond_its_range_moves_the_clip_no_further():
    assert following(1.0, 1e9, 10, 0.5, 0.2) == pytest.approx(np.exp(-0.1))
    assert following(1.0, -1e9, 10, 0.5, 0.2) == pytest.approx(np.exp(0.1))
    assert following(1.0, 0.0, 10, 0.5, 0.2) == pytest.approx(1.0)


def test_a_clip_that_is_always_too_large_or_too_small_stays_a_number():
    small = large = 1.0
    for _ in range(2000):
        small, large = following(small, 5.0, 10, 0.0, 1.0), following(large, -5.0, 10, 1.0, 1.0)
    assert (small, large) == NORMS
