"""Microaggregation: groups are large enough, keep equal values together, and give all their rows one value."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.anonymization.pipeline import microaggregation
from components.anonymization.pipeline.microaggregation import microaggregate
from components.classes.coding import Attribute, encode
from schemas.dataset import Column

slowly = settings(max_examples=60, deadline=None)
DTYPES = {"number": "float64", "integer": "Int64", "date": "datetime64[us]"}


def units_of(*columns: Sequence[Any], dtype: Any = "number") -> list[Attribute]:
    frame = pd.DataFrame({f"x{at}": pd.Series(list(cells), dtype=DTYPES[dtype]) for at, cells in enumerate(columns)})
    return encode(frame, [Column(name=name, dtype=dtype, nullable=True) for name in frame])


def sse(columns: Sequence[Sequence[float]], groups: Sequence[int]) -> float:
    """Return the sum of squared distances to the group means, columns standardised."""
    points = np.array(columns, dtype=float).T
    points = (points - points.mean(axis=0)) / np.where(points.std(axis=0) > 0, points.std(axis=0), 1)
    ids = np.asarray(groups)
    return float(sum(((points[ids == one] - points[ids == one].mean(axis=0)) ** 2).sum() for one in set(groups)))


# Right values


def test_sorted_values_are_cut_into_runs_and_a_remainder_joins_the_last():
    found = microaggregate(units_of([7.0, 1, 2, 3, 10, 11, 12]), 3, "mean")
    assert found.groups.tolist() == [1, 0, 0, 0, 1, 1, 1]
    assert found.columns[0].cells.tolist() == [10.0, 2, 2, 2, 10, 10, 10]
    assert (found.count, found.by) == (2, "sorted values")


def test_equal_values_stay_together():
    assert microaggregate(units_of([1.0, 2, 2, 2, 3, 4]), 2, "mean").groups.tolist() == [0, 0, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("function", "expected"), [("mean", [2.5] * 4), ("median", [1.5] * 4), ("mode", [1.0] * 4)], ids=str
)
def test_a_group_gets_its_mean_median_or_mode(function: Any, expected: list[float]):
    assert microaggregate(units_of([1.0, 1, 2, 6]), 4, function).columns[0].cells.tolist() == expected


def ordered_units(cells: list[Any]) -> list[Attribute]:
    """Return one ordered column; no row shows its second and its fourth value."""
    values = ["low", "some", "mid", "most", "top"]
    column = Column(name="x", dtype="ordered", values=values, nullable=True)
    dtype = pd.CategoricalDtype(values, ordered=True)
    return encode(pd.DataFrame({"x": pd.Series(cells, dtype=dtype)}), [column])


@pytest.mark.parametrize(
    ("cells", "function", "expected"),
    [
        (["top", "low", "mid", "low", "mid", "top", "top"], "median", "mid"),
        (["top", "low", "mid", "low", "mid", "top", "top"], "mode", "top"),
        (["low", "top", "top", "low"], "median", "low"),
    ],
)
def test_a_group_of_ordered_values_gets_its_lower_median_or_mode(cells: list[Any], function: Any, expected: str):
    (shown,) = microaggregate(ordered_units(cells), len(cells), function).columns
    assert shown.cells.tolist() == [expected] * len(cells)
    assert shown.cells.dtype.ordered


def test_ordered_values_are_grouped_in_their_declared_order_and_missing_ones_stay_missing():
    cells = ["top", "low", "mid", "low", "mid", "top", None, None]
    (shown,) = microaggregate(ordered_units(cells), 2, "median").columns
    assert shown.cells[:6].tolist() == cells[:6]
    assert shown.cells[6:].isna().all()


def test_whole_numbers_and_dates_stay_what_they_are():
    whole = microaggregate(units_of([1, 2, 2, None], dtype="integer"), 3, "mean").columns[0].cells
    assert whole.dtype == "Int64"
    assert whole[:3].tolist() == [2, 2, 2]
    assert pd.isna(whole[3])
    assert microaggregate(units_of([1, 4], dtype="integer"), 2, "mean").columns[0].cells.tolist() == [3, 3]
    days = microaggregate(units_of(["2024-01-01", "2024-01-04", None], dtype="date"), 2, "mean").columns[0].cells
    assert pd.Series(days).dt.strftime("%Y-%m-%d").fillna("-").tolist() == [
        "2024-01-03",
        "2024-01-03",
        "-",
    ]  # halves go up


def test_large_whole_numbers_lose_nothing():
    base = 2**60
    cells = microaggregate(units_of([base + 1, base + 3, base + 9, base + 11], dtype="integer"), 2, "mean").columns[0]
    assert cells.cells.tolist() == [base + 2, base + 2, base + 10, base + 10]


def test_several_columns_are_grouped_where_they_lie():
    corners = [(0, 0), (0, 1), (1, 0), (9, 9), (9, 8), (8, 9), (0, 9), (1, 9), (0, 8)]
    found = microaggregate(units_of(*zip(*corners, strict=True)), 3, "mean")
    assert [set(found.groups[start : start + 3]) for start in (0, 3, 6)] == [{found.groups[at]} for at in (0, 3, 6)]
    assert (found.count, found.by) == (3, "MDAV")


def test_many_tuples_are_grouped_along_the_first_principal_component(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(microaggregation, "MOST_TUPLES", 3)
    line = np.arange(10.0)
    found = microaggregate(units_of(line, 2 * line), 5, "mean")
    assert found.by == "first principal component"
    assert len(set(found.groups[:5])) == len(set(found.groups[5:])) == 1


def test_rows_that_miss_other_columns_are_grouped_apart():
    found = microaggregate(units_of([1.0, 2, None, None], [1.0, 2, 3, 4]), 2, "mean")
    assert found.groups[0] == found.groups[1] != found.groups[2] == found.groups[3]
    assert pd.Series(found.columns[0].cells).isna().tolist() == [False, False, True, True]


# What always holds


@slowly
@given(
    values=st.lists(st.integers(-9, 9).map(lambda one: one / 8), min_size=1, max_size=60),
    size=st.integers(2, 7),
    function=st.sampled_from(["mean", "median", "mode"]),
)
def test_one_column(values: list[float], size: int, function: Any):
    found = microaggregate(units_of(values), size, function)
    members = Counter(found.groups.tolist())
    assert min(members.values()) >= min(size, len(values))
    released = dict(zip(found.groups.tolist(), found.columns[0].cells.tolist(), strict=True))
    assert found.columns[0].cells.tolist() == [released[group] for group in found.groups]
    ends: dict[int, list[float]] = {}
    for value, group in zip(values, found.groups, strict=True):
        ends.setdefault(group, []).append(value)
    ranges = sorted((min(ones), max(ones)) for ones in ends.values())
    assert all(high < low for (_, high), (low, _) in pairwise(ranges))  # runs: none overlaps
    assert all(min(ends[group]) <= value <= max(ends[group]) for group, value in released.items())
    if function == "mean":
        assert found.columns[0].cells.sum() == pytest.approx(sum(values))


@slowly
@given(
    rows=st.lists(st.tuples(*[st.integers(0, 6)] * 2), min_size=2, max_size=50),
    size=st.integers(2, 6),
    most=st.sampled_from([2, 5_000]),
    data=st.data(),
)
def test_several_columns(rows: list[tuple[int, int]], size: int, most: int, data: st.DataObject):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(microaggregation, "MOST_TUPLES", most)
        found = microaggregate(units_of(*zip(*rows, strict=True)), size, "mean")
        order = data.draw(st.permutations(range(len(rows))))
        moved = microaggregate(units_of(*zip(*[rows[at] for at in order], strict=True)), size, "mean")
    assert min(Counter(found.groups.tolist()).values()) >= min(size, len(rows))
    by_tuple: dict[Any, set[int]] = {}
    for row, group in zip(rows, found.groups.tolist(), strict=True):
        by_tuple.setdefault(row, set()).add(group)
    assert all(len(groups) == 1 for groups in by_tuple.values())
    for at in range(2):
        cells = np.asarray(found.columns[at].cells)
        assert cells.sum() == pytest.approx(sum(row[at] for row in rows))
        assert cells[order] == pytest.approx(np.asarray(moved.columns[at].cells), abs=0)


def test_mdav_is_no_worse_than_runs_of_one_column(rng: np.random.Generator):
    x, y = rng.normal(size=(2, 300)).round(3)
    mine = microaggregate(units_of(x, y), 5, "mean").groups.tolist()
    naive = np.empty(300, dtype=int)
    naive[np.argsort(x)] = np.arange(300) // 5
    assert sse([x, y], mine) < 0.5 * sse([x, y], naive.tolist())


@slowly
@given(rows=st.lists(st.integers(1, 9), min_size=1, max_size=40), size=st.integers(1, 20))
def test_runs_are_those_of_going_through_one_by_one(rows: list[int], size: int):
    expected, current, filled = [], 0, 0
    for amount in rows:
        if filled >= size:
            current, filled = current + 1, 0
        expected.append(current)
        filled += amount
    if filled < size and current:
        expected = [min(one, current - 1) for one in expected]
    assert microaggregation._runs(np.array(rows), size).tolist() == expected  # noqa: SLF001


def test_numbers_near_the_largest_overflow_nowhere():
    huge = [1.7e308, 1.6e308, -1.7e308, -1.6e308]
    for function, expected in (("mean", 1.65e308), ("median", 1.65e308), ("mode", 1.6e308)):
        cells = microaggregate(units_of(huge), 2, function).columns[0].cells  # type: ignore[arg-type]
        assert cells[0] == cells[1] == pytest.approx(expected)
        assert abs(cells[2]) == pytest.approx(1.7e308 if function == "mode" else expected)
    both = microaggregate(units_of(huge, huge[::-1]), 2, "mean")
    assert sorted(both.groups.tolist()) == [0, 0, 1, 1]
    ends = [2**63 - 1, 2**63 - 1, -(2**63), -(2**63)]
    whole = microaggregate(units_of(ends, dtype="integer"), 2, "mean").columns[0].cells
    assert whole[2:].tolist() == ends[2:]
    assert whole[0] >= 2**63 - 2**12
