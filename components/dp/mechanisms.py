"""Gaussian releases of updates, on a grid.

Floating-point numbers are no real numbers: the low-order bits of ``x + noise`` can tell x (Mironov, CCS 2012). So what
is released lies on a grid of a power of two, some 2**-32 of clip and noise: the clipped update is rounded to it towards
zero, which makes no update longer, and the noise to the nearest point. Rounding commutes with adding a point of the
grid: the release is the ideal one of a rounded update, rounded - post-processing, by which nothing more is told - and
sums of points are exact. What remains: noise is as normal as `components.dp.keystream` says, and times are not hidden.
"""

from math import floor, log2

import numpy as np
import numpy.typing as npt

from components.dp.clipping import Clipped
from components.dp.noise import Noise

Floats = npt.NDArray[np.float64]

_BITS = 32


def grid_step(*scales: float) -> float:
    """Return the distance of the grid's points: a power of two, at most 2**-32 of the largest scale."""
    return float(2.0 ** (floor(log2(max(scales))) - _BITS))


def towards_zero(values: Floats, step: float) -> Floats:
    """Round to the grid without making anything longer, so that no sensitivity grows."""
    return np.asarray(np.trunc(values / step) * step)


def grid_noise(shape: tuple[int, ...], deviations: npt.ArrayLike, step: float, noise: Noise) -> Floats:
    """Return normal noise of the given standard deviations, rounded to the grid."""
    return np.asarray(np.rint(noise.normal(shape) * np.asarray(deviations) / step) * step)


def noised_messages(clipped: Clipped, clip: float, multipliers: npt.ArrayLike, noise: Noise) -> Floats:
    """Return what clients send that add their own noise.

    Parameters
    ----------
    clipped : Clipped
        To the same clip.
    clip : float
    multipliers : array_like, shape (clients,) or ()
        Standard deviation over clip, of each client.
    noise : Noise

    Returns
    -------
    ndarray of float64, shape (clients, size)
        Whatever is computed from it alone tells nothing more.
    """
    shape = clipped.updates.shape
    deviations = np.broadcast_to(np.asarray(multipliers, dtype=np.float64) * clip, shape[:1])
    step = grid_step(clip, float(deviations.max(initial=0.0)))
    return towards_zero(clipped.updates, step) + grid_noise(shape, deviations[:, None], step, noise)


def noised_average(  # what a mean and its noise are made of
    clipped: Clipped,
    weights: npt.ArrayLike,
    clip: float,
    multiplier: float,
    noise: Noise,
    *,
    largest: float | None = None,
) -> Floats:
    """Return the weighted sum of updates with noise that the server adds.

    Parameters
    ----------
    clipped : Clipped
        To the same clip, of the clients that came.
    weights : array_like, shape (clients,)
        Public and fixed: an average divides by the clients that were expected, not by those that came.
    clip : float
    multiplier : float
        Standard deviation over sensitivity, which is the largest weight times the clip.
    noise : Noise
    largest : float, optional
        The largest weight of all clients, where some did not come: the noise is for it. By default, of those that came.

    Returns
    -------
    ndarray of float64, shape (size,)
    """
    shares = np.asarray(weights, dtype=np.float64)
    sensitivity = clip * (float(np.abs(shares).max(initial=0.0)) if largest is None else largest)
    if sensitivity == 0:
        raise ValueError("an average of nobody can't be released")
    deviation = multiplier * sensitivity
    step = grid_step(sensitivity, deviation)
    parts = towards_zero(clipped.updates * shares[:, None], step)
    return np.asarray(parts.sum(axis=0) + grid_noise(parts.shape[1:], deviation, step, noise))


def noised_unclipped(values: Floats, deviations: npt.ArrayLike, noise: Noise) -> Floats:
    """Return values with noise as the paper describes it: nothing is clipped, and so no epsilon is finite.

    Parameters
    ----------
    values : ndarray of float64, shape (clients, size)
    deviations : array_like, shape (clients,) or ()
        Standard deviation on every weight.
    noise : Noise
    """
    return np.asarray(values + np.asarray(deviations, dtype=np.float64)[..., None] * noise.normal(values.shape))


def distributed_multiplier(multiplier: float, answered: int, declared: int) -> float:
    """Return the multiplier of a sum to which each client adds ``multiplier / sqrt(declared)`` of noise.

    Parameters
    ----------
    multiplier : float
        What the sum of the declared smallest cohort carries.
    answered : int
        Clients that came; 1 gives what a single message carries.
    declared : int
        The smallest cohort: with fewer the round is to be aborted.

    Returns
    -------
    float
        ``multiplier * sqrt(answered / declared)``: 6 of 10 carry .775 of it.
    """
    return float(multiplier * np.sqrt(answered / declared))
