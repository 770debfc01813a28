"""What an anonymisation method hands on: the released table, and what was measured on it."""

from dataclasses import dataclass
from typing import Any

from components.anonymization.measurement import Measurement
from components.data.table import Table


@dataclass(frozen=True, slots=True)
class Release:
    """An anonymised table with the transformation that made it and the figures that hold for it.

    Parameters
    ----------
    table : Table
        What is published; its schema is ``released(schema, generalised columns)``.
    training : Table
        The same rows in the original domain, told by `table` alone: what a model is retrained on. Where `table`
        holds no generalised cells it is `table`.
    transformation : dict
        How the rows were changed: JSON-able aggregates, no cell values.
    before, after : Measurement
        Measured on the input table and on `table`.
    suppressed : int
        Fully suppressed rows.
    """

    table: Table
    training: Table
    transformation: dict[str, Any]
    before: Measurement
    after: Measurement
    suppressed: int
