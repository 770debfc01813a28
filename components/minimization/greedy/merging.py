"""Joining cells: two that differ in one attribute alone, and are one range or group of it together, become one.

A tree joins only what it has parted itself, but cells of different branches may lie side by side as well.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from components.minimization.attributes import Codes
from components.minimization.generalizer import Cells, Generalizer, cell_loss
from components.minimization.greedy.trials import Trial
from components.minimization.partitions import Floats, Partition
from components.minimization.problem import Answers, agree

LEAST_GAIN = 1e-5
"""Of the mean NCP: what gains less is not worth asking the model about."""

TOGETHER = 2**16
"""Rows that the model is asked about at once."""

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
        Weighted mean over attributes.
    lost : float
        Sum over the rows.
    """

    admitted: dict[str, Flags]
    values: dict[str, float]
    rows: Integers
    ncp: float
    lost: float


@dataclass
class Merging:
    """Boxes that are joined two by two, most NCP gained per agreement lost first.

    Parameters
    ----------
    generalizer : Generalizer
        With cells.
    fit : Trial
    weights : mapping of str to float
    """

    generalizer: Generalizer
    fit: Trial
    weights: Mapping[str, float]
    _joined: dict[tuple[Box, Box], Box | None] = field(default_factory=dict)

    def boxes(self) -> list[Box]:
        """Return the cells of the generaliser."""
        cells, codes = self._cells, self.fit.rows.codes
        cell = cells.of(self.generalizer.parts(codes))
        lost = self.fit.lost(self.generalizer.recoded(codes))
        found = []
        for number in range(len(cells)):
            rows = np.flatnonzero(cell == number)
            admitted = {name: table[number] for name, table in cells.admitted.items()}
            values = {name: float(standing[number]) for name, standing in cells.representatives.items()}
            found.append(Box(admitted, values, rows, self._ncp(admitted), float(lost[rows].sum())))
        return found

    def path(self, budget: float) -> list[list[Box]]:
        """Return the boxes before and after each joining, as long as the agreement lost keeps the budget."""
        path, rows = [self.boxes()], len(self.fit.rows)
        while True:
            boxes = path[-1]
            room = budget * rows - sum(box.lost for box in boxes)
            pairs = list(self._pairs(boxes))
            self._ask([pair for pair in pairs if pair not in self._joined])
            steps = []
            for pair in pairs:
                joined = self._joined[pair]
                if joined is not None and (lost := joined.lost - pair[0].lost - pair[1].lost) <= room:
                    steps.append((_gained(joined, pair) / (max(lost, 0.0) + 1), pair, joined))
            if not steps:
                return path
            _, pair, joined = max(steps, key=lambda step: step[0])
            path.append([*(box for box in boxes if box not in pair), joined])

    def made(self, boxes: list[Box]) -> Generalizer:
        """Return the generaliser with boxes for cells, their labels as `tree.assembling.finished` tells them."""
        cells = Cells(
            {name: np.stack([box.admitted[name] for box in boxes]) for name in self._cells.admitted},
            {name: np.array([box.values[name] for box in boxes]) for name in self._cells.representatives},
            np.ones(len(boxes), dtype=np.bool_),
            np.zeros((len(boxes), self._cells.labels.shape[1])),
        )
        return replace(self.generalizer, cells=cells)

    def labelled(self, boxes: list[Box]) -> Generalizer:
        """Return the same with the label of each cell, and whether the model agrees."""
        generalizer = self.made(boxes)
        trial = self.fit.given(generalizer.recoded(self.fit.rows.codes))
        now = self.fit.ask(trial.rows.frame)
        told = [self._label(self.fit.rows.answers[box.rows], now[box.rows]) for box in boxes]
        labels = np.array([label for label, _ in told], dtype=np.float64)
        agrees = np.array([agreed for _, agreed in told], dtype=np.bool_)
        return replace(generalizer, cells=replace(self._whole(generalizer), labels=labels, agrees=agrees))

    def _label(self, there: Answers, now: Answers) -> tuple[Floats, bool]:
        if self.fit.spread is None:
            known, counts = np.unique(there, axis=0, return_counts=True)
            label = known[counts.argmax()]
            return label.astype(np.float64), bool(2 * np.count_nonzero(agree(now, label)) > len(now))
        label = there.mean(axis=0)
        near = np.abs(now.mean(axis=0) - label) <= there.std(axis=0) + 1e-9 * np.abs(label)
        return label, bool(near.all())

    def _pairs(self, boxes: list[Box]) -> Iterator[tuple[Box, Box]]:
        """Yield the boxes that differ in one attribute alone, and are one range of it, or any group, together."""
        for name in self._cells.admitted:
            alike: dict[bytes, list[Box]] = {}
            for box in boxes:
                rest = b"".join(table.tobytes() for each, table in box.admitted.items() if each != name)
                alike.setdefault(rest, []).append(box)
            nominal = bool(self._partition(name).groups)
            for group in alike.values():
                beside = sorted(group, key=lambda box: int(box.admitted[name].argmax()))
                yield from combinations(beside, 2) if nominal else pairwise(beside)

    def _ask(self, pairs: list[tuple[Box, Box]]) -> None:
        """Find out what pairs lose together, when what stands for one of them stands for both."""
        asked: list[tuple[tuple[Box, Box], dict[str, Flags], float]] = []
        for pair in pairs:
            admitted = {name: table | pair[1].admitted[name] for name, table in pair[0].admitted.items()}
            ncp = self._ncp(admitted)
            rows = len(pair[0].rows) + len(pair[1].rows)
            gained = ncp * rows - sum(box.ncp * len(box.rows) for box in pair)
            self._joined[pair] = None
            if gained >= LEAST_GAIN * len(self.fit.rows):
                asked.append((pair, admitted, ncp))
        for pair, admitted, ncp in asked:
            rows = np.concatenate([pair[1].rows, pair[0].rows])
            codes = {
                name: np.repeat([pair[0].values[name], pair[1].values[name]], [len(pair[1].rows), len(pair[0].rows)]).astype(self.fit.rows.codes[name].dtype)
                for name in admitted
            }
            lost = self.fit.among(rows).lost(codes)
            by_first = pair[0].lost + float(lost[: len(pair[1].rows)].sum())
            by_second = pair[1].lost + float(lost[len(pair[1].rows) :].sum())
            values, total = (pair[0].values, by_first) if by_first <= by_second else (pair[1].values, by_second)
            self._joined[pair] = Box(admitted, values, np.sort(rows), ncp, total)

    def _ncp(self, admitted: dict[str, Flags]) -> float:
        lost = {name: float(cell_loss(self._partition(name), table[np.newaxis])[0]) for name, table in admitted.items()}
        return sum(self.weights[name] * each for name, each in lost.items()) / sum(self.weights.values())

    @property
    def _cells(self) -> Cells:
        return self._whole(self.generalizer)

    def _whole(self, generalizer: Generalizer) -> Cells:
        if generalizer.cells is None:
            raise ValueError("there are no cells")
        return generalizer.cells

    def _partition(self, name: str) -> Partition:
        found = next(each.partition for each in self.generalizer.ranges if each.attribute.name == name)
        if found is None:
            raise ValueError("an exact attribute has no cells")
        return found


def _gained(joined: Box, pair: tuple[Box, Box]) -> float:
    return joined.ncp * len(joined.rows) - sum(box.ncp * len(box.rows) for box in pair)
