"""XGBoost behind the common interface: any column names and labels, one table for one model, JSON alone on the disk."""

import json
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from components.data.table import Table
from components.models import build, load, utility
from components.models.declarations import Tree, Xgboost
from components.models.xgboost_engine import importance
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError

Patients = Callable[..., Table]

CHECKING = ["<0 DM", "0<=X<200 DM", ">=200 DM", "no account"]
AGES = ["[0,20)", "[20,30)", "[30,100]"]


def applicants(rows: int = 400, seed: int = 0) -> Table:
    """Return a table as of the German credit data, with intervals and signs of order in names, values and classes."""
    random = np.random.default_rng(seed)
    checking, age = random.integers(0, 4, rows), random.integers(0, 3, rows)
    amount = random.integers(0, 20_000, rows)
    risk = (checking == 0) * 1.0 + (age == 1) * 0.7 + amount / 20_000 + random.normal(0, 0.15, rows)
    classes = ["[good]", "<bad>"]
    frame = pd.DataFrame(
        {
            "checking [DM]": pd.Categorical.from_codes(checking, CHECKING),
            "age<x": pd.Categorical.from_codes(age, AGES, ordered=True),
            "amount]": amount,
            "risk": pd.Categorical.from_codes((risk > 1).astype(int), classes),
        }
    )
    columns: list[dict[str, Any]] = [
        {"name": "checking [DM]", "dtype": "category", "role": "insensitive", "values": CHECKING},
        {"name": "age<x", "dtype": "category", "role": "quasi_identifier", "values": AGES},
        {"name": "amount]", "dtype": "integer", "role": "insensitive", "min": 0, "max": 20_000},
        {"name": "risk", "dtype": "category", "role": "sensitive", "values": classes},
    ]
    frame["age<x"] = frame["age<x"].cat.as_unordered()
    schema = DatasetSchema(name="credit", source=None, columns=columns, target="risk", task="classification")
    return Table(frame, schema)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_names_that_xgboost_refuses_train_and_come_back_in_the_importance_table() -> None:
    train, test = applicants(), applicants(seed=1)
    model: Any = build(Xgboost(n_estimators=30), train.schema, 0).fit(train)
    assert utility(model, test)[0].value > 0.85  # type: ignore[operator]  # accuracy has a value
    assert set(model.predict(test.frame)) == {"[good]", "<bad>"}
    table = importance(model)
    assert table.columns.tolist() == ["feature", "gain", "splits"]
    assert table["feature"].iloc[0] == "checking [DM]=<0 DM"
    assert set(table["feature"]) == set(model.fitted.encoder.names)
    used = table[table["splits"] > 0].set_index("feature")["gain"]
    assert {"age<x=[20,30)", "checking [DM]=<0 DM", "amount]"} <= set(used.index)
    assert (used > 0).all()
    assert table["gain"].is_monotonic_decreasing


@pytest.mark.parametrize(
    ("target", "classes"), [("outcome", ("well", "ill")), ("grade", ("none", "some", "much")), ("visits", (0, 1, 2))]
)
def test_classes_of_any_kind_are_learned(patients: Patients, target: str, classes: tuple[Any, ...]) -> None:
    train, test = patients(target), patients(target, seed=1)
    model = build(Xgboost(n_estimators=20), train.schema, 0).fit(train)
    assert tuple(model.classes) == classes
    assert (model.predict(test.frame) == test.frame[target].to_numpy()).mean() > 0.75
    scores = model.scores(test.frame)
    assert scores is not None
    assert scores.sum(axis=1) == pytest.approx(1, abs=1e-6)
    assert (np.array(classes, dtype=object)[scores.argmax(axis=1)] == model.predict(test.frame)).all()


def test_numbers_are_learned(patients: Patients) -> None:
    train, test = patients("cost"), patients("cost", seed=1)
    model = build(Xgboost(n_estimators=50, max_depth=3), train.schema, 0).fit(train)
    assert np.abs(model.predict(test.frame) - test.frame["cost"]).mean() < 60  # the constant line: about 110
    assert model.scores(test.frame) is None


def test_a_declared_class_that_no_row_has_is_never_likely(patients: Patients) -> None:
    train = patients("grade")
    some = Table(train.frame[train.frame["grade"] != "much"], train.schema)
    model = build(Xgboost(n_estimators=20), train.schema, 0).fit(some)
    scores = model.scores(train.frame)
    assert scores is not None
    assert scores.shape == (300, 3)
    assert scores[:, 2].max() < 0.05


def test_rows_of_one_class_give_that_class(patients: Patients) -> None:
    train = patients()
    one: Any = build(Xgboost(), train.schema, 0).fit(Table(train.frame[train.frame["outcome"] == "ill"], train.schema))
    assert set(one.predict(train.frame)) == {"ill"}
    with pytest.raises(TypeError, match="no trees of XGBoost"):
        importance(one)
    with pytest.raises(TypeError, match="no trees of XGBoost"):
        importance(build(Tree(), train.schema, 0).fit(train))  # type: ignore[arg-type]  # of another engine


@pytest.mark.parametrize("target", ["outcome", "grade", "cost"])
def test_a_model_reads_back_and_predicts_as_before(patients: Patients, tmp_path: Path, target: str) -> None:
    train, test = patients(target), patients(target, seed=1)
    params = Xgboost(n_estimators=8, subsample=0.5, colsample_bytree=0.7)
    model = build(params, train.schema, 3).fit(train)
    files = model.save(tmp_path / "first")
    assert [path.name for path in files] == ["model.xgboost.json", "encoder.json", "model.json"]
    assert all(json.loads(path.read_text()) for path in files)
    again = load(tmp_path / "first")
    again.save(tmp_path / "second")
    assert content(tmp_path / "second") == content(tmp_path / "first")
    assert (again.predict(test.frame) == model.predict(test.frame)).all()
    assert np.array_equal(again.scores(test.frame), model.scores(test.frame))
    assert json.loads((tmp_path / "first" / "model.json").read_text())["holds_rows"] is False


