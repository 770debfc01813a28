"""Models that come trained, asked about several targets: one output each, however they are given."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from components.data.table import Table
from components.models import CallableModel, PredictionsModel, build, check, load, utility
from components.models.declarations import CallableDeclaration, Predictions
from schemas.faults import ConfigurationError, DataError

CANARY = "ZZ-CANARY-7731"
Several = Callable[..., Table]


def ill(frame: pd.DataFrame) -> np.ndarray:
    return np.where(frame["age"] > 50, "ill", "well").astype(object)


def visits(frame: pd.DataFrame) -> np.ndarray:
    return (frame["age"].to_numpy() // 34).clip(0, 2)


def chances(frame: pd.DataFrame) -> list[np.ndarray]:
    first = frame["age"].to_numpy() / 100
    second = np.eye(3)[visits(frame)]
    return [np.column_stack([1 - first, first]), second]


GIVEN: dict[str, Callable[[pd.DataFrame], Any]] = {
    "a list of arrays": lambda frame: [ill(frame), visits(frame)],
    "a list of series": lambda frame: [pd.Series(ill(frame)), pd.Series(visits(frame))],
    "a tuple of columns": lambda frame: (ill(frame)[:, np.newaxis], visits(frame)[:, np.newaxis]),
    "a frame": lambda frame: pd.DataFrame({"outcome": ill(frame), "visits": visits(frame)}),
    "an array of objects": lambda frame: np.column_stack([ill(frame), visits(frame).astype(object)]),
    "rows": lambda frame: [[one, int(other)] for one, other in zip(ill(frame), visits(frame), strict=True)],
}


@pytest.mark.parametrize("form", GIVEN)
@pytest.mark.parametrize("rows", [1, 2, 40])
def test_labels_of_two_targets_are_read_in_every_form(form: str, rows: int, several: Several) -> None:
    table = several("outcome", "visits", rows=rows)
    model = CallableModel(GIVEN[form], table.schema)
    said = model.predict(table.frame)
    assert said.shape == (rows, 2)
    assert said[:, 0].tolist() == ill(table.frame).tolist()
    assert said[:, 1].tolist() == visits(table.frame).tolist()
    assert [target.column for target in model.targets] == ["outcome", "visits"]
    assert model.scores(table.frame) is None
    assert (model.outputs(table.frame) == said).all()


def test_a_function_is_asked_once_about_all_targets(several: Several) -> None:
    table = several("outcome", "visits")
    model = CallableModel(GIVEN["a list of arrays"], table.schema)
    model.predict(table.frame)
    assert model.queries == 300


def test_probabilities_of_two_targets_are_read(several: Several) -> None:
    table = several("outcome", "visits")
    model = CallableModel(chances, table.schema, outputs="probabilities")
    scores: Any = model.scores(table.frame)
    for given, found in zip(chances(table.frame), scores, strict=True):
        np.testing.assert_array_equal(given, found)
    assert model.predict(table.frame)[:, 0].tolist() == ill(table.frame).tolist()
    figures = {(figure.metric, figure.column) for figure in utility(model, table)}
    assert {("accuracy", ""), ("auc", "outcome"), ("auc", "visits")} <= figures
    binary = several("outcome", "back")
    logits = CallableModel(lambda frame: torch.tensor([[-1.0, 2.0]] * len(frame)), binary.schema, outputs="logits")
    assert logits.predict(binary.frame)[:2].tolist() == [["well", True], ["well", True]]


def test_two_numbers_are_read(several: Several) -> None:
    table = several("cost", "days")
    model = CallableModel(lambda frame: np.column_stack([frame["age"] * 2, frame["age"]]), table.schema)
    said = model.predict(table.frame)
    assert said.dtype == np.float64
    assert (said[:, 0] == 2 * said[:, 1]).all()
    assert model.scores(table.frame) is None
    assert [figure.column for figure in utility(model, table)][:2] == ["", "cost"]
    assert model.predict(table.frame.iloc[:0]).shape == (0, 2)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (ill, r"2 arrays of 300 rows, or \(300, 2\)"),
        (lambda frame: [ill(frame)], "2 arrays of 300 rows"),
        (lambda frame: [ill(frame), ill(frame), ill(frame)], "2 arrays of 300 rows"),
        (lambda frame: [ill(frame), ill(frame)], "labels of another kind"),
        (lambda frame: [ill(frame), ill(frame)[1:]], "2 arrays of 300 rows"),
        (lambda frame: [visits(frame), ill(frame)], "none of 2 classes"),
        (lambda frame: [np.full(len(frame), CANARY, dtype=object), visits(frame)], "300 of 300 rows have a label"),
    ],
)
def test_what_is_no_answer_for_each_target_is_refused(given: Any, words: str, several: Several) -> None:
    table = several("outcome", "visits")
    with pytest.raises(ConfigurationError, match=words) as caught:
        CallableModel(given, table.schema).predict(table.frame)
    assert CANARY not in str(caught.value)


def test_a_description_names_all_targets_and_loads_nowhere(several: Several, tmp_path: Path) -> None:
    table = several("outcome", "visits")
    CallableModel(GIVEN["a frame"], table.schema).save(tmp_path)
    described = json.loads((tmp_path / "model.json").read_bytes())
    assert [target["column"] for target in described["target"]] == ["outcome", "visits"]
    with pytest.raises(DataError, match="describes a model that came trained"):
        load(tmp_path)
    described["framework"] = "scikit-learn"
    (tmp_path / "model.json").write_text(json.dumps(described), encoding="utf-8")
    with pytest.raises(DataError, match="a framework that isn't read"):
        load(tmp_path)


def test_every_target_declares_its_classes(several: Several) -> None:
    schema = several("outcome", "grade").schema
    columns = [
        column.model_copy(update={"values": None, "dtype": "text"}) if column.name in schema.targets else column
        for column in schema.columns
    ]
    with pytest.raises(ConfigurationError) as caught:
        CallableModel(ill, schema.model_copy(update={"columns": columns}))
    assert [fault.place for fault in caught.value.faults] == ["column 'outcome'", "column 'grade'"]


def test_a_declared_function_answers_for_all_targets(several: Several, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def predict(rows):\n    return [['well', 2]] * len(rows)\n", encoding="utf-8")
    table = several("outcome", "visits")
    params = CallableDeclaration(path=str(path))
    assert check(params, table.schema) == []
    assert build(params, table.schema, 0).fit(table).predict(table.frame).tolist() == [["well", 2]] * 300


def test_stored_predictions_have_a_column_for_each_target(several: Several, tmp_path: Path) -> None:
    table = several("outcome", "visits")
    stored = table.frame.assign(first=visits(table.frame), second=ill(table.frame)).drop(columns=["outcome", "visits"])
    path = tmp_path / "stored.csv"
    stored.sample(frac=1, random_state=0).to_csv(path, index=False)
    params = Predictions(path=str(path), column=["second", "first"])
    assert check(params, table.schema) == []
    model = build(params, table.schema, 0).fit(table)
    assert model.predict(table.frame).tolist() == np.column_stack([ill(table.frame), visits(table.frame)]).tolist()


def test_stored_numbers_may_lie_beyond_the_bounds_of_their_targets(several: Several, tmp_path: Path) -> None:
    table = several("cost", "days")
    path = tmp_path / "stored.csv"
    table.frame.assign(a=-5.5, b=99.5).to_csv(path, index=False)
    model = build(Predictions(path=str(path), column=["a", "b"]), table.schema, 0).fit(table)
    assert model.predict(table.frame.iloc[:1]).tolist() == [[-5.5, 99.5]]


def test_rows_that_differ_in_one_target_alone_are_refused(several: Several) -> None:
    table = several("outcome", "visits", rows=20)
    twice = pd.concat([table.frame, table.frame.iloc[:1]])
    labels, counts = ill(twice), visits(twice)
    PredictionsModel(twice, [labels, counts], table.schema)
    counts[-1] = (counts[-1] + 1) % 3
    with pytest.raises(DataError, match="1 row has different predictions"):
        PredictionsModel(twice, [labels, counts], table.schema)
    chance = np.linspace(0.6, 0.9, len(twice))  # the likelier class is the same
    chance[-1] = chance[0]
    scores = [np.full(len(twice), 0.5), np.column_stack([1 - chance, chance, 0 * chance])]
    PredictionsModel(twice, scores, table.schema, outputs="probabilities")
    scores[1][-1] = scores[1][1]
    with pytest.raises(DataError, match="1 row has different predictions"):
        PredictionsModel(twice, scores, table.schema, outputs="probabilities")
    with pytest.raises(ConfigurationError, match="no column 'visits' to tell rows apart by"):
        PredictionsModel(twice, [labels, counts], table.schema, key=["visits"])


@pytest.mark.parametrize(
    ("names", "place", "words"),
    [
        ({"column": "a"}, "model.column", "names 1 column"),
        ({"column": ["a", "b", "c"]}, "model.column", "names 3 columns"),
        ({"columns": ["a", "b"]}, "model.columns", "probabilities are those of one target, and there are 2"),
    ],
)
def test_another_number_of_stored_columns_is_refused(
    names: dict[str, Any], place: str, words: str, several: Several, tmp_path: Path
) -> None:
    path = tmp_path / "stored.csv"
    path.write_text("age,a,b,c\n1,0,0,0\n", encoding="utf-8")
    (fault,) = check(Predictions(path=str(path), key=["age"], **names), several("outcome", "visits").schema)
    assert (fault.place, fault.problem) == (place, words)


def test_a_stored_column_is_named_once() -> None:
    with pytest.raises(ValueError, match="named twice"):
        Predictions(path="x", column=["a", "a"])
    with pytest.raises(ValueError, match="either column"):
        Predictions(path="x", column=["a"], columns=["b", "c"])
    assert Predictions(path="x", column=["a"]).labels == Predictions(path="x", column="a").labels == ["a"]
