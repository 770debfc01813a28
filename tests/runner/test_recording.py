import errno
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from runner import canonical
from runner.events import read_chain
from runner.folder import Workspace, new_sweep
from runner.record import read_record
from runner.recording import Run, recording
from schemas.faults import ConfigurationError, DataError, Fault

CANARY = "ZZ-CANARY-7731"
MakeRun = Callable[..., Path]


def work(run: Run) -> None:
    with run.stage("dataset") as stage:
        stage.outputs["table"] = "ef" * 32
        stage.facts["rows"] = 3
    run.note(flow={"rows_in": 3, "columns_in": ["age"]}, warnings=["first"])
    run.note(flow={"rows_out": 3, "columns_out": ["age"]}, warnings=["second"])
    run.note(metrics=[{"stage": "anonymization", "metric": "k", "when": "after", "value": 3}])
    path = run.path("data/release.csv")
    path.write_text("age\n1\n1\n1\n")
    run.output(path, release="releasable", rows=3)


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_completed_run_is_whole_and_its_record_lists_every_other_file(tmp_path: Path, make_run: MakeRun):
    final = make_run(tmp_path, work)
    record = read_record(final)
    assert (record.status, record.error, record.run_id) == ("completed", None, final.name)
    assert files(final) == ["data/release.csv", "events.jsonl", "metrics.csv", "record.json"]
    assert [item.path for item in record.outputs] == ["data/release.csv", "events.jsonl", "metrics.csv"]
    for item in record.outputs:
        assert item.sha256 == canonical.digest_file(final / item.path)
        assert item.bytes == (final / item.path).stat().st_size
    release = record.outputs[0]
    assert (release.media_type, release.release, release.rows) == ("text/csv", "releasable", 3)
    assert [path.name for path in (tmp_path / "ward").iterdir()] == [final.name]


def test_facts_of_several_stages_come_together(tmp_path: Path, make_run: MakeRun):
    record = read_record(make_run(tmp_path, work))
    assert record.flow is not None
    assert (record.flow.rows_in, record.flow.rows_out) == (3, 3)
    assert record.warnings == ["first", "second"]
    assert [stage.outputs for stage in record.stages] == [{"table": "ef" * 32}]
    assert record.metrics[0].value == 3


def test_the_events_tell_the_run_and_hold_together(tmp_path: Path, make_run: MakeRun):
    events = read_chain(make_run(tmp_path, work) / "events.jsonl")
    assert [(event.event, event.stage) for event in events] == [
        ("run started", ""),
        ("stage started", "dataset"),
        ("stage finished", "dataset"),
        ("run completed", ""),
    ]
    assert events[2].facts == {"rows": 3}


def test_the_record_of_a_run_at_work_says_how_far_it_has_come(tmp_path: Path, ward_opening: dict[str, Any]):
    with Workspace.open(tmp_path, "ward") as space, recording(space, ward_opening) as run:
        at_start = read_record(space.path)
        work(run)
        later = read_record(space.path)
        assert not space.final.exists()
    assert (at_start.status, at_start.ended, at_start.stages) == ("running", None, [])
    assert [stage.name for stage in later.stages] == ["dataset"]


@pytest.mark.parametrize(
    ("stop", "status", "message"),
    [
        (DataError(Fault("column 'age'", "1 cell is no number", values=CANARY)), "failed", "column 'age'"),
        (ValueError(CANARY), "failed", None),
        (SystemExit(CANARY), "failed", None),
        (KeyboardInterrupt(), "interrupted", "stopped by the user"),
    ],
)
def test_a_run_that_stops_is_whole_too_and_says_why_without_a_value(
    tmp_path: Path, make_run: MakeRun, stop: BaseException, status: str, message: str | None
):
    def body(run: Run) -> None:
        work(run)
        run.path("data/half.csv").write_text(CANARY)

    final = make_run(tmp_path, body, stop=stop)
    record = read_record(final)
    assert record.status == status
    assert record.error is not None
    assert record.error.stage == "fit"
    assert (record.error.message or "").startswith(message or "")
    assert (record.error.message is None) == (message is None)
    assert files(final) == ["data/release.csv", "events.jsonl", "metrics.csv", "record.json"]
    assert [event.event for event in read_chain(final / "events.jsonl")][-2:] == ["stage stopped", f"run {status}"]
    assert not any(CANARY in (final / name).read_text() for name in files(final))


