"""The values that a column may take: declared by its schema, else as found in rows."""

from datetime import UTC, datetime, timedelta
from math import ceil, floor, isfinite
from typing import Any, Literal, NamedTuple

import pandas as pd

from components.minimization.columns import numbers_of, unfit
from schemas.dataset import TEMPORAL, TEXT_LIKE, Column
from schemas.faults import ConfigurationError, DataError, Fault

Kind = Literal["number", "ordered", "nominal"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
YES_NO = ("false", "true")
"""The values of a boolean column, by name."""

EXACT = 2.0**53
"""Whole numbers beyond this are not told apart by a float."""


class Domain(NamedTuple):
    """Bounds of a number, dates and times in microseconds since 1970 UTC, or the values of another column."""

    kind: Kind
    low: float = 0.0
    high: float = 1.0
    values: tuple[str, ...] = ()
    learned: bool = False


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
    bounds = [None if bound is None else _bound(column, bound) for bound in (column.min, column.max)]
    learned = None in bounds
    if learned:
        numbers = numbers_of(_known(column, rows, "bounds"), moments=column.dtype in TEMPORAL)
        extremes = float(numbers.min()), float(numbers.max())
        bounds = [extreme if bound is None else bound for bound, extreme in zip(bounds, extremes, strict=True)]
    low, high = (float(bound) for bound in bounds if bound is not None)
    if not isfinite(high - low):
        remedy = "narrow its bounds, or leave it out"
        raise ConfigurationError(Fault(f"column '{column.name}'", "its domain is infinite or too wide", remedy=remedy))
    if column.dtype == "integer":
        low, high = _whole(column, low, high)
    return Domain("number", low=low, high=high, learned=learned)


def moment_code(value: str) -> float:
    """Return a date or time in ISO 8601 as microseconds since 1970 UTC (one without a zone is taken as UTC)."""
    moment = datetime.fromisoformat(value)
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return float((aware - EPOCH) // timedelta(microseconds=1))


def _whole(column: Column, low: float, high: float) -> tuple[float, float]:
    place = f"column '{column.name}'"
    if max(abs(low), abs(high)) > EXACT:
        remedy = "narrow its bounds, or leave it out of minimization.columns"
        raise ConfigurationError(
            Fault(place, "its domain reaches beyond 2^53, where whole numbers merge", remedy=remedy)
        )
    low, high = float(ceil(low)), float(floor(high))
    if low > high:
        raise ConfigurationError(Fault(place, "there is no whole number between its min and max"))
    return low, high


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
