"""What a federation's messages cost each client, what is claimed of them, and the ledger of all that crossed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from components.dp.accountant import Accountant
from components.dp.checks import mechanism_of
from components.dp.claims import Claim
from components.dp.conditions import Setting, withdrawn
from components.dp.declarations import Noised, Personalized, Relation
from components.dp.ledger import Terms, covered_rows, spans
from components.dp.planning import Planned
from components.dp.sensitivity import strengths
from components.federation.messages import KINDS, SERVER, Crossing
from components.federation.stage import Underway
from schemas.ledger import LedgerRow

SHOWN = {
    "multiplier": "its noise multiplier, which follows its risk, so that the noise tells of it",
    "band": "the band of risk that its noise multiplier belongs to",
    "steps": "how many local steps it took in a round, by which its control changes are divided",
    "drift scores": "how far its updates stood apart, reckoned from messages that do not carry all of the noise",
    "other trainings": "figures of the other trainings of a comparison, on the same rows",
}
"""What no message says, and something else shows."""


@dataclass(frozen=True, slots=True)
class Accounts:
    """Claims of all clients.

    Parameters
    ----------
    claims : mapping of str to Claim
        Empty without privacy.
    reasons : tuple of str
        Why no epsilon holds.
    ledger : list of LedgerRow
    """

    claims: Mapping[str, Claim]
    reasons: tuple[str, ...]
    ledger: list[LedgerRow]


def accounts(done: Underway, privacy: Noised | None, setting: Setting | None, *, others: int = 0) -> Accounts:
    """Settle the accounts of a federation.

    Parameters
    ----------
    done : Underway
        In training, over, or cut off: what was released counts.
    privacy : Noised or None
    setting : Setting or None
        See `components.federation.setting.setting_of`.
    others : int, optional
        Trainings of a comparison on the same rows, whose weights nobody keeps and whose figures are shown.
    """
    crossings = done.training.wire.crossings
    if privacy is None or setting is None:
        rows = [_shown_row(client.name, "other trainings") for client in done.training.clients] if others else []
        return Accounts({}, (), [*rows, *_uncovered(crossings, with_updates=True)])
    reasons = withdrawn(setting)
    mechanism = mechanism_of(privacy)
    relation: Relation = getattr(privacy, "relation", "replace_table")
    cohort = getattr(privacy, "smallest_cohort", None) or len(done.training.clients)
    claims, rows, shown = {}, [], _shown_of_all(done, setting, others)
    for client in done.training.clients:
        plan = done.guarded.plans[client.name]
        basis, told = plan.basis, [*_shown(plan), *shown]
        account = client.guard.account or Accountant(client.name, privacy.delta)
        terms = Terms(mechanism, relation, basis, cohort, reasons)
        rows += covered_rows(account, terms)
        rows += [_shown_row(client.name, kind) for kind in told]
        claims[client.name] = _claim(done, account, terms, [SHOWN[kind] for kind in told])
    paper = isinstance(privacy, Personalized) and privacy.paper
    return Accounts(claims, reasons, [*rows, *_uncovered(crossings, with_updates=paper)])


def only_told(crossings: Iterable[Crossing]) -> list[LedgerRow]:
    """Return the ledger of clients that did not come to train: what they told until then."""
    return [*_uncovered(crossings, with_updates=True)]


def _shown(plan: Planned) -> list[str]:
    """Return which keys of `SHOWN` its plan makes hold of a client."""
    return ["multiplier"] * (plan.basis == "data-derived") + ["band"] * (plan.band is not None)


def _shown_of_all(done: Underway, setting: Setting, others: int) -> list[str]:
    """Return which keys of `SHOWN` hold of every client."""
    found = []
    if setting.scaffold != "none" and setting.mechanism != "record":  # whose clients tell their rows
        found.append("steps")
    if setting.mechanism in ("server", "distributed") and any(each.closed.checked for each in done.training.rounds):
        found.append("drift scores")
    return found + ["other trainings"] * bool(others)


def _shown_row(client: str, kind: str) -> LedgerRow:
    return LedgerRow(client=client, kind=kind, covered=False, note=SHOWN[kind])


def _claim(done: Underway, account: Accountant, terms: Terms, shown: Iterable[str]) -> Claim:
    last = account.entries[-1] if account.entries else None
    told = dict.fromkeys(each.kind for each in done.training.wire.crossings if each.sender == account.client)
    return Claim(
        client=account.client,
        mechanism=terms.mechanism,
        relation=terms.relation,
        rounds=max(len(done.training.rounds), last.round_number if last else 0),
        participations=account.participations,
        clip=last.clip if last else 0.0,
        multiplier=done.guarded.plans[account.client].multiplier or 0.0,
        rate=last.releases.rate if last else 1.0,
        steps=sum(each.times for each in account.releases),
        epsilons={
            party: account.epsilon(strength=strength, check=party == "outsider")
            for party, strength in strengths(terms.mechanism, terms.cohort).items()
        },
        basis=terms.basis,
        covered=tuple(KINDS[kind].about for kind in told if KINDS[kind].cover == "noised"),
        not_covered=(*(KINDS[kind].about for kind in told if KINDS[kind].cover == "declared"), *shown),
        reasons=terms.reasons,
    )


def _uncovered(crossings: Iterable[Crossing], *, with_updates: bool) -> Iterable[LedgerRow]:
    """Yield one row for each kind of message by which a client tells of its rows under no guarantee."""
    found: dict[tuple[str, str], list[int]] = {}
    for each in crossings:
        cover = KINDS[each.kind].cover
        if each.sender != SERVER and (cover == "declared" or (with_updates and cover == "noised")):
            found.setdefault((each.sender, each.kind), []).append(each.round_number)
    for (client, kind), rounds in found.items():
        yield LedgerRow(
            client=client,
            kind=kind,
            rounds=spans(each for each in rounds if each),
            covered=False,
            note=KINDS[kind].about,
        )
