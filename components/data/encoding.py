"""One encoder, built from the schema: the same input space for every site, split and release.

Nothing is taken from the data unless a column declares neither its values nor its bounds and rows to learn from
are handed in; what was learned that way is listed in `Encoder.learned`, since the encoder then holds facts of rows.
"""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Self

import numpy as np
import pandas as pd
from pydantic import Field, ValidationError

from components.data.features import ColumnEncoding, Features, Kind, floats, microseconds
from schemas.base import Contract
from schemas.dataset import NUMERIC, TEMPORAL, TEXT_LIKE, Column, DatasetSchema
from schemas.faults import ConfigurationError, DataError, Fault

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

LEARNED_VALUES_LIMIT = 1000
"""Most values of one column that are learned; beyond it the column is free text, not a category."""


class Encoder(Contract):
    """Turns frames into features, in the order of `columns`.

    It reads and writes itself as JSON (``model_dump_json``, ``Encoder.from_json``).

    Parameters
    ----------
    columns : tuple of ColumnEncoding
        What becomes of each column.
    """

    columns: tuple[ColumnEncoding, ...] = Field(min_length=1)

    @classmethod
    def from_schema(cls, schema: DatasetSchema, columns: Iterable[str], learn_from: pd.DataFrame | None = None) -> Self:
        """Build the encoder of some columns of a schema.

        Parameters
        ----------
        schema : DatasetSchema
            Declares values, order and bounds.
        columns : iterable of str
            Names of the columns to encode, in the order wanted.
        learn_from : pandas.DataFrame, optional
            Train rows that undeclared values and bounds are taken from. Without it they are faults.

        Returns
        -------
        Encoder

        Raises
        ------
        ConfigurationError
            A column isn't in the schema, or declares too little and there is nothing to learn from.
        DataError
            The rows to learn from hold nothing of a column, or too many values of it.
        """
        names = list(columns)
        unknown = [name for name in names if name not in schema.names()]
        if unknown or not names:
            raise ConfigurationError(
                [Fault(f"column '{name}'", "the schema has no such column") for name in unknown]
                or [Fault("dataset.columns", "no column is left for a model to see")]
            )
        undeclared = [column for column in map(schema.column, names) if lacks(column)]
        if undeclared and learn_from is None:
            raise ConfigurationError(map(_undeclared, undeclared))
        learned: dict[str, ColumnEncoding] = {}
        if learn_from is not None:
            learned = _learn(undeclared, learn_from)
        return cls(
            columns=tuple(learned[name] if name in learned else _declared(schema.column(name)) for name in names)
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read an encoder back from the JSON of ``model_dump_json``; `DataError` when it is none."""
        try:
            return cls.model_validate_json(text)
        except ValidationError:
            raise DataError(Fault("encoder.json", "not the description of an encoder", remedy="train again")) from None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the features, such as ``age``, ``sex=F``, ``sex?other``, ``income?missing``."""
        return tuple(name for column in self.columns for name in column.names)

    @property
    def learned(self) -> tuple[str, ...]:
        """Names of the columns whose values or bounds come from rows."""
        return tuple(column.column for column in self.columns if column.learned)

    def transform(self, frame: pd.DataFrame) -> Features:
        """Encode rows.

        Parameters
        ----------
        frame : pandas.DataFrame
            Holds at least the encoder's columns; others are ignored. It is never written to.

        Returns
        -------
        numpy.ndarray of float32, shape (rows, len(names)), C-contiguous
            Every feature in [0, 1].

        Raises
        ------
        DataError
            Columns are absent, of another kind, or have missing cells although they are not nullable.
        """
        faults: list[Fault] = []
        out = np.zeros((len(frame), len(self.names)), dtype=np.float32)
        start = 0
        for column in self.columns:
            end = start + len(column.names)
            fault = _encode(column, frame, out[:, start:end])
            faults += [fault] if fault else []
            start = end
        if faults:
            raise DataError(faults)
        return out


def lacks(column: Column) -> str:
    """Say what a column declares too little of to be encoded: ``"values"``, ``"bounds"`` or nothing.

    The columns of a one-hot group are 0 or 1 as they are, and need no bounds.
    """
    if column.dtype in TEXT_LIKE:
        return "" if column.values else "values"  # a list of the schema, no frame
    if column.dtype == "boolean" or (column.group is not None and column.dtype in NUMERIC):
        return ""
    return "" if _bound(column, column.min) is not None and _bound(column, column.max) is not None else "bounds"


def _encode(column: ColumnEncoding, frame: pd.DataFrame, out: Features) -> Fault | None:
    place = f"column '{column.column}'"
    if column.column not in frame.columns:
        return Fault(place, "not in the table", "the encoder needs it", "read the table with the schema of the model")
    cells = frame[column.column]
    wanted = column.unfit(cells.dtype)
    if wanted:
        return Fault(place, f"holds {cells.dtype} cells", f"the encoder takes {wanted} here")
    missing = column.fill(cells, out)
    if missing and not column.nullable:
        return Fault(
            place,
            f"{missing} of {len(cells)} cells are missing",
            "the schema allows none",
            "declare it nullable, or drop these rows",
        )
    return None


def _declared(column: Column) -> ColumnEncoding:
    """Return the encoding that the schema alone decides."""
    if column.values:  # a list of the schema, no frame
        kind: Kind = "ordered" if column.dtype == "ordered" else "one_hot"
        return ColumnEncoding(column=column.name, kind=kind, values=tuple(column.values), nullable=column.nullable)
    low, high = _bound(column, column.min), _bound(column, column.max)
    return ColumnEncoding(
        column=column.name,
        kind="moment" if column.dtype in TEMPORAL else "number",
        low=0 if low is None else low,
        high=1 if high is None else high,
        nullable=column.nullable,
    )


def _learn(columns: Collection[Column], rows: pd.DataFrame) -> dict[str, ColumnEncoding]:
    """Take from rows what the schema leaves open; a bound that it declares is kept."""
    faults: list[Fault] = []
    found: dict[str, ColumnEncoding] = {}
    for column in columns:
        place = f"column '{column.name}'"
        cells = rows[column.name].dropna() if column.name in rows.columns else None
        if cells is None or cells.empty:
            faults.append(Fault(place, "there is nothing to learn its values or bounds from", remedy="declare them"))
        elif column.dtype in TEXT_LIKE:
            values = sorted(map(str, cells.unique()))
            if len(values) > LEARNED_VALUES_LIMIT:
                faults.append(
                    Fault(
                        place,
                        f"has {len(values)} values among the train rows",
                        f"at most {LEARNED_VALUES_LIMIT} are learned",
                        "give it the role drop, or declare its values",
                    )
                )
            found[column.name] = ColumnEncoding(
                column=column.name, kind="one_hot", values=tuple(values), nullable=column.nullable, learned=True
            )
        else:
            found[column.name] = _learned_bounds(column, cells)
    if faults:
        raise DataError(faults)
    return found


def _learned_bounds(column: Column, cells: pd.Series) -> ColumnEncoding:
    numbers = microseconds(cells) if column.dtype in TEMPORAL else floats(cells)
    low, high = _bound(column, column.min), _bound(column, column.max)
    return ColumnEncoding(
        column=column.name,
        kind="moment" if column.dtype in TEMPORAL else "number",
        low=float(numbers.min()) if low is None else low,
        high=float(numbers.max()) if high is None else high,
        nullable=column.nullable,
        learned=True,
    )


def _bound(column: Column, bound: float | str | None) -> float | None:
    """Return a declared bound as a number (dates and times: microseconds since 1970 UTC), None where there is none."""
    if bound is None:
        return None
    if column.dtype in TEMPORAL:
        moment = datetime.fromisoformat(str(bound))
        aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
        return (aware - EPOCH) // timedelta(microseconds=1)
    return None if isinstance(bound, str) else bound


def _undeclared(column: Column) -> Fault:
    what = lacks(column)
    keys = f"dataset.columns.{column.name}." + ("values" if what == "values" else "min and .max")
    return Fault(
        f"column '{column.name}'",
        f"a model sees it, but it declares no {what}",
        "the encoder is built from the schema alone",
        f"set {keys}, or encoder.learn=true (the model file then holds facts of rows)",
    )