def test_equal_rows_in_any_order_give_equal_bytes_and_another_seed_gives_others(
    patients: Patients, tmp_path: Path
) -> None:
    train = patients()
    turned = Table(train.frame.sample(frac=1, random_state=2), train.schema)
    params = Xgboost(n_estimators=8, subsample=0.5)
    for name, table, seed in (("a", train, 0), ("b", turned, 0), ("c", train, 1)):
        build(params, train.schema, seed).fit(table).save(tmp_path / name)
    assert content(tmp_path / "a") == content(tmp_path / "b")
    trees = {sha256((tmp_path / name / "model.xgboost.json").read_bytes()).hexdigest() for name in "ac"}
    assert len(trees) == 2


def test_one_row_at_a_time_gives_the_same(patients: Patients) -> None:
    train = patients("grade")
    model = build(Xgboost(n_estimators=10), train.schema, 0).fit(train)
    singly = np.concatenate([model.scores(train.frame.iloc[[at]]) for at in range(30)])
    assert np.array_equal(singly, model.scores(train.frame.iloc[:30]))


@pytest.fixture
def saved(patients: Patients, tmp_path: Path) -> Path:
    train = patients(rows=50)
    build(Xgboost(n_estimators=2), train.schema, 0).fit(train).save(tmp_path)
    return tmp_path


def describe(folder: Path, **changes: Any) -> None:
    """Change model.json, and let its digests agree with the files as they are."""
    described = json.loads((folder / "model.json").read_text())
    names = ("model.xgboost.json", "encoder.json")
    described["sha256"] = {name: sha256((folder / name).read_bytes()).hexdigest() for name in names}
    (folder / "model.json").write_text(json.dumps(described | changes))


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"\x80\x04.", b"[" * 100_000])
def test_changed_trees_are_refused_before_and_after_their_digest(saved: Path, data: bytes) -> None:
    (saved / "model.xgboost.json").write_bytes(data)
    with pytest.raises(DataError, match=r"model\.xgboost\.json: not what model\.json describes"):
        load(saved)
    describe(saved)
    with pytest.raises(DataError, match=r"model\.xgboost\.json: not the trees that model\.json describes"):
        load(saved)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("left_children", 0),  # around for ever
        ("left_children", 10**6),
        ("right_children", -1),
        ("right_children", 1.5),
        ("split_indices", 10**6),
        ("split_indices", -1),
        ("parents", 5),
        ("split_type", 1),
        ("default_left", 7),
        ("split_conditions", None),
        ("sum_hessian", "many"),
    ],
)
def test_a_tree_that_does_not_hold_together_never_reaches_xgboost(saved: Path, part: str, value: object) -> None:
    path = saved / "model.xgboost.json"
    root = json.loads(path.read_text())
    root["learner"]["gradient_booster"]["model"]["trees"][0][part][0] = value
    path.write_text(json.dumps(root))
    describe(saved)
    with pytest.raises(DataError, match="not the trees"):
        load(saved)


@pytest.mark.parametrize(
    "facts", [{}, {"params": {"n_jobs": 0}, "seed": 0}, {"params": 3}, {"params": {}, "seed": "x"}]
)
def test_a_description_of_no_trees_is_refused(saved: Path, facts: dict[str, Any]) -> None:
    describe(saved, facts=facts)
    with pytest.raises(DataError, match="does not say how the trees were grown"):
        load(saved)


def test_another_name_is_refused(saved: Path) -> None:
    describe(saved, name="other")
    with pytest.raises(DataError, match="does not say how"):
        load(saved)


def test_another_version_is_refused(saved: Path) -> None:
    describe(saved, versions={"xgboost": "0.90"})
    with pytest.raises(DataError, match=r"saved with xgboost 0\.90"):
        load(saved)


def test_parameters_are_checked_by_the_declaration() -> None:
    for wrong in ({"max_depth": 0}, {"subsample": 0.0}, {"learning_rate": 2.0}, {"n_jobs": 0}, {"booster": "dart"}):
        with pytest.raises(ValueError, match="1 validation error"):
            Xgboost(**wrong)


def test_what_the_schema_leaves_open_is_told_before_any_row_is_read(schema_of: Callable[..., DatasetSchema]) -> None:
    with pytest.raises(ConfigurationError, match="the target declares no classes"):
        build(Xgboost(), schema_of("outcome", values=None), 0)


SCRIPT = """
from pathlib import Path
import pandas as pd
from components.data.table import Table
from components.models import build
from components.models.declarations import Xgboost
from schemas.dataset import DatasetSchema
columns = [{"name": "x", "dtype": "integer", "role": "insensitive", "min": 0, "max": 9},
           {"name": "y", "dtype": "boolean", "role": "sensitive"}]
schema = DatasetSchema(name="s", source=None, columns=columns, target="y", task="classification")
frame = pd.DataFrame({"x": [i % 10 for i in range(90)], "y": [i % 7 > 2 for i in range(90)]})
build(Xgboost(n_estimators=5), schema, 1).fit(Table(frame, schema)).save(Path(folder))
"""


def test_another_process_writes_the_same_bytes(tmp_path: Path) -> None:
    exec(f"folder = {str(tmp_path / 'here')!r}\n{SCRIPT}", {})  # noqa: S102  # the same text, in this process
    environment = {"PYTHONHASHSEED": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
    code = f"folder = {str(tmp_path / 'there')!r}\n{SCRIPT}"
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    assert content(tmp_path / "here") == content(tmp_path / "there")
