"""The bounded search of a lattice too large to be searched whole: a good node, and how much better any could be.

First a descent: from the top, attributes go down as far as the rows allow; then some go up again to let others down,
drawn from a fixed seed. Then boxes of nodes, the one with the lowest bound first (branch and bound, Land and Doig
1960): the top node of a box is tried, which condemns the whole box or leaves it to be cut in two. The lowest bound of
what is left at the end is what is proved: no node loses less. Where nothing is left, the best found is the optimum.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from components.anonymization.lattice.budget import Budget
from components.anonymization.lattice.quality import Separable
from components.anonymization.lattice.search import Look, Search
from components.anonymization.lattice.space import LevelVector
from components.classes.coding import FloatArray

_DESCENT = 0.5
"""Share of the budget that the descent may take."""

_IDLE = 50
"""Turns in a row that try no new node, after which a descent has seen all that it can reach."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """How a bounded search ended.

    Parameters
    ----------
    bound : float
        No node of the lattice that fits loses less.
    limit : {"", "bounded_nodes", "bounded_seconds"}
        The option that stopped it; empty when no node was left, and the best one found is the optimum.
    """

    bound: float
    limit: str

    def lower_bound(self, search: Search) -> float:
        """Return what every node that fits loses at least."""
        return min(self.bound, search.best)


class _Trials:
    """Trials of single nodes, none of them twice.

    Parameters
    ----------
    search : Search
    bounds : ndarray of float, shape of the lattice, optional
        Where nodes were tried before: what is known of the loss of each and of those above it.
    """

    def __init__(self, search: Search, bounds: FloatArray | None = None) -> None:
        self.search = search
        self.shape = search.space.shape
        self._known: dict[LevelVector, tuple[Look, float]] = {}
        if bounds is not None:
            self._known = {look.levels: (look, float(bounds[look.levels])) for look in search.looks}

    def look(self, levels: LevelVector) -> tuple[Look, float]:
        """Return what a node comes to, and what those above it lose at least."""
        if levels not in self._known:
            look, tried = self.search.look(levels)
            self._known[levels] = (look, self.search.model.floor(tried))
        return self._known[levels]

    def bound(self, lowest: LevelVector) -> float:
        """Return what every node from `lowest` upwards loses at least."""
        model = self.search.model
        return model.bound(lowest) if isinstance(model, Separable) else self.look(lowest)[1]


def bounded(search: Search, budget: Budget, bounds: FloatArray | None = None) -> Stopped:
    """Search within a budget; ``search.chosen()`` is the best node found, or None.

    Parameters
    ----------
    search : Search
    budget : Budget
    bounds : ndarray of float, shape of the lattice, optional
        Of a proof that was stopped, whose trials are not made again: by a model that looks at classes, what each node
        and those above it lose at least.
    """
    trials = _Trials(search, bounds)
    _descend(trials, budget)
    return _narrow(trials, budget)


def _descend(trials: _Trials, budget: Budget) -> None:
    """Go down from the top, then try to do better from there (iterated local search, Lourenco et al. 2003)."""
    highest = tuple(size - 1 for size in trials.shape)
    if not trials.look(highest)[0].fits:
        return
    evenly = np.ones(len(highest))
    here = _down(trials, highest, budget, evenly)
    for number in range(len(highest)):  # let each attribute up in turn, and others down before it
        here = _raised(trials, here, budget, [number], np.where(np.arange(len(highest)) == number, 0.0, evenly))
    draw = np.random.default_rng(0)
    idle = 0
    while idle < _IDLE and not budget.spent(len(trials.search.looks), _DESCENT):
        before = len(trials.search.looks)
        some = draw.choice(len(highest), size=min(len(highest), int(draw.integers(2, 6))), replace=False).tolist()
        here = _raised(trials, here, budget, some, draw.exponential(size=len(highest)))
        idle = idle + 1 if len(trials.search.looks) == before else 0


def _raised(trials: _Trials, here: LevelVector, budget: Budget, some: Sequence[int], favour: FloatArray) -> LevelVector:
    """Let some attributes up to the top, go down again, and return where that ends if it is no worse than here."""
    start = tuple(size - 1 if number in some else here[number] for number, size in enumerate(trials.shape))
    if budget.spent(len(trials.search.looks), _DESCENT) or not trials.look(start)[0].fits:
        return here
    there = _down(trials, start, budget, favour)
    return there if trials.look(there)[0].value <= trials.look(here)[0].value else here


def _down(trials: _Trials, start: LevelVector, budget: Budget, favour: FloatArray) -> LevelVector:
    """Let attributes down, level by level, as long as the node fits and loses less: the greatest gain first.

    Gains count `favour` times. An attribute that can't go down any more can't do so further below either, if nodes
    condemn those below them.
    """
    here = start
    stuck: set[int] = set()
    value = trials.look(here)[0].value
    while not budget.spent(len(trials.search.looks), _DESCENT):
        free = [number for number, level in enumerate(here) if level and number not in stuck]
        if not free:
            break
        promise = _promise(trials, here)
        gains = [favour[number] * (promise - _promise(trials, _at(here, number, here[number] - 1))) for number in free]
        number = free[int(np.argmax(gains))]
        step = _at(here, number, here[number] - 1)
        look = trials.look(step)[0]
        if look.fits and look.value < value:
            here, value = step, look.value
        else:
            stuck.add(number)
    return here


def _promise(trials: _Trials, levels: LevelVector) -> float:
    """Return what a node would lose if nothing were suppressed, as far as that is told without a trial."""
    model = trials.search.model
    return model.bound(levels) if isinstance(model, Separable) else float(sum(levels))


def _narrow(trials: _Trials, budget: Budget) -> Stopped:
    """Cut boxes of nodes until none that could hold a better one is left, or the budget is spent."""
    search = trials.search
    turn = count()
    lowest, highest = tuple(0 for _ in trials.shape), tuple(size - 1 for size in trials.shape)
    open_: list[tuple[float, int, LevelVector, LevelVector]] = [(trials.bound(lowest), next(turn), lowest, highest)]
    while open_:
        limit = budget.spent(len(search.looks))
        bound, _, low, high = open_[0]
        if bound > search.limit:
            break
        if limit:
            return Stopped(bound, f"bounded_{limit}")
        heapq.heappop(open_)
        if trials.look(high)[0].condemns or low == high:
            continue
        for part in _halves(trials, low, high):
            part_bound = max(bound, trials.bound(part[0]))
            if part_bound <= search.limit:
                heapq.heappush(open_, (part_bound, next(turn), *part))
    return Stopped(search.best, "")


def _halves(trials: _Trials, low: LevelVector, high: LevelVector) -> Iterator[tuple[LevelVector, LevelVector]]:
    """Cut a box above its lowest level, at the attribute that costs most there."""
    wide = [number for number in range(len(low)) if low[number] < high[number]]
    dear = [_promise(trials, _at(low, number, low[number] + 1)) for number in wide]
    number = wide[int(np.argmax(dear))]
    yield low, _at(high, number, low[number])
    yield _at(low, number, low[number] + 1), high


def _at(levels: LevelVector, number: int, level: int) -> LevelVector:
    return (*levels[:number], level, *levels[number + 1 :])
