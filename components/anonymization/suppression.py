"""Suppress the rows of classes that miss a criterion, within a limit; or say what holds a goal back."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from components.anonymization.criteria.faults import place_of
from components.anonymization.criteria.figures import figure_text, limit_text
from components.anonymization.criteria.requirements import Requirement
from components.anonymization.publishing import quasi_identifiers
from components.anonymization.representatives import Published
from components.classes.coding import BoolArray, IntArray
from components.data.table import Table
from schemas.dataset import TEXT_LIKE
from schemas.faults import Fault, GoalError
from schemas.hierarchy import SUPPRESSED


def allowed_rows(limit: float, rows: int) -> int:
    """Return how many of `rows` a limit, a share, lets be suppressed; rounding takes none away."""
    return int(np.floor(limit * rows + 1e-9))


def suppress(
    requirements: Sequence[Requirement], classes: IntArray, n_classes: int, limit: float, gone: BoolArray | None = None
) -> BoolArray:
    """Return the rows to suppress: those of classes that miss a criterion, and those that are gone already.

    Parameters
    ----------
    requirements : sequence of Requirement
        Of all n rows: what a class is compared with holds the suppressed rows too.
    classes : ndarray of int, shape (n,)
        Class of each row; -1 where it is gone.
    n_classes : int
        Each has a row.
    limit : float
        Largest share of rows that may be suppressed.
    gone : ndarray of bool, shape (n,), optional
        Rows that were suppressed before.

    Raises
    ------
    GoalError
        They are more than the limit allows, or all there are.
    """
    gone = np.zeros(len(classes), dtype=np.bool_) if gone is None else gone
    rows = np.flatnonzero(~gone)
    missed = np.zeros(len(rows), dtype=np.bool_)
    faults = []
    for requirement in requirements if len(rows) else ():
        figures = requirement.score(requirement.counts(classes[rows], n_classes, rows))
        bad = ~requirement.met(figures)[classes[rows]]
        missed |= bad
        if bad.any():
            faults.append(_held_back(requirement, requirement.worst(figures), int(bad.sum()), len(classes)))
    suppressed = gone.copy()
    suppressed[rows[missed]] = True
    _hold_to(limit, suppressed, faults)
    return suppressed


def suppress_starred(table: Table, columns: Sequence[Published], gone: BoolArray, limit: float) -> BoolArray:
    """Return the rows to suppress, those that show ``*`` on every quasi-identifier among them: they are in no class.

    Where all rows show nothing else they are one class (see `measurement.fully_suppressed`), and stay.

    Parameters
    ----------
    table : Table
    columns : sequence of Published
        The quasi-identifiers that were changed.
    gone : ndarray of bool, shape (n,)
        Rows that are suppressed already.
    limit : float
        Largest share of rows that may be suppressed.

    Raises
    ------
    GoalError
        They are more than the limit allows.
    """
    shown = {one.column.name: one for one in columns}
    starred = ~gone
    for column in quasi_identifiers(table):
        one = shown.get(column.name)
        if one is None and (SUPPRESSED in (column.values or ()) or column.dtype not in TEXT_LIKE):
            return gone
        cells = table.frame[column.name].array if one is None else one.cells
        if one is not None and not one.generalised:
            return gone
        starred &= pd.Series(cells, copy=False).eq(SUPPRESSED).fillna(value=False).to_numpy(dtype=np.bool_)
    if not starred.any() or (gone | starred).all():
        return gone
    problem = f"{np.count_nonzero(starred)} of {len(gone)} rows show nothing but {SUPPRESSED}, and are in no class"
    _hold_to(limit, gone | starred, [Fault("anonymization", problem, "rows that show something")])
    return gone | starred


def published_by_rest(
    table: Table, publish: Callable[[BoolArray], list[Published]], gone: BoolArray, limit: float
) -> tuple[list[Published], BoolArray]:
    """Publish columns as the rows that stay tell them, those that show nothing but ``*`` being suppressed too.

    Parameters
    ----------
    table : Table
    publish : callable
        Returns the quasi-identifiers that were changed, given the suppressed rows.
    gone : ndarray of bool, shape (n,)
        Rows that are suppressed already.
    limit : float
        Largest share of rows that may be suppressed.

    Returns
    -------
    columns : list of Published
    gone : ndarray of bool, shape (n,)

    Raises
    ------
    GoalError
        See `suppress_starred`.
    """
    columns = publish(gone)
    without = suppress_starred(table, columns, gone, limit)
    return (columns if without is gone else publish(without)), without


def _hold_to(limit: float, suppressed: BoolArray, faults: Sequence[Fault]) -> None:
    """Raise ``GoalError`` where more rows are suppressed than a limit allows, or all of them."""
    needed, rows = int(np.count_nonzero(suppressed)), len(suppressed)
    if needed == rows:
        whole = Fault(
            place="anonymization.criteria",
            problem=f"every one of the {rows} rows would have to be suppressed",
            remedy="relax the criteria, or generalise further",
        )
        raise GoalError([whole, *faults])
    if needed > allowed_rows(limit, rows):
        enough = np.ceil(needed / rows * 1000) / 1000
        too_many = Fault(
            place="anonymization.suppression_limit",
            problem=f"{needed} of {rows} rows would have to be suppressed",
            allowed=f"the limit {limit:g} allows {allowed_rows(limit, rows)}",
            remedy=f"set it to {enough:g} or more, relax the criteria, or generalise further",
        )
        raise GoalError([too_many, *faults])


def _held_back(requirement: Requirement, worst: float, missed: int, rows: int) -> Fault:
    return Fault(
        place=place_of(requirement.name, requirement.column),
        problem=f"asks for {requirement.sense} {limit_text(requirement.asked)}; "
        f"the worst class reaches {figure_text(worst, requirement.asked)}",
        allowed=f"{missed} of {rows} rows are in classes that miss it",
    )
