"""The attributes that can be minimised, and their cells as numbers.

Numbers, dates and ordered values become floats that keep their order, missing cells minus infinity, below them all.
Other values become their place in the domain, missing cells the place after the last. A value outside the domain is no
code: numbers and dates count as the nearer bound, other values as the attribute's default, so that no raw value passes;
not even of what is collected exactly, of which all other cells stay as they are. One-hot columns with several ones hold
no such value: they count as the default too, but stay where their group is collected exactly.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from components.minimization.columns import (
    Truths,
    hot,
    moments_like,
    neither_0_nor_1,
    numbers_like,
    numbers_of,
    places_of,
    truths,
    truths_like,
    unfit,
    values_like,
)
from components.minimization.declared import group_faults
from components.minimization.domains import EPOCH, YES_NO, Kind, day_of, domain_of, moment_code
from schemas.dataset import TEMPORAL, Column, DatasetSchema
from schemas.faults import ConfigurationError, DataError, Fault

Outside = Literal["default", "refuse"]
"""What becomes of values outside the domain: they count as the nearer bound (numbers and dates) or the default (other
values), or are refused; and of rows in no cell: they get defaults, or are refused."""

Codes = npt.NDArray[Any]
"""float64 of a number or ordered attribute, int64 of a nominal one; shape (rows,)."""

BELOW = -np.inf
"""Code of a missing cell of a number or ordered attribute."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column, or the one-hot columns of one group, with its domain.

    Parameters
    ----------
    name : str
        The column, or the group.
    columns : tuple of Column
        The columns that hold it.
    kind : {"number", "ordered", "nominal"}
        What may be done with its values: measured, compared, or only told apart.
    low, high : float
        Bounds of a number's domain; dates and times in microseconds since 1970 UTC.
    values : tuple of str
        Domain of an ordered or nominal attribute; of a group the names of its columns.
    learned : bool
        The domain comes from rows.
    """

    name: str
    columns: tuple[Column, ...]
    kind: Kind
    low: float = 0.0
    high: float = 1.0
    values: tuple[str, ...] = ()
    learned: bool = False

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.columns]

    @property
    def dtype(self) -> str:
        """Dtype of the columns in the schema."""
        return self.columns[0].dtype

    @property
    def whole(self) -> bool:
        """Whether a number's values are whole."""
        return self.dtype == "integer"

    @property
    def grouped(self) -> bool:
        """Whether it is a group of one-hot columns."""
        return len(self.columns) > 1

    @property
    def missing(self) -> float:
        """Code of a missing cell."""
        return float(len(self.values)) if self.kind == "nominal" else BELOW

    def misfits(self, frame: pd.DataFrame) -> list[Fault]:
        """Return what keeps the attribute from being read in a frame: columns absent, there twice, or of another kind.

        Parameters
        ----------
        frame : pandas.DataFrame

        Returns
        -------
        list of Fault
        """
        faults = []
        for column in self.columns:
            place, there = f"column '{column.name}'", int((frame.columns == column.name).sum())
            if there != 1:
                faults.append(Fault(place, "not in the table" if there == 0 else "stands twice in the table"))
            elif wanted := unfit(column, frame[column.name]):
                faults.append(Fault(place, f"holds {frame[column.name].dtype} cells", f"{wanted} are minimised here"))
        return faults

    def encode(self, frame: pd.DataFrame, default: float) -> tuple[Codes, int]:
        """Return the code of each row, and how many rows hold a value outside the domain.

        Parameters
        ----------
        frame : pandas.DataFrame
            Holds the attribute's columns, without `misfits`.
        default : float
            Code that values outside the domain of an ordered or nominal attribute get; numbers get the nearer bound.

        Returns
        -------
        codes : ndarray, shape (rows,)
        outside : int
        """
        codes, strange = self._read(frame, default)
        return codes, int(np.count_nonzero(strange))

    def bounded(self, frame: pd.DataFrame, codes: Codes) -> dict[str, pd.Series]:
        """Return the columns with cells outside the domain as `codes` have them, and all others as they are.

        That keeps huge numbers and nanoseconds whole, and rows of a group that have several ones, or none.
        """
        inside = ~self._read(frame, 0.0)[1]
        if self.grouped:
            inside = ~np.asarray(neither_0_nor_1(frame[self.names]).any(axis=1))
        new = self.cells(codes, frame)
        return {
            name: frame[name].where(inside, cells) if cells.dtype == frame[name].dtype else cells
            for name, cells in new.items()
        }

    def _read(self, frame: pd.DataFrame, default: float) -> tuple[Codes, Truths]:
        """Return the code of each row, and which rows hold a value outside the domain."""
        cells = frame[self.names[0]]
        if self.kind == "number":
            return self._numbers(cells)
        if self.grouped:
            codes = hot(frame[self.names])
        else:
            codes = truths(cells) if self.dtype == "boolean" else places_of(cells, self.values)
        strange, absent = codes < 0, codes == len(self.values)
        if self.kind == "ordered":
            codes = np.where(absent, BELOW, codes)
        codes[strange] = default
        return codes, strange

    def cells(self, codes: Codes, frame: pd.DataFrame) -> dict[str, pd.Series]:
        """Return the columns that hold `codes`, each with the index and the dtype that it has in `frame`.

        Exceptions are dtypes that can't hold them: see `columns.values_like` and `columns.numbers_like`.
        """
        if self.grouped:
            return {
                name: numbers_like(frame[name], (codes == place).astype(np.float64))
                for place, name in enumerate(self.names)
            }
        cells = frame[self.names[0]]
        if self.kind == "number":
            numbers = np.where(codes == BELOW, np.nan, codes)
            like = moments_like if self.dtype in TEMPORAL else numbers_like
            return {self.names[0]: like(cells, numbers)}
        places = np.where(codes == self.missing, -1, codes).astype(np.int64)
        if self.dtype == "boolean":
            return {self.names[0]: truths_like(cells, places)}
        return {self.names[0]: values_like(cells, places, self.values)}

    def value(self, code: float) -> Any:
        """Return the value behind a code, as JSON holds it; None for missing."""
        if code == self.missing:
            return None
        if self.kind == "number":
            return self._number(code)
        named = self.values[int(code)]
        return named == YES_NO[1] if self.dtype == "boolean" and not self.grouped else named

    def code(self, value: Any) -> float:
        """Return the code of a value as JSON holds it (see `value`); ``ValueError`` where it can be none."""
        if value is None:
            return self.missing
        if self.kind != "number":
            name = YES_NO[bool(value)] if self.dtype == "boolean" and not self.grouped else value
            return float(self.values.index(name))
        return moment_code(value) if self.dtype in TEMPORAL else float(value)

    def _number(self, code: float) -> Any:
        if self.dtype in TEMPORAL:
            moment = EPOCH + timedelta(microseconds=int(code))
            midnight = self.dtype == "date" and moment == moment.replace(hour=0, minute=0, second=0, microsecond=0)
            return moment.date().isoformat() if midnight else moment.isoformat()
        return int(code) if self.whole and float(code).is_integer() else float(code)

    def _numbers(self, cells: pd.Series) -> tuple[Codes, Truths]:
        numbers = numbers_of(cells, moments=self.dtype in TEMPORAL)
        absent = np.isnan(numbers)
        low, high = self.low, self.high
        if str(cells.dtype).lower() == "float32":  # its nearest to a bound is no value beyond it
            low, high = (float(np.float32(bound)) for bound in (low, high))
        strange = (numbers < low) | (numbers > high)
        if self.whole or self.dtype == "date":  # a fraction, or a time of day, is none of the domain's values
            rounded = np.rint(numbers) if self.whole else day_of(numbers)
            strange |= (numbers != rounded) & ~absent
            numbers = rounded
        np.clip(numbers, self.low, self.high, out=numbers)
        numbers[absent] = BELOW
        return numbers, strange


