"""The stages of a federation: who is a site, what all publish, how they train, and what of that is written down."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from math import isfinite
from typing import Any

import pandas as pd

from components.anonymization import Given, Release, measure
from components.data import Split, Table
from components.dp.checks import mechanism_of
from components.dp.claims import MEANINGLESS, WEAK, Claim, named, sentence, worst
from components.dp.conditions import NO_GUARANTEE
from components.dp.declarations import Noised, Relation
from components.dp.sensitivity import UNITS, sensitivity
from components.federation.accounts import Accounts, accounts
from components.federation.checkpoint import save as save_checkpoint
from components.federation.drift.picture import picture
from components.federation.drift.table import table as drift_table
from components.federation.harmonising.method import harmonise
from components.federation.harmonising.outcome import Harmonisation
from components.federation.messages import KINDS, Crossing, Wire
from components.federation.partitioning.partition import Partition, partition
from components.federation.server import Closed
from components.federation.setting import setting_of
from components.federation.sites import Site, sites
from components.federation.stage import Federated, Sites, federate
from components.models import Model
from runner import canonical
from runner.comparing import Compared, compared, section, write
from runner.facts import side_metrics
from runner.federation_rules import client_faults, large_delta
from runner.job import Job
from runner.modelling import save
from schemas.faults import ConfigurationError, DataError, Fault
from schemas.ledger import LEDGER_COLUMNS
from schemas.record import ClientPrivacy, FederatedClient, FederatedRound
from schemas.tables import Metric
from schemas.wording import names

ABSENT = "none"
CHECKPOINT = "federation/checkpoint.npz"
"""Where a run in the making keeps the last round that is over, for as long as it lasts."""


@dataclass(frozen=True, slots=True)
class Partners:
    """The sites of a federation, before anything is done.

    Parameters
    ----------
    sites : tuple of Site
    partition : Partition
    wire : Wire
        All that crosses between them and the server, from the first message on.
    """

    sites: tuple[Site, ...]
    partition: Partition
    wire: Wire

    @property
    def parts(self) -> Split:
        """The rows of all sites together, which no site and no server has: yardsticks are measured on them."""
        schema = self.sites[0].train.schema
        whole = (pd.concat([getattr(site, part).frame for site in self.sites]) for part in ("train", "test"))
        return Split(*(Table(frame, schema) for frame in whole))


def partners(job: Job, table: Table) -> Partners:
    """Give every site its rows, which it checks and splits itself.

    Raises
    ------
    ConfigurationError
        Clients are named, or asked for, that there are not.
    DataError
        Rows name no client, or break the schema.
    """
    found = partition(job.config.federation.clients, table, job.config.seed)
    if faults := list(client_faults(job.config, found.names)):
        raise ConfigurationError(faults)
    made = sites(table, found, job.config.seed)
    if job.config.model.name != ABSENT and not any(len(site.test.frame) for site in made):
        raise DataError(
            Fault(
                "federation.clients",
                "no client has rows enough to be split into train and test rows",
                "some test rows at one client at least",
                "choose fewer clients, or raise dataset.split.test",
            )
        )
    job.record.note(warnings=[*found.warnings, *(text for site in made for text in site.warnings)])
    return Partners(made, found, Wire())


def harmonised(job: Job, some: Partners, given: Given) -> tuple[Release, Harmonisation]:
    """Let sites anonymise their rows on levels that all agree on; return what they publish together."""
    how, method = job.config.federation.harmonising, job.config.anonymization
    found = harmonise(how, method, some.sites, given, some.partition.column)
    for each in found.told:
        some.wire.to_server(0, each.site, each.kind, each.content)
    if found.levels is not None:
        some.wire.to_clients(0, "agreed levels", dict(found.levels))
    return _together(found), found


def rows_behind(found: Harmonisation) -> Table:
    """Return the raw rows of the sites that publish: what is released is measured against them."""
    some = [part.site.train for part in found.sites]
    return Table(pd.concat([each.frame for each in some]), some[0].schema)


def _together(found: Harmonisation) -> Release:
    """Return what all sites publish as one release."""
    releases = [part.release for part in found.sites]
    first = releases[0]
    shares = {part.site.name: len(part.site.train.frame) for part in found.sites}
    rows = sum(shares.values())
    loss = sum(part.loss * shares[part.site.name] for part in found.sites) / rows
    training = Table(pd.concat([each.training.frame for each in releases]), first.training.schema)
    return Release(
        table=found.pooled,
        training=training,
        transformation={
            "levels": [dict(found.levels)] if found.levels is not None else [dict(part.levels) for part in found.sites],
            "hierarchies": first.transformation["hierarchies"],
            "loss": loss,
            "suppressed": sum(each.suppressed for each in releases),
            "harmonised": found.facts,
        },
        before=found.before,
        after=found.after,
        suppressed=sum(each.suppressed for each in releases),
        seen=found.seen,
        agreed=first.agreed if found.levels is not None else None,
        requirements=first.requirements,
        warnings=found.warnings,
    )


def federation(
    job: Job, some: Partners, found: Harmonisation | None, test: Table
) -> tuple[Federated, Accounts, Compared | None]:
    """Train together, write what happened, and settle the accounts.

    Of a comparison, whose scenarios are measured on the test rows as the model sees them, the first scenario at the
    run's own seed is what the run keeps.
    """
    config = job.config
    with job.stage("federation") as note:
        bring, several = _bring(some, found), None
        if config.comparison is None:
            privacy = _privacy(job)
            done = _trained(job, bring, some.wire, privacy)
        else:
            several = compared(job, bring, some.wire, test)
            privacy, done = several.privacy, several.kept
            write(job, several, bring)
        setting = (
            None if privacy is None else setting_of(privacy, config.federation, learned_encoder=config.encoder.learn)
        )
        settled = accounts(done, privacy, setting)
        raw = found is None and (privacy is None or bool(settled.reasons))
        files = save(job, done.model, raw=raw)
        _write(job, done, settled)
        job.record.note(
            federation=_section(job, some, found, done)
            | ({} if several is None else {"comparison": section(several, config.comparison.equalise)}),
            differential_privacy=None if privacy is None else _privacy_section(privacy, done, settled),
            warnings=[*_warnings(some, done, privacy, settled), *_idle_rounds(done)],
        )
        job.measured(_metrics(done, settled))
        note.facts = {"rounds": len(done.training.rounds), "clients": len(done.training.clients)}
        note.outputs = {path.name: canonical.digest_file(path) for path in files}
    return done, settled, several


def _trained(job: Job, bring: Sites, wire: Wire, privacy: Noised | None) -> Federated:
    """Train together, and keep the last round that is over for as long as the run lasts."""
    config, kept = job.config, job.record.passing(CHECKPOINT)
    return federate(
        config.federation,
        privacy,
        config.model,
        bring,
        config.seed,
        wire=wire,
        after_round=lambda training: save_checkpoint(kept, training),
    )


def federation_lines(done: Federated, settled: Accounts) -> list[tuple[str, str]]:
    """Return what the closing lines say of a federation: who took part, and what each client's messages cost it."""
    training = done.training
    out = sorted({name for each in training.rounds for name in _excluded(each.closed)})
    left = f", {names(out)} left out for drift in some" if out else ""
    over = sorted({name for each in training.rounds for name in each.spent})
    left += f", {names(over)} out of some, their budget spent" if over else ""
    learned = "" if _learned(done) else "; nothing was learned"
    many = f"{_counted(training.clients, 'client')}, {_counted(training.rounds, 'round')}{left}"
    lines = [("federation", f"{many}; {done.ended}{learned}")]
    if not settled.claims:
        return [*lines, ("guarantee", f"{NO_GUARANTEE} (dp=none)")]
    if settled.reasons:
        return [*lines, ("guarantee", f"{NO_GUARANTEE}: {settled.reasons[0]}")]
    costs = {name: claim.epsilons["outsider"] for name, claim in settled.claims.items()}
    worst_one = max(costs, key=lambda name: costs[name].value)
    claim, cost = settled.claims[worst_one], costs[worst_one]
    unit = "one record" if UNITS[claim.relation] == "record" else "a client's whole table"
    most = " at most" * (cost.value <= MEANINGLESS)
    told = f"{named(cost.value)}{most}, delta {cost.delta:g}, for {unit}, against {against(claim)}"
    return [*lines, ("guarantee", told)]


