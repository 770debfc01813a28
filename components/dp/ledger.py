"""Rows of the ledger: what a client released under its guarantee."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from components.dp.accountant import Accountant, Entry
from components.dp.accounting import epsilon
from components.dp.conditions import NO_GUARANTEE
from components.dp.declarations import Relation
from components.dp.personalising import Basis
from components.dp.releases import Releases, merged
from components.dp.sensitivity import UNITS, Mechanism, strengths
from schemas.ledger import LedgerRow


@dataclass(frozen=True, slots=True)
class Terms:
    """What all rows of one client share.

    Parameters
    ----------
    mechanism : {"server", "distributed", "local", "record"}
    relation : {"zero_out", "replace_table", "add_remove_record", "replace_record"}
    basis : {"policy", "data-derived"}
    cohort : int
        Clients whose shares make up distributed noise.
    reasons : tuple of str
        Why no epsilon holds (see `components.dp.conditions.withdrawn`).
    """

    mechanism: Mechanism
    relation: Relation
    basis: Basis
    cohort: int = 1
    reasons: tuple[str, ...] = ()


def covered_rows(account: Accountant, terms: Terms) -> list[LedgerRow]:
    """Return one row for every kind and strength of release, and one for all of them together.

    Parameters
    ----------
    account : Accountant
    terms : Terms

    Returns
    -------
    list of LedgerRow
        Empty where nothing was released. Where the claim is withdrawn, rows have no epsilon and are not covered.
    """
    groups: dict[tuple[str, Releases], list[Entry]] = {}
    for each in account.entries:
        for kind in merged([each.releases]):
            one = Releases(kind.multiplier, kind.rate, 1, kind.units)
            groups.setdefault((each.kind, one), []).append(each)
    rows = [_row(kind, found, account, terms) for (kind, _), found in groups.items()]
    return [*rows, _row("all", account.entries, account, terms)] if rows else []


def _row(kind: str, entries: list[Entry], account: Accountant, terms: Terms) -> LedgerRow:
    releases = merged(each.releases for each in entries)
    one = releases[0] if len(releases) == 1 else None
    found = None if terms.reasons else epsilon(releases, account.delta, check=True)
    clips = sorted({each.clip for each in entries})
    notes = [f"{NO_GUARANTEE}: {'; '.join(terms.reasons)}"] if terms.reasons else []
    if len(clips) > 1 and kind != "all":
        notes.append(f"clips from {clips[0]:.5g} to {clips[-1]:.5g}")
    if again := account.made_again:
        notes.append(f"made again after it was cut off, and counted twice: round {spans(again)}")
    seen = strengths(terms.mechanism, terms.cohort)
    against = {party: _seen_by(releases, strength, account.delta) for party, strength in seen.items() if strength}
    return LedgerRow(
        client=account.client,
        kind=kind,
        rounds=spans(each.round_number for each in entries),
        mechanism=terms.mechanism,
        unit=UNITS[terms.relation],
        relation=terms.relation,
        clip=None if kind == "all" else entries[-1].clip,
        sensitivity=one.units if one else None,
        multiplier=one.multiplier if one else None,
        rate=one.rate if one else None,
        steps=sum(each.times for each in releases),
        epsilon=found.value if found else None,
        epsilon_rdp=found.check if found else None,
        epsilon_client=against.get("client") if found else None,
        epsilon_server=against.get("server") if found else None,
        delta=account.delta if found else None,
        basis=terms.basis,
        holds_against="" if terms.reasons else ", ".join(against),
        covered=not terms.reasons,
        note=". ".join(notes),
    )


def _seen_by(releases: Iterable[Releases], strength: float, delta: float) -> float:
    return epsilon([replace(each, multiplier=each.multiplier * strength) for each in releases], delta).value


def spans(rounds: Iterable[int]) -> str:
    """Return rounds as text: ``1-4,6``."""
    known = sorted(set(rounds))
    if not known:
        return ""
    starts = [known[0], *(after for before, after in pairwise(known) if after - before > 1)]
    ends = [*(before for before, after in pairwise(known) if after - before > 1), known[-1]]
    return ",".join(str(start) if start == end else f"{start}-{end}" for start, end in zip(starts, ends, strict=True))
