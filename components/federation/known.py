"""What the server has to know of clients before training, as they tell it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from components.dp.checks import follows_risk
from components.dp.declarations import Noised, Record
from components.federation.aggregation.declarations import Rule
from components.federation.aggregation.weights import weighs_rows
from components.federation.messages import Wire


@dataclass(frozen=True, slots=True)
class Known:
    """What the server has read of the clients that train.

    Parameters
    ----------
    rows : mapping of str to int
        Train rows of each client where something follows from them, and 1 where nothing does.
    risks : mapping of str to float
        ARIREC of each client, where noise follows it and the client knows it.
    """

    rows: Mapping[str, int]
    risks: Mapping[str, float]


def told_before(
    rule: Rule, noises: Iterable[Noised | None], rows: Mapping[str, int], risks: Mapping[str, float], wire: Wire
) -> Known:
    """Let clients tell what the server has to know before training under some noises.

    Rates and steps of DP-SGD follow from rows, weights may, and personalised multipliers follow from risks.

    Parameters
    ----------
    rule : Rule
        Of the aggregation.
    noises : iterable of Noised or None
    rows : mapping of str to int
        Train rows, of clients that have any; each knows its own.
    risks : mapping of str to float
        ARIREC of what clients train on, which each knows of itself.
    wire : Wire
        What has crossed on it is not told again.
    """
    some = [each for each in noises if each is not None]
    counts: dict[str, int] = dict.fromkeys(rows, 1)
    if weighs_rows(rule) or any(isinstance(each, Record) for each in some):
        counts = {client: wire.once(client, "rows", count) for client, count in rows.items()}
    if not any(follows_risk(each) for each in some):
        return Known(counts, {})
    for client in rows:
        if client in risks and (client, "measured") not in wire.before:
            wire.once(client, "risk", risks[client])
    return Known(counts, {client: risk for client, risk in told_risks(wire).items() if client in rows})


def told_risks(wire: Wire) -> dict[str, float]:
    """Return the risk of each client that told it: with what it said of its release, or by itself."""
    found = {}
    for (client, kind), content in wire.before.items():
        if kind in ("measured", "risk"):
            found[client] = float(content["arirec"] if kind == "measured" else content)
    return found
