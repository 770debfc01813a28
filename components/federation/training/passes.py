"""What the training of a chunk asks of a network: gradients of its clients, for one batch of each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from components.federation.training.reals import Reals


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of each client, padded to the longest.

    Parameters
    ----------
    features : ndarray of float32, shape (clients, rows, features + 1)
        With a 1 behind each row's, whose weight is the bias; zeros where there is no row.
    targets : ndarray, shape (clients, rows)
    counts : ndarray of int64, shape (clients,)
        Rows of each client.
    present : ndarray of bool, shape (clients, rows)
        Where there is a row; a client's rows stand first.
    """

    features: npt.NDArray[np.float32]
    targets: npt.NDArray[np.generic]
    counts: npt.NDArray[np.int64]
    present: npt.NDArray[np.bool_]


class Pass(Protocol):
    """Gradients at weights that it was made with, written into an array that it was made with.

    Both are of shape (clients, size); the weights are read anew at each call.
    """

    def mean(self, batch: Batch) -> Reals:
        """Write the gradient of each client's mean loss; return the losses of the rows, shape (clients, rows).

        Every client has at least one row.
        """

    def clipped(self, batch: Batch, clips: Reals) -> Reals:
        """Write each client's sum of its rows' gradients, each scaled down to an L2 norm of `clips`, shape (clients,).

        A row whose gradient is no finite number adds nothing, so that no row ever adds more than the clip. Returns the
        losses of the rows, shape (clients, rows).
        """


Maker = Callable[[Reals, Reals], Pass]
"""Takes weights and where the gradients go, both of shape (clients, size)."""


SPARE = {8: 0.0, 4: 2.0**-16}
"""By bytes of a number: the share of a clip that rounding may take, of norms of up to some thousand numbers."""


def factors(squares: Reals, clips: Reals, present: npt.NDArray[np.bool_]) -> Reals:
    """Return what to scale each row's gradient by, given the squares of their norms, shape (clients, rows).

    min(1, C/norm) of a row that is there (Abadi et al., arXiv 1607.00133, algorithm 1), 0 of any other and of one whose
    norm is no finite number. In single precision C is smaller by a 65,536th, so that rounding carries no row beyond it.
    """
    bounds = np.square(clips * (1 - SPARE[squares.itemsize])).astype(squares.dtype)[:, None]
    found: Reals = np.sqrt(bounds / np.maximum(squares, bounds))
    found[~(present & np.isfinite(squares))] = 0
    return found
