"""What a plan says of a minimisation, by configuration and the number of rows."""

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from components.minimization.holdout import expected_rows, min_rows_fault
from runner.aims import Aim, Skipped, expected
from runner.compose import Composed
from runner.plan import train_rows
from schemas.faults import Fault, GoalError


def absent_faults(composed: Composed) -> Iterator[Fault]:
    """Yield the fault of an importance that is asked of a library which is not installed."""
    if getattr(composed.config.minimization, "order", "") == "shap" and find_spec("shap") is None:
        yield Fault(
            "minimization.order",
            "shap is not installed",
            "permutation, or shap where it is installed",
            "pip install 'privacy-runner[shap]', or choose permutation",
            composed.sources.get("minimization.order", ""),
        )


def row_faults(composed: Composed, rows: int) -> list[Fault]:
    """Return what no rows of this number can reach: an agreement that is shown, and parts with so many fit rows.

    Where rows are parted by person as many are taken as could be on either side: the run counts them.
    """
    if rows == 0:
        return []
    config, data = composed.config, composed.config.dataset
    params: Any = config.minimization
    train = train_rows(rows, data.split.test)
    test = rows - train
    if data.subject_id is not None:
        train, test = rows - 1, rows - 1
    faults: list[Fault] = []
    try:
        if isinstance(expected(config, train, test), Skipped):
            return []
    except GoalError as error:
        faults += error.faults
    if few := min_rows_fault(params, expected_rows(params, train, test)[0]):
        faults.append(few)
    return [replace(fault, source=composed.sources.get(fault.place, "")) for fault in faults]


def aim_of(composed: Composed, rows: int) -> Aim | Skipped:
    """Return what a minimisation will reach for, by the share of rows that is held out (see `runner.aims.expected`)."""
    data = composed.config.dataset
    train = train_rows(rows, data.split.test)
    return expected(composed.config, train, rows - train, by_person=data.subject_id is not None)
