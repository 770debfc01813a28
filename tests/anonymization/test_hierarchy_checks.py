"""Coverage: a table is held against hierarchies before anything is done."""

from typing import Any

import pandas as pd
import pytest

from components.anonymization.hierarchies.checks import Coverage, check_coverage, coverage
from components.anonymization.hierarchies.hierarchy import climb
from components.anonymization.hierarchies.sources import hierarchy_of
from components.classes.coding import encode
from components.data.table import Table
from schemas.dataset import DatasetSchema
from schemas.faults import DataError, Fault

ZIPS = ["81675", "81667", "81925", "81931", "81931", "81931", "81931"]


def held(
    cells: Any, rows: list[list[str]], dtype: str = "text", *, others: Any = None, **more: Any
) -> dict[str, Coverage]:
    columns = {"x": {"dtype": dtype, "role": "quasi_identifier", "nullable": True, **more}}
    schema = DatasetSchema.model_validate(
        {"name": "made", "source": {"name": "none"}, "columns": columns, "missing": {"markers": ["?"]}}
    )
    frame = pd.DataFrame({"x": cells})
    kept = frame.copy(deep=True)
    hierarchies = {"x": hierarchy_of(schema.column("x"), rows), **(others or {})}
    try:
        return check_coverage(Table(frame, schema), hierarchies)
    finally:
        pd.testing.assert_frame_equal(frame, kept)


def fault(cells: Any, rows: list[list[str]], dtype: str = "text", **more: Any) -> Fault:
    with pytest.raises(DataError) as error:
        held(cells, rows, dtype, **more)
    (only,) = error.value.faults
    return only


def text(cells: list[str | None]) -> Any:
    return pd.array(cells, dtype="string")


TOY = [["81667", "8166*", "*"], ["81925", "819**", "*"], ["81931", "819**", "*"]]


def test_a_value_that_is_lacking_is_told_with_its_rows() -> None:
    found = fault(text(ZIPS), TOY, public=True)
    assert "1 of 4 values uncovered (81675), 1 of 7 rows (data row 1)" in found.problem
    assert found.rows == (1,)


def test_values_are_kept_out_of_the_sentence_unless_they_are_public() -> None:
    found = fault(text(ZIPS), TOY)
    assert "1 of 4 values uncovered, 1 of 7 rows" in found.problem
    assert "81675" not in str(found)
    assert found.values == "81675"


def test_declared_values_may_be_told() -> None:
    declared = ["81675", "81667", "81925", "81931"]
    found = fault(pd.Categorical(ZIPS, categories=declared), TOY, "category", values=declared)
    assert "(81675)" in found.problem


def test_the_sentence_shows_ten_values_and_rows_and_the_fault_holds_all_rows() -> None:
    found = fault(text([f"v{at:02}" for at in range(12)] + ["81667"]), TOY, public=True)
    assert "12 of 13 values uncovered (v00, v01, v02, v03, v04, v05, v06, v07, v08, v09, ...)" in found.problem
    assert "data rows 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ..." in found.problem
    assert len(found.rows) == 12


def test_rows_are_counted_as_in_the_source() -> None:
    cells = pd.Series(["81667", "gone"], index=[7, 3], dtype="string")
    assert fault(cells, TOY).rows == (4,)


def test_integers_match_the_text_of_a_file() -> None:
    ages = pd.array([34, 45, None], dtype="Int64")
    assert held(ages, [["34", "<50"], ["45.0", "<50"]], "integer")["x"].covered == 2


def test_what_is_no_number_is_named_as_the_reason() -> None:
    found = fault(pd.Series([34, 45]), [["old", "x"], ["young", "y"]], "integer")
    assert "0 of 2 values covered" in found.problem
    assert found.allowed == "x is integer in data, text in hierarchy"


@pytest.mark.parametrize(("key", "said"), [("1001", "leading zeros"), ("01001 A", ""), ("O1OO1", "")])
def test_lost_zeros_are_named_as_the_reason(key: str, said: str) -> None:
    assert said in fault(text(["01001"]), [[key, "x"]]).allowed


def test_case_is_named_as_the_reason() -> None:
    assert "case" in fault(text(["Male", "Female"]), [["male", "*"], ["female", "*"]]).allowed


def test_a_hierarchy_on_the_wrong_column_is_recognised() -> None:
    mine = DatasetSchema.model_validate(
        {"name": "made", "source": {"name": "none"}, "columns": {"y": {"dtype": "text", "role": "sensitive"}}}
    ).column("y")
    others = {"y": hierarchy_of(mine, [["Sales", "*"], ["Clerk", "*"]])}
    found = fault(text(["Sales", "Clerk"]), [["Private", "*"]], others=others)
    assert "0 of 2 values covered" in found.problem
    assert "the hierarchy of 'y' covers them" in found.remedy


def test_missing_cells_are_neither_covered_nor_uncovered() -> None:
    found = held(text(["81667", None]), TOY)["x"]
    assert (found.values, found.covered, found.rows) == (1, 1, 2)
    assert not len(found.uncovered_rows)


def test_a_rule_covers_what_comes() -> None:
    columns = {"x": {"dtype": "number", "hierarchy": "*", "role": "quasi_identifier"}}
    schema = DatasetSchema.model_validate({"name": "made", "source": {"name": "none"}, "columns": columns})
    from pathlib import Path

    from components.anonymization.hierarchies.sources import load

    (attribute,) = encode(pd.DataFrame({"x": [1.5, 2.0]}), schema.columns)
    assert coverage(attribute, load(schema, Path())["x"]).covered == 2


def test_all_columns_are_told_at_once() -> None:
    columns = {name: {"dtype": "text", "role": "quasi_identifier"} for name in "ab"}
    schema = DatasetSchema.model_validate({"name": "made", "source": {"name": "none"}, "columns": columns})
    frame = pd.DataFrame({name: text(["u", "v"]) for name in "ab"})
    hierarchies = {name: hierarchy_of(schema.column(name), [["u", "*"]]) for name in "ab"}
    with pytest.raises(DataError) as error:
        check_coverage(Table(frame, schema), hierarchies)
    assert [found.place for found in error.value.faults] == ["column 'a'", "column 'b'"]


def test_climbing_refuses_what_is_lacking() -> None:
    columns = {"x": {"dtype": "text", "role": "quasi_identifier"}}
    schema = DatasetSchema.model_validate({"name": "made", "source": {"name": "none"}, "columns": columns})
    (attribute,) = encode(pd.DataFrame({"x": text(ZIPS)}), schema.columns)
    with pytest.raises(DataError, match="1 of 4 values uncovered, 1 of 7 rows"):
        climb(attribute, hierarchy_of(schema.column("x"), TOY))
