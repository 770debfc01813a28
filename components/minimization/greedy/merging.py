"""Joining cells: two that differ in one attribute alone, and are one range or group of it together, become one.

A tree joins only what it has parted itself, but cells of different branches may lie side by side as well.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from components.minimization.generalizer import Cells, Generalizer, cell_loss
from components.minimization.greedy.cuts import numbered
from components.minimization.greedy.trials import TOGETHER, Trial
from components.minimization.partitions import Floats, Partition
from components.minimization.problem import Answers, agree
from components.minimization.tree.candidates import standing_for

LEAST_GAIN = 1e-4
"""Of the mean NCP: what gains less is not worth asking the model about."""

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """A cell with its fit rows.

    Parameters
    ----------
    admitted : dict of str to ndarray of bool, shape (parts,)
    values : dict of str to float
        Codes that stand for it.
    rows : ndarray of int64, shape (rows,)
    ncp : float
        Weighted mean over all attributes.
    lost : float
        Agreement lost, summed up over the rows.
    """

    admitted: dict[str, Flags]
    values: dict[str, float]
    rows: Integers
    ncp: float
    lost: float


@dataclass(frozen=True, slots=True, eq=False)
class Joining:
    """Two boxes, and the one that may take their place."""

    first: Box
    second: Box
    joined: Box

    @property
    def gained(self) -> float:
        """NCP gained, summed up over the rows."""
        parts = self.first.ncp * len(self.first.rows) + self.second.ncp * len(self.second.rows)
        return self.joined.ncp * len(self.joined.rows) - parts

    @property
    def lost(self) -> float:
        """Agreement lost, summed up over the rows."""
        return self.joined.lost - self.first.lost - self.second.lost

    @property
    def worth(self) -> float:
        """NCP gained per agreement lost; a loss of nothing counts as one row."""
        return self.gained / (max(self.lost, 0.0) + 1)


@dataclass
class Neighbours:
    """Boxes by what they are in all attributes but one: those that meet there may be joined.

    Parameters
    ----------
    nominal : mapping of str to bool
        Whether the parts of an attribute have no order, so that any two may be one group.
    """

    nominal: Mapping[str, bool]
    _alike: dict[tuple[str, bytes], list[Box]] = field(default_factory=dict)

    def add(self, box: Box) -> Iterator[tuple[str, Box, Box]]:
        """Take a box in, and yield each attribute and pair of boxes that it may be joined by."""
        for name, key in self._keys(box):
            group = self._alike.setdefault((name, key), [])
            for other in group:
                if self.nominal[name] or _touching(other.admitted[name], box.admitted[name]):
                    yield name, other, box
            group.append(box)

    def remove(self, box: Box) -> None:
        """Forget a box."""
        for name, key in self._keys(box):
            self._alike[name, key].remove(box)

    def _keys(self, box: Box) -> Iterator[tuple[str, bytes]]:
        tables = {name: table.tobytes() for name, table in box.admitted.items()}
        for name in tables:
            yield name, b"".join(table for each, table in tables.items() if each != name)


@dataclass
class Merging:
    """Boxes that are joined two by two, most NCP gained per agreement lost first.

    Parameters
    ----------
    generalizer : Generalizer
    cells : Cells
        Those of the generaliser.
    fit : Trial
    weights : mapping of str to float
        Of all attributes.
    """

    generalizer: Generalizer
    cells: Cells
    fit: Trial
    weights: Mapping[str, float]

    def path(self, budget: float) -> list[list[Box]]:
        """Return the boxes before and after each joining, as long as the agreement lost keeps the budget."""
        neighbours = Neighbours({name: bool(self._partition(name).groups) for name in self.cells.admitted})
        path = [self._boxes()]
        joinings = self._joinings([pair for box in path[0] for pair in neighbours.add(box)])
        while True:
            room = budget * len(self.fit.rows) - sum(box.lost for box in path[-1])
            steps = [each for each in joinings if each.lost <= room]
            if not steps:
                return path
            step = max(steps, key=lambda each: each.worth)
            gone = {step.first, step.second}
            for box in gone:
                neighbours.remove(box)
            path.append([*(box for box in path[-1] if box not in gone), step.joined])
            joinings = [each for each in joinings if not gone & {each.first, each.second}]
            joinings += self._joinings(list(neighbours.add(step.joined)))

    def made(self, boxes: list[Box]) -> Generalizer:
        """Return the generaliser with boxes for cells, as far as a trial needs it: cells lack their labels."""
        cells = Cells(
            {name: np.stack([box.admitted[name] for box in boxes]) for name in self.cells.admitted},
            {name: np.array([box.values[name] for box in boxes]) for name in self.cells.representatives},
            np.ones(len(boxes), dtype=np.bool_),
            np.zeros((len(boxes), self.cells.labels.shape[1])),
        )
        return replace(self.generalizer, cells=cells)

    def labelled(self, boxes: list[Box]) -> Generalizer:
        """Return the same whole: with labels (see `tree.assembling.finished`), and without cuts that no cell needs."""
        generalizer = self.made(boxes)
        there = self.fit.rows.answers
        now = self.fit.ask(self.fit.given(generalizer.recoded(self.fit.rows.codes)).rows.frame)
        told = _means if self.fit.spread is not None else _majority
        found = [told(there[box.rows], now[box.rows]) for box in boxes]
        labels = np.array([label for label, _ in found], dtype=np.float64)
        agrees = np.array([agreed for _, agreed in found], dtype=np.bool_)
        if generalizer.cells is None:
            raise ValueError("boxes make cells")
        admitted, ranges = dict(generalizer.cells.admitted), []
        for each in generalizer.ranges:
            name = each.attribute.name
            if each.partition is None:
                ranges.append(each)
                continue
            partition, admitted[name] = _needed(each.partition, admitted[name])
            standing = standing_for(partition, self.fit.rows.codes[name])
            ranges.append(
                each if partition == each.partition else replace(each, partition=partition, representatives=standing)
            )
        cells = replace(generalizer.cells, admitted=admitted, labels=labels, agrees=agrees)
        return replace(generalizer, ranges=tuple(ranges), cells=cells)

    def _boxes(self) -> list[Box]:
        codes = self.fit.rows.codes
        cell = self.cells.of(self.generalizer.parts(codes))
        lost = self.fit.lost(self.generalizer.recoded(codes))
        told = [
            self.weights[name] * cell_loss(self._partition(name), each) for name, each in self.cells.admitted.items()
        ]
        ncp = np.sum(told, axis=0) / sum(self.weights.values())
        found = []
        for number in range(len(self.cells)):
            rows = np.flatnonzero(cell == number)
            admitted = {name: table[number] for name, table in self.cells.admitted.items()}
            values = {name: float(standing[number]) for name, standing in self.cells.representatives.items()}
            found.append(Box(admitted, values, rows, float(ncp[number]), float(lost[rows].sum())))
        return found

    def _joinings(self, pairs: Sequence[tuple[str, Box, Box]]) -> list[Joining]:
        """Return what pairs of boxes become; those that gain too little are left out."""
        drafts = [Joining(first, second, self._draft(name, first, second)) for name, first, second in pairs]
        drafts = [each for each in drafts if each.gained >= LEAST_GAIN * len(self.fit.rows)]
        found: list[Joining] = []
        while len(found) < len(drafts):
            sizes = np.cumsum([len(each.joined.rows) for each in drafts[len(found) :]])
            together = max(int(np.searchsorted(sizes, TOGETHER, side="right")), 1)
            found += self._asked(drafts[len(found) : len(found) + together])
        return found

    def _draft(self, name: str, first: Box, second: Box) -> Box:
        """Return two boxes as one, as if nothing more were lost."""
        admitted = {each: table | second.admitted[each] for each, table in first.admitted.items()}
        before, after = cell_loss(self._partition(name), np.stack([first.admitted[name], admitted[name]]))
        ncp = first.ncp + self.weights[name] * float(after - before) / sum(self.weights.values())
        return Box(admitted, first.values, np.concatenate([second.rows, first.rows]), ncp, first.lost + second.lost)

    def _asked(self, drafts: Sequence[Joining]) -> list[Joining]:
        """Return the joinings with what they lose, what stands for one of the boxes standing for both."""
        sizes = np.array([[len(each.second.rows), len(each.first.rows)] for each in drafts])
        codes = {
            name: np.repeat([box.values[name] for each in drafts for box in (each.first, each.second)], sizes.ravel())
            for name in self.cells.admitted
        }
        typed = {name: column.astype(self.fit.rows.codes[name].dtype) for name, column in codes.items()}
        lost = self.fit.among(np.concatenate([each.joined.rows for each in drafts])).lost(typed)
        parts = iter(np.split(lost, np.cumsum(sizes)[:-1]))
        found = []
        for each in drafts:
            by_first, by_second = (box.lost + float(next(parts).sum()) for box in (each.first, each.second))
            values = each.first.values if by_first <= by_second else each.second.values
            joined = replace(each.joined, values=values, rows=np.sort(each.joined.rows), lost=min(by_first, by_second))
            found.append(replace(each, joined=joined))
        return found

    def _partition(self, name: str) -> Partition:
        found = {each.attribute.name: each.partition for each in self.generalizer.ranges}[name]
        if found is None:
            raise ValueError("an exact attribute has no cells")
        return found


def _needed(partition: Partition, admitted: Flags) -> tuple[Partition, Flags]:
    """Return a partition without what tells apart parts that every cell holds alike, and its table of cells."""
    if partition.groups:
        first, part = np.unique(admitted, axis=1, return_index=True, return_inverse=True)[1:]
        groups = numbered(part[list(partition.groups)].tolist())
        order = dict.fromkeys(part[list(partition.groups)].tolist())
        return Partition(partition.attribute, groups=groups), admitted[:, first[list(order)]]
    ends = np.append((admitted[:, 1:] != admitted[:, :-1]).any(axis=0), True)
    cuts = np.asarray(partition.cuts)[ends[:-1]]
    return Partition(partition.attribute, cuts=tuple(cuts.tolist())), admitted[:, ends]


def _touching(one: Flags, other: Flags) -> bool:
    """Tell whether two ranges lie side by side."""
    ends = sorted((int(each.argmax()), int(each.nonzero()[0][-1])) for each in (one, other))
    return ends[0][1] + 1 == ends[1][0]


def _majority(there: Answers, now: Answers) -> tuple[Floats, bool]:
    known, counts = np.unique(there, axis=0, return_counts=True)
    label = known[counts.argmax()]
    return label.astype(np.float64), bool(2 * np.count_nonzero(agree(now, there)) > len(now))


def _means(there: Answers, now: Answers) -> tuple[Floats, bool]:
    label = there.mean(axis=0)
    near = np.abs(now.mean(axis=0) - label) <= there.std(axis=0) + 1e-9 * np.abs(label)
    return np.asarray(label, dtype=np.float64), bool(near.all())
