"""Whose hierarchies a method climbs, told by its declaration and the schema.

No other hierarchy is read: what is wrong with it, or which values it lacks, can't be seen in a release. Light on
purpose: neither numpy nor pandas is imported.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from components.anonymization.criteria.declarations import T
from components.anonymization.declarations import Generalise, LatticeStep, Mondrian, MondrianStep, Pipeline, Transform
from components.anonymization.transform.agreement_file import read_agreement
from schemas.dataset import Column, DatasetSchema

_WITHOUT_ORDER = frozenset({"text", "category", "boolean"})


def climbed(method: Any, schema: DatasetSchema, base: Path) -> set[str]:
    """Return the columns whose hierarchies a method, or one of its criteria, climbs as far as they have one.

    Parameters
    ----------
    method : AnonymizationDeclaration
        A third party's climbs those of all quasi-identifiers, if it ``uses_hierarchies``.
    schema : DatasetSchema
    base : Path
        What relative paths start from: an agreed transformation says itself what it climbs.

    Raises
    ------
    ConfigurationError
        The agreed transformation can't be read.
    """
    return {*_by_method(method, schema, base), *_by_criteria(method, schema)}


def cut_along_hierarchies(columns: Iterable[Column]) -> list[Column]:
    """Return the columns that partitioning cuts along a hierarchy: what has an order is cut between neighbours."""
    return [column for column in columns if column.dtype in _WITHOUT_ORDER and column.group is None]


def _by_method(method: Any, schema: DatasetSchema, base: Path) -> Iterable[str]:
    quasi = [schema.column(name) for name in schema.quasi_identifiers]
    if isinstance(method, Transform):
        agreement, _ = read_agreement(method.path, base)
        return [column.name for column in agreement.columns if column.hierarchy is not None]
    if isinstance(method, Pipeline):
        return _by_steps(method, quasi)
    if isinstance(method, Mondrian):
        return [column.name for column in cut_along_hierarchies(quasi)]
    return [column.name for column in quasi] if getattr(type(method), "uses_hierarchies", False) else []


def _by_steps(method: Pipeline, quasi: Iterable[Column]) -> Iterator[str]:
    for step in method.steps:
        named = [column for column in quasi if column.name in step.columns]
        if isinstance(step, MondrianStep):
            named = cut_along_hierarchies(named)
        elif not isinstance(step, Generalise | LatticeStep):
            continue
        yield from (column.name for column in named)


def _by_criteria(method: Any, schema: DatasetSchema) -> Iterator[str]:
    """Yield the sensitive columns on whose hierarchies distances are measured."""
    for criterion in getattr(method, "criteria", []):
        if isinstance(criterion, T) and criterion.distance == "hierarchical":
            yield from schema.sensitive if criterion.column is None else [criterion.column]
