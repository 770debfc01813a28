"""Cells within what the joint search gives up: some attributes are not asked for at all, the others in a tree's cells.

What is asked of a column by itself must serve everybody. In a cell, where one attribute decides, others need not be
known, so that cells tell less for the same agreement. But a tree finds its cells from the top down, and once it splits
on an attribute it hardly comes to do without it: that is what the joint search is good at.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from components.minimization import declarations
from components.minimization.generalizer import Cells, Generalizer, Ranges
from components.minimization.greedy.climbing import State
from components.minimization.greedy.judging import Judge
from components.minimization.greedy.ladders import Rung
from components.minimization.greedy.merging import Merging
from components.minimization.greedy.trials import Trial
from components.minimization.problem import Rows, replaced
from components.minimization.tree.method import search
from components.randomness import derived_seed

ATTEMPTS = 3
"""Times that cells are looked for."""

GROWTHS = 2
"""Trees that may be grown each time in any case: a second one, when attributes were given back to the first."""

GROWN_ON = 24
"""Attributes that trees may be grown on each time, summed up over the trees: of few attributes more trees are grown."""

Names = frozenset[str]


@dataclass(frozen=True, slots=True)
class Celled:
    """Cells that were found.

    Parameters
    ----------
    given_up : frozenset of str
        Attributes that are not asked for.
    generalizer : Generalizer or None
    privacy : float
        Weighted mean NCP on the fit rows.
    notes : tuple of str
        What a reader should know.
    steps : tuple of dict
        Their rows in the table of what was tried.
    """

    given_up: Names
    generalizer: Generalizer | None
    privacy: float
    notes: tuple[str, ...] = ()
    steps: tuple[dict[str, object], ...] = ()


NO_CELLS = Celled(frozenset(), None, -np.inf)


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

    def find(self, given_up: Names, attempt: int) -> Celled:
        """Look for cells of the other attributes; of no privacy at all where they don't hold."""
        problem = self.judge.problem
        generalizer, notes = self._grown({name: self.alone[name].ranges for name in sorted(given_up)}, attempt)
        privacy = problem.privacy(generalizer.losses(self.fit.rows.codes))
        held, agreed = self.judge.asks(generalizer)
        said = ", ".join(sorted(given_up))
        step = self.judge.put_down(f"cells without {said}" if said else "cells", privacy, agreed, held=held)
        parted = any(not each.exact and not each.nothing for each in generalizer.ranges)
        return Celled(given_up, generalizer, privacy, notes, (step,)) if held and parted else NO_CELLS

    def joined(self, found: Celled) -> Celled:
        """Join cells as far as the target holds (see `merging`)."""
        if found.generalizer is None or found.generalizer.cells is None:
            return found
        problem = self.judge.problem
        merging = Merging(found.generalizer, found.generalizer.cells, self.fit, problem.every_weight())
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
        step = self.judge.put_down(f"{len(path[0])} cells joined to {len(path[low])}", privacy, agreed, held=True)
        return replace(found, generalizer=generalizer, privacy=privacy, steps=(*found.steps, step))

    def _grown(self, given_up: Mapping[str, Ranges], attempt: int) -> tuple[Generalizer, tuple[str, ...]]:
        """Return a generaliser with a tree's cells (see `tree.method.search`), and its notes.

        Each attempt draws other rows, in whose contexts the tree sees what attributes do.
        """
        params, problem = self.params, self.judge.problem
        seed = derived_seed(problem.seed, "minimization-growths", round_number=attempt) if attempt else problem.seed
        within = replace(
            problem,
            seed=seed,
            attributes=tuple(each for each in problem.attributes if each.name not in given_up),
            fit=_without(self.fit.rows, given_up),
            calibration=_without(problem.calibration, given_up),
        )
        tree = declarations.Tree(target=problem.target, min_rows=params.min_rows, outside=params.outside)
        result = search(tree, within, max(GROWTHS, GROWN_ON // len(within.attributes)))
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


def in_cells(cellular: Cellular, path: Sequence[State], last: int) -> Celled:
    """Return the cells that tell least.

    Tried first is what the joint search gave up as far as it held, then to give up nothing, then what it gave up
    elsewhere; with what does not hold that ends, and what was best is tried once more. (What changes no answer the tree
    does without by itself.)

    Parameters
    ----------
    cellular : Cellular
    path : sequence of State
        Of the joint search, also beyond what holds.
    last : int
        Place of the last state that holds.
    """
    sets = _given_up(path, last)
    best = NO_CELLS
    for attempt in range(ATTEMPTS):
        found = cellular.find(sets.pop(0) if sets else best.given_up, attempt)
        if found is NO_CELLS:
            if best is NO_CELLS:
                break
            sets.clear()
        best = max(best, found, key=lambda each: each.privacy)
    return cellular.joined(best)


def _given_up(path: Sequence[State], last: int) -> list[Names]:
    """Return sets of attributes to give up, the likeliest first; none of them is of all attributes."""
    of_states = [frozenset(name for name, rung in state.rungs.items() if rung.ranges.nothing) for state in path]
    order = [of_states[last], frozenset[str](), *of_states[last:], *reversed(of_states[:last])]
    return [each for each in dict.fromkeys(order) if len(each) < len(path[0].rungs)]


def _without(rows: Rows, given_up: Mapping[str, Ranges]) -> Rows:
    """Return rows as the model sees them when some attributes are not asked for; their answers stay the model's own."""
    codes = {
        name: np.full(len(rows), ranges.representatives[0]).astype(rows.codes[name].dtype)
        for name, ranges in given_up.items()
    }
    attributes = tuple(each.attribute for each in given_up.values())
    return replace(rows, frame=replaced(rows.frame, attributes, codes), codes=rows.codes | codes)


def _widened(cells: Cells, given_up: Mapping[str, Ranges]) -> Cells:
    """Return cells that hold all there is of some more attributes."""
    admitted = {name: np.ones((len(cells), 1), dtype=np.bool_) for name in given_up}
    standing = {name: np.full(len(cells), ranges.representatives[0]) for name, ranges in given_up.items()}
    return replace(cells, admitted=cells.admitted | admitted, representatives=cells.representatives | standing)
