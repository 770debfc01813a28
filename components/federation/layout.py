"""A network's weights as one flat vector, and where its layers lie in it.

Everything between a client and the server is such a vector: aggregation, clipping, noise and drift are arithmetic on
arrays of shape (clients, size), whatever made them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from math import prod
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Number = TypeVar("Number", bound=np.generic)

Weights = npt.NDArray[np.float64]
"""Flat weights, or an update of them; shape (size,)."""


@dataclass(frozen=True)
class Layout:
    """Names and shapes of the arrays that a flat vector is made of, in order.

    Parameters
    ----------
    names : tuple of str
        As the framework calls them, such as ``layers.0.weight``.
    shapes : tuple of tuple of int
        One a name.
    """

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Where each array lies."""
        return tuple(slice(*ends) for ends in pairwise(accumulate(map(prod, self.shapes), initial=0)))

    @property
    def size(self) -> int:
        """How many numbers there are in all."""
        return sum(map(prod, self.shapes))

    def arrays(self, flat: npt.NDArray[Number]) -> list[npt.NDArray[Number]]:
        """Return views of the arrays, each of shape (..., *shape) for a vector of shape (..., size)."""
        lead = flat.shape[:-1]
        return [flat[..., part].reshape(*lead, *shape) for part, shape in zip(self.slices, self.shapes, strict=True)]

    def flat(self, arrays: Sequence[npt.ArrayLike]) -> Weights:
        """Return arrays of `shapes` as one vector; ``ValueError`` where they are of others."""
        found = [np.asarray(each, dtype=np.float64) for each in arrays]
        if [each.shape for each in found] != list(self.shapes):
            raise ValueError("the arrays are of other shapes than the layout's")
        return np.concatenate([each.reshape(-1) for each in found]) if found else np.zeros(0)
