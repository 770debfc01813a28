"""Rows found again by their key: as merging would find them, whatever the dtypes."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.models.known_rows import KnownRows
from schemas.dataset import Column
from schemas.faults import DataError

KEY = [
    Column(name="n", dtype="integer", role="insensitive"),
    Column(name="x", dtype="number", role="insensitive", nullable=True),
    Column(name="t", dtype="text", role="insensitive", nullable=True),
]

ROWS = st.lists(
    st.tuples(
        st.integers(-2, 2) | st.just(2**60 + 1),
        st.none() | st.sampled_from([0.0, -0.0, 0.1, 0.30000000000000004, 0.3, 1e300]),
        st.none() | st.sampled_from(["", "1", "01", "é", "e\u0301"]),
    ),
    min_size=1,
    max_size=12,
)


def frame_of(rows: list[tuple[int, float | None, str | None]]) -> pd.DataFrame:
    n, x, t = zip(*rows, strict=True)
    return pd.DataFrame({"n": np.array(n), "x": pd.Series(x, dtype="float64"), "t": pd.array(t, dtype="string")})


@given(ROWS, ROWS)
@settings(deadline=None, max_examples=150)
def test_rows_are_found_where_python_finds_them(
    known: list[tuple[int, float | None, str | None]], asked: list[tuple[int, float | None, str | None]]
) -> None:
    rows = KnownRows(frame_of(known), KEY)
    assert rows.count == len(set(known))
    found = rows.find(frame_of(asked))
    groups = dict(zip(known, rows.groups.tolist(), strict=True))
    assert found.tolist() == [groups.get(row, -1) for row in asked]


def test_one_value_is_the_same_in_any_dtype() -> None:
    key = [
        Column(name="n", dtype="integer", role="insensitive"),
        Column(name="c", dtype="category", role="insensitive", values=["a", "b"]),
        Column(name="d", dtype="datetime", role="insensitive"),
        Column(name="b", dtype="boolean", role="insensitive"),
    ]
    plain = pd.DataFrame(
        {
            "n": [1, 2],
            "c": pd.array(["a", "b"], dtype="string"),
            "d": pd.to_datetime(["2020-01-01", "2020-01-02"]).astype("datetime64[us]"),
            "b": [True, False],
        }
    )
    other = pd.DataFrame(
        {
            "n": pd.array([2, 1], dtype="Int64"),
            "c": pd.Categorical(["b", "a"], categories=["b", "unused", "a"]),
            "d": pd.to_datetime(["2020-01-02", "2020-01-01"], utc=True),
            "b": pd.array([False, True], dtype="boolean"),
        }
    )
    assert KnownRows(plain, key).find(other).tolist() == [1, 0]
    assert KnownRows(other, key).find(plain).tolist() == KnownRows(other, key).groups[::-1].tolist()


def test_a_number_that_is_not_whole_is_no_known_integer() -> None:
    key = [Column(name="n", dtype="integer", role="insensitive")]
    rows = KnownRows(pd.DataFrame({"n": [1, 2]}), key)
    assert rows.find(pd.DataFrame({"n": [1.5, 2.0]})).tolist() == [-1, 1]


def test_a_column_that_is_all_missing_is_of_any_kind() -> None:
    key = [Column(name="t", dtype="text", role="insensitive", nullable=True)]
    rows = KnownRows(pd.DataFrame({"t": pd.array(["a", None], dtype="string")}), key)
    assert rows.find(pd.DataFrame({"t": [None, None]})).tolist() == [1, 1]


@pytest.mark.parametrize(("name", "cells"), [("n", ["1"]), ("x", ["0.5"]), ("t", [1])])
def test_cells_of_another_kind_are_refused(name: str, cells: list[object]) -> None:
    rows = KnownRows(frame_of([(1, 0.5, "a")]), KEY)
    with pytest.raises(DataError, match=f"column '{name}': holds"):
        rows.find(frame_of([(1, 0.5, "a")]).assign(**{name: cells}))
    with pytest.raises(DataError, match=f"column '{name}': not in the table"):
        rows.find(frame_of([(1, 0.5, "a")]).drop(columns=name))


def test_cells_that_are_no_moments_are_refused() -> None:
    key = [Column(name="d", dtype="date", role="insensitive")]
    rows = KnownRows(pd.DataFrame({"d": pd.to_datetime(["2020-01-01"]).astype("datetime64[us]")}), key)
    with pytest.raises(DataError, match="column 'd': holds int64 cells; date cells, as declared"):
        rows.find(pd.DataFrame({"d": [1]}))
    assert rows.find(pd.DataFrame({"d": pd.to_datetime([None])})).tolist() == [-1]


def test_many_columns_of_many_values_do_not_overflow() -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({f"c{at}": random.random(20_000) for at in range(12)})
    key = [Column(name=name, dtype="number", role="insensitive") for name in frame]
    rows = KnownRows(frame, key)
    order = random.permutation(len(frame))
    assert (rows.find(frame.iloc[order]) == rows.groups[order]).all()
    assert rows.count == len(frame)
