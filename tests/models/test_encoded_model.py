"""Fitting and predicting: in the table's own values, whatever the estimator and the order of rows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.data.table import Table
from components.models import JointModel, build, load
from components.models.declarations import AnySklearn, Boosting, Forest, Linear, Logistic, Tree
from components.models.encoded_model import EncodedModel
from components.randomness import derived_seed
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError

CANARY = "ZZ-CANARY-7731"

Patients = Callable[..., Table]
Schemas = Callable[..., DatasetSchema]

READY = [Tree(), Forest(n_estimators=5), Logistic(), Boosting(max_iter=5)]
READY_REGRESSORS = [Tree(), Forest(n_estimators=5), Linear(), Boosting(max_iter=20)]


def name_of(params: Any) -> str:
    return str(getattr(params, "estimator", params.name))


@pytest.mark.parametrize("params", READY, ids=name_of)
@pytest.mark.parametrize(
    ("target", "classes"),
    [
        ("outcome", ("well", "ill")),
        ("grade", ("none", "some", "much")),
        ("back", (False, True)),
        ("visits", (0, 1, 2)),
    ],
)
def test_classes_are_predicted_as_the_values_of_the_table(
    patients: Patients, params: Any, target: str, classes: tuple[Any, ...]
) -> None:
    train, test = patients(target), patients(target, seed=1)
    model = build(params, train.schema, 0).fit(train)
    predicted = model.predict(test.frame)
    assert tuple(model.classes) == classes
    assert set(predicted.tolist()) <= set(classes)
    assert (predicted == test.frame[target].to_numpy()).mean() > 0.75


@pytest.mark.parametrize("params", READY_REGRESSORS, ids=name_of)
def test_numbers_are_predicted_as_floats(patients: Patients, params: Any) -> None:
    train, test = patients("cost"), patients("cost", seed=1)
    model = build(params, train.schema, 0).fit(train)
    predicted = model.predict(test.frame)
    assert predicted.dtype == np.float64
    assert model.classes == ()
    assert model.scores(test.frame) is None
    assert np.abs(predicted - test.frame["cost"]).mean() < 60  # the constant line: about 110


def test_scores_are_probabilities_over_the_declared_classes(patients: Patients, schema_of: Schemas) -> None:
    train = patients("grade")
    schema = schema_of("grade", values=["none", "never seen", "some", "much"])
    frame = train.frame.assign(grade=train.frame["grade"].astype("str"))
    model = build(Tree(), schema, 0).fit(Table(frame, schema))
    scores = model.scores(frame)
    assert scores is not None
    assert scores.sum(axis=1) == pytest.approx(1)
    assert (scores[:, 1] == 0).all()
    assert (np.array(model.classes, dtype=object)[scores.argmax(axis=1)] == model.predict(frame)).all()


def test_scores_of_a_decision_function_rank_the_classes(patients: Patients) -> None:
    for target in ("outcome", "grade"):
        train = patients(target)
        model = build(AnySklearn(estimator="LinearSVC"), train.schema, 0).fit(train)
        scores = model.scores(train.frame)
        assert scores is not None
        assert (np.array(model.classes, dtype=object)[scores.argmax(axis=1)] == model.predict(train.frame)).all()


def test_an_estimator_without_scores_per_class_has_none(patients: Patients) -> None:
    params = AnySklearn(estimator="SVC", params={"decision_function_shape": "ovo"})
    four = patients("grade").frame
    four["grade"] = pd.Series(np.arange(len(four)) % 4).map(dict(enumerate("abcd"))).astype("str")
    columns = [column.model_dump() for column in patients("grade").schema.columns]
    columns[-1]["values"] = list("abcd")
    schema = DatasetSchema(name="x", source=None, columns=columns, target="grade", task="classification")
    assert build(params, schema, 0).fit(Table(four, schema)).scores(four) is None


@pytest.mark.parametrize("params", [*READY, AnySklearn(estimator="MLPClassifier")], ids=name_of)
def test_the_order_of_train_rows_does_not_matter(patients: Patients, params: Any) -> None:
    train, test = patients(rows=200), patients(rows=100, seed=1)
    turned = Table(train.frame.sample(frac=1, random_state=5), train.schema)
    first, second = (build(params, train.schema, 3).fit(rows) for rows in (train, turned))
    assert (first.scores(test.frame) == second.scores(test.frame)).all()


@given(st.permutations(range(12)))
@settings(deadline=None, max_examples=25)
def test_no_permutation_of_few_rows_with_ties_matters(order: list[int]) -> None:
    schema = DatasetSchema(
        name="ties",
        source=None,
        columns=[
            {"name": "x", "dtype": "integer", "role": "insensitive", "min": 0, "max": 3},
            {"name": "y", "dtype": "category", "role": "sensitive", "values": ["a", "b"]},
        ],
        target="y",
        task="classification",
    )
    frame = pd.DataFrame(
        {"x": np.arange(12) % 4, "y": pd.Categorical(list("ab" * 3 + "bbaaba"), categories=["a", "b"])}
    )
    params = AnySklearn(estimator="KNeighborsClassifier", params={"n_neighbors": 2})
    whole, turned = (build(params, schema, 0).fit(Table(rows, schema)) for rows in (frame, frame.iloc[order]))
    assert (whole.scores(frame) == turned.scores(frame)).all()


def test_folds_cut_by_an_estimator_are_not_cut_from_sorted_rows(patients: Patients) -> None:
    """LassoCV takes consecutive rows as folds; on sorted rows it would pick another penalty than on shuffled ones."""
    train = patients("cost")
    model = build(AnySklearn(estimator="LassoCV"), train.schema, 0).fit(train)
    assert np.corrcoef(model.predict(train.frame), train.frame["cost"])[0, 1] > 0.9
    errors = model.fitted.engine.estimator.mse_path_[-1]  # of least penalty, by fold
    assert errors.max() < 2 * errors.min()


def test_the_seed_decides(patients: Patients) -> None:
    train = patients()
    scores = [build(Forest(n_estimators=3), train.schema, seed).fit(train).scores(train.frame) for seed in (0, 0, 1)]
    assert (scores[0] == scores[1]).all()
    assert (scores[0] != scores[2]).any()


@pytest.mark.parametrize("seed", [0, 9])
def test_the_estimator_draws_from_the_stream_named_model(patients: Patients, seed: int) -> None:
    train = patients(rows=60)
    for params in (Tree(), Forest(n_estimators=3), AnySklearn(estimator="SGDClassifier")):
        model = build(params, train.schema, seed).fit(train)
        assert model.engine.estimator.random_state == derived_seed(seed, "model")
        assert model.fitted.engine.estimator.random_state == derived_seed(seed, "model")


def test_rows_are_shuffled_by_the_stream_named_model_order(patients: Patients, monkeypatch: pytest.MonkeyPatch) -> None:
    train = patients(rows=60)
    drawn = Mock(wraps=np.random.default_rng)
    monkeypatch.setattr(np.random, "default_rng", drawn)
    build(Tree(), train.schema, 9).fit(train)
    drawn.assert_called_once_with(derived_seed(9, "model-order"))


def test_a_random_state_of_the_user_is_kept(patients: Patients) -> None:
    schema = patients().schema
    fixed = AnySklearn(estimator="RandomForestClassifier", params={"random_state": 11})
    unset = AnySklearn(estimator="RandomForestClassifier", params={"random_state": None})
    assert build(fixed, schema, 0).engine.estimator.random_state == 11
    assert build(unset, schema, 0).engine.estimator.random_state is not None


def test_neither_frame_nor_model_declaration_is_written_to(patients: Patients) -> None:
    train = patients()
    before = train.frame.copy(deep=True)
    model = build(Tree(), train.schema, 0).fit(train)
    model.predict(train.frame)
    pd.testing.assert_frame_equal(train.frame, before)


@pytest.mark.parametrize(
    "params", [*READY, AnySklearn(estimator="SVC"), AnySklearn(estimator="LinearDiscriminantAnalysis")], ids=name_of
)
def test_train_rows_of_one_class_give_a_constant_that_says_so(patients: Patients, params: Any) -> None:
    train = patients()
    one = Table(train.frame[train.frame["outcome"] == "ill"], train.schema)
    model = build(params, train.schema, 0).fit(one)
    assert set(model.predict(train.frame)) == {"ill"}
    scores = model.scores(train.frame)
    assert scores is not None
    assert (scores == [0, 1]).all()
    assert model.notes == (f"all {len(one.frame)} train rows have one class; the model always gives that class",)


def test_regression_on_one_value_gives_that_value(patients: Patients) -> None:
    train = patients("cost", rows=30)
    one = Table(train.frame.assign(cost=7.5), train.schema)
    assert build(Linear(), train.schema, 0).fit(one).predict(train.frame) == pytest.approx(7.5)


def test_no_rows_have_no_predictions(patients: Patients) -> None:
    for target, classes in (("grade", 3), ("back", 2), ("cost", 0)):
        train = patients(target, rows=40)
        model = build(Tree(), train.schema, 0).fit(train)
        none = train.frame.iloc[:0]
        assert model.predict(none).dtype == model.predict(train.frame).dtype
        assert len(model.predict(none)) == 0
        assert classes == 0 or np.shape(model.scores(none)) == (0, classes)


def test_an_engine_that_does_not_ask_for_it_learns_the_numbers_as_they_are(
    patients: Patients, schema_of: Schemas
) -> None:
    schema = schema_of("cost", min=None, max=None)
    frame = patients("cost", rows=40).frame
    model = build(Tree(min_samples_leaf=1), schema, 0).fit(Table(frame, schema))
    assert model.learned == ()
    assert (model.predict(frame) == frame["cost"]).all()


def test_no_train_rows_are_refused(patients: Patients) -> None:
    train = patients(rows=5)
    with pytest.raises(DataError, match="0 rows"):
        build(Tree(), train.schema, 0).fit(Table(train.frame.iloc[:0], train.schema))


def test_missing_and_undeclared_classes_are_refused_without_their_values(patients: Patients) -> None:
    train = patients(rows=5)
    for cells, words in (([None] * 5, "5 of 5 cells are missing"), ([CANARY] * 5, "doesn't declare")):
        wrong = Table(train.frame.assign(outcome=pd.Series(cells, dtype="str")), train.schema)
        with pytest.raises(DataError, match=words) as caught:
            build(Tree(), train.schema, 0).fit(wrong)
        assert CANARY not in str(caught.value)


def test_class_weights_are_given_by_class(patients: Patients) -> None:
    train = patients("grade")
    weighted = AnySklearn(estimator="LogisticRegression", params={"class_weight": {"some": 1, "none": 1, "much": 99}})
    plain = AnySklearn(estimator="LogisticRegression")
    heavy, even = (
        (build(params, train.schema, 0).fit(train).predict(train.frame) == "much").mean()
        for params in (weighted, plain)
    )
    assert heavy > even + 0.1


def test_what_scikit_learn_raises_is_told_in_our_words(patients: Patients) -> None:
    train = patients()
    model = build(AnySklearn(estimator="GaussianNB", params={"priors": [0.5, 0.4]}), train.schema, 0)
    with pytest.raises(ConfigurationError, match=r"GaussianNB can't be fitted on these rows \(ValueError\)") as caught:
        model.fit(train)
    assert caught.value.__suppress_context__
    assert "priors" not in str(caught.value)  # the library's words can hold cells
    assert "priors" in caught.value.faults[0].values  # no frame


def test_rows_that_an_estimator_cannot_predict_are_told_in_our_words(patients: Patients) -> None:
    train = patients(rows=20)
    params = AnySklearn(estimator="RadiusNeighborsClassifier", params={"radius": 1e-9})
    model = build(params, train.schema, 0).fit(train)
    with pytest.raises(ConfigurationError, match="RadiusNeighborsClassifier can't predict these rows"):
        model.predict(patients(rows=20, seed=1).frame)


def test_a_solver_that_stops_early_is_noted_and_not_warned_of(patients: Patients) -> None:
    train = patients()
    model = build(Logistic(max_iter=1), train.schema, 0).fit(train)
    assert model.notes == ("LogisticRegression stopped before it converged; raise max_iter",)


def test_each_fit_starts_anew(patients: Patients) -> None:
    first, second = patients(seed=0), patients(seed=1)
    model = build(Forest(n_estimators=3), first.schema, 0)
    before = model.fit(first).scores(first.frame)
    earlier = model.fitted.engine.estimator
    assert (model.fit(second).scores(first.frame) != before).any()
    assert (model.fit(first).scores(first.frame) == before).all()
    assert model.fitted.engine.estimator is not earlier


def test_what_the_schema_leaves_open_is_refused_or_learned(patients: Patients, schema_of: Schemas) -> None:
    schema = schema_of("outcome", values=None)
    train = patients()
    frame = train.frame.assign(outcome=train.frame["outcome"].astype("str"))
    with pytest.raises(ConfigurationError, match=r"encoder\.learn=true"):
        build(Tree(), schema, 0)
    model = build(Tree(), schema, 0, learn=True).fit(Table(frame, schema))
    assert model.learned == ("outcome",)
    assert tuple(model.classes) == ("ill", "well")
    assert build(Tree(), train.schema, 0, learn=True).fit(train).learned == ()


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("column", ["sex", "age"])
def test_a_model_of_generalised_columns_does_not_answer_from_its_files(
    several: Patients, schema_of: Schemas, tmp_path: Path, count: int, column: str
) -> None:
    """Rows as they are would be taken for others, in silence."""
    models = [encoded_tree(schema_of(target)) for target in ("outcome", "grade")]
    model = models[0] if count == 1 else JointModel(models)
    model.generalised = (column,)
    table = several("outcome", "grade", rows=80)
    model.fit(table).save(tmp_path)
    assert len(model.predict(table.frame)) == 80
    loaded = load(tmp_path)
    assert loaded.generalised == (column,)
    for ask in (loaded.predict, loaded.scores):
        with pytest.raises(DataError, match=rf"model: was taught generalised columns \({column}\), .*guided"):
            ask(table.frame)


def encoded_tree(schema: DatasetSchema) -> EncodedModel:
    model = build(Tree(), schema, seed=0)
    assert isinstance(model, EncodedModel)
    return model
