"""The population that a table's persons are of: read, and looked up by what the classes of a release show."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from components.anonymization.coding import Attribute, IntArray, any_row_of, combined, encode
from components.anonymization.criteria.counts import distinct, tally
from components.anonymization.criteria.sensitive import person_codes
from components.anonymization.hierarchies.hierarchy import Ladder, climb
from components.anonymization.hierarchies.keys import keys_of_values
from components.anonymization.measurement import fully_suppressed
from components.data.declarations import Csv, SourceDeclaration
from components.data.reading import read
from components.data.table import Table
from components.risk.population import PopulationRisk, population_risk
from schemas.dataset import DatasetSchema, Population
from schemas.faults import ConfigurationError, DataError, Fault

Levels = Sequence[int | IntArray]


def read_population(schema: DatasetSchema, source: SourceDeclaration, base: Path) -> pd.DataFrame:
    """Read the population's quasi-identifiers from ``dataset.population.path``, as the dataset's own are read.

    Parameters
    ----------
    schema : DatasetSchema
        Rows with missing cells are kept or dropped as it says.
    source : SourceDeclaration
        The dataset's own: where it is a CSV file, the population is written alike; else only whether cells are trimmed
        and normalised is taken over, and the file has commas, UTF-8 and decimal points.
    base : Path
        The folder that a relative path starts from.

    Returns
    -------
    pandas.DataFrame
        One row a person; the quasi-identifiers, typed as the table's. Other columns of the file are left aside.

    Raises
    ------
    ConfigurationError
        The schema names no file.
    DataError
        The file can't be read, lacks a quasi-identifier, or holds cells that the schema doesn't admit; with all faults.
    """
    path = schema.population.path
    if path is None:
        raise ConfigurationError(
            Fault("dataset.population.path", "names no file", remedy="name the CSV file of the population")
        )
    if isinstance(source, Csv):
        own = source.model_copy(update={"path": path})
    else:
        own = Csv(path=path, trim=getattr(source, "trim", True), normalize=getattr(source, "normalize", True))
    try:
        return read(_of_population(schema), own, base).table.frame
    except DataError as error:
        raise DataError(_of_the_population(error)) from None


def _of_population(schema: DatasetSchema) -> DatasetSchema:
    """Return the schema of a file that holds the quasi-identifiers, and whatever else."""
    columns = [schema.column(name).model_copy(update={"unique": False}) for name in schema.quasi_identifiers]
    alone = {"target": None, "task": None, "subject_id": None, "client": None, "undeclared": "drop"}
    return schema.model_copy(
        update={"columns": columns, **alone, "split": schema.split.model_copy(update={"stratify": False})}
    )


def population_sizes(
    ladders: Sequence[Ladder], levels: Levels, population: pd.DataFrame, markers: Sequence[str] = ()
) -> IntArray:
    """Count the persons of a population who fit what each row of a table shows.

    Parameters
    ----------
    ladders : sequence of Ladder
        Of all quasi-identifiers of the table, n rows each; `held` gives that of a column that stays as it is.
    levels : sequence of int or ndarray of int, shape (n,)
        The level of each; where rows are recoded locally, that of each row.
    population : pandas.DataFrame
        Holds the same quasi-identifiers, typed as the table's. Is not written to.
    markers : sequence of str, optional
        How missing cells are written: a hierarchy may hold one.

    Returns
    -------
    ndarray of int, shape (n,)
        Persons who would be published as the row is, on the row's own levels. A missing cell that stays missing fits
        missing ones alone.

    Raises
    ------
    DataError
        A hierarchy lacks values of the population; with a fault for every such column.
    """
    people = encode(population, [ladder.attribute.columns[0] for ladder in ladders])
    sides = _climbed(ladders, people, markers)
    tuples, count = combined((person.codes, person.size) for person in people)
    first = any_row_of(tuples, count)
    crowds = np.bincount(tuples, minlength=count)
    found = np.zeros(len(ladders[0].attribute.codes), dtype=np.int64)
    for chosen, rows in _by_levels(levels, len(found)):
        keys, n_keys = combined(
            _side_by_side(mine, theirs, level, rows, first)
            for mine, theirs, level in zip(ladders, sides, chosen, strict=True)
        )
        fitting = np.bincount(keys[len(rows) :], weights=crowds, minlength=n_keys)
        found[rows] = fitting[keys[: len(rows)]]
    return found


def raw_population_sizes(table: Table, population: pd.DataFrame) -> IntArray:
    """Count the persons of a population who have just the quasi-identifiers of each row, of shape (n,)."""
    attributes = _quasi_identifiers(table)
    if not attributes:
        return np.full(len(table.frame), len(population))
    return population_sizes([held(one) for one in attributes], [0] * len(attributes), population)


def refuse_strangers(table: Table, population: pd.DataFrame) -> None:
    """Raise ``DataError`` where not all persons of a raw table can be in a population."""
    risk_in_population(table, Population(), population, raw_population_sizes(table, population))


def held(attribute: Attribute) -> Ladder:
    """Return the ladder of one level of an attribute that stays as it is."""
    size = attribute.size
    labels = np.array([*keys_of_values(attribute.domain()[0], attribute.columns[0]), None], dtype=object)
    return Ladder(attribute, (np.arange(size + 1),), (labels,), (np.full(size + 1, 1 / max(size, 1)),), size)


def risk_in_population(
    table: Table,
    population: Population,
    people: pd.DataFrame | None,
    in_population: IntArray | None = None,
    *,
    sampled: int | None = None,
    persons: npt.ArrayLike | None = None,
) -> PopulationRisk | None:
    """Measure a table's risk to someone who knows the population, where one is declared.

    Parameters
    ----------
    table : Table
        Released or raw; its fully suppressed rows are left out.
    population : Population
        As the dataset declares it.
    people : pandas.DataFrame or None
        The population's table, of which only the number of rows counts here; it wins over ``population.size``.
    in_population : ndarray of int, shape (n,), optional
        See `population_sizes`. Without it the sizes of classes in the population are estimated.
    sampled : int, optional
        Rows, or persons, of the table that was anonymised, where `table` may have lost some.
    persons : array_like, shape (n,), optional
        Who each row is about, for a release that no longer holds the subject id.

    Returns
    -------
    PopulationRisk or None
        None where neither table nor size of a population is known.

    Raises
    ------
    DataError
        See `components.risk.population.population_risk`.
    """
    size = population.size if people is None else len(people)
    if size is None:
        return None
    attributes = _quasi_identifiers(table)
    keep = np.flatnonzero(~fully_suppressed(attributes, len(table.frame)))
    whole = [(np.zeros(len(keep), dtype=np.int8), 1)]  # without quasi-identifiers all rows are one class
    classes, count = combined([(one.codes[keep], one.size) for one in attributes] or whole)
    named = person_codes(table.frame, table.schema, persons)
    sizes = np.bincount(classes, minlength=count)
    if named is not None:
        sizes = distinct(tally(classes, named[0][keep], count, named[1])).astype(np.int64)
    fitting = None if in_population is None else in_population[keep][any_row_of(classes, count)]
    return population_risk(sizes, size, fitting, sampled=sampled)


def _quasi_identifiers(table: Table) -> list[Attribute]:
    present = [column for column in table.schema.columns if column.name in table.frame.columns]
    return encode(table.frame, [column for column in present if column.role == "quasi_identifier"])


def _climbed(ladders: Sequence[Ladder], people: Sequence[Attribute], markers: Sequence[str]) -> list[Ladder]:
    """Put the population on the levels that the table is on."""
    found: list[Ladder] = []
    faults: list[Fault] = []
    for ladder, person in zip(ladders, people, strict=True):
        try:
            found.append(held(person) if ladder.hierarchy is None else climb(person, ladder.hierarchy, markers))
        except DataError as error:
            faults += _of_the_population(error)
    if faults:
        raise DataError(faults)
    return found


def _of_the_population(error: DataError) -> list[Fault]:
    """Say of faults that they are the population's, and not the table's."""
    return [replace(fault, place=f"dataset.population, {fault.place}") for fault in error.faults]


def _by_levels(levels: Levels, rows: int) -> list[tuple[tuple[int, ...], IntArray]]:
    """Return the different level vectors, each with the positions of its rows."""
    if all(np.ndim(level) == 0 for level in levels):
        return [(tuple(int(level) for level in levels), np.arange(rows))]
    per_row = [np.broadcast_to(np.asarray(level), (rows,)) for level in levels]
    ids, count = combined((level, int(level.max(initial=0)) + 1) for level in per_row)
    order = np.argsort(ids, kind="stable")
    parts = np.split(order, np.searchsorted(ids[order], np.arange(1, count)))
    return [(tuple(int(level[part[0]]) for level in per_row), part) for part in parts if len(part)]


def _side_by_side(mine: Ladder, theirs: Ladder, level: int, rows: IntArray, first: IntArray) -> tuple[IntArray, int]:
    """Return what a table's rows and, behind them, a population's tuples are published as: a number for each label."""
    labels = np.concatenate([np.asarray(one.labels[level], dtype=object) for one in (mine, theirs)])
    numbers, different = pd.factorize(labels)
    of_rows = mine.groups[level][mine.attribute.codes[rows]]
    of_people = theirs.groups[level][theirs.attribute.codes[first]] + len(mine.labels[level])
    return numbers[np.concatenate([of_rows, of_people])], len(different)
