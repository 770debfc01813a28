import errno
import fcntl
import os
import re
from pathlib import Path

import pytest

from runner import folder
from runner.folder import Workspace, is_running, name_problem, new_sweep, remove_leftovers, write_whole
from schemas.faults import ConfigurationError


def everything(top: Path) -> list[str]:
    return sorted(path.relative_to(top).as_posix() for path in top.rglob("*"))


def test_work_happens_beside_and_is_moved_by_one_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    seen: list[list[str]] = []
    rename = Path.rename

    def spied(self: Path, target: Path) -> Path:
        seen.append(everything(tmp_path / "ward"))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", spied)
    with Workspace.open(tmp_path, "ward") as work:
        assert re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{6}", work.run_id)
        work.file("data/release.csv").write_text("a\n")
        assert work.files() == ["data/release.csv"]
        assert everything(tmp_path / "ward")[0] == f".work-{work.run_id}"
        assert work.publish() == tmp_path / "ward" / work.run_id
    hidden = f".work-{work.run_id}"
    assert seen == [[hidden, f"{hidden}/data", f"{hidden}/data/release.csv"]]
    assert everything(tmp_path) == [
        "ward",
        f"ward/{work.run_id}",
        f"ward/{work.run_id}/data",
        f"ward/{work.run_id}/data/release.csv",
    ]


def test_everything_is_synced_before_the_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    synced: list[Path] = []
    monkeypatch.setattr(folder, "_sync", synced.append)
    with Workspace.open(tmp_path, "ward") as work:
        work.file("data/deep/release.csv").write_text("a\n")
        work.publish()
    before = [path.relative_to(work.path).as_posix() for path in synced[:-2]]
    assert before == ["data/deep/release.csv", "data/deep", "data", "lock", "."]
    assert synced[-2:] == [tmp_path / "ward", tmp_path]


def test_runs_of_one_second_never_share_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # Random parts that repeat: ids of a run at work, of a finished run, and a fresh one.
    first = Workspace.open(tmp_path, "ward")
    second, suffix = Workspace.open(tmp_path, "ward"), first.run_id[-6:]
    second.publish()
    drawn = iter([suffix, second.run_id[-6:], "ffffff"])
    monkeypatch.setattr(folder.secrets, "token_hex", lambda _: next(drawn))

    class Clock(folder.datetime):
        @classmethod
        def now(cls, tz: object = None) -> "Clock":  # noqa: ARG003
            return cls.strptime(first.run_id[:16], "%Y%m%dT%H%M%SZ")

    second.final.rename(second.final.with_name(f"{first.run_id[:16]}-{second.run_id[-6:]}"))
    monkeypatch.setattr(folder, "datetime", Clock)
    third = Workspace.open(tmp_path, "ward")
    assert third.run_id.endswith("-ffffff")
    first.release()
    second.release()
    third.release()


def test_the_lock_is_held_until_released_and_tells_the_living_from_the_dead(tmp_path: Path):
    work = Workspace.open(tmp_path, "ward")
    assert is_running(work.path)
    work.release()
    work.release()
    assert not is_running(work.path)
    (work.path / "lock").unlink()
    assert not is_running(work.path)


def test_nothing_at_the_final_place_is_ever_replaced(tmp_path: Path):
    for kind in ("folder", "file"):
        with Workspace.open(tmp_path, "ward") as work:
            work.file("a").write_text("new")
            if kind == "folder":
                work.final.mkdir()
            else:
                work.final.write_text("old")
            with pytest.raises(FileExistsError):
                work.publish()
            assert (work.path / "a").read_text() == "new"
            assert work.final.is_dir() if kind == "folder" else work.final.read_text() == "old"


def test_clean_takes_what_was_killed_and_leaves_what_lives(tmp_path: Path):
    (tmp_path / "ward" / ".work-killed").mkdir(parents=True)
    (tmp_path / "sweeps" / "s" / "1" / "jobs" / ".work-3").mkdir(parents=True)
    with Workspace.open(tmp_path, "ward") as alive, Workspace.open(tmp_path, "ward") as done:
        final = done.publish()
        assert remove_leftovers(tmp_path) == 2
        assert alive.path.is_dir()
        assert final.is_dir()
    assert not [path for path in tmp_path.rglob(".work-*") if path != alive.path]


