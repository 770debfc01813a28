"""The door for rows that are no frame of the schema yet: arrays and tensors, and frames of other dtypes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from components.data.features import positions_among
from components.models.outputs import plain
from schemas.dataset import TEMPORAL, TEXT_LIKE, Column, DatasetSchema
from schemas.faults import DataError, Fault
from schemas.wording import shown

EXACT = 2.0**53
"""Whole floats beyond this don't say which integer they were."""


def as_frame(data: Any, names: Sequence[str] | None, schema: DatasetSchema) -> pd.DataFrame:
    """Return rows as a frame of the schema's columns and dtypes.

    Parameters
    ----------
    data : pandas.DataFrame, array-like or torch.Tensor, shape (rows, columns)
        Never written to. Cells of a category or an ordered column may be positions among its declared values, and those
        of a boolean one 0 and 1; NaN is a missing cell.
    names : sequence of str, optional
        Names of the columns; without them those of a frame, else the schema's features in their order.
    schema : DatasetSchema

    Returns
    -------
    pandas.DataFrame
        All features, and what else of the schema was given, in the schema's order. Dtypes are those of
        `components.data.Table`; a frame's index is kept.

    Raises
    ------
    DataError
        Shape or names don't fit, or cells are not of their column's kind; all told together, by count.
    """
    frame = _named(data, names, schema)
    faults = [
        Fault(f"column {shown(str(name))}", "the schema has no such column", "", "leave it out")
        for name in frame.columns
        if name not in schema.names()
    ]
    faults += [
        Fault(f"column {shown(name)}", "not among the columns given", "a model sees it")
        for name in schema.features
        if name not in frame.columns
    ]
    columns = {}
    for column in schema.columns:
        if column.name in frame.columns:
            try:
                columns[column.name] = _converted(frame[column.name], column)
            except DataError as error:
                faults += error.faults
    if faults:
        raise DataError(faults)
    return pd.DataFrame(columns)


def _named(data: Any, names: Sequence[str] | None, schema: DatasetSchema) -> pd.DataFrame:
    """Return a frame with unique names, its cells as they came."""
    listed = list(names) if names is not None else None
    if isinstance(data, pd.DataFrame):
        shape, listed = data.shape, list(data.columns) if listed is None else listed
    else:
        data = np.asarray(plain(data))
        shape, listed = data.shape, schema.features if listed is None else listed
    if len(shape) != 2 or shape[1] != len(listed):
        raise DataError(Fault("rows", f"have the shape {shape}", f"(rows, {len(listed)}), a column per name"))
    if len(set(listed)) != len(listed):
        raise DataError(Fault("rows", "two columns have one name"))
    return data.set_axis(listed, axis=1) if isinstance(data, pd.DataFrame) else pd.DataFrame(data, columns=listed)


def _converted(cells: pd.Series, column: Column) -> pd.Series:
    """Return cells in the dtype that stands for the column's."""
    if isinstance(cells.dtype, pd.CategoricalDtype):
        cells = cells.astype(cells.dtype.categories.dtype if len(cells.dtype.categories) else object)
    if cells.dtype == object:
        cells = cells.convert_dtypes()
    if cells.isna().all():
        return _empty(cells, column)
    if column.dtype in TEMPORAL:
        return _moments(cells, column)
    numeric = pd.api.types.is_numeric_dtype(cells.dtype)
    if column.dtype in TEXT_LIKE:
        return _from_positions(cells, column) if numeric else _texts(cells, column)
    if not numeric:
        raise _unfit(cells, column, "numbers")
    return _numbers(cells, column)


def _empty(cells: pd.Series, column: Column) -> pd.Series:
    """Return cells all of which are missing."""
    kinds = {"integer": "Int64", "number": "float64", "boolean": "boolean", **dict.fromkeys(TEMPORAL, "datetime64[us]")}
    _require_present(cells, column)
    return pd.Series(None, index=cells.index, dtype=kinds.get(column.dtype) or _category(column) or "str")


