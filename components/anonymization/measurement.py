"""Measure a table as it stands: its classes, what they disclose, and how exposed its records are.

Nothing here knows how a table was made, so that a figure holds for any release, whoever made it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from components.anonymization.criteria.requirements import Reached, Requirement, bind
from components.anonymization.criteria.sensitive import Rows, rows_of
from components.anonymization.disclosure import FIGURES, Classes, Disclosure, disclosure_of
from components.anonymization.linkage import alike
from components.classes.coding import Attribute, IntArray, any_row_of, combined, encode
from components.classes.counts import Counts, distinct, tally
from components.classes.records import fully_suppressed, person_codes
from components.risk.release import ReleaseRisk, release_risk
from schemas.dataset import DatasetSchema

_MOST_PATTERNS = 64


@dataclass(frozen=True, slots=True)
class Measurement:
    """All that was measured on one table. A missing value is a value of its own, but in `k_wildcard`.

    Without any class (no rows, or all of them fully suppressed) every figure is 0.

    Parameters
    ----------
    rows : int
        Rows, fully suppressed ones among them.
    suppressed : int
        Fully suppressed rows, and those of the whole input table that were left out; they are in no class.
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
    criteria : tuple of Reached
        Every criterion that was asked for.
    k_linked : int or None
        Fewest persons whose rows are in the same set of classes, which is what k comes to where rows stay linked: where
        the table itself holds the subject id, plain or as a pseudonym. Fully suppressed rows are a class here; rows
        without an id are linked to nothing and left aside. Else None, as `linked_persons` and `linked_alone`.
    linked_persons : int or None
        Persons whom the table's own subject ids tell.
    linked_alone : int or None
        Those of them whose set of classes is nobody else's.
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
    criteria: tuple[Reached, ...] = ()
    k_linked: int | None = None
    linked_persons: int | None = None
    linked_alone: int | None = None

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
            ("sample_uniques", "", self.risk.sample_uniques),
            *((f"risk_above_{name}", "", share) for name, share in self.risk.above.items()),
            ("arirec", "", self.risk.arirec),
        ]
        if self.k_persons is not None:
            whole.append(("k_persons", "", self.k_persons))
        if self.k_wildcard is not None:
            whole.append(("k_wildcard", "", self.k_wildcard))
        if self.k_linked is not None and self.linked_persons and self.linked_alone is not None:
            whole += [("k_linked", "", self.k_linked), ("linked_alone", "", self.linked_alone / self.linked_persons)]
        columns = [(name, column, getattr(found, name)) for column, found in self.columns.items() for name in FIGURES]
        return [*whole, *(figure for figure in columns if figure[-1] is not None)]


def measure(
    frame: pd.DataFrame,
    schema: DatasetSchema,
    table_frame: pd.DataFrame | None = None,
    *,
    persons: npt.ArrayLike | None = None,
    requirements: Sequence[Requirement] = (),
    fitting: IntArray | None = None,
) -> Measurement:
    """Measure criteria and risk on a table as it stands.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table, released or raw. Is not written to.
    schema : DatasetSchema
        Its schema: the quasi-identifiers, sensitive columns and subject id that are columns of `frame` are used.
    table_frame : pandas.DataFrame, optional
        The whole input table, which t, beta and delta compare with, and of which `frame` may have left rows out;
        `frame` itself without it.
    persons : array_like, shape (n,), optional
        Who each row is about, for a release that no longer holds the subject id.
    requirements : sequence of Requirement, optional
        What was asked of the release. They are bound anew to `frame`: what they were bound to plays no part.
    fitting : ndarray of int, shape (n,), optional
        Persons of the population who fit what each row shows; k_map on a population table needs it.

    Returns
    -------
    Measurement
    """
    present = [column for column in schema.columns if column.name in frame.columns]
    quasi_identifiers = encode(frame, [column for column in present if column.role == "quasi_identifier"])
    return measure_classes(
        quasi_identifiers,
        frame,
        schema,
        table_frame,
        persons=persons,
        requirements=requirements,
        fitting=fitting,
    )


