"""From what a method decided on each cell to a release: put in place, measured as it stands, refused if it misses."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from components.anonymization.changes import cells_changed
from components.anonymization.criteria.faults import place_of
from components.anonymization.criteria.figures import figure_text, limit_text
from components.anonymization.criteria.requirements import Requirement
from components.anonymization.declarations import Method, Suppressing
from components.anonymization.identifiers import treated, warnings
from components.anonymization.measurement import Measurement, measure_classes
from components.anonymization.ranges import texts
from components.anonymization.release import Release
from components.anonymization.representatives import Published
from components.classes.coding import BoolArray, encode
from components.data.table import Table
from schemas.dataset import Column, DatasetSchema, released
from schemas.faults import DataError, Fault, GoalError
from schemas.hierarchy import SUPPRESSED


@dataclass(frozen=True, slots=True)
class Decided:
    """What a method decided on the cells of a table.

    Parameters
    ----------
    columns : sequence of Published
        The quasi-identifiers that were changed; others stay as they are.
    facts : dict
        How it was decided: JSON-able aggregates, no cell values. To the release's ``transformation`` `publish` adds the
        method, its parameters, and what it measures on the release: ``suppressed`` and ``cells_changed``.
    suppressed : ndarray of bool, shape (n,), optional
        Rows to suppress: `Suppressing.suppressed_rows` says whether they show ``*`` on every quasi-identifier or are
        left out.
    """

    columns: Sequence[Published]
    facts: dict[str, Any]
    suppressed: BoolArray | None = None


def publish(
    params: Method,
    table: Table,
    decided: Decided,
    requirements: Sequence[Requirement],
    before: Measurement,
    **handed_on: Any,
) -> Release:
    """Put the released cells in place, measure them, and never let out a table that misses what was asked of it.

    Parameters
    ----------
    params : Method
    table : Table
        The table that was anonymised. Is not written to.
    decided : Decided
    requirements : sequence of Requirement
        What the release must meet.
    before : Measurement
        Of `table`.
    **handed_on
        Further fields of `Release`. ``training`` is the released rows in the original domain unless it is given.

    Raises
    ------
    GoalError
        The release misses a requirement: an error of the method, told before anything is written.
    """
    gone = decided.suppressed if decided.suppressed is not None else np.zeros(len(table.frame), dtype=np.bool_)
    stays = np.ones_like(gone) if not _leaves_out(params) else ~gone
    identifiers = treated(params.identifiers, table)
    published = _published(table, decided.columns, identifiers, gone, stays)
    if "training" not in handed_on:
        same = not (gone.any() or identifiers or any(one.generalised for one in decided.columns))
        handed_on["training"] = published if same else _original_domain(table, decided.columns, gone)
    held = _rows(table, stays)
    shown = encode(published.frame, quasi_identifiers(published))
    after = measure_classes(
        shown,
        published.frame,
        published.schema,
        table.frame,
        persons=_persons(held),
        requirements=requirements,
        fitting=handed_on.get("fitting"),
    )
    refuse_mistakable(after.suppressed - int(np.count_nonzero(gone)), len(table.frame))
    refuse_missed(after, all_stars=bool(gone.any()) and _all_stars(published, after))
    facts = {
        "method": params.name,
        "parameters": params.model_dump(mode="json"),
        **decided.facts,
        "suppressed": after.suppressed,
        "cells_changed": cells_changed(shown, held.frame, table.schema),
    }
    return Release(
        table=published,
        transformation=facts,
        before=before,
        after=after,
        suppressed=after.suppressed,
        requirements=tuple(requirements),
        warnings=(*handed_on.pop("warnings", ()), *warnings(params.identifiers, identifiers)),
        **handed_on,
    )


def _leaves_out(params: Method) -> bool:
    """Tell whether suppressed rows are left out, and not shown as ``*``."""
    return isinstance(params, Suppressing) and params.suppressed_rows == "drop"


def _published(
    table: Table, columns: Sequence[Published], identifiers: Mapping[str, Any], gone: BoolArray, stays: BoolArray
) -> Table:
    """Put all released cells in place, ``*`` on every quasi-identifier of a suppressed row that stays."""
    shown = _starred(table, columns, gone) if (gone & stays).any() else columns
    cells = {one.column.name: one.cells for one in shown} | dict(identifiers)
    generalised = [one.column.name for one in shown if one.generalised]
    return _rows(_put(table, cells, generalised, identifiers), stays)


def _original_domain(table: Table, columns: Sequence[Published], gone: BoolArray) -> Table:
    """Return the rows that are not suppressed, as the released cells tell them in the columns' own domains."""
    return _rows(_put(table, {one.column.name: one.training for one in columns}), ~gone)


