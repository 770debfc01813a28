"""The folder of a saved model: ``model.skops``, ``encoder.json`` and ``model.json``, which describes the two."""

import json
from dataclasses import dataclass
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any, Literal

import numpy as np
import sklearn
import skops
from pydantic import ValidationError

from components.data.encoding import Encoder
from components.models import archive
from components.models.target import Target
from schemas.base import Contract
from schemas.faults import DataError, Fault

ARCHIVE, ENCODER, DESCRIPTION = "model.skops", "encoder.json", "model.json"

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


class Description(Contract):
    """What ``model.json`` says.

    ``holds_rows`` is false only for estimators known to keep no train row; it says nothing of what can be inferred
    from a model.
    """

    schema_version: Literal[1] = 1
    framework: Literal["scikit-learn"] = "scikit-learn"
    estimator: str
    seed: int
    parameters: dict[str, Any]
    target: Target
    features: int
    learned: tuple[str, ...]
    holds_rows: bool
    notes: tuple[str, ...]
    versions: dict[str, str]
    trusted: tuple[str, ...]
    sha256: dict[str, str]


@dataclass(frozen=True, slots=True)
class Fitted:
    """What a fit leaves.

    Parameters
    ----------
    estimator : sklearn.base.BaseEstimator
        Fitted on the encoder's features.
    encoder : Encoder
        Makes features of columns.
    target : Target
        Makes values of what the estimator predicts.
    seed : int
        Root seed of the random streams.
    notes : tuple of str
        What a reader should know, without cell values.
    """

    estimator: Any
    encoder: Encoder
    target: Target
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def learned(self) -> tuple[str, ...]:
        """Columns whose values, bounds or classes come from rows."""
        return (*self.encoder.learned, *((self.target.column,) if self.target.learned else ()))


def holds_rows(estimator: Any) -> bool:
    """Say whether a fitted estimator may hold rows, or one figure per row, that it was fitted on.

    Nearest neighbours, support vector machines and Gaussian processes do; of an estimator not known it is assumed,
    and so it is of one that keeps its out-of-bag predictions.
    """
    return type(estimator).__name__ not in KEEPS_NO_ROWS or bool(getattr(estimator, "oob_score", False))


def write(folder: Path, fitted: Fitted) -> list[Path]:
    """Write a fitted model; equal models have equal bytes.

    Parameters
    ----------
    folder : pathlib.Path
        Made when it isn't there.
    fitted : Fitted

    Returns
    -------
    list of pathlib.Path
        The three files.
    """
    estimator = fitted.estimator
    packed, trusted = archive.dump(estimator)
    content = {ARCHIVE: packed, ENCODER: _json(fitted.encoder.model_dump(mode="json"))}
    description = Description(
        estimator=type(estimator).__name__,
        seed=fitted.seed,
        parameters={key: _plain(value) for key, value in sorted(estimator.get_params(deep=False).items())},
        target=fitted.target,
        features=len(fitted.encoder.names),
        learned=fitted.learned,
        holds_rows=holds_rows(estimator),
        notes=fitted.notes,
        versions={"numpy": np.__version__, "scikit-learn": sklearn.__version__, "skops": skops.__version__},
        trusted=trusted,
        sha256={name: sha256(data).hexdigest() for name, data in content.items()},
    )
    content[DESCRIPTION] = _json(description.model_dump(mode="json"))
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in content.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in content]


def read(folder: Path) -> Fitted:
    """Read a saved model, digests first; nothing is unpickled.

    Raises
    ------
    DataError
        A file is absent, damaged, changed since it was saved, or of another version of scikit-learn.
    """
    try:
        description = Description.model_validate_json(_bytes(folder / DESCRIPTION))
    except ValidationError:
        raise DataError(Fault(DESCRIPTION, "not the description of a model")) from None
    content = {name: _bytes(folder / name) for name in (ARCHIVE, ENCODER)}
    changed = [name for name, data in content.items() if description.sha256.get(name) != sha256(data).hexdigest()]
    if changed:
        raise DataError([Fault(name, f"not what {DESCRIPTION} describes", "its sha256 differs") for name in changed])
    then, now = description.versions.get("scikit-learn", ""), sklearn.__version__
    if then.split(".")[:2] != now.split(".")[:2]:
        raise DataError(
            Fault(ARCHIVE, f"saved with scikit-learn {then}, here is {now}", remedy=f"install scikit-learn=={then}")
        )
    estimator = archive.load(content[ARCHIVE], description.trusted)
    if type(estimator).__name__ != description.estimator:
        raise DataError(Fault(ARCHIVE, f"holds another estimator than {DESCRIPTION} says"))
    return Fitted(
        estimator, Encoder.from_json(content[ENCODER]), description.target, description.seed, description.notes
    )


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(Fault(path.name, f"can't be read ({type(error).__name__})")) from None


def _json(data: Any) -> bytes:
    return (json.dumps(data, sort_keys=True, indent=2, ensure_ascii=False) + "\n").encode()


def _plain(value: Any) -> Any:
    """Return a parameter as JSON can hold it."""
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value if value is None or isinstance(value, str | int) else type(value).__name__
