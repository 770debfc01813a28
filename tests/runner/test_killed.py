"""Runs that are killed or told to stop from outside: at the final place stands nothing or a whole run."""

import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner import canonical
from runner.events import read_chain
from runner.listing import list_runs
from runner.record import read_record

WORKER = """
import sys
from pathlib import Path
from runner.folder import Workspace
from runner.record import opening
from runner.recording import recording
from schemas.dataset import DatasetSchema

dataset = DatasetSchema.model_validate({"name": "d", "source": {}, "columns": [{"name": "a", "dtype": "text"}]})
facts = opening(seed=1, dataset=dataset, resolved={}, as_written="")
print("ready", flush=True)
try:
    while True:
        with Workspace.open(Path(sys.argv[1]), "ward") as work, recording(work, facts) as run:
            for number in range(int(sys.argv[2])):
                with run.stage(f"stage-{number}") as stage:
                    path = run.path(f"data/{number}.csv")
                    path.write_text("a" * 10_000)
                    run.output(path, release="internal", rows=1)
except KeyboardInterrupt:
    sys.exit(130)
"""


EVERY_MOMENT = """
import os, signal, sys
from pathlib import Path
from runner.folder import Workspace
from runner.record import opening
from runner.recording import recording
from schemas.dataset import DatasetSchema

dataset = DatasetSchema.model_validate({"name": "d", "source": {}, "columns": [{"name": "a", "dtype": "text"}]})
facts = opening(seed=1, dataset=dataset, resolved={}, as_written="")

def one_run(outputs):
    with Workspace.open(outputs, "ward") as work, recording(work, facts) as run:
        with run.stage("fit"):
            path = run.path("data/release.csv")
            path.write_text("a")
            run.output(path, release="internal", rows=1)

for moment in range(1000):
    child = os.fork()
    if not child:
        left = moment
        def count_down(event, _):
            global left
            left -= event == "open" or event.startswith(("os.", "fcntl.", "shutil."))
            if left == -1:
                os.kill(os.getpid(), int(sys.argv[2]))
        outputs = Path(sys.argv[1], str(moment))
        sys.addaudithook(count_down)
        try:
            one_run(outputs)
        except KeyboardInterrupt:
            os._exit(130)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
print(moment)
"""
"""Sends a run a signal at its first call to the file system, the next one at its second, and so on to the last."""


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a process that makes runs without end; it is imported and at work when the test gets it."""
    process = started(tmp_path, stages=4)
    yield process
    process.kill()
    process.communicate()


def started(outputs: Path, stages: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORKER, str(outputs), str(stages)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def finished(outputs: Path) -> dict[str, bytes]:
    runs = [folder for folder in outputs.glob("ward/*") if not folder.name.startswith(".work-")]
    files = [path for run in runs for path in run.rglob("*") if path.is_file()]
    return {path.relative_to(outputs).as_posix(): path.read_bytes() for path in files}


def assert_whole(run: Path) -> str:
    record = read_record(run)
    there = {path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_file()}
    assert there == {"record.json", *(item.path for item in record.outputs)}
    assert all(item.sha256 == canonical.digest_file(run / item.path) for item in record.outputs)
    assert read_chain(run / "events.jsonl")[-1].event == f"run {record.status}"
    return record.status


def signalled_at_every_moment(outputs: Path, number: signal.Signals) -> int:
    command = [sys.executable, "-c", EVERY_MOMENT, str(outputs), str(number.value)]
    moments = int(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout)
    assert 40 < moments < 999
    return moments


def test_killed_at_any_moment_nothing_half_stands_at_the_final_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    moments = random.Random(20240229)  # noqa: S311
    for _ in range(15):
        earlier = finished(tmp_path)
        process = started(tmp_path, stages=4)
        time.sleep(moments.uniform(0, 0.12))
        process.kill()
        process.communicate()
        assert earlier.items() <= finished(tmp_path).items()
    for folder in (tmp_path / "ward").iterdir():
        if not folder.name.startswith(".work-"):
            assert assert_whole(folder) == "completed"
    list_runs(tmp_path)
    lines = capsys.readouterr().out
    left = list((tmp_path / "ward").glob(".work-*"))
    assert 10 <= len(left) <= 15
    for folder in left:
        assert re.search(rf"{folder.name.removeprefix('.work-')}  interrupted\b", lines)
    assert len(re.findall(r"  completed\b", lines)) == len(list((tmp_path / "ward").iterdir())) - len(left)
    assert "unreadable" not in lines
    assert "running" not in lines


def test_killed_at_each_call_to_the_file_system_nothing_half_stands_at_the_final_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    moments = signalled_at_every_moment(tmp_path, signal.SIGKILL)
    for moment in range(moments):
        for folder in (tmp_path / str(moment)).glob("ward/*"):
            if not folder.name.startswith(".work-"):
                assert assert_whole(folder) == "completed"
        list_runs(tmp_path / str(moment))
        lines = capsys.readouterr().out
        assert "unreadable" not in lines
        assert "running" not in lines
        assert ("interrupted" in lines) == any((tmp_path / str(moment)).glob("ward/.work-*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_told_to_stop_a_run_ends_whole_and_interrupted(
    worker: subprocess.Popen[str], tmp_path: Path, number: signal.Signals
):
    time.sleep(0.05)
    worker.send_signal(number)
    worker.send_signal(signal.SIGINT)  # an impatient second one
    _, errors = worker.communicate(timeout=30)
    assert errors == ""
    assert worker.returncode in {130, -signal.SIGTERM}  # between two runs nobody handles the polite ones
    # A folder without a record is one that was stopped before the run took over (see the next test).
    begun = [each for each in (tmp_path / "ward").iterdir() if each.name[0] != "." or (each / "record.json").exists()]
    statuses = [assert_whole(run) for run in begun]
    assert set(statuses) <= {"completed", "interrupted"}
    assert statuses.count("interrupted") <= 1


def test_told_to_stop_at_each_call_to_the_file_system_a_run_that_has_begun_ends_whole(tmp_path: Path):
    moments = signalled_at_every_moment(tmp_path, signal.SIGTERM)
    left = list(tmp_path.glob("*/ward/.work-*"))
    assert all(not (folder / "record.json").exists() for folder in left)  # stopped before the run took over
    assert len(left) <= 3
    statuses = [assert_whole(folder) for folder in tmp_path.glob("*/ward/2*")]
    assert set(statuses) == {"interrupted", "completed"}
    assert len(statuses) + len(left) >= moments - 3
