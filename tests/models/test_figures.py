"""Figures: oracle values worked by hand, scikit-learn as a second opinion, and undefined ones said."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn import metrics

from components.data.table import Table
from components.models import Figure, Target, utility
from schemas.dataset import DatasetSchema
from schemas.faults import DataError

SCHEMA = DatasetSchema(name="x", source=None, columns=[{"name": "y", "dtype": "text", "role": "sensitive"}])


class Stored:
    """Gives stored predictions and scores."""

    learned = notes = ()

    def __init__(self, target: Target, predicted: Any, scores: Any = None) -> None:
        self.targets = [target]
        self.predicted = predicted
        self.stored = scores

    def predict(self, frame: pd.DataFrame) -> Any:  # noqa: ARG002
        return np.asarray(self.predicted)

    def scores(self, frame: pd.DataFrame) -> Any:  # noqa: ARG002
        return self.stored


def judged(truth: Any, predicted: Any, scores: Any = None, classes: tuple[str, ...] = ()) -> dict[str, Figure]:
    """Return the figures of stored predictions by name."""
    target = (
        Target(column="y", task="classification", dtype="category", classes=classes)
        if classes
        else Target(column="y", task="regression", dtype="number", unit="EUR")
    )
    cells = pd.Series(truth, dtype="str" if classes else "float64")
    model: Any = Stored(target, predicted, None if scores is None else np.asarray(scores, dtype=float))
    return {figure.metric: figure for figure in utility(model, Table(pd.DataFrame({"y": cells}), SCHEMA))}


def test_two_classes_by_hand() -> None:
    scores = [[0.1, 0.9], [0.2, 0.8], [0.4, 0.6], [0.7, 0.3], [0.6, 0.4]]
    found = judged(list("bbbba"), list("bbbaa"), scores, ("a", "b"))
    assert found["accuracy"].value == 0.8
    assert found["balanced_accuracy"].value == pytest.approx((3 / 4 + 1) / 2)
    assert found["f1"].value == pytest.approx(6 / 7)  # precision 1, recall 3/4
    assert found["auc"].value == 0.75  # 3 of 4 pairs in order


def test_the_exact_interval_of_a_share() -> None:
    """Clopper and Pearson: 0 of 10 is [0, 1 - .025 ** .1]; 10 of 10 mirrors it; 1 of 2 is [1 - .975 ** .5, ...]."""
    none = judged(["a"] * 10, ["b"] * 10, classes=("a", "b"))["accuracy"]
    assert (none.value, none.low) == (0, 0)
    assert none.high == pytest.approx(1 - 0.025**0.1)
    every = judged(["a"] * 10, ["a"] * 10, classes=("a", "b"))["accuracy"]
    assert (every.value, every.high) == (1, 1)
    assert every.low == pytest.approx(0.025**0.1)
    half = judged(["a", "a"], ["a", "b"], classes=("a", "b"))["accuracy"]
    assert (half.low, half.high) == pytest.approx((1 - 0.975**0.5, 0.975**0.5))


def test_regression_by_hand() -> None:
    found = judged([0.0, 2.0, 4.0], [1.0, 1.0, 4.0])
    assert found["mae"].value == pytest.approx(2 / 3)
    assert found["mre"].value == pytest.approx(0.25)  # over the two values that aren't 0
    assert found["rmse"].value == pytest.approx((2 / 3) ** 0.5)
    assert found["r2"].value == pytest.approx(1 - 2 / 8)
    assert [found[name].unit for name in ("mae", "mre", "rmse", "r2")] == ["EUR", "", "EUR", ""]


def test_the_interval_of_a_mean_is_students() -> None:
    """Errors 1 and 3: mean 2, standard error 1, t(.975, 1) = 12.706; an error can't be negative."""
    mae = judged([0.0, 0.0], [1.0, 3.0])["mae"]
    assert (mae.low, mae.high) == (0, pytest.approx(2 + 12.7062, abs=1e-4))
    rmse = judged([0.0, 0.0], [1.0, 3.0])["rmse"]
    assert rmse.high == pytest.approx((5 + 12.7062 * 4) ** 0.5, abs=1e-4)


def test_a_single_row_has_no_interval() -> None:
    found = judged([2.0], [3.0])
    assert (found["mae"].value, found["mae"].low, found["rmse"].high) == (1, None, None)


