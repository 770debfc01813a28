"""How each criterion on a sensitive column scores a class."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import numpy as np

from components.anonymization.criteria.declarations import (
    Alpha,
    Beta,
    BetaEnhanced,
    DeltaDisclosure,
    LDistinct,
    LEntropy,
    LRecursive,
    OnColumn,
    T,
)
from components.anonymization.criteria.distances import equal_distance, hierarchical_distance, ordered_distance
from components.anonymization.criteria.gains import basic_gain, enhanced_gain, log_ratio, log_ratio_of_present
from components.anonymization.criteria.sensitive import Values
from components.anonymization.hierarchies.hierarchy import Hierarchy, climb
from components.classes.coding import FloatArray, IntArray, any_row_of, combined
from components.classes.counts import Counts, distinct, entropy, largest_share, recursive

Score = Callable[[Counts], FloatArray]


def natural_distance(values: Values) -> Literal["equal", "ordered"]:
    """Return the distance that fits a column: equal for what can only be told apart, else ordered."""
    return "equal" if values.attribute.kind == "nominal" else "ordered"


def score_of(criterion: OnColumn, values: Values, hierarchy: Hierarchy | None, markers: Sequence[str]) -> Score:
    """Return what gives a criterion's figure of each class, from the counts of a column's values.

    Parameters
    ----------
    criterion : OnColumn
    values : Values
        The column.
    hierarchy : Hierarchy or None
        Of the column; what a hierarchical distance climbs.
    markers : sequence of str
        Cells with this text are missing.
    """
    match criterion:
        case LDistinct():
            return distinct
        case LEntropy():
            return entropy
        case LRecursive():
            return partial(recursive, l=criterion.l)
        case Alpha():
            return largest_share
        case T():
            return _distance(criterion, values, hierarchy, markers)
    gain = _gain(criterion)
    return lambda counts: gain(counts, values.table)


def _gain(criterion: OnColumn) -> Callable[[Counts, FloatArray], FloatArray]:
    match criterion:
        case Beta():
            return basic_gain
        case BetaEnhanced():
            return enhanced_gain
        case DeltaDisclosure():
            return log_ratio if criterion.absent == "strict" else log_ratio_of_present
    raise NotImplementedError(type(criterion).__name__)


def _distance(criterion: T, values: Values, hierarchy: Hierarchy | None, markers: Sequence[str]) -> Score:
    if criterion.distance == "hierarchical":
        if hierarchy is None:
            raise ValueError("a hierarchical distance needs a hierarchy")
        return partial(hierarchical_distance, table=values.table, levels=_levels(values, hierarchy, markers))
    chosen = natural_distance(values) if criterion.distance == "auto" else criterion.distance
    return partial(equal_distance if chosen == "equal" else ordered_distance, table=values.table)


def _levels(values: Values, hierarchy: Hierarchy, markers: Sequence[str]) -> list[IntArray]:
    """Return the group of each value on every level below the root."""
    ladder = climb(values.attribute, hierarchy, markers)
    levels = []
    for groups, share in zip(ladder.groups, ladder.shares, strict=True):
        known = groups[: values.attribute.size]
        if known.size and round(share[known].min() * ladder.leaves) == ladder.leaves:  # all are one
            break
        levels.append(groups[: values.size])
    return levels


def beside(others: Sequence[Values], values: Values, score: Score, worst: np.ufunc) -> tuple[IntArray, int, Score]:
    """Let the other sensitive columns tell a class's rows apart: its figure is that of the worst such part.

    Parameters
    ----------
    others : sequence of Values
    values : Values
        The column that the criterion is on.
    score : callable
        The figure of each class from the counts of its values alone.
    worst : ufunc
        Which of two figures is the worse one: `numpy.minimum` or `numpy.maximum`.

    Returns
    -------
    codes : ndarray of int, shape (n,)
        A code for each pair of what the others say and the value itself, in that order.
    count : int
        How many pairs there are.
    score : callable
        The figure of each class from the counts of its pairs.
    """
    known, n_known = combined((one.codes, one.size) for one in others)
    pairs, n_pairs = combined([(known, n_known), (values.codes, values.size)])
    rows = any_row_of(pairs, n_pairs)
    part_of, value_of = known[rows], values.codes[rows]

    def scored(counts: Counts) -> FloatArray:
        part = part_of[counts.codes]
        first = np.ones(len(part), dtype=np.bool_)
        first[1:] = (counts.classes[1:] != counts.classes[:-1]) | (part[1:] != part[:-1])
        ids = np.cumsum(first) - 1
        figures = score(Counts(ids, value_of[counts.codes], counts.counts, int(ids[-1]) + 1, values.size))
        return np.asarray(worst.reduceat(figures, ids[counts.starts]), dtype=np.float64)

    return pairs, n_pairs, scored
