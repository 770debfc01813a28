"""What a minimisation will work on and reach for, as far as configuration and numbers of rows tell."""

from dataclasses import dataclass
from typing import Any

from components.minimization.declarations import TARGETS
from components.minimization.holdout import asked_target, expected_rows, least_report_rows

ABSENT = "none"


@dataclass(frozen=True, slots=True)
class Skipped:
    """Why nothing is minimised.

    Parameters
    ----------
    reason : str
    by_rows : bool
        It is for want of rows, and not by configuration.
    """

    reason: str
    by_rows: bool = False


@dataclass(frozen=True, slots=True)
class Aim:
    """Rows of each side, the target, the fewest report rows that can show it, and whether it is an R2."""

    fit: int
    calibration: int
    report: int
    target: float
    least: int
    regression: bool

    def __str__(self) -> str:
        """Say it in words."""
        what = "R2" if self.regression else "agreement"
        asked = f"{what} {self.target:g} asked, which {self.least:,} report rows or more can show"
        return (
            f"on at most {self.fit:,} train rows; of the test rows about {self.calibration:,} say where to stop and "
            f"{self.report:,} judge; {asked}"
        )


def passed_over(config: Any) -> Skipped | None:
    """Return why a configuration minimises nothing; None where it does."""
    if config.minimization.name == ABSENT:
        return Skipped(f"minimization={ABSENT}")
    return Skipped(f"model={ABSENT}") if config.model.name == ABSENT else None


def too_few(report_rows: int, *, regression: bool) -> Skipped:
    """Return what is to be said where nobody asked for a target and the rows can show none."""
    what = "R2" if regression else f"agreement of {TARGETS[-1]:g}"
    reason = f"{report_rows} report rows are too few to aim at an {what}; give minimization.target a value to try"
    return Skipped(reason, by_rows=True)


def expected(config: Any, train: int, test: int) -> Aim | Skipped:
    """Return what a minimisation will work on and reach for, or why it will not be done.

    Parameters
    ----------
    config : RunConfig
    train, test : int
        Rows, each taken as a person.

    Raises
    ------
    GoalError
        The report rows can't show the target that was asked for.
    """
    skipped = passed_over(config)
    if skipped is not None:
        return skipped
    regression = config.dataset.task == "regression"
    fit, calibration, report = expected_rows(config.minimization, train, test)
    target = asked_target(config.minimization, report, regression=regression)
    if target is None:
        return too_few(report, regression=regression)
    least = least_report_rows(target, regression=regression)
    return Aim(fit, calibration, report, target, least, regression)
