"""The distinct tuples of a table on some attributes: what a division of rows works on, whatever their number."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from components.anonymization.criteria.requirements import Requirement
from components.classes.coding import IntArray, any_row_of, combined
from components.classes.counts import Counts


@dataclass(frozen=True, slots=True)
class Tuples:
    """The distinct tuples of a table on some attributes, with all that criteria ask about them.

    Parameters
    ----------
    of_row : ndarray of int, shape (n,)
        Tuple of each row.
    rows : ndarray of int, shape (T,)
        Rows of each tuple.
    first : ndarray of int, shape (T,)
        A row that has the tuple.
    requirements : sequence of Requirement
    counts : tuple of Counts, one per requirement
        With a tuple as a class.
    """

    of_row: IntArray
    rows: IntArray
    first: IntArray
    requirements: Sequence[Requirement]
    counts: tuple[Counts, ...]


def distinct_tuples(parts: Sequence[tuple[IntArray, int]], requirements: Sequence[Requirement]) -> Tuples:
    """Find the distinct tuples of several code arrays (see `components.classes.coding.combined`)."""
    of_row, count = combined(parts)
    return Tuples(
        of_row=of_row,
        rows=np.bincount(of_row, minlength=count),
        first=any_row_of(of_row, count),
        requirements=requirements,
        counts=tuple(requirement.counts(of_row, count) for requirement in requirements),
    )


def placed(counts: Counts, places: IntArray, count: int) -> Counts:
    """Return the entries of class i as those of class ``places[i]``, without the classes that have no place (-1).

    Entries keep their order, and classes that go to one place are not added up: `tally` does.
    """
    classes = places[counts.classes]
    there = classes >= 0
    if there.all():
        return Counts(classes, counts.codes, counts.counts, count, counts.n_codes)
    return Counts(classes[there], counts.codes[there], counts.counts[there], count, counts.n_codes)
