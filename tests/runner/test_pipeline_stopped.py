"""Runs that do not end well say why, keep nothing that must not leave, and show nobody's data or password."""

import io
import sqlite3
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from components.registry import load
from runner import pipeline
from runner.__main__ import main
from runner.events import read_chain
from runner.record import read_record
from runner.releasing import Written, write_table
from schemas.faults import DataError, Fault, GoalError
from schemas.record import Record

HOSPITALS = ("dataset.source.rows=300", "model=tree")
CELL = "Jane Doe of Elm Street"
COLUMNS = {
    "person": {"dtype": "integer", "role": "identifier"},
    "age": {"dtype": "integer", "role": "quasi_identifier", "min": 0, "max": 99},
    "sick": {"dtype": "category", "role": "sensitive", "values": ["no", "yes"]},
}
RULES = {"target": "sick", "task": "classification"}


@dataclass(frozen=True)
class Ended:
    """How a command line ended."""

    code: int
    out: str
    err: str
    folder: Path

    @cached_property
    def record(self) -> Record:
        return read_record(self.folder)

    @property
    def files(self) -> dict[str, bytes]:
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in found}

    @property
    def events(self) -> list[tuple[str, str]]:
        return [(event.event, event.stage) for event in read_chain(self.folder / "events.jsonl")]

    def shows(self, text: str) -> list[str]:
        """Return where a text is to be found: the run folder's files, packed ones opened, and what was printed."""
        places = {**self.files, "standard output": self.out.encode(), "standard error": self.err.encode()}
        for name, content in self.files.items():
            if name.endswith(".skops"):
                with zipfile.ZipFile(io.BytesIO(content)) as packed:
                    places |= {f"{name}/{inside}": packed.read(inside) for inside in packed.namelist()}
        return [name for name, content in places.items() if text.encode() in content]


End = Callable[..., Ended]


