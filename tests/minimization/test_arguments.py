"""What the transformers are given: parameters, and what their models answer."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from components.minimization import GreedyMinimizer, TreeMinimizer
from schemas.faults import ConfigurationError, DataError

KINDS = [TreeMinimizer, GreedyMinimizer]


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"age": random.integers(18, 90, 600), "b": random.normal(size=600)})
    return frame.assign(own=(frame["b"] > 0) * 1, rent=(frame["b"] <= 0) * 1)


def old(frame: pd.DataFrame) -> Any:
    return np.where(frame["age"] > 50, "old", "young")


def refused(kind: Any, frame: pd.DataFrame, **given: Any) -> list[tuple[str, str, str]]:
    """Return place, problem and remedy of all that is wrong."""
    with pytest.raises(ConfigurationError) as told:
        kind(old, **({"groups": {"house": ["own", "rent"]}, "target": 0.9} | given)).fit(frame)
    return [(fault.place, fault.problem, fault.remedy) for fault in told.value.faults]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", [0, -1, np.nan, np.inf, "2", True, None])
def test_a_weight_is_a_positive_number(kind: Any, weight: Any, rows: pd.DataFrame) -> None:
    assert refused(kind, rows, weights={"age": weight}) == [("weights.age", "is no weight", "")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_weight_is_of_an_attribute(kind: Any, rows: pd.DataFrame) -> None:
    assert refused(kind, rows, weights={"agee": 2, "own": 2}) == [
        ("weights", "'agee' is no column of the rows", "did you mean age?"),
        ("weights", "'own' is a one-hot column of a group", ""),
    ]
    assert refused(kind, rows, weights=[1, 2])[0][:2] == ("weights", "is a list")
    given = {"weights": {"house": np.float32(2), "age": 3}, "groups": {"house": ["own", "rent"]}}
    kind(old, target=0.9, random_state=0, **given).fit(rows)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [-0.5, 0, 1, 1.5, "x", np.nan, None])
def test_a_share_to_calibrate_on_leaves_rows_on_both_sides(kind: Any, share: Any, rows: pd.DataFrame) -> None:
    assert [place for place, _, _ in refused(kind, rows, calibration_share=share)] == ["calibration_share"]


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_one_name_or_several(kind: Any, rows: pd.DataFrame) -> None:
    assert refused(kind, rows, columns=[])[0][0] == "columns"
    assert refused(kind, rows, columns=5)[0][0] == "columns"
    assert refused(kind, rows, columns="agee") == [("columns", "'agee' is no column of the rows", "did you mean age?")]
    assert refused(kind, rows, columns=["age", "age"])[0][:2] == ("columns", "'age' is named 2 times")
    one = kind(old, columns="age", target=0.9, random_state=0).fit(rows)
    assert [each.name for each in one.generalizations_.attributes] == ["age"]
    again = kind(old, columns=pd.Index(["age"]), target=0.9, random_state=0).fit(rows)
    assert again.generalizations_ == one.generalizations_


@pytest.mark.parametrize("kind", KINDS)
def test_what_describes_the_rows_is_of_its_kind(kind: Any, rows: pd.DataFrame) -> None:
    assert [place for place, _, _ in refused(kind, rows, schema=5, groups=5, cells=5)] == ["schema", "groups", "cells"]
    for groups in ("own", [5], {"house": "own"}, [["own", 5]], {"house": None}):
        assert refused(kind, rows, groups=groups) == [("groups", "don't list columns", "")]
    assert refused(kind, rows, cells="all")[0][:2] == ("cells", "are a str")


def test_all_that_is_wrong_is_told_at_once(rows: pd.DataFrame) -> None:
    wrong = {"target": 2, "min_rows": 0, "calibration_share": 0, "columns": [], "weights": {"agee": 0}}
    places = [place for place, _, _ in refused(TreeMinimizer, rows, **wrong)]
    assert places == ["columns", "min_rows", "calibration_share", "target", "weights", "weights.agee"]


@pytest.mark.parametrize(("count", "target"), [(600, 0.95), (300, 0.9)])
def test_no_target_is_the_strictest_that_as_many_rows_can_show(rows: pd.DataFrame, count: int, target: float) -> None:
    some = rows.head(count)
    found, told = (TreeMinimizer(old, target=each, random_state=0).fit(some) for each in (None, target))
    assert found.generalizations_ == told.generalizations_


def test_no_target_and_too_few_rows_to_show_one_is_refused(rows: pd.DataFrame) -> None:
    problem = "none is given, and 3 rows to calibrate on can show none"
    assert refused(TreeMinimizer, rows.head(10), target=None) == [("target", problem, "")]


def test_a_column_is_of_one_group(rows: pd.DataFrame) -> None:
    with pytest.raises(DataError, match="column 'own': is listed twice in groups"):
        TreeMinimizer(old, groups={"g": ["own", "rent"], "h": ["own"]}).fit(rows)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("answer", "regression", "problem"),
    [
        (lambda frame: old(frame)[:-1], None, r"gives an output of shape \(599,\)"),
        (lambda _: None, None, r"gives an output of shape \(\)"),
        (lambda _: 1, None, r"gives an output of shape \(\)"),
        (lambda frame: np.zeros((len(frame), 1, 1)), None, r"gives an output of shape \(600, 1, 1\)"),
        (lambda frame: np.zeros((len(frame), 0)), None, r"gives an output of shape \(600, 0\)"),
        (lambda frame: [[1]] * (len(frame) - 1) + [[1, 2]], None, "rows of several lengths"),
        (lambda frame: np.full(len(frame), np.nan), None, "600 of 600 rows an answer that is missing"),
        (lambda frame: pd.Series(old(frame)).replace("old", None), None, r"\d+ of 600 rows an answer that is missing"),
        (lambda frame: np.where(frame["age"] > 50, np.inf, 1.0), True, r"\d+ of 600 rows an answer .* infinite"),
        (lambda frame: np.where(frame["age"] > 50, 1e308, -1e308), True, "too large to be squared"),
        (lambda frame: np.array([1, "Zebedee-4711"] * 300, dtype=object)[: len(frame)], False, "several kinds"),
        (old, True, "no numbers"),
    ],
)
def test_what_is_no_answer_is_told_in_a_sentence(
    kind: Any, answer: Callable[[pd.DataFrame], Any], *, regression: bool | None, problem: str, rows: pd.DataFrame
) -> None:
    with pytest.raises(ConfigurationError, match=rf"^model: gives .*{problem.removeprefix('gives ')}") as told:
        kind(answer, regression=regression, target=0.9).fit(rows)
    assert "4711" not in str(told.value)


def test_an_answer_of_another_shape_than_before_is_told(rows: pd.DataFrame) -> None:
    made = TreeMinimizer(old, target=0.9, random_state=0).fit(rows)
    with pytest.raises(ConfigurationError, match=r"gives an output of shape \(600, 2\); 1 outputs, as before"):
        made.predicting_.answers(np.zeros((600, 2)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "answer",
    [
        lambda frame: np.where(frame["age"] > frame["age"].mean(), "old", "young"),
        lambda frame: np.arange(len(frame)) % 2,
        lambda frame: (frame["age"] - frame["age"].mean()).to_numpy(),
    ],
    ids=["the mean", "the place", "less the mean"],
)
def test_an_answer_that_hangs_on_other_rows_is_refused_by_count(kind: Any, answer: Any, rows: pd.DataFrame) -> None:
    with pytest.raises(ConfigurationError, match=r"model: [1-9]\d* of 300 rows get another answer"):
        kind(answer, target=0.9, random_state=0).fit(rows)
