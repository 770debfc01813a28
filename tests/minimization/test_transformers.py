"""The scikit-learn transformers: their contract with scikit-learn, and the right values."""

import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from components.minimization import GreedyMinimizer, TreeMinimizer, dumps
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError

Frames = Callable[[int, int], pd.DataFrame]


@parametrize_with_checks(
    [
        TreeMinimizer(random_state=0),
        TreeMinimizer(target=0.5, min_rows=2, random_state=0),
        GreedyMinimizer(target=0.5, parts=4, back_steps=0, random_state=0),
    ]
)
def test_scikit_learn_accepts_it(estimator: Any, check: Callable[[Any], None], request: pytest.FixtureRequest):
    if "array_api" in request.node.name:
        pytest.skip("asks for an environment variable of SciPy; arrays of other libraries are no input here")
    check(estimator)


def numbers(rows: int = 3000, seed: int = 0) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(rows, 4)), columns=list("abcd"))


def sign(frame: Any) -> Any:
    """Answer as a function of rows: the sign of the sum of the first two columns."""
    values = np.asarray(frame)
    return np.where(values[:, 0] + values[:, 1] > 0, "plus", "minus")


def test_frames_come_out_as_frames_with_fewer_values_and_arrays_as_arrays():
    frame = numbers()
    minimizer = TreeMinimizer(sign, target=0.9, random_state=0).fit(frame)
    after = minimizer.transform(frame)
    assert list(after.columns) == list(frame.columns)
    assert after.index.equals(frame.index)
    assert (after.nunique() < 100).all()
    array = TreeMinimizer(sign, target=0.9, random_state=0).fit_transform(frame.to_numpy())
    np.testing.assert_array_equal(array, after.to_numpy())


def test_tells_what_it_found(tmp_path: Path):
    frame, fresh = numbers(), numbers(seed=1)
    minimizer = TreeMinimizer(sign, target=0.9, random_state=0).fit(frame)
    assert minimizer.score(fresh) >= 0.9
    assert minimizer.agreement_ >= 0.9
    assert 0.4 < minimizer.ncp_ <= 1
    assert minimizer.notes_[0] == "domains are taken from the rows: a, b, c, d"
    assert minimizer.generalizations_.attributes[2].collect == "nothing"
    assert minimizer.generalizations_.outputs[0].classes == ["minus", "plus"]
    path = tmp_path / "generalizations.json"
    path.write_bytes(dumps(minimizer.generalizations_))
    again = TreeMinimizer(generalizations=path)
    pd.testing.assert_frame_equal(again.transform(fresh), minimizer.transform(fresh))
    with pytest.raises(ValueError, match="no estimator"):
        again.score(fresh)
    assert TreeMinimizer(sign, generalizations=path).score(fresh) == minimizer.score(fresh)
    for given in (minimizer.generalizations_, minimizer.generalizer_, minimizer.generalizations_.model_dump()):
        pd.testing.assert_frame_equal(
            TreeMinimizer(generalizations=given).fit(fresh).transform(fresh), minimizer.transform(fresh)
        )


def test_predictions_alone_are_enough():
    frame, fresh = numbers(), numbers(seed=1)
    minimizer = TreeMinimizer(target=0.9, random_state=0).fit(frame, sign(frame))
    assert minimizer.score(fresh, sign(fresh)) >= 0.85
    with pytest.raises(ValueError, match="requires y"):
        TreeMinimizer().fit(frame)


def test_a_clone_shares_the_fitted_model_and_forgets_what_was_found():
    frame = numbers()
    model = DecisionTreeClassifier(random_state=0).fit(frame, sign(frame))
    minimizer = (
        TreeMinimizer(model, target=0.9, columns=["a"], random_state=0).set_output(transform="pandas").fit(frame)
    )
    copy = clone(minimizer)
    assert copy.estimator is model
    assert copy.get_params(deep=False) == minimizer.get_params(deep=False)
    with pytest.raises(NotFittedError):
        copy.transform(frame)
    pd.testing.assert_frame_equal(copy.fit(frame).transform(frame), minimizer.transform(frame))


def test_a_grid_over_targets_and_a_pipeline_with_a_model_work():
    frame = numbers(1200)
    model = DecisionTreeClassifier(min_samples_leaf=20, random_state=0).fit(frame, sign(frame))
    steps = [("minimizer", TreeMinimizer(model, random_state=0)), ("model", DecisionTreeClassifier(random_state=0))]
    search = GridSearchCV(Pipeline(steps), {"minimizer__target": [0.6, 0.95]}, cv=2).fit(frame, sign(frame))
    assert search.best_score_ > 0.8
    alone = GridSearchCV(TreeMinimizer(model, random_state=0), {"target": [0.6, 0.95]}, cv=2).fit(frame)
    assert alone.best_params_ == {"target": 0.95}


