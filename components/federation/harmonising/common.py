"""The one level vector that satisfies every site with the least total loss.

The server proposes level vectors, and sites answer whether they fit and what they would lose; rows stay where they are.
A site whose answer condemns all vectors below one (see `lattice.search`) condemns them for all. The total loss is the
mean of the sites' losses, weighted by their rows.
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import inf, prod
from typing import Any, TypeVar

import numpy as np

from components.anonymization.declarations import LatticeOptions
from components.anonymization.lattice.budget import Budget
from components.anonymization.lattice.options import is_exact
from components.anonymization.lattice.search import EQUAL, choices, level_sums
from components.anonymization.lattice.space import LevelVector
from components.classes.coding import FloatArray


@dataclass(frozen=True, slots=True)
class Reply:
    """What one site says of one vector.

    Parameters
    ----------
    fits : bool
        Whether it suppresses no more rows than it may.
    loss : float
        Told where it fits.
    suppressed : int
        Rows, told where it fits.
    condemns : bool
        Whether all vectors below can't fit either; told where it doesn't fit.
    floor : float
        What every vector above loses at least, where the quality model looks at classes and the vector fits; else
        minus infinity, which is told to nobody.
    """

    fits: bool
    loss: float = inf
    suppressed: int = 0
    condemns: bool = False
    floor: float = -inf


Proposal = tuple[int, LevelVector]
"""To which site, by its place, and which vector, counted from the lowest levels that may be used."""

Result = TypeVar("Result")
Proposing = Generator[Proposal, Reply, Result]
"""Yields proposals, is sent what the site replies, and returns what came of it all."""


@dataclass(slots=True)
class Joint:
    """The server's state of a search that several sites answer to: numbers that they told, and nothing else of them.

    Parameters
    ----------
    shape : tuple of int
        Levels per attribute.
    rows : sequence of int
        Train rows of each site, which weigh its loss.
    bound : ndarray of float, shape of the lattice, or None
        What each vector loses at least in total, where that is known beforehand.

    Attributes
    ----------
    best : float
        Least total loss of a vector that fits everywhere; infinite as long as none was found.
    totals : dict of tuple of int to float
        Total loss of every vector proposed; infinite where some site refused.
    asked : list of (int, tuple of int)
        Every proposal, in order.
    """

    shape: tuple[int, ...]
    rows: Sequence[int]
    bound: FloatArray | None = None
    best: float = inf
    totals: dict[LevelVector, float] = field(default_factory=dict)
    asked: list[Proposal] = field(default_factory=list)
    _equals: list[tuple[float, tuple[int, int, LevelVector]]] = field(default_factory=list)
    _order: list[int] = field(init=False)

    def __post_init__(self) -> None:
        """Ask the sites in order at first."""
        self._order = list(range(len(self.rows)))

    @property
    def limit(self) -> float:
        """Largest total that counts as equal to the best."""
        return self.best + EQUAL * max(abs(self.best), 1.0)

    @property
    def chosen(self) -> LevelVector | None:
        """The best vector: of equally good ones that with fewest rows suppressed, the lowest sum, or the first."""
        return min((tie for _, tie in self._equals), default=(0, 0, None))[2]

    def total(self, values: Iterable[Any]) -> Any:
        """Return the mean of the sites' figures, weighted by their rows."""
        return weighted(self.rows, values)

    def ask(self, levels: LevelVector) -> Proposing[list[Reply]]:
        """Propose a vector to one site after the other until one refuses; who refused last is asked first.

        Returns
        -------
        list of Reply
            Of every site, in their order, where it fits everywhere; else the refusal alone.
        """
        said: dict[int, Reply] = {}
        for place, site in enumerate(self._order):
            self.asked.append((site, levels))
            said[site] = yield site, levels
            if not said[site].fits:
                self._order.insert(0, self._order.pop(place))
                self.totals[levels] = inf
                return [said[site]]
        replies = [said[site] for site in sorted(said)]
        total = self.totals[levels] = self.total(reply.loss for reply in replies)
        self.best = min(self.best, total)
        tie = (sum(reply.suppressed for reply in replies), sum(levels), levels)
        self._equals = [one for one in (*self._equals, (total, tie)) if one[0] <= self.limit]
        return replies


