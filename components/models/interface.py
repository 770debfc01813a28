"""What every model can do, whatever framework is behind it, and how one is made from its declaration."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, Self, cast

import numpy.typing as npt
import pandas as pd

from components.data.table import Table
from components.models.declarations import ModelDeclaration
from components.models.target import Target, faults
from components.registry import load
from schemas.dataset import DatasetSchema
from schemas.declaration import Declaration
from schemas.faults import Fault

Array = npt.NDArray[Any]


class Model(Protocol):
    """A model of one target column, or of several, that takes and gives values of the table's own domain."""

    @property
    def trains(self) -> bool:
        """Whether `fit` learns; a model that comes trained, or answers from elsewhere, does not."""

    @property
    def known_only(self) -> bool:
        """Whether it answers for known rows only, so that nothing new, such as a representative, can be asked."""

    @property
    def targets(self) -> Sequence[Target]:
        """What is learned, and its classes: one for each target column, in the schema's order."""

    @property
    def learned(self) -> Sequence[str]:
        """Columns whose values or bounds the model's files take from rows; they are then raw."""

    @property
    def notes(self) -> Sequence[str]:
        """What a reader should know about the fit, without cell values."""

    def fit(self, table: Table) -> Self:
        """Learn from rows; their order doesn't matter. Only for a model that `trains`."""

    def predict(self, frame: pd.DataFrame) -> Array:
        """Return one value of the target's domain per row (regression: float64); of several targets a column each."""

    def scores(self, frame: pd.DataFrame) -> Array | Sequence[Array | None] | None:
        """Return (rows, classes) probabilities or scores, larger meaning likelier; None where there are none.

        Of several targets it is one such array, or None, each.
        """

    def save(self, folder: Path) -> list[Path]:
        """Write the model in its framework's safe format and return the files written."""


def build(params: Declaration, schema: DatasetSchema, seed: int, *, learn: bool = False) -> Model:
    """Make the model that a declaration names, not yet fitted.

    Where the schema has several targets, a model that trains is made once for each (see `JointModel`); one that comes
    trained answers for all of them.

    Parameters
    ----------
    params : Declaration
        An instance of one of the declarations of kind ``model``.
    schema : DatasetSchema
        The table's schema; its features are what the model sees.
    seed : int
        The run's root seed.
    learn : bool, default False
        Values and bounds that the schema leaves open are learned from the rows that the model is fitted on.

    Returns
    -------
    Model

    Raises
    ------
    ConfigurationError
        The estimator or its parameters are wrong, or the schema declares too little.
    """
    made = load(params.component)
    if not _one_each(params, schema):
        return cast("Model", made(params, schema, seed, learn=learn))
    from components.models.joint_model import JointModel

    return JointModel([made(params, schema.of_target(name), seed, learn=learn) for name in schema.targets])


def check(params: Declaration, schema: DatasetSchema) -> list[Fault]:
    """Return all that is wrong with a model's declaration, without any data (a third party's is not looked into).

    Raises
    ------
    DataError
        Nothing is wrong with it, but a file that it names holds no rows.
    """
    if not isinstance(params, ModelDeclaration):
        return []
    found = load(params.checks)
    if not _one_each(params, schema):
        return cast("list[Fault]", found(params, schema))
    every = [fault for name in schema.targets for fault in found(params, schema.of_target(name))]
    return faults(schema) or list(dict.fromkeys(every))


def _one_each(params: Declaration, schema: DatasetSchema) -> bool:
    """Tell whether each of several targets gets a model of its own; a third party's model is taken to train."""
    return len(schema.targets) > 1 and getattr(params, "trains", True)
