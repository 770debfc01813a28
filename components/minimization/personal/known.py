"""What the model knows of one person anyway, value by value, as cells that it can read."""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pandas as pd

from components.minimization.domains import moment_code
from components.minimization.problem import Ask
from components.models.interface import Model
from schemas.dataset import TEMPORAL, TEXT_LIKE
from schemas.faults import DataError, Fault

MOMENT = "datetime64[us]"
ISO = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?")
"""A date, or date and time, in ISO 8601 with its dashes: without them it could be any number's digits."""

_OF_KIND = {"one_hot": "string", "ordered": "string", "number": "float64", "moment": MOMENT}
_OF_DTYPE = {
    **dict.fromkeys(TEXT_LIKE, "string"),
    **dict.fromkeys(TEMPORAL, MOMENT),
    "integer": "Int64",
    "number": "float64",
    "boolean": "boolean",
}
"""Dtypes that hold a missing cell of each kind of column, of an encoder and of a schema."""


def known_cells(told: Mapping[str, Any], model: Ask | Model) -> dict[str, pd.Series]:
    """Return columns of one row that hold values as JSON has them.

    Parameters
    ----------
    told : mapping of str to any
        By column; None where it is not known. Dates and times are in ISO 8601, or moments of Python.
    model : Model or callable
        Its encoder, or its schema, says of what kind each column is. A callable has none, and there the values have to
        say it: text that is a date in ISO 8601 is one, and what is missing is of no kind.

    Raises
    ------
    DataError
        Text in place of a date or time is none.
    """
    dtypes = _dtypes(model)
    columns: dict[str, pd.Series] = {}
    faults: list[Fault] = []
    for name, value in told.items():
        try:
            columns[name] = _cell(value, dtypes.get(name))
        except (ValueError, TypeError, OverflowError):  # their messages hold the value
            faults.append(Fault(f"column '{name}'", "was told as what is no value of its kind"))
    if faults:
        raise DataError(faults)
    return columns


def _cell(value: Any, dtype: str | None) -> pd.Series:
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return pd.Series([None], dtype=dtype or object)
    by_value = dtype is None and (isinstance(value, date | np.datetime64) or _dated(value))
    if dtype == MOMENT or by_value:
        return _moment(value)
    return pd.Series([value])


def _dated(value: Any) -> bool:
    if not isinstance(value, str) or not ISO.fullmatch(value):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _moment(value: Any) -> pd.Series:
    """Return a moment as tables hold it: in UTC, without saying so."""
    if isinstance(value, str):
        return pd.Series(np.array([moment_code(value)], dtype=np.int64).view(MOMENT))
    if not isinstance(value, date | np.datetime64):
        raise TypeError("no moment")
    moment = pd.Timestamp(value)
    naive = moment if moment.tzinfo is None else moment.tz_convert(UTC).tz_localize(None)
    return pd.Series([naive], dtype=MOMENT)


def _dtypes(model: Ask | Model) -> dict[str, str]:
    """Return the dtype that holds a missing cell of each column that a model sees; nothing of what tells no kinds."""
    from components.models.encoded_model import EncodedModel
    from components.models.joint_model import JointModel
    from components.models.trained_model import TrainedModel

    if isinstance(model, JointModel):
        return {name: dtype for each in model.models for name, dtype in _dtypes(each).items()}
    if isinstance(model, EncodedModel):
        return {each.column: _OF_KIND[each.kind] for each in model.fitted.encoder.columns}
    if isinstance(model, TrainedModel):
        return {each.name: _OF_DTYPE[each.dtype] for each in model.schema.columns}
    return {}
