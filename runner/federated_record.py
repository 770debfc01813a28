"""What is said of a federation: fields 12 and 13 of the record, figures, warnings and closing lines."""

from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from math import isfinite
from typing import Any

import numpy as np

from components.dp.checks import mechanism_of
from components.dp.claims import MEANINGLESS, WEAK, Claim, named, sentence, worst
from components.dp.conditions import NO_GUARANTEE
from components.dp.declarations import Noised, Relation
from components.dp.sensitivity import UNITS, Party, sensitivity
from components.federation.accounts import Accounts
from components.federation.drift.scoring import powerless
from components.federation.harmonising.outcome import Harmonisation
from components.federation.server import Closed
from components.federation.sites import Site
from components.federation.stage import Underway
from runner.job import Job
from runner.partners import Partners
from schemas.record import ClientPrivacy, FederatedClient, FederatedRound
from schemas.tables import Metric
from schemas.wording import MOST_NAMED, of_clients

BLIND = "the drift check can find nobody: the clients' noise hides whatever can be done to an update that is clipped"


def federation_lines(done: Underway, settled: Accounts) -> list[tuple[str, str]]:
    """Return what the closing lines say of a federation: who took part, and what each client's messages cost it."""
    training = done.training
    out = sorted({name for each in training.rounds for name in _excluded(each.closed)})
    down = sorted({name for each in training.rounds for name in _weighted_down(each.closed)})
    every = len(training.clients)
    left = f", {of_clients(out, every)} left out for drift in some" if out else ""
    left += f", {of_clients(down, every)} weighted down for it" if down else ""
    over = sorted({name for each in training.rounds for name in each.spent})
    left += f", {of_clients(over, every)} out of some, their budget spent" if over else ""
    learned = "" if _learned(done) else "; nothing was learned"
    many = f"{_counted(training.clients, 'client')}, {_counted(training.rounds, 'round')}{left}"
    lines = [("federation", f"{many}; {done.ended}{learned}")]
    if not settled.claims:
        return [*lines, ("guarantee", f"{NO_GUARANTEE} (dp=none)")]
    if settled.reasons:
        return [*lines, ("guarantee", f"{NO_GUARANTEE}: {settled.reasons[0]}")]
    return [*lines, ("guarantee", promised(list(settled.claims.values())))]


def promised(claims: Sequence[Claim]) -> str:
    """Return in a sentence what is promised to the worst client, and against whom how much."""
    words: dict[Party, str] = {"outsider": "outsiders", "client": "other clients", "server": "the server"}
    by_party: dict[float, list[str]] = {}
    for party, word in words.items():
        by_party.setdefault(worst([each.epsilons[party] for each in claims]), []).append(word)
    outside, *others = [each for each in by_party.items() if isfinite(each[0])]
    most = " at most" * (outside[0] <= MEANINGLESS)
    unit = "one record" if UNITS[claims[0].relation] == "record" else "a client's whole table"
    delta = claims[0].epsilons["outsider"].delta
    told = f"{named(outside[0])}{most}, delta {delta:g}, for {unit}, against {', '.join(outside[1])}"
    return "; ".join([told, *(f"{named(value)} against {', '.join(some)}" for value, some in others)])


def rounds_of(done: Underway) -> list[FederatedRound]:
    """Return every round as the record and ``federation/rounds.csv`` tell it."""
    return [
        FederatedRound(
            number=each.number,
            asked=len(each.cohort),
            came=len(each.closed.came),
            excluded=_excluded(each.closed),
            weighted_down=_weighted_down(each.closed),
            refused=list(each.closed.refused),
            spent=list(each.spent),
            clip=each.clip,
            change=each.change,
            loss=each.loss,
            stayed=each.closed.stayed,
        )
        for each in done.training.rounds
    ]


def _excluded(closed: Closed) -> list[str]:
    checked = closed.checked
    return [] if checked is None else [name for name, out in zip(checked.clients, checked.excluded, strict=True) if out]


def _weighted_down(closed: Closed) -> list[str]:
    checked = closed.checked
    return (
        []
        if checked is None
        else [name for name, factor in zip(checked.clients, checked.factors, strict=True) if 0 < factor < 1]
    )


