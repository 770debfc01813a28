"""The rows of a minimisation: those that teach, those that say where to stop, and those that judge, once."""

from dataclasses import dataclass
from math import floor

import numpy as np

from components.data.order import canonical_order
from components.data.splitting import split
from components.data.table import Table
from components.minimization import bounds
from components.minimization.declarations import TARGETS, Minimization, Personal
from components.minimization.personal.evidence import FEWEST
from components.randomness import stream
from schemas.dataset import SplitSettings
from schemas.faults import Fault, GoalError

LEAST_RESAMPLED = 20
"""Report rows of a regression: with fewer, one row outweighs the 5 % that the bootstrap's lower bound leaves out."""

ENOUGH_RESAMPLED = 200
"""Report rows of a regression that make a target come true most of the time; with fewer, it is only tried on request.

By few calibration rows the best of many candidates looks better than it is, and R2 hangs on the outermost of them.
"""


@dataclass(frozen=True, slots=True)
class Sides:
    """Three tables without a common row, each in canonical order.

    Parameters
    ----------
    fit : Table
        Of the train rows: what cuts, groups, representatives and the order of steps are learned from.
    calibration : Table
        Of the test rows: what says where a search stops.
    report : Table
        Of the test rows: what the verdict is judged on, once.
    """

    fit: Table
    calibration: Table
    report: Table


def hold_out(params: Minimization, train: Table, test: Table, seed: int) -> Sides:
    """Choose the rows of each side by what they are and the seed, whatever order they come in.

    Parameters
    ----------
    params : Minimization
    train, test : Table
        Raw rows; the model may have learned from `train`. All test rows of a person (the schema's ``subject_id``) go
        to one side.
    seed : int
        The run's root seed; the streams are ``minimization-rows`` and ``minimization-split``.

    Returns
    -------
    Sides
        Calibration and report are empty where there are fewer than two test rows, or persons among them.
    """
    order = canonical_order(train.frame)
    if len(order) > params.search_rows:
        drawn = stream(seed, "minimization-rows").choice(len(order), params.search_rows, replace=False)
        order = order[np.sort(drawn)]
    fit = Table(train.frame.iloc[order], train.schema)
    subject = test.schema.subject_id
    units = (
        len(test.frame) if subject is None else test.frame[subject].nunique() + int(test.frame[subject].isna().sum())
    )
    if units < 2:
        nothing = Table(test.frame.iloc[:0], test.schema)
        return Sides(fit, nothing, nothing)
    share = SplitSettings(test=report_share(params, len(test.frame)))
    parted = split(
        Table(test.frame, test.schema.model_copy(update={"split": share})), seed, purpose="minimization-split"
    )
    calibration, report = (
        Table(part.frame.iloc[canonical_order(part.frame)], test.schema) for part in (parted.train, parted.test)
    )
    return Sides(fit, calibration, report)


def report_share(params: Minimization, test_rows: int) -> float:
    """Return the share of the test rows that judges: more than was asked for where calibration has rows enough."""
    return max(1 - params.calibration_share, 1 - params.search_rows / test_rows)


def expected_rows(params: Minimization, train_rows: int, test_rows: int) -> tuple[int, int, int]:
    """Return how many rows `hold_out` chooses for fit, calibration and report, where each row is a person."""
    fit = min(train_rows, params.search_rows)
    if test_rows < 2:
        return fit, 0, 0
    report = min(max(1, round(test_rows * report_share(params, test_rows))), test_rows - 1)
    return fit, test_rows - report, report


def asked_target(params: Minimization, report_rows: int, *, regression: bool) -> float | None:
    """Return the target that is judged: the given one, else the strictest of `TARGETS` that the rows can show.

    A target counts as one that rows can show when a model that misses it half as often as it allows is confirmed. (At
    `bounds.least_rows` not one row may disagree.) For regression, where no number of rows follows from the target,
    it is ``TARGETS[2]`` from `ENOUGH_RESAMPLED` rows on.

    Parameters
    ----------
    params : Minimization
    report_rows : int
    regression : bool

    Returns
    -------
    float or None
        None: nobody asked for a target, and the rows can show none.

    Raises
    ------
    GoalError
        The rows can't show the target that is given, whatever a search finds.
    """
    given: float | None = getattr(params, "target", None)
    if given is not None:
        if report_rows < least_report_rows(given, regression=regression):
            raise GoalError(_too_few(params, given, report_rows, regression=regression))
        return given
    if regression:
        return TARGETS[2] if report_rows >= ENOUGH_RESAMPLED else None
    for target in TARGETS:
        if bounds.most_disagreeing(report_rows, target) >= max(1.0, report_rows * (1 - target) / 2):
            return target
    return None


def least_report_rows(target: float, *, regression: bool) -> int:
    """Return the fewest report rows that can show a target."""
    return LEAST_RESAMPLED if regression else bounds.least_rows(target)


def least_calibration_rows(params: Minimization, *, regression: bool) -> int:
    """Return the fewest calibration rows with which a search can do anything; 0 where that is not known before.

    Of `personal` it is known: with fewer no answer is shown to be sure before everything is asked.
    """
    if not isinstance(params, Personal):
        return 0
    return FEWEST if regression else bounds.least_rows(params.target)


def min_rows_fault(params: Minimization, fit_rows: int) -> Fault | None:
    """Say that no range, group or cell can rest on as many fit rows as are asked for."""
    if params.min_rows <= fit_rows:
        return None
    return Fault(
        "minimization.min_rows",
        f"{params.min_rows:,} fit rows are asked for in every part, and there are {fit_rows:,}",
        f"up to {fit_rows:,}",
        "ask for fewer, or give more rows to search on (minimization.search_rows)"
        if fit_rows == params.search_rows
        else "ask for fewer",
    )


def _too_few(params: Minimization, target: float, report_rows: int, *, regression: bool) -> Fault:
    by_delta = isinstance(params, Personal)
    asked = f"{1 - target:.6g}" if by_delta else f"{target:g}"
    least = least_report_rows(target, regression=regression)
    allowed = ""
    if not regression and report_rows > 0:
        best = floor((1 - bounds.CONFIDENCE) ** (1 / report_rows) * 1e3) / 1e3
        allowed = f"delta from {1 - best:.3g}" if by_delta else f"a target up to {best:g}"
    return Fault(
        f"minimization.{'delta' if by_delta else 'target'}",
        f"{asked} can be shown by {least:,} report rows or more, and there are {report_rows:,}",
        allowed,
        "ask for less, hold out more rows (dataset.split.test), or choose minimization=none",
    )
