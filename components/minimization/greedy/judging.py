"""What the calibration rows say of what was found, and the table of what was tried."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np
import pandas as pd

from components.minimization.generalizer import Generalizer, Ranges
from components.minimization.greedy.climbing import State
from components.minimization.problem import Problem, agreement


@dataclass
class Judge:
    """Decides how far a search may go; what it chooses is the fit rows' matter.

    Parameters
    ----------
    problem : Problem
        Its calibration rows in canonical order.
    outside : {"default", "refuse"}
        See `Generalizer`.
    """

    problem: Problem
    outside: Literal["default", "refuse"]
    _told: dict[int, tuple[State, bool, float]] = field(default_factory=dict)
    _steps: list[dict[str, object]] = field(default_factory=list)

    def asks(self, generalizer: Generalizer) -> tuple[bool, float]:
        """Say whether a generaliser may be expected to keep the target on fresh rows, and its agreement here."""
        there = self.problem.calibration
        now = generalizer.answers(there.frame, self.problem.ask)
        return self.problem.assured(now), agreement(there.answers, now, regression=self.problem.regression)

    def furthest(self, path: Sequence[State]) -> int:
        """Return the place of the last state that holds; the first is taken to.

        States are tried as if none held behind one that doesn't (bisection).
        """
        low, high = 0, len(path)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._holds(path[middle]) else (low, middle)
        self._put_down(path, low)
        return low

    def generalizer(self, state: State) -> Generalizer:
        """Return a state as a generaliser of each attribute by itself."""
        ranges = tuple(state.rungs[each.name].ranges for each in self.problem.attributes)
        return Generalizer("greedy", "ranges", ranges, outside=self.outside)

    def put_down(
        self, change: str, ncp: float, agreed: float, *, held: bool | None, attribute: str | None = None
    ) -> dict[str, object]:
        """Add a row to the table (see `result.Found`), not yet as taken, and return it."""
        facts = {"step": len(self._steps), "attribute": attribute, "change": change, "ncp": ncp, "agreement": agreed}
        self._steps.append({**facts, "held": held, "taken": False})
        return self._steps[-1]

    def take(self, rows: Sequence[dict[str, object]]) -> None:
        """Let these rows of the table be what was taken, and no others."""
        for row in self._steps:
            row["taken"] = any(row is each for each in rows)

    def steps(self) -> pd.DataFrame:
        """Return the table of what was tried."""
        return pd.DataFrame(self._steps, columns=["step", "attribute", "change", "ncp", "agreement", "held", "taken"])

    def _holds(self, state: State) -> bool:
        if id(state) not in self._told:
            self._told[id(state)] = state, *self.asks(self.generalizer(state))  # the state keeps its id its own
        return self._told[id(state)][1]

    def _put_down(self, path: Sequence[State], last: int) -> None:
        weights = self.problem.every_weight()
        for place, (before, state) in enumerate(pairwise(path), start=1):
            _, held, agreed = self._told.get(id(state), (state, None, np.nan))
            for name, rung in state.rungs.items():
                if rung is not before.rungs[name]:
                    change = f"{_said(before.rungs[name].ranges)} to {_said(rung.ranges)}"
                    row = self.put_down(change, state.privacy(weights), agreed, held=held, attribute=name)
                    row["taken"] = place <= last


def _said(ranges: Ranges) -> str:
    if ranges.partition is None:
        return "exact"
    kind = "groups" if ranges.attribute.kind == "nominal" else "ranges"
    return "nothing" if ranges.nothing else f"{ranges.partition.size} {kind}"