def _flagged(closed: Closed) -> list[str]:
    checked = closed.checked
    return [] if checked is None else [name for name, out in zip(checked.clients, checked.flagged, strict=True) if out]


def federation_section(job: Job, some: Partners, found: Harmonisation | None, done: Underway) -> dict[str, Any]:
    """Return field 13 of the record."""
    params = job.config.federation
    closed = [each.closed for each in done.training.rounds]
    counts = Counter(each.kind for each in done.training.wire.crossings)
    return {
        "method": params.name,
        "parameters": params.model_dump(),
        "partition": params.clients.name,
        "partition_sha256": some.partition.digest,
        "harmonised": {} if found is None else found.facts,
        "levels": {} if found is None or found.levels is None else dict(found.levels),
        "clients": [_client(site, found, done, closed).model_dump() for site in some.sites],
        "rounds": [each.model_dump() for each in rounds_of(done)],
        "ended": done.ended,
        "attacks": [f"{attack.name} at {', '.join(attack.clients)}" for attack in params.attacks],
        "messages": dict(sorted(counts.items())),
    }


def _client(site: Site, found: Harmonisation | None, done: Underway, closed: Sequence[Closed]) -> FederatedClient:
    trains = {client.name for client in done.training.clients}
    part = None if found is None else next((each for each in found.sites if each.site.name == site.name), None)
    why_not = None
    if site.name not in trains:
        why_not = "it has no train rows" if not len(site.train.frame) else "it can't reach the criteria"
    facts: dict[str, Any] = {}
    if part is not None:
        after = part.release.after
        facts = {
            "own_levels": dict(part.own),
            "own_loss": part.own_loss,
            "suppressed": part.release.suppressed,
            "loss": part.loss,
            "k": after.k,
            "arirec": after.risk.arirec,
        }
    elif (risk := done.training.wire.before.get((site.name, "risk"))) is not None:
        facts = {"arirec": risk}
    return FederatedClient(
        name=site.name,
        train=len(site.train.frame),
        test=len(site.test.frame),
        took_part=site.name in trains,
        why_not=why_not,
        flagged=sum(site.name in _flagged(each) for each in closed),
        excluded=sum(site.name in _excluded(each) for each in closed),
        refused=sum(site.name in each.refused for each in closed),
        **facts,
    )


def privacy_section(privacy: Noised, done: Underway, settled: Accounts) -> dict[str, Any]:
    """Return field 12 of the record."""
    mechanism = mechanism_of(privacy)
    relation: Relation = getattr(privacy, "relation", "replace_table")
    holds = not settled.reasons
    sampled = any(claim.rate < 1 for claim in settled.claims.values())
    by = "privacy loss distribution of Poisson batches" if sampled else "exact composition of Gaussians"
    return {
        "mechanism": mechanism,
        "parameters": privacy.model_dump(),
        "unit": UNITS[relation],
        "relation": relation,
        "sensitivity": sensitivity(UNITS[relation], relation, mechanism),
        "scheme": "Poisson batches" if mechanism == "record" else "every client that a round asks",
        "delta": privacy.delta,
        "accountant": f"{by} (dp-accounting {version('dp-accounting')})",
        "random_source": "seeded" if privacy.noise_seed is not None else "operating system, by AES-256-CTR",
        "reasons": list(settled.reasons),
        "worst_epsilon": worst([claim.epsilons["outsider"] for claim in settled.claims.values()]) if holds else None,
        "clients": [_cost(name, claim, done, holds=holds).model_dump() for name, claim in settled.claims.items()],
        "not_covered": sorted({row.note for row in settled.ledger if not row.covered}),
    }


def _cost(name: str, claim: Claim, done: Underway, *, holds: bool) -> ClientPrivacy:
    outside = claim.epsilons["outsider"]
    return ClientPrivacy(
        client=name,
        multiplier=claim.multiplier,
        basis=claim.basis,
        rate=claim.rate,
        steps=claim.steps,
        participations=claim.participations,
        spent=_spent(name, done),
        epsilon=outside.value if holds else None,
        epsilon_rdp=outside.check if holds else None,
        against={party: each.value for party, each in claim.epsilons.items()} if holds else {},
        statement=sentence(claim),
    )


