"""The one level vector that satisfies every site with the least total loss.

The server proposes level vectors, and sites answer whether they fit and what they would lose; rows stay where they are.
A site whose answer condemns all vectors below one (see `lattice.search`) condemns them for all. The total loss is the
mean of the sites' losses, weighted by their rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import inf, prod
from typing import Any

import numpy as np

from components.anonymization.declarations import LatticeOptions
from components.anonymization.lattice.budget import Budget
from components.anonymization.lattice.options import is_exact
from components.anonymization.lattice.quality import Separable
from components.anonymization.lattice.search import EQUAL, Look, Search, choices, level_sums
from components.anonymization.lattice.space import LevelVector
from components.classes.coding import FloatArray


@dataclass(frozen=True, slots=True)
class Answer:
    """What one site says of one vector.

    Parameters
    ----------
    site : int
        Place among the searches.
    look : Look
        Its ``value`` is told where it ``fits``, and whether it ``condemns`` those below where it doesn't.
    floor : float
        What every vector above loses at least, where the quality model looks at classes and the vector fits; else
        minus infinity, which is told to nobody.
    """

    site: int
    look: Look
    floor: float


@dataclass(slots=True)
class Joint:
    """The state of a search that several sites answer to.

    Parameters
    ----------
    searches : sequence of Search
        One a site, all over the same lattice.
    weights : ndarray of float, shape (sites,)
        Sum to 1.

    Attributes
    ----------
    best : float
        Least total loss of a vector that fits everywhere; infinite as long as none was found.
    totals : dict of tuple of int to float
        Total loss of every vector proposed; infinite where some site refused.
    answers : list of Answer
        All that sites said, in order.
    """

    searches: Sequence[Search]
    weights: FloatArray
    best: float = inf
    totals: dict[LevelVector, float] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)
    _equals: list[tuple[float, tuple[int, int, LevelVector]]] = field(default_factory=list)
    _order: list[int] = field(init=False)

    def __post_init__(self) -> None:
        """Ask the sites in order at first."""
        self._order = list(range(len(self.searches)))

    @property
    def shape(self) -> tuple[int, ...]:
        """Levels per attribute."""
        return self.searches[0].space.shape

    @property
    def limit(self) -> float:
        """Largest total that counts as equal to the best."""
        return self.best + EQUAL * max(abs(self.best), 1.0)

    @property
    def chosen(self) -> LevelVector | None:
        """The best vector: of equally good ones that with fewest rows suppressed, the lowest sum, or the first."""
        return min((tie for _, tie in self._equals), default=(0, 0, None))[2]

    def total(self, values: Iterable[Any]) -> Any:
        """Return the mean of the sites' figures by their weights."""
        return sum(weight * value for weight, value in zip(self.weights.tolist(), values, strict=True))

    def ask(self, levels: LevelVector) -> list[Answer]:
        """Propose a vector to one site after the other until one refuses; who refused last is asked first.

        Returns
        -------
        list of Answer
            Of every site, in the order of `searches`, where it fits everywhere; else the refusal alone.
        """
        said: list[Answer] = []
        for place, site in enumerate(self._order):
            said.append(self._answer(site, levels))
            if not said[-1].look.fits:
                self._order.insert(0, self._order.pop(place))
                self.totals[levels] = inf
                return said[-1:]
        said.sort(key=lambda answer: answer.site)
        total = self.totals[levels] = self.total(answer.look.value for answer in said)
        self.best = min(self.best, total)
        tie = (sum(answer.look.suppressed for answer in said), sum(levels), levels)
        self._equals = [one for one in (*self._equals, (total, tie)) if one[0] <= self.limit]
        return said

    def _answer(self, site: int, levels: LevelVector) -> Answer:
        search = self.searches[site]
        look, tried = search.look(levels)
        by_class = look.fits and not isinstance(search.model, Separable)
        answer = Answer(site, look, search.model.floor(tried) if by_class else -inf)
        self.answers.append(answer)
        return answer


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


def search_common(params: LatticeOptions, joint: Joint, start: LevelVector) -> Common:
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
    """
    stopped_by = "exact_nodes"
    if is_exact(params, joint.shape):
        stopped_by = "exact_seconds" if _exact(joint, Budget(inf, params.exact_seconds)) else ""
    if stopped_by:
        _descend(joint, start, Budget(params.bounded_nodes, params.bounded_seconds, before=len(joint.totals)))
    return Common(joint.chosen, joint.best, prod(joint.shape), len(joint.totals), not stopped_by, stopped_by)


def _exact(joint: Joint, budget: Budget) -> bool:
    """Propose until the best vector is proved; tell whether vectors are left over when the time is up."""
    shape = joint.shape
    models = [search.model for search in joint.searches if isinstance(search.model, Separable)]
    bound = joint.total(model.bounds() for model in models) if models else np.full(shape, -np.inf)
    order = np.argsort(bound if models else level_sums(shape), axis=None, kind="stable")
    live = np.ones(shape, dtype=np.bool_)
    # Trials pass over the tuples of every site, choosing over the lattice about twice: keep them in balance.
    every = max(1, 2 * prod(shape) // (sum(one.space.rows.size for one in joint.searches) + 2_000))
    top = tuple(size - 1 for size in shape)  # tells at once whether any vector can fit
    for levels in chain([top], choices(live, order, every)):
        if budget.spent(len(joint.totals)):
            break
        live[levels] = False
        said = joint.ask(levels)
        if said[-1].look.condemns:
            live[tuple(slice(level + 1) for level in levels)] = False
        elif said[-1].look.fits and not models:
            above = tuple(slice(level, None) for level in levels)
            bound[above] = np.maximum(bound[above], joint.total(answer.floor for answer in said))
        live &= bound <= joint.limit
    return bool(live.any())


def _descend(joint: Joint, start: LevelVector, budget: Budget) -> None:
    """Go down from the best vector known, each time to the neighbour with the least total loss, as long as one fits."""
    top = tuple(size - 1 for size in joint.shape)
    for levels in (start, top):
        if joint.chosen is None and levels not in joint.totals:
            joint.ask(levels)
    here = joint.chosen
    while here is not None:
        lower = [(*here[:at], level - 1, *here[at + 1 :]) for at, level in enumerate(here) if level]
        for levels in lower:
            if budget.spent(len(joint.totals)):
                return
            if levels not in joint.totals:
                joint.ask(levels)
        fitting = [levels for levels in lower if joint.totals[levels] < inf]
        here = min(fitting, key=lambda levels: (joint.totals[levels], levels), default=None)
