"""One minimisation from end to end: search on some rows, stop by others, judge once on the last."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

import pandas as pd

from components.minimization.asking import Asked, Told, stand_in
from components.minimization.attributes import Attribute, attributes_of
from components.minimization.bounds import ASSURANCE, UNASKED
from components.minimization.contract import to_contract
from components.minimization.declarations import Minimization, Personal
from components.minimization.disclosing import few_persons, rounded, why_raw
from components.minimization.generalizer import Generalizer, Use
from components.minimization.holdout import Sides
from components.minimization.necessity import necessity
from components.minimization.personal.questions import Questions
from components.minimization.problem import Problem, Rows, agreement
from components.minimization.result import Found, Minimized
from components.minimization.steadiness import refuse_unsteady
from components.minimization.strange_rows import refuse_not_hot, strange_notes
from components.minimization.subgroups import subgroups
from components.minimization.verdicts import Kept, each_target, judge
from components.models import Model, Target
from components.registry import load
from schemas.dataset import DatasetSchema
from schemas.faults import Fault
from schemas.generalizations import Generalizations, Output, Verdict

USES: tuple[Use, ...] = ("representatives", "ranges")


@dataclass(frozen=True, slots=True)
class AsUsed:
    """What one way of use keeps and loses on the report rows.

    Parameters
    ----------
    agreement, low : float
        With the model's own answers, and its one-sided 95 % lower bound.
    ncp : float
        Mean over attributes.
    """

    agreement: float
    low: float
    ncp: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a minimisation found, and what was measured of it on the report rows.

    Parameters
    ----------
    contract : Generalizations
        What is collected, as ``generalizations.json`` says it; with the verdict.
    told : Told
        The model, told no more than what is collected.
    verdict : Verdict
        Of the use that was asked for. Of several targets: of rows with all of them kept (regression: the least R2).
    targets : dict of str to Kept
        By target, where there are several.
    ncp : dict of str to float
        By attribute, as it is used: of representatives what the row's cell loses.
    asked_ncp : dict of str to float
        By attribute, as it is asked: what the row's own range or group loses. The same unless there are cells.
    uses : dict of str to AsUsed
        Of a method with cells: both uses, whichever was asked for.
    asking : dict of str to float
        Of a method that asks one question at a time: how many are asked (see `Questions.figures`).
    order : pandas.DataFrame or None
        Of such a method: how often and how early each attribute is asked for (see `Questions.needed`).
    rows : dict of str to int
        Rows of ``fit``, ``calibration`` and ``report``.
    necessity : pandas.DataFrame
        See `components.minimization.necessity`.
    subgroups : pandas.DataFrame
        See `components.minimization.subgroups`.
    steps : pandas.DataFrame
        See `Found`.
    raw : tuple of str
        Why the contract is of class raw (see `components.minimization.disclosing`); empty: it may be released.
    notes : tuple of str
        What a reader should know, without cell values.
    """

    contract: Generalizations
    told: Told
    verdict: Verdict
    targets: dict[str, Kept]
    ncp: dict[str, float]
    asked_ncp: dict[str, float]
    uses: dict[str, AsUsed]
    asking: dict[str, float]
    order: pd.DataFrame | None
    rows: dict[str, int]
    necessity: pd.DataFrame
    subgroups: pd.DataFrame
    steps: pd.DataFrame
    raw: tuple[str, ...]
    notes: tuple[str, ...]

    def shortfall(self, params: Minimization) -> Fault | None:
        """Return what is to be said where the target was not shown: the best that was reached."""
        if self.verdict.met:
            return None
        place = "delta" if isinstance(params, Personal) else "target"
        reached = self.verdict
        what, least = f"{'an R2' if reached.measure == 'r2' else 'agreement'} of {reached.target:g}", ""
        if reached.measure == "r2" and self.targets:
            worst = min(self.targets, key=lambda name: self.targets[name].low)
            what, least = f"{what} of each of {len(self.targets)} targets", f", the least lower bound that of {worst!r}"
        return Fault(
            f"minimization.{place}",
            f"{what} is not shown: reached is {reached.agreement:.4f} on {reached.rows:,} "
            f"report rows, with a lower bound of {reached.low:.4f}{least}",
            "the lower bound is held against the target",
            "ask for less, or hold out more rows (dataset.split.test)",
        )


