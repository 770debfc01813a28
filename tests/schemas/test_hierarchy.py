"""Declarations of hierarchies: short forms, and what the configuration alone shows to be wrong."""

from itertools import accumulate
from operator import mul
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from runner.compose import compose_run
from schemas.dataset import Column
from schemas.faults import ConfigurationError, Fault
from schemas.hierarchy import CsvHierarchy, Flat, Intervals, Order


def column(hierarchy: Any, dtype: str = "integer", **more: Any) -> Column:
    return Column.model_validate({"name": "x", "dtype": dtype, "hierarchy": hierarchy, **more})


def refused(hierarchy: Any, dtype: str = "integer", **more: Any) -> str:
    with pytest.raises(ValidationError) as error:
        column(hierarchy, dtype, **more)
    (detail,) = error.value.errors()
    return str(detail["msg"])


def fault(override: str) -> Fault:
    with pytest.raises(ConfigurationError) as error:
        compose_run([override])
    return error.value.faults[0]


STAGES = ["none", "some", "much", "all"]


def ordered(levels: Any) -> Any:
    return {"name": "order", "levels": levels}


def test_text_names_a_file_and_a_star_is_flat() -> None:
    assert column("age.csv").hierarchy == CsvHierarchy(path="age.csv")
    assert column("*").hierarchy == Flat()
    assert column(None).hierarchy is None


def test_a_declaration_is_taken_as_it_is() -> None:
    assert column(Intervals(widths=[5.0])).hierarchy == Intervals(widths=[5.0])


@pytest.mark.parametrize("wrong", [3, [], {}, {"widths": [5]}])
def test_anything_else_must_say_what_it_is(wrong: Any) -> None:
    assert "intervals, order, mask, date, tree or flat" in refused(wrong)


@pytest.mark.parametrize(
    ("hierarchy", "dtype"),
    [
        ({"name": "intervals", "widths": [5]}, "text"),
        ({"name": "intervals", "widths": [5]}, "date"),
        ({"name": "mask", "keep": [3]}, "integer"),
        ({"name": "date", "levels": ["month"]}, "text"),
        (ordered([[["a"], ["b"]]]), "category"),
    ],
)
def test_a_kind_is_refused_on_columns_it_is_not_for(hierarchy: Any, dtype: str) -> None:
    message = refused(hierarchy, dtype)
    assert hierarchy["name"] in message
    assert f"not {dtype}" in message


@pytest.mark.parametrize("widths", [[5, 12], [10, 5], [5, 5], [0.1, 0.25]])
def test_widths_are_multiples_of_the_ones_before(widths: list[float]) -> None:
    assert "multiple" in refused({"name": "intervals", "widths": widths}, "number")


def test_decimal_widths_are_compared_as_they_are_written() -> None:
    column({"name": "intervals", "widths": [0.1, 0.3, 0.6]}, "number")  # 0.3 % 0.1 is 0.09999999999999998


@pytest.mark.parametrize("widths", [[], [0], [-5], [True], ["5"], 5])
def test_widths_are_positive_numbers(widths: Any) -> None:
    refused({"name": "intervals", "widths": widths})


def test_whole_numbers_have_whole_intervals() -> None:
    assert "2.5" in refused({"name": "intervals", "widths": [2.5]})
    assert "0.5" in refused({"name": "intervals", "widths": [5], "lowest": 0.5})
    column({"name": "intervals", "widths": [5.0], "origin": 10.0})


def test_the_open_ends_do_not_meet() -> None:
    assert "lowest" in refused({"name": "intervals", "widths": [5], "lowest": 20, "highest": 20})


def test_groups_of_an_order_are_named_by_their_ends_unless_they_have_labels() -> None:
    declared = column(
        ordered([[["none", "some"], ["much"], ["all"]], {"low": ["none", "some"], "high": ["much", "all"]}]),
        "ordered",
        values=STAGES,
    ).hierarchy
    assert isinstance(declared, Order)
    assert [list(level) for level in declared.levels] == [["none to some", "much", "all"], ["low", "high"]]


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ([[["none", "much"], ["some"], ["all"]]], "skips 'some'"),
        ([[["none", "some"], ["much"]]], "'all' is in no group"),
        ([[["none", "some"], ["some", "much", "all"]]], "'some' is listed twice"),
        ([[["none", "some"], ["much", "all", "more"]]], "'more' is no value"),
        ([[["none", "some"], ["much", "all"]], [["none"], ["some", "much", "all"]]], "level 2 splits"),
        ([[["none", 1], ["much"]]], "1 is no text: quote it"),
        ([{"a": ["none"], "b": "some"}], "group b is no list"),
        ([["none", "some"]], "group 1 is no list"),
        (["none"], "a level is a list of groups"),
    ],
)
def test_an_order_merges_neighbours_of_all_values(levels: Any, said: str) -> None:
    assert said in refused(ordered(levels), "ordered", values=STAGES)