def _moments(cells: pd.Series, column: Column) -> pd.Series:
    if not pd.api.types.is_datetime64_any_dtype(cells.dtype):
        raise _unfit(cells, column, "dates or times (datetime64)")
    _require_present(cells, column)
    utc = cells.dt.tz_convert("UTC") if isinstance(cells.dtype, pd.DatetimeTZDtype) else cells
    moments: pd.Series = utc.dt.as_unit("us")
    return moments


def _from_positions(cells: pd.Series, column: Column) -> pd.Series:
    """Return the declared values that stand at given positions."""
    dtype = _category(column)
    if dtype is None:
        raise _unfit(cells, column, "texts, since it declares no values whose positions numbers could be")
    positions, missing = _whole(cells, column)
    outside = int(((positions < 0) | (positions >= len(dtype.categories)))[~missing].sum())
    if outside:
        raise _wrong(column, outside, len(cells), f"are positions of none of its {len(dtype.categories)} values")
    codes = np.where(missing, -1, positions)
    return pd.Series(pd.Categorical.from_codes(codes, dtype=dtype), index=cells.index)


def _texts(cells: pd.Series, column: Column) -> pd.Series:
    if not (isinstance(cells.dtype, pd.StringDtype) or pd.api.types.infer_dtype(cells, skipna=True) == "string"):
        raise _unfit(cells, column, "texts, or positions among its values")
    _require_present(cells, column)
    dtype = _category(column)
    if dtype is None:
        return cells.astype("str")
    codes = positions_among(cells, tuple(dtype.categories))
    if strangers := int(((codes < 0) & cells.notna().to_numpy()).sum()):
        raise _wrong(column, strangers, len(cells), "hold none of its declared values")
    return pd.Series(pd.Categorical.from_codes(codes, dtype=dtype), index=cells.index)


def _numbers(cells: pd.Series, column: Column) -> pd.Series:
    if column.dtype == "number":
        _require_present(cells, column)
        found = cells.astype("float64")
        if infinite := int(np.isinf(found).sum()):
            raise _wrong(column, infinite, len(cells), "are infinite")
        return found
    whole, missing = _whole(cells, column)
    if column.dtype == "boolean" and (odd := int((~np.isin(whole, (0, 1)) & ~missing).sum())):
        raise _wrong(column, odd, len(cells), "are neither 0 nor 1")
    found = pd.Series(whole, index=cells.index)
    if column.dtype == "integer":
        return found.astype("Int64").mask(missing) if column.nullable else found
    return found.astype("boolean").mask(missing) if column.nullable else found.astype("bool")


def _whole(cells: pd.Series, column: Column) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return cells as int64, 0 where they are missing, and which are missing."""
    _require_present(cells, column)
    missing = cells.isna().to_numpy()
    if not pd.api.types.is_float_dtype(cells.dtype):
        return cells.to_numpy(dtype=np.int64, na_value=0), missing
    numbers = np.where(missing, 0.0, cells.to_numpy(dtype=np.float64, na_value=np.nan))
    if odd := int(((numbers != np.floor(numbers)) | (np.abs(numbers) > EXACT)).sum()):
        raise _wrong(column, odd, len(cells), "are no whole numbers")
    return numbers.astype(np.int64), missing


def _require_present(cells: pd.Series, column: Column) -> None:
    missing = int(cells.isna().sum())
    if missing and not column.nullable:
        raise _wrong(column, missing, len(cells), "are missing; the schema allows none")


def _category(column: Column) -> pd.CategoricalDtype | None:
    """Return the dtype over declared values, where there are any; text stays text."""
    if column.values is None or column.dtype == "text":  # the schema's list, no frame
        return None
    return pd.CategoricalDtype(column.values, ordered=column.dtype == "ordered")


def _unfit(cells: pd.Series, column: Column, wanted: str) -> DataError:
    return DataError(Fault(f"column {shown(column.name)}", f"holds {cells.dtype} cells", f"it takes {wanted}"))


def _wrong(column: Column, count: int, rows: int, problem: str) -> DataError:
    return DataError(Fault(f"column {shown(column.name)}", f"{count} of {rows} cells {problem}"))