def test_the_error_goes_on_to_the_caller_as_it_was(tmp_path: Path, ward_opening: dict[str, Any]):
    error = ValueError("as it was")
    with (
        pytest.raises(ValueError, match="as it was") as caught,
        Workspace.open(tmp_path, "ward") as space,
        recording(space, ward_opening),
    ):
        raise error
    assert caught.value is error


def test_a_completed_run_with_a_file_of_no_release_class_is_a_failed_one(tmp_path: Path, ward_opening: dict[str, Any]):
    with (
        pytest.raises(RuntimeError, match=r"without a release class: data/forgotten\.csv"),
        Workspace.open(tmp_path, "ward") as space,
        recording(space, ward_opening) as run,
    ):
        run.path("data/forgotten.csv").write_text("x")
    assert read_record(space.final).status == "failed"
    assert files(space.final) == ["events.jsonl", "metrics.csv", "record.json"]


def test_a_wrong_fact_is_refused_and_the_record_stays_as_it_was(tmp_path: Path, make_run: MakeRun):
    def body(run: Run) -> None:
        with pytest.raises(ValidationError):
            run.note(flow={"rows_in": -1, "columns_in": []})
        with pytest.raises(ValidationError):
            run.note(flwo={})
        with pytest.raises(ValueError, match="two figures"):
            run.note(metrics=[{"stage": "model", "metric": "auc", "value": value} for value in (0.5, 0.6)])

    record = read_record(make_run(tmp_path, body))
    assert (record.status, record.flow, record.metrics) == ("completed", None, [])


def test_a_job_knows_its_sweep(tmp_path: Path, ward_opening: dict[str, Any]):
    sweep = new_sweep(tmp_path, "grid")
    with Workspace.open_job(sweep, 2) as space, recording(space, ward_opening):
        pass
    parent = read_record(sweep / "jobs" / "2").parent
    assert parent is not None
    assert (parent.sweep, parent.job) == (sweep.name, 2)


def test_equal_runs_have_equal_outputs_but_for_times_and_ids(tmp_path: Path, make_run: MakeRun):
    first, second = (make_run(tmp_path, work) for _ in range(2))
    for name in files(first):
        if name not in {"record.json", "events.jsonl"}:
            assert (first / name).read_bytes() == (second / name).read_bytes()

    def timeless(folder: Path) -> str:
        text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z|\d{8}T\d{6}Z-[0-9a-f]{6}", "", (folder / "record.json").read_text())
        return re.sub(r'"seconds":[\d.]+|"[0-9a-f]{64}"|"bytes":\d+', "", text)

    assert timeless(first) == timeless(second)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_in_the_middle_is_a_configuration_fault(tmp_path: Path, ward_opening: dict[str, Any], code: int):
    with (
        pytest.raises(ConfigurationError, match=r"output\.dir: no space is left") as caught,
        Workspace.open(tmp_path, "ward") as space,
        recording(space, ward_opening) as run,
        run.stage("fit"),
    ):
        raise OSError(code, CANARY)
    assert CANARY not in str(caught.value)
    record = read_record(space.final)
    assert record.error is not None
    assert record.error.type.endswith("ConfigurationError")
    assert record.error.stage == "fit"


FULL_DISK = """
import resource, sys
from pathlib import Path
from runner.folder import Workspace
from runner.record import opening
from runner.recording import recording
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError

dataset = DatasetSchema.model_validate({"name": "d", "source": {}, "columns": [{"name": "a", "dtype": "text"}]})
facts = opening(seed=1, dataset=dataset, resolved={"big": "x" * int(sys.argv[2])}, as_written="")
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    with Workspace.open(Path(sys.argv[1]), "ward") as work, recording(work, facts) as run:
        with run.stage("fit"):
            run.path("data/big.csv").write_text("x" * 200_000)
except ConfigurationError as error:
    sys.exit(str(error))
"""