def attributes_of(
    schema: DatasetSchema, columns: Iterable[str], learn_from: pd.DataFrame | None = None
) -> list[Attribute]:
    """Return the attributes that some columns of a schema make, in the schema's order.

    Parameters
    ----------
    schema : DatasetSchema
    columns : iterable of str
        Any column of a one-hot group stands for the whole group.
    learn_from : pandas.DataFrame, optional
        Rows that undeclared domains are taken from. Without it they are faults.

    Raises
    ------
    ConfigurationError
        A column isn't in the schema, its domain is not declared or holds too large numbers, it is a one-hot column
        with other bounds than 0 and 1, or shares its name with a group.
    DataError
        The rows hold nothing of a column.
    """
    wanted = set(columns)
    unknown = sorted(wanted - set(schema.names()))
    faults = [Fault(f"column '{name}'", "the schema has no such column") for name in unknown]
    groups = {schema.column(name).group for name in wanted - set(unknown)} - {None}
    made: dict[str, Attribute] = {}
    empty: list[Fault] = []
    for column in schema.columns:
        members = tuple(each for each in schema.columns if each.group == column.group and column.group in groups)
        name = column.name if len(members) < 2 else str(column.group)
        if not members and column.name not in wanted:
            continue
        if name in made and column in made[name].columns:
            continue
        if name in made:
            faults.append(
                Fault(f"column '{name}'", "is called as a group of one-hot columns", remedy="rename the group")
            )
            continue
        try:
            made[name] = (
                _group(name, members)
                if len(members) > 1
                else Attribute(column.name, (column,), **domain_of(column, learn_from)._asdict())
            )
        except ConfigurationError as error:
            faults += error.faults
        except DataError as error:
            empty += error.faults
    if faults:
        raise ConfigurationError(dict.fromkeys(faults))  # each column of a group tells those of all
    if empty:
        raise DataError(empty)
    return list(made.values())


