"""Keras's part of a model: a network for tables, or the user's own model."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, get_args

import numpy as np

from components.data.features import Features
from components.models import keras_files
from components.models.declarations import KerasNetwork, KerasTraining
from components.models.encoded_model import EncodedModel, encoded, trained
from components.models.keras_files import MODEL
from components.models.keras_network import compiled, keras, network, quiet, require_shape, seeded
from components.models.outputs import Answer, Outputs, answer
from components.models.target import Numbers, Target
from components.randomness import derived_seed
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError, Fault

CHUNK = 2048
"""Rows that are put through a network at once where nothing is learned."""


class KerasEngine:
    """A Keras model as an engine.

    Parameters
    ----------
    options : KerasTraining
        How it is trained; a `KerasNetwork` says what it is made of as well.
    seed : int
        Of first weights, batches and dropout.
    form : {"logits", "probabilities", "labels"}
        What a classifier puts out; labels are positions among the classes and can't be trained.
    template : keras.Model, optional
        The user's own; each fit works on a copy of it with fresh weights. A compiled one is trained with its own loss
        and optimizer, and the loss must take classes as positions.
    model : keras.Model, optional
        Trained.
    classes : int
        What `model` was trained for; 0 in regression.
    """

    framework: ClassVar[str] = "keras"
    files: ClassVar[tuple[str, ...]] = (MODEL,)
    standardised: ClassVar[bool] = True
    name: ClassVar[str] = "keras"

    def __init__(
        self,
        options: KerasTraining,
        seed: int,
        form: Outputs = "logits",
        *,
        template: Any = None,
        model: Any = None,
        classes: int = 0,
    ) -> None:
        self.options = options
        self.seed = seed
        self.form: Outputs = form
        self.template = template
        self.model = model
        self.classes = classes

    @property
    def holds_rows(self) -> bool:
        """False for the network that ships, which holds weights; of another one it is not known, and assumed."""
        return not isinstance(self.options, KerasNetwork)

    @classmethod
    def versions(cls) -> dict[str, str]:
        """Return the version of Keras."""
        return {"keras": keras.__version__}

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of network and training."""
        return {**self.options.model_dump(exclude={"name"}), "outputs": self.form, "seed": self.seed}

    def fresh(self) -> Self:
        """Return an untrained copy."""
        return type(self)(self.options, self.seed, self.form, template=self.template)

    def fit(self, features: Features, numbers: Numbers, target: Target) -> Sequence[str]:
        """Make a model and train it; the weights of the epoch that did best on held-out rows are kept."""
        self.classes = len(target.classes)
        options = self.options
        held = min(round(len(numbers) * options.validation), len(numbers) - 1)
        cut = len(numbers) - held
        judged = (features[cut:], numbers[cut:]) if held else None
        stop = keras.callbacks.EarlyStopping(patience=options.patience, restore_best_weights=True)
        with seeded(self.seed), quiet():
            model = self._made(features.shape[1])
            history = model.fit(
                features[:cut],
                numbers[:cut],
                batch_size=options.batch_size,
                epochs=options.epochs,
                validation_data=judged,
                callbacks=[stop] if held else [],
                verbose=0,
            )
            losses = history.history["val_loss" if held else "loss"]
            if not np.isfinite(losses[-1]):
                problem = f"the loss is no finite number after {len(losses)} epochs"
                raise ConfigurationError(Fault("model.learning_rate", problem, remedy="lower it"))
            self.model = model
        if held and len(losses) == options.epochs > 1 and int(np.argmin(losses)) == options.epochs - 1:
            return [f"the loss on held-out rows was still falling after {options.epochs} epochs; raise model.epochs"]
        return []

    def predict(self, features: Features) -> Numbers:
        """Return positions of the likeliest classes, or numbers."""
        return self._answer(features, self.classes).numbers

    def scores(self, features: Features, classes: int) -> Numbers | None:
        """Return probabilities; None for a model that puts out labels."""
        return self._answer(features, classes).scores

    def dump(self) -> tuple[dict[str, bytes], dict[str, Any]]:
        """Write the model (see `keras_files.written`)."""
        facts = {"options": self.options.model_dump(exclude={"name"}), "seed": self.seed}
        with seeded(self.seed), quiet():
            written = keras_files.written(self.model)
        return {MODEL: written}, {**facts, "outputs": self.form, "classes": self.classes}

    @classmethod
    def read(cls, name: str, files: Mapping[str, bytes], facts: Mapping[str, Any]) -> Self:
        """Read a model back (see `keras_files.read`)."""
        try:
            form: Outputs = facts["outputs"]
            own = not facts["options"].keys() & (KerasNetwork.model_fields.keys() - KerasTraining.model_fields.keys())
            options = (KerasTraining if own else KerasNetwork)(**facts["options"])
            seed, classes = int(facts["seed"]), int(facts["classes"])
        except (KeyError, TypeError, ValueError, AttributeError):
            raise DataError(_undescribed()) from None
        if name != cls.name or form not in get_args(Outputs):
            raise DataError(_undescribed())
        return cls(options, seed, form, model=keras_files.read(files[MODEL]), classes=classes)

    def _made(self, inputs: int) -> Any:
        """Return a model to train, compiled."""
        if isinstance(self.options, KerasNetwork):
            return compiled(network(self.options, inputs, self.classes or 1), self.options, self.form, self.classes)
        require_shape(self.template, inputs, self.classes)
        model = keras.models.clone_model(self.template)
        return model if model.compiled else compiled(model, self.options, self.form, self.classes)

    def _answer(self, features: Features, classes: int) -> Answer:
        """Ask for rows in batches of one size, since the last digit of a sum depends on how many rows there are."""
        if self.model is None:
            raise TypeError("the model is not trained yet")
        rows = len(features)
        padded = np.pad(features, ((0, -rows % CHUNK), (0, 0)))
        with quiet():
            parts = [self.model.predict_on_batch(padded[at : at + CHUNK]) for at in range(0, rows, CHUNK)]
        return answer(np.concatenate(parts)[:rows], self.form, classes=classes, rows=rows)


