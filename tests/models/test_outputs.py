"""Raw outputs of models in every form: positions, scores and numbers, and what is refused by count."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from components.models.outputs import Outputs, answer, answers, label_positions, separate
from components.models.target import Target
from schemas.faults import ConfigurationError

CANARY = "ZZ-CANARY-7731"

TEXTS = Target(column="y", task="classification", dtype="category", classes=("none", "some", "much"))
WHOLE = Target(column="y", task="classification", dtype="integer", classes=(3, 4, 5))
FLAGS = Target(column="y", task="classification", dtype="boolean", classes=(False, True))


def test_logits_by_hand() -> None:
    found = answer([[0, np.log(3)], [np.log(4), 0]], "logits", classes=2, rows=2)
    assert found.scores == pytest.approx(np.array([[0.25, 0.75], [0.8, 0.2]]))
    assert found.numbers.tolist() == [1, 0]
    three = answer(np.log([[1, 2, 5]]), "logits", classes=3, rows=1)
    assert three.scores == pytest.approx(np.array([[1, 2, 5]]) / 8)


@pytest.mark.parametrize("shape", [(2,), (2, 1)])
def test_one_column_is_of_the_last_of_two_classes(shape: tuple[int, ...]) -> None:
    logits = answer(np.array([np.log(3), -np.log(4)]).reshape(shape), "logits", classes=2, rows=2)
    assert logits.scores == pytest.approx(np.array([[0.25, 0.75], [0.8, 0.2]]))
    chances = answer(np.array([0.75, 0.2]).reshape(shape), "probabilities", classes=2, rows=2)
    assert chances.scores == pytest.approx(np.array([[0.25, 0.75], [0.8, 0.2]]))
    assert chances.numbers.tolist() == logits.numbers.tolist() == [1, 0]


@given(arrays(np.float64, (4,), elements=st.floats(-800, 800)))
def test_one_column_of_logits_is_two_columns_with_a_zero(column: np.ndarray) -> None:
    one = answer(column, "logits", classes=2, rows=4)
    two = answer(np.column_stack([np.zeros(4), column]), "logits", classes=2, rows=4)
    assert one.scores is not None
    assert one.scores == pytest.approx(two.scores, abs=1e-12)
    assert one.scores.sum(axis=1) == pytest.approx(1)


def test_one_column_is_as_exact_for_the_first_class_as_for_the_last() -> None:
    found = answer([60.0, -60.0], "logits", classes=2, rows=2)
    assert found.scores is not None
    assert found.scores[0, 0] == found.scores[1, 1] == pytest.approx(np.exp(-60))


def test_of_equal_scores_the_first_class_is_taken() -> None:
    assert answer([0.5], "probabilities", classes=2, rows=1).numbers.tolist() == [0]
    assert answer([[0.2, 0.4, 0.4]], "probabilities", classes=3, rows=1).numbers.tolist() == [1]


def test_probabilities_are_kept_as_they_come() -> None:
    given_ = np.array([[0.3, 0.7], [1.0, 0.0]], dtype=np.float32)
    found = answer(given_, "probabilities", classes=2, rows=2)
    assert found.scores is not None
    assert found.scores.dtype == np.float64
    assert (found.scores == given_.astype(np.float64)).all()


@pytest.mark.parametrize("shape", [(3,), (3, 1)])
def test_labels_and_numbers_are_one_column(shape: tuple[int, ...]) -> None:
    labels = answer(np.array([2.0, 0.0, 1.0]).reshape(shape), "labels", classes=3, rows=3)
    assert (labels.numbers.tolist(), labels.numbers.dtype, labels.scores) == ([2, 0, 1], np.int64, None)
    numbers = answer(np.array([2, 0, 1]).reshape(shape), "labels", classes=0, rows=3)
    assert (numbers.numbers.tolist(), numbers.numbers.dtype) == ([2.0, 0.0, 1.0], np.float64)


def test_a_tensor_that_asks_for_gradients_is_taken() -> None:
    found = answer(torch.zeros(2, 3, requires_grad=True), "logits", classes=3, rows=2)
    assert found.scores == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("raw", "form", "classes", "words"),
    [
        (np.zeros((2, 3)), "logits", 2, r"shape \(2, 3\); \(2, 2\), \(2,\) or \(2, 1\)"),
        (np.zeros((2, 1)), "probabilities", 3, r"shape \(2, 1\); \(2, 3\)"),
        (np.zeros((3, 2)), "logits", 2, r"shape \(3, 2\)"),
        (np.zeros((2, 2)), "labels", 2, r"shape \(2, 2\); \(2,\) or \(2, 1\)"),
        (np.zeros((2, 2)), "labels", 0, r"shape \(2, 2\)"),
        ([[0.5, np.nan], [0.5, 0.5]], "logits", 2, "1 of 2 rows have what is no finite number"),
        ([np.inf, np.nan], "labels", 0, "2 of 2 rows have what is no finite number"),
        ([[0.5, 0.6], [0.5, 0.5]], "probabilities", 2, r"1 of 2 rows have no probabilities; in \[0, 1\]"),
        ([[-0.5, 1.5], [2.0, -1.0]], "probabilities", 2, "2 of 2 rows have no probabilities"),
        ([1.5, 0.0], "probabilities", 2, "1 of 2 rows have no probabilities"),
        ([0.5, 1.0], "labels", 2, "1 of 2 rows have a label that is no whole number"),
        ([2, 0], "labels", 2, "1 of 2 rows have a position that is none of 2 classes"),
        ([-1, 0], "labels", 2, "1 of 2 rows have a position that is none of 2 classes"),
        ([CANARY, 0], "logits", 2, "no table of numbers"),
        ([[0.1, 0.9], [1.0]], "probabilities", 2, "no table of numbers"),
        (None, "logits", 2, r"shape \(\)"),
    ],
)
def test_what_is_no_answer_is_refused_by_count(raw: Any, form: Outputs, classes: int, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words) as caught:
        answer(raw, form, classes=classes, rows=2)
    assert CANARY not in str(caught.value)


def test_no_rows_give_no_answer() -> None:
    assert answer(np.zeros((0, 3)), "logits", classes=3, rows=0).numbers.tolist() == []
    assert answer(np.zeros(0), "labels", classes=0, rows=0).numbers.tolist() == []


def test_several_outputs_come_as_a_list_or_as_columns() -> None:
    parts = [np.array([[0.1, 0.9], [0.8, 0.2]]), np.array([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]])]
    found = answers(parts, "probabilities", classes=[2, 3], rows=2)
    assert [one.numbers.tolist() for one in found] == [[1, 0], [2, 0]]
    table = answers(np.array([[0, 2], [1, 0]]), "labels", classes=[2, 3], rows=2)
    assert [one.numbers.tolist() for one in table] == [[0, 1], [2, 0]]
    chances = answers(torch.tensor([[0.9, 0.1], [0.3, 0.6]]), "probabilities", classes=[2, 2], rows=2)
    assert [one.numbers.tolist() for one in chances] == [[1, 0], [0, 1]]
    numbers = answers([[1.5, 2.5], [3.5, 4.5], [5.5, 6.5]], "labels", classes=[0, 0], rows=3)
    assert [one.numbers.tolist() for one in numbers] == [[1.5, 3.5, 5.5], [2.5, 4.5, 6.5]]


def test_another_number_of_outputs_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"2 arrays of 3 rows, or \(3, 2\)"):
        separate(np.zeros((3, 3)), 2, 3)
    with pytest.raises(ConfigurationError, match="2 arrays"):
        separate([np.zeros(3)], 2, 3)


@pytest.mark.parametrize(
    ("raw", "target", "positions"),
    [
        (["much", "none"], TEXTS, [2, 0]),
        (np.array(["much", "none"], dtype=object), TEXTS, [2, 0]),
        (np.array([["much"], ["none"]]), TEXTS, [2, 0]),
        (pd.Series(["much", "none"], dtype="category"), TEXTS, [2, 0]),
        ([2, 0], TEXTS, [2, 0]),
        (torch.tensor([2, 0]), TEXTS, [2, 0]),
        ([5, 3], WHOLE, [2, 0]),
        ([5.0, 3.0], WHOLE, [2, 0]),
        (np.array([5, 3], dtype=object), WHOLE, [2, 0]),
        ([True, False], FLAGS, [1, 0]),
        ([1, 0], FLAGS, [1, 0]),
        (np.array([True, False], dtype=object), FLAGS, [1, 0]),
    ],
)
def test_labels_are_values_of_the_target(raw: Any, target: Target, positions: list[int]) -> None:
    assert label_positions(raw, target, 2).tolist() == positions


@pytest.mark.parametrize(
    ("raw", "target", "words"),
    [
        ([CANARY, "none"], TEXTS, "1 of 2 rows have a label that is no class of the target"),
        ([None, "none"], TEXTS, "1 of 2 rows have no label"),
        ([np.nan, 1.0], WHOLE, "1 of 2 rows have no label"),
        ([3, 0], TEXTS, "1 of 2 rows have a position that is none of 3 classes"),
        ([9, 4], WHOLE, "1 of 2 rows have a label that is no class of the target"),
        ([3.5, 4], WHOLE, "1 of 2 rows have a label that is no whole number"),
        ([np.inf, 4], WHOLE, "1 of 2 rows have what is no finite number"),
        (["3", "4"], WHOLE, "labels of another kind; integer values of the target"),
        ([True, False], TEXTS, "labels of another kind"),
        (["none"], TEXTS, r"shape \(1,\)"),
    ],
)
def test_other_labels_are_refused_by_count(raw: Any, target: Target, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words) as caught:
        label_positions(raw, target, 2)
    assert CANARY not in str(caught.value)


def test_numbers_are_not_guessed_to_be_labels_or_positions_where_classes_are_numbers_in_text() -> None:
    digits = Target(column="y", task="classification", dtype="category", classes=("1", "2"))
    with pytest.raises(ConfigurationError, match="labels or positions"):
        label_positions(np.array([1, 0]), digits, 2)
    assert label_positions(np.array(["2", "1"], dtype=object), digits, 2).tolist() == [1, 0]
