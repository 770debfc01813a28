"""The stages of a federation: who is a site, what all publish, how they train, and what of that is written down."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import pandas as pd

from components.anonymization import Given, Release, measure
from components.data import Split, Table
from components.dp.claims import sentence, worst
from components.dp.checks import mechanism_of
from components.dp.declarations import Privacy
from components.dp.sensitivity import UNITS, sensitivity
from components.federation.accounts import Accounts, accounts
from components.federation.drift.picture import picture
from components.federation.drift.table import table as drift_table
from components.federation.harmonising.method import harmonise
from components.federation.harmonising.outcome import Harmonisation
from components.federation.messages import KINDS, Wire
from components.federation.partitioning.declarations import ByColumn
from components.federation.partitioning.partition import Partition, partition
from components.federation.privacy import setting_of
from components.federation.sites import Site, sites
from components.federation.stage import Federated, Sites, federate
from components.models import Model
from runner.job import Job
from runner.modelling import save
from schemas.ledger import LEDGER_COLUMNS
from schemas.tables import Metric

ABSENT = "none"


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
    """Give every site its rows, which it checks and splits itself."""
    found = partition(job.config.federation.clients, table, job.config.seed)
    made = sites(table, found, job.config.seed)
    job.record.note(warnings=[text for site in made for text in site.warnings])
    return Partners(made, found, Wire())


def harmonised(job: Job, some: Partners, given: Given) -> tuple[Release, Harmonisation]:
    """Let sites anonymise their rows on levels that all agree on; return what they publish together."""
    clients = job.config.federation.clients
    column = ""
    if isinstance(clients, ByColumn):
        column = clients.column or job.config.dataset.client or ""
    found = harmonise(job.config.federation.harmonising, job.config.anonymization, some.sites, given, column)
    for each in found.told:
        some.wire.to_server(0, each.site, each.kind, each.content)
    if found.levels is not None:
        some.wire.to_clients(0, "agreed levels", dict(found.levels))
    return _together(found), found


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


def federation(job: Job, some: Partners, found: Harmonisation | None) -> Federated:
    """Train together, write what happened, and settle the accounts."""
    config, privacy = job.config, _privacy(job)
    with job.stage("federation") as note:
        bring = _bring(some, found)
        done = federate(config.federation, privacy, config.model, bring, config.seed, wire=some.wire)
        setting = None if privacy is None else setting_of(privacy, config.federation, learned_encoder=config.encoder.learn)
        settled = accounts(done, privacy, setting)
        raw = found is None and (privacy is None or bool(settled.reasons))
        files = save(job, done.model, raw=raw)
        _write(job, done, settled)
        job.record.note(
            federation=_section(job, some, found, done),
            differential_privacy=None if privacy is None else _privacy_section(privacy, done, settled),
            warnings=_warnings(privacy, settled),
        )
        job.measured(_metrics(done, settled))
        note.facts = {"rounds": len(done.training.rounds), "clients": len(done.training.clients)}
        note.outputs = {path.name: _digest(path) for path in files}
    return done


def _privacy(job: Job) -> Privacy | None:
    return job.config.dp if isinstance(job.config.dp, Privacy) else None


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
