"""The steps of a pipeline at work: what each makes of its columns, and what searches see of the others."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from components.anonymization.criteria.requirements import Requirement
from components.anonymization.declarations import (
    Generalise,
    LatticeStep,
    Microaggregate,
    MondrianStep,
    Pipeline,
    Step,
    SuppressColumns,
    TopBottom,
)
from components.anonymization.hierarchies.hierarchy import Ladder, climb, held
from components.anonymization.lattice.method import search_columns
from components.anonymization.mondrian.axes import Axis
from components.anonymization.mondrian.method import axes_of, partition_facts
from components.anonymization.mondrian.partition import divide
from components.anonymization.mondrian.tuples import distinct_tuples
from components.anonymization.pipeline.steps import Coded, labels_on, microaggregated, suppressed, top_bottom
from components.anonymization.release import Given
from components.anonymization.representatives import Published
from components.anonymization.suppression import allowed_rows
from components.classes.coding import Attribute, BoolArray, IntArray, combined
from components.data.table import Table

OTHERS = "the other columns"
"""What a search calls the quasi-identifiers that it holds as they are."""


@dataclass(slots=True)
class State:
    """The quasi-identifiers as the steps so far leave them.

    Parameters
    ----------
    params : Pipeline
    table : Table
    given : Given
    requirements : list of Requirement
    units : dict of str to Attribute
        The columns and one-hot groups, as they are in `table`, by their first column.
    shown : dict of str to (codes, count)
        What rows show on them; one entry per unit, or per step that recoded several at once.
    columns : list of Published
        Of codings that look at no other rows, or that release what they computed from them.
    climbed : list of (Ladder, levels)
        Of steps that climb hierarchies; like the next, they are published when it is known which rows stay, since no
        other row may tell what a model sees.
    boxes : list of (axes, boxes)
        Of Mondrian steps.
    gone : ndarray of bool, shape (n,)
        Rows that a search left out.
    levels : dict of str to int
        Level of the units all of whose rows were put on one.
    nodes : list of pandas.DataFrame
        Of lattice steps.
    facts : list of dict
        One per step.
    """

    params: Pipeline
    table: Table
    given: Given
    requirements: list[Requirement]
    units: dict[str, Attribute]
    shown: dict[str, tuple[IntArray, int]]
    gone: BoolArray
    facts: list[dict[str, Any]]
    columns: list[Published] = field(default_factory=list)
    climbed: list[tuple[Ladder, int | IntArray]] = field(default_factory=list)
    boxes: list[tuple[list[Axis], IntArray]] = field(default_factory=list)
    levels: dict[str, int] = field(default_factory=dict)
    nodes: list[pd.DataFrame] = field(default_factory=list)

    def of(self, step: Step) -> list[Attribute]:
        """Return the units that a step changes, in declared order."""
        return [unit for first, unit in self.units.items() if first in step.columns]

    def show(self, units: Sequence[Attribute], codes: IntArray, count: int) -> None:
        """Note what rows show on some units from now on."""
        for unit in units:
            del self.shown[key_of(unit)]
        self.shown[key_of(units[0])] = codes, count

    def climb(self, unit: Attribute, ladder: Ladder, levels: int | IntArray) -> None:
        """Note on which level of its hierarchy each row is from now on."""
        self.climbed.append((ladder, levels))
        self.show([unit], *labels_on(ladder, levels))

    def ladder(self, unit: Attribute) -> Ladder:
        """Let a unit climb its hierarchy."""
        return climb(unit, self.given.hierarchies[unit.name], self.table.schema.missing.markers)


def work(state: State) -> None:
    """Do all codings, then all searches."""
    steps = state.params.steps
    searches = [number for number, step in enumerate(steps) if isinstance(step, LatticeStep | MondrianStep)]
    for number, step in enumerate(steps):
        if not isinstance(step, LatticeStep | MondrianStep):
            _code(state, number, step)
    for number, step in enumerate(steps):
        if isinstance(step, LatticeStep | MondrianStep):
            _search(state, number, step, is_last=number == searches[-1])


def _code(state: State, number: int, step: Step) -> None:
    """Do a step that looks at its own columns alone."""
    units = state.of(step)
    if isinstance(step, Microaggregate):
        _keep(state, number, units, microaggregated(units, step))
        return
    for unit in units:
        if isinstance(step, TopBottom):
            coded = top_bottom(unit, step)
        elif isinstance(step, SuppressColumns):
            coded = suppressed(unit)
        elif isinstance(step, Generalise):
            state.climb(unit, state.ladder(unit), step.level)
            state.levels[key_of(unit)] = step.level
            continue
        else:
            raise NotImplementedError(type(step).__name__)
        _keep(state, number, [unit], coded)


def _keep(state: State, number: int, units: Sequence[Attribute], coded: Coded) -> None:
    state.show(units, coded.codes, coded.size)
    state.columns.extend(coded.columns)
    if coded.facts:
        state.facts[number].setdefault("done", {})[", ".join(unit.name for unit in units)] = coded.facts


def _search(state: State, number: int, step: LatticeStep | MondrianStep, *, is_last: bool) -> None:
    """Search the columns of a step; the last search of all sees the others as they are released."""
    units = state.of(step)
    own = {key_of(unit) for unit in units}
    others = [part for key, part in state.shown.items() if key not in own] if is_last else []
    fixed = combined(others) if others else (np.zeros(len(state.gone), dtype=np.int8), 1)
    limit = state.params.suppression_limit if is_last else 0.0
    if isinstance(step, LatticeStep):
        _search_levels(state, number, step, fixed, limit)
    else:
        _search_boxes(state, number, step, fixed, limit)


def _search_levels(state: State, number: int, step: LatticeStep, fixed: tuple[IntArray, int], limit: float) -> None:
    """Search the levels of a step's columns."""
    units = state.of(step)
    ladders = [state.ladder(unit) for unit in units]
    others = [held(Attribute(OTHERS, (), "nominal", *fixed, ()))] if fixed[1] > 1 else []
    found = search_columns(step, state.table, state.requirements, [*ladders, *others], limit)
    for unit, ladder, level in zip(units, ladders, found.levels[: len(units)], strict=True):
        state.climb(unit, ladder, level)
    if len(found.vectors) == 1:
        state.levels |= {key_of(unit): level for unit, level in zip(units, found.vectors[0], strict=False)}
    state.gone |= found.suppressed
    found.nodes.insert(0, "step", number)
    state.nodes.append(found.nodes)
    state.facts[number]["done"] = found.facts


