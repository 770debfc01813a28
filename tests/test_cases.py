"""Faults that people met in other tools: each case's input, and the right value, through the public doors."""

import csv
import gzip
import json
import re
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from bench.counted import standing
from components.anonymization import Measurement, measure
from components.data import Reading, read
from components.data.declarations import Csv
from components.data.encoding import Encoder
from runner.__main__ import main
from schemas.dataset import DatasetSchema

PLAIN = ("model=none", "anonymization=none")
"""Reading and checking alone."""

SHARED = Path(__file__).parents[2] / "shared" / "data"
needs_adult = pytest.mark.skipif(not SHARED.exists(), reason="the Adult table is not here")

Column = dict[str, Any]
Columns = dict[str, Column]

INTEGER: Column = {"dtype": "integer", "role": "insensitive"}
NUMBER: Column = {"dtype": "number", "role": "insensitive"}
TEXT: Column = {"dtype": "text", "role": "insensitive"}
TEXT_QI: Column = {"dtype": "text", "role": "quasi_identifier"}
AGE: Column = {"dtype": "integer", "role": "quasi_identifier", "min": 0, "max": 120}
SEX: Column = {"dtype": "category", "role": "quasi_identifier", "values": ["m", "f"]}
DECIMAL_COMMA = {"decimal": ",", "thousands": "."}


@dataclass
class Outcome:
    """What a command line ended with: exit code, what it said, and what it left behind."""

    code: int
    out: str
    err: str
    outputs: Path

    @property
    def errors(self) -> list[str]:
        marked = [line for line in self.err.splitlines() if line.startswith("error: ")]
        return [line.removeprefix("error: ") for line in marked]

    @property
    def files(self) -> dict[str, bytes]:
        """Every file under the folder of all runs, by its place in the run folder."""
        found = [path for path in self.outputs.rglob("*") if path.is_file()]
        return {"/".join(path.relative_to(self.outputs).parts[2:]): path.read_bytes() for path in found}

    @property
    def record(self) -> dict[str, Any]:
        loaded = json.loads(self.files["record.json"])
        assert isinstance(loaded, dict)
        return loaded

    def table(self, name: str) -> list[dict[str, str]]:
        return list(csv.DictReader(self.files[name].decode().splitlines()))

    def refused(self, code: int = 3) -> list[str]:
        """Hold the attempt to what every refusal owes, and return its sentences."""
        assert self.code == code, self.err
        assert self.errors
        assert self.out == ""
        assert "Traceback" not in self.err
        (run,) = (path for path in self.outputs.glob("*/*") if path.is_dir())  # no work folder is left beside it
        assert self.err.splitlines()[-1] == f"the record of this attempt is in {run}"
        assert not [name for name in self.files if name.startswith(("data/", "model/"))]
        assert self.record["status"] == "failed"
        assert self.record["error"]["message"].splitlines() == self.errors
        return self.errors

    def refused_at_once(self) -> list[str]:
        """Hold a refusal of the configuration to leaving nothing behind, and return its sentences."""
        assert self.code == 2, self.err
        assert self.out == ""
        assert [f"error: {sentence}" for sentence in self.errors] == self.err.splitlines()
        assert not self.outputs.exists()
        return self.errors


@dataclass
class Case:
    """A folder of the test's own, with a table, options that describe it, and a command line."""

    folder: Path
    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch
    source: dict[str, Any] = field(default_factory=lambda: {"name": "csv", "path": "table.csv"})

    def option(self, option: str, content: dict[str, Any]) -> None:
        path = self.folder / "mine" / f"{option}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")

    def write(
        self, table: str | bytes, columns: Columns, source: dict[str, Any] | None = None, **settings: Any
    ) -> None:
        """Write the table, and the dataset that describes it."""
        self.source |= source or {}
        (self.folder / self.source["path"]).write_bytes(table.encode() if isinstance(table, str) else table)
        self.option("dataset/case", {"name": "case", "source": self.source, "columns": columns, **settings})

    def run(self, *arguments: str, own: bool = True, into: str = "outputs") -> Outcome:
        elsewhere = [] if into == "outputs" else [f"output.dir={into}"]
        argv = [*arguments, *elsewhere, *(("--config-dir", "mine", "dataset=case") if own else ())]
        self.monkeypatch.setattr(sys, "argv", ["privacy-runner", *argv])
        self.capsys.readouterr()
        code = main(argv)
        said = self.capsys.readouterr()
        return Outcome(code, said.out, said.err, self.folder / into)


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Case:
    monkeypatch.chdir(tmp_path)
    return Case(tmp_path, capsys, monkeypatch)


@pytest.fixture
def reading(tmp_path: Path) -> Callable[..., Reading]:
    """Read a table as a library would."""

    def go(table: str | bytes, columns: Columns, source: dict[str, Any] | None = None, **settings: Any) -> Reading:
        (tmp_path / "table.csv").write_bytes(table.encode() if isinstance(table, str) else table)
        schema = DatasetSchema.model_validate({"name": "case", "source": {}, "columns": columns, **settings})
        return read(schema, Csv(path="table.csv", **(source or {})), tmp_path)

    return go


def measured(found: Reading) -> Measurement:
    return measure(found.table.frame, found.table.schema)


# Reading real files


@pytest.mark.parametrize("kind", [{"dtype": "category", "values": ["01001", "1001"]}, {"dtype": "text"}])
def test_u01_leading_zeros_keep_two_zips_apart(reading: Callable[..., Reading], kind: dict[str, Any]) -> None:
    found = reading("zip,x\n01001,a\n1001,b\n", {"zip": {**kind, "role": "quasi_identifier"}, "x": TEXT})
    assert found.table.frame["zip"].tolist() == ["01001", "1001"]
    assert measured(found).k == 1  # 2 if a zero was lost