def weighted(rows: Sequence[int], values: Iterable[Any]) -> Any:
    """Return the mean of the figures of sites, weighted by their rows."""
    weights = (np.array(rows, dtype=np.float64) / sum(rows)).tolist()
    return sum(weight * value for weight, value in zip(weights, values, strict=True))


@dataclass(frozen=True, slots=True)
class Common:
    """What a search for a common level vector came to.

    Parameters
    ----------
    levels : tuple of int, or None
        Counted from the lowest level that may be used; None where no vector proposed fits everywhere.
    total : float
        Mean loss by rows.
    nodes, asked : int
        Vectors there are, and that were proposed.
    proved : bool
        Whether no other vector that fits everywhere loses less.
    stopped_by : str
        The option that ended the proof; empty where it is complete.
    """

    levels: LevelVector | None
    total: float
    nodes: int
    asked: int
    proved: bool
    stopped_by: str

    def facts(self) -> dict[str, Any]:
        """Return all but the levels, JSON-able."""
        return {
            "nodes": self.nodes,
            "asked": self.asked,
            "total_loss": self.total if self.levels is not None else None,
            "proved": self.proved,
            **({"stopped_by": self.stopped_by} if self.stopped_by else {}),
        }


def search_common(params: LatticeOptions, joint: Joint, start: LevelVector) -> Proposing[Common]:
    """Search the vector that fits every site with the least total loss.

    Parameters
    ----------
    params : LatticeOptions
        Up to ``exact_nodes`` and ``exact_seconds`` the best vector is proved; beyond, ``bounded_nodes`` and
        ``bounded_seconds`` are spent on going down from the best one known.
    joint : Joint
        Nothing asked yet.
    start : tuple of int
        A vector that is likely to fit: the element-wise maximum of the sites' own.

    Yields
    ------
    tuple
        Proposals; what the site replies is sent back.
    """
    stopped_by = "exact_nodes"
    if is_exact(params, joint.shape):
        left = yield from _exact(joint, Budget(inf, params.exact_seconds))
        stopped_by = "exact_seconds" if left else ""
    if stopped_by:
        yield from _descend(
            joint, start, Budget(params.bounded_nodes, params.bounded_seconds, before=len(joint.totals))
        )
    return Common(joint.chosen, joint.best, prod(joint.shape), len(joint.totals), not stopped_by, stopped_by)


def _exact(joint: Joint, budget: Budget) -> Proposing[bool]:
    """Propose until the best vector is proved; tell whether vectors are left over when the time is up."""
    shape, known = joint.shape, joint.bound is not None
    bound = np.full(shape, -np.inf) if joint.bound is None else joint.bound
    order = np.argsort(bound if known else level_sums(shape), axis=None, kind="stable")
    live = np.ones(shape, dtype=np.bool_)
    # Trials pass over the tuples of every site, choosing over the lattice about twice: keep them in balance.
    every = max(1, 2 * prod(shape) // (sum(joint.rows) + 2_000))
    top = tuple(size - 1 for size in shape)  # tells at once whether any vector can fit
    for levels in chain([top], choices(live, order, every)):
        if budget.spent(len(joint.totals)):
            break
        live[levels] = False
        said = yield from joint.ask(levels)
        if said[-1].condemns:
            live[tuple(slice(level + 1) for level in levels)] = False
        elif said[-1].fits and not known:
            above = tuple(slice(level, None) for level in levels)
            bound[above] = np.maximum(bound[above], joint.total(reply.floor for reply in said))
        live &= bound <= joint.limit
    return bool(live.any())


def _descend(joint: Joint, start: LevelVector, budget: Budget) -> Proposing[None]:
    """Go down from the best vector known, each time to the neighbour with the least total loss, as long as one fits."""
    top = tuple(size - 1 for size in joint.shape)
    for levels in (start, top):
        if joint.chosen is None and levels not in joint.totals:
            yield from joint.ask(levels)
    here = joint.chosen
    while here is not None:
        lower = [(*here[:at], level - 1, *here[at + 1 :]) for at, level in enumerate(here) if level]
        for levels in lower:
            if budget.spent(len(joint.totals)):
                return
            if levels not in joint.totals:
                yield from joint.ask(levels)
        fitting = [levels for levels in lower if joint.totals[levels] < inf]
        here = min(fitting, key=lambda levels: (joint.totals[levels], levels), default=None)
