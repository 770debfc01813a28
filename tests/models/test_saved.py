"""Saved models: equal bytes for equal models, read back without unpickling, refused when anything was changed."""

import json
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from inspect import signature
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest

from components.data.table import Table
from components.models import build, engine, load
from components.models.declarations import AnySklearn, Boosting, Forest, Linear, Logistic, Tree
from components.models.estimators import available, check
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError

CANARY = "ZZ-CANARY-7731"
FILES = ["model.skops", "encoder.json", "model.json"]

Patients = Callable[..., Table]
Schemas = Callable[..., DatasetSchema]

CLASSIFIERS = [
    Tree(),
    Forest(n_estimators=4),
    Logistic(),
    Boosting(max_iter=4),
    AnySklearn(estimator="KNeighborsClassifier", params={"algorithm": "ball_tree", "metric": "manhattan"}),
    AnySklearn(estimator="SVC", params={"probability": False}),
    AnySklearn(estimator="MLPClassifier", params={"hidden_layer_sizes": [5], "solver": "sgd"}),
    AnySklearn(estimator="GaussianNB"),
]
REGRESSORS = [Tree(), Forest(n_estimators=4), Linear(), Boosting(max_iter=4), AnySklearn(estimator="SVR")]

NOT_ON_THESE_ROWS = {"CCA", "PLSCanonical", "QuadraticDiscriminantAnalysis", "GammaRegressor"}
"""They want several targets, no collinear features, no zeros."""


def name_of(params: Any) -> str:
    return str(getattr(params, "estimator", params.name))


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize(
    ("target", "params"),
    [*(("grade", params) for params in CLASSIFIERS), *(("cost", params) for params in REGRESSORS)],
    ids=lambda part: part if isinstance(part, str) else name_of(part),
)
def test_a_model_reads_back_and_predicts_as_before(
    patients: Patients, tmp_path: Path, target: str, params: Any
) -> None:
    train, test = patients(target), patients(target, seed=1)
    model = build(params, train.schema, 0).fit(train)
    assert [path.name for path in model.save(tmp_path / "first")] == FILES
    again = load(tmp_path / "first")
    again.save(tmp_path / "second")
    assert content(tmp_path / "second") == content(tmp_path / "first")
    assert (again.predict(test.frame) == model.predict(test.frame)).all()
    assert again.classes == model.classes
    scores = model.scores(test.frame)
    assert scores is None or np.array_equal(again.scores(test.frame), scores)


@pytest.mark.parametrize("params", CLASSIFIERS, ids=name_of)
def test_equal_rows_in_any_order_give_equal_bytes(patients: Patients, tmp_path: Path, params: Any) -> None:
    train = patients()
    turned = Table(train.frame.sample(frac=1, random_state=2), train.schema)
    build(params, train.schema, 0).fit(train).save(tmp_path / "first")
    build(params, train.schema, 0).fit(turned).save(tmp_path / "second")
    assert content(tmp_path / "second") == content(tmp_path / "first")


SCRIPT = """
import sys
from pathlib import Path
import pandas as pd
from components.data.table import Table
from components.models import build
from components.models.declarations import Forest
from schemas.dataset import DatasetSchema
columns = [{"name": "x", "dtype": "integer", "role": "insensitive", "min": 0, "max": 9},
           {"name": "y", "dtype": "boolean", "role": "sensitive"}]
schema = DatasetSchema(name="s", source=None, columns=columns, target="y", task="classification")
frame = pd.DataFrame({"x": [i % 10 for i in range(90)], "y": [i % 7 > 2 for i in range(90)]})
build(Forest(n_estimators=5), schema, 1).fit(Table(frame, schema)).save(Path(sys.argv[1]))
"""


def test_another_process_writes_the_same_bytes(tmp_path: Path) -> None:
    for hash_seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path / hash_seed)],
            check=True,
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
    assert content(tmp_path / "1") == content(tmp_path / "2")


