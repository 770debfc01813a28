"""One multiplier for the server that compares with many multipliers of clients."""

from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from components.dp import gaussian

Equalised = Literal["variance", "worst_epsilon", "mean_epsilon"]


def servers_multiplier(local: npt.ArrayLike, by: Equalised, releases: float, delta: float) -> float:
    """Return the multiplier of noise on an average that compares with noise on each update.

    K equal local noises averaged have 1/sqrt(K) of the standard deviation, so that the same multiplier at both places
    compares nothing: what is kept equal has to be said.

    Parameters
    ----------
    local : array_like, shape (clients,)
        Multipliers of the clients' own noise, above 0.
    by : {"variance", "worst_epsilon", "mean_epsilon"}
        The variance of the averaged update, the largest epsilon of a client, or the mean of all.
    releases : float
        Rounds times the squared sensitivity in clips.
    delta : float

    Returns
    -------
    float
        ``sqrt(sum z_i^2)``; ``min z_i``; or the multiplier of the mean epsilon.
    """
    multipliers = np.asarray(local, dtype=np.float64)
    if by == "variance":
        return float(np.sqrt((multipliers**2).sum()))
    if by == "worst_epsilon":
        return float(multipliers.min())
    mus = np.sqrt(releases) / multipliers
    aim = float(np.mean([gaussian.epsilon(float(mu), delta) for mu in mus]))
    if aim == 0 or np.ptp(mus) == 0:
        return float(multipliers.min())
    mu = brentq(lambda each: gaussian.epsilon(each, delta) - aim, mus.min(), mus.max(), xtol=1e-12)
    return float(np.sqrt(releases) / mu)
