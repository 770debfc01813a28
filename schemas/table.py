"""From a dataset's schema to pandera's, and from pandera's findings to faults without cell values."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pandera.pandas as pa
from pandera.errors import SchemaError, SchemaErrors

from schemas.dataset import TEMPORAL, Column, DatasetSchema
from schemas.faults import DataError, Fault
from schemas.findings import Check, Failure, fault_of


def pandera_schema(schema: DatasetSchema) -> pa.DataFrameSchema:
    """Build the pandera schema of a table: its used columns, in order, and no other.

    Parameters
    ----------
    schema : DatasetSchema

    Returns
    -------
    pandera.pandas.DataFrameSchema
        Each column carries dtype, nullability, uniqueness, allowed values and bounds as checks, and role, unit,
        ``special_category`` and ``public`` as metadata. Nothing is coerced. Validate with ``lazy=True``.
    """
    return pa.DataFrameSchema(
        {column.name: _pandera_column(column) for column in schema.used},
        name=schema.name,
        strict=True,
        ordered=True,
        coerce=False,
        metadata={"target": schema.target, "task": schema.task, "client": schema.client},
    )


def _pandera_column(column: Column) -> pa.Column:
    return pa.Column(
        _dtype(column),
        checks=_checks(column),
        nullable=column.nullable,
        unique=column.unique,
        report_duplicates="all",
        title=column.name,
        description=column.description or None,
        metadata={
            "role": column.role,
            "unit": column.unit,
            "group": column.group,
            "special_category": column.special_category,
            "public": column.public,
        },
    )


def _dtype(column: Column) -> Any:
    """Return the pandas dtype of a column; None for times, whose zone (none or UTC) the source decides."""
    if column.dtype in {"category", "ordered"} and column.values is not None:  # the schema's list, no frame
        return pd.CategoricalDtype(column.values, ordered=column.dtype == "ordered")
    dtypes = {
        "integer": "Int64" if column.nullable else "int64",
        "number": "float64",
        "boolean": "boolean" if column.nullable else "bool",
        "date": "datetime64[us]",
        "datetime": None,
    }
    return dtypes.get(column.dtype, "string")


def _checks(column: Column) -> list[pa.Check]:
    checks = [pa.Check(lambda cells: _has_dtype(cells, column), name="dtype")]
    if column.values is not None and _dtype(column) == "string":
        checks.append(pa.Check.isin(column.values, name="values"))
    if column.dtype == "number":
        checks.append(pa.Check(np.isfinite, name="finite"))
    if column.min is not None:
        checks.append(_bound(column, "min", column.min, lambda cells, bound: cells >= bound))
    if column.max is not None:
        checks.append(_bound(column, "max", column.max, lambda cells, bound: cells <= bound))
    return checks


def _has_dtype(cells: pd.Series, column: Column) -> bool:
    """Compare dtypes exactly: pandera takes Int64 for int64, and objects for strings."""
    if column.dtype == "datetime":
        return str(cells.dtype) in {"datetime64[us]", "datetime64[us, UTC]"}
    wanted = _dtype(column)
    if wanted == "string":  # of any storage; pandas takes its NaN-based str for equal
        return isinstance(cells.dtype, pd.StringDtype) and cells.dtype.na_value is pd.NA
    return bool(cells.dtype == wanted)


def _bound(column: Column, name: str, bound: float | str, holds: Callable[[Any, Any], Any]) -> pa.Check:
    if column.dtype not in TEMPORAL:
        return pa.Check(lambda cells: holds(cells, bound), name=name)
    moment = pd.Timestamp(bound)
    moment = moment.tz_localize("UTC") if moment.tzinfo is None else moment.tz_convert("UTC")

    def check(cells: pd.Series) -> Any:
        return holds(cells, moment if cells.dt.tz is not None else moment.tz_localize(None))

    return pa.Check(check, name=name)


def failures(frame: pd.DataFrame, schema: DatasetSchema) -> list[Failure]:
    """Check a frame against a schema and return everything found.

    Parameters
    ----------
    frame : pandas.DataFrame
    schema : DatasetSchema

    Returns
    -------
    list of Failure
        By pandera, lazily: all checks of all columns. Empty when the frame fits.
    """
    try:
        pandera_schema(schema).validate(frame.reset_index(drop=True), lazy=True)
    except SchemaErrors as found:
        every = [failure for error in found.schema_errors for failure in _translated(error, frame)]
    else:
        return []
    wrong = {failure.column for failure in every if failure.check == "dtype"}
    told: dict[tuple[str, str], Failure] = {}
    for failure in every:  # the dtype is checked twice, and other checks may stumble over a wrong one
        if failure.column not in wrong or failure.check in {"dtype", "missing", "unique"}:
            told.setdefault((failure.column, failure.check), failure)
    return list(told.values())


_REASONS = {
    "SERIES_CONTAINS_NULLS": "missing",
    "SERIES_CONTAINS_DUPLICATES": "unique",
    "WRONG_DATATYPE": "dtype",
    "COLUMN_NOT_IN_DATAFRAME": "absent",
    "COLUMN_NOT_IN_SCHEMA": "unexpected",
    "COLUMN_NOT_ORDERED": "order",
}


def _translated(error: SchemaError, frame: pd.DataFrame) -> list[Failure]:
    """Turn one of pandera's errors into failures, leaving its message, which quotes cells, behind."""
    reason = error.reason_code.name if error.reason_code is not None else ""
    check = _REASONS.get(reason) or str(getattr(error.check, "name", None) or "check")
    cases = error.failure_cases
    if check in {"absent", "unexpected", "order"}:
        names = cases["failure_case"] if isinstance(cases, pd.DataFrame) else [cases]
        return [Failure(str(name), check, np.empty(0, dtype=np.int64), len(frame)) for name in names]
    name = str(error.schema.name)
    where = pd.to_numeric(cases["index"]).dropna() if isinstance(cases, pd.DataFrame) else pd.Series(dtype="int64")
    positions = np.sort(where.to_numpy(dtype=np.int64))
    if check == "unique" and len(positions) == 0:  # pandera met several blanks, which are no value that occurs twice
        return []
    tokens = () if check == "missing" else most_frequent(frame[name].iloc[positions])
    checked = len(frame) if check == "missing" else int(frame[name].notna().sum())
    return [Failure(name, check, positions, checked, tokens)]


