"""What ``plan`` says of hierarchies: coverage per quasi-identifier, size and time of each search."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from components.anonymization import Given
from components.anonymization.criteria.requirements import Requirement
from components.anonymization.hierarchies.checks import check_coverage, coverage
from components.anonymization.hierarchies.hierarchy import Hierarchy, climb, held
from components.anonymization.lattice.method import seconds_a_node
from components.anonymization.lattice.options import is_exact
from components.anonymization.population import refuse_strangers
from components.anonymization.publishing import quasi_identifiers
from components.classes.coding import encode, joined
from components.data import Table
from components.registry import load
from runner.exposure import LARGEST_SUBSET


def hierarchy_lines(table: Table, given: Given) -> Iterator[tuple[str, str]]:
    """Yield the coverage of each quasi-identifier's hierarchy, over the whole table."""
    schema = table.schema
    said = []
    for name in schema.quasi_identifiers:
        hierarchy = given.hierarchies.get(name)
        if hierarchy is None:
            said.append(f"{name}: {'none' if schema.column(name).hierarchy is None else 'not climbed'}")
            continue
        (attribute,) = encode(table.frame, [schema.column(name)])
        found = coverage(attribute, hierarchy, schema.missing.markers)
        share = found.covered / found.values if found.values else 1.0
        levels = len(hierarchy.labels)
        said.append(f"{name}: {found.covered:,} of {found.values:,} values covered ({share:.0%}), {levels} levels")
    yield "hierarchies", "; ".join(said)
    for hierarchy in given.hierarchies.values():
        yield from (("warning", text) for text in hierarchy.warnings)


def refuse_the_hopeless(method: Any, table: Table, given: Given) -> Any:
    """Raise what a run would, after reading and before any work (see `runner.pipeline`); on all rows, train or not.

    Returns
    -------
    Any
        What the method's ``precheck`` does.
    """
    check_coverage(table, given.hierarchies)
    if given.population is not None:
        refuse_strangers(table, given.population)
    return load(method.precheck)(method, table, given) if method.precheck else []


def lattice_lines(method: Any, hierarchies: Mapping[str, Hierarchy], names: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the size of each lattice that a method searches."""
    for search in _searches(method, names):
        options, levels = search.options, _n_levels(search.options, hierarchies, search.columns)
        nodes = math.prod(levels)
        if is_exact(options, [*levels, *[1] * search.held]):
            how = f"the optimum is proved, if {options.exact_seconds:g} s are enough"
        elif nodes > options.exact_nodes:
            how = f"more than exact_nodes={options.exact_nodes:,}: the best of at most {options.bounded_nodes:,} tried"
        else:
            how = f"{len(levels)} columns are too many for a proof: the best of at most {options.bounded_nodes:,} tried"
        yield f"lattice{search.place}", f"{nodes:,} nodes ({' x '.join(map(str, levels))} levels); {how}"


def search_time(
    method: Any, table: Table, given: Given, requirements: Sequence[Requirement]
) -> Iterator[tuple[str, str]]:
    """Yield how long each search takes at most, by what a node takes on this machine, and how much is measured after.

    In a pipeline the columns that a step leaves alone are taken as they are in the table: nothing is finer.
    """
    names = table.schema.quasi_identifiers
    searches = list(_searches(method, names))
    if not searches:
        return
    units = joined(encode(table.frame, quasi_identifiers(table)))
    for search in searches:
        ladders = [
            climb(unit, given.hierarchies[unit.name], table.schema.missing.markers)
            if unit.name in search.columns
            else held(unit)
            for unit in units
        ]
        each = seconds_a_node(search.options, requirements, ladders)
        yield "expected time", f"search{search.place}: {_longest(search, each, given.hierarchies)}"
    subsets = sum(math.comb(len(names), size) for size in range(1, LARGEST_SUBSET + 1))
    yield "risk", f"measured before and after, by {subsets:,} subsets of up to {LARGEST_SUBSET} quasi-identifiers"


def _longest(search: "_Search", each: float, hierarchies: Mapping[str, Hierarchy]) -> str:
    """Say how long a search takes at most, given the seconds that a node takes."""
    options, levels = search.options, _n_levels(search.options, hierarchies, search.columns)
    bounded = min(options.bounded_nodes * each, options.bounded_seconds)
    most, more = bounded, ""
    if is_exact(options, [*levels, *[1] * search.held]):
        # Choosing which nodes to try is held to about the time that trying them takes.
        most, more = 2 * math.prod(levels) * each, "; a proof mostly needs few of the nodes"
        if most > options.exact_seconds:
            most, more = options.exact_seconds + bounded, f"{more}, and stops after {options.exact_seconds:g} s"
    if options.local_recoding:
        seconds = options.exact_seconds + options.bounded_seconds
        more = f" a round, {seconds:g} s with all rounds of local recoding{more}"
    return f"{1000 * each:.2g} ms a node: at most {most:.2g} s{more}"


def _n_levels(options: Any, hierarchies: Mapping[str, Hierarchy], columns: list[str]) -> list[int]:
    """Return how many levels each column may take."""
    heights = []
    for name in columns:
        allowed = options.levels.get(name)
        top = len(hierarchies[name].labels) - 1
        low = 0 if allowed is None else allowed.min
        high = top if allowed is None or allowed.max is None else min(allowed.max, top)
        heights.append(high - low + 1)
    return heights


class _Search(NamedTuple):
    """One search of a method: where it stands, with what options, on which columns, and beside how many held ones."""

    place: str
    options: Any
    columns: list[str]
    held: int


def _searches(method: Any, names: list[str]) -> Iterator[_Search]:
    """Yield each search; the last one of a pipeline holds what all other columns show as one column."""
    if method.name == "lattice":
        yield _Search("", method, names, 0)
    steps = getattr(method, "steps", [])
    last = max((number for number, step in enumerate(steps) if step.name in {"lattice", "mondrian"}), default=0)
    for number, step in enumerate(steps):
        if step.name == "lattice":
            held_ones = int(number == last and len(step.columns) < len(names))
            yield _Search(f", step {number}", step, step.columns, held_ones)
