"""The canonical order and the split depend on the values of the rows alone."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.data import Table, canonical_order, split
from components.randomness import derived_seed
from schemas.faults import DataError

CELLS = st.one_of(st.none(), st.sampled_from(["a", "b", "10", "9", ""]))


def frame_of(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    text, number, whole, day = zip(*rows, strict=True)
    return pd.DataFrame(
        {
            "text": pd.array(text, dtype="string"),
            "number": np.array([np.nan if cell is None else cell for cell in number], dtype="float64"),
            "whole": pd.array(whole, dtype="Int64"),
            "day": pd.to_datetime(pd.Series(day, dtype="Int64"), unit="D").astype("datetime64[us]"),
            "kind": pd.Categorical(text, ["b", "a", "10", "9", ""]),
        }
    )


ROWS = st.lists(
    st.tuples(
        CELLS,
        st.one_of(st.none(), st.sampled_from([-0.0, 0.0, 1.5, -3.0, 1e300])),
        st.one_of(st.none(), st.integers(-(2**62), 2**62)),
        st.one_of(st.none(), st.integers(0, 5)),
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=60, deadline=None)
@given(ROWS, st.randoms(use_true_random=False))
def test_the_same_rows_in_any_order_come_out_alike(rows: list[tuple[Any, ...]], random: Any) -> None:
    shuffled = random.sample(rows, len(rows))
    one, other = frame_of(rows), frame_of(shuffled)
    other.index = pd.Index(range(100, 100 + len(rows)))
    other["kind"] = other["kind"].cat.reorder_categories(["", "9", "10", "a", "b"])
    other = other[["kind", "day", "text", "number", "whole"]]
    pd.testing.assert_frame_equal(
        one.iloc[canonical_order(one)].reset_index(drop=True),
        other.iloc[canonical_order(other)].reset_index(drop=True)[list(one.columns)],
        check_categorical=False,
        check_dtype=False,
    )


def test_values_sort_by_value_and_missing_ones_last() -> None:
    frame = pd.DataFrame({"n": [10.0, np.nan, 9.0, -1.0]})
    assert canonical_order(frame).tolist() == [3, 2, 0, 1]
    frame = pd.DataFrame({"t": pd.array(["9", None, "10", "a"], dtype="string")})
    assert canonical_order(frame).tolist() == [2, 0, 3, 1]
    times = pd.to_datetime(["2024-01-02", "2024-01-01"], utc=True)
    assert canonical_order(pd.DataFrame({"when": times})).tolist() == [1, 0]


@pytest.mark.parametrize("dtype", ["int64", "Int64", "float64", "int32"])
def test_dtypes_of_the_same_values_make_no_difference(dtype: str) -> None:
    frame = pd.DataFrame({"n": pd.Series([3, 1, 2], dtype=dtype), "m": [1, 1, 1]})
    assert canonical_order(frame).tolist() == [1, 2, 0]


def test_many_columns_with_many_values_overflow_nothing() -> None:
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(draw.normal(size=(200, 40)), columns=[f"c{at:02d}" for at in range(40)])
    frame = frame.round(1)
    expected = frame.sort_values(list(frame.columns), kind="stable").index.to_numpy()
    np.testing.assert_array_equal(canonical_order(frame), expected)


def test_no_rows_and_no_columns() -> None:
    assert canonical_order(pd.DataFrame({"a": pd.Series([], dtype="float64")})).tolist() == []
    assert canonical_order(pd.DataFrame(index=range(3))).tolist() == [0, 1, 2]


def table_of(make_schema: Any, frame: pd.DataFrame, **settings: Any) -> Table:
    kinds = {"string": "text", "category": "category", "int64": "integer", "float64": "number"}
    columns = {name: {"dtype": kinds[str(dtype)]} for name, dtype in frame.dtypes.items()}
    return Table(frame, make_schema(columns, **settings))


def people(rows: int, persons: int | None = None) -> pd.DataFrame:
    draw = np.random.default_rng(1)
    ids = draw.integers(0, persons or rows, rows)
    return pd.DataFrame(
        {
            "person": pd.array(ids.astype(str), dtype="string"),
            "x": draw.integers(0, 20, rows),
            "y": pd.array(draw.choice(["a", "b", "c"], rows, p=[0.7, 0.25, 0.05]), dtype="string"),
        },
        index=np.arange(5, 5 + rows),
    )


def multiset(table: Table) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, table.frame.to_numpy().tolist()))


@pytest.mark.parametrize("subject", [None, "person"])
@pytest.mark.parametrize("stratify", [False, True])
def test_a_split_ignores_the_order_of_rows(make_schema: Any, subject: str | None, *, stratify: bool) -> None:
    rules = {
        "subject_id": subject,
        "target": "y",
        "task": "classification",
        "split": {"test": 0.4, "stratify": stratify},
    }
    frame = people(500, 200)
    table = table_of(make_schema, frame, **rules)
    one = split(table, 3)
    shuffled = frame.sample(frac=1, random_state=0)
    other = split(Table(shuffled.reset_index(drop=True), table.schema), 3)
    assert multiset(one.train) == multiset(other.train)
    assert multiset(one.test) == multiset(other.test)
    assert multiset(split(table, 4).train) != multiset(one.train)
    assert one.train.frame.index.is_monotonic_increasing
    assert sorted([*one.train.frame.index, *one.test.frame.index]) == frame.index.tolist()
    assert one.train.frame.dtypes.equals(frame.dtypes)


def test_the_share_is_met_to_the_row(make_schema: Any) -> None:
    parts = split(table_of(make_schema, people(1001), split={"test": 0.4}), 0)
    assert len(parts.test.frame) == 400


def test_the_rows_held_out_are_drawn_from_the_stream_named_split(make_schema: Any) -> None:
    frame = pd.DataFrame({"x": np.random.default_rng(2).permutation(50)}, index=np.arange(100, 150))
    draw = np.random.default_rng(derived_seed(9, "split")).permutation(50)
    parts = split(table_of(make_schema, frame, split={"test": 0.4}), 9)
    assert sorted(parts.test.frame["x"]) == np.flatnonzero(draw < 20).tolist()  # in canonical order row x is the x-th


def test_a_persons_rows_stay_together(make_schema: Any) -> None:
    parts = split(table_of(make_schema, people(1000, 150), subject_id="person", split={"test": 0.3}), 0)
    assert not set(parts.train.frame["person"]) & set(parts.test.frame["person"])
    assert abs(len(parts.test.frame) - 300) <= 5


def test_rows_without_a_person_are_persons_of_their_own(make_schema: Any) -> None:
    frame = people(100)
    frame["person"] = pd.array([None] * 100, dtype="string")
    parts = split(table_of(make_schema, frame, subject_id="person", split={"test": 0.5}), 0)
    assert len(parts.test.frame) == 50


def test_stratifying_keeps_every_classs_share(make_schema: Any) -> None:
    frame = people(2000)
    rules = {"target": "y", "task": "classification", "split": {"test": 0.25, "stratify": True}}
    parts = split(table_of(make_schema, frame, **rules), 0)
    assert len(parts.test.frame) == 500
    wanted = frame["y"].value_counts() * 0.25
    assert (parts.test.frame["y"].value_counts() - wanted).abs().max() <= 1


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.floats(0.001, 0.999), st.integers(0, 99))
def test_neither_side_is_ever_empty(rows: int, share: float, seed: int) -> None:
    from components.data.splitting import _held_out

    draw = np.random.default_rng(seed)
    sizes = draw.integers(1, 9, rows)
    held = _held_out(draw.permutation(rows), draw.integers(0, 3, rows), sizes, share)
    assert 0 < held.sum() < rows


def test_one_row_or_one_person_can_not_be_split(make_schema: Any) -> None:
    with pytest.raises(DataError, match="1 row can't be split"):
        split(table_of(make_schema, people(1)), 0)
    with pytest.raises(DataError, match="1 person can't be split"):
        split(table_of(make_schema, people(50, 1), subject_id="person"), 0)


def test_stratifying_keeps_the_share_of_every_combination_of_targets(make_schema: Any) -> None:
    random = np.random.default_rng(1)
    frame = people(4000).assign(z=pd.array(random.choice(["p", "q"], 4000, p=[0.9, 0.1]), dtype="string"))
    rules = {"target": ["y", "z"], "task": "classification", "split": {"test": 0.25, "stratify": True}}
    parts = split(table_of(make_schema, frame, **rules), 0)
    wanted = frame.groupby(["y", "z"], observed=True).size() * 0.25
    assert len(wanted) > 2
    found = parts.test.frame.groupby(["y", "z"], observed=True).size()
    assert (found - wanted).abs().max() <= 1
    swapped = split(table_of(make_schema, frame, **rules | {"target": ["z", "y"]}), 0)
    found = swapped.test.frame.groupby(["y", "z"], observed=True).size()
    assert (found - wanted).abs().max() <= 1