def measure_classes(  # noqa: PLR0913  # what `measure` takes, and what it does first
    quasi_identifiers: Sequence[Attribute],
    frame: pd.DataFrame,
    schema: DatasetSchema,
    table_frame: pd.DataFrame | None = None,
    *,
    persons: npt.ArrayLike | None = None,
    requirements: Sequence[Requirement] = (),
    fitting: IntArray | None = None,
) -> Measurement:
    """Do what `measure` does, with the quasi-identifiers of `frame` encoded already."""
    keep = np.flatnonzero(~fully_suppressed(quasi_identifiers, len(frame)))
    left_out = 0 if table_frame is None else max(len(table_frame) - len(frame), 0)
    suppressed = len(frame) - keep.size + left_out
    suppressed_share = suppressed / max(len(frame) + left_out, 1)
    if not keep.size:
        missed = tuple(requirement.reached(np.zeros(0)) for requirement in requirements)
        risk = release_risk(np.zeros(0, dtype=np.int64), suppressed_share, schema.risk_thresholds)
        return Measurement(len(frame), suppressed, 0, 0, 0, None, 0, {}, risk, missed)
    parts = [(one.codes if keep.size == len(frame) else one.codes[keep], one.size) for one in quasi_identifiers]
    parts = parts or [(np.zeros(keep.size, dtype=np.int8), 1)]  # without quasi-identifiers all rows are one class
    classes = Classes(*combined(parts), keep)
    sizes = np.bincount(classes.ids, minlength=classes.count)
    rows = rows_of(frame, schema, table_frame, persons, fitting)
    members = tally(classes.ids, rows.persons[0][keep], classes.count, rows.persons[1]) if rows.persons else None
    class_sizes = sizes if members is None else distinct(members).astype(np.int64)
    groups = _linked(frame, schema, rows if persons is None else None, classes)
    return Measurement(
        rows=len(frame),
        suppressed=suppressed,
        classes=classes.count,
        k=int(class_sizes.min()),
        k_rows=int(sizes.min()),
        k_persons=None if members is None else int(class_sizes.min()),
        k_wildcard=_wildcard_k(parts, any_row_of(classes.ids, classes.count), sizes, members),
        columns={name: disclosure_of(values, classes, rows.persons) for name, values in rows.values.items()},
        risk=release_risk(class_sizes, suppressed_share, schema.risk_thresholds),
        criteria=tuple(_reached(requirement, rows, classes) for requirement in requirements),
        k_linked=int(groups.min()) if groups.size else None,
        linked_persons=int(groups.sum()) if groups.size else None,
        linked_alone=int(np.count_nonzero(groups == 1)) if groups.size else None,
    )


def _linked(frame: pd.DataFrame, schema: DatasetSchema, rows: Rows | None, classes: Classes) -> IntArray:
    """Return how many persons share each set of classes, by the ids that the table itself holds; empty without any.

    `rows` has their codes where nobody else said whom the rows are about.
    """
    named = person_codes(frame, schema) if rows is None else rows.persons
    if named is None:
        return np.zeros(0, dtype=np.int64)
    of_row = np.full(len(frame), classes.count)  # fully suppressed rows are a class too
    of_row[classes.keep] = classes.ids
    known = named[0] > 0
    return alike(named[0][known] - 1, named[1] - 1, of_row[known], classes.count + 1)


def _reached(requirement: Requirement, rows: Rows, classes: Classes) -> Reached:
    """Measure a requirement on other rows than those that it is bound to."""
    if requirement.criterion is None:
        raise ValueError("a requirement without its criterion can't be bound to other rows")
    if requirement.name == "k_map" and rows.fitting is None and rows.each_stands_for is None:
        raise ValueError("k_map needs the persons of the population who fit each row")
    here = bind(requirement.criterion, requirement.column, rows, requirement.hierarchy)
    return here.reached(here.score(here.counts(classes.ids, classes.count, classes.keep)))


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
