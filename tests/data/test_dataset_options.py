"""Every dataset that is shipped: written out in full, valid, and satisfied by its table."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from components.anonymization.hierarchies.checks import check_coverage
from components.anonymization.hierarchies.hierarchy import climb
from components.anonymization.hierarchies.sources import load
from components.classes.coding import encode
from components.data import Reading, header, read, split
from components.data.headers import column_faults
from components.registry import declaration
from schemas.dataset import DatasetSchema, released
from schemas.table import validate

OPTIONS = Path(__file__).parents[2] / "conf" / "dataset"
DATA = Path(__file__).parents[2].parent / "shared" / "data"
ADULT = DATA / "adult.csv"
OF_USERS = {
    "adult": ADULT,
    "adult_six": ADULT,
    "cancer_file": DATA / "global_cancer_patients_2015_2024.csv",
    "lendingclub": DATA / "lendingclub_2018q1_openintro_10k.csv",
}
"""Options whose table is the user's own file."""
NAMES = sorted(path.stem for path in OPTIONS.glob("*.yaml") if not path.name.startswith("_"))


def written(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((OPTIONS / f"{name}.yaml").read_text(encoding="utf-8"))
    for part in content.pop("defaults", []):
        if part != "_self_":
            content = written(part) | content
    if name in OF_USERS:
        content["source"]["path"] = str(OF_USERS[name])
    if name == "adult_six":
        content["hierarchies"] = str(DATA / "hierarchies" / "adult")
    return content


def loaded(name: str) -> tuple[DatasetSchema, Any]:
    content = written(name)
    source = declaration("source", content["source"]["name"]).model_validate(content["source"])
    return DatasetSchema.model_validate(content), source


def reading_of(name: str) -> Reading:
    if name in OF_USERS and not OF_USERS[name].exists():
        pytest.skip("the user's own file is not at hand")
    schema, source = loaded(name)
    return read(schema, source, Path())


def test_the_options_are_those_promised() -> None:
    assert NAMES == ["adult", "adult_six", "cancer", "cancer_file", "diabetes", "hospitals", "lendingclub"]


@pytest.mark.parametrize("name", NAMES)
def test_every_key_is_written_out(name: str) -> None:
    content = written(name)
    assert set(content) == set(DatasetSchema.model_fields)
    assert set(content["missing"]) == {"markers", "rows"}
    assert set(content["split"]) == {"test", "stratify"}
    assert set(content["source"]) == set(declaration("source", content["source"]["name"]).model_fields)


@pytest.mark.parametrize("name", NAMES)
def test_the_schema_says_enough_for_an_encoder(name: str) -> None:
    schema, _ = loaded(name)
    for column in map(schema.column, schema.features):
        if column.dtype in {"category", "ordered", "text"}:
            assert column.values, column.name
        elif column.dtype != "boolean":
            assert column.min is not None, column.name
            assert column.max is not None, column.name
    assert schema.quasi_identifiers
    assert schema.task is not None


@pytest.mark.parametrize("name", NAMES)
def test_the_table_satisfies_its_schema(name: str) -> None:
    reading = reading_of(name)
    schema, source = loaded(name)
    found = header(schema, source, Path())
    assert column_faults(schema, found.names) == []
    dropped = sum(reading.dropped_rows.values())
    assert found.rows == reading.inputs[0].rows == len(reading.table.frame) + dropped
    parts = split(reading.table, 0)
    out = released(schema)
    validate(parts.train.frame[out.names()], out, what="released table")
    assert reading.notes == ()


@pytest.mark.parametrize("name", NAMES)
def test_every_quasi_identifier_has_a_hierarchy_that_covers_its_table(name: str) -> None:
    table = reading_of(name).table
    hierarchies = load(table.schema, Path())
    assert list(hierarchies) == table.schema.quasi_identifiers
    assert all(found.covered == found.values for found in check_coverage(table, hierarchies).values())
    for column in map(table.schema.column, hierarchies):  # also values that no row has
        if column.values is not None:
            assert set(column.values) <= set(hierarchies[column.name].leaves)
        (attribute,) = encode(table.frame, [column])
        ladder = climb(attribute, hierarchies[column.name], table.schema.missing.markers)
        assert set(ladder.labels[-1]) == {"*"}
    if name != "adult_six":  # whose files are another's
        assert not any(hierarchy.warnings for hierarchy in hierarchies.values())


def test_adult_six_is_the_benchmark_of_anonymisation() -> None:
    reading = reading_of("adult_six")
    six = ["age", "education", "marital-status", "occupation", "sex", "native-country"]
    assert reading.table.schema.quasi_identifiers == six
    assert (reading.table.schema.sensitive, reading.table.schema.target) == (["salary-class"], "salary-class")
    assert reading.table.frame.shape == (30_162, 7)


def test_synthetic_tables_are_called_so() -> None:
    for name in ("hospitals", "cancer", "cancer_file"):
        schema, _ = loaded(name)
        assert schema.synthetic
        assert "Synthetic" in schema.description
        assert "no real person" in schema.description


def test_adult_is_the_benchmark() -> None:
    reading = reading_of("adult")
    frame, schema = reading.table.frame, reading.table.schema
    assert schema.quasi_identifiers == [
        "age",
        "workclass",
        "education-num",
        "marital-status",
        "occupation",
        "relationship",
        "race",
        "sex",
        "native-country",
    ]
    extra = {"capital-gain", "capital-loss", "hours-per-week"}
    assert set(schema.features) == {*schema.quasi_identifiers, *extra}
    assert frame.shape == (32_561, 13)
    assert reading.dropped_columns == {"fnlwgt": "role drop", "education": "role drop"}
    assert {name: count for name, counts in reading.missing.items() if (count := counts["?"])} == {
        "workclass": 1836,
        "occupation": 1843,
        "native-country": 583,
    }
    assert (frame["salary-class"] == ">50K").sum() == 7841
    parts = split(reading.table, 0)
    assert (len(parts.train.frame), len(parts.test.frame)) == (19_537, 13_024)


def test_adult_without_incomplete_rows() -> None:
    if not ADULT.exists():
        pytest.skip("the Adult file is not at hand")
    schema, source = loaded("adult")
    dropping = schema.model_copy(update={"missing": schema.missing.model_copy(update={"rows": "drop"})})
    reading = read(dropping, source, Path())
    assert len(reading.table.frame) == 30_162
    assert sum(reading.dropped_rows.values()) == 32_561 - 30_162
    assert reading.dropped_rows["missing: workclass"] == 1836


def test_hospital_zips_keep_their_zeros() -> None:
    frame = reading_of("hospitals").table.frame
    assert frame["zip"].astype("string").str.startswith("0").all()
    assert isinstance(frame["asa_class"].dtype, pd.CategoricalDtype)
    assert frame["asa_class"].cat.ordered
