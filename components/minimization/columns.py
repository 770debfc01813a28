"""Cells of a table, read as numbers and written back in the dtype that they had."""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from components.data.features import floats, microseconds, positions_among
from schemas.dataset import TEMPORAL, TEXT_LIKE, Column

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]

NEITHER = -1
"""Place of a value that is none of those asked for."""

_INFERRED = {"number": {"integer", "floating", "mixed-integer-float"}, "boolean": {"boolean"}}
"""What pandas finds in a column of Python objects that may be read as numbers, or as booleans."""

_PLAIN = {"integer": ("int64", "Int64"), "number": ("float64", "float64"), "boolean": ("bool", "boolean")}
"""Dtype of columns without missing cells, and of nullable ones."""


def unfit(column: Column, cells: pd.Series) -> str:
    """Return what the cells of a column should have been, or nothing where they can be read.

    Cells that are all missing fit whatever the dtype: a form's one row may know of none.
    """
    if column.dtype in TEXT_LIKE:
        inner = cells.dtype.categories.dtype if isinstance(cells.dtype, pd.CategoricalDtype) else cells.dtype
        fits, wanted = isinstance(inner, pd.StringDtype) or pd.api.types.is_object_dtype(inner), "text"
    elif column.dtype in TEMPORAL:
        fits, wanted = pd.api.types.is_datetime64_any_dtype(cells.dtype), "dates or times"
    else:
        plain = pd.api.types.is_numeric_dtype(cells.dtype) and not pd.api.types.is_complex_dtype(cells.dtype)
        fits = plain or _of_objects(column, cells)
        wanted = "booleans" if column.dtype == "boolean" else "numbers"
    return "" if fits or cells.isna().all() else wanted


def numbers_of(cells: pd.Series, *, moments: bool) -> Floats:
    """Return a copy as float64, moments in microseconds since 1970 UTC, missing cells NaN."""
    if moments and not pd.api.types.is_datetime64_any_dtype(cells.dtype):
        return np.full(len(cells), np.nan)  # all missing, else they would not fit
    return microseconds(cells) if moments else floats(cells)


def truths(cells: pd.Series) -> Integers:
    """Return 0 of false, 1 of true, 2 of a missing cell, `NEITHER` of anything else."""
    numbers = cells.to_numpy(dtype=np.float64, na_value=2.0)
    known = (numbers == 0) | (numbers == 1) | ((numbers == 2) & cells.isna().to_numpy())
    return np.where(known, numbers, NEITHER).astype(np.int64)


def places_of(cells: pd.Series, values: tuple[str, ...]) -> Integers:
    """Return the place of each cell among `values`, their number where it is missing, `NEITHER` where it is none."""
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return _places_of(tuple(cells.cat.categories.tolist()), values)[cells.cat.codes]
    places = positions_among(cells, values).astype(np.int64)
    places[cells.isna().to_numpy()] = len(values)
    return places


def neither_0_nor_1(frame: pd.DataFrame) -> Truths:
    """Return for each cell whether it is anything else than 0, 1 or missing, shape (rows, columns)."""
    cells = _known(frame)
    return np.asarray((cells != 0) & (cells != 1))


def hot(frame: pd.DataFrame) -> Integers:
    """Return the place of the one column that is 1; their number where all are 0 or missing, else `NEITHER`."""
    cells = _known(frame)
    ones = cells == 1
    count = ones.sum(axis=1)
    places = np.where(count == 1, ones.argmax(axis=1), NEITHER).astype(np.int64)
    places[count == 0] = len(frame.columns)
    places[((cells != 0) & ~ones).any(axis=1)] = NEITHER
    return places


def blank(column: Column, index: pd.Index) -> pd.Series:
    """Return a column that holds nothing yet, in the dtype that tables of its schema have (see `components.data`)."""
    if column.values is not None and column.dtype in {"category", "ordered"}:
        dtype: Any = pd.CategoricalDtype(column.values, ordered=column.dtype == "ordered")
    elif column.dtype in TEXT_LIKE:
        dtype = "string"
    elif column.dtype in TEMPORAL:
        dtype = "datetime64[us]"
    else:
        dtype = _PLAIN[column.dtype][column.nullable]
    return pd.Series(0 if dtype in {"bool", "int64"} else None, index=index, dtype=dtype)


