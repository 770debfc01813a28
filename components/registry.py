"""Components by their short registered names.

A name leads to a *declaration*: a light pydantic class (nothing but pydantic is imported) that is the one source
of the component's parameter names, types, ranges and defaults, and whose ``component`` names the code as
``"module:attribute"``. The code is imported only when it is used.

Third parties register a declaration under the entry-point group ``privacy_runner.<kind>``; a name that this
project ships can't be taken over.
"""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Literal

from schemas.declaration import Declaration
from schemas.faults import ConfigurationError, Fault

__all__ = ["KINDS", "OURS", "Absent", "Declaration", "Entry", "declaration", "entries", "ignored", "load"]

OURS = "privacy-runner"
"""Name of this distribution."""

KINDS: dict[str, dict[str, str]] = {
    "source": {
        "csv": "components.data.declarations:Csv",
        "parquet": "components.data.declarations:Parquet",
        "excel": "components.data.declarations:Excel",
        "sql": "components.data.declarations:Sql",
        "sklearn": "components.data.declarations:Bundled",
        "hospitals": "components.data.declarations:Hospitals",
        "cancer": "components.data.declarations:Cancer",
    },
    "model": {
        "none": "components.registry:Absent",
        "sklearn": "components.models.declarations:AnySklearn",
        "tree": "components.models.declarations:Tree",
        "forest": "components.models.declarations:Forest",
        "logistic": "components.models.declarations:Logistic",
        "linear": "components.models.declarations:Linear",
        "boosting": "components.models.declarations:Boosting",
        "mlp": "components.models.declarations:Mlp",
        "torch": "components.models.declarations:TorchModule",
        "keras": "components.models.declarations:KerasNetwork",
        "xgboost": "components.models.declarations:Xgboost",
        "callable": "components.models.declarations:CallableDeclaration",
        "predictions": "components.models.declarations:Predictions",
    },
    "anonymization": {
        "none": "components.registry:Absent",
        "guided": "components.anonymization.declarations:Guided",
        "lattice": "components.anonymization.declarations:Lattice",
        "mondrian": "components.anonymization.declarations:Mondrian",
        "pipeline": "components.anonymization.declarations:Pipeline",
        "transform": "components.anonymization.declarations:Transform",
    },
    "minimization": {
        "none": "components.registry:Absent",
        "tree": "components.minimization.declarations:Tree",
        "greedy": "components.minimization.declarations:Greedy",
        "personal": "components.minimization.declarations:Personal",
    },
    "federation": {
        "none": "components.registry:Absent",
        "fedavg": "components.federation.declarations:FedAvg",
        "fedprox": "components.federation.declarations:FedProx",
        "scaffold": "components.federation.declarations:Scaffold",
    },
    "dp": {
        "none": "components.registry:Absent",
        "global": "components.dp.declarations:Global",
        "personalized": "components.dp.declarations:Personalized",
        "record": "components.dp.declarations:Record",
    },
    "risk": {"none": "components.registry:Absent"},
}


class Absent(Declaration):
    """The stage is not part of the run."""

    name: Literal["none"] = "none"


@dataclass(frozen=True, slots=True)
class Entry:
    """A registered component: its kind, its name, the text of its declaration and who brought it.

    ``version`` is that of the distribution; it is empty for our own components.
    """

    kind: str
    name: str
    declaration: str
    distribution: str = OURS
    version: str = ""


@cache
def _registered(kind: str) -> tuple[dict[str, Entry], tuple[Entry, ...]]:
    """Return the components of one kind by name, and the third-party ones whose name was already taken."""
    found = {name: Entry(kind, name, where) for name, where in KINDS[kind].items()}
    points = [
        Entry(kind, point.name, point.value, point.dist.name, point.dist.version)
        if point.dist
        else Entry(kind, point.name, point.value, "unknown")
        for point in entry_points(group=f"privacy_runner.{kind}")
    ]
    ranked = sorted(points, key=lambda entry: (entry.name, entry.distribution))
    return found, tuple(entry for entry in ranked if found.setdefault(entry.name, entry) != entry)


def entries(kind: str) -> dict[str, Entry]:
    """Return the registered components of one kind by name, ours first.

    Parameters
    ----------
    kind : str
        A key of ``KINDS``.

    Returns
    -------
    dict of str to Entry
    """
    return dict(_registered(kind)[0])


def ignored() -> tuple[Entry, ...]:
    """Return the third-party components that are left aside because their name was already taken."""
    return tuple(entry for kind in KINDS for entry in _registered(kind)[1])


def declaration(kind: str, name: str) -> type[Declaration]:
    """Return the declaration of a registered component.

    Raises
    ------
    KeyError
        The name is unknown.
    ConfigurationError
        A third party's declaration can't be imported, or is none.
    """
    entry = entries(kind)[name]
    try:
        loaded = load(entry.declaration)
    except Exception as error:
        if entry.distribution == OURS:
            raise
        raise ConfigurationError(_broken(entry, f"can't be loaded ({type(error).__name__})")) from None
    if not (isinstance(loaded, type) and issubclass(loaded, Declaration)):
        raise ConfigurationError(_broken(entry, "is no declaration"))
    return loaded


def _broken(entry: Entry, problem: str) -> Fault:
    place = "dataset.source.name" if entry.kind == "source" else f"{entry.kind}.name"
    return Fault(
        place=place,
        problem=f"{entry.name!r} of the distribution {entry.distribution} {problem}",
        allowed="a subclass of components.registry.Declaration",
        remedy="repair or uninstall that distribution",
    )


def load(where: str) -> Any:
    """Import what ``"module:attribute"`` names."""
    module, _, attribute = where.partition(":")
    return getattr(import_module(module), attribute)
