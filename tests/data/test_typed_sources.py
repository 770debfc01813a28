"""Parquet, Excel, databases and scikit-learn's tables: typed cells taken exactly, secrets and cells never told."""

import sqlite3
import sys
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from components.data import Reading, header, read
from components.data.bundled_source import read as read_bundled
from components.data.convert import convert
from components.data.declarations import Bundled, Excel, Parquet, Sql
from components.data.extract import cells_of_objects
from components.data.sql_source import _shown
from components.data.text import Rules
from schemas.faults import DataError, Fault


def read_parquet(folder: Path, table: pa.Table, schema: Any) -> Reading:
    parquet.write_table(table, folder / "table.parquet")
    return read(schema, Parquet(path="table.parquet"), folder)


def faults_of(*args: Any) -> tuple[Fault, ...]:
    with pytest.raises(DataError) as caught:
        read(*args)
    return caught.value.faults


def test_parquet_keeps_types(tmp_path: Path, make_schema: Any) -> None:
    table = pa.table(
        {
            "zip": pa.array(["01001", "NA"]).dictionary_encode(),
            "n": pa.array([1.0, float("nan")]),
            "x": pa.array([1, 2], pa.int32()),
            "money": pa.array([Decimal("1.50"), Decimal("2.25")]),
            "ok": [True, False],
            "day": [date(2024, 2, 29), None],
            "when": pa.array([1704103200, 1704103200], pa.timestamp("s", tz="+02:00")),
        }
    )
    schema = make_schema(
        {
            "zip": {"dtype": "category", "values": ["01001", "NA"]},
            "n": {"dtype": "integer", "nullable": True},
            "x": {"dtype": "number"},
            "money": {"dtype": "number"},
            "ok": {"dtype": "boolean"},
            "day": {"dtype": "date", "nullable": True},
            "when": {"dtype": "datetime"},
        }
    )
    reading = read_parquet(tmp_path, table, schema)
    frame = reading.table.frame
    assert frame["zip"].tolist() == ["01001", "NA"]
    assert frame["n"].tolist() == [1, pd.NA]
    assert frame["x"].dtype == "float64"
    assert frame["money"].tolist() == [1.5, 2.25]
    assert frame["day"].iloc[0] == pd.Timestamp("2024-02-29")
    assert frame["when"].iloc[0] == pd.Timestamp("2024-01-01T10:00Z")
    assert reading.missing["n"] == {"(stored as missing)": 1}
    assert "+02:00 (2)" in reading.notes[0]
    assert header(schema, Parquet(path="table.parquet"), tmp_path).rows == 2


@pytest.mark.parametrize(
    ("cells", "dtype", "rows"),
    [
        ([5.0, 5.5, float("inf")], "integer", (2, 3)),
        ([1.0, float("inf")], "number", (2,)),
        ([2**63], "integer", (1,)),
        ([True, False], "integer", (1, 2)),
        ([1, 0, 2], "boolean", (3,)),
        ([1.0, 0.5, 0.0], "boolean", (2,)),
        ([datetime(2024, 1, 1), datetime(2024, 1, 1, 1)], "date", (2,)),  # noqa: DTZ001
        ([1001, 2002], "category", (1, 2)),
        ([date(2024, 1, 1)], "text", (1,)),
        ([[1], [2]], "integer", (1, 2)),
    ],
)
def test_typed_cells_of_another_kind_are_refused(
    tmp_path: Path, make_schema: Any, cells: list[Any], dtype: str, rows: tuple[int, ...]
) -> None:
    array = pa.array(cells, pa.uint64()) if cells == [2**63] else pa.array(cells)
    parquet.write_table(pa.table({"a": array}), tmp_path / "table.parquet")
    faults = faults_of(make_schema({"a": {"dtype": dtype}}), Parquet(path="table.parquet"), tmp_path)
    assert faults[0].rows == rows


def test_a_number_is_no_text_since_zeros_may_be_lost(tmp_path: Path, make_schema: Any) -> None:
    parquet.write_table(pa.table({"zip": [1001, 2002]}), tmp_path / "table.parquet")
    (fault,) = faults_of(make_schema({"zip": {"dtype": "text"}}), Parquet(path="table.parquet"), tmp_path)
    assert "leading zeros" in fault.remedy
    assert "1001" not in str(fault)


def test_what_is_no_parquet(tmp_path: Path, make_schema: Any) -> None:
    schema = make_schema({"a": {"dtype": "integer"}})
    parquet.write_table(pa.table({"a": [1, 2]}), tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    for name, content in {"text": b"a\n1\n", "empty": b"", "cut": whole[:-20]}.items():
        (tmp_path / name).write_bytes(content)
        (fault,) = faults_of(schema, Parquet(path=name), tmp_path)
        assert "no Parquet file" in fault.problem
        with pytest.raises(DataError, match="no Parquet file"):
            header(schema, Parquet(path=name), tmp_path)
    parquet.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "rows")
    (fault,) = faults_of(schema, Parquet(path="rows"), tmp_path)
    assert "0 rows; k undefined" in fault.problem


