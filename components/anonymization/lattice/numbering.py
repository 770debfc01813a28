"""One whole number for each tuple of groups, and how often each number occurs in rows that come piece by piece."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import pandas as pd

from components.classes.coding import LARGEST_KEY, IntArray


@dataclass(frozen=True, slots=True)
class Numbering:
    """Numbers of tuples in mixed radix, in lexicographic order.

    Parameters
    ----------
    radices : tuple of int, one per dimension
        How many groups each has.
    ranked : mapping of int to ndarray of int
        Before these dimensions a number becomes its rank among those that occur, here in order: else it would overflow.
    """

    radices: tuple[int, ...]
    ranked: Mapping[int, IntArray]

    @property
    def span(self) -> int:
        """Numbers are below it."""
        last = max(self.ranked, default=0)
        return prod(self.radices[last:]) * (self.ranked[last].size if self.ranked else 1)

    def keys(self, groups: Sequence[IntArray]) -> IntArray:
        """Return the number of each tuple, given its group in each dimension."""
        key = np.zeros(groups[0].size, dtype=np.int64)
        for place, (group, radix) in enumerate(zip(groups, self.radices, strict=True)):
            if place in self.ranked:
                key = np.searchsorted(self.ranked[place], key)
            key *= radix
            key += group
        return key

    def groups(self, keys: IntArray) -> list[IntArray]:
        """Return the group in each dimension, given the numbers: what `keys` was given."""
        found = []
        for place, radix in reversed(list(enumerate(self.radices))):
            keys, group = np.divmod(keys, radix)
            found.append(group.astype(np.min_scalar_type(-radix)))
            if place in self.ranked:
                keys = self.ranked[place][keys]
        return found[::-1]


def numbering(radices: Sequence[int], tuples: Callable[[], Iterable[Sequence[IntArray]]]) -> Numbering:
    """Return a numbering of tuples that fits into 64 bits.

    Parameters
    ----------
    radices : sequence of int, one per dimension
    tuples : callable
        Gives all tuples that occur, piece by piece, by their group in each dimension. Is called as often as numbers
        would overflow: not at all for a few dimensions.
    """
    ranked: dict[int, IntArray] = {}
    for place in range(1, len(radices)):
        before = Numbering(tuple(radices[:place]), dict(ranked))
        if before.span > LARGEST_KEY // radices[place]:
            ranked[place], _ = counted(before.keys(groups[:place]) for groups in tuples())
    return Numbering(tuple(radices), ranked)


def counted(keys: Iterable[IntArray]) -> tuple[IntArray, IntArray]:
    """Return the different numbers in order, and how often each occurs.

    Most tables repeat themselves, and what was seen before is looked up by its hash. What is new waits, to be put among
    the known ones when it may double them, so that a table that never repeats itself is sorted no more than twice over.

    Parameters
    ----------
    keys : iterable of ndarray of int
        The numbers, piece by piece.

    Returns
    -------
    numbers, amounts : ndarray of int, of equal shape
    """
    known = np.empty(0, dtype=np.int64)
    amounts = np.empty(0, dtype=np.int64)
    places: pd.Index | None = None
    new: list[pd.Series] = []
    waiting = 0
    for key in keys:
        fresh = key
        if places is not None:
            found = places.get_indexer(pd.Index(key))
            fresh = key[found < 0]
            np.add.at(amounts, found[found >= 0] if fresh.size else found, 1)
            if 2 * fresh.size > key.size:  # not worth a look, until these are known
                places = None
        if fresh.size:
            new.append(pd.Series(fresh, copy=False).value_counts(sort=False))
            waiting += new[-1].size
        if waiting > known.size:
            known, amounts = _merged(known, amounts, new)
            places, new, waiting = pd.Index(known), [], 0
    return _merged(known, amounts, new) if new else (known, amounts)


def _merged(known: IntArray, amounts: IntArray, new: Sequence[pd.Series]) -> tuple[IntArray, IntArray]:
    """Put new numbers, some of them more than once, among the known ones."""
    numbers = np.concatenate([known, *(one.index.to_numpy() for one in new)])
    order = np.argsort(numbers)
    numbers = numbers[order]
    first = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
    found = np.concatenate([amounts, *(one.to_numpy() for one in new)])[order]
    return numbers[first], np.add.reduceat(found, first)
