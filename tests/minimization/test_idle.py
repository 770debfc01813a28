"""Columns that the model does without are not asked for, whatever else happens."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.minimization import GreedyMinimizer, TreeMinimizer
from components.minimization.declarations import Greedy, Personal, Tree
from components.minimization.personal.questions import Questions
from components.minimization.problem import Problem
from components.minimization.result import Found
from components.minimization.tree.idle import idle
from components.minimization.tree.sample import Sample
from components.registry import load
from schemas.dataset import DatasetSchema

Make = Callable[..., Problem]
METHODS: dict[str, Tree | Greedy | Personal] = {
    f"{name}-{use}": method(use=use)
    for name, method in {"tree": Tree, "greedy": Greedy}.items()
    for use in ("representatives", "ranges")
} | {"personal": Personal(delta=0.1)}
COLUMNS: dict[str, dict[str, Any]] = {
    "used": {"dtype": "integer", "min": 0, "max": 1000},
    "fine": {"dtype": "number", "min": 0, "max": 1},
    "noise": {"dtype": "number", "min": -5, "max": 5, "nullable": True},
    "alike": {"dtype": "integer", "min": 0, "max": 1000},
    "kind": {"dtype": "category", "values": list("abcd")},
    "same": {"dtype": "integer", "min": 0, "max": 1000},
}
UNUSED = ("noise", "alike", "kind")


def schema() -> DatasetSchema:
    columns = {name: {"role": "quasi_identifier"} | column for name, column in COLUMNS.items()}
    return DatasetSchema.model_validate({"name": "made", "source": None, "columns": columns})


def rows(count: int, seed: int) -> pd.DataFrame:
    """Make rows in which `alike` nearly is `used`, and `same` is one value that no grid holds."""
    random = np.random.default_rng(seed)
    used = random.integers(0, 1001, count)
    return pd.DataFrame(
        {
            "used": used,
            "fine": random.random(count),
            "noise": pd.Series(random.normal(size=count).clip(-5, 5)).mask(random.random(count) < 0.1),
            "alike": (used + random.integers(-3, 4, count)).clip(0, 1000),
            "kind": pd.Categorical.from_codes(random.integers(0, 4, count), list("abcd")),
            "same": np.full(count, 7),
        }
    )


def model(share: float, wave: float) -> Callable[[pd.DataFrame], npt.NDArray[np.int64]]:
    """Return a model of `used`, `fine` (the more finely, the greater the wave) and `same`, which must stay 7."""

    def ask(frame: pd.DataFrame) -> npt.NDArray[np.int64]:
        burden = frame["used"] / 1000 + 0.2 * np.sin(wave * frame["fine"])
        return (((burden > share) ^ (frame["same"] != 7)).to_numpy(dtype=np.int64))[:, np.newaxis]

    return ask


def asked_for(found: Found) -> set[str]:
    if isinstance(found.minimized, Questions):
        asked = found.minimized.needed(found.minimized.encode(rows(1000, 5)))
        return set(asked.loc[asked["asked"] > 0, "attribute"])
    return {each.attribute.name for each in found.minimized.ranges if not each.nothing}  # type: ignore[attr-defined]


@settings(deadline=None, max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 999),
    share=st.floats(0.1, 0.9),
    wave=st.sampled_from([0.0, 9.0, 2000.0]),
    target=st.sampled_from([0.8, 0.95]),
)
@pytest.mark.parametrize("method", METHODS)
def test_unused_and_constant_columns_are_not_asked_for(
    method: str, problem_for: Make, seed: int, share: float, wave: float, target: float
) -> None:
    problem = problem_for(rows(1000, seed), schema(), model(share, wave), target=target)
    found: Found = load(METHODS[method].component)(METHODS[method], problem)
    assert asked_for(found) <= {"used", "fine"}


@pytest.mark.parametrize("method", METHODS)
def test_a_regression_asks_for_nothing_unused(method: str, problem_for: Make) -> None:
    def ask(frame: pd.DataFrame) -> npt.NDArray[np.float64]:
        return (frame["used"] + 300 * frame["fine"] + (frame["same"] - 7) * 50).to_numpy(dtype=np.float64)[:, None]

    problem = problem_for(rows(1000, 1), schema(), ask, target=0.9, regression=True)
    found: Found = load(METHODS[method].component)(METHODS[method], problem)
    assert asked_for(found) <= {"used", "fine"}


@pytest.mark.parametrize("method", METHODS)
def test_one_answer_asks_for_nothing(method: str, problem_for: Make) -> None:
    problem = problem_for(rows(600, 2), schema(), lambda frame: np.zeros((len(frame), 1), dtype=np.int64))
    found: Found = load(METHODS[method].component)(METHODS[method], problem)
    assert not asked_for(found)


@pytest.mark.parametrize("method", METHODS)
def test_where_everything_else_is_needed_exactly_the_unused_is_still_not_asked_for(
    method: str, problem_for: Make
) -> None:
    def ask(frame: pd.DataFrame) -> npt.NDArray[np.int64]:
        return ((frame["used"] + (1000 * frame["fine"]).astype(np.int64)) % 2).to_numpy(dtype=np.int64)[:, None]

    problem = problem_for(rows(1500, 3), schema(), ask, columns=["used", "fine", *UNUSED], target=0.95)
    found: Found = load(METHODS[method].component)(METHODS[method], problem)
    assert asked_for(found) == {"used", "fine"}
    if method != "personal":
        assert {each.attribute.name for each in found.minimized.ranges if each.exact} == {"used", "fine"}  # type: ignore[attr-defined]


@settings(deadline=None, max_examples=2)
@given(seed=st.integers(0, 99), wave=st.sampled_from([0.0, 2000.0]))
@pytest.mark.parametrize("transformer", [TreeMinimizer, GreedyMinimizer])
def test_a_transformer_tells_nothing_of_unused_columns(transformer: Any, seed: int, wave: float) -> None:
    frame = rows(1200, seed)
    ask = model(0.5, wave)
    fitted = transformer(lambda each: ask(each)[:, 0], schema=schema(), target=0.9, random_state=0).fit(frame)
    new = fitted.transform(rows(300, seed + 1))
    assert not len(new[[*UNUSED, "same"]].drop_duplicates()[1:])


def test_of_two_that_stand_for_each_other_the_more_sensitive_is_not_asked_for(problem_for: Make) -> None:
    def ask(frame: pd.DataFrame) -> npt.NDArray[np.int64]:
        return ((frame["used"] > 950) | (frame["alike"] > 950)).to_numpy(dtype=np.int64)[:, np.newaxis]

    frame = rows(900, 4).assign(alike=lambda each: each["used"])
    for heavier in ("used", "alike"):
        problem = problem_for(frame, schema(), ask, columns=["used", "alike"], weights={heavier: 3.0})
        assert [each.name for each in idle(Sample.of(problem))] == [heavier]


def test_a_column_that_a_single_row_needs_is_not_idle(problem_for: Make) -> None:
    """However rarely rows are looked at first: all of them decide."""

    def ask(frame: pd.DataFrame) -> npt.NDArray[np.int64]:
        return ((frame["used"] > 500) ^ (frame["kind"] == "d")).to_numpy(dtype=np.int64)[:, np.newaxis]

    frame = rows(6000, 6).sort_values("used", ignore_index=True)
    plain = frame.assign(kind=pd.Categorical(["a"] * len(frame), list("abcd")))
    assert {"kind", "noise"} <= {each.name for each in idle(Sample.of(problem_for(plain, schema(), ask)))}
    needed = 0
    for place in range(100, 120):
        kinds = np.where(np.arange(len(frame)) == place, "d", "a")
        problem = problem_for(frame.assign(kind=pd.Categorical(kinds, list("abcd"))), schema(), ask)
        needed += "d" in set(problem.fit.frame["kind"])
        assert ("kind" in {each.name for each in idle(Sample.of(problem))}) == (
            "d" not in set(problem.fit.frame["kind"])
        )
    assert needed > 5
