"""XGBoost's part of a model.

XGBoost refuses feature names that hold ``[``, ``]`` or ``<``, which intervals such as ``[20,30)`` and labels such as
``<0 DM`` bring. It never sees a name here: it calls features f0, f1, ... by their position, and `importance` gives
their own names back.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import xgboost

from components.data.features import Features
from components.models import xgboost_files
from components.models.declarations import Xgboost
from components.models.encoded_model import EncodedModel, encoded
from components.models.target import Numbers, Target
from components.models.xgboost_files import TREES
from components.randomness import derived_seed
from schemas.dataset import DatasetSchema
from schemas.faults import DataError, Fault

BINARY = "binary:logistic"


class XgboostEngine:
    """Gradient boosted trees (Chen and Guestrin 2016), grown on histograms.

    Equal rows, seed and number of threads give equal trees.

    Parameters
    ----------
    params : dict of str to Any
        As in the declaration `Xgboost`, without its name.
    seed : int
        Of the rows and features that each tree is grown on, where it isn't all of them.
    booster : xgboost.Booster, optional
        A fitted one.
    """

    framework: ClassVar[str] = "xgboost"
    files: ClassVar[tuple[str, ...]] = (TREES,)
    standardised: ClassVar[bool] = False
    name: ClassVar[str] = "xgboost"
    holds_rows: ClassVar[bool] = False

    def __init__(self, params: Mapping[str, Any], seed: int, booster: xgboost.Booster | None = None) -> None:
        self.params = dict(params)
        self.seed = seed
        self.booster = booster

    @classmethod
    def versions(cls) -> dict[str, str]:
        """Return the version of XGBoost."""
        return {"xgboost": xgboost.__version__}

    def parameters(self) -> dict[str, Any]:
        """Return the declared parameters and the seed."""
        return {**self.params, "seed": self.seed}

    def fresh(self) -> Self:
        """Return an unfitted copy."""
        return type(self)(self.params, self.seed)

    def fit(self, features: Features, numbers: Numbers, target: Target) -> Sequence[str]:
        """Learn; several classes with softmax, two with the logistic loss, numbers with the squared error."""
        given = {key: value for key, value in self.params.items() if key not in {"n_estimators", "n_jobs"}}
        threads = self.params["n_jobs"]
        data = xgboost.QuantileDMatrix(features, label=numbers, nthread=threads)
        self.booster = xgboost.train(
            {**given, **_objective(target), "tree_method": "hist", "seed": self.seed, "nthread": threads},
            data,
            num_boost_round=self.params["n_estimators"],
        )
        return ()

    def predict(self, features: Features) -> Numbers:
        """Return the likeliest class (of equally likely ones the first), or the number."""
        found = self._asked(features)
        if found.ndim == 2:
            return np.asarray(found.argmax(axis=1))
        if _objective_of(self._fitted) == BINARY:
            return (found > 0.5).astype(np.int64)
        return found.astype(np.float64)

    def scores(self, features: Features, classes: int) -> Numbers:  # noqa: ARG002  # the trees know how many
        """Return probabilities."""
        found = self._asked(features).astype(np.float64)
        return found if found.ndim == 2 else np.column_stack([1 - found, found])

    def dump(self) -> tuple[dict[str, bytes], dict[str, Any]]:
        """Write the trees in XGBoost's JSON."""
        return {TREES: bytes(self._fitted.save_raw("json"))}, {"params": self.params, "seed": self.seed}

    @classmethod
    def read(cls, name: str, files: Mapping[str, bytes], facts: Mapping[str, Any]) -> Self:
        """Read trees back (see `xgboost_files.read`)."""
        try:
            params = Xgboost.model_validate({**facts["params"], "name": name}).model_dump(exclude={"name"})
            seed = int(facts["seed"])
        except (ValueError, TypeError, KeyError):
            raise DataError(
                Fault("model.json", "does not say how the trees were grown", remedy="train again")
            ) from None
        return cls(params, seed, xgboost_files.read(files[TREES], params["n_jobs"]))

    @property
    def _fitted(self) -> xgboost.Booster:
        if self.booster is None:
            raise ValueError("no tree is grown yet")
        return self.booster

    def _asked(self, features: Features) -> Numbers:
        return np.asarray(self._fitted.inplace_predict(features))


def importance(model: EncodedModel) -> pd.DataFrame:
    """Return what each feature did for the trees of a fitted model.

    Parameters
    ----------
    model : EncodedModel
        Of an `XgboostEngine`.

    Returns
    -------
    pandas.DataFrame
        A row a feature of the encoder, the most important first: ``feature`` (its name, such as ``age=[20,30)``),
        ``gain`` (mean fall of the loss where it splits; 0 where it never does) and ``splits`` (how often it does).

    Raises
    ------
    TypeError
        The model has no such trees: it is of another engine, or all rows that it was fitted on have one class.
    """
    engine, names = model.fitted.engine, model.fitted.encoder.names
    if not isinstance(engine, XgboostEngine) or engine.booster is None:
        raise TypeError(f"{engine.name} has no trees of XGBoost")
    gains, splits = (engine.booster.get_score(importance_type=kind) for kind in ("gain", "weight"))
    keys = [f"f{at}" for at in range(len(names))]
    table = pd.DataFrame(
        {
            "feature": names,
            "gain": [float(gains.get(key, 0.0)) for key in keys],  # type: ignore[arg-type]  # one target, one number
            "splits": [int(splits.get(key, 0)) for key in keys],  # type: ignore[arg-type]
        }
    )
    return table.sort_values("gain", ascending=False, kind="stable", ignore_index=True)


def build(params: Xgboost, schema: DatasetSchema, seed: int, *, learn: bool = False) -> EncodedModel:
    """Make the model of a declaration (see `components.models.interface.build`)."""
    engine = XgboostEngine(params.model_dump(exclude={"name"}), derived_seed(seed, "model"))
    return encoded(engine, schema, seed, learn=learn)


def _objective(target: Target) -> dict[str, Any]:
    if target.task == "regression":
        return {"objective": "reg:squarederror"}
    if len(target.classes) > 2:
        return {"objective": "multi:softprob", "num_class": len(target.classes)}
    return {"objective": BINARY}


def _objective_of(booster: xgboost.Booster) -> str:
    return str(json.loads(booster.save_config())["learner"]["objective"]["name"])
