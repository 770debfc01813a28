"""The model behind the common interface: the encoder before an engine, the target's values behind it."""

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.exceptions import NotFittedError

from components.brought import Brought
from components.data.encoding import Encoder
from components.data.features import Features
from components.data.table import Table
from components.models import saved
from components.models.engine import Engine
from components.models.saved import Fitted
from components.models.target import Numbers, Scale, Target
from components.models.watching import watched
from components.randomness import stream
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError, Fault


class EncodedModel:
    """A classifier or regressor of any framework that takes and gives values of the table's own domain.

    Parameters
    ----------
    engine : Engine
        Carries the parameters; each fit works on a fresh one.
    seed : int
        Root seed of the order that rows are put into before each fit.
    schema : DatasetSchema, optional
        Says what features and target are. A model that comes trained has none: it only predicts.
    learn : bool, default False
        Values, bounds and classes that the schema leaves open are learned from the rows of each fit.
    fitted : Fitted, optional
        What an earlier fit left.

    Attributes
    ----------
    generalised : tuple of str
        Columns that it is taught as a release has them; who knows the raw table sets them before the fit. Read back
        from its files such a model refuses to answer: rows as they are would be taken for others, in silence.
    """

    known_only: ClassVar[bool] = False

    def __init__(
        self,
        engine: Engine,
        seed: int,
        schema: DatasetSchema | None = None,
        *,
        learn: bool = False,
        fitted: Fitted | None = None,
    ) -> None:
        self.engine = engine
        self.seed = seed
        self.schema = schema
        self.learn = learn
        self._fitted = fitted
        self.generalised: tuple[str, ...] = () if fitted is None else fitted.generalised

    @property
    def trains(self) -> bool:
        """Whether it can be fitted: neither read from its files nor handed over trained."""
        return self.schema is not None

    @property
    def fitted(self) -> Fitted:
        """What the fit left: engine, encoder and target."""
        if self._fitted is None:
            raise NotFittedError("the model is not fitted yet")
        return self._fitted

    @property
    def target(self) -> Target:
        """What is learned, and its classes."""
        return self.fitted.target

    @property
    def targets(self) -> tuple[Target]:
        """The target, as models of several have them."""
        return (self.target,)

    @property
    def classes(self) -> tuple[Any, ...]:
        """Classes in declared order; empty for regression."""
        return self.target.classes

    @property
    def learned(self) -> tuple[str, ...]:
        """Columns whose values or bounds the model's files take from rows; they are then raw."""
        return self.fitted.learned

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about the fit, without cell values."""
        return self.fitted.notes

    @property
    def code(self) -> tuple[Brought, ...]:
        """Code behind the engine that is not ours."""
        return getattr(self.engine, "code", ())

    def fit(self, table: Table) -> Self:
        """Learn from rows.

        The same multiset of rows in another order gives the same model. Where all rows have one class, the model
        always gives that class, whatever the engine, and says so in `notes`.

        Parameters
        ----------
        table : Table
            Its frame holds the features and the target.

        Returns
        -------
        EncodedModel
            Itself.

        Raises
        ------
        DataError
            There are no rows, or they don't fit the schema.
        ConfigurationError
            The engine can't be fitted with its parameters on these rows.
        TypeError
            The model came trained.
        """
        if self.schema is None:
            raise TypeError("a model that comes trained can't be fitted again; build one")
        frame = table.frame
        if frame.empty:
            raise DataError(Fault("train rows", "0 rows", "a model needs at least one"))
        open_to = frame if self.learn else None
        encoder = Encoder.from_schema(self.schema, self.schema.features, open_to)
        target = Target.from_schema(self.schema, open_to)
        features, numbers = _shuffled(encoder.transform(frame), target.encode(frame), self.seed)
        if target.classes and numbers.min() < 0:
            raise DataError(Fault(f"column '{target.column}'", "holds classes that the schema doesn't declare"))
        scale = Scale()
        if self.engine.standardised and not target.classes:
            scale = Scale.of(self.schema.column(target.column), numbers)
            numbers = scale.standardised(numbers)
        engine, notes = self._learned(features, numbers, target)
        self._fitted = Fitted(engine, encoder, target, self.seed, scale, notes, self.generalised)
        return self

    def predict(self, frame: pd.DataFrame) -> Numbers:
        """Return one value of the target's domain per row.

        Parameters
        ----------
        frame : pandas.DataFrame
            Holds at least the features.

        Returns
        -------
        numpy.ndarray, shape (rows,)
            float64 for regression; else bool, int64 or texts (object).

        Raises
        ------
        DataError
            The rows don't fit the schema.
        ConfigurationError
            The engine can't predict them, or predicts what is no finite number.
        """
        fitted, name = self.fitted, self.engine.name
        features = self._features(frame)
        if not len(features):
            return fitted.target.decode(np.zeros(0))
        with watched(name, "predict these rows", self.engine.framework):
            numbers = fitted.engine.predict(features)
        if not np.isfinite(numbers).all():
            raise ConfigurationError(Fault("model", f"{name} predicts what is no finite number"))
        return fitted.target.decode(numbers if fitted.target.classes else fitted.scale.restored(numbers))

    def scores(self, frame: pd.DataFrame) -> Numbers | None:
        """Return how likely each class is for each row.

        Returns
        -------
        numpy.ndarray of float64, shape (rows, classes), or None
            Probabilities where the engine has them, else scores of its own; None for regression and for engines with
            neither.
        """
        if not self.classes:
            return None
        features = self._features(frame)
        if not len(features):
            return np.zeros((0, len(self.classes)))
        with watched(self.engine.name, "predict these rows", self.engine.framework):
            return self.fitted.engine.scores(features, len(self.classes))

    def save(self, folder: Path) -> list[Path]:
        """Write the engine's files, ``encoder.json`` and ``model.json`` (see `saved.write`)."""
        return saved.write(folder, self.fitted)

    def _features(self, frame: pd.DataFrame) -> Features:
        """Return what the engine sees of rows; a model from files that knows generalised columns alone sees none.

        What a lattice made of a number can't be told from a number as it is, and a release holds labels in its place.
        """
        fitted = self.fitted
        if self.schema is None and fitted.generalised:
            problem = (
                f"was taught generalised columns ({', '.join(fitted.generalised)}), and can't be asked from its files"
            )
            remedy = "take the model of a run with anonymization=guided, mondrian or none"
            raise DataError(Fault("model", problem, remedy=remedy))
        return fitted.encoder.transform(frame)

    def _learned(self, features: Features, numbers: Numbers, target: Target) -> tuple[Engine, tuple[str, ...]]:
        """Return a fitted engine and what is to be noted of its fit."""
        constant = bool(target.classes) and bool((numbers == numbers[0]).all())
        with watched(self.engine.name, "be fitted on these rows", self.engine.framework) as notes:
            engine = _most_frequent() if constant else self.engine.fresh()
            notes.extend(engine.fit(features, numbers, target))
        if constant:
            notes.append(f"all {len(numbers)} train rows have one class; the model always gives that class")
        return engine, tuple(notes)


