"""The exact search of a lattice: the best node of a quality model, proved, with as few nodes tried as need be.

What is proved, and so what is pruned by:

* A node that suppresses too many rows condemns all nodes below it, where more generalisation never suppresses more
  rows: for absorbing requirements (k, distinct l) always, for monotone ones where nothing may be suppressed at all.
* A node whose bound lies above the best quality found needs no trial (see `quality` for the bounds).
* Tuples that absorbing requirements suppress at a node are suppressed at all nodes below it, which raises their bounds.

Each trial goes to the node that settles most either way: as many nodes below it, if it suppresses too many rows, as
nodes with a bound above its own, if it does not.

Criteria by which nothing can be condemned may leave nearly every node to be tried. A search whose time is up says so,
with the least that any node left could lose.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from math import prod

import numpy as np

from components.anonymization.lattice.budget import Budget
from components.anonymization.lattice.quality import Quality, Separable
from components.anonymization.lattice.space import LevelVector, Space, Tried
from components.classes.coding import BoolArray, FloatArray, IntArray

EQUAL = 1e-12
"""Qualities that differ by no more, as a share, count as equal; so much is left to rounding."""

UNTRIED = -1


@dataclass(slots=True)
class Look:
    """One node that was tried, in figures.

    Parameters
    ----------
    levels : tuple of int, one per dimension
        Counted from the lowest level that may be used.
    missed : tuple of int
        Rows of classes that miss each requirement.
    suppressed : int
        Rows suppressed.
    fits : bool
        Whether no more rows than allowed are suppressed.
    value : float
        Quality.
    condemns : bool
        Whether the nodes below can't fit either.
    """

    levels: LevelVector
    missed: tuple[int, ...]
    suppressed: int
    fits: bool
    value: float
    condemns: bool

    @property
    def tie(self) -> tuple[int, int, LevelVector]:
        """What decides among nodes of equal quality: fewest suppressed, least generalised, first in order."""
        return self.suppressed, sum(self.levels), self.levels


@dataclass(slots=True)
class Search:
    """The state of a search, and what came of it.

    Parameters
    ----------
    space : Space
    model : Quality
    allowed : int
        Rows that may be suppressed, fewer than there are.

    Attributes
    ----------
    looks : list of Look
        In the order tried.
    best : float
        Least quality of a node that fits; infinite as long as none was found.
    equals : list of Look
        The nodes that fit and are as good as the best.
    """

    space: Space
    model: Quality
    allowed: int
    looks: list[Look] = field(default_factory=list)
    best: float = np.inf
    equals: list[Look] = field(default_factory=list)

    @property
    def prunes(self) -> bool:
        """Whether a node that suppresses too many rows condemns all nodes below it."""
        return all(one.absorbing or (one.monotone and not self.allowed) for one in self.space.requirements)

    def look(self, levels: LevelVector) -> tuple[Look, Tried]:
        """Try a node and note what it comes to."""
        tried = self.space.attempt(levels)
        fits = tried.suppressed <= self.allowed
        condemns = not fits and (self.prunes or int(self.space.rows[tried.nested].sum()) > self.allowed)
        look = Look(levels, tried.missed, tried.suppressed, fits, self.model.value(tried), condemns)
        self.looks.append(look)
        if fits:
            self.best = min(self.best, look.value)
            self.equals = [one for one in (*self.equals, look) if one.value <= self.limit]
        return look, tried

    def chosen(self) -> Look | None:
        """Return the best node tried: of equally good ones the one that comes first by `Look.tie`."""
        return min(self.equals, key=lambda look: look.tie, default=None)

    @property
    def limit(self) -> float:
        """Largest quality that counts as equal to the best."""
        return self.best + EQUAL * max(abs(self.best), 1.0)


@dataclass(frozen=True, slots=True)
class Proof:
    """What became of each node of a lattice.

    Parameters
    ----------
    trial : ndarray of int, shape of the lattice
        Place in ``Search.looks``; -1 where the node was not tried.
    condemned : ndarray of int, shape of the lattice
        Place in ``Search.looks`` of the node above that ruled it out; -1 where none did.
    bound : ndarray of float, shape of the lattice
        What the node loses at least.
    live : ndarray of bool, shape of the lattice
        Nodes that nothing is known of but their bound: none where the search came to its end.
    """

    trial: IntArray
    condemned: IntArray
    bound: FloatArray
    live: BoolArray

    @property
    def limit(self) -> str:
        """The option that stopped the search; empty where the best node found is the optimum."""
        return "exact_seconds" if self.live.any() else ""

    def lower_bound(self, search: Search) -> float:
        """Return what every node that fits loses at least."""
        return min(search.best, float(self.bound[self.live].min(initial=np.inf)))

    def settle(self, search: Search, least: float, *, closed: bool) -> None:
        """Take in what was found since by a search that went another way about it.

        Parameters
        ----------
        search : Search
        least : float
            No node that fits loses less, as was proved there.
        closed : bool
            Whether it came to an end, so that the best node found is the optimum.
        """
        for number in range(int(self.trial.max()) + 1, len(search.looks)):
            look = search.looks[number]
            self.trial[look.levels], self.live[look.levels] = number, False
            if look.condemns:
                self.condemn(look.levels, number)
        np.maximum(self.bound, least, out=self.bound, where=self.live)
        self.live[...] &= not closed
        _drop_dearer(search, self.live, self.bound, level_sums(self.live.shape))

    def condemn(self, levels: LevelVector, number: int) -> None:
        """Rule out the nodes below one."""
        below = tuple(slice(level + 1) for level in levels)
        self.condemned[below][self.live[below]] = number
        self.live[below] = False


def exact(search: Search, budget: Budget | None = None) -> Proof:
    """Search a whole lattice.

    Where no budget stops it ``search.chosen()`` is its optimum, or None: no node fits.
    """
    shape = search.space.shape
    model = search.model
    bound = model.bounds() if isinstance(model, Separable) else np.full(shape, -np.inf)
    order = np.argsort(bound if isinstance(model, Separable) else level_sums(shape), axis=None, kind="stable")
    sums = level_sums(shape)
    untried = np.full(shape, UNTRIED, dtype=np.int32)
    proof = Proof(untried, untried.copy(), bound, np.ones(shape, dtype=np.bool_))
    # One trial passes over the tuples once per dimension, choosing over the lattice about twice: keep them in balance.
    every = max(1, 2 * prod(shape) // (search.space.rows.size + 2_000))
    top = tuple(size - 1 for size in shape)  # tells at once whether any node can fit
    for levels in chain([top], choices(proof.live, order, every)):
        if budget is not None and budget.spent(len(search.looks)):
            break
        _settle(search, proof, levels)
        _drop_dearer(search, proof.live, bound, sums)
    return proof


def _settle(search: Search, proof: Proof, levels: LevelVector) -> None:
    """Try a node, and note what that tells of the nodes below and above it."""
    number, model = len(search.looks), search.model
    look, tried = search.look(levels)
    proof.trial[levels], proof.live[levels] = number, False
    if look.condemns:
        proof.condemn(levels, number)
    elif isinstance(model, Separable) and tried.nested.any():
        below = tuple(slice(level + 1) for level in levels)
        proof.bound[below] = np.maximum(proof.bound[below], model.bounds_below(tried))
    if not isinstance(model, Separable):
        above = tuple(slice(level, None) for level in levels)
        proof.bound[above] = np.maximum(proof.bound[above], model.floor(tried))


def _drop_dearer(search: Search, live: BoolArray, bound: FloatArray, sums: IntArray) -> None:
    """Rule out the nodes that can't come before the best one found."""
    best = search.chosen()
    if best is None:
        return
    live &= bound <= search.limit
    if best.suppressed == 0:  # among equals a node that suppresses nothing is beaten by a lower one alone
        lowest = search.best - EQUAL * max(abs(search.best), 1.0)
        live &= (bound < lowest) | (sums <= sum(best.levels))


