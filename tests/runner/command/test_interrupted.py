"""A signal while a configuration is composed, which libraries swallow or make another error of, ends the command."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import model_validator

from runner import draft, joined, recording
from runner.record import Sealer, read_record
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, Fault

Do = Callable[..., Any]


def swallows(honest: Callable[..., Any]) -> Callable[..., Any]:
    def act(*arguments: Any, **named: Any) -> Any:
        with suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        return honest(*arguments, **named)

    return act


def translates(honest: Callable[..., Any]) -> Callable[..., Any]:
    def act(*arguments: Any, **named: Any) -> Any:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            raise ConfigurationError(Fault("configuration", "can't be read")) from None
        return honest(*arguments, **named)

    return act


def breaks(honest: Callable[..., Any]) -> Callable[..., Any]:
    def act(*arguments: Any, **named: Any) -> Any:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            raise AttributeError from None
        return honest(*arguments, **named)

    return act


@pytest.mark.parametrize("verb", [(), ("plan",), ("-m",), ("list",)], ids=" ".join)
@pytest.mark.parametrize("make", [swallows, translates, breaks])
def test_while_options_are_composed(
    command: Do, pipeline: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, make: Do, verb: tuple[str, ...]
) -> None:
    monkeypatch.setattr(draft, "find_options", make(draft.find_options))
    ended = command(*verb)
    assert (ended.code, ended.out, ended.errors) == (130, "", ["interrupted"])
    assert pipeline.runs == pipeline.jobs == []
    assert {path.name for path in tmp_path.iterdir()} == {"options"}


@pytest.mark.parametrize("make", [swallows, translates, breaks])
def test_while_a_section_is_checked(command: Do, pipeline: Any, monkeypatch: pytest.MonkeyPatch, make: Do) -> None:
    class Checked(DatasetSchema):
        @model_validator(mode="before")
        @classmethod
        def _signalled(cls, given: Any) -> Any:
            return make(lambda: given)()

    monkeypatch.setattr(joined, "DatasetSchema", Checked)
    ended = command()
    assert (ended.code, ended.errors) == (130, ["interrupted"])
    assert pipeline.runs == []


@pytest.mark.parametrize("make", [swallows, breaks])
def test_while_a_record_is_sealed(command: Do, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, make: Do) -> None:
    """Between two stages as well: the next one doesn't begin, and the record says what came."""
    calls = []

    class Sealing(Sealer):
        def __call__(self, sections: Any) -> bytes:
            calls.append(1)
            honest = super().__call__
            return (make(honest) if len(calls) == 3 else honest)(sections)  # the first note of the first stage

    monkeypatch.setattr(recording, "Sealer", Sealing)
    ended = command("dataset=hospitals", "dataset.source.rows=60", "model=none", "anonymization=mondrian", toy=False)
    assert (ended.code, ended.errors[0]) == (130, "interrupted")
    (folder,) = (path.parent for path in (tmp_path / "outputs").glob("*/*/record.json"))
    assert read_record(folder).status == "interrupted"
    assert not list(folder.glob("data/*"))


def test_behind_the_last_stage_it_is_no_completed_run(
    command: Do, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("runner.pipeline.summary", swallows(lambda **_: []))
    ended = command("dataset=hospitals", "dataset.source.rows=60", "model=none", "anonymization=mondrian", toy=False)
    assert ended.code == 130
    (folder,) = (path.parent for path in (tmp_path / "outputs").glob("*/*/record.json"))
    assert read_record(folder).status == "interrupted"
