"""What happened in a training, line by line: a file that only grows, so that keeping a round costs what the round does.

The first line says which training it is of, and what crossed before the first round. Each round has two lines: what it
puts to the accounts, written before anything of it leaves a client, and the round itself when it is over, with what
crossed in it. What was written ahead counts as released, whether or not the round came to its end: nobody knows who
saw what of a round that was cut off.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from components.dp.accountant import Entry
from components.dp.releases import Releases
from components.federation.drift.check import Checked
from components.federation.messages import Crossing
from components.federation.rounds import Round, Spending, Training
from components.federation.server import Closed

FORMAT = 2


@dataclass(frozen=True, slots=True)
class History:
    """What a history tells.

    Parameters
    ----------
    identity : mapping
        See `components.federation.identity`.
    before : mapping
        By client and kind, what clients told before the first round.
    rounds : list of Round
    crossings : list of Crossing
    entries : mapping of str to list of Entry
        By client, all that counts as released.
    """

    identity: Mapping[str, Any]
    before: Mapping[tuple[str, str], Any]
    rounds: list[Round]
    crossings: list[Crossing]
    entries: Mapping[str, list[Entry]]


def first_line(training: Training) -> bytes:
    """Return the line with which a history begins."""
    wire = training.wire
    return _line(
        {
            "format": FORMAT,
            "identity": training.identity,
            "crossings": _plain(each for each in wire.crossings if not each.round_number),
            "before": [[client, kind, content] for (client, kind), content in wire.before.items()],
        }
    )


def ahead_line(number: int, spending: Spending) -> bytes:
    """Return the line that is written before anything of a round leaves a client."""
    told = {client: [asdict(each) for each in entries] for client, entries in spending.items() if entries}
    return _line({"ahead": number, "entries": told})


def round_line(done: Round, crossings: Iterable[Crossing]) -> bytes:
    """Return the line of a round that is over."""
    return _line({"round": asdict(done), "crossings": _plain(crossings)})


def lines(training: Training) -> Iterator[bytes]:
    """Yield a whole history, of a training between two rounds."""
    yield first_line(training)
    crossings: dict[int, list[Crossing]] = defaultdict(list)
    for crossing in training.wire.crossings:
        crossings[crossing.round_number].append(crossing)
    spent: dict[int, dict[str, list[Entry]]] = defaultdict(lambda: defaultdict(list))
    for client in training.clients:
        for entry in client.guard.account.entries if client.guard.account else ():
            spent[entry.round_number][client.name].append(entry)
    for each in training.rounds:
        yield ahead_line(each.number, spent.pop(each.number, {}))
        yield round_line(each, crossings[each.number])
    for number, some in sorted(spent.items()):  # of a round that was cut off before
        yield ahead_line(number, some)


def read(content: bytes, rounds: int) -> History:
    """Read a history as far as it goes: a last line that is torn was never finished.

    Parameters
    ----------
    content : bytes
    rounds : int
        That are known to be over; what is told of later ones counts as released, and is done anew.

    Raises
    ------
    KeyError, TypeError, ValueError
        It is damaged.
    """
    whole = content.split(b"\n")[:-1]  # behind the last newline is nothing, or a torn line
    told = [json.loads(line) for line in whole]
    first, rest = told[0], told[1:]
    if first["format"] != FORMAT:
        raise WrittenOtherwiseError
    entries: dict[str, list[Entry]] = defaultdict(list)
    for line in rest:
        for client, some in line.get("entries", {}).items():
            entries[client] += [Entry(**{**each, "releases": Releases(**each["releases"])}) for each in some]
    over = [line for line in rest if "round" in line][:rounds]
    done = [_round(line["round"]) for line in over]
    if [each.number for each in done] != list(range(1, rounds + 1)):
        raise ValueError("rounds are missing")
    crossings = [Crossing(*each) for line in (first, *over) for each in line["crossings"]]
    before = {(client, kind): content for client, kind, content in first["before"]}
    return History(first["identity"], before, done, crossings, entries)


class WrittenOtherwiseError(ValueError):
    """A history is of another version."""


def _line(told: Mapping[str, Any]) -> bytes:
    return json.dumps(told, default=np.ndarray.tolist).encode() + b"\n"


def _plain(crossings: Iterable[Crossing]) -> list[list[Any]]:
    return [list(asdict(each).values()) for each in crossings]


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
