"""What every class of a release must meet: the configured criteria, bound to the rows of one table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from components.anonymization.criteria.declarations import (
    Criterion,
    DeltaDisclosure,
    K,
    KMap,
    LDistinct,
    OnColumn,
    T,
    takes,
)
from components.anonymization.criteria.faults import (
    fault_of,
    fault_of_population,
    place_of,
    too_small_a_population,
)
from components.anonymization.criteria.figures import TOLERANCE, bound_text, figure_text, limit_text
from components.anonymization.criteria.scores import Score, beside, natural_distance, score_of
from components.anonymization.criteria.sensitive import Rows, Values, rows_of
from components.anonymization.declarations import Method
from components.anonymization.hierarchies.hierarchy import Hierarchy
from components.classes.coding import BoolArray, FloatArray, IntArray
from components.classes.counts import Counts, distinct, sizes, tally
from components.data.table import Table
from schemas.faults import ConfigurationError, DataError, Fault, GoalError

Sense = Literal["at least", "at most", "below"]
_KINDS: dict[str, tuple[str, Sense]] = {
    "k": ("k", "at least"),
    "l_distinct": ("l", "at least"),
    "l_entropy": ("l", "at least"),
    "l_recursive": ("c", "below"),
    "alpha": ("alpha", "at most"),
    "t": ("t", "at most"),
    "beta": ("beta", "at most"),
    "beta_enhanced": ("beta", "at most"),
    "delta_disclosure": ("delta", "below"),
    "k_map": ("k", "at least"),
}
"""The parameter that is each criterion's limit, and on which side of it a class's figure must lie."""


@dataclass(frozen=True, slots=True)
class Reached:
    """What a table reaches of one criterion, measured on the table as it stands.

    Parameters
    ----------
    name, column : str
        See `Requirement`.
    asked, reached : float
        The limit, and the figure of the worst class.
    met : bool
    options : dict
        What else the criterion says: l of recursive diversity, ``distance``, ``others``, ``absent``.
    """

    name: str
    column: str
    asked: float
    reached: float
    met: bool
    options: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Requirement:
    """One criterion that every class must meet, ready to be tried on counts.

    Parameters
    ----------
    name : str
        As in a configuration's ``criteria``.
    column : str
        The sensitive column; for k and k_map the subject id, or empty where rows count.
    asked : float
        The limit; `sense` tells the side of it that will do.
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
    criterion : Criterion, optional
        The declaration it comes from; what binds it to other rows.
    hierarchy : Hierarchy, optional
        Of the sensitive column, where its distance climbs it.
    """

    name: str
    column: str
    asked: float
    codes: IntArray
    n_codes: int
    score: Score
    absorbing: bool = False
    monotone: bool = True
    criterion: Criterion | None = None
    hierarchy: Hierarchy | None = None

    @property
    def parameter(self) -> str:
        """The parameter of the criterion that is its limit."""
        return _KINDS[self.name][0]

    @property
    def sense(self) -> Sense:
        """The side of the limit that will do; ``below`` is strict.

        Recursive diversity asks for r1 < c * tail, so that c must exceed the figure r1 / tail; delta-disclosure
        privacy asks for abs(ln(q / p)) < delta.
        """
        return _KINDS[self.name][1]

    def counts(self, classes: IntArray, n_classes: int, rows: IntArray | BoolArray | None = None) -> Counts:
        """Count this criterion's values in classes of rows.

        Parameters
        ----------
        classes : ndarray of int
            Class of each row that counts.
        n_classes : int
            Each has at least one row.
        rows : ndarray of int or bool, optional
            The rows that count, where suppressed ones are left out.
        """
        return tally(classes, self.codes if rows is None else self.codes[rows], n_classes, self.n_codes)

    def met(self, figures: FloatArray | float) -> BoolArray:
        """Tell which figures will do. What is within a billionth of the limit is equal to it."""
        found = np.asarray(figures)
        if self.sense == "at least":
            return np.asarray(found >= self.asked * (1 - TOLERANCE))
        if self.sense == "at most":
            return np.asarray(found <= self.asked + TOLERANCE)
        return np.asarray(found < self.asked * (1 - TOLERANCE))

    def worst(self, figures: FloatArray) -> float:
        """Return the figure of the worst of some classes."""
        return float(figures.min() if self.sense == "at least" else figures.max())

    def reached(self, figures: FloatArray) -> Reached:
        """Say what some classes reach; without any class nothing is."""
        nothing = 0.0 if self.sense == "at least" else np.inf
        worst = self.worst(figures) if figures.size else nothing
        return Reached(self.name, self.column, self.asked, worst, bool(self.met(worst)), self.options)

    @property
    def options(self) -> dict[str, Any]:
        """What the criterion says beside its column and limit."""
        if self.criterion is None:
            return {}
        return self.criterion.model_dump(exclude={"name", "column", self.parameter})

    def fault(self, reached: float) -> Fault:
        """Say that not even `reached`, what the whole table as one class has, will do."""
        if self.name == "k":
            unit = "persons" if self.column else "rows"
            return Fault(
                place="anonymization.k",
                problem=f"k={self.asked:.0f} but {reached:.0f} {unit if reached != 1 else unit.removesuffix('s')}",
                allowed=f"k is at most the number of {unit}",
                remedy="lower k or bring more rows",
            )
        side = {"at least": "at most", "at most": "at least", "below": "more than"}[self.sense]
        bound = bound_text(reached, up=self.sense != "at least", admits=self._admits)
        return Fault(
            place=place_of(self.name, self.column),
            problem=f"asks for {limit_text(self.asked)}; "
            f"the whole table as one class reaches {figure_text(reached, self.asked)}",
            allowed=f"{side} {bound} can be reached on these rows" if bound else "no limit can be met",
            remedy="change the limit or bring more rows" if bound else "leave the criterion out or bring more rows",
        )

    def _admits(self, limit: float) -> bool:
        """Tell whether a configuration takes a limit, or, where the limit itself won't do, one beyond it."""
        return self.criterion is None or self.sense == "below" or takes(self.criterion, self.parameter, limit)


