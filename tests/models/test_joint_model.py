"""Several targets, one model each: what the models say alone, said together, for every framework."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from components.data.table import Table
from components.models import JointModel, Model, Target, build, check, load, reference_models, utility
from components.models.declarations import Forest, KerasNetwork, Linear, Logistic, Mlp, Tree, Xgboost
from components.models.encoded_model import EncodedModel
from schemas.faults import ConfigurationError, DataError

Several = Callable[..., Table]

FRAMEWORKS = {
    "scikit-learn": Forest(n_estimators=5),
    "torch": Mlp(hidden=[8], epochs=8),
    "keras": KerasNetwork(hidden=[8], epochs=4),
    "xgboost": Xgboost(n_estimators=5),
}


def alone(table: Table, name: str) -> Table:
    return Table(table.frame, table.schema.of_target(name))


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_together_they_say_what_each_says_alone_and_read_back(framework: str, several: Several, tmp_path: Path) -> None:
    params = FRAMEWORKS[framework]
    for task, table in (("classes", several("outcome", "visits")), ("numbers", several("cost", "days"))):
        names = table.schema.targets
        model = build(params, table.schema, 3).fit(table)
        single = [build(params, table.schema.of_target(name), 3).fit(alone(table, name)) for name in names]
        said = model.predict(table.frame)
        assert said.shape == (300, 2)
        for at, one in enumerate(single):
            assert (said[:, at] == one.predict(table.frame)).all()
        assert [target.column for target in model.targets] == list(names)
        files = model.save(tmp_path / task)
        assert sorted(files) == sorted(path for path in (tmp_path / task).rglob("*") if path.is_file())
        back = load(str(tmp_path / task))
        assert isinstance(back, JointModel)
        assert (back.trains, back.known_only, list(back.targets)) == (False, False, list(model.targets))
        assert (back.predict(table.frame) == said).all()
        for before, after in zip(scores_of(model, table), scores_of(back, table), strict=True):
            np.testing.assert_array_equal(before, after)


def scores_of(model: Model | JointModel, table: Table) -> list[Any]:
    found = model.scores(table.frame)
    assert isinstance(found, list)
    return found


def test_values_of_many_kinds_keep_their_kind(several: Several) -> None:
    table = several("outcome", "back", "visits", "grade")
    said = build(Tree(), table.schema, 0).fit(table).predict(table.frame)
    assert said.dtype == object
    assert [{type(value) for value in column} for column in said.T] == [{str}, {bool}, {int}, {str}]
    both = several("visits", "back")
    assert build(Tree(), both.schema, 0).fit(both).predict(both.frame).dtype == object
    assert (
        build(Tree(), several("cost", "days").schema, 0).fit(several("cost", "days")).predict(table.frame).dtype
        == np.float64
    )


def test_scores_are_those_of_each_target(several: Several) -> None:
    table = several("outcome", "grade")
    scores = scores_of(build(Logistic(), table.schema, 0).fit(table), table)
    assert [found.shape for found in scores] == [(300, 2), (300, 3)]
    assert scores_of(build(Tree(), several("cost", "days").schema, 0).fit(several("cost", "days")), table) == [
        None,
        None,
    ]


def test_no_model_sees_another_target(several: Several) -> None:
    table = several("outcome", "visits", "back")
    model = build(Tree(min_samples_leaf=1), table.schema, 0).fit(table)
    bare = table.frame[table.schema.features]
    assert set(bare.columns).isdisjoint(table.schema.targets)
    assert (model.predict(bare) == model.predict(table.frame)).all()


def test_the_order_of_rows_does_not_matter(several: Several, tmp_path: Path) -> None:
    table = several("outcome", "visits")
    for name, frame in (("one", table.frame), ("other", table.frame.sample(frac=1, random_state=1))):
        build(Forest(n_estimators=3), table.schema, 0).fit(Table(frame, table.schema)).save(tmp_path / name)
    files = [path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.*")]
    assert len(files) == 7
    assert all((tmp_path / "one" / file).read_bytes() == (tmp_path / "other" / file).read_bytes() for file in files)


def test_what_is_noted_and_learned_says_of_which_target(several: Several) -> None:
    table = several("outcome", "visits")
    rows = Table(table.frame[table.frame["visits"] == 1], table.schema)
    model = build(Tree(), table.schema, 0).fit(rows)
    assert model.notes == (
        f"visits: all {len(rows.frame)} train rows have one class; the model always gives that class",
    )
    assert list(model.learned) == []
    names = {"outcome", "age"}
    columns = [
        column.model_copy(update={"values": None, "min": None, "dtype": "text" if column.values else column.dtype})
        if column.name in names
        else column
        for column in table.schema.columns
    ]
    schema = table.schema.model_copy(update={"columns": columns})
    frame = table.frame.assign(outcome=table.frame["outcome"].astype("string"))
    assert set(build(Tree(), schema, 0, learn=True).fit(Table(frame, schema)).learned) == names
    with pytest.raises(ConfigurationError):
        build(Tree(), schema, 0)


def test_one_target_is_saved_as_ever(several: Several, tmp_path: Path) -> None:
    table = several("outcome")
    listed = table.schema.model_copy(update={"target": "outcome"})
    files = build(Tree(), listed, 0).fit(Table(table.frame, listed)).save(tmp_path)
    assert [path.name for path in files] == ["model.skops", "encoder.json", "model.json"]
    assert json.loads((tmp_path / "model.json").read_bytes())["target"]["column"] == "outcome"
    assert isinstance(load(tmp_path), EncodedModel)


def _changed(folder: Path) -> None:
    (folder / "target-2" / "encoder.json").write_bytes(b"{}")


def _described_anew(folder: Path) -> None:
    path = folder / "target-1" / "model.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"seed": 0', '"seed": 1'), encoding="utf-8")


def _exchanged(folder: Path) -> None:
    (folder / "target-1").rename(folder / "x")
    (folder / "target-2").rename(folder / "target-1")
    (folder / "x").rename(folder / "target-2")


def _gone(folder: Path) -> None:
    (folder / "target-2" / "model.json").unlink()


def _renamed(folder: Path) -> None:
    path = folder / "model.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"visits"', '"outcome"'), encoding="utf-8")


def _named_elsewhere(folder: Path) -> None:
    path = folder / "model.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"target-2"', '"../target-2"'), encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_changed, "encoder.json: not what model.json describes"),
        (_described_anew, r"target-1/model\.json: .*sha256 differs"),
        (_exchanged, r"target-1/model\.json: .*sha256 differs"),
        (_gone, r"target-2/model\.json: .*sha256 differs"),
        (_renamed, "other targets than the models are of"),
        (_named_elsewhere, "one model for each target"),
    ],
)
def test_a_changed_folder_is_refused(
    change: Callable[[Path], None], words: str, several: Several, tmp_path: Path
) -> None:
    table = several("outcome", "visits")
    build(Tree(), table.schema, 0).fit(table).save(tmp_path)
    change(tmp_path)
    with pytest.raises(DataError, match=words):
        load(tmp_path)


def test_figures_are_told_of_all_targets_and_of_each(several: Several) -> None:
    table = several("outcome", "visits")
    model = build(Tree(max_depth=1), table.schema, 0).fit(table)
    said, frame = model.predict(table.frame), table.frame
    found = {(figure.metric, figure.column): figure.value for figure in utility(model, table)}
    hits = [(said[:, at] == frame[name].to_numpy()) for at, name in enumerate(("outcome", "visits"))]
    assert found["accuracy", ""] == (hits[0] & hits[1]).mean()
    assert [found["accuracy", "outcome"], found["accuracy", "visits"]] == [hit.mean() for hit in hits]
    for name in ("outcome", "visits"):
        single = build(Tree(max_depth=1), table.schema.of_target(name), 0).fit(alone(table, name))
        own = {figure.metric: figure.value for figure in utility(single, alone(table, name))}
        assert own == {metric: value for (metric, column), value in found.items() if column == name}


def test_r2_of_several_targets_is_their_mean_as_scikit_learn_has_it(several: Several) -> None:
    table = several("cost", "days")
    model = build(Tree(max_depth=2), table.schema, 0).fit(table)
    figures = utility(model, table)
    whole = metrics.r2_score(table.frame[["cost", "days"]], model.predict(table.frame))
    assert figures[0].metric == "r2"
    assert figures[0].value == pytest.approx(whole)
    assert [figure.unit for figure in figures if figure.metric == "mae"] == ["EUR", ""]
    flat = Table(table.frame.assign(days=1.0), table.schema)
    first, *others = utility(model, flat)
    assert first.value is None
    assert "one value only" in first.note
    assert {figure.column for figure in others if figure.metric == "r2" and figure.value is None} == {"days"}


def test_reference_lines_learn_every_target(several: Several) -> None:
    for table in (several("outcome", "visits"), several("cost", "days")):
        for line in reference_models(table.schema, 0).values():
            assert line.fit(table).predict(table.frame).shape == (300, 2)


def test_a_fault_of_parameters_is_told_once(several: Several) -> None:
    schema = several("outcome", "visits").schema
    (fault,) = check(Linear(), schema)
    assert "not for classification" in fault.problem
    assert check(Tree(), schema) == []


@pytest.mark.parametrize(
    ("targets", "task", "odd"),
    [(("outcome", "cost"), "classification", "cost"), (("cost", "outcome"), "regression", "outcome")],
)
def test_a_class_and_a_number_are_no_targets_of_one_run(
    targets: tuple[str, ...], task: str, odd: str, several: Several
) -> None:
    schema = several(*targets).schema.model_copy(update={"task": task})
    for params in (Tree(), Mlp(), Xgboost()):
        (fault,) = check(params, schema)
        assert fault.place == "dataset.target"
        assert fault.problem.startswith(f"'{odd}' is a ")
        assert fault.problem.endswith(f"the task of all targets is {task}")


def test_the_only_target_of_a_schema_with_several_is_none(several: Several) -> None:
    with pytest.raises(ConfigurationError, match="2 targets, where one is learned"):
        Target.from_schema(several("outcome", "visits").schema)


def test_models_of_several_frameworks_make_one(several: Several, tmp_path: Path) -> None:
    table = several("outcome", "visits")
    one, other = (table.schema.of_target(name) for name in table.schema.targets)
    joint = JointModel([build(Tree(), one, 0), build(Xgboost(n_estimators=3), other, 0)]).fit(table)
    joint.save(tmp_path)
    assert (load(tmp_path).predict(table.frame) == joint.predict(table.frame)).all()


def test_no_rows_have_no_predictions(several: Several) -> None:
    table = several("outcome", "visits")
    nothing = table.frame.iloc[:0]
    assert build(Tree(), table.schema, 0).fit(table).predict(nothing).shape == (0, 2)


def test_a_schema_of_one_target_has_no_other(several: Several) -> None:
    schema = several("outcome", "visits").schema
    assert schema.of_target("visits").targets == ("visits",)
    assert "outcome" not in schema.of_target("visits").names()
    assert schema.of_target("visits").features == schema.features
