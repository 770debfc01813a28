"""One attribute between the contract and the generaliser: domain, ranges or groups, and what stands for them."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from components.minimization.attributes import BELOW, Attribute
from components.minimization.domains import YES_NO
from components.minimization.generalizer import Ranges
from components.minimization.partitions import Partition
from components.minimization.wording import choices, listed, question
from schemas.dataset import TEXT_LIKE, Column
from schemas.generalizations import Collect, Collected, Value


def to_collected(ranges: Ranges, ncp: float) -> Collected:
    """Return what is collected of one attribute, as the contract says it; `ncp` is what that loses.

    Groups come in the order of their first values in the domain, and one that is called by what the others leave last.
    """
    ranges = _in_order(ranges)
    attribute, partition = ranges.attribute, ranges.partition
    number = attribute.kind == "number"
    first = attribute.columns[0]
    return Collected(
        name=attribute.name,
        columns=attribute.names,
        dtype=first.dtype,
        values=None if number else list(attribute.values),
        low=attribute.value(attribute.low) if number else None,
        high=attribute.value(attribute.high) if number else None,
        unit=None if attribute.grouped else first.unit,
        description="" if attribute.grouped else first.description,
        nullable=any(column.nullable for column in attribute.columns),
        learned=attribute.learned,
        collect=_collect(attribute, partition),
        cuts=[] if partition is None else [value_of_cut(attribute, cut) for cut in partition.cuts if cut != BELOW],
        groups=_groups(attribute, partition),
        representatives=_standing(ranges),
        missing=None if partition is None or partition.missing_apart else partition.missing,
        default=attribute.value(ranges.default),
        ncp=min(max(round(ncp, 9), 0.0), 1.0),
        text=question(attribute, partition),
        choices=choices(attribute, partition),
    )


def from_collected(collected: Collected) -> Ranges:
    """Return the attribute, what is collected of it, and what stands for that.

    Raises
    ------
    ValueError
        Values that can't be of the dtype or the domain, or cuts that don't ascend.
    """
    attribute = _attribute(collected)
    partition = _partition(collected, attribute)
    standing = [code_within(attribute, value) for value in collected.representatives]
    if partition is not None and collected.missing is None:
        place = 0 if attribute.kind != "nominal" else len(standing)
        standing.insert(place, attribute.missing)
    return Ranges(attribute, partition, np.array(standing, dtype=np.float64), code_within(attribute, collected.default))


def code_within(attribute: Attribute, value: Value | None) -> float:
    """Return the code of what stands for a part or a cell; ``ValueError`` where it is outside the domain."""
    code = attribute.code(value)
    if value is None:
        if not any(column.nullable for column in attribute.columns) and not attribute.grouped:
            raise ValueError("a missing cell stands for values, and the column has none")
        return code
    if isinstance(value, bool) != (attribute.dtype == "boolean" and not attribute.grouped):
        raise ValueError("truths are of booleans alone")
    if attribute.kind == "number":
        if not attribute.low <= code <= attribute.high:
            raise ValueError("outside the bounds")
        if attribute.whole and not code.is_integer():
            raise ValueError("no whole number")
    return code


def told_as(collected: Collected) -> Collect:
    """Return what is collected by what it tells: ranges or groups that lose nothing (NCP 0) are as exact as values."""
    partition = _partition(collected, _attribute(collected))
    if partition is None or collected.collect == "nothing" or partition.loss().any():
        return collected.collect
    return "exact"


def value_of_cut(attribute: Attribute, cut: float) -> Any:
    """Return a cut as the contract holds it: of ordered values the last one below it."""
    return attribute.value(np.floor(cut)) if attribute.kind == "ordered" else attribute.value(cut)


def codes_of(attribute: Attribute, values: Iterable[Value]) -> list[float]:
    """Return the codes of cuts; ``ValueError`` where they don't ascend."""
    codes = [attribute.code(value) for value in values]
    if any(low >= high for low, high in pairwise(codes)):
        raise ValueError("cuts don't ascend")
    return codes


