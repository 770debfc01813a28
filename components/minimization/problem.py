"""What a minimiser works on: rows with the model's own answers, the target, and the two tests that guide a search."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from components.data.order import canonical_order
from components.minimization import bounds
from components.minimization.attributes import Attribute, Codes, encoded

Answers = npt.NDArray[Any]
"""What a model says of rows, shape (rows, outputs): int64 class positions, or float64 of a regression."""

Ask = Callable[[pd.DataFrame], Answers]


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows, what the model says of them as they are, and the codes of what is to be minimised."""

    frame: pd.DataFrame
    answers: Answers
    codes: dict[str, Codes]

    @classmethod
    def of(cls, frame: pd.DataFrame, answers: Answers, attributes: tuple[Attribute, ...]) -> "Rows":
        """Return rows with their codes."""
        return cls(frame, answers, encoded(attributes, frame))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.frame)

    def taken(self, places: npt.NDArray[np.int64]) -> "Rows":
        """Return some of the rows, by their places."""
        codes = {name: each[places] for name, each in self.codes.items()}
        return Rows(self.frame.iloc[places], self.answers[places], codes)

    def in_order(self) -> "Rows":
        """Return the rows in canonical order, so that nothing learned depends on the order they came in."""
        return self.taken(canonical_order(self.frame))


@dataclass(frozen=True)
class Problem:
    """One minimisation.

    Parameters
    ----------
    attributes : tuple of Attribute
        To be minimised; all other columns stay as they are.
    ask : callable
        Gives the model's answers to a frame.
    regression : bool
    fit : Rows
        What cuts, groups, representatives and the order of steps are learned from.
    calibration : Rows
        What says which of the results of a search hold, and how far off those are that don't. It is looked at more than
        once, so that what it tells is a little too good; the verdict is on rows that no search sees.
    report_rows : int
        Rows that the verdict will be judged on; the margin follows from it.
    target : float
        Least agreement (regression: R2, of each output) with the model's own answers.
    weights : mapping of str to float
        Sensitivity of an attribute, 1 where none is named; a loss of information counts that much more.
    seed : int
        The run's root seed.
    looks : int
        How many results that differ the calibration rows choose among (see `bounds.assured`). The prunings of one tree
        differ little; a search that compares many trees or paths says more.
    chance : float
        With which the verdict is to confirm what the search stops at.
    """

    attributes: tuple[Attribute, ...]
    ask: Ask
    regression: bool
    fit: Rows
    calibration: Rows
    report_rows: int
    target: float
    weights: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0
    looks: int = 1
    chance: float = bounds.ASSURANCE

    def assured(self, now: Answers) -> bool:
        """Say whether answers to the calibration rows, generalised, let the verdict be expected to hold."""
        there = self.calibration.answers
        if self.regression:
            return bounds.r2_assured(there, now, self.report_rows, self.target, self.looks, self.chance)
        agreeing = int(np.count_nonzero(agree(there, now)))
        return bounds.assured(agreeing, len(there), self.report_rows, self.target, self.looks, self.chance)

    def notes(self) -> list[str]:
        """Say so where the model gives one answer to all fit rows."""
        answers = self.fit.answers
        if self.regression or not len(answers) or (answers != answers[0]).any():
            return []
        return [f"the model gives one and the same answer to all {len(answers)} fit rows: it needs none of the columns"]

    def weight(self, name: str) -> float:
        """Return the sensitivity weight of an attribute."""
        return self.weights.get(name, 1.0)

    def every_weight(self) -> dict[str, float]:
        """Return the sensitivity weights of all attributes."""
        return {each.name: self.weight(each.name) for each in self.attributes}

    def privacy(self, losses: Mapping[str, float]) -> float:
        """Return the weighted mean over attributes of what each loses (NCP)."""
        total = sum(self.every_weight().values())
        return sum(self.weight(name) * loss for name, loss in losses.items()) / total


def agree(answers: Answers, now: Answers) -> npt.NDArray[np.bool_]:
    """Return for each row whether all outputs are the same, shape (rows,)."""
    same: npt.NDArray[np.bool_] = (answers == now).all(axis=1)
    return same


def agreement(answers: Answers, now: Answers, *, regression: bool) -> float:
    """Return the share of rows that agree; for regression R2 (see `bounds.r2`)."""
    return bounds.r2(answers, now) if regression else float(agree(answers, now).mean())


def replaced(frame: pd.DataFrame, attributes: tuple[Attribute, ...], codes: Mapping[str, Codes]) -> pd.DataFrame:
    """Return a frame in which the attributes named in `codes` hold them; all other columns are those of `frame`."""
    new: dict[str, pd.Series] = {}
    for attribute in attributes:
        if attribute.name in codes:
            new |= attribute.cells(codes[attribute.name], frame)
    return frame.assign(**new)
