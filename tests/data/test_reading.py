"""Headers against the schema, columns left out, and the silence about cells."""

import logging
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from components.data import header, read
from components.data.declarations import Csv, SourceDeclaration
from components.data.extract import Extract, cells_of_objects
from components.data.headers import column_faults, tidied
from schemas.dataset import DatasetSchema
from schemas.faults import DataError

CANARY = "ZZ-CANARY-7731"
TITANIC = ["PassengerId", "Survived", "Pclass", "Name", "Sex", "Age", "Ticket", "Fare"]
TEXT = {"dtype": "text"}


def titanic(rows: int) -> str:
    body = "".join(f"{row},0,3,Person {row},m,{row % 80},T{row % 5},{row / 7:.4f}\n" for row in range(rows))
    return ",".join(TITANIC) + "\n" + body


THREE = {"Sex": TEXT, "Age": {"dtype": "integer"}, "Pclass": TEXT}


def test_columns_without_a_role_are_refused_by_name(csv_faults: Any) -> None:
    (fault,) = csv_faults(titanic(30), THREE)
    for name in ("PassengerId", "Survived", "Name", "Ticket", "Fare"):
        assert f"'{name}'" in fault.problem
    assert "likely identifiers: 'PassengerId', 'Name'" in fault.problem


def test_few_rows_make_no_identifier(csv_faults: Any) -> None:
    (fault,) = csv_faults(titanic(19), THREE)
    assert "identifier" not in fault.problem


def test_undeclared_columns_are_dropped_in_plain_sight(read_csv: Any) -> None:
    columns = {**THREE, "Ticket": {"dtype": "text", "role": None}, "Fare": {"dtype": "number", "role": "drop"}}
    reading = read_csv(titanic(30), columns, undeclared="drop")
    assert list(reading.table.frame.columns) == ["Sex", "Age", "Pclass"]
    assert reading.dropped_columns == {
        "PassengerId": "not in the schema",
        "Survived": "not in the schema",
        "Name": "not in the schema",
        "Ticket": "has no role",
        "Fare": "role drop",
    }
    assert len(reading.notes) == 4
    assert sum("likely an identifier" in note for note in reading.notes) == 2


@pytest.mark.parametrize("key", ["target", "subject_id", "client"])
def test_a_column_that_the_run_needs_is_not_dropped_for_want_of_a_role(csv_faults: Any, key: str) -> None:
    columns = {"a": TEXT, "b": {"dtype": "text", "role": None}}
    (fault,) = csv_faults("a,b\nx,y\n", columns, undeclared="drop", **{key: "b"})
    assert fault.place == f"dataset.{key}"


def test_dropped_columns_are_not_even_converted(read_csv: Any) -> None:
    columns = {"a": {"dtype": "integer", "role": "drop"}, "b": TEXT}
    assert list(read_csv("a,b\nno number,x\n", columns).table.frame.columns) == ["b"]


def test_nothing_but_dropped_columns_is_refused(csv_faults: Any) -> None:
    (fault,) = csv_faults("a\nx\n", {"a": {"dtype": "text", "role": "drop"}})
    assert "no column has a role other than drop" in fault.problem


def test_a_dropped_column_may_be_absent(read_csv: Any) -> None:
    assert len(read_csv("b\nx\n", {"a": {"dtype": "integer", "role": "drop"}, "b": TEXT}).table.frame) == 1


def test_all_faults_come_together(csv_faults: Any) -> None:
    columns = {"age": {"dtype": "integer"}, "sex": TEXT, "zip": TEXT}
    faults = csv_faults("age,Zip,extra\nold,1,2\n", columns)
    assert [fault.place for fault in faults] == [
        "column 'sex'",
        "column 'zip'",
        "dataset.columns",
        "column 'age'",
    ]
    assert "there is 'Zip'" in faults[1].allowed


def test_the_frame_is_in_the_schemas_order(read_csv: Any) -> None:
    assert list(read_csv("b,a\n1,2\n", {"a": TEXT, "b": TEXT}).table.frame.columns) == ["a", "b"]


def test_headers_are_tidied() -> None:
    assert tidied(["\ufeffa ", " e\u0301"], trim=True, normalize=True) == ("a", "é")
    assert tidied(["a "], trim=False, normalize=False) == ("a ",)


def test_an_unnamed_column_is_told(make_schema: Any) -> None:
    (fault,) = column_faults(make_schema({"a": TEXT}), ["", "a"])
    assert "'' (not in the schema)" in fault.problem


def test_checks_are_listed(read_csv: Any) -> None:
    columns = {"a": {"dtype": "integer", "min": 0, "unique": True}, "b": {"dtype": "ordered", "values": ["x", "y"]}}
    reading = read_csv("a,b\n1,x\n2,y\n", columns)
    assert {(check.column, check.name) for check in reading.checks} == {
        ("a", "dtype"),
        ("a", "min"),
        ("a", "unique"),
        ("a", "missing"),
        ("b", "dtype"),
        ("b", "values"),
        ("b", "missing"),
    }
    assert all(check.rows_checked == 2 and check.failures == 0 for check in reading.checks)


