"""Sites: what each client holds, checked and split by itself."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from components.data.order import canonical_order
from components.data.splitting import split, units
from components.data.table import Table
from components.federation.partitioning.partition import Partition
from schemas.faults import DataError, Fault
from schemas.table import failures, faults
from schemas.wording import shown


@dataclass(frozen=True, slots=True)
class Site:
    """One client's own rows; they never leave it.

    Parameters
    ----------
    name : str
    train, test : Table
        What it trains on, and what it judges by. An empty client has neither.
    warnings : tuple of str
        What a user should know, without cell values.
    """

    name: str
    train: Table
    test: Table
    warnings: tuple[str, ...] = ()


def sites(table: Table, partition: Partition, seed: int) -> tuple[Site, ...]:
    """Give each client its rows; each checks them against the schema and splits them by a random stream of its own.

    A client whose rows can't be split keeps all of them for training, which is told.

    Parameters
    ----------
    table : Table
        Is not written to.
    partition : Partition
        Of `table`.
    seed : int
        The run's root seed.

    Returns
    -------
    tuple of Site
        In the order of ``partition.names``. What a client gets depends on its own rows, its name and the seed alone.

    Raises
    ------
    DataError
        Rows break the schema; with the faults of all clients.
    """
    order = np.argsort(partition.client_of_row, kind="stable")
    ends = np.concatenate([[0], np.cumsum(partition.sizes)])
    own = [Table(table.frame.iloc[order[low:high]], table.schema) for low, high in pairwise(ends)]
    _refuse_unfit(partition.names, own)
    return tuple(_split(name, rows, seed) for name, rows in zip(partition.names, own, strict=True))


def of_client(name: str, fault: Fault) -> Fault:
    """Say at which client something is wrong."""
    return replace(fault, place=f"client {shown(name)}, {fault.place}")


def _refuse_unfit(names: Sequence[str], own: Sequence[Table]) -> None:
    found = []
    for name, table in zip(names, own, strict=True):
        if unfit := failures(table.frame, table.schema):
            numbered = np.issubdtype(table.frame.index.dtype, np.integer)  # type: ignore[arg-type]
            rows = (table.frame.index.to_numpy() if numbered else np.arange(len(table.frame))) + 1
            found += [of_client(name, fault) for fault in faults(unfit, table.schema, rows)]
    if found:
        raise DataError(found)


def _split(name: str, table: Table, seed: int) -> Site:
    frame, schema = table.frame, table.schema
    parts = int(units(frame, canonical_order(frame), schema.subject_id).max(initial=-1)) + 1
    if schema.split.test == 0 or parts > 1:
        halves = split(table, seed, client=name)
        return Site(name, halves.train, halves.test)
    empty = Table(frame.iloc[:0], schema)
    what = "persons" if schema.subject_id is not None else "rows"
    told = "has no rows" if not parts else f"has too few {what} to be split: all its rows are train rows"
    return Site(name, table, empty, (f"client {shown(name)} {told}",))
