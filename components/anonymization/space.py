"""What a search over generalisations looks at: distinct quasi-identifier tuples with counts, and never the rows again.

A node of the lattice puts every attribute on one level. Its classes follow from one mixed-radix key over the distinct
tuples, whatever the number of rows behind them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

import numpy as np
import pandas as pd

from components.anonymization.coding import BoolArray, FloatArray, IntArray, any_row_of, combined, dense
from components.anonymization.criteria import Counts, sizes
from components.anonymization.hierarchy import Ladder
from components.anonymization.requirements import Requirement

Levels = tuple[int, ...]
_LARGEST_KEY = 2**62
_DENSE = 8
"""Cells per tuple up to which counting every possible class is quicker than sorting the keys."""

_CHUNK = 2**17
"""Rows that are looked at in one piece, where only an aggregate of them is kept."""


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

    ``missed`` are the rows of classes that miss each requirement (None where that was not looked at any more);
    ``cells`` the rows of each possible class, and ``bad`` tells which of them are suppressed; ``key`` is the class of
    each tuple. ``nested`` tells the tuples that every finer node suppresses too.
    """

    levels: Levels
    missed: tuple[int | None, ...]
    suppressed: int
    key: IntArray
    cells: FloatArray
    bad: BoolArray
    nested: BoolArray

    @property
    def complete(self) -> bool:
        """Whether every requirement was looked at."""
        return None not in self.missed


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

    def attempt(self, levels: Levels, allowed: int | None = None) -> Tried:
        """Try one node.

        Parameters
        ----------
        levels : tuple of int, one per dimension
            Counted from the lowest level.
        allowed : int, optional
            Rows that may be suppressed: the remaining requirements aren't looked at once finer nodes can't keep it.
        """
        key, cells = self._classes(levels)
        bad = np.zeros(cells.size, dtype=np.bool_)
        missed: list[int | None] = [None] * len(self.requirements)
        occupied: BoolArray | None = None
        place: IntArray | None = None
        nested: BoolArray | None = None
        absorbing_first = sorted(range(len(missed)), key=lambda number: not self.requirements[number].absorbing)
        for number in absorbing_first:
            requirement, counts = self.requirements[number], self.counts[number]
            if nested is None and not requirement.absorbing:
                nested = bad.copy()
                if allowed is not None and cells[nested].sum() > allowed:
                    break
            if counts is None:
                fails = ~requirement.met(cells)
                missed[number] = int(cells[fails].sum())
                bad |= fails
                continue
            if occupied is None or place is None:
                occupied = cells > 0
                place = np.cumsum(occupied) - 1
            figures = requirement.score(_within(counts, occupied[key]).merged(place[key], int(place[-1]) + 1))
            fails = ~requirement.met(figures)
            missed[number] = int(cells[occupied][fails].sum())
            bad[occupied] |= fails
        return Tried(
            levels, tuple(missed), int(cells[bad].sum()), key, cells, bad, (bad if nested is None else nested)[key]
        )

    def _classes(self, levels: Levels) -> tuple[IntArray, FloatArray]:
        """Return the class of each tuple and the rows of each possible class."""
        key = np.zeros(self.rows.size, dtype=np.int64)
        span = 1
        for one, codes, level in zip(self.dimensions, self.codes, levels, strict=True):
            size = one.sizes[level]
            if size == 1:
                continue
            if span > _LARGEST_KEY // size:
                ranks, span = dense(key, span)
                key = ranks.astype(np.int64)
            key *= size
            key += one.groups[level][codes]
            span *= size
        if span > _DENSE * key.size + 1024:
            key, span = dense(key, span)
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
    attribute = ladder.attribute
    there = attribute.size + bool((attribute.codes < 0).any())
    ranked = []
    for level in levels:
        ranks = np.zeros(attribute.size + 1, dtype=np.int64)
        ranks[:there] = np.unique(ladder.groups[level][:there], return_inverse=True)[1]
        ranked.append(_shrunk(ranks))
    counts = tuple(int(ranks.max(initial=0)) + 1 for ranks in ranked)
    member = any_row_of(ranked[0][:there], counts[0])
    return Dimension(ladder, levels, tuple(ranks[member] for ranks in ranked), counts, tuple(ranked), member)


def collapse(
    dimensions: Sequence[Dimension],
    requirements: Sequence[Requirement],
    rows: BoolArray | None = None,
    population: Sequence[IntArray] | None = None,
) -> Space:
    """Collapse a table to the distinct tuples of its quasi-identifiers.

    Parameters
    ----------
    dimensions : sequence of Dimension
    requirements : sequence of Requirement
        Bound to the table.
    rows : ndarray of bool, shape (n,), optional
        Rows to look at; all without it.
    population : sequence of ndarray of int, one per dimension, optional
        Value codes of the persons of a population, whom k_map counts instead of rows. Tuples that only they have are
        in the space with no rows.
    """
    digits = [
        _lowest(one, one.ladder.attribute.codes if rows is None else one.ladder.attribute.codes[rows])
        for one in dimensions
    ]
    number = digits[0].size
    if population is not None:
        people = [_lowest(one, codes) for one, codes in zip(dimensions, population, strict=True)]
        digits = [np.concatenate(both) for both in zip(digits, people, strict=True)]
    key, span, codes = _tuples(digits, [one.sizes[0] for one in dimensions])
    del digits
    tuples, amounts = _counted(key)
    if population is not None:
        amounts = _at(tuples, *_counted(key[:number]))
    found: list[Counts | None] = []
    for requirement in requirements:
        if population is not None and requirement.name == "k_map":
            persons, crowds = _counted(key[number:])
            at = np.searchsorted(tuples, persons)
            found.append(Counts(at, np.zeros_like(at), crowds, tuples.size, 1))
        elif requirement.n_codes == 1 and requirement.score is sizes:
            found.append(None)
        else:
            found.append(_tallied(key[:number], span, tuples, requirement, rows))
    if codes is None:
        codes = _digits(tuples, [one.sizes[0] for one in dimensions])
    return Space(tuple(dimensions), tuple(codes), amounts.astype(np.float64), tuple(requirements), tuple(found))


