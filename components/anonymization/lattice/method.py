"""Full-domain generalisation: every column on one level of its hierarchy, the best level vector proved.

The rows of classes that miss a criterion are suppressed, up to a limit; with local recoding they are first searched
again, for levels of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from components.anonymization.criteria.faults import place_of
from components.anonymization.criteria.figures import limit_text
from components.anonymization.criteria.requirements import Requirement, refuse_the_impossible, required
from components.anonymization.declarations import Lattice, LatticeOptions
from components.anonymization.hierarchies.hierarchy import Ladder, changed_on, climb
from components.anonymization.lattice.bounded import Stopped, bounded
from components.anonymization.lattice.budget import Budget
from components.anonymization.lattice.collapsing import collapse, row_classes, suppressed_rows
from components.anonymization.lattice.options import is_exact, refuse_misfits, refuse_options
from components.anonymization.lattice.population_search import Crowd, counts_population, crowd, on_population
from components.anonymization.lattice.quality import Separable, quality
from components.anonymization.lattice.recoding import Recoded
from components.anonymization.lattice.search import Proof, Search, exact
from components.anonymization.lattice.search_record import Ending, absolute, node_table, summary, warnings_of
from components.anonymization.lattice.space import Dimension, Space, dimension, is_held
from components.anonymization.measurement import measure_classes
from components.anonymization.population import population_sizes, raw_population_sizes, rows_as_persons
from components.anonymization.publishing import Decided, publish, quasi_identifiers
from components.anonymization.refusals import refuse_nothing_to_do, refuse_uncovered
from components.anonymization.release import Given, Release
from components.anonymization.suppression import allowed_rows, published_by_rest, suppress
from components.anonymization.transform.agreeing import agreed_levels
from components.anonymization.transform.seen import full_domain, learned_from
from components.classes.coding import BoolArray, FloatArray, IntArray, encode
from components.data.table import Table
from schemas.faults import Fault, GoalError


@dataclass(frozen=True, slots=True)
class Found:
    """What a search decided.

    Parameters
    ----------
    vectors : tuple of tuple of int
        Level per ladder; under local recoding one vector per round.
    levels : list of (int or ndarray of int, shape (n,)), one per ladder
        The level of all rows, or of each.
    suppressed : ndarray of bool, shape (n,)
    nodes : pandas.DataFrame
        See `search_record.node_table`; rounds of local recoding one after the other, told by column ``round``.
    facts : dict
        For the release's ``transformation``.
    """

    vectors: tuple[tuple[int, ...], ...]
    levels: list[int | IntArray]
    suppressed: BoolArray
    nodes: pd.DataFrame
    facts: dict[str, Any]


def anonymise(params: Lattice, table: Table, given: Given) -> Release:
    """Put every quasi-identifier on the level of its hierarchy at which the whole loses least.

    Parameters
    ----------
    params : Lattice
    table : Table
        The rows to release; k counts persons where the schema's subject id is a column of it. Is not written to.
    given : Given
        Its ``hierarchies`` must hold every quasi-identifier.

    Returns
    -------
    Release
        The same multiset of rows, in whatever order, gives the same release up to that order. Index, dtypes and order
        of the remaining columns are the input's; only quasi-identifiers differ.

    Raises
    ------
    ConfigurationError
        Columns and options don't go together; with all faults.
    DataError
        There are no rows, or a hierarchy lacks values of the table.
    GoalError
        No level vector meets the criteria within the suppression limit.
    """
    requirements = precheck(params, table, given)
    units = encode(table.frame, quasi_identifiers(table))
    population = given.population if counts_population(params, given) else None
    fitting = None if population is None else raw_population_sizes(table, population)
    before = measure_classes(units, table.frame, table.schema, requirements=requirements, fitting=fitting)
    markers = table.schema.missing.markers
    ladders = [climb(unit, given.hierarchies[unit.name], markers) for unit in units]
    people = None if population is None else crowd(table, quasi_identifiers(table), population, given.hierarchies)
    found = search_columns(params, table, requirements, ladders, params.suppression_limit, people)
    climbed = list(zip(ladders, found.levels, strict=True))
    columns, gone = published_by_rest(table, partial(changed_on, climbed), found.suppressed, params.suppression_limit)
    handed_on: dict[str, Any] = {
        "nodes": found.nodes,
        "agreed": agreed_levels(params, table, ladders, found.vectors),
        "warnings": (*warnings_of(found.facts["searches"]), *rows_as_persons(given.population, table.schema)),
    }
    if given.population is not None:
        fitting = population_sizes(ladders, found.levels, given.population, table.schema)
        handed_on["fitting"] = fitting[~gone] if params.suppressed_rows == "drop" else fitting
    if len(found.vectors) == 1:  # rows on levels of their own have no one space: a model sees the original domain
        seen = full_domain(ladders, found.vectors[0], params)
        handed_on |= {"seen": seen, "training": learned_from(seen, table, columns, gone)}
    return publish(params, table, Decided(columns, found.facts, gone), requirements, before, **handed_on)


def precheck(params: Lattice, table: Table, given: Given) -> list[Requirement]:
    """Refuse what no search can reach, before any search; takes and raises as `anonymise`.

    Returns
    -------
    list of Requirement
        What every class must meet, bound to the table.
    """
    refuse_nothing_to_do(table)
    columns = quasi_identifiers(table)
    refuse_misfits(params, columns, given.hierarchies)
    refuse_uncovered(params, table, given)
    counted = counts_population(params, given)
    requirements = required(params, table, given.hierarchies, counts_population=counted)
    if counted and given.population is not None:
        requirements = on_population(requirements, given.population, table.schema)
    on_rows = [one for one in requirements if not counted or one.name != "k_map"]
    refuse_the_impossible(on_rows, len(table.frame), params.suppression_limit)
    return requirements


def seconds_a_node(params: LatticeOptions, requirements: Sequence[Requirement], ladders: Sequence[Ladder]) -> float:
    """Return what trying one node takes on this machine: the mean over the lowest, the middle and the top one.

    Parameters
    ----------
    params : LatticeOptions
    requirements : sequence of Requirement
        Bound to the table; one that counts a population is left aside.
    ladders : sequence of Ladder
        See `search_columns`.
    """
    space = collapse(
        [_dimension(params, ladder) for ladder in ladders], [one for one in requirements if one.name != "k_map"]
    )
    start = perf_counter()
    for part in (0.0, 0.5, 1.0):
        space.attempt(tuple(int(part * (levels - 1)) for levels in space.shape))
    return (perf_counter() - start) / 3


def search_columns(
    params: LatticeOptions,
    table: Table,
    requirements: Sequence[Requirement],
    ladders: Sequence[Ladder],
    suppression_limit: float,
    people: Crowd | None = None,
) -> Found:
    """Search the levels of some attributes, others being held as they are.

    Parameters
    ----------
    params : LatticeOptions
    table : Table
    requirements : sequence of Requirement
        Bound to the table.
    ladders : sequence of Ladder
        Of all attributes that tell classes apart; one of a single level and without a hierarchy is held as it is.
    suppression_limit : float
        Largest share of rows that may be suppressed.
    people : Crowd, optional
        The population that k_map counts.

    Raises
    ------
    ConfigurationError
        The options name unknown columns or levels.
    GoalError
        No level vector will do; with the best that was reached, and what holds it back.
    """
    refuse_options(params, [ladder for ladder in ladders if not is_held(ladder)])
    rows = len(table.frame)
    dimensions = [_dimension(params, ladder) for ladder in (ladders if people is None else people.ladders)]
    allowed = min(allowed_rows(suppression_limit, rows), rows - 1)
    space = collapse(dimensions, requirements, population=people)
    clock = _Clock(params.exact_seconds, params.bounded_seconds)
    search, ending = _search(params, space, allowed, clock)
    best = search.chosen()
    if best is None:
        raise _refusal(search, ending, suppression_limit, people)
    recoded = Recoded(ladders, requirements, [absolute(search, best.levels)], np.zeros(rows, dtype=np.int16))
    gone = suppressed_rows(search.space, search.space.attempt(best.levels))
    rounds = [(search, ending)]
    while params.local_recoding and gone.any():
        inner = _search(params, collapse(dimensions, requirements, gone), int(np.count_nonzero(gone)) - 1, clock)
        left = _recode(recoded, inner[0], gone)
        if left is None:
            break
        gone = left
        rounds.append(inner)
    return _found(params, recoded, gone, rounds)


@dataclass(slots=True)
class _Clock:
    """The seconds that the rounds of a search have in common."""

    exact: float
    bounded: float

    def exact_search(self, search: Search) -> Proof:
        budget = Budget(inf, self.exact)
        proof = exact(search, budget)
        self.exact = budget.left
        return proof

    def bounded_search(self, search: Search, nodes: int, bounds: FloatArray | None = None) -> Stopped:
        budget = Budget(nodes, self.bounded, before=len(search.looks))
        stopped = bounded(search, budget, bounds)
        self.bounded = budget.left
        return stopped


def _search(params: LatticeOptions, space: Space, allowed: int, clock: _Clock) -> tuple[Search, Ending]:
    """Search until the optimum is proved, as far as that may go; beyond, try to come by a good node."""
    search = Search(space, quality(params, space), allowed)
    if not is_exact(params, space.shape):
        return search, clock.bounded_search(search, params.bounded_nodes)
    proof = clock.exact_search(search)
    if proof.limit:
        stopped = clock.bounded_search(search, params.bounded_nodes, proof.bound)
        proof.settle(search, stopped.bound, closed=not stopped.limit)
    return search, proof


def _dimension(params: LatticeOptions, ladder: Ladder) -> Dimension:
    allowed = params.levels.get(ladder.attribute.name)
    return dimension(ladder) if allowed is None else dimension(ladder, allowed.min, allowed.max)


def _recode(recoded: Recoded, search: Search, gone: BoolArray) -> BoolArray | None:
    """Put the rows that are gone on levels of their own; None, and nothing done, where that saves none of them."""
    best = search.chosen()
    if best is None:
        return None
    before = recoded.rounds.copy()
    recoded.vectors.append(absolute(search, best.levels))
    recoded.rounds[gone] = len(recoded.vectors) - 1
    left = recoded.missing()
    if np.count_nonzero(left) < np.count_nonzero(gone):
        return left
    recoded.vectors.pop()
    recoded.rounds = before
    return None


def _refusal(search: Search, ending: Ending, limit: float, people: Crowd | None) -> GoalError:
    """Say which node suppresses fewest rows, and what holds it back."""
    space = search.space
    least = min(search.looks, key=lambda look: look.tie)
    levels = ", ".join(
        f"{one.ladder.attribute.name} {level}"
        for one, level in zip(space.dimensions, absolute(search, least.levels), strict=True)
        if not one.held
    )
    whole = not ending.limit
    which = "no levels that may be used meet" if whole else f"none of the {len(search.looks)} level vectors tried meets"
    faults = [
        Fault(
            place="anonymization",
            problem=f"{which} the criteria; fewest rows are suppressed at {levels}",
            remedy="allow higher levels, or see what holds it back" if whole else f"raise {ending.limit} to try more",
        )
    ]
    for one, missed in zip(space.requirements, least.missed, strict=True):
        if people is not None and one.name == "k_map" and missed:
            said = (
                f"asks for {limit_text(one.asked)} persons of the population; {missed} rows are in classes that miss it"
            )
            faults.append(Fault(place_of(one.name, one.column), said))
    on_rows = [one for one in space.requirements if people is None or one.name != "k_map"]
    try:
        suppress(on_rows, *row_classes(space.dimensions, least.levels), limit)
    except GoalError as error:
        faults += error.faults
    return GoalError(faults)


def _found(params: LatticeOptions, recoded: Recoded, gone: BoolArray, rounds: Sequence[tuple[Search, Ending]]) -> Found:
    tables = [node_table(*one) for one in rounds]
    if len(tables) > 1:
        for number, table in enumerate(tables, 1):
            table.insert(0, "round", number)
    first = rounds[0][0]
    climbed = [number for number, one in enumerate(first.space.dimensions) if not one.held]
    hierarchies = {recoded.ladders[number].attribute.name: recoded.ladders[number].hierarchy for number in climbed}
    # Of rows on levels of their own ARX's Loss alone is told: a round's quality stands beside its search.
    value = first.best if len(rounds) == 1 else None
    facts: dict[str, Any] = {
        "levels": [
            dict(zip(hierarchies, (vector[number] for number in climbed), strict=True)) for vector in recoded.vectors
        ],
        "quality": {"model": params.quality, "weights": params.weights, "value": value},
        "loss": _loss(first, recoded, gone),
        "suppressed": int(np.count_nonzero(gone)),
        "searches": [summary(*one) for one in rounds],
        "hierarchies": {name: one.digest for name, one in hierarchies.items() if one is not None},
    }
    return Found(tuple(recoded.vectors), recoded.levels(), gone, pd.concat(tables, ignore_index=True), facts)


def _loss(first: Search, recoded: Recoded, gone: BoolArray) -> float:
    """Return ARX's Loss of what was found, whatever model it was searched with."""
    best = first.chosen()
    if best is None or len(recoded.vectors) > 1:
        return recoded.loss(gone)
    return Separable("loss", first.space, {}).value(first.space.attempt(best.levels))
