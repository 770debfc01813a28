"""The parts of minimization=tree, against what slow and plain computing gives."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.minimization.attributes import BELOW, Attribute, attributes_of
from components.minimization.declarations import Tree
from components.minimization.generalizer import Generalizer
from components.minimization.partitions import Partition
from components.minimization.problem import Answers, Ask, Problem, Rows, agree, replaced
from components.minimization.tree.assembling import _majorities, draft, finished
from components.minimization.tree.boxes import boxes
from components.minimization.tree.candidates import grid, offers, standing_for
from components.minimization.tree.choosing import for_all, for_leaves, rounded
from components.minimization.tree.growth import NONE, Grown, grow
from components.minimization.tree.medoids import rows_for_all, rows_for_leaves
from components.minimization.tree.method import Trials
from components.minimization.tree.pruning import Path, unpruned, weakest_links
from components.minimization.tree.raising import _applied, _chosen, _offers, raised
from components.minimization.tree.ranks import Ranks, told_apart
from components.minimization.tree.sample import CONTEXTS, LOOKS, Sample
from components.minimization.tree.standing import Standing
from schemas.dataset import DatasetSchema

People = Callable[[int, int], pd.DataFrame]
Make = Callable[..., Problem]
COLUMNS = ["age", "visits", "income", "region", "grade", "member", "born", "house_own"]


def answer(frame: pd.DataFrame) -> Answers:
    """Answer by all kinds of columns, missing cells among them."""
    signal = frame["age"] / 90 + frame["visits"].fillna(20).astype(float) / 12 + frame["region"].eq("west")
    signal += frame["grade"].isna() * 0.7 - frame["born"].isna() * 0.4 + frame["house_rent"] * 0.5
    signal += frame["smoker"] * frame["income"] / 3e4
    return np.asarray(np.digitize(signal, [1.2, 2.0]), dtype=np.int64)[:, np.newaxis]


def branches(frame: pd.DataFrame) -> Answers:
    """Answer by a category of many values, together with age and smoking."""
    places = frame["branch"].cat.codes
    signal = places.isin([1, 4, 7]) * 2 + (places == 2) * (frame["age"] > 50) + (frame["age"] > 70) * frame["smoker"]
    return np.asarray(signal, dtype=np.int64)[:, np.newaxis]


@pytest.fixture(scope="module", params=[(answer, COLUMNS), (branches, ["branch", "age"])], ids=["kinds", "branches"])
def standing(
    people: People, people_schema: DatasetSchema, problem_for: Make, request: pytest.FixtureRequest
) -> Standing:
    ask, columns = request.param
    problem = problem_for(people(1500, 0), people_schema, ask, columns=columns, target=0.8)
    sample = Sample.of(problem)
    return for_all(for_leaves(sample, *grow(sample.ranks, sample.targets(), 10, None, 0)))


def below(tree: Grown, node: int) -> range:
    return range(node, int(tree.stop[node]))


def asked(standing: Standing, rows: np.ndarray, node: int) -> np.ndarray:
    """Ask the model about rows that hold what stands for a node, plainly; return which answers change."""
    sample = standing.sample
    codes = {
        each.name: np.full(len(rows), value).astype(np.int64 if each.kind == "nominal" else np.float64)
        for each, value in zip(sample.attributes, standing.values[node], strict=True)
    }
    now = sample.problem.ask(replaced(sample.frame.iloc[rows], sample.attributes, codes))
    return ~agree(sample.answers[rows], now)


def number(name: str = "x", low: float = 0, high: float = 9) -> Attribute:
    columns = {name: {"dtype": "number", "role": "quasi_identifier", "min": low, "max": high}}
    schema = DatasetSchema.model_validate({"name": "made", "source": None, "columns": columns})
    [attribute] = attributes_of(schema, [name])
    return attribute


def chain(attribute: Attribute, cuts: dict[int, float], children: tuple[list[int], list[int]]) -> Grown:
    size = len(children[0])
    split, at = np.full(size, NONE), np.full(size, np.nan)
    for node, cut in cuts.items():
        split[node], at[node] = 0, cut
    sides = (np.array(children[0]), np.array(children[1]))
    return Grown.of((attribute,), sides, split, np.stack((at, at)))


def parts_of(tree: Grown, kept: list[int]) -> tuple[float, ...]:
    """Return the cuts that are left when only some inner nodes stay."""
    [held] = boxes(tree)
    return held.partition(np.array(kept, dtype=np.int64), tree).cuts


def cuts_of(tree: Grown) -> np.ndarray:
    return tree.at


def test_pruning_a_level_merges_its_cuts_and_pruning_the_root_leaves_none():
    # 4.5 above 2.5 and 6.5: merged by one level, (-inf, 4.5] and (4.5, inf) are left
    tree = chain(number(), {0: 4.5, 1: 2.5, 4: 6.5}, ([1, 2, -1, -1, 5, -1, -1], [4, 3, -1, -1, 6, -1, -1]))
    assert parts_of(tree, [0, 1, 4]) == (2.5, 4.5, 6.5)
    assert parts_of(tree, [0]) == (4.5,)
    assert parts_of(tree, []) == ()


def test_a_tree_grows_where_answers_change_and_cuts_between_neighbouring_values():
    values = np.repeat([1.0, 4.0, 9.0], 20)
    attribute = number()
    ranks = Ranks.of((attribute,), {"x": values})
    tree, leaves = grow(ranks, (values > 2)[:, np.newaxis].astype(np.float64), 5, None, 0)
    assert len(tree) == 3
    assert 1 <= cuts_of(tree)[0] < 4
    assert np.array_equal(leaves, np.where(values > 2, 2, 1))


def test_leaves_hold_at_least_the_rows_asked_for(standing: Standing):
    assert np.bincount(standing.leaves)[np.unique(standing.leaves)].min() >= 10


def test_missing_cells_are_cut_from_values_at_minus_infinity():
    values = np.array([BELOW] * 30 + [1.0] * 30)
    ranks = Ranks.of((number(),), {"x": values})
    tree, _ = grow(ranks, (values == BELOW)[:, np.newaxis].astype(np.float64), 5, None, 0)
    assert cuts_of(tree)[0] == BELOW


def test_large_numbers_that_32_bits_do_not_tell_apart_are_cut():
    values = np.repeat([2.0**40, 2.0**40 + 1], 20)
    ranks = Ranks.of((number(high=2.0**41),), {"x": values})
    tree, _ = grow(ranks, (values > 2.0**40)[:, np.newaxis].astype(np.float64), 5, None, 0)
    assert 2.0**40 <= cuts_of(tree)[0] < 2.0**40 + 1


def test_each_node_holds_the_codes_of_the_rows_below_it_and_of_no_others(standing: Standing):
    tree, sample = standing.tree, standing.sample
    for node in range(len(tree)):
        inside = np.ones(len(sample), dtype=bool)
        for each in standing.held:
            codes = sample.codes[each.attribute.name]
            whole = np.full(len(codes), node)
            inside &= each.holds(whole, codes) if hasattr(each, "cuts") else each.values[whole, codes]
        assert np.array_equal(inside, np.isin(standing.leaves, list(below(tree, node))))


def test_rows_and_errors_of_each_node_are_those_of_asking_plainly(standing: Standing):
    for node in range(len(standing.tree)):
        rows = np.flatnonzero(np.isin(standing.leaves, list(below(standing.tree, node))))
        assert standing.rows[node] == len(rows)
        assert standing.errors[node] == asked(standing, rows, node).sum()


def test_of_the_middle_and_what_is_usual_a_leaf_takes_what_changes_fewer_answers(standing: Standing):
    tree, sample = standing.tree, standing.sample
    nodes, place = np.unique(standing.leaves, return_inverse=True)
    offered = [offers(each, nodes, place, sample.codes[each.attribute.name]) for each in standing.held]
    errors = []
    for one in zip(*offered, strict=True):
        values = np.zeros((len(tree), len(standing.held)))
        values[nodes] = np.column_stack(one)
        other = replace(standing, values=values)
        errors.append([asked(other, np.flatnonzero(place == each), node).sum() for each, node in enumerate(nodes)])
    assert np.array_equal(standing.errors[nodes], np.min(errors, axis=0))


def test_what_stands_for_a_node_is_inside_it(standing: Standing):
    nodes = np.arange(len(standing.tree))
    for place, each in enumerate(standing.held):
        values = standing.values[:, place]
        if hasattr(each, "cuts"):
            assert each.holds(nodes, values).all()
        else:
            assert each.values[nodes, values.astype(np.int64)].all()


def test_every_fit_row_is_in_exactly_one_cell_and_gets_what_stands_for_it(standing: Standing):
    path, sample = weakest_links(standing), standing.sample
    for steps in (0, len(path) // 2, len(path) - 2, len(path)):
        found = draft(Tree(), path, steps)
        assert found.cells is not None
        parts = found.parts(sample.codes)
        fits = np.ones((len(sample), len(found.cells)), dtype=bool)
        for name, table in found.cells.admitted.items():
            fits &= table.T[parts[name]]
        assert (fits.sum(axis=1) == 1).all()
        nodes = np.flatnonzero(path.cells(steps))
        held = np.searchsorted(nodes, standing.leaves, side="right") - 1
        assert np.array_equal(fits.argmax(axis=1), held)


def test_the_privacy_of_cells_is_their_ncp_on_the_rows(standing: Standing):
    path, sample = weakest_links(standing), standing.sample
    for steps in (0, len(path) // 2, len(path)):
        found = draft(Tree(), path, steps)
        assert path.privacy[steps] == pytest.approx(sample.problem.privacy(found.losses(sample.codes)))


def test_errors_along_a_path_are_those_of_its_cells(standing: Standing):
    path = weakest_links(standing)
    for steps in range(0, len(path) + 1, 5):
        cells = path.cells(steps)
        assert path.errors[steps] == pytest.approx(standing.errors[cells].sum() / len(standing.sample))
        assert path.privacy[steps] == pytest.approx(standing.privacy[cells].sum() / len(standing.sample))
    assert np.flatnonzero(path.cells(len(path))).tolist() == [0]


def test_no_single_pruning_of_what_is_left_is_weaker_than_the_next(standing: Standing):
    path, tree = weakest_links(standing), standing.tree
    for steps in range(0, len(path), 7):
        cells = path.cells(steps)
        ratios = {}
        for node in np.flatnonzero(~cells & ~tree.above(cells)):
            inside = np.zeros(len(tree), dtype=bool)
            inside[list(below(tree, node))] = True
            lost = standing.errors[node] - standing.errors[cells & inside].sum()
            gained = standing.privacy[node] - standing.privacy[cells & inside].sum()
            ratios[int(node)] = lost / gained if gained > 1e-9 else (-np.inf if lost <= 0 else np.inf)
        assert ratios[int(path.nodes[steps])] == pytest.approx(min(ratios.values()))


def rows_of(standing: Standing) -> np.ndarray:
    """Return the leaf of each row by falling from the root."""
    tree, ranks = standing.tree, standing.sample.ranks.values
    return tree.fall(ranks, np.zeros(len(ranks), dtype=np.int64), tree.left == NONE)


@pytest.mark.parametrize("seed", range(6))
def test_raising_children_gives_a_tree_whose_statistics_are_those_of_asking_anew(standing: Standing, seed: int):
    random, tree = np.random.default_rng(seed), standing.tree
    inner = np.flatnonzero(tree.left != NONE)
    node = int(random.choice(inner[standing.rows[inner] > 60]))
    kept = int(random.choice([tree.left[node], tree.right[node]]))
    after = _applied(standing, np.array([node]), np.array([kept]))
    assert np.array_equal(after.leaves, rows_of(after))
    for each in range(len(after.tree)):
        rows = np.flatnonzero(np.isin(after.leaves, list(below(after.tree, each))))
        assert after.rows[each] == len(rows)
        assert after.errors[each] == pytest.approx(asked(after, rows, each).sum())


def test_what_raising_is_said_to_lose_and_gain_is_what_it_does(standing: Standing):
    path = weakest_links(standing)
    steps = len(path) // 2
    found = _offers(path, steps)
    assert len(found.nodes) > 2
    pruned = set(path.nodes[:steps].tolist())
    for place, node in enumerate(found.nodes):
        after = _applied(standing, found.nodes[[place]], found.kept[[place]])
        stays = np.ones(len(standing.tree), dtype=bool)
        dropped = standing.tree.left[node] + standing.tree.right[node] - found.kept[place]
        stays[[node, *below(standing.tree, int(dropped))]] = False
        renumbered = (np.cumsum(stays) - 1)[sorted(pruned & set(np.flatnonzero(stays).tolist()))]
        cells = Path(after, renumbered, path.errors, path.privacy).cells(len(renumbered))
        rows = len(standing.sample)
        assert after.errors[cells].sum() / rows - path.errors[steps] == pytest.approx(found.lost[place])
        assert after.privacy[cells].sum() / rows - path.privacy[steps] == pytest.approx(found.gained[place])


def test_no_more_is_raised_than_there_is_room_for_and_no_node_below_another(standing: Standing):
    tree, path = standing.tree, weakest_links(standing)
    found = _offers(path, len(path) // 2)
    for room in (0.0, 0.01, 0.03, 1.0):
        chosen = _chosen(tree, found, room)
        assert np.maximum(found.lost[chosen], 0).sum() <= room + 1e-9
        nodes = found.nodes[chosen]
        assert not any(one < other < tree.stop[one] for one in nodes for other in nodes)


def test_rounded_middles_stand_for_cells_where_they_change_no_more_answers(standing: Standing):
    path = weakest_links(standing)
    nodes = np.flatnonzero(path.cells(len(path) // 2))
    after = rounded(standing, nodes)
    place = np.searchsorted(nodes, standing.leaves, side="right") - 1
    offered = [offers(each, nodes, place, standing.sample.codes[each.attribute.name])[0] for each in standing.held]
    middles = np.column_stack(offered)
    values = standing.values.copy()
    values[nodes] = middles
    plain = np.array(
        [asked(replace(standing, values=values), np.flatnonzero(place == p), n).sum() for p, n in enumerate(nodes)]
    )
    better = plain <= standing.errors[nodes]
    assert np.array_equal(after.values[nodes], np.where(better[:, np.newaxis], middles, standing.values[nodes]))
    assert np.array_equal(after.errors[nodes], np.minimum(plain, standing.errors[nodes]))


def test_raising_reaches_more_privacy_within_the_same_errors(standing: Standing):
    path = weakest_links(standing)
    for allowance in (0.02, 0.05, 0.1):
        reached = [each.privacy[each.within(allowance)] for each in raised(path, allowance)]
        assert reached == sorted(reached)


def test_a_split_that_pruning_can_not_reach_is_raised_away(problem_for: Make):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"rare": random.integers(0, 100, 4000), "much": random.integers(0, 100, 4000)})
    names = {name: {"role": "quasi_identifier", "dtype": "integer", "min": 0, "max": 99} for name in frame}
    schema = DatasetSchema.model_validate({"name": "made", "source": None, "columns": names})

    def ask(rows: pd.DataFrame) -> Answers:
        return ((rows["much"] > 50) ^ (rows["rare"] > 97)).to_numpy(dtype=np.int64)[:, np.newaxis]

    problem = problem_for(frame, schema, ask, columns=["rare", "much"], target=0.9)
    sample = Sample.of(problem)
    # a tree that splits on the rare one first
    attribute_order = np.stack([(sample.codes["rare"] > 97) * 3.0, sample.codes["much"] > 50], axis=1)
    tree, leaves = grow(sample.ranks, attribute_order * [1.0, 0.1], 10, None, 0)
    assert tree.split[0] == 0
    before = weakest_links(for_all(for_leaves(sample, tree, leaves)))
    after = raised(before, 0.05)[-1]
    assert 0 not in after.standing.tree.split[:1]
    assert after.privacy[after.within(0.05)] > before.privacy[before.within(0.05)] + 0.01


def test_labels_are_the_majority_of_a_merged_cell():
    frame = pd.DataFrame({"x": [0.0] * 5 + [9.0] * 300})
    schema = DatasetSchema.model_validate(
        {"name": "m", "source": None, "columns": {"x": {"dtype": "number", "role": "insensitive", "min": 0, "max": 9}}}
    )
    ask: Ask = lambda rows: (rows[["x"]] > 4).to_numpy(dtype=np.int64)  # noqa: E731
    attributes = tuple(attributes_of(schema, ["x"]))
    rows = Rows.of(frame, ask(frame), attributes)
    problem = Problem(attributes, ask, regression=False, fit=rows, calibration=rows, report_rows=300, target=0.9)
    sample = Sample.of(problem)
    path = weakest_links(for_all(for_leaves(sample, *grow(sample.ranks, sample.targets(), 1, None, 0))))
    found = finished(Tree(), path, len(path))
    assert found.cells is not None
    assert found.cells.labels.tolist() == [[1.0]]


def test_a_cell_agrees_where_most_of_its_rows_keep_their_answer():
    cell = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    answers = np.array([1, 1, 0, 2, 0, 2, 0, 1])[:, np.newaxis]
    now = np.array([1, 0, 1, 2, 0, 0, 0, 0])[:, np.newaxis]
    labels, agrees = _majorities(answers, now, cell, 3)
    assert labels[:, 0].tolist() == [1, 2, 0]  # the first among equals
    assert agrees.tolist() == [False, True, False]  # one, two and one of them, whatever the label


def test_missing_cells_stand_for_no_group_that_holds_values(people_schema: DatasetSchema):
    [branch] = attributes_of(people_schema, ["branch"])
    codes = np.array([9] * 50 + [3] * 5 + [4] * 2)  # most are missing
    assert standing_for(Partition.whole(branch), codes).tolist() == [3]
    apart = Partition(branch, groups=(0, 0, 0, 0, 1, 1, 1, 1, 1, 2))
    assert standing_for(apart, codes).tolist() == [3, 4, 9]


def test_contexts_come_from_rows_whose_answers_move(people: People, people_schema: DatasetSchema, problem_for: Make):
    asked_of: list[float] = []

    def ask(rows: pd.DataFrame) -> Answers:
        asked_of.append(rows["smoker"].mean())
        return (rows["smoker"] & (rows["age"] > 50)).to_numpy(dtype=np.int64)[:, np.newaxis]

    sample = Sample.of(problem_for(people(1000, 0), people_schema, ask, columns=["age"], target=0.9))
    asked_of.clear()
    sample.targets()
    assert len(asked_of) == CONTEXTS
    assert max(asked_of[:LOOKS]) < 0.6
    assert set(asked_of[LOOKS:]) == {1.0}


def test_no_context_is_asked_in_vain(people: People, people_schema: DatasetSchema, problem_for: Make):
    calls: list[int] = []

    def ask(rows: pd.DataFrame) -> Answers:
        calls.append(len(rows))
        return (rows[["age"]] > 50).to_numpy(dtype=np.int64)

    sample = Sample.of(problem_for(people(1000, 0), people_schema, ask, columns=["age"], target=0.9))
    calls.clear()
    sample.targets()
    assert len(calls) == 1  # nothing but age matters


def test_actual_rows_have_the_label_of_their_node(standing: Standing):
    sample = standing.sample
    rows = rows_for_all(rows_for_leaves(sample, standing.tree, standing.leaves))
    own = sample.own()
    for node in range(len(rows.tree)):
        inside = np.flatnonzero(np.isin(rows.leaves, list(below(rows.tree, node))))
        same = inside[(own[inside] == rows.values[node]).all(axis=1)]
        assert same.size
        assert np.bincount(sample.answers[inside, 0]).argmax() in sample.answers[same, 0]


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9))
@settings(max_examples=50)
def test_a_grid_ascends_within_the_domain_and_holds_its_bounds(low: float, width: float):
    found = grid(number(low=low, high=low + width))
    assert (np.diff(found) > 0).all()
    assert (found[0], found[-1]) == (low, low + width)
    assert 20 <= len(found) <= 70


def test_ranges_count_values_as_the_cuts_say():
    attribute = number()
    tree = chain(attribute, {0: 2.5, 2: 5.5}, ([1, -1, 3, -1, -1], [2, -1, 4, -1, -1]))
    [held] = boxes(tree)
    partition = held.partition(np.array([0, 2]), tree)
    assert partition.parts(np.array([1.0, 4.0, 9.0])).tolist() == [0, 1, 2]
    assert np.bincount(partition.parts(np.arange(10.0))).tolist() == [3, 3, 4]
    assert partition.parts(np.array([5.9])).tolist() == [2]


def test_targets_tell_what_the_model_makes_of_values_not_what_goes_along_with_others(problem_for: Make):
    random = np.random.default_rng(0)
    hidden = random.integers(0, 2, 2000)
    frame = pd.DataFrame({"hidden": hidden, "echo": hidden * 50 + random.integers(0, 50, 2000)})
    names: dict[str, Any] = {"hidden": {"min": 0, "max": 1}, "echo": {"min": 0, "max": 99}}
    columns = {name: {"role": "insensitive", "dtype": "integer"} | facts for name, facts in names.items()}
    schema = DatasetSchema.model_validate({"name": "made", "source": None, "columns": columns})

    def ask(rows: pd.DataFrame) -> Answers:
        return (rows["hidden"] ^ (rows["echo"] % 50 > 44)).to_numpy(dtype=np.int64)[:, np.newaxis]

    sample = Sample.of(problem_for(frame, schema, ask, columns=["echo"], target=0.9))
    [targets] = sample.targets().T
    flips, echo = sample.codes["echo"] % 50 > 44, sample.codes["echo"] >= 50
    own = sample.answers[:, 0]
    assert own[echo].mean() - own[~echo].mean() > 0.7
    assert abs(targets[echo & ~flips].mean() - targets[~echo & ~flips].mean()) < 0.15 * targets.max()


def test_a_generalizer_of_a_path_is_one(standing: Standing):
    assert isinstance(draft(Tree(use="ranges"), weakest_links(standing), 3), Generalizer)


def least(partition: Partition, codes: np.ndarray) -> int:
    """Return the fewest rows in a part that can occur."""
    counts = np.bincount(partition.parts(codes), minlength=partition.size)
    nullable = any(column.nullable for column in partition.attribute.columns)
    kept = np.ones(partition.size, dtype=bool)
    if partition.missing_apart and not nullable:
        kept[partition.missing] = False
    return int(counts[kept].min())


@pytest.mark.parametrize("min_rows", [10, 40])
def test_no_range_or_group_of_all_cells_together_holds_fewer_rows_than_asked_for(
    people: People, people_schema: DatasetSchema, problem_for: Make, min_rows: int
):
    columns = [name for name in people_schema.features if name != "outcome"]
    sample = Sample.of(problem_for(people(1500, 0), people_schema, answer, columns=columns, target=0.8))
    tree, leaves = grow(sample.ranks, sample.targets(), min_rows, None, 0)
    assert np.bincount(leaves)[np.unique(leaves)].min() >= min_rows
    parts = [held.partition(np.flatnonzero(tree.split == place), tree) for place, held in enumerate(boxes(tree))]
    assert sum(each.size for each in parts) > 20
    assert min(least(each, sample.codes[each.attribute.name]) for each in parts) >= min_rows


@given(st.integers(0, 10_000), st.sampled_from([1, 5, 20]))
@settings(max_examples=50)
def test_cuts_leave_enough_rows_between_them_and_are_no_finer_than_the_rows_allow(seed: int, min_rows: int):
    random = np.random.default_rng(seed)
    codes = np.where(random.random(300) < 0.05, BELOW, np.round(random.gamma(2, 1, 300), 3))
    attribute = number(high=30)
    ranks = Ranks.of((attribute,), {"x": codes})
    wanted = random.permutation(len(ranks.distinct[0]) - 1)
    cuts = ranks.settled(0, wanted.tolist(), min_rows)
    counts = np.bincount(np.searchsorted(cuts, codes), minlength=len(cuts) + 1)
    assert counts.min() >= min_rows
    assert counts[1:-1].max(initial=0) <= 4 * min_rows + np.unique(codes, return_counts=True)[1].max()


def test_a_cut_is_the_roundest_place_among_half_the_rows_asked_for_on_either_side():
    codes = np.array([100.0, 200, *range(24_476, 24_486), 90_000, 95_000]).repeat(2)
    ranks = Ranks.of((number(high=1e5),), {"x": codes})
    alone = ranks.settled(0, [6], 1)
    assert 24_480 <= alone[0] < 24_481
    assert ranks.settled(0, [6], 4).tolist() == [24_480]  # two rows either side: from 24,479 up to 24,482
    assert ranks.settled(0, [6], 12).tolist() == [24_480]
    assert ranks.settled(0, [2], 4).tolist() == [10_000]
    assert ranks.settled(0, [0], 8).size == 0  # four rows are not eight


def test_the_most_useful_of_cuts_that_are_too_near_stays():
    codes = np.arange(0, 9, 0.1)
    ranks = Ranks.of((number(),), {"x": codes})
    assert ranks.settled(0, [43, 47], 12).tolist() == [4]
    assert ranks.settled(0, [47, 43], 12).tolist() == [5]


@pytest.mark.parametrize(
    ("rows", "nullable", "apart"),
    [
        ([50, 40, 30, 20], False, [0, 1, 2, 3]),
        ([50, 40, 30, 5], False, [0, 1]),  # the five are not alone
        ([50, 40, 6, 5], False, [0, 1]),  # together the rest are eleven
        ([50, 40, 30, 0], False, [0, 1]),  # what nobody has is no group of its own
        ([50, 40, 30, 20], True, [0, 1, 2]),  # nor is being missing, where nobody is
        ([50, 40, 30, 20, 10], True, [0, 1, 2, 3, 4]),
        ([50, 9, 0, 0], False, []),
    ],
)
def test_codes_are_told_apart_where_enough_rows_hold_them_and_the_rest(
    rows: list[int],
    nullable: bool,  # noqa: FBT001  # a parameter of the test
    apart: list[int],
):
    column = {"dtype": "category", "role": "insensitive", "values": list("abcd"), "nullable": nullable}
    schema = DatasetSchema.model_validate({"name": "made", "source": None, "columns": {"x": column}})
    [attribute] = attributes_of(schema, ["x"])
    assert told_apart(attribute, np.repeat(np.arange(len(rows)), rows), 10).tolist() == apart


def test_few_missing_cells_keep_no_value_from_being_cut_off_after_them():
    ranks = Ranks.of((number(),), {"x": np.array([BELOW] * 2 + [1.0] * 2 + [9.0] * 10)})
    assert ranks.settled(0, [1], 4).tolist() == [5]


def test_of_two_cuts_of_different_branches_that_are_too_near_the_one_that_tells_more_is_kept():
    side, values = np.repeat([0.0, 9], 100), np.tile(np.arange(100.0), 2)
    ranks = Ranks.of((number("side"), number("x", high=99)), {"side": side, "x": values})
    targets = np.where(side == 0, values > 44, 10.0 * (values > 50))
    tree, _ = grow(ranks, targets[:, np.newaxis], 14, 2, 0)
    cuts = cuts_of(tree)[tree.split == 1]
    assert 50 in cuts
    assert 45 not in cuts


def test_the_step_taken_is_the_one_that_the_search_ends_with(standing: Standing):
    sample, path = standing.sample, weakest_links(standing)
    trials = Trials(Tree(), sample.problem, sample.defaults)
    trials.holds(unpruned(standing), 0)
    trials.gave_back("age")
    for tried, steps in ((unpruned(standing), 0), (path, 3), (path, 5)):
        trials.holds(tried, steps)
    trials.take(path, 3)
    assert [step["taken"] for step in trials.steps] == [False, True, False, True, False]
    trials.take(path, 0)  # tried as its leaves
    assert [step["taken"] for step in trials.steps] == [False, True, True, True, False]