def test_u03_na_and_none_are_what_they_say(case: Case, reading: Callable[..., Reading]) -> None:
    table, columns = "land,debt\nNA,None\nDE,Home\n", {"land": TEXT, "debt": TEXT}
    found = reading(table, columns, missing={"markers": [""]})
    assert found.table.frame.to_dict("list") == {"land": ["NA", "DE"], "debt": ["None", "Home"]}
    assert int(found.table.frame.isna().to_numpy().sum()) == 0
    case.write(table, columns)
    outcome = case.run(*PLAIN)
    assert outcome.code == 0
    assert outcome.record["dataset"]["missing"] == {"land": {"": 0}, "debt": {"": 0}}


BOM = b"\xef\xbb\xbfage,sex\n30,f\n40,m\n"


def test_u04_a_byte_order_mark_is_no_part_of_a_header(case: Case, reading: Callable[..., Reading]) -> None:
    columns = {"age": AGE, "sex": SEX}
    assert reading(BOM, columns).table.frame.columns.tolist() == ["age", "sex"]
    case.write(BOM, columns)
    outcome = case.run(*PLAIN)
    assert outcome.code == 0
    assert outcome.record["flow"]["columns_in"] == ["age", "sex"]


@pytest.mark.parametrize("undeclared", ["refuse", "drop"])
def test_u04_a_byte_order_mark_read_as_latin_1_is_refused_by_its_name(case: Case, undeclared: str) -> None:
    case.write(BOM, {"age": AGE, "sex": SEX}, {"encoding": "latin-1"}, undeclared=undeclared)
    first = case.run(*PLAIN).refused()[0]
    assert first.startswith("column 'age': ")
    assert "set dataset.source.encoding=utf-8: a byte order mark" in first


def test_u04_invisible_characters_of_a_header_are_shown_as_escapes(case: Case) -> None:
    case.write("age\u200b,sex\n30,f\n", {"age": AGE, "sex": SEX})
    outcome = case.run(*PLAIN)
    assert "there is 'age\\u200b'" in outcome.refused()[0]
    assert "\u200b" not in outcome.err


def test_u06_decimal_comma_and_thousands_dot_give_the_right_mean(reading: Callable[..., Reading]) -> None:
    found = reading("x\n1.234,56\n10,50\n", {"x": NUMBER}, {**DECIMAL_COMMA, "delimiter": ";"})
    assert found.table.frame["x"].mean() == pytest.approx(622.53)


def test_u06_decimal_commas_under_other_settings_are_refused_and_hinted_at(case: Case) -> None:
    case.write("x\n1.234,56\n10,50\n", {"x": NUMBER}, {"delimiter": ";"})
    (sentence,) = case.run(*PLAIN).refused()
    assert sentence.startswith("column 'x': no finite number in 2 of 2 cells (data rows 1, 2)")
    assert "the cells look like decimal commas" in sentence
    remedy = shlex.split(sentence.rpartition("set ")[2])
    assert [text.partition("=")[0] for text in remedy] == ["dataset.source.decimal", "dataset.source.thousands"]
    assert case.run(*PLAIN, *remedy).code == 0


def test_u06_a_comma_that_is_also_the_delimiter_gives_no_wrong_number(case: Case) -> None:
    case.write("x\n1.234,56\n10,50\n", {"x": NUMBER}, DECIMAL_COMMA)
    (sentence,) = case.run(*PLAIN).refused()
    assert "(data rows 1, 2)" in sentence
    assert "dataset.source.delimiter" in sentence


@pytest.mark.parametrize("show", [False, True])
def test_u07_odd_tokens_are_told_on_the_terminal_alone(case: Case, *, show: bool) -> None:
    case.write("age\n34\n NA\n4e\n70\n", {"age": AGE})
    outcome = case.run(*PLAIN, *(["show_values=true"] if show else []))
    (sentence,) = outcome.refused()
    assert sentence.startswith("column 'age': no whole number in 2 of 4 cells (data rows 2, 3)")
    assert ("' NA', '4e'" in outcome.err) is show
    token = re.compile(r"\bNA\b|\b4e\b")
    assert bool(token.search(outcome.err.replace(outcome.record["run_id"], ""))) is show
    for name, content in outcome.files.items():
        assert not token.search(content.decode()), name
    assert outcome.table("faults.csv") == [{"column": "age", "check": "dtype", "row": row} for row in ("2", "3")]


@pytest.mark.parametrize("undeclared", ["refuse", "drop"])
def test_u09_a_header_that_is_there_twice_is_named_with_its_places(case: Case, undeclared: str) -> None:
    case.write("age,age,sex\n30,31,f\n40,41,m\n", {"age": AGE, "sex": SEX}, undeclared=undeclared)
    (sentence,) = case.run(*PLAIN).refused()
    assert sentence.startswith("column 'age': stands twice in the header (positions 1, 2)")


TIME = {"t": {"dtype": "datetime", "role": "insensitive"}}


@pytest.mark.parametrize("second", ["10/28/2021 7:50", "2021-10-28 07:50"])
def test_u13_a_time_without_zone_beside_one_with_is_refused_by_its_row(case: Case, second: str) -> None:
    case.write(f"t\n2022-01-25T22:16:27Z\n{second}\n", TIME)
    outcome = case.run(*PLAIN)
    (sentence,) = outcome.refused()
    assert sentence.startswith("column 't': ")
    assert "in 1 of 2 cells (data row 2)" in sentence
    assert second not in outcome.err


def test_u13_times_become_utc_and_their_zones_are_kept_in_the_record(
    case: Case, reading: Callable[..., Reading]
) -> None:
    table = "t\n2022-01-25T22:16:27Z\n2021-10-28T07:50:00-04:00\n"
    utc = ["2022-01-25T22:16:27Z", "2021-10-28T11:50:00Z"]
    assert reading(table, TIME).table.frame["t"].tolist() == [pd.Timestamp(text) for text in utc]
    case.write(table, TIME)
    (warning,) = case.run(*PLAIN).record["warnings"]
    assert warning == "column 't': times converted to UTC; zones at the source: -04:00 (1), Z (1)"


