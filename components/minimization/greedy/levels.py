"""The levels of a column's own hierarchy as partitions of its domain."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from components.anonymization.hierarchies.functions import declared_domain
from components.anonymization.hierarchies.hierarchy import Hierarchy
from components.anonymization.hierarchies.keys import keys_of_values
from components.anonymization.hierarchies.sources import load
from components.minimization.attributes import BELOW, Attribute
from components.minimization.greedy.cuts import numbered
from components.minimization.partitions import Partition, between
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, Fault
from schemas.hierarchy import CsvHierarchy


def levels_of(attributes: Iterable[Attribute], apart: Mapping[str, bool]) -> dict[str, list[Partition]]:
    """Return the partitions that the hierarchy of each column makes, finest first, without raw values and the top.

    Columns without a hierarchy, and those whose domain is not a list of values, are left out.

    Parameters
    ----------
    attributes : iterable of Attribute
    apart : mapping of str to bool
        Whether missing cells need a part of their own.

    Raises
    ------
    ConfigurationError
        A hierarchy is in a file, or does not hold all values of the domain; with the faults of all columns.
    """
    climbed = [each for each in attributes if not each.grouped and each.columns[0].hierarchy is not None]
    faults = [
        Fault(
            f"column '{each.name}'",
            "its hierarchy is in a file, which minimisation does not read",
            remedy="write it out in the schema, or set minimization.hierarchies=false",
        )
        for each in climbed
        if isinstance(each.columns[0].hierarchy, CsvHierarchy)
    ]
    if faults:
        raise ConfigurationError(faults)
    columns = [each.columns[0].model_copy(update={"role": "quasi_identifier"}) for each in climbed]
    if not columns:
        return {}
    hierarchies = load(DatasetSchema(name="minimised", source=None, columns=columns), Path())
    found = {each.name: _partitions(each, hierarchies[each.name], apart=apart[each.name]) for each in climbed}
    faults = [
        Fault(f"column '{name}'", "its hierarchy does not hold all values of its domain")
        for name, levels in found.items()
        if levels is None
    ]
    if faults:
        raise ConfigurationError(faults)
    return {name: levels for name, levels in found.items() if levels}


def _partitions(attribute: Attribute, hierarchy: Hierarchy, *, apart: bool) -> list[Partition] | None:
    """Return the levels of one hierarchy; none where the domain is no list; None where values are not covered."""
    column = attribute.columns[0]
    domain = declared_domain(column)
    if domain is None or not len(hierarchy.leaves):
        return []
    leaf = pd.Index(hierarchy.leaves).get_indexer(pd.Index(keys_of_values(domain, column)))
    if (leaf < 0).any():
        return None
    partitions = []
    for groups in hierarchy.groups[1:]:
        group = groups[leaf]
        if attribute.kind == "nominal":
            numbers = group.tolist()
            partitions.append(Partition(attribute, groups=numbered([*numbers, -1 if apart else numbers[0]])))
        else:
            codes = np.arange(len(domain)) if attribute.kind == "ordered" else _numbers(domain)
            ends = [between(attribute, *codes[[place, place + 1]].tolist()) for place in np.flatnonzero(np.diff(group))]
            partitions.append(Partition(attribute, cuts=(*[BELOW] * apart, *ends)))
    return [each for each in partitions if each.size > 1 + apart]


def _numbers(domain: np.ndarray) -> np.ndarray:
    moments = domain.dtype.kind == "M"
    return (domain.astype("datetime64[us]").astype(np.int64) if moments else domain).astype(np.float64)
