"""What a release changed: the cells that no longer read as the values that stood there."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from components.anonymization.hierarchies.keys import keys_of_texts, moments
from components.classes.coding import Attribute, BoolArray
from components.data.text import Rules
from schemas.dataset import TEMPORAL, TEXT_LIKE, Column, DatasetSchema

_PLAIN = {"integer": np.int64, "number": np.float64, "boolean": np.bool_}


def cells_changed(released: Sequence[Attribute], table_frame: pd.DataFrame, schema: DatasetSchema) -> dict[str, float]:
    """Return the share of cells of each column that a release shows otherwise: of the rows that stand in it.

    A cell is changed where it doesn't read as the value that stood there: ``34`` in a column of text is the number 34,
    and a missing cell is a missing cell.

    Parameters
    ----------
    released : sequence of Attribute
        The columns of a release.
    table_frame : pandas.DataFrame
        The same rows, in the same order, as they were.
    schema : DatasetSchema
        Of the table that was anonymised.
    """
    shares: dict[str, float] = {}
    for one in released:
        column = schema.column(one.name)
        before = table_frame[column.name]
        something = before.notna().to_numpy() | (one.codes >= 0)
        changed = int(np.count_nonzero(something & ~_same(before, one, column)))
        shares[column.name] = changed / max(len(before), 1)
    return shares


def _same(before: pd.Series, after: Attribute, column: Column) -> BoolArray:
    """Tell which cells hold one and the same value; nothing is said of those that are missing on both sides."""
    (cells,) = after.source
    if before.dtype == cells.dtype:
        if isinstance(before.dtype, pd.CategoricalDtype) and before.array.categories.equals(cells.categories):
            return np.asarray(before.array.codes == cells.codes)
        if isinstance(before.dtype, np.dtype):
            return np.asarray(before.to_numpy() == np.asarray(cells))
        return _true(before.array == cells)
    (words,) = after.domain()  # few, where the cells are many: what they mean is looked up once
    if isinstance(before.dtype, pd.CategoricalDtype):
        place = np.append(before.array.categories.get_indexer(words), -1)[after.codes]
        return np.asarray((place >= 0) & (place == before.array.codes))
    if column.dtype in TEXT_LIKE:
        return _true(before.astype("string").array == cells)
    if not len(words):
        return np.zeros(len(before), dtype=np.bool_)
    # What is released is written in one form, whatever the form that the input is declared to have.
    read = keys_of_texts(words, column.model_copy(update={"format": None}), Rules())
    means = np.append(read.known, False)[after.codes]  # the last place is for a missing cell
    equal = read.values[after.codes] == _typed(before, column)
    return np.asarray(means & before.notna().to_numpy() & equal)


def _true(found: Any) -> BoolArray:
    """Return comparisons as booleans: with a missing cell nothing is equal."""
    return pd.Series(found, copy=False).fillna(value=False).to_numpy(dtype=np.bool_)


def _typed(cells: pd.Series, column: Column) -> Any:
    """Return cells as `keys_of_texts` reads them; missing ones as any value."""
    if column.dtype in TEMPORAL:
        return moments(cells.array)
    return cells.to_numpy(dtype=_PLAIN[column.dtype], na_value=0)
