"""The tree of questions, grown on rows with a model's answers."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from components.minimization.personal.bins import Binned, Split, best_split, told
from components.minimization.personal.evidence import Bools, Evidence, Floats, Integers
from components.minimization.personal.questions import NONE, Nodes

MATTERS = 0.1
"""Answers hang on an attribute where they do at least this much as far as on the one that they hang on most."""

ENOUGH = 0.5
"""Share of what the best question is expected to tell that a split by what is known has to tell to come before it.

Measured: on hospitals and Adult .5 asks for less than .25, and both for less than to split by what is known first.
"""


@dataclass(frozen=True, eq=False, slots=True)
class Material:
    """What a tree is grown from.

    Parameters
    ----------
    binned : sequence of Binned
        One an attribute.
    bins : ndarray of int, shape (rows, attributes)
        Bin of each row, numbered over all attributes.
    evidence : Evidence
        Of the same rows.
    weights : ndarray of float, shape (attributes,)
        Sensitivity: what an attribute tells is divided by it.
    closed : ndarray of bool, shape (attributes,)
        Attributes that are not asked for.
    swayed : callable
        ``swayed()``: how far the answer to each row hangs on each attribute, shape (rows, attributes), NaN where that
        was not tried.
    real : int
        How many of the rows are fit rows: they come first, those after them are made up.
    min_rows : int
        Least fit rows in a branch.
    parts : int
        Most ranges that a number is looked at in.
    """

    binned: Sequence[Binned]
    bins: Integers
    evidence: Evidence
    weights: Floats
    closed: Bools
    swayed: Callable[[], Floats]
    real: int
    min_rows: int
    parts: int


@dataclass(slots=True)
class Growth:
    """A tree while it grows; each list holds one entry a node.

    Parameters
    ----------
    asked : list of int
        Position of the attribute, `NONE` of an end.
    splits : list of Split or None
    children : list of (int, int)
    parents : list of int
        `NONE` of the first node.
    rows : list of ndarray of int
    known : list of ndarray of bool, shape (attributes,)
        What was asked on the way to the node.
    """

    asked: list[int] = field(default_factory=list)
    splits: list[Split | None] = field(default_factory=list)
    children: list[tuple[int, int]] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    rows: list[Integers] = field(default_factory=list)
    known: list[Bools] = field(default_factory=list)

    @classmethod
    def of(cls, material: Material) -> "Growth":
        """Return a tree of one node, which all rows are at."""
        growth = cls()
        growth._add(NONE, np.arange(len(material.bins)), np.zeros(len(material.binned), dtype=np.bool_))
        return growth

    @property
    def ends(self) -> Integers:
        """Numbers of the nodes that ask nothing."""
        return np.flatnonzero(np.array(self.asked) == NONE)

    def part(self, node: int, attribute: int, split: Split, goes_left: Bools) -> tuple[int, int]:
        """Make a node ask, and return the two ends after it."""
        rows, known = self.rows[node], self.known[node].copy()
        known[attribute] = True
        self.asked[node], self.splits[node] = attribute, split
        self.children[node] = self._add(node, rows[goes_left], known), self._add(node, rows[~goes_left], known)
        return self.children[node]

    def _add(self, parent: int, rows: Integers, known: Bools) -> int:
        number = len(self.rows)
        self.asked.append(NONE)
        self.splits.append(None)
        self.children.append((number, number))
        self.parents.append(parent)
        self.rows.append(rows)
        self.known.append(known)
        return number


def grow(
    growth: Growth, material: Material, starts: Iterable[int], least: int, sure: Callable[[Integers], bool]
) -> None:
    """Let a tree grow on from some of its ends, in place.

    A node is split by what was asked already, which discloses nothing, as long as that tells enough: it uses rows up,
    which questions need, too. Then the attribute is asked that is expected to tell most; where none tells anything by
    itself, the one after which the answers hang on the fewest others. At least `Material.min_rows` fit rows go each
    way, whatever it is split by.

    Parameters
    ----------
    growth : Growth
    material : Material
    starts : iterable of int
        Numbers of ends.
    least : int
        Fit rows below which a node stays an end.
    sure : callable
        ``sure(rows)``: whether a node of these rows stays an end.
    """
    offsets = np.cumsum([0, *(each.size for each in material.binned)])
    queue = deque(starts)
    while queue:
        node = queue.popleft()
        rows = growth.rows[node]
        if np.count_nonzero(rows < material.real) < least or sure(rows):
            continue
        if (found := _next(material, rows, growth.known[node])) is not None:
            attribute, split = found
            goes_left = split.left[material.bins[rows, attribute] - offsets[attribute]]
            queue.extend(growth.part(node, attribute, split, goes_left))


def _next(material: Material, rows: Integers, known: Bools) -> tuple[int, Split] | None:
    """Return what to split some rows by, and how; None where nothing helps."""
    evidence, binned = material.evidence, material.binned
    ends = np.cumsum([each.size for each in binned])
    tables = np.split(evidence.sums(rows, material.bins[rows], int(ends[-1])), ends[:-1])
    total = tables[0].sum(axis=0)
    own = material.bins[rows[rows < material.real]]
    real = np.split(np.bincount(own.ravel(), minlength=int(ends[-1])), ends[:-1])
    splits = [
        best_split(each, table, count, evidence, material.min_rows)
        for each, table, count in zip(binned, tables, real, strict=True)
    ]
    gains = np.where(material.closed, 0.0, [split.gain for split in splits])
    clear = np.maximum(gains - [evidence.by_chance(total, 2, split.tried) for split in splits], 0.0)
    worth = np.where(known, clear / ENOUGH, 0.0)
    for place in np.flatnonzero(~known & (gains > 0)):
        gone, ranges = told(binned[int(place)], tables[place], evidence, material.parts)
        worth[place] = max(gone - evidence.by_chance(total, ranges, 1), clear[place]) / material.weights[place]
    best = int(worth.argmax()) if worth.any() else _clearing(material, rows, known, splits)
    return None if best == NONE else (best, splits[best])


def _clearing(material: Material, rows: Integers, known: Bools, splits: Sequence[Split]) -> int:
    """Return the attribute that leaves least to ask, weighted, of what the answers hang on; `NONE` where it is nothing.

    It finds what only matters together, and what says which of the others matter.
    """
    swayed = material.swayed()
    rows = rows[rows < material.real]
    rows = rows[~np.isnan(swayed[rows, 0])]
    if not len(rows):
        return NONE
    table, offsets = swayed[rows], np.cumsum([0, *(each.size for each in material.binned)])
    mean = table.mean(axis=0)
    left_over = np.full(len(splits), np.inf)
    for place in np.flatnonzero((mean > 0) & (mean >= MATTERS * mean.max())):
        if splits[int(place)].gain > 0:
            cost = np.where(known, 0.0, material.weights)
            asked, cost[place] = cost[place], 0.0
            goes_left = splits[int(place)].left[material.bins[rows, place] - offsets[place]]
            sides = (table[goes_left], table[~goes_left])
            left_over[place] = asked + sum(len(side) * _cost(side, cost) for side in sides) / len(rows)
    return int(left_over.argmin()) if np.isfinite(left_over).any() else NONE


def _cost(table: Floats, cost: Floats) -> float:
    """Return the cost of all that some answers hang on."""
    mean = table.mean(axis=0) if len(table) else np.zeros(len(cost))
    return float(cost[(mean > 0) & (mean >= MATTERS * mean.max())].sum())


def nodes_of(growth: Growth, binned: Sequence[Binned]) -> Nodes:
    """Return the nodes as arrays; the answer of each end is its own number."""
    count = len(growth.rows)
    widest = max(len(each.attribute.values) for each in binned)
    cut, missing_left = np.zeros(count), np.zeros(count, dtype=np.bool_)
    values = np.zeros((count, widest), dtype=np.bool_)
    for number, split in enumerate(growth.splits):
        if split is None:
            continue
        asked = binned[int(growth.asked[number])]
        left, right = (len(growth.rows[child]) for child in growth.children[number])
        # what no row has goes the way of the more of them
        goes_left = ~split.right if left >= right else split.left
        missing_left[number] = goes_left[asked.missing]
        if asked.attribute.kind == "nominal":
            values[number, : asked.size - 1] = goes_left[:-1]
        else:
            cut[number] = asked.cut(split)
    attribute, children = np.array(growth.asked), np.array(growth.children)
    answer = np.where(attribute == NONE, np.arange(count), NONE)
    return Nodes(attribute, cut, values, missing_left, children[:, 0], children[:, 1], answer)
