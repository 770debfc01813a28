"""What lies in the output folder: runs and sweeps with their status and headline figures. Nothing heavy is imported."""

import os
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shutil import get_terminal_size

from runner.folder import JOBS, SWEEPS, WORK, is_running
from runner.record import RECORD, read_record
from schemas.faults import ConfigurationError, Fault, RunnerError
from schemas.record import Record
from schemas.tables import Metric

UNREADABLE = "unreadable"
INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Row:
    """One run as it is listed.

    Parameters
    ----------
    label : str
        Folder of the run, or number of the job.
    status : str
        Status of the record, or ``unreadable``.
    dataset : str
    note : str
        Headline figures, or why there are none.
    """

    label: str
    status: str
    dataset: str
    note: str


def list_runs(output_dir: Path) -> int:
    """Print the runs and sweeps under an output folder, oldest first.

    Lines are cut at the width of the terminal; into a pipe or file they are written whole.

    Returns
    -------
    int
        0: the exit code.

    Raises
    ------
    ConfigurationError
        When `output_dir` is not a folder that can be read.
    """
    blocks = [block for block in _blocks(output_dir) if len(block) > 1]
    lines = [line for block in blocks for line in ["", *block]][1:] or [f"no runs in {_shown(str(output_dir))}"]
    width = get_terminal_size().columns if sys.stdout.isatty() else None
    for line in lines:
        print(line if width is None or len(line) <= width else line[: width - 3] + "...")  # noqa: T201
    return 0


def _blocks(output_dir: Path) -> Iterator[list[str]]:
    for folder in _folders(output_dir):
        if folder.name != SWEEPS:
            yield [_shown(folder.name), *_lines([_row(run) for run in _folders(folder)])]
            continue
        for named in _folders(folder):
            for sweep in _folders(named):
                jobs = sorted((_row(job) for job in _folders(sweep / JOBS)), key=lambda row: row.label.zfill(9))
                yield [_shown(f"sweep {named.name}/{sweep.name}"), *(_lines(jobs) or ["  no jobs"])]


def _folders(parent: Path) -> list[Path]:
    """Return the folders in a folder, by name without the mark of a work folder; none when there is no such folder."""
    try:
        with os.scandir(parent) as entries:
            found = [parent / entry.name for entry in entries if entry.is_dir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        problem = "is not a folder" if isinstance(error, NotADirectoryError) else "can't be read"
        raise ConfigurationError(Fault("output.dir", f"{parent} {problem}", remedy="set output.dir=FOLDER")) from None
    return sorted(found, key=lambda folder: folder.name.removeprefix(WORK))


def _row(folder: Path) -> Row:
    label = _shown(folder.name.removeprefix(WORK))
    working = folder.name.startswith(WORK)
    status = ("running" if is_running(folder) else INTERRUPTED) if working else UNREADABLE
    try:
        record = read_record(folder)
    except RunnerError as error:
        # A run killed in its first moment has no record yet.
        note = "" if working and not (folder / RECORD).exists() else error.faults[0].problem
        return Row(label, status, "", note)
    if not working and record.status == "running":
        return Row(label, UNREADABLE, record.dataset.name, "a finished folder whose record says that it is running")
    return Row(label, status if working else record.status, _shown(record.dataset.name), _shown(_note(record, status)))


def _note(record: Record, status: str) -> str:
    if record.error is not None:
        what = "" if record.status == INTERRUPTED else record.error.type.rpartition(".")[2]
        return " ".join(part for part in (what, f"in {record.error.stage}" if record.error.stage else "") if part)
    if record.status == "running" or status == INTERRUPTED:
        return f"after {record.stages[-1].name}" if record.stages else "before its first stage ended"
    return "  ".join(headlines(record))


def headlines(record: Record) -> list[str]:
    """Return the headline figures of a record: k before and after, accuracy (or r2) original and anonymized.

    Of a federation it is that of the model that came of it, with the epsilon of the worst client where one holds.
    """
    risk = {row.when: row for row in record.metrics if row.stage == "anonymization" and row.metric == "k"}
    tests = [row for row in record.metrics if row.stage == "model" and row.split == "test" and not row.column]
    found = [_change("k", risk.get("before"), risk.get("after"))]
    for name in ("accuracy", "r2"):
        by_scope = {row.scope: row for row in tests if row.metric == name}
        found.append(_change(name, by_scope.get("original"), by_scope.get("federated") or by_scope.get("anonymized")))
    costs = [row for row in record.metrics if (row.stage, row.metric, row.scope) == ("dp", "epsilon", "worst")]
    found.append(_change("epsilon", None, costs[0] if costs else None))
    return [text for text in found if text]


def _change(name: str, before: Metric | None, after: Metric | None) -> str:
    values = [_brief(row.value) for row in (before, after) if row is not None and row.value is not None]
    return f"{name} {'->'.join(values)}" if values else ""


def _brief(value: float) -> str:
    text = f"{value:.3f}"
    return text.removesuffix(".000") if text.endswith(".000") else text.removeprefix("0")


def _lines(rows: list[Row]) -> list[str]:
    table = [(row.label, row.status, row.dataset, row.note) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(["", *(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True))]).rstrip()
        for line in table
    ]


def _shown(text: str) -> str:
    """Escape what a terminal would act on instead of showing it."""
    hidden = ("C", "Zl", "Zp")
    return "".join(
        character.encode("unicode_escape").decode() if unicodedata.category(character).startswith(hidden) else character
        for character in text
    )
