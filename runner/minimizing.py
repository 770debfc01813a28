"""The stage that minimises what a model is told: its rows, its files and what is said of them."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from components.data import Split
from components.minimization.asking import Asked
from components.minimization.contract import write
from components.minimization.holdout import Sides, asked_target, hold_out
from components.minimization.minimise import Outcome, minimise
from components.minimization.page import page
from runner.aims import Skipped, passed_over, too_few
from runner.alone import ABSENT
from runner.asked import minimization_metrics, section
from runner.job import Job
from runner.releasing import table_digest
from schemas.faults import GoalError

if TYPE_CHECKING:
    from schemas.record import Release

LIMITS = (
    (
        "What is collected was chosen by this model's predictions on rows of this table. Agreement speaks for persons "
        "like those it was judged on, and for this model alone: minimise again when the model or the persons change."
    ),
    "Asking for less is no anonymity: what is still collected may single a person out.",
)


@dataclass(frozen=True, slots=True)
class Goal:
    """What a minimisation works on, and what it is to reach."""

    sides: Sides
    target: float


def goal(config: Any, parts: Split) -> Goal | Skipped:
    """Part the rows of a minimisation and say what is to be reached, or why the stage is skipped.

    Raises
    ------
    GoalError
        The rows can't show the target that was asked for, whatever is found.
    """
    skipped = passed_over(config)
    if skipped is not None:
        return skipped
    params, regression = config.minimization, config.dataset.task == "regression"
    sides = hold_out(params, parts.train, parts.test, config.seed)
    rows = len(sides.report.frame)
    target = asked_target(params, rows, regression=regression)
    return too_few(rows, regression=regression) if target is None else Goal(sides, target)


def minimization(job: Job, aim: Goal | Skipped, asked: Asked | None) -> Outcome | None:
    """Minimise, write and record what is collected, and hold it against the target.

    Parameters
    ----------
    job : Job
    aim : Goal or Skipped
        As `goal` returns it.
    asked : Asked or None
        The model that the run keeps, None where there is none.

    Raises
    ------
    GoalError
        The target was not reached; what was is recorded all the same.
    """
    if isinstance(aim, Skipped) or asked is None:
        job.skip("minimization", aim.reason if isinstance(aim, Skipped) else f"model={ABSENT}")
        return None
    config = job.config
    with job.stage("minimization") as note:
        sides = {name: getattr(aim.sides, name) for name in ("fit", "calibration", "report")}
        note.inputs = {name: table_digest(side) for name, side in sides.items()}
        outcome = minimise(config.minimization, asked, aim.sides, aim.target, config.seed, learn=config.encoder.learn)
        files = _write(outcome, job)
        note.outputs = {path.name: sha256(path.read_bytes()).hexdigest() for path in files}
        note.facts = {"met": outcome.verdict.met, **outcome.rows}
        job.record.note(
            minimization=section(config, outcome),
            warnings=[*outcome.notes, *_unmatched(outcome), *_classed(outcome)],
            limits=list(LIMITS),
        )
        job.measured(minimization_metrics(outcome))
        fault = outcome.shortfall(config.minimization)
        if fault is not None:
            raise GoalError(fault)
    return outcome


def _write(outcome: Outcome, job: Job) -> list[Path]:
    """Write what is collected for those who ask, and beside it, for those who ran it, how that was found."""
    release: Release = "raw" if outcome.raw else "releasable"
    path = job.record.path
    contract = path("minimization/generalizations.json")
    write(contract, outcome.contract)
    asking = path("minimization/ask.html")
    shown = page(
        outcome.contract,
        outcome.necessity,
        order=outcome.order,
        figures=outcome.asking or None,
        chosen=getattr(job.config.minimization, "target", 0.0) is None,
        about=_about(job.config),
        notes=outcome.notes,
    )
    asking.write_text(shown, encoding="utf-8")
    for file in (contract, asking):
        job.record.output(file, release=release)
    tables = {"steps": outcome.steps, "necessity": outcome.necessity, "subgroups": outcome.subgroups}
    return [contract, asking, *(_table(path, job, name, table) for name, table in tables.items())]


def _about(config: Any) -> str:
    data = config.dataset
    kind = " (synthetic data)" if data.synthetic else ""
    return f"For the model {config.model.name}, which predicts {' and '.join(data.targets)} of {data.name}{kind}"


def _table(path: Callable[[str], Path], job: Job, name: str, table: pd.DataFrame) -> Path:
    file = path(f"minimization/{name}.csv")
    table.to_csv(file, index=False, lineterminator="\n")
    job.record.output(file, release="internal", rows=len(table))
    return file


def _unmatched(outcome: Outcome) -> list[str]:
    """Say by count where cells get the model's answers wrong; which these are stands in the file."""
    cells = outcome.contract.cells
    count = sum(not cell.agrees for cell in cells)
    if not count:
        return []
    which = f"in {count:,} of {len(cells):,} cells"
    return [f"{which} most fit rows lose the model's answer when they get the cell's values"]


def _classed(outcome: Outcome) -> list[str]:
    """Say why what is to be asked may not leave the house, where that is so."""
    if not outcome.raw:
        return []
    return [f"generalizations.json and ask.html are of class raw: {'; '.join(outcome.raw)}"]
