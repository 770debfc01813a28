"""Whether a minimised model keeps its answers for everybody: agreement by sensitive column."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import norm

from components.minimization.attributes import BELOW, Attribute, attributes_of
from components.minimization.bounds import CONFIDENCE, lower_bound, upper_bound
from components.minimization.problem import Answers, agree
from components.minimization.wording import interval
from schemas.dataset import DatasetSchema

SMALLEST = 10
"""Groups of fewer persons are told together, so that no figure is of a few. A row is a person unless the schema names
a ``subject_id``."""

RANGES = 4
"""Equally wide ranges of a number's domain that count as its groups."""

SMALL, MISSING = "small groups", "missing"
"""What stands for the value of groups that are told together, and of missing cells."""

TOGETHER = -1
"""Place of groups that are told together."""

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def subgroups(frame: pd.DataFrame, schema: DatasetSchema, answers: Answers, now: Answers) -> pd.DataFrame:
    """Return how far answers agree among the rows of each value of each sensitive column.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows, with sensitive columns; those that it doesn't have are left out.
    schema : DatasetSchema
        Says which columns are sensitive, and which one tells persons apart. The one-hot columns of a group are one.
    answers, now : ndarray, shape (rows, outputs)
        The model's own answers, and those after minimisation.

    Returns
    -------
    pandas.DataFrame
        ``column`` (or group); ``place`` of the value in its domain, from 0, that of missing cells after the last,
        `TOGETHER` for small groups; ``value``, where the schema declares it (of a number: one of `RANGES` ranges of
        its domain), `MISSING` or `SMALL`; ``rows``; ``agreement`` with ``low`` and ``high``, its one-sided 95 %
        bounds (Clopper and Pearson).

        Of numbers, agreement is 1 minus the mean squared distance by the output's variance over all rows, so that its
        mean over rows is R2; its bounds are normal ones. Of several outputs it is that of the worst in the group.
    """
    names = [name for name in schema.sensitive if name in frame.columns and frame[name].notna().any()]
    attributes = attributes_of(schema, names, learn_from=frame) if names else []
    numbers = answers.dtype.kind == "f"
    kept = 1 - _off(answers, now) if numbers else agree(answers, now)[:, np.newaxis].astype(np.float64)
    persons = _persons(frame, schema.subject_id)
    lines = []
    for attribute in attributes:
        places, values = _groups(attribute, frame)
        for place, group in _told(places, persons, len(values)):
            value = SMALL if place == TOGETHER else values[place]
            lines.append((attribute.name, place, value, len(group), *_measured(kept[group], numbers=numbers)))
    return pd.DataFrame(lines, columns=["column", "place", "value", "rows", "agreement", "low", "high"])


def _groups(attribute: Attribute, frame: pd.DataFrame) -> tuple[Integers, list[str]]:
    """Return the group of each row, and what each group is called; the last is that of missing cells."""
    codes, _ = attribute.encode(frame, 0.0)
    if attribute.kind == "number":
        cuts = np.linspace(attribute.low, attribute.high, RANGES + 1)[1:-1]
        places = np.searchsorted(cuts, codes, side="left")
        names = [interval(attribute, start, end) for start, end in pairwise([BELOW, *cuts, np.inf])]
    else:
        places = np.where(codes == attribute.missing, 0, codes).astype(np.int64)
        names = list(attribute.values)
    if attribute.learned:
        names = [""] * len(names)
    return np.where(codes == attribute.missing, len(names), places), [*names, MISSING]


def _persons(frame: pd.DataFrame, subject_id: str | None) -> Integers:
    """Return the person of each row as a number; a row that names nobody is a person of its own."""
    rows = np.arange(len(frame))
    if subject_id is None:
        return rows
    named = pd.factorize(frame[subject_id])[0]
    return np.where(named < 0, len(frame) + rows, named)


def _told(places: Integers, persons: Integers, count: int) -> Sequence[tuple[int, Integers]]:
    """Return the rows of each group that is told; of small ones together, with the next larger while those are few."""
    once = np.unique(np.column_stack([places, persons]), axis=0)  # a person may be in several groups
    sizes = np.bincount(once[:, 0], minlength=count)
    order = np.argsort(sizes, kind="stable")
    order = order[sizes[order] > 0]
    together = np.count_nonzero(sizes[order] < SMALLEST)

    def few() -> bool:
        return len(np.unique(persons[np.isin(places, order[:together])])) < SMALLEST

    while 0 < together < len(order) and few():
        together += 1
    told = [(int(place), np.flatnonzero(places == place)) for place in np.sort(order[together:])]
    return told if few() else [*told, (TOGETHER, np.flatnonzero(np.isin(places, order[:together])))]


def _measured(kept: Floats, *, numbers: bool) -> tuple[float, float, float]:
    """Return agreement and its bounds of `kept`, shape (rows, outputs)."""
    means = kept.mean(axis=0)
    if numbers:
        margins = norm.ppf(CONFIDENCE) * kept.std(axis=0, ddof=1) / np.sqrt(len(kept))
        return float(means.min()), float((means - margins).min()), float((means + margins).min())
    hits = int(np.count_nonzero(kept))
    return float(means[0]), lower_bound(hits, len(kept)), upper_bound(hits, len(kept))


def _off(answers: Answers, now: Answers) -> Floats:
    spread = answers.var(axis=0)
    off: Floats = (now - answers) ** 2 / np.where(spread > 0, spread, 1.0)
    return off
