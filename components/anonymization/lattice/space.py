"""What a search over generalisations looks at: distinct quasi-identifier tuples with counts, and never the rows again.

A node of the lattice puts every attribute on one level. Its classes follow from one mixed-radix key over the distinct
tuples, whatever the number of rows behind them.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from components.anonymization.criteria.requirements import Requirement
from components.anonymization.hierarchies.hierarchy import Ladder
from components.classes.coding import LARGEST_KEY, BoolArray, FloatArray, IntArray, any_row_of, dense
from components.classes.counts import Counts

LevelVector = tuple[int, ...]
_DENSE = 2
"""Cells per tuple up to which every possible class is counted; beyond, only those that occur, found by hashing."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One attribute on the levels that a search may use; value groups are told by ranks from 0.

    Parameters
    ----------
    ladder : Ladder
    levels : range
        Levels of the ladder, lowest first.
    groups : tuple of ndarray of int, one per level, each of shape (m,)
        Group of each of the m groups of the lowest level.
    sizes : tuple of int, one per level
        How many groups there are.
    places : tuple of ndarray of int, one per level, each of shape (size + 1,)
        Group of each value code; the last place is for missing.
    member : ndarray of int, shape (m,)
        Place of one value of each group of the lowest level.
    """

    ladder: Ladder
    levels: range
    groups: tuple[IntArray, ...]
    sizes: tuple[int, ...]
    places: tuple[IntArray, ...]
    member: IntArray

    @property
    def held(self) -> bool:
        """Whether the attribute stays as it is, whatever the search decides."""
        return is_held(self.ladder)


class Tried(NamedTuple):
    """What one node comes to.

    ``missed`` are the rows of classes that miss each requirement; ``cells`` the rows of each possible class, and
    ``bad`` tells which of them are suppressed; ``key`` is the class of each tuple. ``nested`` tells the tuples that
    every finer node suppresses too.
    """

    levels: LevelVector
    missed: tuple[int, ...]
    suppressed: int
    key: IntArray
    cells: FloatArray
    bad: BoolArray
    nested: BoolArray


@dataclass(frozen=True, slots=True)
class Space:
    """Distinct quasi-identifier tuples, on the lowest levels that may be used, with all that is counted in them.

    Parameters
    ----------
    dimensions : tuple of Dimension
    codes : tuple of ndarray of int, one per dimension, each of shape (tuples,)
        Group of each tuple on the lowest level. Tuples stand in lexicographic order.
    rows : ndarray of float, shape (tuples,)
        Rows of each tuple (whole numbers).
    requirements : tuple of Requirement
    counts : tuple of Counts or None, one per requirement
        Values in each tuple; None where rows are what counts.
    """

    dimensions: tuple[Dimension, ...]
    codes: tuple[IntArray, ...]
    rows: FloatArray
    requirements: tuple[Requirement, ...]
    counts: tuple[Counts | None, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Levels per dimension: the lattice has as many nodes as their product."""
        return tuple(len(one.levels) for one in self.dimensions)

    def total(self) -> int:
        """Return how many rows there are."""
        return int(self.rows.sum())

    def attempt(self, levels: LevelVector) -> Tried:
        """Try one node.

        Parameters
        ----------
        levels : tuple of int, one per dimension
            Counted from the lowest level.
        """
        key, cells = self._classes(levels)
        bad = np.zeros(cells.size, dtype=np.bool_)
        nested = np.zeros(cells.size, dtype=np.bool_)
        occupied = cells > 0
        place = np.cumsum(occupied) - 1 if any(counts is not None for counts in self.counts) else None
        missed = []
        for requirement, counts in zip(self.requirements, self.counts, strict=True):
            if counts is None or place is None:
                fails = ~requirement.met(cells)
            else:
                figures = requirement.score(_within(counts, occupied[key]).merged(place[key], int(place[-1]) + 1))
                fails = np.zeros(cells.size, dtype=np.bool_)
                fails[occupied] = ~requirement.met(figures)
            missed.append(int(cells.sum(where=fails)))
            bad |= fails
            if requirement.absorbing:
                nested |= fails
        return Tried(levels, tuple(missed), int(cells.sum(where=bad)), key, cells, bad, nested[key])

    def _classes(self, levels: LevelVector) -> tuple[IntArray, FloatArray]:
        """Return the class of each tuple and the rows of each possible class."""
        key = np.zeros(self.rows.size, dtype=np.int64)
        span = 1
        for one, codes, level in zip(self.dimensions, self.codes, levels, strict=True):
            size = one.sizes[level]
            if size == 1:
                continue
            if span > LARGEST_KEY // size:
                ranks, span = dense(key, span)
                key = ranks.astype(np.int64)
            key *= size
            key += one.groups[level].take(codes)
            span *= size
        if span > _DENSE * key.size + 1024:
            key, seen = pd.factorize(key)
            span = seen.size
        return key, np.bincount(key, weights=self.rows, minlength=span).astype(np.float64, copy=False)


def _within(counts: Counts, occupied: BoolArray) -> Counts:
    """Leave out what is counted in tuples whose class no row of the table is in."""
    there = occupied[counts.classes]
    if there.all():
        return counts
    return replace(counts, classes=counts.classes[there], codes=counts.codes[there], counts=counts.counts[there])


def is_held(ladder: Ladder) -> bool:
    """Tell whether an attribute stays as it is, whatever a search decides."""
    return ladder.hierarchy is None and len(ladder.groups) == 1


def dimension(ladder: Ladder, lowest: int = 0, highest: int | None = None) -> Dimension:
    """Return an attribute on the levels from `lowest` to `highest` (the ladder's last one without it)."""
    levels = range(lowest, len(ladder.groups) if highest is None else highest + 1)
    ranked = [shrunk(np.unique(ladder.groups[level], return_inverse=True)[1]) for level in levels]
    counts = tuple(int(ranks.max()) + 1 for ranks in ranked)
    member = any_row_of(ranked[0], counts[0])
    return Dimension(ladder, levels, tuple(ranks[member] for ranks in ranked), counts, tuple(ranked), member)


def shrunk(codes: IntArray) -> IntArray:
    """Return codes in the smallest type that holds them and -1."""
    return codes.astype(np.min_scalar_type(-max(int(codes.max(initial=0)), 1) - 1))
