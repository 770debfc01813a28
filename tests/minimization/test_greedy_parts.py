"""The parts of the joint greedy search: finest partitions, ladders, levels of hierarchies, and looks at rows."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.minimization.attributes import BELOW, Attribute, attributes_of
from components.minimization.generalizer import Cells, Generalizer, Ranges
from components.minimization.greedy import trials
from components.minimization.greedy.cuts import Axis, finest, mean_answers, scaled
from components.minimization.greedy.ladders import RUNGS, Effects, Rung, candidates, ladder
from components.minimization.greedy.levels import levels_of
from components.minimization.greedy.looks import LOOKED_AT, NEIGHBOURS, Looks
from components.minimization.greedy.merging import Merging
from components.minimization.greedy.trials import Trial
from components.minimization.partitions import Partition
from components.minimization.problem import Problem, Rows
from schemas.dataset import Column, DatasetSchema
from schemas.faults import ConfigurationError


def attribute(**column: Any) -> Attribute:
    made = Column.model_validate({"role": "quasi_identifier", "name": "it"} | column)
    return attributes_of(DatasetSchema(name="made", source=None, columns=[made]), ["it"])[0]


def age(**more: Any) -> Attribute:
    return attribute(dtype="integer", min=0, max=90, **more)


def kinds(count: int, **more: Any) -> Attribute:
    return attribute(dtype="category", values=[f"kind {number}" for number in range(count)], **more)


def effects(partition: Partition, lost: Any, rows: Any = None, offered: Any = None) -> Effects:
    """Return effects with one candidate a part unless told otherwise."""
    given = np.arange(partition.size, dtype=np.float64) if offered is None else np.asarray(offered, dtype=np.float64)
    counts = np.full(partition.size, 10) if rows is None else np.asarray(rows)
    return Effects(partition, counts, given, np.asarray(lost, dtype=np.float64), 0.0, 1e-4)


def group_of(rung: Rung, codes: np.ndarray) -> np.ndarray:
    assert rung.ranges.partition is not None
    return rung.ranges.partition.parts(codes)


def test_neighbours_alone_join_where_values_have_an_order() -> None:
    """Ages 0-35, 35-55, 55<=: the outer two answer alike, but one group of them would not be a range."""
    partition = Partition(age(), cuts=(35.0, 55.0))
    outer = np.array([[0, 9, 0], [9, 0, 9], [0, 9, 0]]) / 100
    rungs = ladder(effects(partition, outer, offered=[20, 45, 70]))
    assert [rung.ranges.partition.size for rung in rungs if rung.ranges.partition] == [3, 1]
    middle = np.array([[0, 1, 9], [1, 0, 9], [9, 9, 0]]) / 100
    rungs = ladder(effects(partition, middle, offered=[20, 45, 70]))
    assert [rung.ranges.partition.cuts for rung in rungs if rung.ranges.partition] == [(35.0, 55.0), (55.0,), ()]


def test_categories_of_like_answers_join_first() -> None:
    """Code 0..3 with class = (code == 2)."""
    partition = Partition(kinds(4), groups=(0, 1, 2, 3, 4))
    lost = np.zeros((5, 4))
    lost[[0, 1, 3], 2] = lost[2, [0, 1, 3]] = 0.1
    rungs = ladder(effects(partition, lost, rows=[10, 10, 10, 10, 0], offered=range(4)))
    assert rungs[0].ranges.partition == Partition(partition.attribute, groups=(0, 0, 1, 0, 2))
    assert rungs[0].lost == 0


def test_missing_cells_stay_apart_until_nothing_is_asked() -> None:
    partition = Partition(age(nullable=True), cuts=(BELOW, 30.0, 60.0))
    lost = np.array([[5, 5, 5], [0, 1, 2], [1, 0, 1], [2, 1, 0]]) / 100
    rungs = ladder(effects(partition, lost, offered=[15, 45, 75]))
    *within, last = rungs
    for rung in within:
        ranges = rung.ranges
        assert ranges.partition is not None
        assert ranges.partition.missing_apart
        assert ranges.representatives[ranges.partition.missing] == BELOW
    assert last.ranges.nothing
    assert last.ranges.representatives[0] != BELOW


def test_a_candidate_stands_for_a_group_that_holds_it() -> None:
    partition = Partition(age(), cuts=(30.0, 60.0))
    lost = np.array([[1, 0, 9], [0, 1, 9], [9, 9, 0]]) / 100  # the first two would each do better with the other's
    rungs = ladder(effects(partition, lost, offered=[15, 45, 75]))
    assert [rung.ranges.partition.size for rung in rungs if rung.ranges.partition] == [2, 1]
    for rung in rungs:
        ranges = rung.ranges
        assert ranges.partition is not None
        assert (ranges.partition.parts(ranges.representatives) == np.arange(ranges.partition.size)).all()


@st.composite
def some_effects(draw: st.DrawFn) -> Effects:
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    size, apart = draw(st.integers(1, 9)), draw(st.booleans())
    if draw(st.booleans()):
        values = draw(st.integers(size, 12))
        of_value = [*range(size), *random.integers(0, size, values - size)]
        partition = Partition(kinds(values, nullable=apart), groups=(*map(int, of_value), size if apart else 0))
    else:
        cuts = np.sort(random.choice(np.arange(1, 89), size - 1, replace=False)) + 0.5
        partition = Partition(age(nullable=apart), cuts=(*[BELOW] * apart, *map(float, cuts)))
    codes = random.integers(0, 91 if partition.attribute.kind == "number" else len(partition.attribute.values), 200)
    offered = candidates(partition, codes.astype(np.float64 if partition.attribute.kind == "number" else np.int64))
    lost = random.integers(0, 4, (partition.size, len(offered))) / 100
    return effects(partition, lost, random.integers(0, 50, partition.size) + 1, offered)


@given(some_effects())
@settings(max_examples=80, deadline=None)
def test_ladders_are_nested_and_lose_ever_more(made: Effects) -> None:
    rungs = ladder(made)
    kind = made.partition.attribute.kind
    codes = np.arange(len(made.partition.attribute.values) + 1) if kind == "nominal" else np.arange(91.0)
    finest = made.partition.parts(codes)
    assert rungs[-1].ranges.nothing
    for fine, coarse in pairwise(rungs):
        assert fine.ncp < coarse.ncp
        assert fine.lost < coarse.lost
        pairs = np.unique(np.stack([group_of(fine, codes), group_of(coarse, codes)]), axis=1)
        assert len(np.unique(pairs[0])) == pairs.shape[1]  # one part of the finer is in one of the coarser
    for rung in rungs:
        pairs = np.unique(np.stack([finest, group_of(rung, codes)]), axis=1)
        assert len(np.unique(pairs[0])) == pairs.shape[1]
        assert rung.ranges.partition is not None
        assert len(rung.ranges.representatives) == rung.ranges.partition.size


@given(some_effects())
@settings(max_examples=40, deadline=None)
def test_the_ncp_of_a_rung_is_that_of_its_ranges(made: Effects) -> None:
    partition = made.partition
    for rung in ladder(made)[:-1]:
        coarse = rung.ranges.partition
        assert coarse is not None
        if partition.attribute.kind == "nominal":
            inside = np.unique(partition.groups, return_index=True)[1]
        else:
            inside = np.minimum([*partition.cuts, np.inf], 90.0)
        loss = coarse.loss()[coarse.parts(inside)] if coarse.size > 1 else np.ones(partition.size)
        assert rung.ncp == pytest.approx((loss * made.rows).sum() / made.rows.sum())


def test_a_long_ladder_keeps_few_rungs() -> None:
    partition = Partition(age(), cuts=tuple(np.arange(1.5, 41.0).tolist()))
    far = np.abs(np.subtract.outer(np.arange(41), np.arange(41))) / 1000
    rungs = ladder(effects(partition, far, offered=np.arange(1.0, 42.0)))
    assert len(rungs) == RUNGS + 1


def rows_of(attributes: tuple[Attribute, ...], frame: pd.DataFrame, answers: Any) -> Rows:
    return Rows.of(frame, np.asarray(answers).reshape(len(frame), -1), attributes)


def test_the_finest_partition_has_the_models_cuts_and_enough_rows() -> None:
    random = np.random.default_rng(0)
    it = age()
    frame = pd.DataFrame({"it": random.integers(0, 91, 2000)})
    rows = rows_of((it,), frame, np.digitize(frame["it"], [20, 21, 70]) % 2)
    found = finest((it,), rows, regression=False, parts=8, min_rows=10, seed=0)["it"]
    assert found.cuts == (19.5, 20.5, 69.5)
    few = finest((it,), rows, regression=False, parts=8, min_rows=60, seed=0)["it"]
    counts = np.bincount(few.parts(rows.codes["it"]), minlength=few.size)
    assert counts.min() >= 60


def test_cuts_whose_effect_hangs_on_another_column_come_first() -> None:
    random = np.random.default_rng(6)
    it = age()
    frame = pd.DataFrame({"it": random.integers(0, 91, 2000), "sign": random.integers(0, 2, 2000)})
    rows = rows_of((it,), frame, ((frame["it"] > 70) ^ (frame["sign"] == 1)).astype(int))
    assert finest((it,), rows, regression=False, parts=2, min_rows=10, seed=0)["it"].cuts == (70.5,)


@given(st.integers(2, 12), st.integers(1, 80), st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_parts_are_as_many_and_as_large_as_asked(parts: int, min_rows: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    mine = (age(nullable=True), kinds(20).__class__(**{**_fields(kinds(20)), "name": "kind"}))
    frame = pd.DataFrame({"it": pd.array(random.integers(0, 91, 400), dtype="Int64")})
    frame["it"] = frame["it"].mask(random.random(400) < 0.05)
    codes = {"it": mine[0].encode(frame, 0.0)[0], "kind": random.integers(0, 20, 400)}
    rows = Rows(frame, random.integers(0, 3, (400, 1)), codes)
    for name, partition in finest(mine, rows, regression=False, parts=parts, min_rows=min_rows, seed=0).items():
        apart = partition.missing_apart
        assert partition.size <= parts + apart
        counts = np.bincount(partition.parts(codes[name]), minlength=partition.size)
        valued = np.delete(counts, partition.missing) if apart else counts
        assert partition.size == 1 + apart or valued.min() >= min_rows


def _fields(made: Attribute) -> dict[str, Any]:
    return {name: getattr(made, name) for name in ("columns", "kind", "low", "high", "values", "learned")}


def test_values_without_order_are_put_by_their_mean_answer() -> None:
    codes = np.repeat(np.arange(4), 50)
    answers = (np.arange(200) % 50 < np.repeat([40, 10, 30, 20], 50)).astype(np.int64)[:, np.newaxis]
    means = mean_answers(codes, 4, scaled(answers, regression=False))
    assert np.argsort(means).tolist() == [1, 3, 2, 0]


def test_several_classes_are_put_on_one_axis() -> None:
    codes = np.repeat(np.arange(4), 50)
    answers = np.repeat([2, 0, 2, 0], 50)[:, np.newaxis]
    answers[::7] = 1
    means = mean_answers(codes, 4, scaled(answers, regression=False))
    assert abs(means[0] - means[2]) < 0.1 < abs(means[0] - means[1])


def test_rare_values_join_their_neighbours_in_mean_answer() -> None:
    it = kinds(4)
    codes = np.concatenate([np.repeat([0, 1, 2], 100), np.full(3, 3)])
    answers = np.concatenate([np.zeros(100), np.tile([0, 1], 50), np.ones(100), np.ones(3)]).astype(np.int64)
    rows = Rows(pd.DataFrame(index=range(303)), answers[:, np.newaxis], {"it": codes})
    found = finest((it,), rows, regression=False, parts=8, min_rows=10, seed=0)["it"]
    assert found.groups[3] == found.groups[2]
    assert found.groups[0] != found.groups[1] != found.groups[2]


def test_missing_cells_of_an_axis_are_before_all_values() -> None:
    axis = Axis(age(), np.array([1.0, 5.0, 9.0]), np.array([-1, 0, 1, 2]), np.zeros(2))
    assert axis.missing_apart
    assert axis.partition(np.array([0, 1])).cuts[0] == BELOW


def test_levels_of_a_hierarchy_are_nested_partitions() -> None:
    it = age(hierarchy={"name": "intervals", "widths": [10, 30]})
    ten, thirty = levels_of([it], {"it": False})["it"]
    assert ten.cuts[:3] == (9.5, 19.5, 29.5)
    assert thirty.cuts == (29.5, 59.5, 89.5)
    groups = {"first": ["kind 0", "kind 2"], "second": ["kind 1"], "third": ["kind 3"]}
    (level,) = levels_of([kinds(4, hierarchy={"name": "tree", "groups": groups})], {"it": True})["it"]
    assert level.groups == (0, 1, 0, 2, 3)


def test_a_ladder_climbs_the_levels_of_a_hierarchy() -> None:
    it = age(hierarchy={"name": "intervals", "widths": [10, 30]})
    levels = levels_of([it], {"it": False})["it"]
    offered = candidates(levels[0], np.arange(91.0))
    far = np.abs(np.subtract.outer(levels[0].parts(np.arange(5.0, 96.0, 10)), levels[0].parts(offered))) / 100
    rungs = ladder(effects(levels[0], far, offered=offered), levels)
    assert [rung.ranges.partition.size for rung in rungs if rung.ranges.partition] == [10, 4, 1]
    far = np.abs(np.subtract.outer(np.arange(4), levels[1].parts(offered))) / 100
    again = ladder(effects(levels[1], far, offered=offered), levels)
    assert [rung.ranges.partition.size for rung in again if rung.ranges.partition] == [4, 1]


def test_hierarchies_in_files_and_with_holes_are_refused() -> None:
    filed = kinds(3, hierarchy={"name": "csv", "path": "it.csv"})
    with pytest.raises(ConfigurationError, match="in a file"):
        levels_of([filed], {"it": False})
    holes = kinds(3, hierarchy={"name": "tree", "groups": {"one": ["kind 0"], "two": ["kind 1"]}})
    with pytest.raises(ConfigurationError, match="all values"):
        levels_of([holes], {"it": False})
    assert levels_of([kinds(3)], {"it": False}) == {}


@pytest.mark.parametrize("parts", [5, 30])
def test_looks_tell_what_a_slow_loop_tells(parts: int) -> None:
    random = np.random.default_rng(1)
    it = age()
    frame = pd.DataFrame({"it": random.integers(0, 91, 300), "other": random.integers(0, 91, 300)})

    def ask(rows: pd.DataFrame) -> np.ndarray:
        return ((rows["it"] * 7 + rows["other"]) % 40 > 15).to_numpy().astype(np.int64)[:, np.newaxis]

    rows = rows_of((it,), frame, ask(frame))
    problem = Problem((it,), ask, regression=False, fit=rows, calibration=rows, report_rows=300, target=0.9)
    looks = Looks.at(Trial.of(problem), 0)
    assert len(looks.sample.rows) == min(300, LOOKED_AT)
    partition = Partition(it, cuts=tuple((np.linspace(0, 89, parts + 1)[1:-1].round() + 0.5).tolist()))
    told = looks.effects(partition, {"it": Ranges(it, None, np.empty(0), 0.0)})
    known = np.argwhere(np.isfinite(told.lost))
    assert (len(known) == told.lost.size) == (len(told.candidates) <= 2 * NEIGHBOURS + 4)
    part = partition.parts(rows.codes["it"])
    for place, candidate in known:
        changed = ask(frame.assign(it=told.candidates[candidate]))
        slow = ((changed != rows.answers).all(axis=1) & (part == place)).sum() / 300
        assert told.lost[place, candidate] == pytest.approx(slow)
    for place in range(partition.size):
        assert np.isfinite(told.lost[place, told.owner == place]).any()
    assert np.isfinite(told.lost.sum(axis=0)).any()


@pytest.fixture
def celled() -> tuple[Generalizer, Trial]:
    """Return four cells over two whole numbers, of which only whether `it` is above 49 matters, and fit rows."""
    random = np.random.default_rng(3)
    columns = [
        Column(name=name, dtype="integer", role="quasi_identifier", min=0, max=99) for name in ("it", "other", "third")
    ]
    attributes = tuple(
        attributes_of(DatasetSchema(name="made", source=None, columns=columns), ["it", "other", "third"])
    )
    frame = pd.DataFrame(random.integers(0, 100, (500, 3)), columns=["it", "other", "third"])

    def ask(rows: pd.DataFrame) -> np.ndarray:
        return (rows["it"] > 49).to_numpy().astype(np.int64)[:, np.newaxis]

    rows = Rows.of(frame, ask(frame), attributes)
    ranges = [
        Ranges(attributes[0], Partition(attributes[0], cuts=(49.5,)), np.array([25.0, 75.0]), 25.0),
        Ranges(attributes[1], Partition(attributes[1], cuts=(20.5, 60.5)), np.array([10.0, 40.0, 80.0]), 40.0),
        Ranges(attributes[2], None, np.empty(0), 50.0),
    ]
    it = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=np.bool_)
    other = np.array([[1, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 1]], dtype=np.bool_)
    cells = Cells(
        {"it": it, "other": other},
        {"it": np.array([25.0, 25.0, 75.0, 75.0]), "other": np.array([20.0, 80.0, 10.0, 60.0])},
        np.ones(4, dtype=np.bool_),
        np.zeros((4, 1)),
    )
    problem = Problem(attributes, ask, regression=False, fit=rows, calibration=rows, report_rows=500, target=0.9)
    return Generalizer("greedy", "representatives", tuple(ranges), cells), Trial.of(problem)


def test_cells_of_different_branches_join(celled: tuple[Generalizer, Trial]) -> None:
    generalizer, fit = celled
    assert generalizer.cells is not None
    merging = Merging(generalizer, generalizer.cells, fit, {"it": 1.0, "other": 1.0, "third": 1.0})
    path = merging.path(budget=0.01)
    assert [len(boxes) for boxes in path] == [4, 3, 2]
    whole = merging.labelled(path[-1])
    assert whole.cells is not None
    assert whole.cells.labels.ravel().tolist() in ([0, 1], [1, 0])
    assert whole.cells.agrees.all()
    assert [None if each.partition is None else each.partition.cuts for each in whole.ranges] == [(49.5,), (), None]
    told = [sum(merging.made(boxes).losses(fit.rows.codes).values()) for boxes in path]
    assert told == sorted(told)
    assert sum(whole.losses(fit.rows.codes).values()) == pytest.approx(told[-1])
    pd.testing.assert_frame_equal(
        whole.transform(fit.rows.frame)[["it"]], merging.made(path[-1]).transform(fit.rows.frame)[["it"]]
    )


def test_cells_do_not_join_beyond_the_budget(celled: tuple[Generalizer, Trial]) -> None:
    generalizer, fit = celled
    assert generalizer.cells is not None
    merging = Merging(generalizer, generalizer.cells, fit, {"it": 1.0, "other": 1.0, "third": 1.0})
    for budget in (0.0, 0.3, 0.6):
        last = merging.made(merging.path(budget)[-1])
        lost = fit.lost({name: codes for name, codes in last.recoded(fit.rows.codes).items() if name != "third"}).mean()
        assert lost <= budget


def test_cells_that_do_not_touch_stay_apart(celled: tuple[Generalizer, Trial]) -> None:
    generalizer, fit = celled
    it = np.array([[1, 0], [1, 0], [1, 1], [0, 1], [0, 1]], dtype=np.bool_)
    other = np.array([[1, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 1]], dtype=np.bool_)
    standing = {"it": np.array([25.0, 25.0, 25.0, 75.0, 75.0]), "other": np.array([10.0, 80.0, 40.0, 10.0, 80.0])}
    cells = Cells({"it": it, "other": other}, standing, np.ones(5, dtype=np.bool_), np.zeros((5, 1)))
    merging = Merging(replace(generalizer, cells=cells), cells, fit, {"it": 1.0, "other": 1.0, "third": 1.0})
    for boxes in merging.path(budget=1.0):
        for box in boxes:
            held = np.flatnonzero(box.admitted["other"])
            assert (np.diff(held) == 1).all()


@pytest.mark.parametrize("together", [1, 900, 2**16])
def test_ways_to_fill_an_attribute_lose_the_same_asked_together_or_one_by_one(
    celled: tuple[Generalizer, Trial], monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    _, fit = celled
    monkeypatch.setattr(trials, "TOGETHER", together)
    ways = np.random.default_rng(1).integers(0, 100, (5, len(fit.rows))).astype(np.float64)
    each = [fit.lost({"it": way}) for way in ways]
    assert 0 < np.mean(each) < 1
    assert np.array_equal(fit.lost_each("it", ways), np.stack(each))


def joining(rule: Any, cuts: tuple[float, ...], standing: list[float]) -> tuple[Merging, Trial]:
    """Return cells side by side on one column, the model answering by a rule on it."""
    it, other = attributes_of(
        DatasetSchema(
            name="made",
            source=None,
            columns=[
                Column(name=name, dtype="integer", role="quasi_identifier", min=0, max=99) for name in ("it", "other")
            ],
        ),
        ["it", "other"],
    )
    frame = pd.DataFrame({"it": np.tile(np.arange(100), 10), "other": np.arange(1000) % 7})

    def ask(rows: pd.DataFrame) -> np.ndarray:
        return np.asarray(rule(rows["it"])).astype(np.int64)[:, np.newaxis]

    rows = Rows.of(frame, ask(frame), (it, other))
    count = len(standing)
    cells = Cells(
        {"it": np.eye(count, dtype=np.bool_)},
        {"it": np.array(standing)},
        np.ones(count, dtype=np.bool_),
        np.zeros((count, 1)),
    )
    ranges = (Ranges(it, Partition(it, cuts=cuts), np.array(standing), 25.0), Ranges(other, None, np.empty(0), 3.0))
    problem = Problem((it, other), ask, regression=False, fit=rows, calibration=rows, report_rows=500, target=0.9)
    fit = Trial.of(problem)
    return Merging(Generalizer("greedy", "representatives", ranges, cells), cells, fit, {"it": 1.0, "other": 1.0}), fit


def test_the_better_of_two_stands_for_a_joined_cell() -> None:
    merging, _ = joining(lambda it: it == 25, (49.5,), [25.0, 75.0])
    (whole,) = merging.path(budget=0.02)[-1]
    assert whole.values == {"it": 75.0}
    assert whole.lost == 10  # the rows of 25
    merging, _ = joining(lambda it: it == 75, (49.5,), [25.0, 75.0])
    (whole,) = merging.path(budget=0.02)[-1]
    assert whole.values == {"it": 25.0}


def test_cells_join_first_where_least_is_lost_for_what_is_gained() -> None:
    """The wider pair gains more, but its answers differ."""
    merging, _ = joining(lambda it: it > 49, (19.5, 49.5), [10.0, 30.0, 80.0])
    boxes = merging.path(budget=1.0)[1]
    assert sorted(int(box.admitted["it"].sum()) for box in boxes) == [1, 2]
    joined = next(box for box in boxes if box.admitted["it"].sum() == 2)
    assert joined.admitted["it"].tolist() == [True, True, False]
    assert joined.lost == 0
