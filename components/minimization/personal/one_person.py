"""What one person tells, value by value, as a row of a table."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from components.minimization.attributes import Attribute, Codes, Outside, encoded
from components.minimization.completing import blanks, standing
from schemas.dataset import TEMPORAL
from schemas.faults import DataError, Fault

ONE = pd.RangeIndex(1)


def row_of(
    attributes: Iterable[Attribute], told: Mapping[str, Any], defaults: Mapping[str, float], outside: Outside
) -> tuple[pd.DataFrame, dict[str, Codes]]:
    """Return what a person told as one row, and the codes of the attributes in it.

    Parameters
    ----------
    attributes : iterable of Attribute
    told : mapping of str to any
        By attribute: a value as JSON holds it, of one-hot columns the name of the one that is 1, None where it is not
        known. What is no attribute is a column that is known anyway.
    defaults, outside
        As for `encoded`.

    Raises
    ------
    DataError
        Values are of another kind; or, with ``outside: refuse``, outside the domain.
    """
    some = list(attributes)
    there = [each for each in some if each.name in told]
    faults: list[Fault] = []
    columns: dict[str, pd.Series] = {}
    for each in there:
        try:
            columns |= _columns(each, told[each.name])
        except (ValueError, TypeError, OverflowError):  # their messages hold the value
            faults.append(Fault(f"column '{each.name}'", "was told as what is no value of its kind"))
    if faults:
        raise DataError(faults)
    codes = encoded(there, pd.DataFrame(columns, index=ONE), defaults, outside)
    typed = {name: cells for each in there for name, cells in each.cells(codes[each.name], blanks(each, ONE)).items()}
    own = {each.name for each in some}
    known = {name: pd.Series([value]) for name, value in told.items() if name not in own}
    return pd.DataFrame(typed | known, index=ONE), codes


def _columns(attribute: Attribute, value: Any) -> dict[str, pd.Series]:
    """Return columns that hold a value; ``ValueError`` where it is no date, or none of a group's columns."""
    if attribute.grouped or (attribute.dtype in TEMPORAL and value is not None):
        return attribute.cells(standing(attribute, attribute.code(value), 1), blanks(attribute, ONE))
    return {attribute.name: pd.Series([value])}
