"""Who is a site in a run, what all sites publish together, and what they bring to training."""

from dataclasses import dataclass

import pandas as pd

from components.anonymization import Given, Release, measure
from components.data import Split, Table
from components.federation.harmonising.method import harmonise
from components.federation.harmonising.outcome import Harmonisation
from components.federation.messages import Wire
from components.federation.partitioning.partition import Partition, partition
from components.federation.sites import Site, sites
from components.federation.stage import Sites
from runner.alone import ABSENT
from runner.federation_rules import client_faults, delta_faults
from runner.job import Job
from schemas.faults import ConfigurationError, DataError, Fault


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
    if faults := list(delta_faults(job.config, {site.name: len(site.train.frame) for site in made})):
        raise ConfigurationError(faults)
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
    found = harmonise(how, method, some.sites, given, some.partition.column, some.wire)
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


def brought_by(some: Partners, found: Harmonisation | None) -> Sites:
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
