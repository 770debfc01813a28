"""What one framework does for a model, on plain numbers: the only part of a model that knows its framework."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar, Protocol, Self, cast

from components.data.features import Features
from components.models.target import Numbers, Target
from schemas.faults import Fault


class Engine(Protocol):
    """A learner of one framework, fitted or not, between the encoder's features and the target's numbers.

    Attributes
    ----------
    framework : str
        A key of `FRAMEWORKS`.
    files : tuple of str
        Names of the files that `dump` writes: always the same ones.
    standardised : bool
        It learns numbers (regression) whose mean is about 0 and whose deviation is about 1; `EncodedModel` sees to it.
    name : str
        What the user chose, such as ``RandomForestClassifier`` or ``mlp``; what messages call it.
    """

    framework: ClassVar[str]
    files: ClassVar[tuple[str, ...]]
    standardised: ClassVar[bool]

    @property
    def name(self) -> str:
        """What the user chose."""

    @property
    def holds_rows(self) -> bool:
        """Whether a fitted one may hold rows, or one figure per row, that it was fitted on."""

    @classmethod
    def versions(cls) -> dict[str, str]:
        """Return the versions of the framework (under its name) and of what else the files depend on."""

    def parameters(self) -> dict[str, Any]:
        """Return its parameters as JSON can hold them."""

    def fresh(self) -> Self:
        """Return an unfitted copy; every fit works on one."""

    def fit(self, features: Features, numbers: Numbers, target: Target) -> Sequence[str]:
        """Learn.

        Parameters
        ----------
        features : numpy.ndarray of float32, shape (rows, features)
            In [0, 1], in a seeded order that doesn't depend on how the rows came.
        numbers : numpy.ndarray, shape (rows,)
            Positions among the target's classes (int64; at least two different ones), or numbers (float64).
        target : Target
            Says which task it is and what the classes are.

        Returns
        -------
        sequence of str
            What a reader should know about the fit, without cell values. What the framework raises or warns of is
            put into words by the caller.
        """

    def predict(self, features: Features) -> Numbers:
        """Return positions among the classes (int64), or numbers (float64), of shape (rows,)."""

    def scores(self, features: Features, classes: int) -> Numbers | None:
        """Return (rows, classes) float64, larger meaning likelier; None where there are none."""

    def dump(self) -> tuple[dict[str, bytes], dict[str, Any]]:
        """Write a fitted one.

        Returns
        -------
        dict of str to bytes
            Content of each of `files`, in formats that hold no code; equal engines give equal bytes.
        dict of str to Any
            What `read` needs beside the files, as JSON can hold it.

        Raises
        ------
        ConfigurationError
            It holds what no safe file can hold.
        """

    @classmethod
    def read(cls, name: str, files: Mapping[str, bytes], facts: Mapping[str, Any]) -> Self:
        """Read a fitted one back from what `dump` gave; nothing is unpickled. Dumped again, it gives the same.

        Parameters
        ----------
        name : str
            What the description calls it; files that hold another one are refused.
        files : mapping of str to bytes
            Content of each of `files`; the digests were checked.
        facts : mapping of str to Any
            What `dump` gave beside the files, and under ``"parameters"`` what `parameters` gave. Not to be trusted: no
            digest stands for them.

        Raises
        ------
        DataError
            The files are damaged, or don't fit `name` or `facts`.
        """


@dataclass(frozen=True, slots=True)
class Framework:
    """A framework that models are made with.

    Parameters
    ----------
    engine : str
        Its engine as ``"module:class"``.
    package : str
        The name that Python imports it by.
    requirement : str
        What pip installs it by.
    """

    engine: str
    package: str
    requirement: str


FRAMEWORKS = {
    "scikit-learn": Framework("components.models.sklearn_engine:SklearnEngine", "sklearn", "scikit-learn"),
    "torch": Framework("components.models.torch_engine:TorchEngine", "torch", "torch"),
    "keras": Framework("components.models.keras_engine:KerasEngine", "keras", "privacy-runner[keras]"),
    "xgboost": Framework("components.models.xgboost_engine:XgboostEngine", "xgboost", "privacy-runner[xgboost]"),
}
"""The only frameworks whose saved models are read, by name."""


def absent(framework: str) -> list[Fault]:
    """Return the fault of a framework that isn't installed, without importing it."""
    wanted = FRAMEWORKS[framework]
    if find_spec(wanted.package) is not None:
        return []
    return [Fault("model.name", f"{framework} is not installed", remedy=f"pip install '{wanted.requirement}'")]


def engine_class(framework: str) -> type[Engine]:
    """Import the engine of a framework."""
    module, _, name = FRAMEWORKS[framework].engine.partition(":")
    return cast("type[Engine]", getattr(import_module(module), name))