def test_frames_can_be_written_to(read_csv: Any) -> None:
    """Arrow's buffers are read-only; a frame built on them must not be."""
    frame = read_csv("a,b\n1,1.5\n2,2.5\n", {"a": {"dtype": "integer"}, "b": {"dtype": "number"}}).table.frame
    frame.loc[0, "a"] = 7
    frame["b"] += 1
    assert frame.to_numpy().tolist() == [[7, 2.5], [2, 3.5]]


CANARY_COLUMNS = {
    "integer": {"dtype": "integer"},
    "number": {"dtype": "number"},
    "boolean": {"dtype": "boolean"},
    "date": {"dtype": "date"},
    "formatted": {"dtype": "date", "format": "%d.%m.%Y"},
    "datetime": {"dtype": "datetime"},
    "category": {"dtype": "category", "values": ["a"]},
    "ordered": {"dtype": "ordered", "values": ["a", "b"]},
    "text": {"dtype": "text", "values": ["a"]},
    "id": {"dtype": "text", "unique": True, "role": "identifier"},
}


def test_a_canary_in_every_cell_is_told_nowhere(
    tmp_path: Path, make_schema: Any, caplog: pytest.LogCaptureFixture, capfd: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    row = ",".join([CANARY] * len(CANARY_COLUMNS)) + "\n"
    (tmp_path / "table.csv").write_text(",".join(CANARY_COLUMNS) + "\n" + row + row)
    with pytest.raises(DataError) as caught:
        read(make_schema(CANARY_COLUMNS), Csv(path="table.csv"), tmp_path)
    faults = caught.value.faults
    assert {fault.place for fault in faults} == {f"column '{name}'" for name in CANARY_COLUMNS}
    assert all(fault.rows == (1, 2) for fault in faults)
    assert all(CANARY in fault.values for fault in faults)
    said = "".join([*traceback.format_exception(caught.value), caplog.text, *capfd.readouterr()])
    assert CANARY not in said


@pytest.mark.parametrize("broken", ["{c},{c},{c}\n", '1,"{c}\n\n', "1,{c}\0\n", "1,{c}\ud800\n"])
def test_a_canary_in_a_broken_file_is_told_nowhere(tmp_path: Path, make_schema: Any, broken: str) -> None:
    content = "a,b\n1,x\n" + broken.format(c=CANARY)
    (tmp_path / "table.csv").write_bytes(content.encode("utf-8", "surrogatepass"))
    with pytest.raises(DataError) as caught:
        read(make_schema({"a": TEXT, "b": TEXT}), Csv(path="table.csv"), tmp_path)
    assert CANARY not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert CANARY not in str([fault.values for fault in caught.value.faults])


class Brought(SourceDeclaration):
    """A source that somebody else registered: no heading, no settings for text."""

    name: str = "brought"


def test_a_third_partys_source_needs_one_function(make_schema: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def brought(_: Brought, __: Path) -> Extract:
        return Extract(("a", "b"), (cells_of_objects([1, 2]), cells_of_objects([" x", "y"])), 2, ())

    monkeypatch.setattr("components.data.reading.load", lambda _: brought)
    schema = make_schema({"a": {"dtype": "integer"}, "b": TEXT})
    assert read(schema, Brought(), Path()).table.frame["b"].tolist() == [" x", "y"]
    assert header(schema, Brought(), Path()).rows == 2


def test_a_large_table_comes_back_as_it_was_without_a_warning(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    rows = 50_000
    frame = pd.DataFrame(draw.integers(0, 9, (rows, 12)), columns=[f"c{at}" for at in range(12)])
    frame.to_csv(tmp_path / "table.csv", index=False)
    schema = DatasetSchema.model_validate(
        {
            "name": "large",
            "source": {},
            "columns": {name: {"dtype": "integer", "role": "insensitive", "min": 0, "max": 9} for name in frame},
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_frame = read(schema, Csv(path="table.csv"), tmp_path).table.frame
    pd.testing.assert_frame_equal(read_frame, frame)


def test_every_target_is_kept_and_has_no_missing_cell(csv_faults: Any) -> None:
    columns = {"a": TEXT, "b": {"dtype": "text", "role": None}, "c": {"dtype": "text", "role": None}}
    faults = csv_faults("a,b,c\nx,y,z\n", columns, undeclared="drop", target=["b", "c"])
    assert [(fault.place, fault.problem.split()[1]) for fault in faults] == [
        ("dataset.target", "'b'"),
        ("dataset.target", "'c'"),
    ]
    holes = {"a": TEXT, "b": TEXT | {"nullable": True}, "c": TEXT | {"nullable": True}}
    faults = csv_faults("a,b,c\nx,,z\nx,y,\nx,y,z\n", holes, target=["b", "c"])
    assert len(faults) == 2
    assert all("the target in every row" in str(fault) for fault in faults)
