"""The independent checker: every criterion and risk figure, row by row, as the definitions say.

Nothing here is shared with the engine, nothing is clever, and nothing is quick.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pandas as pd

from schemas.dataset import DatasetSchema

MISSING = "missing"
Tree = dict[Any, tuple[str, ...]]
"""What each value becomes on every level, from itself up to the one root."""


def slow_measure(
    frame: pd.DataFrame,
    schema: DatasetSchema,
    whole: pd.DataFrame | None = None,
    persons: list[Any] | None = None,
    criteria: Sequence[Any] = (),
    trees: dict[str, Tree] | None = None,
) -> dict[str, Any]:
    """Measure a table; `criteria` are declarations that name their columns."""
    left_out = 0 if whole is None else len(whole) - len(frame)
    whole = frame if whole is None else whole
    quasi = [name for name in schema.quasi_identifiers if name in frame.columns]
    rows = [tuple(None if pd.isna(cell) else cell for cell in row) for row in frame[quasi].astype(object).to_numpy()]
    kept = [position for position, row in enumerate(rows) if set(row) != {"*"}] or list(range(len(rows)))
    who = list(range(len(rows))) if persons is None else [None if pd.isna(person) else person for person in persons]
    classes: dict[Any, list[int]] = defaultdict(list)
    for position in kept:
        classes[rows[position]].append(position)
    alike = [
        len({who[j] for j in kept if all(a is None or a == b for a, b in zip(rows[i], rows[j], strict=True))})
        for i in kept
    ]
    groups = list(classes.values())
    found: dict[str, Any] = {
        "k_rows": min(map(len, groups)),
        "k_wildcard": min(alike),
        "classes": len(groups),
        "suppressed": len(rows) - len(kept) + left_out,
        **slow_risk([len({who[position] for position in members}) for members in groups]),
        **slow_linked(frame, schema, rows),
    }
    cells = {name: cells_of(frame[name]) for name in schema.sensitive}
    table = {name: cells_of(whole[name]) for name in schema.sensitive}
    for name in schema.sensitive:
        found[name] = slow_disclosure(schema, name, groups, cells[name], table[name])
        if persons is not None:
            found[name]["alpha_persons"] = max(slow_common(members, who, cells[name]) for members in groups)
    if criteria:
        found["criteria"] = [
            slow_criterion(
                one,
                schema,
                groups,
                who=who,
                cells=cells,
                table=table,
                tree=(trees or {}).get(getattr(one, "column", None)),
            )
            for one in criteria
        ]
    return found


def cells_of(column: pd.Series) -> list[Any]:
    return [MISSING if pd.isna(cell) else cell for cell in column]


def slow_risk(sizes: list[int]) -> dict[str, Any]:
    of_record = [1 / size for size in sizes for _ in range(size)]
    return {
        "k": min(sizes),
        "arirec": sum(1 / size for size in sizes) / len(sizes),
        "mean": sum(of_record) / len(of_record),
        "max": max(of_record),
        "below_11": sum(risk > 1 / 11 for risk in of_record) / len(of_record),
        "above_a_fifth": sum(risk > 0.2 for risk in of_record) / len(of_record),
        "above_a_half": sum(risk > 0.5 for risk in of_record) / len(of_record),
        "uniques": sum(risk == 1 for risk in of_record) / len(of_record),
    }


def slow_linked(frame: pd.DataFrame, schema: DatasetSchema, rows: list[tuple[Any, ...]]) -> dict[str, int]:
    """Compare each person's set of classes with everybody's; a row that is all stars is in a class of such rows."""
    if schema.subject_id is None or schema.subject_id not in frame:
        return {}
    seen: dict[Any, set[tuple[Any, ...]]] = defaultdict(set)
    for person, row in zip(frame[schema.subject_id], rows, strict=True):
        if not pd.isna(person):
            seen[person].add(row)
    alike = [sum(other == mine for other in seen.values()) for mine in seen.values()]
    return {"k_linked": min(alike), "linked_persons": len(seen), "linked_alone": alike.count(1)} if alike else {}


def slow_common(members: list[int], who: list[Any], cells: list[Any]) -> float:
    """Return the share of the persons with a known value who have the commonest of them."""
    persons = {who[position] for position in members if cells[position] != MISSING}
    having = Counter(value for value, _ in {(cells[p], who[p]) for p in members if cells[p] != MISSING})
    return max(having.values()) / len(persons) if persons else 0.0


def slow_disclosure(
    schema: DatasetSchema, name: str, groups: list[list[int]], cells: list[Any], table: list[Any]
) -> dict[str, Any]:
    values = [[cells[position] for position in members] for members in groups]
    released = [value for group in values for value in group]
    declared = schema.column(name).values
    far = slow_ordered if schema.column(name).dtype in {"number", "integer", "ordered"} else slow_equal
    return {
        "l_distinct": min(len(set(group)) for group in values),
        "l_known": min(len(set(group) - {MISSING}) for group in values),
        "l_entropy": min(map(slow_entropy, values)),
        "l_recursive": max(slow_recursive(group, 2) for group in values),
        "alpha": max(map(slow_share, values)),
        "t": max(far(group, table, declared) for group in values),
        "t_released": max(far(group, released, declared) for group in values),
        "beta": max(slow_gain(group, table) for group in values),
        "beta_enhanced": max(slow_enhanced_gain(group, table) for group in values),
        "delta_disclosure": max(slow_ratio(group, table, skip=False) for group in values),
    }


def slow_criterion(  # noqa: PLR0913  # one fact of the table each
    criterion: Any,
    schema: DatasetSchema,
    groups: list[list[int]],
    *,
    who: list[Any],
    cells: dict[str, list[Any]],
    table: dict[str, list[Any]],
    tree: Tree | None = None,
) -> float:
    """Return the figure of the worst class."""
    if criterion.name == "k":
        return min(len({who[position] for position in members}) for members in groups)
    if criterion.name == "k_map":
        each = schema.population.size / len(next(iter(table.values())))
        return min(len({who[position] for position in members}) for members in groups) * each
    if criterion.others == "known":
        groups = [part for members in groups for part in apart(members, cells, criterion.column)]
    mine, all_of_it = cells[criterion.column], table[criterion.column]
    values = [[mine[position] for position in members] for members in groups]
    return slow_figure(criterion, values, all_of_it, schema.column(criterion.column), tree)


def apart(members: list[int], cells: dict[str, list[Any]], column: str) -> list[list[int]]:
    parts: dict[Any, list[int]] = defaultdict(list)
    for position in members:
        parts[tuple(cells[name][position] for name in cells if name != column)].append(position)
    return list(parts.values())


def slow_figure(criterion: Any, values: list[list[Any]], table: list[Any], column: Any, tree: Tree | None) -> float:
    figures: dict[str, Callable[[list[Any]], float]] = {
        "l_distinct": lambda group: len(set(group)),
        "l_entropy": slow_entropy,
        "l_recursive": lambda group: slow_recursive(group, criterion.l),
        "alpha": slow_share,
        "t": lambda group: slow_distance(criterion, group, table, column, tree),
        "beta": lambda group: slow_gain(group, table),
        "beta_enhanced": lambda group: slow_enhanced_gain(group, table),
        "delta_disclosure": lambda group: slow_ratio(group, table, skip=criterion.absent == "skip"),
    }
    worst = min if criterion.name in {"l_distinct", "l_entropy"} else max
    return worst(figures[criterion.name](group) for group in values)


def slow_distance(criterion: Any, group: list[Any], table: list[Any], column: Any, tree: Tree | None) -> float:
    if criterion.distance == "hierarchical":
        assert tree is not None
        return slow_hierarchical(group, table, tree)
    ordered = column.dtype in {"number", "integer", "ordered"}
    if criterion.distance == "equal" or (criterion.distance == "auto" and not ordered):
        return slow_equal(group, table)
    return slow_ordered(group, table, column.values)


def slow_entropy(group: list[Any]) -> float:
    shares = [count / len(group) for count in Counter(group).values()]
    return math.exp(-sum(share * math.log(share) for share in shares))


def slow_recursive(group: list[Any], l: int) -> float:
    counts = sorted(Counter(group).values(), reverse=True)
    tail = sum(counts[l - 1 :])
    return counts[0] / tail if tail else math.inf


def slow_share(group: list[Any]) -> float:
    return max(Counter(group).values()) / len(group)


def slow_gains(group: list[Any], table: list[Any]) -> list[tuple[float, float]]:
    """Return (gain, share in the table) of every value that gains."""
    shares = [(group.count(v) / len(group), table.count(v) / len(table)) for v in set(group)]
    return [((q - p) / p if p else math.inf, p) for q, p in shares if q > p]


def slow_gain(group: list[Any], table: list[Any]) -> float:
    return max((gain for gain, _ in slow_gains(group, table)), default=0.0)


def slow_enhanced_gain(group: list[Any], table: list[Any]) -> float:
    gains = slow_gains(group, table)
    if any(p == 0 or gain > -math.log(p) for gain, p in gains):
        return math.inf
    return max((gain for gain, _ in gains), default=0.0)


def slow_ratio(group: list[Any], table: list[Any], *, skip: bool) -> float:
    worst = 0.0
    for value in {*group, *table}:
        q, p = group.count(value) / len(group), table.count(value) / len(table)
        if q and p:
            worst = max(worst, abs(math.log(q / p)))
        elif p == 0 or not skip:
            return math.inf
    return worst


def slow_equal(group: list[Any], table: list[Any], _: Any = None) -> float:
    values = set(group) | set(table)
    return sum(abs(group.count(v) / len(group) - table.count(v) / len(table)) for v in values) / 2


def slow_ordered(group: list[Any], table: list[Any], declared: list[str] | None = None) -> float:
    def place(value: Any) -> Any:
        if value == MISSING:
            return (1, 0)
        return (0, declared.index(value) if declared else value)

    values = sorted(set(group) | set(table), key=place)
    gaps = [
        abs(
            sum(x in values[: i + 1] for x in group) / len(group)
            - sum(x in values[: i + 1] for x in table) / len(table)
        )
        for i in range(len(values) - 1)
    ]
    return sum(gaps) / len(gaps) if gaps else 0.0


def slow_hierarchical(group: list[Any], table: list[Any], tree: Tree) -> float:
    """Li et al. 2007, section 4.1: what the children of a node have too much of meets there what others lack."""
    height = len(next(iter(tree.values()))) - 1
    extra: dict[tuple[int, str], float] = defaultdict(float)
    children: dict[tuple[int, str], set[tuple[int, str]]] = defaultdict(set)
    for value in set(group) | set(table):
        path = path_of(value, tree, height)
        for level, label in enumerate(path):
            extra[level, label] += group.count(value) / len(group) - table.count(value) / len(table)
        for level, (below, above) in enumerate(pairwise(path)):
            children[level + 1, above].add((level, below))
    cost = 0.0
    for (level, _), below in children.items():
        too_much = sum(extra[child] for child in below if extra[child] > 0)
        too_little = -sum(extra[child] for child in below if extra[child] < 0)
        cost += level / height * min(too_much, too_little)
    return cost


def path_of(value: Any, tree: Tree, height: int) -> tuple[str, ...]:
    """Return a value's ancestors; a missing one has the root alone above it."""
    if value != MISSING:
        return tree[value]
    return (MISSING,) * height + (next(iter(tree.values()))[-1],)
