"""What the steps of a pipeline may do to which columns, told by schema and steps alone.

Light on purpose: neither numpy nor pandas is imported, so that a configuration is judged before anything starts.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime
from difflib import get_close_matches
from typing import Any

from components.anonymization.declarations import (
    Generalise,
    LatticeStep,
    Microaggregate,
    MondrianStep,
    Step,
    SuppressColumns,
    TopBottom,
)
from components.anonymization.search_rules import option_faults, weight_faults
from schemas.dataset import NUMERIC, TEMPORAL, Column, DatasetSchema
from schemas.faults import Fault
from schemas.wording import names, shown

PLACE = "anonymization.steps"
LEAST_INTEGER, LARGEST_INTEGER = -(2**63), 2**63 - 1
"""What a column of whole numbers can hold."""


def step_faults(steps: Sequence[Step], schema: DatasetSchema) -> Iterator[Fault]:
    """Yield everything that steps can't do to the columns that they name.

    A step's columns are quasi-identifiers, and each is recoded by one step at most: a hierarchy doesn't know the labels
    that another step made, and a release shows one recoding. One-hot columns of a group go together.

    Parameters
    ----------
    steps : sequence of Step
    schema : DatasetSchema
    """
    taken: dict[str, int] = {}
    for number, step in enumerate(steps):
        place = f"{PLACE}.{number}"
        yield from _column_faults(f"{place}.columns", step, schema, taken)
        known = [schema.column(name) for name in dict.fromkeys(step.columns) if name in schema.quasi_identifiers]
        for kind, check in _CHECKS.items():
            if isinstance(step, kind):
                yield from check(place, step, known)
        for name in step.columns:
            taken.setdefault(name, number)
    starred = {name for step in steps if isinstance(step, SuppressColumns) for name in step.columns}
    if schema.quasi_identifiers and starred >= set(schema.quasi_identifiers):
        yield Fault(
            PLACE,
            "every quasi-identifier is suppressed, and every row with it",
            "at least one column that shows something",
            "give these columns the role drop, or generalise one of them",
        )


def _column_faults(place: str, step: Step, schema: DatasetSchema, taken: dict[str, int]) -> Iterator[Fault]:
    known = schema.quasi_identifiers
    for name in dict.fromkeys(step.columns):
        if name not in known:
            close = get_close_matches(name, known, 1)
            problem = "has another role" if name in schema.names() else "is no column of the schema"
            yield Fault(
                place,
                f"{shown(name)} {problem}",
                f"a step changes quasi-identifiers: {names(known)}",
                f"did you mean {close[0]}?" if close else "name one of them",
            )
        elif name in taken:
            yield Fault(
                place,
                f"{shown(name)} is recoded by {PLACE}.{taken[name]} already",
                "one step a column",
                "name it in one of the two",
            )
        if step.columns.count(name) > 1:
            yield Fault(place, f"{shown(name)} is named twice", remedy="name it once")
    groups = {schema.column(name).group for name in step.columns if name in known} - {None}
    for group in sorted(map(str, groups)):
        left = [column.name for column in schema.columns if column.group == group and column.name not in step.columns]
        if left:
            yield Fault(
                place,
                f"the one-hot columns of group {shown(group)} go together, and these are left out: {names(left)}",
                remedy="name all of them",
            )


def _top_bottom_faults(place: str, step: TopBottom, columns: Sequence[Column]) -> Iterator[Fault]:
    bounds = [(key, bound) for key, bound in (("bottom", step.bottom), ("top", step.top)) if bound is not None]
    if not bounds:
        yield Fault(place, "neither bottom nor top is given", "at least one of them", "set bottom or top")
    for column in columns:
        if column.group is not None or column.dtype not in NUMERIC | TEMPORAL | {"ordered"}:
            yield Fault(
                f"{place}.columns",
                f"{shown(column.name)} is {_what(column)}, which has neither top nor bottom",
                "numbers, dates and ordered values",
                "generalise it by a hierarchy",
            )
            continue
        read = {}
        for key, bound in bounds:
            try:
                read[key] = order_of(column, bound)
            except ValueError as error:
                yield Fault(f"{place}.{key}", f"is no value of column {shown(column.name)}", str(error))
        yield from _bound_faults(place, column, read)


def _bound_faults(place: str, column: Column, read: dict[str, Any]) -> Iterator[Fault]:
    if len(read) == 2 and read["bottom"] >= read["top"]:
        yield Fault(place, f"bottom is not below top for column {shown(column.name)}", remedy="exchange or change them")
    low, high = (
        bound if bound is None or column.dtype in NUMERIC else order_of(column, bound)
        for bound in (column.min, column.max)
    )
    for key, value in read.items():
        if (low is not None and value < low) or (high is not None and value > high):
            yield Fault(
                f"{place}.{key}",
                f"lies outside the domain of column {shown(column.name)}",
                f"min {column.min if column.min is not None else '-'}, "
                f"max {column.max if column.max is not None else '-'}",
                "choose a bound within it",
            )


def order_of(column: Column, bound: float | str) -> Any:
    """Return what a bound is compared by: a number, a moment in UTC, or the place of an ordered value.

    Raises
    ------
    ValueError
        The column could hold no such value; the message says what is needed.
    """
    if column.dtype in NUMERIC:
        if isinstance(bound, str) or not math.isfinite(bound):
            raise ValueError("a finite number is needed")
        if column.dtype == "integer" and bound != math.floor(bound):
            raise ValueError("a whole number is needed")
        if column.dtype == "integer" and not LEAST_INTEGER <= bound <= LARGEST_INTEGER:
            raise ValueError(f"lies outside what whole numbers hold: {LEAST_INTEGER} to {LARGEST_INTEGER}")
        return bound
    if column.dtype in TEMPORAL:
        return _moment(column, bound)
    if bound not in (column.values or []):
        raise ValueError("one of the column's declared values is needed")
    return (column.values or []).index(str(bound))


def _moment(column: Column, bound: float | str) -> datetime:
    """Read a date or a time; one without a zone is taken as UTC."""
    try:
        if column.dtype == "date":
            day = date.fromisoformat(str(bound))
            return datetime(day.year, day.month, day.day, tzinfo=UTC)
        moment = datetime.fromisoformat(str(bound))
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except ValueError:
        raise ValueError("an ISO 8601 date or time in quotes is needed") from None
    except OverflowError:
        raise ValueError("a time that lies in the years 1 to 9999 in UTC is needed") from None


def _microaggregate_faults(place: str, step: Microaggregate, columns: Sequence[Column]) -> Iterator[Fault]:
    for column in columns:
        if column.dtype == "ordered":
            if step.function == "mean":
                yield Fault(
                    f"{place}.function",
                    f"{shown(column.name)} is ordered, and has no mean",
                    "median or mode",
                    "use one",
                )
        elif column.group is not None or column.dtype not in NUMERIC | TEMPORAL:
            yield Fault(
                f"{place}.columns",
                f"{shown(column.name)} is {_what(column)}, whose values have no order",
                "numbers, dates and ordered values",
                "leave it to another step",
            )


def _climbing_faults(place: str, step: Generalise | LatticeStep, columns: Sequence[Column]) -> Iterator[Fault]:
    for column in columns:
        if column.group is not None or column.hierarchy is None:
            yield Fault(
                f"{place}.columns",
                f"{shown(column.name)} is {_what(column) if column.group else 'a column without a hierarchy'}",
                f"the step {step.name} climbs a hierarchy",
                f"declare dataset.columns.{column.name}.hierarchy, or leave it to mondrian, which needs none",
            )


def _weight_faults(place: str, step: MondrianStep, columns: Sequence[Column]) -> Iterator[Fault]:
    units = {column.name: column.group or column.name for column in columns}
    yield from weight_faults(step.weights, [units.get(name, name) for name in step.columns], place)


def _lattice_faults(place: str, step: LatticeStep, columns: Sequence[Column]) -> Iterator[Fault]:
    yield from _climbing_faults(place, step, columns)
    yield from option_faults(step, step.columns, place)


def _what(column: Column) -> str:
    return "one of the one-hot columns of a group" if column.group is not None else f"{_a(column.dtype)} column"


def _a(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


_CHECKS: dict[type[Step], Callable[..., Iterator[Fault]]] = {
    TopBottom: _top_bottom_faults,
    Microaggregate: _microaggregate_faults,
    Generalise: _climbing_faults,
    LatticeStep: _lattice_faults,
    MondrianStep: _weight_faults,
}
