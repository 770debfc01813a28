"""torch's part of a model: a network for tables, trained here or brought along trained."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from pydantic import Field, ValidationError
from torch import nn

from components.brought import Brought
from components.data.features import Features
from components.models import outputs, tensors
from components.models import target as targets
from components.models.declarations import Mlp, TorchModule, TorchTraining
from components.models.encoded_model import EncodedModel, encoded
from components.models.outputs import Answer, Outputs
from components.models.target import Numbers, Target
from components.models.torch_modules import GROUP, READY, Architecture, registered
from components.models.torch_training import Rows, class_loss, contained, precision, put_through, square_loss, train
from components.randomness import derived_seed
from schemas.base import Contract
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError, Fault

WEIGHTS = "weights.npz"


class Parameters(TorchTraining):
    """What `TorchEngine.parameters` gives: what the module is made with, what it puts out, and its training."""

    params: dict[str, Any]
    outputs: Outputs
    seed: int


class Facts(Contract):
    """What a saved module is read with: who registered it, its sizes and parameters."""

    distribution: str
    inputs: int = Field(ge=1)
    classes: int = Field(ge=0)
    parameters: Parameters


@dataclass(frozen=True, slots=True)
class Network:
    """A trained module, and what it was made for.

    Parameters
    ----------
    module : torch.nn.Module
        On the CPU.
    inputs : int
        Features.
    classes : int
        0 in regression.
    """

    module: nn.Module
    inputs: int
    classes: int


class TorchEngine:
    """A torch module as an engine.

    It is trained in single precision on the device asked for, and answers on the CPU, so that a model read elsewhere
    answers alike. The network that ships answers in double precision: whether rows come one by one or all at once then
    shows in the sixteenth digit, and not in the label.

    Parameters
    ----------
    architecture : Architecture
        Makes the module.
    options : TorchTraining
        How it is trained.
    seed : int
        Of first weights, batches and dropout.
    form : {"logits", "probabilities", "labels"}
        What a classifier puts out; labels are positions among the classes and can't be trained.
    network : Network, optional
        A trained one.
    """

    framework: ClassVar[str] = "torch"
    files: ClassVar[tuple[str, ...]] = (WEIGHTS,)
    standardised: ClassVar[bool] = True

    def __init__(
        self,
        architecture: Architecture,
        options: TorchTraining,
        seed: int,
        form: Outputs = "logits",
        network: Network | None = None,
    ) -> None:
        self.architecture = architecture
        self.options = options
        self.seed = seed
        self.form: Outputs = form
        self.network = network

    @property
    def name(self) -> str:
        """Name of the architecture."""
        return self.architecture.name

    @property
    def code(self) -> tuple[Brought, ...]:
        """Where the architecture comes from, if it is not ours."""
        return self.architecture.code

    @property
    def holds_rows(self) -> bool:
        """False for the network that ships, which holds weights; of another one it is not known, and assumed."""
        return self.name != READY

    @classmethod
    def versions(cls) -> dict[str, str]:
        """Return the version of torch."""
        return {"torch": torch.__version__}

    def parameters(self) -> dict[str, Any]:
        """Return what the module is made with, what it puts out, and how it is trained."""
        training = self.options.model_dump(include={*TorchTraining.model_fields} - {"name"})
        return {"params": dict(self.architecture.params), "outputs": self.form, "seed": self.seed, **training}

    def fresh(self) -> Self:
        """Return an untrained copy."""
        return type(self)(self.architecture, self.options, self.seed, self.form)

    def fit(self, features: Features, numbers: Numbers, target: Target) -> Sequence[str]:
        """Make a module and train it (see `torch_training.train`)."""
        device = device_of(self.options.device)
        inputs, classes = features.shape[1], len(target.classes)
        loss = class_loss(self.form) if classes else square_loss
        with contained(self.seed, device):
            module = self.architecture.made(inputs, classes or 1).to(device)
            rows = Rows(torch.from_numpy(features).to(device, precision(module)), torch.from_numpy(numbers).to(device))
            outputs.answer(put_through(module, rows.features[:2]), self.form, classes=classes, rows=min(2, len(rows)))
            notes = train(module, rows, loss, self.options, self.seed)
        module = module.cpu()
        self.network = Network(module.double() if self.name == READY else module, inputs, classes)
        if device.type != "cpu":
            notes.append(f"trained on a {device.type} device; the same run on another may differ in the last digits")
        return notes

    def predict(self, features: Features) -> Numbers:
        """Return positions of the likeliest classes, or numbers."""
        return self._answer(features).numbers

    def scores(self, features: Features, classes: int) -> Numbers | None:  # noqa: ARG002  # the network knows
        """Return probabilities; None for a module that puts out labels."""
        return self._answer(features).scores

    def dump(self) -> tuple[dict[str, bytes], dict[str, Any]]:
        """Write the weights as arrays, and what the module is made with."""
        network, distribution = self._trained(), self.architecture.distribution
        if distribution is None:
            problem = f"{self.name} is not registered, so its files could not be read back"
            raise ConfigurationError(Fault("model.module", problem, remedy=f"register its class under {GROUP}"))
        try:
            arrays = {key: value.numpy() for key, value in network.module.state_dict().items()}
        except (TypeError, AttributeError):  # a precision that NumPy lacks, or no tensor at all
            problem = f"the state of {self.name} holds more than tensors of numbers"
            raise ConfigurationError(Fault("model.module", problem, remedy="keep plain tensors in its state")) from None
        facts = {"distribution": distribution, "inputs": network.inputs, "classes": network.classes}
        return {WEIGHTS: tensors.written(arrays)}, facts

    @classmethod
    def read(cls, name: str, files: Mapping[str, bytes], facts: Mapping[str, Any]) -> Self:
        """Make the module again by its registered name, and give it the saved weights."""
        try:
            made = Facts.model_validate(facts)
        except ValidationError:
            raise DataError(Fault("model.json", "does not say what the module is made with")) from None
        given = made.parameters
        architecture = registered(name, given.params)
        if architecture.distribution != made.distribution:
            problem = f"{name} was of {made.distribution}, here it is of {architecture.distribution}"
            raise DataError(Fault("model.json", problem, remedy="install what it was saved with"))
        arrays = tensors.read(files[WEIGHTS], WEIGHTS)
        with contained(given.seed, torch.device("cpu")):
            module = architecture.made(made.inputs, made.classes or 1)
        try:
            module.load_state_dict({key: torch.from_numpy(array) for key, array in arrays.items()}, assign=True)
        except (RuntimeError, TypeError, ValueError):
            raise DataError(Fault(WEIGHTS, f"holds other weights than {name} has", remedy="train again")) from None
        return cls(architecture, given, given.seed, given.outputs, Network(module, made.inputs, made.classes))

    def _answer(self, features: Features) -> Answer:
        network = self._trained()
        with contained(self.seed, torch.device("cpu")):
            found = put_through(network.module, torch.from_numpy(features))
        return outputs.answer(found, self.form, classes=network.classes, rows=len(features))

    def _trained(self) -> Network:
        if self.network is None:
            raise TypeError("the module is not trained yet")
        return self.network


def build(params: Mlp | TorchModule, schema: DatasetSchema, seed: int, *, learn: bool = False) -> EncodedModel:
    """Make the model of a declaration (see `components.models.interface.build`)."""
    if wrong := check(params, schema):
        raise ConfigurationError(wrong)
    form = params.outputs if isinstance(params, TorchModule) else "logits"
    engine = TorchEngine(_asked(params), params, derived_seed(seed, "model"), form)
    return encoded(engine, schema, seed, learn=learn)


def check(params: Mlp | TorchModule, schema: DatasetSchema) -> list[Fault]:
    """Return what is wrong with target, module and device; the module is imported, but not made."""
    faults = targets.faults(schema)
    try:
        _asked(params)
    except ConfigurationError as error:
        faults += error.faults
    try:
        device_of(params.device)
    except ConfigurationError as error:
        faults += error.faults
    return faults


def device_of(asked: str) -> torch.device:
    """Return a device by its name; ``"auto"`` is the GPU where there is one."""
    there = torch.cuda.is_available()
    if asked == "cuda" and not there:
        raise ConfigurationError(Fault("model.device", "torch finds no cuda device", "auto or cpu"))
    return torch.device("cuda" if there and asked != "cpu" else "cpu")


def _asked(params: Mlp | TorchModule) -> Architecture:
    if isinstance(params, TorchModule):
        return registered(params.module, params.params)
    return registered(READY, params.model_dump(include={"hidden", "activation", "dropout"}))
