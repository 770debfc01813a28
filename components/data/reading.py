"""Read a source, apply the schema, and say everything that is wrong in one pass."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from components.data.convert import Converted, convert
from components.data.declarations import SourceDeclaration
from components.data.extract import Cells, Extract, Header, InputFact
from components.data.files import NO_ROWS
from components.data.headers import column_faults, doubled, header_faults, tidied, undeclared
from components.data.table import Table
from components.data.text import Rules, cleaned, without_missing
from components.registry import load
from schemas.dataset import DatasetSchema
from schemas.faults import DataError, Fault
from schemas.findings import Check, Failure
from schemas.table import checks_made, failures, faults
from schemas.wording import shown

IDENTIFYING_SHARE = 0.95
IDENTIFYING_ROWS = 20


@dataclass(frozen=True)
class Reading:
    """A table that satisfies its schema, and what the record says about how it came to be.

    Parameters
    ----------
    table : Table
        Used columns in the schema's order. The index is the row's position in the source, from 0.
    inputs : tuple of InputFact
    missing : dict of str to dict of str to int
        For each used column, how many cells were missing by each marker.
    dropped_columns : dict of str to str
        Columns of the source that were left out, with the reason.
    dropped_rows : dict of str to int
        Rows that were left out, by reason.
    checks : tuple of Check
    notes : tuple of str
        Warnings without values.
    """

    table: Table
    inputs: tuple[InputFact, ...]
    missing: dict[str, dict[str, int]]
    dropped_columns: dict[str, str]
    dropped_rows: dict[str, int]
    checks: tuple[Check, ...]
    notes: tuple[str, ...]


class UnfitTableError(DataError):
    """A table was read, and does not satisfy its schema.

    Parameters
    ----------
    faults : iterable of Fault
    inputs : tuple of InputFact
        What was read.
    failures : tuple of Failure
        The cells behind the faults, column by column and check by check; positions count from 0.
    """

    def __init__(
        self, faults: Iterable[Fault], inputs: tuple[InputFact, ...] = (), failures: tuple[Failure, ...] = ()
    ) -> None:
        super().__init__(faults)
        self.inputs = inputs
        self.failures = failures


def header(schema: DatasetSchema, source: SourceDeclaration, base: Path) -> Header:
    """Return a source's tidied column names and its row count, as cheaply as the source can tell.

    What of the schema's columns is there or not is left to `components.data.headers.column_faults`.

    Raises
    ------
    DataError
        When the source can't be read, has no rows, no header of this schema, or one header twice.
    """
    if source.heading:
        found: Header = load(source.heading)(source, base)
    else:
        extract: Extract = load(source.component)(source, base)
        found = Header(extract.names, extract.rows)
    names = _tidied(found.names, source)
    if wrong := _header_faults(schema, names, source) or doubled(names):
        raise DataError(wrong)
    return Header(names, found.rows)


def read(schema: DatasetSchema, source: SourceDeclaration, base: Path) -> Reading:
    """Read a table and hold it against its schema.

    Parameters
    ----------
    schema : DatasetSchema
    source : SourceDeclaration
        Such as `components.data.declarations.Csv`.
    base : Path
        The folder that relative paths start from.

    Returns
    -------
    Reading

    Raises
    ------
    UnfitTableError
        With all that was found: columns that are missing, doubled or without a role; cells that don't convert, are
        missing where they may not be, not allowed, out of bounds or not unique, each with its data rows (from 1 below
        the header); no rows.
    DataError
        The source can't be read as a table of this schema at all.
    """
    extract: Extract = load(source.component)(source, base)
    names = _tidied(extract.names, source)
    if wrong := _header_faults(schema, names, source):
        raise DataError(wrong)
    rules = _rules(schema, source)
    loose = undeclared(schema, names)
    identifying = [name for name in loose if _identifying(extract.columns[names.index(name)], rules)]
    found = column_faults(schema, names, identifying=identifying)
    present = schema.model_copy(update={"columns": [column for column in schema.columns if column.name in names]})
    columns = {
        column.name: convert(extract.columns[names.index(column.name)], column, rules) for column in present.used
    }
    unfit: list[Failure] = []
    if columns:
        frame, dropped_rows = _frame(present, columns, extract.rows)
        unfit = _failures(frame, present, columns)
        found += faults(unfit, present, np.arange(1, extract.rows + 1))
    if not found and frame.empty:
        left_out = f"{extract.rows} rows were left out for missing cells"
        found = [Fault(_place(source), NO_ROWS, left_out, "keep some rows")]
    if found:
        raise UnfitTableError(found, extract.inputs, tuple(unfit))
    return Reading(
        table=Table(frame, schema),
        inputs=extract.inputs,
        missing={name: column.markers for name, column in columns.items()},
        dropped_columns=_dropped_columns(schema, names, loose),
        dropped_rows=dropped_rows,
        checks=checks_made(frame, schema),
        notes=_notes(columns, loose, identifying),
    )


def _place(source: SourceDeclaration) -> str:
    return f"file '{source.path}'" if hasattr(source, "path") else "dataset.source"


def _header_faults(schema: DatasetSchema, names: tuple[str, ...], source: SourceDeclaration) -> list[Fault]:
    return header_faults(schema, names, _place(source), getattr(source, "delimiter", ","))


def _tidied(names: tuple[str, ...], source: SourceDeclaration) -> tuple[str, ...]:
    return tidied(names, trim=getattr(source, "trim", False), normalize=getattr(source, "normalize", True))


def _rules(schema: DatasetSchema, source: SourceDeclaration) -> Rules:
    return Rules(
        trim=getattr(source, "trim", False),
        normalize=getattr(source, "normalize", True),
        has_marks=hasattr(source, "decimal"),
        decimal=getattr(source, "decimal", "."),
        thousands=getattr(source, "thousands", None),
        markers=tuple(schema.missing.markers),
    )


def _frame(schema: DatasetSchema, columns: Mapping[str, Converted], rows: int) -> tuple[pd.DataFrame, dict[str, int]]:
    """Put the columns together, without the rows that ``missing.rows: drop`` leaves out, counted by reason.

    A row counts under the first column, in the schema's order, that it misses a cell in.
    """
    dropped: dict[str, int] = {}
    keep = np.ones(rows, dtype=bool)
    if schema.missing.rows == "drop":
        for column in schema.used:
            missing = columns[column.name].missing
            if column.role != "identifier" and (count := int((keep & missing).sum())):
                dropped[f"missing: {column.name}"] = count
                keep &= ~missing
    frame = pd.DataFrame({name: column.series for name, column in columns.items()})
    if dropped:
        frame = frame[keep]
        whole = [column for column in schema.used if not column.nullable and not frame[column.name].hasnans]
        plain = {"integer": "int64", "boolean": "bool"}
        frame = frame.astype({column.name: plain[column.dtype] for column in whole if column.dtype in plain})
    return frame, dropped


def _failures(frame: pd.DataFrame, schema: DatasetSchema, columns: Mapping[str, Converted]) -> list[Failure]:
    """Return what conversion, the look for missing cells, and pandera found: each cell once, in the schema's order."""
    positions = frame.index.to_numpy()
    found = [failure for column in columns.values() for failure in column.failures]
    for column in schema.used:
        missing = positions[columns[column.name].missing[positions]]
        if len(missing) and (not column.nullable or column.name in schema.targets):
            found.append(Failure(column.name, "missing", missing, len(frame)))
    found += [
        replace(failure, positions=positions[failure.positions]) for failure in failures(frame, _relaxed(schema, frame))
    ]
    order = {name: at for at, name in enumerate(columns)}
    return sorted(found, key=lambda failure: order[failure.column])


