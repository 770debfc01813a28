"""The door for arrays, tensors and frames of other dtypes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from components.data.table import Table
from components.models import as_frame, build
from components.models.declarations import Tree
from schemas.dataset import DatasetSchema
from schemas.faults import DataError

CANARY = "ZZ-CANARY-7731"

Patients = Callable[..., Table]

NAMES = ["age", "sex", "severity", "pressure", "smoker"]
ROWS = [[30, 0, 2, 120.5, 1], [99, 1, np.nan, np.nan, 0]]


def one(column: dict[str, Any], cells: Any) -> pd.Series:
    """Return one converted column `x`."""
    schema = DatasetSchema(name="one", source=None, columns=[{"name": "x", "role": "insensitive"} | column])
    frame = cells if isinstance(cells, pd.DataFrame) else pd.DataFrame({"x": cells})
    return as_frame(frame, None, schema)["x"]


def test_an_array_a_tensor_and_a_frame_give_one_frame(patients: Patients) -> None:
    schema = patients().schema
    expected = pd.DataFrame(
        {
            "age": np.array([30, 99]),
            "sex": pd.Categorical(["F", "M"], categories=["F", "M"]),
            "severity": pd.Categorical(["high", None], categories=["low", "mid", "high"], ordered=True),
            "pressure": [120.5, np.nan],
            "smoker": [True, False],
        }
    )
    for data, names in (
        (np.array(ROWS), NAMES),
        (np.array(ROWS), None),
        (ROWS, None),
        (torch.tensor(ROWS, dtype=torch.float64), None),
        (np.array(ROWS)[:, ::-1], NAMES[::-1]),
        (pd.DataFrame(ROWS, columns=NAMES), None),
        (expected, None),
        (expected.astype({"sex": "str", "severity": "str", "age": "float32"}), None),
    ):
        pd.testing.assert_frame_equal(as_frame(data, names, schema), expected)


def test_a_model_answers_arrays_as_it_answers_frames(patients: Patients) -> None:
    train = patients()
    model = build(Tree(), train.schema, 0).fit(train)
    codes = train.frame.assign(
        sex=train.frame["sex"].cat.codes, severity=train.frame["severity"].cat.codes.replace(-1, np.nan)
    )
    array = codes[NAMES].to_numpy(dtype=np.float64)
    assert (model.predict(as_frame(array, NAMES, train.schema)) == model.predict(train.frame)).all()


def test_a_frame_keeps_its_index_and_is_not_written_to(patients: Patients) -> None:
    table = patients(rows=20)
    frame = table.frame.set_axis(range(100, 120))
    before = frame.copy(deep=True)
    found = as_frame(frame, None, table.schema)
    pd.testing.assert_frame_equal(found, before)
    found.loc[100, "age"] = 1
    pd.testing.assert_frame_equal(frame, before)


def test_all_that_does_not_fit_is_told_at_once_and_by_count(patients: Patients) -> None:
    with pytest.raises(DataError) as caught:
        as_frame(np.array([[30.5, 2, 3, np.inf, 2], [np.nan, 0, 1, 3, 1]]), None, patients().schema)
    assert [str(fault) for fault in caught.value.faults] == [
        "column 'age': 1 of 2 cells are missing; the schema allows none",
        "column 'sex': 1 of 2 cells are positions of none of its 2 values",
        "column 'severity': 1 of 2 cells are positions of none of its 3 values",
        "column 'pressure': 1 of 2 cells are infinite",
        "column 'smoker': 1 of 2 cells are neither 0 nor 1",
    ]


def test_names_that_do_not_fit_are_told_at_once(patients: Patients) -> None:
    with pytest.raises(DataError) as caught:
        as_frame(np.zeros((2, 4)), ["age", "sex", "severity", "colour"], patients().schema)
    assert [str(fault) for fault in caught.value.faults] == [
        "column 'colour': the schema has no such column; leave it out",
        "column 'pressure': not among the columns given; a model sees it",
        "column 'smoker': not among the columns given; a model sees it",
    ]


@pytest.mark.parametrize(
    ("data", "names", "words"),
    [
        (np.zeros((2, 4)), None, r"have the shape \(2, 4\); \(rows, 5\), a column per name"),
        (np.zeros(5), None, r"have the shape \(5,\)"),
        (torch.zeros(2, 5, 1), None, r"have the shape \(2, 5, 1\)"),
        (np.zeros((2, 5)), ["age", "age", "sex", "severity", "smoker"], "two columns have one name"),
    ],
)
def test_a_shape_that_does_not_fit_is_refused(patients: Patients, data: Any, names: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        as_frame(data, names, patients().schema)


@pytest.mark.parametrize(
    ("column", "cells", "dtype"),
    [
        ({"dtype": "integer", "nullable": True}, [1.0, None], "Int64"),
        ({"dtype": "integer", "nullable": True}, pd.array([2**62 + 1, None], dtype="Int64"), "Int64"),
        ({"dtype": "integer"}, [1.0, 2.0], "int64"),
        ({"dtype": "integer"}, pd.Categorical([1, 2]), "int64"),
        ({"dtype": "number"}, [1, 2], "float64"),
        ({"dtype": "number", "nullable": True}, [None, None], "float64"),
        ({"dtype": "boolean"}, [1, 0], "bool"),
        ({"dtype": "boolean", "nullable": True}, [True, None], "boolean"),
        ({"dtype": "text"}, ["01001", "1001"], "str"),
        ({"dtype": "text", "values": ["a", "b"]}, ["b", "a"], "str"),
        ({"dtype": "text", "nullable": True}, [None, None], "str"),
        ({"dtype": "category"}, ["a", "b"], "str"),
        ({"dtype": "category", "values": ["a", "b"], "nullable": True}, [None, np.nan], "category"),
        ({"dtype": "date"}, pd.to_datetime(["2020-01-01", "2020-01-02"]), "datetime64[us]"),
        ({"dtype": "datetime"}, pd.to_datetime(["2020-01-01T00:00+01:00"] * 2), "datetime64[us, UTC]"),
        ({"dtype": "datetime", "nullable": True}, [None, None], "datetime64[us]"),
    ],
)
def test_each_dtype_is_that_of_a_table(column: dict[str, Any], cells: Any, dtype: str) -> None:
    found = one(column, cells)
    assert str(found.dtype) == dtype
    before = pd.Series(cells)
    assert (found.isna() == before.isna()).all()
    if column["dtype"] == "integer":
        assert found.dropna().tolist() == [int(cell) for cell in before.dropna()]


@pytest.mark.parametrize(
    ("column", "cells", "words"),
    [
        ({"dtype": "integer"}, [1.5, 2.0], "1 of 2 cells are no whole numbers"),
        ({"dtype": "integer"}, [2.0**60, 2.0], "1 of 2 cells are no whole numbers"),
        ({"dtype": "integer"}, ["1", CANARY], "it takes numbers"),
        ({"dtype": "number"}, [None, None], "2 of 2 cells are missing"),
        ({"dtype": "category", "values": ["a"]}, ["a", CANARY], "1 of 2 cells hold none of its declared values"),
        ({"dtype": "category", "values": ["a"]}, ["a", None], "1 of 2 cells are missing"),
        ({"dtype": "category"}, [0, 1], "it takes texts, since it declares no values"),
        ({"dtype": "category", "values": ["a"]}, ["a", 3], "it takes texts, or positions among its values"),
        ({"dtype": "date"}, ["2020-01-01", CANARY], r"it takes dates or times \(datetime64\)"),
    ],
)
def test_cells_of_another_kind_are_refused_without_their_values(column: dict[str, Any], cells: Any, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        one(column, cells)
    assert CANARY not in str(caught.value)
