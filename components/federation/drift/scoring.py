"""From distances to scores, and from scores to who is flagged."""

from collections.abc import Callable
from math import inf, pi
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2, norm

from components.federation.drift.distances import FloatArray, energies

BoolArray = npt.NDArray[np.bool_]
Score = Literal["mean", "median"]

NORMAL = 1.4826
"""Standard deviation of a normal distribution per median absolute deviation (Rousseeuw and Croux, 1993, sec. 1)."""

ROUNDING = 1e-9
"""Scores that differ by less than this share of themselves are equal."""

FAR = 0.9
"""Of a layer's ``|A - B| / |A + B|``: it is 1 where one set outweighs the other by far, whatever their directions."""

UNLIKELY = 3.0
"""What noise could not well have done: what it does as seldom as so many standard deviations of a normal number."""

NEARLY_NORMAL = 1e6
"""Degrees of freedom from which a chi-square distribution is as good as a normal one."""

TINY = 1e-300
"""No variance is less, so that a client without noise can be divided by it."""

CENTRES: dict[Score, Callable[..., FloatArray]] = {"mean": np.mean, "median": np.median}


def scores(between: FloatArray, score: Score) -> FloatArray:
    """Return each client's mean or median of what lies between it and the others.

    Parameters
    ----------
    between : ndarray, shape (clients, clients)
        Its diagonal is left aside.
    score : {"mean", "median"}

    Returns
    -------
    ndarray, shape (clients,)
        0 for a client that has no others.
    """
    clients = len(between)
    if clients < 2:
        return np.zeros(clients)
    others = between[~np.eye(clients, dtype=bool)].reshape(clients, clients - 1)
    return CENTRES[score](others, axis=1)


def threshold(scored: FloatArray, c: float, ratio: float, far: float = inf) -> float:
    """Return what a score must exceed to be flagged.

    Parameters
    ----------
    scored : ndarray, shape (clients,)
    c : float
        Deviations above the median: ``median + c * 1.4826 * MAD``.
    ratio : float
        Least multiple of the median.
    far : float, optional
        What that multiple is never more than (see `FAR`).

    Returns
    -------
    float
        The larger of the two; 0 where there is no client. Where all scores are equal none exceeds it.
    """
    if not len(scored):
        return 0.0
    middle = np.median(scored)
    spread = NORMAL * np.median(np.abs(scored - middle))
    return float(max(middle + c * spread, min(ratio * middle, far), middle) * (1 + ROUNDING))


def beyond_noise(sets: FloatArray, noise: FloatArray, score: Score, tests: int = 1) -> BoolArray:
    """Return whether a client stands further out than the noise could well have put it.

    Its excess is its mean (or median) ``|A - B|^2``, less the noise's energy, above that of the median client. Without
    this the client with most noise is flagged for its noise: energy that is taken off on average is still there in one
    round.

    Parameters
    ----------
    sets : ndarray, shape (clients, size)
        Of all layers, or of one.
    noise : ndarray, shape (clients,)
        Standard deviation of the noise on each number of a row.
    score : {"mean", "median"}
    tests : int, optional
        Of how many, as of so many layers, this is one: together they come to what one comes to.

    Returns
    -------
    ndarray of bool, shape (clients,)
        All False of fewer than three clients: none stands further out than another.
    """
    clients, numbers = sets.shape
    if clients < 3:
        return np.zeros(clients, dtype=bool)
    excess = scores(energies(sets, noise), score)
    return np.asarray(_chance(excess, noise, numbers) < norm.sf(UNLIKELY) / tests, dtype=bool)


def powerless(noise: FloatArray, numbers: int, clip: float) -> bool:
    """Return whether noise hides whatever a client can do to an update that is clipped.

    Nothing stands further from the others than an update of the clip's norm from opposite ones: ``|A - B|^2 = 4 C^2``.

    Parameters
    ----------
    noise : ndarray, shape (clients,)
        Standard deviation of the noise on each number of an update.
    numbers : int
        Of an update.
    clip : float
        Largest L2 norm of an update.
    """
    if len(noise) < 3 or not noise.all():
        return False
    alone = np.where(np.eye(len(noise), dtype=bool), 4 * clip**2, 0.0)
    return all(_chance(one, noise, numbers)[client] >= norm.sf(UNLIKELY) for client, one in enumerate(alone))


def _chance(excess: FloatArray, noise: FloatArray, numbers: int) -> FloatArray:
    """Return how likely noise alone puts a client so far above the median client.

    With ``a = (n-2) / (n-1)``, since the energy of the others is in the excess of all, that of client ``i`` has the
    variance

    ``2 d a^2 s_i^4 + 4 d s_i^2 S2 / (n-1)^2 + 4 s_i^2 Q_i``

    of the energy of its own noise, of that noise's product with the others' (``S2`` sums their ``s^2``), and of its
    product with a true difference ``Q_i``. The median client's own comes on top, ``pi / 2 n`` of theirs. Energy has a
    longer tail than a normal distribution, the longer the fewer numbers there are: it is taken from the shifted
    chi-square distribution of that variance and of the third moment ``8 d a^3 s_i^6``.

    Parameters
    ----------
    excess : ndarray, shape (clients,)
        Mean ``|A - B|^2`` of each client less the noise's energy.
    noise : ndarray, shape (clients,)
    numbers : int
        d.
    """
    clients = len(noise)
    squares, own = noise**2, noise**2 * (clients - 2) / (clients - 1)
    variance = 2 * numbers * own**2 + 4 * squares * np.maximum(excess, 0)
    variance += 4 * numbers * squares * (squares.sum() - squares) / (clients - 1) ** 2
    variance += np.median(variance) * pi / (2 * clients)
    above = excess - np.median(excess)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        freedom = variance**3 / (8 * numbers**2 * own**6)  # 8 over the squared skewness
        likely = chi2.sf(above * np.sqrt(2 * freedom / variance) + freedom, freedom)
        normal = norm.sf(above / np.sqrt(np.maximum(variance, TINY)))
    return np.asarray(np.where(freedom < NEARLY_NORMAL, likely, normal))
