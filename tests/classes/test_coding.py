from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.classes import coding
from components.classes.coding import any_row_of, encode, occurrences, pieces
from schemas.dataset import Column

TEXTS = st.lists(st.sampled_from(["", "a", "b", "B", "é", None]), max_size=30)
NUMBERS = st.lists(st.floats(allow_nan=True) | st.sampled_from([0.0, -0.0, 1.0]), max_size=30)
WHOLE = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3), max_size=30)
DAYS = st.lists(st.sampled_from([None, "2020-01-01", "2021-06-30", "1999-12-31"]), max_size=30)


@st.composite
def columns(draw: st.DrawFn) -> tuple[pd.Series, str]:
    dtype = draw(st.sampled_from(["text", "number", "integer", "nullable", "date", "zoned"]))
    if dtype == "text":
        return pd.Series(draw(TEXTS), dtype="string"), "text"
    if dtype == "number":
        return pd.Series(draw(NUMBERS), dtype="float64"), "number"
    if dtype == "integer":
        return pd.Series(draw(WHOLE), dtype="int64"), "integer"
    if dtype == "nullable":
        return pd.Series([None, *draw(WHOLE)], dtype="Int64"), "integer"
    days = pd.Series(pd.to_datetime(draw(DAYS)), dtype="datetime64[us]")
    return (days, "date") if dtype == "date" else (days.dt.tz_localize("UTC"), "datetime")


@pytest.fixture(autouse=True, params=[1, 3, 2**14])
def _chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(coding, "_CHUNK", request.param)
    return iter(())


@given(drawn=columns())
def test_codes_are_ranks_however_the_rows_are_cut(drawn: tuple[pd.Series, str]):
    cells, dtype = drawn
    column = Column.model_validate({"name": "q", "dtype": dtype, "role": "quasi_identifier"})
    (attribute,) = encode(cells.to_frame("q"), [column])
    codes, values = pd.factorize(cells, sort=True)
    assert attribute.codes.tolist() == codes.tolist()
    assert attribute.size == len(values)
    assert pd.Series(attribute.domain()[0]).tolist() == pd.Series(values).tolist()


@given(codes=st.lists(st.integers(-1, 5), max_size=20))
def test_a_row_is_found_for_every_code(codes: list[int]):
    ids = np.array(codes, dtype=np.int8)
    ranks = np.unique(ids[ids >= 0])
    dense = np.append(np.searchsorted(ranks, np.arange(6)), -1)[ids].astype(np.int8)
    assert ids[any_row_of(dense, ranks.size)].tolist() == ranks.tolist()
    assert occurrences(ids, 6).tolist() == [codes.count(code) for code in range(6)]


@given(count=st.integers(0, 50))
def test_pieces_are_all_rows_in_order(count: int):
    assert [row for rows in pieces(count) for row in range(rows.start, rows.stop)] == list(range(count))


@pytest.mark.parametrize("declared", [["a", "b", "c"], ["c", "a", "b"], ["c", "b", "a", "none has it"], None])
def test_categories_are_numbered_as_the_schema_lists_them(declared: list[str] | None):
    cells = pd.Series(pd.Categorical(["b", None, "c", "a", "b"], categories=["a", "b", "c"]))
    dtype = {"dtype": "text"} if declared is None else {"dtype": "category", "values": declared}
    column = Column.model_validate({"name": "q", "role": "quasi_identifier", **dtype})
    (attribute,) = encode(cells.to_frame("q"), [column])
    order = [one for one in declared or ["a", "b", "c"] if one in "abc"]
    assert attribute.codes.tolist() == [order.index("b"), -1, order.index("c"), order.index("a"), order.index("b")]


def test_codes_that_are_a_frames_own_can_not_be_written_to():
    cells = pd.Series(pd.Categorical(["a", "b"]))
    column = Column.model_validate({"name": "q", "dtype": "category", "role": "quasi_identifier", "values": ["a", "b"]})
    (attribute,) = encode(cells.to_frame("q"), [column])
    with pytest.raises(ValueError, match="read-only"):
        attribute.codes[0] = 1