def encoded(engine: Engine, schema: DatasetSchema, seed: int, *, learn: bool = False) -> EncodedModel:
    """Put an engine, not yet fitted, behind the common interface.

    Raises
    ------
    ConfigurationError
        The schema leaves open what `learn` doesn't let rows decide: told now, not after the data were read.
    """
    if not learn:
        Encoder.from_schema(schema, schema.features)
        Target.from_schema(schema)
    return EncodedModel(engine, seed, schema, learn=learn)


def trained(engine: Engine, schema: DatasetSchema) -> EncodedModel:
    """Put an engine that was fitted elsewhere, on the features of the schema's encoder, behind the interface.

    Raises
    ------
    ConfigurationError
        The schema leaves values, bounds or classes open.
    """
    fitted = Fitted(engine, Encoder.from_schema(schema, schema.features), Target.from_schema(schema), seed=0)
    return EncodedModel(engine, 0, fitted=fitted)


def load(folder: Path | str) -> EncodedModel:
    """Read a saved model back (see `saved.read`); it predicts as before, and nothing was unpickled."""
    fitted = saved.read(Path(folder))
    return EncodedModel(fitted.engine, fitted.seed, fitted=fitted)


def _most_frequent() -> Engine:
    """Return the engine for rows of one class; it is scikit-learn's, which every other framework can do without."""
    from components.models.sklearn_engine import most_frequent

    return most_frequent()


def _shuffled(features: Features, numbers: Numbers, seed: int) -> tuple[Features, Numbers]:
    """Put rows into a seeded order that depends on what they are, not on how they came.

    They are sorted by their bytes and then shuffled, since some engines cut folds and batches from rows as they stand.
    """
    rows = np.concatenate([features.view(np.uint8), numbers.astype(np.float64)[:, None].view(np.uint8)], axis=1)
    canonical = np.argsort(rows.view(f"V{rows.shape[1]}").ravel(), kind="stable")
    order = canonical[stream(seed, "model-order").permutation(len(canonical))]
    return features[order], numbers[order]
