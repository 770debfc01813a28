"""A lower bound on epsilon from one run: what an attacker guessed right of canaries that were put in by coin tosses."""

import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom


def guessing_probability(right: int, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """Return a bound on the probability of so many right guesses if training were (epsilon, delta)-DP.

    Each of `canaries` records was put in or left out by a fair coin; an attacker who saw what was released guessed
    of some of them. With delta 0 the right guesses are at most a binomial of probability ``e^eps / (1 + e^eps)``; delta
    adds ``2 m delta max_i P(v - i <= B < v) / i`` (Steinke, Nasr and Jagielski, arXiv 2305.08846, theorem 5.2).

    Parameters
    ----------
    right, guesses, canaries : int
        ``right <= guesses <= canaries``; who abstains does not guess.
    epsilon : float
        At least 0.
    delta : float
        In [0, 1).

    Returns
    -------
    float
        In [0, 1].
    """
    chance = 1 / (1 + np.exp(-epsilon))
    below = np.arange(right - 1, -1, -1)
    nearly = np.cumsum(binom.pmf(below, guesses, chance)) / np.arange(1, right + 1)
    extra = 2 * canaries * delta * float(nearly.max(initial=0.0))
    return min(1.0, float(binom.sf(right - 1, guesses, chance)) + extra)


def lower_bound(right: int, guesses: int, canaries: int, delta: float, confidence: float = 0.95) -> float:
    """Return the epsilon that training exceeds with a confidence.

    Parameters
    ----------
    right, guesses, canaries : int
        See `guessing_probability`.
    delta : float
        That of the claim which is audited.
    confidence : float, optional
        In (0, 1): a true claim is exceeded with at most the rest of probability.

    Returns
    -------
    float
        0 where nothing was shown.
    """

    def doubt(epsilon: float) -> float:
        return guessing_probability(right, guesses, canaries, epsilon, delta) - (1 - confidence)

    highest = 40.0
    if doubt(0.0) >= 0:
        return 0.0
    return highest if doubt(highest) < 0 else float(brentq(doubt, 0.0, highest, xtol=1e-9))
