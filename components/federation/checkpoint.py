"""Checkpoints of a training: all that a later round needs, in one file, so that what was interrupted goes on.

A checkpoint is an uncompressed ``.npz`` of vectors and of one text in JSON; nothing in it can be executed. It holds
what the server and every client keep to themselves (control variates, accounts), so that only its owner may read it.

A round that was interrupted before its checkpoint is done anew, with new noise. That costs nothing as long as nobody
saw what crossed in it, as where clients and server are one process; an engine that really sends has to keep every
account before it does. Noise itself is never kept: what was seeded starts anew, and has no claim to lose.
"""

import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from components.dp.accountant import Accountant
from components.federation.client import Client
from components.federation.control import ControlVariate
from components.federation.drift.check import Checked
from components.federation.layout import Layout, Weights
from components.federation.messages import Crossing
from components.federation.rounds import Round, Training
from components.federation.server import Closed
from schemas.faults import ConfigurationError, DataError, Fault
from schemas.wording import names

PLACE = "checkpoint"
FORMAT = 1
TOLD = "told"
"""Name of the array that holds the JSON text; all others are vectors."""


def packed(training: Training) -> bytes:
    """Return a training as it stands between two rounds.

    Parameters
    ----------
    training : Training

    Returns
    -------
    bytes
    """
    server = training.server
    told = {
        "format": FORMAT,
        "identity": training.identity,
        "streaks": server.streaks,
        "clip": None if training.clips is None else training.clips.norm,
        "accounts": {each.name: each.guard.account.state() for each in training.clients if each.guard.account},
        "rounds": [asdict(each) for each in training.rounds],
        "crossings": [list(asdict(each).values()) for each in training.wire.crossings],
    }
    text = json.dumps(told, default=np.ndarray.tolist).encode()
    vectors: dict[str, Any] = {"weights": server.weights, **_variates(training)}
    vectors[TOLD] = np.frombuffer(text, dtype=np.uint8)
    held = io.BytesIO()
    np.savez(held, allow_pickle=False, **vectors)
    return held.getvalue()


def resume(training: Training, content: bytes) -> None:
    """Put a training where a checkpoint of the same one was taken; `Training.run` then does the rounds that are left.

    Parameters
    ----------
    training : Training
        Fresh: of the same declaration, clients, rows and network, no round done.
    content : bytes
        Of `packed`.

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
    told, vectors = _read(content)
    _refuse_another(told.get("identity", {}), training.identity)
    try:
        rounds = [_round(each) for each in told["rounds"]]
        crossings = [Crossing(*each) for each in told["crossings"]]
        accounts = {name: Accountant.from_state(each) for name, each in told["accounts"].items()}
        _refuse_misshapen(training, vectors)
        found = {each.name: accounts[each.name].entries for each in training.clients if each.guard.account}
        streaks = dict(told["streaks"])
        norm = None if training.clips is None else float(told["clip"])
    except (KeyError, TypeError, ValueError):
        raise DataError(_damaged()) from None
    for client in training.clients:
        if client.guard.account is not None:
            client.guard.account.entries[:] = found[client.name]
        if client.control is not None:
            client.control = ControlVariate(vectors[_of(client)])
    server = training.server
    server.weights, server.streaks = vectors["weights"], streaks
    if server.control is not None:
        server.control = vectors["control"]
    if training.clips is not None and norm is not None:
        training.clips.norm = norm
    training.rounds[:] = rounds
    training.wire.crossings[:] = crossings


def save(path: Path, training: Training) -> None:
    """Write a checkpoint that only its owner may read; readers find the old one or the new one, never a part.

    Parameters
    ----------
    path : Path
        In a folder that exists.
    training : Training
    """
    beside = path.with_name(f".{path.name}.new")
    beside.unlink(missing_ok=True)
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(packed(training))
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def identity(declared: str, clients: Sequence[Client], layout: Layout) -> dict[str, Any]:
    """Return what has to be the same for a training to go on.

    Parameters
    ----------
    declared : str
        Digest of all that decides the training, but for the rows.
    clients : sequence of Client
    layout : Layout
    """
    return {
        "declared": declared,
        "clients": {each.name: _rows_digest(each) for each in clients},
        "layout": [list(layout.names), [list(shape) for shape in layout.shapes]],
    }


def _rows_digest(client: Client) -> str:
    digest = sha256()
    for array in (client.features, client.targets):
        digest.update(f"{array.shape} {array.dtype}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _variates(training: Training) -> dict[str, Weights]:
    known = {_of(each): each.control.value for each in training.clients if each.control is not None}
    return known if training.server.control is None else {"control": training.server.control, **known}


def _of(client: Client) -> str:
    return f"control of {sha256(client.name.encode()).hexdigest()}"


def _read(content: bytes) -> tuple[dict[str, Any], dict[str, Weights]]:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as held:
            vectors = {name: held[name] for name in held.files}
        told = json.loads(vectors.pop(TOLD).tobytes())
        if told["format"] != FORMAT:
            raise ConfigurationError(
                Fault(PLACE, "it was written by another version of this runner", remedy="start the run anew")
            )
    except (BadZipFile, EOFError, KeyError, OSError, TypeError, ValueError, AttributeError):
        raise DataError(_damaged()) from None
    return told, vectors


def _damaged() -> Fault:
    return Fault(PLACE, "it is no checkpoint of a training, or a damaged one", remedy="start the run anew")


def _refuse_another(told: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    clients, theirs = own.get("clients", {}), told.get("clients", {})
    others = sorted(clients.keys() ^ theirs.keys())
    changed = [name for name in clients if name in theirs and clients[name] != theirs[name]]
    problems = {
        "it is of a run with another configuration": told.get("declared") != own.get("declared"),
        f"it is of other clients: {names(others)} is in one of the two alone": bool(others),
        f"the train rows of {names(changed)} are others than they were": bool(changed),
        "it is of a network with other layers": told.get("layout") != own.get("layout"),
    }
    found = [
        Fault(PLACE, problem, "the training that it was taken of", "go on with the same configuration and data")
        for problem, holds in problems.items()
        if holds
    ]
    if found:
        raise ConfigurationError(found)


def _refuse_misshapen(training: Training, vectors: dict[str, Weights]) -> None:
    expected = {"weights": training.server.weights, **_variates(training)}
    if any(
        vectors[name].shape != vector.shape or vectors[name].dtype != vector.dtype for name, vector in expected.items()
    ):
        raise ValueError("a vector of another shape")


def _round(told: dict[str, Any]) -> Round:
    closed = told["closed"]
    checked = closed["checked"]
    return Round(
        **{
            **told,
            "cohort": tuple(told["cohort"]),
            "spent": tuple(told["spent"]),
            "closed": Closed(
                **{
                    **closed,
                    "came": tuple(closed["came"]),
                    "refused": tuple(closed["refused"]),
                    "shares": np.array(closed["shares"], dtype=np.float64),
                    "checked": None if checked is None else _checked(checked),
                }
            ),
        }
    )


def _checked(told: dict[str, Any]) -> Checked:
    flags = {name: np.array(told[name], dtype=np.bool_) for name in ("within_noise", "flagged", "excluded")}
    numbers = {name: np.array(told[name], dtype=np.float64) for name in ("scores", "factors")}
    return Checked(**{**told, **flags, **numbers, "clients": tuple(told["clients"])})