def _in_order(ranges: Ranges) -> Ranges:
    """Return the same with the parts of a nominal attribute numbered as a form lists them, missing cells' own last."""
    partition = ranges.partition
    if partition is None or ranges.attribute.kind != "nominal":
        return ranges
    parts = [*listed(partition), *([partition.missing] if partition.missing_apart else [])]
    groups = tuple(parts.index(part) for part in partition.groups)
    return replace(ranges, partition=replace(partition, groups=groups), representatives=ranges.representatives[parts])


def _collect(attribute: Attribute, partition: Partition | None) -> Collect:
    if partition is None:
        return "exact"
    if partition.size == 1 + partition.missing_apart:
        return "nothing"  # or whether there is a value, which `missing` tells
    return "groups" if attribute.kind == "nominal" else "ranges"


def _groups(attribute: Attribute, partition: Partition | None) -> list[list[str]]:
    if partition is None or _collect(attribute, partition) != "groups":
        return []
    placed = np.asarray(partition.groups[:-1])
    members = [[attribute.values[place] for place in np.flatnonzero(placed == part)] for part in range(partition.size)]
    return [group for group in members if group]


def _standing(ranges: Ranges) -> list[Any]:
    if ranges.partition is None:
        return []
    codes = ranges.representatives
    if ranges.partition.missing_apart:
        codes = np.delete(codes, ranges.partition.missing)
    return [ranges.attribute.value(code) for code in codes]


def _attribute(collected: Collected) -> Attribute:
    grouped = len(collected.columns) > 1
    common: dict[str, Any] = {"dtype": collected.dtype, "nullable": collected.nullable, "unit": collected.unit}
    if grouped:
        common["group"] = collected.name
    else:
        common["description"] = collected.description
    if collected.dtype in TEXT_LIKE:
        common["values"] = collected.values
    columns = tuple(Column(name=name, **common) for name in collected.columns)
    values = tuple(collected.values or ())
    if values:
        _require_values(collected, grouped=grouped)
        ordered = collected.dtype == "ordered"
        kind: Any = "ordered" if ordered else "nominal"
        return Attribute(collected.name, columns, kind, values=values, learned=collected.learned)
    bare = Attribute(collected.name, columns, "number")
    if collected.dtype in TEXT_LIKE | {"boolean"} or grouped:
        raise ValueError("bounds are for numbers and dates")
    if any(bound is None or isinstance(bound, bool) for bound in (collected.low, collected.high)):
        raise ValueError("bounds are numbers or dates")
    low, high = (bare.code(bound) for bound in (collected.low, collected.high))
    if not low <= high:
        raise ValueError("the lower bound is above the upper one")
    return Attribute(collected.name, columns, "number", low=low, high=high, learned=collected.learned)


def _require_values(collected: Collected, *, grouped: bool) -> None:
    values = tuple(collected.values or ())
    if grouped:
        fits = values == tuple(collected.columns)
    else:
        fits = collected.dtype in TEXT_LIKE or (collected.dtype == "boolean" and values == YES_NO)
    if not fits:
        raise ValueError("values are not those of the dtype, or of the columns")


def _partition(collected: Collected, attribute: Attribute) -> Partition | None:
    apart = collected.missing is None
    if collected.collect == "exact":
        return None
    if attribute.kind == "nominal":
        groups = collected.groups if collected.collect == "groups" else [list(attribute.values)]
        part = {value: number for number, group in enumerate(groups) for value in group}
        missing = len(groups) if collected.missing is None else collected.missing
        return Partition(attribute, groups=(*(part[value] for value in attribute.values), missing))
    if collected.collect == "groups" or (collected.missing or 0) > 0:
        raise ValueError("numbers and ordered values have ranges, and missing cells count to the first one")
    return Partition(attribute, cuts=(*([BELOW] if apart else []), *codes_of(attribute, collected.cuts)))
