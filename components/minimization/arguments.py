"""What the transformers are given, checked as a configuration is: all that is wrong is told at once."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from math import inf
from numbers import Real
from typing import Any

from pydantic import ValidationError

from components.minimization.declarations import Targeted
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, Fault
from schemas.wording import names, shown


def checked(declared: Callable[[], Targeted], weights: Any, schema: DatasetSchema) -> Targeted:
    """Return the parameters of a method.

    Parameters
    ----------
    declared : callable
        Makes them, or raises ``pydantic.ValidationError``.
    weights : mapping of str to float, or None
    schema : DatasetSchema
        Of the rows.

    Raises
    ------
    ConfigurationError
        With all that is wrong with either.
    """
    faults = list(_weight_faults(weights, schema))
    try:
        params = declared()
    except ValidationError as error:
        found = error.errors(include_input=False, include_url=False)
        faults = [*(Fault(".".join(map(str, each["loc"])), str(each["msg"])) for each in found), *faults]
    else:
        faults = [*_column_faults(params.columns or [], schema), *faults]
    if faults:
        raise ConfigurationError(faults)
    return params


def refuse_other_kinds(schema: Any, groups: Any, cells: Any) -> None:
    """Raise `ConfigurationError` where what describes the rows is nothing that could."""
    faults = []
    if not isinstance(schema, DatasetSchema | None):
        faults.append(Fault("schema", f"is a {type(schema).__name__}", "a DatasetSchema, or None"))
    several = groups.values() if isinstance(groups, Mapping) else groups
    if groups is not None and not (_listing(several) and all(_texts(each) for each in several)):
        faults.append(Fault("groups", "don't list columns", "the one-hot columns of each attribute, by its name"))
    if cells is not None and not _listing(cells):
        faults.append(Fault("cells", f"are a {type(cells).__name__}", "a list of cells"))
    if faults:
        raise ConfigurationError(faults)


def _listing(some: Any) -> bool:
    return isinstance(some, Iterable) and not isinstance(some, str | bytes | Mapping)


def _texts(some: Any) -> bool:
    return _listing(some) and all(isinstance(each, str) for each in some)


def named(columns: Any) -> Any:
    """Return columns as a declaration takes them: one name, or a list of what holds several."""
    return list(columns) if isinstance(columns, Iterable) and not isinstance(columns, str) else columns


def _column_faults(columns: list[str], schema: DatasetSchema) -> Iterator[Fault]:
    for name in dict.fromkeys(columns):
        if name not in schema.names():
            yield _unknown("columns", name, schema.names())
        elif columns.count(name) > 1:
            yield Fault("columns", f"{shown(name)} is named {columns.count(name)} times", "each column once")


def _weight_faults(weights: Any, schema: DatasetSchema) -> Iterator[Fault]:
    """Yield weights of nothing, and weights that are no positive numbers."""
    if weights is None:
        return
    if not isinstance(weights, Mapping):
        yield Fault("weights", f"is a {type(weights).__name__}", "a number for each attribute's name")
        return
    groups = [column.group for column in schema.columns]
    known = list(
        dict.fromkeys(
            column.name if column.group is None or groups.count(column.group) < 2 else column.group
            for column in schema.columns
        )
    )
    for name, weight in weights.items():
        if name in schema.names() and name not in known:
            group = schema.column(name).group
            yield Fault("weights", f"{shown(name)} is a one-hot column of a group", f"the group's name, {group!r}")
        elif name not in known:
            yield _unknown("weights", str(name), known)
        if isinstance(weight, bool) or not isinstance(weight, Real) or not 0 < float(weight) < inf:
            yield Fault(f"weights.{name}", "is no weight", "a finite number above 0")


def _unknown(place: str, name: str, known: list[str]) -> Fault:
    close = get_close_matches(name, known, 1)
    remedy = f"did you mean {close[0]}?" if close else "correct the name"
    return Fault(place, f"{shown(name)} is no column of the rows", f"one of {names(known)}", remedy)
