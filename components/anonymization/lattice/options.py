"""What a lattice can't be searched with, told with all faults at once."""

from collections.abc import Iterator, Mapping, Sequence

from components.anonymization.declarations import LatticeOptions
from components.anonymization.hierarchies.hierarchy import Hierarchy, Ladder
from components.anonymization.lattice.quality import WEIGHTED
from schemas.dataset import Column
from schemas.faults import ConfigurationError, Fault
from schemas.wording import names

PLACE = "anonymization"


def refuse_misfits(params: LatticeOptions, columns: Sequence[Column], hierarchies: Mapping[str, Hierarchy]) -> None:
    """Refuse columns that full-domain generalisation can't climb, and options that don't fit them.

    Raises
    ------
    ConfigurationError
    """
    heights = {
        column.name: len(hierarchies[column.name].groups) - 1 for column in columns if column.name in hierarchies
    }
    known = [column.name for column in columns]
    faults = [*_unclimbable(columns, hierarchies), *option_faults(params, known, heights)]
    if faults:
        raise ConfigurationError(faults)


def refuse_options(params: LatticeOptions, ladders: Sequence[Ladder], place: str = PLACE) -> None:
    """Refuse options that don't fit the attributes to be searched.

    Raises
    ------
    ConfigurationError
    """
    heights = {one.attribute.name: len(one.groups) - 1 for one in ladders}
    faults = list(option_faults(params, list(heights), heights, place))
    if faults:
        raise ConfigurationError(faults)


def option_faults(
    params: LatticeOptions, known: Sequence[str], heights: Mapping[str, int], place: str = PLACE
) -> Iterator[Fault]:
    """Yield what is wrong with weights and level ranges.

    Parameters
    ----------
    params : LatticeOptions
    known : sequence of str
        The columns to be searched.
    heights : mapping of str to int
        Highest level of their hierarchies, as far as these are known.
    place : str, optional
        Where the options stand.
    """
    for name in params.weights:
        if name not in known:
            yield _unknown(f"{place}.weights.{name}", known)
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
            yield _unknown(where, known)
            continue
        if asked.max is not None and asked.min > asked.max:
            yield Fault(where, f"min {asked.min} is above max {asked.max}", "min <= max", "exchange or change them")
        height = heights.get(name)
        for bound, level in (("min", asked.min), ("max", asked.max)):
            if height is not None and level is not None and level > height:
                yield Fault(
                    place=f"{where}.{bound}",
                    problem=f"level {level} is above the top of the hierarchy",
                    allowed=f"levels 0 to {height}",
                    remedy="name one of these levels",
                )


def _unclimbable(columns: Sequence[Column], hierarchies: Mapping[str, Hierarchy]) -> Iterator[Fault]:
    for column in columns:
        if column.group is not None:
            yield Fault(
                place=f"column '{column.name}'",
                problem=f"is one of the one-hot columns of '{column.group}', which can't climb a hierarchy one by one",
                allowed="one column for one attribute",
                remedy="put them together into one category column, or choose anonymization=guided",
            )
        elif column.name not in hierarchies:
            yield Fault(
                place=f"column '{column.name}'",
                problem="is a quasi-identifier without a hierarchy",
                allowed="full-domain generalisation climbs a hierarchy for each",
                remedy=f"declare dataset.columns.{column.name}.hierarchy ('*' suppresses the column as a whole)",
            )


def _unknown(place: str, known: Sequence[str]) -> Fault:
    return Fault(place, "names no quasi-identifier that is searched", f"one of {names(known)}", "correct the name")
