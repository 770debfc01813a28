"""Attributes: what becomes of cells of every dtype, of missing ones and of those outside the domain."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.minimization.attributes import BELOW, Attribute, attributes_of, counted, encoded
from components.minimization.problem import replaced
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError

CANARY = "Zebedee-4711"


def _schema(**columns: dict[str, Any]) -> DatasetSchema:
    declared = {name: {"role": "quasi_identifier"} | column for name, column in columns.items()}
    return DatasetSchema.model_validate({"name": "made", "source": None, "columns": declared})


def _one(**column: Any) -> Attribute:
    (attribute,) = attributes_of(_schema(x=column), ["x"])
    return attribute


def _through(attribute: Attribute, cells: pd.Series) -> tuple[pd.Series, int]:
    """Return what comes back of cells that are read and written again, and how many were outside the domain."""
    frame = cells.to_frame("x")
    codes, outside = attribute.encode(frame, 0.0)
    return attribute.cells(codes, frame)["x"], outside


@pytest.fixture(scope="module")
def attributes(people_schema: DatasetSchema) -> tuple[Attribute, ...]:
    return tuple(attributes_of(people_schema, people_schema.features))


def test_what_is_read_can_be_written_back_whatever_the_dtype(
    attributes: tuple[Attribute, ...], people: Callable[..., pd.DataFrame]
) -> None:
    frame = people(200, 0).set_axis(np.arange(200) // 3, axis=0)  # an index that is not unique
    pd.testing.assert_frame_equal(replaced(frame, attributes, encoded(attributes, frame)), frame)


@pytest.mark.parametrize("rows", [0, 1])
def test_tables_without_rows_and_of_one_row_go_through(
    attributes: tuple[Attribute, ...], people: Callable[..., pd.DataFrame], rows: int
) -> None:
    frame = people(10, 0).iloc[:rows]
    pd.testing.assert_frame_equal(replaced(frame, attributes, encoded(attributes, frame)), frame)


def test_cells_that_are_all_missing_go_through(
    attributes: tuple[Attribute, ...], people: Callable[..., pd.DataFrame]
) -> None:
    frame = people(5, 0)
    nullable = [name for each in attributes for name in each.names if each.columns[0].nullable]
    for name in nullable:
        frame[name] = frame[name].mask(np.ones(5, dtype=bool))
    pd.testing.assert_frame_equal(replaced(frame, attributes, encoded(attributes, frame)), frame)


@pytest.mark.parametrize("dtype", ["float64", "object"])
def test_a_form_that_knows_of_no_value_is_read_whatever_its_dtype(
    attributes: tuple[Attribute, ...], dtype: str
) -> None:
    frame = pd.DataFrame({name: pd.Series([None, None], dtype=dtype) for each in attributes for name in each.names})
    codes = encoded(attributes, frame)
    assert all((codes[each.name] == each.missing).all() for each in attributes)
    assert replaced(frame, attributes, codes).isna().to_numpy()[:, :12].all()


def test_the_callers_frame_is_never_written_to(
    attributes: tuple[Attribute, ...], people: Callable[..., pd.DataFrame]
) -> None:
    frame = people(50, 1)
    before = frame.copy(deep=True)
    codes = {name: np.zeros_like(cells) for name, cells in encoded(attributes, frame).items()}
    replaced(frame, attributes, codes)
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16", "float32", "float64", "Int64", "Float32", "object"])
def test_numbers_keep_their_dtype(dtype: str) -> None:
    cells = pd.Series([0, 3, 10], dtype=dtype)
    back, outside = _through(_one(dtype="integer", min=0, max=10), cells)
    pd.testing.assert_series_equal(back, cells, check_names=False)
    assert outside == 0


@pytest.mark.parametrize("dtype", ["bool", "boolean", "int64", "float64", "object"])
def test_booleans_keep_their_dtype(dtype: str) -> None:
    cells = pd.Series([True, False, True], dtype=dtype)
    pd.testing.assert_series_equal(_through(_one(dtype="boolean"), cells)[0], cells, check_names=False)


@pytest.mark.parametrize(
    "dtype", ["datetime64[us]", "datetime64[ns]", "datetime64[s]", "datetime64[us, Europe/Berlin]"]
)
def test_times_keep_their_dtype(dtype: str) -> None:
    cells = pd.Series(pd.to_datetime(["2024-03-31T01:30:00", None])).astype(
        dtype if "Berlin" not in dtype else "datetime64[us]"
    )
    if "Berlin" in dtype:
        cells = cells.dt.tz_localize("Europe/Berlin")
    attribute = _one(dtype="datetime", min="2024-01-01", max="2024-12-31", nullable=True)
    pd.testing.assert_series_equal(_through(attribute, cells)[0], cells, check_names=False)


def test_a_bound_is_inside_in_float32_as_well() -> None:
    cells = pd.Series([0.7, 0.9, 0.1], dtype="float32")  # as float64 less than 0.7 by a hair, and more than 0.1
    back, outside = _through(_one(dtype="number", min=0.7, max=0.9), cells[:2])
    assert outside == 0
    back, outside = _through(_one(dtype="number", min=0, max=0.1), cells[2:])
    assert outside == 0
    pd.testing.assert_series_equal(back, cells[2:], check_names=False)


def test_numbers_held_as_whole_ones_become_real_where_they_get_a_fraction() -> None:
    """A form's income of 50000 is int64, although the column is of real numbers: 12.5 must not become 12."""
    frame = pd.DataFrame({"x": [5, 7]})
    cells = _one(dtype="number", min=0, max=100).cells(np.array([12.5, 3.0]), frame)["x"]
    assert cells.tolist() == [12.5, 3.0]


