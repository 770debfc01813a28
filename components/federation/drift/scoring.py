"""From distances to scores, and from scores to who is flagged."""

from collections.abc import Callable
from math import inf
from typing import Literal

import numpy as np
import numpy.typing as npt

from components.federation.drift.distances import SURE, FloatArray, energies

BoolArray = npt.NDArray[np.bool_]
Score = Literal["mean", "median"]

NORMAL = 1.4826
"""Standard deviation of a normal distribution per median absolute deviation (Rousseeuw and Croux, 1993, sec. 1)."""

ROUNDING = 1e-9
"""Scores that differ by less than this share of themselves are equal."""

FAR = 0.9
"""Of a layer's ``|A - B| / |A + B|``: it is 1 where one set outweighs the other by far, whatever their directions."""

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


def beyond_noise(sets: FloatArray, noise: FloatArray, score: Score) -> BoolArray:
    """Return whether a client stands further out than its own noise could well have put it.

    Its excess is its mean (or median) ``|A - B|^2``, less the noise's energy, above that of the median client. With
    no difference in truth, that of client ``i`` has the variance

    ``2 d s_i^4 + 4 d s_i^2 S2 / (n-1)^2 + 2 d S4 / (n-1)^2 + 4 s_i^2 Q_i``

    of the energy of its own noise, of that noise's product with the others', of their energy, and of its product
    with a true difference ``Q_i``; ``S2`` and ``S4`` sum the others' ``s^2`` and ``s^4``. Without this the client with
    most noise is flagged for its noise: energy that is taken off on average is still there in one round.

    Parameters
    ----------
    sets : ndarray, shape (clients, size)
    noise : ndarray, shape (clients,)
    score : {"mean", "median"}

    Returns
    -------
    ndarray of bool, shape (clients,)
    """
    clients, numbers = sets.shape
    if clients < 2:
        return np.zeros(clients, dtype=bool)
    excess = scores(energies(sets, noise), score)
    squares, fourths = noise**2, noise**4
    others = clients - 1
    variance = 2 * numbers * fourths + 4 * squares * np.maximum(excess, 0)
    variance += 4 * numbers * squares * (squares.sum() - squares) / others**2
    variance += 2 * numbers * (fourths.sum() - fourths) / others**2
    found: BoolArray = excess - np.median(excess) > SURE * np.sqrt(variance)
    return found