def workbook(path: Path, *rows: tuple[Any, ...], title: str = "People") -> None:
    book = openpyxl.Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    book.save(path)


PEOPLE = {
    "zip": {"dtype": "text"},
    "age": {"dtype": "integer", "nullable": True},
    "seen": {"dtype": "date"},
    "kg": {"dtype": "number"},
}


def test_excel_reads_typed_and_text_cells(tmp_path: Path, make_schema: Any) -> None:
    workbook(
        tmp_path / "t.xlsx",
        ("zip", " age ", "seen", "kg"),
        ("01001", 34, datetime(2024, 5, 1), 70),  # noqa: DTZ001
        ("NA", None, "2024-05-02", 70.5),
        (None, None, None, None),
    )
    schema = make_schema(PEOPLE)
    frame = read(schema, Excel(path="t.xlsx"), tmp_path).table.frame
    assert frame["zip"].tolist() == ["01001", "NA"]
    assert frame["age"].tolist() == [34, pd.NA]
    assert frame["seen"].dt.day.tolist() == [1, 2]
    assert frame["kg"].tolist() == [70.0, 70.5]
    assert header(schema, Excel(path="t.xlsx", sheet="People"), tmp_path).names == ("zip", "age", "seen", "kg")


def test_excel_numbers_among_text_are_refused_by_row(tmp_path: Path, make_schema: Any) -> None:
    workbook(tmp_path / "t.xlsx", ("zip", "age"), ("01001", 1), (1001, "four"), ("02002", True))
    schema = make_schema({"zip": {"dtype": "text"}, "age": {"dtype": "integer"}})
    faults = faults_of(schema, Excel(path="t.xlsx"), tmp_path)
    assert {(fault.place, fault.rows) for fault in faults} == {
        ("column 'zip'", (2,)),
        ("column 'age'", (2,)),
        ("column 'age'", (3,)),
    }


