"""Risk by what an attacker knows: every subset of the quasi-identifiers up to a size."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from components.classes.coding import Attribute, FloatArray, IntArray, any_row_of, combined, dense, encode
from components.classes.counts import Counts, distinct, tally
from components.classes.records import fully_suppressed, person_codes
from components.risk.release import Sizes, release_risk
from schemas.dataset import DatasetSchema

_ROOM = 4
"""How many times as many numbers as tuples are counted without a sort."""


@dataclass(frozen=True, slots=True)
class _Tuples:
    """The distinct tuples of a table over all its quasi-identifiers.

    Parameters
    ----------
    parts : list of (codes, m)
        One per quasi-identifier: codes in [0, m), of shape (tuples,).
    rows : ndarray of float, shape (tuples,)
        Rows of each.
    persons : Counts, optional
        The persons of each, where a subject id is known.
    """

    parts: list[tuple[IntArray, int]]
    rows: FloatArray
    persons: Counts | None

    def sizes(self, key: IntArray, span: int) -> Sizes:
        """Return the rows, or persons, of the classes that whole numbers in [0, span) tell apart."""
        if self.persons is not None:
            return distinct(self.persons.merged(*dense(key, span))).astype(np.int64)
        if span > _ROOM * len(key):
            key, _ = dense(key, span)
        sizes = np.bincount(key, weights=self.rows)
        return sizes[sizes > 0].astype(np.int64)


def subset_risk(
    frame: pd.DataFrame,
    schema: DatasetSchema,
    *,
    largest: int = 3,
    persons: npt.ArrayLike | None = None,
) -> pd.DataFrame:
    """Measure prosecutor risk for every subset of the quasi-identifiers.

    The table is collapsed to its distinct tuples once; a subset then costs one count of tuples.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table, released or raw. Is not written to.
    schema : DatasetSchema
        Its schema: the quasi-identifiers and the subject id that are columns of `frame` are used, and the thresholds.
    largest : int, optional
        Most quasi-identifiers in a subset.
    persons : array_like, shape (n,), optional
        Who each row is about, for a release that no longer holds the subject id.

    Returns
    -------
    pandas.DataFrame
        One row per subset, by size, then in declared order: ``subset`` (names joined by ``", "``), ``size``, and over
        the rows that are not fully suppressed ``k``, ``classes``, ``sample_uniques``, ``risk_prosecutor_max``,
        ``risk_prosecutor_mean``, ``risk_above_<threshold>`` and ``arirec`` as in ``metrics.csv``. Empty where
        all rows are suppressed.
    """
    present = [column for column in schema.columns if column.name in frame.columns]
    attributes = encode(frame, [column for column in present if column.role == "quasi_identifier"])
    keep = np.flatnonzero(~fully_suppressed(attributes, len(frame)))
    figures: list[dict[str, Any]] = []
    if attributes and keep.size:
        tuples = _collapsed(attributes, keep, person_codes(frame, schema, persons))
        names = [attribute.name for attribute in attributes]
        for size in range(1, min(largest, len(names)) + 1):
            for subset, key, span in _subsets(tuples.parts, size):
                named = {"subset": ", ".join(names[at] for at in subset), "size": size}
                figures.append(named | _figures(tuples.sizes(key, span), schema.risk_thresholds))
    return pd.DataFrame(figures, columns=["subset", "size", *_figures(np.array([1]), schema.risk_thresholds)])


def _collapsed(attributes: Sequence[Attribute], keep: IntArray, people: tuple[IntArray, int] | None) -> _Tuples:
    parts = [(codes[keep], size) for codes, size in (attribute.own_value() for attribute in attributes)]
    ids, count = combined(parts)
    first = any_row_of(ids, count)
    return _Tuples(
        parts=[(codes[first].astype(np.int64), size) for codes, size in parts],
        rows=np.bincount(ids, minlength=count).astype(np.float64),
        persons=None if people is None else tally(ids, people[0][keep], count, people[1]),
    )


def _subsets(parts: Sequence[tuple[IntArray, int]], size: int) -> Iterator[tuple[tuple[int, ...], IntArray, int]]:
    """Yield every subset of a size with a key of its classes, and what that is below.

    Subsets that share all but the last column share the key of their start.
    """
    for start in combinations(range(len(parts)), size - 1):
        if start and start[-1] == len(parts) - 1:
            continue
        codes, count = combined(parts[at] for at in start) if start else (np.int64(0), 1)
        for last in range(start[-1] + 1 if start else 0, len(parts)):
            more, m = parts[last]
            yield (*start, last), codes * np.int64(m) + more, count * m


def _figures(sizes: Sizes, thresholds: Sequence[float]) -> dict[str, Any]:
    risk = release_risk(sizes, thresholds=thresholds)
    return {
        "k": int(sizes.min()),
        "classes": len(sizes),
        "sample_uniques": risk.sample_uniques,
        "risk_prosecutor_max": risk.prosecutor_max,
        "risk_prosecutor_mean": risk.prosecutor_mean,
        **{f"risk_above_{name}": share for name, share in risk.above.items()},
        "arirec": risk.arirec,
    }
