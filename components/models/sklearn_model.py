"""scikit-learn estimators behind the common interface: the encoder before them, the target's values behind."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self
from warnings import catch_warnings, simplefilter

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from components.data.encoding import Encoder
from components.data.features import Features
from components.data.table import Table
from components.models import estimators, saved
from components.models.saved import Fitted
from components.models.target import Numbers, Target
from components.randomness import derived_seed, stream
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError, Fault

SINGLE_PRECISION = ("sklearn.tree.", "sklearn.ensemble.")
"""Modules whose estimators take float32 as it is; the solvers of the others would converge worse on it."""


class SklearnModel:
    """A scikit-learn classifier or regressor that takes and gives values of the table's own domain.

    Classifiers learn the position of a class among the target's classes, so that class names of any kind work with
    any estimator.

    Parameters
    ----------
    estimator : sklearn.base.BaseEstimator
        Carries the parameters; each fit works on a clone.
    seed : int
        Root seed of the order that rows are put into before each fit.
    schema : DatasetSchema, optional
        Says what features and target are. A model read from its files has none: it only predicts.
    learn : bool, default False
        Values, bounds and classes that the schema leaves open are learned from the rows of each fit.
    fitted : Fitted, optional
        What an earlier fit left.
    """

    def __init__(
        self,
        estimator: Any,
        seed: int,
        schema: DatasetSchema | None = None,
        *,
        learn: bool = False,
        fitted: Fitted | None = None,
    ) -> None:
        self.estimator = estimator
        self.seed = seed
        self.schema = schema
        self.learn = learn
        self._fitted = fitted

    @property
    def fitted(self) -> Fitted:
        """What the fit left: estimator, encoder and target."""
        if self._fitted is None:
            raise NotFittedError("the model is not fitted yet")
        return self._fitted

    @property
    def target(self) -> Target:
        """What is learned, and its classes."""
        return self.fitted.target

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

    def fit(self, table: Table) -> Self:
        """Learn from rows.

        The same multiset of rows in another order gives the same model. Where all rows have one class, the model
        always gives that class, whatever the estimator, and says so in `notes`.

        Parameters
        ----------
        table : Table
            Its frame holds the features and the target.

        Returns
        -------
        SklearnModel
            Itself.

        Raises
        ------
        DataError
            There are no rows, or they don't fit the schema.
        ConfigurationError
            The estimator can't be fitted with its parameters on these rows.
        """
        if self.schema is None:
            raise TypeError("a model read from its files can't be fitted again; build one")
        frame = table.frame
        if frame.empty:
            raise DataError(Fault("train rows", "0 rows", "a model needs at least one"))
        open_to = frame if self.learn else None
        encoder = Encoder.from_schema(self.schema, self.schema.features, open_to)
        target = Target.from_schema(self.schema, open_to)
        features, numbers = _shuffled(encoder.transform(frame), target.encode(frame), self.seed)
        if target.classes and numbers.min() < 0:
            raise DataError(Fault(f"column '{target.column}'", "holds classes that the schema doesn't declare"))
        constant = bool(target.classes) and (numbers == numbers[0]).all()
        with _watched(self._name, "be fitted on these rows") as notes:
            estimator = DummyClassifier(strategy="most_frequent") if constant else clone(self.estimator)
            _weigh_codes(estimator, target)
            estimator.fit(_cast(features, estimator), numbers)
        if constant:
            notes.append(f"all {len(numbers)} train rows have one class; the model always gives that class")
        self._fitted = Fitted(estimator, encoder, target, self.seed, tuple(notes))
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
        """
        with _watched(self._name, "predict these rows"):
            numbers = self.fitted.estimator.predict(self._features(frame))
        if not np.isfinite(numbers).all():
            raise ConfigurationError(Fault("model", f"{self._name} predicts what is no finite number"))
        return self.target.decode(numbers)

    def scores(self, frame: pd.DataFrame) -> Numbers | None:
        """Return how likely each class is for each row.

        Returns
        -------
        numpy.ndarray of float64, shape (rows, classes), or None
            Probabilities where the estimator has them (0 for a class that no train row had), else its decision
            function (minus infinity); None for regression and for estimators with neither.
        """
        estimator = self.fitted.estimator
        method = next((name for name in ("predict_proba", "decision_function") if hasattr(estimator, name)), None)
        if not self.classes or method is None:
            return None
        with _watched(self._name, "predict these rows"):
            found = np.asarray(getattr(estimator, method)(self._features(frame)), dtype=np.float64)
        if found.ndim == 1:
            found = np.column_stack([-found, found])
        if found.shape[1] != len(estimator.classes_):
            return None  # one score per pair of classes
        out = np.full((len(frame), len(self.classes)), 0.0 if method == "predict_proba" else -np.inf)
        out[:, estimator.classes_] = found
        return out

    def save(self, folder: Path) -> list[Path]:
        """Write ``model.skops``, ``encoder.json`` and ``model.json`` (see `saved.write`)."""
        return saved.write(folder, self.fitted)

    @property
    def _name(self) -> str:
        return type(self.estimator).__name__

    def _features(self, frame: pd.DataFrame) -> Any:
        return _cast(self.fitted.encoder.transform(frame), self.fitted.estimator)


