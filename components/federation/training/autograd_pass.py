"""Gradients of any torch module by torch's own differentiation, for one client at a time."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional

from components.federation.layout import Layout
from components.federation.training.losses import Loss
from components.federation.training.passes import Batch, factors

Floats = npt.NDArray[np.float64]
Parameters = dict[str, torch.Tensor]

AT_ONCE = 2**22
"""Numbers of rows' gradients that are held at once, 32 MB."""


class Differentiable(Protocol):
    """A network that can be had as a torch module."""

    @property
    def layout(self) -> Layout:
        """The module's parameters."""

    @property
    def loss(self) -> Loss:
        """What is made small."""

    def module(self) -> nn.Module:
        """Return a new module in double precision."""


class AutogradPass:
    """Gradients of a module (see `components.federation.training.passes.Pass`), of one client.

    Parameters
    ----------
    network : Differentiable
    weights, gradient : ndarray of float64, shape (1, size)
    """

    def __init__(self, network: Differentiable, weights: Floats, gradient: Floats) -> None:
        self.module = network.module().train()
        self.loss = ROW_LOSSES[network.loss]
        self.size = network.layout.size
        self.into = network.layout.arrays(gradient[0])
        held = dict(self.module.named_parameters())
        self.parameters: Parameters = {name: held[name] for name in network.layout.names}
        for each, array in zip(self.parameters.values(), network.layout.arrays(weights[0]), strict=True):
            each.data = torch.from_numpy(array)  # the same memory: a step of the weights is one of the module

    def mean(self, batch: Batch) -> Floats:
        """Write the gradient of the mean loss; return the losses of the rows."""
        features, targets = _rows(batch)
        losses = self.loss(self.module(features), targets)
        found = torch.autograd.grad(losses.mean(), [*self.parameters.values()])
        for into, each in zip(self.into, found, strict=True):
            into[...] = each.numpy()
        return losses.detach().numpy()[None]

    def clipped(self, batch: Batch, clips: Floats) -> Floats:
        """Write the sum of clipped gradients; return the losses of the rows."""
        for into in self.into:
            into[...] = 0
        features, targets = _rows(batch)
        if not len(targets):
            return np.zeros((1, 0))
        parts = []
        each_row = torch.func.vmap(torch.func.grad_and_value(self._of_row), (None, 0, 0), randomness="different")
        step = max(1, AT_ONCE // self.size)
        parameters = {name: each.detach() for name, each in self.parameters.items()}
        for some, theirs in zip(torch.split(features, step), torch.split(targets, step), strict=True):
            gradients, losses = each_row(parameters, some, theirs)
            self._add([each.flatten(1).numpy() for each in gradients.values()], clips)
            parts.append(losses.numpy())
        return np.concatenate(parts)[None]

    def _of_row(self, parameters: Parameters, features: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        found = torch.func.functional_call(self.module, parameters, (features[None],))
        return self.loss(found, target[None])[0]

    def _add(self, gradients: list[Floats], clips: Floats) -> None:
        """Add clipped gradients, shape (rows, weights of the layer) each."""
        squares = np.sum([np.einsum("rw,rw->r", each, each) for each in gradients], axis=0)
        scale = factors(squares[None], clips, np.ones((1, len(squares)), dtype=np.bool_))[0]
        there = scale > 0  # 0 times what is no number would be none
        for into, each in zip(self.into, gradients, strict=True):
            np.add(into, (scale[there] @ each[there]).reshape(into.shape), out=into)


def _rows(batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    present = batch.present[0]
    features, targets = batch.features[0, present, :-1], batch.targets[0, present]
    return torch.from_numpy(features).double(), torch.from_numpy(targets)


def _squared(found: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return (found.reshape(-1) - targets).square()


def _cross_entropy(found: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    if found.ndim == 1 or found.shape[1] == 1:
        found = found.reshape(-1)
        return functional.binary_cross_entropy_with_logits(found, targets.to(found.dtype), reduction="none")
    return functional.cross_entropy(found, targets, reduction="none")


ROW_LOSSES: dict[Loss, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "squared": _squared,
    "cross_entropy": _cross_entropy,
}
