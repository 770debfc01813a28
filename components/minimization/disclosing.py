"""What a contract tells of the rows behind it: whether that makes it raw, and how many digits its means have."""

from collections.abc import Sequence
from dataclasses import replace
from math import floor, log10

import numpy as np
import numpy.typing as npt

from components.classes.records import person_codes
from components.minimization.declarations import Minimization
from components.minimization.generalizer import Generalizer
from components.minimization.partitions import Parts
from components.minimization.personal.questions import Questions
from components.minimization.problem import Answers, Rows
from components.minimization.result import Minimized
from components.models import Target
from schemas.dataset import DatasetSchema

FEWEST = 5
"""Fit rows, or persons, behind a part, a cell or an answer: with fewer, what is told of it may be a single person's."""

DIGITS = 2
"""Significant digits of the answers' standard deviation that the mean answer of a cell is told to."""


def why_raw(params: Minimization, minimized: Minimized, targets: Sequence[Target]) -> tuple[str, ...]:
    """Return why a contract is as raw as the rows; nothing where it may leave the house."""
    reasons = {
        "representatives are actual rows": isinstance(minimized, Generalizer) and minimized.representative == "row",
        "domains or classes come from rows": (
            any(target.learned for target in targets) or any(each.learned for each in minimized.attributes)
        ),
        f"parts may rest on fewer than {FEWEST} rows (minimization.min_rows={params.min_rows})": (
            params.min_rows < FEWEST
        ),
    }
    return tuple(reason for reason, holds in reasons.items() if holds)


def few_persons(minimized: Minimized, fit: Rows, schema: DatasetSchema) -> tuple[str, ...]:
    """Return how many parts rest on too few persons; nothing where none does.

    Searches count rows (``min_rows``), and a person with many rows may fill a range alone. So where persons have
    several rows, what was found is counted again, by persons; what no fit row is in was learned from nobody. Ends of
    asking are counted in any case, those that no fit row comes to among them: questions that lead to nobody may part
    what single persons told.

    Parameters
    ----------
    minimized : Minimized
    fit : Rows
        What it was learned from.
    schema : DatasetSchema
        Its ``subject_id`` names the person of a row; without one every row is a person, and of ranges, groups and
        cells ``min_rows`` says it all.
    """
    named = person_codes(fit.frame, schema)
    if isinstance(minimized, Questions):
        places = minimized.ends(fit.codes)
        behind = _persons(places, *(named or (np.arange(len(fit)), len(fit))))
        behind += [0] * (len(minimized.nodes.ends) - len(behind))
    elif named is None:
        return ()
    else:
        behind = [count for places in _places(minimized, fit) for count in _persons(places, *named)]
    few = sum(count < FEWEST for count in behind)
    if not few:
        return ()
    return (f"{few} of {len(behind)} ranges, groups, cells and branches rest on fewer than {FEWEST} persons",)


def _places(minimized: Minimized, fit: Rows) -> list[Parts]:
    """Return the part of each row on each attribute, and its cell."""
    if not isinstance(minimized, Generalizer):
        return []
    parts = minimized.parts(fit.codes)
    cells = minimized.cells
    return [*parts.values(), *([] if cells is None or not parts else [cells.of(parts)])]


def _persons(places: Parts, persons: npt.NDArray[np.int64], count: int) -> list[int]:
    """Return how many different persons are in each place that anybody is in; rows without a place are left aside."""
    there = places >= 0
    pairs = np.unique(places[there] * count + persons[there])
    found: list[int] = np.unique(pairs // count, return_counts=True)[1].tolist()
    return found


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
