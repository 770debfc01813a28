"""Epsilon of what was released: exact where all took part, by privacy loss distribution where batches were sampled."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import exp, inf, log
from typing import Literal

from scipy.optimize import brentq

from components.dp import gaussian, sampled
from components.dp.releases import Releases, merged, split

_DEPTH = 9.0
"""How far, in natural logarithms, sampling may lower a multiplier."""

_CLOSE = 2e-4
"""How far below its target a calibrated epsilon may lie, relative to it."""

_EXCESS = 0.65
"""Share of its stated accuracy by which a coarse figure lies above a close one, rather less than more."""

_NEARLY = 3e-3
"""How far off a coarse figure may be, relative to the target, for one more step of the secant to be enough."""


@dataclass(frozen=True, slots=True)
class Epsilon:
    """An epsilon at its delta.

    Parameters
    ----------
    value : float
        Infinite where something was released without noise.
    delta : float
    check : float or None
        By Renyi DP: at least `value`, and not more than 1.4 times that. None where Renyi DP says nothing.
    by : {"exact", "pld"}
        How `value` was found; by PLD it is a looser bound beyond `SENSELESS` and `MANY` of `components.dp.sampled`.
    """

    value: float
    delta: float
    check: float | None
    by: Literal["exact", "pld"]


def epsilon(releases: Iterable[Releases], delta: float, *, check: bool = False) -> Epsilon:
    """Return the epsilon of all releases together.

    Parameters
    ----------
    releases : iterable of Releases
    delta : float
        In (0, 1).
    check : bool, optional
        Whether Renyi DP's figure is wanted too.

    Returns
    -------
    Epsilon
    """
    if not 0 < delta < 1:
        raise ValueError("delta lies in (0, 1)")
    mu, rest = split(releases)
    value = sampled.epsilon(mu, rest, delta) if rest else gaussian.epsilon(mu, delta)
    second = _checked(mu, rest, delta) if check else None
    return Epsilon(value, delta, second, "pld" if rest else "exact")


@lru_cache(maxsize=4096)
def _checked(mu: float, rest: tuple[Releases, ...], delta: float) -> float | None:
    return sampled.renyi(mu, rest, delta) if rest or mu else 0.0


def delta(releases: Iterable[Releases], epsilon_: float) -> float:
    """Return the delta of all releases together at an epsilon of at least 0."""
    mu, rest = split(releases)
    return sampled.delta(mu, rest, epsilon_) if rest else gaussian.delta(mu, epsilon_)


def within(releases: Iterable[Releases], delta_: float, budget: float) -> bool:
    """Return whether the epsilon of all releases together is at most a budget; a coarse bound answers where it can."""
    mu, rest = split(releases)
    if rest and sampled.epsilon(mu, rest, delta_, sampled.COARSE) <= budget:
        return True
    return (sampled.epsilon(mu, rest, delta_) if rest else gaussian.epsilon(mu, delta_)) <= budget


@lru_cache(maxsize=4096)
def multiplier_for(target: float, delta_: float, pattern: tuple[Releases, ...]) -> float:
    """Return the least noise multiplier with which a pattern of releases stays within an epsilon.

    Parameters
    ----------
    target : float
        Epsilon, above 0.
    delta_ : float
        In (0, 1).
    pattern : tuple of Releases
        All that will be released, with multipliers relative to the one that is sought: 1 for the updates themselves,
        3 for a second release with three times as much noise.

    Returns
    -------
    float
        Above 0; `epsilon` of the pattern with it is at most `target`.

    Raises
    ------
    ValueError
        The target, delta or pattern allows no multiplier.
    """
    pattern = merged(pattern)
    if not (0 < target < inf and 0 < delta_ < 1 and pattern and all(each.multiplier for each in pattern)):
        raise ValueError("a target epsilon above 0, a delta in (0, 1) and releases with noise are needed")
    mu, rest = split(pattern)
    full = sampled.in_full(mu, rest) / gaussian.mu_for(target, delta_)
    return _sampled_multiplier(target, delta_, pattern, full) if rest else full


def _scaled(pattern: tuple[Releases, ...], multiplier: float) -> tuple[float, tuple[Releases, ...]]:
    return split(replace(each, multiplier=each.multiplier * multiplier) for each in pattern)


def _sampled_multiplier(target: float, delta_: float, pattern: tuple[Releases, ...], full: float) -> float:
    """Start in the limit of many small steps, close in by coarse figures, end with a close one (or a few).

    `full` is what would do without sampling, and so an upper bound.
    """
    highest = log(full)
    spare = _EXCESS * sampled.COARSE * max(1.0, target / sampled.LARGE)

    def near(power: float) -> float:
        return log(max(sampled.near(*_scaled(pattern, exp(power)), delta_), 1e-12) / target)

    def coarse(power: float) -> float:
        found = sampled.epsilon(*_scaled(pattern, exp(power)), delta_, sampled.COARSE) - spare
        return log(max(found, 1e-12) / target)

    power = (
        float(brentq(near, highest - _DEPTH, highest, xtol=1e-3))
        if near(highest - _DEPTH) > 0 > near(highest)
        else highest
    )
    slope = min((near(power) - near(power - 1e-3)) * 1e3, -0.2)
    missed = coarse(power)
    for _ in range(20):
        following = min(power - min(max(missed / slope, -0.5), 0.5), highest)
        step, power = following - power, following
        if abs(missed) < _NEARLY or step == 0:
            break
        left = coarse(power)
        slope = min((left - missed) / step, -0.2)
        missed = left
    for _ in range(5):
        mu, rest = _scaled(pattern, exp(power))
        over = log(max(sampled.epsilon(mu, rest, delta_), 1e-12) / target)
        if -_CLOSE < over <= 0:
            return exp(power)
        power = min(power - (over + _CLOSE / 10) / slope, highest)
    return _bisected(target, delta_, pattern, highest)


def _bisected(target: float, delta_: float, pattern: tuple[Releases, ...], high: float) -> float:
    """Return a multiplier by halves, where epsilon bends too much for secants: few releases of tiny batches."""
    low = high - _DEPTH
    for _ in range(16):
        middle = (low + high) / 2
        mu, rest = _scaled(pattern, exp(middle))
        low, high = (low, middle) if sampled.epsilon(mu, rest, delta_) <= target else (middle, high)
    return exp(high)