@pytest.mark.parametrize("size", [10, 200_000])
def test_a_disk_that_takes_no_more_leaves_no_half_run(tmp_path: Path, size: int):
    # With the large configuration not even the first record can be written.
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path), str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr.startswith("output.dir: no space is left")
    assert "Traceback" not in done.stderr
    for folder in (tmp_path / "ward").iterdir():
        if not folder.name.startswith(".work-"):
            assert read_record(folder).status == "failed"
    assert any((tmp_path / "ward").iterdir())


def test_a_signal_while_a_completed_run_is_put_in_place_does_not_cut_it(
    tmp_path: Path, ward_opening: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    publish = Workspace.publish

    def signalled(self: Workspace) -> Path:
        os.kill(os.getpid(), signal.SIGINT)
        place = publish(self)
        os.kill(os.getpid(), signal.SIGTERM)
        return place

    monkeypatch.setattr(Workspace, "publish", signalled)
    with pytest.raises(KeyboardInterrupt), Workspace.open(tmp_path, "ward") as space, recording(space, ward_opening):
        pass
    assert read_record(space.final).status == "completed"


def test_a_second_signal_while_an_interrupted_run_is_put_in_place_does_not_cut_it(
    tmp_path: Path, ward_opening: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    publish = Workspace.publish

    def signalled(self: Workspace) -> Path:
        os.kill(os.getpid(), signal.SIGINT)
        return publish(self)

    monkeypatch.setattr(Workspace, "publish", signalled)
    with (
        pytest.raises(KeyboardInterrupt),
        Workspace.open(tmp_path, "ward") as space,
        recording(space, ward_opening) as run,
        run.stage("fit"),
    ):
        os.kill(os.getpid(), signal.SIGTERM)
    record = read_record(space.final)
    assert record.status == "interrupted"
    assert record.error is not None
    assert record.error.stage == "fit"


def test_a_signal_while_a_failed_run_is_put_in_place_neither_cuts_it_nor_hides_the_error(
    tmp_path: Path, ward_opening: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    publish = Workspace.publish

    def signalled(self: Workspace) -> Path:
        os.kill(os.getpid(), signal.SIGINT)
        return publish(self)

    monkeypatch.setattr(Workspace, "publish", signalled)
    with (
        pytest.raises(DataError),
        Workspace.open(tmp_path, "ward") as space,
        recording(space, ward_opening),
    ):
        raise DataError(Fault("a", "b"))
    assert read_record(space.final).status == "failed"


def test_the_first_error_is_told_when_the_end_fails_too(
    tmp_path: Path, ward_opening: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    def broken(_self: Workspace) -> Path:
        raise OSError(errno.EIO, "broken disk")

    monkeypatch.setattr(Workspace, "publish", broken)
    with (
        pytest.raises(ValueError, match="the first"),
        Workspace.open(tmp_path, "ward") as space,
        recording(space, ward_opening),
    ):
        raise ValueError("the first")
    assert space.path.exists()
    assert not space.final.exists()


@pytest.mark.parametrize("stop", [None, ValueError("no"), KeyboardInterrupt()], ids=["completed", "failed", "stopped"])
def test_a_passing_file_goes_when_the_run_ends(
    tmp_path: Path, ward_opening: dict[str, Any], stop: BaseException | None
):
    with (
        suppress(ValueError, KeyboardInterrupt),
        Workspace.open(tmp_path, "ward") as space,
        recording(space, ward_opening) as run,
    ):
        run.passing("federation/never-written.npz")
        kept = run.passing("federation/checkpoint.npz")
        kept.write_bytes(b"so far")
        assert kept.is_relative_to(space.path)
        if stop is not None:
            raise stop
    assert not [path for path in space.final.rglob("*") if "federation" in path.parts or path.suffix == ".npz"]
    assert not space.path.exists()
