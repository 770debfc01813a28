"""What tests of run folders share: a small dataset, the opening facts of a run, and whole runs of it."""

import io
import json
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.clinics import clinics
from bench.made import Made
from runner.__main__ import main
from runner.folder import Workspace
from runner.record import opening
from runner.recording import Run, recording
from schemas.dataset import DatasetSchema


class StoppedOnPurposeError(Exception):
    """Ends a test's run in the middle."""


@pytest.fixture
def ward() -> DatasetSchema:
    return DatasetSchema.model_validate(
        {
            "name": "ward",
            "source": {"name": "csv", "path": "ward.csv"},
            "columns": [{"name": "age", "dtype": "integer", "role": "quasi_identifier", "min": 0, "max": 120}],
        }
    )


@pytest.fixture
def ward_opening(ward: DatasetSchema) -> dict[str, Any]:
    return opening(
        seed=7,
        dataset=ward,
        resolved={"name": "ward", "protection": {"responsible": "Dr. Grey", "purpose": "quality of care"}},
        as_written="name: ${dataset.name}\n",
        argv=["seed=7"],
        overrides=["seed=7"],
        choices={"dataset": "ward"},
        files=[("conf/config.yaml", "ab" * 32)],
        streams={"split": 1},
    )


@pytest.fixture
def make_run(ward_opening: dict[str, Any]) -> Callable[..., Path]:
    """Return a function that makes a whole run in an output folder and returns its final place."""

    def made(
        outputs: Path, body: Callable[[Run], None] = lambda _run: None, *, stop: BaseException | None = None
    ) -> Path:
        with (
            suppress(type(stop) if stop else StoppedOnPurposeError),
            Workspace.open(outputs, "ward") as work,
            recording(work, ward_opening) as run,
        ):
            body(run)
            if stop is not None:
                with run.stage("fit"):
                    raise stop
        return work.final

    return made


@dataclass(frozen=True)
class Ended:
    """How a command line ended, and the one run folder that it left."""

    made: Made
    code: int
    out: str
    err: str
    folder: Path

    @cached_property
    def record(self) -> dict[str, Any]:
        loaded = json.loads((self.folder / "record.json").read_text(encoding="utf-8"))
        assert isinstance(loaded, dict)
        return loaded

    @property
    def how(self) -> dict[str, Any]:
        found = self.record["anonymization"]
        assert isinstance(found, dict)
        return found

    @property
    def release(self) -> Path:
        return self.folder / "data" / "release.csv"

    @property
    def files(self) -> dict[str, bytes]:
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in found}

    @property
    def errors(self) -> list[str]:
        return [line.removeprefix("error: ") for line in self.err.splitlines() if line.startswith("error: ")]

    def refused(self, code: int) -> list[str]:
        """Hold a refusal to what every one owes, and return its sentences."""
        assert self.code == code, self.err
        assert self.errors
        assert "Traceback" not in self.err
        assert {name.split("/")[0] for name in self.files} <= {
            "record.json",
            "config.yaml",
            "events.jsonl",
            "metrics.csv",
            *("ledger.csv", "federation"),  # what sites told until then
        }
        assert self.record["status"] == "failed"
        assert self.record["error"]["message"].splitlines() == self.errors
        assert not [path for path in self.folder.parent.iterdir() if path.name.startswith(".work")]
        return self.errors


def do(*argv: str) -> tuple[int, str, str]:
    """Do a command line in this process; return its exit code and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["privacy-runner", *argv])
        code = main(list(argv))
    return code, out.getvalue(), err.getvalue()


class Site:
    """A folder with tables, from beside which runs are started; each run is made once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tables: dict[str, Made] = {}
        self.ended: dict[tuple[str, ...], Ended] = {}
        self.do = do

    def write(self, name: str, table: Made) -> None:
        """Write a table, a second file with its rows in another order, and the option that describes it."""
        self.tables[name] = table
        table.write(self.folder / f"{name}.csv")
        order = random.Random(9).sample(range(len(table.rows)), len(table.rows))  # noqa: S311  # an order, no secret
        table.write(self.folder / f"{name}-shuffled.csv", order)
        source = {"name": "csv", "path": f"{name}.csv"}
        path = self.folder / "options" / "dataset" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump({**table.option, "name": name, "source": source}, sort_keys=False))

    def run(self, name: str, *typed: str) -> Ended:
        """Run on a table, with whatever model the method needs."""
        if (name, *typed) not in self.ended:
            where = f"runs{len(self.ended)}"
            code, out, err = do(f"dataset={name}", *typed, f"output.dir={where}", "--config-dir", "options")
            assert (self.folder / where).exists(), err
            (folder,) = (path for path in (self.folder / where / name).iterdir() if path.is_dir())
            self.ended[name, *typed] = Ended(self.tables[name], code, out, err, folder)
        return self.ended[name, *typed]


@pytest.fixture(scope="module")
def empty_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Return a site without tables."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("PSEUDONYM_KEY", "a key that stands nowhere, and is long")
        yield Site(folder)


TOGETHER = {
    "model": "logistic",
    "anonymization": "lattice",
    "anonymization.k": "3",
    "anonymization.suppression_limit": ".1",
    "minimization": "none",
    "federation": "fedavg",
    "federation.rounds": "2",
    "federation.local.batch_size": "32",
}
"""How clinics train together unless a test says otherwise."""


class Together:
    """Clinics that train together: a table with a class to predict, and one with a number."""

    def __init__(self, site: Site) -> None:
        self.site = site
        site.write("clinics", clinics())
        site.write("scores", clinics(target="score"))

    def typed(self, *typed: str) -> list[str]:
        """Return the overrides of a run; what is typed stands above `TOGETHER`."""
        given = {one.partition("=")[0] for one in typed}
        if "anonymization=none" in typed:
            given |= {key for key in TOGETHER if key.startswith("anonymization.")}
        return [f"{key}={value}" for key, value in TOGETHER.items() if key not in given] + list(typed)

    def run(self, *typed: str, table: str = "clinics") -> Ended:
        """Run a federation."""
        return self.site.run(table, *self.typed(*typed))

    def do(self, *typed: str, verb: str = "", table: str = "clinics") -> tuple[int, str, str]:
        """Do another verb, or what is refused before there is a folder; return exit code and what was printed."""
        first = (verb,) if verb else ()
        return do(*first, f"dataset={table}", *self.typed(*typed), "--config-dir", "options")


@pytest.fixture(scope="module")
def together(empty_site: Site) -> Together:
    """Return clinics that train together."""
    return Together(empty_site)