def most_frequent(cells: pd.Series) -> tuple[str, ...]:
    """Return the five most frequent cells as Python writes them."""
    counts = cells.value_counts(sort=False).sort_values(ascending=False, kind="stable")
    return tuple(repr(str(cell)) for cell in counts[counts > 0].index[:5])


def validate(frame: pd.DataFrame, schema: DatasetSchema, *, what: str = "table") -> tuple[Check, ...]:
    """Hold a frame against its schema, on the way in or (with `schemas.dataset.released`) on the way out.

    Parameters
    ----------
    frame : pandas.DataFrame
        Dtypes as in `components.data.table.Table`.
    schema : DatasetSchema
    what : str, optional
        Begins each message, such as ``"released table"``.

    Returns
    -------
    tuple of Check
        Every check that was made, all without failures.

    Raises
    ------
    DataError
        With one fault for each column and check that fails; no fault's sentence holds a cell value unless the column
        is ``public``.
    """
    found = failures(frame, schema)
    if found:
        rows = np.arange(1, len(frame) + 1)
        raise DataError(faults(found, schema, rows, place=f"{what}, "))
    return checks_made(frame, schema)


def faults(found: list[Failure], schema: DatasetSchema, rows: np.ndarray, *, place: str = "") -> list[Fault]:
    """Word failures as faults.

    Parameters
    ----------
    found : list of Failure
    schema : DatasetSchema
    rows : numpy.ndarray of int
        The number that each position has in messages.
    place : str, optional
        Begins each fault's place.
    """
    known = {column.name: column for column in schema.columns}
    return [
        fault_of(
            failure,
            known.get(failure.column),
            rows,
            place=place,
            is_target=failure.column in schema.targets,
        )
        for failure in found
    ]


def checks_made(frame: pd.DataFrame, schema: DatasetSchema) -> tuple[Check, ...]:
    """List the checks that a frame without failures has passed."""
    made = []
    for column in schema.used:
        present = int(frame[column.name].notna().sum())
        names = [check.name for check in _checks(column)]
        names += ["values"] if isinstance(_dtype(column), pd.CategoricalDtype) else []
        names += ["unique"] if column.unique else []
        made += [Check(str(name), column.name, present, 0) for name in names]
        made += [] if column.nullable else [Check("missing", column.name, len(frame), 0)]
    return tuple(made)
