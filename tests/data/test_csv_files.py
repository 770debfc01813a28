"""CSV files as they come: marks, encodings, archives, damage. Each fault is one sentence without a cell."""

import gzip
import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from components.data import header, read
from components.data.declarations import Csv
from schemas.dataset import DatasetSchema
from schemas.faults import DataError

AGE_SEX = {"age": {"dtype": "integer"}, "sex": {"dtype": "text"}}


def schema_of(columns: Any) -> DatasetSchema:
    return DatasetSchema.model_validate({"name": "t", "source": {}, "columns": columns})


def told(faults: Any) -> str:
    return "\n".join(map(str, faults))


def test_a_byte_order_mark_is_no_part_of_the_header(read_csv: Any) -> None:
    for first in (b"age", b'"age"'):
        reading = read_csv(b"\xef\xbb\xbf" + first + b",sex\n1,f\n", AGE_SEX)
        assert list(reading.table.frame.columns) == ["age", "sex"]


def test_a_misread_byte_order_mark_is_shown_with_its_remedy(csv_faults: Any) -> None:
    faults = csv_faults(b"\xef\xbb\xbfage,sex\n1,f\n", AGE_SEX, csv={"encoding": "latin-1"})
    assert any("encoding=utf-8" in fault.remedy for fault in faults)


def test_invisible_characters_in_a_header_are_escaped(csv_faults: Any) -> None:
    faults = csv_faults("a\u200bge,sex\n1,f\n", AGE_SEX)
    assert r"'a\u200bge'" in told(faults)


def test_two_columns_of_one_name_are_refused_with_their_positions(csv_faults: Any) -> None:
    faults = csv_faults("age,age,sex\n1,2,f\n", AGE_SEX)
    assert str(faults[0]).startswith("column 'age': stands twice in the header (positions 1, 2)")


@pytest.mark.parametrize(
    "content",
    [b"", b"\n\n", b"age,sex\n", b"age,sex", gzip.compress(b""), gzip.compress(b"age,sex\n"), b"\xef\xbb\xbf"],
    ids=["empty", "blank", "header", "header without end", "gz of empty", "gz of header", "mark alone"],
)
def test_no_rows(csv_faults: Any, tmp_path: Path, content: bytes) -> None:
    (fault,) = csv_faults(content, AGE_SEX)
    assert fault.problem == "0 rows; k undefined"
    with pytest.raises(DataError, match="0 rows; k undefined"):
        header_of(tmp_path)


def header_of(folder: Path) -> Any:
    return header(schema_of(AGE_SEX), Csv(path="table.csv"), folder)


def test_gzip_is_told_by_content_and_hashed_as_stored(read_csv: Any, tmp_path: Path) -> None:
    packed = gzip.compress(b"age,sex\n1,f\n2,m\n")
    reading = read_csv(packed, AGE_SEX)
    (fact,) = reading.inputs
    assert (fact.uri, fact.rows, fact.columns) == ("table.csv", 2, 2)
    assert (fact.bytes, fact.sha256) == (len(packed), hashlib.sha256(packed).hexdigest())
    assert header_of(tmp_path).rows == 2


def test_plain_files_are_hashed(read_csv: Any) -> None:
    content = b"age,sex\r\n1,f\r\n"
    (fact,) = read_csv(content, AGE_SEX).inputs
    assert (fact.bytes, fact.sha256) == (len(content), hashlib.sha256(content).hexdigest())


@pytest.mark.parametrize("cut", [1, 4, 9, 40])
def test_a_cut_archive_is_refused(csv_faults: Any, cut: int) -> None:
    packed = gzip.compress(b"age,sex\n" + b"".join(b"%d,f\n" % row for row in range(5000)))
    (fault,) = csv_faults(packed[:-cut], AGE_SEX)
    assert "cut off" in fault.problem


def test_a_damaged_archive_is_refused(csv_faults: Any) -> None:
    packed = bytearray(gzip.compress(b"age,sex\n" + b"".join(b"%d,f\n" % row for row in range(5000))))
    packed[-6] ^= 255
    (fault,) = csv_faults(bytes(packed), AGE_SEX)
    assert "archive" in fault.problem
    packed = bytearray(gzip.compress(b"age,sex\n" + b"".join(b"%d,f\n" % row for row in range(5000))))
    packed[200:300] = bytes(100)
    (fault,) = csv_faults(bytes(packed), AGE_SEX)
    assert "archive" in fault.problem


