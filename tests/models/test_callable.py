"""Functions as models: asked in the table's own values, judged by what they give, never trusted with the table."""

import json
import re
import warnings
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from components.data.table import Table
from components.models import CallableModel, build, check, load, utility
from components.models.declarations import CallableDeclaration
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError

CANARY = "ZZ-CANARY-7731"

Patients = Callable[..., Table]
Schemas = Callable[..., DatasetSchema]

FEATURES = ["age", "sex", "severity", "pressure", "smoker"]


def likely(frame: pd.DataFrame) -> np.ndarray:
    """Return probabilities of three grades."""
    burden = (frame["age"] / 100 + 0.3 * frame["smoker"]).to_numpy()
    raw = np.column_stack([0.4 - burden, 0.2 - np.abs(burden - 0.6), burden - 0.8])
    return np.exp(10 * raw) / np.exp(10 * raw).sum(axis=1, keepdims=True)


def grades(frame: pd.DataFrame) -> np.ndarray:
    return np.array(["none", "some", "much"], dtype=object)[likely(frame).argmax(axis=1)]


@pytest.mark.parametrize("given_as", [np.asarray, list, pd.Series, lambda labels: np.asarray(labels)[:, None]])
def test_labels_may_come_in_any_form(patients: Patients, given_as: Callable[[Any], Any]) -> None:
    test = patients("grade")
    model = CallableModel(lambda frame: given_as(grades(frame)), test.schema)
    assert (model.predict(test.frame) == grades(test.frame)).all()
    assert model.scores(test.frame) is None
    assert (model.target.column, model.classes) == ("grade", ("none", "some", "much"))
    assert utility(model, test)[0].value is not None


@pytest.mark.parametrize("given_as", [np.asarray, torch.as_tensor, pd.DataFrame, lambda found: found.tolist()])
def test_probabilities_and_logits_give_labels_and_scores(patients: Patients, given_as: Callable[[Any], Any]) -> None:
    test = patients("grade")
    model = CallableModel(lambda frame: given_as(likely(frame)), test.schema, outputs="probabilities")
    assert (model.predict(test.frame) == grades(test.frame)).all()
    assert model.scores(test.frame) == pytest.approx(likely(test.frame))
    logits = CallableModel(lambda frame: given_as(np.log(likely(frame)) + 3), test.schema, outputs="logits")
    assert logits.scores(test.frame) == pytest.approx(likely(test.frame))


def test_one_column_is_of_the_last_of_two_classes(patients: Patients) -> None:
    test = patients("back")
    model = CallableModel(lambda frame: frame["age"] / 100, test.schema, outputs="probabilities")
    assert (model.predict(test.frame) == (test.frame["age"] > 50)).all()


def test_numbers_are_given_back_as_they_are(patients: Patients) -> None:
    test = patients("cost")
    model = CallableModel(lambda frame: 4 * frame["age"], test.schema)
    assert (model.predict(test.frame) == 4.0 * test.frame["age"]).all()
    assert model.scores(test.frame) is None
    assert model.classes == ()


def test_the_function_sees_the_features_alone_and_a_copy_of_them(patients: Patients) -> None:
    test = patients("grade")
    before = test.frame.copy(deep=True)
    seen: list[pd.DataFrame] = []

    def spoiling(frame: pd.DataFrame) -> np.ndarray:
        seen.append(frame.copy(deep=True))
        answer = grades(frame)
        frame.loc[:, "age"] = 0
        frame["sex"] = CANARY
        return answer

    model = CallableModel(spoiling, test.schema)
    model.predict(test.frame)
    pd.testing.assert_frame_equal(seen[0], before[FEATURES])
    pd.testing.assert_frame_equal(test.frame, before)


def test_every_row_that_is_asked_about_is_counted(patients: Patients) -> None:
    test = patients("grade")
    model = CallableModel(likely, test.schema, outputs="probabilities")
    assert model.queries == 0
    model.predict(test.frame)
    model.scores(test.frame.iloc[:10])
    assert model.queries == len(test.frame) + 10


def test_it_comes_trained_and_fit_only_looks_at_the_columns(patients: Patients) -> None:
    test = patients("grade")
    model = CallableModel(grades, test.schema)
    assert (model.trains, model.known_only, model.learned, model.notes) == (False, False, (), ())
    assert model.fit(test) is model
    assert model.queries == 0
    with pytest.raises(DataError, match=r"column 'age': not in the table(.|\n)*column 'smoker'"):
        model.fit(Table(test.frame.drop(columns=["age", "smoker"]), test.schema))


def test_no_row_is_no_question(patients: Patients) -> None:
    test = patients("grade")
    model = CallableModel(likely, test.schema, outputs="probabilities")
    none = test.frame.iloc[:0]
    scores = model.scores(none)
    assert scores is not None
    assert (model.predict(none).shape, scores.shape, model.queries) == ((0,), (0, 3), 0)