def _relaxed(schema: DatasetSchema, frame: pd.DataFrame) -> DatasetSchema:
    """Return the schema with every column nullable that has holes: missing and failed cells are told already."""
    columns = [
        column.model_copy(update={"nullable": column.nullable or frame[column.name].hasnans}) for column in schema.used
    ]
    return schema.model_copy(update={"columns": columns})


def _identifying(cells: Cells, rules: Rules) -> bool:
    """Whether nearly every cell differs, in a column of text or whole numbers."""
    if cells.text is not None:
        values, _ = without_missing(cleaned(cells.text, rules), rules)
        if pc.all(pc.match_substring_regex(values, r"^[+-]?\d*[.,]\d+$")).as_py():
            return False  # measurements differ as well, and say less
    else:
        values = cells.typed
        if values is None or not pa.types.is_integer(values.type):
            return False
    present = len(values) - values.null_count
    distinct = pc.count_distinct(values, mode="only_valid").as_py()
    return bool(present >= IDENTIFYING_ROWS and distinct > IDENTIFYING_SHARE * present)


def _dropped_columns(schema: DatasetSchema, names: tuple[str, ...], loose: dict[str, str]) -> dict[str, str]:
    roles = {column.name: column.role for column in schema.columns}
    return {name: loose.get(name, "role drop") for name in names if name in loose or roles.get(name) == "drop"}


def _notes(columns: Mapping[str, Converted], loose: dict[str, str], identifying: list[str]) -> tuple[str, ...]:
    notes = [note for column in columns.values() for note in column.notes]
    for name, reason in loose.items():
        likely = ", and is likely an identifier: nearly every value differs" if name in identifying else ""
        notes.append(f"column {shown(name)} {reason} and was left out (dataset.undeclared=drop){likely}")
    return tuple(notes)
