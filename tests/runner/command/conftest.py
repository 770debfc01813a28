"""What tests of the command line share: a folder of options of its own, and composing from it."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from runner.compose import Composed, compose_run
from schemas.faults import ConfigurationError, Fault

TOY = """\
name: toy
synthetic: true
source: {name: csv, path: toy.csv}
columns:
  age: {dtype: integer, role: quasi_identifier, min: 0, max: 120}
  sex: {dtype: category, role: quasi_identifier, values: [f, m]}
  ward: {dtype: category, role: sensitive, values: [a, b]}
  cured: {dtype: category, role: insensitive, values: ["yes", "no"]}
target: cured
task: classification
"""


class Mine:
    """A folder of options of the test's own, as ``--config-dir`` takes it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("dataset/toy", TOY)

    def write(self, option: str, text: str | bytes) -> Path:
        """Write one option file."""
        path = self.folder / f"{option}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def vary(self, old: str, new: str) -> None:
        """Change the toy dataset's file."""
        assert old in TOY
        self.write("dataset/toy", TOY.replace(old, new))

    def compose(self, *overrides: str) -> Composed:
        """Compose with the toy dataset."""
        return compose_run(["dataset=toy", *overrides], self.folder)

    def faults(self, *overrides: str, dataset: str = "dataset=toy") -> list[Fault]:
        """Return all that is wrong, or fail."""
        with pytest.raises(ConfigurationError) as caught:
            compose_run([*([dataset] if dataset else []), *overrides], self.folder)
        assert caught.value.exit_code == 2
        return list(caught.value.faults)

    def fault(self, *overrides: str, dataset: str = "dataset=toy") -> Fault:
        """Return the one thing that is wrong, or fail."""
        (fault,) = self.faults(*overrides, dataset=dataset)
        return fault


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mine:
    """Return a folder of options, from beside which commands are started."""
    monkeypatch.chdir(tmp_path)
    return Mine(Path("options"))


class Pipeline:
    """Stands in for the pipeline: says what it was asked to run."""

    def __init__(self) -> None:
        self.runs: list[Composed] = []
        self.jobs: list[tuple[int, Composed]] = []
        self.ending: Callable[[Composed], int] = lambda _: 0

    def run(self, composed: Composed) -> int:
        self.runs.append(composed)
        return self.ending(composed)

    def run_job(self, composed: Composed, sweep: Path, number: int) -> int:
        assert (sweep / "jobs").is_dir()
        self.jobs.append((number, composed))
        return self.ending(composed)


@pytest.fixture
def pipeline(monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """Put a stand-in where the pipeline is."""
    stand_in = Pipeline()
    module = SimpleNamespace(run=stand_in.run, run_job=stand_in.run_job)
    monkeypatch.setitem(sys.modules, "runner.pipeline", module)
    return stand_in


@pytest.fixture
def command(mine: Mine, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Return a function that does a command line and returns its exit code, output and errors."""
    from runner.cli import command as do

    def act(*arguments: str, toy: bool = True) -> SimpleNamespace:
        capsys.readouterr()
        own: Sequence[str] = ("--config-dir", str(mine.folder), "dataset=toy") if toy else ()
        code = do([*arguments, *own])
        said = capsys.readouterr()
        return SimpleNamespace(code=code, out=said.out, err=said.err, errors=said.err.splitlines())

    return act
