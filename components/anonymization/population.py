"""The population that a table's persons are of: read, and looked up by what the classes of a release show.

Where the table has a subject id and the population's file holds that column, its persons are counted; without it each
of its rows is one person.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from components.anonymization.criteria.scores import Score
from components.anonymization.hierarchies.hierarchy import Ladder, climb, held
from components.anonymization.hierarchies.keys import keys_of_values
from components.classes.coding import Attribute, IntArray, any_row_of, combined, encode
from components.classes.counts import distinct, sizes, tally
from components.classes.records import fully_suppressed, person_codes
from components.data.declarations import Csv, SourceDeclaration
from components.data.reading import Reading, header, read
from components.data.table import Table
from components.risk.population import PopulationRisk, population_risk
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError, Fault
from schemas.wording import shown

Levels = Sequence[int | IntArray]


def read_population(schema: DatasetSchema, source: SourceDeclaration, base: Path) -> Reading:
    """Read the population's quasi-identifiers and subject id from ``dataset.population.path``, as the dataset's own.

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
    Reading
        Its table holds the quasi-identifiers, typed as the table's, and the subject id where the schema names one and
        the file holds it (without it each row is one person). Other columns of the file are left aside.

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
    told = _of_population(schema, schema.quasi_identifiers)
    if schema.subject_id is not None and _holds(schema.subject_id, told, own, base):
        told = _of_population(schema, dict.fromkeys([*schema.quasi_identifiers, schema.subject_id]))
    try:
        return read(told, own, base)
    except DataError as error:
        raise DataError([_mended_there(fault, source) for fault in _of_the_population(error)]) from None


def _mended_there(fault: Fault, source: SourceDeclaration) -> Fault:
    """Name what mends a population's file, where a fault of the dataset's own file names what mends that."""
    if "dataset.source.path" in fault.remedy:
        return replace(fault, remedy=fault.remedy.replace("dataset.source.path", "dataset.population.path"))
    told = f"{fault.allowed} {fault.remedy}"
    alike = isinstance(source, Csv) and "dataset.source.name" not in told  # what is set for one file holds for both
    if alike or "dataset.source" not in told:
        return fault
    form = "the delimiter, encoding and marks of the dataset's own"
    form = form if isinstance(source, Csv) else "commas, UTF-8 and decimal points"
    return replace(fault, allowed=f"delimited text with {form}", remedy="write the file so")


def _holds(name: str, schema: DatasetSchema, source: Csv, base: Path) -> bool:
    """Tell whether a file has a column; of one that can't be read `read` says why."""
    try:
        return name in header(schema, source, base).names
    except DataError:
        return False


def _of_population(schema: DatasetSchema, names: Iterable[str]) -> DatasetSchema:
    """Return the schema of a file that holds some columns, and whatever else."""
    columns = [schema.column(name).model_copy(update={"unique": False}) for name in names]
    alone = {"target": None, "task": None, "subject_id": None, "client": None, "undeclared": "drop"}
    return schema.model_copy(
        update={"columns": columns, **alone, "split": schema.split.model_copy(update={"stratify": False})}
    )


def persons_in(people: pd.DataFrame, schema: DatasetSchema) -> tuple[IntArray, int, Score]:
    """Say whom each row of a population is about, and how its persons are counted.

    Parameters
    ----------
    people : pandas.DataFrame
        The population.
    schema : DatasetSchema
        Of the table: its subject id tells persons where it is a column of `people`.

    Returns
    -------
    codes : ndarray of int, shape (rows,)
        The person of each row; rows without an id count as one. Without ids one code for all.
    n_codes : int
    score : callable
        Counts the persons of each class from the `Counts` of `codes`.
    """
    named = person_codes(people, schema)
    if named is None:
        return np.zeros(len(people), dtype=np.int8), 1, sizes
    return *named, distinct


def person_count(people: pd.DataFrame, schema: DatasetSchema) -> int:
    """Return how many persons a population has (see `persons_in`)."""
    codes, n_codes, score = persons_in(people, schema)
    return int(score(tally(np.zeros_like(codes), codes, 1, n_codes))[0])


def rows_as_persons(people: pd.DataFrame | None, schema: DatasetSchema) -> tuple[str, ...]:
    """Warn where the table counts persons, and its population's table can't."""
    if people is None or schema.subject_id is None or schema.subject_id in people.columns:
        return ()
    said = (
        f"the population has no column {shown(schema.subject_id)}, which tells the table's persons: each of its rows "
        "was taken as one person, and k_map and journalist risk are too good where a person has several"
    )
    return (said,)


