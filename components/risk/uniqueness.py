"""How many persons of a population are unique, estimated from the class sizes of a sample drawn from it.

Both estimates take the sample for a simple random one. The classes of a release that was generalised until none is
small are none of a random sample: there the estimates say what the class sizes alone would suggest. Dankar et al.
(2012, BMC Medical Informatics and Decision Making 12:66) found Pitman's model the more accurate one up to a sampling
fraction of about 10 %, and Zayatz's estimate above it; at small fractions the latter is far too high.
"""

import math
from dataclasses import dataclass

import numpy as np

from components.classes.coding import IntArray
from components.risk.release import Sizes

_UNSEEN = 1e-12
_FAR = 1e3


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate of population uniqueness.

    Parameters
    ----------
    share : float
        Expected share of the population that is alone in its class, in [0, 1]; NaN where there is no estimate.
    note : str
        Why there is none, or what is special about it.
    """

    share: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Sample:
    """The class sizes of a sample: `counts` classes have `sizes` records each, `classes` have `records` in all."""

    sizes: IntArray
    counts: IntArray
    classes: int
    records: int

    @property
    def uniques(self) -> int:
        """Classes of one record."""
        return int(self.counts[0]) if self.sizes[0] == 1 else 0


def zayatz(class_sizes: Sizes, population: int) -> Estimate:
    """Estimate population uniqueness by the equivalence class method of Zayatz.

    Source: Zayatz, Estimation of the Number of Unique Population Elements Using a Sample, Proceedings of the Survey
    Research Methods Section, American Statistical Association (1991), 369-373. With f_j classes of size j among the u
    of the sample taken for the shares of class sizes in the population, and H(j) the (hypergeometric) probability
    that exactly one of a class's j persons is among the n drawn from N, the chance that a sample unique is a
    population unique is ``p = f_1/u H(1) / sum_j f_j/u H(j)``; the population's uniques are ``f_1 p N/n``.

    Parameters
    ----------
    class_sizes : ndarray of int, shape (classes,)
        Records in each class of the sample.
    population : int
        Persons N in the population, at least the sample's records n.

    Returns
    -------
    Estimate
        0 without sample uniques. Exact where the sample is the population. NaN without classes.
    """
    sample, known = _looked_at(class_sizes, population)
    if known is not None:
        return known
    return Estimate(sample.uniques / sample.records * _still_unique(sample, population))


def pitman(class_sizes: Sizes, population: int) -> Estimate:
    """Estimate population uniqueness by Pitman's sampling formula with maximum likelihood.

    Source: Hoshino, Applying Pitman's Sampling Formula to Microdata Disclosure Risk Assessment, Journal of Official
    Statistics 17 (2001), 499-520. Population and sample are partitions under the two-parameter formula (Pitman 1995)
    with 0 <= alpha < 1 and theta > -alpha, under which the expected share of uniques among N persons is
    ``B(theta + alpha + N - 1, 1 - alpha) / B(theta + alpha, 1 - alpha)``, B being the beta function: that of Hoshino's
    ``Gamma(theta + 1) / Gamma(theta + alpha) N**alpha`` uniques without its approximation for large N.

    Parameters
    ----------
    class_sizes : ndarray of int, shape (classes,)
        Records in each class of the sample.
    population : int
        Persons N in the population, at least the sample's records n.

    Returns
    -------
    Estimate
        0 without sample uniques. Exact where the sample is the population. NaN without classes, and where every
        record is unique: the likelihood then has no maximum (alpha goes to 1).

    Notes
    -----
    Where the likelihood falls with alpha from 0 on, the estimate is that of Ewens' formula, alpha = 0: the classes are
    more even than the model knows, and the estimate is rather too high.
    """
    sample, known = _looked_at(class_sizes, population)
    if known is not None:
        return known
    if sample.uniques == sample.classes:
        return Estimate(math.nan, "every record is unique in the sample: Pitman's likelihood has no maximum")
    alpha, theta = _most_likely(sample)
    from scipy.special import betaln

    share = math.exp(betaln(theta + alpha + population - 1, 1 - alpha) - betaln(theta + alpha, 1 - alpha))
    note = "the most likely alpha is 0: Ewens' formula" if alpha == 0 else ""
    return Estimate(share, note)


def _looked_at(class_sizes: Sizes, population: int) -> tuple[_Sample, Estimate | None]:
    """Return the sample by class size, and the answer where no model is needed for it."""
    sizes, counts = np.unique(class_sizes, return_counts=True)
    sample = _Sample(sizes.astype(np.int64), counts.astype(np.int64), len(class_sizes), int(class_sizes.sum()))
    if not sample.classes:
        return sample, Estimate(math.nan, "there is no class")
    if population < sample.records:
        raise ValueError(f"a population of {population} is smaller than the sample of {sample.records}")
    if population == sample.records:
        return sample, Estimate(sample.uniques / sample.records, "the sample is the population")
    if not sample.uniques:
        return sample, Estimate(0.0, "no record is unique in the sample")
    return sample, None


def _still_unique(sample: _Sample, population: int) -> float:
    """Return Zayatz's chance that a sample unique is a population unique."""
    left_out = np.arange(sample.sizes[-1] - 1, dtype=np.float64)
    factors = np.maximum(population - sample.records - left_out, 0.0) / (population - 1 - left_out)
    none_else = np.concatenate(([1.0], np.cumprod(factors)))  # all but one of a class's persons are not drawn
    one_drawn = sample.counts * sample.sizes * none_else[sample.sizes - 1]
    return float(one_drawn[0] / one_drawn.sum())


