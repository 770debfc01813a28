"""The exact search against every node of small lattices, each evaluated on its own in plain Python."""

import math
from collections import Counter, defaultdict
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.anonymization.criteria.declarations import K
from components.anonymization.criteria.requirements import required
from components.anonymization.declarations import Lattice
from components.anonymization.hierarchies.hierarchy import Hierarchy, Ladder
from components.anonymization.lattice.bounded import Budget, bounded
from components.anonymization.lattice.collapsing import collapse
from components.anonymization.lattice.quality import quality
from components.anonymization.lattice.search import Search, exact
from components.anonymization.lattice.search_record import node_table, summary
from components.anonymization.lattice.space import dimension
from components.anonymization.suppression import allowed_rows
from components.classes.coding import encode
from components.data.table import Table
from schemas.dataset import DatasetSchema

SOME = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
QUALITIES = ["loss", "precision", "entropy", "discernibility", "average_class_size", "ambiguity"]
CRITERIA: list[dict[str, Any]] = [
    {"name": "l_distinct", "l": 2, "column": "ill"},
    {"name": "l_distinct", "l": 2, "column": "ill", "others": "known"},
    {"name": "l_entropy", "l": 1.7, "column": "ill"},
    {"name": "l_recursive", "l": 2, "c": 2.0, "column": "ill"},
    {"name": "alpha", "alpha": 0.6, "column": "ill"},
    {"name": "t", "t": 0.3, "column": "ill"},
    {"name": "t", "t": 0.35, "column": "paid"},
    {"name": "beta", "beta": 0.8, "column": "ill"},
    {"name": "delta_disclosure", "delta": 0.7, "column": "ill"},
    {"name": "delta_disclosure", "delta": 0.5, "column": "ill", "absent": "skip"},
]
LIMITS = {"l_distinct": "l", "l_entropy": "l", "l_recursive": "c", "delta_disclosure": "delta"}
"""The parameter that is a criterion's limit, where it is not called as the criterion."""


