"""Minimising what a model of several targets is told: a row's answer stays when that of every target does."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score

from components.data.table import Table
from components.minimization.asking import Asked
from components.minimization.bounds import lower_bound
from components.minimization.contract import dumps, from_contract
from components.minimization.declarations import Greedy, Minimization, Personal, Tree
from components.minimization.holdout import hold_out
from components.minimization.minimise import Outcome, minimise, model_of
from components.minimization.page import page
from components.minimization.personal.questions import Questions
from components.models import CallableModel, Model, PredictionsModel, build, utility
from components.models import declarations as models
from runner.aims import expected
from runner.asked import asked_line, minimization_metrics
from schemas.dataset import DatasetSchema
from schemas.faults import DataError

People = Callable[[int, int], pd.DataFrame]

COLUMNS = ["age", "income", "region", "grade"]
GOAL = 0.7
METHODS = [
    Tree(columns=COLUMNS),
    Tree(columns=COLUMNS, use="ranges"),
    Greedy(columns=["age", "income"], back_steps=0),
    Personal(delta=1 - GOAL, columns=[*COLUMNS, "smoker"]),
]
TARGETS: dict[str, list[dict[str, Any]]] = {
    "classification": [
        {"name": "outcome", "dtype": "category", "values": ["well", "ill"], "role": "sensitive"},
        {"name": "tier", "dtype": "ordered", "values": ["low", "mid", "high"], "role": "insensitive"},
        {"name": "old", "dtype": "boolean", "role": "insensitive"},
    ],
    "regression": [
        {"name": "cost", "dtype": "number", "role": "sensitive", "min": 0, "max": 2000},
        {"name": "rent", "dtype": "integer", "role": "insensitive", "min": 0, "max": 500},
    ],
}


@pytest.fixture(scope="module")
def frame(people: People) -> pd.DataFrame:
    found = people(1000, 3).reset_index(drop=True)
    tiers = pd.cut(found["income"], [-1, 20_000, 40_000, 1e6], labels=["low", "mid", "high"])
    cost = 10.0 * found["age"] + 300 * found["smoker"]
    return found.assign(tier=tiers, old=found["age"] > 60, cost=cost, rent=(found["income"] // 300).astype("int64"))


def told(frame: pd.DataFrame, schema: DatasetSchema, task: str) -> Table:
    """Return the rows with the targets of a task, and no other's."""
    others = [column for column in schema.columns if column.name not in schema.targets]
    names = [column["name"] for column in TARGETS[task]]
    made = DatasetSchema.model_validate(
        {"name": "people", "source": None, "target": names, "task": task}
        | {"columns": [*(column.model_dump(exclude_none=True) for column in others), *TARGETS[task]]}
    )
    return Table(frame[made.names()], made)


def minimised(model: Model, table: Table, method: Minimization) -> tuple[Outcome, Table]:
    """Return what a method finds, and the report rows."""
    train, test = (Table(part, table.schema) for part in (table.frame.iloc[:600], table.frame.iloc[600:]))
    sides = hold_out(method, train, test, 0)
    return minimise(method, Asked(model.fit(train), table.schema), sides, GOAL, 0), sides.report


@pytest.mark.parametrize("method", METHODS, ids=lambda method: f"{method.name} {getattr(method, 'use', '')}")
def test_agreement_is_that_of_all_classes(
    method: Minimization, frame: pd.DataFrame, people_schema: DatasetSchema
) -> None:
    table = told(frame, people_schema, "classification")
    model = build(models.Tree(), table.schema, 0)
    found, report = minimised(model, table, method)
    before, after = model.predict(report.frame), found.told.predict(report.frame)
    assert found.verdict.met
    assert before.shape == after.shape == (200, 3)
    assert found.verdict.agreement == (before == after).all(axis=1).mean()
    assert sum(found.ncp.values()) > 0
    assert [kept.agreement for kept in found.targets.values()] == (before == after).mean(axis=0).tolist()
    hits = [int(np.count_nonzero(same)) for same in (before == after).T]
    assert [kept.low for kept in found.targets.values()] == [lower_bound(hit, 200) for hit in hits]
    assert f"agreement of all targets {found.verdict.agreement:.3f} " in asked_line(found)
    assert "predicts the same of every target in at least" in page(found.contract)
    outputs = [(output.name, output.classes) for output in found.contract.outputs]
    assert outputs == [("outcome", ["well", "ill"]), ("tier", ["low", "mid", "high"]), ("old", [False, True])]
    back = from_contract(type(found.contract).model_validate_json(dumps(found.contract)))
    asked = Asked(model, table.schema)
    assert (back.answers(report.frame, asked) == found.told.minimized.answers(report.frame, asked)).all()
    if isinstance(back, Questions):
        assert (back.answers(report.frame, model) == after).all()
        with pytest.raises(DataError, match="something else than the questions were made for"):
            back.answers(report.frame, build(models.Tree(), table.schema.of_target("tier"), 0).fit(table))
    figures = {(figure.metric, figure.column): figure.value for figure in utility(model_of(found), report)}
    right = after == report.frame[list(table.schema.targets)].astype(object).to_numpy()
    assert figures["accuracy", ""] == right.all(axis=1).mean()
    assert figures["accuracy", "tier"] == right[:, 1].mean()


