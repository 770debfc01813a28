"""The sentence that says what an epsilon is, with all its conditions."""

from dataclasses import dataclass
from math import ceil

from components.dp.accounting import Epsilon
from components.dp.conditions import NO_GUARANTEE
from components.dp.declarations import Relation
from components.dp.personalising import Basis
from components.dp.sensitivity import PARTIES, Mechanism, Party

WEAK = 10.0
"""Above this epsilon a warning is due."""

MEANINGLESS = 100.0
"""Above this one nothing is promised that would be worth a number."""

_NEIGHBOURS: dict[Relation, str] = {
    "zero_out": "zero out (its message becomes 0; that it takes part is public)",
    "replace_table": "replace table (any two tables)",
    "add_remove_record": "add or remove one record",
    "replace_record": "replace one record",
}

_RELEASED: dict[Mechanism, str] = {
    "server": "the aggregates that the server releases",
    "distributed": "the aggregates of all messages",
    "local": "the messages sent by client {client}",
    "record": "the messages sent by client {client}",
}

_INPUTS = {
    False: "An input is the client's train rows as they were split and prepared.",
    True: "An input is the client's train rows as they were split and prepared, and how many there are is public.",
}

PREPARED = "how its rows were checked, split and prepared"
"""What comes before training, and follows from rows that no noise is on."""

_PARTY_WORDS: dict[Party, str] = {
    "outsider": "an outsider who sees the released model",
    "client": "another client",
    "server": "the server",
}


@dataclass(frozen=True, slots=True)
class Claim:
    """What is claimed for one client.

    Parameters
    ----------
    client : str
    mechanism : {"server", "distributed", "local", "record"}
    relation : {"zero_out", "replace_table", "add_remove_record", "replace_record"}
    rounds : int
        Of the run.
    participations : int
        Rounds that the client took part in.
    clip : float
    multiplier : float
    rate : float
        Of its Poisson batches; 1 where there are none.
    steps : int
        Noised steps in all; the participations where there are none within them.
    epsilons : dict of str to Epsilon
        Against each party (see `components.dp.sensitivity.strengths`); infinite where it sees messages without noise.
    basis : {"policy", "data-derived"}
    covered, not_covered : tuple of str
        What it is computed from, and what else is shown.
    reasons : tuple of str
        Why it is withdrawn (see `components.dp.conditions.withdrawn`).
    """

    client: str
    mechanism: Mechanism
    relation: Relation
    rounds: int
    participations: int
    clip: float
    multiplier: float
    rate: float
    steps: int
    epsilons: dict[Party, Epsilon]
    basis: Basis
    covered: tuple[str, ...]
    not_covered: tuple[str, ...]
    reasons: tuple[str, ...] = ()


def shown(epsilon: float) -> str:
    """Return an epsilon as it may be printed: never rounded down, and no number where it promises nothing."""
    if epsilon > MEANINGLESS:
        return "no meaningful guarantee"
    return f"{ceil(epsilon * 1000 - 1e-9) / 1000:g}"


def named(epsilon: float) -> str:
    """Return an epsilon with its name, or that it promises nothing."""
    return shown(epsilon) if epsilon > MEANINGLESS else f"epsilon {shown(epsilon)}"


def sentence(claim: Claim) -> str:
    """Return what is claimed for one client, with all its conditions.

    Parameters
    ----------
    claim : Claim

    Returns
    -------
    str
        Begins with `NO_GUARANTEE` where the claim is withdrawn, and gives no epsilon then.
    """
    ends = (
        f"{_INPUTS[claim.mechanism == 'record']} Covered: {_listed(claim.covered)}. "
        f"Not covered: {_listed((PREPARED, *claim.not_covered))}. Multipliers were {claim.basis}."
    )
    if claim.reasons:
        return f"Client {claim.client}: {NO_GUARANTEE}, since {'; '.join(claim.reasons)}. {ends}"
    outside = claim.epsilons["outsider"]
    value = shown(outside.value)
    private = f"({value}, {outside.delta:g})-DP" if outside.value <= MEANINGLESS else f"under {value}"
    weak = f" An epsilon above {WEAK:g} is weak." if WEAK < outside.value <= MEANINGLESS else ""
    what = _RELEASED[claim.mechanism].format(client=claim.client)
    return (
        f"For any two inputs of client {claim.client} that are neighbours under {_NEIGHBOURS[claim.relation]}, "
        f"all else fixed, {what} in rounds 1..{claim.rounds} are {private}, computed from clip {claim.clip:g}, "
        f"multiplier {claim.multiplier:.5g}, {claim.participations} participations, rate {claim.rate:.5g} and "
        f"{claim.steps} noised releases.{weak} {_held(claim.epsilons)} {ends} The released model inherits that "
        f"epsilon for client {claim.client}; for an arbitrary person the guarantee is the largest of all clients."
    )


def _held(epsilons: dict[Party, Epsilon]) -> str:
    parts = [f"{_PARTY_WORDS[party]} {_against(epsilons[party])}" for party in PARTIES if party in epsilons]
    return f"Against {'; '.join(parts)}."


def _against(epsilon: Epsilon) -> str:
    return NO_GUARANTEE if epsilon.value == float("inf") else named(epsilon.value)


def _listed(things: tuple[str, ...]) -> str:
    return "; ".join(things) or "nothing"  # each may have commas of its own


def worst(epsilons: list[Epsilon]) -> float:
    """Return the guarantee of an arbitrary person who is at one client: budgets of disjoint clients don't add."""
    return max((each.value for each in epsilons), default=0.0)


def of_person_at_several(epsilons: list[Epsilon]) -> tuple[float, float]:
    """Return epsilon and delta of a person whose records are at all these clients: there they add."""
    return sum(each.value for each in epsilons), sum(each.delta for each in epsilons)