class Plain:
    """One lattice over one table, as plain lists."""

    def __init__(self, cells: dict[str, list[Any]], trees: list[list[list[int]]], missing: list[list[int]]) -> None:
        self.cells = cells
        self.rows = len(cells["ill"])
        self.names = [name for name in cells if name.startswith("q")]
        self.trees = trees  # per column and level: group of each leaf
        self.missing = missing  # per column and level: group of a missing cell

    def group(self, column: int, level: int, row: int) -> int:
        value = self.cells[self.names[column]][row]
        return self.missing[column][level] if value is None else self.trees[column][level][value]

    def share(self, column: int, level: int, row: int) -> float:
        tree = self.trees[column][level]
        return max(tree.count(self.group(column, level, row)), 1) / len(tree)

    def classes(self, levels: tuple[int, ...]) -> list[list[int]]:
        found: dict[Any, list[int]] = defaultdict(list)
        for row in range(self.rows):
            found[tuple(self.group(column, level, row) for column, level in enumerate(levels))].append(row)
        return list(found.values())

    def misses(self, rows: list[int], criterion: Any, checker: ModuleType) -> bool:
        """Tell whether one class misses a criterion, by the independent checker's figure."""
        who = self.cells.get("person", list(range(self.rows)))
        cells = {name: self.cells[name] for name in ("ill", "paid")}
        figure = checker.slow_criterion(criterion, self.schema(), [rows], who=who, cells=cells, table=cells)
        limit = getattr(criterion, LIMITS.get(criterion.name, criterion.name))
        if criterion.name in {"k", "l_distinct", "l_entropy"}:
            return figure < limit * (1 - 1e-9)
        if criterion.name in {"l_recursive", "delta_disclosure"}:
            return not figure < limit * (1 - 1e-9)
        return figure > limit + 1e-9

    def quality(self, params: Lattice, levels: tuple[int, ...], kept: list[list[int]]) -> float:
        gone = set(range(self.rows)) - {row for rows in kept for row in rows}
        match params.quality:
            case "discernibility":
                return float(sum(len(rows) ** 2 for rows in kept) + len(gone) * self.rows)
            case "average_class_size":
                return self.rows / (len(kept) + bool(gone))
            case "ambiguity":
                return (
                    sum(
                        1.0
                        if row in gone
                        else math.prod(self.share(column, level, row) for column, level in enumerate(levels))
                        for row in range(self.rows)
                    )
                    / self.rows
                )
        costs = [self.cost(params.quality, column, level, gone) for column, level in enumerate(levels)]
        weights = [params.weights.get(name, 1.0) for name in self.names]
        if params.quality == "loss":
            return math.prod((1 + v) ** w for v, w in zip(costs, weights, strict=True)) ** (1 / sum(weights)) - 1
        return sum(v * w for v, w in zip(costs, weights, strict=True)) / sum(weights)

    def cost(self, model: str, column: int, level: int, gone: set[int]) -> float:
        leaves, height = len(self.trees[column][0]), len(self.trees[column]) - 1
        if model == "loss":
            if leaves == 1:
                return 0.0
            mean = sum(1.0 if row in gone else self.share(column, level, row) for row in range(self.rows)) / self.rows
            return (mean - 1 / leaves) / (1 - 1 / leaves)
        if model == "precision":
            return sum(1.0 if row in gone else level / max(height, 1) for row in range(self.rows)) / self.rows
        groups = [[self.group(column, step, row) for row in range(self.rows)] for step in (0, level)]
        raw, seen = Counter(groups[0]), Counter(groups[1])
        most = sum(math.log(self.rows / raw[group]) for group in groups[0])
        if most <= 1e-12:
            return 0.0
        return (
            sum(
                math.log((self.rows if row in gone else seen[groups[1][row]]) / raw[groups[0][row]])
                for row in range(self.rows)
            )
            / most
        )

    def best(self, params: Lattice, allowed: int, checker: ModuleType) -> tuple[Any, float, int] | None:
        asked = [K(k=params.k), *params.criteria]
        found = []
        for levels in self.nodes(params):
            kept = [rows for rows in self.classes(levels) if not any(self.misses(rows, one, checker) for one in asked)]
            gone = self.rows - sum(map(len, kept))
            if gone <= allowed:
                found.append((self.quality(params, levels, kept), gone, levels))
        if not found:
            return None
        least = min(value for value, _, _ in found)
        value, gone, levels = min(
            (one for one in found if one[0] <= least + 1e-12 * max(abs(least), 1)),
            key=lambda one: (one[1], sum(one[2]), one[2]),
        )
        return levels, value, gone

    def nodes(self, params: Lattice) -> Any:
        ranges = []
        for name, tree in zip(self.names, self.trees, strict=True):
            asked = params.levels.get(name)
            low = 0 if asked is None else asked.min
            ranges.append(range(low, len(tree) if asked is None or asked.max is None else asked.max + 1))
        return product(*ranges)

    def schema(self) -> DatasetSchema:
        quasi = {"dtype": "integer", "role": "quasi_identifier", "nullable": True}
        columns: dict[str, Any] = dict.fromkeys(self.names, quasi)
        columns |= {"ill": {"dtype": "text", "role": "sensitive"}, "paid": {"dtype": "integer", "role": "sensitive"}}
        schema: dict[str, Any] = {"name": "made", "source": {"name": "none"}, "columns": columns}
        if "person" in self.cells:
            columns["person"] = {"dtype": "text", "role": "identifier"}
            schema["subject_id"] = "person"
        return DatasetSchema.model_validate(schema)

    def table(self) -> Table:
        types: dict[str, Any] = {**dict.fromkeys(self.names, "Int64"), "paid": "int64"}
        cells = {name: pd.Series(cells, dtype=types.get(name, "string")) for name, cells in self.cells.items()}
        return Table(pd.DataFrame(cells), self.schema())

    def ladders(self, table: Table) -> list[Ladder]:
        units = encode(table.frame, [table.schema.column(name) for name in self.names])
        found = []
        for unit, tree, missing in zip(units, self.trees, self.missing, strict=True):
            values = [int(value) for value in unit.domain()[0]]
            groups = tuple(
                np.array([*(step[value] for value in values), hole]) for step, hole in zip(tree, missing, strict=True)
            )
            counts = [[max(step.count(group), 1) for group in range(max(step) + 2)] for step in tree]
            labels = tuple(
                np.array([f"{group}" for group in range(max(step) + 1)] + [None], dtype=object) for step in tree
            )
            shares = tuple(np.array(count) / len(tree[0]) for count in counts)
            hierarchy = Hierarchy(
                column=unit.columns[0],
                leaves=np.array([str(leaf) for leaf in range(len(tree[0]))], dtype=object),
                groups=tuple(np.array(step) for step in tree),
                labels=labels,
                digest="0" * 64,
            )
            found.append(Ladder(unit, groups, labels, shares, len(tree[0]), hierarchy))
        return found


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[list[int]], list[int]]:
    """Draw a hierarchy as the group of each leaf on each level, and what becomes of missing cells."""
    leaves = draw(st.integers(1, 5))
    steps = [list(range(leaves))]
    for _ in range(draw(st.integers(0, 2))):
        groups = max(steps[-1]) + 1
        into = draw(st.lists(st.integers(0, groups - 1), min_size=groups, max_size=groups))
        order = {group: place for place, group in enumerate(dict.fromkeys(into))}
        steps.append([order[into[group]] for group in steps[-1]])
    joins = draw(st.booleans())  # a top of one group takes missing cells in
    missing = [0 if joins and step and max(tree) == 0 else max(tree) + 1 for step, tree in enumerate(steps)]
    return steps, missing