def test_the_encoder_may_be_inside_the_model(people: Frames):
    frame = people(2500, 0)[["age", "region", "smoker"]]
    told = np.where(frame["age"] + 30 * (frame["region"] == "west") > 60, "ill", "well")
    encoder = make_column_transformer((OneHotEncoder(), ["region"]), remainder="passthrough")
    model = make_pipeline(encoder, DecisionTreeClassifier(min_samples_leaf=10, random_state=0)).fit(frame, told)
    minimizer = TreeMinimizer(model, target=0.9, random_state=0).fit(frame)
    after = minimizer.transform(frame)
    assert after.dtypes.equals(frame.dtypes)
    assert len(set(after["smoker"])) == 1
    assert (model.predict(after) == model.predict(frame)).mean() > 0.9


def test_regression_is_told_by_the_estimator():
    frame = numbers()
    model = LinearRegression().fit(frame, frame["a"] * 3 + frame["b"])
    minimizer = TreeMinimizer(model, target=0.8, random_state=0).fit(frame)
    assert minimizer.score(numbers(seed=1)) >= 0.8
    assert minimizer.generalizations_.outputs == []
    several = DecisionTreeRegressor(max_depth=4, random_state=0).fit(frame, frame[["a", "b"]])
    assert TreeMinimizer(several, target=0.8, random_state=0).fit(frame).score(numbers(seed=1)) >= 0.8


def test_several_outputs_agree_together():
    frame = numbers()
    told = np.column_stack([frame["a"] > 0, frame["b"] > 0])
    model = RandomForestClassifier(5, random_state=0).fit(frame, told)
    minimizer = TreeMinimizer(model, target=0.9, random_state=0).fit(frame)
    after, before = model.predict(minimizer.transform(frame)), model.predict(frame)
    assert (after == before).all(axis=1).mean() > 0.9


def test_one_hot_columns_of_a_group_move_together():
    random = np.random.default_rng(0)
    home = random.integers(0, 3, 2000)
    frame = pd.DataFrame({f"home_{place}": (home == place).astype(int) for place in range(3)})
    frame["age"] = random.integers(18, 80, 2000)

    def model(rows: pd.DataFrame) -> Any:
        return (rows["home_1"] == 1) & (rows["age"] > 40)

    groups = {"home": ["home_0", "home_1", "home_2"]}
    minimizer = TreeMinimizer(model, groups=groups, target=0.95, random_state=0).fit(frame)
    after = minimizer.transform(frame)
    assert (after[groups["home"]].sum(axis=1) == 1).all()
    assert [each.name for each in minimizer.generalizer_.attributes] == ["home", "age"]
    listed = TreeMinimizer(model, groups=list(groups.values()), target=0.95, random_state=0).fit(frame)
    pd.testing.assert_frame_equal(listed.transform(frame), after)


def test_column_names_that_run_together_are_told_apart():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.choice(["b_c", "d"], 2000), "a_b": random.choice(["c", "e", "f"], 2000)})

    def model(rows: pd.DataFrame) -> Any:
        return (rows["a"] == "b_c") ^ (rows["a_b"] == "c")

    minimizer = TreeMinimizer(model, target=0.95, random_state=0).fit(frame)
    assert (model(minimizer.transform(frame)) == model(frame)).all()
    collected = {each.name: each.groups for each in minimizer.generalizations_.attributes}
    assert collected["a_b"] == [["c"], ["e", "f"]]


def test_only_age_to_minimise_leaves_every_other_column_identical():
    frame = numbers().rename(columns={"a": "age"})
    after = TreeMinimizer(sign, columns=["age"], target=0.9, random_state=0).fit_transform(frame)
    pd.testing.assert_frame_equal(after.drop(columns="age"), frame.drop(columns="age"))
    assert not after["age"].equals(frame["age"])


def test_cells_can_be_given_without_fitting():
    columns = {
        "age": {"dtype": "integer", "role": "insensitive", "min": 0, "max": 99},
        "kind": {"dtype": "category", "role": "insensitive", "values": ["x", "y", "z"], "nullable": True},
    }
    schema = DatasetSchema.model_validate({"name": "made", "source": None, "columns": columns})
    cells = [
        {"regions": {"age": {"end": 5}}, "representative": {"age": 3, "kind": "x"}},
        {"regions": {"age": {"start": 5}, "kind": {"values": ["y"]}}, "representative": {"age": 50, "kind": "y"}},
        {"regions": {"age": {"start": 5}, "kind": {"missing": True}}, "representative": {"age": 60, "kind": None}},
    ]
    frame = pd.DataFrame({"age": [5, 6, 7, 8], "kind": ["z", "y", "x", None], "rest": range(4)})
    after = TreeMinimizer(schema=schema, cells=cells).transform(frame)
    assert after["age"].tolist() == [3, 50, 50, 60]  # the third is in no cell, and gets the middle of the domain
    assert after["kind"].isna().tolist() == [False, False, False, True]
    assert after["kind"].tolist()[:3] == ["x", "y", "x"]
    assert after["rest"].tolist() == frame["rest"].tolist()
    with pytest.raises(DataError, match="1 of 4 rows are in no cell"):
        TreeMinimizer(schema=schema, cells=cells, outside="refuse").transform(frame)
    with pytest.raises(ConfigurationError, match="cells need the schema"):
        TreeMinimizer(cells=cells).transform(frame)
    strange = [{"regions": {"kind": {"values": ["?"]}}, "representative": {"age": 1, "kind": "x"}}]
    with pytest.raises(ConfigurationError, match="what they hold") as caught:
        TreeMinimizer(schema=schema, cells=strange).transform(frame)
    assert "?" not in str(caught.value)


