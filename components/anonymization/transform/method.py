"""Apply an agreed transformation to another table: a second site's, or rows that came later; measured anew there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from components.anonymization.criteria.requirements import Requirement, refuse_the_impossible, required
from components.anonymization.declarations import TopBottom, Transform
from components.anonymization.hierarchies.checks import check_coverage
from components.anonymization.hierarchies.hierarchy import Ladder, changed_on, climb, held
from components.anonymization.lattice.recoding import Recoded as OnLevels
from components.anonymization.measurement import measure_classes
from components.anonymization.pipeline.steps import Coded, suppressed, top_bottom
from components.anonymization.publishing import Decided, publish, quasi_identifiers
from components.anonymization.refusals import refuse_nothing_to_do
from components.anonymization.release import Given, Release
from components.anonymization.representatives import Published
from components.anonymization.suppression import published_by_rest, suppress, suppress_starred
from components.anonymization.transform.agreeing import criteria_of, suppression_of
from components.anonymization.transform.agreement import Agreement, Boxes, Levels
from components.anonymization.transform.agreement_checks import refuse_misfits, weaker_rule
from components.anonymization.transform.agreement_file import read_agreement
from components.anonymization.transform.box_transform import put_in_boxes
from components.anonymization.transform.seen import full_domain, learned_from
from components.classes.coding import Attribute, BoolArray, IntArray, encode
from components.data.table import Table
from schemas.dataset import DatasetSchema


@dataclass(frozen=True, slots=True)
class Task:
    """A transformation that fits a table, ready to be applied.

    Parameters
    ----------
    agreement : Agreement
    digest : str
        SHA-256 of the file it was read from.
    requirements : list of Requirement
        What every class must meet here.
    """

    agreement: Agreement
    digest: str
    requirements: list[Requirement]


def anonymise(params: Transform, table: Table, given: Given) -> Release:
    """Apply an agreed transformation, and suppress the rows of classes that miss the criteria here.

    Applied to the table that it was found on, with the criteria that it was found for, it gives the same release.

    Parameters
    ----------
    params : Transform
        Its own criteria and suppression limit are those that must hold; where they ask for less than was agreed, the
        release says so in ``warnings``.
    table : Table
        Is not written to.
    given : Given
        Its ``hierarchies`` must be those that the transformation was agreed with; ``base`` is what ``params.path``
        starts from.

    Returns
    -------
    Release

    Raises
    ------
    ConfigurationError
        The file is no transformation, or none for this table and these hierarchies; with all faults.
    DataError
        There are no rows, or a hierarchy lacks values of the table.
    GoalError
        More rows would have to be suppressed than may be, or all of them.
    """
    task = precheck(params, table, given)
    agreement = task.agreement
    units = encode(table.frame, quasi_identifiers(table))
    before = measure_classes(units, table.frame, table.schema, requirements=task.requirements)
    handed_on: dict[str, Any] = {
        "agreed": _handed_on(params, agreement),
        "warnings": weaker_rule(agreement, criteria_of(params), params.suppression_limit),
    }
    facts: dict[str, Any] = {}
    boxes = next((step for step in agreement.steps if isinstance(step, Boxes)), None)
    if boxes is None:
        columns, gone, seen = _on_agreed_levels(params, task, table, given, units)
        handed_on |= {} if seen is None else {"seen": seen, "training": learned_from(seen, table, columns, gone)}
    else:
        columns, gone, facts = put_in_boxes(
            boxes,
            f"{params.path}: steps.{agreement.steps.index(boxes)}",
            units,
            _climbed(units, agreement, table, given),
            task.requirements,
            params.suppression_limit,
        )
        gone = suppress_starred(table, columns, gone, params.suppression_limit)
    decided = Decided(columns, _facts(task, given) | facts, gone)
    return publish(params, table, decided, task.requirements, before, **handed_on)


def precheck(params: Transform, table: Table, given: Given) -> Task:
    """Read the transformation and refuse what can't be applied here, without any of the work.

    Takes and raises as `anonymise` does.

    Returns
    -------
    Task
    """
    refuse_nothing_to_do(table)
    agreement, digest = fitting_agreement(params, table.schema, given)
    climbed = {column.name for column in agreement.columns if column.hierarchy is not None}
    check_coverage(table, {name: hierarchy for name, hierarchy in given.hierarchies.items() if name in climbed})
    requirements = required(params, table, given.hierarchies)
    refuse_the_impossible(requirements, len(table.frame), params.suppression_limit)
    return Task(agreement, digest, requirements)


def fitting_agreement(params: Transform, schema: DatasetSchema, given: Given) -> tuple[Agreement, str]:
    """Read the transformation and hold it against a dataset's declarations, without a table.

    Returns
    -------
    agreement : Agreement
    digest : str
        SHA-256 of the file.

    Raises
    ------
    ConfigurationError
        The file is no transformation, or none for this dataset and these hierarchies; with all faults.
    """
    agreement, digest = read_agreement(params.path, given.base)
    refuse_misfits(params.path, agreement, schema, given.hierarchies)
    return agreement, digest


def _on_agreed_levels(
    params: Transform, task: Task, table: Table, given: Given, units: Sequence[Attribute]
) -> tuple[list[Published], BoolArray, Callable[[Table], Table] | None]:
    """Put the columns on levels, or code them; return what is shown, suppressed rows and what a model sees."""
    agreement = task.agreement
    coded = _coded(units, agreement)
    ladders = _ladders(units, coded, agreement, table, given)
    placed = _on_levels(ladders, _vectors(agreement), task.requirements)
    gone = suppress(task.requirements, *placed.classes(), params.suppression_limit)
    publish_columns = partial(_published, ladders, placed.levels(), coded)
    columns, gone = published_by_rest(table, publish_columns, gone, params.suppression_limit)
    whole = len(placed.vectors) == 1 and not coded
    return columns, gone, full_domain(ladders, placed.vectors[0], agreement.seen_as) if whole else None


def _published(
    ladders: Sequence[Ladder], levels: Sequence[int | IntArray], coded: Mapping[str, Coded], gone: BoolArray
) -> list[Published]:
    """Publish all columns that are changed, as the rows that stay tell them."""
    climbed = [(ladder, level) for ladder, level in zip(ladders, levels, strict=True) if ladder.hierarchy is not None]
    return [*changed_on(climbed, gone), *(column for one in coded.values() for column in one.columns)]


def _vectors(agreement: Agreement) -> list[dict[str, int]]:
    """Return the level vectors over all columns that are put on levels; a step's last one holds in later rounds."""
    steps = [step for step in agreement.steps if isinstance(step, Levels)]
    rounds = max((len(step.rounds) for step in steps), default=1)
    vectors: list[dict[str, int]] = [{} for _ in range(rounds)]
    for step in steps:
        for number, vector in enumerate(vectors):
            vector.update(step.rounds[min(number, len(step.rounds) - 1)])
    return vectors


