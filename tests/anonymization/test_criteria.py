from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from components.anonymization.criteria.distances import equal_distance, hierarchical_distance, ordered_distance
from components.anonymization.criteria.gains import basic_gain, enhanced_gain, log_ratio, log_ratio_of_present
from components.classes.counts import (
    Counts,
    distinct,
    entropy,
    largest_share,
    most_frequent,
    recursive,
    sizes,
    tally,
)


def one_class(codes: list[int], n_codes: int) -> Counts:
    return tally(np.zeros(len(codes), dtype=np.int64), np.array(codes), 1, n_codes)


def test_distance_of_three_lowest_of_nine_salaries():
    table = np.full(9, 1 / 9)
    counts = one_class([0, 1, 2], 9)
    assert ordered_distance(counts, table)[0] == pytest.approx(0.375, abs=1e-12)
    assert equal_distance(counts, table)[0] == pytest.approx(2 / 3, abs=1e-12)


def test_distance_of_a_one_valued_column_is_zero():
    counts = one_class([0, 0], 1)
    assert ordered_distance(counts, np.ones(1))[0] == 0
    assert equal_distance(counts, np.ones(1))[0] == 0


def test_opposite_ends_are_as_far_as_can_be():
    table = np.array([0.0, 0.0, 1.0])
    assert ordered_distance(one_class([0], 3), table)[0] == 1
    assert equal_distance(one_class([0], 3), table)[0] == 1


@pytest.mark.parametrize("m", [1, 2, 3, 7, 100])
def test_entropy_of_equally_frequent_values_is_their_number(m: int):
    assert entropy(one_class([*range(m)] * 3, m))[0] == pytest.approx(m, rel=1e-9)


def counted(*amounts: int) -> Counts:
    return one_class([code for code, amount in enumerate(amounts) for _ in range(amount)], len(amounts))


@pytest.mark.parametrize(
    ("amounts", "l", "c"),
    [
        ((100, 1), 2, 100),
        ((4, 3, 2, 1), 3, 4 / 3),
        ((1, 2, 3, 4), 3, 4 / 3),
        ((6, 2, 2), 3, 3),
        ((6, 2, 2), 2, 1.5),
        ((6, 2, 2), 4, np.inf),
        ((5,), 2, np.inf),
    ],
)
def test_recursive_diversity_says_what_c_must_exceed(amounts: tuple[int, ...], l: int, c: float):
    assert recursive(counted(*amounts), l)[0] == pytest.approx(c, rel=1e-12)


def test_recursive_diversity_takes_every_class_for_itself():
    counts = tally(
        np.array([0] * 10 + [1] * 10), np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 3] + [0] * 2 + [1] * 6 + [3] * 2), 2, 4
    )
    assert recursive(counts, 3) == pytest.approx([4 / 3, 3.0])


def test_a_gain_above_what_the_share_allows_is_satisfied_by_no_beta():
    counts = tally(np.array([0, 0, *[1] * 8]), np.array([0, 0, *[1] * 7, 0]), 2, 2)
    table = np.array([0.3, 0.7])
    assert basic_gain(counts, table) == pytest.approx([7 / 3, 0.25])
    assert enhanced_gain(counts, table) == pytest.approx([np.inf, 0.25])
    assert log_ratio(counts, table) == pytest.approx([np.inf, np.log(2.4)])
    assert log_ratio_of_present(counts, table) == pytest.approx([np.log(1 / 0.3), np.log(2.4)])


def test_what_the_table_lacks_gains_without_bound_and_what_it_is_like_gains_nothing():
    with np.errstate(all="raise"):
        counts, table = one_class([0, 1], 2), np.array([1.0, 0.0])
        assert [f(counts, table)[0] for f in (basic_gain, enhanced_gain, log_ratio)] == [np.inf] * 3
        counts, table = one_class([0, 0], 1), np.ones(1)
        assert [f(counts, table)[0] for f in (basic_gain, enhanced_gain, log_ratio)] == [0.0] * 3


def test_values_are_as_far_apart_as_their_common_ancestor_is_high():
    levels = [np.arange(4), np.array([0, 0, 1, 1])]  # two pairs, height 2
    table = np.full(4, 0.25)
    assert hierarchical_distance(one_class([0, 1, 2, 3], 4), table, levels)[0] == 0
    assert hierarchical_distance(one_class([0, 2], 4), table, levels)[0] == pytest.approx(0.5 * 1 / 2)
    assert hierarchical_distance(one_class([0, 1], 4), table, levels)[0] == pytest.approx(0.5 * 1)
    assert hierarchical_distance(one_class([0], 1), np.ones(1), [])[0] == 0