def encoded(
    attributes: Iterable[Attribute],
    frame: pd.DataFrame,
    defaults: Mapping[str, float] | None = None,
    outside: Outside = "default",
) -> dict[str, Codes]:
    """Return the codes of each attribute by name.

    Parameters
    ----------
    attributes : iterable of Attribute
    frame : pandas.DataFrame
    defaults : mapping of str to float, optional
        What values outside the domain of an ordered or nominal attribute count as; the first value where none is named.
    outside : {"default", "refuse"}
        Whether there may be such values.

    Raises
    ------
    DataError
        Columns are absent, there twice, or of another kind; or, with ``refuse``, values are outside the domain.
    """
    return counted(attributes, frame, defaults, outside)[0]


def counted(
    attributes: Iterable[Attribute],
    frame: pd.DataFrame,
    defaults: Mapping[str, float] | None = None,
    outside: Outside = "default",
) -> tuple[dict[str, Codes], dict[str, int]]:
    """Return what `encoded` does, and by name how many cells are outside the domain."""
    some = list(attributes)
    faults = [fault for each in some for fault in each.misfits(frame)]
    if faults:
        raise DataError(faults)
    given = defaults or {}
    found: dict[str, tuple[Codes, int]] = {}
    for each in some:
        try:
            found[each.name] = each.encode(frame, given.get(each.name, 0.0))
        except (TypeError, ValueError, OverflowError):  # lists, mappings, numbers that no float holds
            faults.append(Fault(f"column '{each.name}'", "holds objects that are no value of its kind"))
    if faults:
        raise DataError(faults)
    strange = {name: count for name, (_, count) in found.items()}
    if outside == "refuse" and any(strange.values()):
        raise DataError(
            Fault(
                f"{'group' if each.grouped else 'column'} '{each.name}'",
                f"{count} of {len(frame)} cells are outside the domain",
            )
            for each, count in zip(some, strange.values(), strict=True)
            if count
        )
    return {name: codes for name, (codes, _) in found.items()}, strange


def _group(name: str, members: tuple[Column, ...]) -> Attribute:
    if wrong := list(group_faults(name, members)):
        raise ConfigurationError(wrong)
    return Attribute(name, members, "nominal", values=tuple(each.name for each in members))
