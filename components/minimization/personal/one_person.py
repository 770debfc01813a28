"""What one person tells, value by value, as a row of a table."""

from collections.abc import Mapping
from math import floor
from typing import Any

import pandas as pd

from components.minimization.attributes import Attribute, Codes, Outside, encoded
from components.minimization.completing import blanks, standing
from components.minimization.forms import Collecting, understood
from components.minimization.partitions import Partition
from components.minimization.wording import choices
from schemas.dataset import TEMPORAL
from schemas.faults import DataError, Fault

ONE = pd.RangeIndex(1)


def row_of(
    collecting: Collecting,
    told: Mapping[str, Any],
    defaults: Mapping[str, float],
    outside: Outside,
) -> tuple[pd.DataFrame, dict[str, Codes]]:
    """Return what a person told of attributes as one row, and their codes.

    Parameters
    ----------
    collecting : iterable of (Attribute, Partition or None)
        What is collected of each; None: the value as it is.
    told : mapping of str to any
        By attribute: a value as JSON holds it, of one-hot columns the name of the one that is 1, None where it is not
        known; of ranges or groups also the text of one. What belongs to no attribute is left aside.
    defaults, outside
        As for `encoded`.

    Raises
    ------
    DataError
        Values are of another kind, or of a group's columns instead of the group; or, with ``outside: refuse``, outside
        the domain.
    """
    some = list(collecting)
    there = [each for each, _ in some if each.name in told]
    faults = [
        Fault(f"column '{name}'", "is one of a group", f"tell {each.name!r} by the name of the column that is 1")
        for each, _ in some
        for name in each.names
        if each.grouped and name in told and each.name not in told
    ]
    columns: dict[str, pd.Series] = {}
    for each, partition in some:
        if each.name not in told:
            continue
        try:
            columns |= _columns(each, partition, told[each.name])
        except (ValueError, TypeError, OverflowError):  # their messages hold the value
            faults.append(Fault(f"column '{each.name}'", "was told as what is no value of its kind"))
    if faults:
        raise DataError(faults)
    codes = encoded(there, pd.DataFrame(columns, index=ONE), defaults, outside)
    typed = {name: cells for each in there for name, cells in each.cells(codes[each.name], blanks(each, ONE)).items()}
    return pd.DataFrame(typed, index=ONE), codes


def _columns(attribute: Attribute, partition: Partition | None, value: Any) -> dict[str, pd.Series]:
    """Return columns that hold a value; ``ValueError`` where it is no date, no column of the group, or no choice."""
    texts = choices(attribute, partition)
    words = isinstance(value, str) and value not in attribute.values
    if words and texts and attribute.kind != "number" and value not in texts:
        raise ValueError("neither a value nor a choice")
    if words and value in texts:
        code = _within(attribute, float(understood(attribute, partition, pd.Series([value]))[0][0]))
        return attribute.cells(standing(attribute, code, 1), blanks(attribute, ONE))
    if attribute.grouped or (attribute.dtype in TEMPORAL and value is not None):
        return attribute.cells(standing(attribute, attribute.code(value), 1), blanks(attribute, ONE))
    return {attribute.name: pd.Series([value])}


def _within(attribute: Attribute, code: float) -> float:
    """Return a value of the domain in the part whose end a code is."""
    if attribute.kind == "nominal" or code == attribute.missing:
        return code
    ordered = attribute.kind == "ordered"
    top = len(attribute.values) - 1.0 if ordered else attribute.high
    return float(floor(min(code, top))) if ordered or attribute.whole else min(code, top)