EMPTY = {"empty": b"", "header": b"age,sex\n", "gz": gzip.compress(b"", mtime=0)}


@pytest.mark.parametrize("arguments", [PLAIN, ()], ids=["plain", "default model"])
@pytest.mark.parametrize("content", EMPTY)
def test_u16_a_table_without_rows_is_refused(case: Case, content: str, arguments: tuple[str, ...]) -> None:
    path = "table.csv.gz" if content == "gz" else "table.csv"
    case.write(EMPTY[content], {"age": AGE, "sex": SEX}, {"path": path}, target="sex", task="classification")
    outcome = case.run(*arguments)
    (sentence,) = outcome.refused()
    assert sentence.startswith(f"file '{path}': 0 rows; k undefined")
    assert outcome.record["metrics"] == []


# Schema


def test_u18_a_blank_among_whole_numbers_names_column_row_and_remedy(case: Case) -> None:
    case.write("A,B\n20,100\n,200\n", {"A": INTEGER, "B": INTEGER})
    (sentence,) = case.run(*PLAIN).refused()
    assert sentence.startswith("column 'A': missing in 1 of 2 cells (data row 2)")
    assert "nullable integer" in sentence


def fault_rows(outcome: Outcome) -> list[tuple[str, str, int]]:
    assert outcome.files["faults.csv"].splitlines()[0] == b"column,check,row"
    return [(each["column"], each["check"], int(each["row"])) for each in outcome.table("faults.csv")]


def test_u19_every_row_that_does_not_convert_is_told_in_one_pass(case: Case) -> None:
    case.write("id\n1\n2\nthree\nfour\n5\nsix\n", {"id": INTEGER})
    outcome = case.run(*PLAIN)
    (sentence,) = outcome.refused()
    assert sentence.startswith("column 'id': no whole number in 3 of 6 cells (data rows 3, 4, 6)")
    assert fault_rows(outcome) == [("id", "dtype", row) for row in (3, 4, 6)]


@pytest.mark.parametrize("blank", ["", '""'])
def test_u19_a_blank_is_not_hidden_behind_a_cell_that_does_not_convert(case: Case, blank: str) -> None:
    case.write(f"float\nnot a float\n50\n{blank}\n", {"float": NUMBER})
    outcome = case.run(*PLAIN)
    unfit, missing = outcome.refused()
    assert unfit.startswith("column 'float': no finite number in 1 of 2 cells (data row 1)")
    assert missing.startswith("column 'float': missing in 1 of 3 cells (data row 3)")
    assert fault_rows(outcome) == [("float", "dtype", 1), ("float", "missing", 3)]


def test_u19_the_terminal_lists_ten_rows_and_the_file_all(case: Case) -> None:
    cells = ["word" if row % 3 else str(row) for row in range(1, 61)]
    case.write("id\n" + "\n".join(cells) + "\n", {"id": INTEGER})
    outcome = case.run(*PLAIN)
    (sentence,) = outcome.refused()
    assert "in 40 of 60 cells (data rows 1, 2, 4, 5, 7, 8, 10, 11, 13, 14, ...)" in sentence
    assert fault_rows(outcome) == [("id", "dtype", row) for row in range(1, 61) if row % 3]
    (listed,) = (file for file in outcome.record["outputs"] if file["path"] == "faults.csv")
    assert (listed["release"], listed["rows"]) == ("internal", 40)


ROLED: Columns = {
    "survived": {"dtype": "category", "role": "insensitive", "values": ["0", "1"]},
    "age": AGE,
    "sex": SEX,
}
OTHERS = ["pclass", "name", "ticket", "fare", "embarked"]
TITANIC = "survived,pclass,name,sex,age,ticket,fare,embarked\n" + "".join(
    f"{row % 2},{row % 3},Passenger {row},{'mf'[row % 2]},{20 + row},T{row},7.{row},S\n" for row in range(20)
)


def test_u22_columns_that_the_schema_does_not_know_are_all_named(case: Case) -> None:
    case.write(TITANIC, ROLED)
    (sentence,) = case.run(*PLAIN).refused()
    assert sentence.startswith("dataset.columns: 5 columns without a declared role: ")
    assert re.findall(r"'(\w+)' \(not in the schema\)", sentence) == OTHERS


def test_u22_columns_that_have_no_role_are_all_named(case: Case) -> None:
    case.write(TITANIC, ROLED | {name: {"dtype": "text"} for name in OTHERS})
    (sentence,) = case.run(*PLAIN).refused_at_once()
    assert f"without a role: {', '.join(OTHERS)};" in sentence


def test_u22_columns_left_out_on_request_are_recorded_and_not_released(case: Case) -> None:
    case.write(TITANIC, ROLED, undeclared="drop", target="survived", task="classification")
    outcome = case.run("model=tree", "anonymization.k=2")
    assert outcome.code == 0, outcome.err
    assert sorted(outcome.record["flow"]["dropped_columns"]) == sorted(OTHERS)
    assert all(any(f"'{name}'" in warning for warning in outcome.record["warnings"]) for name in OTHERS)
    assert sorted(outcome.table("data/release.csv")[0]) == sorted(ROLED)


# k-anonymity and risk


def test_u27_a_missing_value_is_its_own_and_the_wildcard_rule_stands_beside(
    reading: Callable[..., Reading],
) -> None:
    columns = {"Region": TEXT_QI, "Status": {**TEXT_QI, "nullable": True}}
    found = reading("Region,Status\nA,S\nA,M\nA,M\nA,S\nA,\n", columns)
    strict = measured(found)
    assert (strict.k, strict.k_wildcard) == (1, 2)
    printed = {metric: value for metric, _, value in strict.figures()}
    assert (printed["k"], printed["k_wildcard"]) == (1, 2)
    frame, schema = found.table.frame, found.table.schema
    assert measure(frame.iloc[:4], schema).k == 2
    assert measure(frame.assign(Status="*"), schema).k == 5


