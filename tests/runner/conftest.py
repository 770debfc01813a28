"""What tests of run folders share: a small dataset, the opening facts of a run, and whole runs of it."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

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