def least_k(params: Method) -> int:
    """Return the k that holds: the largest among the criteria, else the method's own."""
    return max((criterion.k for criterion in params.criteria if isinstance(criterion, K)), default=params.k)


def required(
    params: Method, table: Table, hierarchies: Mapping[str, Hierarchy] | None = None, *, counts_population: bool = False
) -> list[Requirement]:
    """Bind a method's criteria to a table.

    Parameters
    ----------
    params : Method
        Its ``criteria``; k is always among what is returned, and first.
    table : Table
        Its rows are what t, beta and delta compare a class with.
    hierarchies : mapping of str to Hierarchy, optional
        Of the sensitive columns with a hierarchical distance.
    counts_population : bool, optional
        Whether the caller counts the persons of a population table in each class: then k_map is among what is
        returned, to be scored on these counts instead of those of rows.

    Raises
    ------
    ConfigurationError
        A criterion names no sensitive column or leaves open which, lacks a hierarchy, or is k_map and can't be counted.
    DataError
        The population is smaller than the table.
    """
    rows = rows_of(table.frame, table.schema)
    found = [bind(K(k=least_k(params)), rows.subject, rows)]
    faults: list[Fault] = []
    for number, criterion in enumerate(params.criteria):
        if isinstance(criterion, K):
            continue
        hierarchy = None
        column = rows.subject
        if isinstance(criterion, OnColumn):
            column = _column_of(criterion, rows)
            hierarchy = (hierarchies or {}).get(column)
            fault = fault_of(criterion, number, column, rows, hierarchy)
        else:
            fault = fault_of_population(number, rows, counted=counts_population)
        if fault is None:
            found.append(bind(criterion, column, rows, hierarchy))
        else:
            faults.append(fault)
    if faults:
        raise ConfigurationError(faults)
    if rows.each_stands_for is not None and rows.each_stands_for < 1:
        raise DataError(too_small_a_population())
    return found


