"""A generaliser that somebody wrote down: from its cells, or from what is collected, without fitting."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from components.minimization.attributes import BELOW, Attribute, Outside, attributes_of
from components.minimization.contract import from_contract, load, parsed
from components.minimization.generalizer import Cells, Generalizer, Ranges
from components.minimization.partitions import Partition, middle
from components.minimization.regions import from_region
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, Fault
from schemas.generalizations import Cell, Generalizations, Region


def from_cells(
    attributes: Sequence[Attribute], cells: Sequence[Cell | Mapping[str, Any]], outside: Outside = "default"
) -> Generalizer:
    """Return the generaliser of some cells; rows in none get defaults, or are refused.

    Parameters
    ----------
    attributes : sequence of Attribute
        Those that the cells generalise.
    cells : sequence of Cell or mapping
        As in `schemas.generalizations`. A row's cell is the first that it fits.
    outside : {"default", "refuse"}

    Raises
    ------
    ConfigurationError
        There is no cell, or one tells of other attributes or of values that are none of theirs.
    """
    try:
        given = [each if isinstance(each, Cell) else Cell.model_validate(each) for each in cells]
        names = {each.name for each in attributes}
        if not given or any(set(each.representative) != names or not set(each.regions) <= names for each in given):
            raise ValueError("cells and attributes differ")  # noqa: TRY301  # told below, as all that may be wrong
        return _generalizer(attributes, given, outside)
    except (ValidationError, ValueError, KeyError, IndexError, TypeError):  # their messages may hold values
        raise ConfigurationError(
            Fault(
                "cells",
                "don't say what they hold of each attribute",
                "regions and representative, by attribute, of values in its domain",
            )
        ) from None


def given_generalizer(
    cells: Sequence[Cell | Mapping[str, Any]] | None,
    generalizations: Any,
    schema: DatasetSchema | None,
    outside: Outside,
) -> Generalizer:
    """Return the generaliser of cells, or of generalizations where there are none.

    Parameters
    ----------
    cells : sequence of Cell or mapping, or None
        Over the attributes of `schema` that the first one's representative names.
    generalizations : Generalizer, Generalizations, mapping or path
    schema : DatasetSchema or None
        Cells need it.
    outside : {"default", "refuse"}
        For cells; generalizations say it themselves.

    Raises
    ------
    ConfigurationError
        Cells without a schema, or at odds with it; generalizations that ask one question at a time.
    DataError
        The file, or what it says, is no generalizations.
    """
    if cells is not None:
        if schema is None:
            raise ConfigurationError(Fault("schema", "there is none", "cells need the schema of their attributes"))
        first = cells[0] if cells else {}
        named = set(first.representative if isinstance(first, Cell) else first.get("representative", {}))
        columns = [each.name for each in schema.columns if {each.name, each.group} & named]
        return from_cells(attributes_of(schema, columns), cells, outside)
    given = generalizations
    if isinstance(given, str | Path):
        given = load(given)
    elif isinstance(given, Mapping):
        given = from_contract(parsed(dict(given)))
    elif isinstance(given, Generalizations):
        given = from_contract(given)
    if not isinstance(given, Generalizer):
        raise ConfigurationError(
            Fault("generalizations", f"a {type(given).__name__} transforms no rows", "those of tree or greedy")
        )
    return given


def _generalizer(attributes: Sequence[Attribute], cells: Sequence[Cell], outside: Outside) -> Generalizer:
    ranges, admitted, standing = [], {}, {}
    for attribute in attributes:
        name = attribute.name
        regions = [cell.regions.get(name) for cell in cells]
        partition = _partition(attribute, [region for region in regions if region is not None])
        everything = np.ones(partition.size, dtype=np.bool_)
        admitted[name] = np.array(
            [everything if region is None else from_region(partition, region) for region in regions]
        )
        standing[name] = np.array([attribute.code(cell.representative[name]) for cell in cells], dtype=np.float64)
        ranges.append(Ranges(attribute, partition, _representatives(partition), _default(attribute)))
    made = Cells(admitted, standing, np.array([cell.agrees for cell in cells]), np.zeros((len(cells), 1)))
    return Generalizer("given", "representatives", tuple(ranges), made, outside=outside)


def _partition(attribute: Attribute, regions: Sequence[Region]) -> Partition:
    """Return the coarsest partition of which each region holds whole parts."""
    if attribute.kind == "number":
        ends = {attribute.code(end) for region in regions for end in (region.start, region.end) if end is not None}
        apart = any(region.missing != (region.start is None and region.values is None) for region in regions)
        return Partition(attribute, cuts=(*([BELOW] if apart else []), *sorted(ends)))
    held = [tuple(value in (region.values or ()) for region in regions) for value in attribute.values]
    held.append(tuple(region.missing for region in regions))
    if attribute.kind == "nominal":
        distinct = list(dict.fromkeys(held))
        return Partition(attribute, groups=tuple(distinct.index(each) for each in held))
    changes = [place - 0.5 for place in range(1, len(held) - 1) if held[place] != held[place - 1]]
    return Partition(attribute, cuts=(*([BELOW] if held[-1] != held[0] else []), *changes))


def _representatives(partition: Partition) -> np.ndarray:
    attribute = partition.attribute
    if attribute.kind == "nominal":
        return np.array([float(partition.groups.index(part)) for part in range(partition.size)])
    ends = (BELOW, *partition.cuts, np.inf)
    return np.array([middle(attribute, start, end) for start, end in pairwise(ends)])


def _default(attribute: Attribute) -> float:
    return 0.0 if attribute.kind == "nominal" else middle(attribute, BELOW, np.inf)
