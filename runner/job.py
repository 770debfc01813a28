"""What every stage of a run needs."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from components.brought import Brought
from components.data import InputFact
from runner.compose import Composed
from runner.recording import Run, StageNote
from runner.terminal import Screen
from schemas.tables import Metric


@dataclass(frozen=True)
class Job:
    """The configuration, the record and the screen of a run, and what was measured, read and brought so far."""

    composed: Composed
    record: Run
    screen: Screen
    metrics: list[Metric] = field(default_factory=list)
    inputs: list[InputFact] = field(default_factory=list)
    code: list[Brought] = field(default_factory=list)

    @property
    def config(self) -> Any:  # the sections' types are known by their registered names alone
        """The validated configuration."""
        return self.composed.config

    @contextmanager
    def stage(self, name: str) -> Iterator[StageNote]:
        """Show and record a stage."""
        self.screen.stage(name)
        with self.record.stage(name) as note:
            yield note
        self.screen.done()

    def measured(self, metrics: list[Metric]) -> None:
        """Record figures."""
        self.metrics.extend(metrics)
        self.record.note(metrics=metrics)

    def read(self, inputs: list[InputFact]) -> None:
        """Record files that were read beside the table, each once."""
        new = [each for each in inputs if each not in self.inputs]
        if new:
            self.inputs.extend(new)
            self.record.note(dataset={"inputs": self.inputs})

    def brought(self, code: Iterable[Brought]) -> None:
        """Record code of others or of the user's, each piece once."""
        new = [each for each in code if each not in self.code]
        if new:
            self.code.extend(new)
            self.record.note(invocation={"plugins": [asdict(each) for each in self.code]})

    def skip(self, name: str, reason: str) -> None:
        """Show and record that a stage is not part of the run."""
        self.record.event("stage skipped", name, reason=reason)
        self.screen.done()
