"""How far one change of a client's input moves what is released, and whom the noise stands between."""

from math import sqrt
from typing import Literal

from components.dp.declarations import Relation
from schemas.faults import ConfigurationError, Fault

Unit = Literal["client", "record"]
Mechanism = Literal["server", "distributed", "local", "record"]
Party = Literal["outsider", "client", "server"]

PARTIES: tuple[Party, ...] = ("outsider", "client", "server")
"""An outsider who sees the released model; another client; the server."""

UNITS: dict[Relation, Unit] = {
    "zero_out": "client",
    "replace_table": "client",
    "add_remove_record": "record",
    "replace_record": "record",
}
"""What a relation protects."""

_OF_UPDATES: dict[Relation, float] = {
    "zero_out": 1.0,
    "replace_table": 2.0,
    "add_remove_record": 2.0,
    "replace_record": 2.0,
}
"""An update that is clipped as a whole becomes zeros, or any other: one record may turn it round like a table."""

_OF_GRADIENTS: dict[Relation, float] = {"add_remove_record": 1.0, "replace_record": 2.0}


def sensitivity(unit: Unit, relation: Relation, mechanism: Mechanism) -> float:
    """Return the sensitivity of a release in clips.

    Parameters
    ----------
    unit : {"client", "record"}
    relation : {"zero_out", "replace_table", "add_remove_record", "replace_record"}
    mechanism : {"server", "distributed", "local", "record"}
        Noise on the aggregate, a share of it from each client, each client's own, or on gradients (DP-SGD).

    Returns
    -------
    float
        1 or 2.

    Raises
    ------
    ConfigurationError
        Nothing is known of that combination.
    """
    known = _OF_GRADIENTS if mechanism == "record" else _OF_UPDATES
    if relation not in known or UNITS[relation] != unit:
        fitting = [f"{UNITS[each]} with {each}" for each in known]
        raise ConfigurationError(
            Fault(
                place="dp.relation",
                problem=f"{mechanism} noise has no known sensitivity for the unit {unit} and the relation {relation}",
                allowed=", ".join(fitting),
                remedy=f"set dp.relation={next(iter(known))}",
            )
        )
    return known[relation]


def strengths(mechanism: Mechanism, cohort: int) -> dict[Party, float]:
    """Return by what each party's view changes the noise multiplier; 0 where it sees messages without noise.

    Parameters
    ----------
    mechanism : {"server", "distributed", "local", "record"}
    cohort : int
        Clients whose shares make up distributed noise.

    Returns
    -------
    dict of str to float
        For each of `PARTIES`. Of distributed noise the server sees one share, and another client knows its own.
    """
    if mechanism == "server":
        return {"outsider": 1.0, "client": 0.0, "server": 0.0}
    if mechanism == "distributed":
        return {"outsider": 1.0, "client": sqrt((cohort - 1) / cohort), "server": sqrt(1 / cohort)}
    return dict.fromkeys(PARTIES, 1.0)
