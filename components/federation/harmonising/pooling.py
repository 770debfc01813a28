"""What all sites publish, one below the other, and what that discloses as a whole."""

from collections.abc import Sequence

import pandas as pd

from components.anonymization.measurement import Measurement, measure
from components.anonymization.publishing import as_text, with_cells
from components.anonymization.release import Release
from components.data.table import Table
from components.federation.sites import Site
from schemas.dataset import released


def pooled(sites: Sequence[Site], releases: Sequence[Release]) -> Table:
    """Put the releases of sites below each other.

    A quasi-identifier that some site publishes as text (on a level above 0, or with ``*`` for suppressed rows) is text
    at all of them.

    Parameters
    ----------
    sites : sequence of Site
        At least one.
    releases : sequence of Release
        One a site.
    """
    schema = sites[0].train.schema
    tables = [release.table for release in releases]
    identifiers = set(tables[0].schema.names()) - set(released(schema).names())
    plain = released(schema, (), identifiers)
    own = [{name for name in _quasi(table) if table.schema.column(name) != plain.column(name)} for table in tables]
    generalised = set().union(*own)
    frames = []
    for table, texts in zip(tables, own, strict=True):
        raw = generalised - texts
        cells = {name: as_text(table.frame[name], schema.column(name), text=False) for name in raw}
        frames.append(with_cells(table.frame, {name: pd.array(some, dtype="string") for name, some in cells.items()}))
    return Table(pd.concat(frames), released(schema, generalised, identifiers))


def measured(table: Table, sites: Sequence[Site], releases: Sequence[Release]) -> tuple[Measurement, Measurement]:
    """Measure the rows of all sites together, raw and as published.

    Parameters
    ----------
    table : Table
        As `pooled` returns it.
    sites : sequence of Site
    releases : sequence of Release

    Returns
    -------
    before, after : Measurement
        Criteria are compared with the distribution of values over all sites.
    """
    schema = sites[0].train.schema
    raw = pd.concat([site.train.frame for site in sites])
    asked = releases[0].requirements
    persons = None
    if schema.subject_id in raw.columns:
        shown = [site.train.frame.loc[one.table.frame.index] for site, one in zip(sites, releases, strict=True)]
        persons = pd.concat(shown)[schema.subject_id]
    after = measure(table.frame, table.schema, raw, persons=persons, requirements=asked)
    return measure(raw, schema, requirements=asked), after


def _quasi(table: Table) -> list[str]:
    return [name for name in table.schema.quasi_identifiers if name in table.frame.columns]
