"""The joint greedy search, as a whole."""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from components.minimization import bounds, declarations
from components.minimization.generalizer import Generalizer
from components.minimization.greedy import cells, looks
from components.minimization.greedy.climbing import climb
from components.minimization.greedy.joint import Joint
from components.minimization.greedy.method import search
from components.minimization.greedy.trials import Trial
from components.minimization.problem import Answers, Problem, Rows, agree
from components.minimization.result import Found
from components.minimization.tree import method as tree
from schemas.dataset import Column, DatasetSchema
from schemas.faults import ConfigurationError

RANGES = declarations.Greedy(target=0.9, use="ranges")


def whole(name: str, high: int = 99, **more: Any) -> Column:
    return Column(name=name, dtype="integer", role="quasi_identifier", min=0, max=high, **more)


def schema_of(*columns: Column) -> DatasetSchema:
    return DatasetSchema(name="made", source=None, columns=list(columns))


def answering(rule: Callable[[pd.DataFrame], Any]) -> Callable[[pd.DataFrame], Answers]:
    def ask(frame: pd.DataFrame) -> Answers:
        return np.asarray(rule(frame)).astype(np.int64).reshape(len(frame), -1)

    return ask


def found(params: declarations.Greedy, problem: Problem) -> Generalizer:
    minimized = search(params, problem).minimized
    assert isinstance(minimized, Generalizer)
    return minimized


def losses(problem: Problem, generalizer: Generalizer) -> dict[str, float]:
    return generalizer.losses(problem.fit.codes)


def of(generalizer: Generalizer, name: str) -> Any:
    return next(each for each in generalizer.ranges if each.attribute.name == name)


@pytest.fixture
def two(problem_for: Callable[..., Problem]) -> Callable[..., Problem]:
    """Two whole numbers; the answer hangs on the first, and a little on the second."""

    def make(rows: int = 3000, seed: int = 0, **more: Any) -> Problem:
        random = np.random.default_rng(seed)
        frame = pd.DataFrame({"a": random.integers(0, 100, rows), "b": random.integers(0, 100, rows)})
        ask = answering(lambda each: each["a"] + 0.3 * each["b"] > 60)
        return problem_for(frame, schema_of(whole("a"), whole("b")), ask, **more)

    return make


@pytest.mark.parametrize("use", ["ranges", "representatives"])
def test_keeps_the_target_on_the_calibration_rows(two: Callable[..., Problem], use: str) -> None:
    problem = two(target=0.9)
    generalizer = found(declarations.Greedy(use=use), problem)
    assert problem.assured(generalizer.answers(problem.calibration.frame, problem.ask))
    assert problem.privacy(losses(problem, generalizer)) > 0.1


def test_a_column_that_the_model_does_not_use_is_not_asked_for(problem_for: Callable[..., Problem]) -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.integers(0, 100, 2000), "idle": random.integers(0, 100, 2000)})
    problem = problem_for(frame, schema_of(whole("a"), whole("idle")), answering(lambda each: each["a"] > 50))
    generalizer = found(RANGES, problem)
    assert of(generalizer, "idle").nothing
    assert of(generalizer, "a").partition.cuts == (50.5,)
    assert agree(problem.fit.answers, generalizer.answers(problem.fit.frame, problem.ask)).all()


def test_a_constant_column_goes_first(problem_for: Callable[..., Problem]) -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.integers(0, 100, 2000), "same": np.full(2000, 8)})
    problem = problem_for(
        frame, schema_of(whole("a"), whole("same")), answering(lambda each: each["a"] + each["same"] > 50)
    )
    result = search(RANGES, problem)
    first = result.steps.iloc[0]
    assert (first["attribute"], first["change"], bool(first["taken"])) == ("same", "exact to nothing", True)


def test_a_column_of_one_value_goes_first_though_it_gains_nothing(problem_for: Callable[..., Problem]) -> None:
    frame = pd.DataFrame({"a": np.random.default_rng(0).integers(0, 100, 1000), "one": np.zeros(1000, dtype=np.int64)})
    problem = problem_for(frame, schema_of(whole("a"), whole("one", 0)), answering(lambda each: each["a"] > 50))
    assert search(RANGES, problem).steps.iloc[0]["attribute"] == "one"


