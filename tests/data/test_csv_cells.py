"""Cells of a CSV file: text from the first byte, strict numbers, dates and zones, each failure with its rows."""

import unicodedata
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

INTEGER = {"dtype": "integer"}
NUMBER = {"dtype": "number"}
TEXT = {"dtype": "text"}


def test_leading_zeros_keep_two_zips_apart(read_csv: Any) -> None:
    values = {"dtype": "category", "role": "quasi_identifier", "values": ["01001", "1001"]}
    frame = read_csv("zip,x\n01001,a\n1001,b\n", {"zip": values, "x": TEXT}).table.frame
    assert frame["zip"].tolist() == ["01001", "1001"]
    assert frame["zip"].value_counts().min() == 1


def test_na_and_none_are_text_unless_declared_missing(read_csv: Any) -> None:
    reading = read_csv("land,debt\nNA,None\nDE,Home\n", {"land": TEXT, "debt": TEXT})
    assert reading.table.frame.to_dict("list") == {"land": ["NA", "DE"], "debt": ["None", "Home"]}
    assert reading.missing == {"land": {"": 0}, "debt": {"": 0}}


def test_markers_are_counted_by_column_and_marker(read_csv: Any) -> None:
    columns = {"a": {**TEXT, "nullable": True}, "b": {**INTEGER, "nullable": True}}
    reading = read_csv("a,b\n?,1\nx,-\n?,?\n", columns, missing={"markers": ["?", "-"]})
    assert reading.missing == {"a": {"?": 2, "-": 0}, "b": {"?": 1, "-": 1}}
    assert reading.table.frame["b"].tolist() == [1, pd.NA, pd.NA]


def test_no_and_yes_stay_text_in_a_category(read_csv: Any) -> None:
    frame = read_csv("land\nNO\nSE\n", {"land": {"dtype": "category", "values": ["NO", "SE"]}}).table.frame
    assert frame["land"].tolist() == ["NO", "SE"]


def test_decimal_comma_and_dot_thousands(read_csv: Any) -> None:
    marks = {"decimal": ",", "thousands": ".", "delimiter": ";"}
    frame = read_csv("x\n1.234,56\n10,50\n", {"x": NUMBER}, csv=marks).table.frame
    assert frame["x"].mean() == pytest.approx(622.53)


@pytest.mark.parametrize("cell", ["1.23,5", "12.34", "1234.567,0", "1..234", ".234", "1,2,3", "1e", "inf", "nan", "+"])
def test_malformed_numbers_are_failures(csv_faults: Any, cell: str) -> None:
    marks = {"decimal": ",", "thousands": ".", "delimiter": ";"}
    (fault,) = csv_faults(f"x;y\n{cell};a\n", {"x": NUMBER, "y": TEXT}, csv=marks)
    assert "data row 1" in fault.problem
    assert cell not in str(fault).removeprefix("column 'x'") or len(cell) == 1


def test_decimal_commas_are_hinted_at(csv_faults: Any) -> None:
    (fault,) = csv_faults('x\n"10,50"\n"3,1"\n7\n', {"x": NUMBER})
    assert """'dataset.source.decimal=","'""" in fault.remedy
    (fault,) = csv_faults("x\nseven\neight\n7\n", {"x": NUMBER})
    assert "decimal" not in fault.remedy


def test_odd_tokens_are_told_on_the_terminal_only(csv_faults: Any) -> None:
    (fault,) = csv_faults("age,x\n34,a\n NA,a\n4e,a\n70,a\n", {"age": INTEGER, "x": TEXT})
    assert fault.rows == (2, 3)
    assert "2 of 4 cells (data rows 2, 3)" in str(fault)
    assert "NA" not in str(fault)
    assert "4e" not in str(fault)
    assert fault.values == "' NA', '4e'"


def test_public_columns_may_show_their_tokens(csv_faults: Any) -> None:
    (fault,) = csv_faults("age,x\n4e,a\n", {"age": {**INTEGER, "public": True}, "x": TEXT})
    assert "'4e'" in str(fault)


def test_a_blank_integer_names_column_row_count_and_remedy(csv_faults: Any) -> None:
    (fault,) = csv_faults("A,B\n20,100\n,200\n", {"A": INTEGER, "B": INTEGER})
    assert str(fault).startswith("column 'A': missing in 1 of 2 cells (data row 2)")
    assert "nullable integer" in fault.remedy


def test_failures_and_blanks_are_told_in_one_pass(csv_faults: Any) -> None:
    content = "id,float\n1,not a float\n2,50\nthree,\nfour,1\n5,1\nsix,1\n"
    faults = csv_faults(content, {"id": INTEGER, "float": NUMBER})
    assert [(fault.place, fault.rows) for fault in faults] == [
        ("column 'id'", (3, 4, 6)),
        ("column 'float'", (1,)),
        ("column 'float'", (3,)),
    ]


def test_a_blank_line_is_a_cell_where_there_is_one_column(csv_faults: Any) -> None:
    faults = csv_faults("float\nnot a float\n50\n\n", {"float": NUMBER})
    assert [fault.rows for fault in faults] == [(1,), (3,)]