@st.composite
def problems(
    draw: st.DrawFn,
    criteria: list[dict[str, Any]] = CRITERIA,
    limits: tuple[float, ...] | list[float] = (0.0, 0.1, 0.25, 0.5, 1.0),
    qualities: list[str] = QUALITIES,
    least: int = 0,
) -> tuple[Plain, Lattice]:
    """Draw a table with hierarchies, and what is asked of it."""
    rows = draw(st.integers(2, 14))
    drawn = [draw(trees()) for _ in range(draw(st.integers(1, 3)))]
    cells: dict[str, list[Any]] = {}
    for number, (tree, _) in enumerate(drawn):
        values = (
            st.sampled_from([None, *range(len(tree[0]))]) if draw(st.booleans()) else st.integers(0, len(tree[0]) - 1)
        )
        cells[f"q{number}"] = draw(st.lists(values, min_size=rows, max_size=rows))
    cells["ill"] = draw(st.lists(st.sampled_from(["flu", "cold", "none"]), min_size=rows, max_size=rows))
    cells["paid"] = draw(st.lists(st.sampled_from([1, 2, 5]), min_size=rows, max_size=rows))
    if draw(st.booleans()):
        cells["person"] = draw(st.lists(st.sampled_from("abcdef"), min_size=rows, max_size=rows))
    model = draw(st.sampled_from(qualities))
    weighted = model in {"loss", "precision", "entropy"} and draw(st.booleans())
    levels = {}
    for number, (tree, _) in enumerate(drawn):
        if draw(st.integers(0, 3)) == 0:
            low = draw(st.integers(0, len(tree) - 1))
            levels[f"q{number}"] = {"min": low, "max": draw(st.none() | st.integers(low, len(tree) - 1))}
    asked = {
        "k": draw(st.integers(2, 4)),
        "criteria": draw(st.lists(st.sampled_from(criteria), min_size=least, max_size=2, unique_by=str)),
        "suppression_limit": draw(st.sampled_from(limits)),
        "quality": model,
        "weights": {"q0": draw(st.sampled_from([0.3, 2.0]))} if weighted else {},
        "levels": levels,
    }
    return Plain(cells, [tree for tree, _ in drawn], [hole for _, hole in drawn]), Lattice.model_validate(asked)


def search_of(plain: Plain, params: Lattice) -> Search:
    table = plain.table()
    dimensions = []
    for ladder in plain.ladders(table):
        asked = params.levels.get(ladder.attribute.name)
        dimensions.append(dimension(ladder) if asked is None else dimension(ladder, asked.min, asked.max))
    space = collapse(dimensions, required(params, table))
    allowed = min(allowed_rows(params.suppression_limit, plain.rows), plain.rows - 1)
    return Search(space, quality(params, space), allowed)


