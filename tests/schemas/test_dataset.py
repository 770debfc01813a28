"""The dataset contract: what a schema may say, and the schema of what is released."""

from typing import Any

import pytest
from pydantic import ValidationError

from schemas.dataset import Column, DatasetSchema, released

ROLES = {
    "id": {"dtype": "text", "role": "identifier", "unique": True},
    "age": {"dtype": "integer", "role": "quasi_identifier", "min": 0, "max": 120, "unit": "years", "unique": True},
    "site": {"dtype": "category", "role": "quasi_identifier", "values": ["a", "b"]},
    "ill": {"dtype": "category", "role": "sensitive", "values": ["yes", "no"]},
    "note": {"dtype": "text", "role": "drop"},
    "loose": {"dtype": "text"},
}


def schema_of(columns: dict[str, Any] | None = None, **settings: Any) -> DatasetSchema:
    return DatasetSchema.model_validate({"name": "t", "source": {}, "columns": columns or ROLES, **settings})


def test_columns_come_as_mapping_or_list() -> None:
    listed = [{"name": name, **column} for name, column in ROLES.items()]
    assert schema_of().columns == schema_of(listed).columns  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "column",
    [
        {"dtype": "ordered"},
        {"dtype": "integer", "values": ["1"]},
        {"dtype": "category", "values": ["a", "a"]},
        {"dtype": "category", "values": [1]},
        {"dtype": "category", "values": []},
        {"dtype": "text", "min": 1},
        {"dtype": "integer", "min": 5, "max": 1},
        {"dtype": "number", "min": float("inf")},
        {"dtype": "number", "max": float("nan")},
        {"dtype": "integer", "max": 10**400},
        {"dtype": "integer", "min": "5"},
        {"dtype": "integer", "min": True},
        {"dtype": "date", "min": "01.02.2024"},
        {"dtype": "date", "min": "2024-02-02", "max": "2024-02-01"},
        {"dtype": "datetime", "min": "2024-02-02T00:00:00Z", "max": "2024-02-02T01:00:00+02:00"},
        {"dtype": "integer", "format": "%Y"},
        {"dtype": "date", "format": "%Q"},
        {"dtype": "date", "format": "%Y-%"},
        {"dtype": "integer", "nullable": 1},
        {"dtype": "integer", "unknown": 1},
    ],
)
def test_columns_that_contradict_themselves(column: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Column.model_validate({"name": "x", **column})


@pytest.mark.parametrize(
    "column",
    [
        {"dtype": "datetime", "min": "2024-02-01T00:00:00", "max": "2024-02-02T00:00:00Z"},
        {"dtype": "date", "format": "%d.%m.%Y", "min": "2024-02-01"},
        {"dtype": "number", "min": 0, "max": 1.5},
    ],
)
def test_columns_that_are_fine(column: dict[str, Any]) -> None:
    Column.model_validate({"name": "x", **column})


def test_names_and_values_are_in_one_normal_form() -> None:
    schema = schema_of(
        {"e\u0301": {"dtype": "category", "values": ["o\u0308"]}}, target="e\u0301", task="classification"
    )
    assert schema.target == schema.columns[0].name == "é"
    assert schema.columns[0].values == ["ö"]


def test_a_value_can_not_mark_missing_cells_as_well() -> None:
    columns = {"x": {"dtype": "category", "role": "insensitive", "values": ["NA", "DE"]}}
    with pytest.raises(ValidationError, match="also marks missing cells"):
        schema_of(columns, missing={"markers": ["NA"]})
    schema_of({"x": {**columns["x"], "role": "drop"}}, missing={"markers": ["NA"]})


def test_only_classes_can_be_stratified() -> None:
    with pytest.raises(ValidationError, match="stratify"):
        schema_of(split={"stratify": True})
    schema_of(target="ill", task="classification", split={"stratify": True})


def test_a_column_is_declared_once() -> None:
    with pytest.raises(ValidationError, match="declared twice: x"):
        schema_of([{"name": "x", "dtype": "text"}, {"name": "x", "dtype": "text"}])  # type: ignore[arg-type]


def test_roles_tell_what_is_used_and_seen() -> None:
    schema = schema_of(target="ill", task="classification")
    assert [column.name for column in schema.used] == ["id", "age", "site", "ill"]
    assert schema.features == ["age", "site"]


def test_a_release_has_no_identifiers() -> None:
    schema = schema_of(target="ill", task="classification", subject_id="id", client="site")
    out = released(schema)
    assert out.names() == ["age", "site", "ill"]
    assert (out.subject_id, out.client, out.target, out.task) == (None, "site", "ill", "classification")
    assert not out.column("age").unique
    assert out.column("age").max == 120
    DatasetSchema.model_validate(out.model_dump())


def test_the_subject_id_goes_whatever_its_role() -> None:
    columns = {**ROLES, "id": {"dtype": "text", "role": "insensitive"}}
    assert "id" not in released(schema_of(columns, subject_id="id")).names()


def test_generalised_columns_become_text() -> None:
    out = released(schema_of(target="ill", task="classification"), ["age", "ill"])
    age = out.column("age")
    assert (age.dtype, age.role, age.min, age.max, age.unit) == ("text", "quasi_identifier", None, None, None)
    assert out.column("ill").values is None
    assert (out.target, out.task) == (None, None)
    DatasetSchema.model_validate(out.model_dump())
    with pytest.raises(KeyError, match="id"):
        released(schema_of(), ["id"])


TWO = {"target": ["ill", "site"], "task": "classification"}


def test_a_list_of_targets_is_seen_by_no_model() -> None:
    schema = schema_of(**TWO)
    assert schema.targets == ("ill", "site")
    assert schema.features == ["age"]
    assert schema.model_dump()["target"] == ["ill", "site"]
    assert schema_of().targets == ()


def test_a_single_target_is_a_single_name_however_it_is_given() -> None:
    one, listed = (schema_of(target=target, task="classification") for target in ("ill", ["ill"]))
    assert one == listed
    assert one.targets == ("ill",)
    assert listed.model_dump()["target"] == "ill"


@pytest.mark.parametrize(
    ("target", "words"), [(["ill", "site", "ill"], "listed twice: ill"), ([], "at least 1"), ([1], "str")]
)
def test_targets_are_names_each_listed_once(target: Any, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        schema_of(target=target, task="classification")


def test_a_release_keeps_the_targets_that_can_be_learned() -> None:
    whole = released(schema_of(**TWO))
    assert whole.target == ["ill", "site"]
    less = released(schema_of(**TWO), ["site"])
    assert (less.target, less.task) == ("ill", "classification")
    nothing = released(schema_of(**TWO), ["site", "ill"])
    assert (nothing.target, nothing.task) == (None, None)