@pytest.mark.parametrize(
    ("target", "name"),
    [(t, name) for t, task in (("grade", "classification"), ("cost", "regression")) for name in available(task)],
)
def test_every_estimator_is_refused_beforehand_or_learns_and_reads_back(
    patients: Patients, tmp_path: Path, target: str, name: str
) -> None:
    train = patients(target, rows=60)
    known = signature(available(train.schema.task or "regression")[name]).parameters
    params = AnySklearn(estimator=name, params={"n_estimators": 3} if "n_estimators" in known else {})
    if check(params, train.schema) or name in NOT_ON_THESE_ROWS:
        with pytest.raises(ConfigurationError):
            build(params, train.schema, 0).fit(train)
        return
    model = build(params, train.schema, 0).fit(train)
    model.save(tmp_path)
    assert (load(tmp_path).predict(train.frame) == model.predict(train.frame)).all()


def test_no_cell_value_is_in_the_files_of_a_declared_model(patients: Patients, tmp_path: Path) -> None:
    train = patients()
    frame = train.frame.assign(sex=train.frame["sex"].astype("str").where(train.frame.index != 3, CANARY), name=CANARY)
    build(Forest(n_estimators=3), train.schema, 0).fit(Table(frame, train.schema)).save(tmp_path)
    assert all(CANARY.encode() not in data for data in content(tmp_path).values())


def test_what_was_learned_from_rows_is_said_in_the_file(patients: Patients, schema_of: Schemas, tmp_path: Path) -> None:
    train, schema = patients(), schema_of("outcome", values=None)
    frame = train.frame.assign(outcome=train.frame["outcome"].astype("str"))
    build(Tree(), schema, 0, learn=True).fit(Table(frame, schema)).save(tmp_path)
    assert json.loads((tmp_path / "model.json").read_text())["learned"] == ["outcome"]
    assert load(tmp_path).learned == ("outcome",)


@pytest.mark.parametrize(
    ("params", "holds"),
    [
        (Tree(), False),
        (Forest(n_estimators=3), False),
        (Logistic(), False),
        (AnySklearn(estimator="KNeighborsClassifier"), True),
        (AnySklearn(estimator="SVC"), True),
        (AnySklearn(estimator="RandomForestClassifier", params={"oob_score": True}), True),
        (AnySklearn(estimator="BernoulliNB"), True),  # not known: assumed
    ],
    ids=lambda part: "" if isinstance(part, bool) else name_of(part),
)
def test_the_file_says_whether_train_rows_may_be_inside(
    patients: Patients, tmp_path: Path, params: Any, *, holds: bool
) -> None:
    train = patients(rows=100)
    build(params, train.schema, 0).fit(train).save(tmp_path)
    assert json.loads((tmp_path / "model.json").read_text())["holds_rows"] is holds


def test_notes_and_constant_models_read_back(patients: Patients, tmp_path: Path) -> None:
    train = patients()
    one = Table(train.frame[train.frame["outcome"] == "well"], train.schema)
    model = build(Logistic(), train.schema, 0).fit(one)
    model.save(tmp_path)
    assert load(tmp_path).notes == model.notes
    assert set(load(tmp_path).predict(train.frame)) == {"well"}


def test_a_model_read_back_only_predicts(patients: Patients, tmp_path: Path) -> None:
    train = patients(rows=50)
    build(Tree(), train.schema, 0).fit(train).save(tmp_path)
    with pytest.raises(TypeError, match="can't be fitted again"):
        load(tmp_path).fit(train)


@pytest.fixture
def saved(patients: Patients, tmp_path: Path) -> Path:
    train = patients(rows=50)
    build(Tree(), train.schema, 0).fit(train).save(tmp_path / "saved")
    return tmp_path / "saved"


def describe(folder: Path, **changes: Any) -> None:
    """Change model.json, and let its digests agree with the files as they are."""
    description = json.loads((folder / "model.json").read_text())
    description["sha256"] = {name: sha256((folder / name).read_bytes()).hexdigest() for name in FILES[:2]}
    (folder / "model.json").write_text(json.dumps(description | changes))