def row_classes(dimensions: Sequence[Dimension], levels: Levels) -> tuple[IntArray, int]:
    """Return the class of each row of the table on a node, in lexicographic order, and how many classes there are."""
    return combined(
        (one.places[level][one.ladder.attribute.codes], one.sizes[level])
        for one, level in zip(dimensions, levels, strict=True)
    )


def suppressed_rows(space: Space, tried: Tried) -> BoolArray:
    """Return the rows of the table whose classes a node suppresses, shape (n,); `space` is that of all rows."""
    dimensions, levels = space.dimensions, tried.levels
    span = prod(one.sizes[level] for one, level in zip(dimensions, levels, strict=True))
    if span > _LARGEST_KEY:  # classes are numbered alike on both sides: in lexicographic order of their groups
        return np.asarray(tried.bad[tried.cells > 0][row_classes(dimensions, levels)[0]])
    groups = [one.groups[level] for one, level in zip(dimensions, levels, strict=True)]
    places = [one.places[level] for one, level in zip(dimensions, levels, strict=True)]
    radices = [one.sizes[level] for one, level in zip(dimensions, levels, strict=True)]
    wanted = np.unique(_mixed(space.codes, groups, radices)[tried.bad[tried.key]])
    gone = np.zeros(dimensions[0].ladder.attribute.codes.size, dtype=np.bool_)
    if not wanted.size:
        return gone
    for start in range(0, gone.size, _CHUNK):
        rows = slice(start, start + _CHUNK)
        key = _mixed([one.ladder.attribute.codes[rows] for one in dimensions], places, radices)
        gone[rows] = wanted[np.searchsorted(wanted, key).clip(max=wanted.size - 1)] == key
    return gone


def _mixed(codes: Sequence[IntArray], groups: Sequence[IntArray], radices: Sequence[int]) -> IntArray:
    """Return the mixed-radix key of the groups of some codes."""
    key = np.zeros(codes[0].size, dtype=np.int64)
    for one, group, radix in zip(codes, groups, radices, strict=True):
        key *= radix
        key += group[one]
    return key


def _tuples(digits: Sequence[IntArray], radices: Sequence[int]) -> tuple[IntArray, int, list[IntArray] | None]:
    """Return each row's tuple as a number, their span, and the tuples' codes where the number doesn't tell them."""
    span = prod(radices)
    if span > _LARGEST_KEY:
        ids, count = combined(zip(digits, radices, strict=True))
        first = any_row_of(ids, count)
        return ids, count, [codes[first] for codes in digits]
    key: IntArray = digits[0].astype(np.int32 if span < 2**31 else np.int64)
    for codes, radix in zip(digits[1:], radices[1:], strict=True):
        key *= radix
        key += codes
    return key, span, None


def _lowest(one: Dimension, codes: IntArray) -> IntArray:
    """Return the group of each value code on the lowest level; the codes themselves where they are that."""
    places = one.places[0]
    if np.array_equal(places[:-1], np.arange(places.size - 1)) and not (codes < 0).any():
        return codes
    return places[codes]


def _at(numbers: IntArray, some: IntArray, amounts: IntArray) -> IntArray:
    """Return the amounts of some of the numbers at their places among all, and 0 elsewhere."""
    found = np.zeros(numbers.size, dtype=np.int64)
    found[np.searchsorted(numbers, some)] = amounts
    return found


def _counted(key: IntArray) -> tuple[IntArray, IntArray]:
    """Return the different numbers in order, and how often each occurs.

    Hashed, since most tables repeat themselves, and piece by piece: a table of hashes is as large as what it is given.
    """
    pieces = [
        pd.Series(key[start : start + _CHUNK], copy=False).value_counts(sort=False)
        for start in range(0, max(key.size, 1), _CHUNK)
    ]
    numbers: IntArray = np.concatenate([piece.index.to_numpy() for piece in pieces])
    amounts = np.concatenate([piece.to_numpy() for piece in pieces])
    order = np.argsort(numbers)
    numbers = numbers[order]
    first = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])) if numbers.size else order
    return numbers[first], np.add.reduceat(amounts[order], first) if numbers.size else amounts


def _tallied(key: IntArray, span: int, tuples: IntArray, requirement: Requirement, rows: BoolArray | None) -> Counts:
    """Count a requirement's values in each tuple, by one number for both."""
    values, size = requirement.codes if rows is None else requirement.codes[rows], requirement.n_codes
    if span > _LARGEST_KEY // max(size, 1):
        key, tuples = np.searchsorted(tuples, key), np.arange(tuples.size)
        span = tuples.size
    both: IntArray = key.astype(np.int32 if span * size < 2**31 else np.int64)
    both *= size
    both += values
    pairs, amounts = _counted(both)
    return Counts(np.searchsorted(tuples, pairs // size), pairs % size, amounts, tuples.size, size)


def _digits(numbers: IntArray, radices: Sequence[int]) -> list[IntArray]:
    """Take mixed-radix numbers apart."""
    digits = []
    for radix in reversed(radices):
        numbers, digit = np.divmod(numbers, radix)
        digits.append(_shrunk(digit))
    return digits[::-1]


def _shrunk(codes: IntArray) -> IntArray:
    """Return codes in the smallest type that holds them."""
    return codes.astype(np.min_scalar_type(-max(int(codes.max(initial=0)), 1) - 1))
