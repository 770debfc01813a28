"""Whose rows are whose: named by a column, or drawn for a table that comes from one place.

A partition follows from the multiset of rows and the seed: the order of rows plays no part. All rows of a person (the
schema's ``subject_id``) are one client's where a partition is drawn; a column may put a person at several clients.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from components.classes.coding import IntArray
from components.data.order import canonical_order, value_ranks
from components.data.splitting import units
from components.data.table import Table
from components.federation.partitioning.by_column import clients_named
from components.federation.partitioning.declarations import STREAM, ByColumn, Partitioning, QuantitySkew
from components.federation.partitioning.drawn import Units, drawn
from components.randomness import stream
from schemas.wording import SHOWN, names

_FAR_OFF = 0.05
"""Share by which sizes may differ from those asked for before it is told."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Whose rows are whose.

    Parameters
    ----------
    names : tuple of str
        The clients. A column's values name them where it is the schema's client column, or where its values are
        declared or public; else they are numbered.
    client_of_row : ndarray of int, shape (n,)
        Place in `names`.
    digest : str
        SHA-256 of names and assignment, in canonical order of the rows.
    column : str
        The column that names the clients; empty where they are drawn.
    shared_persons : int
        Persons who have rows at several clients: their privacy losses add up.
    warnings : tuple of str
        What a user should know, without cell values.
    """

    names: tuple[str, ...]
    client_of_row: IntArray
    digest: str
    column: str = ""
    shared_persons: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def sizes(self) -> IntArray:
        """Rows of each client, shape (clients,)."""
        return np.bincount(self.client_of_row, minlength=len(self.names))


def partition(params: Partitioning, table: Table, seed: int) -> Partition:
    """Give every row to a client.

    Parameters
    ----------
    params : Partitioning
    table : Table
        Is not written to.
    seed : int
        The run's root seed.

    Raises
    ------
    ConfigurationError
        The column that is asked for is none of the table, or has too many or too few classes.
    DataError
        Rows name no client.
    """
    order = canonical_order(table.frame)
    column, told = "", list[str]()
    if isinstance(params, ByColumn):
        column, called, client_of_row = clients_named(params, table)
    else:
        unit_of_row = units(table.frame, order, table.schema.subject_id)
        found = Units.of(unit_of_row, order)
        clients = drawn(params, table, found, stream(seed, STREAM))
        client_of_row = clients[unit_of_row]
        called = params.names
    sizes = np.bincount(client_of_row, minlength=len(called))
    shared = _shared_persons(table, client_of_row)
    told += [*_scaled(params, sizes), *_odd_sizes(called, sizes)]
    if shared:
        told.append(f"{shared} persons have rows at several clients: their privacy losses add up")
    return Partition(called, client_of_row, _digest(called, client_of_row[order]), column, shared, tuple(told))


def _digest(called: Sequence[str], clients: IntArray) -> str:
    told = sha256("".join(f"{len(name)}:{name}," for name in called).encode())
    told.update(clients.astype("<i4").tobytes())
    return told.hexdigest()


def _shared_persons(table: Table, client_of_row: IntArray) -> int:
    """Count the persons who have rows at several clients."""
    subject = table.schema.subject_id
    if subject is None or subject not in table.frame.columns:
        return 0
    known = table.frame[subject].notna().to_numpy()
    persons = value_ranks(table.frame[subject])[known]
    clients = int(client_of_row.max(initial=0)) + 1
    at = np.unique(persons * clients + client_of_row[known]) // clients
    return int(np.count_nonzero(np.unique(at, return_counts=True)[1] > 1))


def _scaled(params: Partitioning, sizes: IntArray) -> list[str]:
    """Say that clients are larger or smaller than asked for, so that all rows are given out."""
    if not isinstance(params, QuantitySkew) or params.sizes != "geometric" or not len(sizes):
        return []
    off = max(abs(int(sizes.max()) / params.largest - 1), abs(int(sizes.min()) / params.smallest - 1))
    if off <= _FAR_OFF:
        return []
    asked = f"{params.smallest} to {params.largest}"
    return [f"clients have {sizes.min()} to {sizes.max()} rows, and not {asked}, since all rows are given out"]


def _odd_sizes(called: Sequence[str], sizes: IntArray) -> list[str]:
    """Name the clients that have no row, or one."""
    told = []
    for rows, what in ((0, "no row"), (1, "one row")):
        some = [called[place] for place in np.flatnonzero(sizes == rows).tolist()]
        if some:
            more = f" and {len(some) - SHOWN} more" if len(some) > SHOWN else ""
            have = "have" if len(some) > 1 else "has"
            told.append(f"{len(some)} of {len(called)} clients {have} {what}: {names(some[:SHOWN])}{more}")
    return told