def test_a_mask_shows_fewer_characters_on_each_level() -> None:
    assert "fall" in refused({"name": "mask", "keep": [2, 3]}, "text")
    assert "fall" in refused({"name": "mask", "keep": [2, 2]}, "text")


def test_calendar_units_grow_and_have_names() -> None:
    assert "grow" in refused({"name": "date", "levels": ["year", "month"]}, "date")
    assert "did you mean year?" in refused({"name": "date", "levels": ["yaer"]}, "date")


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ({"a": {"b": ["x"]}, "c": {"b": ["y"]}}, "label b stands for 2 groups"),
        ({"a": []}, "group a is neither"),
        ({"a": None}, "group a is neither"),
        ({"a": [["x"]]}, "group a holds something"),
        ({1: ["x"]}, "label 1 is no text"),
        ({}, "must be a mapping"),
        (["x"], "must be a mapping"),
        ({"a": ["x", 2]}, "2 in group a is no text: quote it"),
        ({"a": ["x", True]}, "True in group a is no text: quote it"),
    ],
)
def test_a_tree_has_labels_of_its_own_and_values_as_leaves(groups: Any, said: str) -> None:
    assert said in refused({"name": "tree", "groups": groups}, "text")


def test_all_that_is_wrong_with_a_tree_is_told() -> None:
    message = refused({"name": "tree", "groups": {"a": [], "b": {"c": [], "b": ["x"]}}}, "text")
    assert message.count("neither") == 2
    assert "label b" in message


def test_numbers_are_leaves_where_the_column_holds_numbers() -> None:
    column({"name": "tree", "groups": {"low": [1, 2], "high": [3]}})
    column({"name": "tree", "groups": {"low": [0.5], "high": [3]}}, "number")
    column({"name": "tree", "groups": {"a": [True], "b": [False]}}, "boolean")
    assert "True" in refused({"name": "tree", "groups": {"a": [True]}})


def test_an_encoding_must_be_one() -> None:
    assert "encoding" in refused({"name": "csv", "path": "a.csv", "encoding": "utf-99"})


@given(st.lists(st.integers(2, 5), max_size=4), st.decimals("0.001", 1000, places=3))
def test_products_of_a_width_nest(factors: list[int], first: Any) -> None:
    widths = [float(width) for width in accumulate([first, *factors], mul)]
    column({"name": "intervals", "widths": widths}, "number")


@pytest.mark.parametrize(
    ("override", "place", "said"),
    [
        ("age.hierarchy={name: interval, widths: [5]}", "age.hierarchy.name", "did you mean intervals?"),
        ("age.hierarchy={name: intervals, widths: [5], wdiths: [5]}", "age.hierarchy.wdiths", "hierarchy.widths"),
        ("age.hierarchy={name: intervals, widths: [5, 12]}", "age.hierarchy.widths", "multiple of 5"),
        ("age.hierarchy={name: intervals, widths: [5, '10']}", "age.hierarchy.widths.1", "a number > 0"),
        ("stay_days.hierarchy={name: intervals}", "stay_days.hierarchy.widths", "is missing"),
        ("age.hierarchy=3", "age.hierarchy", "the name of a file"),
        ("sex.hierarchy={name: intervals, widths: [5]}", "sex.hierarchy", "not category"),
        ("zip.hierarchy={name: mask, keep: [3], side: left}", "zip.hierarchy.side", "one of suffix or prefix"),
    ],
)
def test_a_run_says_where_and_what_is_right(override: str, place: str, said: str) -> None:
    found = fault(f"dataset.columns.{override}")
    assert found.place == f"dataset.columns.{place}"
    assert said in str(found)


def test_a_file_can_be_named_on_the_command_line() -> None:
    data = compose_run(
        ["dataset.columns.age.hierarchy=age.csv", "dataset.columns.zip.hierarchy.keep=[1]"]
    ).config.dataset
    assert data.column("age").hierarchy == CsvHierarchy(path="age.csv")


def test_a_method_may_need_a_hierarchy_for_every_quasi_identifier() -> None:
    with pytest.raises(ConfigurationError, match=r"the method lattice.*without one: age"):
        compose_run(["anonymization=lattice", "dataset.columns.age.hierarchy=null"])
