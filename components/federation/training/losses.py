"""Loss of each row and its slope by what the network puts out."""

from typing import Literal

import numpy as np

from components.federation.training.reals import Reals

Loss = Literal["squared", "cross_entropy"]


def squared(outputs: Reals, targets: Reals) -> Reals:
    """Return (output - target)^2 of each row; `outputs`, shape (clients, rows, 1), become the slopes."""
    outputs[..., 0] -= targets
    losses: Reals = np.square(outputs[..., 0])
    outputs *= 2
    return losses


def cross_entropy(outputs: Reals, targets: Reals) -> Reals:
    """Return -log softmax of each row at its class; logits, shape (clients, rows, classes), become the slopes."""
    outputs -= outputs.max(axis=-1, keepdims=True)
    at = targets[..., None].astype(np.intp)
    reached = np.take_along_axis(outputs, at, axis=-1)[..., 0]
    np.exp(outputs, out=outputs)
    total = outputs.sum(axis=-1, keepdims=True)
    outputs /= total
    np.put_along_axis(outputs, at, np.take_along_axis(outputs, at, axis=-1) - 1, axis=-1)
    losses: Reals = np.log(total[..., 0]) - reached
    return losses


LOSSES = {"squared": squared, "cross_entropy": cross_entropy}
