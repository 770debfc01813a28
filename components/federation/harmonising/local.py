"""What a site does by itself: search its own levels, and publish on levels that were agreed on."""

from dataclasses import replace

from components.anonymization.declarations import Lattice, LevelRange
from components.anonymization.hierarchies.hierarchy import climb
from components.anonymization.lattice.collapsing import collapse
from components.anonymization.lattice.method import anonymise, precheck
from components.anonymization.lattice.quality import quality
from components.anonymization.lattice.search import Search
from components.anonymization.lattice.space import dimension
from components.anonymization.publishing import quasi_identifiers
from components.anonymization.release import Given, Release
from components.anonymization.suppression import allowed_rows
from components.classes.coding import encode
from components.data.table import Table
from components.federation.harmonising.asking import Levels
from components.federation.sites import Site
from schemas.faults import Fault, GoalError


def held(params: Lattice, column: str) -> Lattice:
    """Hold a column on level 0, as one that every site has a single value of, unless its levels were set."""
    return params.model_copy(update={"levels": {column: LevelRange(min=0, max=0), **params.levels}})


def pinned(params: Lattice, levels: Levels) -> Lattice:
    """Allow one level vector alone."""
    return params.model_copy(
        update={"levels": {name: LevelRange(min=level, max=level) for name, level in levels.items()}}
    )


def from_levels(params: Lattice, levels: Levels) -> Lattice:
    """Allow no level below a vector's."""
    most = {name: params.levels[name].max if name in params.levels else None for name in levels}
    return params.model_copy(
        update={"levels": {name: LevelRange(min=level, max=most[name]) for name, level in levels.items()}}
    )


def levels_of(release: Release) -> dict[str, int]:
    """Return the level of each quasi-identifier of a full-domain release."""
    return {name: int(level) for name, level in release.transformation["levels"][0].items()}


def anonymised(params: Lattice, site: Site, given: Given) -> Release:
    """Anonymise a site's train rows.

    Raises
    ------
    DataError
        Rows can't be anonymised whatever the levels.
    GoalError
        It can't reach the criteria, or has no rows.
    """
    if not len(site.train.frame):
        raise GoalError(Fault("table", "there are no rows to anonymise"))
    return anonymise(params, site.train, given)


def search_of(params: Lattice, site: Site, given: Given) -> Search:
    """Return the state of a search of a site's lattice, nothing tried yet.

    Parameters
    ----------
    params : Lattice
    site : Site
        One that reached the criteria.
    given : Given
    """
    requirements = precheck(params, site.train, given)
    units = encode(site.train.frame, quasi_identifiers(site.train))
    markers = site.train.schema.missing.markers
    dimensions = []
    for unit in units:
        allowed = params.levels.get(unit.name, LevelRange())
        dimensions.append(dimension(climb(unit, given.hierarchies[unit.name], markers), allowed.min, allowed.max))
    space = collapse(dimensions, requirements)
    rows = len(site.train.frame)
    return Search(space, quality(params, space), min(allowed_rows(params.suppression_limit, rows), rows - 1))


def with_own_index(site: Site) -> Site:
    """Return a site whose train rows can be told apart by their index."""
    frame = site.train.frame
    if frame.index.is_unique:
        return site
    return replace(site, train=Table(frame.reset_index(drop=True), site.train.schema))
