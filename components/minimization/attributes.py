"""The attributes that can be minimised, and their cells as numbers.

Numbers, dates and ordered values become floats that keep their order, missing cells minus infinity, below them all.
Other values become their place in the domain, missing cells the place after the last. A value outside the domain is no
code: it counts as the attribute's default, so that no raw value passes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from components.data.features import floats, microseconds, positions_among
from schemas.dataset import TEMPORAL, TEXT_LIKE, Column, DatasetSchema
from schemas.faults import ConfigurationError, DataError, Fault

Kind = Literal["number", "ordered", "nominal"]
Codes = npt.NDArray[Any]
"""float64 of a number or ordered attribute, int64 of a nominal one; shape (rows,)."""

BELOW = -np.inf
"""Code of a missing cell of a number or ordered attribute."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
YES_NO = ("false", "true")
"""The values of a boolean column, by name."""


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
        return self.columns[0].group is not None

    @property
    def missing(self) -> float:
        """Code of a missing cell."""
        return float(len(self.values)) if self.kind == "nominal" else BELOW

    def encode(self, frame: pd.DataFrame, default: float) -> tuple[Codes, int]:
        """Return the code of each row, and how many rows hold a value outside the domain.

        Parameters
        ----------
        frame : pandas.DataFrame
            Holds the attribute's columns.
        default : float
            Code that values outside the domain of an ordered or nominal attribute get; numbers get the nearer bound.

        Returns
        -------
        codes : ndarray, shape (rows,)
        outside : int
        """
        if self.kind == "number":
            return self._numbers(frame[self.names[0]])
        codes = self._hot(frame) if self.grouped else self._places(frame[self.names[0]])
        strange = codes < 0
        codes[strange] = default
        if self.kind == "nominal":
            return codes, int(np.count_nonzero(strange))
        coded = codes.astype(np.float64)
        coded[codes == len(self.values)] = BELOW
        return coded, int(np.count_nonzero(strange))

    def cells(self, codes: Codes, frame: pd.DataFrame) -> dict[str, pd.Series]:
        """Return the columns that hold `codes`, each with the index and the dtype that it has in `frame`."""
        if self.grouped:
            return {
                name: _like(frame[name], (codes == place).astype(np.int64)) for place, name in enumerate(self.names)
            }
        cells = frame[self.names[0]]
        if self.kind != "number":
            places = np.where(codes == self.missing, -1, codes).astype(np.int64)
            return {self.names[0]: _of_values(cells, places, self.values)}
        absent = codes == BELOW
        numbers = np.where(absent, np.nan, codes)
        if self.dtype in TEMPORAL:
            moments = np.where(absent, np.iinfo(np.int64).min, np.where(absent, 0, codes)).astype(np.int64)
            naive = pd.Series(moments.view("datetime64[us]"), index=cells.index)
            zone = isinstance(cells.dtype, pd.DatetimeTZDtype)
            return {self.names[0]: (naive.dt.tz_localize("UTC") if zone else naive).astype(cells.dtype)}
        return {self.names[0]: _like(cells, numbers, holes=bool(absent.any()))}

    def value(self, code: float) -> Any:
        """Return the value behind a code, as JSON holds it; None for missing."""
        if code == self.missing:
            return None
        if self.kind == "number":
            return self._number(code)
        named = self.values[int(code)]
        return named == YES_NO[1] if self.dtype == "boolean" else named

    def code(self, value: Any) -> float:
        """Return the code of a value as JSON holds it (see `value`)."""
        if value is None:
            return self.missing
        if self.kind != "number":
            return float(self.values.index(YES_NO[bool(value)] if self.dtype == "boolean" else value))
        return moment_code(value) if self.dtype in TEMPORAL else float(value)

    def _number(self, code: float) -> Any:
        if self.dtype in TEMPORAL:
            moment = EPOCH + timedelta(microseconds=int(code))
            return moment.date().isoformat() if self.dtype == "date" else moment.isoformat()
        return int(code) if self.whole and float(code).is_integer() else float(code)

    def _numbers(self, cells: pd.Series) -> tuple[Codes, int]:
        numbers = microseconds(cells) if self.dtype in TEMPORAL else floats(cells)
        absent = np.isnan(numbers)
        outside = int(np.count_nonzero((numbers < self.low) | (numbers > self.high)))
        np.clip(numbers, self.low, self.high, out=numbers)
        numbers[absent] = BELOW
        return numbers, outside

    def _places(self, cells: pd.Series) -> Codes:
        if self.dtype == "boolean":
            codes = cells.to_numpy(dtype=np.float64, na_value=2).astype(np.int64)
        else:
            codes = positions_among(cells, self.values).astype(np.int64)
            codes[cells.isna().to_numpy()] = len(self.values)
        return codes

    def _hot(self, frame: pd.DataFrame) -> Codes:
        """Return the place of the one column that is 1; none that is counts as missing, several as outside."""
        hot = frame[self.names].to_numpy(dtype=np.float64, na_value=0.0) == 1
        count = hot.sum(axis=1)
        codes = np.where(count == 1, hot.argmax(axis=1), -1)
        codes[count == 0] = len(self.values)
        return codes.astype(np.int64)


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
        A column isn't in the schema, or its domain is not declared.
    DataError
        The rows hold nothing of a column.
    """
    wanted = set(columns)
    unknown = sorted(wanted - set(schema.names()))
    if unknown:
        raise ConfigurationError([Fault(f"column '{name}'", "the schema has no such column") for name in unknown])
    groups = {schema.column(name).group for name in wanted} - {None}
    made: dict[str, Attribute] = {}
    for column in schema.columns:
        if column.group in groups:
            members = tuple(each for each in schema.columns if each.group == column.group)
            names = tuple(each.name for each in members)
            made.setdefault(f"group:{column.group}", Attribute(str(column.group), members, "nominal", values=names))
        elif column.name in wanted:
            made[f"column:{column.name}"] = _attribute(column, learn_from)
    return list(made.values())


def encoded(
    attributes: Iterable[Attribute], frame: pd.DataFrame, defaults: Mapping[str, float] | None = None
) -> dict[str, Codes]:
    """Return the codes of each attribute by name; values outside the domain get `defaults`, else the first value's."""
    given = defaults or {}
    return {each.name: each.encode(frame, given.get(each.name, 0.0))[0] for each in attributes}