def _rows(table: Table, stays: BoolArray) -> Table:
    return table if stays.all() else Table(table.frame[stays], table.schema)


def _persons(table: Table) -> pd.Series | None:
    """Return whom each row is about, where the table says so."""
    subject = table.schema.subject_id
    return table.frame[subject] if subject in table.frame.columns else None


def refuse_mistakable(rows: int, of: int) -> None:
    """Raise ``DataError`` where rows that were not suppressed look as if they were: no figure would count them."""
    if rows > 0:
        raise DataError(
            Fault(
                place="table",
                problem=f"{rows} of {of} rows would show {SUPPRESSED} on every quasi-identifier, some of it their own "
                "value: nobody could tell them from suppressed rows",
                allowed=f"cells other than {SUPPRESSED}, which stands for what is suppressed",
                remedy=f"write these cells otherwise, or make {SUPPRESSED} a missing marker (dataset.missing.markers)",
            )
        )


def _all_stars(published: Table, after: Measurement) -> bool:
    """Tell whether every row shows nothing but ``*``."""
    if after.suppressed or after.classes != 1:
        return False
    return {str(published.frame[one.name].iloc[0]) for one in quasi_identifiers(published)} == {SUPPRESSED}


def refuse_missed(after: Measurement, *, all_stars: bool = False) -> None:
    """Raise ``GoalError`` where a measured table misses a criterion that was asked for.

    Parameters
    ----------
    after : Measurement
    all_stars : bool, optional
        Whether the rows that were not suppressed show nothing but ``*`` either, so that all are one class.
    """
    measured = f"all rows would show {SUPPRESSED} alone, one class that reaches " if all_stars else ""
    said = "" if all_stars else " was measured on the release"
    remedy = "nothing was published; please report this as an error of the method"
    if all_stars:
        remedy = f"lower suppression_limit, or make {SUPPRESSED} a missing marker (dataset.missing.markers)"
    faults = [
        Fault(
            place=place_of(one.name, one.column),
            problem=f"asks for {limit_text(one.asked)}; {measured}{figure_text(one.reached, one.asked)}{said}",
            remedy=remedy,
        )
        for one in after.criteria
        if not one.met
    ]
    if faults:
        raise GoalError(faults)


def quasi_identifiers(table: Table) -> list[Column]:
    """Return the quasi-identifiers that are columns of the frame, in declared order."""
    return [table.schema.column(name) for name in table.schema.quasi_identifiers if name in table.frame.columns]


def with_cells(frame: pd.DataFrame, cells: Mapping[str, Any]) -> pd.DataFrame:
    """Return a frame with arrays in some of its columns; neither is copied."""
    changed = frame.copy(deep=False)  # assign(**cells) would take a column called self for itself
    for name, array in cells.items():
        changed[name] = pd.Series(array, index=frame.index, copy=False)
    return changed


def _put(
    table: Table, cells: dict[str, Any], generalised: Sequence[str] = (), identifiers: Collection[str] = ()
) -> Table:
    schema = released(table.schema, generalised, identifiers)
    kept = table.frame[_released_names(table, schema)]
    return Table(with_cells(kept, _one_zero(table, cells) | cells), schema)


def _one_zero(table: Table, changed: Collection[str]) -> dict[str, Any]:
    """Return the quasi-identifiers that stay as they are but for -0.0: it equals 0.0, and a file would show which."""
    found = {}
    for column in quasi_identifiers(table):
        cells = table.frame[column.name].array
        if column.name not in changed and getattr(cells.dtype, "kind", "") == "f":
            values = np.asarray(cells)
            if (np.signbit(values) & (values == 0)).any():
                found[column.name] = cells + 0.0
    return found


def _released_names(table: Table, schema: DatasetSchema) -> list[str]:
    return [name for name in table.frame.columns if name in schema.names()]


def _starred(table: Table, columns: Sequence[Published], gone: BoolArray) -> list[Published]:
    """Show ``*`` on every quasi-identifier of a suppressed row; a column that holds one is text."""
    decided = {one.column.name: one for one in columns}
    shown = []
    for column in quasi_identifiers(table):
        one = decided.get(column.name)
        cells = table.frame[column.name] if one is None else one.cells
        labels = as_text(cells, column, text=one is not None and one.generalised)
        labels[gone] = SUPPRESSED
        shown.append(Published(column, pd.array(labels, dtype="string"), None, generalised=True))
    return shown


def as_text(cells: Any, column: Column, *, text: bool) -> Any:
    """Return cells as an array of text, None where missing."""
    series = pd.Series(cells)
    there = series.notna().to_numpy()
    labels = np.full(len(series), None, dtype=object)
    known = series[there]
    labels[there] = known.astype(object).to_numpy() if text else texts(known.array, column)
    return labels
