"""Privacy criteria as small functions over counts of values in classes: those that look at a class alone.

All that any criterion needs is how often each value occurs in each class, so that a search never has to see the rows
again: merging classes is adding up counts. Every function returns one figure per class. Each is monotone under
merging: the figure of a merged class is never worse than that of its worst part.
"""

from dataclasses import dataclass

import numpy as np

from components.classes.coding import FloatArray, IntArray


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
        return np.flatnonzero(np.diff(self.classes, prepend=-1))


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


def recursive(counts: Counts, l: int) -> FloatArray:
    """Return the c that recursive (c, l)-diversity must exceed in each class (Machanavajjhala et al. 2007, 4).

    Parameters
    ----------
    counts : Counts
    l : int
        At least 2.

    Returns
    -------
    ndarray of float, shape (n_classes,)
        ``r1 / (r_l + ... + r_m)``, the counts of a class from the largest down: the infimum of all c with
        ``r1 < c * (r_l + ... + r_m)``. Infinite where a class holds fewer than l values.
    """
    largest = np.maximum.reduceat(counts.counts, counts.starts)
    rest = sizes(counts) - (largest if l == 2 else _sum_of_largest(counts, l - 1))
    return np.asarray(np.divide(largest, rest, out=np.full(counts.n_classes, np.inf), where=rest > 0), dtype=np.float64)


def _sum_of_largest(counts: Counts, number: int) -> FloatArray:
    """Add up the `number` largest counts of each class."""
    descending = np.lexsort((-counts.counts, counts.classes))
    rank = np.arange(len(counts.counts)) - counts.starts[counts.classes]
    return counts.total(np.where(rank < number, counts.counts[descending], 0))
