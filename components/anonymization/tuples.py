"""The distinct tuples of a table on some attributes: what a division of rows works on, whatever their number."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from components.anonymization.coding import BoolArray, IntArray, any_row_of, combined
from components.anonymization.criteria import Counts
from components.anonymization.requirements import Requirement


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


def collapse(parts: Sequence[tuple[IntArray, int]], requirements: Sequence[Requirement]) -> Tuples:
    """Find the distinct tuples of several code arrays (see `components.anonymization.coding.combined`)."""
    of_row, count = combined(parts)
    return Tuples(
        of_row=of_row,
        rows=np.bincount(of_row, minlength=count),
        first=any_row_of(of_row, count),
        requirements=requirements,
        counts=tuple(requirement.counts(of_row, count) for requirement in requirements),
    )


def of_classes(counts: Counts, chosen: BoolArray) -> Counts:
    """Return the entries of the chosen classes, which keep their numbers."""
    at = chosen[counts.classes]
    return Counts(counts.classes[at], counts.codes[at], counts.counts[at], counts.n_classes, counts.n_codes)
