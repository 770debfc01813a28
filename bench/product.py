"""The product as a user meets it: a process, its words, its exit code and the folder it leaves."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
ADULT = ROOT.parent / "shared" / "data" / "adult.csv"


@dataclass(frozen=True)
class Finished:
    """One finished call of the runner."""

    exit_code: int
    stdout: str
    stderr: str
    folder: Path | None

    @property
    def record(self) -> dict[str, Any]:
        """The record of the run."""
        if self.folder is None:
            raise LookupError(f"the call left no run folder: {self.stderr}")
        read: dict[str, Any] = json.loads((self.folder / "record.json").read_text(encoding="utf-8"))
        return read

    @property
    def release(self) -> pd.DataFrame:
        """The released table, read back from its CSV file as text."""
        if self.folder is None:
            raise LookupError(f"the call left no run folder: {self.stderr}")
        return pd.read_csv(self.folder / "data" / "release.csv", dtype=str, keep_default_na=False)

    def metric(self, stage: str, name: str, **where: str) -> float:
        """Return the one value of metrics.csv that fits."""
        if self.folder is None:
            raise LookupError(f"the call left no run folder: {self.stderr}")
        table = pd.read_csv(self.folder / "metrics.csv", keep_default_na=False)
        fits = (table["stage"] == stage) & (table["metric"] == name)
        for column, value in where.items():
            fits &= table[column] == value
        (value,) = table.loc[fits, "value"]
        return float(value)


def environment() -> dict[str, str]:
    """Return the environment of a call: one thread a process, so that parallel calls don't fight."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "HYDRA_FULL_ERROR": "0"}


def run_folders(outputs: Path) -> set[Path]:
    """Return the finished run folders below an output folder."""
    return {record.parent for record in outputs.glob("*/*/record.json") if not record.parent.name.startswith(".")}


def call(*arguments: str, cwd: Path, outputs: Path | None = None, module: str = "runner") -> Finished:
    """Call ``python -m runner`` with `arguments` from `cwd` and wait for its end.

    Parameters
    ----------
    *arguments : str
        What a user would type behind ``python -m runner``.
    cwd : Path
        The folder it is started in.
    outputs : Path, optional
        Where its run folders come to stand; ``cwd/outputs`` without it.
    module : str, optional
        The module to start.
    """
    place = outputs or cwd / "outputs"
    before = run_folders(place)
    done = subprocess.run(  # noqa: S603  # our own interpreter with arguments of our own
        [sys.executable, "-m", module, *arguments],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    new = run_folders(place) - before
    return Finished(done.returncode, done.stdout, done.stderr, new.pop() if len(new) == 1 else None)


def class_sizes(frame: pd.DataFrame, columns: list[str]) -> list[int]:
    """Count the rows of each equivalence class by plain dictionaries, independently of the product's code."""
    counts: dict[tuple[str, ...], int] = {}
    for row in zip(*(frame[column] for column in columns), strict=True):
        counts[row] = counts.get(row, 0) + 1
    return sorted(counts.values())
