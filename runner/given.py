"""What a method draws on beside the table: hierarchies and a population, read before anything is done."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from components.anonymization import Given
from components.data import InputFact
from components.registry import load
from runner import canonical
from runner.compose import Composed
from schemas.hierarchy import CsvHierarchy

CLIMBED = "components.anonymization.climbing:climbed"
HIERARCHIES = "components.anonymization.hierarchies.sources:load"
POPULATION = "components.anonymization.population:read_population"


def read_given(composed: Composed, **more: Any) -> Given:
    """Read the hierarchies that a method climbs, and the population, that a configuration declares.

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
    hierarchies = {}
    if uses_hierarchies(method):
        hierarchies = load(HIERARCHIES)(dataset, base, load(CLIMBED)(method, dataset, base))
    population: Any = None
    inputs: tuple[InputFact, ...] = ()
    if dataset.population.path is not None:
        reading = load(POPULATION)(dataset, dataset.source, base)
        population, inputs = reading.table.frame, reading.inputs
    given = Given(hierarchies=hierarchies, population=population, base=base, **more)
    if check := getattr(type(method), "check_given", ""):
        load(check)(method, dataset, given)
    declared = [one.column.hierarchy for one in hierarchies.values()]
    paths = [Path(dataset.hierarchies or "") / one.path for one in declared if isinstance(one, CsvHierarchy)]
    paths += [Path(getattr(method, name)) for name in getattr(type(method), "reads", ())]
    return replace(given, inputs=(*inputs, *(_fact(path, base) for path in dict.fromkeys(paths))))


def _fact(path: Path, base: Path) -> InputFact:
    """Say what the record says of a file that is no table."""
    file = base / path
    return InputFact(path.as_posix(), file.stat().st_size, canonical.digest_file(file), rows=None, columns=None)


def uses_hierarchies(method: Any) -> bool:
    """Tell whether a method, or one of its criteria, climbs hierarchies."""
    if getattr(type(method), "uses_hierarchies", False):
        return True
    return any(getattr(criterion, "distance", "") == "hierarchical" for criterion in getattr(method, "criteria", []))
