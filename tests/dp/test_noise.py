"""Privacy noise is normal far into its tails, and nobody can repeat it."""

import copy
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy import stats

from components.dp.keystream import Keystream, cipher
from components.dp.noise import Noise

COUNT = 400_000
TYPES = (np.float64, np.float32)


@pytest.fixture(params=TYPES, ids=["float64", "float32"])
def sample(request: pytest.FixtureRequest) -> Any:
    found = Noise.from_seed(20).normal((COUNT,), request.param)
    assert found.dtype == request.param
    return found.astype(np.float64)


def test_moments_are_those_of_a_normal_distribution(sample: Any):
    root = COUNT**0.5
    assert abs(sample.mean()) * root < 4
    assert abs(sample.var() - 1) * root / 2**0.5 < 4
    assert abs(stats.skew(sample)) * root / 6**0.5 < 4
    assert abs(stats.kurtosis(sample)) * root / 24**0.5 < 4


def test_the_distribution_is_normal(sample: Any):
    assert stats.kstest(sample, "norm").pvalue > 1e-3
    halves = sample[: COUNT // 2], sample[COUNT // 2 :]
    assert all(stats.kstest(half, "norm").pvalue > 1e-3 for half in halves)


@pytest.mark.parametrize("beyond", [2.0, 3.0, 4.0])
def test_tails_hold_their_share(sample: Any, beyond: float):
    for tail in (sample > beyond, sample < -beyond):
        assert stats.binomtest(int(tail.sum()), COUNT, stats.norm.sf(beyond)).pvalue > 1e-4


@pytest.mark.parametrize("dtype", TYPES)
def test_the_radius_reaches_nine_deviations(dtype: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Keystream, "words", lambda _, count: np.zeros(count, dtype=np.uint64))
    bits = 64 if dtype is np.float64 else 63
    assert Keystream(1).normal(2, dtype).max() == pytest.approx((2 * bits * np.log(2)) ** 0.5)
    monkeypatch.setattr(Keystream, "words", lambda _, count: np.full(count, 2**64 - 1, dtype=np.uint64))
    assert np.abs(Keystream(1).normal(2, dtype)).max() < 1e-6


def test_pieces_and_neighbours_are_independent(sample: Any):
    bound = 4 / COUNT**0.5
    for lag in (1, 2, 8192, 16_384):
        # Also of the squares: numbers of one pair share their radius, and must not show it.
        for kind in (sample, sample**2):
            assert abs(np.corrcoef(kind[:-lag], kind[lag:])[0, 1]) < bound * 1.1


@pytest.mark.parametrize("dtype", TYPES)
def test_a_pairs_radius_and_angle_are_made_of_other_words(dtype: Any, monkeypatch: pytest.MonkeyPatch):
    count, draws = 64, np.random.default_rng(0)
    known, other = (draws.integers(0, 2**64, count, dtype=np.uint64) for _ in range(2))

    def made(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        monkeypatch.setattr(Keystream, "words", lambda _, asked: words[:asked])
        pairs = Keystream(1).normal(count, dtype).astype(np.float64).reshape(2, -1)
        return np.hypot(*pairs), np.arctan2(*pairs)

    half = count // 2
    radius, angle = made(known)
    other_radius, same_angle = made(np.concatenate([other[:half], known[half:]]))
    same_radius, other_angle = made(np.concatenate([known[:half], other[half:]]))
    assert np.allclose(angle, same_angle, atol=1e-5)
    assert np.allclose(radius, same_radius, atol=1e-5)
    assert np.abs(radius - other_radius).min() > 1e-5
    assert np.abs(angle - other_angle).min() > 1e-5


def test_uniform_numbers_are_even_and_below_one():
    found = Noise.from_seed(3).uniform((COUNT,))
    assert 0 <= found.min() < found.max() < 1
    assert stats.kstest(found, "uniform").pvalue > 1e-3


def test_two_sources_of_entropy_differ_and_two_of_one_seed_do_not():
    one, other = Noise.from_entropy(), Noise.from_entropy()
    assert (one.seeded, other.seeded) == (False, False)
    first, second = one.normal((1000,)), other.normal((1000,))
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.2
    assert not np.intersect1d(first, second).size
    assert not np.intersect1d(first, one.normal((1000,))).size
    mine, same = Noise.from_seed(7), Noise.from_seed(7)
    assert mine.seeded
    assert (mine.normal((5, 3)) == same.normal((5, 3))).all()
    assert not np.intersect1d(mine.normal((99,)), Noise.from_seed(8).normal((99,))).size


def test_a_key_has_all_the_entropy_that_the_cipher_takes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("components.dp.keystream.os.urandom", lambda count: bytes(range(count)))
    assert Keystream().words(2).tobytes() == cipher(bytes(range(32))).update(bytes(16))


def test_the_words_of_a_source_can_not_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        Keystream(1).words(4)[0] = 0


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,), (2, 5), (3 * 16_384 + 1,)])
def test_any_shape_is_made_in_full(shape: tuple[int, ...]):
    noise = Noise.from_entropy()
    for found in (noise.normal(shape), noise.normal(shape, np.float32), noise.uniform(shape)):
        assert found.shape == shape
        assert np.isfinite(found).all()
        assert np.unique(found).size >= found.size * 0.999


def test_later_noise_leaves_earlier_noise_alone():
    noise = Noise.from_seed(1)
    first = noise.normal((64,))
    kept = first.copy()
    noise.normal((64,))
    assert (first == kept).all()


def test_a_source_can_not_be_copied_or_stored():
    noise = Noise.from_entropy()
    for attempt in (lambda: pickle.dumps(noise), lambda: copy.deepcopy(noise), lambda: copy.copy(noise.source)):
        with pytest.raises(TypeError, match="can't be copied"):
            attempt()


FORKED = """
import os, sys
from components.dp.noise import Noise
noise = Noise.from_entropy()
noise.normal((10,))
reader, writer = os.pipe()
if os.fork() == 0:
    os.write(writer, noise.normal((10,)).tobytes())
    os._exit(0)
sys.exit(os.read(reader, 80) == noise.normal((10,)).tobytes())
"""


def test_a_forked_process_makes_other_noise_than_its_parent():
    assert subprocess.run([sys.executable, "-c", FORKED], check=False).returncode == 0


def test_the_first_number_is_the_ciphers():
    # AES-256 in counter mode of a key of zeros, first block: a vector of NIST's AESAVS (KAT, zero key and plaintext).
    assert cipher(bytes(32)).update(bytes(16)).hex() == "dc95c078a2408989ad48a21492842087"