@pytest.mark.parametrize("relative", ["", "/etc/x", "../x", "data/../../x", "lock"])
def test_files_stay_in_the_folder_and_off_what_the_runner_keeps(tmp_path: Path, relative: str):
    with Workspace.open(tmp_path, "ward") as work, pytest.raises(ValueError, match="no place for a file"):
        work.file(relative)


@pytest.mark.parametrize(
    "name", ["", " a", "a ", ".hidden", "..", "a/b", "a\\b", "a\0b", "a\nb", "a\u202eb", "sweeps", "é" * 51, "a\udce9"]
)
def test_odd_names_are_refused_with_a_remedy(tmp_path: Path, name: str):
    for make in (Workspace.open, new_sweep):
        with pytest.raises(ConfigurationError, match=r"^name: .*choose another") as caught:
            make(tmp_path, name)
        assert caught.value.exit_code == 2
    assert everything(tmp_path) == []


@pytest.mark.parametrize("name", ["hospitals", "Ward 7", "klinik-süd", "a.b", "病院"])
def test_plain_names_are_taken(tmp_path: Path, name: str):
    assert name_problem(name) == ""
    Workspace.open(tmp_path, name).release()


def test_a_file_in_the_way_is_a_configuration_fault(tmp_path: Path):
    (tmp_path / "outputs").write_text("")
    (tmp_path / "fine").mkdir()
    (tmp_path / "fine" / "ward").write_text("")
    for outputs in (tmp_path / "outputs", tmp_path / "outputs" / "deeper", tmp_path / "fine"):
        with pytest.raises(ConfigurationError, match=r"output\.dir: a file stands where .*; set output\.dir"):
            Workspace.open(outputs, "ward")


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (errno.ENOSPC, "no space is left"),
        (errno.EDQUOT, "no space is left"),
        (errno.EACCES, "can't be written to"),
        (errno.EROFS, "can't be written to"),
        (errno.ENAMETOOLONG, "can't be used: file name too long"),
    ],
)
def test_what_the_disk_refuses_is_a_configuration_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, told: str
):
    def refused(*_args: object, **_kwargs: object) -> None:
        raise OSError(code, "ZZ-CANARY-7731")

    monkeypatch.setattr(Path, "mkdir", refused)
    for make in (Workspace.open, new_sweep):
        with pytest.raises(ConfigurationError, match=told) as caught:
            make(tmp_path, "ward")
        assert caught.value.faults[0].place == "output.dir"
        assert "ZZ-CANARY-7731" not in str(caught.value)


def test_a_file_system_without_locks_is_told_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refused(*_args: object) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(fcntl, "flock", refused)
    with pytest.raises(ConfigurationError, match="can't be used"):
        Workspace.open(tmp_path, "ward")
    assert everything(tmp_path) == ["ward"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_to_is_told(tmp_path: Path):
    tmp_path.chmod(0o500)
    with pytest.raises(ConfigurationError, match="can't be written to"):
        Workspace.open(tmp_path, "ward")


def test_sweeps_never_share_a_folder_and_jobs_are_never_begun_twice(tmp_path: Path):
    sweep, other = new_sweep(tmp_path, "grid"), new_sweep(tmp_path, "grid")
    assert sweep != other
    assert sweep.parent == tmp_path / "sweeps" / "grid"
    with Workspace.open_job(sweep, 3) as work:
        assert (work.run_id, work.name, work.sweep, work.job) == (f"{sweep.name}-3", "grid", sweep.name, 3)
        with pytest.raises(ConfigurationError, match=r"job 3 .* was begun before"):
            Workspace.open_job(sweep, 3)
        assert work.publish() == sweep / "jobs" / "3"
    with pytest.raises(ConfigurationError, match=r"job 3 .* was begun before"):
        Workspace.open_job(sweep, 3)


def test_a_file_is_replaced_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "record.json"
    write_whole(file, b"old")

    def broken(_: int) -> None:
        raise OSError(errno.EIO, "broken disk")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="broken disk"):
        write_whole(file, b"new")
    assert file.read_bytes() == b"old"
