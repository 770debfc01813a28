"""Stored predictions as a model: exact for the rows it knows, and a refusal by count for all others."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from components.data.table import Table
from components.models import PredictionsModel, build, check, load, utility
from components.models.declarations import Predictions
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError

CANARY = "ZZ-CANARY-7731"

Patients = Callable[..., Table]


def guesses(frame: pd.DataFrame) -> np.ndarray:
    return np.where(frame["age"] > 50, "ill", "well").astype(object)


def test_known_rows_are_answered_in_any_order_and_number(patients: Patients) -> None:
    known = patients()
    model = PredictionsModel(known.frame, guesses(known.frame), known.schema)
    some = known.frame.sample(n=500, replace=True, random_state=1)
    assert (model.predict(some) == guesses(some)).all()
    assert (model.trains, model.known_only, model.learned) == (False, True, ())
    assert model.fit(known) is model
    assert utility(model, known)[0].value == pytest.approx((guesses(known.frame) == known.frame["outcome"]).mean())
    assert model.notes[0].startswith("predictions are stored ones of 300 known rows, told apart by 'age', 'sex',")


def test_unknown_rows_are_refused_by_count(patients: Patients) -> None:
    known = patients()
    model = PredictionsModel(known.frame, guesses(known.frame), known.schema)
    changed = known.frame.copy()
    changed.loc[changed.index[:12], "pressure"] = 77.123456
    with pytest.raises(DataError, match="12 of 300 rows have no stored prediction"):
        model.predict(changed)
    with pytest.raises(DataError, match="1 of 5 rows has no stored prediction"):
        model.fit(Table(changed.iloc[11:16], known.schema))


def test_rows_with_two_predictions_are_refused_by_count(patients: Patients) -> None:
    known = patients()
    twice = pd.concat([known.frame, known.frame.iloc[:3]])
    stored = np.append(guesses(known.frame), guesses(known.frame.iloc[:3]))
    PredictionsModel(twice, stored, known.schema)
    once = stored.copy()
    once[-1] = "ill" if once[-1] == "well" else "well"
    with pytest.raises(DataError, match="1 row has different predictions"):
        PredictionsModel(twice, once, known.schema)
    stored[-2:] = np.where(stored[-2:] == "ill", "well", "ill")
    with pytest.raises(DataError, match="2 rows have different predictions"):
        PredictionsModel(twice, stored, known.schema)
    scores = np.linspace(0, 1, len(twice))
    with pytest.raises(DataError, match="3 rows have different predictions"):
        PredictionsModel(twice, scores, known.schema, outputs="probabilities")


def test_a_key_that_the_table_does_not_have_is_refused(patients: Patients) -> None:
    known = patients()
    with pytest.raises(ConfigurationError, match=r"model\.key: the table has no column 'outcome' to tell rows apart"):
        PredictionsModel(known.frame, guesses(known.frame), known.schema, key=["outcome"])


def test_probabilities_give_labels_and_scores(patients: Patients) -> None:
    known = patients("grade")
    stored = np.random.default_rng(0).dirichlet(np.ones(3), len(known.frame))
    model = PredictionsModel(known.frame, stored, known.schema, outputs="probabilities")
    back = known.frame.iloc[::-1]
    assert np.array_equal(model.scores(back), stored[::-1])
    assert (model.predict(back) == np.array(["none", "some", "much"])[stored[::-1].argmax(axis=1)]).all()


def test_several_outputs_are_looked_up_together(patients: Patients) -> None:
    known = patients()
    stored = np.column_stack([known.frame["sex"], guesses(known.frame)])
    model = PredictionsModel(known.frame, stored, known.schema, target_output=1)
    back = known.frame.iloc[::-1]
    assert (model.outputs(back) == stored[::-1]).all()
    assert (model.predict(back) == guesses(back)).all()


def test_stored_predictions_that_are_none_are_refused_at_once(patients: Patients) -> None:
    known = patients()
    stored = guesses(known.frame)
    stored[:2] = CANARY
    with pytest.raises(ConfigurationError, match="2 of 300 rows have a label that is no class") as caught:
        PredictionsModel(known.frame, stored, known.schema)
    assert CANARY not in str(caught.value)


COLUMNS: list[dict[str, Any]] = [
    {"name": "id", "dtype": "text", "role": "identifier"},
    {"name": "zip", "dtype": "category", "role": "quasi_identifier", "values": ["01001", "1001", "99999"]},
    {"name": "born", "dtype": "date", "role": "quasi_identifier", "min": "1900-01-01", "max": "2020-12-31"},
    {"name": "dose", "dtype": "number", "role": "insensitive", "min": 0, "max": 1, "nullable": True},
    {"name": "well", "dtype": "boolean", "role": "sensitive"},
]
SCHEMA = DatasetSchema(name="s", source=None, columns=COLUMNS, target="well", task="classification")
DOSES = [0.1, 0.1 + 0.2, 1 / 3, None]


def doses() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "id": pd.array(["a", "b", "c", "d"], dtype="string"),
            "zip": pd.Categorical(["01001", "1001", "1001", "99999"], categories=COLUMNS[1]["values"]),
            "born": pd.to_datetime(["1950-01-02", "1950-02-01", "2000-12-31", "1969-12-31"]).astype("datetime64[us]"),
            "dose": DOSES,
            "well": [True, False, True, False],
        }
    )


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    doses().assign(guess=[False, False, True, True], other=CANARY).to_csv("stored.csv", index=False)
    doses().assign(guess=[False, False, True, True]).to_parquet("stored.parquet", index=False)
    return tmp_path


@pytest.mark.parametrize("path", ["stored.csv", "stored.parquet"])
@pytest.mark.parametrize("key", [None, ["id"], ["zip", "born", "dose"]])
def test_a_file_is_read_as_the_schema_types_it(stored: Path, path: str, key: list[str] | None) -> None:
    params = Predictions(path=path, key=key, column="guess")
    assert check(params, SCHEMA) == []
    model: Any = build(params, SCHEMA, 0)
    assert model.predict(doses().iloc[::-1]).tolist() == [True, True, False, False]
    (fact,) = model.inputs
    assert (fact.uri, fact.rows) == (path, 4)
    (saved,) = model.save(stored / "model")
    described = json.loads(saved.read_text())
    assert described["facts"]["inputs"][0]["sha256"] == fact.sha256
    assert described["parameters"]["key"] == (key or ["zip", "born", "dose"])
    assert CANARY not in saved.read_text()
    with pytest.raises(DataError, match="describes a model that came trained"):
        load(stored / "model")


@pytest.mark.usefixtures("stored")
def test_a_zip_code_keeps_its_zero_and_floats_are_exact() -> None:
    model = build(Predictions(path="stored.csv", column="guess"), SCHEMA, 0)
    frame = doses()
    frame["zip"] = pd.Categorical(["1001", "1001", "1001", "99999"], categories=COLUMNS[1]["values"])
    with pytest.raises(DataError, match="1 of 4 rows has no stored prediction"):
        model.predict(frame)
    frame = doses().assign(dose=[0.1, 0.3, 1 / 3, None])
    with pytest.raises(DataError, match="1 of 4 rows has no stored prediction"):
        model.predict(frame)


@pytest.mark.usefixtures("stored")
def test_probabilities_are_read_in_the_order_of_the_classes() -> None:
    doses().assign(no=[0.9, 0.5, 0.2, 0], yes=[0.1, 0.5, 0.8, 1]).to_csv("both.csv", index=False)
    model = build(Predictions(path="both.csv", key=["id"], columns=["no", "yes"]), SCHEMA, 0)
    assert model.predict(doses()).tolist() == [False, False, True, True]
    assert model.scores(doses()) == pytest.approx(np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8], [0, 1]]))


@pytest.mark.usefixtures("stored")
def test_a_number_may_be_predicted_beyond_its_bounds() -> None:
    schema = SCHEMA.model_copy(update={"target": "dose", "task": "regression"})
    doses().assign(guess=[1.5, -0.5, 0.2, 3]).to_csv("numbers.csv", index=False)
    model = build(Predictions(path="numbers.csv", key=["id"], column="guess"), schema, 0)
    assert model.predict(doses()).tolist() == [1.5, -0.5, 0.2, 3]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"path": "nosuch.csv"}, r"file 'nosuch\.csv': not found"),
        ({"key": ["nosuch"]}, r"model\.key: the table has no column 'nosuch'"),
        ({"key": ["well"]}, r"model\.key: the table has no column 'well' to tell rows apart by"),
        ({"column": None, "columns": ["zip", "id", "guess"]}, r"model\.columns: names 3 columns; one for each of 2 cl"),
        ({"column": "gues"}, r"model\.column: file 'stored\.csv' has no column 'gues'; did you mean 'guess'\?"),
        ({"path": "keyless.csv"}, r"model\.key: file 'keyless\.csv' has no column 'born'; name one that it has"),
        ({"path": "semicolons.csv"}, r"delimited by commas.*set model\.key"),
    ],
)
@pytest.mark.usefixtures("stored")
def test_the_check_tells_what_is_wrong_without_reading_a_row(changes: dict[str, Any], told: str) -> None:
    doses().drop(columns="born").assign(guess=CANARY).to_csv("keyless.csv", index=False)
    doses().assign(guess=CANARY).to_csv("semicolons.csv", index=False, sep=";")
    params = Predictions(**{"path": "stored.csv", "column": "guess", **changes})
    faults = check(params, SCHEMA)
    assert len(faults) == 1
    assert CANARY not in str(faults)
    with pytest.raises(ConfigurationError, match=told):
        build(params, SCHEMA, 0)


@pytest.mark.usefixtures("stored")
def test_the_check_tells_all_that_is_wrong_at_once() -> None:
    params = Predictions(path="stored.csv", key=["id", "nosuch", "zip"], columns=["no", "yes", "guess"])
    places = [fault.place for fault in check(params, SCHEMA)]
    assert places == ["model.columns", "model.key", "model.columns", "model.columns"]


@pytest.mark.usefixtures("stored")
def test_a_file_of_keys_alone_lacks_the_predictions() -> None:
    doses()[["id"]].to_csv("ids.csv", index=False)
    (fault,) = check(Predictions(path="ids.csv", key=["id"], column="guess"), SCHEMA)
    assert fault.problem == "file 'ids.csv' has no column 'guess'"


@pytest.mark.parametrize("name", ["empty.csv", "empty.parquet"])
@pytest.mark.usefixtures("stored")
def test_a_file_of_a_header_alone_is_a_fault_of_the_data(name: str) -> None:
    empty = doses().assign(guess=True).iloc[:0]
    if name.endswith("csv"):
        empty.to_csv(name, index=False)
    else:
        empty.to_parquet(name)
    params = Predictions(path=name, key=["id"], column="guess")
    for call in (check, lambda *given: build(*given, 0)):
        with pytest.raises(DataError) as told:
            call(params, SCHEMA)
        assert str(told.value) == f"file '{name}': 0 rows; at least one row below the header"
    wrong = check(Predictions(path=name, key=["nosuch"], column="guess"), SCHEMA)
    assert [fault.place for fault in wrong] == ["model.key", f"file '{name}'"]


@pytest.mark.usefixtures("stored")
def test_the_header_of_parquet_is_looked_at_too() -> None:
    (fault,) = check(Predictions(path="stored.parquet", column="nosuch"), SCHEMA)
    assert str(fault) == "model.column: file 'stored.parquet' has no column 'nosuch'; name one that it has"


@pytest.mark.usefixtures("stored")
def test_a_file_that_may_not_be_read_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refused)
    (fault,) = check(Predictions(path="stored.csv", column="guess"), SCHEMA)
    assert "can't be read" in fault.problem


@pytest.mark.usefixtures("stored")
def test_a_single_key_may_be_named_without_a_list() -> None:
    params = Predictions.model_validate({"path": "stored.csv", "key": "id", "column": "guess"})
    assert params.key == ["id"]
    model: Any = build(params, SCHEMA, 0)
    assert model.seen == ("id",)
    with pytest.raises(ValueError, match="valid list"):
        Predictions.model_validate({"path": "stored.csv", "key": 7, "column": "guess"})


@pytest.mark.usefixtures("stored")
def test_a_file_that_does_not_fit_is_refused_without_its_cells() -> None:
    doses().assign(guess=["true", CANARY, "true", None]).to_csv("wrong.csv", index=False)
    with pytest.raises(DataError, match="column 'guess'") as caught:
        build(Predictions(path="wrong.csv", key=["id"], column="guess"), SCHEMA, 0)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    "changes", [{}, {"column": "a", "columns": ["b", "c"]}, {"column": "id", "key": ["id"]}, {"columns": ["b", "b"]}]
)
def test_a_declaration_names_the_predictions_once(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"either column|named twice"):
        Predictions(path="stored.csv", **changes)
