"""The exact guarantee of composed Gaussian releases.

Any composition of Gaussian mechanisms, also of different noise, is one Gaussian mechanism of sensitivity ``mu`` and
standard deviation 1, and its guarantee is known in closed form (Balle and Wang, arXiv 1805.06530, theorem 8; Dong, Roth
and Su, arXiv 1905.02383, corollaries 2.13 and 3.3)::

    delta(eps) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)

Here it is written with Mills' ratio M(t) = Phi(-t) / phi(t): since ``e^eps phi(y) = phi(x)`` for ``x = eps/mu - mu/2``
and ``y = x + mu``, it is ``phi(x) (M(x) - M(y))``, in which no exponential overflows and no large numbers cancel.
"""

from math import exp, inf, isinf, log, pi, sqrt

from scipy.optimize import brentq
from scipy.special import erfcx, ndtr, ndtri

_SMALL_MU = 1e-5
"""Below it the difference of two Mills' ratios is taken from their derivative, ``M'(t) = t M(t) - 1``."""

_PRECISION = 1e-13


def _mills(value: float) -> float:
    return sqrt(pi / 2) * float(erfcx(value / sqrt(2)))


def delta(mu: float, epsilon: float) -> float:
    """Return the least delta at an epsilon.

    Parameters
    ----------
    mu : float
        Sensitivity over standard deviation of the one Gaussian that all releases come to; 0 is nothing released,
        infinity a release without noise.
    epsilon : float
        At least 0.

    Returns
    -------
    float
        In [0, 1].
    """
    if mu == 0:
        return 0.0
    if isinf(mu):
        return 1.0
    return _delta_at(mu, epsilon / mu - mu / 2)


def _delta_at(mu: float, x: float) -> float:
    """Return delta by ``x = eps/mu - mu/2``, which keeps digits that an epsilon loses where ``mu`` is large."""
    y = x + mu
    density = exp(-x * x / 2) / sqrt(2 * pi)
    if x < -5:
        return float(ndtr(-x)) - density * _mills(y)
    if mu < _SMALL_MU:
        middle = x + mu / 2
        return mu * max(0.0, 1 - middle * _mills(middle)) * density
    return max(0.0, density * (_mills(x) - _mills(y)))


def epsilon(mu: float, delta_: float) -> float:
    """Return the least epsilon at a delta.

    Parameters
    ----------
    mu : float
        See `delta`.
    delta_ : float
        In (0, 1).

    Returns
    -------
    float
        At least 0; infinite where `mu` is.
    """
    if isinf(mu):
        return inf
    if delta(mu, 0.0) <= delta_:
        return 0.0
    # delta(eps) < Phi(-x), so that the x of this delta lies below its quantile; x is of the order of 1 for every mu.
    highest = max(-float(ndtri(delta_)), -mu / 2) + 1e-9
    aim = log(delta_)

    def off(x: float) -> float:
        found = _delta_at(mu, x)
        return (log(found) if found > 0 else -1e9) - aim

    x = float(brentq(off, -mu / 2, highest, xtol=_PRECISION, rtol=_PRECISION))
    return max(0.0, mu * (x + mu / 2))


def mu_for(epsilon_: float, delta_: float) -> float:
    """Return the largest ``mu`` whose epsilon at `delta_` is at most `epsilon_`.

    Parameters
    ----------
    epsilon_ : float
        Above 0.
    delta_ : float
        In (0, 1).

    Returns
    -------
    float
        For T releases in full of one unit each the noise multiplier is ``sqrt(T) / mu``.
    """
    low, high = -30.0, 30.0
    found = exp(float(brentq(lambda power: delta(exp(power), epsilon_) - delta_, low, high, xtol=1e-14)))
    while epsilon(found, delta_) > epsilon_:
        found *= 1 - 1e-13
    return found
