"""What privacy criteria look at in the rows of a table: whom they are about, and the values that must not be told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from components.classes.coding import Attribute, FloatArray, IntArray, encode, occurrences
from components.classes.records import person_codes
from schemas.dataset import Column, DatasetSchema


@dataclass(frozen=True, slots=True)
class Values:
    """The values of one sensitive column, numbered over the rows that are looked at and the whole table together.

    Parameters
    ----------
    attribute : Attribute
        Of all these rows: those that are looked at come first.
    codes : ndarray of int, shape (n,)
        Value code of each row that is looked at; missing is a value of its own, after all others.
    size : int
        How many values there are.
    in_table : ndarray of int, shape (size,)
        Rows of the whole table that hold each value.
    """

    attribute: Attribute
    codes: IntArray
    size: int
    in_table: IntArray

    @property
    def column(self) -> Column:
        """The column."""
        return self.attribute.columns[0]

    @property
    def table(self) -> FloatArray:
        """Share of each value in the whole table, shape (size,)."""
        return np.asarray(self.in_table / max(int(self.in_table.sum()), 1), dtype=np.float64)

    @property
    def known(self) -> IntArray:
        """Value code of each row that is looked at, -1 for missing, shape (n,)."""
        return self.attribute.codes[: len(self.codes)]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a table, as criteria look at them.

    Parameters
    ----------
    number : int
        How many there are.
    subject : str
        The column that says whom a row is about; empty where rows count.
    persons : (ndarray of int of shape (number,), int) or None
        The person of each row as a code, and how many codes there are.
    values : mapping of str to Values
        Per sensitive column, and the target.
    each_stands_for : float or None
        Persons of the population for each one of the table, where only the population's size is declared.
    fitting : ndarray of int, shape (number,), or None
        Persons of the population who fit what each row shows, where they were counted.
    markers : sequence of str
        Cells with this text are missing.
    """

    number: int
    subject: str
    persons: tuple[IntArray, int] | None
    values: Mapping[str, Values]
    each_stands_for: float | None
    fitting: IntArray | None
    markers: Sequence[str]

    @property
    def sensitive(self) -> list[str]:
        """The sensitive columns, in declared order."""
        return [name for name, values in self.values.items() if values.column.role == "sensitive"]


def rows_of(
    frame: pd.DataFrame,
    schema: DatasetSchema,
    table_frame: pd.DataFrame | None = None,
    persons: npt.ArrayLike | None = None,
    fitting: IntArray | None = None,
) -> Rows:
    """Look at the rows of a table.

    Parameters
    ----------
    frame : pandas.DataFrame
        The rows. Is not written to.
    schema : DatasetSchema
        What their columns are.
    table_frame : pandas.DataFrame, optional
        The whole input table, which shares of values are taken from; `frame` itself without it.
    persons : array_like, shape (n,), optional
        Whom each row is about, for rows that no longer hold the subject id. Rows without an id count as one person.
    fitting : ndarray of int, shape (n,), optional
        Persons of the population who fit what each row shows.
    """
    people = person_codes(frame, schema, persons)
    return Rows(
        number=len(frame),
        subject="" if people is None else schema.subject_id or "",
        persons=people,
        values={
            column.name: _values(frame[column.name], None if table_frame is None else table_frame[column.name], column)
            for column in _disclosing(schema, frame)
        },
        each_stands_for=_each_stands_for(frame if table_frame is None else table_frame, schema, people),
        fitting=fitting,
        markers=schema.missing.markers,
    )


def table_counts(frame: pd.DataFrame, schema: DatasetSchema, table_frame: pd.DataFrame) -> pd.DataFrame:
    """Count the sensitive values of a whole table, so that a release alone is enough to check t, beta and delta.

    Parameters
    ----------
    frame : pandas.DataFrame
        The release.
    schema : DatasetSchema
        What its columns are.
    table_frame : pandas.DataFrame
        The table that was anonymised.

    Returns
    -------
    pandas.DataFrame
        ``column``, ``rank`` (of the value among those of the table, from 0; a missing one comes last), ``missing``,
        ``rows`` of the table that hold it and ``released`` ones. No value is told: those of the release, in their
        order, are the ones with ``released`` above 0.
    """
    parts = [
        pd.DataFrame(
            {
                "column": name,
                "rank": np.arange(values.size),
                "missing": np.arange(values.size) == values.attribute.size,
                "rows": values.in_table,
                "released": np.bincount(values.codes, minlength=values.size),
            }
        )
        for name, values in rows_of(frame, schema, table_frame).values.items()
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def shares(codes: IntArray, size: int) -> FloatArray:
    """Return the share of each value, shape (size,)."""
    return np.asarray(np.bincount(codes, minlength=size) / max(len(codes), 1), dtype=np.float64)


def _disclosing(schema: DatasetSchema, frame: pd.DataFrame) -> list[Column]:
    found = [column for column in schema.columns if column.role == "sensitive" or column.name in schema.targets]
    return [column for column in found if column.name in frame.columns and column.role != "quasi_identifier"]


def _values(rows: pd.Series, table: pd.Series | None, column: Column) -> Values:
    both = rows if table is None else pd.concat([rows, table], ignore_index=True)
    (attribute,) = encode(both.to_frame(), [column])
    codes, size = attribute.own_value()
    of_table = codes if table is None else codes[len(rows) :]
    return Values(attribute, codes[: len(rows)], size, occurrences(of_table, size))


def _each_stands_for(
    table_frame: pd.DataFrame, schema: DatasetSchema, people: tuple[IntArray, int] | None
) -> float | None:
    size = schema.population.size
    if size is None or schema.population.path is not None:
        return None
    if people is None:
        return size / max(len(table_frame), 1)
    codes = (
        people[0] if schema.subject_id not in table_frame.columns else pd.factorize(table_frame[schema.subject_id])[0]
    )
    return size / max(len(np.unique(codes)), 1)
