"""What a Keras model is made of, how it is compiled, and the random streams that it draws from."""

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from warnings import catch_warnings, filterwarnings

import numpy as np

from components.models.declarations import KerasNetwork, KerasTraining
from components.models.keras_backend import imported
from components.models.outputs import Outputs
from schemas.faults import ConfigurationError, Fault

keras = imported()


def network(options: KerasNetwork, inputs: int, width: int) -> Any:
    """Return a multilayer perceptron with `width` linear outputs; equal layers have equal names, and so equal files."""
    first = keras.Input((inputs,), name="features")
    flow = first
    for at, size in enumerate(options.hidden, start=1):
        flow = keras.layers.Dense(size, activation=options.activation, name=f"hidden_{at}")(flow)
        if options.dropout:
            flow = keras.layers.Dropout(options.dropout, name=f"dropout_{at}")(flow)
    last = keras.layers.Dense(width, name="outputs")(flow)
    return keras.Model(first, last, name="network")


def compiled(model: Any, options: KerasTraining, form: Outputs, classes: int) -> Any:
    """Compile a model with the cross entropy of its outputs, or in regression with the squared error; return it."""
    if not classes:
        loss: Any = "mean_squared_error"
    elif form == "labels":
        raise ConfigurationError(Fault("model", "labels can't be trained", "probabilities or logits"))
    else:
        losses, single = keras.losses, model.output_shape[-1] == 1
        kind = losses.BinaryCrossentropy if single else losses.SparseCategoricalCrossentropy
        loss = kind(from_logits=form == "logits")
    optimizer = keras.optimizers.Adam if options.optimizer == "adam" else keras.optimizers.SGD
    model.compile(
        optimizer=optimizer(
            options.learning_rate, weight_decay=options.weight_decay, global_clipnorm=options.clip_norm
        ),
        loss=loss,
    )
    return model


def require_shape(model: Any, inputs: int, classes: int) -> None:
    """Refuse a model that takes another number of features, or gives another number of values, than are there."""
    if not model.built:
        raise ConfigurationError(Fault("model", "does not say what it takes", f"an input of ({inputs},)"))
    faults = []
    taken, given = model.input_shape, model.output_shape
    if taken != (None, inputs):
        faults.append(Fault("model", f"takes an input of shape {taken}", f"(None, {inputs}), as the encoder makes it"))
    widths = {1} if not classes else {1, 2} if classes == 2 else {classes}
    if given not in {(None, width) for width in widths}:
        allowed = " or ".join(f"(None, {width})" for width in sorted(widths))
        faults.append(Fault("model", f"gives an output of shape {given}", allowed))
    if faults:
        raise ConfigurationError(faults)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed what Keras draws from; all of it is as before afterwards.

    Layers draw their seeds from Python's generator, and the order of batches comes from NumPy's or torch's. On the
    torch backend one thread is used, since a sum over several depends on their number.
    """
    python, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002  # it is the one that Keras draws from
    with ExitStack() as stack:
        if keras.backend.backend() == "torch":
            import torch

            from components.models.torch_training import contained

            stack.enter_context(contained(seed, torch.device("cuda" if torch.cuda.is_available() else "cpu")))
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(legacy)  # noqa: NPY002


@contextmanager
def quiet() -> Iterator[None]:
    """Leave aside what Keras itself still does in old ways: it says nothing of the model."""
    with catch_warnings():
        filterwarnings("ignore", category=DeprecationWarning, module=r"keras\.")
        yield
