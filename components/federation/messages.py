"""The wire between clients and server: what crosses it is written down, and nothing else can.

Content is put into bytes on one side and read from them on the other, so that no object, and with it no row, is shared.
"""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

SERVER = "server"
EVERYONE = "clients"

Cover = Literal["noised", "declared", "public"]
"""``noised``: a guarantee, where there is one, is about it. ``declared``: it tells of rows, and no guarantee covers it.
``public``: it tells of no client's rows beyond what was sent before."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a message tells, and whether a guarantee is about it.

    Parameters
    ----------
    about : str
    cover : {"noised", "declared", "public"}
    """

    about: str
    cover: Cover


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "hierarchies": Kind("digests of the hierarchies that a site climbs", "public"),
        "optimum": Kind("levels at which the site's own rows lose least, and what they lose", "declared"),
        "unreachable": Kind("that the site can't reach the criteria", "declared"),
        "weights": Kind("rows of the site, and what its columns lose at least on each level", "declared"),
        "node": Kind("whether proposed levels fit the site's rows, and what they lose", "declared"),
        "measured": Kind("criteria, classes, loss and risk (ARIREC) of what the site publishes", "declared"),
        "risk": Kind("re-identification risk (ARIREC) of the rows that the client trains on", "declared"),
        "rows": Kind("how many rows the client trains on", "declared"),
        "update": Kind("what a round of training changed of the weights", "noised"),
        "vote": Kind("whether an update was within the clip norm, noised", "noised"),
        "loss": Kind("mean training loss of a round; nothing where it is no finite number", "declared"),
        "control change": Kind("what the update changed of a control variate", "noised"),
        "noise": Kind("standard deviation of the noise on each number of an update", "declared"),
        "figures": Kind("how well the trained model does on the client's test rows", "declared"),
        "spent": Kind("that a client's budget is spent", "public"),
        "proposal": Kind("levels that the server asks a site about", "public"),
        "agreed levels": Kind("the levels that all sites publish on", "public"),
        "clip norm": Kind("clip norm of the round", "public"),
        "multiplier": Kind("noise multiplier of one client, by the risks of all", "public"),
        "global weights": Kind("the global weights", "public"),
        "control": Kind("the mean of the clients' control variates", "public"),
    }
)
"""All that can cross. Where updates carry no guarantee, what follows from them carries none either."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """One message that crossed.

    Parameters
    ----------
    round_number : int
        0 before the first round; what follows training bears the number of its last round.
    sender, receiver : str
        A client, `SERVER`, or `EVERYONE`.
    kind : str
        A key of `KINDS`.
    numbers : int
        Numbers in an array; of anything else 0.
    size : int
        Bytes.
    """

    round_number: int
    sender: str
    receiver: str
    kind: str
    numbers: int
    size: int


@dataclass(slots=True)
class Wire:
    """The only way from a client to the server and back.

    Parameters
    ----------
    crossings : list of Crossing
        All that crossed, in order.
    before : dict
        By client and kind, what clients told last before the first round, as the server read it.
    """

    crossings: list[Crossing] = field(default_factory=list)
    before: dict[tuple[str, str], Any] = field(default_factory=dict)

    def to_server(self, round_number: int, client: str, kind: str, content: Any) -> Any:
        """Send what a client tells, and return what the server reads: a copy, arrays read-only.

        Parameters
        ----------
        round_number : int
        client : str
        kind : str
            A key of `KINDS`; ``KeyError`` for any other.
        content : ndarray, or what JSON can hold
        """
        read = self._send(Crossing(round_number, client, SERVER, kind, 0, 0), content)
        if not round_number:
            self.before[client, kind] = read
        return read

    def once(self, client: str, kind: str, content: Any) -> Any:
        """Return what the server reads of a fact that a client tells before the first round, and no second time."""
        known = (client, kind) in self.before
        return self.before[client, kind] if known else self.to_server(0, client, kind, content)

    def begun(self) -> "Wire":
        """Return a wire of its own on which everything has crossed that crossed here before the first round."""
        return Wire([each for each in self.crossings if not each.round_number], dict(self.before))

    def to_clients(self, round_number: int, kind: str, content: Any, client: str = EVERYONE) -> Any:
        """Send what the server tells all clients, or one; returned is what they read."""
        return self._send(Crossing(round_number, SERVER, client, kind, 0, 0), content)

    def _send(self, crossing: Crossing, content: Any) -> Any:
        KINDS[crossing.kind]
        sent = _written(content)
        numbers = content.size if isinstance(content, np.ndarray) else 0
        self.crossings.append(
            Crossing(crossing.round_number, crossing.sender, crossing.receiver, crossing.kind, int(numbers), len(sent))
        )
        return _read(sent)


def _written(content: Any) -> bytes:
    if isinstance(content, np.ndarray):
        held = io.BytesIO()
        np.save(held, content, allow_pickle=False)
        return held.getvalue()
    return json.dumps(content, allow_nan=False).encode()


def _read(sent: bytes) -> Any:
    if sent.startswith(np.lib.format.MAGIC_PREFIX):
        array = np.load(io.BytesIO(sent), allow_pickle=False)
        array.setflags(write=False)
        return array
    return json.loads(sent)
