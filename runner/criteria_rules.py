"""Rules on the criteria of a configuration: whether they go with the columns, as far as the schema tells."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from components.anonymization.criteria.declarations import takes
from components.anonymization.criteria.figures import TOLERANCE, bound_text, limit_text
from runner.suggest import did_you_mean, nearest
from schemas.dataset import NUMERIC, TEMPORAL, Column, DatasetSchema
from schemas.faults import Fault

_LIMITS_BY_VALUES = {"l_distinct": "l", "l_entropy": "l", "l_recursive": "l", "alpha": "alpha"}
"""Limits that depend on how many values a column has."""


def column_faults(criteria: Sequence[Any], data: DatasetSchema) -> Iterator[Fault]:
    """Ask a criterion on sensitive values on which column, unless there is only one."""
    sensitive = data.sensitive
    for index, criterion in _on_columns(criteria):
        place = f"anonymization.criteria.{index}.column"
        if not sensitive:
            yield Fault(place, f"{criterion.name} needs a column with the role sensitive, and there is none")
        elif criterion.column is None and len(sensitive) > 1:
            yield Fault(place, f"{criterion.name} must name its column", _one_of(sensitive))
        elif criterion.column is not None and criterion.column not in sensitive:
            yield Fault(
                place,
                f"{criterion.column!r} is no sensitive column",
                _one_of(sensitive),
                did_you_mean(nearest(criterion.column, sensitive)),
            )


def repeated(criteria: Sequence[Any], data: DatasetSchema) -> Iterator[Fault]:
    """Refuse a criterion that is asked for twice on one column; another l, distance or attacker makes it another."""
    seen = []
    for index, criterion in enumerate(criteria):
        others = criterion.model_dump(include={"distance", "others", "absent"})
        if criterion.name == "l_recursive":
            others["l"] = criterion.l
        asked = (criterion.name, _name_of_column(criterion, data), others)
        if asked in seen:
            yield Fault(f"anonymization.criteria.{index}", f"{criterion.name} is asked for twice", remedy="keep one")
        seen.append(asked)


def distance_faults(criteria: Sequence[Any], data: DatasetSchema) -> Iterator[Fault]:
    """Ask for a distance that the column knows: an order between its values, or a hierarchy over them."""
    for index, criterion in _on_columns(criteria):
        column = _column_of(criterion, data)
        if column is None or criterion.name != "t":
            continue
        place = f"anonymization.criteria.{index}.distance"
        if criterion.distance == "hierarchical" and column.hierarchy is None:
            yield Fault(
                place,
                f"hierarchical distance needs a hierarchy of {column.name!r}, and there is none",
                f"{'equal or ordered' if _has_order(column) else 'equal'} without one",
                f"give dataset.columns.{column.name}.hierarchy, or leave out the distance",
            )
        if criterion.distance == "ordered" and not _has_order(column):
            yield Fault(
                place,
                f"the values of {column.name!r} have no order: its dtype is {column.dtype}",
                "equal or hierarchical; ordered for numbers, dates and ordered columns",
                "leave out the distance, or declare the column as ordered, with its values in order",
            )


def unreachable(criteria: Sequence[Any], data: DatasetSchema) -> Iterator[Fault]:
    """Refuse what no class can meet with the values that a column declares."""
    for index, criterion in _on_columns(criteria):
        column = _column_of(criterion, data)
        most = None if column is None else _most_values(column)
        if column is None or most is None:
            continue
        says = f"{column.name!r} declares {most} value{'s' if most > 1 else ''}, missing counted as one where it may be"
        asked = _LIMITS_BY_VALUES.get(criterion.name)
        if asked is None:
            continue
        limit, up = getattr(criterion, asked), asked == "alpha"
        if limit * most < 1 - TOLERANCE if up else limit > most:
            bound = bound_text(1 / most if up else most, up=up, admits=partial(takes, criterion, asked))
            yield Fault(
                f"anonymization.criteria.{index}.{asked}",
                f"{limit_text(limit)} can't be reached: {says}",
                f"{'at least' if up else 'at most'} {bound}" if bound else "no limit can be met",
                "" if bound else "leave the criterion out, or declare more values",
            )


def population_faults(criteria: Sequence[Any], data: DatasetSchema) -> Iterator[Fault]:
    """Ask for a population where k is counted in it."""
    for index, criterion in enumerate(criteria):
        if criterion.name == "k_map" and data.population.size is None and data.population.path is None:
            yield Fault(
                f"anonymization.criteria.{index}",
                "k_map counts persons of a population, and none is declared",
                "dataset.population.path, or dataset.population.size for an estimate",
                "declare one of them, or ask for k",
            )


def _on_columns(criteria: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    return ((index, criterion) for index, criterion in enumerate(criteria) if _is_on_column(criterion))


def _is_on_column(criterion: Any) -> bool:
    return "column" in type(criterion).model_fields


def _name_of_column(criterion: Any, data: DatasetSchema) -> str | None:
    """Return the column that is meant; None where it is left open, and for criteria on none."""
    if not _is_on_column(criterion):
        return None
    named: str | None = criterion.column
    return data.sensitive[0] if named is None and len(data.sensitive) == 1 else named


def _column_of(criterion: Any, data: DatasetSchema) -> Column | None:
    name = _name_of_column(criterion, data)
    return data.column(name) if name is not None and name in data.sensitive else None


def _has_order(column: Column) -> bool:
    return column.dtype in NUMERIC | TEMPORAL or column.dtype == "ordered"


def _most_values(column: Column) -> int | None:
    """Return how many values a column can have, missing among them; None where that is open."""
    declared = 2 if column.dtype == "boolean" else len(column.values or ())
    return declared + column.nullable if declared else None


def _one_of(names: list[str]) -> str:
    return f"one of {', '.join(names)}"
