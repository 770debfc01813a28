"""The guarantee of Gaussian releases on Poisson batches.

The figure is that of a privacy loss distribution (PLD), discretised so that it is an upper bound ("connect the dots":
Doroshenko et al., arXiv 2207.04380). Renyi DP (Mironov et al., arXiv 1908.10530) gives a second, looser figure to check
it against. Both are dp-accounting's, which takes a second to import: it is imported where it is used.
"""

import logging
from functools import lru_cache
from math import expm1, inf, isinf, log, sqrt
from typing import Any

import numpy as np
from scipy.stats import binom

from components.dp import gaussian
from components.dp.releases import Releases

ACCURACY = 7e-5
"""By how much a figure may lie above the true epsilon, up to an epsilon of `LARGE`; relative to that beyond."""

COARSE = 1e-3
"""The same for a figure that a search asks for on its way."""

LARGE = 10.0

SENSELESS = 1000.0
"""Beyond this epsilon bounds in closed form have to do."""

MANY = 250_000
"""Beyond so many batches, whose losses are too small for a grid of reasonable size, Renyi DP and closed forms do."""

_TYPICAL = 1e-5
"""A delta by which losses are spaced where none is given."""

_FINEST = 4e-5
"""Least distance of neighbouring losses: time and memory grow with its inverse."""


def pld(mu: float, sampled: tuple[Releases, ...], interval: float, delta: float) -> Any:
    """Return the privacy loss distribution of all releases together.

    Parameters
    ----------
    mu : float
        Of what was released in full; 0 for nothing.
    sampled : tuple of Releases
        With rates below 1 and multipliers above 0.
    interval : float
        Distance of neighbouring losses.
    delta : float
        What it will be asked about: tails that are small beside it are counted as lost, which is safe.
    """
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import privacy_loss_distribution as losses

    tails = log(delta / (1 + sum(each.times for each in sampled))) - 12
    parts = [
        losses.from_gaussian_mechanism(
            each.multiplier,
            sampling_prob=each.rate,
            value_discretization_interval=interval,
            log_mass_truncation_bound=tails,
            neighboring_relation=NeighboringRelation.REPLACE_ONE
            if each.units == 2
            else NeighboringRelation.ADD_OR_REMOVE_ONE,
        ).self_compose(each.times)
        for each in sampled
    ]
    if mu > 0:
        parts.append(losses.from_gaussian_mechanism(1 / mu, value_discretization_interval=interval))
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.compose(part)
    return whole


def renyi(mu: float, sampled: tuple[Releases, ...], delta: float) -> float | None:
    """Return epsilon by Renyi DP; None where a record is replaced in a Poisson batch, of which it knows nothing."""
    if any(each.units == 2 for each in sampled):
        return None
    if isinf(mu):
        return inf
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    from dp_accounting.rdp import RdpAccountant

    accountant, log_ = RdpAccountant(), logging.getLogger("absl")
    quiet, log_.disabled = log_.disabled, True  # it tells of every order that it leaves out
    try:
        for each in sampled:
            accountant.compose(PoissonSampledDpEvent(each.rate, GaussianDpEvent(each.multiplier)), each.times)
    finally:
        log_.disabled = quiet
    if mu > 0:
        accountant.compose(GaussianDpEvent(1 / mu))
    return float(accountant.get_epsilon(delta))


def in_full(mu: float, sampled: tuple[Releases, ...]) -> float:
    """Return ``mu`` as if every batch had been all records: a bound, since sampling only helps."""
    return sqrt(mu * mu + sum(each.times * (each.units / each.multiplier) ** 2 for each in sampled))


def in_the_limit(mu: float, sampled: tuple[Releases, ...]) -> float:
    """Return the ``mu`` that many small steps come to: no bound, but near; far above where noise is small.

    ``mu^2 = sum T q^2 (e^(1/z^2) - 1)`` (Bu et al., arXiv 1911.11607, theorem 5).
    """
    powers = [min((each.units / each.multiplier) ** 2, 300.0) for each in sampled]
    steps = (each.times * each.rate**2 * expm1(power) for each, power in zip(sampled, powers, strict=True))
    return min(sqrt(mu * mu + sum(steps)), in_full(mu, sampled))


