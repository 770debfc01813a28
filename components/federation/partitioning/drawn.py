"""Partitions that are drawn: what is dealt out are persons (or rows), group by group, by shares per client."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from components.classes.coding import FloatArray, IntArray
from components.data.order import value_ranks
from components.data.table import Table
from components.federation.partitioning.by_column import PLACE, column_of
from components.federation.partitioning.declarations import (
    Continuous,
    Dirichlet,
    Iid,
    Labelled,
    Pathological,
    QuantitySkew,
)
from schemas.dataset import NUMERIC, TEMPORAL
from schemas.faults import ConfigurationError, Fault


@dataclass(frozen=True, slots=True)
class Units:
    """What is dealt out whole: the rows of a person, or one row.

    Parameters
    ----------
    rows : ndarray of int, shape (units,)
        How many rows each has.
    first : ndarray of int, shape (units,)
        Position of the first of them in canonical order, which tells the class of all.
    """

    rows: IntArray
    first: IntArray

    @classmethod
    def of(cls, unit_of_row: IntArray, order: IntArray) -> Self:
        """Return the units of a table, given each row's and the canonical order."""
        rows = np.bincount(unit_of_row)
        place = np.full(rows.size, order.size)
        np.minimum.at(place, unit_of_row[order], np.arange(order.size))
        return cls(rows, order[place])


def drawn(
    params: Iid | Dirichlet | Pathological | QuantitySkew | Continuous,
    table: Table,
    units: Units,
    draws: np.random.Generator,
) -> IntArray:
    """Draw the client of each unit.

    Parameters
    ----------
    params : Partitioning
        Other than `ByColumn`.
    table : Table
    units : Units
        Of the table.
    draws : numpy.random.Generator

    Returns
    -------
    ndarray of int, shape (units,)

    Raises
    ------
    ConfigurationError
        The column that is asked for is none of the table, or has too many or too few classes.
    """
    chance = draws.random(units.rows.size)
    alike = np.zeros(units.rows.size, dtype=np.int64)
    if isinstance(params, Labelled):
        classes = _classes(params, table)[units.first]
        classes = np.unique(classes, return_inverse=True)[1]
        count = int(classes.max(initial=-1)) + 1
        if isinstance(params, Dirichlet):
            return dealt(units.rows, classes, chance, draws.dirichlet(np.full(params.clients, params.alpha), count))
        return dealt(units.rows, classes, chance, _few_classes(params, count, draws))
    if isinstance(params, QuantitySkew):
        return dealt(units.rows, alike, chance, _sizes(params, draws)[np.newaxis])
    if isinstance(params, Continuous):
        column = column_of(params.column or next(iter(table.schema.targets), None), table, "dataset.target")
        rank = np.argsort(np.lexsort((chance, value_ranks(table.frame[column.name])[units.first]))) / max(
            len(chance), 1
        )
        chance = params.strictness * rank + (1 - params.strictness) * chance
    return dealt(units.rows, alike, chance, np.ones((1, params.clients)))


def dealt(rows: IntArray, group: IntArray, key: FloatArray, shares: FloatArray) -> IntArray:
    """Deal units out to clients, so that each gets its share of every group's rows.

    A unit goes where the middle of its rows lies: without persons no client is off its share by a row.

    Parameters
    ----------
    rows, group : ndarray of int, shape (units,)
        Rows of each unit, and its group.
    key : ndarray of float, shape (units,)
        The order within a group.
    shares : ndarray of float, shape (groups, clients)
        What each client gets of each group; rows need not sum to 1.

    Returns
    -------
    ndarray of int, shape (units,)
        The client of each.
    """
    order = np.lexsort((key, group))
    of_group = np.bincount(group, weights=rows, minlength=len(shares))
    before = np.cumsum(of_group) - of_group
    middle = np.cumsum(rows[order]) - rows[order] / 2 - before[group[order]]
    bounds = np.cumsum(shares, axis=1)
    bounds /= bounds[:, -1:]
    ends = (bounds + np.arange(len(shares))[:, np.newaxis]).reshape(-1)
    places = np.searchsorted(ends, group[order] + middle / of_group[group[order]], side="right")
    clients = np.empty(len(rows), dtype=np.int64)
    clients[order] = places - group[order] * shares.shape[1]
    return clients


def _classes(params: Labelled, table: Table) -> IntArray:
    """Return the class of each row: the value of a category, or the quantile bin of a number; missing is a class."""
    name = params.column or next(iter(table.schema.targets), None)
    column = column_of(name, table, "dataset.target")
    ranks = value_ranks(table.frame[column.name])
    if column.dtype not in NUMERIC | TEMPORAL:
        return ranks
    missing = table.frame[column.name].isna().to_numpy()
    counts = np.bincount(ranks[~missing])
    if counts.size <= params.bins:
        return ranks
    of_value = (np.cumsum(counts) - counts) * params.bins // counts.sum()  # equal values stay together
    return np.asarray(np.append(of_value, params.bins)[np.minimum(ranks, counts.size)], dtype=np.int64)


def _few_classes(params: Pathological, count: int, draws: np.random.Generator) -> FloatArray:
    """Return whose each class is: in a drawn order they are dealt out, over and over, to clients in a drawn order."""
    places = params.clients * params.classes
    if not params.classes <= count <= places:
        some = f"each of {params.clients} clients is to have {params.classes} of {count} classes"
        raise ConfigurationError(
            Fault(
                place=f"{PLACE}.classes",
                problem=some if count < params.classes else f"{some}: there would be classes that no client has",
                allowed=f"{-(-count // params.clients)} to {count} classes a client",
                remedy="name one of these numbers, or change the number of clients",
            )
        )
    holders = np.repeat(draws.permutation(params.clients), params.classes)
    shares = np.zeros((count, params.clients))
    shares[draws.permutation(count)[np.arange(places) % count], holders] = 1
    return shares


def _sizes(params: QuantitySkew, draws: np.random.Generator) -> FloatArray:
    """Return what each client gets, smallest first where sizes are geometric."""
    if params.sizes == "dirichlet":
        return draws.dirichlet(np.full(params.clients, params.alpha))
    return np.geomspace(params.smallest, params.largest, params.clients)
