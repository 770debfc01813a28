"""The server's side of agreeing on levels: what sites told, and what it makes of that. It has no site and no row.

``max`` takes the element-wise maximum of the sites' own optima (Díaz and López García, arXiv 2605.02372). More
generalisation of the same rows breaks no criterion that is monotone, but with suppression other rows may be released.
So every site is anonymised and measured at the common levels. Where one misses a criterion there, it searches again
from these levels upwards, and the maximum is taken anew, until all meet theirs. A site that finds nothing is
unreachable, and so is one that reaches the criteria at no levels at all, has fewer rows than k, or none.

``common`` proposes level vectors to all (see `common`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from components.anonymization.declarations import Lattice
from components.anonymization.lattice.quality import together
from components.federation.harmonising.asking import Ask, Heard, Levels, Talk
from components.federation.harmonising.common import Common, Joint, Reply, search_common, weighted
from components.federation.harmonising.declarations import PLACE, Harmonising
from components.federation.harmonising.shared import mismatches
from schemas.faults import DataError, Fault, GoalError
from schemas.wording import of_clients


class UnreachableError(GoalError):
    """Sites can't reach the criteria, and the run is to stop for that."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """What the server comes to.

    Parameters
    ----------
    sites : tuple of str
        Those that publish.
    left_out : tuple of str
        Those that can't reach the criteria.
    levels : mapping of str to int, or None
        Of all; None where each has its own.
    facts : dict
        How they were found, JSON-able.
    """

    sites: tuple[str, ...]
    left_out: tuple[str, ...]
    levels: Levels | None
    facts: dict[str, Any]


def agreeing(how: Harmonising, params: Lattice, sites: Sequence[str]) -> Talk[Agreed]:
    """Agree on levels with sites.

    Parameters
    ----------
    how : Harmonising
    params : Lattice
        Of every site.
    sites : sequence of str
        Their names, which differ.

    Yields
    ------
    Ask
        Questions; the answers are sent back, by site.

    Raises
    ------
    DataError
        Sites don't share a hierarchy.
    GoalError
        Sites can't reach the criteria, and ``unreachable`` is ``stop`` or none is left; or nothing fits all of them.
    """
    state = _State(how, params, list(sites))
    heard = yield Ask("hierarchies", sites)
    if faults := mismatches({name: said.content for name, said in heard.items()}):
        raise DataError(faults)
    heard = yield Ask("optimum", sites)
    state.own = {name: said.content["levels"] for name, said in heard.items() if said.kind == "optimum"}
    state.go_on_without(_unreachable(heard))
    levels, facts = yield from state.agree()
    yield Ask("measured", state.sites)
    return Agreed(tuple(state.sites), tuple(state.left_out), levels, {"harmonise": how.harmonise, **facts})


@dataclass(slots=True)
class _State:
    """What the server knows.

    Parameters
    ----------
    how : Harmonising
    params : Lattice
    sites : list of str
        Those that go on.

    Attributes
    ----------
    own : dict of str to mapping
        The best levels of each by itself.
    left_out : list of str
    """

    how: Harmonising
    params: Lattice
    sites: list[str]
    own: dict[str, Levels] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def agree(self) -> Talk[tuple[Levels | None, dict[str, Any]]]:
        """Return the levels that all publish on, and how they were found."""
        if self.how.harmonise == "none":
            return None, {}
        while True:
            levels, unreachable, facts = yield from (
                self._by_max() if self.how.harmonise == "max" else self._by_common()
            )
            if not unreachable:
                return levels, facts
            self.go_on_without(unreachable)

    def _by_max(self) -> Talk[tuple[Levels, list[str], dict[str, Any]]]:
        """Take the element-wise maximum, and raise it until every site meets its criteria there."""
        vectors = {name: self.own[name] for name in self.sites}
        raised = 0
        while True:
            levels = joined(list(vectors.values()))
            missing = _refusing((yield Ask("publish", self.sites, levels)))
            if not missing:
                return levels, [], {"raised": raised}
            heard = yield Ask("optimum", missing, levels)
            if unreachable := _unreachable(heard):
                return levels, unreachable, {}
            vectors |= {name: said.content["levels"] for name, said in heard.items()}
            raised += 1

    def _by_common(self) -> Talk[tuple[Levels, list[str], dict[str, Any]]]:
        """Search the one vector that satisfies all with the least total loss."""
        heard = yield Ask("weights", self.sites)
        told = [heard[name].content for name in self.sites]
        ranges: dict[str, list[int]] = told[0]["levels"]
        start = joined([self.own[name] for name in self.sites])
        joint = joint_of(self.params, told)
        found = yield from self._proposed(joint, tuple(start[name] - low for name, (low, _) in ranges.items()), ranges)
        if found.levels is None:
            raise _nothing_in_common(len(self.sites), found.asked, proved=found.proved)
        levels = _absolute(ranges, found.levels)
        return levels, _refusing((yield Ask("publish", self.sites, levels))), found.facts()

    def _proposed(self, joint: Joint, start: tuple[int, ...], ranges: Mapping[str, Sequence[int]]) -> Talk[Common]:
        """Bring every proposal of the search to the site that it is for."""
        search = search_common(self.params, joint, start)
        try:
            place, node = next(search)
            while True:
                site = self.sites[place]
                heard = yield Ask("look", [site], _absolute(ranges, node))
                said = {key: value for key, value in heard[site].content.items() if key != "levels"}
                place, node = search.send(Reply(**said))
        except StopIteration as done:
            common: Common = done.value
            return common

    def go_on_without(self, unreachable: Sequence[str]) -> None:
        """Leave sites out, or stop."""
        if not unreachable:
            return
        self.left_out += unreachable
        self.sites = [name for name in self.sites if name not in unreachable]
        if self.how.unreachable == "stop" or not self.sites:
            raise _stopped(self.left_out, len(self.sites) + len(self.left_out))


def joined(vectors: Sequence[Levels]) -> dict[str, int]:
    """Return the element-wise maximum of level vectors over the same columns; at least one."""
    return {name: max(vector[name] for vector in vectors) for name in vectors[0]}


def joint_of(params: Lattice, told: Sequence[Mapping[str, Any]]) -> Joint:
    """Return a search of which nothing was asked yet, from what bounds the loss of each site."""
    shape = tuple(high - low + 1 for low, high in told[0]["levels"].values())
    rows = [each["rows"] for each in told]
    if "least_loss" not in told[0]:
        return Joint(shape, rows)
    parts = [[np.array(part) for part in each["least_loss"].values()] for each in told]
    return Joint(shape, rows, weighted(rows, (together(params.quality, each) for each in parts)))


def _absolute(ranges: Mapping[str, Sequence[int]], node: Sequence[int]) -> dict[str, int]:
    return {name: low + level for (name, (low, _)), level in zip(ranges.items(), node, strict=True)}


def _unreachable(heard: Mapping[str, Heard]) -> list[str]:
    return [name for name, said in heard.items() if said.kind == "unreachable"]


def _refusing(heard: Mapping[str, Heard]) -> list[str]:
    return [name for name, said in heard.items() if not said.content["fits"]]


def _stopped(left_out: Sequence[str], sites: int) -> UnreachableError:
    """Name every site that can't reach the criteria; what holds it back, it knows itself."""
    rest = "relax the criteria, allow suppression or higher levels"
    if len(left_out) < sites:
        rest += f", or set {PLACE}.unreachable to leave_out to go on without them"
    problem = f"{len(left_out)} of {sites} clients can't reach the criteria: {of_clients(left_out, sites)}"
    return UnreachableError(Fault(place=f"{PLACE}.unreachable", problem=problem, remedy=rest))


def _nothing_in_common(sites: int, asked: int, *, proved: bool) -> GoalError:
    which = "no levels that may be used satisfy" if proved else f"none of the {asked} level vectors tried satisfies"
    return GoalError(
        Fault(
            place=f"{PLACE}.harmonise",
            problem=f"{which} all of {sites} clients, though each can reach the criteria by itself",
            remedy="raise anonymization.suppression_limit, or relax the criteria",
        )
    )
