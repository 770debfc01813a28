"""Identifiers that stay: what pseudonyms are, what masks hide, and that no key or raw value gets anywhere else."""

import hashlib
import hmac
import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.anonymization import Given, identifiers, measure
from components.anonymization.declarations import Guided, Mask, Pseudonymise
from components.anonymization.guided.method import anonymise
from components.anonymization.identifiers import check_keys, treated, warnings
from components.data.table import Table
from runner import pipeline
from runner.compose import compose_run
from runner.plan import plan
from runner.releasing import refuse_identifiers
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError, GoalError

KEY = "canary-key-0123456789abcdef"
COLUMNS: dict[str, Any] = {
    "patient": {"dtype": "text", "role": "identifier", "nullable": True},
    "number": {"dtype": "integer", "role": "identifier", "nullable": True},
    "weight": {"dtype": "number", "role": "identifier"},
    "born": {"dtype": "date", "role": "identifier"},
    "known": {"dtype": "boolean", "role": "identifier"},
    "age": {"dtype": "integer", "role": "quasi_identifier"},
    "ill": {"dtype": "category", "role": "sensitive", "values": ["no", "yes"]},
}
DTYPES = {
    "patient": "string",
    "number": "Int64",
    "weight": "float64",
    "born": "datetime64[us]",
    "known": "bool",
    "age": "int64",
    "ill": pd.CategoricalDtype(["no", "yes"]),
}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PSEUDONYM_KEY", KEY)


def table_of(cells: dict[str, list[Any]], **more: Any) -> Table:
    schema = {"name": "made", "source": None, "columns": {name: COLUMNS[name] for name in cells}, **more}
    frame = pd.DataFrame({name: pd.Series(column, dtype=DTYPES[name]) for name, column in cells.items()})
    return Table(frame, DatasetSchema.model_validate(schema))


def hashed(text: str, length: int = 16, key: str = KEY) -> str:
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()[:length]


def test_a_pseudonym_is_the_keyed_hash_of_the_text():
    table = table_of({"patient": ["Ann", "Bo", None, "Ann"], "age": [1, 2, 3, 4]})
    cells = treated({"patient": Pseudonymise()}, table)["patient"]
    assert cells.isna().tolist() == [False, False, True, False]
    assert list(cells[[0, 1, 3]]) == [hashed("Ann"), hashed("Bo"), hashed("Ann")]
    assert cells.dtype == "string"


@pytest.mark.parametrize("length", [8, 16, 63, 64])
def test_a_pseudonym_has_the_digits_that_are_asked_for(length: int):
    cells = treated({"patient": Pseudonymise(length=length)}, table_of({"patient": ["Ann"], "age": [1]}))["patient"]
    assert list(cells) == [hashed("Ann", length)]


@pytest.mark.parametrize(
    ("column", "cell", "text"),
    [
        ("number", 34, "34"),
        ("weight", 34.0, "34"),
        ("weight", 34.5, "34.5"),
        ("weight", -0.0, "0"),
        ("born", "2024-02-29", "2024-02-29"),
        ("known", True, "true"),
        ("patient", "e\u0301", "\u00e9"),
        ("patient", " Ann", " Ann"),
    ],
)
def test_values_are_hashed_in_their_canonical_form(column: str, cell: Any, text: str):
    cells = treated({column: Pseudonymise()}, table_of({column: [cell], "age": [1]}))[column]
    assert list(cells) == [hashed(text)]


def test_one_key_joins_tables_and_another_parts_them(monkeypatch: pytest.MonkeyPatch):
    left = table_of({"number": [3, 1, 2], "age": [1, 2, 3]})
    right = table_of({"weight": [2.0, 3.0, 4.0], "known": [True, True, False], "age": [1, 2, 3]})
    first = pd.Series(treated({"number": Pseudonymise()}, left)["number"], name="who")
    second = pd.Series(treated({"weight": Pseudonymise()}, right)["weight"], name="who")
    assert set(first) & set(second) == {hashed("2"), hashed("3")}
    monkeypatch.setenv("PSEUDONYM_KEY", KEY + "!")
    other = treated({"number": Pseudonymise()}, left)["number"]
    assert not set(first) & set(other)


