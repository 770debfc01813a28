"""From rows to the space of a search, and from a node of that space back to rows: all that sees rows is here.

Rows are looked at in pieces. What stays is the size of the distinct tuples, and from a node one truth value a row.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from components.anonymization.criteria.requirements import Requirement
from components.anonymization.lattice.numbering import Numbering, counted, numbering
from components.anonymization.lattice.population_search import Crowd
from components.anonymization.lattice.space import Dimension, LevelVector, Space, Tried
from components.classes.coding import LARGEST_KEY, BoolArray, IntArray, combined, pieces
from components.classes.counts import Counts, sizes


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
    radices = [one.sizes[0] for one in dimensions]
    lowest = [one.places[0] for one in dimensions]
    table = _Side([one.ladder.attribute.codes for one in dimensions], lowest, rows)
    people = None if population is None else _Side(population.codes, lowest)
    sides = [table] if people is None else [table, people]
    numbers = numbering(radices, lambda: (groups for side in sides for groups in side.groups()))
    tuples, amounts = counted(table.keys(numbers))
    if people is not None:
        of_table, tuples = tuples, np.union1d(tuples, counted(people.keys(numbers))[0])
        amounts = _at(tuples, of_table, amounts)
    found: list[Counts | None] = []
    for requirement in requirements:
        if people is not None and population is not None and requirement.name == "k_map":
            found.append(_tallied(people, numbers, tuples, population.persons, population.n_persons))
        elif requirement.n_codes == 1 and requirement.score is sizes:
            found.append(None)
        else:
            found.append(_tallied(table, numbers, tuples, requirement.codes, requirement.n_codes))
    codes = tuple(numbers.groups(tuples))
    return Space(tuple(dimensions), codes, amounts.astype(np.float64), tuple(requirements), tuple(found))


def row_classes(dimensions: Sequence[Dimension], levels: LevelVector) -> tuple[IntArray, int]:
    """Return the class of each row of the table on a node, in lexicographic order, and how many classes there are."""
    return combined(
        (one.places[level][one.ladder.attribute.codes], one.sizes[level])
        for one, level in zip(dimensions, levels, strict=True)
    )


def suppressed_rows(space: Space, tried: Tried) -> BoolArray:
    """Return the rows of the table whose classes a node suppresses, shape (n,); `space` is that of all rows."""
    at = list(zip(space.dimensions, tried.levels, strict=True))
    tuples = _Side(space.codes, [one.groups[level] for one, level in at])
    table = _Side([one.ladder.attribute.codes for one in space.dimensions], [one.places[level] for one, level in at])
    numbers = numbering([one.sizes[level] for one, level in at], tuples.groups)
    bad = tried.bad[tried.key]
    wanted = counted(key[bad[rows]] for rows, key in zip(pieces(bad.size), tuples.keys(numbers), strict=True))[0]
    gone = np.zeros(table.size, dtype=np.bool_)
    if wanted.size:
        is_wanted = _membership(wanted, numbers.span, gone.size)
        for rows, key in zip(pieces(gone.size), table.keys(numbers), strict=True):
            gone[rows] = is_wanted(key)
    return gone


@dataclass(frozen=True, slots=True)
class _Side:
    """Codes on some levels, piece by piece.

    Parameters
    ----------
    codes : sequence of ndarray of int, one per dimension, each of shape (n,)
    places : sequence of ndarray of int, one per dimension
        Group of each code; where -1 is one of them, the last place is its.
    rows : ndarray of bool, shape (n,), optional
        Rows to look at; all without it.
    """

    codes: Sequence[IntArray]
    places: Sequence[IntArray]
    rows: BoolArray | None = None

    @property
    def size(self) -> int:
        """Rows, looked at or not."""
        return self.codes[0].size

    def of(self, values: IntArray) -> Iterator[IntArray]:
        """Yield what one array holds of the rows."""
        return (values[piece] if self.rows is None else values[piece][self.rows[piece]] for piece in pieces(self.size))

    def groups(self) -> Iterator[list[IntArray]]:
        """Yield the group of each row, per dimension."""
        same = [int(np.append(place != np.arange(place.size), True).argmax()) for place in self.places]
        for some in zip(*map(self.of, self.codes), strict=True):
            yield [  # codes below `same` are groups themselves
                codes if codes.min(initial=0) >= 0 and codes.max(initial=0) < below else place.take(codes)
                for codes, place, below in zip(some, self.places, same, strict=True)
            ]

    def keys(self, numbers: Numbering) -> Iterator[IntArray]:
        """Yield the number of each row's tuple."""
        return map(numbers.keys, self.groups())


def _membership(some: IntArray, span: int, most: int) -> Callable[[IntArray], BoolArray]:
    """Return what tells of numbers below `span` whether they are among some: by `span` bytes, no more than `most`."""
    if span > most:
        known = pd.Index(some)
        return lambda key: known.get_indexer(pd.Index(key)) >= 0
    there = np.zeros(span, dtype=np.bool_)
    there[some] = True
    return there.take


def _at(numbers: IntArray, some: IntArray, amounts: IntArray) -> IntArray:
    """Return the amounts of some of the numbers at their places among all, and 0 elsewhere."""
    found = np.zeros(numbers.size, dtype=np.int64)
    found[np.searchsorted(numbers, some)] = amounts
    return found


def _tallied(side: _Side, numbers: Numbering, tuples: IntArray, values: IntArray, size: int) -> Counts:
    """Count values, or persons, in each tuple, by one number for both."""
    ranked = numbers.span > LARGEST_KEY // max(size, 1)
    both = (
        (np.searchsorted(tuples, key) if ranked else key) * size + some
        for key, some in zip(side.keys(numbers), side.of(values), strict=True)
    )
    pairs, amounts = counted(both)
    of_pair, codes = np.divmod(pairs, size)
    return Counts(of_pair if ranked else np.searchsorted(tuples, of_pair), codes, amounts, tuples.size, size)
