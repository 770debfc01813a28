"""Whether hierarchies know all values of a table, told before anything is done."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from components.anonymization.hierarchies.keys import keys_of_texts, keys_of_values, marker_keys
from components.classes.coding import Attribute, IntArray, TextArray, encode
from components.data.table import Table
from components.data.text import Rules
from schemas.dataset import TEXT_LIKE
from schemas.faults import DataError, Fault
from schemas.wording import SHOWN, listed, shown

if TYPE_CHECKING:
    from components.anonymization.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of an attribute a hierarchy knows. Missing cells are not counted.

    Parameters
    ----------
    values : int
        Different values that occur.
    covered : int
        How many of them are leaves of the hierarchy.
    rows : int
        Rows, those with a missing cell included.
    uncovered_rows : ndarray of int
        Positions of the rows whose value is no leaf, from 0.
    uncovered : ndarray of str
        Canonical texts of the values that are no leaf.
    """

    values: int
    covered: int
    rows: int
    uncovered_rows: IntArray
    uncovered: TextArray


def leaf_places(attribute: Attribute, hierarchy: "Hierarchy", markers: Sequence[str]) -> tuple[IntArray, int]:
    """Return the leaf of each value code, -1 where there is none, and that of missing cells.

    Parameters
    ----------
    attribute : Attribute
        Of one column.
    hierarchy : Hierarchy
        One without leaves takes every value as it comes.
    markers : sequence of str
        The first that is a leaf stands for missing.

    Returns
    -------
    places : ndarray of int, shape (size,)
    missing : int
    """
    if not len(hierarchy.leaves):
        return np.arange(attribute.size), -1
    leaves = hierarchy.index
    keys = keys_of_values(attribute.domain()[0], hierarchy.column)
    places = np.asarray(leaves.get_indexer(pd.Index(keys, dtype=object)), dtype=np.int64)
    of_markers = leaves.get_indexer(pd.Index(marker_keys(markers, hierarchy.column), dtype=object))
    return places, next((int(place) for place in of_markers if place >= 0), -1)


def coverage(attribute: Attribute, hierarchy: "Hierarchy", markers: Sequence[str] = ()) -> Coverage:
    """Say how much of an attribute a hierarchy knows.

    Parameters
    ----------
    attribute : Attribute
        Of one column.
    hierarchy : Hierarchy
    markers : sequence of str, optional
        How missing cells are written.
    """
    places, _ = leaf_places(attribute, hierarchy, markers)
    return _coverage(attribute, hierarchy, places)


def _coverage(attribute: Attribute, hierarchy: "Hierarchy", places: IntArray) -> Coverage:
    lacking = np.append(places < 0, False)  # the last place is for missing, which lacks nothing
    keys = keys_of_values(attribute.domain()[0], hierarchy.column)
    return Coverage(
        values=attribute.size,
        covered=int((places >= 0).sum()),
        rows=len(attribute.codes),
        uncovered_rows=np.flatnonzero(lacking[attribute.codes]),
        uncovered=keys[places < 0],
    )


def refuse_uncovered(attribute: Attribute, hierarchy: "Hierarchy", places: IntArray) -> None:
    """Raise ``DataError`` where a value has no leaf."""
    if (places < 0).any():
        rows = np.arange(1, len(attribute.codes) + 1)
        raise DataError(_uncovered(_coverage(attribute, hierarchy, places), hierarchy, rows))


def check_coverage(table: Table, hierarchies: Mapping[str, "Hierarchy"]) -> dict[str, Coverage]:
    """Hold a table against hierarchies.

    Parameters
    ----------
    table : Table
        Is not written to.
    hierarchies : mapping of str to Hierarchy
        By column; those of columns that the frame lacks are passed over.

    Returns
    -------
    dict of str to Coverage

    Raises
    ------
    DataError
        Hierarchies lack values; with a fault for every such column.
    """
    markers = table.schema.missing.markers
    climbed = {name: one for name, one in hierarchies.items() if name in table.frame.columns}
    attributes = encode(table.frame, [one.column for one in climbed.values()])
    found = {attribute.name: coverage(attribute, climbed[attribute.name], markers) for attribute in attributes}
    rows = _data_rows(table.frame)
    faults = []
    for attribute in attributes:
        one = found[attribute.name]
        if one.covered < one.values:
            others = [name for name in hierarchies if name != attribute.name and not one.covered]
            fitting = [name for name in others if _covers(hierarchies[name], attribute)]
            faults.append(_uncovered(one, climbed[attribute.name], rows, fitting))
    if faults:
        raise DataError(faults)
    return found


def _data_rows(frame: pd.DataFrame) -> IntArray:
    """Return the number of each row below the header: the index tells its position in the source."""
    if pd.api.types.is_integer_dtype(frame.index.dtype):
        return frame.index.to_numpy() + 1
    return np.arange(1, len(frame) + 1)


def _covers(hierarchy: "Hierarchy", attribute: Attribute) -> bool:
    if not len(hierarchy.leaves):
        return False
    leaves = pd.Index(hierarchy.leaves, dtype=object)
    return bool(pd.Index(keys_of_values(attribute.domain()[0], attribute.columns[0])).isin(leaves).all())


def _uncovered(found: Coverage, hierarchy: "Hierarchy", rows: IntArray, fitting: Sequence[str] = ()) -> Fault:
    column = hierarchy.column
    first = found.uncovered[:SHOWN]
    tellable = column.public or (column.values is not None and set(first) <= set(column.values))
    told = ""
    if tellable:
        told = f" ({', '.join(first)}{', ...' if len(found.uncovered) > SHOWN else ''})"
    lacking = len(found.uncovered)
    some = f"{lacking} of {found.values} values uncovered{told}"
    if not found.covered:
        some = f"0 of {found.values} values covered by its hierarchy{told}"
    at = tuple(rows[found.uncovered_rows].tolist())
    return Fault(
        f"column {shown(column.name)}",
        f"{some}, {len(at)} of {found.rows} rows ({listed(at)})",
        _reason(found, hierarchy),
        f"the hierarchy of {shown(fitting[0])} covers them: is it on the wrong column?"
        if fitting
        else "add the values to the hierarchy"
        if found.covered
        else "give the column its own hierarchy",
        values=", ".join(first),
        rows=at,
    )


def _reason(found: Coverage, hierarchy: "Hierarchy") -> str:
    """Say why nothing matches, where one can tell."""
    if found.covered:
        return ""
    column = hierarchy.column
    if column.dtype not in TEXT_LIKE:
        known = keys_of_texts(hierarchy.leaves, column, Rules(trim=True, normalize=True)).known
        return "" if known.any() else f"{column.name} is {column.dtype} in data, text in hierarchy"
    bare = {value.lstrip("0") for value in found.uncovered}
    if bare <= {leaf.lstrip("0") for leaf in hierarchy.leaves}:
        return "they differ by leading zeros alone"
    lower = {value.casefold().strip() for value in found.uncovered}
    if lower <= {leaf.casefold().strip() for leaf in hierarchy.leaves}:
        return "they differ by case or blanks alone"
    return ""
