"""Rules that make one update of several: arithmetic on arrays of shape (clients, size).

Except for the mean, which has weights, no rule takes part of a client: it is among the rows or it isn't.
"""

from math import ceil

import numpy as np
import numpy.typing as npt

from components.federation.layout import Weights

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


def canonical_order(updates: FloatArray) -> npt.NDArray[np.intp]:
    """Return an order of the rows that hangs on what they hold alone.

    Sums in floating point, and choices among equals, depend on the order of what is summed or chosen from. In this
    order nothing depends on who came first.

    Parameters
    ----------
    updates : ndarray, shape (clients, size)

    Returns
    -------
    ndarray of int, shape (clients,)
    """
    rows = [row.tobytes() for row in updates]
    return np.array(sorted(range(len(rows)), key=rows.__getitem__), dtype=np.intp)


def norm_bounded(updates: FloatArray, bound: float) -> FloatArray:
    """Scale down the updates whose L2 norm is over a bound (Sun et al., arXiv 1911.07963, section 5).

    Parameters
    ----------
    updates : ndarray, shape (clients, size)
    bound : float
        Greater than 0.

    Returns
    -------
    ndarray, shape (clients, size)
    """
    norms = np.linalg.norm(updates, axis=1, keepdims=True)
    found: FloatArray = updates * (bound / np.maximum(norms, bound))
    return found


def median(updates: FloatArray) -> Weights:
    """Return the median of each coordinate, of at least one update."""
    return np.asarray(np.median(updates, axis=0), dtype=np.float64)


def trimmed_mean(updates: FloatArray, share: float) -> Weights:
    """Return the mean of each coordinate without its lowest and highest values.

    Parameters
    ----------
    updates : ndarray, shape (clients, size)
    share : float
        Of the clients, below .5, cut off at either end; rounded up, so that a small round is trimmed as well, as far
        as one or two are left.

    Returns
    -------
    ndarray, shape (size,)
    """
    clients = len(updates)
    cut = min(ceil(share * clients - 1e-9), (clients - 1) // 2)
    return np.asarray(np.sort(updates, axis=0)[cut : clients - cut].mean(axis=0), dtype=np.float64)


def krum_scores(updates: FloatArray, byzantine: int) -> FloatArray:
    """Return the sum of squared distances from each update to the ``n - f - 2`` nearest others.

    Source: Blanchard et al., "Machine Learning with Adversaries", NeurIPS 2017, section 4. All distances come of one
    matrix product, of updates less their coordinate-wise median, so that close updates keep their digits whatever a
    few others hold.

    Parameters
    ----------
    updates : ndarray, shape (clients, size)
    byzantine : int
        The number f of clients that may send anything; ``2 f + 3`` clients at least.

    Returns
    -------
    ndarray, shape (clients,)
    """
    centred = updates - np.median(updates, axis=0)
    product = centred @ centred.T
    own = np.diagonal(product)
    squares = np.maximum(own[:, None] + own - (product + product.T), 0.0)
    np.fill_diagonal(squares, np.inf)
    near = len(updates) - byzantine - 2
    nearest = np.sort(np.partition(squares, near - 1, axis=1)[:, :near], axis=1)
    return np.asarray(nearest.sum(axis=1), dtype=np.float64)


def krum_chosen(updates: FloatArray, byzantine: int, keep: int) -> npt.NDArray[np.intp]:
    """Return the positions of the updates with the lowest scores; of equal scores, the first.

    Parameters
    ----------
    updates : ndarray, shape (clients, size)
    byzantine : int
    keep : int
        How many; 1 for Krum itself.

    Returns
    -------
    ndarray of int, shape (keep,)
        In ascending order.
    """
    return np.sort(np.argsort(krum_scores(updates, byzantine), kind="stable")[:keep])
