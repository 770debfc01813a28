"""Whether an agreed transformation fits a table, and is applied under a rule as strict as was agreed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from components.anonymization.criteria.declarations import Criterion
from components.anonymization.hierarchies.hierarchy import Hierarchy
from components.anonymization.mondrian.box_covers import shows_of, unreadable
from components.anonymization.pipeline.rules import PLACE, step_faults
from components.anonymization.transform.agreement import AgreedColumn, Agreement, Boxes, Levels
from schemas.dataset import Column, DatasetSchema
from schemas.faults import ConfigurationError, Fault
from schemas.wording import names, shown

if TYPE_CHECKING:
    from components.anonymization.declarations import Step

LIMITS = {
    "k": ("k", True),
    "k_map": ("k", True),
    "l_distinct": ("l", True),
    "l_entropy": ("l", True),
    "l_recursive": ("c", False),
    "alpha": ("alpha", False),
    "t": ("t", False),
    "beta": ("beta", False),
    "beta_enhanced": ("beta", False),
    "delta_disclosure": ("delta", False),
}
"""The number of each criterion that says how strict it is, and whether a larger one is stricter."""


def refuse_misfits(
    path: str, agreement: Agreement, schema: DatasetSchema, hierarchies: Mapping[str, Hierarchy]
) -> None:
    """Refuse to apply a transformation to a table that it wasn't agreed for.

    Parameters
    ----------
    path : str
        Names the transformation in faults.
    agreement : Agreement
    schema : DatasetSchema
        The table's.
    hierarchies : mapping of str to Hierarchy
        The table's own; each must be the agreed one by its digest.

    Raises
    ------
    ConfigurationError
        With every column that differs.
    """
    here = {name: schema.column(name) for name in schema.quasi_identifiers}
    faults = list(_other_columns(path, agreement, here))
    for column in agreement.columns:
        if column.name in here:
            faults.extend(_other_column(path, column, here[column.name], hierarchies.get(column.name)))
    for number, step in enumerate(agreement.steps):
        if isinstance(step, Levels):
            faults.extend(_beyond_the_top(f"{path}: steps.{number}", step, hierarchies))
        if isinstance(step, Boxes):
            faults.extend(_unreadable(f"{path}: steps.{number}", step, here, hierarchies))
    if all(column.name in here for column in agreement.columns):
        steps = cast("list[Step]", agreement.steps)  # all of them name columns
        faults.extend(
            replace(one, place=one.place.replace(PLACE, f"{path}: steps")) for one in step_faults(steps, schema)
        )
    if faults:
        raise ConfigurationError(faults)


def _other_columns(path: str, agreement: Agreement, here: Mapping[str, Column]) -> Iterator[Fault]:
    agreed = [column.name for column in agreement.columns]
    if unknown := [name for name in agreed if name not in here]:
        yield Fault(
            f"{path}: columns",
            f"no quasi-identifiers of this table: {names(unknown)}",
            f"its quasi-identifiers are {names(list(here))}",
            "apply the transformation to the dataset that it was agreed for",
        )
    if left := [name for name in here if name not in agreed]:
        yield Fault(
            "dataset.columns",
            f"quasi-identifiers that the transformation in {shown(path)} doesn't know: {names(left)}",
            f"it was agreed for {names(agreed)}",
            "agree on a transformation of all quasi-identifiers",
        )


def _other_column(path: str, agreed: AgreedColumn, column: Column, hierarchy: Hierarchy | None) -> Iterator[Fault]:
    place = f"column {shown(column.name)}"
    if column.dtype != agreed.dtype:
        yield Fault(
            place,
            f"is {column.dtype} here and {agreed.dtype} in {shown(path)}",
            "the column that the transformation was agreed for",
            f"declare it as {agreed.dtype}",
        )
    if agreed.hierarchy is not None and column.group is not None:
        yield Fault(
            place, "is one of the one-hot columns of a group, which has no levels", remedy="leave it on level 0"
        )
    if agreed.hierarchy is None or (hierarchy is not None and hierarchy.digest == agreed.hierarchy):
        return
    if hierarchy is None:
        problem = f"declares no hierarchy, and the transformation in {shown(path)} climbs one"
    else:
        problem = (
            f"its hierarchy is another than the agreed one: digest {hierarchy.digest[:12]}... here, "
            f"{agreed.hierarchy[:12]}... in {shown(path)}"
        )
    yield Fault(place, problem, "the very hierarchy, and the same declared values", "declare the agreed hierarchy")


def _beyond_the_top(place: str, step: Levels, hierarchies: Mapping[str, Hierarchy]) -> Iterator[Fault]:
    for number, levels in enumerate(step.rounds):
        for name, level in levels.items():
            top = len(hierarchies[name].groups) - 1 if name in hierarchies else level
            if level > top:
                yield Fault(f"{place}.rounds.{number}.{name}", f"level {level}", f"its hierarchy ends at level {top}")


def _unreadable(
    place: str, step: Boxes, here: Mapping[str, Column], hierarchies: Mapping[str, Hierarchy]
) -> Iterator[Fault]:
    for number, axis in enumerate(step.axes):
        at, column = f"{place}.axes.{number}", here.get(axis.name)
        if column is None:
            continue
        if axis.shows not in {"label", shows_of(column)}:
            yield Fault(f"{at}.shows", f"says {axis.shows} of {shown(axis.name)}", shows_of(column))
        elif odd := unreadable(axis, column, hierarchies.get(axis.name)):
            told = "labels of its hierarchy" if axis.shows == "label" else f"values of a column of dtype {column.dtype}"
            yield Fault(f"{at}.covers", f"{odd} of {len(axis.covers)} are no {told}, or end before they begin")


def weaker_rule(agreement: Agreement, ours: Sequence[Criterion], suppression_limit: float) -> tuple[str, ...]:
    """Say which agreed criteria are not asked for here, and where more suppression is allowed than was agreed.

    Parameters
    ----------
    agreement : Agreement
    ours : sequence of Criterion
        What is asked for here, k among it.
    suppression_limit : float
        The share of rows that may be suppressed here.
    """
    dropped = [criterion for criterion in agreement.criteria if not any(_covers(one, criterion) for one in ours)]
    said = [
        "the transformation was agreed with the criterion "
        + ", ".join(f"{key}={value}" for key, value in criterion.model_dump(exclude_none=True).items())
        + ", which is not asked for here"
        for criterion in dropped
    ]
    if suppression_limit > agreement.suppression.limit:
        said.append(
            f"the transformation was agreed with a suppression limit of {agreement.suppression.limit:g}; "
            f"it is {suppression_limit:g} here"
        )
    return tuple(said)


def _covers(ours: Criterion, agreed: Criterion) -> bool:
    """Tell whether a criterion asks for as much as the agreed one: the same kind and options, its limit no weaker."""
    limit, larger_is_stricter = LIMITS[agreed.name]
    told, asked = ours.model_dump(), agreed.model_dump()
    mine, theirs = told.pop(limit, None), asked.pop(limit)
    if told != asked or mine is None:
        return False
    return bool(mine >= theirs if larger_is_stricter else mine <= theirs)
