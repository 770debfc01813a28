"""Networks that are torch modules, and flat weights in and out of them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import nn

from components.federation.layout import Layout, Weights
from components.federation.training.losses import Loss
from components.models.torch_modules import Architecture
from components.models.torch_training import contained
from schemas.faults import ConfigurationError, Fault

CPU = torch.device("cpu")
PLACE = "model.module"


@dataclass(frozen=True)
class ModuleNetwork:
    """Any torch module that learns by its parameters alone, for an engine that trains one client after the other.

    Parameters
    ----------
    architecture : Architecture
        Makes the module; its parameters are trained in double precision.
    inputs : int
        Features.
    outputs : int
        1 with squared loss; the number of classes with cross entropy, though of two a module may put out the last
        one's logit alone.
    loss : {"squared", "cross_entropy"}

    Raises
    ------
    ConfigurationError
        The module can't be made; it puts out something else than asked; it can't be trained in double precision, has
        nothing to train, or changes buffers while it learns: those of one client would be left behind in another's.
    """

    architecture: Architecture
    inputs: int
    outputs: int = 1
    loss: Loss = "squared"

    def __post_init__(self) -> None:
        """Try the module on two rows."""
        module = self._made(0)
        before = [buffer.clone() for buffer in module.buffers()]
        problem = ""
        try:
            with contained(0, CPU), torch.no_grad():
                found = module(torch.zeros(2, self.inputs, dtype=torch.float64))
            if not _answers(found, self.outputs):
                problem = f"puts out no column for each of {self.outputs}"
        except Exception as error:  # noqa: BLE001  # whatever a module of a user may raise
            problem = f"can't be trained in double precision ({type(error).__name__})"
        if not self.layout.size:
            problem = "has no parameters to train"
        elif not all(map(torch.equal, before, module.buffers())):
            problem = (
                "changes buffers while it learns, as running means do, and no client could tell its own from others'"
            )
        if problem:
            remedy = "normalise by layer or group, and keep to plain layers"
            raise ConfigurationError(Fault(PLACE, f"{self.architecture.name} {problem}", remedy=remedy))

    @cached_property
    def layout(self) -> Layout:
        """The parameters that are trained, in the module's order."""
        named = [(name, each) for name, each in self._made(0).named_parameters() if each.requires_grad]
        return Layout(tuple(name for name, _ in named), tuple(tuple(each.shape) for _, each in named))

    def initial(self, seed: int) -> Weights:
        """Return the first weights that the module has itself."""
        return flat_of(self._made(seed), self.layout)

    def module(self) -> nn.Module:
        """Return a new module in double precision, in training mode; its weights are to be put in."""
        return self._made(0)

    def _made(self, seed: int) -> nn.Module:
        with contained(seed, CPU):
            return self.architecture.made(self.inputs, self.outputs).double().train()


def flat_of(module: nn.Module, layout: Layout) -> Weights:
    """Return a module's parameters as flat weights.

    Raises
    ------
    ValueError
        It has other parameters than `layout`.
    """
    held = dict(module.named_parameters())
    if not set(layout.names) <= held.keys():
        raise ValueError("the module has other parameters than the layout's")
    return layout.flat([held[name].detach().cpu().double().numpy() for name in layout.names])


def put_into(module: nn.Module, layout: Layout, weights: Weights) -> None:
    """Give a module flat weights, in the precision that it has; ``ValueError`` where it has other parameters."""
    if flat_of(module, layout).shape != weights.shape:
        raise ValueError("the weights are more or fewer than the layout's")
    held = dict(module.named_parameters())
    with torch.no_grad():
        for name, array in zip(layout.names, layout.arrays(weights), strict=True):
            held[name].copy_(torch.from_numpy(np.array(array)))


def _answers(found: object, outputs: int) -> bool:
    shapes = [(2, outputs)] + [(2,), (2, 1)] * (outputs <= 2)
    return isinstance(found, torch.Tensor) and found.is_floating_point() and tuple(found.shape) in shapes