def moment_code(value: str) -> float:
    """Return a date or time in ISO 8601 as microseconds since 1970 UTC (one without a zone is taken as UTC)."""
    moment = datetime.fromisoformat(value)
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return float((aware - EPOCH) // timedelta(microseconds=1))


def _attribute(column: Column, rows: pd.DataFrame | None) -> Attribute:
    if column.dtype == "boolean":
        return Attribute(column.name, (column,), "nominal", values=YES_NO)
    if column.dtype in TEXT_LIKE:
        values = tuple(column.values or ()) or _observed(column, rows)
        kind: Kind = "ordered" if column.dtype == "ordered" else "nominal"
        return Attribute(column.name, (column,), kind, values=values, learned=not column.values)
    bounds = [None if bound is None else _bound(column, bound) for bound in (column.min, column.max)]
    learned = None in bounds
    if learned:
        seen = _numbers_of(column, rows)
        bounds = [extreme if bound is None else bound for bound, extreme in zip(bounds, seen, strict=True)]
    low, high = (float(bound) for bound in bounds if bound is not None)
    return Attribute(column.name, (column,), "number", low=low, high=high, learned=learned)


def _bound(column: Column, bound: Any) -> float:
    return moment_code(str(bound)) if column.dtype in TEMPORAL else float(bound)


def _observed(column: Column, rows: pd.DataFrame | None) -> tuple[str, ...]:
    return tuple(sorted(map(str, _known(column, rows, "values").unique())))


def _numbers_of(column: Column, rows: pd.DataFrame | None) -> tuple[float, float]:
    cells = _known(column, rows, "bounds")
    numbers = microseconds(cells) if column.dtype in TEMPORAL else floats(cells)
    return float(numbers.min()), float(numbers.max())


def _known(column: Column, rows: pd.DataFrame | None, what: str) -> pd.Series:
    place = f"column '{column.name}'"
    if rows is None:
        keys = "values" if what == "values" else "min and .max"
        raise ConfigurationError(
            Fault(
                place, f"is to be minimised, but declares no {what}", remedy=f"set dataset.columns.{column.name}.{keys}"
            )
        )
    cells = rows[column.name].dropna()
    if cells.empty:
        raise DataError(Fault(place, f"there is nothing to learn its {what} from", remedy="declare them"))
    return cells


def _of_values(cells: pd.Series, places: npt.NDArray[np.int64], values: tuple[str, ...]) -> pd.Series:
    """Return values by place, -1 missing, in the dtype of `cells`."""
    if isinstance(cells.dtype, pd.CategoricalDtype):
        where = cells.cat.categories.get_indexer(pd.Index(values))
        return pd.Series(pd.Categorical.from_codes(np.append(where, -1)[places], dtype=cells.dtype), index=cells.index)
    if pd.api.types.is_bool_dtype(cells.dtype):
        return _like(cells, np.where(places < 0, np.nan, places), holes=bool((places < 0).any()))
    names = np.array([*values, None], dtype=object)
    return pd.Series(names[places], index=cells.index).astype(cells.dtype)


def _like(cells: pd.Series, numbers: npt.NDArray[Any], *, holes: bool = False) -> pd.Series:
    """Return numbers in the dtype of `cells`, which has missing cells where they are NaN."""
    if not holes:
        kind = getattr(cells.dtype, "kind", "")
        whole = np.rint(numbers) if kind in "iu" else numbers
        return pd.Series(whole, index=cells.index).astype(cells.dtype)
    return pd.Series(pd.array(numbers, dtype="Float64"), index=cells.index).mask(np.isnan(numbers)).astype(cells.dtype)