def test_u27_both_figures_stand_in_the_metrics_of_a_run(case: Case) -> None:
    table = "Region,Status\n" + "A,S\nA,M\nA,M\nA,S\n" * 5 + "A,\n"
    case.write(table, {"Region": TEXT_QI, "Status": {**TEXT_QI, "nullable": True}}, split={"test": 0.01})
    outcome = case.run(*PLAIN)
    assert outcome.code == 0, outcome.err
    figures = {row["metric"]: float(row["value"]) for row in outcome.table("metrics.csv")}
    assert figures["k"] == 1
    assert figures["k_wildcard"] >= 9
    assert any("A missing cell counts as a value of its own in k" in limit for limit in outcome.record["limits"])


def test_u28_suppressed_records_are_no_class_of_one(reading: Callable[..., Reading]) -> None:
    rows = ["34,m,816", "34,m,816", "45,f,819", "45,f,819", "70,m,819", "70,m,819", "*,*,*"]
    found = measured(
        reading("age,gender,zip\n" + "\n".join(rows) + "\n", dict.fromkeys(("age", "gender", "zip"), TEXT_QI))
    )
    assert (found.rows, found.classes, found.suppressed) == (7, 3, 1)
    assert (found.risk.prosecutor_max, found.risk.prosecutor_mean) == (0.5, 0.5)
    assert found.risk.suppressed_share == pytest.approx(1 / 7)


ZIPS = {"dtype": "category", "role": "quasi_identifier", "values": ["81667", "81675", "81925", "81931"]}
TOY = (
    "age,sex,zip,class\n34,m,81675,a\n45,f,81667,b\n66,m,81925,a\n70,f,81931,b\n"
    "34,f,81931,a\n70,m,81931,b\n45,m,81931,a\n"
)


@pytest.mark.parametrize("verb", [(), ("plan",)])
def test_u30_k_above_the_rows_is_refused_before_any_work(case: Case, verb: tuple[str, ...]) -> None:
    label = {"dtype": "category", "role": "insensitive", "values": ["a", "b"]}
    columns = {"age": AGE, "sex": SEX, "zip": ZIPS, "class": label}
    case.write(TOY, columns, target="class", task="classification")
    outcome = case.run(*verb, "anonymization.k=8")
    assert outcome.code == 4, outcome.err
    assert "k=8 but 7 rows" in outcome.errors[0]
    if verb:
        assert not outcome.outputs.exists()
    else:
        outcome.refused(4)
        assert {stage["name"] for stage in outcome.record["stages"]} <= {"dataset", "split"}


# Hierarchies, criteria and searches

WHOLE = ("model=none", "dataset.split.test=0")
"""The whole table is released, and nothing is fitted."""
LATTICE = (*WHOLE, "anonymization=lattice", "anonymization.k=2")
BY_ZIP = "81667;81***;*\n81675;81***;*\n81925;81***;*\n81931;81***;*\n"
BY_AGE = "34;<50;*\n45;<50;*\n66;>=50;*\n70;>=50;*\n"
CLASS = {"dtype": "category", "role": "insensitive", "values": ["a", "b"]}
TOY_COLUMNS: Columns = {
    "age": {**AGE, "hierarchy": "age.csv"},
    "sex": {**SEX, "hierarchy": "*"},
    "zip": {**TEXT_QI, "hierarchy": "zip.csv"},
    "class": CLASS,
}


def write_toy(case: Case, zips: str = BY_ZIP, ages: str = BY_AGE, **columns: Column) -> None:
    """Write the table of seven rows with its hierarchies."""
    (case.folder / "zip.csv").write_text(zips, encoding="utf-8")
    (case.folder / "age.csv").write_text(ages, encoding="utf-8")
    case.write(TOY, TOY_COLUMNS | columns)


def class_sizes(rows: list[dict[str, str]], names: Sequence[str]) -> list[int]:
    """Count classes of released cells."""
    return sorted(Counter(tuple(row[name] for name in names) for row in rows).values())


def coverage_lines(outcome: Outcome) -> list[str]:
    """Return what a plan says of each hierarchy."""
    _, _, said = " ".join(outcome.out.split()).partition("hierarchies ")
    return re.findall(r"(?:\w|-)+: \d+ of \d+ values covered \(\d+%\), \d+ levels", said)


def assert_unseen(outcome: Outcome, *values: str) -> None:
    """Hold files and terminal to showing no value."""
    shown = {**outcome.files, "standard output": outcome.out, "standard error": outcome.err}
    assert {value: standing(value, shown) for value in values} == {key: [] for key in values}


LACKING = BY_ZIP.replace("81675;81***;*\n", "")
UNCOVERED = "column 'zip': 1 of 4 values uncovered, 1 of 7 rows (data row 1); add the values to the hierarchy"


def test_u23_values_that_a_hierarchy_lacks_are_counted_with_their_rows_before_any_work(case: Case) -> None:
    write_toy(case, LACKING)
    outcome = case.run(*LATTICE)
    assert outcome.refused() == [UNCOVERED]
    assert_unseen(outcome, "81675")
    assert {stage["name"] for stage in outcome.record["stages"]} == {"dataset"}


@pytest.mark.parametrize("public", [{"public": True}, {"dtype": "category", "values": ZIPS["values"]}])
def test_u23_values_that_are_public_or_declared_are_named(case: Case, public: Column) -> None:
    write_toy(case, LACKING, zip=TOY_COLUMNS["zip"] | public)
    (sentence,) = case.run(*LATTICE).refused()
    assert sentence == UNCOVERED.replace("uncovered", "uncovered (81675)")


def test_u23_other_values_are_named_on_the_terminal_alone_and_only_on_request(case: Case) -> None:
    write_toy(case, LACKING)
    outcome = case.run(*LATTICE, "show_values=true")
    assert outcome.refused() == [UNCOVERED]
    assert "81675" in outcome.err
    assert standing("81675", outcome.files) == []