def test_each_column_may_have_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OTHER", "another-key-of-some-length")
    table = table_of({"patient": ["7"], "number": [7], "age": [1]})
    cells = treated({"patient": Pseudonymise(), "number": Pseudonymise(key_variable="OTHER")}, table)
    assert cells["patient"][0] == hashed("7")
    assert cells["number"][0] == hashed("7", key="another-key-of-some-length")


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(st.none(), st.text(st.characters(codec="utf-8"), max_size=8)), min_size=1, max_size=20))
def test_equal_values_alone_share_a_pseudonym_whatever_the_order_of_rows(texts: list[str | None]):
    table = table_of({"patient": texts, "age": [1] * len(texts)})
    cells = treated({"patient": Pseudonymise(length=64)}, table)["patient"]
    expected = [None if text is None else hashed(unicodedata.normalize("NFC", text), 64) for text in texts]
    assert [None if pd.isna(cell) else cell for cell in cells] == expected
    mixed = Table(table.frame.iloc[::-1], table.schema)
    assert treated({"patient": Pseudonymise(length=64)}, mixed)["patient"][::-1].equals(cells)


@pytest.mark.parametrize(
    ("mask", "shown"),
    [
        (Mask(), ["***", "***", "***"]),
        (Mask(keep=2), ["An***", "***", "***"]),
        (Mask(keep=1, side="last"), ["***a", "***o", "***"]),
    ],
)
def test_a_mask_hides_the_rest_its_length_and_whatever_is_no_longer_than_what_it_shows(mask: Mask, shown: list[str]):
    cells = treated({"patient": mask}, table_of({"patient": ["Anna", "Bo", "C"], "age": [1, 2, 3]}))["patient"]
    assert list(cells) == shown


def test_colliding_pseudonyms_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(identifiers.hmac, "digest", lambda _key, text, _hash: hashlib.sha256(text[:3]).digest())
    table = table_of({"patient": ["Anna", "Anne", "Bo"], "age": [1, 2, 3]})
    with pytest.raises(DataError, match="with 8 digits 1 values get a pseudonym that another one has") as caught:
        treated({"patient": Pseudonymise(length=8)}, table)
    assert "set it to 16" in str(caught.value)
    assert "Ann" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "found"), [(None, "is not set"), ("", "holds 0 bytes"), ("x" * 15, "holds 15 bytes")]
)
def test_a_key_must_be_set_and_long_enough(monkeypatch: pytest.MonkeyPatch, value: str | None, found: str):
    if value is None:
        monkeypatch.delenv("PSEUDONYM_KEY")
    else:
        monkeypatch.setenv("PSEUDONYM_KEY", value)
    faults = check_keys({"patient": Pseudonymise(), "number": Pseudonymise(), "weight": Mask()})
    assert [fault.place for fault in faults] == [
        "anonymization.identifiers.patient.key_variable",
        "anonymization.identifiers.number.key_variable",
    ]
    assert all(found in fault.problem and "xxx" not in str(fault) for fault in faults)


