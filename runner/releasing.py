"""Released tables on disk: written in an order that tells nothing, read back, and measured as they stand there."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from components.anonymization import Measurement, Release, measure
from components.data import Table, canonical_order
from schemas.dataset import TEMPORAL, Column


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
    order = canonical_order(table.frame)
    frame = table.frame.iloc[order].reset_index(drop=True)
    written = Written(path("data/release.parquet"), path("data/release.csv"), order)
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), written.parquet)
    moments = [column for column in table.schema.columns if column.dtype in TEMPORAL]
    shown = frame.assign(**{column.name: _written(frame[column.name], column) for column in moments})
    markers = table.schema.missing.markers  # where there are none, no cell is missing
    shown.to_csv(written.csv, index=False, lineterminator="\n", na_rep=markers[0] if markers else "")
    return written


def _written(moments: pd.Series, column: Column) -> pd.Series:
    """Return dates and times as the column's format says, else as ISO 8601."""
    if column.format is not None:
        pattern = column.format
    elif column.dtype == "date":
        pattern = "%Y-%m-%d"
    else:
        pattern = "%Y-%m-%dT%H:%M:%S.%f" + ("Z" if moments.dt.tz is not None else "")
    return pd.Series(moments.dt.strftime(pattern))


def measure_written(written: Written, release: Release, train: Table) -> Measurement:
    """Measure a release as it stands on disk.

    Parameters
    ----------
    written : Written
    release : Release
        What was written, for its schema.
    train : Table
        The table that was anonymised: t-closeness compares with it, and where it names persons, k counts them.
    """
    subject = train.schema.subject_id
    persons = None if subject is None else train.frame[subject].iloc[written.order]
    return measure(pq.read_table(written.parquet).to_pandas(), release.table.schema, train.frame, persons=persons)


def table_digest(table: Table) -> str:
    """Return the SHA-256 of a table's content; the order of its rows doesn't matter."""
    frame = table.frame.iloc[canonical_order(table.frame)]
    content = pa.Table.from_pandas(frame, preserve_index=False)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, content.schema) as stream:
        stream.write_table(content)
    return sha256(sink.getvalue()).hexdigest()
