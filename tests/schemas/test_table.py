"""pandera checks what the schema says, and nothing of what it says about cells gets out."""

import traceback
from typing import Any

import pandas as pd
import pytest

from schemas.dataset import DatasetSchema, released
from schemas.faults import DataError, Fault
from schemas.table import pandera_schema, validate

COLUMNS: dict[str, dict[str, Any]] = {
    "id": {"dtype": "text", "role": "identifier", "unique": True},
    "age": {"dtype": "integer", "role": "quasi_identifier", "min": 0, "max": 120, "unit": "years"},
    "kg": {"dtype": "number", "role": "insensitive", "nullable": True, "min": 1.5},
    "size": {"dtype": "ordered", "role": "quasi_identifier", "values": ["s", "m", "l"]},
    "code": {"dtype": "text", "role": "sensitive", "values": ["01", "02"], "special_category": True},
    "day": {"dtype": "date", "role": "insensitive", "min": "2024-01-01"},
    "when": {"dtype": "datetime", "role": "insensitive", "max": "2024-12-31T00:00:00Z"},
    "ok": {"dtype": "boolean", "role": "insensitive", "nullable": True},
    "n": {"dtype": "integer", "role": "insensitive", "nullable": True, "unique": True},
    "note": {"dtype": "text", "role": "drop"},
}


@pytest.fixture
def schema() -> DatasetSchema:
    return DatasetSchema.model_validate({"name": "t", "source": {}, "columns": COLUMNS})


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "id": pd.array(["a", "b", "c"], dtype="string"),
            "age": [1, 2, 3],
            "kg": [70.5, None, 80],
            "size": pd.Categorical(["s", "l", "m"], ["s", "m", "l"], ordered=True),
            "code": pd.array(["01", "02", "01"], dtype="string"),
            "day": pd.to_datetime(["2024-01-01"] * 3).astype("datetime64[us]"),
            "when": pd.to_datetime(["2024-01-01"] * 3, utc=True).astype("datetime64[us, UTC]"),
            "ok": pd.array([True, None, False], dtype="boolean"),
            "n": pd.array([None, None, 1], dtype="Int64"),
        },
        index=[7, 5, 7],
    )


def faults_of(frame: pd.DataFrame, schema: DatasetSchema) -> tuple[Fault, ...]:
    with pytest.raises(DataError) as caught:
        validate(frame, schema)
    assert "Error" not in str(caught.value)
    return caught.value.faults


def test_a_table_that_fits_lists_its_checks(frame: pd.DataFrame, schema: DatasetSchema) -> None:
    checks = {(check.column, check.name): check for check in validate(frame, schema)}
    assert checks["kg", "min"].rows_checked == 2
    assert ("kg", "missing") not in checks
    assert checks["n", "unique"].failures == 0
    assert not any(column == "note" for column, _ in checks)


def test_times_may_have_no_zone(frame: pd.DataFrame, schema: DatasetSchema) -> None:
    frame["when"] = frame["when"].dt.tz_localize(None)
    validate(frame, schema)


def test_roles_stand_in_the_metadata(schema: DatasetSchema) -> None:
    built = pandera_schema(schema)
    assert built.columns["code"].metadata["role"] == "sensitive"
    assert built.columns["code"].metadata["special_category"] is True
    assert built.columns["age"].metadata["unit"] == "years"
    assert "note" not in built.columns


@pytest.mark.parametrize(
    ("column", "cells", "rows"),
    [
        ("id", pd.array(["a", "b", "a"], dtype="string"), (1, 3)),
        ("id", pd.array(["a", None, "c"], dtype="string"), (2,)),
        ("age", [1, -1, 2], (2,)),
        ("age", [121, 1, 500], (1, 3)),
        ("kg", [1.0, None, 3], (1,)),
        ("kg", [float("inf"), None, 3], (1,)),
        ("size", pd.Categorical(["s", None, "m"], ["s", "m", "l"], ordered=True), (2,)),
        ("code", pd.array(["01", "1", "01"], dtype="string"), (2,)),
        ("day", pd.to_datetime(["2024-01-01", "2023-12-31", "2024-01-01"]).astype("datetime64[us]"), (2,)),
        ("when", pd.to_datetime(["2025-01-01"] * 3).astype("datetime64[us]"), (1, 2, 3)),
        ("when", pd.to_datetime(["2025-01-01"] * 3, utc=True).astype("datetime64[us, UTC]"), (1, 2, 3)),
        ("n", pd.array([1, None, 1], dtype="Int64"), (1, 3)),
    ],
)
def test_cells_that_do_not_fit_are_found_by_position(
    frame: pd.DataFrame, schema: DatasetSchema, column: str, cells: Any, rows: tuple[int, ...]
) -> None:
    frame[column] = cells
    (fault,) = faults_of(frame, schema)
    assert fault.place == f"table, column '{column}'"
    assert fault.rows == rows


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        ("age", "Int64"),
        ("age", "int32"),
        ("age", "float64"),
        ("age", "string"),
        ("kg", "float32"),
        ("n", "float64"),
        ("id", "object"),
        ("id", "str"),
        ("size", "string"),
        ("day", "datetime64[ns]"),
        ("when", "datetime64[ns, UTC]"),
    ],
)
def test_dtypes_are_exact(frame: pd.DataFrame, schema: DatasetSchema, column: str, dtype: str) -> None:
    frame[column] = frame[column].astype(dtype)  # type: ignore[call-overload]
    (fault,) = faults_of(frame, schema)
    assert "dtype" in fault.problem


def test_categories_need_the_declared_order(frame: pd.DataFrame, schema: DatasetSchema) -> None:
    frame["size"] = frame["size"].cat.reorder_categories(["l", "m", "s"])
    (fault,) = faults_of(frame, schema)
    assert fault.place.endswith("column 'size'")


def test_several_problems_are_told_in_one_pass(frame: pd.DataFrame, schema: DatasetSchema) -> None:
    frame["age"] = [-1, 5, 121]
    frame["code"] = pd.array(["x", "01", "y"], dtype="string")
    frame["extra"] = 1
    told = {(fault.place.rpartition(" ")[2], fault.rows) for fault in faults_of(frame.drop(columns="ok"), schema)}
    assert told == {("'age'", (1,)), ("'age'", (3,)), ("'code'", (1, 3)), ("'extra'", ()), ("'ok'", ())}


def test_a_release_may_hold_no_identifier(frame: pd.DataFrame, schema: DatasetSchema) -> None:
    out = released(schema, ["age"])
    release = frame.assign(age=pd.array(["[1, 3]"] * 3, dtype="string"))
    validate(release.drop(columns="id"), out, what="released table")
    with pytest.raises(DataError, match="released table, column 'id': must not be in the table"):
        validate(release, out, what="released table")
    with pytest.raises(DataError, match="another place"):
        validate(release[[*out.names()[1:], "age"]], out)


def test_nothing_that_pandera_quotes_gets_out(frame: pd.DataFrame, schema: DatasetSchema) -> None:
    canary = "ZZ-CANARY-7731"
    frame["code"] = pd.array([canary] * 3, dtype="string")
    frame["id"] = pd.array([canary] * 3, dtype="string")
    with pytest.raises(DataError) as caught:
        validate(frame, schema)
    assert canary not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None
    assert all(canary in fault.values for fault in caught.value.faults)


def test_the_frame_is_left_as_it_was(frame: pd.DataFrame, schema: DatasetSchema) -> None:
    before = frame.copy()
    validate(frame, schema)
    pd.testing.assert_frame_equal(frame, before)
