"""Cells within what the joint search gives up: some attributes are not asked for at all, the others in a tree's cells.

What is asked of a column by itself must serve everybody. In a cell, where one attribute decides, others need not be
known, so that cells tell less for the same agreement. But a tree finds its cells from the top down, and once it splits
on an attribute it hardly comes to do without it: that is what the joint search is good at.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
import pandas as pd

from components.minimization import declarations
from components.minimization.generalizer import Cells, Generalizer, Ranges
from components.minimization.greedy.climbing import State
from components.minimization.greedy.judging import Judge
from components.minimization.greedy.ladders import Rung
from components.minimization.greedy.merging import Merging
from components.minimization.greedy.trials import Trial
from components.minimization.problem import Answers, Ask, Problem, replaced
from components.minimization.tree.method import search
from components.randomness import derived_seed

GROWTHS = 3
"""Trees that are grown once the attributes to give up are known; each sees the attributes in other contexts."""

TRIED = 3
"""Attributes that are taken back, and that are given up on top, in a round."""

NEAR = 0.8
"""Share of the privacy of ranges that cells must reach for more of them to be tried."""

Names = frozenset[str]


@dataclass(frozen=True, slots=True)
class Celled:
    """A generaliser with cells, its weighted mean NCP on the fit rows, and what a reader should know."""

    generalizer: Generalizer | None
    privacy: float
    notes: tuple[str, ...] = ()


@dataclass
class Cellular:
    """What was found by the attributes given up.

    Parameters
    ----------
    params : declarations.Greedy
    judge : Judge
    fit : Trial
    alone : dict of str to Rung
        What becomes of each attribute when it is given up.
    """

    params: declarations.Greedy
    judge: Judge
    fit: Trial
    alone: dict[str, Rung]
    _found: dict[tuple[Names, int], Celled] = field(default_factory=dict)

    def find(self, given_up: Names, growth: int = 0) -> Celled:
        """Look for cells of the other attributes; of no privacy at all where they don't hold."""
        if (given_up, growth) not in self._found:
            problem = self.judge.problem
            ranges = {name: self.alone[name].ranges for name in sorted(given_up)}
            generalizer, notes = _grown(self.params, problem, ranges, growth)
            privacy = problem.privacy(generalizer.losses(self.fit.rows.codes))
            held, agreed = self.judge.asks(generalizer)
            said = ", ".join(ranges)
            self.judge.put_down(f"cells without {said}" if said else "cells", privacy, agreed, taken=held)
            self._found[given_up, growth] = Celled(generalizer, privacy, notes) if held else Celled(None, -np.inf)
        return self._found[given_up, growth]

    def joined(self, found: Celled) -> Celled:
        """Join cells as far as the target holds (see `merging`)."""
        if found.generalizer is None or found.generalizer.cells is None:
            return found
        problem = self.judge.problem
        weights = {each.name: problem.weight(each.name) for each in problem.attributes}
        merging = Merging(found.generalizer, found.generalizer.cells, self.fit, weights)
        path = merging.path(1 - problem.target)
        low, high, agreed = 0, len(path), np.nan
        while high - low > 1:
            middle = (low + high) // 2
            held, told = self.judge.asks(merging.made(path[middle]))
            low, high, agreed = (middle, high, told) if held else (low, middle, agreed)
        if not low:
            return found
        generalizer = merging.labelled(path[low])
        privacy = problem.privacy(generalizer.losses(self.fit.rows.codes))
        self.judge.put_down(f"{len(path[0])} cells joined to {len(path[low])}", privacy, agreed, taken=True)
        return replace(found, generalizer=generalizer, privacy=privacy)

    @property
    def idle(self) -> Names:
        """Attributes that the model does without at no loss; not all there are."""
        idle = [name for name, rung in self.alone.items() if not rung.lost]
        return frozenset(idle[: len(self.alone) - 1])

    def privacy(self, given_up: Names) -> float:
        """Return the privacy that is reached without some attributes."""
        return self.find(given_up).privacy

    def nearby(self, names: Names) -> Iterator[Names]:
        """Yield attributes to give up: those given but for one, and with one more that alone keeps the target."""
        dearest = sorted(names - self.idle, key=lambda name: -self.alone[name].lost)
        yield from (names - {name} for name in dearest[:TRIED])
        budget = 1 - self.judge.problem.target
        kept = [name for name in self.alone if name not in names and self.alone[name].lost <= budget]
        if len(names) + 1 < len(self.alone):
            yield from (names | {name} for name in sorted(kept, key=lambda name: self.alone[name].lost)[:TRIED])