def wrap_keras(
    model: Any,
    schema: DatasetSchema,
    seed: int = 0,
    *,
    outputs: Outputs = "probabilities",
    training: KerasTraining | None = None,
    learn: bool = False,
) -> EncodedModel:
    """Put a Keras model of one's own, to be trained here, behind the common interface.

    Parameters
    ----------
    model : keras.Model
        Functional or sequential, from the encoder's features to one value (regression, or the last of two classes) or
        one per class. Its weights are not used. A compiled one keeps its loss and optimizer.
    schema : DatasetSchema
    seed : int
    outputs : {"probabilities", "logits"}
        What it puts out for a classification.
    training : KerasTraining, optional
        How it is trained.
    learn : bool, default False
        As in `components.models.build`.

    Raises
    ------
    ConfigurationError
        The model takes or gives another number of values, or the schema leaves values, bounds or classes open.
    """
    engine = KerasEngine(training or KerasTraining(), derived_seed(seed, "model"), outputs, template=model)
    made = encoded(engine, schema, seed, learn=learn)
    if not learn:
        _require_fit(model, trained(engine, schema))
    return made


def wrap_trained_keras(model: Any, schema: DatasetSchema, *, outputs: Outputs = "probabilities") -> EncodedModel:
    """Put a trained Keras model of one's own behind the common interface; in regression it gives the target's numbers.

    Raises
    ------
    ConfigurationError
        The model takes or gives another number of values, or the schema leaves values, bounds or classes open.
    """
    engine = KerasEngine(KerasTraining(), 0, outputs, model=model)
    made = trained(engine, schema)
    engine.classes = len(made.classes)
    _require_fit(model, made)
    return made


def build(params: KerasNetwork, schema: DatasetSchema, seed: int, *, learn: bool = False) -> EncodedModel:
    """Make the model of a declaration (see `components.models.interface.build`)."""
    return encoded(KerasEngine(params, derived_seed(seed, "model")), schema, seed, learn=learn)


def _require_fit(model: Any, made: EncodedModel) -> None:
    require_shape(model, len(made.fitted.encoder.names), len(made.classes))


def _undescribed() -> Fault:
    return Fault("model.json", "does not say what the model is made of", remedy="train again")
