"""What every class of a release must meet: the configured criteria, bound to the columns of one table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from components.anonymization.coding import Attribute, BoolArray, FloatArray, IntArray, encode
from components.anonymization.criteria import (
    Counts,
    distinct,
    entropy,
    equal_distance,
    ordered_distance,
    sizes,
    tally,
)
from components.anonymization.criterion_declarations import Criterion, K, KMap, LDistinct, LEntropy, T
from components.anonymization.declarations import Method
from components.data.table import Table
from schemas.faults import ConfigurationError, Fault, GoalError

Score = Callable[[Counts], FloatArray]
Distance = Callable[[Counts, FloatArray], FloatArray]
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Requirement:
    """One criterion that every class must meet, ready to be tried on counts.

    Parameters
    ----------
    name : {"k", "l_distinct", "l_entropy", "t"}
        As in ``metrics.csv``.
    column : str
        The sensitive column; for k the subject id, or empty where rows count.
    asked : float
        The limit: the least figure that will do, for t the largest.
    codes : ndarray of int, shape (n,)
        Value code of each row.
    n_codes : int
        How many values there are.
    score : callable
        The figure of each class.
    absorbing : bool
        Whether a class that meets it goes on meeting it, whatever class it is merged with: then more generalisation
        never suppresses more rows, and a search may prune by it under any suppression limit.
    monotone : bool
        Whether a merged class is never worse than the worst of its parts: then a search may prune by it where
        nothing is suppressed.
    """

    name: str
    column: str
    asked: float
    codes: IntArray
    n_codes: int
    score: Score
    absorbing: bool = False
    monotone: bool = True

    def counts(self, classes: IntArray, n_classes: int) -> Counts:
        """Count this criterion's values in classes of rows."""
        return tally(classes, self.codes, n_classes, self.n_codes)

    def met(self, figures: FloatArray | float) -> BoolArray:
        """Tell which figures will do; a billionth is left to rounding."""
        if self.name == "t":
            return np.asarray(np.asarray(figures) <= self.asked + TOLERANCE)
        return np.asarray(np.asarray(figures) >= self.asked * (1 - TOLERANCE))

    def reached(self, after: Any) -> float:
        """Return what was measured of it on a table."""
        return float(getattr(after if self.name == "k" else after.columns[self.column], self.name))

    def fault(self, reached: float) -> Fault:
        """Say that not even `reached`, the best there is, will do."""
        what = f"anonymization.criteria, {self.name}" + (f" on column '{self.column}'" if self.column else "")
        return Fault(
            place=what,
            problem=f"asks for {self.asked:g}; the whole table as one class reaches {reached:.6g}",
            allowed=f"{'at least' if self.name == 't' else 'at most'} {reached:.6g} can be reached on these rows",
            remedy="change the limit or bring more rows",
        )


def least_k(params: Method) -> int:
    """Return the k that holds: the largest among the criteria, else the method's own."""
    return max((criterion.k for criterion in params.criteria if isinstance(criterion, K)), default=params.k)


def required(params: Method, table: Table) -> list[Requirement]:
    """Bind a method's criteria to a table (see `bound`)."""
    frame, schema = table.frame, table.schema
    present = [column for column in schema.columns if column.name in frame.columns]
    sensitive = encode(frame, [column for column in present if column.role == "sensitive"])
    persons = encode(frame, [column for column in present if column.name == schema.subject_id])
    return bound(params, len(frame), {one.name: one for one in sensitive}, persons[0] if persons else None)


def bound(
    params: Method, rows: int, sensitive: Mapping[str, Attribute], persons: Attribute | None
) -> list[Requirement]:
    """Bind the criteria to a table.

    Parameters
    ----------
    params : Method
        Its ``criteria``; k is always among what is returned.
    rows : int
        Rows of the table.
    sensitive : mapping of str to Attribute
        The table's sensitive columns.
    persons : Attribute, optional
        The subject id, where one is declared; k then counts persons.

    Raises
    ------
    ConfigurationError
        A criterion names no sensitive column, or leaves open which.
    """
    k = float(least_k(params))
    if persons is None:
        found = [Requirement("k", "", k, np.zeros(rows, dtype=np.int8), 1, sizes, absorbing=True)]
    else:
        found = [Requirement("k", persons.name, k, *persons.own_value(), distinct, absorbing=True)]
    faults: list[Fault] = []
    for number, criterion in enumerate(params.criteria):
        if isinstance(criterion, (K, KMap)):
            continue
        column = criterion.column
        if column is None and len(sensitive) == 1:
            column = next(iter(sensitive))
        if column is not None and column in sensitive:
            found.append(_on_column(criterion, column, sensitive[column]))
        else:
            faults.append(_unknown_column(number, column, list(sensitive)))
    if faults:
        raise ConfigurationError(faults)
    return found


def refuse_the_impossible(requirements: Sequence[Requirement], rows: int) -> None:
    """Raise ``GoalError`` with every criterion that not even the whole table as one class meets.

    The criteria are monotone under merging, so that what the one class misses every finer division misses too.
    """
    faults = []
    for requirement in requirements:
        figure = float(requirement.score(requirement.counts(np.zeros(rows, dtype=np.int64), 1))[0])
        if requirement.met(figure):
            continue
        if requirement.name == "k":
            faults.append(_too_few(int(requirement.asked), int(figure), "persons" if requirement.column else "rows"))
        else:
            faults.append(requirement.fault(figure))
    if faults:
        raise GoalError(faults)


def _too_few(k: int, found: int, unit: str) -> Fault:
    """Say that a table holds fewer rows or persons than k."""
    return Fault(
        place="anonymization.k",
        problem=f"k={k} but {found} {unit if found != 1 else unit.removesuffix('s')}",
        allowed=f"k is at most the number of {unit}",
        remedy="lower k or bring more rows",
    )


def distance(attribute: Attribute) -> Distance:
    """Return the earth mover's distance that fits: equal for what can only be told apart, else ordered."""
    return equal_distance if attribute.kind == "nominal" else ordered_distance


def shares(codes: IntArray, size: int) -> FloatArray:
    """Return the share of each value, shape (size,)."""
    return np.asarray(np.bincount(codes, minlength=size) / len(codes), dtype=np.float64)


def _against(attribute: Attribute, table: FloatArray) -> Score:
    measured = distance(attribute)
    return lambda counts: measured(counts, table)


def _on_column(criterion: Criterion, column: str, attribute: Attribute) -> Requirement:
    codes, size = attribute.own_value()
    match criterion:
        case LDistinct():
            return Requirement(criterion.name, column, float(criterion.l), codes, size, distinct, absorbing=True)
        case LEntropy():
            return Requirement(criterion.name, column, criterion.l, codes, size, entropy)
        case T():
            return Requirement(
                criterion.name, column, criterion.t, codes, size, _against(attribute, shares(codes, size))
            )
        case _:
            raise NotImplementedError(criterion.name)


def _unknown_column(number: int, column: str | None, known: Sequence[str]) -> Fault:
    return Fault(
        place=f"anonymization.criteria.{number}.column",
        problem="names no column" if column is None else f"'{column}' is no sensitive column",
        allowed=f"the sensitive columns are {', '.join(known)}" if known else "the schema declares no sensitive column",
        remedy="name one of them" if known else "give a column the role sensitive",
    )
