"""The frame of a run joined with the declarations of the components it names: one typed model of the whole tree."""

from typing import Any

from pydantic import create_model

from components.registry import Declaration, declaration, entries
from runner.expected import one_of
from runner.suggest import did_you_mean, nearest
from runner.translate import shown
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, Fault
from schemas.run_config import RunConfig

SECTIONS = ("model", "anonymization", "minimization", "federation", "dp", "risk")
"""The groups whose option names a component."""


def joined(tree: dict[str, Any]) -> tuple[type[RunConfig], dict[str, Fault]]:
    """Return the model that a tree is checked against.

    Parameters
    ----------
    tree : dict
        The configuration, plain.

    Returns
    -------
    tuple
        The model, and the faults of the names by their dotted place. A section whose component is not known takes
        anything.
    """
    faults: dict[str, Fault] = {}
    fields: dict[str, Any] = {}
    for section in SECTIONS:
        fields[section] = (_declared(section, tree.get(section), section, faults), ...)
    dataset = tree.get("dataset")
    source = dataset.get("source") if isinstance(dataset, dict) else None
    typed: Any = _declared("source", source, "dataset.source", faults)
    fields["dataset"] = (create_model("Dataset", __base__=DatasetSchema, source=(typed, ...)), ...)
    return create_model("Run", __base__=RunConfig, **fields), faults


def _declared(kind: str, section: Any, place: str, faults: dict[str, Fault]) -> type[Declaration] | Any:
    """Return the declaration that a section names; ``Any`` when it names none, with the fault noted."""
    if not isinstance(section, dict):
        return Declaration  # refused by its type later on
    known = entries(kind)
    name = section.get("name")
    if isinstance(name, str) and name in known:
        try:
            return declaration(kind, name)
        except ConfigurationError as error:
            faults[f"{place}.name"] = error.faults[0]
            return Any
    similar = nearest(name, known) if isinstance(name, str) else ""
    problem = "is missing" if "name" not in section else f"there is no {kind} called {shown(name)}"
    faults[f"{place}.name"] = Fault(f"{place}.name", problem, one_of(sorted(known)), did_you_mean(similar))
    return Any
