"""scikit-learn's part of a model."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, ClassVar, Self

import numpy as np
import sklearn
import skops
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

from components.data.features import Features
from components.models import archive, estimators
from components.models.encoded_model import EncodedModel, encoded
from components.models.target import Numbers, Target
from components.randomness import derived_seed
from schemas.dataset import DatasetSchema
from schemas.faults import DataError, Fault

ARCHIVE = "model.skops"

SINGLE_PRECISION = ("sklearn.tree.", "sklearn.ensemble.")
"""Modules whose estimators take float32 as it is; the solvers of the others would converge worse on it."""

KEEPS_NO_ROWS = frozenset(
    {
        *("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"),
        *("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor"),
        *("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"),
        *("LogisticRegression", "LinearRegression", "Ridge", "Lasso", "ElasticNet", "LinearSVC", "LinearSVR"),
        *("SGDClassifier", "SGDRegressor", "GaussianNB", "MLPClassifier", "MLPRegressor"),
        *("DummyClassifier", "DummyRegressor"),
    }
)
"""Estimators known to keep sums, cuts and weights, but no row that they were fitted on."""


class SklearnEngine:
    """A scikit-learn classifier or regressor as an engine.

    Classifiers learn the position of a class among the target's classes, so that class names of any kind work with
    any estimator.

    Parameters
    ----------
    estimator : sklearn.base.BaseEstimator
        Fitted, or carrying the parameters.
    """

    framework: ClassVar[str] = "scikit-learn"
    files: ClassVar[tuple[str, ...]] = (ARCHIVE,)
    standardised: ClassVar[bool] = False

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    @property
    def name(self) -> str:
        """The estimator's class."""
        return type(self.estimator).__name__

    @property
    def holds_rows(self) -> bool:
        """Whether the estimator may hold rows that it was fitted on.

        Nearest neighbours, support vector machines and Gaussian processes do; of an estimator not known it is
        assumed, and so it is of one that keeps its out-of-bag predictions.
        """
        return self.name not in KEEPS_NO_ROWS or bool(getattr(self.estimator, "oob_score", False))

    @classmethod
    def versions(cls) -> dict[str, str]:
        """Return the versions of scikit-learn and skops."""
        return {"scikit-learn": sklearn.__version__, "skops": skops.__version__}

    def parameters(self) -> dict[str, Any]:
        """Return the estimator's parameters."""
        return {key: _plain(value) for key, value in sorted(self.estimator.get_params(deep=False).items())}

    def fresh(self) -> Self:
        """Return an unfitted clone."""
        return type(self)(clone(self.estimator))

    def fit(self, features: Features, numbers: Numbers, target: Target) -> Sequence[str]:
        """Learn."""
        _weigh_codes(self.estimator, target)
        self.estimator.fit(self._cast(features), numbers)
        return ()

    def predict(self, features: Features) -> Numbers:
        """Return what the estimator predicts."""
        return np.asarray(self.estimator.predict(self._cast(features)))

    def scores(self, features: Features, classes: int) -> Numbers | None:
        """Return probabilities where the estimator has them, else its decision function.

        A class that no train row had gets 0 and minus infinity. None for estimators with neither, and where there is
        one score per pair of classes.
        """
        known = ("predict_proba", "decision_function")
        method = next((name for name in known if hasattr(self.estimator, name)), None)
        if method is None:
            return None
        found = np.asarray(getattr(self.estimator, method)(self._cast(features)), dtype=np.float64)
        if found.ndim == 1:
            found = np.column_stack([-found, found])
        if found.shape[1] != len(self.estimator.classes_):
            return None
        out = np.full((len(features), classes), 0.0 if method == "predict_proba" else -np.inf)
        out[:, self.estimator.classes_] = found
        return out

    def dump(self) -> tuple[dict[str, bytes], dict[str, Any]]:
        """Write the estimator as a skops archive (see `archive.dump`)."""
        packed, trusted = archive.dump(self.estimator)
        return {ARCHIVE: packed}, {"trusted": list(trusted)}

    @classmethod
    def read(cls, name: str, files: Mapping[str, bytes], facts: Mapping[str, Any]) -> Self:
        """Read an estimator back (see `archive.load`)."""
        trusted = facts.get("trusted", [])
        if not (isinstance(trusted, list) and all(isinstance(each, str) for each in trusted)):
            raise DataError(Fault("model.json", "does not list the types that it trusts"))
        engine = cls(archive.load(files[ARCHIVE], tuple(trusted)))
        if engine.name != name:
            raise DataError(Fault(ARCHIVE, "holds another estimator than model.json says"))
        return engine

    def _cast(self, features: Features) -> Any:
        single = type(self.estimator).__module__.startswith(SINGLE_PRECISION)
        return features if single else features.astype(np.float64)


def most_frequent() -> SklearnEngine:
    """Return the engine that always gives the class that most train rows have."""
    return SklearnEngine(DummyClassifier(strategy="most_frequent"))


def build(
    params: estimators.ClassifierOrRegressor, schema: DatasetSchema, seed: int, *, learn: bool = False
) -> EncodedModel:
    """Make the model of a declaration (see `components.models.interface.build`)."""
    estimator = estimators.make(params, schema, derived_seed(seed, "model"))
    return encoded(SklearnEngine(estimator), schema, seed, learn=learn)


def _weigh_codes(estimator: Any, target: Target) -> None:
    """Restate class weights, given by class, by the positions that the estimator learns."""
    weights = getattr(estimator, "class_weight", None)
    if isinstance(weights, dict):
        estimator.set_params(
            class_weight={code: weights[value] for code, value in enumerate(target.classes) if value in weights}
        )


def _plain(value: Any) -> Any:
    """Return a parameter as JSON can hold it."""
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value if value is None or isinstance(value, str | int) else type(value).__name__