def in_cells(cellular: Cellular, path: Sequence[State], at_least: float) -> Celled:
    """Return the cells that tell least.

    Attributes that lose nothing are given up, then others in the order in which they came to be asked for no more in
    the joint search; then one is taken back, or another given up, as long as that gains privacy. At last more trees
    are grown for the best of them, and cells are joined.

    Parameters
    ----------
    cellular : Cellular
    path : sequence of State
        Of the joint search, also beyond what holds.
    at_least : float
        Privacy that is reached without cells: where they don't come near it, no more is tried.
    """
    best = cellular.idle
    for given_up in _given_up(path):
        names = given_up | cellular.idle
        if len(names) < len(cellular.alone):
            best = max(best, names, key=cellular.privacy)
    if cellular.privacy(best) < NEAR * at_least:
        return cellular.find(best)
    for _ in range(cellular.params.back_steps):
        found = max([best, *cellular.nearby(best)], key=cellular.privacy)
        if found == best:
            break
        best = found
    grown = [cellular.joined(cellular.find(best, growth)) for growth in range(GROWTHS)]
    return max(grown, key=lambda each: each.privacy)


def _given_up(path: Sequence[State]) -> Iterator[Names]:
    """Yield the attributes that are not asked for in each state of a path."""
    for state in path:
        yield frozenset(name for name, rung in state.rungs.items() if rung.ranges.nothing)


def _grown(
    params: declarations.Greedy, problem: Problem, given_up: Mapping[str, Ranges], growth: int
) -> tuple[Generalizer, tuple[str, ...]]:
    """Return a generaliser with a tree's cells (see `tree.method.search`), and its notes."""
    asked = tuple(each for each in problem.attributes if each.name not in given_up)
    seed = derived_seed(problem.seed, "minimization-growths", round_number=growth) if growth else problem.seed
    within = replace(problem, attributes=asked, ask=_without(problem, given_up), seed=seed)
    tree = declarations.Tree(target=problem.target, min_rows=params.min_rows, outside=params.outside)
    result = search(tree, within)
    found = cast("Generalizer", result.minimized)
    ranges = {each.attribute.name: each for each in found.ranges} | dict(given_up)
    cells = found.cells
    generalizer = replace(
        found,
        method="greedy",
        ranges=tuple(ranges[each.name] for each in problem.attributes),
        cells=None if cells is None else _widened(cells, given_up),
    )
    return generalizer, result.notes


def _without(problem: Problem, given_up: Mapping[str, Ranges]) -> Ask:
    """Return the model as it answers when some attributes are not asked for."""
    attributes = tuple(each.attribute for each in given_up.values())
    if not attributes:
        return problem.ask

    def ask(frame: pd.DataFrame) -> Answers:
        codes = {
            each.name: np.full(len(frame), given_up[each.name].representatives[0]).astype(
                np.int64 if each.kind == "nominal" else np.float64
            )
            for each in attributes
        }
        return problem.ask(replaced(frame, attributes, codes))

    return ask


def _widened(cells: Cells, given_up: Mapping[str, Ranges]) -> Cells:
    """Return cells that hold all there is of some more attributes."""
    admitted = {name: np.ones((len(cells), 1), dtype=np.bool_) for name in given_up}
    standing = {name: np.full(len(cells), ranges.representatives[0]) for name, ranges in given_up.items()}
    return replace(cells, admitted=cells.admitted | admitted, representatives=cells.representatives | standing)