@pytest.mark.parametrize(
    ("column", "cells", "inside"),
    [
        ({"dtype": "integer", "min": 0, "max": 10}, [-5, 11, 3], [0, 10, 3]),
        ({"dtype": "number", "min": 0, "max": 10}, [-np.inf, np.inf, 3.5], [0, 10, 3.5]),
        ({"dtype": "category", "values": ["a", "b"]}, [CANARY, "b", "a"], ["a", "b", "a"]),
        ({"dtype": "ordered", "values": ["a", "b"]}, ["b", CANARY, "a"], ["b", "a", "a"]),
        ({"dtype": "text", "values": ["a"]}, ["A", "a ", "a"], ["a", "a", "a"]),
        ({"dtype": "boolean"}, [2, 0.5, 1], [False, False, True]),
        ({"dtype": "date", "min": "2024-01-01", "max": "2024-01-31"}, ["2023-12-31"], ["2024-01-01"]),
        (
            {"dtype": "date", "min": "1960-01-01", "max": "1980-01-31"},
            ["1969-12-31 23:59", "1970-02-03 00:00"],
            ["1969-12-31", "1970-02-03"],
        ),
    ],
    ids=["integer", "number", "category", "ordered", "text", "boolean", "date", "time of day"],
)
def test_a_value_outside_the_domain_never_passes(column: dict[str, Any], cells: list[Any], inside: list[Any]) -> None:
    temporal = column["dtype"] == "date"
    given, wanted = (pd.Series(pd.to_datetime(some) if temporal else some) for some in (cells, inside))
    back, outside = _through(_one(**column), given)
    assert back.tolist() == wanted.tolist()
    assert outside == sum(a != b for a, b in zip(given, wanted, strict=True))


def test_a_category_found_in_rows_alone_is_not_even_in_the_dtype() -> None:
    frame = pd.DataFrame({"x": pd.Categorical(["a", CANARY], categories=["a", CANARY, "b", "c"])})
    back = _through(_one(dtype="category", values=["a", "b", "c"]), frame["x"])[0]
    assert back.tolist() == ["a", "a"]
    assert list(back.cat.categories) == ["a", "b", "c"]


def test_a_categorical_of_fewer_categories_can_still_get_any_value_of_the_domain() -> None:
    frame = pd.DataFrame({"x": pd.Categorical(["a", "a"])})
    cells = _one(dtype="category", values=["a", "b"]).cells(np.array([1, 2]), frame)["x"]
    assert cells.tolist()[0] == "b"
    assert cells.isna().tolist() == [False, True]