@pytest.mark.parametrize("method", METHODS, ids=lambda method: f"{method.name} {getattr(method, 'use', '')}")
def test_agreement_on_numbers_is_the_least_r2(
    method: Minimization, frame: pd.DataFrame, people_schema: DatasetSchema
) -> None:
    table = told(frame, people_schema, "regression")
    model = build(models.Tree(min_samples_leaf=5), table.schema, 0)
    found, report = minimised(model, table, method)
    before, after = model.predict(report.frame), found.told.predict(report.frame)
    assert after.dtype == np.float64
    assert found.verdict.measure == "r2"
    each = r2_score(before, after, multioutput="raw_values")
    assert found.verdict.agreement == pytest.approx(each.min())
    assert {name: kept.agreement for name, kept in found.targets.items()} == pytest.approx(
        dict(zip(["cost", "rent"], each, strict=True))
    )
    assert found.verdict.low == min(kept.low for kept in found.targets.values())
    assert [output.name for output in found.contract.outputs] == ["cost", "rent"]


def _rule(rows: pd.DataFrame) -> list[Any]:
    tier = np.digitize(rows["income"], [20_000, 40_000])
    ill = rows["age"].to_numpy() / 90 + 0.4 * rows["smoker"].to_numpy() > 0.8
    return [np.where(ill, "ill", "well"), np.array(["low", "mid", "high"])[tier], rows["age"].to_numpy() > 60]


def test_a_function_of_all_targets_is_minimised(frame: pd.DataFrame, people_schema: DatasetSchema) -> None:
    table = told(frame, people_schema, "classification")
    found, report = minimised(CallableModel(_rule, table.schema), table, METHODS[2])
    assert found.verdict.met
    said = np.column_stack([part.astype(object) for part in _rule(report.frame)])
    assert found.verdict.agreement == (said == found.told.predict(report.frame)).all(axis=1).mean()


@pytest.mark.parametrize("task", TARGETS)
def test_a_forest_stands_in_for_stored_predictions_of_every_target(
    task: str, frame: pd.DataFrame, people_schema: DatasetSchema
) -> None:
    table = told(frame, people_schema, task)
    numbers = [frame["cost"] + 0.5, frame["rent"] + 0.5]  # no whole numbers, as a model's are none
    model = PredictionsModel(frame, _rule(frame) if task == "classification" else numbers, table.schema)
    found, report = minimised(model, table, METHODS[1])
    assert "forest" in found.notes[0]
    before, after = model.predict(report.frame), found.told.predict(report.frame)
    if task == "classification":
        same = (before == after).all(axis=1).mean()
    else:
        same = r2_score(before, after, multioutput="raw_values").min()
    assert found.verdict.agreement == pytest.approx(same)


def _numbers(rows: pd.DataFrame) -> list[Any]:
    """Return three numbers that hang on age alone, and one on income: given away, it would cost a quarter of a mean."""
    age = rows["age"].to_numpy(dtype=np.float64)
    return [rows["income"].to_numpy(dtype=np.float64), age, 1.8 * age + 1, age**2]


@pytest.fixture(scope="module")
def four(people: People, people_schema: DatasetSchema) -> tuple[CallableModel, Table]:
    frame = people(2000, 1).reset_index(drop=True)
    names = ["pay", "first", "second", "third"]
    frame = frame.assign(**dict(zip(names, _numbers(frame), strict=True)))
    inputs = [column.model_dump(exclude_none=True) for column in people_schema.columns if column.name in COLUMNS]
    outputs = [{"name": name, "dtype": "number", "role": "insensitive"} for name in names]
    schema = DatasetSchema.model_validate(
        {"name": "four", "source": None, "target": names, "task": "regression", "columns": [*inputs, *outputs]}
    )
    return CallableModel(_numbers, schema), Table(frame[schema.names()], schema)


@pytest.mark.parametrize("method", METHODS[:2], ids=["cells", "ranges"])
def test_no_target_is_ruined_for_the_others(method: Minimization, four: tuple[CallableModel, Table]) -> None:
    found, report = minimised(*four, method)
    before, after = np.column_stack(_numbers(report.frame)), found.told.predict(report.frame)
    assert found.verdict.met
    assert r2_score(before, after, multioutput="raw_values").min() >= GOAL
    assert sum(found.ncp.values()) > 0


def test_each_target_is_told(four: tuple[CallableModel, Table]) -> None:
    found, _ = minimised(*four, METHODS[1])
    figures = {each.column: each for each in minimization_metrics(found) if each.metric == "relative_accuracy"}
    assert list(figures) == ["", "pay", "first", "second", "third"]
    for name, kept in found.targets.items():
        assert (figures[name].value, figures[name].low) == (kept.agreement, kept.low)
    assert (figures[""].value, figures[""].low) == (found.verdict.agreement, found.verdict.low)
    assert "each target's R2 at least 0." in asked_line(found)
    assert "with its own predictions of each target" in (text := page(found.contract))
    assert "Least R2 reached" in text


def test_a_plan_says_that_each_target_is_held_to_its_r2(four: tuple[CallableModel, Table]) -> None:
    for count, said in ((4, "; each target's R2 0.7 asked"), (1, "; R2 0.7 asked")):
        schema = four[1].schema if count > 1 else four[1].schema.of_target("pay")
        aim = expected(SimpleNamespace(dataset=schema, minimization=Tree(target=GOAL), model=models.Tree()), 1400, 600)
        assert said in str(aim)


def test_a_missed_target_is_named(four: tuple[CallableModel, Table]) -> None:
    found, _ = minimised(*four, METHODS[1])
    worst = min(found.targets, key=lambda name: found.targets[name].low)
    missed = replace(found, verdict=found.verdict.model_copy(update={"target": 0.999, "met": False}))
    fault = missed.shortfall(METHODS[1])
    assert fault is not None
    assert fault.problem.startswith("an R2 of 0.999 of each of 4 targets is not shown: reached is 0.")
    assert fault.problem.endswith(f"the least lower bound that of {worst!r}")