def test_cells_that_the_calibration_rows_do_not_confirm_are_not_taken(problem_for: Callable[..., Problem]) -> None:
    random = np.random.default_rng(8)
    frame = pd.DataFrame({"a": random.integers(0, 100, 3000), "b": random.integers(0, 100, 3000)})
    ask = answering(lambda each: (each["a"] % 2) ^ (each["b"] > 95))  # without `b`, 4 % change: within 5 %, no more
    problem = problem_for(frame, schema_of(whole("a"), whole("b")), ask, target=0.95)
    generalizer = found(declarations.Greedy(), problem)
    assert problem.assured(generalizer.answers(problem.calibration.frame, ask))
    assert not of(generalizer, "b").nothing


def test_a_model_of_one_answer_needs_nothing(people: Any, people_schema: DatasetSchema, problem_for: Any) -> None:
    problem = problem_for(people(1500, 0), people_schema, answering(lambda each: np.zeros(len(each))))
    result = search(declarations.Greedy(), problem)
    assert isinstance(result.minimized, Generalizer)
    assert all(each.nothing for each in result.minimized.ranges)
    assert any("one and the same answer" in note for note in result.notes)


def test_a_target_that_nothing_keeps_leaves_all_exact(two: Callable[..., Problem]) -> None:
    problem = two(rows=200, target=0.999)  # too few rows to show it
    for use in ("ranges", "representatives"):
        result = search(declarations.Greedy(use=use), problem)
        assert isinstance(result.minimized, Generalizer)
        assert all(each.exact for each in result.minimized.ranges)
        assert any("nothing could be generalised" in note for note in result.notes)


@pytest.mark.parametrize("use", ["ranges", "representatives"])
def test_the_same_rows_in_another_order_give_the_same(
    two: Callable[..., Problem], use: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looks, "LOOKED_AT", 300)  # so that a sample is drawn
    problem = two(rows=1500)

    def turned(rows: Rows) -> Rows:
        order = np.random.default_rng(5).permutation(len(rows))
        return Rows(rows.frame.iloc[order], rows.answers[order], {name: one[order] for name, one in rows.codes.items()})

    other = replace(problem, fit=turned(problem.fit), calibration=turned(problem.calibration))
    first, second = (search(declarations.Greedy(use=use), each) for each in (problem, other))
    assert repr(first.minimized) == repr(second.minimized)
    pd.testing.assert_frame_equal(first.steps, second.steps)


def test_weights_move_privacy_to_the_heavier_column(problem_for: Callable[..., Problem]) -> None:
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"a": random.integers(0, 100, 4000), "b": random.integers(0, 100, 4000)})
    schema, ask = schema_of(whole("a"), whole("b")), answering(lambda each: each["a"] + each["b"] > 100)
    told = []
    for heavy in ("a", "b"):
        problem = problem_for(frame, schema, ask, target=0.85, weights={heavy: 5.0})
        told.append(losses(problem, found(RANGES, problem)))
    assert told[0]["a"] > told[1]["a"]
    assert told[0]["a"] - told[0]["b"] > told[1]["a"] - told[1]["b"]


def test_steps_back_never_lose_privacy(two: Callable[..., Problem]) -> None:
    problem = two(target=0.88)
    told = [
        problem.privacy(losses(problem, found(RANGES.model_copy(update={"back_steps": rounds}), problem)))
        for rounds in (0, 1, 2)
    ]
    assert told == sorted(told)


