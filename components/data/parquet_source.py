"""The `parquet` source: one Parquet file, its cells as typed as they are stored."""

from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from components.data.declarations import Parquet
from components.data.extract import Extract, Header, InputFact, cells_of
from components.data.files import facts, located, no_rows, unreadable
from schemas.faults import DataError, Fault


def read(params: Parquet, base: Path) -> Extract:
    """Read the whole file.

    Parameters
    ----------
    params : Parquet
    base : Path
        The folder that a relative path starts from.

    Raises
    ------
    DataError
        Nothing there, no Parquet file, damaged, or no rows.
    """
    path = located(params.path, base)
    try:
        size, digest = facts(path)
        with parquet.ParquetFile(path) as file:
            table = file.read()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _refused(params, error) from None
    if table.num_rows == 0:
        raise no_rows(f"file '{params.path}'")
    fact = InputFact(params.path, size, digest, table.num_rows, table.num_columns)
    names = tuple(table.column_names)
    return Extract(names, tuple(cells_of(column) for column in table.columns), table.num_rows, (fact,))


def header(params: Parquet, base: Path) -> Header:
    """Return names and row count from the file's metadata."""
    path = located(params.path, base)
    try:
        with parquet.ParquetFile(path) as file:
            names, rows = tuple(file.schema_arrow.names), file.metadata.num_rows
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _refused(params, error) from None
    if rows == 0:
        raise no_rows(f"file '{params.path}'")
    return Header(names, rows)


def _refused(params: Parquet, error: Exception) -> DataError:
    if isinstance(error, OSError) and error.errno is not None:
        return unreadable(params.path, error)
    return DataError(
        Fault(f"file '{params.path}'", "is no Parquet file, or a damaged one", "", "check dataset.source.name")
    )
