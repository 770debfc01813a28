"""An attacker of canaries shows no more than is claimed - unless noise, clip or the noise's secrecy are missing.

The toys are the real mechanisms on real canaries: DP-SGD whose every record has a direction of its own, and federated
averaging of which one client's message is attacked.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binom

from components.dp.accounting import epsilon, multiplier_for
from components.dp.audit import guessing_probability, lower_bound
from components.dp.clipping import clip
from components.dp.mechanisms import noised_average, noised_messages
from components.dp.noise import Noise
from components.dp.releases import Releases

DELTA = 1e-5
CANARIES = 1000
TRIALS = 100
CONFIDENCE = 0.95
ALLOWED = int(binom.ppf(0.999, TRIALS, 1 - CONFIDENCE))
CLAIMED = 1.0


@dataclass(frozen=True)
class Flawed:
    """What may be wrong."""

    noise: float = 1.0
    clip: bool = True
    same_seed: bool = False


Attack = Callable[[int, Flawed], float]


def dp_sgd(seed: int, flaw: Flawed, steps: int = 4) -> float:
    """Return the bound that an attack on DP-SGD shows: sums of clipped gradients, noised, guessed by coordinate."""
    draws = np.random.default_rng(seed)
    present = draws.random(CANARIES) < 0.5
    multiplier = multiplier_for(CLAIMED, DELTA, (Releases(1, times=steps),))
    length = 1.0 if flaw.clip else 100.0
    seen = np.zeros(CANARIES)
    for step in range(steps):
        noise = Noise.from_seed(7 if flaw.same_seed else seed * steps + step)
        seen += present * length + flaw.noise * multiplier * noise.normal((CANARIES,))
        if flaw.same_seed:  # the attacker made it too
            seen -= flaw.noise * multiplier * Noise.from_seed(7).normal((CANARIES,))
    return guessed(seen, present, steps * length / 2)


def federated(seed: int, flaw: Flawed) -> float:
    """Return the bound that an attack on a client's noised updates shows, round after round.

    Every client of a thousand is a canary, present or silent (zero out), with its own direction.
    """
    present = np.random.default_rng(seed).random(CANARIES) < 0.5
    rounds = 2
    multiplier = multiplier_for(CLAIMED, DELTA, (Releases(1, times=rounds),)) * flaw.noise
    updates = np.where(present, 1.0 if flaw.clip else 100.0, 0.0)[:, None]
    sent = clip(updates, 1.0 if flaw.clip else 1e9)
    seen = np.zeros(CANARIES)
    for number in range(rounds):
        noise = Noise.from_seed(7 if flaw.same_seed else seed * rounds + number)
        seen += noised_messages(sent, 1.0, multiplier, noise)[:, 0]
        if flaw.same_seed:
            seen -= noised_messages(clip(0 * updates, 1.0), 1.0, multiplier, Noise.from_seed(7))[:, 0]
    return guessed(seen, present, rounds / 2)


def guessed(seen: np.ndarray, present: np.ndarray, threshold: float) -> float:
    """Guess of the tenth that is surest."""
    surest = np.argsort(-np.abs(seen - threshold))[: CANARIES // 10]
    right = int(((seen > threshold) == present)[surest].sum())
    return lower_bound(right, surest.size, CANARIES, DELTA, CONFIDENCE)


@pytest.mark.parametrize("attack", [dp_sgd, federated])
def test_with_noise_and_clip_a_true_claim_is_exceeded_no_more_often_than_chance_allows(attack: Attack):
    bounds = [attack(seed, Flawed()) for seed in range(TRIALS)]
    assert sum(bound > CLAIMED for bound in bounds) <= ALLOWED
    assert np.mean(bounds) > 0.05  # the attack does see something


@pytest.mark.parametrize("attack", [dp_sgd, federated])
@pytest.mark.parametrize(
    "flaw",
    [Flawed(noise=0.0), Flawed(noise=0.1), Flawed(clip=False), Flawed(same_seed=True)],
    ids=["no noise", "a tenth of the noise", "no clip", "the same seed"],
)
def test_what_is_missing_is_found_out(attack: Attack, flaw: Flawed):
    assert all(attack(seed, flaw) > CLAIMED for seed in range(5))


def test_noise_by_a_flawed_server_is_found_out_too():
    present = np.random.default_rng(1).random(CANARIES) < 0.5
    updates = clip(np.diag(present.astype(float)), 1.0)
    weights = np.full(CANARIES, 1 / CANARIES)
    for multiplier, exceeds in ((multiplier_for(CLAIMED, DELTA, (Releases(1),)), False), (0.0, True)):
        seen = noised_average(updates, weights, 1.0, multiplier, Noise.from_seed(2)) * CANARIES
        assert (guessed(seen, present, 0.5) > CLAIMED) == exceeds


@pytest.mark.parametrize("claimed", [0.3, 1.0, 3.0])
def test_the_bound_is_exceeded_at_its_level_by_the_mechanism_that_reaches_it(claimed: float):
    """Randomised response guesses right with e^eps / (1 + e^eps): nothing may be guessed better."""
    draws = np.random.default_rng(5)
    right = draws.binomial(CANARIES, 1 / (1 + math.exp(-claimed)), size=400)
    found, times = np.unique(right, return_counts=True)
    beyond = [lower_bound(int(each), CANARIES, CANARIES, 0.0, CONFIDENCE) > claimed for each in found]
    exceeded = int(times[beyond].sum())
    assert binom.ppf(0.001, 400, 0.02) <= exceeded <= binom.ppf(0.999, 400, 1 - CONFIDENCE)


def test_known_bounds():
    assert lower_bound(50, 100, 100, 0.0) == 0
    assert lower_bound(0, 0, 100, 0.0) == 0
    # All of r right: e^eps / (1 + e^eps) = .05^(1/r).
    chance = 0.05 ** (1 / 100)
    assert lower_bound(100, 100, 100, 0.0) == pytest.approx(math.log(chance / (1 - chance)), abs=1e-6)
    assert lower_bound(90, 100, 1000, 1e-5) < lower_bound(90, 100, 1000, 0.0)
    assert lower_bound(100, 100, 10**6, 0.5) == 0


def test_delta_adds_its_worst_case():
    plain = guessing_probability(80, 100, 100, 1.0, 0.0)
    chance = 1 / (1 + math.exp(-1.0))
    worst = max((binom.cdf(79, 100, chance) - binom.cdf(79 - i, 100, chance)) / i for i in range(1, 81))
    assert guessing_probability(80, 100, 100, 1.0, 1e-4) == pytest.approx(plain + 2 * 100 * 1e-4 * worst)


def test_the_claim_that_is_audited_is_the_accounts():
    multiplier = multiplier_for(CLAIMED, DELTA, (Releases(1, times=4),))
    assert epsilon([Releases(multiplier, times=4)], DELTA).value == pytest.approx(CLAIMED, abs=1e-4)
