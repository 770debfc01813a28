"""Harmonised anonymisation: every site searches by itself, all publish on levels that they agree on, and measure anew.

``max`` takes the element-wise maximum of the sites' own optima (Díaz and López García, arXiv 2605.02372). More
generalisation of the same rows breaks no criterion that is monotone, but with suppression other rows may be released.
So every site is anonymised and measured at the common levels. Where one misses a criterion there, it searches again
from these levels upwards, and the maximum is taken anew, until all meet theirs. A site that finds nothing is
unreachable, and so is one that reaches the criteria at no levels at all, has fewer rows than k, or none.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from components.anonymization.declarations import Lattice
from components.anonymization.lattice.search_record import absolute
from components.anonymization.release import Given, Release
from components.federation.harmonising.common import Joint, search_common
from components.federation.harmonising.declarations import PLACE, Harmonising, harmonising_faults
from components.federation.harmonising.local import (
    anonymised,
    from_levels,
    held,
    levels_of,
    pinned,
    search_of,
    with_own_index,
)
from components.federation.harmonising.outcome import Harmonisation, Harmonised, LeftOut, Levels, Told
from components.federation.harmonising.pooling import measured, pooled
from components.federation.harmonising.shared import digests_of_sites
from components.federation.harmonising.telling import measured_of, nodes_of, weights_of
from components.federation.sites import Site, of_client
from schemas.faults import ConfigurationError, Fault, GoalError
from schemas.wording import names


def harmonise(
    how: Harmonising, params: Lattice, sites: Sequence[Site], given: Given, column: str = ""
) -> Harmonisation:
    """Anonymise the train rows of all sites on levels that they agree on.

    Parameters
    ----------
    how : Harmonising
    params : Lattice
        Criteria, suppression and search of every site.
    sites : sequence of Site
        Their names differ. Nothing of them is written to.
    given : Given
        The shared hierarchies, of every quasi-identifier.
    column : str, optional
        The column that names the clients. Where it is a quasi-identifier it has one value at each site and says
        nothing there: it stays on level 0 unless ``params.levels`` names it.

    Returns
    -------
    Harmonisation
        Every criterion holds at every site, measured on what it publishes.

    Raises
    ------
    ConfigurationError
        Method and options can't be harmonised, or ``site_hierarchies`` names clients that there are not.
    DataError
        Sites don't share a hierarchy, or one lacks values; with the faults of all sites.
    GoalError
        Sites can't reach the criteria, and ``unreachable`` is ``stop`` or none is left; with what holds each back.
    """
    if faults := list(harmonising_faults(how, params, trains=False)):
        raise ConfigurationError(faults)
    if not sites:
        raise ConfigurationError(Fault("federation.clients", "there are no clients", "at least one"))
    schema = sites[0].train.schema
    digests = digests_of_sites(how, params, [site.name for site in sites], schema, given)
    if column in schema.quasi_identifiers:
        params = held(params, column)
    state = _Agreeing(how, params, replace(given, population=None, predictions=None))
    state.told = [Told(name, "hierarchies", dict(own)) for name, own in digests.items()]
    state.search([with_own_index(site) for site in sites])
    releases, facts = state.agree()
    return _outcome(state, releases, facts)


@dataclass(slots=True)
class _Agreeing:
    """Sites on their way to common levels.

    Parameters
    ----------
    how : Harmonising
    params : Lattice
    given : Given

    Attributes
    ----------
    sites : list of Site
        Those that go on.
    own : dict of str to Release
        What each would publish by itself.
    left_out : list of LeftOut
    told : list of Told
    """

    how: Harmonising
    params: Lattice
    given: Given
    sites: list[Site] = field(default_factory=list)
    own: dict[str, Release] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)

    def search(self, sites: list[Site]) -> None:
        """Let every site search by itself."""
        self.sites = sites
        self.own, unreachable = anonymised(self.params, sites, self.given)
        for name, release in self.own.items():
            loss = release.transformation["loss"]
            self.told.append(Told(name, "optimum", {"levels": levels_of(release), "loss": loss}))
        self._go_on_without(unreachable)

    def agree(self) -> tuple[dict[str, Release], dict[str, Any]]:
        """Return what each site publishes, and how the levels were found."""
        if self.how.harmonise == "none":
            return self.own, {}
        while True:
            releases, unreachable, facts = self._by_max() if self.how.harmonise == "max" else self._by_common()
            if not unreachable:
                return releases, facts
            self._go_on_without(unreachable)

    def _by_max(self) -> tuple[dict[str, Release], list[LeftOut], dict[str, Any]]:
        """Take the element-wise maximum, and raise it until every site meets its criteria there."""
        vectors = {site.name: levels_of(self.own[site.name]) for site in self.sites}
        raised = 0
        while True:
            levels = joined(list(vectors.values()))
            releases, missing = anonymised(pinned(self.params, levels), self.sites, self.given)
            self.told += [
                Told(site.name, "node", {"levels": levels, "fits": site.name in releases}) for site in self.sites
            ]
            if not missing:
                return releases, [], {"raised": raised}
            higher = from_levels(self.params, levels)
            found, unreachable = anonymised(higher, [one.site for one in missing], self.given)
            if unreachable:
                return {}, unreachable, {}
            vectors |= {name: levels_of(release) for name, release in found.items()}
            self.told += [Told(name, "optimum", {"levels": vectors[name]}) for name in found]
            raised += 1

    def _by_common(self) -> tuple[dict[str, Release], list[LeftOut], dict[str, Any]]:
        """Search the one vector that satisfies all with the least total loss."""
        searches = [search_of(self.params, site, self.given) for site in self.sites]
        rows = np.array([len(site.train.frame) for site in self.sites], dtype=np.float64)
        self.told += weights_of(self.sites, searches)
        joint = Joint(searches, rows / rows.sum())
        climbed = [one.ladder.attribute.name for one in searches[0].space.dimensions]
        start = joined([levels_of(self.own[site.name]) for site in self.sites])
        lowest = absolute(searches[0], (0,) * len(climbed))
        found = search_common(
            self.params, joint, tuple(start[name] - low for name, low in zip(climbed, lowest, strict=True))
        )
        self.told += nodes_of(self.sites, climbed, joint)
        if found.levels is None:
            raise _nothing_in_common(len(self.sites), found.asked, proved=found.proved)
        levels = dict(zip(climbed, absolute(searches[0], found.levels), strict=True))
        releases, missing = anonymised(pinned(self.params, levels), self.sites, self.given)
        return releases, missing, found.facts()

    def _go_on_without(self, unreachable: list[LeftOut]) -> None:
        """Leave sites out, or stop."""
        if not unreachable:
            return
        self.left_out += unreachable
        gone = {one.site.name for one in unreachable}
        self.told += [
            Told(one.site.name, "unreachable", {"reasons": [str(fault) for fault in one.faults]}) for one in unreachable
        ]
        self.sites = [site for site in self.sites if site.name not in gone]
        if self.how.unreachable == "stop" or not self.sites:
            raise _stopped(self.left_out, len(self.sites) + len(self.left_out))


def joined(vectors: Sequence[Levels]) -> dict[str, int]:
    """Return the element-wise maximum of level vectors over the same columns; at least one."""
    return {name: max(vector[name] for vector in vectors) for name in vectors[0]}


def _stopped(left_out: Sequence[LeftOut], sites: int) -> GoalError:
    """Name every site that can't reach the criteria, with what holds it back."""
    some = names([one.site.name for one in left_out])
    rest = "relax the criteria, allow suppression or higher levels"
    if len(left_out) < sites:
        rest += f", or set {PLACE}.unreachable to leave_out to go on without them"
    whole = Fault(
        place=f"{PLACE}.unreachable",
        problem=f"{len(left_out)} of {sites} clients can't reach the criteria: {some}",
        remedy=rest,
    )
    return GoalError([whole, *(of_client(one.site.name, fault) for one in left_out for fault in one.faults)])