def test_missing_cells_stay_missing_until_nothing_is_asked(problem_for: Callable[..., Problem]) -> None:
    random = np.random.default_rng(2)
    rows = 3000
    cells = pd.Series(random.integers(0, 100, rows)).astype("Int64").mask(random.random(rows) < 0.2)
    kinds = pd.Series(random.choice(list("uvw"), rows)).mask(random.random(rows) < 0.2).astype("category")
    frame = pd.DataFrame({"a": cells, "kind": kinds, "idle": cells.sample(frac=1, random_state=1).to_numpy()})
    column = Column(name="kind", dtype="category", role="quasi_identifier", values=["u", "v", "w"], nullable=True)
    schema = schema_of(whole("a", nullable=True), column, whole("idle", nullable=True))
    ask = answering(lambda each: each["a"].isna() | (each["a"].fillna(0) > 40) & (each["kind"] != "u"))
    problem = problem_for(frame, schema, ask)
    generalizer = found(RANGES, problem)
    changed = generalizer.transform(frame)
    assert not of(generalizer, "a").exact
    assert (changed["a"].isna() == frame["a"].isna()).all()
    assert of(generalizer, "idle").nothing
    assert changed["idle"].notna().all()


def test_a_person_s_raw_value_is_never_passed(
    people: Any, people_schema: DatasetSchema, rule: Any, problem_for: Any
) -> None:
    frame = people(3000, 3)
    columns = ["age", "income", "smoker", "region", "born"]
    problem = problem_for(frame, people_schema, rule, target=0.85, columns=columns)
    for use in ("ranges", "representatives"):
        generalizer = found(declarations.Greedy(use=use), problem)
        changed = generalizer.transform(frame)
        assert not of(generalizer, "income").exact
        told = set(changed["income"])
        assert len(told) < 200
        assert not told & (set(frame["income"]) - {0.0, 1e5})
        pd.testing.assert_frame_equal(changed[["outcome"]], frame[["outcome"]])


def test_a_regression_with_several_outputs(problem_for: Callable[..., Problem]) -> None:
    random = np.random.default_rng(4)
    frame = pd.DataFrame({"a": random.integers(0, 100, 3000), "b": random.integers(0, 100, 3000)})

    def ask(rows: pd.DataFrame) -> Answers:
        return np.column_stack([rows["a"] * 1.0, rows["a"] + 0.2 * rows["b"], np.ones(len(rows))])

    problem = problem_for(frame, schema_of(whole("a"), whole("b")), ask, regression=True, target=0.9)
    for use in ("ranges", "representatives"):
        generalizer = found(declarations.Greedy(use=use), problem)
        assert problem.assured(generalizer.answers(problem.calibration.frame, ask))
        told = losses(problem, generalizer)
        assert 0 < told["a"] < told["b"] <= 1


def test_an_effect_that_hangs_on_another_column_finds_its_cut(problem_for: Callable[..., Problem]) -> None:
    random = np.random.default_rng(6)
    frame = pd.DataFrame({"a": random.integers(0, 100, 4000), "sign": random.integers(0, 2, 4000)})
    ask = answering(lambda each: (each["a"] > 70) ^ (each["sign"] == 1))  # the mean answer is flat over `a` alone
    problem = problem_for(frame, schema_of(whole("a"), whole("sign", 1)), ask, columns=["a"])
    assert of(found(RANGES, problem), "a").partition.cuts == (70.5,)


def test_cells_beat_the_tree_where_an_attribute_is_better_given_up(problem_for: Callable[..., Problem]) -> None:
    from components.minimization.tree.method import search as tree

    random = np.random.default_rng(7)
    rows = 6000
    frame = pd.DataFrame(
        {
            "rare": np.where(random.random(rows) < 0.04, random.integers(50, 100, rows), 0),
            "a": random.integers(0, 100, rows),
            "b": random.integers(0, 100, rows),
        }
    )
    ask = answering(lambda each: (each["rare"] > 60) | ((each["a"] > 55) & (each["b"] > 35)))
    problem = problem_for(frame, schema_of(whole("rare"), whole("a"), whole("b")), ask, target=0.94)
    greedy = found(declarations.Greedy(), problem)
    other = tree(declarations.Tree(), problem).minimized
    assert problem.privacy(losses(problem, greedy)) >= problem.privacy(other.losses(problem.fit.codes)) - 1e-9
    assert of(greedy, "rare").nothing