def against(claim: Claim) -> str:
    """Name whom a claim holds against."""
    held = [party for party, each in claim.epsilons.items() if isfinite(each.value)]
    words = {"outsider": "outsiders", "client": "other clients", "server": "the server"}
    return ", ".join(words[party] for party in held)


def _privacy(job: Job) -> Noised | None:
    return job.config.dp if isinstance(job.config.dp, Noised) else None


def _bring(some: Partners, found: Harmonisation | None) -> Sites:
    """Return what the sites train on: what they publish, or their raw rows."""
    if found is not None:
        tables = {part.site.name: part.release.training for part in found.sites}
        risks = {part.site.name: part.release.after.risk.arirec for part in found.sites}
        climbed = tuple(name for name, level in (found.levels or {}).items() if level)
        return Sites(tables, risks, climbed)
    tables = {site.name: site.train for site in some.sites}
    risks = {}
    if some.sites[0].train.schema.quasi_identifiers:
        risks = {
            site.name: measure(site.train.frame, site.train.schema).risk.arirec
            for site in some.sites
            if len(site.train.frame)
        }
    return Sites(tables, risks)


def _write(job: Job, done: Federated, settled: Accounts) -> None:
    """Write the ledger, the rounds, the messages, and what the drift check found."""
    rounds = [
        {name: canonical.dumps(cell).decode() if isinstance(cell, list) else cell for name, cell in each}
        for each in _rounds(done)
    ]
    names_of_fields = [each.name for each in fields(Crossing)]
    crossings = pd.DataFrame([asdict(each) for each in done.training.wire.crossings], columns=names_of_fields)
    about = {kind: KINDS[kind].cover for kind in KINDS}
    tables = {
        "ledger.csv": pd.DataFrame([row.model_dump() for row in settled.ledger], columns=list(LEDGER_COLUMNS)),
        "federation/rounds.csv": pd.DataFrame(rounds, columns=list(FederatedRound.model_fields)),
        "federation/messages.csv": crossings.assign(cover=crossings["kind"].map(about)),
    }
    checked = [(each.number, each.closed.checked) for each in done.training.rounds if each.closed.checked is not None]
    if checked:
        tables["federation/drift.csv"] = drift_table(checked)
        path = job.record.path("federation/drift.svg")
        path.write_text(picture(tables["federation/drift.csv"]), encoding="utf-8")
        job.record.output(path, release="internal")
    for name, table in tables.items():
        path = job.record.path(name)
        table.to_csv(path, index=False, lineterminator="\n")
        job.record.output(path, release="internal", rows=len(table))


