"""Joining cells: two that differ in one attribute alone, and are one range or group of it together, become one.

A tree joins only what it has parted itself, but cells of different branches may lie side by side as well.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from components.minimization.generalizer import Cells, Generalizer, cell_loss
from components.minimization.greedy.cuts import numbered
from components.minimization.greedy.trials import Trial
from components.minimization.partitions import Floats, Partition
from components.minimization.problem import Answers, agree
from components.minimization.tree.candidates import standing_for

LEAST_GAIN = 1e-5
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
    told_less : float
        Weighted NCP, summed up over the rows.
    lost : float
        Agreement lost, summed up over the rows.
    """

    admitted: dict[str, Flags]
    values: dict[str, float]
    rows: Integers
    told_less: float
    lost: float


Pair = tuple[Box, Box]


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
    _joined: dict[Pair, Box | None] = field(default_factory=dict)

    def path(self, budget: float) -> list[list[Box]]:
        """Return the boxes before and after each joining, as long as the agreement lost keeps the budget."""
        path = [self._boxes()]
        while True:
            boxes = path[-1]
            room = budget * len(self.fit.rows) - sum(box.lost for box in boxes)
            steps = [
                (_worth(joined, pair), pair, joined)
                for pair in self._pairs(boxes)
                if (joined := self._join(pair)) is not None and joined.lost - pair[0].lost - pair[1].lost <= room
            ]
            if not steps:
                return path
            _, pair, joined = max(steps, key=lambda step: step[0])
            path.append([*(box for box in boxes if box not in pair), joined])

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
        found = []
        for number in range(len(self.cells)):
            rows = np.flatnonzero(cell == number)
            admitted = {name: table[number] for name, table in self.cells.admitted.items()}
            values = {name: float(standing[number]) for name, standing in self.cells.representatives.items()}
            found.append(Box(admitted, values, rows, self._ncp(admitted) * len(rows), float(lost[rows].sum())))
        return found

    def _pairs(self, boxes: list[Box]) -> Iterator[Pair]:
        """Yield the boxes that differ in one attribute alone, and are one range of it, or any group, together."""
        for name in self.cells.admitted:
            alike: dict[bytes, list[Box]] = {}
            for box in boxes:
                rest = b"".join(table.tobytes() for each, table in box.admitted.items() if each != name)
                alike.setdefault(rest, []).append(box)
            for group in alike.values():
                beside = sorted(group, key=lambda box: int(box.admitted[name].argmax()))
                yield from combinations(beside, 2) if self._nominal(name) else filter(_touching(name), pairwise(beside))

    def _join(self, pair: Pair) -> Box | None:
        """Return a pair as one box, what stands for one of them standing for both; None where it gains too little."""
        if pair not in self._joined:
            admitted = {name: table | pair[1].admitted[name] for name, table in pair[0].admitted.items()}
            told_less = self._ncp(admitted) * sum(len(box.rows) for box in pair)
            gained = told_less - pair[0].told_less - pair[1].told_less
            worth = gained >= LEAST_GAIN * len(self.fit.rows)
            self._joined[pair] = self._asked(pair, admitted, told_less) if worth else None
        return self._joined[pair]

    def _asked(self, pair: Pair, admitted: dict[str, Flags], told_less: float) -> Box:
        first, second = pair
        rows = np.concatenate([second.rows, first.rows])
        sizes = [len(second.rows), len(first.rows)]
        codes = {
            name: np.repeat([first.values[name], second.values[name]], sizes).astype(self.fit.rows.codes[name].dtype)
            for name in admitted
        }
        lost = self.fit.among(rows).lost(codes)
        by_first, by_second = first.lost + lost[: sizes[0]].sum(), second.lost + lost[sizes[0] :].sum()
        values = first.values if by_first <= by_second else second.values
        return Box(admitted, values, np.sort(rows), told_less, float(min(by_first, by_second)))

    def _ncp(self, admitted: dict[str, Flags]) -> float:
        """Return the weighted mean NCP of a box."""
        lost = sum(
            self.weights[name] * float(cell_loss(self._partition(name), table[np.newaxis])[0])
            for name, table in admitted.items()
        )
        return lost / sum(self.weights.values())

    def _partition(self, name: str) -> Partition:
        found = {each.attribute.name: each.partition for each in self.generalizer.ranges}[name]
        if found is None:
            raise ValueError("an exact attribute has no cells")
        return found

    def _nominal(self, name: str) -> bool:
        return bool(self._partition(name).groups)


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


def _touching(name: str) -> Callable[[Pair], bool]:
    """Return whether the second box of a pair begins where the first ends."""
    return lambda pair: int(pair[0].admitted[name].nonzero()[0][-1]) + 1 == int(pair[1].admitted[name].argmax())


def _worth(joined: Box, pair: Pair) -> float:
    lost = max(joined.lost - pair[0].lost - pair[1].lost, 0.0)
    return (joined.told_less - pair[0].told_less - pair[1].told_less) / (lost + 1)


def _majority(there: Answers, now: Answers) -> tuple[Floats, bool]:
    known, counts = np.unique(there, axis=0, return_counts=True)
    label = known[counts.argmax()]
    return label.astype(np.float64), bool(2 * np.count_nonzero(agree(now, there)) > len(now))


def _means(there: Answers, now: Answers) -> tuple[Floats, bool]:
    label = there.mean(axis=0)
    near = np.abs(now.mean(axis=0) - label) <= there.std(axis=0) + 1e-9 * np.abs(label)
    return np.asarray(label, dtype=np.float64), bool(near.all())