@pytest.mark.parametrize(
    ("answer", "outputs", "told"),
    [
        (lambda frame: grades(frame)[:-1], "labels", "300 rows|shape"),
        (lambda frame: np.where(frame["age"] > 90, CANARY, grades(frame)), "labels", r"\d+ of 300 rows have a label"),
        (lambda frame: np.where(frame["age"] > 90, None, grades(frame)), "labels", r"\d+ of 300 rows have no label"),
        (lambda frame: np.where(frame["age"].to_numpy()[:, None] > 90, np.nan, likely(frame)), "probabilities", r"\d+"),
        (lambda frame: likely(frame)[:, :2], "probabilities", r"shape \(300, 2\)"),
        (lambda frame: likely(frame) * 2, "probabilities", "no probabilities"),
        (lambda frame: frame["sex"], "probabilities", "no table of numbers|shape"),
        (lambda _: None, "labels", "shape"),
        (lambda _: {CANARY: 1}, "labels", "shape"),
        (lambda _: [[1], [1, 2]], "probabilities", "unequal length|no table"),
    ],
)
def test_what_is_no_answer_is_refused_without_values(
    patients: Patients, answer: Callable[[pd.DataFrame], Any], outputs: Any, told: str
) -> None:
    test = patients("grade")
    with pytest.raises(ConfigurationError, match=told) as caught:
        CallableModel(answer, test.schema, outputs=outputs).predict(test.frame)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("kind", [ValueError, RuntimeError, OSError, SystemExit, Exception])
def test_what_the_function_raises_is_told_without_its_words(patients: Patients, kind: type[BaseException]) -> None:
    test = patients("grade")

    def failing(_: pd.DataFrame) -> Any:
        warnings.warn(CANARY, UserWarning, stacklevel=1)  # which pytest would raise
        raise kind(CANARY)

    with pytest.raises(ConfigurationError, match=rf"the function fails on these rows \({kind.__name__}\)") as caught:
        CallableModel(failing, test.schema).predict(test.frame)
    assert CANARY not in str(caught.value)
    assert caught.value.faults[0].values == CANARY


def test_classes_must_be_declared(schema_of: Schemas) -> None:
    with pytest.raises(
        ConfigurationError, match=r"comes trained can't learn them.*set dataset\.columns\.outcome\.valu"
    ):
        CallableModel(grades, schema_of("outcome", values=None))


def test_several_outputs_are_kept_together(patients: Patients) -> None:
    test = patients("grade")
    both = CallableModel(
        lambda frame: [likely(frame), torch.as_tensor(frame["age"].to_numpy() / 100)],
        test.schema,
        outputs="probabilities",
    )
    joint = both.outputs(test.frame)
    assert joint.shape == (300, 2)
    assert (joint[:, 0] == likely(test.frame).argmax(axis=1)).all()
    assert (joint[:, 1] == (test.frame["age"] > 50)).all()
    assert (both.predict(test.frame) == grades(test.frame)).all()


def test_the_target_may_be_any_of_several_columns_of_labels(patients: Patients) -> None:
    test = patients("grade")
    model = CallableModel(lambda frame: np.column_stack([frame["sex"], grades(frame)]), test.schema, target_output=1)
    assert (model.predict(test.frame) == grades(test.frame)).all()
    assert (model.outputs(test.frame) == np.column_stack([test.frame["sex"], grades(test.frame)])).all()
    with pytest.raises(ConfigurationError, match="gives 1 output; at least 2"):
        CallableModel(grades, test.schema, target_output=1).predict(test.frame)


def test_a_regression_may_have_several_targets(patients: Patients) -> None:
    test = patients("cost")
    model = CallableModel(lambda frame: np.column_stack([frame["age"], frame["age"] * 2]), test.schema)
    assert (model.predict(test.frame) == test.frame["age"]).all()
    assert (model.outputs(test.frame)[:, 1] == 2 * test.frame["age"]).all()


@pytest.mark.parametrize(
    ("target", "other", "told"),
    [
        ("grade", lambda frame: grades(frame)[:-1], r"gives an output of shape \(299,\); 300 rows"),
        ("cost", lambda frame: np.full(len(frame), np.nan), "300 of 300 rows have what is no finite number"),
    ],
)
def test_another_output_is_judged_as_well(
    patients: Patients, target: str, other: Callable[[pd.DataFrame], Any], told: str
) -> None:
    test = patients(target)
    first = grades if target == "grade" else (lambda frame: frame["age"].to_numpy())
    with pytest.raises(ConfigurationError, match=told):
        CallableModel(lambda frame: [first(frame), other(frame)], test.schema).outputs(test.frame)


def test_a_missing_label_in_another_output_is_told(patients: Patients) -> None:
    test = patients("grade")
    model = CallableModel(lambda frame: [grades(frame), frame["severity"].to_numpy(dtype=object)], test.schema)
    missing = int(test.frame["severity"].isna().sum())
    with pytest.raises(ConfigurationError, match=f"{missing} of 300 rows have no label in one of its outputs"):
        model.outputs(test.frame)


