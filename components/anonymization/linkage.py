"""What rows give away together where they tell whose they are: who is hidden in each class may be alone in all."""

import numpy as np
import pandas as pd

from components.classes.coding import IntArray, combined
from components.classes.counts import tally


def alike(persons: IntArray, n_persons: int, classes: IntArray, n_classes: int) -> IntArray:
    """Count the persons who share each set of classes.

    Parameters
    ----------
    persons, classes : ndarray of int, shape (n,)
        Person and class of each row, in [0, n_persons) and [0, n_classes). Each person has a row.
    n_persons, n_classes : int
        How many of them there are.

    Returns
    -------
    ndarray of int, shape (sets,)
        Persons whose rows are in all classes of a set and in no other, for each set that occurs. How many rows a
        person has in a class makes no difference.

    Notes
    -----
    A set is told by the sums of two random 64-bit numbers per class, so that its size does not matter. The chance that
    any two different sets of m have the same sums is below m**2 / 2**129.
    """
    if not persons.size:
        return np.zeros(0, dtype=np.int64)
    pairs = tally(persons, classes, n_persons, n_classes)  # each class of a person once
    drawn = np.random.default_rng(0).integers(2**64, size=(2, n_classes), dtype=np.uint64)
    sums = [pd.factorize(np.add.reduceat(numbers[pairs.codes], pairs.starts)) for numbers in drawn]
    sets, count = combined((codes, len(different)) for codes, different in sums)
    return np.bincount(sets, minlength=count)
