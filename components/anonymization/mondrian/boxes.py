"""From boxes of rows to released cells: what covers all rows of a class, on each axis."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from components.anonymization.hierarchies.hierarchy import Ladder, published
from components.anonymization.mondrian.axes import Axis
from components.anonymization.ranges import covering, likeliest, on_all
from components.anonymization.representatives import Published, actual
from components.classes.coding import MISSING, Attribute, BoolArray, IntArray, encode, take
from components.classes.counts import tally


def cover(axes: Sequence[Axis], classes: IntArray, n_classes: int, gone: BoolArray) -> list[Published]:
    """Publish what covers each class, truly: no wider than its rows, and told by the rows that stay alone.

    Parameters
    ----------
    axes : sequence of Axis
    classes : ndarray of int, shape (n,)
        Class of each row that stays.
    n_classes : int
        Each has a row that stays.
    gone : ndarray of bool, shape (n,)
        Suppressed rows, whatever their class; their cells are placeholders.

    Returns
    -------
    list of Published
        Numbers and dates as ranges, ordered values as sets of neighbours, categories with a hierarchy as the label of
        their lowest common ancestor, others as sets. One-hot columns show which of them are 1 in the class: ``[0, 1]``.
    """
    kept = np.flatnonzero(~gone)
    classes = classes[kept]

    def shown(axis: Axis) -> list[Published]:
        if axis.ladder is not None:
            return [_ancestors(axis, axis.ladder, classes, n_classes, kept)]
        return _covered(attribute_of_rows(axis.unit, kept), classes, n_classes)

    columns = on_all(axes, shown)
    return columns if len(kept) == len(gone) else [spread(one, kept, len(gone)) for one in columns]


def _covered(unit: Attribute, classes: IntArray, n_classes: int) -> list[Published]:
    """Publish ranges and sets."""
    if len(unit.columns) == 1:
        return [covering(unit, classes, n_classes, "own_value")]
    # Each column of a group by itself covers what the group's set of values does; a model gets an actual value of it.
    training = unit.cells(likeliest(unit, classes, n_classes), classes)
    frame = pd.DataFrame({column.name: cells for column, cells in zip(unit.columns, unit.source, strict=True)})
    parts = [covering(one, classes, n_classes, "own_value") for one in encode(frame, unit.columns)]
    return [replace(part, training=cells) for part, cells in zip(parts, training, strict=True)]


def _ancestors(axis: Axis, whole: Ladder, classes: IntArray, n_classes: int, kept: IntArray) -> Published:
    """Publish the lowest common ancestor of each class's values; a column that needs none stays as it is."""
    ladder = of_rows(whole, kept)
    found = tally(classes, axis.ranks_of(kept), n_classes, axis.size)
    low, high = found.codes[found.starts], found.codes[np.append(found.starts[1:], len(found.codes)) - 1]
    shown = published(ladder, axis.node(low, high)[classes])
    unit = ladder.attribute
    return actual(unit, unit.codes, np.arange(len(classes)))[0] if shown is None else shown


def of_rows(ladder: Ladder, rows: IntArray) -> Ladder:
    """Return a ladder of some rows alone."""
    unit = ladder.attribute
    used = np.bincount(unit.codes[rows] + 1, minlength=unit.size + 1)[1:] > 0
    places = np.append(np.flatnonzero(used), unit.size)
    return replace(
        ladder, attribute=attribute_of_rows(unit, rows), groups=tuple(groups[places] for groups in ladder.groups)
    )


def attribute_of_rows(unit: Attribute, rows: IntArray) -> Attribute:
    """Return an attribute of some rows alone."""
    if len(rows) == len(unit.codes):
        return unit
    codes = unit.codes[rows]
    used = np.bincount(codes + 1, minlength=unit.size + 1)[1:] > 0
    ranks = np.append(np.cumsum(used) - 1, MISSING)
    return replace(
        unit,
        codes=ranks[codes],
        size=int(np.count_nonzero(used)),
        source=tuple(take(cells, rows) for cells in unit.source),
    )


def spread(one: Published, rows: IntArray, total: int) -> Published:
    """Give cells their places among all rows; the others, which are suppressed, are missing for the time.

    They hold the first cell where a dtype of raw values knows no missing ones (int64, bool), and in training.
    """
    places = np.full(total, MISSING)
    places[rows] = np.arange(len(rows))
    cells = take(one.cells, places, holes=True) if _has_missing(one.cells) else take(one.cells, np.maximum(places, 0))
    training = take(one.training, np.maximum(places, 0))
    return replace(one, cells=cells, training=training)


def _has_missing(cells: Any) -> bool:
    """Tell whether an array can hold missing cells and stay of its dtype."""
    return not isinstance(cells.dtype, np.dtype) or cells.dtype.kind in "fmMO"
