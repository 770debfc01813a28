"""What is wrong with a domain as a schema declares it, whatever the rows hold.

Light on purpose: neither numpy nor pandas is imported, so that a configuration is judged before anything starts.
"""

from collections.abc import Iterator, Sequence
from math import ceil, floor, isfinite
from typing import Any

from schemas.dataset import NUMERIC, TEMPORAL, TEXT_LIKE, Column
from schemas.faults import Fault

EXACT = 2.0**53
"""Whole numbers beyond this are not told apart by a float."""


def number_faults(column: Column, bounds: Sequence[Any]) -> Iterator[Fault]:
    """Yield what makes bounds of a number, date or time none of a domain.

    Parameters
    ----------
    column : Column
    bounds : sequence
        Those that are known, one or both, lowest first; numbers.
    """
    place, remedy = f"column '{column.name}'", "narrow its bounds, or leave it out of minimization.columns"
    if column.dtype == "integer" and any(abs(bound) > EXACT for bound in bounds):
        yield Fault(place, "its domain reaches beyond 2^53, where whole numbers merge", remedy=remedy)
    elif any(not isfinite(bound) for bound in (*bounds, float(bounds[-1]) - float(bounds[0]))):
        yield Fault(place, "its domain is infinite or too wide", remedy=remedy)
    elif column.dtype == "integer" and ceil(bounds[0]) > floor(bounds[-1]) and len(bounds) > 1:
        yield Fault(place, "there is no whole number between its min and max")


def column_faults(column: Column) -> Iterator[Fault]:
    """Yield what keeps a column, by what its schema declares, from having a domain."""
    bounds = [bound for bound in (column.min, column.max) if bound is not None]
    if column.dtype in NUMERIC and bounds:
        yield from number_faults(column, bounds)


def group_faults(name: str, members: Sequence[Column]) -> Iterator[Fault]:
    """Yield the columns of a one-hot group that can hold something else than 0 and 1, or true and false."""
    for each in members:
        place = f"column '{each.name}'"
        if each.dtype in TEXT_LIKE | TEMPORAL:
            yield Fault(place, f"a one-hot column of group {name}, but neither a number nor a boolean")
        elif any(bound not in {None, 0, 1} for bound in (each.min, each.max)):
            yield Fault(
                place,
                f"a one-hot column of group {name}, and its bounds are others than 0 and 1",
                "min: 0 and max: 1, or neither; or booleans",
                "correct its bounds, or take it out of the group",
            )
