"""torch modules handed over in Python: a class or an object to train, or a module that is trained already."""

from collections.abc import Mapping
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
from torch import nn

from components.data.encoding import Encoder
from components.models.declarations import TorchTraining
from components.models.encoded_model import EncodedModel, encoded, trained
from components.models.outputs import Outputs
from components.models.target import Target
from components.models.torch_engine import Network, TorchEngine
from components.models.torch_modules import Architecture, parameter_faults, registration
from components.models.watching import watched
from components.randomness import derived_seed
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, Fault


def wrap_torch(  # noqa: PLR0913  # what the declaration says otherwise
    module: type[nn.Module] | nn.Module,
    schema: DatasetSchema,
    seed: int,
    *,
    params: Mapping[str, Any] | None = None,
    training: TorchTraining | None = None,
    outputs: Outputs = "logits",
    learn: bool = False,
) -> EncodedModel:
    """Put a torch module that is still to be trained behind the common interface.

    Parameters
    ----------
    module : type of torch.nn.Module, or torch.nn.Module
        A class is made as ``module(inputs, outputs, **params)``. Of an object each fit trains a copy, from the weights
        that it has.
    schema : DatasetSchema
    seed : int
        The run's root seed.
    params : mapping of str to Any, optional
        For a class.
    training : TorchTraining, optional
    outputs : {"logits", "probabilities"}
        What a classifier puts out.
    learn : bool, default False
        As in `components.models.build`.

    Returns
    -------
    EncodedModel
        It can be saved where the class is registered (see `torch_modules`).

    Raises
    ------
    ConfigurationError
        The class doesn't take `params`, `outputs` can't be trained, or the schema declares too little.
    """
    if outputs == "labels":
        raise ConfigurationError(Fault("outputs", "labels can't be trained", "logits or probabilities"))
    if isinstance(module, nn.Module):
        if params:
            raise ConfigurationError(Fault("params", "are for a class; the module is made already"))
        architecture = Architecture(type(module).__name__, partial(_copied, module))
    else:
        name, distribution = registration(module)
        architecture = Architecture(name, module, dict(params or {}), distribution)
        if wrong := parameter_faults(architecture):
            raise ConfigurationError(wrong)
    engine = TorchEngine(architecture, training or TorchTraining(), derived_seed(seed, "model"), outputs)
    return encoded(engine, schema, seed, learn=learn)


def wrap_trained_torch(module: nn.Module, schema: DatasetSchema, *, outputs: Outputs = "logits") -> EncodedModel:
    """Put a trained torch module behind the common interface, to predict only.

    Parameters
    ----------
    module : torch.nn.Module
        Takes the features of the schema's encoder (``Encoder.from_schema(schema, schema.features)``); gives, of a
        classifier, `outputs` in the order of the target's classes, and in regression the target's own numbers. A copy
        is kept.
    schema : DatasetSchema
    outputs : {"logits", "probabilities", "labels"}
        Labels are positions among the classes.

    Returns
    -------
    EncodedModel
        It has no fit, and can't be saved: a module can't be made anew from an object.

    Raises
    ------
    ConfigurationError
        The schema declares too little, or the module doesn't take these features or gives something else.
    """
    kept = deepcopy(module).cpu().eval()
    inputs = len(Encoder.from_schema(schema, schema.features).names)
    network = Network(kept, inputs, len(Target.from_schema(schema).classes))
    architecture = Architecture(type(module).__name__, partial(_copied, kept))
    engine = TorchEngine(architecture, TorchTraining(), 0, outputs, network)
    with watched(engine.name, f"predict from {inputs} features", engine.framework):
        engine.predict(np.zeros((2, inputs), dtype=np.float32))
    return trained(engine, schema)


def _copied(module: nn.Module, inputs: int, outputs: int) -> nn.Module:  # noqa: ARG001  # it is made already
    return deepcopy(module)
