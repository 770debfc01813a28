"""Forward and backward of a dense network for many clients at once, written out as products over stacked arrays."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from components.federation.training.activations import ACTIVATIONS
from components.federation.training.dense import Dense
from components.federation.training.losses import LOSSES
from components.federation.training.passes import Batch, factors
from components.federation.training.reals import Precision, Reals

Product = Callable[[Reals, Reals, Reals], object]
"""Writes the matrix products of two stacks into a third one: (clients, a, b) x (clients, b, c) -> (clients, a, c)."""

Backend = Literal["numpy", "torch"]


class DensePass:
    """Gradients of a dense network (see `components.federation.training.passes.Pass`).

    Every layer takes a further feature that is always 1, whose weights are the biases: adding them, and summing their
    gradients, costs nothing then.

    Parameters
    ----------
    network : Dense
    weights, gradient : ndarray, shape (clients, size)
        In the order of `Dense.joined`, and in the precision that is computed in.
    product : callable
    """

    def __init__(self, network: Dense, weights: Reals, gradient: Reals, product: Product) -> None:
        self.weights, self.gradients = network.joined.arrays(weights), network.joined.arrays(gradient)
        self.copies = [_turned(each).copy() for each in self.weights]
        self.product = product
        self.activate = ACTIVATIONS[network.activation]
        self.loss = LOSSES[network.loss]
        self.room = Room(len(weights), network.widths, weights.dtype.type)

    def mean(self, batch: Batch) -> Reals:
        """Write the gradients of the mean losses; return the losses of the rows."""
        space = self.room.of(batch.features.shape[1])
        losses = self._forward(batch, space)
        space.deltas[-1] *= (batch.present / batch.counts[:, None])[..., None]
        self._backward(space)
        self._write(space)
        return losses

    def clipped(self, batch: Batch, clips: Reals) -> Reals:
        """Write the sums of clipped gradients; return the losses of the rows.

        The gradient of one row by a layer's weights is an outer product, so its norm is the product of two norms, and
        no row's gradient is ever written down (Goodfellow, arXiv 1510.01799).
        """
        space = self.room.of(batch.features.shape[1])
        losses = self._forward(batch, space)
        self._backward(space)
        squares = np.zeros_like(losses)
        for taken, delta in zip(space.taken, space.deltas, strict=True):
            squares += _squares(taken) * _squares(delta)
        scale = factors(squares, clips, batch.present)[..., None]
        lost = ~np.isfinite(squares)
        some_lost = lost.any()
        for taken, delta in zip(space.taken, [*space.slopes, space.deltas[-1]], strict=True):
            narrower = taken if taken.shape[-1] < delta.shape[-1] else delta  # of the two factors of an outer product
            np.multiply(narrower, scale, out=narrower)
            if some_lost:  # 0 times what is no number would be none
                delta[lost] = taken[lost] = 0
        self._write(space)
        return losses

    def _forward(self, batch: Batch, space: "Space") -> Reals:
        """Fill what each layer takes and the slopes of the activations; last, those of the loss. Return the losses."""
        space.taken[0][...] = batch.features
        for at, (weight, copy) in enumerate(zip(self.weights, self.copies, strict=True)):
            copy[...] = _turned(weight)  # what lies as (in, out) is multiplied in two thirds of the time
            self.product(space.taken[at], copy, space.out[at])
            if at < len(self.weights) - 1:
                self.activate(space.taken[at + 1], space.slopes[at])
                space.taken[at + 1][..., -1] = 1
        return self.loss(space.out[-1], batch.targets)

    def _backward(self, space: "Space") -> None:
        """Turn the slopes of the activations into those of the loss by what goes into them, from the last one's on."""
        for at in range(len(self.weights) - 1, 0, -1):
            delta, weight, spare = space.deltas[at], self.weights[at], space.spare[at - 1]
            if weight.shape[1] == 1:  # an outer product, for which a product of matrices takes longer
                np.multiply(delta, weight, out=spare)
            else:
                self.product(delta, weight, spare)
            space.slopes[at - 1] *= spare

    def _write(self, space: "Space") -> None:
        for delta, taken, gradient in zip(space.deltas, space.taken, self.gradients, strict=True):
            self.product(_turned(delta), taken, gradient)


@dataclass(frozen=True, slots=True)
class Space:
    """Arrays for batches of one width, each of shape (clients, rows, what a layer takes or puts out).

    Parameters
    ----------
    taken : list of ndarray
        What each layer takes, with the 1 behind it.
    out : list of ndarray
        What each layer puts out; but for the last, views of the next one's `taken` without the 1.
    slopes : list of ndarray
        Of the activations, of the shapes of `taken`, its first left out.
    deltas : list of ndarray
        Slopes of the loss by what each layer puts out; views of `slopes` and, last, of `out`.
    spare : list of ndarray
        Room for what is needed in between, of the shapes of `slopes`.
    """

    taken: list[Reals]
    out: list[Reals]
    slopes: list[Reals]
    deltas: list[Reals]
    spare: list[Reals]


class Room:
    """The same memory for every batch: fresh arrays of this size would be asked of the system at each step.

    Parameters
    ----------
    clients : int
    widths : tuple of int
        Of what goes into the layers and what comes out.
    precision : type
    """

    def __init__(self, clients: int, widths: tuple[int, ...], precision: Precision) -> None:
        self.clients, self.precision = clients, precision
        self.takes, self.outputs = [width + 1 for width in widths[:-1]], widths[-1]
        self.longest = -1
        self.spaces: dict[int, Space] = {}

    def of(self, rows: int) -> Space:
        """Return the space of batches of so many rows; what stood in another one's is lost."""
        if rows > self.longest:
            self.longest, self.spaces = rows, {}
            self.held = [self._ones(rows * width) for width in [*self.takes, self.outputs]]
            self.inner = [self._ones(rows * width) for width in self.takes[1:]]
            self.spare = self._ones(rows * max(self.takes))
        if rows not in self.spaces:
            self.spaces[rows] = self._cut(rows)
        return self.spaces[rows]

    def _ones(self, numbers: int) -> Reals:
        return np.ones(self.clients * numbers, self.precision)  # activations never see what happened to lie there

    def _cut(self, rows: int) -> Space:
        def cut(memory: Reals, width: int) -> Reals:
            return memory[: self.clients * rows * width].reshape(self.clients, rows, width)

        *taken, last = [cut(*each) for each in zip(self.held, [*self.takes, self.outputs], strict=True)]
        slopes = [cut(*each) for each in zip(self.inner, self.takes[1:], strict=True)]
        out = [*(each[..., :-1] for each in taken[1:]), last]
        deltas = [*(each[..., :-1] for each in slopes), last]
        return Space(taken, out, slopes, deltas, [cut(self.spare, width) for width in self.takes[1:]])


def product_of(backend: Backend) -> Product:
    """Return the products of a library: NumPy's BLAS, or torch's, which on some processors is the faster one."""
    if backend == "numpy":
        return lambda left, right, out: np.matmul(left, right, out=out)
    import torch

    def product(left: Reals, right: Reals, out: Reals) -> None:
        torch.bmm(torch.from_numpy(left), torch.from_numpy(right), out=torch.from_numpy(out))

    return product


def _turned(stack: Reals) -> Reals:
    return stack.transpose(0, 2, 1)


def _squares(rows: Reals) -> Reals:
    """Return the squared L2 norm of each row, shape (clients, rows)."""
    found: Reals = np.vecdot(rows, rows)
    return found
