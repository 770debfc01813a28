"""k-map on a table of the population: a search counts the population's persons in each class, instead of rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from components.anonymization.criteria.declarations import KMap
from components.anonymization.criteria.requirements import Requirement
from components.anonymization.declarations import Lattice
from components.anonymization.hierarchies.hierarchy import Hierarchy, Ladder, climb
from components.anonymization.population import person_count, persons_in
from components.anonymization.release import Given
from components.classes.coding import IntArray, encode
from components.data.table import Table
from schemas.dataset import Column, DatasetSchema
from schemas.faults import ConfigurationError, Fault, GoalError


@dataclass(frozen=True, slots=True)
class Crowd:
    """A table's quasi-identifiers on ladders that know the population's values too, and the population on them.

    Parameters
    ----------
    ladders : list of Ladder
        Their codes are those of the table's rows.
    codes : list of ndarray of int, one per ladder, each of shape (rows,)
        Value codes of the population's rows.
    persons : ndarray of int, shape (rows,)
        Whom each of them is about (see `components.anonymization.population.persons_in`).
    n_persons : int
        How many codes `persons` has.
    """

    ladders: list[Ladder]
    codes: list[IntArray]
    persons: IntArray
    n_persons: int


def counts_population(params: Lattice, given: Given) -> bool:
    """Tell whether a criterion is counted on a population table.

    Raises
    ------
    ConfigurationError
        It is, and rows would be recoded locally: whom a row fits would then depend on the rows beside it.
    """
    counted = given.population is not None and any(isinstance(one, KMap) for one in params.criteria)
    if counted and params.local_recoding:
        raise ConfigurationError(
            Fault(
                place="anonymization.local_recoding",
                problem="k_map on a population table asks for one level vector for all rows",
                allowed="local_recoding=false, or dataset.population.size without a path",
                remedy="change one of the two",
            )
        )
    return counted


def on_population(
    requirements: Sequence[Requirement], population: pd.DataFrame, schema: DatasetSchema
) -> list[Requirement]:
    """Let k_map count persons of the population, told by the subject id of the table's schema.

    Raises
    ------
    GoalError
        The population is smaller than k.
    """
    bound = []
    everyone = person_count(population, schema)
    _, n_codes, score = persons_in(population, schema)
    for requirement in requirements:
        one = requirement
        if requirement.name == "k_map":
            if everyone < requirement.asked:
                raise GoalError(requirement.fault(float(everyone)))
            codes = np.zeros(len(requirement.codes), dtype=np.int8)
            one = replace(requirement, codes=codes, n_codes=n_codes, score=score)
        bound.append(one)
    return bound


def crowd(
    table: Table, columns: Sequence[Column], population: pd.DataFrame, hierarchies: Mapping[str, Hierarchy]
) -> Crowd:
    """Encode the quasi-identifiers of table and population together.

    Raises
    ------
    DataError
        A hierarchy lacks values of the population.
    """
    names = [column.name for column in columns]
    rows = len(table.frame)
    both = encode(pd.concat([table.frame[names], population[names]], ignore_index=True), columns)
    ladders = [climb(unit, hierarchies[unit.name], table.schema.missing.markers) for unit in both]
    mine = [replace(one, attribute=replace(one.attribute, codes=one.attribute.codes[:rows])) for one in ladders]
    persons, n_persons, _ = persons_in(population, table.schema)
    return Crowd(mine, [unit.codes[rows:] for unit in both], persons, n_persons)