def test_a_declared_schema_keeps_values_of_rows_out(people: Frames, people_schema: DatasetSchema, rule: Any):
    frame = people(2000, 0).drop(columns="outcome")
    minimizer = TreeMinimizer(
        lambda rows: rule(rows)[:, 0], schema=people_schema, columns=["age", "income"], target=0.85, random_state=0
    ).fit(frame)
    assert not any(each.learned for each in minimizer.generalizer_.attributes)
    assert not any("domains" in note for note in minimizer.notes_)
    assert not minimizer.transform(frame)["income"].isin(frame["income"]).any()


def test_the_order_of_rows_does_not_matter():
    frame = numbers(1500)
    one = TreeMinimizer(sign, target=0.9, random_state=0).fit(frame)
    two = TreeMinimizer(sign, target=0.9, random_state=0).fit(frame.sample(frac=1, random_state=1))
    assert one.generalizations_ == two.generalizations_


def test_the_caller_s_rows_are_not_written_to():
    frame = numbers(1000)
    before = frame.copy(deep=True)
    minimizer = TreeMinimizer(sign, target=0.8, random_state=0).fit(frame)
    minimizer.transform(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_a_fitted_one_can_be_pickled():
    frame = numbers(1000)
    minimizer = TreeMinimizer(target=0.8, random_state=0).fit(frame, sign(frame))
    again = pickle.loads(pickle.dumps(minimizer))  # noqa: S301  # made here
    pd.testing.assert_frame_equal(again.transform(frame), minimizer.transform(frame))
    assert again.score(frame) == minimizer.score(frame)


def test_what_can_not_be_minimised_is_told_by_column_without_values():
    frame = numbers(100).assign(odd=[{"secret": 1}] * 100, twice=1)
    with pytest.raises(DataError, match=r"column 'odd': holds object cells") as caught:
        TreeMinimizer(sign).fit(frame)
    assert "secret" not in str(caught.value)
    with pytest.raises(DataError, match="column 'a': stands twice"):
        TreeMinimizer(sign).fit(frame.drop(columns="odd").rename(columns={"twice": "a"}))


@pytest.mark.parametrize("minimizer", [TreeMinimizer(target=1.5), GreedyMinimizer(parts=1)])
def test_a_wrong_parameter_is_told_in_a_sentence(minimizer: Any):
    with pytest.raises(ConfigurationError) as told:
        minimizer.fit(numbers(50), sign(numbers(50)))
    assert str(told.value).startswith(("target: ", "parts: "))


def test_the_greedy_one_finds_what_is_not_needed():
    rows = numbers(2000)
    found = GreedyMinimizer(sign, target=0.9, random_state=0).fit(rows)
    left = found.transform(rows)
    assert left[["c", "d"]].nunique().tolist() == [1, 1]
    assert (sign(left) == sign(rows)).mean() >= 0.9


@pytest.mark.parametrize("target", [0.6, 0.99])
def test_what_stands_in_for_a_model_is_named_with_its_own_agreement(target: float) -> None:
    """Predictions that follow from nothing can't be learned, and nothing else is to blame."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.integers(0, 100, 2000), "b": random.integers(0, 100, 2000)})
    said = (frame["a"] > 50) ^ (random.random(2000) < 0.1)
    fitted = TreeMinimizer(target=target, random_state=0).fit(frame, said.to_numpy())
    (note,) = [note for note in fitted.notes_ if "stands in" in note]
    own = float(re.findall(r"agreement (0\.\d+)", note)[0])
    assert 0.7 < own < 0.9
    assert ("no target of 0.99 can be kept" in note) == (own < target)
    assert not any("stands in" in note for note in TreeMinimizer(lambda rows: rows["a"] > 50).fit(frame).notes_)


@pytest.mark.parametrize("given", [{}, {"schema_version": 9}, {"method": "SECRET-7731", "attributes": "SECRET-7731"}])
def test_generalizations_that_are_none_are_refused_without_their_values(given: dict[str, Any]) -> None:
    with pytest.raises(
        DataError, match=r"generalizations.json: (does not say what to collect|is of version 9)"
    ) as caught:
        TreeMinimizer(generalizations=given).transform(pd.DataFrame({"a": [1]}))
    assert "SECRET" not in str(caught.value)