def _coded(units: Sequence[Attribute], agreement: Agreement) -> dict[str, Coded]:
    """Code the columns of steps that need no hierarchy."""
    by_name = {unit.name: unit for unit in units}
    coded = {}
    for step in agreement.steps:
        for name in () if isinstance(step, Levels | Boxes) else step.columns:
            unit = by_name[name]
            coded[name] = top_bottom(unit, step) if isinstance(step, TopBottom) else suppressed(unit)
    return coded


def _ladders(
    units: Sequence[Attribute], coded: Mapping[str, Coded], agreement: Agreement, table: Table, given: Given
) -> list[Ladder]:
    """Let the columns climb that are above level 0 in any round; the others are held as they are, or as coded."""
    climbed = _climbed(units, agreement, table, given)
    ladders = []
    for unit in units:
        if unit.name in climbed:
            ladders.append(climbed[unit.name])
        else:
            code = coded.get(unit.name)
            ladders.append(held(unit if code is None else replace(unit, codes=code.codes, size=code.size)))
    return ladders


def _climbed(units: Sequence[Attribute], agreement: Agreement, table: Table, given: Given) -> dict[str, Ladder]:
    """Let the columns climb whose hierarchies were agreed upon."""
    climbed = {column.name for column in agreement.columns if column.hierarchy is not None}
    markers = table.schema.missing.markers
    return {unit.name: climb(unit, given.hierarchies[unit.name], markers) for unit in units if unit.name in climbed}


def _on_levels(
    ladders: Sequence[Ladder], vectors: Sequence[Mapping[str, int]], requirements: Sequence[Requirement]
) -> OnLevels:
    """Put all rows on the first vector, and those of classes that miss a requirement on the next, and so on."""
    rounds = np.zeros(len(ladders[0].attribute.codes), dtype=np.int16)
    levels = [tuple(vector.get(ladder.attribute.name, 0) for ladder in ladders) for vector in vectors]
    placed = OnLevels(ladders, requirements, levels, rounds)
    for number in range(1, len(levels)):
        missing = placed.missing()
        if not missing.any():
            break
        placed.rounds[missing] = number
    return placed


def _facts(task: Task, given: Given) -> dict[str, Any]:
    """Say what was applied."""
    agreement = task.agreement
    climbed = [column.name for column in agreement.columns if column.hierarchy is not None]
    return {
        "agreed": {"sha256": task.digest, "method": agreement.method, "dataset": agreement.dataset},
        "steps": [
            {"name": step.name, "columns": step.columns} if isinstance(step, Boxes) else step.model_dump(mode="json")
            for step in agreement.steps
        ],
        "hierarchies": {name: given.hierarchies[name].digest for name in climbed},
    }


def _handed_on(params: Transform, agreement: Agreement) -> dict[str, Any]:
    """Return the transformation with the rule that held here."""
    ours = {"criteria": criteria_of(params), "suppression": suppression_of(params)}
    return agreement.model_copy(update=ours).model_dump(mode="json")
