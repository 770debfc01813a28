"""What no method can work on, told before any work."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from components.anonymization.climbing import climbed
from components.anonymization.declarations import Method
from components.anonymization.hierarchies.checks import check_coverage
from components.anonymization.publishing import quasi_identifiers
from components.anonymization.release import Given
from components.data.table import Table
from schemas.dataset import Column
from schemas.faults import ConfigurationError, DataError, Fault
from schemas.wording import listed


def refuse_nothing_to_do(table: Table) -> None:
    """Refuse a table without rows or without quasi-identifiers.

    Raises
    ------
    DataError
        There are no rows.
    ConfigurationError
        The schema has no quasi-identifier.
    """
    if not len(table.frame):
        raise DataError(Fault("table", "0 rows; k is undefined", remedy="check the source, the split and dropped rows"))
    if not quasi_identifiers(table):
        raise ConfigurationError(
            Fault("dataset.columns", "no quasi-identifier", remedy="give at least one column the role quasi_identifier")
        )


def refuse_uncovered(params: Method, table: Table, given: Given) -> None:
    """Refuse values that the hierarchies to be climbed lack.

    Raises
    ------
    DataError
        With every such column.
    """
    names = climbed(params, table.schema, given.base)
    check_coverage(table, {name: one for name, one in given.hierarchies.items() if name in names})


def refuse_missing_cells(table: Table, columns: Sequence[Column], place: str, instead: str) -> None:
    """Refuse missing cells, where a setting says so.

    Parameters
    ----------
    table : Table
    columns : sequence of Column
    place : str
        The setting.
    instead : str
        What it could say.

    Raises
    ------
    DataError
        With every column that has some.
    """
    # The index of a table that was read is the row in its source, which is what a reader looks up.
    index = table.frame.index
    places = index.to_numpy() if pd.api.types.is_integer_dtype(index.dtype) else np.arange(len(index))
    faults = []
    for column in columns:
        rows = (places[table.frame[column.name].isna().to_numpy()] + 1).tolist()
        if rows:
            faults.append(
                Fault(
                    place=f"column '{column.name}'",
                    problem=f"{len(rows)} of {len(index)} cells to release are missing ({listed(rows)})",
                    allowed=f"{place}=refuse allows none",
                    remedy=f"set {place} to {instead}, or drop these rows",
                    rows=tuple(rows),
                )
            )
    if faults:
        raise DataError(faults)