@pytest.fixture
def end(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> End:
    """Return a function that does a command line in this process; it leaves one run folder, whichever its end."""

    def go(*arguments: str) -> Ended:
        argv = [*arguments, "--config-dir", str(tmp_path / "options")]
        monkeypatch.setattr(sys, "argv", ["privacy-runner", *argv])
        capsys.readouterr()
        code = main(argv)
        said = capsys.readouterr()
        (folder,) = (path for path in (tmp_path / "outputs").glob("*/*") if path.is_dir())
        return Ended(code, said.out, said.err, folder)

    monkeypatch.chdir(tmp_path)
    (tmp_path / "options/dataset").mkdir(parents=True)
    return go


def people(folder: Path, persons: int, rows: int, **rules: Any) -> pd.DataFrame:
    """Write a table and the option ``dataset=people``."""
    frame = pd.DataFrame({"person": range(rows), "age": range(rows), "sick": ["no", "yes"] * (rows // 2)})
    frame["person"] %= persons
    frame.to_csv(folder / "people.csv", index=False)
    option = {"name": "people", "source": {"name": "csv", "path": "people.csv"}, "columns": COLUMNS, **RULES, **rules}
    (folder / "options/dataset/people.yaml").write_text(yaml.safe_dump(option, sort_keys=False))
    return frame


def assert_whole(ended: Ended) -> None:
    """Hold the folder of a run against its record: no file more or less, each with its digest."""
    listed = {output.path: output.sha256 for output in ended.record.outputs}
    files = {name: sha256(content).hexdigest() for name, content in ended.files.items() if name != "record.json"}
    assert listed == files
    assert not [path for path in ended.folder.rglob("*") if path.is_dir() and not any(path.iterdir())]


def assert_nothing_kept(ended: Ended) -> None:
    assert_whole(ended)
    assert set(ended.files) == {"record.json", "config.yaml", "events.jsonl", "metrics.csv"}
    assert {output.release for output in ended.record.outputs} == {"internal"}


def alone(written: Written) -> None:
    frame = pd.read_parquet(written.parquet)
    frame.loc[0, "age"] = 18 if frame.loc[0, "age"] != 18 else 19  # a class of one
    frame.to_parquet(written.parquet, index=False)


def named(written: Written) -> None:
    frame = pd.read_parquet(written.parquet)
    frame.assign(name=CELL).to_parquet(written.parquet, index=False)


def named_as_text(written: Written) -> None:
    frame = pd.read_csv(written.csv, dtype=str, keep_default_na=False)
    frame.assign(name=CELL).to_csv(written.csv, index=False)


@pytest.mark.parametrize(
    ("tamper", "undeclared"),
    [
        (alone, "refuse"),
        (named, "refuse"),
        (named_as_text, "refuse"),
        (named_as_text, "drop"),
    ],
)
def test_a_release_changed_between_writing_and_measuring_is_refused(
    end: End, monkeypatch: pytest.MonkeyPatch, tamper: Callable[[Written], None], undeclared: str
) -> None:
    def tampered(*arguments: Any) -> Written:
        written = write_table(*arguments)
        tamper(written)
        return written

    monkeypatch.setattr(pipeline, "write_table", tampered)
    ended = end(*HOSPITALS, f"dataset.undeclared={undeclared}")
    assert ended.code == 5
    assert_nothing_kept(ended)
    assert ended.record.anonymization is None
    assert ended.record.error is not None
    assert (ended.record.error.stage, ended.record.error.message) == ("anonymization", None)


def anonymised_by(change: Callable[[Any, Any], Any]) -> Callable[[str], Any]:
    """Stand in for ``load``: what the method gives is changed, with the table it was given at hand."""

    def changed(where: str) -> Any:
        honest = load(where)
        if not where.endswith(":anonymise"):
            return honest
        return lambda params, table, *more: change(honest(params, table, *more), table)

    return changed


def leaky(release: Any, table: Any) -> Any:
    return replace(release, table=replace(release.table, frame=release.table.frame.assign(name=table.frame["name"])))


def leaky_by_its_schema(release: Any, table: Any) -> Any:
    used = [column for column in table.schema.used if column.name != "patient_id"]
    frame = release.table.frame.assign(name=table.frame["name"])[[column.name for column in used]]
    schema = release.table.schema.model_copy(update={"columns": used})
    return replace(release, table=replace(release.table, frame=frame, schema=schema))


@pytest.mark.parametrize("change", [leaky, leaky_by_its_schema])
def test_a_method_that_lets_an_identifier_through_is_refused(
    end: End, monkeypatch: pytest.MonkeyPatch, change: Callable[[Any, Any], Any]
) -> None:
    monkeypatch.setattr(pipeline, "load", anonymised_by(change))
    ended = end(*HOSPITALS)
    assert ended.code == 3
    assert_nothing_kept(ended)
    assert ended.record.error is not None
    assert ended.record.error.stage == "anonymization"
    assert "name" in ended.err
    assert not ended.shows("Dummius")


def test_too_few_persons_are_refused_before_anything_is_fitted(end: End, tmp_path: Path) -> None:
    people(tmp_path, persons=6, rows=60, subject_id="person")
    ended = end("dataset=people", "model=tree", "anonymization.k=5")
    assert ended.code == 4
    assert_nothing_kept(ended)
    assert ended.record.error is not None
    assert (ended.record.error.type, ended.record.error.stage) == ("schemas.faults.GoalError", "split")
    assert "persons" in ended.err
    assert not [stage for _, stage in ended.events if stage not in {"", "dataset", "split"}]


def test_as_many_rows_of_as_many_persons_are_enough(end: End, tmp_path: Path) -> None:
    people(tmp_path, persons=60, rows=60, subject_id="person")
    assert end("dataset=people", "model=tree", "anonymization.k=5").code == 0


def test_a_cell_that_does_not_fit_stops_the_run_without_being_shown(end: End, tmp_path: Path) -> None:
    frame = people(tmp_path, persons=60, rows=60).astype({"age": "object"})
    frame.loc[7, "age"] = CELL
    frame.to_csv(tmp_path / "people.csv", index=False)
    ended = end("dataset=people", "model=tree")
    assert ended.code == 3
    assert_whole(ended)
    assert {output.release for output in ended.record.outputs} == {"internal"}
    error = ended.record.error
    assert error is not None
    assert (ended.record.status, error.stage) == ("failed", "dataset")
    assert error.type.endswith("Error")
    assert "age" in str(error.message)
    assert "age" in ended.err
    assert not ended.shows(CELL)


PLACES = {
    "dataset": "read",
    "split": "split",
    "model": "fitted",
    "anonymization": "measure_written",
    "retraining": "save",
    "assessment": "reference_models",
}
"""In each stage something that the pipeline calls there."""


def broken(error: BaseException) -> Callable[..., Any]:
    def fails(*_: Any, **__: Any) -> None:
        raise error

    return fails


@pytest.mark.parametrize("stage", PLACES)
def test_an_error_nobody_foresaw_is_recorded_without_its_message(
    end: End, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    monkeypatch.setattr(pipeline, PLACES[stage], broken(ValueError(CELL)))
    ended = end(*HOSPITALS)
    assert ended.code == 5
    assert ended.err.startswith("internal error: ValueError in ")
    assert f"the record of this attempt is in {ended.folder}" in ended.err
    assert not ended.shows(CELL)
    assert_stopped(ended, stage, "failed", "ValueError", None)


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (DataError(Fault("column 'age'", "unfit")), 3, "schemas.faults.DataError"),
        (GoalError(Fault("anonymization.k", "out of reach")), 4, "schemas.faults.GoalError"),
        (KeyboardInterrupt(), 130, "KeyboardInterrupt"),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("stage", ["model", "anonymization", "assessment"])
def test_what_stops_a_run_is_recorded(
    end: End, monkeypatch: pytest.MonkeyPatch, stage: str, error: BaseException, code: int, kind: str
) -> None:
    monkeypatch.setattr(pipeline, PLACES[stage], broken(error))
    ended = end(*HOSPITALS)
    assert ended.code == code
    interrupted = isinstance(error, KeyboardInterrupt)
    assert ended.err.startswith("interrupted\n" if interrupted else f"error: {error}\n")
    message = "stopped by the user or the system" if interrupted else str(error)
    assert_stopped(ended, stage, "interrupted" if interrupted else "failed", kind, message)


def assert_stopped(ended: Ended, stage: str, status: str, kind: str, message: str | None) -> None:
    error, stages = ended.record.error, list(PLACES)
    before = stages[: stages.index(stage)]
    assert error is not None
    assert ended.record.status == status
    assert (error.type, error.stage, error.message) == (kind, stage, message)
    assert error.frames
    assert [done.name for done in ended.record.stages if done.name != stage] == before
    assert [where for event, where in ended.events if event == "stage finished"] == before
    assert ended.events[-2:] == [("stage stopped", stage), (f"run {status}", "")]
    assert_whole(ended)
    released = {name for name in ended.files if name.startswith("data/")}
    assert bool(released) == ("anonymization" in before)
    assert any(name.startswith("model/") for name in ended.files) == ("retraining" in before)


PASSWORD, KEY, PIN = "Open%2FSesame%2149", "key-of-the-clinic-81", "pin-of-the-clinic-93"


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return overrides for a table in a database whose URL holds a password and a variable of the environment."""
    frame = people(tmp_path, persons=60, rows=60)
    with sqlite3.connect(tmp_path / "people.db") as connection:
        frame.to_sql("people", connection, index=False)
    connection.close()
    url = f"sqlite:///people.db?password={PASSWORD}&pin=${{oc.env:CLINIC_PIN}}"
    source = {"name": "sql", "url": url, "query": "SELECT * FROM people"}
    option = {"name": "people", "source": source, "columns": COLUMNS, **RULES}
    (tmp_path / "options/dataset/people.yaml").write_text(yaml.safe_dump(option, sort_keys=False))
    monkeypatch.setenv("CLINIC_KEY", KEY)
    monkeypatch.setenv("CLINIC_PIN", PIN)
    return ["dataset=people", "model=tree", "protection.controller=${oc.env:CLINIC_KEY}"]


def assert_hidden(ended: Ended) -> None:
    for secret in (PASSWORD, "Open/Sesame!49", KEY, PIN):
        assert ended.shows(secret) == []
    settings = yaml.safe_load(ended.files["config.yaml"])
    assert settings == ended.record.configuration.resolved
    assert settings["protection"]["controller"] == ended.record.protection.controller == "***"
    assert settings["dataset"]["source"]["url"] == "sqlite:///people.db?password=***&pin=***"
    for variable in ("CLINIC_KEY", "CLINIC_PIN"):
        assert f"${{oc.env:{variable}}}" in ended.record.configuration.as_written


def test_a_completed_run_hides_passwords(end: End, clinic: list[str]) -> None:
    url = f"dataset.source.url='sqlite:///people.db?password={PASSWORD}&pin=${{oc.env:CLINIC_PIN}}'"
    ended = end(*clinic, url)
    assert ended.code == 0
    assert_hidden(ended)
    told = [text for text in ended.record.invocation.overrides if "sqlite" in text]
    assert told == [url.replace(PASSWORD, "***")]
    assert url.replace(PASSWORD, "***") in ended.record.invocation.argv


def test_a_password_too_short_to_look_for_is_hidden_where_it_stands(end: End, clinic: list[str]) -> None:
    ended = end(*clinic, "dataset.source.url='sqlite:///people.db?password=Qx7'")
    assert ended.code == 0
    assert ended.shows("password=Qx7") == []


@pytest.mark.parametrize("spoilt", [False, True], ids=["no such table", "no database"])
def test_a_database_that_refuses_is_told_without_passwords(end: End, clinic: list[str], *, spoilt: bool) -> None:
    if spoilt:
        Path("people.db").write_text(f"no database, but {PIN}")
    ended = end(*clinic, "dataset.source.query='SELECT * FROM nowhere'")
    assert ended.code == 3
    assert_hidden(ended)
    assert_whole(ended)


@pytest.mark.parametrize(
    "error", [RuntimeError(f"{PIN} {PASSWORD}"), DataError(Fault("table", f"{PIN} {PASSWORD}"))], ids=["any", "ours"]
)
def test_an_error_that_quotes_passwords_is_told_without_them(
    end: End, clinic: list[str], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(job: Any, *_: Any) -> None:
        job.record.event("quoted", text=f"{PIN} {PASSWORD}")
        job.record.note(warnings=[f"{PIN} {PASSWORD}"])
        raise error

    monkeypatch.setattr(pipeline, "fitted", fails)
    ended = end(*clinic)
    assert ended.code == getattr(error, "exit_code", 5)
    assert_hidden(ended)
    assert ended.record.warnings == ["*** ***"]