def _most_likely(sample: _Sample) -> tuple[float, float]:
    """Return alpha and theta where Pitman's likelihood is largest.

    Both derivatives of the log-likelihood are sums that digamma functions close, so that the cost is that of the
    different class sizes. For each alpha the derivative by theta has one change of sign; along these thetas the one
    by alpha is followed from 0, where it may be negative already, to 1, where it goes to minus infinity.
    """
    from scipy.optimize import brentq

    def slope(alpha: float) -> float:
        return _slope_alpha(sample, alpha, _likely_theta(sample, alpha))

    if slope(0.0) <= 0:
        return 0.0, _likely_theta(sample, 0.0)
    alpha = float(brentq(slope, 0.0, 1.0 - _UNSEEN, xtol=1e-13))
    return alpha, _likely_theta(sample, alpha)


def _likely_theta(sample: _Sample, alpha: float) -> float:
    from scipy.optimize import brentq

    def slope(log_x: float) -> float:
        return _slope_theta(sample, alpha, math.exp(log_x) - alpha)

    low, high = math.log(_UNSEEN), math.log(sample.records)
    while slope(high) > 0:
        high += 2.0
    return math.exp(float(brentq(slope, low, high, xtol=1e-13))) - alpha


def _slope_theta(sample: _Sample, alpha: float, theta: float) -> float:
    """Return the derivative of the log-likelihood by theta, sum 1/(theta + i alpha) - sum 1/(theta + i)."""
    u = sample.classes
    growing = (u - 1) / theta if alpha == 0 else _harmonic(theta / alpha, u) / alpha
    return growing - _harmonic(theta, sample.records)


def _slope_alpha(sample: _Sample, alpha: float, theta: float) -> float:
    """Return the derivative by alpha, sum i/(theta + i alpha) - sum over classes, l < size, of 1/(l - alpha)."""
    from scipy.special import digamma

    u = sample.classes
    growing = u * (u - 1) / 2 / theta if alpha == 0 else _weighted(theta / alpha, u) / alpha
    return growing - float(np.dot(sample.counts, digamma(sample.sizes - alpha) - digamma(1.0 - alpha)))


def _harmonic(start: float, terms: int) -> float:
    """Return the sum over i = 1..terms-1 of 1 / (start + i), by its series where digammas would cancel out."""
    from scipy.special import digamma

    if start < _FAR * terms:
        return float(digamma(start + terms) - digamma(start + 1.0))
    first, second, third = _moments(terms)
    return ((terms - 1) - (first - (second - third / start) / start) / start) / start


def _weighted(start: float, terms: int) -> float:
    """Return the sum over i = 1..terms-1 of i / (start + i)."""
    if start < _FAR * terms:
        return terms - 1 - start * _harmonic(start, terms)
    first, second, third = _moments(terms)
    return (first - (second - third / start) / start) / start


def _moments(terms: int) -> tuple[float, float, float]:
    """Return the sums over i = 1..terms-1 of i, of its square and of its cube."""
    first = terms * (terms - 1) / 2
    return first, first * (2 * terms - 1) / 3, first * first
