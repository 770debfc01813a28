"""Networks for tables: the one that ships, and those of users by their registered names.

A class is registered under the entry-point group ``privacy_runner.torch_module`` and made as
``cls(inputs, outputs, **params)``, where `inputs` is the number of features and `outputs` the number of classes (1 in
regression). Of two classes it may also put out the last one's column alone.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from itertools import pairwise
from typing import Any

import torch
from torch import nn

from components.brought import Brought, source_digest
from components.registry import OURS
from schemas.faults import ConfigurationError, Fault

GROUP = "privacy_runner.torch_module"

READY = "mlp"
"""Name of the network that ships; nobody else's can take it."""

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU, "tanh": nn.Tanh}


class MLP(nn.Module):
    """A multilayer perceptron: after each hidden layer an activation and dropout.

    Parameters
    ----------
    inputs, outputs : int
    hidden : sequence of int
        Widths of the hidden layers; none makes it linear.
    activation : {"relu", "gelu", "silu", "tanh"}
    dropout : float
        Share of a hidden layer's units that is set to zero in each training step.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        hidden: Sequence[int] = (64, 32),
        activation: str = "relu",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        widths = [inputs, *hidden]
        layers: list[nn.Module] = []
        for width, following in pairwise(widths):
            layers += [nn.Linear(width, following), ACTIVATIONS[activation](), nn.Dropout(dropout)]
        self.layers = nn.Sequential(*layers, nn.Linear(widths[-1], outputs))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return (rows, outputs) logits, or standardised numbers."""
        found: torch.Tensor = self.layers(features)
        return found


@dataclass(frozen=True, slots=True)
class Architecture:
    """How a network is made.

    Parameters
    ----------
    name : str
        Registered name, or what it is called where it is none.
    maker : callable
        Takes `inputs`, `outputs` and `params`.
    params : mapping of str to Any
    distribution : str or None
        Who registered it, with the version; None where nobody did, so that it can't be found again by name.
    """

    name: str
    maker: Callable[..., nn.Module]
    params: Mapping[str, Any] = field(default_factory=dict)
    distribution: str | None = None

    @property
    def code(self) -> tuple[Brought, ...]:
        """Where the class comes from; nothing for the one that ships, and for what nobody registered."""
        if self.distribution in {None, OURS}:
            return ()
        name, _, version = str(self.distribution).partition(" ")
        module = self.maker.__module__
        return (Brought("torch_module", self.name, module, source_digest(module), name, version or None),)

    def made(self, inputs: int, outputs: int) -> nn.Module:
        """Return a new network; ``ConfigurationError`` where it can't be made."""
        try:
            module = self.maker(inputs, outputs, **self.params)
        except Exception as error:  # noqa: BLE001  # whatever a constructor of a user may raise
            problem = f"{self.name} can't be made with {inputs} inputs and {outputs} outputs ({type(error).__name__})"
            raise ConfigurationError(Fault("model.params", problem, values=str(error))) from None
        if not isinstance(module, nn.Module):
            raise ConfigurationError(Fault("model.module", f"{self.name} makes no torch.nn.Module"))
        return module


def registered(name: str, params: Mapping[str, Any]) -> Architecture:
    """Return the architecture of a registered network.

    Raises
    ------
    ConfigurationError
        The name is unknown, its class can't be loaded or is no network, or it doesn't take `params`.
    """
    if name == READY:
        return Architecture(name, MLP, params, OURS)
    points = {point.name: point for point in _points()}
    if name not in points:
        close = get_close_matches(name, [*points], n=1)
        known = f"one of {', '.join(sorted(points))}" if points else f"no package registers any ({GROUP})"
        remedy = f"did you mean {close[0]}?" if close else f"register the class under the entry-point group {GROUP}"
        raise ConfigurationError(Fault("model.module", f"there is no module {name}", known, remedy))
    architecture = Architecture(name, _loaded(points[name]), params, _distribution(points[name]))
    if wrong := parameter_faults(architecture):
        raise ConfigurationError(wrong)
    return architecture


def registration(module: type[nn.Module]) -> tuple[str, str | None]:
    """Return the name that a class is registered under and who did it; its own name and None where nobody did."""
    where = f"{module.__module__}:{module.__qualname__}"
    if module is MLP:
        return READY, OURS
    found = next((point for point in _points() if point.value == where), None)
    return (found.name, _distribution(found)) if found else (module.__name__, None)


def parameter_faults(architecture: Architecture) -> list[Fault]:
    """Return the parameters that a class doesn't take, or needs and isn't given."""
    name, maker, given = architecture.name, architecture.maker, architecture.params
    known = dict(inspect.signature(maker).parameters)
    sizes = [key for key, item in known.items() if item.kind in {item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD}][:2]
    known = {key: item for key, item in known.items() if key not in sizes}
    named = {key: item for key, item in known.items() if item.kind not in {item.VAR_POSITIONAL, item.VAR_KEYWORD}}
    takes_any = any(item.kind == item.VAR_KEYWORD for item in known.values())
    faults = []
    for key in () if takes_any else [key for key in given if key not in named]:
        close = get_close_matches(key, named, n=1)
        remedy = f"did you mean {close[0]}?" if close else ""
        faults.append(Fault(f"model.params.{key}", f"{name} has no such parameter", ", ".join(named), remedy))
    needed = [key for key, item in named.items() if item.default is item.empty and key not in given]
    return faults + [Fault(f"model.params.{key}", f"{name} needs it", remedy="set it") for key in needed]


def _loaded(point: EntryPoint) -> type[nn.Module]:
    try:
        found = point.load()
    except Exception as error:  # noqa: BLE001  # whatever a package of others may raise
        problem = f"{point.name} of {_distribution(point)} can't be loaded ({type(error).__name__})"
        raise ConfigurationError(Fault("model.module", problem, remedy="repair that package")) from None
    if not (isinstance(found, type) and issubclass(found, nn.Module)):
        problem = f"{point.name} of {_distribution(point)} is no class of modules"
        raise ConfigurationError(Fault("model.module", problem, "a subclass of torch.nn.Module"))
    return found


def _distribution(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "unknown"


def _points() -> list[EntryPoint]:
    """Return what is registered; of several under one name the first by distribution comes last, and wins."""
    return sorted(entry_points(group=GROUP), key=lambda point: (point.name, _distribution(point)), reverse=True)