def population_sizes(
    ladders: Sequence[Ladder], levels: Levels, population: pd.DataFrame, schema: DatasetSchema
) -> IntArray:
    """Count the persons of a population who fit what each row of a table shows.

    Parameters
    ----------
    ladders : sequence of Ladder
        Of all quasi-identifiers of the table, n rows each; `as_it_is` gives that of a column that stays so.
    levels : sequence of int or ndarray of int, shape (n,)
        The level of each; where rows are recoded locally, that of each row.
    population : pandas.DataFrame
        Holds the same quasi-identifiers, typed as the table's. Is not written to.
    schema : DatasetSchema
        Of the table: its subject id tells persons, and a hierarchy may hold one of its missing markers.

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
    sides = _climbed(ladders, people, schema.missing.markers)
    tuples, count = combined((person.codes, person.size) for person in people)
    first = any_row_of(tuples, count)
    codes, n_codes, score = persons_in(population, schema)
    crowds = tally(tuples, codes, count, n_codes)
    found = np.zeros(len(ladders[0].attribute.codes), dtype=np.int64)
    for chosen, rows in _by_levels(levels, len(found)):
        keys, n_keys = combined(
            _side_by_side(mine, theirs, level, rows, first)
            for mine, theirs, level in zip(ladders, sides, chosen, strict=True)
        )
        fitting = score(crowds.merged(keys[len(rows) :], n_keys))
        found[rows] = fitting[keys[: len(rows)]]
    return found


def raw_population_sizes(table: Table, population: pd.DataFrame) -> IntArray:
    """Count the persons of a population who have just the quasi-identifiers of each row, of shape (n,)."""
    attributes = _quasi_identifiers(table)
    if not attributes:
        return np.full(len(table.frame), person_count(population, table.schema))
    return population_sizes([as_it_is(one) for one in attributes], [0] * len(attributes), population, table.schema)


def refuse_strangers(table: Table, population: pd.DataFrame) -> None:
    """Raise ``DataError`` where not all persons of a raw table can be in a population."""
    risk_in_population(table, person_count(population, table.schema), raw_population_sizes(table, population))


def as_it_is(attribute: Attribute) -> Ladder:
    """Return the ladder of an attribute that shows its own values, in words that those of another table equal."""
    return held(attribute, np.array([*keys_of_values(attribute.domain()[0], attribute.columns[0]), None], dtype=object))


def risk_in_population(
    table: Table,
    size: int | None,
    in_population: IntArray | None = None,
    *,
    sampled: int | None = None,
    persons: npt.ArrayLike | None = None,
) -> PopulationRisk | None:
    """Measure a table's risk to someone who knows the population, where its size is known.

    Parameters
    ----------
    table : Table
        Released or raw; its fully suppressed rows are left out.
    size : int or None
        Persons in the population: as counted (see `person_count`), or as the dataset declares it.
    in_population : ndarray of int, shape (n,), optional
        See `population_sizes`. Without it the sizes of classes in the population are estimated.
    sampled : int, optional
        Rows, or persons, of the table that was anonymised, where `table` may have lost some.
    persons : array_like, shape (n,), optional
        Who each row is about, for a release that no longer holds the subject id.

    Returns
    -------
    PopulationRisk or None
        None without a size.

    Raises
    ------
    DataError
        See `components.risk.population.population_risk`.
    """
    if size is None:
        return None
    attributes = _quasi_identifiers(table)
    keep = np.flatnonzero(~fully_suppressed(attributes, len(table.frame)))
    whole = [(np.zeros(len(keep), dtype=np.int8), 1)]  # without quasi-identifiers all rows are one class
    classes, count = combined([(one.codes[keep], one.size) for one in attributes] or whole)
    named = person_codes(table.frame, table.schema, persons)
    class_sizes = np.bincount(classes, minlength=count)
    if named is not None:
        class_sizes = distinct(tally(classes, named[0][keep], count, named[1])).astype(np.int64)
    fitting = None if in_population is None else in_population[keep][any_row_of(classes, count)]
    return population_risk(class_sizes, size, fitting, sampled=sampled)


def _quasi_identifiers(table: Table) -> list[Attribute]:
    present = [column for column in table.schema.columns if column.name in table.frame.columns]
    return encode(table.frame, [column for column in present if column.role == "quasi_identifier"])


def _climbed(ladders: Sequence[Ladder], people: Sequence[Attribute], markers: Sequence[str]) -> list[Ladder]:
    """Put the population on the levels that the table is on."""
    found: list[Ladder] = []
    faults: list[Fault] = []
    for ladder, person in zip(ladders, people, strict=True):
        try:
            found.append(as_it_is(person) if ladder.hierarchy is None else climb(person, ladder.hierarchy, markers))
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
