"""The folder of a saved model: the engine's files, ``encoder.json``, and ``model.json``, which describes them."""

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import ValidationError

from components.data.encoding import Encoder
from components.models.engine import FRAMEWORKS, Engine, absent, engine_class
from components.models.target import Scale, Target
from schemas.base import Contract
from schemas.faults import ConfigurationError, DataError, Fault

ENCODER, DESCRIPTION = "encoder.json", "model.json"
TRAINED = ("callable", "predictions")
"""Frameworks of models that come trained, of which a description is written and nothing can be read."""


class Description(Contract):
    """What ``model.json`` says.

    ``holds_rows`` is false only for models known to keep no train row; it says nothing of what can be inferred from
    a model. ``generalised`` names columns that it knows as a release has them alone. ``facts`` is what the framework
    needs beside its files to read the model. Only a model that comes trained, and is not read back, has several targets
    here.
    """

    schema_version: Literal[2] = 2
    framework: str
    name: str
    seed: int
    parameters: dict[str, Any]
    target: Target | tuple[Target, ...]
    scale: Scale
    features: int
    learned: tuple[str, ...]
    holds_rows: bool
    notes: tuple[str, ...]
    generalised: tuple[str, ...] = ()
    versions: dict[str, str]
    facts: dict[str, Any]
    sha256: dict[str, str]


@dataclass(frozen=True, slots=True)
class Fitted:
    """What a fit leaves.

    Parameters
    ----------
    engine : Engine
        Fitted on the encoder's features.
    encoder : Encoder
        Makes features of columns.
    target : Target
        Makes values of what the engine predicts.
    seed : int
        Root seed of the random streams.
    scale : Scale
        Makes numbers of what the engine predicts in regression.
    notes : tuple of str
        What a reader should know, without cell values.
    generalised : tuple of str
        Columns that it was taught as a release has them, not as they are.
    """

    engine: Engine
    encoder: Encoder
    target: Target
    seed: int
    scale: Scale = Scale()  # noqa: RUF009  # immutable
    notes: tuple[str, ...] = ()
    generalised: tuple[str, ...] = ()

    @property
    def learned(self) -> tuple[str, ...]:
        """Columns whose values, bounds, classes or scale come from rows."""
        of_rows = self.target.learned or self.scale.learned
        return (*self.encoder.learned, *((self.target.column,) if of_rows else ()))


def write(folder: Path, fitted: Fitted) -> list[Path]:
    """Write a fitted model; equal models have equal bytes.

    Parameters
    ----------
    folder : pathlib.Path
        Made when it isn't there.
    fitted : Fitted

    Returns
    -------
    list of pathlib.Path
        The engine's files, ``encoder.json`` and ``model.json``.

    Raises
    ------
    ConfigurationError
        The model holds what no safe file can hold; nothing is written.
    """
    engine = fitted.engine
    files, facts = engine.dump()
    content = {**files, ENCODER: _json(fitted.encoder.model_dump(mode="json"))}
    description = Description(
        framework=engine.framework,
        name=engine.name,
        seed=fitted.seed,
        parameters=engine.parameters(),
        target=fitted.target,
        scale=fitted.scale,
        features=len(fitted.encoder.names),
        learned=fitted.learned,
        holds_rows=engine.holds_rows,
        notes=fitted.notes,
        generalised=fitted.generalised,
        versions={"numpy": np.__version__, **engine.versions()},
        facts=facts,
        sha256={name: sha256(data).hexdigest() for name, data in content.items()},
    )
    content[DESCRIPTION] = _json(description.model_dump(mode="json"))
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in content.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in content]


def read(folder: Path) -> Fitted:
    """Read a saved model, digests first; nothing is unpickled.

    Raises
    ------
    DataError
        A file is absent, damaged, changed since it was saved, or of another version of its framework.
    ConfigurationError
        The framework isn't installed.
    """
    try:
        description = Description.model_validate_json(_bytes(folder / DESCRIPTION))
    except ValidationError:
        raise DataError(Fault(DESCRIPTION, "not the description of a model")) from None
    framework = description.framework
    if framework in TRAINED:
        problem = f"describes a model that came trained ({framework}): neither its code nor its answers are kept"
        raise DataError(Fault(DESCRIPTION, problem, remedy="make it again from what the run was given"))
    if framework not in FRAMEWORKS or not isinstance(description.target, Target):
        raise DataError(Fault(DESCRIPTION, "the model is of a framework that isn't read", ", ".join(FRAMEWORKS)))
    if missing := absent(framework):
        raise ConfigurationError(missing)
    chosen = engine_class(framework)
    content = {name: _bytes(folder / name) for name in (*chosen.files, ENCODER)}
    changed = [name for name, data in content.items() if description.sha256.get(name) != sha256(data).hexdigest()]
    if changed:
        raise DataError([Fault(name, f"not what {DESCRIPTION} describes", "its sha256 differs") for name in changed])
    _require_version(framework, description.versions.get(framework, ""), chosen.versions()[framework])
    encoder = Encoder.from_json(content.pop(ENCODER))
    if len(encoder.names) != description.features:
        raise DataError(Fault(ENCODER, f"makes {len(encoder.names)} features", f"the model has {description.features}"))
    facts = {**description.facts, "parameters": description.parameters}
    engine = chosen.read(description.name, content, facts)
    return Fitted(
        engine,
        encoder,
        description.target,
        description.seed,
        description.scale,
        description.notes,
        description.generalised,
    )


def _require_version(framework: str, then: str, now: str) -> None:
    """Refuse files of another minor version, whose layout may differ."""
    if then.split(".")[:2] != now.split(".")[:2]:
        problem = f"saved with {framework} {then}, here is {now}"
        raise DataError(Fault(DESCRIPTION, problem, remedy=f"install {framework}=={then}"))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(Fault(path.name, f"can't be read ({type(error).__name__})")) from None


def _json(data: Any) -> bytes:
    return (json.dumps(data, sort_keys=True, indent=2, ensure_ascii=False) + "\n").encode()
