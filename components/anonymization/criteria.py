"""Privacy criteria as small functions over counts of values in classes.

All that any criterion here needs is how often each value occurs in each class, so that a search never has to see
the rows again: merging classes is adding up counts. Every function returns one figure per class. Each is monotone
under merging: the figure of a merged class is never worse than that of its worst part.
"""

from dataclasses import dataclass

import numpy as np

from components.anonymization.coding import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Counts:
    """How often each value occurs in each class, without the zeros.

    Parameters
    ----------
    classes, codes, counts : ndarray of int, shape (entries,)
        Class, value code and number of rows of each entry, in the order of class, then value.
    n_classes, n_codes : int
        Classes are 0 to ``n_classes - 1`` and each has at least one entry; codes are 0 to ``n_codes - 1``.
    """

    classes: IntArray
    codes: IntArray
    counts: IntArray
    n_classes: int
    n_codes: int

    def merged(self, into: IntArray, n_classes: int) -> "Counts":
        """Return the counts after class `i` has become a part of class ``into[i]``."""
        return tally(into[self.classes], self.codes, n_classes, self.n_codes, weights=self.counts)

    def total(self, amounts: FloatArray | IntArray) -> FloatArray:
        """Sum one amount per entry over each class, shape (n_classes,)."""
        return np.asarray(np.bincount(self.classes, weights=amounts, minlength=self.n_classes), dtype=np.float64)

    @property
    def starts(self) -> IntArray:
        """Position of each class's first entry, shape (n_classes,)."""
        return np.searchsorted(self.classes, np.arange(self.n_classes))


def tally(classes: IntArray, codes: IntArray, n_classes: int, n_codes: int, weights: IntArray | None = None) -> Counts:
    """Count the values in each class.

    Parameters
    ----------
    classes, codes : ndarray of int, shape (n,)
        Class and value code of each row.
    n_classes, n_codes : int
        How many of them there are.
    weights : ndarray of int, shape (n,), optional
        What each row counts for; 1 without it.
    """
    key = classes.astype(np.int64)
    key *= n_codes
    key += codes
    span = n_classes * n_codes
    if span <= 4 * key.size + 4096:  # a dense count is faster than a sort, and no larger than the rows
        dense = np.bincount(key, weights=weights, minlength=span)
        cells = np.flatnonzero(dense)
        counts = dense[cells].astype(np.int64)
    elif weights is None:
        cells, counts = np.unique(key, return_counts=True)
    else:
        order = np.argsort(key, kind="stable")
        key = key[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))
        cells, counts = key[first], np.add.reduceat(weights[order], first)
    return Counts(cells // n_codes, cells % n_codes, counts, n_classes, n_codes)


def sizes(counts: Counts) -> FloatArray:
    """Rows of each class: its minimum is k (Sweeney 2002)."""
    return counts.total(counts.counts)


def distinct(counts: Counts) -> FloatArray:
    """Different values in each class: its minimum is distinct l (Machanavajjhala et al. 2007, section 3)."""
    return np.bincount(counts.classes, minlength=counts.n_classes).astype(np.float64)


def entropy(counts: Counts) -> FloatArray:
    """Exp(entropy) of each class: its minimum is entropy l (Machanavajjhala et al. 2007, definition 4.1).

    ``m`` equally frequent values give ``m``.
    """
    rows = sizes(counts)
    nats = np.log(rows) - counts.total(counts.counts * np.log(counts.counts)) / rows
    return np.asarray(np.exp(np.maximum(nats, 0.0)), dtype=np.float64)


def largest_share(counts: Counts) -> FloatArray:
    """Share of the most frequent value in each class: its maximum is alpha (Wong et al. 2006)."""
    most = np.maximum.reduceat(counts.counts, counts.starts)
    return np.asarray(most / sizes(counts), dtype=np.float64)


def most_frequent(counts: Counts) -> IntArray:
    """Return the most frequent code of each class, the smallest among equals, shape (n_classes,)."""
    span = counts.n_codes
    best = np.maximum.reduceat(counts.counts * span + (span - 1 - counts.codes), counts.starts)
    return np.asarray(span - 1 - best % span, dtype=np.int64)


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
