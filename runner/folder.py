"""The folder of a run: worked in beside its final place, and moved there by one rename when it is whole.

Killed at any moment, a run leaves at its final place nothing or all of itself. What it leaves beside
(``.work-<id>``) has a lock file whose lock the operating system frees with the process: a free lock on a work
folder means that its run was interrupted.
"""

import errno
import fcntl
import os
import secrets
import shutil
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Self

from schemas.faults import ConfigurationError, Fault

WORK = ".work-"
LOCK = "lock"
SWEEPS = "sweeps"
JOBS = "jobs"
NAME_BYTES = 100

NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
NOT_ALLOWED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
IN_THE_WAY = frozenset({errno.ENOTDIR, errno.EEXIST})


@dataclass(eq=False)
class Workspace:
    """A run's folder while it is being worked in.

    Made by `Workspace.open` or `Workspace.open_job`; as a context manager it frees its lock at the end.

    Parameters
    ----------
    run_id : str
        Made once: UTC time and a random part.
    name : str
        Name of the run (of the sweep, for a job).
    path : Path
        The folder to work in.
    final : Path
        Where the folder will stand once it is whole.
    sweep, job : str and int, or None
        Id of the sweep and number of the job in it.
    """

    run_id: str
    name: str
    path: Path
    final: Path
    sweep: str | None = None
    job: int | None = None
    _lock: int | None = field(default=None, init=False, repr=False)

    @classmethod
    def open(cls, output_dir: Path, name: str) -> Self:
        """Make the work folder ``<output_dir>/<name>/.work-<id>`` and lock it.

        Raises
        ------
        ConfigurationError
            When `name` is no plain folder name, or the folder can't be made.
        """
        _refuse_bad_name(name)
        with _told_as_faults(output_dir):
            parent = output_dir / name
            run_id = _new_folder(parent, WORK)
            return cls(run_id, name, parent / f"{WORK}{run_id}", parent / run_id).lock()

    @classmethod
    def open_job(cls, sweep: Path, number: int) -> Self:
        """Make the work folder ``<sweep>/jobs/.work-<number>`` of a sweep's job and lock it.

        Raises
        ------
        ConfigurationError
            When the job was begun before, or the folder can't be made.
        """
        jobs = sweep / JOBS
        work, final = jobs / f"{WORK}{number}", jobs / str(number)
        with _told_as_faults(jobs):
            jobs.mkdir(parents=True, exist_ok=True)
            if os.path.lexists(final) or os.path.lexists(work):
                raise ConfigurationError(Fault("output.dir", f"job {number} of sweep {sweep.name} was begun before"))
            work.mkdir()
            return cls(f"{sweep.name}-{number}", sweep.parent.name, work, final, sweep.name, number).lock()

    def lock(self) -> Self:
        """Make the lock file and lock it, until `release` or the end of the process."""
        self._lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX)  # waits for no longer than a listing looks
        except OSError:  # a file system without locks
            self.release()
            shutil.rmtree(self.path, ignore_errors=True)
            raise
        return self

    def __enter__(self) -> Self:
        """Return the workspace itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Free the lock."""
        self.release()

    def release(self) -> None:
        """Free the lock; may be called again."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def file(self, relative: str) -> Path:
        """Return where to write a file of the run folder; its folder is made.

        Raises
        ------
        ValueError
            When `relative` leaves the folder, or names what the runner itself keeps there.
        """
        parts = PurePosixPath(relative).parts
        if not parts or parts[0] in {"/", LOCK} or ".." in parts:
            raise ValueError(f"{relative!r} is no place for a file of a run folder")
        path = self.path.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def files(self) -> list[str]:
        """Return the files that will be in the finished folder, as sorted relative paths with forward slashes."""
        found = (path for path in self.path.rglob("*") if path.is_symlink() or not path.is_dir())
        relative = (path.relative_to(self.path) for path in found)
        return sorted(path.as_posix() for path in relative if path.parts[0] != LOCK)

    def publish(self) -> Path:
        """Sync everything and move the folder to its final place. Nothing that stands there is ever replaced.

        Returns
        -------
        Path
            The final place.

        Raises
        ------
        FileExistsError
            When something stands there. The work folder stays.
        """
        if os.path.lexists(self.final):
            raise FileExistsError(errno.EEXIST, "the final place is taken", str(self.final))
        _sync_tree(self.path)
        (self.path / LOCK).unlink()
        self.path.rename(self.final)
        # From here on the run is whole and in place; a parent that can't be synced takes nothing from that.
        with suppress(OSError):
            _sync(self.final.parent)
            _sync(self.final.parent.parent)
        return self.final


def new_sweep(output_dir: Path, name: str) -> Path:
    """Make the folder ``<output_dir>/sweeps/<name>/<id>`` of a new sweep, with its ``jobs`` folder.

    Raises
    ------
    ConfigurationError
        When `name` is no plain folder name, or the folder can't be made.
    """
    _refuse_bad_name(name)
    with _told_as_faults(output_dir):
        parent = output_dir / SWEEPS / name
        folder = parent / _new_folder(parent)
        (folder / JOBS).mkdir()
        return folder


def name_problem(name: str) -> str:
    """Return what keeps a text from being the name of a run or sweep; empty when nothing does."""
    if not name or name != name.strip():
        return "is empty or has blanks at its ends"
    if name.startswith(".") or any(mark in name for mark in "/\\"):
        return "starts with a dot or holds a slash"
    if any(unicodedata.category(character).startswith("C") for character in name):
        return "holds characters that can't be shown"
    if len(name.encode()) > NAME_BYTES:
        return f"is longer than {NAME_BYTES} bytes"
    return "is kept for sweeps" if name == SWEEPS else ""


def is_running(work: Path) -> bool:
    """Tell whether the run that works in folder `work` is alive, by its lock."""
    try:
        lock = os.open(work / LOCK, os.O_RDONLY)
    except FileNotFoundError:
        return False
    except OSError:
        return True  # it can't be told; the careful answer, for nobody takes over what runs
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def remove_leftovers(output_dir: Path) -> int:
    """Remove what killed runs and jobs left below an output folder, and leave alone what is alive.

    Returns
    -------
    int
        How many folders were removed.
    """
    left = [path for path in output_dir.rglob(f"{WORK}*") if path.is_dir() and not is_running(path)]
    for path in left:
        shutil.rmtree(path)
    return len(left)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that readers find the old content or the new, never a part."""
    beside = path.with_name(f".{path.name}.new")
    with beside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def disk_fault(error: OSError, folder: Path) -> Fault:
    """Say as a configuration fault why an output folder can't be written to."""
    if error.errno in NO_SPACE:
        return Fault("output.dir", f"no space is left for {folder}", remedy="free some, or set another output.dir")
    remedy = "set output.dir to a folder that you may write to"
    if error.errno in NOT_ALLOWED:
        return Fault("output.dir", f"{folder} can't be written to", remedy=remedy)
    if error.errno in IN_THE_WAY:
        return Fault("output.dir", f"a file stands where the folder {folder} is to be", remedy=remedy)
    why = os.strerror(error.errno).lower() if error.errno else type(error).__name__
    return Fault("output.dir", f"{folder} can't be used: {why}", remedy=remedy)


@contextmanager
def _told_as_faults(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigurationError(disk_fault(error, folder)) from None


def _refuse_bad_name(name: str) -> None:
    if problem := name_problem(name):
        allowed = f"a plain folder name of at most {NAME_BYTES} bytes"
        raise ConfigurationError(Fault("name", f"{name!r} {problem}", allowed, "choose another with name=NAME"))


def _new_folder(parent: Path, prefix: str = "") -> str:
    """Make a folder of a new id in `parent`; the exclusive mkdir keeps two runs of one second apart."""
    parent.mkdir(parents=True, exist_ok=True)
    while True:
        new_id = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
        if os.path.lexists(parent / new_id):
            continue
        try:
            (parent / f"{prefix}{new_id}").mkdir()
        except FileExistsError:
            continue
        return new_id


def _sync_tree(folder: Path) -> None:
    for current, _, names in os.walk(folder, topdown=False):
        for name in names:
            _sync(Path(current, name))
        _sync(Path(current))


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