@given(st.permutations(range(40)))
@settings(deadline=None, max_examples=20)
def test_an_answer_follows_its_row(order: list[int]) -> None:
    columns = [{"name": "x", "dtype": "integer", "role": "insensitive", "min": 0, "max": 99}]
    target = {"name": "y", "dtype": "integer", "role": "sensitive", "min": 0, "max": 9}
    schema = DatasetSchema(name="s", source=None, columns=[*columns, target], target="y", task="classification")
    frame = pd.DataFrame({"x": order}, index=order)
    assert CallableModel(lambda asked: asked["x"] % 10, schema).predict(frame).tolist() == [x % 10 for x in order]


SCORE = f"""
from __future__ import annotations
from dataclasses import dataclass
import numpy as np

@dataclass
class Cut:
    at: int

SECRET = "{CANARY}"

def predict(frame):
    return np.where(frame["age"] > Cut(50).at, "ill", "well")
"""


@pytest.fixture
def score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "score.py").write_text(SCORE)
    return tmp_path / "score.py"


def test_a_function_is_found_in_a_file_that_is_an_input_by_its_digest(patients: Patients, score: Path) -> None:
    test = patients()
    params = CallableDeclaration(path="score.py")
    assert check(params, test.schema) == []
    model: Any = build(params, test.schema, 0)
    assert (model.predict(test.frame) == np.where(test.frame["age"] > 50, "ill", "well")).all()
    (fact,) = model.inputs
    assert (fact.uri, fact.bytes, fact.sha256) == ("score.py", len(SCORE), sha256(SCORE.encode()).hexdigest())
    assert (fact.rows, fact.columns) == (None, None)
    (path,) = model.save(score.parent / "model")
    described = json.loads(path.read_text())
    assert described["facts"]["inputs"] == [{"path": "score.py", "bytes": fact.bytes, "sha256": fact.sha256}]
    assert described["parameters"]["function"] == "predict"
    assert CANARY not in path.read_text()
    with pytest.raises(DataError, match="describes a model that came trained"):
        load(score.parent / "model")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def other(frame): ...", r"model\.function: 'score\.py' has no function predict"),
        ("predict = 3", r"model\.function: 'score\.py' has no function predict"),
        (f"predict = print; raise KeyError('{CANARY}')", r"file 'score\.py': can't be run \(KeyError\)"),
        ("import sys; sys.exit(3); predict = print", r"can't be run \(SystemExit\)"),
        (f"def predict(frame)\n    {CANARY}", r"file 'score\.py', line 1: can't be run \(SyntaxError\)"),
    ],
)
def test_a_file_that_gives_no_function_is_refused(patients: Patients, score: Path, text: str, told: str) -> None:
    score.write_text(text)
    with pytest.raises(ConfigurationError, match=told) as caught:
        build(CallableDeclaration(path="score.py"), patients().schema, 0)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("class Model:\n    def predict(self, frame): ...", r"model\.function: 'score\.py' has no function predict"),
        (f"def predict(frame)\n    {CANARY}", r"file 'score\.py', line 1: can't be run \(SyntaxError\)"),
        ("import numpy as predicts", r"model\.function: 'score\.py' has no function predict"),
        ("print(predict)", r"model\.function: 'score\.py' has no function predict"),
        ("\0", r"file 'score\.py': can't be run \((ValueError|SyntaxError)\)"),
    ],
)
def test_what_a_file_does_not_define_is_told_without_running_it(
    patients: Patients, score: Path, text: str, told: str
) -> None:
    score.write_text(f"raise SystemExit\n{text}" if "line 1" not in told else text)
    (fault,) = check(CallableDeclaration(path="score.py"), patients().schema)
    assert re.match(told, str(fault))
    assert CANARY not in str(fault)


@pytest.mark.parametrize(
    "text",
    [
        "from elsewhere import score as predict",
        "predict = lambda frame: frame",
        "try:\n    import predict\nexcept ImportError:\n    pass",
        "from elsewhere import *",
        "globals()['predict'] = print",
        "def make():\n    global predict\n    predict = print",
        "def __getattr__(name):\n    return print",
        "# -*- coding: latin-1 -*-\n# \xe9\ndef predict(frame): '\\d'",
    ],
)
def test_whatever_may_define_the_function_passes_the_check(patients: Patients, score: Path, text: str) -> None:
    score.write_bytes(text.encode("latin-1"))
    assert check(CallableDeclaration(path="score.py"), patients().schema) == []


def test_the_check_asks_for_declared_classes(schema_of: Schemas, score: Path) -> None:
    schema = schema_of("outcome", values=None)
    (fault,) = check(CallableDeclaration(path=score.name), schema)
    assert fault.problem == "the target declares no classes"


def test_an_absent_file_is_told_by_the_check_without_running_anything(patients: Patients, score: Path) -> None:
    score.write_text("raise SystemExit\ndef predict(frame): ...")
    assert check(CallableDeclaration(path="score.py"), patients().schema) == []
    (fault,) = check(CallableDeclaration(path="nosuch.py"), patients().schema)
    assert str(fault).startswith("file 'nosuch.py': not found; looked in")
    with pytest.raises(ConfigurationError, match="not found"):
        build(CallableDeclaration(path="nosuch.py"), patients().schema, 0)
