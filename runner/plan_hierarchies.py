"""What ``plan`` says of hierarchies: coverage per quasi-identifier, size and time of each search."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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
    for place, options, columns in _searches(method, names):
        heights = _n_levels(options, hierarchies, columns)
        nodes = math.prod(heights)
        how = f"more than exact_nodes={options.exact_nodes:,}"
        if nodes <= options.exact_nodes:
            how = f"{len(names)} columns are too many for a proof"
        how += f": the best of at most {options.bounded_nodes:,} tried"
        if is_exact(options, _shape(heights, names)):
            how = "the optimum is proved"
        yield f"lattice{place}", f"{nodes:,} nodes ({' x '.join(map(str, heights))} levels); {how}"


def search_time(
    method: Any, table: Table, given: Given, requirements: Sequence[Requirement]
) -> Iterator[tuple[str, str]]:
    """Yield how long the search of each lattice takes at most, by what a node takes on this machine.

    In a pipeline the columns that a step leaves alone are taken as they are in the table: nothing is finer.
    """
    names = table.schema.quasi_identifiers
    searches = list(_searches(method, names))
    if not searches:
        return
    units = joined(encode(table.frame, quasi_identifiers(table)))
    for place, options, columns in searches:
        ladders = [
            climb(unit, given.hierarchies[unit.name], table.schema.missing.markers)
            if unit.name in columns
            else held(unit)
            for unit in units
        ]
        each = seconds_a_node(options, requirements, ladders)
        heights = _n_levels(options, given.hierarchies, columns)
        bounded = min(options.bounded_nodes * each, options.bounded_seconds)
        # Choosing the nodes is held to about the time that trying them takes.
        whole = 2 * math.prod(heights) * each
        most, more = bounded, ""
        if is_exact(options, _shape(heights, names)):
            most, more = whole, "; a proof mostly needs few of the nodes"
            if whole > options.exact_seconds:
                most, more = options.exact_seconds + bounded, f"{more}, and stops after {options.exact_seconds:g} s"
        yield f"time{place}" if place else "expected time", f"{1000 * each:.2g} ms a node: at most {most:.2g} s{more}"


def _shape(heights: Sequence[int], names: Sequence[str]) -> list[int]:
    """Return the shape of the lattice, in which columns that are held have one level."""
    return [*heights, *(1 for _ in names[len(heights) :])]


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


def _searches(method: Any, names: list[str]) -> Iterator[tuple[str, Any, list[str]]]:
    """Yield the place, options and columns of each search."""
    if method.name == "lattice":
        yield "", method, names
    for number, step in enumerate(getattr(method, "steps", [])):
        if step.name == "lattice":
            yield f", step {number}", step, step.columns
