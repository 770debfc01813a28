"""What covers a class: how large a column of sets may get, and middles that no step on the way to overflows."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.anonymization import ranges
from components.anonymization.ranges import covering
from components.classes.coding import above_first, encode, halfway
from schemas.dataset import Column
from schemas.faults import DataError

WHOLE = st.integers(-(2**63), 2**63 - 1)
REAL = st.floats(allow_nan=False, allow_infinity=False)


def shown(cells: list[Any], classes: list[int], dtype: str = "text", **more: Any) -> Any:
    column = Column.model_validate({"name": "x", "dtype": dtype, "role": "quasi_identifier", "nullable": True, **more})
    kinds: dict[str, Any] = {"text": "string", "number": "float64", "integer": "int64"}
    kinds["ordered"] = pd.CategoricalDtype(more.get("values"), ordered=True)
    (unit,) = encode(pd.DataFrame({"x": pd.Series(cells, dtype=kinds[dtype])}), [column])
    return covering(unit, np.array(classes), max(classes) + 1, "own_value")


def test_sets_that_grow_with_the_square_of_the_rows_are_refused_before_they_are_built():
    texts = [f"{row:0100d}" for row in range(2_000)]
    with pytest.raises(DataError) as caught:
        shown(texts, [0] * 2_000)
    (fault,) = caught.value.faults
    assert fault.place == "column 'x'"
    assert "would hold 408,000,000 characters" in fault.problem
    assert "up to 2,000" in fault.problem
    assert fault.allowed == "at most 268,435,456 characters"
    assert "hierarchy" in fault.remedy
    assert "drop" in fault.remedy


@pytest.mark.parametrize(
    ("cells", "classes", "more"),
    [
        (["a", "bb", "a,c", None, "z"], [0, 0, 0, 0, 1], {}),
        (["a", "c", None, "b"], [0, 0, 0, 0], {"dtype": "ordered", "values": ["a", "b", "c"]}),
    ],
    ids=["text", "ordered"],
)
def test_what_is_refused_is_what_would_be_written(
    monkeypatch: pytest.MonkeyPatch, cells: list[Any], classes: list[int], more: dict[str, Any]
):
    written = sum(len(cell) for cell in shown(cells, classes, **more).cells if cell.startswith("{"))
    monkeypatch.setattr(ranges, "MOST_CHARACTERS", written)
    shown(cells, classes, **more)
    monkeypatch.setattr(ranges, "MOST_CHARACTERS", written - 1)
    with pytest.raises(DataError, match="column 'x'"):
        shown(cells, classes, **more)


def test_values_that_stand_alone_are_as_long_as_ever(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ranges, "MOST_CHARACTERS", 0)
    assert shown(["a,b", "c"], [0, 1]).cells.tolist() == ["a,b", "c"]


def test_ranges_are_as_short_as_ever(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ranges, "MOST_CHARACTERS", 0)
    assert shown([1.5, 2.5, 9.0], [0, 0, 1], "number").cells.tolist() == ["[1.5, 2.5]"] * 2 + ["9.0"]


def test_the_middle_of_the_widest_ranges_is_between_its_ends():
    numbers = shown([-1.7e308, 1.7e308], [0, 0], "number")
    assert numbers.training.tolist() == [0.0, 0.0]
    whole = shown([-(2**63), 2**63 - 1], [0, 0], "integer")
    assert whole.training.tolist() == [-1, -1]


@given(WHOLE, WHOLE)
def test_the_middle_of_whole_numbers_is_rounded_down(one: int, other: int):
    low, high = sorted((one, other))
    assert halfway(np.array([low]), np.array([high])).tolist() == [(low + high) // 2]
    cells = halfway(pd.array([low], dtype="Int64"), pd.array([high], dtype="Int64"))
    assert cells[0] == (low + high) // 2
    assert above_first(np.array([low, high])).tolist() == [0.0, float(high - low)]


@given(REAL, REAL)
def test_the_middle_of_numbers_is_between_them(one: float, other: float):
    low, high = sorted((one, other))
    assert low <= halfway(np.array([low]), np.array([high]))[0] <= high
