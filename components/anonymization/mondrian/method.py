"""Multidimensional partitioning (Mondrian; LeFevre et al. 2006), strict: rows with equal tuples stay together.

Boxes of tuples are cut as long as every part meets every criterion. Numbers, dates and ordered values are cut at the
median, categories with a hierarchy into the children of their node, others into halves in the order of frequency.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from components.anonymization.climbing import cut_along_hierarchies
from components.anonymization.criteria.requirements import Requirement, refuse_the_impossible, required
from components.anonymization.declarations import Mondrian
from components.anonymization.hierarchies.hierarchy import climb
from components.anonymization.measurement import measure_classes
from components.anonymization.mondrian.axes import Axis, axis
from components.anonymization.mondrian.boxes import cover
from components.anonymization.mondrian.partition import Division, divide
from components.anonymization.mondrian.tuples import distinct_tuples
from components.anonymization.publishing import Decided, publish, quasi_identifiers, refuse_mistakable
from components.anonymization.refusals import refuse_missing_cells, refuse_nothing_to_do, refuse_uncovered
from components.anonymization.release import Given, Release
from components.anonymization.search_rules import weight_faults
from components.anonymization.suppression import allowed_rows, suppress, suppress_starred
from components.anonymization.transform.agreed_boxes import boxes_of
from components.anonymization.transform.agreeing import NO_AGREEMENT, agreed_steps
from components.anonymization.transform.agreement import Boxes
from components.classes.coding import Attribute, BoolArray, IntArray, encode, joined
from components.classes.records import fully_suppressed
from components.data.table import Table
from schemas.dataset import TEXT_LIKE
from schemas.faults import ConfigurationError
from schemas.hierarchy import SUPPRESSED


def anonymise(params: Mondrian, table: Table, given: Given) -> Release:
    """Cut the rows into boxes that meet all criteria, and publish what covers each box.

    The same multiset of rows, in whatever order, gives the same release up to that order.

    Parameters
    ----------
    params : Mondrian
        Where its ``suppression_limit`` is above 0, a box that has no cut otherwise may leave out the rows of parts
        that miss a criterion (see `partition.divide`). Cuts that cost nothing come first. More may be suppressed with
        a larger limit, for more classes as a rule; it can't be promised that there are no fewer.
    table : Table
        The rows to release. Is not written to.
    given : Given
        Its ``hierarchies`` are those of the quasi-identifiers.

    Returns
    -------
    Release
        Columns with an order show the true smallest and largest value of each class, or the neighbours between them;
        categories the label of their lowest common ancestor, or the set of values where there is no hierarchy.
        ``agreed`` holds what the classes show, for other tables of the schema. There is none, and ``warnings`` say why,
        for one-hot columns, and in the rare case that what classes show leaves open which of them a row is in: of a
        row without a value where one class shows missing cells, or it was left out, and another shows ``*``.

    Raises
    ------
    DataError
        There are no rows, or a quasi-identifier has missing cells and ``missing`` is ``refuse``.
    GoalError
        A criterion can't be met on these rows within the suppression limit.
    ConfigurationError
        The schema has no quasi-identifier, or a weight is for none.
    """
    frame, schema = table.frame, table.schema
    requirements = precheck(params, table, given)
    units = encode(frame, quasi_identifiers(table))
    before = measure_classes(units, frame, schema, requirements=requirements)
    axes = axes_of(joined(units), params.weights, table, given)
    budget = allowed_rows(params.suppression_limit, len(frame))
    tuples = distinct_tuples([one.unit.own_value() for one in axes], requirements)
    division = divide(axes, tuples, budget=budget)
    classes = division.boxes[tuples.of_row]
    gone = suppress(requirements, classes, division.count, params.suppression_limit, classes < 0)
    classes, count = renumbered(classes, gone)
    columns = cover(axes, classes, count, gone)
    handed_on = _handed_on(params, table, given, axes, boxes_of(axes, columns, classes, count, gone))
    gone = suppress_starred(table, columns, gone, params.suppression_limit)
    facts = partition_facts(axes, division)
    return publish(params, table, Decided(columns, facts, gone), requirements, before, **handed_on)


def precheck(params: Mondrian, table: Table, given: Given) -> list[Requirement]:
    """Refuse what no division of the rows can reach, without any of the work; takes and raises as `anonymise`.

    Returns
    -------
    list of Requirement
        What every class must meet, bound to the table.
    """
    refuse_nothing_to_do(table)
    columns = quasi_identifiers(table)
    if faults := list(weight_faults(params.weights, [column.group or column.name for column in columns])):
        raise ConfigurationError(faults)
    if params.missing == "refuse":
        refuse_missing_cells(table, columns, "anonymization.missing", "own_value")
    refuse_uncovered(params, table, given)
    requirements = required(params, table, given.hierarchies)
    refuse_the_impossible(requirements, len(table.frame), params.suppression_limit)
    _refuse_starred(params, table, given)
    return requirements


def _refuse_starred(params: Mondrian, table: Table, given: Given) -> None:
    """Refuse rows whose own values are ``*``, on all levels too: whatever is cut they look suppressed, and are not."""
    columns = quasi_identifiers(table)
    if not all(column.dtype in TEXT_LIKE and table.frame[column.name].eq(SUPPRESSED).any() for column in columns):
        return
    units = encode(table.frame, columns)
    axes = axes_of(units, params.weights, table, given)
    if all(one.ladder is not None and one.stars.all(axis=0).any() for one in axes):
        starred = fully_suppressed(units, len(table.frame))
        refuse_mistakable(int(np.count_nonzero(starred)), len(starred))


def axes_of(units: Sequence[Attribute], weights: Mapping[str, float], table: Table, given: Given) -> list[Axis]:
    """Return the axes that boxes are cut along.

    Parameters
    ----------
    units : sequence of Attribute
        One-hot groups joined.
    weights : mapping of str to float
        1 unless named.
    table : Table
        Its schema says which texts stand for missing cells.
    given : Given
        Its ``hierarchies`` are followed by cuts of categories.
    """
    markers = table.schema.missing.markers
    axes = []
    for unit in units:
        named = [column.name for column in cut_along_hierarchies(unit.columns) if column.name in given.hierarchies]
        ladder = climb(unit, given.hierarchies[named[0]], markers) if named else None
        axes.append(axis(unit, ladder, weights.get(unit.name, 1.0)))
    return axes


def renumbered(classes: IntArray, gone: BoolArray) -> tuple[IntArray, int]:
    """Return the classes that have rows left, numbered from 0, and how many there are; suppressed rows are in 0."""
    left = np.bincount(classes[~gone], minlength=int(classes.max()) + 1) > 0
    return np.where(gone, 0, (np.cumsum(left) - 1)[classes]), int(np.count_nonzero(left))


def partition_facts(axes: Sequence[Axis], division: Division) -> dict[str, Any]:
    """Say how boxes were cut."""
    return {
        "boxes": division.count,
        "depth": division.depth,
        "cuts": {one.unit.name: int(count) for one, count in zip(axes, division.cuts, strict=True)},
        "cut_by": {one.unit.name: _cut_by(one) for one in axes},
    }


def _handed_on(
    params: Mondrian, table: Table, given: Given, axes: Sequence[Axis], found: tuple[Boxes | None, str]
) -> dict[str, Any]:
    """Return the boxes as others can apply them, or say why they can't."""
    step, reason = found
    if step is None:
        return {"warnings": (NO_AGREEMENT + reason,)}
    shown = {one.unit.name: given.hierarchies[one.unit.name] for one in axes if one.ladder is not None}
    return {"agreed": agreed_steps(params, table, shown, [step])}


def _cut_by(one: Axis) -> str:
    if one.ladder is not None:
        return "children in the hierarchy"
    return "halves in the order of frequency" if one.unit.kind == "nominal" else "median"
