from typing import Annotated, Any, Literal, get_args

import pytest
from pydantic import BaseModel, Field, TypeAdapter, ValidationError, create_model

from components.anonymization.criteria.declarations import Criterion
from components.anonymization.declarations import Guided, Identifier, PipelineStep
from runner.expected import expected, field_at, members
from schemas.hierarchy import HierarchyDeclaration
from schemas.run_config import RunConfig


class Sample(BaseModel):
    whole: int = Field(ge=2)
    real: float = Field(gt=0, lt=1)
    closed: int = Field(ge=1, le=12)
    half: float = Field(ge=0, lt=1)
    below: float = Field(lt=3)
    maybe: int | None = Field(default=None, ge=1)
    choice: Literal["median", "medoid", "range"]
    either: Literal["a", "b"] | None = None
    flag: bool
    char: str = Field(max_length=1)
    many: list[str]
    some: list[str] = Field(min_length=1)
    free: dict[str, Any]
    mixed: int | float | str | None = None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("whole", "a whole number >= 2"),
        ("real", "a number between 0 and 1, both excluded"),
        ("closed", "a whole number between 1 and 12"),
        ("half", "a number >= 0 and < 1"),
        ("below", "a number < 3"),
        ("maybe", "a whole number >= 1 or null"),
        ("choice", "one of median, medoid or range"),
        ("either", "one of a, b or null"),
        ("flag", "true or false"),
        ("char", "one character"),
        ("many", "a list, each entry text"),
        ("some", "a list that is not empty, each entry text"),
        ("free", "a mapping"),
        ("mixed", "a number or text or null"),
    ],
)
def test_a_field_says_what_it_takes(name: str, words: str) -> None:
    field = Sample.model_fields[name]
    assert expected(field.annotation, tuple(field.metadata)) == words


def test_a_list_of_mappings_is_told_without_their_keys() -> None:
    assert expected(Guided.model_fields["criteria"].annotation) == "a list, each entry a mapping"


def test_a_mapping_told_by_its_name_says_the_names_and_no_keys() -> None:
    entry = Guided.model_fields["criteria"].annotation.__args__[0]  # type: ignore[union-attr]
    assert expected(entry).startswith("a mapping with name: one of k, l_distinct, l_entropy, ")
    assert expected(entry | None).endswith(" or k_map or null")


def test_constraints_inside_annotated_are_told() -> None:
    assert expected(Annotated[int, Field(ge=3)]) == "a whole number >= 3"


@pytest.mark.parametrize(
    ("path", "there"),
    [
        (("seed",), True),
        (("seed", "x"), False),
        (("dataset", "columns", "age", "public"), True),
        (("dataset", "columns", 0, "public"), True),
        (("dataset", "columns", "age", "pubic"), False),
        (("dataset", "columns", "age", "values", 3), True),
        (("dataset", "columns", "age", "hierarchy", "levels", 1), True),
        (("dataset", "source", "anything", "below"), True),
        (("protection", "data_subjects", 0), True),
        (("output", "folder"), False),
    ],
)
def test_places_of_the_frame_are_known(path: tuple[str | int, ...], *, there: bool) -> None:
    assert (field_at(RunConfig, path) is not None) is there


def test_a_place_inside_a_tagged_union_is_found() -> None:
    annotation, metadata = field_at(Guided, ("criteria", 0, "l")) or (None, ())
    assert annotation in (int, float)
    assert metadata


TOLD_BY_NAME = {
    "criteria": Criterion,
    "steps": PipelineStep,
    "identifiers": Identifier,
    "hierarchies": HierarchyDeclaration,
}


@pytest.mark.parametrize("union", TOLD_BY_NAME)
def test_every_setting_of_a_mapping_told_by_its_name_is_that_of_the_mapping_named(union: str) -> None:
    holder = create_model("Holder", entries=(list[TOLD_BY_NAME[union]], ...))  # type: ignore[misc]
    kinds = members(TOLD_BY_NAME[union])
    assert len(kinds) > 1
    for kind in kinds:
        (name,) = get_args(kind.model_fields["name"].annotation)
        for setting, field in kind.model_fields.items():
            found = field_at(holder, ("entries", 1, setting), {"entries": [{}, {"name": name}]})
            assert found == (field.annotation, tuple(field.metadata)), (name, setting)


def test_the_words_are_true_of_what_is_taken() -> None:
    field = Sample.model_fields["closed"]
    adapter: TypeAdapter[int] = TypeAdapter(Annotated[int, field])
    assert [adapter.validate_python(value) for value in (1, 12)] == [1, 12]
    for value in (0, 13):
        with pytest.raises(ValidationError):
            adapter.validate_python(value)
