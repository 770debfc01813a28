"""What an anonymisation method draws on beside the table, and what it hands on: a release with what was measured."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy.typing as npt
import pandas as pd

from components.anonymization.criteria.requirements import Requirement
from components.anonymization.hierarchies.hierarchy import Hierarchy
from components.anonymization.measurement import Measurement
from components.classes.coding import IntArray
from components.data.extract import InputFact
from components.data.table import Table


@dataclass(frozen=True, slots=True)
class Given:
    """What a method may draw on beside its parameters and the table.

    Parameters
    ----------
    predictions : array_like, shape (n,) or (n, outputs), optional
        The original model's predictions on the table's rows.
    hierarchies : mapping of str to Hierarchy
        Of the columns that are climbed, those of others may be there too.
    population : pandas.DataFrame, optional
        The population that the table's persons are of: its quasi-identifiers, typed as the table's.
    seed : int
        In [0, 2**32); for methods that draw.
    base : Path
        What relative paths start from.
    inputs : tuple of InputFact
        The files that all this was read from.
    """

    predictions: npt.ArrayLike | None = None
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    population: pd.DataFrame | None = None
    seed: int = 0
    base: Path = Path()
    inputs: tuple[InputFact, ...] = ()


@dataclass(frozen=True, slots=True)
class Release:
    """An anonymised table with the transformation that made it and the figures that hold for it.

    Parameters
    ----------
    table : Table
        What is published; its schema is ``released(schema, generalised columns)``.
    training : Table
        The released rows that are not suppressed, as a model sees them: told by `table` and the transformation alone.
        Where `table` holds neither generalised nor suppressed cells it is `table`.
    transformation : dict
        How the rows were changed: JSON-able aggregates, no cell values.
    before, after : Measurement
        Measured on the input table and on `table`.
    suppressed : int
        Suppressed rows, whether shown as ``*`` or left out.
    nodes : pandas.DataFrame, optional
        Every generalisation that a search looked at: levels, quality, criteria, suppressed rows, and what became of it.
    seen : callable, optional
        Brings another table of the same schema (test rows, rows to come) into the space of `training`; without it
        that space is the original domain.
    agreed : dict, optional
        The transformation in the form that `transform` applies to another table.
    fitting : ndarray of int, shape (rows of table,), optional
        Persons of the population who fit each row of `table`; for methods that can look them up.
    requirements : tuple of Requirement
        What was asked of it, for whoever measures `table` again.
    warnings : tuple of str
        What a user should know, without cell values.
    """

    table: Table
    training: Table
    transformation: dict[str, Any]
    before: Measurement
    after: Measurement
    suppressed: int
    nodes: pd.DataFrame | None = None
    seen: Callable[[Table], Table] | None = None
    agreed: dict[str, Any] | None = None
    fitting: IntArray | None = None
    requirements: tuple[Requirement, ...] = ()
    warnings: tuple[str, ...] = ()
