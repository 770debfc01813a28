"""How far the values of a class lie from those of the table, by earth mover's distance: t-closeness (Li et al. 2007).

Every distance is in [0, 1] and monotone under merging: a merged class is no farther than its farthest part.
"""

from collections.abc import Sequence

import numpy as np

from components.classes.coding import FloatArray, IntArray
from components.classes.counts import Counts, sizes, tally


def equal_distance(counts: Counts, table: FloatArray) -> FloatArray:
    """Earth mover's distance of each class to the table when all values are equally far apart (Li et al. 2007, 4.1).

    Parameters
    ----------
    counts : Counts
    table : ndarray of float, shape (n_codes,)
        Share of each value in the table.

    Returns
    -------
    ndarray of float, shape (n_classes,)
        In [0, 1]: half the sum of absolute differences.
    """
    expected = table[counts.codes]
    found = counts.counts / sizes(counts)[counts.classes]
    absent = 1.0 - counts.total(expected)  # the table's share of what the class lacks
    return np.asarray(np.clip((counts.total(np.abs(found - expected)) + absent) / 2.0, 0.0, 1.0), dtype=np.float64)


def ordered_distance(counts: Counts, table: FloatArray) -> FloatArray:
    """Earth mover's distance of each class to the table over ordered values (Li et al. 2007, section 4.1).

    Neighbours among the values that occur are 1/(m-1) apart: the mean of |Q_i - P_i| over the m-1 steps of both
    cumulative distributions.

    Parameters
    ----------
    counts : Counts
    table : ndarray of float, shape (n_codes,)
        Share of each value in the table.

    Returns
    -------
    ndarray of float, shape (n_classes,)
        In [0, 1]; 0 when there is only one value.

    Notes
    -----
    A class's cumulative share is constant between two of its values, and the table's never falls. On such a stretch
    the sum of |Q - P_i| follows from running sums of P, split where P reaches Q: the cost is that of the entries
    and not of classes times values.
    """
    steps = counts.n_codes - 1
    if steps < 1:
        return np.zeros(counts.n_classes)
    below = np.cumsum(table)[:steps]
    running = np.concatenate(([0.0], np.cumsum(below)))
    starts = counts.starts
    cumulative = np.cumsum(counts.counts)
    before = cumulative[starts] - counts.counts[starts]
    share = (cumulative - before[counts.classes]) / sizes(counts)[counts.classes]
    end = np.append(counts.codes[1:], steps)
    end[starts[1:] - 1] = steps
    begin, end = np.minimum(counts.codes, steps), np.minimum(end, steps)
    cross = np.clip(np.searchsorted(below, share), begin, end)
    stretch = share * (2 * cross - begin - end) + running[begin] + running[end] - 2.0 * running[cross]
    lead = running[np.minimum(counts.codes[starts], steps)]  # below a class's first value its share is 0
    return np.asarray(np.clip((counts.total(stretch) + lead) / steps, 0.0, 1.0), dtype=np.float64)


def hierarchical_distance(counts: Counts, table: FloatArray, levels: Sequence[IntArray]) -> FloatArray:
    """Earth mover's distance of each class to the table over values in a hierarchy (Li et al. 2007, section 4.1).

    Two values are as far apart as the level of their lowest common ancestor is high, by the height of the hierarchy.

    Parameters
    ----------
    counts : Counts
    table : ndarray of float, shape (n_codes,)
        Share of each value in the table.
    levels : sequence of ndarray of int, each of shape (n_codes,)
        Group of each value on every level below the one that holds all in one group, level 0 first: one for each
        unit of height.

    Returns
    -------
    ndarray of float, shape (n_classes,)
        In [0, 1]; 0 for a hierarchy of height 0.

    Notes
    -----
    On a tree whose leaves all lie on level 0, what must be moved into or out of a group pays half a step on each
    level below the root, so that the cost is the mean over these levels of the equal distance between groups.
    """
    apart = np.zeros(counts.n_classes)
    for groups in levels:
        n_groups = int(groups.max()) + 1
        merged = tally(counts.classes, groups[counts.codes], counts.n_classes, n_groups, weights=counts.counts)
        shares = np.bincount(groups, weights=table, minlength=n_groups).astype(np.float64)
        apart += equal_distance(merged, shares)
    return apart / max(len(levels), 1)