def test_u23_a_value_with_two_parents_is_told_with_both_and_apart_from_what_is_uncovered(case: Case) -> None:
    write_toy(case, BY_ZIP + "81931;82***;*\n", ages=BY_AGE.replace("66;>=50;*\n", ""))
    outcome = case.run(*LATTICE)
    (sentence,) = outcome.refused()
    assert sentence.startswith("column 'zip', hierarchy zip.csv: 1 value has several parents (rows 4 and 5: ")
    assert "'81***' and '82***' on level 1" in sentence
    assert_unseen(outcome, "81931")


def test_u23_everything_that_is_uncovered_is_told_at_once(case: Case) -> None:
    write_toy(case, LACKING, ages=BY_AGE.replace("70;>=50;*\n", ""))
    first, second = case.run(*LATTICE).refused()
    assert first.startswith("column 'age': 1 of 4 values uncovered, 2 of 7 rows (data rows 4, 6)")
    assert second == UNCOVERED


def test_u23_the_plan_shows_how_much_is_covered_and_refuses_as_the_run_does(case: Case) -> None:
    write_toy(case, LACKING)
    outcome = case.run("plan", *LATTICE)
    assert outcome.code == 3
    assert outcome.errors == [UNCOVERED]
    assert coverage_lines(outcome) == [
        "age: 4 of 4 values covered (100%), 3 levels",
        "sex: 2 of 2 values covered (100%), 2 levels",
        "zip: 3 of 4 values covered (75%), 3 levels",
    ]
    assert not outcome.outputs.exists()
    assert_unseen(outcome, "81675", "no fault found")


JOBS = [f"job {letter}" for letter in "abcdefghijklmn"]


@pytest.mark.parametrize("own", [False, True], ids=["nowhere", "beside"])
def test_u24_the_hierarchy_of_another_column_covers_nothing(case: Case, *, own: bool) -> None:
    employers = "state;public;*\nown business;private;*\n"
    (case.folder / "employer.csv").write_text(employers, encoding="utf-8")
    (case.folder / "job.csv").write_text("".join(f"{job};work;*\n" for job in JOBS), encoding="utf-8")
    table = "job,employer\n" + "".join(f"{job},{'state' if job < 'job h' else 'own business'}\n" for job in JOBS * 2)
    columns = {
        "job": {**TEXT_QI, "hierarchy": "employer.csv"},
        "employer": {**TEXT_QI, "hierarchy": "job.csv" if own else "employer.csv"},
    }
    case.write(table, columns)
    planned, outcome = case.run("plan", *LATTICE), case.run(*LATTICE)
    assert coverage_lines(planned)[0] == "job: 0 of 14 values covered (0%), 3 levels"
    assert planned.code == 3
    sentences = outcome.refused()
    assert planned.errors == sentences
    assert sentences[0].startswith("column 'job': 0 of 14 values covered by its hierarchy, 28 of 28 rows (data rows 1")
    remedy = "is it on the wrong column?" if own else "give the column its own hierarchy"
    assert sentences[0].endswith(remedy)
    assert len(sentences) == 1 + own
    assert_unseen(planned, "job a", "own business")


@needs_adult
def test_u24_workclass_on_the_occupations_of_adult_covers_none_of_14(case: Case) -> None:
    typed = (
        "plan",
        "dataset=adult_six",
        f"dataset.source.path={SHARED / 'adult.csv'}",
        f"dataset.hierarchies={SHARED / 'hierarchies' / 'adult'}",
        "dataset.columns.occupation.hierarchy=workclass.csv",
    )
    outcome = case.run(*typed, *LATTICE, own=False)
    assert outcome.code == 3
    (line,) = (line for line in coverage_lines(outcome) if line.startswith("occupation"))
    assert line.startswith("occupation: 0 of 14 values covered (0%)")
    (sentence,) = outcome.errors
    assert sentence.startswith("column 'occupation': 0 of 14 values covered by its hierarchy")


FIXED = "{age: {min: 1, max: 1}, sex: {min: 1}, zip: {min: 1, max: 1}}"
AGES = {
    "as text": BY_AGE,
    "as reals": BY_AGE.replace(";<", ".0;<").replace(";>", ".0;>"),
    "padded": BY_AGE.replace("34;", " 34 ;"),
}


@pytest.mark.parametrize("levels", ["{}", FIXED])
@pytest.mark.parametrize("ages", AGES)
def test_u25_ages_as_integers_give_what_ages_as_text_give(case: Case, ages: str, levels: str) -> None:
    typed = (*LATTICE, f"anonymization.levels={levels}")
    releases = []
    for dtype in ({"dtype": "integer", "min": 0, "max": 120}, {"dtype": "text"}):
        written = AGES[ages] if dtype["dtype"] == "integer" else BY_AGE
        write_toy(case, ages=written, age={**dtype, "role": "quasi_identifier", "hierarchy": "age.csv"})
        outcome = case.run(*typed, into=str(dtype["dtype"]))
        assert outcome.code == 0, outcome.err
        how = outcome.record["anonymization"]
        releases.append((outcome.files["data/release.csv"], how["transformation"]["levels"], how["suppressed"]))
    assert releases[0] == releases[1]


def test_u25_agreed_levels_leave_classes_of_four_and_three(case: Case) -> None:
    write_toy(case)
    outcome = case.run(*LATTICE, f"anonymization.levels={FIXED}")
    assert outcome.code == 0, outcome.err
    rows = outcome.table("data/release.csv")
    assert len(rows) == 7
    assert class_sizes(rows, ("age", "sex", "zip")) == [3, 4]
    assert {(row["age"], row["sex"], row["zip"]) for row in rows} == {("<50", "*", "81***"), (">=50", "*", "81***")}
    assert outcome.record["anonymization"]["suppressed"] == 0