def _rounds(done: Federated) -> list[FederatedRound]:
    return [
        FederatedRound(
            number=each.number,
            asked=len(each.cohort),
            came=len(each.closed.came),
            excluded=_excluded(each.closed),
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


def _flagged(closed: Closed) -> list[str]:
    checked = closed.checked
    return [] if checked is None else [name for name, out in zip(checked.clients, checked.flagged, strict=True) if out]


def _section(job: Job, some: Partners, found: Harmonisation | None, done: Federated) -> dict[str, Any]:
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
        "rounds": [each.model_dump() for each in _rounds(done)],
        "ended": done.ended,
        "attacks": [f"{attack.name} at {', '.join(attack.clients)}" for attack in params.attacks],
        "messages": dict(sorted(counts.items())),
    }


def _client(site: Site, found: Harmonisation | None, done: Federated, closed: Sequence[Closed]) -> FederatedClient:
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


def _privacy_section(privacy: Noised, done: Federated, settled: Accounts) -> dict[str, Any]:
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


def _cost(name: str, claim: Claim, done: Federated, *, holds: bool) -> ClientPrivacy:
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


def _spent(name: str, done: Federated) -> int | None:
    """Return the first round that a client's budget did not allow; None where it allowed all."""
    training, schedule = done.training, done.training.schedule
    if (first := next((each.number for each in training.rounds if name in each.spent), None)) is not None:
        return first
    client = next(each for each in training.clients if each.name == name)
    if len(training.rounds) == schedule.rounds or client.guard.may_contribute(schedule.steps(len(client))):
        return None
    return len(training.rounds) + 1


def _warnings(some: Partners, done: Federated, privacy: Noised | None, settled: Accounts) -> list[str]:
    found = []
    if settled.reasons:
        found.append(f"{NO_GUARANTEE}: {'; '.join(settled.reasons)}")
    elif settled.claims:
        most = worst([claim.epsilons["outsider"] for claim in settled.claims.values()])
        if most > WEAK:
            found.append(f"the worst client has {named(most)}: an epsilon above {WEAK:g} is weak")
        rows = {client.name: len(client) for client in done.training.clients}
        if privacy is not None and (large := large_delta(privacy, rows)):
            found.append(large)
    if some.partition.shared_persons and settled.claims:
        found.append(
            f"{some.partition.shared_persons} persons have rows at several clients: what they lose there adds up"
        )
    return found


def _idle_rounds(done: Federated) -> list[str]:
    """Say where training came to less than was asked for."""
    rounds, found = done.training.rounds, []
    refused = Counter(name for each in rounds for name in each.closed.refused)
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


def _learned(done: Federated) -> bool:
    return any(each.change for each in done.training.rounds)


def _metrics(done: Federated, settled: Accounts) -> list[Metric]:
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


def at_sites(model: Model, some: Partners, release: Release | None) -> list[Metric]:
    """Measure a model on the test rows of each site."""
    found = []
    for site in some.sites:
        if len(site.test.frame):
            test = site.test if release is None or release.seen is None else release.seen(site.test)
            found += side_metrics(f"client:{site.name}", model, test, "test")[0]
    return found
