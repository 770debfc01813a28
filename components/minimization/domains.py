"""The values that a column may take: declared by its schema, else as found in rows."""

from datetime import UTC, datetime, timedelta
from math import ceil, floor
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from components.minimization.columns import numbers_of, unfit
from components.minimization.declared import column_faults, number_faults
from schemas.dataset import TEMPORAL, TEXT_LIKE, Column
from schemas.faults import ConfigurationError, DataError, Fault

Kind = Literal["number", "ordered", "nominal"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = 86_400_000_000.0
"""Microseconds of a day."""

YES_NO = ("false", "true")
"""The values of a boolean column, by name."""


class Domain(NamedTuple):
    """Bounds of a number, dates and times in microseconds since 1970 UTC, or the values of another column."""

    kind: Kind
    low: float = 0.0
    high: float = 1.0
    values: tuple[str, ...] = ()
    learned: bool = False


def day_of(moments: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the beginning of the day, in UTC, of moments in microseconds since 1970; NaN stays."""
    return np.asarray(np.floor(np.asarray(moments, dtype=np.float64) / DAY) * DAY)


def domain_of(column: Column, rows: pd.DataFrame | None = None) -> Domain:
    """Return the domain of a column; what its schema leaves open is taken from rows.

    Raises
    ------
    ConfigurationError
        The schema leaves it open and there are no rows to take it from; or there are whole numbers beyond 2^53 in it,
        or none.
    DataError
        The rows hold nothing of the column.
    """
    if column.dtype == "boolean":
        return Domain("nominal", values=YES_NO)
    if column.dtype in TEXT_LIKE:
        values = tuple(column.values or ()) or tuple(sorted(map(str, _known(column, rows, "values").unique())))
        kind: Kind = "ordered" if column.dtype == "ordered" else "nominal"
        return Domain(kind, values=values, learned=not column.values)
    if wrong := list(column_faults(column)):
        raise ConfigurationError(wrong)
    bounds = [None if bound is None else _bound(column, bound) for bound in (column.min, column.max)]
    learned = None in bounds
    if learned:
        numbers = numbers_of(_known(column, rows, "bounds"), moments=column.dtype in TEMPORAL)
        extremes = float(numbers.min()), float(numbers.max())
        bounds = [extreme if bound is None else bound for bound, extreme in zip(bounds, extremes, strict=True)]
    low, high = (float(bound) for bound in bounds if bound is not None)
    if wrong := list(number_faults(column, (low, high))):
        raise ConfigurationError(wrong)
    if column.dtype == "integer":
        low, high = float(ceil(low)), float(floor(high))
    if column.dtype == "date":  # rows may hold times of day, and a domain of days does not
        low, high = float(day_of(low)), float(day_of(high))
    return Domain("number", low=low, high=high, learned=learned)


def moment_code(value: str) -> float:
    """Return a date or time in ISO 8601 as microseconds since 1970 UTC (one without a zone is taken as UTC)."""
    moment = datetime.fromisoformat(value)
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return float((aware - EPOCH) // timedelta(microseconds=1))


def _bound(column: Column, bound: Any) -> float:
    return moment_code(str(bound)) if column.dtype in TEMPORAL else float(bound)


def _known(column: Column, rows: pd.DataFrame | None, what: str) -> pd.Series:
    place = f"column '{column.name}'"
    if rows is None:
        keys = "values" if what == "values" else "min and .max"
        raise ConfigurationError(
            Fault(
                place, f"is to be minimised, but declares no {what}", remedy=f"set dataset.columns.{column.name}.{keys}"
            )
        )
    cells = rows[column.name].dropna() if column.name in rows.columns else None
    if cells is None or cells.empty:
        raise DataError(Fault(place, f"there is nothing to learn its {what} from", remedy="declare them"))
    if wanted := unfit(column, cells):
        raise DataError(Fault(place, f"holds {cells.dtype} cells", f"{wanted} are minimised here"))
    return cells
