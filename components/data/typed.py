"""Cells that a source stores as numbers, booleans or times: taken where they are of the declared dtype exactly.

As in `components.data.text`, what doesn't fit becomes null.
"""

import pyarrow as pa
import pyarrow.compute as pc

from components.data.text import midnights
from schemas.dataset import DType

EXACT = float(2**53)
"""Whole floats beyond this don't say which integer they were."""


def without_nan(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn NaN into null: a missing cell."""
    if not pa.types.is_floating(cells.type):
        return cells
    return pc.if_else(pc.is_nan(cells), pa.scalar(None, cells.type), cells)


def converted(cells: pa.ChunkedArray, dtype: DType, target: pa.DataType) -> pa.ChunkedArray:
    """Convert typed cells to the Arrow type that stands for a dtype.

    Whole floats and decimals are integers, integers are numbers, 0 and 1 are booleans, and times at midnight are dates;
    a number is never text, since leading zeros may be lost already.

    Parameters
    ----------
    cells : pyarrow.ChunkedArray, shape (n,)
    dtype : str
        The declared dtype.
    target : pyarrow.DataType

    Returns
    -------
    pyarrow.ChunkedArray of `target`, shape (n,)
    """
    kind = cells.type
    is_decimal = pa.types.is_decimal(kind)
    if dtype in {"integer", "number"} and (pa.types.is_integer(kind) or pa.types.is_floating(kind) or is_decimal):
        return _number(cells.cast(pa.float64()) if is_decimal else cells, dtype, target)
    if dtype == "boolean" and pa.types.is_boolean(kind):
        return cells
    if dtype == "boolean" and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        zero_or_one = pc.or_(pc.equal(cells, pa.scalar(0, kind)), pc.equal(cells, pa.scalar(1, kind)))
        return pc.if_else(zero_or_one, cells, pa.scalar(None, kind)).cast(pa.bool_())
    if dtype == "date" and pa.types.is_timestamp(kind) and kind.tz is None:
        return midnights(cells.cast(target, safe=False))
    if dtype in {"date", "datetime"} and pa.types.is_date(kind):
        return cells.cast(pa.timestamp("us")).cast(target)
    if dtype == "datetime" and pa.types.is_timestamp(kind):
        return cells.cast(target, safe=False)
    return pa.chunked_array([pa.nulls(len(cells), target)])


def _number(cells: pa.ChunkedArray, dtype: DType, target: pa.DataType) -> pa.ChunkedArray:
    nothing = pa.scalar(None, cells.type)
    if pa.types.is_integer(cells.type):
        if pa.types.is_uint64(cells.type):
            cells = pc.if_else(pc.less_equal(cells, pa.scalar(2**63 - 1, pa.uint64())), cells, nothing)
        return cells.cast(target, safe=dtype == "integer")
    fits = pc.is_finite(cells)
    if dtype == "integer":
        whole = pc.and_(pc.equal(pc.floor(cells), cells), pc.less_equal(pc.abs(cells), EXACT))
        fits = pc.and_(fits, whole)
    return pc.if_else(fits, cells, nothing).cast(target)
