"""Updates of bounded length."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_SAFETY = 1 - 1e-12
"""Clipped updates are this much shorter, so that no rounding of floating point makes one longer than the clip."""


@dataclass(frozen=True, slots=True)
class Clipped:
    """Updates none of which is longer than the clip.

    Parameters
    ----------
    updates : ndarray of float64, shape (clients, size)
        New arrays; zeros where one was refused.
    norms : ndarray of float64, shape (clients,)
        Lengths before; NaN where one was refused. They are raw: they may not leave their clients.
    shortened : ndarray of bool, shape (clients,)
        Which were longer.
    refused : ndarray of bool, shape (clients,)
        Which held NaN or infinities. Such a client sends its noise like every other: a missing message would tell
        something of its data.
    """

    updates: Floats
    norms: Floats
    shortened: Flags
    refused: Flags


def clip(updates: npt.ArrayLike, norm: float) -> Clipped:
    """Shorten every update to a length (Abadi et al., arXiv 1607.00133, algorithm 1, on whole updates).

    Parameters
    ----------
    updates : array_like, shape (clients, size)
        Local weights minus global ones. They are not written to.
    norm : float
        Largest L2 norm, above 0.

    Returns
    -------
    Clipped
    """
    given = np.atleast_2d(np.asarray(updates, dtype=np.float64))
    refused: Flags = np.logical_not(np.isfinite(given).all(axis=1))
    found = np.where(refused[:, None], 0.0, given)
    # By the largest number first: squares of numbers that are huge or tiny leave the range of floating point.
    largest = np.abs(found).max(axis=1, initial=0.0)
    scale = np.where(largest > 0, largest, 1.0)
    direction = found / scale[:, None]
    unit = np.linalg.norm(direction, axis=1)
    with np.errstate(over="ignore"):  # a length may be infinite: it is longer than any clip
        norms = scale * unit
    long = norms > norm * _SAFETY
    found[long] = direction[long] * (norm * _SAFETY / unit[long])[:, None]
    return Clipped(found, np.where(refused, np.nan, norms), norms > norm, refused)