def test_one_hot_columns_are_one_attribute(people_schema: DatasetSchema) -> None:
    (house,) = attributes_of(people_schema, ["house_rent"])
    assert (house.name, house.kind, house.values) == ("house", "nominal", ("house_own", "house_rent", "house_free"))
    frame = pd.DataFrame([[1, 0, 0], [0, 0, 1], [0, 0, 0], [1, 1, 0], [0, 0.5, 1]], columns=list(house.values))
    codes, outside = house.encode(frame, 1.0)
    assert codes.tolist() == [0, 2, 3, 1, 1]  # of nobody: missing; of two, and of half a house: the default
    assert outside == 2
    back = house.cells(codes, frame)
    assert back["house_rent"].tolist() == [0, 0, 0, 1, 1]
    assert back["house_own"].dtype == frame["house_own"].dtype


def test_a_group_of_one_column_is_that_column() -> None:
    (attribute,) = attributes_of(_schema(x={"dtype": "integer", "min": 0, "max": 1, "group": "g"}), ["x"])
    assert (attribute.name, attribute.kind) == ("x", "number")


@pytest.mark.parametrize("seed", range(3))
def test_values_and_codes_are_each_others_inverse_through_json(
    attributes: tuple[Attribute, ...], people: Callable[..., pd.DataFrame], seed: int
) -> None:
    for attribute in attributes:
        codes = np.append(attribute.encode(people(30, seed), 0.0)[0], attribute.missing)
        assert [attribute.code(attribute.value(code)) for code in codes] == codes.tolist()


@settings(deadline=None, max_examples=60)
@given(cells=st.lists(st.one_of(st.none(), st.integers(-20, 20)), min_size=1, max_size=8))
def test_codes_keep_the_order_of_numbers_with_missing_cells_below_them_all(cells: list[int | None]) -> None:
    attribute = _one(dtype="integer", min=-20, max=20, nullable=True)
    codes = attribute.encode(pd.DataFrame({"x": pd.array(cells, dtype="Int64")}), 0.0)[0]
    assert codes.tolist() == [BELOW if cell is None else float(cell) for cell in cells]


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ({"dtype": "number", "min": 0, "max": 1}, [CANARY]),
        ({"dtype": "boolean"}, [CANARY]),
        ({"dtype": "date", "min": "2024-01-01", "max": "2024-12-31"}, [CANARY]),
        ({"dtype": "category", "values": ["a"]}, [4711]),
        ({"dtype": "number", "min": 0, "max": 1}, pd.Categorical([CANARY])),
        ({"dtype": "category", "values": ["a"]}, [["4711"]]),
        ({"dtype": "number", "min": 0, "max": 1}, pd.Series([10**400], dtype=object)),
        ({"dtype": "number", "min": 0, "max": 1}, [1 + 2j]),
    ],
)
def test_cells_of_another_kind_are_refused_without_a_value(column: dict[str, Any], cells: Any) -> None:
    with pytest.raises(DataError) as told:
        encoded([_one(**column)], pd.DataFrame({"x": cells}))
    assert "column 'x': holds" in str(told.value)
    assert "4711" not in str(told.value)


def test_all_that_keeps_a_table_from_being_read_is_told_at_once() -> None:
    schema = _schema(a={"dtype": "boolean"}, b={"dtype": "boolean"}, c={"dtype": "boolean"})
    frame = pd.DataFrame([[True, True, CANARY]], columns=["b", "b", "c"])
    with pytest.raises(DataError) as told:
        encoded(attributes_of(schema, ["a", "b", "c"]), frame)
    assert [(fault.place, fault.problem.split()[0]) for fault in told.value.faults] == [
        ("column 'a'", "not"),
        ("column 'b'", "stands"),
        ("column 'c'", "holds"),
    ]


def test_values_outside_the_domain_are_refused_by_count_where_that_is_asked() -> None:
    schema = _schema(a={"dtype": "category", "values": ["x"]}, b={"dtype": "integer", "min": 0, "max": 1})
    frame = pd.DataFrame({"a": [CANARY, "x", CANARY], "b": [0, 4711, 1]})
    some = attributes_of(schema, ["a", "b"])
    assert counted(some, frame)[1] == {"a": 2, "b": 1}
    with pytest.raises(DataError) as told:
        encoded(some, frame, outside="refuse")
    assert str(told.value) == (
        "column 'a': 2 of 3 cells are outside the domain\ncolumn 'b': 1 of 3 cells are outside the domain"
    )


