"""Measure a table as it stands: its classes, what they disclose, and how exposed its records are.

Nothing here knows how a table was made, so that a figure holds for any release, whoever made it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from components.anonymization.coding import Attribute, BoolArray, IntArray, any_row_of, combined, encode
from components.anonymization.criteria import Counts, distinct, entropy, largest_share, tally
from components.anonymization.requirements import distance, shares
from components.risk.release import ReleaseRisk, release_risk
from schemas.dataset import Column, DatasetSchema

SUPPRESSED = "*"
"""What stands in a cell that a method suppressed; a row with nothing else is fully suppressed."""

_MOST_PATTERNS = 64


@dataclass(frozen=True, slots=True)
class Disclosure:
    """What classes give away about one sensitive column: the worst class of each figure.

    Parameters
    ----------
    l_distinct : int
        Fewest different values in a class.
    l_entropy : float
        Least exp(entropy) of a class.
    alpha : float
        Largest share of one value in a class.
    t : float
        Largest earth mover's distance of a class to the table that was anonymised.
    t_released : float
        The same against the released rows alone, which can be checked from a release by itself.
    distance : {"equal", "ordered"}
        Ground distance of t and t_released.
    l_known : int
        Fewest different values in a class, missing cells aside: a class of one value and blanks gives that value away.
    sensitive : bool
        Whether the schema gives the column the role sensitive; a target is measured without it too, because the
        classes of a label-driven method are often pure in it.
    """

    l_distinct: int
    l_entropy: float
    alpha: float
    t: float
    t_released: float
    distance: str
    l_known: int
    sensitive: bool


@dataclass(frozen=True, slots=True)
class Measurement:
    """All that was measured on one table. A missing value is a value of its own, but in `k_wildcard`.

    Without any class (no rows, or all of them fully suppressed) every figure is 0.

    Parameters
    ----------
    rows : int
        Rows, fully suppressed ones among them.
    suppressed : int
        Fully suppressed rows; they are in no class.
    classes : int
        Equivalence classes over the quasi-identifiers.
    k : int
        Size of the smallest class: in persons where a subject id is known, else in rows.
    k_rows : int
        Size of the smallest class in rows.
    k_persons : int or None
        Size of the smallest class in persons; None without a subject id.
    k_wildcard : int or None
        k, if a missing cell of a record fits every value; None beyond 64 patterns of missing cells.
    columns : dict of str to Disclosure
        Per sensitive column, and the target.
    risk : ReleaseRisk
    """

    rows: int
    suppressed: int
    classes: int
    k: int
    k_rows: int
    k_persons: int | None
    k_wildcard: int | None
    columns: dict[str, Disclosure]
    risk: ReleaseRisk

    def figures(self) -> list[tuple[str, str, float]]:
        """Return (metric, column, value) rows under the names of ``metrics.csv``."""
        whole: list[tuple[str, str, float]] = [
            ("k", "", self.k),
            ("k_rows", "", self.k_rows),
            ("classes", "", self.classes),
            ("rows", "", self.rows),
            ("suppressed", "", self.suppressed),
            ("suppressed_share", "", self.risk.suppressed_share),
            ("risk_prosecutor_max", "", self.risk.prosecutor_max),
            ("risk_prosecutor_mean", "", self.risk.prosecutor_mean),
            ("risk_marketer", "", self.risk.marketer),
            *((f"risk_above_{name}", "", share) for name, share in self.risk.above.items()),
            ("arirec", "", self.risk.arirec),
        ]
        if self.k_persons is not None:
            whole.append(("k_persons", "", self.k_persons))
        if self.k_wildcard is not None:
            whole.append(("k_wildcard", "", self.k_wildcard))
        names = ("l_distinct", "l_known", "l_entropy", "alpha", "t", "t_released")
        whole.extend((name, column, getattr(found, name)) for column, found in self.columns.items() for name in names)
        return whole


@dataclass(frozen=True, slots=True)
class _Classes:
    """The class of each row that is not fully suppressed: ``ids[i]`` is that of row ``keep[i]``."""

    ids: IntArray
    count: int
    keep: IntArray


def measure(
    frame: pd.DataFrame,
    schema: DatasetSchema,
    table_frame: pd.DataFrame | None = None,
    *,
    persons: npt.ArrayLike | None = None,
) -> Measurement:
    """Measure k, l, t, alpha and risk on a table as it stands.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table, released or raw. Is not written to.
    schema : DatasetSchema
        Its schema: the quasi-identifiers, sensitive columns and subject id that are columns of `frame` are used.
    table_frame : pandas.DataFrame, optional
        The whole input table, which `t` compares with; `frame` itself without it.
    persons : array_like, shape (n,), optional
        Who each row is about, for a release that no longer holds the subject id.

    Returns
    -------
    Measurement
    """
    present = [column for column in schema.columns if column.name in frame.columns]
    quasi_identifiers = encode(frame, [column for column in present if column.role == "quasi_identifier"])
    return measure_classes(quasi_identifiers, frame, schema, table_frame, persons=persons)


def measure_classes(
    quasi_identifiers: Sequence[Attribute],
    frame: pd.DataFrame,
    schema: DatasetSchema,
    table_frame: pd.DataFrame | None = None,
    *,
    persons: npt.ArrayLike | None = None,
) -> Measurement:
    """Do what `measure` does, with the quasi-identifiers of `frame` encoded already."""
    keep = np.flatnonzero(~_fully_suppressed(quasi_identifiers, len(frame)))
    if not keep.size:
        nothing = release_risk(np.zeros(0, dtype=np.int64), float(len(frame) > 0))
        return Measurement(len(frame), len(frame), 0, 0, 0, None, 0, {}, nothing)
    whole = keep.size == len(frame)
    parts = [(one.codes if whole else one.codes[keep], one.size) for one in quasi_identifiers]
    parts = parts or [(np.zeros(keep.size, dtype=np.int8), 1)]  # without quasi-identifiers all rows are one class
    classes, n_classes = combined(parts)
    rows = np.bincount(classes, minlength=n_classes)
    people = _people(frame, schema, persons)
    members = tally(classes, people[0][keep], n_classes, people[1]) if people else None
    class_sizes = rows if members is None else distinct(members).astype(np.int64)
    return Measurement(
        rows=len(frame),
        suppressed=len(frame) - keep.size,
        classes=n_classes,
        k=int(class_sizes.min()),
        k_rows=int(rows.min()),
        k_persons=None if members is None else int(class_sizes.min()),
        k_wildcard=_wildcard_k(parts, any_row_of(classes, n_classes), rows, members),
        columns={
            column.name: _disclosure(
                frame[column.name],
                None if table_frame is None else table_frame[column.name],
                column,
                _Classes(classes, n_classes, keep),
            )
            for column in _disclosing(schema, frame)
        },
        risk=release_risk(class_sizes, 1 - keep.size / len(frame)),
    )


def _disclosing(schema: DatasetSchema, frame: pd.DataFrame) -> list[Column]:
    found = [column for column in schema.columns if column.role == "sensitive" or column.name == schema.target]
    return [column for column in found if column.name in frame.columns and column.role != "quasi_identifier"]


def _disclosure(released: pd.Series, table: pd.Series | None, column: Column, classes: _Classes) -> Disclosure:
    """Measure one sensitive column; values are numbered over the release and the table together."""
    both = released if table is None else pd.concat([released, table], ignore_index=True)
    (attribute,) = encode(both.to_frame(), [column])
    codes, size = attribute.own_value()
    kept = codes[: len(released)][classes.keep]
    counts = tally(classes.ids, kept, classes.count, size)
    distance_to = distance(attribute)
    return Disclosure(
        l_distinct=int(distinct(counts).min()),
        l_entropy=float(entropy(counts).min()),
        alpha=float(largest_share(counts).max()),
        t=float(distance_to(counts, shares(codes[0 if table is None else len(released) :], size)).max()),
        t_released=float(distance_to(*_occurring(counts, kept)).max()),
        distance="equal" if attribute.kind == "nominal" else "ordered",
        l_known=_known_values(attribute.codes[: len(released)][classes.keep], attribute.size, classes),
        sensitive=column.role == "sensitive",
    )


def _known_values(codes: IntArray, size: int, classes: _Classes) -> int:
    """Return the fewest different values of a class, missing ones aside."""
    known = codes >= 0
    counts = tally(classes.ids[known], codes[known], classes.count, size)
    found = np.bincount(counts.classes, minlength=classes.count)
    return int(found.min())


def _occurring(counts: Counts, kept: IntArray) -> tuple[Counts, Any]:
    """Give values new numbers over the released rows alone, whose order distance knows no other values."""
    share = shares(kept, counts.n_codes)
    used = np.flatnonzero(share)
    place = np.cumsum(share > 0) - 1
    values = place[counts.codes]
    return Counts(counts.classes, values, counts.counts, counts.n_classes, len(used)), share[used]


def _people(frame: pd.DataFrame, schema: DatasetSchema, persons: npt.ArrayLike | None) -> tuple[IntArray, int] | None:
    """Return the person of each row as a code, and how many there are; rows without an id count as one person."""
    if persons is None and schema.subject_id is not None and schema.subject_id in frame.columns:
        persons = frame[schema.subject_id]
    if persons is None:
        return None
    codes, values = pd.factorize(np.asarray(persons))
    return codes + 1, len(values) + 1


def _fully_suppressed(attributes: Sequence[Attribute], rows: int) -> BoolArray:
    """Tell the rows in which every quasi-identifier is suppressed; a ``*`` that a column declares is a value."""
    suppressed = np.full(rows, fill_value=bool(attributes))
    for attribute in attributes:
        (cells,) = attribute.source
        numbers = pd.api.types.is_numeric_dtype(cells.dtype) or pd.api.types.is_datetime64_any_dtype(cells.dtype)
        if numbers or SUPPRESSED in (attribute.columns[0].values or ()):
            return np.zeros(rows, dtype=np.bool_)
        star = np.flatnonzero(np.asarray(attribute.domain()[0], dtype=object) == SUPPRESSED)
        if not star.size:
            return np.zeros(rows, dtype=np.bool_)
        suppressed &= attribute.codes == star[0]
    return suppressed


def _wildcard_k(
    parts: Sequence[tuple[IntArray, int]], first: IntArray, rows: IntArray, members: Counts | None
) -> int | None:
    """Return the smallest number of records that agree with a record on all that is not missing in it.

    Only the record's own missing cells are wild: one that another record lacks makes no match there.
    Works on distinct tuples, once per pattern of missing cells. Records are rows, or persons where `members` counts
    them in each class.
    """
    sizes = rows if members is None else distinct(members)
    tuples = [(codes[first], size) for codes, size in parts]
    holes = np.array([codes < 0 for codes, _ in tuples])
    complete = sizes[~holes.any(axis=0)]
    if complete.size and complete.min() == sizes.min():  # no record gets fewer matches than its class has records
        return int(sizes.min())
    patterns, count = combined((hole.astype(np.int8), 2) for hole in holes if hole.any())
    if count > _MOST_PATTERNS:
        return None
    smallest = []
    for pattern, tuple_ in enumerate(any_row_of(patterns, count)):
        known = [part for part, hole in zip(tuples, holes[:, tuple_], strict=True) if not hole]
        alike = sizes
        if len(known) < len(tuples):
            ids, n_ids = combined(known or [(np.zeros(len(first), dtype=np.int8), 1)])
            merged = np.bincount(ids, weights=rows) if members is None else distinct(members.merged(ids, n_ids))
            alike = merged[ids]
        smallest.append(alike[patterns == pattern].min())
    return int(min(smallest))
