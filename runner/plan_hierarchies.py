"""What ``plan`` says of hierarchies: coverage per quasi-identifier, size and time of each search."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from components.anonymization import Given
from components.anonymization.hierarchies.checks import check_coverage, coverage
from components.anonymization.hierarchies.hierarchy import Hierarchy
from components.anonymization.lattice.method import seconds_a_node
from components.anonymization.population import refuse_strangers
from components.classes.coding import encode
from components.data import Table
from components.registry import load


def hierarchy_lines(table: Table, given: Given) -> Iterator[tuple[str, str]]:
    """Yield the coverage of each quasi-identifier's hierarchy, over the whole table."""
    schema = table.schema
    said = []
    for name in schema.quasi_identifiers:
        hierarchy = given.hierarchies.get(name)
        if hierarchy is None:
            said.append(f"{name}: none")
            continue
        (attribute,) = encode(table.frame, [schema.column(name)])
        found = coverage(attribute, hierarchy, schema.missing.markers)
        share = found.covered / found.values if found.values else 1.0
        levels = len(hierarchy.labels)
        said.append(f"{name}: {found.covered:,} of {found.values:,} values covered ({share:.0%}), {levels} levels")
    yield "hierarchies", "; ".join(said)
    for hierarchy in given.hierarchies.values():
        yield from (("warning", text) for text in hierarchy.warnings)


def refuse_the_hopeless(method: Any, table: Table, given: Given) -> None:
    """Raise what a run would, after reading and before any work (see `runner.pipeline`); on all rows, train or not."""
    check_coverage(table, given.hierarchies)
    if given.population is not None:
        refuse_strangers(table, given.population)
    if method.precheck:
        load(method.precheck)(method, table, given)


def lattice_lines(method: Any, hierarchies: Mapping[str, Hierarchy], names: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the size of each lattice that a method searches."""
    for label, options, columns in _searches(method, names):
        heights = _heights(options, hierarchies, columns)
        nodes = math.prod(heights)
        how = (
            "the optimum is proved"
            if nodes <= options.exact_nodes
            else f"more than exact_nodes={options.exact_nodes:,}: the best of at most {options.bounded_nodes:,} tried"
        )
        yield label, f"{nodes:,} nodes ({' x '.join(map(str, heights))} levels); {how}"


def search_time(method: Any, table: Table, given: Given) -> Iterator[tuple[str, str]]:
    """Yield how long the search of a lattice takes at most, by what a node takes on this machine."""
    if method.name != "lattice":
        return
    each = seconds_a_node(method, table, given)
    nodes = math.prod(_heights(method, given.hierarchies, table.schema.quasi_identifiers))
    most = nodes * each if nodes <= method.exact_nodes else min(method.bounded_nodes * each, method.bounded_seconds)
    yield "expected time", f"{1000 * each:.2g} ms a node: at most {most:.2g} s; a proof mostly needs few of the nodes"


def _heights(options: Any, hierarchies: Mapping[str, Hierarchy], columns: list[str]) -> list[int]:
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
    if method.name == "lattice":
        yield "lattice", method, names
    for number, step in enumerate(getattr(method, "steps", [])):
        if step.name == "lattice":
            yield f"lattice, step {number}", step, step.columns
