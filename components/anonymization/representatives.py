"""What the rows of a class get on the quasi-identifiers: values of the same domain, middle ones or an actual record's.

Everything is read off the sorted counts of values in classes; no class is looked at by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from components.classes.coding import MISSING, Attribute, BoolArray, FloatArray, IntArray, above_first, combined
from components.classes.counts import Counts, most_frequent, tally
from schemas.dataset import Column


@dataclass(frozen=True, slots=True)
class Published:
    """What one column of a release holds.

    Parameters
    ----------
    column : Column
    cells : array, shape (n,)
        The released cells.
    training : array, shape (n,)
        The same in the column's original domain, told by the released cells alone.
    generalised : bool
        Whether the cells are text such as ``[20, 29]``.
    """

    column: Column
    cells: Any
    training: Any
    generalised: bool = False


def counted(attribute: Attribute, classes: IntArray, n_classes: int) -> Counts:
    """Count the values of an attribute in each class; 0 is missing, code + 1 a value."""
    return tally(classes, attribute.codes.astype(np.int64) + 1, n_classes, attribute.size + 1)


def middle(attribute: Attribute, counts: Counts, missing: str) -> IntArray:
    """Return the middle value of each class, as codes of shape (n_classes,).

    Values with an order: the actual value nearest the median, the smaller of two. Without order: the most frequent,
    the first in order among equals. With ``missing: own_value`` a missing cell is the middle where more than half
    of the cells, or more cells than have any one value, are missing; with ``ignore`` only where all are.
    """
    if attribute.kind == "nominal":
        return _mode(counts, missing)
    rows = counts.total(counts.counts)
    holes = counts.total(np.where(counts.codes == 0, counts.counts, 0))
    there = counts.codes > 0
    values, amounts, classes = counts.codes[there], counts.counts[there], counts.classes[there]
    reached = np.cumsum(amounts)
    within = np.bincount(classes, weights=amounts, minlength=counts.n_classes)
    wanted = np.cumsum(within) - within + (within + 1) // 2
    codes = np.full(counts.n_classes, MISSING, dtype=np.int64)
    some = within > 0
    codes[some] = values[np.searchsorted(reached, wanted[some])] - 1
    if missing == "own_value":
        codes[2 * holes > rows] = MISSING
    return codes


def medoid(
    attributes: Sequence[Attribute], classes: IntArray, n_classes: int, missing: str, eligible: BoolArray
) -> IntArray:
    """Return the position of one row per class: the one nearest the class's middle values.

    The distance is Gower's (1971): the sum over attributes of |difference| / range for numbers and dates, of rank
    steps / (m-1) for ordered values, of 0 or 1 for others, and of 1 where just one of the two is missing. Among
    equally near rows the one with the smallest values in column order is taken.

    Parameters
    ----------
    attributes : sequence of Attribute
    classes : ndarray of int, shape (n,)
    n_classes : int
    missing : {"own_value", "ignore"}
    eligible : ndarray of bool, shape (n,)
        Rows that may be chosen; at least one in each class.
    """
    rows = np.flatnonzero(eligible)
    distance = np.zeros(len(rows))
    for attribute in attributes:
        centre = middle(attribute, counted(attribute, classes, n_classes), missing)[classes[rows]]
        codes = attribute.codes[rows]
        steps = np.append(scale(attribute), np.nan)
        apart = (codes != centre).astype(np.float64)
        if attribute.kind != "nominal":
            apart = np.where((codes < 0) | (centre < 0), apart, np.abs(steps[codes] - steps[centre]))
        distance += apart
    tuples, _ = combined((attribute.codes[rows], attribute.size) for attribute in attributes)
    order = np.lexsort((tuples, distance, classes[rows]))
    return rows[order[np.searchsorted(classes[rows][order], np.arange(n_classes))]]


def actual(attribute: Attribute, codes: IntArray, classes: IntArray) -> list[Published]:
    """Publish one actual value per class.

    Parameters
    ----------
    attribute : Attribute
    codes : ndarray of int, shape (n_classes,)
        The value of each class.
    classes : ndarray of int, shape (n,)
    """
    return [
        Published(column, cells, cells)
        for column, cells in zip(attribute.columns, attribute.cells(codes, classes), strict=True)
    ]


def _mode(counts: Counts, missing: str) -> IntArray:
    """Return each class's most frequent value as a code: missing comes last among equals, or last of all."""
    hole = counts.codes == 0
    amounts = np.where(hole, 0, counts.counts) if missing == "ignore" else counts.counts
    ordered = Counts(
        counts.classes, np.where(hole, counts.n_codes, counts.codes), amounts, counts.n_classes, counts.n_codes + 1
    )
    code = most_frequent(ordered)
    return np.where(code == counts.n_codes, MISSING, code - 1)


def scale(attribute: Attribute) -> FloatArray:
    """Place each value on [0, 1]: numbers and dates by size, ordered values by rank."""
    place = np.arange(attribute.size, dtype=np.float64)
    if attribute.kind == "number" and attribute.size:
        (values,) = attribute.domain()
        if getattr(values.dtype, "kind", "") == "M":
            values = values.astype("int64")
        if attribute.columns[0].dtype == "number":
            place = np.asarray(values, dtype=np.float64)
            place = np.ldexp(place, -1 - int(np.frexp(place[[0, -1]])[1].max()))  # to where no range overflows
            place = place - place[0]
        else:
            place = above_first(np.asarray(values, dtype=np.int64))
    return place / place[-1] if attribute.size > 1 else place
