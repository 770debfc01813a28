import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner import listing
from runner.folder import Workspace, new_sweep
from runner.listing import list_runs
from runner.recording import Run, recording
from schemas.faults import ConfigurationError, DataError, Fault

MakeRun = Callable[..., Path]


def measured(run: Run) -> None:
    scopes = {"constant": 0.6, "original": 0.81234, "anonymized": 0.79}
    run.note(
        metrics=[
            *(
                {"stage": "anonymization", "metric": "k", "when": w, "value": v}
                for w, v in (("before", 1), ("after", 100))
            ),
            *(
                {"stage": "model", "metric": "accuracy", "scope": s, "split": "test", "value": v}
                for s, v in scopes.items()
            ),
            {"stage": "model", "metric": "accuracy", "scope": "original", "split": "train", "value": 1},
        ]
    )


def listed(outputs: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert list_runs(outputs) == 0
    return capsys.readouterr().out.splitlines()


def line_of(run: str, lines: list[str]) -> str:
    return re.sub(r" +", " ", next(line for line in lines if run in line)).strip()


def test_an_empty_or_absent_folder_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "README.md").write_text("kept")
    (tmp_path / "empty").mkdir()
    assert listed(tmp_path, capsys) == [f"no runs in {tmp_path}"]
    assert listed(tmp_path / "absent", capsys) == [f"no runs in {tmp_path / 'absent'}"]


def test_a_file_in_place_of_the_folder_is_a_fault(tmp_path: Path):
    (tmp_path / "outputs").write_text("")
    with pytest.raises(ConfigurationError, match=r"output\.dir: .* is not a folder"):
        list_runs(tmp_path / "outputs")


def test_runs_are_listed_with_status_dataset_and_headline_figures(
    tmp_path: Path, make_run: MakeRun, ward_opening: dict[str, Any], capsys: pytest.CaptureFixture[str]
):
    done = make_run(tmp_path, measured)
    failed = make_run(tmp_path, stop=DataError(Fault("a", "b")))
    stopped = make_run(tmp_path, stop=KeyboardInterrupt())
    with Workspace.open(tmp_path, "ward") as alive, recording(alive, ward_opening) as run:
        with run.stage("dataset"):
            pass
        killed = Workspace.open(tmp_path, "ward")
        killed.release()
        lines = listed(tmp_path, capsys)
    assert lines[0] == "ward"
    assert len(lines) == 6
    assert line_of(done.name, lines) == f"{done.name} completed ward k 1->100 accuracy .812->.790"
    assert line_of(failed.name, lines) == f"{failed.name} failed ward DataError in fit"
    assert line_of(stopped.name, lines) == f"{stopped.name} interrupted ward in fit"
    assert line_of(alive.run_id, lines) == f"{alive.run_id} running ward after dataset"
    assert line_of(killed.run_id, lines) == f"{killed.run_id} interrupted"
    assert lines[1:] == sorted(lines[1:])
    assert max(map(len, lines)) <= 80


def test_a_killed_run_with_a_record_is_interrupted_whatever_its_record_says(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
):
    # Killed between the removal of the lock file and the rename: complete, but never put in place.
    final = make_run(tmp_path, measured)
    final.rename(final.with_name(f".work-{final.name}"))
    assert line_of(final.name, listed(tmp_path, capsys)).startswith(f"{final.name} interrupted ward")


def test_jobs_are_listed_under_their_sweep_by_number(
    tmp_path: Path, ward_opening: dict[str, Any], capsys: pytest.CaptureFixture[str]
):
    empty, sweep = new_sweep(tmp_path, "a-grid"), new_sweep(tmp_path, "b-grid")
    for number in (10, 9, 0):
        with Workspace.open_job(sweep, number) as work, recording(work, ward_opening):
            pass
    Workspace.open_job(sweep, 1).release()
    assert listed(tmp_path, capsys) == [
        f"sweep a-grid/{empty.name}",
        "  no jobs",
        "",
        f"sweep b-grid/{sweep.name}",
        "  0   completed    ward",
        "  1   interrupted",
        "  9   completed    ward",
        "  10  completed    ward",
    ]


def test_damaged_folders_are_listed_and_do_not_hide_the_others(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
):
    good, edited, running = (make_run(tmp_path) for _ in range(3))
    record = edited / "record.json"
    record.write_text(record.read_text().replace("quality of care", "quality of cure"))
    with Workspace.open(tmp_path, "ward") as alive:
        alive.file("record.json").write_text("half a rec")
        text = (tmp_path / "ward" / running.name / "record.json").read_text()
        assert "completed" in text
        bare, odd = tmp_path / "ward" / "bare", tmp_path / "ward" / "odd"
        bare.mkdir()
        (odd / "record.json").mkdir(parents=True)
        (tmp_path / "ward" / "\x1b[31mred\n").mkdir()
        lines = listed(tmp_path, capsys)
    assert line_of(good.name, lines) == f"{good.name} completed ward"
    assert line_of(edited.name, lines).startswith(f"{edited.name} unreadable was changed")
    assert line_of(alive.run_id, lines) == f"{alive.run_id} running is no JSON"
    assert line_of("bare", lines) == "bare unreadable is missing"
    assert line_of("odd", lines).startswith("odd unreadable can't be read")
    assert line_of("red", lines) == r"\x1b[31mred\n unreadable is missing"


def test_a_finished_folder_whose_record_is_still_running_is_unreadable(
    tmp_path: Path, ward_opening: dict[str, Any], capsys: pytest.CaptureFixture[str]
):
    with Workspace.open(tmp_path, "ward") as work, recording(work, ward_opening):
        copy = tmp_path / "ward" / "copied"
        copy.mkdir()
        (copy / "record.json").write_bytes((work.path / "record.json").read_bytes())
    assert "unreadable" in line_of("copied", listed(tmp_path, capsys))


def test_lines_are_cut_at_the_terminal_and_whole_in_a_pipe(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    make_run(tmp_path, measured)
    whole = listed(tmp_path, capsys)
    monkeypatch.setattr(listing, "get_terminal_size", lambda: os.terminal_size((40, 24)))
    assert listed(tmp_path, capsys) == whole
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    cut = listed(tmp_path, capsys)
    assert len(cut[1]) == 40
    assert cut[1].endswith("...")
    assert whole[1].startswith(cut[1][:-3])


def test_an_undefined_figure_does_not_break_the_listing(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
):
    def body(run: Run) -> None:
        scores = {"original": None, "anonymized": -0.25}
        run.note(
            metrics=[
                {"stage": "model", "metric": "r2", "scope": s, "split": "test", "value": v} for s, v in scores.items()
            ]
        )

    assert line_of("ward", listed(make_run(tmp_path, body).parent.parent, capsys)[1:]).endswith("ward r2 -0.250")


def test_listing_and_recording_import_nothing_heavy(tmp_path: Path, make_run: MakeRun):
    make_run(tmp_path, measured)
    code = (
        "import json, sys; from pathlib import Path; import runner.recording; from runner.listing import list_runs\n"
        f"list_runs(Path({str(tmp_path)!r}))\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert "runner.listing" in loaded
    assert not loaded & {"numpy", "pandas", "pandera", "pyarrow", "sklearn", "scipy", "torch", "hydra", "omegaconf"}
