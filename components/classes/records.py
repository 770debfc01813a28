"""The records behind the rows of a table: whom a row is about, and whether it tells anything."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from components.classes.coding import Attribute, BoolArray, IntArray
from schemas.dataset import DatasetSchema
from schemas.hierarchy import SUPPRESSED


def person_codes(
    frame: pd.DataFrame, schema: DatasetSchema, persons: npt.ArrayLike | None = None
) -> tuple[IntArray, int] | None:
    """Return the person of each row as a code, and how many there are; rows without an id count as one person."""
    if persons is None and schema.subject_id is not None and schema.subject_id in frame.columns:
        persons = frame[schema.subject_id]
    if persons is None:
        return None
    codes, values = pd.factorize(np.asarray(persons))
    return codes + 1, len(values) + 1


def fully_suppressed(attributes: Sequence[Attribute], rows: int) -> BoolArray:
    """Tell the rows in which every quasi-identifier is suppressed; a ``*`` that a column declares is a value.

    Where all rows are alike in this, nothing tells any of them from the others: they are one class, and none of them
    is a row that was suppressed beside a release.
    """
    suppressed = np.full(rows, fill_value=bool(attributes))
    for attribute in attributes:
        (cells,) = attribute.source
        numbers = pd.api.types.is_numeric_dtype(cells.dtype) or pd.api.types.is_datetime64_any_dtype(cells.dtype)
        if numbers or SUPPRESSED in (attribute.columns[0].values or ()):
            return np.zeros(rows, dtype=np.bool_)
        star = np.flatnonzero(np.asarray(attribute.domain()[0], dtype=object) == SUPPRESSED)
        if not star.size:
            return np.zeros(rows, dtype=np.bool_)
        suppressed &= attribute.codes == star[0]
    return np.zeros(rows, dtype=np.bool_) if suppressed.all() else suppressed
