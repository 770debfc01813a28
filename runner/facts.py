"""What a run's stages say for the record: figures, warnings, rows and columns accounted for."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, Literal

import numpy as np
import pandas as pd

from components.anonymization import Measurement, Release
from components.anonymization.criteria.figures import limit_text
from components.data import InputFact, Reading, Split, Table, UnfitTableError
from components.models import Model, utility
from schemas.faults import DataError
from schemas.tables import Metric, counted

NOT_CLAIMED = (
    (
        "Figures of the release hold against someone who knows the declared quasi-identifiers; "
        "a role wrongly given makes them wrong."
    ),
    (
        "k-anonymity hides who a row is about, not what is said about them; l and t stand beside it for every "
        "sensitive column. A missing cell counts as a value of its own in k, l and t; l_known leaves it aside."
    ),
    "That a model was trained on anonymised rows does not by itself establish that it is anonymous.",
)
"""What no run establishes; part of every record."""

NO_NOISE = (
    "No differential privacy was applied: there is no formal guarantee for the model or the figures of this record."
)
NOISE = (
    (
        "An epsilon is about the messages of training. Levels, losses and risks that sites told each other, row "
        "counts, and the figures of this record, which are measured on raw rows, are not covered by it."
    ),
    "The federation is simulated in one process, which sees the rows of all sites: it shows what would cross.",
)
COMPARED = (
    "A comparison trains on the same rows over and over: each epsilon is of one training alone, of all that is made "
    "known of several they add up, and scenarios without noise have no formal guarantee."
)


def not_claimed(config: Any) -> list[str]:
    """Return what a run does not establish."""
    if config.comparison is not None:
        return [*NOT_CLAIMED, *NOISE, COMPARED]
    if config.federation.name == "none":
        return [*NOT_CLAIMED, NO_NOISE]
    return [*NOT_CLAIMED, *([NO_NOISE, NOISE[1]] if config.dp.name == "none" else NOISE)]


FAULTS = "faults.csv"
"""Every cell that kept a table from being used: column, check and data row, never a value."""


def digests_of(inputs: Sequence[InputFact]) -> dict[str, str]:
    """Return the digest of each input by its name."""
    return {item.uri: item.sha256 for item in inputs if item.sha256 is not None}


def unfit_sections(error: DataError, beside: Sequence[InputFact] = ()) -> dict[str, Any]:
    """Return what the record says of a table that can't be used: inputs, and counts of failures per check.

    `beside` is what was read beside the table.
    """
    if not isinstance(error, UnfitTableError):
        return {}
    return {
        "dataset": {"inputs": [*error.inputs, *beside]},
        "validation": [
            {
                "table": "input",
                "name": failure.check,
                "column": failure.column,
                "rows_checked": failure.checked,
                "failures": len(failure.positions),
            }
            for failure in error.failures
        ],
    }


def failing_rows(error: DataError) -> pd.DataFrame:
    """Return every failing cell as (column, check, data row), of which the sentences name the first ten.

    What is wrong with rows as a whole, such as their length, has neither column nor check.
    """
    if isinstance(error, UnfitTableError):
        found = [(failure.column, failure.check, failure.positions + 1) for failure in error.failures]
    else:
        found = [("", "", np.asarray(fault.rows)) for fault in error.faults if fault.rows]
    parts = [pd.DataFrame({"column": column, "check": check, "row": rows}) for column, check, rows in found]
    return pd.concat(parts) if parts else pd.DataFrame(columns=["column", "check", "row"])


def privacy_metrics(found: Measurement, when: Literal["before", "after"]) -> list[Metric]:
    """Return the figures of a measured table as rows of metrics.csv."""
    return in_classes(found.figures(), when, persons=found.k_persons is not None)


def in_classes(
    figures: Iterable[tuple[str, str, float]], when: Literal["before", "after"], *, persons: bool
) -> list[Metric]:
    """Return figures of a table's classes as rows of metrics.csv.

    Parameters
    ----------
    figures : iterable of (metric, column, value)
    when : {"before", "after"}
    persons : bool
        Whether the records in classes are persons, and not rows.
    """
    return [
        Metric(
            stage="anonymization",
            metric=metric,
            column=column,
            when=when,
            value=value,
            unit=counted(metric, persons=persons),
        )
        for metric, column, value in figures
    ]


def quality_metrics(release: Release) -> list[Metric]:
    """Return what a method says it lost, as rows of metrics.csv."""
    said = release.transformation
    return [
        Metric(stage="anonymization", metric=name, when="after", value=said[name]) for name in ("loss",) if name in said
    ]


def criteria_lines(release: Release) -> list[tuple[str, str]]:
    """Return what the closing lines say of the criteria beside k: each before and after, and what was asked."""
    said = [
        f"{one.name}{f' of {one.column}' if one.column else ''} {_figure(before.reached)} -> {_figure(after.reached)} "
        f"({one.sense} {limit_text(one.asked)})"
        for one, before, after in zip(
            release.requirements, release.before.criteria, release.after.criteria, strict=False
        )
        if one.name != "k"
    ]
    return [("criteria", "; ".join(said))] if said else []


def _figure(value: float) -> str:
    """Return three digits of a figure, and all digits of what is larger."""
    return f"{value:,.0f}" if 1000 <= abs(value) < math.inf else f"{value:.3g}"


def search_lines(release: Release) -> list[tuple[str, str]]:
    """Return what the closing lines say of a search: the levels that it chose, what they lose, and what is proved."""
    said = release.transformation
    if "levels" not in said or "quality" not in said:
        return []
    levels = ", ".join(f"{name} {level}" for name, level in said["levels"][0].items())
    search, rounds = said["searches"][0], len(said["levels"])
    proof = f"proved best of {search['nodes']:,}"
    if not search["proved"]:
        proof = f"best of {search['tried']:,} tried of {search['nodes']:,}"
        if search["lower_bound"] is not None:
            proof += f"; proved: none below {math.floor(search['lower_bound'] * 1e4) / 1e4:.4f}"
    model = "1 - precision" if said["quality"]["model"] == "precision" else said["quality"]["model"]
    if rounds > 1:
        others = f"; {rounds - 1} more for the rows that these levels suppress"
        return [("levels", levels + others), ("loss", f"{said['loss']:.4f} (first levels: {proof} by {model})")]
    value = f"{said['quality']['value']:.4f} ({proof})"
    line = ("loss", value) if model == "loss" else ("quality", f"{model} {value}")
    return [("levels", levels), line]


def utility_metrics(scope: str, model: Model, parts: Split) -> tuple[list[Metric], list[str]]:
    """Measure a model on raw train and test rows.

    Returns
    -------
    metrics : list of Metric
    warnings : list of str
        What could not be measured, and why.
    """
    sides: tuple[tuple[Literal["train", "test"], Table], ...] = (("train", parts.train), ("test", parts.test))
    found = [side_metrics(scope, model, rows, name) for name, rows in sides]
    return [each for metrics, _ in found for each in metrics], [text for _, warnings in found for text in warnings]


def side_metrics(
    scope: str, model: Model, rows: Table, side: Literal["train", "test"]
) -> tuple[list[Metric], list[str]]:
    """Measure a model on the rows of one side, at least one (see `utility_metrics`)."""
    metrics, warnings = [], []
    for figure in utility(model, rows):
        facts = {each.name: getattr(figure, each.name) for each in fields(figure) if each.name != "note"}
        metrics.append(Metric(stage="model", scope=scope, split=side, **facts))
        if figure.note:
            about = f" for {figure.column}" if figure.column else ""
            warnings.append(f"{figure.metric} of {scope}{about} on {side} rows: {figure.note}")
    return metrics, warnings


HEADLINE = {"regression": "mae", "classification": "accuracy"}
"""The figure that models are held against each other by, by task."""


def no_better(metrics: Iterable[Metric], task: str) -> list[str]:
    """Say where sites trained a model together that is no better on test rows than predicting one value for all."""
    name = HEADLINE[task]
    found = {
        each.scope: each.value
        for each in metrics
        if each.stage == "model" and each.split == "test" and each.metric == name and not each.column
    }
    constant, federated = found.get("constant"), found.get("federated")
    if constant is None or federated is None or (federated < constant if name == "mae" else federated > constant):
        return []
    beside = f"{name} {federated:.4g}, and {constant:.4g}"
    return [f"the federated model is no better than the constant line ({beside}): look at noise and learning rate"]


def disclosures(after: Measurement) -> list[str]:
    """Say what the classes give away: k rows that share one value hide nobody's value, nor do persons who all have it.

    And whom they don't hide: k persons in each class are no k persons where rows stay linked.
    """
    said = []
    for name, found in after.columns.items():
        if found.l_known <= 1:
            said.append(
                f"in at least one class every known value of {name!r} is the same: whoever is known to be in it has "
                "that value"
            )
        elif found.alpha_persons == 1:
            said.append(
                f"in at least one class all persons have one value of {name!r} in common, in some row: whoever is "
                "known to be in it has that value"
            )
    if after.k_linked is not None and after.k_linked < after.k:
        said.append(
            f"k={after.k} holds for one row of a person; by all rows that the subject id links k is {after.k_linked}: "
            f"{after.linked_alone} of {after.linked_persons} persons are alone with the set of classes they are in"
        )
    return said


def rows_and_columns(reading: Reading, parts: Split, release: Release) -> dict[str, Any]:
    """Account for every row and column between the source and the release (field 10 of the record)."""
    schema, released = reading.table.schema, release.table.frame
    gone = [name for name in reading.table.frame.columns if name not in released.columns]
    left_out = len(parts.train.frame) - len(released)
    return {
        "rows_out": len(released),
        "dropped_rows": {
            "held out for testing": len(parts.test.frame),
            **({"suppressed": left_out} if left_out else {}),
        },
        "columns_out": list(released.columns),
        "dropped_columns": {name: f"role {schema.column(name).role}" for name in gone},
    }