@pytest.mark.parametrize("name", FILES)
def test_an_absent_file_is_a_clear_fault(saved: Path, name: str) -> None:
    (saved / name).unlink()
    with pytest.raises(DataError, match=rf"{name}: can't be read \(FileNotFoundError\)"):
        load(saved)


@pytest.mark.parametrize("name", FILES[:2])
def test_a_changed_file_is_refused_before_it_is_read(saved: Path, name: str) -> None:
    data = bytearray((saved / name).read_bytes())
    data[len(data) // 2] ^= 1
    (saved / name).write_bytes(data)
    with pytest.raises(DataError, match=f"{name}: not what model.json describes"):
        load(saved)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"name": 3}'])
def test_a_description_that_is_none_is_refused(saved: Path, text: str) -> None:
    (saved / "model.json").write_text(text)
    with pytest.raises(DataError, match="not the description of a model"):
        load(saved)


def test_another_version_of_scikit_learn_is_refused(saved: Path) -> None:
    describe(saved, versions={"scikit-learn": "0.24.2"})
    with pytest.raises(DataError, match=r"saved with scikit-learn 0\.24\.2"):
        load(saved)


def test_a_framework_that_is_not_read_is_told(saved: Path) -> None:
    describe(saved, framework="tensorflow")
    with pytest.raises(DataError, match=r"framework that isn't read; scikit-learn, torch, keras, xgboost"):
        load(saved)


def test_a_framework_that_is_not_installed_is_told(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "find_spec", lambda package: None)  # noqa: ARG005
    describe(saved, framework="xgboost")
    with pytest.raises(ConfigurationError, match=r"xgboost is not installed; pip install 'privacy-runner\[xgboost\]'"):
        load(saved)


def test_an_encoder_of_another_model_is_refused(saved: Path, patients: Patients, tmp_path: Path) -> None:
    fewer = [column for column in patients().schema.columns if column.name != "age"]
    train = Table(patients(rows=50).frame, patients().schema.model_copy(update={"columns": fewer}))
    build(Tree(), train.schema, 0).fit(train).save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "encoder.json", saved / "encoder.json")
    describe(saved)
    with pytest.raises(DataError, match=r"encoder\.json: makes 9 features; the model has 10"):
        load(saved)


def test_types_beyond_our_list_are_never_trusted(saved: Path) -> None:
    describe(saved, facts={"trusted": ["sklearn.tree._tree.Tree", "os.system"]})
    with pytest.raises(DataError, match="asks to trust types"):
        load(saved)


def test_types_that_the_description_leaves_out_are_not_made(saved: Path) -> None:
    describe(saved, facts={"trusted": []})
    with pytest.raises(DataError, match=r"holds types that model\.json doesn't list"):
        load(saved)


def test_another_estimator_in_the_archive_is_refused(saved: Path) -> None:
    describe(saved, name="RandomForestClassifier")
    with pytest.raises(DataError, match="holds another estimator"):
        load(saved)


class Bomb:
    """Would leave a trace if it were ever unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.trace,))


def test_a_pickle_in_place_of_the_archive_is_never_opened(saved: Path) -> None:
    trace = saved / "trace"
    (saved / "model.skops").write_bytes(pickle.dumps(Bomb(trace)))
    describe(saved)
    with pytest.raises(DataError, match="not a readable archive"):
        load(saved)
    assert not trace.exists()


def test_a_pickled_array_in_the_archive_is_never_opened(saved: Path) -> None:
    trace = saved / "trace"
    shutil.move(saved / "model.skops", saved / "old")
    with ZipFile(saved / "old") as old, ZipFile(saved / "model.skops", "w") as new:
        for name in old.namelist():
            if name.endswith(".npy"):
                with new.open(name, "w") as member:
                    np.save(member, np.array([Bomb(trace)], dtype=object), allow_pickle=True)
            else:
                new.writestr(name, old.read(name))
    describe(saved)
    with pytest.raises(DataError, match="not a readable archive"):
        load(saved)
    assert not trace.exists()