def choices(live: BoolArray, order: IntArray, every: int) -> Iterator[LevelVector]:
    """Give the live nodes in the order in which to try them; those that are no longer live are passed over.

    What a trial settles is counted anew after `every` trials, or when a tenth of the nodes has been settled since.
    """
    flat = live.reshape(-1)
    while True:
        left = np.flatnonzero(flat)
        if not left.size:
            return
        below = live.astype(np.int32)
        for axis in range(live.ndim):
            np.cumsum(below, axis=axis, out=below)
        dearer = np.empty(flat.size, dtype=np.int32)
        dearer[order] = np.cumsum(flat[order][::-1])[::-1]
        settled = np.minimum(below.reshape(-1)[left], dearer[left])
        if every < left.size:
            some = np.argpartition(-settled, every - 1)[:every]
            some.sort()
        else:
            some = np.arange(left.size)
        for place in some[np.argsort(-settled[some], kind="stable")]:
            node = int(left[place])
            if flat[node]:
                yield tuple(int(level) for level in np.unravel_index(node, live.shape))
            if 10 * np.count_nonzero(flat) < 9 * left.size:
                break


def level_sums(shape: tuple[int, ...]) -> IntArray:
    """Return the level sum of each node."""
    whole = np.zeros((1,) * len(shape), dtype=np.int32)
    for number, size in enumerate(shape):
        levels = np.arange(size, dtype=np.int32)
        whole = whole + levels.reshape([-1 if axis == number else 1 for axis in range(len(shape))])
    return whole
