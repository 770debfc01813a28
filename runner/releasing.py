"""Released tables on disk: written in an order that tells nothing, read back, and measured as they stand there."""

import csv
from collections.abc import Callable, Collection
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from components.anonymization import Measurement, Release, measure
from components.anonymization.publishing import with_cells
from components.data import Table, canonical_order, read
from components.data.declarations import Csv
from schemas.dataset import TEMPORAL, TEXT_LIKE, Column, DatasetSchema
from schemas.faults import DataError, Fault


@dataclass(frozen=True)
class Written:
    """A release on disk.

    Parameters
    ----------
    parquet, csv : Path
        The same rows in two formats.
    order : numpy.ndarray of int, shape (rows,)
        Position in the release of each row written.
    """

    parquet: Path
    csv: Path
    order: np.ndarray


def write_table(table: Table, path: Callable[[str], Path]) -> Written:
    """Write a released table as Parquet and CSV, rows in the order of their values.

    The order of the input could tell who stands where (a table sorted by name, say); and this way the same rows in
    another order give the same files.

    Parameters
    ----------
    table : Table
        What is published.
    path : callable
        Gives the place of a file of the run folder.
    """
    markers = table.schema.missing.markers
    if not markers and table.frame.isna().to_numpy().any():
        problem = "the release has missing cells, and no marker says how they are written"
        raise DataError(Fault("dataset.missing.markers", problem, "at least one marker", 'such as markers: [""]'))
    order = canonical_order(table.frame)
    frame = table.frame.iloc[order].reset_index(drop=True)
    written = Written(path("data/release.parquet"), path("data/release.csv"), order)
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), written.parquet)
    moments = [column for column in table.schema.columns if column.dtype in TEMPORAL]
    shown = with_cells(frame, {column.name: _written(frame[column.name], column) for column in moments})
    _refuse_unwritable(shown, table.schema)
    # A carriage return alone is quoted by no other rule.
    returns = any(shown[name].astype("string").str.contains("\r", regex=False).any() for name in _texts(table.schema))
    quoting: Literal[0, 1] = csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL
    shown.to_csv(written.csv, index=False, lineterminator="\n", na_rep=markers[0] if markers else "", quoting=quoting)
    return written


def _texts(schema: DatasetSchema) -> list[str]:
    return [column.name for column in schema.columns if column.dtype in TEXT_LIKE]


def _refuse_unwritable(shown: pd.DataFrame, schema: DatasetSchema) -> None:
    """Raise ``DataError`` where a number or date would be written just as a missing cell is."""
    markers = [marker for marker in schema.missing.markers if any(character.isdigit() for character in marker)]
    if not markers:
        return
    faults = []
    for name in set(shown.columns) - set(_texts(schema)):
        count = int((shown[name].astype("string").isin(markers) & shown[name].notna()).sum())
        if count:
            problem = f"{count} of {len(shown)} cells of the release would be written as a missing marker"
            faults.append(
                Fault(f"column {name!r}", problem, "markers that are no value", "change dataset.missing.markers")
            )
    if faults:
        raise DataError(faults)


def _written(moments: pd.Series, column: Column) -> pd.Series:
    """Return dates and times as the column's format says, else as ISO 8601."""
    if column.format is not None:
        pattern = column.format
    elif column.dtype == "date":
        pattern = "%Y-%m-%d"
    else:
        pattern = "%Y-%m-%dT%H:%M:%S.%f" + ("Z" if moments.dt.tz is not None else "")
    return pd.Series(moments.dt.strftime(pattern))


def refuse_identifiers(release: Release, train: Table, asked: Collection[str] = ()) -> None:
    """Raise ``DataError`` where a method released a column that names persons or was to be dropped.

    Parameters
    ----------
    release : Release
    train : Table
    asked : collection of str, optional
        Identifiers that the configuration asks for, masked or pseudonymised: those that hold no cell of the table.
    """
    schema = train.schema
    treated = {name for name in asked if not _shows(release.table.frame, train.frame, name)}
    hidden = {*schema.names("identifier", "drop"), schema.subject_id} - treated
    faults = [
        Fault(
            f"column {name!r}",
            f"the method {release.transformation.get('method', '')} would release it",
            "no identifier",
        )
        for name in release.table.frame.columns
        if name in hidden or name not in schema.names()
    ]
    if faults:
        raise DataError(faults)


def _shows(release: pd.DataFrame, table: pd.DataFrame, name: str) -> bool:
    """Tell whether a column of a release holds a cell of the same column of the table."""
    if name not in release.columns or name not in table.columns:
        return False
    known = table[name].dropna().astype("string").unique()
    return bool(release[name].dropna().astype("string").isin(known).any())


def measure_written(written: Written, release: Release, train: Table) -> Measurement:
    """Read a release back from disk, hold both files against what was to be written, and measure what is there.

    Parameters
    ----------
    written : Written
    release : Release
        What was written.
    train : Table
        The table that was anonymised: t-closeness compares with it, and where it names persons, k counts them.

    Raises
    ------
    RuntimeError
        A file does not hold the rows and cells of the release.
    """
    meant = release.table.frame.iloc[written.order].reset_index(drop=True)
    found = pq.read_table(written.parquet).to_pandas()
    source = Csv(path=written.csv.name, trim=False, normalize=False)
    try:
        strict = release.table.schema.model_copy(update={"undeclared": "refuse"})
        as_text = read(strict, source, written.csv.parent).table.frame
    except DataError:
        as_text = None
    if as_text is None or not (as_text.equals(meant) and found.equals(meant)):
        raise RuntimeError("the release on disk is not the release that was written")
    subject = train.schema.subject_id
    persons = None
    if subject is not None:
        places = train.frame.index.get_indexer(release.table.frame.index)  # a method may have left rows out
        persons = train.frame[subject].iloc[places[written.order]]
    return measure(
        found,
        release.table.schema,
        train.frame,
        persons=persons,
        requirements=release.requirements,
        fitting=None if release.fitting is None else release.fitting[written.order],
    )


def table_digest(table: Table) -> str:
    """Return the SHA-256 of a table's content; the order of its rows doesn't matter."""
    frame = table.frame.iloc[canonical_order(table.frame)]
    content = pa.Table.from_pandas(frame, preserve_index=False)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, content.schema) as stream:
        stream.write_table(content)
    return sha256(sink.getvalue()).hexdigest()
