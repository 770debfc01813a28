"""A fully connected network, as numbers alone: no framework is needed to hold or to train it."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from components.federation.layout import Layout, Weights
from components.federation.training.activations import Activation
from components.federation.training.losses import Loss

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Dense:
    """A multilayer perceptron; with no hidden layer a linear or a logistic model.

    Its flat weights are in the order of the ``state_dict`` of `components.models.torch_modules.MLP`.

    Parameters
    ----------
    inputs : int
        Features.
    hidden : tuple of int
        Widths of the hidden layers, each followed by the activation.
    outputs : int
        1 with squared loss; the number of classes, whose logits they are, with cross entropy.
    activation : {"relu", "gelu", "silu", "tanh"}
    loss : {"squared", "cross_entropy"}
        Mean over a batch's rows of (output - target)^2, or of -log softmax at the row's class.

    Raises
    ------
    ValueError
        Squared loss with more than one output.
    """

    inputs: int
    hidden: tuple[int, ...] = (64, 32)
    outputs: int = 1
    activation: Activation = "relu"
    loss: Loss = "squared"

    def __post_init__(self) -> None:
        """Refuse what no loss is defined for."""
        if self.loss == "squared" and self.outputs != 1:
            raise ValueError("squared loss is of one output")

    @property
    def widths(self) -> tuple[int, ...]:
        """Features, widths of the hidden layers, outputs."""
        return (self.inputs, *self.hidden, self.outputs)

    @cached_property
    def layout(self) -> Layout:
        """A weight (out, in) and a bias (out,) a layer; the MLP has activation and dropout between two of them."""
        names, shapes = [], []
        for number, (width, following) in enumerate(pairwise(self.widths)):
            names += [f"layers.{3 * number}.weight", f"layers.{3 * number}.bias"]
            shapes += [(following, width), (following,)]
        return Layout(tuple(names), tuple(shapes))

    @cached_property
    def joined(self) -> Layout:
        """The layers as (out, in + 1), the bias behind its weights: the order in which stacks are trained."""
        shapes = tuple((following, width + 1) for width, following in pairwise(self.widths))
        return Layout(self.layout.names[::2], shapes)

    @cached_property
    def order(self) -> npt.NDArray[np.int64]:
        """Where each number of `joined` stands in `layout`, shape (size,)."""
        places = self.layout.arrays(np.arange(self.layout.size))
        pairs = zip(places[::2], places[1::2], strict=True)
        return np.concatenate([np.column_stack(pair).reshape(-1) for pair in pairs])

    def initial(self, seed: int) -> Weights:
        """Return first weights, uniform in +-1/sqrt(in) as torch's linear layers have them (not the same numbers)."""
        random = np.random.default_rng(seed)
        return np.concatenate(
            [
                random.uniform(-1, 1, (width + 1) * following) / np.sqrt(width)
                for width, following in pairwise(self.widths)
            ]
        )

    def module(self) -> "nn.Module":
        """Return a torch module of this shape, in double precision; its weights are to be put in."""
        from components.models.torch_modules import MLP

        return MLP(self.inputs, self.outputs, self.hidden, self.activation).double()