def build(
    params: estimators.ClassifierOrRegressor, schema: DatasetSchema, seed: int, *, learn: bool = False
) -> SklearnModel:
    """Make the model of a declaration (see `components.models.interface.build`)."""
    estimator = estimators.make(params, schema, derived_seed(seed, "model"))
    if not learn:  # what the schema leaves open is told now, not after the data were read
        Encoder.from_schema(schema, schema.features)
        Target.from_schema(schema)
    return SklearnModel(estimator, seed, schema, learn=learn)


def load(folder: Path) -> SklearnModel:
    """Read a saved model back (see `saved.read`); it predicts as before, and nothing was unpickled."""
    fitted = saved.read(folder)
    return SklearnModel(fitted.estimator, fitted.seed, fitted=fitted)


def _shuffled(features: Features, numbers: Numbers, seed: int) -> tuple[Features, Numbers]:
    """Put rows into a seeded order that depends on what they are, not on how they came.

    They are sorted by their bytes and then shuffled, since some estimators cut folds from rows as they stand.
    """
    rows = np.concatenate([features.view(np.uint8), numbers.astype(np.float64)[:, None].view(np.uint8)], axis=1)
    canonical = np.argsort(rows.view(f"V{rows.shape[1]}").ravel(), kind="stable")
    order = canonical[stream(seed, "model-order").permutation(len(canonical))]
    return features[order], numbers[order]


@contextmanager
def _watched(name: str, doing: str) -> Iterator[list[str]]:
    """Turn what scikit-learn raises and warns, which can hold cell values, into our own words."""
    said: list[str] = []
    with catch_warnings(record=True) as caught:
        simplefilter("always")
        try:
            yield said
        except (ValueError, TypeError, ArithmeticError, LookupError) as error:
            raise ConfigurationError(
                Fault(
                    "model",
                    f"{name} can't {doing} ({type(error).__name__})",
                    remedy="change its parameters or choose another model; show_values=true shows scikit-learn's words",
                    values=str(error),
                )
            ) from None
    said.extend(dict.fromkeys(_said(name, warning.category) for warning in caught))


def _cast(features: Features, estimator: Any) -> Any:
    single = type(estimator).__module__.startswith(SINGLE_PRECISION)
    return features if single else features.astype(np.float64)


def _weigh_codes(estimator: Any, target: Target) -> None:
    """Restate class weights, given by class, by the positions that the estimator learns."""
    weights = getattr(estimator, "class_weight", None)
    if isinstance(weights, dict):
        estimator.set_params(
            class_weight={code: weights[value] for code, value in enumerate(target.classes) if value in weights}
        )


def _said(name: str, warning: type[Warning]) -> str:
    if issubclass(warning, ConvergenceWarning):
        return f"{name} stopped before it converged; raise max_iter"
    return f"scikit-learn gave a {warning.__name__} about {name}"
