"""Whose hierarchies a method climbs: those alone are read, and held against the table."""

from pathlib import Path
from typing import Any, ClassVar

import pytest

from components.anonymization.climbing import climbed
from components.anonymization.declarations import (
    AnonymizationDeclaration,
    Guided,
    Lattice,
    Mondrian,
    Pipeline,
    Transform,
)
from components.anonymization.hierarchies.sources import load
from components.registry import Absent
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError

COLUMNS: dict[str, dict[str, Any]] = {
    "age": {"dtype": "integer", "role": "quasi_identifier", "hierarchy": "age.csv"},
    "stage": {"dtype": "ordered", "values": ["low", "high"], "role": "quasi_identifier", "hierarchy": "stage.csv"},
    "seen": {"dtype": "date", "role": "quasi_identifier"},
    "zip": {"dtype": "text", "role": "quasi_identifier", "hierarchy": "zip.csv"},
    "smoker": {"dtype": "boolean", "role": "quasi_identifier"},
    "red": {"dtype": "boolean", "role": "quasi_identifier", "group": "colour"},
    "blue": {"dtype": "boolean", "role": "quasi_identifier", "group": "colour"},
    "ill": {"dtype": "text", "role": "sensitive", "hierarchy": "ill.csv"},
    "pay": {"dtype": "integer", "role": "sensitive", "hierarchy": "pay.csv"},
}
QUASI = {name for name, column in COLUMNS.items() if column["role"] == "quasi_identifier"}
FAR = {"name": "t", "t": 0.3, "column": "ill", "distance": "hierarchical"}


@pytest.fixture
def schema() -> DatasetSchema:
    return DatasetSchema.model_validate({"name": "made", "source": {"name": "none"}, "columns": COLUMNS})


class ThirdParty(AnonymizationDeclaration):
    uses_hierarchies: ClassVar[bool] = True


@pytest.mark.parametrize(
    ("method", "names"),
    [
        (Lattice(), QUASI),
        (Mondrian(), {"zip", "smoker"}),
        (Guided(), set()),
        (Absent(), set()),
        (ThirdParty(name="theirs"), QUASI),
        (AnonymizationDeclaration(name="theirs"), set()),
    ],
    ids=lambda one: type(one).__name__,
)
def test_each_method_climbs_its_own(method: Any, names: set[str], schema: DatasetSchema) -> None:
    assert climbed(method, schema, Path()) == names


def test_the_steps_of_a_pipeline_climb_their_own_columns(schema: DatasetSchema) -> None:
    steps = [
        {"name": "mondrian", "columns": ["age", "zip", "red", "blue"]},
        {"name": "generalise", "columns": ["stage"], "level": 1},
        {"name": "top_bottom", "columns": ["seen"], "top": "2024-01-01"},
        {"name": "suppress", "columns": ["smoker"]},
    ]
    assert climbed(Pipeline.model_validate({"steps": steps}), schema, Path()) == {"zip", "stage"}


def test_a_distance_on_a_hierarchy_climbs_that_of_its_sensitive_column(schema: DatasetSchema) -> None:
    equal = {"name": "t", "t": 0.3, "column": "pay", "distance": "equal"}
    guided = Guided.model_validate({"criteria": [FAR, equal, {"name": "alpha", "alpha": 0.5, "column": "pay"}]})
    assert climbed(guided, schema, Path()) == {"ill"}
    assert climbed(Mondrian.model_validate({"criteria": [FAR]}), schema, Path()) == {"zip", "smoker", "ill"}
    columns = {name: column for name, column in COLUMNS.items() if name != "pay"}
    alone = DatasetSchema.model_validate({"name": "made", "source": {"name": "none"}, "columns": columns})
    open_ = Guided.model_validate({"criteria": [{**FAR, "column": None}]})
    assert climbed(open_, alone, Path()) == {"ill"}


def test_an_agreed_transformation_that_is_not_there_is_told(schema: DatasetSchema, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"absent\.json"):
        climbed(Transform(path="absent.json"), schema, tmp_path)


def test_of_hierarchies_that_are_not_climbed_the_files_must_be_there_and_nothing_else(
    schema: DatasetSchema, tmp_path: Path
) -> None:
    (tmp_path / "zip.csv").write_text("01001;01***;*\n")
    for name in ("age", "stage", "ill"):
        (tmp_path / f"{name}.csv").write_bytes(b"\xff is no text, and no hierarchy\n")
    with pytest.raises(DataError) as caught:
        load(schema, tmp_path, {"zip", "smoker"})
    (fault,) = caught.value.faults
    assert (fault.place, fault.problem) == ("column 'pay', hierarchy pay.csv", "not found")
    (tmp_path / "pay.csv").write_text("")
    assert list(load(schema, tmp_path, {"zip", "smoker"})) == ["zip"]
    with pytest.raises(DataError) as caught:
        load(schema, tmp_path)
    assert [fault.place.split("'")[1] for fault in caught.value.faults] == ["age", "stage", "ill", "pay"]
