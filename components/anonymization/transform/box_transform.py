"""Apply agreed boxes to a table: rows go where their cells say, and show what was agreed; what no box holds is gone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from components.anonymization.criteria.requirements import Requirement
from components.anonymization.hierarchies.hierarchy import Ladder, relabelled
from components.anonymization.mondrian.box_covers import Placed, members_of, spread_out, typed
from components.anonymization.mondrian.box_tree import NOWHERE, OverlapError
from components.anonymization.mondrian.boxes import attribute_of_rows, of_rows, spread
from components.anonymization.ranges import covers, on_all
from components.anonymization.representatives import Published, actual
from components.anonymization.suppression import suppress
from components.anonymization.transform.agreed_boxes import in_boxes, placed_on
from components.anonymization.transform.agreement import Boxes
from components.classes.coding import Attribute, BoolArray, IntArray
from components.classes.counts import tally
from schemas.faults import ConfigurationError, Fault, GoalError


def put_in_boxes(
    step: Boxes,
    place: str,
    units: Sequence[Attribute],
    ladders: Mapping[str, Ladder],
    requirements: Sequence[Requirement],
    limit: float,
) -> tuple[list[Published], BoolArray, dict[str, Any]]:
    """Publish what the agreed boxes show, and suppress the rows that they would show falsely or too well.

    Parameters
    ----------
    step : Boxes
    place : str
        Names the step in faults.
    units : sequence of Attribute
        All quasi-identifiers of the table.
    ladders : mapping of str to Ladder
        Of those that show labels.
    requirements : sequence of Requirement
    limit : float
        Largest share of rows that may be suppressed.

    Returns
    -------
    columns : list of Published
    gone : ndarray of bool, shape (n,)
    facts : dict

    Raises
    ------
    ConfigurationError
        Boxes overlap.
    GoalError
        More rows would have to be suppressed than may be, or all of them.
    """
    total = len(step.axes[0].boxes)
    columns = placed_on(step, units, ladders)
    try:
        found = in_boxes(columns, total)
    except OverlapError as error:
        raise ConfigurationError(
            Fault(
                place,
                f"{error.boxes} of {total} boxes can't be told apart: a row may be in several",
                "boxes as a run wrote them",
                "take the file as a run wrote it",
            )
        ) from None
    outside = found == NOWHERE
    gone = _suppressed(requirements, found, limit)
    kept = np.flatnonzero(~gone)
    facts = {
        "boxes": total,
        "boxes_here": len(np.unique(found[kept])),
        "rows_outside_all_boxes": int(np.count_nonzero(outside)),
    }
    return on_all(columns, lambda one: [_shown(one, found[kept], kept, len(gone))]), gone, facts


def _suppressed(requirements: Sequence[Requirement], found: IntArray, limit: float) -> BoolArray:
    """Return the rows outside all boxes, and those of boxes that miss a criterion here."""
    outside = found == NOWHERE
    used, numbers = np.unique(found[~outside], return_inverse=True)
    classes = np.full(len(found), NOWHERE)
    classes[~outside] = numbers
    try:
        return suppress(requirements, classes, len(used), limit, outside)
    except GoalError as error:
        if not outside.any():
            raise
        some = f"{np.count_nonzero(outside)} of {len(found)} rows are in no box: no agreed cells are true of them"
        raise GoalError(
            [*error.faults, Fault("anonymization.path", some, "rows like those it was agreed on")]
        ) from None


def _shown(one: Placed, found: IntArray, kept: IntArray, total: int) -> Published:
    """Publish a column of the rows that stay.

    It is text wherever boxes show anything but single cells as they are, whichever boxes have rows here: the same on
    every site.
    """
    shown = _covered(one, found, kept) if one.ladder is None else _labelled(one, one.ladder, found, kept)
    return shown if len(kept) == total else spread(shown, kept, total)


def _labelled(one: Placed, ladder: Ladder, found: IntArray, kept: IntArray) -> Published:
    if not one.levels.any():
        return _as_it_is(attribute_of_rows(one.unit, kept))
    return relabelled(of_rows(ladder, kept), one.levels[np.array(one.axis.boxes)[found]])


def _covered(one: Placed, found: IntArray, kept: IntArray) -> Published:
    """Publish ranges and sets of agreed values."""
    members, boxes = members_of(one.axis), np.array(one.axis.boxes)
    used, classes = np.unique(found, return_inverse=True)
    at = spread_out(np.bincount(members.cover), boxes[used])
    own = _as_it_is(attribute_of_rows(one.unit, kept))
    if not members.known.any():
        return own
    if not members.known[at].any():
        return replace(own, cells=pd.array([None] * len(kept), dtype="string"), generalised=True)
    values = typed(members.texts[members.known], one.unit)
    codes = np.zeros(len(members.texts), dtype=np.int64)
    codes[members.known] = values.codes.astype(np.int64) + 1
    of_class = np.repeat(np.arange(len(used)), np.bincount(members.cover)[boxes[used]])
    return covers(values, tally(of_class, codes[at], len(used), values.size + 1), classes)


def _as_it_is(unit: Attribute) -> Published:
    return actual(unit, unit.codes, np.arange(len(unit.codes)))[0]