def test_u25_ages_that_a_hierarchy_spells_out_are_told_by_their_kinds(case: Case) -> None:
    write_toy(case, ages="young;<50;*\nold;>=50;*\n")
    (sentence,) = case.run(*LATTICE).refused()
    assert sentence.startswith("column 'age': 0 of 4 values covered by its hierarchy, 7 of 7 rows")
    assert "age is integer in data, text in hierarchy" in sentence


def test_u25_a_missing_quasi_identifier_is_a_value_of_its_own(case: Case) -> None:
    write_toy(case, age={**TOY_COLUMNS["age"], "nullable": True})
    (case.folder / "table.csv").write_text(TOY.replace("66,", ","), encoding="utf-8")
    outcome = case.run(*LATTICE)
    assert outcome.code == 0, outcome.err
    assert min(class_sizes(outcome.table("data/release.csv"), ("age", "sex", "zip"))) >= 2


def test_u25_a_quasi_identifier_without_hierarchy_is_named(case: Case) -> None:
    write_toy(case, sex=SEX, zip=TEXT_QI)
    (sentence,) = case.run(*LATTICE).refused_at_once()
    assert "the method lattice needs a hierarchy for every quasi-identifier; without one: sex, zip;" in sentence


STATUS: Columns = {"Region": {**TEXT_QI, "hierarchy": "*"}, "Status": {**TEXT_QI, "nullable": True, "hierarchy": "*"}}
AS_IT_IS = "anonymization.levels={Region: {max: 0}, Status: {max: 0}}"


@pytest.mark.parametrize(
    ("typed", "rows", "k"),
    [
        ((*LATTICE, AS_IT_IS, "anonymization.suppression_limit=.2", "anonymization.suppressed_rows=drop"), 4, 2),
        ((*LATTICE[:2], "anonymization=pipeline", "anonymization.steps=[{name: suppress, columns: [Status]}]"), 5, 5),
    ],
    ids=["the row", "the column"],
)
def test_u27_a_missing_cell_is_mended_by_suppressing_its_row_or_its_column(
    case: Case, typed: tuple[str, ...], rows: int, k: int
) -> None:
    case.write("Region,Status\nA,S\nA,M\nA,M\nA,S\nA,\n", STATUS)
    outcome = case.run(*typed)
    assert outcome.code == 0, outcome.err
    released = outcome.table("data/release.csv")
    assert len(released) == rows
    assert min(class_sizes(released, ("Region", "Status"))) == k
    figures = {(row["metric"], row["when"]): float(row["value"]) for row in outcome.table("metrics.csv")}
    assert [figures[name, "before"] for name in ("k", "k_wildcard")] == [1, 2]
    assert [figures[name, "after"] for name in ("k", "k_wildcard")] == [k, k]


def test_u27_the_missing_cell_alone_does_not_make_a_table_two_anonymous(case: Case) -> None:
    case.write("Region,Status\nA,S\nA,M\nA,M\nA,S\nA,\n", STATUS)
    sentences = case.run(*LATTICE, AS_IT_IS).refused(4)
    assert any("1 of 5 rows would have to be suppressed" in sentence for sentence in sentences)


RISK = {"risk_prosecutor_max": 0.5, "risk_prosecutor_mean": 0.5, "suppressed": 1, "suppressed_share": 1 / 7}


def risk_of(outcome: Outcome, when: str) -> dict[str, float]:
    rows = (row for row in outcome.table("metrics.csv") if row["when"] == when and row["metric"] in RISK)
    return {row["metric"]: float(row["value"]) for row in rows}


def test_u28_a_released_file_that_is_read_again_has_the_figures_it_was_released_with(case: Case) -> None:
    rows = ["34,m,816", "34,m,816", "45,f,819", "45,f,819", "70,m,819", "70,m,819", "99,f,999"]
    names = ("age", "gender", "zip")
    flat = {**TEXT_QI, "hierarchy": "*"}
    case.write(",".join(names) + "\n" + "\n".join(rows) + "\n", dict.fromkeys(names, flat))
    stay = "anonymization.levels={age: {max: 0}, gender: {max: 0}, zip: {max: 0}}"
    released = case.run(*LATTICE, stay, "anonymization.suppression_limit=.15")
    assert released.code == 0, released.err
    assert risk_of(released, "after") == pytest.approx(RISK)
    text = released.files["data/release.csv"].decode()
    assert "*,*,*" in text
    case.write(text, dict.fromkeys(names, TEXT_QI))
    again = case.run(*WHOLE, "anonymization=none", into="again")
    assert again.code == 0, again.err
    assert risk_of(again, "before") == pytest.approx(RISK)  # what was suppressed before is in no class


METHODS = {
    "lattice": (),
    "lattice, local": ("anonymization.local_recoding=true", "anonymization.suppression_limit=1"),
    "mondrian": (),
    "pipeline": ("anonymization.steps=[{name: mondrian, columns: [age, sex, zip]}]",),
}


@pytest.mark.parametrize("verb", [(), ("plan",)], ids=["run", "plan"])
@pytest.mark.parametrize("method", METHODS)
def test_u30_k_above_the_rows_is_refused_by_every_method_before_any_search(
    case: Case, method: str, verb: tuple[str, ...]
) -> None:
    write_toy(case)
    name = method.partition(",")[0]
    outcome = case.run(*verb, *WHOLE, f"anonymization={name}", "anonymization.k=8", *METHODS[method])
    assert outcome.code == 4
    assert outcome.errors[0].startswith("anonymization.k (anonymization.k=8): k=8 but 7 rows")
    if verb:
        assert not outcome.outputs.exists()
    else:
        outcome.refused(4)
        assert {stage["name"] for stage in outcome.record["stages"]} <= {"dataset", "split"}


