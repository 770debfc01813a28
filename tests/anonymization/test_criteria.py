from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.anonymization.criteria import (
    Counts,
    distinct,
    entropy,
    equal_distance,
    largest_share,
    most_frequent,
    ordered_distance,
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
