"""Cells and hierarchy texts meet in one canonical form."""

import datetime as dt
import unicodedata
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.anonymization.hierarchies.keys import keys_of_texts, keys_of_values, marker_keys, reading_rules
from components.data.declarations import Csv
from components.data.text import Rules
from schemas.dataset import Column, DatasetSchema

READ = Rules(trim=True, normalize=True)


def column(dtype: str, **more: Any) -> Column:
    return Column.model_validate({"name": "x", "dtype": dtype, **more})


def keys(texts: list[str], dtype: str, rules: Rules = READ, **more: Any) -> list[str]:
    return list(keys_of_texts(texts, column(dtype, **more), rules).texts)


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1))
def test_whole_numbers_meet(numbers: list[int]) -> None:
    cells = keys_of_values(pd.array(numbers, dtype="Int64"), column("integer"))
    assert list(cells) == keys([f" {number} " for number in numbers], "integer")
    small = [number for number in numbers if abs(number) < 2**53]
    assert keys([f"{number}.0" for number in small], "integer") == [str(number) for number in small]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_meet(numbers: list[float]) -> None:
    cells = keys_of_values(np.array(numbers), column("number"))
    found = keys_of_texts([repr(number) for number in numbers], column("number"), READ)
    assert list(cells) == list(found.texts)
    assert found.known.all()
    np.testing.assert_array_equal(found.values, np.array(numbers))
    assert [float(cell) for cell in cells] == numbers


@given(st.lists(st.dates(dt.date(1600, 1, 1), dt.date(2200, 1, 1)), min_size=1))
def test_dates_meet(dates: list[dt.date]) -> None:
    cells = keys_of_values(np.array(dates, dtype="datetime64[us]"), column("date"))
    assert list(cells) == keys([day.isoformat() for day in dates], "date")
    assert list(cells) == keys([day.strftime("%d.%m.%Y") for day in dates], "date", format="%d.%m.%Y")


@given(st.lists(st.text(st.characters(exclude_categories=("Cs",))), min_size=1))
def test_text_meets_trimmed_and_in_nfc(texts: list[str]) -> None:
    nfc = [unicodedata.normalize("NFC", text) for text in texts]
    as_read = keys(nfc, "text")
    assert as_read == keys([f"  {unicodedata.normalize('NFD', text)}\t" for text in texts], "text")
    assert list(keys_of_values(pd.array(as_read, dtype="string"), column("text"))) == as_read


@pytest.mark.parametrize("text", ["34", " 34 ", "34.0", "034", "+34", "3.4e1"])
def test_thirty_four_is_one_value(text: str) -> None:
    assert keys([text], "integer") == ["34"]
    assert keys([text], "number") == ["34"]
    assert keys([text], "text") == [text.strip()]


def test_numbers_are_their_shortest_text() -> None:
    assert keys(["34.50", "34.5", "-0.0", "1e16"], "number") == ["34.5", "34.5", "0", "1e+16"]


def test_what_is_no_value_stays_as_it_is_and_is_told() -> None:
    found = keys_of_texts(["34", "old", "", "34.5"], column("integer"), READ)
    assert list(found.texts) == ["34", "old", "", "34.5"]
    assert list(found.known) == [True, False, False, False]


def test_marks_are_those_of_the_source_and_a_point_is_understood_too() -> None:
    german = Rules(trim=True, decimal=",", thousands=".")
    assert keys(["1.234,5", "34,50", "34.5"], "number", german) == ["1234.5", "34.5", "34.5"]


def test_booleans_are_true_and_false_in_any_form() -> None:
    assert keys(["TRUE", "0", "yes"], "boolean") == ["true", "false", "true"]
    assert list(keys_of_values(pd.array([True, False], dtype="boolean"), column("boolean"))) == ["true", "false"]


def test_moments_meet_in_utc() -> None:
    zoned = pd.DatetimeIndex(["2024-01-05T11:00+01:00"]).as_unit("us")
    assert list(keys_of_values(zoned.array, column("datetime"))) == keys(["2024-01-05T10:00Z"], "datetime")


def test_text_keeps_its_blanks_where_the_source_does() -> None:
    assert keys([" a "], "text", Rules(trim=False)) == [" a "]
    source = Csv(path="x.csv", trim=False, decimal=",")
    schema = DatasetSchema.model_validate({"name": "x", "source": source, "columns": {"a": {"dtype": "text"}}})
    rules = reading_rules(schema)
    assert (rules.trim, rules.decimal, rules.markers) == (False, ",", ("",))


def test_markers_are_known_as_declared_and_as_read() -> None:
    assert set(marker_keys(["-9.0", " ? "], column("integer"))) == {"-9.0", "-9", " ? ", "?"}