def eleven_columns(case: Case) -> list[str]:
    """Write ten rows of eleven quasi-identifiers with three levels each."""
    draw = np.random.default_rng(0)
    names = [f"q{number}" for number in range(11)]
    rows = [",".join(row) for row in draw.choice(["a1", "a2", "b1", "b2"], (10, 11))]
    column = {**TEXT_QI, "hierarchy": {"name": "mask", "keep": [1]}}
    case.write("\n".join([",".join(names), *rows, ""]), dict.fromkeys(names, column))
    return names


def test_u34_eleven_columns_of_three_levels_are_planned_and_searched_in_time(case: Case) -> None:
    names = eleven_columns(case)
    planned = case.run("plan", *LATTICE)
    assert planned.code == 0, planned.err
    said = " ".join(planned.out.split())
    assert f"lattice 177,147 nodes ({' x '.join('3' * 11)} levels); the optimum is proved" in said
    start = time.perf_counter()
    outcome = case.run(*LATTICE)
    assert time.perf_counter() - start < 30
    assert outcome.code == 0, outcome.err
    assert min(class_sizes(outcome.table("data/release.csv"), names)) >= 2
    (search,) = outcome.record["anonymization"]["transformation"]["searches"]
    assert (search["nodes"], search["proved"]) == (3**11, True)


def test_u34_a_larger_lattice_than_is_proved_is_told_in_plan_and_record(case: Case) -> None:
    names = eleven_columns(case)
    bounded = ("anonymization.exact_nodes=1000", "anonymization.bounded_nodes=50")
    said = " ".join(case.run("plan", *LATTICE, *bounded).out.split())
    assert "177,147 nodes" in said
    assert "more than exact_nodes=1,000: the best of at most 50 tried" in said
    outcome = case.run(*LATTICE, *bounded)
    assert outcome.code == 0, outcome.err
    (search,) = outcome.record["anonymization"]["transformation"]["searches"]
    assert not search["proved"]
    assert search["tried"] <= 50
    assert search["lower_bound"] <= outcome.record["anonymization"]["transformation"]["quality"]["value"]
    assert min(class_sizes(outcome.table("data/release.csv"), names)) >= 2


def test_u34_many_rows_take_no_longer_than_their_distinct_tuples_ask_for(case: Case) -> None:
    draw = np.random.default_rng(0)
    rows = 20_000
    frame = pd.DataFrame({name: draw.integers(0, 60, rows) for name in ("a", "b", "c")})
    hierarchy = {"name": "intervals", "widths": [5, 20]}
    column = {"dtype": "integer", "role": "quasi_identifier", "min": 0, "max": 59, "hierarchy": hierarchy}
    case.write(frame.to_csv(index=False), dict.fromkeys(frame.columns, column))
    outcome = case.run(*LATTICE, "anonymization.suppression_limit=.02")
    assert outcome.code == 0, outcome.err
    released = outcome.table("data/release.csv")
    kept = [row for row in released if set(row.values()) != {"*"}]
    assert len(released) == rows
    assert len(released) - len(kept) == outcome.record["anonymization"]["suppressed"] <= 0.02 * rows
    assert min(class_sizes(kept, ("a", "b", "c"))) >= 2


MONDRIAN = (*WHOLE, "anonymization=mondrian", "anonymization.k=2")


def test_u36_ranges_are_the_smallest_and_largest_value_of_their_class(case: Case) -> None:
    case.write("age\n20\n21\n60\n61\n", {"age": AGE})
    outcome = case.run(*MONDRIAN)
    assert outcome.code == 0, outcome.err
    assert [row["age"] for row in outcome.table("data/release.csv")] == ["[20, 21]", "[20, 21]", "[60, 61]", "[60, 61]"]


@pytest.mark.parametrize("kind", [{"dtype": "text"}, {"dtype": "category", "values": ["f", "m"]}])
def test_u36_categories_are_cut_beside_numbers(case: Case, kind: Column) -> None:
    rows = ["20,f", "21,f", "60,m", "61,m", "20,m", "21,m", "60,f", "61,f"]
    case.write("\n".join(["age,sex", *rows, ""]), {"age": AGE, "sex": {**kind, "role": "quasi_identifier"}})
    outcome = case.run(*MONDRIAN)
    assert outcome.code == 0, outcome.err
    released = sorted((row["age"], row["sex"]) for row in outcome.table("data/release.csv"))
    assert released == sorted((ages, sex) for ages in ("[20, 21]", "[60, 61]") for sex in "fm" for _ in range(2))


@pytest.mark.parametrize("limit", ["0", "0.2"])
def test_u36_no_range_is_wider_than_the_rows_that_show_it(case: Case, limit: str) -> None:
    draw = np.random.default_rng(4)
    ages, visits = draw.integers(0, 100, 200), draw.integers(0, 10, 200)
    lines = [f"{row},{age},{visit}" for row, (age, visit) in enumerate(zip(ages, visits, strict=True))]
    plain = {"dtype": "integer", "role": "quasi_identifier"}
    case.write("\n".join(["row,age,visits", *lines, ""]), {"row": INTEGER, "age": plain, "visits": plain})
    outcome = case.run(*MONDRIAN, f"anonymization.suppression_limit={limit}")
    assert outcome.code == 0, outcome.err
    shown: dict[tuple[str, str], list[int]] = {}
    for row in outcome.table("data/release.csv"):
        shown.setdefault((row["age"], row["visits"]), []).append(int(row["row"]))
    shown.pop(("*", "*"), None)
    for cells, rows in shown.items():
        for cell, column in zip(cells, (ages, visits), strict=True):
            low, high = column[rows].min(), column[rows].max()
            assert cell == (str(low) if low == high else f"[{low}, {high}]")


# Configuration