def _nothing_in_common(sites: int, asked: int, *, proved: bool) -> GoalError:
    which = "no levels that may be used satisfy" if proved else f"none of the {asked} level vectors tried satisfies"
    return GoalError(
        Fault(
            place=f"{PLACE}.harmonise",
            problem=f"{which} all of {sites} clients, though each can reach the criteria by itself",
            remedy="raise anonymization.suppression_limit, or relax the criteria",
        )
    )


def _outcome(state: _Agreeing, releases: dict[str, Release], facts: dict[str, Any]) -> Harmonisation:
    parts = tuple(
        Harmonised(
            site=site,
            own=levels_of(state.own[site.name]),
            own_loss=float(state.own[site.name].transformation["loss"]),
            levels=levels_of(releases[site.name]),
            release=releases[site.name],
        )
        for site in state.sites
    )
    shown = [part.release for part in parts]
    table = pooled(state.sites, shown)
    before, after = measured(table, state.sites, shown)
    common = state.how.harmonise != "none"
    return Harmonisation(
        sites=parts,
        left_out=tuple(state.left_out),
        levels=parts[0].levels if common else None,
        pooled=table,
        before=before,
        after=after,
        seen=parts[0].release.seen if common else None,
        told=(*state.told, *(measured_of(part) for part in parts)),
        facts={"harmonise": state.how.harmonise, **facts},
        warnings=tuple(_warnings(state, parts, facts, [one.name for one in after.criteria if not one.met])),
    )


def _warnings(state: _Agreeing, parts: Sequence[Harmonised], facts: dict[str, Any], missed: Sequence[str]) -> list[str]:
    told = list(dict.fromkeys(each for part in parts for each in part.release.warnings))
    if state.left_out:
        some, count = names([one.site.name for one in state.left_out]), len(state.left_out)
        them = (
            f"{count} clients can't reach the criteria, and are"
            if count > 1
            else "1 client can't reach the criteria, and is"
        )
        told.append(f"{them} left out: {some}")
    if facts.get("raised"):
        told.append("levels were raised above the maximum of the clients' own, where some missed a criterion")
    if not facts.get("proved", True):
        told.append(f"common levels are the best found, not proved: {facts['stopped_by']} ended the search")
    if missed:
        told.append(
            f"the rows of all clients together miss {', '.join(dict.fromkeys(missed))}, which every client meets"
        )
    return told