def test_row_lists_are_cut_but_kept_whole_beside_the_sentence(csv_faults: Any) -> None:
    (fault,) = csv_faults("x,y\n" + "a,b\n" * 25, {"x": INTEGER, "y": TEXT})
    assert "25 of 25 cells (data rows 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...)" in fault.problem
    assert fault.rows == tuple(range(1, 26))


@pytest.mark.parametrize("cell", ["9223372036854775808", "1" * 40, "0x10", "1_0", "5.0", "٣", "--1", "1-"])
def test_what_is_no_integer(csv_faults: Any, cell: str) -> None:
    (fault,) = csv_faults(f"x,y\n{cell},a\n", {"x": INTEGER, "y": TEXT})
    assert fault.rows == (1,)


def test_what_is_an_integer(read_csv: Any) -> None:
    frame = read_csv("x,y\n+5,a\n-007,a\n999999999999999999,a\n", {"x": INTEGER, "y": TEXT}).table.frame
    assert frame["x"].tolist() == [5, -7, 999999999999999999]
    assert frame["x"].dtype == "int64"


def test_booleans(read_csv: Any, csv_faults: Any) -> None:
    frame = read_csv("x,y\nTrue,a\nno,a\nF,a\n1,a\n", {"x": {"dtype": "boolean"}, "y": TEXT}).table.frame
    assert frame["x"].tolist() == [True, False, False, True]
    assert frame["x"].dtype == "bool"
    (fault,) = csv_faults("x,y\nTrue,a\nmaybe,a\n", {"x": {"dtype": "boolean"}, "y": TEXT})
    assert fault.rows == (2,)


def test_bounds_allowed_values_and_uniqueness(csv_faults: Any) -> None:
    columns = {
        "age": {**INTEGER, "min": 0, "max": 120},
        "sex": {"dtype": "category", "values": ["f", "m"]},
        "code": {**TEXT, "values": ["01", "02"]},
        "id": {**TEXT, "unique": True, "role": "identifier"},
    }
    faults = csv_faults("age,sex,code,id\n-1,f,01,a\n121,x,3,b\n5,,02,b\n", columns)
    told = {(fault.place, fault.rows) for fault in faults}
    assert told == {
        ("column 'age'", (1,)),
        ("column 'age'", (2,)),
        ("column 'sex'", (2,)),
        ("column 'sex'", (3,)),
        ("column 'code'", (2,)),
        ("column 'id'", (2, 3)),
    }


def test_a_blank_hides_no_other_failure_of_its_column(csv_faults: Any) -> None:
    column = {**INTEGER, "min": 0, "unique": True}
    faults = csv_faults("x,y\n,a\n-1,a\nfour,a\n7,a\n7,a\n", {"x": column, "y": TEXT})
    assert sorted(fault.rows for fault in faults) == [(1,), (2,), (3,), (4, 5)]


def test_blanks_in_a_unique_column_are_no_doubles(read_csv: Any) -> None:
    frame = read_csv("id,x\n,a\n,a\nk,a\n", {"id": {**TEXT, "unique": True, "nullable": True}, "x": TEXT}).table.frame
    assert frame["id"].isna().sum() == 2


def test_ordered_categories_keep_the_declared_order(read_csv: Any) -> None:
    bands = {"dtype": "ordered", "values": ["0-35", "35-55", "55<="]}
    cells = read_csv("age\n55<=\n0-35\n35-55\n", {"age": bands}).table.frame["age"]
    assert cells.sort_values().tolist() == ["0-35", "35-55", "55<="]
    assert cells.cat.ordered


@pytest.mark.parametrize("cell", ["2023-02-29", "2023-2-1", "01.02.2023", "20230101", "2023-01-01T00:00"])
def test_a_date_is_strict(csv_faults: Any, cell: str) -> None:
    (fault,) = csv_faults(f"d,x\n2024-02-29,a\n{cell},a\n", {"d": {"dtype": "date"}, "x": TEXT})
    assert fault.rows == (2,)
    assert "format" in fault.remedy


def test_a_declared_format_is_used(read_csv: Any) -> None:
    column = {"dtype": "date", "format": "%d.%m.%Y", "min": "2023-01-01"}
    cells = read_csv("d,x\n28.10.2023,a\n", {"d": column, "x": TEXT}).table.frame["d"]
    assert cells.tolist() == [pd.Timestamp("2023-10-28")]
    assert cells.dtype == "datetime64[us]"


def test_date_bounds_hold(csv_faults: Any) -> None:
    column = {"dtype": "date", "min": "2023-01-01", "max": "2023-12-31"}
    faults = csv_faults("d,x\n2022-12-31,a\n2023-06-01,a\n2024-01-01,a\n", {"d": column, "x": TEXT})
    assert [fault.rows for fault in faults] == [(1,), (3,)]


def test_a_time_in_another_spelling_is_refused_with_its_row(csv_faults: Any) -> None:
    (fault,) = csv_faults("t,x\n2022-01-25T22:16:27Z,a\n10/28/2021 7:50,a\n", {"t": {"dtype": "datetime"}, "x": TEXT})
    assert fault.rows == (2,)


