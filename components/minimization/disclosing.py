"""What a contract tells of the rows behind it: whether that makes it raw, and how many digits its means have."""

from dataclasses import replace
from math import floor, log10

import numpy as np

from components.minimization.declarations import Minimization
from components.minimization.generalizer import Generalizer
from components.minimization.problem import Answers
from components.minimization.result import Minimized
from components.models import Target

FEWEST = 5
"""Fit rows behind a part, a cell or an answer: with fewer allowed, what is told of it may be a single person's."""

DIGITS = 2
"""Significant digits of the answers' standard deviation that the mean answer of a cell is told to."""


def why_raw(params: Minimization, minimized: Minimized, target: Target) -> tuple[str, ...]:
    """Return why a contract is as raw as the rows; nothing where it may leave the house."""
    reasons = {
        "representatives are actual rows": isinstance(minimized, Generalizer) and minimized.representative == "row",
        "domains or classes come from rows": target.learned or any(each.learned for each in minimized.attributes),
        f"parts may rest on fewer than {FEWEST} rows (minimization.min_rows={params.min_rows})": (
            params.min_rows < FEWEST
        ),
    }
    return tuple(reason for reason, holds in reasons.items() if holds)


def rounded(minimized: Minimized, answers: Answers) -> Minimized:
    """Return the same with the mean answers of its cells rounded, which nothing is computed from.

    Parameters
    ----------
    minimized : Minimized
        Of a regression. What has no cells is returned as it is.
    answers : ndarray, shape (rows, outputs)
        The model's own, whose spread says how many digits are told.
    """
    if not isinstance(minimized, Generalizer) or minimized.cells is None:
        return minimized
    cells = minimized.cells
    columns = [_coarse(label, float(spread)) for label, spread in zip(cells.labels.T, answers.std(axis=0), strict=True)]
    return replace(minimized, cells=replace(cells, labels=np.column_stack(columns)))


def _coarse(values: Answers, spread: float) -> Answers:
    return values if spread == 0 else np.round(values, DIGITS - 1 - floor(log10(spread)))
