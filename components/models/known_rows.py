"""Rows that are known, found again by what their key columns hold: typed, exact and in any order."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from components.data.features import microseconds
from schemas.dataset import TEMPORAL, TEXT_LIKE, Column
from schemas.faults import DataError, Fault
from schemas.wording import shown

Positions = npt.NDArray[np.int64]

UNKNOWN = -1


class KnownRows:
    """Finds rows among known ones.

    Text is compared as text (``01001`` is not ``1001``), numbers and times by value, and a missing cell equals a
    missing cell.

    Parameters
    ----------
    frame : pandas.DataFrame
        The known rows; holds at least the key columns.
    key : sequence of Column
        Columns that tell rows apart, at least one.

    Attributes
    ----------
    groups : numpy.ndarray of int64, shape (rows,)
        Which known rows have equal keys: 0, 1, ...
    count : int
        How many different keys there are.
    """

    def __init__(self, frame: pd.DataFrame, key: Sequence[Column]) -> None:
        _require(frame, key)
        self.key = tuple(key)
        self._values: list[pd.Index] = []
        self._steps: list[Positions] = []
        self.groups: Positions = np.zeros(len(frame), dtype=np.int64)
        for column in self.key:
            codes, found = _distinct(frame[column.name], column)
            again, values = pd.factorize(found)
            codes = np.append(again, len(values))[codes]  # the last code is that of missing cells
            self._values.append(pd.Index(values))
            together = self.groups * (len(values) + 1) + codes
            step, self.groups = np.unique(together, return_inverse=True)
            self._steps.append(step)
        self.count = len(self._steps[-1])

    def find(self, frame: pd.DataFrame) -> Positions:
        """Return each row's group among the known rows.

        Parameters
        ----------
        frame : pandas.DataFrame
            Holds at least the key columns.

        Returns
        -------
        numpy.ndarray of int64, shape (rows,)
            As in `groups`; -1 for a row whose key is not known.

        Raises
        ------
        DataError
            Key columns are absent, or hold cells of another kind.
        """
        _require(frame, self.key)
        groups: Positions = np.zeros(len(frame), dtype=np.int64)
        known: npt.NDArray[np.bool_] = np.ones(len(frame), dtype=bool)
        for column, values, step in zip(self.key, self._values, self._steps, strict=True):
            codes, found = _distinct(frame[column.name], column)
            codes = np.append(values.get_indexer(found), len(values))[codes]
            known &= codes != UNKNOWN
            together = groups * (len(values) + 1) + codes
            groups = np.searchsorted(step, together)
            known &= np.append(step, UNKNOWN)[groups] == together  # one beyond the last is found nowhere
            groups[~known] = 0
        groups[~known] = UNKNOWN
        return groups


def _require(frame: pd.DataFrame, key: Sequence[Column]) -> None:
    absent = [column.name for column in key if column.name not in frame.columns]
    if absent:
        raise DataError(
            [
                Fault(f"column {shown(name)}", "not in the table", "the stored predictions are looked up by it")
                for name in absent
            ]
        )


def _distinct(cells: pd.Series, column: Column) -> tuple[Positions, pd.Index]:
    """Return codes (-1 where a cell is missing), and the distinct values in a form that compares across dtypes."""
    codes, found = pd.factorize(cells, use_na_sentinel=True)
    values = pd.Index(found)
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(values.dtype.categories.dtype)
    kinds = pd.api.types
    if column.dtype in TEXT_LIKE:
        fits = values.empty or kinds.is_string_dtype(values.dtype)
        values = values.astype("str") if fits else values
    elif column.dtype in TEMPORAL:
        fits = values.empty or kinds.is_datetime64_any_dtype(values.dtype)
        values = pd.Index(microseconds(values.to_series()) if fits and len(values) else np.empty(0))
    else:
        fits = values.empty or kinds.is_numeric_dtype(values.dtype)
        values = values.astype("float64" if kinds.is_float_dtype(values.dtype) else "int64") if fits else values
    if not fits:
        raise DataError(
            Fault(f"column {shown(column.name)}", f"holds {cells.dtype} cells", f"{column.dtype} cells, as declared")
        )
    return codes.astype(np.int64), values
