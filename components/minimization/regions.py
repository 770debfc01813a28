"""What a cell holds of one attribute, between the contract and the table of the parts that it admits."""

import numpy as np
import numpy.typing as npt

from components.minimization.attributes import Attribute
from components.minimization.collected import codes_of, value_of_cut
from components.minimization.partitions import Partition
from schemas.generalizations import Region

Bools = npt.NDArray[np.bool_]


def to_region(partition: Partition, admitted: Bools) -> Region:
    """Return a region as the contract says it.

    Parameters
    ----------
    partition : Partition
    admitted : ndarray of bool, shape (parts,)

    Raises
    ------
    ValueError
        Parts of a number that are not side by side.
    """
    attribute = partition.attribute
    missing = bool(admitted[partition.missing])
    if attribute.kind != "number":
        held = admitted[_part_of_value(partition)]
        return Region(values=[name for name, one in zip(attribute.values, held, strict=True) if one], missing=missing)
    apart = int(partition.missing_apart)
    parts = np.flatnonzero(admitted[apart:])
    if not len(parts):
        return Region(values=[], missing=missing)
    first, last = int(parts[0]), int(parts[-1])
    if last - first + 1 != len(parts):
        raise ValueError("a cell holds parts of a number that are not side by side")
    cuts = partition.cuts[apart:]
    return Region(
        start=value_of_cut(attribute, cuts[first - 1]) if first else None,
        end=value_of_cut(attribute, cuts[last]) if last < len(cuts) else None,
        missing=missing,
    )


def from_region(partition: Partition, region: Region) -> Bools:
    """Return the parts that a region admits, shape (parts,); ``ValueError`` where it cuts a part in two."""
    attribute = partition.attribute
    if attribute.kind == "number":
        admitted = _interval(attribute, partition, region)
    else:
        admitted = np.zeros(partition.size, dtype=bool)
        held = np.isin(np.array(attribute.values, dtype=object), np.array(region.values or [], dtype=object))
        parts = _part_of_value(partition)
        admitted[parts[held]] = True
        if not np.array_equal(admitted[parts], held) or held.sum() != len(region.values or []):
            raise ValueError("a cell holds half a group, or a value that is none")
    if partition.missing_apart:
        admitted[partition.missing] = region.missing
    elif admitted[partition.missing] != region.missing:
        raise ValueError("a cell and its range, or group, differ on missing cells")
    return admitted


def _interval(attribute: Attribute, partition: Partition, region: Region) -> Bools:
    admitted = np.zeros(partition.size, dtype=bool)
    apart = int(partition.missing_apart)
    cuts = list(partition.cuts[apart:])
    if region.values is not None:
        return admitted
    start, end = ([] if each is None else codes_of(attribute, [each]) for each in (region.start, region.end))
    first = cuts.index(start[0]) + 1 if start else 0
    last = cuts.index(end[0]) if end else len(cuts)
    admitted[apart + first : apart + last + 1] = True
    return admitted


def _part_of_value(partition: Partition) -> npt.NDArray[np.int64]:
    values = len(partition.attribute.values)
    dtype = np.int64 if partition.attribute.kind == "nominal" else np.float64
    return partition.parts(np.arange(values, dtype=dtype))
