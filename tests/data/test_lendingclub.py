"""The LendingClub table: it reads without fault, no column gives the target away, and the target can be learnt."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from components.anonymization.hierarchies.sources import load
from components.data import Reading, read, split
from components.data.declarations import Csv
from components.models import build, utility
from components.registry import declaration
from schemas.dataset import DatasetSchema
from schemas.table import validate

OPTION = Path(__file__).parents[2] / "conf" / "dataset" / "lendingclub.yaml"
TABLE = Path(__file__).parents[2].parent / "shared" / "data" / "lendingclub_2018q1_openintro_10k.csv"
CONTENT: dict[str, Any] = yaml.safe_load(OPTION.read_text(encoding="utf-8"))
GRADES = {"A": 2459, "B": 3037, "C": 2653, "D": 1446, "E": 335, "F": 58, "G": 12}
SETTLED_WITH_THE_GRADE_OR_LATER = {
    "verified_income",
    "verification_income_joint",
    "interest_rate",
    "installment",
    "sub_grade",
    "issue_month",
    "loan_status",
    "initial_listing_status",
    "disbursement_method",
    "balance",
    "paid_total",
    "paid_principal",
    "paid_interest",
    "paid_late_fees",
}
needs_table = pytest.mark.skipif(not TABLE.exists(), reason="the LendingClub file is not at hand")


def described(**roles: str) -> DatasetSchema:
    """Return the schema with some columns in other roles than the option gives them."""
    columns = {name: {**column, "role": roles.get(name, column["role"])} for name, column in CONTENT["columns"].items()}
    return DatasetSchema.model_validate({**CONTENT, "columns": columns})


def reading_of(schema: DatasetSchema) -> Reading:
    return read(schema, Csv.model_validate({**CONTENT["source"], "path": str(TABLE)}), Path())


@pytest.fixture(scope="module")
def reading() -> Reading:
    return reading_of(described())


def test_what_was_settled_with_the_grade_or_after_it_is_no_feature() -> None:
    schema = described()
    assert {*schema.names("drop")} == {"", "emp_title", *SETTLED_WITH_THE_GRADE_OR_LATER}
    assert not SETTLED_WITH_THE_GRADE_OR_LATER & {*schema.features}
    assert all(schema.column(name).description for name in SETTLED_WITH_THE_GRADE_OR_LATER)


def test_every_column_is_described() -> None:
    schema = described()
    assert len(schema.columns) == 56
    for column in schema.columns:
        if column.name not in {"", "emp_title", "issue_month"}:
            bounded = column.min is not None and column.max is not None
            assert bounded != bool(column.values), column.name


def test_income_and_debts_can_be_minimised_to_ranges() -> None:
    schema = described()
    for name in ("annual_income", "annual_income_joint", "debt_to_income", "debt_to_income_joint"):
        column = schema.column(name)
        assert (column.dtype, column.min) == ("number", 0), name
    assert schema.column("debt_to_income").max == 999
    assert schema.column("debt_to_income").nullable


@needs_table
def test_the_table_reads_without_fault(reading: Reading) -> None:
    frame, schema = reading.table.frame, reading.table.schema
    assert frame.shape == (10_000, 56 - 2 - len(SETTLED_WITH_THE_GRADE_OR_LATER))
    assert reading.inputs[0].columns == 56
    assert (reading.notes, reading.dropped_rows) == ((), {})
    validate(frame, schema, what="the table")


@needs_table
def test_missing_cells_are_counted_by_their_marker(reading: Reading) -> None:
    missing = {name: counts for name, counts in reading.missing.items() if any(counts.values())}
    assert missing["emp_length"] == {"NA": 817, "": 0}
    assert missing["debt_to_income"] == {"NA": 24, "": 0}
    assert missing["annual_income_joint"] == missing["debt_to_income_joint"] == {"NA": 8505, "": 0}
    assert missing.keys() == {column.name for column in reading.table.schema.used if column.nullable}


@needs_table
def test_columns_that_are_dropped_are_described_rightly_too() -> None:
    named = {name: "insensitive" for name in CONTENT["columns"] if name != "grade"}
    reading = reading_of(described(**named))
    assert reading.table.frame.shape == (10_000, 56)
    assert reading.missing["emp_title"] == {"NA": 0, "": 833}
    assert reading.missing["verification_income_joint"] == {"NA": 0, "": 8545}


@needs_table
def test_the_target_is_the_grade_since_too_few_loans_failed(reading: Reading) -> None:
    status = reading_of(described(loan_status="insensitive")).table.frame["loan_status"].value_counts()
    assert (status["Charged Off"], status["Late (31-120 days)"]) == (7, 66)
    assert "Default" not in status[status > 0]
    assert "7 of 10,000 loans were charged off and 66 were 31 to 120 days late" in reading.table.schema.description
    grade = reading.table.frame["grade"]
    assert grade.cat.ordered
    assert grade.value_counts(sort=False).to_dict() == GRADES


@needs_table
def test_every_grade_is_held_out_by_the_same_share(reading: Reading) -> None:
    parts = split(reading.table, 0)
    assert (len(parts.train.frame), len(parts.test.frame)) == (7_000, 3_000)
    held_out = parts.test.frame["grade"].value_counts(sort=False).to_dict()
    assert held_out == pytest.approx({grade: 0.3 * rows for grade, rows in GRADES.items()}, abs=1)


@needs_table
def test_numbers_written_with_an_exponent_are_read(reading: Reading) -> None:
    raw = pd.read_csv(TABLE, usecols=["annual_income"], dtype="str")["annual_income"]
    scientific = raw.str.contains("e").to_numpy()
    assert scientific.sum() == 304
    assert reading.table.frame["annual_income"].to_numpy()[scientific] == pytest.approx(raw[scientific].astype(float))


@needs_table
def test_states_climb_to_census_regions(reading: Reading) -> None:
    states = load(reading.table.schema, Path())["state"]
    assert len(states.leaves) == 51  # Iowa has no row, yet is a state
    assert [len(set(labels)) for labels in states.labels] == [51, 9, 4, 1]


@needs_table
def test_a_forest_learns_the_grade_from_what_was_known_before(reading: Reading) -> None:
    parts = split(reading.table, 0)
    params = declaration("model", "forest").model_validate({"name": "forest", "n_estimators": 20})
    forest = build(params, reading.table.schema, seed=0).fit(parts.train)
    accuracy = next(figure for figure in utility(forest, parts.test) if figure.metric == "accuracy")
    assert accuracy.value is not None
    assert accuracy.low is not None
    assert accuracy.low > 3037 / 10_000  # the most frequent grade
    assert accuracy.value < 0.6  # a column that gives the grade away brings more than .9
