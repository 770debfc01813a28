"""Which ends of the questions may answer: what is claimed of them is what calibration rows showed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from components.minimization.declarations import Personal
from components.minimization.personal.closing import kept
from components.minimization.personal.evidence import Classes
from components.minimization.personal.growing import Growth
from components.minimization.personal.method import _likely, search
from components.minimization.personal.questions import NONE, Nodes, Questions
from components.minimization.problem import Answers, Problem
from schemas.dataset import DatasetSchema

Problems = Callable[..., Problem]


def integers(**most: int) -> DatasetSchema:
    columns = {name: {"dtype": "integer", "role": "insensitive", "min": 0, "max": high} for name, high in most.items()}
    return DatasetSchema.model_validate({"name": "made", "source": None, "columns": columns})


def settled(problem_for: Problems, ends: list[tuple[int, int]], **facts: Any) -> tuple[Questions, pd.DataFrame]:
    """Settle ends of (rows, wrong ones), one a value of x, in their order, with delta 0.05; every answer is 0."""
    x = np.repeat(np.arange(len(ends)), [rows for rows, _ in ends])
    wrong = np.concatenate([np.arange(rows) < wrong for rows, wrong in ends])
    frame = pd.DataFrame({"x": x, "y": wrong.astype(np.int64)})
    problem = problem_for(frame, integers(x=3, y=1), _y, shares=(0.0, 1.0), report_rows=10_000, **facts)
    asking, count = len(ends) - 1, 2 * len(ends) - 1
    number = np.arange(count)
    inner = number < asking  # node i asks whether x <= i: if so, the end is node asking + i, else on to the next
    left = np.where(inner, asking + number, number)
    right = np.where(inner, np.where(number < asking - 1, number + 1, count - 1), number)
    none = np.zeros(count, dtype=np.bool_)
    nodes = Nodes(
        np.where(inner, 0, NONE), number.astype(np.float64), none[:, np.newaxis], none, left, right,
        np.where(inner, NONE, number),
    )  # fmt: skip
    grown = Questions(problem.attributes, nodes, np.zeros((count, 1), dtype=np.int64), {"x": 0.0, "y": 0.0})
    evidence = Classes.of(problem.calibration.answers, 0.05)
    return kept(problem, grown, evidence, np.arange(asking, count))


def _y(frame: pd.DataFrame) -> Answers:
    return frame["y"].to_numpy(dtype=np.int64)[:, np.newaxis]


def answering(questions: Questions, count: int) -> list[int]:
    frame = pd.DataFrame({"x": np.arange(count), "y": 0})
    return np.flatnonzero(questions.nodes.answer[questions.ends(questions.encode(frame))] != NONE).tolist()


def test_no_end_answers_after_the_first_test_that_fails(problem_for: Problems) -> None:
    questions, steps = settled(problem_for, [(300, 20), (3000, 0)], target=0.5)  # 20 of 3300 would be few enough
    assert answering(questions, 2) == []
    assert steps["change"].str.startswith("0 of them answer").tolist() == [False, True, False, False]


@pytest.mark.parametrize(("target", "left"), [(0.95, [0, 1, 2]), (0.98, [0, 1]), (0.9999, [])])
def test_closing_leaves_ends_that_were_tested_as_they_are(
    problem_for: Problems, target: float, left: list[int]
) -> None:
    """The first end alone holds any target, but has too few rows to be tested alone."""
    questions, _ = settled(problem_for, [(100, 0), (400, 6), (500, 20)], target=target)
    assert answering(questions, 3) == left


def test_of_few_rows_half_are_tested_first(problem_for: Problems) -> None:
    assert answering(settled(problem_for, [(60, 0), (60, 0), (30, 15)], target=0.5)[0], 3) == [0, 1]
    assert answering(settled(problem_for, [(58, 0), (0, 0)], target=0.5)[0], 2) == []


def test_an_end_that_is_refuted_by_itself_asks_everything(problem_for: Problems) -> None:
    assert answering(settled(problem_for, [(2000, 0), (60, 20), (500, 0)], target=0.5)[0], 3) == [0, 2]


def test_ends_are_tried_in_the_order_of_their_risk() -> None:
    """Jeffreys' prior puts the larger of two ends that were never wrong first."""
    answers = np.repeat([0, 1, 0, 1, 0], [97, 3, 20, 20, 200])[:, np.newaxis]
    rows = np.split(np.arange(len(answers)), [100, 110, 140])  # 3 of 100, 0 of 10, 10 of 30, 0 of 200
    growth = Growth(asked=[NONE] * 4, rows=rows, known=[np.array([False])] * 4)
    evidence = Classes.of(answers, 0.05)
    assert _likely(growth, evidence, np.array([False]), 0.05).tolist() == [3, 0, 1]
    assert _likely(growth, evidence, np.array([False]), 0.04).tolist() == [3, 0]
    assert _likely(growth, evidence, np.array([True]), 0.05).tolist() == []


def test_ends_that_only_the_rows_that_chose_them_call_sure_do_not_answer(problem_for: Problems) -> None:
    """Answers are as good as noise, at a rate above delta everywhere: the purest of many places are so by chance."""
    names = "abcdef"
    frame = pd.DataFrame(np.random.default_rng(0).integers(0, 100, (4000, 6)), columns=list(names))
    factors = np.array([73856093, 19349663, 83492791, 97531, 49979687, 86028121])

    def noise(frame: pd.DataFrame) -> Answers:
        mixed = (frame.to_numpy(dtype=np.int64) @ factors) % 2**31
        mixed = (mixed ^ (mixed >> 13)) * 1274126177 % 2**31
        answers: Answers = ((mixed ^ (mixed >> 16)) < 0.12 * 2**31).astype(np.int64)[:, np.newaxis]
        return answers

    problem = problem_for(frame, integers(**dict.fromkeys(names, 99)), noise, target=0.5)
    found = search(Personal(delta=0.1), problem)
    assert not found.steps["change"][0].startswith("0 ends")
    assert isinstance(found.minimized, Questions)
    assert (found.minimized.nodes.answer == NONE).all()
    assert found.notes == ("no answer was shown to be sure before everything was asked",)