@st.composite
def transports(draw: st.DrawFn):
    """Draw a class, a table that holds it, and a hierarchy of two or three levels below the root."""
    size = draw(st.integers(2, 5))
    codes = draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=6))
    rest = draw(st.lists(st.integers(0, size - 1), max_size=6))
    levels = [np.arange(size)]
    for _ in range(draw(st.integers(0, 2))):
        merged = np.array(draw(st.lists(st.integers(0, 2), min_size=size, max_size=size)))
        levels.append(np.unique(merged[levels[-1]], return_inverse=True)[1])
    return size, codes, [*codes, *rest], levels


@settings(max_examples=100, deadline=None)
@given(made=transports())
def test_the_distances_are_the_least_cost_of_moving_shares(made: Any):
    size, codes, table, levels = made
    q, p = np.bincount(codes, minlength=size) / len(codes), np.bincount(table, minlength=size) / len(table)
    counts, place = one_class(codes, size), np.arange(size)
    ground = sum((level[:, None] != level).astype(float) for level in levels) / len(levels)
    assert hierarchical_distance(counts, p, levels)[0] == pytest.approx(least_cost(q, p, ground), abs=1e-9)
    assert equal_distance(counts, p)[0] == pytest.approx(least_cost(q, p, 1.0 - np.eye(size)), abs=1e-9)
    ground = np.abs(place[:, None] - place) / (size - 1)
    assert ordered_distance(counts, p)[0] == pytest.approx(least_cost(q, p, ground), abs=1e-9)


def least_cost(q: np.ndarray, p: np.ndarray, ground: np.ndarray) -> float:
    """Solve the transportation problem itself, as earth mover's distance is defined."""
    size = len(q)
    leaving, arriving = np.kron(np.eye(size), np.ones(size)), np.kron(np.ones(size), np.eye(size))
    found = linprog(ground.ravel(), A_eq=np.vstack([leaving, arriving]), b_eq=np.concatenate([q, p]))
    return float(found.fun)


def test_the_first_of_equally_frequent_codes_is_taken():
    counts = tally(np.array([0, 0, 0, 0, 1]), np.array([3, 1, 3, 1, 2]), 2, 4)
    assert most_frequent(counts).tolist() == [1, 2]


@st.composite
def rows(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int, int]:
    n_classes, n_codes = draw(st.integers(1, 5)), draw(st.sampled_from([1, 2, 6, 40_000]))
    extra = draw(st.lists(st.integers(0, n_classes - 1), max_size=30))
    classes = np.array([*range(n_classes), *extra])
    codes = draw(st.lists(st.integers(0, n_codes - 1), min_size=len(classes), max_size=len(classes)))
    return classes, np.array(codes), n_classes, n_codes


@given(rows())
def test_a_count_is_the_same_whether_dense_or_sorted(made: Any):
    classes, codes, n_classes, n_codes = made
    counts = tally(classes, codes, n_classes, n_codes)
    expected = sorted(
        (c, v, int(((classes == c) & (codes == v)).sum())) for c, v in {*zip(classes, codes, strict=True)}
    )
    assert [*zip(counts.classes, counts.codes, counts.counts, strict=True)] == expected
    assert (sizes(counts) == np.bincount(classes)).all()


@given(rows(), st.data())
def test_merging_counts_is_counting_merged_rows_and_makes_no_figure_worse(made: Any, data: st.DataObject):
    classes, codes, n_classes, n_codes = made
    into = np.array(data.draw(st.permutations([min(c, n_classes // 2) for c in range(n_classes)])))
    n_merged = n_classes // 2 + 1 if n_classes > 1 else 1
    into = np.minimum(into, n_merged - 1)
    counts = tally(classes, codes, n_classes, n_codes)
    merged = counts.merged(into, n_merged)
    again = tally(into[classes], codes, n_merged, n_codes)
    assert (merged.counts == again.counts).all()
    assert (merged.codes == again.codes).all()
    table = np.bincount(codes, minlength=n_codes) / len(codes)
    for figure, sign in ((sizes, 1), (distinct, 1), (entropy, 1), (largest_share, -1)):
        parts, whole = sign * figure(counts), sign * figure(merged)
        assert all(whole[into[c]] >= min(parts[into == into[c]]) - 1e-9 for c in range(n_classes))
    for distance in (equal_distance, ordered_distance):
        parts, whole = distance(counts, table), distance(merged, table)
        assert all(whole[into[c]] <= max(parts[into == into[c]]) + 1e-9 for c in range(n_classes))