def bind(criterion: Criterion, column: str, rows: Rows, hierarchy: Hierarchy | None = None) -> Requirement:
    """Bind one criterion to rows.

    Parameters
    ----------
    criterion : Criterion
    column : str
        The sensitive column; for k and k_map the subject id, or empty where rows count.
    rows : Rows
    hierarchy : Hierarchy, optional
        Of the sensitive column.
    """
    asked = float(getattr(criterion, _KINDS[criterion.name][0]))
    if isinstance(criterion, (K, KMap)):
        codes, n_codes, score = _records(rows) if isinstance(criterion, K) else _population(rows)
        return Requirement(criterion.name, column, asked, codes, n_codes, score, absorbing=True, criterion=criterion)
    values = rows.values[column]
    codes, n_codes = values.codes, values.size
    score = score_of(criterion, values, hierarchy, rows.markers)
    others = [rows.values[name] for name in rows.sensitive if name != column and criterion.others == "known"]
    if others:
        worst = np.minimum if _KINDS[criterion.name][1] == "at least" else np.maximum
        codes, n_codes, score = beside(others, values, score, worst)
    return Requirement(
        name=criterion.name,
        column=column,
        asked=asked,
        codes=codes,
        n_codes=n_codes,
        score=score,
        absorbing=isinstance(criterion, LDistinct) and not others,
        monotone=not (isinstance(criterion, DeltaDisclosure) and criterion.absent == "skip"),
        criterion=_with_distance(criterion, values),
        hierarchy=hierarchy,
    )


def _records(rows: Rows) -> tuple[IntArray, int, Score]:
    """Count the persons of a class, or its rows."""
    if rows.persons is None:
        return np.zeros(rows.number, dtype=np.int8), 1, sizes
    return *rows.persons, distinct


def _population(rows: Rows) -> tuple[IntArray, int, Score]:
    """Count the persons of the population who fit a class, or estimate them from its size and the sampling fraction.

    Without either, the rows that are counted must be the population's own.
    """
    if rows.fitting is not None:
        persons, codes = np.unique(rows.fitting, return_inverse=True)
        return codes, len(persons), lambda counts: persons[counts.codes[counts.starts]].astype(np.float64)
    if rows.each_stands_for is None:
        return np.zeros(rows.number, dtype=np.int8), 1, sizes
    each = rows.each_stands_for
    codes, n_codes, score = _records(rows)
    return codes, n_codes, lambda counts: score(counts) * each


def refuse_the_impossible(requirements: Sequence[Requirement], rows: int, suppression_limit: float = 0.0) -> None:
    """Raise ``GoalError`` with every criterion that no division of a table into classes can meet.

    What the whole table as one class misses, every finer division misses too, if the criterion is monotone under
    merging; where rows may be suppressed, the rest may yet meet what the whole can't, unless it is absorbing.

    Parameters
    ----------
    requirements : sequence of Requirement
        Without one that the caller counts in a population.
    rows : int
        Rows of the table.
    suppression_limit : float, optional
        Share of rows that may be suppressed.
    """
    faults = []
    for requirement in requirements:
        if not (requirement.absorbing or (requirement.monotone and not suppression_limit)):
            continue
        figure = float(requirement.score(requirement.counts(np.zeros(rows, dtype=np.int64), 1))[0])
        if not requirement.met(figure):
            faults.append(requirement.fault(figure))
    if faults:
        raise GoalError(faults)


def _with_distance(criterion: Criterion, values: Values) -> Criterion:
    """Say which distance is meant by ``auto``."""
    if isinstance(criterion, T) and criterion.distance == "auto":
        return criterion.model_copy(update={"distance": natural_distance(values)})
    return criterion


def _column_of(criterion: OnColumn, rows: Rows) -> str:
    """Return the column that is meant; empty where it is left open."""
    if criterion.column is not None:
        return criterion.column
    return rows.sensitive[0] if len(rows.sensitive) == 1 else ""
