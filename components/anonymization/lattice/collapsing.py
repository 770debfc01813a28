"""From rows to the space of a search, and from a node of that space back to rows: all that sees rows is here."""

from collections.abc import Sequence
from math import prod

import numpy as np
import pandas as pd

from components.anonymization.criteria.requirements import Requirement
from components.anonymization.lattice.population_search import Crowd
from components.anonymization.lattice.space import Dimension, Levels, Space, Tried, shrunk
from components.classes.coding import LARGEST_KEY, BoolArray, IntArray, any_row_of, combined
from components.classes.counts import Counts, sizes

_CHUNK = 2**17
"""Rows that are looked at in one piece, where only an aggregate of them is kept."""


def collapse(
    dimensions: Sequence[Dimension],
    requirements: Sequence[Requirement],
    rows: BoolArray | None = None,
    population: Crowd | None = None,
) -> Space:
    """Collapse a table to the distinct tuples of its quasi-identifiers.

    Parameters
    ----------
    dimensions : sequence of Dimension
    requirements : sequence of Requirement
        Bound to the table.
    rows : ndarray of bool, shape (n,), optional
        Rows to look at; all without it.
    population : Crowd, optional
        Its persons are whom k_map counts instead of rows. Tuples that only they have are in the space with no rows.
    """
    digits = [
        _lowest(one, one.ladder.attribute.codes if rows is None else one.ladder.attribute.codes[rows])
        for one in dimensions
    ]
    number = digits[0].size
    if population is not None:
        people = [_lowest(one, codes) for one, codes in zip(dimensions, population.codes, strict=True)]
        digits = [np.concatenate(both) for both in zip(digits, people, strict=True)]
    key, span, codes = _tuples(digits, [one.sizes[0] for one in dimensions])
    del digits
    tuples, amounts = _counted(key)
    if population is not None:
        amounts = _at(tuples, *_counted(key[:number]))
    found: list[Counts | None] = []
    for requirement in requirements:
        if population is not None and requirement.name == "k_map":
            found.append(_tallied(key[number:], span, tuples, population.persons, population.n_persons))
        elif requirement.n_codes == 1 and requirement.score is sizes:
            found.append(None)
        else:
            values = requirement.codes if rows is None else requirement.codes[rows]
            found.append(_tallied(key[:number], span, tuples, values, requirement.n_codes))
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
    if span > LARGEST_KEY:  # classes are numbered alike on both sides: in lexicographic order of their groups
        return np.asarray(tried.bad[tried.cells > 0][row_classes(dimensions, levels)[0]])
    groups = [one.groups[level] for one, level in zip(dimensions, levels, strict=True)]
    places = [one.places[level] for one, level in zip(dimensions, levels, strict=True)]
    radices = [one.sizes[level] for one, level in zip(dimensions, levels, strict=True)]
    gone = np.zeros(dimensions[0].ladder.attribute.codes.size, dtype=np.bool_)
    wanted = np.unique(_mixed(space.codes, groups, radices)[tried.bad[tried.key]])
    if not wanted.size:
        return gone
    looked_up = np.zeros(span if span <= gone.size else 0, dtype=np.bool_)
    if looked_up.size:
        looked_up[wanted] = True
    for start in range(0, gone.size, _CHUNK):
        rows = slice(start, start + _CHUNK)
        key = _mixed([one.ladder.attribute.codes[rows] for one in dimensions], places, radices)
        gone[rows] = looked_up[key] if looked_up.size else np.isin(key, wanted)
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
    if span > LARGEST_KEY:
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


def _tallied(key: IntArray, span: int, tuples: IntArray, values: IntArray, size: int) -> Counts:
    """Count values, or persons, in each tuple, by one number for both."""
    if span > LARGEST_KEY // max(size, 1):
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
        digits.append(shrunk(digit))
    return digits[::-1]
