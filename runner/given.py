"""What a method draws on beside the table: hierarchies and a population, read before anything is done."""

from typing import Any

from components.anonymization import Given
from components.registry import load
from runner.compose import Composed

HIERARCHIES = "components.anonymization.hierarchies.sources:load"
POPULATION = "components.anonymization.population:read_population"


def read_given(composed: Composed, **more: Any) -> Given:
    """Read the hierarchies and the population that a configuration declares, where its method looks at them.

    Parameters
    ----------
    composed : Composed
    **more
        Further fields of `Given`.

    Raises
    ------
    ConfigurationError or DataError
        A file can't be read, or is no hierarchy, population or transformation of this dataset; with all faults.
    """
    method, dataset, base = composed.config.anonymization, composed.config.dataset, composed.base
    hierarchies = load(HIERARCHIES)(dataset, base) if uses_hierarchies(method) else {}
    population = None
    if dataset.population.path is not None:
        population = load(POPULATION)(dataset, dataset.source, base)
    given = Given(hierarchies=hierarchies, population=population, base=base, **more)
    if check := getattr(type(method), "check_given", ""):
        load(check)(method, dataset, given)
    return given


def uses_hierarchies(method: Any) -> bool:
    """Tell whether a method, or one of its criteria, climbs hierarchies."""
    if getattr(type(method), "uses_hierarchies", False):
        return True
    return any(getattr(criterion, "distance", "") == "hierarchical" for criterion in getattr(method, "criteria", []))
