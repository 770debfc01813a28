"""A run in the making: its stages, facts and outputs, and its end, whichever it is.

::

    with Workspace.open(output_dir, name) as work, recording(work, opening(...), mask=mask) as run:
        with run.stage("dataset") as stage:
            ...
            stage.outputs["table"] = digest
        run.note(**reading_sections(reading))
        path = run.path("data/release.csv")
        ...
        run.output(path, release="releasable", rows=len(frame))
    print(work.final)

Completed, failed or interrupted: at the end of the block the folder stands whole at its final place with a record
that says which. The error goes on to the caller.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from runner import canonical
from runner.events import EventLog, utc_now
from runner.folder import NO_SPACE, Workspace, disk_fault, write_whole
from runner.interrupts import Interrupts, interruptible
from runner.metrics import in_order, metrics_csv
from runner.record import RECORD, Sealer, describe
from schemas.faults import ConfigurationError
from schemas.record import Release
from schemas.tables import Metric

EVENTS = "events.jsonl"
METRICS = "metrics.csv"

MEDIA_TYPES = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".md": "text/markdown",
    ".npz": "application/zip",
    ".parquet": "application/vnd.apache.parquet",
    ".skops": "application/zip",
    ".yaml": "application/yaml",
}


@dataclass
class StageNote:
    """What a stage leaves in the record and in the events.

    Parameters
    ----------
    inputs, outputs : dict of str to str
        SHA-256 of each value taken and made, by name.
    facts : dict
        Counts and names for the event that ends the stage, never cell values.
    """

    inputs: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)


class Run:
    """Collects what a run says of itself. Made by `recording`."""

    def __init__(
        self, work: Workspace, sections: Mapping[str, Any], mask: Callable[[str], str], interrupts: Interrupts
    ) -> None:
        self.id = work.run_id
        self.closed = False
        self._work = work
        self._seal = Sealer(mask)
        self._interrupts = interrupts
        self._outputs: dict[str, dict[str, Any]] = {}
        self._passing: set[str] = set()
        self._failed_stage: str | None = None
        self._sections: dict[str, Any] = {
            "run_id": work.run_id,
            "name": work.name,
            "parent": None if work.sweep is None else {"sweep": work.sweep, "job": work.job},
            "status": "running",
            "error": None,
            "started": utc_now(),
            "ended": None,
            "stages": [],
            **sections,
        }
        self._events = EventLog(work.path / EVENTS, mask)
        self.output(work.path / EVENTS, release="internal")

    def begin(self) -> None:
        """Write the first record, with the status running, and the first event."""
        with self._interrupts.deferred():
            write_whole(self._work.path / RECORD, self._seal(self._sections))
            self._events.write("run started", run_id=self.id)

    @contextmanager
    def stage(self, name: str) -> Iterator[StageNote]:
        """Time a stage and log its start and end; the record on disk then says how far the run has come."""
        note, started, begun = StageNote(), utc_now(), perf_counter()
        self.event("stage started", name)
        try:
            with self._interrupts.heeded():
                yield note
        except BaseException as error:
            self._failed_stage = name
            with suppress(OSError):
                self._stage_over(name, started, begun, note, completed=False)
                self.event("stage stopped", name, error=type(error).__name__)
            raise
        self._stage_over(name, started, begun, note, completed=True)
        self.event("stage finished", name, **note.facts)

    def _stage_over(self, name: str, started: str, begun: float, note: StageNote, *, completed: bool) -> None:
        over = {
            "name": name,
            "completed": completed,
            "started": started,
            "seconds": round(perf_counter() - begun, 3),
            "inputs": note.inputs,
            "outputs": note.outputs,
        }
        self.note(stages=[over])

    @property
    def warnings(self) -> list[str]:
        """What was noted so far that a reader should know."""
        return list(self._sections.get("warnings", []))

    @contextmanager
    def undivided(self) -> Iterator[None]:
        """Let no signal cut a passage in two: it ends the run after it."""
        with self._interrupts.deferred():
            yield

    def event(self, event: str, stage: str = "", **facts: object) -> None:
        """Log an event (see `runner.events.EventLog.write`)."""
        with self._interrupts.deferred():
            self._events.write(event, stage, **facts)

    def note(self, **sections: Any) -> None:
        """Add to the record: lists grow, mappings are merged, anything else is replaced.

        Parameters
        ----------
        **sections
            Fields of `schemas.record.Record`, such as ``flow``, ``anonymization``, ``metrics`` and ``warnings``.

        Raises
        ------
        pydantic.ValidationError, ValueError
            When the record would not be what its schema says; it then stays as it was.
        """
        candidate = {**self._sections, **{name: self._joined(name, value) for name, value in sections.items()}}
        content = self._seal(candidate)
        with self._interrupts.deferred():
            write_whole(self._work.path / RECORD, content)
            self._sections = candidate

    def _joined(self, name: str, value: Any) -> Any:
        old, new = self._sections.get(name), canonical.plain(value)
        if name == "metrics":
            return canonical.plain(in_order(Metric.model_validate(row) for row in [*(old or []), *new]))
        return [*old, *new] if isinstance(old, list) else _merged(old, new)

    def path(self, relative: str) -> Path:
        """Return where to write a file of the run folder (see `Workspace.file`)."""
        return self._work.file(relative)

    def passing(self, relative: str) -> Path:
        """Return where to write a file that goes when the run ends, however it does, such as a checkpoint.

        What a killed process leaves in the work folder still has it.
        """
        path = self.path(relative)
        self._passing.add(path.relative_to(self._work.path).as_posix())
        return path

    def output(self, path: Path, *, release: Release, media_type: str | None = None, rows: int | None = None) -> None:
        """Declare a file that is written and may stand. Files that are not declared go when the run fails.

        Parameters
        ----------
        path : Path
            As `path` returned it.
        release : {"raw", "internal", "releasable"}
        media_type : str, optional
            By the name's ending when left out.
        rows : int, optional
            Rows of a table.
        """
        known = MEDIA_TYPES.get(path.suffix, "application/octet-stream")
        self._outputs[path.relative_to(self._work.path).as_posix()] = {
            "media_type": media_type or known,
            "release": release,
            "rows": rows,
        }

    def close(self, status: str, error: BaseException | None = None) -> None:
        """Write metrics, last event and final record, and move the folder to its final place."""
        self._tidy(failed=error is not None)
        metrics = [Metric.model_validate(row) for row in self._sections.get("metrics", [])]
        write_whole(self.path(METRICS), metrics_csv(metrics))
        self.output(self._work.path / METRICS, release="internal", rows=len(metrics))
        self._events.write(f"run {status}")
        self._events.close()
        final = {
            **self._sections,
            "status": status,
            "error": None if error is None else describe(error, self._failed_stage),
            "ended": utc_now(),
            "outputs": [self._listed(name, facts) for name, facts in sorted(self._outputs.items())],
        }
        write_whole(self._work.path / RECORD, self._seal(final))
        self._work.publish()
        self.closed = True

    def _tidy(self, *, failed: bool) -> None:
        """Remove passing files, and half-made ones of a failed run; refuse others that nobody declared."""
        for name in self._passing:
            (self._work.path / name).unlink(missing_ok=True)
        undeclared = [name for name in self._work.files() if name not in {RECORD, *self._outputs}]
        if not failed and undeclared:
            raise RuntimeError(f"files of the run folder without a release class: {', '.join(undeclared)}")
        for name in undeclared:
            (self._work.path / name).unlink()
        for folder in sorted((path for path in self._work.path.rglob("*") if path.is_dir()), reverse=True):
            with suppress(OSError):  # not empty
                folder.rmdir()

    def _listed(self, name: str, facts: dict[str, Any]) -> dict[str, Any]:
        path = self._work.path / name
        return {"path": name, "bytes": path.stat().st_size, "sha256": canonical.digest_file(path), **facts}


def _merged(old: Any, new: Any) -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: _merged(old.get(key), value) for key, value in new.items()}}
    return new


@contextmanager
def recording(work: Workspace, sections: Mapping[str, Any], mask: Callable[[str], str] = str) -> Iterator[Run]:
    """Record a run in `work` from its first moment to its end.

    Parameters
    ----------
    work : Workspace
    sections : mapping
        What is known of the run (see `runner.record.opening`).
    mask : callable, optional
        Hides secrets in a text.

    Yields
    ------
    Run

    Raises
    ------
    ConfigurationError
        In place of an ``OSError`` that says that the disk is full. Whatever else stopped the run passes through.
    """
    with interruptible() as interrupts:
        try:
            run = Run(work, sections, mask, interrupts)
        except OSError as error:
            raise ConfigurationError(disk_fault(error, work.final.parent)) from None
        try:
            with interrupts.heeded():
                run.begin()
                yield run
            with interrupts.deferred():
                run.close("completed")
        except BaseException as error:
            if run.closed:  # a signal that came while a completed run was put in place
                raise
            cause = _foreseen(error, work)
            # The first error is the one that is told: a full disk may keep even the record from being written.
            with interrupts.ignored(), suppress(Exception):
                run.close("interrupted" if isinstance(error, KeyboardInterrupt) else "failed", cause)
            if cause is error:
                raise
            raise cause from None


def _foreseen(error: BaseException, work: Workspace) -> BaseException:
    if isinstance(error, OSError) and error.errno in NO_SPACE:
        return ConfigurationError(disk_fault(error, work.final.parent)).with_traceback(error.__traceback__)
    return error
