"""Columns that rows come without, since nobody was asked for them."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from components.minimization.attributes import Attribute, Codes
from components.minimization.columns import blank


def completed(
    frame: pd.DataFrame, attributes: Iterable[Attribute], spare: Iterable[str], defaults: Mapping[str, float]
) -> pd.DataFrame:
    """Return rows with a column for everything that is not asked, where `frame` has none.

    Parameters
    ----------
    frame : pandas.DataFrame
        Is not written to; it is what is returned where no such column is absent.
    attributes : iterable of Attribute
        In the order of the schema, which says where a new column stands: after the one before it that is there.
    spare : iterable of str
        Names of the attributes that are not asked.
    defaults : mapping of str to float
        By attribute: the code that a new column holds.
    """
    some, not_asked = list(attributes), set(spare)
    new: dict[str, pd.Series] = {}
    for each in some:
        absent = [name for name in each.names if name not in frame.columns]
        if absent and each.name in not_asked:
            cells = each.cells(standing(each, defaults[each.name], len(frame)), blanks(each, frame.index))
            new |= {name: cells[name] for name in absent}
    if not new:
        return frame
    order = [name for each in some for name in each.names]
    found = frame.copy(deep=False)
    at = next((_after(found, name) - 1 for name in order if name in found.columns), len(found.columns))
    for name in order:
        if name in new:
            found.insert(at, name, new[name])
        at = _after(found, name) if name in found.columns else at
    return found


def standing(attribute: Attribute, code: float, rows: int) -> Codes:
    """Return one code for all rows."""
    return np.full(rows, code, dtype=np.int64 if attribute.kind == "nominal" else np.float64)


def blanks(attribute: Attribute, index: pd.Index) -> pd.DataFrame:
    """Return an attribute's columns in the dtypes of its schema, to be filled by `Attribute.cells`."""
    return pd.DataFrame({column.name: blank(column, index) for column in attribute.columns}, index=index)


def _after(frame: pd.DataFrame, name: str) -> int:
    """Return the place behind a column; behind the first one of its name."""
    return list(frame.columns).index(name) + 1
