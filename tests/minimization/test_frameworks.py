"""The same minimisation over every framework, each by its real library, with nothing changed but the model."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from components.data.table import Table
from components.minimization.asking import Asked
from components.minimization.contract import dumps, from_contract
from components.minimization.declarations import Greedy, Minimization, Personal, Tree
from components.minimization.generalizer import Generalizer
from components.minimization.holdout import hold_out
from components.minimization.minimise import minimise
from components.models import CallableModel, Model, PredictionsModel, build
from components.models import declarations as models
from schemas.dataset import DatasetSchema

People = Callable[[int, int], pd.DataFrame]
TARGET = 0.8
COLUMNS = ["age", "income", "region", "grade"]
METHODS = [
    Tree(target=TARGET, columns=COLUMNS),
    Greedy(target=TARGET, columns=COLUMNS, back_steps=0),
    Personal(delta=1 - TARGET),
]


def _rule(frame: pd.DataFrame) -> np.ndarray:
    """Give probabilities as a service of somebody's would, by income, age and smoking."""
    burden = frame["age"].to_numpy() / 90 + 0.4 * frame["smoker"].to_numpy() - frame["income"].to_numpy() / 1e5
    chance = 1 / (1 + np.exp(-12 * (burden - 0.5)))
    return np.column_stack([1 - chance, chance])


def _declared(params: Any) -> Callable[[DatasetSchema, pd.DataFrame], Model]:
    return lambda schema, _: build(params, schema, 0)


def _function(schema: DatasetSchema, _: pd.DataFrame) -> Model:
    return CallableModel(_rule, schema, outputs="probabilities")


def _stored(schema: DatasetSchema, frame: pd.DataFrame) -> Model:
    return PredictionsModel(frame, np.where(_rule(frame)[:, 1] > 0.5, "ill", "well"), schema)


MODELS: dict[str, Callable[[DatasetSchema, pd.DataFrame], Model]] = {
    "scikit-learn": _declared(models.Forest(n_estimators=20)),
    "torch": _declared(models.Mlp(hidden=[16], epochs=30)),
    "keras": _declared(models.KerasNetwork(hidden=[16], epochs=15)),
    "xgboost": _declared(models.Xgboost(n_estimators=20)),
    "callable": _function,
    "stored predictions": _stored,
}


@pytest.mark.parametrize("method", METHODS, ids=lambda method: str(method.name))
@pytest.mark.parametrize("framework", MODELS)
def test_the_same_minimisation_works_unchanged(
    framework: str, method: Minimization, people: People, people_schema: DatasetSchema
) -> None:
    frame = people(1500, 11).reset_index(drop=True)
    train, test = Table(frame.iloc[:900], people_schema), Table(frame.iloc[900:], people_schema)
    model = MODELS[framework](people_schema, frame).fit(train)
    outcome = minimise(method, Asked(model, people_schema), hold_out(method, train, test, 0), TARGET, 0)
    assert outcome.verdict.met
    assert outcome.verdict.agreement >= TARGET
    assert sum(outcome.ncp.values()) > 0
    read = from_contract(type(outcome.contract).model_validate_json(dumps(outcome.contract)))
    if isinstance(read, Generalizer):
        # What the file alone makes of rows keeps what was promised, and no other column is touched.
        changed = read.transform(test.frame)
        others = [name for name in frame.columns if name not in COLUMNS]
        pd.testing.assert_frame_equal(changed[others], test.frame[others])
        if framework != "stored predictions":  # which know nothing of generalised rows
            same = model.predict(test.frame) == model.predict(changed)
            assert same.mean() >= TARGET
