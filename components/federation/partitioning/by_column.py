"""Clients that a column names."""

from difflib import get_close_matches

import numpy as np
import pandas as pd

from components.classes.coding import IntArray
from components.data.order import value_ranks
from components.data.table import Table
from components.federation.partitioning.declarations import MOST_CLIENTS, ByColumn
from schemas.dataset import Column
from schemas.faults import ConfigurationError, DataError, Fault
from schemas.wording import listed, names, printable, shown

PLACE = "federation.clients"


def clients_named(params: ByColumn, table: Table) -> tuple[str, tuple[str, ...], IntArray]:
    r"""Return the column, the clients' names in the order of its values, and the client of each row.

    A line break in a name is written as ``\n``, and the like: names stand in messages, tables and records.

    Raises
    ------
    ConfigurationError
        There is no such column, or it names more clients than there may be.
    DataError
        Rows name no client.
    """
    column = column_of(params.column or table.schema.client, table, "dataset.client")
    cells = table.frame[column.name]
    refuse_missing(cells, column)
    clients = value_ranks(cells)
    first = np.unique(clients, return_index=True)[1]
    if len(first) > MOST_CLIENTS:
        raise ConfigurationError(
            Fault(
                place=f"{PLACE}.column",
                problem=f"{shown(column.name)} would name {len(first)} clients",
                allowed=f"at most {MOST_CLIENTS}",
                remedy="name a column of sites, or draw a partition",
            )
        )
    shown_as = tuple(printable(_text(cell)) for cell in cells.iloc[first])
    if _may_be_shown(column, table) and len(set(shown_as)) == len(shown_as):
        return column.name, shown_as, clients
    width = len(str(len(first)))
    return column.name, tuple(f"client {number:0{width}}" for number in range(1, len(first) + 1)), clients


def column_of(name: str | None, table: Table, otherwise: str) -> Column:
    """Return a column of the table by the name that a setting gives.

    Parameters
    ----------
    name : str or None
    table : Table
    otherwise : str
        The setting that is followed without a name.

    Raises
    ------
    ConfigurationError
        There is none.
    """
    known = [column.name for column in table.schema.used if column.name in table.frame.columns]
    if name is None:
        problem = f"is left open, and so is {otherwise}"
        raise ConfigurationError(
            Fault(f"{PLACE}.column", problem, "one of the two", f"name one of {names(known)}, or set {otherwise}")
        )
    if name not in known:
        near = get_close_matches(name, known, 1)
        remedy = f"did you mean {shown(near[0])}?" if near else "name one of them"
        problem = f"there is no column {shown(name)} in the table"
        raise ConfigurationError(Fault(f"{PLACE}.column", problem, f"one of {names(known)}", remedy))
    return table.schema.column(name)


def refuse_missing(cells: pd.Series, column: Column) -> None:
    """Raise ``DataError`` where rows name no client."""
    missing = np.flatnonzero(cells.isna().to_numpy())
    if not missing.size:
        return
    numbered = pd.api.types.is_integer_dtype(cells.index.dtype)
    rows = tuple(((cells.index.to_numpy()[missing] if numbered else missing) + 1).tolist())
    raise DataError(
        Fault(
            place=f"column {shown(column.name)}",
            problem=f"{len(rows)} of {len(cells)} rows name no client ({listed(rows)})",
            allowed="every row belongs to a client",
            remedy="fill these cells, or drop the rows (dataset.missing.rows)",
            rows=rows,
        )
    )


def _may_be_shown(column: Column, table: Table) -> bool:
    """Tell whether a column's values may name clients in records and messages: they are the schema's, or public."""
    declared = column.values is not None or column.dtype == "boolean"
    return column.name == table.schema.client or declared or column.public


def _text(cell: object) -> str:
    if isinstance(cell, pd.Timestamp):
        return cell.isoformat().removesuffix("T00:00:00")
    return str(cell).lower() if isinstance(cell, bool | np.bool_) else str(cell)
