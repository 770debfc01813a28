"""The joint search: which attribute goes up its ladder next, and how far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from components.minimization.generalizer import Ranges
from components.minimization.greedy.ladders import Rung

NO_GAIN = 1e-12
"""Of NCP: a step that gains less is taken only where it asks for nothing at all."""

FREE = 1e12
"""Added to the score of a step that loses nothing and asks for nothing: it comes first, however little it gains."""


@dataclass(frozen=True, slots=True)
class State:
    """Where every attribute stands.

    Parameters
    ----------
    rungs : dict of str to Rung
        One an attribute.
    lost : float
        Agreement lost on the rows looked at.
    """

    rungs: dict[str, Rung]
    lost: float

    @property
    def ranges(self) -> dict[str, Ranges]:
        """How each attribute is generalised."""
        return {name: rung.ranges for name, rung in self.rungs.items()}

    def privacy(self, weights: Mapping[str, float]) -> float:
        """Return the weighted mean NCP on the fit rows."""
        return sum(weights[name] * rung.ncp for name, rung in self.rungs.items()) / sum(weights.values())


@dataclass(frozen=True, slots=True)
class Known:
    """The rungs above an attribute's present one, as they were in some state.

    Parameters
    ----------
    rungs : sequence of Rung
    lost : float
        Agreement lost in that state.
    fresh : bool
        It is the present state.
    """

    rungs: Sequence[Rung]
    lost: float
    fresh: bool


class LadderAt(Protocol):
    """Tells the ladder of an attribute in a state; unless it is to be fresh, one of an earlier state will do."""

    def __call__(self, name: str, state: State, *, fresh: bool) -> Known:
        """Return it."""


def climb(
    ladder_at: LadderAt, start: State, order: Sequence[str], weights: Mapping[str, float], *, budget: float, rows: int
) -> list[State]:
    """Return the states from a start up to where no step is left that keeps the loss within a budget.

    Every step takes an attribute to a higher rung, also over some between, so that most weighted NCP is gained per
    agreement lost. What a step loses is known from a ladder that may be an earlier state's: it is made anew when its
    step would be next (lazy evaluation, Minoux 1978), and the step is taken if it still would be.

    Parameters
    ----------
    ladder_at : callable
    start : State
    order : sequence of str
        The attributes that may climb; of equal steps that of the first is taken.
    weights : mapping of str to float
    budget : float
        Most agreement lost on the rows looked at.
    rows : int
        How many these are; a loss of nothing counts as one of them.
    """
    path = [start]
    known = {name: ladder_at(name, start, fresh=False) for name in order}
    while True:
        state = path[-1]
        steps = [
            (_score(weights[name], rung, known[name], state.rungs[name], rows), name, rung)
            for name in order
            for rung in _affordable(known[name], state, state.rungs[name], budget)
        ]
        if not steps:
            return path
        _, name, rung = max(steps, key=lambda step: step[0])
        if not known[name].fresh:
            known[name] = ladder_at(name, state, fresh=True)
            continue
        path.append(State({**state.rungs, name: rung}, rung.lost))
        known = {each: replace(one, fresh=False) for each, one in known.items()}
        known[name] = ladder_at(name, path[-1], fresh=True)


def _affordable(known: Known, state: State, now: Rung, budget: float) -> list[Rung]:
    """Return the rungs that may keep the budget: a ladder of another state may be too dear."""
    dear = 1.0 if known.fresh else 0.5
    return [
        rung
        for rung in known.rungs
        if (rung.ncp > now.ncp + NO_GAIN or (rung.ranges.nothing and not now.ranges.nothing))
        and state.lost + dear * max(rung.lost - known.lost, 0.0) <= budget
    ]


def _score(weight: float, rung: Rung, known: Known, now: Rung, rows: int) -> float:
    gained, lost = weight * (rung.ncp - now.ncp), max(rung.lost - known.lost, 0.0)
    free = FREE if rung.ranges.nothing and not lost else 0.0
    return free + gained / (lost + 1 / max(rows, 1))
