"""Rows that don't fit the domains they are minimised by: refused where that is a mistake, else counted and told."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from components.minimization.attributes import Attribute, counted
from components.minimization.columns import hot, neither_0_nor_1
from schemas.faults import DataError, Fault


def refuse_not_hot(attributes: Iterable[Attribute], frame: pd.DataFrame) -> None:
    """Refuse one-hot columns that hold other values than 0 and 1, where the schema doesn't bound them.

    Where it does, such a value is outside the domain, as any other is.

    Parameters
    ----------
    attributes : iterable of Attribute
    frame : pandas.DataFrame
        Holds their columns, without `Attribute.misfits`.

    Raises
    ------
    DataError
        There are such columns; told by count.
    """
    faults = []
    for each in attributes:
        if not each.grouped:
            continue
        others = np.count_nonzero(neither_0_nor_1(frame[each.names]), axis=0)
        faults += [
            Fault(
                f"column '{column.name}'",
                f"{count} of {len(frame)} cells are neither 0 nor 1 nor missing",
                f"0 and 1, as a one-hot column of group {each.name} holds",
                "take it out of the group",
            )
            for column, count in zip(each.columns, others, strict=True)
            if count and None in (column.min, column.max)
        ]
    if faults:
        raise DataError(faults)


def strange_notes(attributes: Iterable[Attribute], frame: pd.DataFrame) -> tuple[str, ...]:
    """Return what to say of cells outside their domain, and of groups of which not exactly one column is 1; by count.

    Parameters
    ----------
    attributes : iterable of Attribute
    frame : pandas.DataFrame
        Holds their columns, without `Attribute.misfits`.
    """
    notes = []
    for each in attributes:
        if each.grouped:
            notes += _of_group(each, frame[each.names])
        elif count := counted([each], frame)[1][each.name]:
            held = "the nearer bound" if each.kind == "number" else "its default"
            notes.append(
                f"column '{each.name}': {count} of {len(frame)} cells are outside the domain, and count as {held}"
            )
    return tuple(notes)


def _of_group(attribute: Attribute, frame: pd.DataFrame) -> list[str]:
    places = hot(frame)
    several = int(np.count_nonzero(places < 0))
    none = int(np.count_nonzero((places == len(attribute.values)) & ~frame.isna().all(axis=1).to_numpy()))
    notes = []
    if several:
        notes.append(
            f"group '{attribute.name}': {several} of {len(frame)} rows have not one 1 but several, or other numbers; "
            "unless it is collected exactly they count as its default"
        )
    if none:
        notes.append(f"group '{attribute.name}': {none} of {len(frame)} rows have no 1, and count as missing")
    return notes
