"""Several recodings on different columns, measured once, on the whole.

No column is in two steps, so that codings (all steps but searches) commute with everything. They are done first. Each
search then looks at its own columns; the last one sees all other quasi-identifiers as they are released, so that what
it finds holds for the whole. Rows of classes that miss a criterion are suppressed at the end, within the limit.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from components.anonymization.criteria.requirements import Requirement, refuse_the_impossible, required
from components.anonymization.declarations import (
    Generalise,
    LatticeStep,
    Pipeline,
    Step,
    SuppressColumns,
    TopBottom,
)
from components.anonymization.hierarchies.hierarchy import Hierarchy, changed_on
from components.anonymization.lattice.options import height_faults
from components.anonymization.lattice.search_record import warnings_of
from components.anonymization.measurement import measure_classes
from components.anonymization.mondrian.boxes import cover
from components.anonymization.mondrian.method import renumbered
from components.anonymization.pipeline.rules import PLACE, step_faults
from components.anonymization.pipeline.working import State, key_of, work
from components.anonymization.publishing import Decided, publish, quasi_identifiers
from components.anonymization.ranges import on_all
from components.anonymization.refusals import refuse_nothing_to_do, refuse_uncovered
from components.anonymization.release import Given, Release
from components.anonymization.representatives import Published
from components.anonymization.suppression import published_by_rest, suppress
from components.anonymization.transform.agreeing import NO_AGREEMENT, agreed_steps
from components.anonymization.transform.agreement import Levels
from components.classes.coding import BoolArray, combined, encode, joined
from components.data.table import Table
from schemas.faults import ConfigurationError, Fault


def anonymise(params: Pipeline, table: Table, given: Given) -> Release:
    """Recode columns step by step, and suppress the rows of classes that miss a criterion on the whole.

    Parameters
    ----------
    params : Pipeline
        Its ``suppression_limit`` is for the whole, and the last search alone counts on it: searches before meet the
        criteria on their own columns without suppressing rows.
    table : Table
        The rows to release. Is not written to.
    given : Given
        Its ``hierarchies`` are those of the quasi-identifiers.

    Returns
    -------
    Release
        A model sees the columns' original domain. With ``agreed`` where all steps are bounds, stars, or one level a
        column for all rows; a pipeline with any other step has none, and says so in ``warnings``.

    Raises
    ------
    ConfigurationError
        Steps and columns don't go together; with all faults.
    DataError
        There are no rows, or a hierarchy lacks values of the table.
    GoalError
        The criteria aren't met within the suppression limit; with what holds them back.
    """
    requirements = precheck(params, table, given)
    attributes = encode(table.frame, quasi_identifiers(table))
    before = measure_classes(attributes, table.frame, table.schema, requirements=requirements)
    units = {key_of(unit): unit for unit in joined(attributes)}
    state = State(
        params=params,
        table=table,
        given=given,
        requirements=requirements,
        units=units,
        shown={name: unit.own_value() for name, unit in units.items()},
        gone=np.zeros(len(table.frame), dtype=np.bool_),
        facts=[step.model_dump(mode="json") for step in params.steps],
    )
    work(state)
    classes, count = renumbered(combined(state.shown.values())[0], state.gone)
    gone = suppress(requirements, classes, count, params.suppression_limit, state.gone)
    columns, gone = published_by_rest(table, partial(_published, state), gone, params.suppression_limit)
    facts = {
        "steps": state.facts,
    }
    nodes = pd.concat(state.nodes, ignore_index=True) if state.nodes else None
    searches = [search for facts in state.facts for search in facts.get("done", {}).get("searches", [])]
    agreed, told = _agreed(state)
    handed_on = {"nodes": nodes, "agreed": agreed, "warnings": (*warnings_of(searches), *told)}
    return publish(params, table, Decided(columns, facts, gone), requirements, before, **handed_on)


def precheck(params: Pipeline, table: Table, given: Given) -> list[Requirement]:
    """Refuse what no pipeline can reach, without any of the work; takes and raises as `anonymise`.

    Returns
    -------
    list of Requirement
        What every class must meet, bound to the table.
    """
    refuse_nothing_to_do(table)
    faults = list(step_faults(params.steps, table.schema))
    for number, step in enumerate(params.steps):
        faults.extend(_level_faults(f"{PLACE}.{number}", step, given.hierarchies))
    if faults:
        raise ConfigurationError(faults)
    refuse_uncovered(params, table, given)
    requirements = required(params, table, given.hierarchies)
    refuse_the_impossible(requirements, len(table.frame), params.suppression_limit)
    return requirements


def _published(state: State, gone: BoolArray) -> list[Published]:
    """Publish all columns that steps changed, as the rows that stay tell them."""
    boxed = on_all(state.boxes, lambda step: cover(step[0], *renumbered(step[1], gone), gone))
    return [*state.columns, *changed_on(state.climbed, gone), *boxed]


def _agreed(state: State) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
    """Return what others can apply, where every step codes by declared bounds or put all rows on one level; or why not.

    Groups of similar rows are of this table alone. Boxes and levels by rows could be written down; but those of a step
    lie apart for each tuple that the other columns show, and what steps make together is not one of these recodings.
    """
    steps, columns = state.params.steps, quasi_identifiers(state.table)
    coded = [step for step in steps if isinstance(step, TopBottom | SuppressColumns)]
    climbed = [step for step in steps if isinstance(step, Generalise | LatticeStep)]
    unknown = [
        step.name
        for step in steps
        if not (step in coded or (step in climbed and all(name in state.levels for name in step.columns)))
    ]
    if unknown:
        return None, (f"{NO_AGREEMENT}these steps follow its rows: {', '.join(dict.fromkeys(unknown))}",)
    taken = {name for step in coded for name in step.columns}
    levels = {column.name: state.levels.get(column.name, 0) for column in columns if column.name not in taken}
    put = [Levels(rounds=[levels])] if levels else []
    return agreed_steps(state.params, state.table, state.given.hierarchies, [*coded, *put]), ()


def _level_faults(place: str, step: Step, hierarchies: Mapping[str, Hierarchy]) -> list[Fault]:
    """Say which levels hierarchies don't have."""
    heights = {name: len(hierarchies[name].groups) - 1 for name in step.columns if name in hierarchies}
    if isinstance(step, LatticeStep):
        return list(height_faults(step, heights, place))
    if not isinstance(step, Generalise):
        return []
    return [
        Fault(f"{place}.level", f"level {step.level} is above the top of the hierarchy of '{name}'", f"0 to {height}")
        for name, height in heights.items()
        if step.level > height
    ]
