"""Write down what a method found as an agreed transformation, for other tables of the schema (see `transform`)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from components.anonymization.criteria.declarations import Criterion, K
from components.anonymization.criteria.requirements import least_k
from components.anonymization.declarations import Method, SeenAs, Suppressing
from components.anonymization.hierarchies.hierarchy import Hierarchy, Ladder
from components.anonymization.publishing import quasi_identifiers
from components.anonymization.transform.agreement import AgreedColumn, AgreedStep, Agreement, Boxes, Levels, Suppression
from components.data.table import Table

NO_AGREEMENT: Final = "there is no transformation.json, and what was done can't be applied to another table: "
"""Begins the warning of a release without `Release.agreed` whose method usually has one; the reason follows."""


def agreed_levels(
    params: Suppressing, table: Table, ladders: Sequence[Ladder], rounds: Sequence[Sequence[int]]
) -> dict[str, Any]:
    """Return a found generalisation in the form that `transform` applies to another table (see `Release.agreed`).

    Parameters
    ----------
    params : Suppressing
        Of the method that found it.
    table : Table
        Names the dataset and its quasi-identifiers.
    ladders : sequence of Ladder
        Of the quasi-identifiers.
    rounds : sequence of sequence of int
        The level of each; where rows were recoded locally, one such vector after the other.
    """
    names = [ladder.attribute.name for ladder in ladders]
    hierarchies = {ladder.attribute.name: ladder.hierarchy for ladder in ladders if ladder.hierarchy is not None}
    vectors = [{name: int(level) for name, level in zip(names, levels, strict=True)} for levels in rounds]
    return agreed_steps(params, table, hierarchies, [Levels(rounds=vectors)])


def agreed_steps(
    params: Suppressing, table: Table, hierarchies: Mapping[str, Hierarchy], steps: Sequence[AgreedStep]
) -> dict[str, Any]:
    """Return steps with fixed parameters, each on columns of its own, in the form that `transform` applies.

    Parameters
    ----------
    params : Suppressing
        Of the method that found them.
    table : Table
        Names the dataset and its quasi-identifiers.
    hierarchies : mapping of str to Hierarchy
        Of the columns whose labels steps show.
    steps : sequence of Levels, Boxes, TopBottom or SuppressColumns
    """
    vectors = [levels for step in steps if isinstance(step, Levels) for levels in step.rounds]
    climbed = {name for levels in vectors for name, level in levels.items() if level > 0}
    climbed |= {axis.name for step in steps if isinstance(step, Boxes) for axis in step.axes if axis.shows == "label"}
    columns = [
        AgreedColumn(
            name=column.name,
            dtype=column.dtype,
            hierarchy=hierarchies[column.name].digest if column.name in climbed else None,
        )
        for column in quasi_identifiers(table)
    ]
    agreement = Agreement(
        method=params.name,
        dataset=table.schema.name,
        columns=columns,
        steps=list(steps),
        criteria=criteria_of(params),
        suppression=suppression_of(params),
        seen_as=_seen_as(params),
    )
    return agreement.model_dump(mode="json")


def criteria_of(params: Method) -> list[Criterion]:
    """Return all that is asked of a class, k among it."""
    return [K(k=least_k(params)), *(criterion for criterion in params.criteria if not isinstance(criterion, K))]


def suppression_of(params: Suppressing) -> Suppression:
    """Return the rule of suppression that a method followed."""
    return Suppression(limit=params.suppression_limit, rows=params.suppressed_rows)


def _seen_as(params: Suppressing) -> SeenAs:
    if not isinstance(params, SeenAs):
        return SeenAs()
    return SeenAs(encode_numbers=params.encode_numbers, encode_categories=params.encode_categories)
