"""One order for the same multiset of rows, whatever order they came in."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

_ROOM = 2**62
"""Mixed-radix keys stay below this, so that int64 never overflows."""


def canonical_order(frame: pd.DataFrame) -> np.ndarray:
    """Return positions that bring the rows into canonical order.

    The order depends on the values alone: not on the rows' order, the index, the columns' order, integer or float or
    nullable dtypes, or the codes of categories. Columns count by name; numbers and times sort by value, everything
    else by text in code-point order; missing cells come last. Rows that are equal throughout keep their order, which
    makes no difference to what is read in canonical order.

    Parameters
    ----------
    frame : pandas.DataFrame, shape (n, d)
        Column names are unique.

    Returns
    -------
    numpy.ndarray of int64, shape (n,)
        ``frame.iloc[canonical_order(frame)]`` is in canonical order.
    """
    key = np.zeros(len(frame), dtype=np.int64)
    count = 1
    for name in sorted(frame.columns, key=str):
        ranks = value_ranks(frame[name])
        distinct = int(ranks.max(initial=0)) + 1
        if distinct == 1:
            continue
        if count > _ROOM // distinct:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            count = int(key.max(initial=0)) + 1
        key = key * distinct + ranks
        count *= distinct
    return np.argsort(key, kind="stable")


def value_ranks(column: pd.Series) -> np.ndarray:
    """Return each cell's dense rank by value, missing cells last.

    Parameters
    ----------
    column : pandas.Series, shape (n,)

    Returns
    -------
    numpy.ndarray of int64, shape (n,)
        0 for the smallest value.
    """
    codes, uniques = pd.factorize(column, use_na_sentinel=True)
    places = np.empty(len(uniques) + 1, dtype=np.int64)
    places[_sorted(uniques)] = np.arange(len(uniques))
    places[-1] = len(uniques)  # where the code -1 of missing cells points
    return places[codes]


def _sorted(uniques: object) -> np.ndarray:
    """Return positions that sort distinct values: numbers and times by value, all else by text."""
    values = pd.Series(uniques)
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(values.dtype.categories.dtype)
    if pd.api.types.is_datetime64_any_dtype(values.dtype) or pd.api.types.is_timedelta64_dtype(values.dtype):
        values = values.astype("int64")
    if pd.api.types.is_numeric_dtype(values.dtype):
        return np.argsort(values.to_numpy(), kind="stable")
    texts = pa.array(values.astype("string"))
    return np.asarray(pc.array_sort_indices(texts))