def when_drawn(mu: float, sampled: tuple[Releases, ...], delta: float) -> float:
    """Return ``mu`` as if all knew which batches held the record: a bound, but for a probability of `delta`.

    A record is in as many of T batches as a binomial number says. With a probability of at least ``1 - delta`` it is in
    no more than its quantile, and given which ones, they are releases in full.
    """
    share = delta / len(sampled)
    hits = (float(binom.isf(share, each.times, each.rate)) for each in sampled)
    return sqrt(
        mu * mu + sum(count * (each.units / each.multiplier) ** 2 for count, each in zip(hits, sampled, strict=True))
    )


def bound(mu: float, sampled: tuple[Releases, ...], delta: float) -> float:
    """Return an epsilon that holds, in closed form and without the help of secret batches."""
    drawn = gaussian.epsilon(when_drawn(mu, sampled, delta / 2), delta / 2)
    return min(gaussian.epsilon(in_full(mu, sampled), delta), drawn)


def near(mu: float, sampled: tuple[Releases, ...], delta: float) -> float:
    """Return about what epsilon comes to, which decides how it is computed; low for few steps of tiny batches."""
    return min(gaussian.epsilon(in_the_limit(mu, sampled), delta), bound(mu, sampled, delta))


def interval_for(mu: float, sampled: tuple[Releases, ...], delta: float, epsilon_: float, accuracy: float) -> float:
    """Return the distance of neighbouring losses with which a figure lies about `accuracy` above the true epsilon.

    `epsilon_` is what it is expected to be. A loss that falls a share u of the way between two points of the grid is
    spread over both: its variance grows by ``u (1 - u) d^2``, on average ``d^2 / 6``. In the limit of many steps losses
    are normal with variance ``mu^2`` and mean ``mu^2 / 2``, so that epsilon is ``mu^2 / 2 + mu x`` at a fixed quantile
    x; its derivative by the variance is ``1/4 + eps / (2 mu^2)``.
    """
    limit = min(in_the_limit(mu, sampled), gaussian.mu_for(max(epsilon_, 1e-9), delta))
    steps = sum(each.times for each in sampled) + (mu > 0)
    derivative = 0.25 + max(epsilon_ / limit, 1.0) / (2 * limit)
    large = max(1.0, epsilon_ / LARGE)
    return max(sqrt(6 * accuracy * large / (steps * derivative)), _FINEST * large)


def _beyond(expected: float, sampled: tuple[Releases, ...]) -> bool:
    return expected > SENSELESS or sum(each.times for each in sampled) > MANY


@lru_cache(maxsize=4096)
def epsilon(mu: float, sampled: tuple[Releases, ...], delta: float, accuracy: float = ACCURACY) -> float:
    """Return the epsilon of releases in full and on Poisson batches together.

    Parameters
    ----------
    mu : float
        Of the releases in full.
    sampled : tuple of Releases
        As `components.dp.releases.split` gives them, at least one.
    delta : float
        In (0, 1).
    accuracy : float, optional
        How close above the true value it is to be.

    Returns
    -------
    float
        An upper bound; up to `SENSELESS`, and up to `MANY` batches, it is close.
    """
    if isinf(mu):
        return inf
    highest, expected = bound(mu, sampled, delta), near(mu, sampled, delta)
    if _beyond(expected, sampled):
        other = renyi(mu, sampled, delta)
        return highest if other is None else min(highest, other)
    while True:
        interval = interval_for(mu, sampled, delta, expected, accuracy)
        with np.errstate(over="ignore"):  # a quotient that is infinite is larger than any loss it is held against
            found = max(0.0, float(pld(mu, sampled, interval, delta).get_epsilon_for_delta(delta)))
        if expected <= 1.25 * max(found, LARGE):
            return min(found, highest)
        expected = found  # much was expected, and a coarse grid taken for it


def delta(mu: float, sampled: tuple[Releases, ...], epsilon_: float) -> float:
    """Return an upper bound on delta at an epsilon (see `epsilon`)."""
    if isinf(mu):
        return 1.0
    highest = gaussian.delta(in_full(mu, sampled), epsilon_)
    expected = near(mu, sampled, _TYPICAL)
    if _beyond(expected, sampled):
        return highest
    whole = pld(mu, sampled, interval_for(mu, sampled, _TYPICAL, expected, ACCURACY), _TYPICAL * _TYPICAL)
    with np.errstate(over="ignore"):
        return min(float(whole.get_delta_for_epsilon(epsilon_)), highest)
