"""A clip that follows a quantile of the updates' lengths, by noised votes."""

from math import exp

import numpy as np
import numpy.typing as npt

from components.dp.clipping import Clipped
from components.dp.mechanisms import grid_noise, grid_step
from components.dp.noise import Noise

NORMS = (1e-12, 1e12)
"""Beyond, updates that always are on one side of the clip would take it out of the range of floating point."""

Floats = npt.NDArray[np.float64]


def votes(clipped: Clipped, noise: Noise, multipliers: npt.ArrayLike) -> Floats:
    """Return each client's noised answer to whether its update was within the clip (Andrew et al., arXiv 1905.03871).

    An answer counts ``+1/2`` or ``-1/2``, so that a client that is taken away changes the sum by 1/2, and another
    answer by 1: what noise multipliers refer to is half a vote, in the same units of sensitivity as an update's clip.

    Parameters
    ----------
    clipped : Clipped
        A refused update is within: it is sent as zeros.
    noise : Noise
    multipliers : array_like, shape (clients,) or ()
        Of this second release, which is accounted like the first.

    Returns
    -------
    ndarray of float64, shape (clients,)
        Answers with noise of standard deviation ``multiplier / 2``.
    """
    answers = _answers(clipped)
    deviations = np.broadcast_to(0.5 * np.asarray(multipliers, dtype=np.float64), answers.shape)
    step = grid_step(0.5, float(deviations.max(initial=0.0)))
    return np.asarray(answers + grid_noise(answers.shape, deviations, step, noise))


def _answers(clipped: Clipped) -> Floats:
    return np.where(clipped.shortened, -0.5, 0.5)


def following(norm: float, total: float, divisor: int, quantile: float, rate: float) -> float:
    """Return the next round's clip (Andrew et al., arXiv 1905.03871, section 2.1, geometric update).

    Parameters
    ----------
    norm : float
        This round's.
    total : float
        The sum of `votes` that arrived, with the server's noise where it adds that.
    divisor : int
        Clients that were expected, whether they came or not.
    quantile : float
        Share of updates that are to be within, in [0, 1].
    rate : float
        Step of the logarithm.

    Returns
    -------
    float
        ``norm * exp(-rate * (share - quantile))``; the share is cut to [0, 1], which tells nothing more, and what is
        returned to `NORMS`.
    """
    share = min(max(total / divisor + 0.5, 0.0), 1.0)
    least, most = NORMS
    return min(max(norm * exp(-rate * (share - quantile)), least), most)
