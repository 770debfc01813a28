"""What a lattice can't be searched with, told with all faults at once."""

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from components.anonymization.declarations import LatticeOptions
from components.anonymization.hierarchies.hierarchy import Hierarchy, Ladder
from components.anonymization.search_rules import PLACE, option_faults
from schemas.dataset import Column
from schemas.faults import ConfigurationError, Fault

_MOST_AXES = 60
"""Arrays have no more than 64 axes; a lattice with more attributes is searched without one."""


def is_exact(params: LatticeOptions, shape: Sequence[int]) -> bool:
    """Tell whether a lattice is searched until its optimum is proved, as far as ``exact_seconds`` allows.

    Parameters
    ----------
    params : LatticeOptions
    shape : sequence of int
        Levels per attribute that tells classes apart; 1 where it is held as it is.
    """
    return prod(shape) <= params.exact_nodes and len(shape) <= _MOST_AXES


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
    faults = [*_unclimbable(columns, hierarchies), *option_faults(params, known), *height_faults(params, heights)]
    if faults:
        raise ConfigurationError(faults)


def refuse_options(params: LatticeOptions, ladders: Sequence[Ladder], place: str = PLACE) -> None:
    """Refuse options that don't fit the attributes to be searched.

    Raises
    ------
    ConfigurationError
    """
    heights = {one.attribute.name: len(one.groups) - 1 for one in ladders}
    faults = [*option_faults(params, list(heights), place), *height_faults(params, heights, place)]
    if faults:
        raise ConfigurationError(faults)


def height_faults(params: LatticeOptions, heights: Mapping[str, int], place: str = PLACE) -> Iterator[Fault]:
    """Yield the levels that hierarchies don't have.

    Parameters
    ----------
    params : LatticeOptions
    heights : mapping of str to int
        Highest level of the hierarchies.
    place : str, optional
        Where the options stand.
    """
    for name, asked in params.levels.items():
        height = heights.get(name)
        for bound, level in (("min", asked.min), ("max", asked.max)):
            if height is not None and level is not None and level > height:
                yield Fault(
                    place=f"{place}.levels.{name}.{bound}",
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
