"""What every model can do, whatever framework is behind it, and how one is made from its declaration."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, Self, cast

import numpy.typing as npt
import pandas as pd

from components.data.table import Table
from components.models.declarations import ModelDeclaration
from components.models.target import Target
from components.registry import load
from schemas.dataset import DatasetSchema
from schemas.declaration import Declaration
from schemas.faults import Fault


class Model(Protocol):
    """A model of one target column that takes and gives values of the table's own domain."""

    @property
    def trains(self) -> bool:
        """Whether `fit` learns; a model that comes trained, or answers from elsewhere, does not."""

    @property
    def known_only(self) -> bool:
        """Whether it answers for known rows only, so that nothing new, such as a representative, can be asked."""

    @property
    def target(self) -> Target:
        """What is learned, and its classes."""

    @property
    def classes(self) -> Sequence[Any]:
        """Classes in declared order; empty for regression."""

    @property
    def learned(self) -> Sequence[str]:
        """Columns whose values or bounds the model's files take from rows; they are then raw."""

    @property
    def notes(self) -> Sequence[str]:
        """What a reader should know about the fit, without cell values."""

    def fit(self, table: Table) -> Self:
        """Learn from rows; their order doesn't matter. Only for a model that `trains`."""

    def predict(self, frame: pd.DataFrame) -> npt.NDArray[Any]:
        """Return one value of the target's domain per row (regression: float64)."""

    def scores(self, frame: pd.DataFrame) -> npt.NDArray[Any] | None:
        """Return (rows, classes) probabilities or scores, larger meaning likelier; None where there are none."""

    def save(self, folder: Path) -> list[Path]:
        """Write the model in its framework's safe format and return the files written."""


def build(params: Declaration, schema: DatasetSchema, seed: int, *, learn: bool = False) -> Model:
    """Make the model that a declaration names, not yet fitted.

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
    return cast("Model", load(params.component)(params, schema, seed, learn=learn))


def check(params: Declaration, schema: DatasetSchema) -> list[Fault]:
    """Return all that is wrong with a model's declaration, without any data (a third party's is not looked into)."""
    if not isinstance(params, ModelDeclaration):
        return []
    return cast("list[Fault]", load(params.checks)(params, schema))