def _spent(name: str, done: Underway) -> int | None:
    """Return the first round that a client's budget did not allow; None where it allowed all."""
    training, schedule = done.training, done.training.schedule
    if (first := next((each.number for each in training.rounds if name in each.spent), None)) is not None:
        return first
    client = next(each for each in training.clients if each.name == name)
    if len(training.rounds) == schedule.rounds or client.guard.may_contribute(schedule.steps(len(client))):
        return None
    return len(training.rounds) + 1


def federation_warnings(some: Partners, done: Underway, settled: Accounts) -> list[str]:
    """Return what a reader should know of the guarantee, of persons at several sites, and of rounds without effect."""
    found = []
    if settled.reasons:
        found.append(f"{NO_GUARANTEE}: {'; '.join(settled.reasons)}")
    elif settled.claims:
        most = worst([claim.epsilons["outsider"] for claim in settled.claims.values()])
        if most > WEAK:
            why = f"above {WEAK:g} is weak" if most <= MEANINGLESS else f"above {MEANINGLESS:g} promises nothing"
            found.append(f"the worst client has {named(most)}: an epsilon {why}")
    if some.partition.shared_persons and settled.claims:
        found.append(
            f"{some.partition.shared_persons} persons have rows at several clients: what they lose there adds up"
        )
    return [*found, *_blind(done), *_idle_rounds(done)]


def _blind(done: Underway) -> list[str]:
    """Say where the drift check could not have seen anything, since the clients' noise hides it."""
    training = done.training
    clips = [each.clip for each in training.rounds if each.clip is not None]
    noise = np.array([client.guard.deviation for client in training.clients])
    drift = training.server.drift
    if drift is None or not drift.noise_correction or not clips:
        return []
    hidden = powerless(noise, training.network.layout.size, max(clips))
    return [BLIND] * hidden


def _idle_rounds(done: Underway) -> list[str]:
    """Say where training came to less than was asked for."""
    rounds, found = done.training.rounds, []
    refused = Counter(name for each in rounds for name in each.closed.refused)
    if len(refused) > MOST_NAMED:
        who, most = of_clients(sorted(refused), len(done.training.clients)), max(refused.values())
        found.append(f"updates of {who}, were refused, in up to {most} of {len(rounds)} rounds: no finite vectors")
        refused.clear()
    for name, times in sorted(refused.items()):
        found.append(f"updates of client {name} were refused in {times} of {len(rounds)} rounds: no finite vectors")
    stayed = [each.closed.stayed for each in rounds if each.closed.stayed]
    if stayed:
        found.append(f"the global weights stayed as they were in {len(stayed)} of {len(rounds)} rounds: {stayed[0]}")
    if not _learned(done):
        found.append(f"nothing was learned: {done.ended}")
    return found


def _counted(things: Sequence[Any], name: str) -> str:
    return f"{len(things)} {name}{'s' * (len(things) != 1)}"


def _learned(done: Underway) -> bool:
    return any(each.change for each in done.training.rounds)


def federation_metrics(done: Underway, settled: Accounts) -> list[Metric]:
    """Return rows of metrics.csv: who took part, and what it cost each client."""
    rounds = done.training.rounds
    excluded = {name for each in rounds for name in _excluded(each.closed)}
    found = [
        Metric(stage="federation", metric="rounds", value=len(rounds)),
        Metric(stage="federation", metric="clients", value=len(done.training.clients)),
        Metric(stage="federation", metric="excluded_clients", value=len(excluded)),
    ]
    if settled.reasons or not settled.claims:
        return found
    for name, claim in settled.claims.items():
        scope, outside = f"client:{name}", claim.epsilons["outsider"]
        found += [
            Metric(stage="dp", metric="epsilon", scope=scope, value=outside.value),
            Metric(stage="dp", metric="delta", scope=scope, value=outside.delta),
            Metric(stage="dp", metric="noise_multiplier", scope=scope, value=claim.multiplier),
        ]
    every = [claim.epsilons["outsider"] for claim in settled.claims.values()]
    return [*found, Metric(stage="dp", metric="epsilon", scope="worst", value=worst(every))]
