"""Boxes that a division left, as an agreed transformation holds them: what each of them shows, and nothing else.

All of it stands in the cells of the release: neither where boxes were cut, nor in which order, nor how many rows a box
has is written down. Where rows of the table itself couldn't be told into their boxes by that, nothing is agreed upon.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from components.anonymization.hierarchies.hierarchy import Ladder
from components.anonymization.hierarchies.keys import keys_of_values
from components.anonymization.mondrian.axes import Axis
from components.anonymization.mondrian.box_covers import Placed, placed, shows_of
from components.anonymization.mondrian.box_tree import NOWHERE, OverlapError, locate
from components.anonymization.mondrian.boxes import attribute_of_rows
from components.anonymization.ranges import texts
from components.anonymization.representatives import Published, counted
from components.anonymization.transform.agreement import BoxColumn, Boxes
from components.anonymization.transform.agreement_file import LARGEST_FILE
from components.classes.coding import (
    MISSING,
    Attribute,
    BoolArray,
    IntArray,
    TextArray,
    any_row_of,
    combined,
)

_ROOM = 2**16
"""Bytes of the largest file that are kept for what stands beside the boxes."""


def boxes_of(
    axes: Sequence[Axis], columns: Sequence[Published], classes: IntArray, n_classes: int, gone: BoolArray
) -> tuple[Boxes | None, str]:
    """Return the boxes of a division for other tables of the schema, or None and why there are none.

    Parameters
    ----------
    axes : sequence of Axis
    columns : sequence of Published
        What `components.anonymization.mondrian.boxes.cover` made of these classes.
    classes : ndarray of int, shape (n,)
        Class of each row that stays; of others, any.
    n_classes : int
    gone : ndarray of bool, shape (n,)
        Suppressed rows.
    """
    if any(len(one.unit.columns) > 1 for one in axes):
        return None, "one-hot columns are shown each by itself, and not which of them go together"
    kept = np.flatnonzero(~gone)
    found = [_written(one, shown, classes[kept], n_classes, kept) for one, shown in zip(axes, columns, strict=True)]
    order = np.lexsort([numbers for _, numbers in found][::-1])
    step = Boxes(axes=[one.model_copy(update={"boxes": numbers[order].tolist()}) for one, numbers in found])
    if len(step.model_dump_json()) > LARGEST_FILE - _ROOM:
        return None, f"it would be larger than {LARGEST_FILE // 2**20} MB"
    rank = np.empty(n_classes, dtype=np.int64)
    rank[order] = np.arange(n_classes)
    ladders = {one.unit.name: one.ladder for one in axes if one.ladder is not None}
    try:
        again = in_boxes(placed_on(step, [one.unit for one in axes], ladders), n_classes)
    except OverlapError:
        again = np.zeros(0, dtype=np.int64)
    if not np.array_equal(again, np.where(gone, NOWHERE, rank[classes])):
        return (
            None,
            "what its classes show doesn't tell which of them a missing cell, or a label that is also a value, is in",
        )
    return step, ""


def placed_on(step: Boxes, units: Sequence[Attribute], ladders: Mapping[str, Ladder]) -> list[Placed]:
    """Bring boxes beside the values of a table, column by column (see `box_covers.placed`)."""
    by_name = {unit.name: unit for unit in units}
    return [placed(one, by_name[one.name], ladders.get(one.name)) for one in step.axes]


def in_boxes(columns: Sequence[Placed], n_boxes: int) -> IntArray:
    """Return the box that holds each row of the table, -1 where none does.

    Raises
    ------
    OverlapError
        Some rows may be in several.
    """
    of_row, count = combined([one.unit.own_value() for one in columns])
    some = any_row_of(of_row, count)
    points = [one.points[one.unit.codes[some]] for one in columns]
    return locate([one.extents for one in columns], n_boxes, points)[of_row]


def _written(
    axis: Axis, shown: Published, classes: IntArray, n_classes: int, kept: IntArray
) -> tuple[BoxColumn, IntArray]:
    """Return the different covers of a column, and the number of each class's cover among them."""
    if axis.ladder is not None:
        words, of_class, codes = _labels(shown, kept[any_row_of(classes, n_classes)])
    else:
        words, of_class, codes = _values(attribute_of_rows(axis.unit, kept), classes, n_classes)
    order = np.lexsort((codes, of_class))
    of_class, codes = of_class[order], codes[order]
    offsets = np.searchsorted(of_class, np.arange(n_classes + 1)).astype(np.int32)
    listed = pa.ListArray.from_arrays(offsets, pa.array(codes).cast(pa.string()))
    numbers, keys = pd.factorize(np.asarray(pc.binary_join(listed, ",").to_numpy(zero_copy_only=False)), sort=True)
    first = any_row_of(numbers, len(keys))
    column = axis.unit.columns[0]
    written = BoxColumn(
        name=column.name,
        shows="label" if axis.ladder is not None else shows_of(column),
        covers=[words[codes[offsets[one] : offsets[one + 1]]].tolist() for one in first],
        boxes=[0],
    )
    return written, np.asarray(numbers, dtype=np.int64)


def _labels(shown: Published, first: IntArray) -> tuple[TextArray, IntArray, IntArray]:
    """Return all labels and None, and the classes and codes of what each class shows."""
    cells = pd.Series(shown.cells, copy=False).iloc[first]
    known = cells.notna().to_numpy()
    labels = np.full(len(first), "", dtype=object)
    there = cells[known]
    labels[known] = there.astype(object) if shown.generalised else keys_of_values(there.array, shown.column)
    codes, words = pd.factorize(labels, sort=True)
    return np.array([*words, None], dtype=object), np.arange(len(first)), np.where(known, codes, len(words))


def _values(unit: Attribute, classes: IntArray, n_classes: int) -> tuple[TextArray, IntArray, IntArray]:
    """Return all values and None, and the classes and codes of the values that tell what each class shows."""
    column = unit.columns[0]
    counts = counted(unit, classes, n_classes)
    of_class, codes = counts.classes, np.where(counts.codes > 0, counts.codes - 1, unit.size)
    if shows_of(column) == "range":
        value = counts.codes > 0
        ends = (np.diff(np.where(value, of_class, MISSING), prepend=MISSING) > 0) | ~value
        ends |= np.diff(of_class, append=n_classes) > 0
        of_class, codes = of_class[ends], codes[ends]
    return np.array([*texts(unit.domain()[0], column), None], dtype=object), of_class, codes
