from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from components.anonymization.criteria.requirements import Requirement
from components.anonymization.guided.surrogate import Tree, agreement, collapse, grow, read_predictions
from components.classes.coding import encode
from components.classes.counts import distinct, entropy, sizes
from components.data.table import Table
from schemas.faults import GoalError

Make = Callable[..., Table]


def attributes_of(make: Make, **cells: Any):
    table = make(cells)
    return encode(table.frame, table.schema.columns)


def same_partition(one: Any, other: Any):
    return len({*zip(one, other, strict=True)}) == len({*one}) == len({*other})


@pytest.mark.parametrize("numbers", [False, True])
def test_grows_the_tree_that_the_rows_themselves_would_give(make: Make, rng: np.random.Generator, *, numbers: bool):
    age, height = rng.integers(20, 30, 600).tolist(), rng.integers(150, 160, 600).astype(float).tolist()
    says = rng.normal(size=600) + np.array(age) + 0.1 * np.array(height)
    says = says if numbers else np.where(says > np.median(says), "yes", "no")
    attributes = attributes_of(make, age=age, height=height)
    tree = grow(attributes, read_predictions(says, 600, numbers=numbers), 10, "own_value", 0)
    plain = (DecisionTreeRegressor if numbers else DecisionTreeClassifier)(min_samples_leaf=10, random_state=0)
    rows = np.column_stack([age, height])
    assert same_partition(tree.leaves, plain.fit(rows, says).apply(rows))
    assert np.bincount(tree.leaves)[tree.leaves].min() >= 10


def test_numbers_put_categories_in_the_order_of_their_mean(make: Make):
    regions = ["north", "south", "west"] * 40
    says = np.array([5.0, 1.0, 5.0] * 40)
    tree = grow(attributes_of(make, region=regions), read_predictions(says, 120, numbers=True), 40, "own_value", 0)
    assert same_partition(tree.leaves, np.array(regions) == "south")


def test_several_outputs_put_categories_on_one_axis(make: Make):
    regions = ["north", "south", "west"] * 40
    says = np.array([[5.0, 9.0], [1.0, 0.0], [5.1, 9.0]] * 40)
    tree = grow(attributes_of(make, region=regions), read_predictions(says, 120, numbers=True), 40, "own_value", 0)
    assert np.unique(tree.leaves[np.array(regions) == "south"]).tolist() not in np.unique(tree.leaves[0::3]).tolist()
    assert len(np.unique(tree.leaves)) == 3


def test_missing_cells_are_told_apart_or_left_aside(make: Make):
    ages = [None, 20, 21] * 30
    says = read_predictions([age is None for age in ages], 90, numbers=False)
    apart = grow(attributes_of(make, age=ages), says, 20, "own_value", 0)
    assert same_partition(apart.leaves, [age is None for age in ages])
    aside = grow(attributes_of(make, age=ages), says, 20, "ignore", 0)
    assert {*aside.leaves[0::3]} == {*aside.leaves[1::3]}


def test_a_column_that_is_always_missing_is_no_obstacle(make: Make):
    says = read_predictions([True, False] * 20, 40, numbers=False)
    tree = grow(attributes_of(make, age=[None] * 40, height=[1.5, 1.75] * 20), says, 10, "own_value", 0)
    assert len(np.unique(tree.leaves)) == 2
    assert len(grow(attributes_of(make, age=[None] * 40), says, 10, "own_value", 0).parent) == 1


@pytest.mark.parametrize(("rows", "k", "leaves"), [(19, 10, 1), (20, 10, 2)])
def test_twice_k_rows_are_needed_for_a_split(make: Make, rows: int, k: int, leaves: int):
    low = rows // 2
    ages = [20] * low + [60] * (rows - low)
    says = read_predictions([age == 20 for age in ages], rows, numbers=False)
    assert len(np.unique(grow(attributes_of(make, age=ages), says, k, "own_value", 0).leaves)) == leaves


def test_refuses_predictions_that_do_not_fit():
    with pytest.raises(ValueError, match="2 predictions for 3 rows"):
        read_predictions(["a", "b"], 3, numbers=False)
    with pytest.raises(ValueError, match="missing"):
        read_predictions([1.0, float("nan")], 2, numbers=True)
    with pytest.raises(ValueError, match="missing"):
        read_predictions(np.array(["a", None], dtype=object), 2, numbers=False)