def answer(search: Search) -> Any:
    chosen = search.chosen()
    if chosen is None:
        return None
    levels = tuple(one.levels[level] for one, level in zip(search.space.dimensions, chosen.levels, strict=True))
    return levels, pytest.approx(chosen.value, rel=1e-9, abs=1e-12), chosen.suppressed


ABSORBING = [one for one in CRITERIA if one["name"] == "l_distinct" and "others" not in one]
OTHERS = [one for one in CRITERIA if one not in ABSORBING]
SKIP = [one for one in CRITERIA if one.get("absent") == "skip"]
KINDS = {
    "any": {},
    "absorbing, some suppressed": {"criteria": ABSORBING, "limits": [0.25, 0.5]},
    "not absorbing, some suppressed": {"criteria": OTHERS, "limits": [0.25, 0.5], "least": 1},
    "monotone, none suppressed": {"criteria": CRITERIA[:-1], "limits": [0.0], "least": 1},
    "not monotone": {"criteria": SKIP, "limits": [0.0, 0.25], "least": 1},
    "by class": {"qualities": QUALITIES[3:], "limits": [0.5, 1.0]},
}


@pytest.mark.parametrize("kind", KINDS)
@SOME
@given(data=st.data())
def test_the_exact_search_finds_what_trying_every_node_finds(data: st.DataObject, kind: str, checker: ModuleType):
    plain, params = data.draw(problems(**KINDS[kind]))
    search = search_of(plain, params)
    exact(search)
    assert plain.best(params, search.allowed, checker) == answer(search)


@SOME
@given(problem=problems())
def test_a_bounded_search_that_ends_by_itself_finds_the_same(problem: tuple[Plain, Lattice], checker: ModuleType):
    plain, params = problem
    search = search_of(plain, params)
    ending = bounded(search, Budget(10_000, 60.0))
    assert ending.limit == ""
    assert plain.best(params, search.allowed, checker) == answer(search)


@SOME
@given(problem=problems(), nodes=st.integers(1, 12))
def test_a_bounded_search_never_claims_a_bound_above_the_optimum(
    problem: tuple[Plain, Lattice], nodes: int, checker: ModuleType
):
    plain, params = problem
    search = search_of(plain, params)
    ending = bounded(search, Budget(nodes, 60.0))
    best = plain.best(params, search.allowed, checker)
    if best is not None:
        assert ending.bound <= best[1] + 1e-9
    chosen = search.chosen()
    if chosen is not None and best is not None:
        assert chosen.value >= best[1] - 1e-9
    facts = summary(search, ending)
    assert facts["proved"] is (ending.limit == "")
    assert len(node_table(search, ending)) == facts["tried"] == len(search.looks)
    assert len({look.levels for look in search.looks}) == len(search.looks)


def test_what_is_not_monotone_condemns_nothing():
    # x is rare in a and b, and absent values are skipped: a and b together show too few, each of them does not.
    rows = {"a": (0, 20), "b": (3, 17), "c": (16, 34)}
    cells: dict[str, list[Any]] = {
        "q0": [place for place, (x, y) in enumerate(rows.values()) for _ in range(x + y)],
        "ill": [value for x, y in rows.values() for value in ["x"] * x + ["y"] * y],
        "paid": [1] * 90,
    }
    plain = Plain(cells, [[[0, 1, 2], [0, 0, 1], [0, 0, 0]]], [[3, 2, 0]])
    skip = {"name": "delta_disclosure", "delta": 0.5, "column": "ill", "absent": "skip"}
    search = search_of(plain, Lattice.model_validate({"k": 2, "criteria": [skip]}))
    look, _ = search.look((1,))
    assert (look.fits, look.missed) == (False, (0, 40))
    assert not look.condemns
    exact(search)
    assert answer(search) == ((0,), 0.0, 0)
    strict = {**skip, "absent": "strict"}
    search = search_of(plain, Lattice.model_validate({"k": 2, "criteria": [strict]}))
    assert search.look((1,))[0].condemns