def test_unequal_rows_are_all_named(csv_faults: Any) -> None:
    (fault,) = csv_faults("age,sex\n1,f\n2\n\n3,f,9\n4,m\n", AGE_SEX)
    assert fault.rows == (2, 3)
    assert "2 of 4 rows" in fault.problem


def test_header_counts_as_read_does(read_csv: Any, tmp_path: Path) -> None:
    content = 'age,sex\n1,"f\nm"\n\n2,"a,b"\n3,x\n'
    reading = read_csv(content, AGE_SEX)
    found = header_of(tmp_path)
    assert found.names == ("age", "sex")
    assert found.rows == len(reading.table.frame) == 3


def test_an_open_quote_is_refused_where_it_swallows_rows(csv_faults: Any) -> None:
    (fault,) = csv_faults('age,sex\n1,f\n2,"m\n3,f\n4,f\n', AGE_SEX)
    assert "not closed" in fault.problem
    assert "data row 2" in fault.place


@pytest.mark.parametrize(
    "rows", ['1,"a\n2,b\n3,c\n4,"d"\n5,e\n', '1,a\n2,"5 ft\n3,c\n4,x" tall\n5,e\n', '1,"a\n2,""b""\n3,c\n']
)
def test_a_stray_quote_swallows_no_row_in_silence(csv_faults: Any, rows: str) -> None:
    (fault,) = csv_faults(f"age,sex\n{rows}", {"age": {"dtype": "integer"}, "sex": {"dtype": "text"}})
    assert "not closed" in fault.problem


def test_quotes_that_are_doubled_or_inside_a_cell_are_text(read_csv: Any) -> None:
    frame = read_csv('age,sex\n1,"a ""b""\n,c"\n2,5" tall\n', AGE_SEX).table.frame
    assert frame["sex"].tolist() == ['a "b"\n,c', '5" tall']


def test_a_last_cell_may_span_lines(read_csv: Any) -> None:
    frame = read_csv('age,sex\n1,"f\nm"\n', AGE_SEX).table.frame
    assert frame["sex"].tolist() == ["f\nm"]


