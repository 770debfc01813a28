"""How far clients' weight sets stand from one another.

With ``A`` and ``B`` two weight sets and ``l`` their layers (arrays of the layout):

* ``layerwise``  ``sqrt(sum_l (|A_l - B_l| / |A_l + B_l|)^2)``
* ``flat``       ``|A - B| / |A + B|``, all layers as one vector
* ``plain``      ``|A - B|``

Norms are Frobenius norms. Noise of standard deviation ``s_i`` on each number of client ``i`` adds
``d (s_i^2 + s_j^2)`` to the expectation of both ``|A - B|^2`` and ``|A + B|^2``, ``d`` being how many numbers a layer
(or the whole) has. Where the noise is known it is taken off both.
"""

from typing import Literal

import numpy as np
import numpy.typing as npt

from components.federation.layout import Layout

FloatArray = npt.NDArray[np.float64]
Metric = Literal["layerwise", "flat", "plain"]

CEILING = 1e8
"""Largest ratio, which stands for infinity: that of opposite sets, whose sum is 0."""

SURE = 2.0
"""What noise may well have made: this many standard deviations."""


def distances(sets: FloatArray, layout: Layout, metric: Metric, noise: FloatArray | None = None) -> FloatArray:
    """Return the distance between every two clients.

    Parameters
    ----------
    sets : ndarray, shape (clients, size)
        Finite weights.
    layout : Layout
        Tells the layers.
    metric : {"layerwise", "flat", "plain"}
    noise : ndarray, shape (clients,), optional
        Standard deviation of the noise that each number of a client's set carries; its energy is taken off.

    Returns
    -------
    ndarray, shape (clients, clients)
        Symmetric, not negative, 0 on the diagonal. Two sets of zeros are at distance 0, opposite sets (whose sum is
        0) at a ratio of ``CEILING``. What is left below 0 of a squared difference counts as 0; a squared sum counts
        as no less than ``SURE`` standard deviations of the noise's own energy, ``sqrt(2 d) (s_i^2 + s_j^2)``.
    """
    parts = layout.slices if metric == "layerwise" else (slice(0, layout.size),)
    total = np.zeros((len(sets), len(sets)))
    for part in parts:
        numbers = part.stop - part.start
        apart = energies(sets[:, part], noise)
        total += apart.clip(min=0) if metric == "plain" else _ratios(apart, sets[:, part], numbers, noise)
    found: FloatArray = np.sqrt(total)
    np.fill_diagonal(found, 0.0)
    return found


def energies(sets: FloatArray, noise: FloatArray | None = None) -> FloatArray:
    """Return ``|A - B|^2`` of every two rows, less the expected energy of the noise (which may leave it below 0).

    All come of one matrix product, of rows from which their coordinate-wise median is taken: differences that are
    small beside the rows themselves keep their digits, whatever a few of the rows hold.

    Parameters
    ----------
    sets : ndarray, shape (clients, size)
    noise : ndarray, shape (clients,), optional
        Standard deviation of the noise on each number of a row.

    Returns
    -------
    ndarray, shape (clients, clients)
    """
    centred = sets - np.median(sets, axis=0) if len(sets) else sets
    product = centred @ centred.T
    own = np.diagonal(product)
    apart: FloatArray = np.maximum(own[:, None] + own - (product + product.T), 0.0)
    return apart if noise is None else apart - sets.shape[1] * _variances(noise)


def _variances(noise: FloatArray) -> FloatArray:
    squares = noise**2
    return squares[:, None] + squares


def _ratios(apart: FloatArray, sets: FloatArray, numbers: int, noise: FloatArray | None) -> FloatArray:
    """Return squared ratios; ``|A + B|^2`` is ``2 |A|^2 + 2 |B|^2 - |A - B|^2``, with noise as without.

    Of the noise, ``2 d (s_i^2 + s_j^2)`` is in the first two terms, and ``apart`` has already lost its own.
    """
    squares = np.einsum("ij,ij->i", sets, sets)
    together = 2 * (squares[:, None] + squares) - apart
    if noise is not None:
        variances = _variances(noise)
        together = np.maximum(together - 2 * numbers * variances, SURE * np.sqrt(2 * numbers) * variances)
    apart = apart.clip(min=0)
    found: FloatArray = np.where(apart > 0, CEILING**2, 0.0)
    np.divide(apart, together, out=found, where=together > apart / CEILING**2)
    return found
