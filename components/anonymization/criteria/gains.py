"""How much more, or less, likely a class makes a sensitive value than the table does.

With p a value's share in the table and q its share in a class. A value that the table lacks gains without bound.
"""

import numpy as np

from components.classes.coding import FloatArray
from components.classes.counts import Counts, sizes


def basic_gain(counts: Counts, table: FloatArray) -> FloatArray:
    """Return the smallest beta of basic beta-likeness in each class (Cao and Karras 2012).

    Parameters
    ----------
    counts : Counts
    table : ndarray of float, shape (n_codes,)
        Share of each value in the table.

    Returns
    -------
    ndarray of float, shape (n_classes,)
        The largest relative gain (q - p) / p over the values with q > p; 0 where there is none. Monotone under
        merging.
    """
    return np.maximum.reduceat(_gains(counts, table), counts.starts)


def enhanced_gain(counts: Counts, table: FloatArray) -> FloatArray:
    """Return the smallest beta of enhanced beta-likeness in each class (Cao and Karras 2012).

    Parameters
    ----------
    counts, table
        See `basic_gain`.

    Returns
    -------
    ndarray of float, shape (n_classes,)
        The largest relative gain; infinite where one is above -ln p, which no beta allows. Monotone under merging.
    """
    gains = _gains(counts, table)
    with np.errstate(divide="ignore"):
        bound = -np.log(table)[counts.codes]
    return np.maximum.reduceat(np.where(gains > bound, np.inf, gains), counts.starts)


def log_ratio(counts: Counts, table: FloatArray) -> FloatArray:
    """Return the delta that delta-disclosure privacy must exceed in each class (Brickell and Shmatikov 2008).

    Parameters
    ----------
    counts, table
        See `basic_gain`.

    Returns
    -------
    ndarray of float, shape (n_classes,)
        The largest abs(ln(q / p)) over the values of the table, in nats; infinite where a class lacks one. Monotone
        under merging.
    """
    there = counts.classes[table[counts.codes] > 0]
    lacking = np.count_nonzero(table) > np.bincount(there, minlength=counts.n_classes)
    return np.where(lacking, np.inf, log_ratio_of_present(counts, table))


def log_ratio_of_present(counts: Counts, table: FloatArray) -> FloatArray:
    """Return what `log_ratio` does over the values that a class holds, as ARX does.

    This is not monotone under merging: a value that one part lacks may become rare in the whole.
    """
    with np.errstate(divide="ignore"):
        ratios = np.abs(np.log(_shares(counts) / table[counts.codes]))
    return np.maximum.reduceat(ratios, counts.starts)


def _gains(counts: Counts, table: FloatArray) -> FloatArray:
    expected = table[counts.codes]
    with np.errstate(divide="ignore"):
        return np.maximum((_shares(counts) - expected) / expected, 0.0)


def _shares(counts: Counts) -> FloatArray:
    return counts.counts / sizes(counts)[counts.classes]