def test_unknown_columns_and_open_domains_are_told_together() -> None:
    schema = _schema(a={"dtype": "number"}, b={"dtype": "text"}, c={"dtype": "integer", "min": 0, "max": 2**60})
    with pytest.raises(ConfigurationError) as told:
        attributes_of(schema, ["a", "b", "c", "nobody"])
    assert {fault.place for fault in told.value.faults} == {f"column '{name}'" for name in ("a", "b", "c", "nobody")}
    assert "beyond 2^53" in str(told.value)


def test_a_domain_without_a_whole_number_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no whole number between"):
        _one(dtype="integer", min=0.2, max=0.8)


def test_bounds_of_whole_numbers_are_whole() -> None:
    attribute = _one(dtype="integer", min=0.5, max=9.5)
    assert (attribute.low, attribute.high) == (1, 9)


def test_a_group_that_is_called_as_a_column_is_refused() -> None:
    one = {"dtype": "boolean", "group": "g"}
    with pytest.raises(ConfigurationError, match="rename the group"):
        attributes_of(_schema(g={"dtype": "boolean"}, a=one, b=one), ["g", "a"])


def test_one_hot_columns_are_no_text() -> None:
    one = {"dtype": "category", "values": ["0", "1"], "group": "g"}
    with pytest.raises(ConfigurationError, match="neither a number nor a boolean"):
        attributes_of(_schema(a=one, b=one), ["a"])


def test_one_hot_columns_are_bounded_by_0_and_1() -> None:
    schema = _schema(
        a={"dtype": "integer", "min": 0, "max": 99, "group": "g"},
        b={"dtype": "number", "min": -0.5, "group": "g"},
        c={"dtype": "boolean", "group": "g"},
        d={"dtype": "number", "max": 1, "group": "g"},
    )
    with pytest.raises(ConfigurationError) as told:
        attributes_of(schema, ["a"])
    assert [fault.place for fault in told.value.faults] == ["column 'a'", "column 'b'"]
    assert all("others than 0 and 1" in fault.problem for fault in told.value.faults)


def test_open_domains_are_learned_from_rows_and_say_so() -> None:
    schema = _schema(a={"dtype": "number", "min": 0}, b={"dtype": "text"}, c={"dtype": "category", "values": ["x"]})
    rows = pd.DataFrame({"a": [2.0, 5.0], "b": ["q", "p"], "c": ["x", "x"]})
    a, b, c = attributes_of(schema, ["a", "b", "c"], learn_from=rows)
    assert (a.low, a.high, a.learned) == (0, 5, True)
    assert (b.values, b.learned, c.learned) == (("p", "q"), True, False)


def test_nothing_can_be_learned_from_cells_that_are_missing_or_of_another_kind() -> None:
    schema = _schema(a={"dtype": "number"}, b={"dtype": "text"}, c={"dtype": "number"}, d={"dtype": "number"})
    rows = pd.DataFrame({"a": [np.nan], "b": [None], "c": [CANARY]})
    with pytest.raises(DataError) as told:
        attributes_of(schema, ["a", "b", "c", "d"], learn_from=rows)
    assert len(told.value.faults) == 4
    assert CANARY not in str(told.value)


def test_a_fraction_is_outside_a_domain_of_whole_numbers() -> None:
    whole = _one(dtype="integer", min=0, max=12)
    codes, outside = counted([whole], pd.DataFrame({"x": [3.0, 3.25, np.nan]}))
    assert codes["x"].tolist() == [3, 3, BELOW]
    assert outside == {"x": 1}


@pytest.mark.parametrize("cells", [[0.0, np.inf], [-1.7e308, 1.7e308]])
def test_a_domain_too_wide_for_numbers_is_refused(cells: list[float]) -> None:
    schema = _schema(x={"dtype": "number"})
    with pytest.raises(ConfigurationError, match="too wide"):
        attributes_of(schema, ["x"], learn_from=pd.DataFrame({"x": cells}))
