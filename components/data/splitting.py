"""Train and test rows, told apart by the values of the rows and the seed alone."""

import numpy as np
import pandas as pd

from components.data.order import canonical_order, value_ranks
from components.data.table import Split, Table
from components.randomness import stream
from schemas.faults import DataError, Fault


def split(table: Table, seed: int, purpose: str = "split", client: str = "") -> Split:
    """Hold out the share of rows that the schema's ``split`` asks for; with 0, all rows are train rows.

    The same multiset of rows in another order gives the same multiset on each side. All rows of a person (the
    schema's ``subject_id``) go to one side; a row without a subject id is a person of its own. With ``stratify`` every
    class of the target (of several targets: every combination of their classes) is held out by the same share, a person
    counting under the class of the first of their rows in canonical order.

    Parameters
    ----------
    table : Table
    seed : int
        The run's root seed.
    purpose : str, optional
        Name of the random stream: rows that were split before are split again by another one.
    client : str, optional
        The site whose rows they are: each draws from a stream of its own.

    Returns
    -------
    Split
        Both parts keep the input's order, index and dtypes.

    Raises
    ------
    DataError
        When one side would be empty.
    """
    frame, schema = table.frame, table.schema
    if schema.split.test == 0:
        return Split(train=table, test=Table(frame.iloc[:0], schema))
    order = canonical_order(frame)
    unit_of_row = units(frame, order, schema.subject_id)
    rows_in_unit = np.bincount(unit_of_row)
    if len(rows_in_unit) < 2:
        what = "row" if schema.subject_id is None else "person"
        raise DataError(
            Fault("dataset.split", f"{len(rows_in_unit)} {what} can't be split into train and test rows", "at least 2")
        )
    draw = stream(seed, purpose, client).permutation(len(rows_in_unit))
    strata = np.zeros(len(rows_in_unit), dtype=np.int64)
    if schema.split.stratify and schema.targets:
        first = np.full(len(rows_in_unit), len(frame))
        np.minimum.at(first, unit_of_row[order], np.arange(len(frame)))
        ranks = np.column_stack([value_ranks(frame[name]) for name in schema.targets])
        strata = np.unique(ranks, axis=0, return_inverse=True)[1].reshape(-1)[order][first]
    held_out = _held_out(draw, strata, rows_in_unit, schema.split.test)[unit_of_row]
    return Split(train=Table(frame[~held_out], schema), test=Table(frame[held_out], schema))


def units(frame: pd.DataFrame, order: np.ndarray, subject_id: str | None) -> np.ndarray:
    """Return each row's number of what is never parted, row or person, from 0 in canonical order.

    Parameters
    ----------
    frame : pandas.DataFrame, shape (n, d)
    order : ndarray of int, shape (n,)
        See `canonical_order`.
    subject_id : str or None
        Column that names the person; a row without a name is a person of its own.
    """
    position = np.empty(len(frame), dtype=np.int64)
    position[order] = np.arange(len(frame))
    if subject_id is None:
        return position
    ranks = value_ranks(frame[subject_id])
    nameless = frame[subject_id].isna().to_numpy()
    ranks[nameless] = len(frame) + position[nameless]
    return np.unique(ranks, return_inverse=True)[1]


def _held_out(draw: np.ndarray, strata: np.ndarray, rows: np.ndarray, share: float) -> np.ndarray:
    """Choose units for testing, in the drawn order, until each stratum's share of rows is best met.

    A unit is taken while that brings the number of rows held out, over this and all earlier strata, no farther from
    the share: rounding never adds up over strata.

    Parameters
    ----------
    draw : numpy.ndarray of int, shape (units,)
        Each unit's drawn number; smaller goes first.
    strata, rows : numpy.ndarray of int, shape (units,)
        Each unit's stratum, and how many rows it holds.
    share : float

    Returns
    -------
    numpy.ndarray of bool, shape (units,)
    """
    sequence = np.lexsort((draw, strata))
    groups, starts = np.unique(strata[sequence], return_index=True)
    totals = np.add.reduceat(rows[sequence], starts)
    goals = np.diff(np.rint(np.cumsum(totals) * share), prepend=0)
    group = np.repeat(np.arange(len(groups)), np.diff(starts, append=len(sequence)))
    running = np.cumsum(rows[sequence])
    before = running - rows[sequence] - (np.cumsum(totals) - totals)[group]
    chosen = np.zeros(len(rows), dtype=bool)
    # the middle of the unit's rows lies below the goal: with it the count is nearer to the goal than without it
    chosen[sequence] = before + rows[sequence] / 2 <= goals[group]
    if chosen.all() or not chosen.any():  # a share that rounds to nothing or all, or one person with most rows
        everything = bool(chosen.all())
        chosen[:] = everything
        chosen[np.argmin(draw)] = not everything
    return chosen