def _search_boxes(state: State, number: int, step: MondrianStep, fixed: tuple[IntArray, int], limit: float) -> None:
    """Partition on a step's columns, apart for each tuple that the others show."""
    units = state.of(step)
    axes = axes_of(units, step.weights, state.table, state.given)
    tuples = distinct_tuples([fixed, *(unit.own_value() for unit in units)], state.requirements)
    start = fixed[0][tuples.first].astype(np.int64), fixed[1]
    division = divide(axes, tuples, start, _budget(state, fixed, limit))
    boxes = division.boxes[tuples.of_row]
    state.gone |= boxes < 0
    state.boxes.append((axes, boxes))
    state.show(units, boxes, division.count)
    state.facts[number]["done"] = partition_facts(axes, division)


def _budget(state: State, fixed: tuple[IntArray, int], limit: float) -> int:
    """Return the rows that cuts may leave out.

    Rows that miss a criterion before any cut will have to be suppressed, and are kept for; unless they are too many
    for that, when only cuts that leave rows out can still save them.
    """
    allowed = allowed_rows(limit, len(state.gone))
    failed = np.zeros(fixed[1], dtype=np.bool_)
    for requirement in state.requirements:
        failed |= ~requirement.met(requirement.score(requirement.counts(*fixed)))
    hopeless = int(np.count_nonzero(failed[fixed[0]]))
    return allowed - hopeless if hopeless <= allowed else allowed


def key_of(unit: Attribute) -> str:
    """Return what tells a unit from others: its first column."""
    return unit.columns[0].name