def test_an_endless_record_is_refused(csv_faults: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("components.data.csv_source.BLOCK", 1 << 20)
    (fault,) = csv_faults(b'age,sex\n1,"' + b"x\n" * (3 << 19), AGE_SEX)
    assert "longer than 1 MB" in fault.problem


def test_nul_characters_are_refused(csv_faults: Any) -> None:
    (fault,) = csv_faults(b"age,sex\n1,f\0m\n", AGE_SEX)
    assert "NUL" in fault.problem
    assert fault.rows == (1,)


def test_the_wrong_encoding_is_named_with_its_line(csv_faults: Any, read_csv: Any) -> None:
    content = "age,sex\n1,f\n2,ü\n".encode("latin-1")
    (fault,) = csv_faults(content, AGE_SEX)
    assert "no utf-8 text (first in line 3)" in fault.problem
    assert read_csv(content, AGE_SEX, csv={"encoding": "latin-1"}).table.frame["sex"].iloc[1] == "ü"


def test_bytes_outside_a_narrow_encoding_are_refused(csv_faults: Any) -> None:
    (fault,) = csv_faults("age,sex\n1,é\n".encode(), AGE_SEX, csv={"encoding": "ascii"})
    assert "no ascii text" in fault.problem


def test_utf_16_is_recognised_and_read(csv_faults: Any, read_csv: Any) -> None:
    content = "age,sex\n1,é\n".encode("utf-16")
    (fault,) = csv_faults(content, AGE_SEX)
    assert "encoding=utf-16" in fault.remedy
    assert read_csv(content, AGE_SEX, csv={"encoding": "utf-16"}).table.frame["sex"].tolist() == ["é"]


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_another_delimiter_is_hinted_at(csv_faults: Any, mark: str) -> None:
    (fault,) = csv_faults(f"age{mark}sex\n1{mark}f\n", AGE_SEX)
    assert "one column found" in fault.problem
    assert f"dataset.source.delimiter='{mark.encode('unicode_escape').decode()}'" in fault.remedy


def test_a_tab_may_be_written_as_two_characters(read_csv: Any) -> None:
    assert len(read_csv("age\tsex\n1\tf\n", AGE_SEX, csv={"delimiter": "\\t"}).table.frame) == 1


def test_other_kinds_of_files_are_told_apart(csv_faults: Any) -> None:
    (fault,) = csv_faults(b"PK\x03\x04whatever", AGE_SEX)
    assert "name=excel" in fault.remedy
    (fault,) = csv_faults(b"PAR1whatever", AGE_SEX)
    assert "name=parquet" in fault.remedy


def test_the_header_alone_is_checked_for_what_it_is(tmp_path: Path) -> None:
    for content, problem in {
        "age,age\n1,2\n": "stands twice",
        "age;sex\n1;f\n": "one column found",
        "39,ZZ-CANARY\n40,m\n": "none of 2 declared columns",
    }.items():
        (tmp_path / "table.csv").write_text(content)
        with pytest.raises(DataError, match=problem) as caught:
            header_of(tmp_path)
        assert "CANARY" not in str(caught.value)


def test_a_header_of_cells_is_not_quoted(csv_faults: Any) -> None:
    (fault,) = csv_faults("39,ZZ-CANARY\n40,m\n", AGE_SEX)
    assert "none of 2 declared columns" in fault.problem
    assert "CANARY" not in str(fault)
    assert "CANARY" in fault.values


def test_one_cell_like_a_column_makes_no_header(csv_faults: Any) -> None:
    columns = {name: {"dtype": "text"} for name in ("age", "sex", "ward", "plan")}
    (fault,) = csv_faults("39,sex,ZZ-CANARY,x\n40,m,y,z\n", columns)
    assert "1 of 4 declared columns" in fault.problem
    assert "CANARY" not in str(fault)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_wide_encodings_are_told_apart(csv_faults: Any, read_csv: Any, encoding: str) -> None:
    content = "age,sex\n1,f\n".encode(encoding)
    (fault,) = csv_faults(content, AGE_SEX)
    assert fault.remedy == f"set dataset.source.encoding={encoding}"
    assert read_csv(content, AGE_SEX, csv={"encoding": encoding}).table.frame["sex"].tolist() == ["f"]


def test_places_without_a_file(tmp_path: Path, make_schema: Any) -> None:
    schema = make_schema(AGE_SEX)
    os.mkfifo(tmp_path / "pipe")
    problems = {"nothing.csv": "not found", "a\0b": "not found", ".": "is a folder", "pipe": "is no regular file"}
    for path, problem in (problems | {"x" * 300: "can't be read: File name too long"}).items():
        with pytest.raises(DataError, match=problem):
            read(schema, Csv(path=path), tmp_path)
        with pytest.raises(DataError, match=problem):
            header(schema, Csv(path=path), tmp_path)


def test_unreadable_files(tmp_path: Path, make_schema: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "table.csv").write_text("age,sex\n1,f\n")

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied", "/somewhere/secret")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError) as caught:
        read(make_schema(AGE_SEX), Csv(path="table.csv"), tmp_path)
    assert str(caught.value) == "file 'table.csv': can't be read: Permission denied"


def test_files_end_in_any_way(read_csv: Any) -> None:
    for content in ("age,sex\n1,f\n2,m", "age,sex\r\n1,f\r\n2,m\r\n\r\n", "age,sex\r1,f\r2,m\r"):
        assert read_csv(content, AGE_SEX).table.frame["age"].tolist() == [1, 2]


def test_blank_lines_before_the_header(read_csv: Any) -> None:
    assert read_csv("\n\nage,sex\n1,f\n", AGE_SEX).table.frame["age"].tolist() == [1]
    assert read_csv("\n\nage\n1\n", {"age": {"dtype": "integer"}}).table.frame["age"].tolist() == [1]


def test_other_quotes(read_csv: Any) -> None:
    frame = read_csv("age,sex\n1,'a,b'\n", AGE_SEX, csv={"quote": "'"}).table.frame
    assert frame["sex"].tolist() == ["a,b"]


@pytest.mark.parametrize(
    "settings",
    [
        {"encoding": "klingon"},
        {"encoding": "base64"},
        {"delimiter": "é"},
        {"delimiter": '"'},
        {"delimiter": "\n"},
        {"decimal": ",", "thousands": ","},
        {"decimal": "1"},
        {"delimiter": ",,"},
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        Csv(path="x", **settings)