@pytest.mark.parametrize("use", ["ranges", "representatives"])
def test_the_target_holds_on_fresh_rows(use: str, problem_for: Callable[..., Problem]) -> None:
    missed = 0
    for seed in range(8):
        random = np.random.default_rng(seed)
        frame = pd.DataFrame(random.integers(0, 100, (4000, 3)), columns=list("abc"))
        weights = random.normal(size=3)
        noise = random.normal(size=(100, 3)).cumsum(axis=0) * 4
        ask = answering(
            lambda each, w=weights, n=noise: (
                (each.to_numpy() * w + n[each.to_numpy(), [0, 1, 2]]).sum(axis=1) > w.sum() * 50
            )
        )
        problem = problem_for(frame.iloc[:2000], schema_of(*map(whole, "abc")), ask, target=0.9)
        fresh = frame.iloc[2000:]
        generalizer = found(declarations.Greedy(use=use), problem)
        missed += bool(agree(ask(fresh), generalizer.answers(fresh, ask)).mean() < 0.9)
    assert missed <= 1


def test_shap_values_may_give_the_order(two: Callable[..., Problem]) -> None:
    pytest.importorskip("shap")
    problem = two(rows=600)
    state = np.random.get_state()[1].copy()  # noqa: NPY002  # the library seeds numpy's own generator
    joint = Joint.of(declarations.Greedy(order="shap"), problem, Trial.of(problem))
    assert joint.order == ("b", "a")
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002