def moments_like(cells: pd.Series, numbers: Floats) -> pd.Series:
    """Return microseconds since 1970 UTC, NaN missing, in the dtype of `cells`; as times where that holds none."""
    absent = np.isnan(numbers)
    whole = np.where(absent, np.iinfo(np.int64).min, np.where(absent, 0, numbers)).astype(np.int64)
    naive = pd.Series(whole.view("datetime64[us]"), index=cells.index)
    if isinstance(cells.dtype, pd.DatetimeTZDtype):
        return naive.dt.tz_localize("UTC").astype(cells.dtype)
    return naive.astype(cells.dtype) if cells.dtype.kind in "MO" else naive


def values_like(cells: pd.Series, places: Integers, values: tuple[str, ...]) -> pd.Series:
    """Return values by place, -1 missing, in the dtype of `cells`.

    A categorical dtype with other categories than `values` (one made from the rows at hand) becomes that of `values`:
    it can hold each of them, and tells no category that was found in rows.
    """
    dtype = cells.dtype
    if not isinstance(dtype, pd.CategoricalDtype):
        names = pd.Series(np.array([*values, None], dtype=object)[places], index=cells.index, dtype=object)
        return names.astype(dtype) if dtype.kind == "O" else names
    where, same = _places_among(tuple(dtype.categories.tolist()), values)
    if not same:
        dtype = pd.CategoricalDtype(list(values), ordered=bool(dtype.ordered))
    held = pd.Categorical.from_codes(where[places], dtype=dtype, validate=False)  # each is a place among them, or -1
    return pd.Series(held, index=cells.index)


def truths_like(cells: pd.Series, places: Integers) -> pd.Series:
    """Return booleans by place (0 false, 1 true, -1 missing) in the dtype of `cells`."""
    if cells.dtype == object:
        return pd.Series(np.array([False, True, None], dtype=object)[places], index=cells.index, dtype=object)
    return numbers_like(cells, np.where(places < 0, np.nan, places))


def numbers_like(cells: pd.Series, numbers: npt.NDArray[Any]) -> pd.Series:
    """Return numbers, NaN missing, in the dtype of `cells`; in float64 where that holds whole numbers and these aren't.

    Whole numbers with missing cells in a dtype that has none become float64, too.
    """
    dtype, absent = cells.dtype, np.isnan(numbers)
    if isinstance(dtype, np.dtype) and dtype.kind in "iubf":
        with np.errstate(invalid="ignore"):
            held = numbers.astype(dtype)
        if dtype.kind == "f" or np.array_equal(held, numbers):
            return pd.Series(held, index=cells.index)
        return pd.Series(numbers, index=cells.index, dtype=np.float64)
    if dtype.kind in "iu" and not np.array_equal(numbers[~absent], np.rint(numbers[~absent])):
        return pd.Series(numbers, index=cells.index, dtype=np.float64)
    if not absent.any():
        return pd.Series(numbers, index=cells.index).astype(dtype)
    return pd.Series(pd.array(numbers, dtype="Float64"), index=cells.index).mask(absent).astype(dtype)


def _known(frame: pd.DataFrame) -> Floats:
    """Return one-hot columns as numbers, missing cells as 0."""
    return np.column_stack([frame[name].to_numpy(dtype=np.float64, na_value=0.0) for name in frame.columns])


@lru_cache(maxsize=256)
def _places_of(categories: tuple[Any, ...], values: tuple[str, ...]) -> Integers:
    """Return the place of each category among `values`, else `NEITHER`; at last, for code -1, that of missing cells."""
    places = pd.Index(values, dtype=object).get_indexer(pd.Index(categories, dtype=object))
    return np.append(places, len(values)).astype(np.int64)


@lru_cache(maxsize=256)
def _places_among(categories: tuple[Any, ...], values: tuple[str, ...]) -> tuple[Integers, bool]:
    """Return the code of each value in a categorical, at last that of a missing cell; and whether it holds no other.

    Where it does, or lacks one, the codes are those of a categorical of the values themselves.
    """
    same = set(categories) == set(values)
    places = pd.Index(categories if same else values, dtype=object).get_indexer(pd.Index(values, dtype=object))
    return np.append(places, -1).astype(np.int64), same


def _of_objects(column: Column, cells: pd.Series) -> bool:
    known = _INFERRED["boolean" if column.dtype == "boolean" else "number"]
    return bool(cells.dtype == object and pd.api.types.infer_dtype(cells, skipna=True) in known)
