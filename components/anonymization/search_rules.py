"""What is wrong with the options of a search, told by the names of its columns alone.

Light on purpose: neither numpy nor pandas is imported, so that a configuration is judged before anything starts.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

from components.anonymization.declarations import LatticeOptions, MondrianOptions
from schemas.base import Contract
from schemas.dataset import DatasetSchema
from schemas.faults import Fault
from schemas.wording import names

PLACE = "anonymization"

WEIGHTED = ("loss", "precision", "entropy")
"""Quality models that know attributes, and so weights of attributes."""


def search_faults(method: Contract, schema: DatasetSchema) -> Iterator[Fault]:
    """Yield what a method that searches all quasi-identifiers is wrongly told; nothing for other methods."""
    if isinstance(method, LatticeOptions):
        yield from option_faults(method, schema.quasi_identifiers)
    elif isinstance(method, MondrianOptions):
        columns = [schema.column(name) for name in schema.quasi_identifiers]
        yield from weight_faults(method.weights, [column.group or column.name for column in columns])


def option_faults(params: LatticeOptions, known: Sequence[str], place: str = PLACE) -> Iterator[Fault]:
    """Yield what is wrong with weights and level ranges, whatever hierarchies there are.

    Parameters
    ----------
    params : LatticeOptions
    known : sequence of str
        The columns to be searched.
    place : str, optional
        Where the options stand.
    """
    yield from weight_faults(params.weights, known, place)
    if params.weights and params.quality not in WEIGHTED:
        yield Fault(
            place=f"{place}.weights",
            problem=f"the quality model {params.quality} looks at classes, and knows no attributes to weigh",
            allowed=f"weights go with {', '.join(WEIGHTED)}",
            remedy="leave the weights out, or choose one of these models",
        )
    for name, asked in params.levels.items():
        where = f"{place}.levels.{name}"
        if name not in known:
            yield _unknown(where, name, known)
        elif asked.max is not None and asked.min > asked.max:
            yield Fault(where, f"min {asked.min} is above max {asked.max}", "min <= max", "exchange or change them")


def weight_faults(weights: Mapping[str, float], known: Sequence[str], place: str = PLACE) -> Iterator[Fault]:
    """Yield the weights of what isn't searched.

    Parameters
    ----------
    weights : mapping of str to float
    known : sequence of str
        What is searched; where one-hot columns are one attribute, the name of their group.
    place : str, optional
        Where the options stand.
    """
    yield from (_unknown(f"{place}.weights.{name}", name, known) for name in weights if name not in known)


def _unknown(place: str, name: str, known: Sequence[str]) -> Fault:
    close = get_close_matches(name, known, 1)
    return Fault(
        place,
        "names no quasi-identifier that is searched",
        f"one of {names(list(dict.fromkeys(known)))}",
        f"did you mean {close[0]}?" if close else "correct the name",
    )