def test_bytes_are_counted_and_not_characters(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PSEUDONYM_KEY", "é" * 8)
    assert check_keys({"patient": Pseudonymise()}) == []


def test_what_is_no_identifier_and_a_masked_subject_id_are_refused_together():
    table = table_of({"patient": ["Ann"], "number": [1], "age": [1]}, subject_id="number")
    asked = {"age": Mask(), "nobody": Pseudonymise(), "number": Mask(keep=1)}
    with pytest.raises(ConfigurationError) as caught:
        treated(asked, table)
    assert [fault.place for fault in caught.value.faults] == [f"anonymization.identifiers.{name}" for name in asked]


def test_a_mask_that_reads_as_missing_is_refused():
    table = table_of({"patient": ["Ann"], "age": [1]}, missing={"markers": ["***"]})
    with pytest.raises(DataError, match="would be written as a missing one"):
        treated({"patient": Mask()}, table)


def test_warnings_say_what_stays_personal():
    asked = {"patient": Pseudonymise(), "number": Mask(keep=1), "weight": Mask()}
    table = table_of({"patient": ["Ann", "Bo"], "number": [12, 13], "weight": [1.0, 2.0], "age": [1, 2]})
    linked, shows = warnings(asked, treated(asked, table))
    assert "personal data still" in linked
    assert "first 1 character of" in shows
    assert "rarest stands in 2 rows" in shows
    assert not any(name in linked + shows for name in ("Ann", "Bo", "12"))


def test_a_mask_that_keeps_whole_values_is_not_said_to_show_them():
    table = table_of({"patient": ["12345", "12346"], "age": [1, 2]})
    asked = {"patient": Mask(keep=5)}
    (said,) = warnings(asked, treated(asked, table))
    assert said == (
        "column 'patient' shows nothing of an identifier: no value has more than the 5 characters that the mask keeps"
    )


def test_values_that_a_mask_hides_whole_are_told_apart_from_those_it_shows():
    table = table_of({"patient": ["12345", "123456", "123457"], "age": [1, 2, 3]})
    asked = {"patient": Mask(keep=5)}
    (said,) = warnings(asked, treated(asked, table))
    assert "first 5 characters of an identifier (values that have no more are hidden whole, in 1 rows)" in said
    assert "the rarest stands in 2 rows" in said


def wards(rows: int = 60) -> Table:
    draw = np.random.default_rng(7)
    return table_of(
        {
            "patient": [f"Patient {at // 2:03}" for at in range(rows)],
            "number": [*range(100, 100 + rows - 1), None],
            "age": draw.integers(20, 80, rows).tolist(),
            "ill": draw.choice(["no", "yes"], rows).tolist(),
        },
        subject_id="patient",
    )


class TestReleases:
    def release(self, table: Table, **asked: Any) -> Any:
        params = Guided(k=3, identifiers=asked)
        return anonymise(params, table, Given(predictions=(table.frame["age"] > 50).to_numpy().astype(str)))

    def test_hold_the_identifiers_that_were_asked_for_and_no_others(self):
        table = wards()
        raw = table.frame.copy(deep=True)
        release = self.release(table, patient=Pseudonymise())
        assert list(release.table.frame.columns) == ["patient", "age", "ill"]
        assert release.table.frame["patient"].tolist() == [hashed(name) for name in raw["patient"]]
        column = release.table.schema.column("patient")
        assert (column.role, column.dtype, column.nullable) == ("identifier", "text", True)
        assert "personal data still" in " ".join(release.warnings)
        pd.testing.assert_frame_equal(table.frame, raw)

    def test_go_on_telling_persons_apart_by_pseudonyms(self):
        release = self.release(wards(), patient=Pseudonymise())
        assert release.table.schema.subject_id == "patient"
        again = measure(release.table.frame, release.table.schema, wards().frame)
        assert (again.k, again.k_rows) == (release.after.k, release.after.k_rows)
        assert again.k >= 3

    def test_say_what_linked_rows_leave_of_k(self):
        table = wards()
        release = self.release(table, patient=Pseudonymise())
        shown = release.table.frame.groupby("patient")["age"].agg(frozenset).value_counts()
        after = release.after
        assert (after.k_linked, after.linked_alone) == (shown.min(), shown.eq(1).sum())
        assert after.linked_persons == 30
        assert self.release(table).after.k_linked is None

    def test_keep_identifiers_from_what_a_model_learns_of(self):
        for asked in ({"patient": Pseudonymise()}, {"number": Mask(keep=1)}):
            training = self.release(wards(), **asked).training
            assert list(training.frame.columns) == ["age", "ill"]
            assert training.schema.names("identifier") == []

    def test_without_any_asked_for_are_as_before(self):
        release = self.release(wards())
        assert list(release.table.frame.columns) == ["age", "ill"]
        assert release.table.schema.subject_id is None
        assert release.warnings == ()

    def test_of_raw_identifiers_are_refused_though_asked_for(self):
        table = wards()
        release = self.release(table, patient=Pseudonymise())
        refuse_identifiers(release, table, ["patient"])
        with pytest.raises(DataError, match="would release it"):
            refuse_identifiers(release, table)
        release.table.frame["patient"] = table.frame["patient"]
        with pytest.raises(DataError, match="would release it"):
            refuse_identifiers(release, table, ["patient"])


DATASET = """\
name: wards
synthetic: true
source: {name: csv, path: wards.csv}
subject_id: patient
split: {test: 0.3}
columns:
  patient: {dtype: text, role: identifier}
  number: {dtype: integer, role: identifier, nullable: true}
  age: {dtype: integer, role: quasi_identifier, min: 0, max: 120}
  ill: {dtype: category, role: sensitive, values: ["no", "yes"]}
target: ill
task: classification
"""


@pytest.fixture
def composed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.chdir(tmp_path)
    wards(200).frame.to_csv(tmp_path / "wards.csv", index=False)
    option = tmp_path / "options" / "dataset" / "wards.yaml"
    option.parent.mkdir(parents=True)
    option.write_text(DATASET, encoding="utf-8")

    def compose(*overrides: str) -> Any:
        return compose_run(["dataset=wards", "model=tree", "anonymization.k=3", *overrides], tmp_path / "options")

    return compose


PSEUDONYMS = "anonymization.identifiers={patient: {name: pseudonymise}, number: {name: mask, keep: 1}}"


def test_no_file_of_a_run_holds_the_key_or_a_raw_identifier(
    composed: Callable[..., Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    assert pipeline.run(composed(PSEUDONYMS)) == 0
    files = [path for path in (tmp_path / "outputs").rglob("*") if path.is_file()]
    assert {"record.json", "release.csv", "events.jsonl"} <= {path.name for path in files}
    for path in files:
        content = path.read_bytes()
        assert KEY.encode() not in content, path
        assert hashlib.sha256(KEY.encode()).hexdigest().encode() not in content, path
        assert b"Patient 0" not in content, path
    said = capfd.readouterr()
    assert KEY not in said.out + said.err
    released = pd.read_csv(next(path for path in files if path.name == "release.csv"), dtype="string")
    assert set(released["patient"]) <= {hashed(f"Patient {at:03}") for at in range(100)}
    assert set(released["number"].dropna()) <= {"1***", "2***"}


def test_a_run_says_how_many_persons_their_pseudonyms_leave_alone(composed: Callable[..., Any], tmp_path: Path):
    assert pipeline.run(composed(PSEUDONYMS)) == 0
    record = json.loads(next((tmp_path / "outputs").rglob("record.json")).read_text(encoding="utf-8"))
    after = record["anonymization"]["after"]
    (said,) = [text for text in record["warnings"] if "holds for one row of a person" in text]
    assert after["k_linked"] < 3 <= after["k"]
    assert f"{after['linked_alone']} of {after['linked_persons']} persons are alone" in said
    metrics = {(one["metric"], one["when"]): one["value"] for one in record["metrics"]}
    assert metrics["k_linked", "after"] == after["k_linked"]
    assert metrics["linked_alone", "after"] == after["linked_alone"] / after["linked_persons"]


def test_no_file_of_a_run_that_breaks_holds_them_either(
    composed: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    def broken(_how: Mask, plain: Any) -> Any:
        raise ValueError(f"{KEY} {plain[0]}")

    monkeypatch.setattr(identifiers, "_masked", broken)
    with pytest.raises(ValueError, match="canary"):
        pipeline.run(composed(PSEUDONYMS))
    files = [path for path in (tmp_path / "outputs").rglob("*") if path.is_file()]
    assert {"record.json", "events.jsonl"} <= {path.name for path in files}
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    said = capfd.readouterr()
    assert KEY not in said.out + said.err


def test_a_run_without_its_key_stops_before_it_reads(composed: Callable[..., Any], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PSEUDONYM_KEY")
    with pytest.raises(ConfigurationError, match="the environment variable PSEUDONYM_KEY is not set") as caught:
        pipeline.run(composed(PSEUDONYMS))
    assert caught.value.exit_code == 2
    with pytest.raises(ConfigurationError, match="is not set"):
        plan(composed(PSEUDONYMS))


@pytest.mark.parametrize(
    ("asked", "place", "problem"),
    [
        ("{patinet: {name: pseudonymise}}", "anonymization.identifiers.patinet", "did you mean"),
        ("{age: {name: mask}}", "anonymization.identifiers.age", "no column with the role identifier"),
        ("{patient: {name: mask}}", "anonymization.identifiers.patient.name", "one person of several"),
        ("{patient: {name: hash}}", "anonymization.identifiers.patient", "hash"),
        ("{patient: {name: pseudonymise, length: 7}}", "anonymization.identifiers.patient", "8"),
        ("{patient: {name: pseudonymise, key: abc}}", "anonymization.identifiers.patient", "key"),
        ("{patient: {name: pseudonymise, key_variable: 'a-b'}}", "anonymization.identifiers.patient", "key_variable"),
    ],
)
def test_what_configuration_alone_decides_is_refused_at_once(
    composed: Callable[..., Any], asked: str, place: str, problem: str
):
    with pytest.raises(ConfigurationError) as caught:
        composed(f"anonymization.identifiers={asked}")
    (fault,) = caught.value.faults
    assert fault.place.startswith(place)
    assert problem in str(fault)


def test_a_goal_missed_says_nothing_of_identifiers(composed: Callable[..., Any]):
    with pytest.raises(GoalError) as caught:
        pipeline.run(composed(PSEUDONYMS, "anonymization.k=90"))
    assert "Patient" not in str(caught.value)
