"""A model as minimisation asks it: for answers to rows of which only that is known what is collected."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
import pandas as pd

from components.data.table import Table
from components.minimization.generalizer import Generalizer
from components.minimization.problem import Answers
from components.minimization.result import Minimized
from components.models import Model, Target, build
from components.models.declarations import Forest
from components.models.target import joined, numbers_of
from schemas.dataset import DatasetSchema
from schemas.faults import DataError, Fault

Seen = Callable[[Table], Table]


@dataclass(frozen=True, slots=True)
class Asked:
    """A fitted model with the way that raw rows come to it.

    Parameters
    ----------
    model : Model
    schema : DatasetSchema
        Of the raw rows.
    seen : callable, optional
        Brings raw rows into the space that the model was taught in; without it that is the raw one.
    """

    model: Model
    schema: DatasetSchema
    seen: Seen | None = None

    def rows(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return rows as the model sees them."""
        if self.seen is None:
            return frame
        try:
            return self.seen(Table(frame, self.schema)).frame
        except DataError as error:
            raise DataError([_uncovered(fault) for fault in error.faults]) from None

    def __call__(self, frame: pd.DataFrame) -> Answers:
        """Return the model's answers, shape (rows, targets): int64 class positions, or float64 of a regression."""
        return numbers_of(self.model.targets, self.model.predict(self.rows(frame)))


def stand_in(asked: Asked, rows: Table, seed: int) -> Asked:
    """Return a forest that learned what a model says of `rows`, to be asked about rows that the model doesn't know.

    Parameters
    ----------
    asked : Asked
        Its model answers for known rows only (stored predictions).
    rows : Table
        Known rows.
    seed : int
        The run's root seed.
    """
    targets, answers = asked.model.targets, asked(rows.frame)
    said = {each.column: _cells(each, answers[:, at], rows.frame[each.column]) for at, each in enumerate(targets)}
    model = build(Forest(), asked.schema, seed, learn=True).fit(Table(rows.frame.assign(**said), asked.schema))
    return Asked(model, asked.schema)


def _cells(target: Target, answers: npt.NDArray[Any], cells: pd.Series) -> pd.Series:
    """Return answers as the cells of a table; numbers needn't be whole, as those of the target may have to."""
    said = pd.Series(target.decode(answers), index=cells.index)
    return said if target.task == "regression" else said.astype(cells.dtype)


@dataclass(frozen=True, slots=True)
class Told:
    """A model that is told no more than what is collected; it predicts and scores as a fitted model does.

    Parameters
    ----------
    asked : Asked
    minimized : Minimized
    """

    asked: Asked
    minimized: Minimized

    @property
    def targets(self) -> Sequence[Target]:
        """What is predicted."""
        return self.asked.model.targets

    def predict(self, frame: pd.DataFrame) -> npt.NDArray[Any]:
        """Return one value of the target's domain per row; of several targets a column each."""
        answers = self.minimized.answers(frame, self.asked)
        return joined([target.decode(answer) for target, answer in zip(self.targets, answers.T, strict=True)])

    def scores(self, frame: pd.DataFrame) -> npt.NDArray[Any] | Sequence[npt.NDArray[Any] | None] | None:
        """Return scores as the model does; None where the end of asking has an answer of its own."""
        if not isinstance(self.minimized, Generalizer):
            return None
        return self.asked.model.scores(self.asked.rows(self.minimized.transform(frame)))


def _uncovered(fault: Fault) -> Fault:
    return Fault(
        fault.place,
        "its hierarchy lacks values of the column's domain, by which ranges and groups are represented",
        remedy="add them to the hierarchy, or choose minimization=none",
    )
