"""The frame of a run joined with the declarations of the components it names: one typed model of the whole tree."""

from typing import Annotated, Any, Union

from pydantic import Field, create_model

from components.registry import Declaration, declaration, entries
from runner.expected import one_of
from runner.suggest import did_you_mean, nearest
from runner.translate import shown
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, Fault
from schemas.run_config import Comparison, RunConfig, Scenario, ScenarioName

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
    if tree.get("comparison") is not None:
        fields["comparison"] = (_compared() | None, ...)
    return create_model("Run", __base__=RunConfig, **fields), faults


def _compared() -> Any:
    """Return the type of a comparison, each of whose scenarios names a component of its own."""
    noises = tuple(declaration("dp", name) for name in entries("dp"))
    noise: Any = Annotated[Union[noises], Field(discriminator="name")]  # noqa: UP007 (made of what is registered)
    scenario = create_model("Scenario", __base__=Scenario, dp=(noise, ...))
    about = Comparison.model_fields["scenarios"]
    scenarios: Any = dict[ScenarioName, scenario]
    return create_model("Comparison", __base__=Comparison, scenarios=(scenarios, about))


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