@pytest.mark.parametrize(
    ("typed", "question"),
    [
        ("annon.k=3", "did you mean anonymization.k?"),
        ("+annon.k=3", "did you mean anonymization.k?"),
        ("++annon.k=3", "did you mean anonymization.k?"),
        ("+anonymization.kk=3", "did you mean anonymization.k?"),
        ("dataset=adlut", "did you mean dataset=adult?"),
    ],
)
def test_x1_what_is_unknown_is_refused_with_the_nearest_spelling(case: Case, typed: str, question: str) -> None:
    (sentence,) = case.run(typed, own=False).refused_at_once()
    assert typed in sentence
    assert sentence.endswith(question)


@pytest.mark.parametrize("verb", [(), ("plan",)])
def test_x3_every_value_that_must_be_given_is_told_with_its_file(case: Case, verb: tuple[str, ...]) -> None:
    case.write("age,sex\n30,f\n", {"age": AGE, "sex": SEX}, target="???", task="classification")
    case.option("anonymization/own", {"name": "guided", "k": "???"})
    sentences = case.run(*verb, "model=tree", "anonymization=own").refused_at_once()
    places = ["dataset.target (mine/dataset/case.yaml)", "anonymization.k (mine/anonymization/own.yaml)"]
    assert [sentence.split(": a value must be given")[0] for sentence in sentences] == places


def test_x3_two_in_one_file_are_told_together(case: Case) -> None:
    case.write("age,sex\n30,f\n", {"age": AGE, "sex": SEX}, target="???", task="classification")
    case.source["path"] = "???"
    case.option("dataset/case", {"name": "case", "source": case.source, "columns": {"age": AGE}, "target": "???"})
    sentences = case.run("model=tree").refused_at_once()
    assert [sentence.split(": a value must be given")[0] for sentence in sentences] == [
        "dataset.source.path (mine/dataset/case.yaml)",
        "dataset.target (mine/dataset/case.yaml)",
    ]


@pytest.mark.parametrize("k", ["five", "2.5", "0", "-1", "1e3", "true", "'5'"])
def test_x4_k_is_a_whole_number_of_two_or_more(case: Case, k: str) -> None:
    (sentence,) = case.run(f"anonymization.k={k}", own=False).refused_at_once()
    assert sentence.startswith(f"anonymization.k (anonymization.k={k}): ")
    assert "must be a whole number >= 2" in sentence


BANDS = {"oulad": ["0-35", "35-55", "55<="], "german credit": ["<0 DM", "0 <= <200 DM", ">=200 DM"]}
"""The second sorts otherwise as text than as declared."""


def merged(cell: str, bands: list[str]) -> list[str]:
    """Return the values that a published cell stands for: ``{a, b}`` a set, ``[a, b]`` a range, or one alone."""
    inner = cell[1:-1].split(", ")
    if cell.startswith("["):
        return bands[bands.index(inner[0]) : bands.index(inner[1]) + 1]
    return inner if cell.startswith("{") else [cell]


def published(case: Case, bands: list[str], shares: tuple[float, float, float], label: str) -> list[list[str]]:
    """Release a made-up table as ranges; return what its bands stand for, each of which covers its row's own."""
    rng = np.random.default_rng(5)
    codes, visits = rng.choice(3, 600, p=shares), rng.integers(0, 50, 600)
    labels = {"visits": visits // 5 % 2 == 1, "band": codes == 1}[label]
    rows = [
        f"{row},{bands[code]},{visit},{'yes' if said else 'no'}"
        for row, (code, visit, said) in enumerate(zip(codes, visits, labels, strict=True))
    ]
    columns: Columns = {
        "row": {"dtype": "integer", "role": "insensitive", "min": 0, "max": 600},
        "band": {"dtype": "ordered", "role": "quasi_identifier", "values": bands},
        "visits": {"dtype": "integer", "role": "quasi_identifier", "min": 0, "max": 50},
        "left": {"dtype": "category", "role": "insensitive", "values": ["no", "yes"]},
    }
    case.write("\n".join(["row,band,visits,left", *rows, ""]), columns, target="left", task="classification")
    outcome = case.run("model=tree", "anonymization.k=3", "anonymization.representative=range")
    assert outcome.code == 0, outcome.err
    release = outcome.table("data/release.csv")
    assert all(bands[codes[int(row["row"])]] in merged(row["band"], bands) for row in release)
    return [merged(cell, bands) for cell in sorted({row["band"] for row in release})]


def neighbours(values: list[str], bands: list[str]) -> bool:
    return values == bands[bands.index(values[0]) :][: len(values)]


@pytest.mark.parametrize("shares", [(1 / 3, 1 / 3, 1 / 3), (0.45, 0.1, 0.45), (0.49, 0.02, 0.49), (0.5, 0.0, 0.5)])
@pytest.mark.parametrize("name", BANDS)
def test_x11_only_neighbours_are_merged(case: Case, name: str, shares: tuple[float, float, float]) -> None:
    found = published(case, BANDS[name], shares, label="visits")
    assert [values for values in found if not neighbours(values, BANDS[name])] == []
    assert any(len(values) > 1 for values in found)


@pytest.mark.parametrize("name", BANDS)
def test_x11_extremes_that_a_model_treats_alike_stay_apart(case: Case, name: str) -> None:
    found = published(case, BANDS[name], (0.4, 0.2, 0.4), label="band")
    assert [values for values in found if not neighbours(values, BANDS[name])] == []
    assert [BANDS[name][1]] in found  # the middle, which differs, has classes of its own


@pytest.mark.parametrize("name", BANDS)
def test_x11_positions_in_the_encoding_keep_the_declared_order(reading: Callable[..., Reading], name: str) -> None:
    bands = BANDS[name]
    column = {"dtype": "ordered", "role": "quasi_identifier", "values": bands}
    table = reading(
        "band,x\n" + "".join(f"{band},a\n" for band in (bands[2], bands[0], bands[1])), {"band": column, "x": TEXT}
    ).table
    encoded = Encoder.from_schema(table.schema, ["band"]).transform(table.frame)
    assert encoded[:, 0].tolist() == [1.0, 0.0, 0.5]
    assert table.frame["band"].sort_values().tolist() == bands
