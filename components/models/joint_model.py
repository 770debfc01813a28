"""A model of several targets: one model for each, taught by and asked about the same rows."""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Self

import pandas as pd
from pydantic import ValidationError

from components.brought import Brought
from components.data.table import Table
from components.models import encoded_model
from components.models.encoded_model import EncodedModel
from components.models.interface import Array, Model
from components.models.saved import DESCRIPTION
from components.models.target import Target, joined
from schemas.base import Contract
from schemas.faults import DataError, Fault


class JointDescription(Contract):
    """What ``model.json`` says of a model of several targets.

    Each target's model stands in a folder of its own; ``sha256`` is that of its ``model.json``, which has the digests
    of its other files.
    """

    schema_version: Literal[2] = 2
    targets: tuple[str, ...]
    sha256: dict[str, str]


class JointModel:
    """Several models of one target each, of any frameworks, as one model.

    What one target says of a row is no help to another's model: the targets are learned apart.

    Parameters
    ----------
    models : sequence of Model
        One for each target, fitted or not; none sees another's target (see `DatasetSchema.of_target`).
    """

    def __init__(self, models: Sequence[Model]) -> None:
        self.models = tuple(models)

    @property
    def trains(self) -> bool:
        """Whether all of them can be fitted."""
        return all(model.trains for model in self.models)

    @property
    def known_only(self) -> bool:
        """Whether one of them answers for known rows only."""
        return any(model.known_only for model in self.models)

    @property
    def targets(self) -> tuple[Target, ...]:
        """What is learned, in the order of the models."""
        return tuple(target for model in self.models for target in model.targets)

    @property
    def learned(self) -> tuple[str, ...]:
        """Columns whose values or bounds the files of one of them take from rows."""
        return tuple(dict.fromkeys(name for model in self.models for name in model.learned))

    @property
    def code(self) -> tuple[Brought, ...]:
        """Code of others that they run, each named once."""
        return tuple(dict.fromkeys(each for model in self.models for each in getattr(model, "code", ())))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about the fits, without cell values; each with its target."""
        return tuple(f"{model.targets[0].column}: {note}" for model in self.models for note in model.notes)

    @property
    def generalised(self) -> tuple[str, ...]:
        """Columns that one of them is taught as a release has them (see `EncodedModel`)."""
        return tuple(dict.fromkeys(name for model in self.models for name in getattr(model, "generalised", ())))

    @generalised.setter
    def generalised(self, names: tuple[str, ...]) -> None:
        for model in self.models:
            if isinstance(model, EncodedModel):
                model.generalised = names

    def fit(self, table: Table) -> Self:
        """Fit every model on the same rows; raises what theirs raises."""
        for model in self.models:
            model.fit(table)
        return self

    def predict(self, frame: pd.DataFrame) -> Array:
        """Return one value of each target's domain per row, shape (rows, targets); objects if of many kinds."""
        return joined([model.predict(frame) for model in self.models])

    def scores(self, frame: pd.DataFrame) -> list[Any]:
        """Return for each target how likely its classes are (see `EncodedModel.scores`)."""
        return [model.scores(frame) for model in self.models]

    def save(self, folder: Path) -> list[Path]:
        """Write each model into ``target-1``, ``target-2``, ..., and ``model.json``, which has their digests."""
        written, digests = [], {}
        for number, model in enumerate(self.models, start=1):
            inside = folder / _folder(number)
            written += model.save(inside)
            digests[_folder(number)] = sha256((inside / DESCRIPTION).read_bytes()).hexdigest()
        description = JointDescription(targets=tuple(target.column for target in self.targets), sha256=digests)
        path = folder / DESCRIPTION
        path.write_text(f"{description.model_dump_json(indent=2)}\n", encoding="utf-8")
        return [*written, path]


def load(folder: Path | str) -> EncodedModel | JointModel:
    """Read a saved model back, of one target or several; it predicts as before, and raises what `saved.read` raises."""
    folder = Path(folder)
    description = _joint(folder / DESCRIPTION)
    if description is None:
        return encoded_model.load(folder)
    names = [_folder(number) for number in range(1, len(description.targets) + 1)]
    if sorted(names) != sorted(description.sha256):
        raise DataError(Fault(DESCRIPTION, "does not name one model for each target"))
    changed = [name for name in names if _digest(folder / name / DESCRIPTION) != description.sha256[name]]
    if changed:
        raise DataError(
            [Fault(f"{name}/{DESCRIPTION}", "its sha256 differs from what model.json says") for name in changed]
        )
    models = [encoded_model.load(folder / name) for name in names]
    if tuple(model.target.column for model in models) != description.targets:
        raise DataError(Fault(DESCRIPTION, "names other targets than the models are of"))
    return JointModel(models)


def _joint(path: Path) -> JointDescription | None:
    """Read the description of several targets; None where it is another, or can't be read."""
    try:
        return JointDescription.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def _folder(number: int) -> str:
    return f"target-{number}"


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