def test_excel_faults(tmp_path: Path, make_schema: Any) -> None:
    schema = make_schema({"zip": {"dtype": "text"}})
    workbook(tmp_path / "t.xlsx", ("zip",))
    assert "0 rows" in str(faults_of(schema, Excel(path="t.xlsx"), tmp_path)[0])
    assert "one of 'People'" in str(faults_of(schema, Excel(path="t.xlsx", sheet="People2"), tmp_path)[0])
    whole = (tmp_path / "t.xlsx").read_bytes()
    for name, content in {"text": b"zip\n1\n", "empty": b"", "cut": whole[: len(whole) // 2]}.items():
        (tmp_path / name).write_bytes(content)
        assert "no .xlsx workbook" in str(faults_of(schema, Excel(path=name), tmp_path)[0])


@pytest.mark.parametrize(("module", "extra"), [("openpyxl", "excel"), ("sqlalchemy", "sql")])
def test_missing_packages_are_named_with_their_extra(
    tmp_path: Path, make_schema: Any, monkeypatch: pytest.MonkeyPatch, module: str, extra: str
) -> None:
    workbook(tmp_path / "t.xlsx", ("zip",), ("1",))
    monkeypatch.setitem(sys.modules, module, None)
    source = Excel(path="t.xlsx") if extra == "excel" else Sql(url="sqlite://", query="SELECT 1")
    (fault,) = faults_of(make_schema({"zip": {"dtype": "text"}}), source, tmp_path)
    assert f"privacy-runner[{extra}]" in fault.remedy


PLUS_TWO = datetime(2024, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))


def test_times_of_drivers_become_utc_and_mixtures_are_refused(make_schema: Any) -> None:
    column = make_schema({"when": {"dtype": "datetime"}}).columns[0]
    good = convert(
        cells_of_objects([PLUS_TWO, None, PLUS_TWO.astimezone(UTC), "2024-01-01T10:00+00:00"]), column, Rules()
    )
    assert set(good.series.dropna()) == {pd.Timestamp("2024-01-01T10:00Z")}
    assert good.notes[0].endswith("zones at the source: +00:00 (2), +02:00 (1)")
    mixed = convert(
        cells_of_objects([PLUS_TWO, PLUS_TWO, PLUS_TWO.replace(tzinfo=None), "2024-01-01"]), column, Rules()
    )
    assert {failure.check: failure.positions.tolist() for failure in mixed.failures} == {"kind": [2], "zone": [3]}


@pytest.mark.parametrize("cells", [[2**70, 2**71], [object(), object()], [True, 1, 2], [b"a", 1, 1]])
def test_odd_objects_of_drivers_are_refused_by_row(make_schema: Any, cells: list[object]) -> None:
    column = make_schema({"n": {"dtype": "integer"}}).columns[0]
    (failure,) = convert(cells_of_objects(cells), column, Rules()).failures
    assert failure.positions.tolist() == ([0, 1] if len(cells) == 2 else [0])


@pytest.fixture
def database(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "people.db") as connection:
        connection.execute("CREATE TABLE people (zip TEXT, age INTEGER, kg REAL)")
        rows = [("01001", 34, 70.5), ("NA", None, 80.0), ("ZZ-CANARY-7731", 5, 1.0)]
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
    connection.close()
    return tmp_path


ROWS = {"zip": {"dtype": "text"}, "age": {"dtype": "integer", "nullable": True}, "kg": {"dtype": "number"}}
URL = "sqlite:///people.db"


def test_sql_reads_a_query_from_the_launch_folder(database: Path, make_schema: Any) -> None:
    schema, source = make_schema(ROWS), Sql(url=URL, query="SELECT * FROM people;")
    reading = read(schema, source, database)
    assert reading.table.frame["zip"].tolist() == ["01001", "NA", "ZZ-CANARY-7731"]
    assert reading.table.frame["age"].tolist() == [34, pd.NA, 5]
    assert header(schema, source, database).rows == 3
    assert reading.inputs[0].uri == URL
    backwards = Sql(url=URL, query="SELECT * FROM people ORDER BY age DESC")
    assert read(schema, backwards, database).inputs[0].sha256 == reading.inputs[0].sha256
    fewer = Sql(url=URL, query="SELECT * FROM people LIMIT 2")
    assert read(schema, fewer, database).inputs[0].sha256 != reading.inputs[0].sha256


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("SELECT nothing FROM people", "refused"),
        ("SELEC 'ZZ-CANARY-7731'", "refused"),
        ("DELETE FROM people", "refused"),
        ("SELECT * FROM people WHERE age > 99", "0 rows; k undefined"),
        ("SELECT zip, age, kg, age FROM people", "stands twice"),
        ("SELECT zip, zip AS age, kg FROM people", "no whole number"),
    ],
)
def test_sql_faults_hold_neither_cells_nor_the_drivers_words(
    database: Path, make_schema: Any, query: str, problem: str
) -> None:
    faults = faults_of(make_schema(ROWS), Sql(url=URL, query=query), database)
    assert problem in str(faults[0])
    assert "CANARY" not in "".join(map(str, faults))
    with sqlite3.connect(database / "people.db") as connection:
        assert connection.execute("SELECT COUNT(*) FROM people").fetchone() == (3,)
    connection.close()


def test_sql_never_makes_a_database(tmp_path: Path, make_schema: Any) -> None:
    (fault,) = faults_of(make_schema(ROWS), Sql(url="sqlite:///other.db", query="SELECT 1"), tmp_path)
    assert "not found" in fault.problem
    assert not (tmp_path / "other.db").exists()


@pytest.mark.parametrize("url", ["postgresql://me:s3cret@nowhere/db", "no url s3cret", "klingon://me:s3cret@h/d"])
def test_sql_urls_keep_their_secrets(tmp_path: Path, make_schema: Any, url: str) -> None:
    with pytest.raises(DataError) as caught:
        read(make_schema(ROWS), Sql(url=url, query="SELECT 1"), tmp_path)
    assert "s3cret" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_recorded_url_holds_no_secret() -> None:
    source = Sql(url="postgresql://me:s3cret@host/people?sslpassword=s3cret", query="SELECT 1")
    assert _shown(source) == "postgresql://me:***@host/people"


def test_diabetes_comes_in_its_own_units(make_schema: Any) -> None:
    schema = make_schema(
        {
            name: {"dtype": "number"}
            for name in ["age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6", "target"]
        }
    )
    frame = read(schema, Bundled(table="diabetes"), Path()).table.frame
    assert frame.shape == (442, 11)
    assert (frame["age"].min(), frame["age"].max()) == (19, 79)
    assert frame["target"].mean() == pytest.approx(152.13, abs=0.01)


@pytest.mark.parametrize("table", ["breast_cancer", "iris", "wine", "linnerud"])
def test_the_other_bundled_tables(make_schema: Any, table: Any) -> None:
    source = Bundled(table=table)
    names = read_bundled(source, Path()).names
    schema = make_schema({name: {"dtype": "number"} for name in names})
    assert len(read(schema, source, Path()).table.frame) == header(schema, source, Path()).rows