def test_agreement_is_accuracy_or_r2():
    classes = np.array([0, 0, 0, 1])
    assert agreement(classes, read_predictions(["a", "a", "b", "b"], 4, numbers=False)) == 0.75
    assert agreement(classes, read_predictions([1.0, 1.0, 1.0, 5.0], 4, numbers=True)) == 1.0
    assert agreement(classes, read_predictions([2.0, 2.0, 2.0, 2.0], 4, numbers=True)) == 1.0
    assert agreement(np.zeros(4, dtype=int), read_predictions([1.0, 2.0, 3.0, 4.0], 4, numbers=True)) == 0.0


@st.composite
def random_trees(draw: st.DrawFn) -> tuple[Tree, dict[int, tuple[int, int]]]:
    """Draw a binary tree numbered in preorder, with one to four rows in each leaf."""
    children: dict[int, tuple[int, int]] = {}
    parent, depth = [0], [0]

    def build(node: int) -> None:
        if depth[node] < 4 and draw(st.booleans()):
            sides = []
            for _ in range(2):
                parent.append(node)
                depth.append(depth[node] + 1)
                sides.append(len(parent) - 1)
                build(sides[-1])
            children[node] = (sides[0], sides[1])

    build(0)
    leaves = [node for node in range(len(parent)) if node not in children]
    rows = [leaf for leaf in leaves for _ in range(draw(st.integers(1, 4)))]
    levels = tuple(np.flatnonzero(np.array(depth) == level) for level in range(max(depth) + 1))
    return Tree(np.array(draw(st.permutations(rows))), np.array(parent), levels), children


@settings(max_examples=120, deadline=None)
@given(made=random_trees(), data=st.data())
def test_a_split_stays_exactly_if_both_its_sides_meet_every_requirement(made: Any, data: st.DataObject):
    tree, children = made
    rows = len(tree.leaves)
    codes = np.array(data.draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows)))
    asked = [
        Requirement("k", "", float(data.draw(st.integers(1, rows))), np.zeros(rows, dtype=int), 1, sizes),
        Requirement("l_distinct", "s", float(data.draw(st.integers(1, len({*codes})))), codes, 3, distinct),
        Requirement("l_entropy", "s", 1.0, codes, 3, entropy),
    ]

    def below(node: int) -> set[int]:
        return {node} | {leaf for child in children.get(node, ()) for leaf in below(child)}

    def meets(node: int) -> bool:
        there = np.isin(tree.leaves, [*below(node)])
        return there.sum() >= asked[0].asked and len({*codes[there]}) >= asked[1].asked

    def settle(node: int) -> list[int]:
        if node in children and all(meets(child) for child in children[node]):
            return [one for child in children[node] for one in settle(child)]
        return [node]

    expected = np.full(rows, -1)
    for number, node in enumerate(settle(0)):
        expected[np.isin(tree.leaves, [*below(node)])] = number
    assert collapse(tree, asked).tolist() == expected.tolist()


def test_collapsing_never_hides_that_the_whole_table_fails(make: Make):
    tree = grow(attributes_of(make, age=[20, 60]), read_predictions(["a", "b"], 2, numbers=False), 1, "own_value", 0)
    with pytest.raises(GoalError, match="k=3 but 2 rows"):
        collapse(tree, [Requirement("k", "", 3.0, np.zeros(2, dtype=int), 1, sizes)])


def test_predictions_too_large_to_be_squared_are_told_apart_all_the_same():
    outputs = np.array([1.7e308, 1.7e308, -1.7e308, -1.7e308])
    predictions = read_predictions(outputs, 4, numbers=True)
    assert agreement(np.array([0, 0, 1, 1]), predictions) == 1.0
    assert agreement(np.array([0, 1, 0, 1]), predictions) == 0.0
    small = read_predictions(np.array([1.0, 3.0]), 2, numbers=True)
    assert small.outputs.tolist() == [[1.0], [3.0]]