def test_times_without_zone_among_zoned_ones_are_refused(csv_faults: Any) -> None:
    content = "t,x\n2022-01-25T22:16:27Z,a\n2022-01-25 22:16:27,a\n2022-01-25,a\n"
    (fault,) = csv_faults(content, {"t": {"dtype": "datetime"}, "x": TEXT})
    assert fault.rows == (2, 3)
    assert "zone" in fault.problem


def test_zoned_times_become_utc_and_the_zones_are_noted(read_csv: Any) -> None:
    reading = read_csv(
        "t,x\n2022-01-25T22:16:27+02:00,a\n2022-01-25T22:16:27Z,a\n2022-01-25T22:16:27Z,a\n",
        {"t": {"dtype": "datetime", "min": "2022-01-25T20:16:27Z"}, "x": TEXT},
    )
    assert str(reading.table.frame["t"].dtype) == "datetime64[us, UTC]"
    assert reading.table.frame["t"].iloc[0] == pd.Timestamp("2022-01-25T20:16:27Z")
    assert reading.notes == ("column 't': times converted to UTC; zones at the source: +02:00 (1), Z (2)",)


def test_times_without_any_zone_stay_without(read_csv: Any) -> None:
    reading = read_csv("t,x\n2022-01-25T22:16,a\n2022-01-26,a\n", {"t": {"dtype": "datetime"}, "x": TEXT})
    assert str(reading.table.frame["t"].dtype) == "datetime64[us]"
    assert reading.notes == ()


def test_trim_and_unicode_normal_form(read_csv: Any) -> None:
    decomposed = unicodedata.normalize("NFD", "é")
    column = {"dtype": "category", "values": [decomposed, "b"]}
    frame = read_csv(f"{decomposed}\n {decomposed} \nb\n", {"é": column}).table.frame
    assert frame["é"].tolist() == ["é", "b"]


def test_blanks_stay_where_trim_is_off(csv_faults: Any) -> None:
    (fault,) = csv_faults("x,y\n 5,a\n", {"x": INTEGER, "y": TEXT}, csv={"trim": False})
    assert fault.values == "' 5'"


def test_rows_with_missing_cells_are_dropped_and_counted_by_reason(read_csv: Any) -> None:
    columns = {"a": {**TEXT}, "b": {**INTEGER}, "id": {**TEXT, "role": "identifier", "nullable": True}}
    content = "a,b,id\n,,1\nx,,2\ny,3,\nz,4,4\n"
    reading = read_csv(content, columns, missing={"markers": [""], "rows": "drop"})
    assert reading.dropped_rows == {"missing: a": 1, "missing: b": 1}
    assert reading.table.frame.index.tolist() == [2, 3]
    assert reading.table.frame["b"].dtype == "int64"


def test_rows_keep_their_numbers_after_others_were_dropped(csv_faults: Any) -> None:
    columns = {"a": TEXT, "b": {**INTEGER, "max": 5}}
    (fault,) = csv_faults("a,b\n,1\nx,9\ny,2\n", columns, missing={"markers": [""], "rows": "drop"})
    assert fault.rows == (2,)


def test_nothing_left_is_no_table(csv_faults: Any) -> None:
    (fault,) = csv_faults("a,b\n,1\n", {"a": TEXT, "b": INTEGER}, missing={"markers": [""], "rows": "drop"})
    assert "0 rows; k undefined" in fault.problem


@pytest.mark.parametrize("nullable", [True, False])
def test_a_missing_target_is_refused(csv_faults: Any, *, nullable: bool) -> None:
    columns = {"a": TEXT, "y": {**INTEGER, "nullable": nullable}}
    (fault,) = csv_faults("a,y\nx,1\nx,\n", columns, target="y", task="regression")
    assert fault.rows == (2,)
    assert "missing.rows=drop" in fault.remedy


def test_a_target_that_does_not_convert_is_told_once(csv_faults: Any) -> None:
    columns = {"a": TEXT, "y": {**INTEGER, "nullable": True}}
    faults = csv_faults("a,y\nx,one\nx,\n", columns, target="y", task="regression")
    assert [fault.rows for fault in faults] == [(1,), (2,)]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8), min_size=1))
def test_any_text_survives(read_csv: Any, cells: list[str]) -> None:
    """Quoted text with delimiters, quotes and line ends comes back as it went in."""
    quoted = ['"' + cell.replace('"', '""') + '"' for cell in cells]
    content = "x,y\n" + "".join(f"{cell},end\n" for cell in quoted)
    reading = read_csv(
        content.encode(),
        {"x": {**TEXT, "nullable": True}, "y": TEXT},
        csv={"trim": False, "normalize": False},
        missing={"markers": []},
    )
    assert reading.table.frame["x"].tolist() == cells


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_come_back_exactly(read_csv: Any, values: list[float]) -> None:
    content = "x,y\n" + "".join(f"{value!r},a\n" for value in values)
    assert read_csv(content, {"x": NUMBER, "y": TEXT}).table.frame["x"].tolist() == values
