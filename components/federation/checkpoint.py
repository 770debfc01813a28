"""Checkpoints of a training: all that a later round needs, so that what was interrupted goes on.

A checkpoint is a history that only grows (see `history`) and the state after its last round: an uncompressed ``.npz``
of vectors and of one text in JSON. Nothing in them can be executed. They hold what the server and every client keep to
themselves (control variates, accounts), so that only their owner may read them.

What a round puts to the accounts is kept before anything of it leaves a client. A round that was cut off is done anew,
with new noise, and counts twice: nobody knows who saw what of it. Noise itself is never kept: what was seeded starts
anew, and has no claim to lose.
"""

import io
import json
import os
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from components.federation import history
from components.federation.client import Client
from components.federation.control import ControlVariate
from components.federation.history import History, ahead_line, round_line
from components.federation.identity import PLACE, refuse_another
from components.federation.layout import Weights
from components.federation.rounds import Spending, Training
from schemas.base import Contract
from schemas.faults import ConfigurationError, DataError, Fault

STATE, HISTORY = "state.npz", "history.jsonl"
TOLD = "told"
"""Name of the array that holds the JSON text; all others are vectors."""


class State(Contract):
    """What the text of a state says."""

    rounds: int
    streaks: dict[str, int]
    clip: float | None
    accounts: dict[str, int]


class Checkpoint(NamedTuple):
    """What is kept of a training: the content of `STATE` and of `HISTORY`."""

    state: bytes
    history: bytes


def packed(training: Training) -> Checkpoint:
    """Return a training as it stands between two rounds.

    Parameters
    ----------
    training : Training
    """
    return Checkpoint(_state(training), b"".join(history.lines(training)))


def read(folder: Path) -> Checkpoint:
    """Return the checkpoint that a `Keeper` left in a folder.

    Raises
    ------
    DataError
        There is none.
    """
    try:
        return Checkpoint((folder / STATE).read_bytes(), (folder / HISTORY).read_bytes())
    except FileNotFoundError:
        raise DataError(_damaged()) from None


def resume(training: Training, kept: Checkpoint) -> None:
    """Put a training where a checkpoint of the same one was taken; `Training.run` then does the rounds that are left.

    Parameters
    ----------
    training : Training
        Fresh: of the same declaration, clients, rows and network, no round done.
    kept : Checkpoint
        Of `packed` or `read`.

    Raises
    ------
    ConfigurationError
        The checkpoint is of another training; with all that differs. `training` is as it was.
    DataError
        It is no checkpoint, or a damaged one. `training` is as it was.
    ValueError
        `training` has begun: an account never restarts.
    """
    if training.rounds or any(each.guard.account and each.guard.account.entries for each in training.clients):
        raise ValueError("a training that has begun can't be put back")
    told, vectors = _read(kept.state)
    found = _history(kept.history, told["rounds"])
    refuse_another(found.identity, training.identity)
    if not _fits(training, told, vectors, found):
        raise DataError(_damaged())
    for client in training.clients:
        if client.guard.account is not None:
            client.guard.account.entries[:] = found.entries.get(client.name, [])
        if client.control is not None:
            client.control = ControlVariate(vectors[_of(client)])
    server = training.server
    server.weights, server.streaks = vectors["weights"], dict(told["streaks"])
    if server.control is not None:
        server.control = vectors["control"]
    if training.clips is not None:
        training.clips.norm = told["clip"]
    training.rounds[:] = found.rounds
    training.wire.crossings[:] = found.crossings
    training.wire.before.clear()
    training.wire.before.update(found.before)


@dataclass(slots=True)
class Keeper:
    """Keeps a training round by round, in files that only their owner may read.

    Each round costs what it is itself. Readers find a state that is whole, and a history that reaches at least as far.

    Parameters
    ----------
    state, history : Path
        In folders that exist.
    """

    state: Path
    history: Path
    _begun: bool = field(default=False, init=False)
    _crossings: int = field(default=0, init=False)

    def before_release(self, training: Training, number: int, spending: Spending) -> None:
        """Keep what a round will put to the accounts (see `Training.run`)."""
        if not self._begun:
            self._begin(training)
        self._append(ahead_line(number, spending))

    def after_round(self, training: Training) -> None:
        """Keep a round that is over."""
        done = training.rounds[-1]
        crossings = training.wire.crossings[self._crossings :]
        self._append(round_line(done, crossings))
        self._crossings = len(training.wire.crossings)
        _replace(self.state, _state(training))

    def _begin(self, training: Training) -> None:
        """Begin a history; that of a training that was resumed begins with all that happened before."""
        _replace(self.history, b"".join(history.lines(training)))
        _replace(self.state, _state(training))
        over = len(training.rounds)  # the round that is on its way has crossings already
        self._begun, self._crossings = True, sum(each.round_number <= over for each in training.wire.crossings)

    def _append(self, line: bytes) -> None:
        with self.history.open("ab") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())


def _replace(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read; readers find the old one or the new one, never a part."""
    beside = path.with_name(f".{path.name}.new")
    beside.unlink(missing_ok=True)
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def _state(training: Training) -> bytes:
    server = training.server
    accounts = {each.name: len(each.guard.account.entries) for each in training.clients if each.guard.account}
    told = {
        "rounds": len(training.rounds),
        "streaks": server.streaks,
        "clip": None if training.clips is None else training.clips.norm,
        "accounts": accounts,
    }
    vectors: dict[str, Any] = {"weights": server.weights, **_variates(training)}
    vectors[TOLD] = np.frombuffer(json.dumps(told).encode(), dtype=np.uint8)
    held = io.BytesIO()
    np.savez(held, allow_pickle=False, **vectors)
    return held.getvalue()


def _variates(training: Training) -> dict[str, Weights]:
    known = {_of(each): each.control.value for each in training.clients if each.control is not None}
    return known if training.server.control is None else {"control": training.server.control, **known}


def _of(client: Client) -> str:
    return f"control of {sha256(client.name.encode()).hexdigest()}"


def _read(content: bytes) -> tuple[dict[str, Any], dict[str, Weights]]:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as held:
            vectors = {name: held[name] for name in held.files}
        told: dict[str, Any] = State.model_validate_json(vectors.pop(TOLD).tobytes()).model_dump()
    except (BadZipFile, EOFError, KeyError, OSError, TypeError, ValueError, AttributeError):
        raise DataError(_damaged()) from None
    return told, vectors


def _history(content: bytes, rounds: int) -> History:
    try:
        return history.read(content, rounds)
    except history.WrittenOtherwiseError:
        raise ConfigurationError(
            Fault(PLACE, "it was written by another version of this runner", remedy="start the run anew")
        ) from None
    except (IndexError, KeyError, TypeError, ValueError, AttributeError):
        raise DataError(_damaged()) from None


def _damaged() -> Fault:
    return Fault(PLACE, "it is no checkpoint of a training, or a damaged one", remedy="start the run anew")


def _fits(training: Training, told: dict[str, Any], vectors: dict[str, Weights], found: History) -> bool:
    """Say whether a state and a history are of one training, and this one: with its vectors and all its releases."""
    expected = {"weights": training.server.weights, **_variates(training)}
    held = {each.name for each in training.clients if each.guard.account}
    return (
        all(name in vectors for name in expected)
        and all(
            vectors[name].shape == each.shape and vectors[name].dtype == each.dtype for name, each in expected.items()
        )
        and (told["clip"] is None) == (training.clips is None)
        and told["accounts"].keys() == held
        and found.entries.keys() <= held
        and all(count <= len(found.entries.get(name, [])) for name, count in told["accounts"].items())
    )
