"""What has to be the same for a training to go on from a checkpoint."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from components.federation.client import Client
from components.federation.layout import Layout
from schemas.faults import ConfigurationError, Fault
from schemas.wording import of_clients

PLACE = "checkpoint"


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


def refuse_another(told: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Refuse a checkpoint of another training.

    Parameters
    ----------
    told, own : mapping
        See `identity`: of the checkpoint, and of the training.

    Raises
    ------
    ConfigurationError
        With all that differs.
    """
    clients, theirs = own.get("clients", {}), told.get("clients", {})
    others = sorted(clients.keys() ^ theirs.keys())
    changed = [name for name in clients if name in theirs and clients[name] != theirs[name]]
    every = len(clients.keys() | theirs.keys())
    problems = {
        "it is of a run with another configuration": told.get("declared") != own.get("declared"),
        f"it is of other clients: {of_clients(others, every)} is in one of the two alone": bool(others),
        f"the train rows of {of_clients(changed, len(clients))} are others than they were": bool(changed),
        "it is of a network with other layers": told.get("layout") != own.get("layout"),
    }
    found = [
        Fault(PLACE, problem, "the training that it was taken of", "go on with the same configuration and data")
        for problem, holds in problems.items()
        if holds
    ]
    if found:
        raise ConfigurationError(found)


def _rows_digest(client: Client) -> str:
    digest = sha256()
    for array in (client.features, client.targets):
        digest.update(f"{array.shape} {array.dtype}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
