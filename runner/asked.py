"""What is said of a minimisation: figures, a section of the record, and a closing line."""

from dataclasses import asdict
from typing import Any

from components.minimization.collected import told_as
from components.minimization.minimise import Outcome, mean_loss
from schemas.generalizations import Collected
from schemas.tables import Metric

KINDS = {"exact": "exact", "ranges": "in ranges", "groups": "in groups", "nothing": "not asked"}
"""What is collected of so many columns, in words."""


def minimization_metrics(outcome: Outcome) -> list[Metric]:
    """Return what was measured on the report rows, which are test rows, as rows of metrics.csv."""

    def figure(metric: str, value: float, **more: Any) -> Metric:
        return Metric(stage="minimization", metric=metric, value=value, split="test", **more)

    collected = [told_as(each) for each in outcome.contract.attributes]
    verdict = outcome.verdict
    found = [
        figure("relative_accuracy", verdict.agreement, low=verdict.low),
        *(
            figure("relative_accuracy", kept.agreement, low=kept.low, column=target)
            for target, kept in outcome.targets.items()
        ),
        figure("ncp", mean_loss(outcome.ncp)),
        *(figure("ncp", loss, column=name) for name, loss in outcome.ncp.items()),
        figure("features_untouched", collected.count("exact"), unit="features"),
        figure("features_suppressed", collected.count("nothing"), unit="features"),
        *(
            figure(name, value, unit="features" if name.startswith("features") else "rows")
            for name, value in outcome.asking.items()
        ),
    ]
    for name, use in outcome.uses.items():
        found += [
            figure("relative_accuracy", use.agreement, low=use.low, scope=f"use:{name}"),
            figure("ncp", use.ncp, scope=f"use:{name}"),
        ]
    return found


def section(config: Any, outcome: Outcome) -> dict[str, Any]:
    """Return what the record says."""
    return {
        "method": config.minimization.name,
        "parameters": config.minimization.model_dump(),
        "rows": outcome.rows,
        "verdict": outcome.verdict.model_dump(),
        "targets": {name: asdict(kept) for name, kept in outcome.targets.items()},
        "ncp": mean_loss(outcome.ncp),
        "asked_ncp": mean_loss(outcome.asked_ncp),
        "uses": {name: asdict(use) for name, use in outcome.uses.items()},
        "asking": outcome.asking,
        "collected": [_column(each, outcome) for each in outcome.contract.attributes],
    }


def _column(each: Collected, outcome: Outcome) -> dict[str, Any]:
    kind = told_as(each)
    return {
        "name": each.name,
        "columns": each.columns,
        "collect": kind,
        "parts": len(each.representatives) if kind in {"ranges", "groups"} else 0,
        "ncp": outcome.ncp[each.name],
        "asked_ncp": outcome.asked_ncp[each.name],
    }


def asked_line(outcome: Outcome) -> str:
    """Return what is collected of a person, and how far the promise that goes with it holds."""
    collected = [told_as(each) for each in outcome.contract.attributes]
    if outcome.asking:
        mean, high = (outcome.asking[f"features_asked_{name}"] for name in ("mean", "p90"))
        shown = f"{mean:.1f} of {len(collected)} features on average, nine of ten persons are asked at most {high:.0f}"
    else:
        shown = ", ".join(f"{collected.count(kind)} {said}" for kind, said in KINDS.items() if kind in collected)
    verdict = outcome.verdict
    what = "R2" if verdict.measure == "r2" else "agreement"
    if outcome.targets:
        what = "each target's R2 at least" if verdict.measure == "r2" else "agreement of all targets"
    promise = f"{what} {verdict.agreement:.3f} (bound {verdict.low:.4f} >= {verdict.target:g} met)"
    lost = f"NCP {mean_loss(outcome.asked_ncp):.2f}"
    if outcome.contract.use == "representatives":  # parts are those of the form, and the model is told of cells
        lost = f"NCP {mean_loss(outcome.ncp):.2f} in cells, {mean_loss(outcome.asked_ncp):.2f} as asked"
    return f"{shown} ({lost}); {promise}"