def minimise(
    params: Minimization, asked: Asked, sides: Sides, target: float, seed: int, *, learn: bool = False
) -> Outcome:
    """Minimise what a model is told, and judge it on rows that nothing was fitted or tuned on.

    Parameters
    ----------
    params : Minimization
        ``component`` of its class names the search.
    asked : Asked
        The fitted model, and how raw rows come to it.
    sides : Sides
        As `components.minimization.holdout.hold_out` makes them.
    target : float
        Least agreement with the model's own answers, as `components.minimization.holdout.asked_target` says.
    seed : int
        The run's root seed.
    learn : bool, default False
        Domains that the schema leaves open are learned from the fit rows.

    Returns
    -------
    Outcome
        Whether the target was met stands in its verdict.

    Raises
    ------
    ConfigurationError
        The schema leaves a domain open, or the model's answer to a row hangs on more than that row.
    DataError
        The rows don't fit the model or the schema.
    """
    schema = asked.schema
    attributes = tuple(
        attributes_of(schema, params.columns or schema.features, learn_from=sides.fit.frame if learn else None)
    )
    fit, calibration, report = (
        Rows.of(side.frame, asked(side.frame), attributes) for side in (sides.fit, sides.calibration, sides.report)
    )
    refuse_not_hot(attributes, sides.fit.frame)
    asking, notes = asked, _persons(sides, schema)
    if asked.model.known_only:
        asking = stand_in(asked, sides.fit, seed)
        notes = (*notes, _stood_in(asking, calibration, regression=schema.task == "regression"))
    else:
        refuse_unsteady(asked, fit, seed)
    notes = (*notes, *strange_notes(attributes, sides.fit.frame))
    problem = Problem(
        attributes,
        asking,
        regression=schema.task == "regression",
        fit=fit,
        calibration=calibration,
        report_rows=len(report),
        target=target,
        weights=sensitivities(attributes),
        seed=seed,
        chance=ASSURANCE if getattr(params, "target", target) is not None else UNASKED,
    )
    found: Found = load(params.component)(params, problem)
    return _judged(params, found, problem, report, asking, notes)


def sensitivities(attributes: tuple[Attribute, ...]) -> dict[str, float]:
    """Return the weight of each attribute: the schema's ``sensitivity``, of a group the largest of its columns."""
    return {each.name: max(column.sensitivity for column in each.columns) for each in attributes}


def _judged(
    params: Minimization, found: Found, problem: Problem, report: Rows, asking: Asked, notes: tuple[str, ...]
) -> Outcome:
    """Look at the report rows: once for the verdict, and then at all that is told beside it."""
    minimized, schema = found.minimized, asking.schema
    if problem.regression:
        minimized = rounded(minimized, problem.fit.answers)
    codes = minimized.encode(report.frame)
    now = minimized.answers(report.frame, asking)
    verdict = judge(report.answers, now, problem)
    losses = dict(minimized.losses(codes))
    questions = minimized if isinstance(minimized, Questions) else None
    asked = dict(minimized.losses(codes, "ranges")) if isinstance(minimized, Generalizer) else losses
    return Outcome(
        contract=to_contract(minimized, losses, verdict, [_output(target) for target in asking.model.targets]),
        told=Told(asking, minimized),
        verdict=verdict,
        targets=each_target(report.answers, now, problem, asking.model.targets),
        ncp=losses,
        asked_ncp=asked,
        uses=_uses(minimized, report, problem),
        asking={} if questions is None else questions.figures(codes),
        order=None if questions is None else questions.needed(codes),
        rows={"fit": len(problem.fit), "calibration": len(problem.calibration), "report": len(report)},
        necessity=necessity(minimized, report.frame, asking, params.audit_rows, problem.seed),
        subgroups=subgroups(report.frame, schema, report.answers, now),
        steps=found.steps,
        raw=(*why_raw(params, minimized, asking.model.targets), *few_persons(minimized, problem.fit, schema)),
        notes=(*notes, *found.notes, *_all_asked(losses, asked)),
    )


def _all_asked(losses: dict[str, float], asked: dict[str, float]) -> list[str]:
    """Say so where the model is told less, by cells, and people are asked for no less."""
    if any(asked.values()) or not any(losses.values()):
        return []
    return ["people are asked for everything as it is; only what the model is told is coarser (see use=ranges)"]


def _uses(minimized: Minimized, report: Rows, problem: Problem) -> dict[str, AsUsed]:
    """Measure both uses, each as it will be used, where there are cells; nothing was chosen by these figures."""
    if not isinstance(minimized, Generalizer) or minimized.cells is None:
        return {}
    found: dict[str, AsUsed] = {}
    codes = minimized.encode(report.frame)
    for use in USES:
        now = replace(minimized, use=use).answers(report.frame, problem.ask)
        reached = judge(report.answers, now, problem)
        found[use] = AsUsed(reached.agreement, reached.low, mean_loss(minimized.losses(codes, use)))
    return found


def mean_loss(losses: Mapping[str, float]) -> float:
    """Return a table's NCP: the mean over attributes, each counting once whatever its sensitivity."""
    return sum(losses.values()) / len(losses)


def _output(target: Target) -> Output:
    return Output(name=target.column, classes=list(target.classes) or None)


def _persons(sides: Sides, schema: DatasetSchema) -> tuple[str, ...]:
    """Say that rows of one person are no independent witnesses, where there are several."""
    if schema.subject_id is None:
        return ()
    persons = sides.report.frame[schema.subject_id].dropna()
    if persons.is_unique:
        return ()
    count = persons.nunique()
    note = (
        f"the {len(sides.report.frame)} report rows are of {count} persons, and the bound takes rows as independent: "
        "it is too high where a person's rows agree or disagree together"
    )
    return (note,)


def _stood_in(asking: Asked, calibration: Rows, *, regression: bool) -> str:
    alike = agreement(calibration.answers, asking(calibration.frame), regression=regression)
    return (
        "predictions are stored ones of known rows: a forest that learned them from the fit rows answers for what is "
        f"collected, and agreement is between its answers and the stored ones ({alike:.4f} when all is collected)"
    )


def model_of(outcome: Outcome) -> Model:
    """Return the model that is told no more than what is collected, to be measured as any other."""
    return cast("Model", outcome.told)
