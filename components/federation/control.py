"""SCAFFOLD's control variates (Karimireddy et al., arXiv 1910.06378, algorithm 1, option II).

A client's variate follows from the update that it released, not from the one that it keeps: what is told of it is then
post-processing of a message that has been clipped, noised and counted already, and costs no second release.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from components.federation.layout import Weights


@dataclass(frozen=True, slots=True)
class ControlVariate:
    """How far a client's gradients lie from those of all, as one vector.

    Parameters
    ----------
    value : ndarray of float64, shape (size,)
    """

    value: Weights

    @classmethod
    def zero(cls, size: int) -> Self:
        """Return that of a client that has not trained yet."""
        return cls(np.zeros(size))

    def after(self, control: Weights, released: Weights, steps: int, learning_rate: float) -> Self:
        """Return the variate after a round: ``c_i - c + (x - y_i) / (K lr)``.

        Parameters
        ----------
        control : ndarray of float64, shape (size,)
            The server's, c, as of the start of the round.
        released : ndarray of float64, shape (size,)
            The client's update as it left, ``y_i - x``.
        steps : int
            K > 0.
        learning_rate : float
            Of every local step.
        """
        return type(self)(self.value - control - released / (steps * learning_rate))
