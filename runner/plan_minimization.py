"""What a plan says of a minimisation, by configuration and the number of rows."""

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec

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


def target_faults(composed: Composed, rows: int) -> list[Fault]:
    """Return the fault of an agreement that the report rows can't show, whatever is found.

    Where rows are parted by person as many are taken as could be held out: the run counts them.
    """
    if rows == 0:
        return []
    data = composed.config.dataset
    train = train_rows(rows, data.split.test)
    try:
        expected(composed.config, train, rows - train if data.subject_id is None else rows - 1)
    except GoalError as error:
        return [replace(fault, source=composed.sources.get(fault.place, "")) for fault in error.faults]
    return []


def aim_of(composed: Composed, rows: int) -> Aim | Skipped:
    """Return what a minimisation will reach for, by the share of rows that is held out (see `runner.aims.expected`)."""
    data = composed.config.dataset
    train = train_rows(rows, data.split.test)
    return expected(composed.config, train, rows - train, by_person=data.subject_id is not None)
