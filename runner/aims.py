"""What a minimisation will work on and reach for, as far as configuration and numbers of rows tell."""

from dataclasses import dataclass
from typing import Any

from components.minimization.declarations import TARGETS
from components.minimization.holdout import asked_target, expected_rows, least_calibration_rows, least_report_rows
from runner.alone import ABSENT


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
    """Rows of each side, the target, the fewest report rows that can show it, and whether it is an R2.

    Of several `targets` each has its R2. With `by_person` rows are parted by person, and those of each side are
    estimates. With fewer than `enough` calibration rows nobody's asking ends early (0: that is no question of this
    method).
    """

    fit: int
    calibration: int
    report: int
    target: float
    least: int
    regression: bool
    by_person: bool = False
    enough: int = 0
    targets: int = 1

    def __str__(self) -> str:
        """Say it in words."""
        what = ("R2" if self.targets == 1 else "each target's R2") if self.regression else "agreement"
        asked = f"{what} {self.target:g} asked, which {self.least:,} report rows or more can show{self._early()}"
        parted = (
            f"on at most {self.fit:,} train rows; of the test rows about {self.calibration:,} say where to stop and "
            f"{self.report:,} judge"
        )
        if not self.by_person:
            return f"{parted}; {asked}"
        return f"{parted}, if each row is a person; {asked}; the run counts persons, and may find too few rows"

    def _early(self) -> str:
        """Say what it takes for somebody not to be asked everything."""
        if not self.enough:
            return ""
        few = self.calibration < self.enough
        then = ", with fewer nobody's does" if few else ""
        return f"; {self.enough:,} calibration rows or more can end somebody's asking early{then}"


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


def expected(config: Any, train: int, test: int, *, by_person: bool = False) -> Aim | Skipped:
    """Return what a minimisation will work on and reach for, or why it will not be done.

    Parameters
    ----------
    config : RunConfig
    train, test : int
        Rows, each taken as a person.
    by_person : bool, default False
        Rows are parted by person: how many there will be on each side is left for the run to count.

    Raises
    ------
    GoalError
        The report rows can't show the target that was asked for, and there will be no other number of them.
    """
    skipped = passed_over(config)
    if skipped is not None:
        return skipped
    regression = config.dataset.task == "regression"
    fit, calibration, report = expected_rows(config.minimization, train, test)
    given: float | None = getattr(config.minimization, "target", None)
    if by_person and given is not None:  # too few of an estimate are no reason to refuse
        target: float | None = given
    else:
        target = asked_target(config.minimization, report, regression=regression)
    if target is None:
        return too_few(report, regression=regression)
    least = least_report_rows(target, regression=regression)
    enough = least_calibration_rows(config.minimization, regression=regression)
    return Aim(fit, calibration, report, target, least, regression, by_person, enough, len(config.dataset.targets))