def test_what_is_undefined_has_no_value_and_says_why() -> None:
    assert judged([0.0, 0.0], [1.0, 1.0])["mre"] == Figure("mre", None, note="every value is 0")
    assert judged([3.0, 3.0], [1.0, 2.0])["r2"].note == "these rows hold one value only"
    one = judged(["a", "a"], ["a", "a"], [[1, 0], [1, 0]], ("a", "b"))
    assert one["auc"].note == "these rows hold one class only"
    assert one["f1"].note == "the positive class neither occurs nor is predicted"
    assert judged(["a", "b"], ["a", "a"], None, ("a", "b"))["auc"].note == "the model gives no scores"
    assert all(figure.value is None for figure in (one["auc"], one["f1"]))


def test_a_class_that_the_model_does_not_know_counts_as_missed() -> None:
    found = judged(["a", "b", "new", "new"], ["a", "b", "a", "b"], [[1, 0], [0, 1], [1, 0], [0, 1]], ("a", "b"))
    assert found["accuracy"].value == 0.5
    assert found["balanced_accuracy"].value == pytest.approx(2 / 3)


@pytest.mark.parametrize(("dtype", "classes"), [("boolean", (False, True)), ("integer", (3, 7)), ("text", ("1", "0"))])
def test_classes_of_every_dtype_are_counted(dtype: Any, classes: tuple[Any, ...]) -> None:
    target = Target(column="y", task="classification", dtype=dtype, classes=classes)
    model: Any = Stored(target, target.decode(np.array([0, 1, 1])))
    frame = pd.DataFrame({"y": target.decode(np.array([0, 1, 0]))})
    assert utility(model, Table(frame, SCHEMA))[0].value == pytest.approx(2 / 3)


def test_no_rows_are_refused() -> None:
    with pytest.raises(DataError, match="0 rows"):
        judged([], [], classes=("a", "b"))


def opinion(function: Any, *args: Any, **options: Any) -> float:
    with warnings.catch_warnings(action="ignore"):
        return float(function(*args, **options))


@given(st.data(), st.integers(2, 4), st.integers(1, 30))
@settings(deadline=None, max_examples=100)
def test_scikit_learn_agrees_on_classes(data: Any, classes: int, rows: int) -> None:
    names = tuple("abcd"[:classes])
    cells = st.lists(st.sampled_from(names), min_size=rows, max_size=rows)
    truth, predicted = data.draw(cells), data.draw(cells)
    row = st.lists(st.integers(0, 4), min_size=classes, max_size=classes)
    scores = np.array(data.draw(st.lists(row, min_size=rows, max_size=rows)))
    found = judged(truth, predicted, scores, names)
    assert found["accuracy"].value == pytest.approx(opinion(metrics.accuracy_score, truth, predicted))
    expected = opinion(metrics.balanced_accuracy_score, truth, predicted)
    assert found["balanced_accuracy"].value == pytest.approx(expected)
    if classes > 2:
        assert found["f1"].value == pytest.approx(opinion(metrics.f1_score, truth, predicted, average="macro"))
    elif found["f1"].value is not None:
        assert found["f1"].value == pytest.approx(opinion(metrics.f1_score, truth, predicted, pos_label="b"))
    picked = [1] if classes == 2 else range(classes)
    areas = [
        metrics.roc_auc_score([cell == names[code] for cell in truth], scores[:, code])
        for code in picked
        if 0 < truth.count(names[code]) < rows
    ]
    assert found["auc"].value == (pytest.approx(np.mean(areas)) if areas else None)
    assert (found["accuracy"].low or 0) <= (found["accuracy"].value or 0) <= (found["accuracy"].high or 0)


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=2, max_size=30))
@settings(deadline=None, max_examples=100)
def test_scikit_learn_agrees_on_numbers(pairs: list[tuple[int, int]]) -> None:
    truth, predicted = (np.array(part, dtype=float) for part in zip(*pairs, strict=True))
    assume(len(set(truth)) > 1)
    found = judged(truth, predicted)
    assert found["mae"].value == pytest.approx(metrics.mean_absolute_error(truth, predicted))
    assert found["rmse"].value == pytest.approx(metrics.root_mean_squared_error(truth, predicted))
    assert found["r2"].value == pytest.approx(metrics.r2_score(truth, predicted))
    sized = truth != 0
    expected = metrics.mean_absolute_percentage_error(truth[sized], predicted[sized])
    assert found["mre"].value == pytest.approx(expected)
    for figure in (found["mae"], found["mre"], found["rmse"]):
        assert figure.value is not None
        assert figure.low is None or figure.low <= figure.value <= (figure.high or 0)