def test_without_shap_the_fault_says_how_to_get_it(
    two: Callable[..., Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ConfigurationError, match=r"privacy-runner\[shap\]"):
        search(declarations.Greedy(order="shap"), two(rows=300))


def test_a_climb_keeps_its_budget_and_only_goes_up(two: Callable[..., Problem]) -> None:
    problem = two()
    joint = Joint.of(RANGES, problem, Trial.of(problem))
    path = joint.climb(joint.exact, budget=0.1)
    told = [joint.privacy(state) for state in path]
    assert told == sorted(told)
    assert all(state.lost <= 0.1 for state in path)
    for state in path[1:]:
        assert state.lost == pytest.approx(joint.looks.lost(state.ranges))


def test_lazy_steps_are_those_of_a_search_that_looks_at_all(two: Callable[..., Problem]) -> None:
    problem = two(rows=1200)
    joint = Joint.of(RANGES, problem, Trial.of(problem))

    def fresh(name: str, state: Any, **_: bool) -> Any:
        return joint.ladder_at(name, state, fresh=True)

    rows = len(joint.looks.sample.rows)
    lazy = joint.climb(joint.exact, budget=0.1)
    eager = climb(fresh, joint.exact, joint.order, joint.weights, budget=0.1, rows=rows)
    assert joint.privacy(lazy[-1]) >= 0.95 * joint.privacy(eager[-1])


def test_rows_come_in_canonical_order(two: Callable[..., Problem]) -> None:
    rows = two(rows=200).fit.in_order()
    assert rows.frame.reset_index(drop=True).equals(
        rows.frame.sort_values(["a", "b"], kind="stable").reset_index(drop=True)
    )


@pytest.mark.parametrize("use", ["ranges", "representatives"])
def test_the_steps_taken_end_where_the_search_ends(two: Callable[..., Problem], use: Any) -> None:
    """And what did not hold is never among them."""
    problem = two()
    result = search(declarations.Greedy(target=0.9, use=use), problem)
    assert isinstance(result.minimized, Generalizer)
    taken = result.steps[result.steps["taken"]]
    assert not (taken["held"] == False).any()  # noqa: E712  # of what was not asked nothing is known
    assert taken["ncp"].iloc[-1] == pytest.approx(problem.privacy(losses(problem, result.minimized)), abs=1e-9)


def test_where_cells_are_taken_no_step_of_ranges_is(problem_for: Callable[..., Problem]) -> None:
    frame = pd.DataFrame(np.random.default_rng(3).integers(0, 100, (2500, 3)), columns=["a", "b", "c"])
    ask = answering(lambda each: each.sum(axis=1) > 150)
    problem = problem_for(frame, schema_of(whole("a"), whole("b"), whole("c")), ask, target=0.8)
    result = search(declarations.Greedy(), problem)
    assert isinstance(result.minimized, Generalizer)
    assert result.minimized.use == "representatives"
    taken = result.steps.loc[result.steps["taken"], "change"]
    assert len(taken)
    assert taken.str.contains("cells").all()


def test_of_two_columns_that_stand_for_each_other_one_is_asked_for(problem_for: Callable[..., Problem]) -> None:
    """Each alone is not needed, both together are."""
    random = np.random.default_rng(2)
    frame = pd.DataFrame({"a": random.integers(0, 2, 2000), "b": random.integers(0, 100, 2000)})
    frame = frame.assign(copy=frame["a"])
    ask = answering(lambda each: ((each["a"] > 0) | (each["copy"] > 0)) & (each["b"] < 60))
    problem = problem_for(frame, schema_of(whole("a", 1), whole("b"), whole("copy", 1)), ask, target=0.9)
    for use in ("ranges", "representatives"):
        generalizer = found(declarations.Greedy(use=use), problem)
        assert problem.assured(generalizer.answers(problem.calibration.frame, ask))
        assert of(generalizer, "a").nothing != of(generalizer, "copy").nothing


def test_cells_that_miss_the_target_are_turned_down(
    two: Callable[..., Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the search for cells says of them."""
    problem = two()
    lax = replace(problem, target=0.5)

    def misled(params: declarations.Tree, within: Problem, growths: int) -> Found:
        return tree.search(params, replace(within, target=lax.target), growths)

    monkeypatch.setattr(cells, "search", misled)
    result = search(declarations.Greedy(), problem)
    assert problem.assured(result.minimized.answers(problem.calibration.frame, problem.ask))
    tried = result.steps[result.steps["change"].str.startswith("cells")]
    assert len(tried)
    assert not tried["held"].any()


def test_where_ranges_tell_less_than_cells_they_are_taken(problem_for: Callable[..., Problem]) -> None:
    """Four ranges a column make 64 cells; a tree finds some of them."""
    frame = pd.DataFrame(np.random.default_rng(3).integers(0, 100, (2500, 3)), columns=["a", "b", "c"])
    ask = answering(lambda each: (each // 25).sum(axis=1) % 3)
    problem = problem_for(frame, schema_of(whole("a"), whole("b"), whole("c")), ask, target=0.9)
    result, ranges = search(declarations.Greedy(), problem), found(RANGES, problem)
    assert isinstance(result.minimized, Generalizer)
    assert result.steps.loc[result.steps["change"] == "cells", "held"].any()
    assert result.minimized.use == "ranges"
    assert losses(problem, result.minimized) == losses(problem, ranges)


def test_the_margin_counts_three_looks(two: Callable[..., Problem]) -> None:
    """What is found would not always do if no allowance were made for looking again and again."""
    for seed in range(6):
        problem = two(rows=900, seed=seed, target=0.9)
        there = problem.calibration
        now = found(RANGES, problem).answers(there.frame, problem.ask)
        hits = int(agree(there.answers, now).sum())
        assert bounds.assured(hits, len(there), problem.report_rows, problem.target, looks=3)


@pytest.mark.parametrize(("columns", "trees"), [(2, 12), (8, 3), (12, 2), (14, 2)])
def test_of_few_columns_more_trees_are_grown_for_cells(
    problem_for: Callable[..., Problem], monkeypatch: pytest.MonkeyPatch, columns: int, trees: int
) -> None:
    """What a tree costs rises with its columns, and how often some must be given back hardly does."""
    names = list("abcdefghijklmn")[:columns]
    frame = pd.DataFrame(np.random.default_rng(1).integers(0, 100, (600, columns)), columns=names)
    problem = problem_for(frame, schema_of(*map(whole, names)), answering(lambda each: each.sum(axis=1) % 7 > 2))
    allowed = []

    def counted(params: declarations.Tree, within: Problem, growths: int) -> Found:
        allowed.append((len(within.attributes), growths))
        return tree.search(params, within, growths)

    monkeypatch.setattr(cells, "search", counted)
    search(declarations.Greedy(), problem)
    assert allowed[0] == (columns, trees)
