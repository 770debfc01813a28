"""From rows of values and labels to a hierarchy, with everything that is wrong with them found at once."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from components.anonymization.hierarchies.hierarchy import Hierarchy
from components.anonymization.hierarchies.keys import Keys, keys_of_texts, marker_keys
from components.anonymization.hierarchies.labels import lookalikes, outside_own_interval
from components.classes.coding import BoolArray, FloatArray, IntArray, TextArray
from components.data.text import Rules
from schemas.dataset import NUMERIC, TEXT_LIKE, Column
from schemas.faults import Fault
from schemas.wording import SHOWN, names, shown

EXAMPLES = 3
"""Rows, groups or pairs of labels that one sentence names."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A hierarchy as it was given.

    Parameters
    ----------
    place : str
        Where it stands, for messages.
    keys : ndarray of str, shape (n,)
        Raw values.
    labels : tuple of ndarray of str, one per level above the raw values, each of shape (n,)
    file : bool
        Whether the rows are those of a file, told by number; the values of a configuration may be told themselves.
    """

    place: str
    keys: TextArray
    labels: tuple[TextArray, ...]
    file: bool = True


def structured(rows: Rows, column: Column, rules: Rules) -> tuple[Hierarchy, list[Fault]]:
    """Build a hierarchy, and say what is wrong with it.

    Parameters
    ----------
    rows : Rows
    column : Column
    rules : Rules
        How the column's cells are read.

    Returns
    -------
    hierarchy : Hierarchy
        Of use only where there is no fault.
    faults : list of Fault
        Empty labels, values with several parents, levels that split groups, values outside their own interval,
        groups of an ordered column that are no neighbours.
    """
    rows = replace(rows, labels=tuple(map(_tidied, rows.labels)))
    keys = keys_of_texts(rows.keys, column, rules)
    markers = marker_keys(rules.markers, column, rules)
    keys, missing = _one_marker(keys, markers)
    faults = [*_bad_labels(rows, missing, markers), *_bad_keys(rows, keys, missing)]
    first, warnings = _first_rows(rows, keys, column, faults)
    order = first[_value_order(keys, first, column)]
    leaves = Keys(keys.texts[order], keys.values[order], keys.known[order])
    groups: list[IntArray] = [np.arange(len(order))]
    labels = [leaves.texts]
    for level in rows.labels:
        codes, found = pd.factorize(level[order])
        groups.append(codes.astype(np.int64))
        labels.append(np.asarray(found, dtype=object))
    hierarchy = Hierarchy(column, leaves.texts, tuple(groups), tuple(labels), _digest(labels, groups))
    faults += _splits(rows, hierarchy)
    faults += _outside(rows, hierarchy, leaves, order, warnings)
    faults += _apart(rows, hierarchy)
    warnings += [*_odd_values(rows, leaves, column, markers), *_odd_labels(rows, hierarchy)]
    return replace(hierarchy, warnings=tuple(f"{rows.place}: {warning}" for warning in warnings)), faults


def _tidied(labels: TextArray) -> TextArray:
    """Return labels without blanks around them, in Unicode NFC."""
    trimmed = pc.utf8_trim_whitespace(pa.array(labels, pa.string()))
    return np.asarray(pc.utf8_normalize(trimmed, form="NFC").to_numpy(zero_copy_only=False), dtype=object)


def _one_marker(keys: Keys, markers: TextArray) -> tuple[Keys, BoolArray]:
    """Let one key stand for missing: the first marker that is there; says which rows are those of a marker."""
    found = np.isin(keys.texts, markers)
    there = [marker for marker in markers if (keys.texts == marker).any()]
    texts = np.where(found, there[0] if there else "", keys.texts)
    return Keys(np.asarray(texts, dtype=object), keys.values, keys.known & ~found), found


def _bad_labels(rows: Rows, missing: BoolArray, markers: TextArray) -> Iterator[Fault]:
    if not rows.labels:
        yield Fault(
            rows.place, "holds raw values and no level above them", "", "check the delimiter, or add a column of groups"
        )
    for number, level in enumerate(rows.labels, start=1):
        if len(empty := np.flatnonzero(level == "")):
            yield Fault(f"{rows.place}, level {number}", f"no label in {_rows(rows, empty)}", "", "label every group")
        hidden = np.isin(level, markers) & (level != "") & ~missing
        if hidden.any():
            yield Fault(
                f"{rows.place}, level {number}",
                f"label {shown(level[hidden][0])} marks missing cells, and values become it",
                "a label that is in no dataset.missing.markers",
                "rename the label",
            )


def _bad_keys(rows: Rows, keys: Keys, missing: BoolArray) -> Iterator[Fault]:
    if len(empty := np.flatnonzero((keys.texts == "") & ~missing)):
        yield Fault(rows.place, f"no value in {_rows(rows, empty)}", "a value in each row", "remove those rows")


def _first_rows(rows: Rows, keys: Keys, column: Column, faults: list[Fault]) -> tuple[IntArray, list[str]]:
    """Return the first row of each value; adds a fault for values whose rows differ, and warns where they agree."""
    codes, found = pd.factorize(keys.texts)
    first = np.full(len(found), len(codes), dtype=np.int64)
    np.minimum.at(first, codes, np.arange(len(codes)))
    if len(found) == len(codes):
        return first, []
    differs = np.zeros(len(codes), dtype=np.bool_)
    for level in rows.labels:
        differs |= level != level[first[codes]]
    if differs.any():
        faults.append(_ambiguous(rows, keys, column, np.flatnonzero(differs), first[codes]))
    again = len(codes) - len(found) - int(differs.sum())
    said = "1 row says" if again == 1 else f"{again} rows say"
    return first, [f"{said} again what an earlier row says"] if again else []


def _ambiguous(rows: Rows, keys: Keys, column: Column, wrong: IntArray, first: IntArray) -> Fault:
    """Say which values have several parents, with both."""
    told = []
    for row in wrong[:EXAMPLES]:
        levels = (number for number, level in enumerate(rows.labels, start=1) if level[row] != level[first[row]])
        number = next(levels)
        parents = names([rows.labels[number - 1][first[row]], rows.labels[number - 1][row]]).replace("', '", "' and '")
        what = shown(keys.texts[row]) if not rows.file or _tellable(column, keys.texts[row]) else ""
        where = f"rows {first[row] + 1} and {row + 1}" if rows.file else ""
        told.append(f"{' in '.join(filter(None, (what, where)))}: {parents} on level {number}")
    count = len(np.unique(keys.texts[wrong].astype(str)))
    more = f"; and {len(wrong) - EXAMPLES} more" if len(wrong) > EXAMPLES else ""
    return Fault(
        rows.place,
        f"{count} value{'s have' if count > 1 else ' has'} several parents ({'; '.join(told)}{more})",
        "one row a value",
        "remove all rows but one",
        values=", ".join(keys.texts[wrong[:SHOWN]]),
    )


def _tellable(column: Column, value: str) -> bool:
    return column.public or (column.values is not None and value in column.values)


def _value_order(keys: Keys, first: IntArray, column: Column) -> IntArray:
    """Return the order of the values: by size, in declared order, or by text; what is no value comes last."""
    texts, place, known = keys.texts[first], keys.values[first], keys.known[first]
    if column.values is not None:  # the schema's list
        place = pd.Index(column.values).get_indexer(pd.Index(texts, dtype=object))
        known = known & (place >= 0)
    ranked, others = np.flatnonzero(known), np.flatnonzero(~known)
    return np.concatenate([ranked[np.argsort(place[ranked])], others[np.argsort(texts[others])]])


def _splits(rows: Rows, hierarchy: Hierarchy) -> Iterator[Fault]:
    """Find the groups whose members part again on the next level: false values would be published."""
    for number in range(1, len(hierarchy.groups) - 1):
        lower, upper = hierarchy.groups[number], hierarchy.groups[number + 1]
        below, above = hierarchy.labels[number], hierarchy.labels[number + 1]
        pairs = np.unique(lower * len(above) + upper)
        parts = np.bincount(pairs // len(above), minlength=len(below))
        if len(wrong := np.flatnonzero(parts > 1)):
            inside = pairs[pairs // len(above) == wrong[0]] % len(above)
            yield Fault(
                f"{rows.place}, level {number + 1}",
                f"splits {len(wrong)} group{'s' if len(wrong) > 1 else ''} of level {number}, such as "
                f"{shown(below[wrong[0]])} into {names(above[inside[:2]]).replace(', ', ' and ')}",
                "each level merges groups of the one before",
                "regroup that level",
            )


def _outside(rows: Rows, hierarchy: Hierarchy, leaves: Keys, order: IntArray, warnings: list[str]) -> Iterator[Fault]:
    """Find numbers under a label that names an interval without them; off by one under ``0-4`` is a warning."""
    values, known = _as_numbers(hierarchy.column, leaves)
    if not known.any():
        return
    for number in range(1, len(hierarchy.groups)):
        groups, labels = hierarchy.groups[number], hierarchy.labels[number]
        outside, by_one = outside_own_interval(values, groups, labels)
        if len(near := np.flatnonzero(by_one & known)):
            warnings.append(
                f"level {number} has {len(near)} of {len(groups)} values one outside their own interval, such as one "
                f"under {shown(labels[groups[near[0]]])}"
            )
        if len(wrong := np.flatnonzero(outside & ~by_one & known)):
            yield Fault(
                f"{rows.place}, level {number}",
                f"{len(wrong)} of {len(groups)} values lie outside their own interval "
                f"({_rows(rows, np.sort(order[wrong]))}; such as one under {shown(labels[groups[wrong[0]]])})",
                "each value in the interval that its label names",
                "correct the labels",
                values=", ".join(leaves.texts[wrong[:SHOWN]]),
            )


def _as_numbers(column: Column, leaves: Keys) -> tuple[FloatArray, BoolArray]:
    """Return the leaves as numbers, and which are any; texts only where all of them are."""
    if column.dtype in NUMERIC:
        return leaves.values.astype(np.float64), leaves.known
    nothing = np.zeros(len(leaves.texts), dtype=np.bool_)
    if column.dtype not in TEXT_LIKE:
        return nothing.astype(np.float64), nothing
    values = pd.to_numeric(pd.Series(leaves.texts), errors="coerce").to_numpy(dtype=np.float64)
    known = leaves.known & np.isfinite(values)
    return values, nothing if (leaves.known & ~known).any() else known


def _apart(rows: Rows, hierarchy: Hierarchy) -> Iterator[Fault]:
    """Find groups of an ordered column that skip a value of another group."""
    column = hierarchy.column
    if column.dtype != "ordered" or column.values is None:
        return
    inside = hierarchy.index.isin(column.values)
    for number in range(1, len(hierarchy.groups)):
        groups = hierarchy.groups[number][inside]
        starts = groups[np.flatnonzero(np.diff(groups, prepend=-1))]
        runs = np.bincount(starts, minlength=len(hierarchy.labels[number]))
        if len(wrong := np.flatnonzero(runs > 1)):
            yield Fault(
                f"{rows.place}, level {number}",
                f"puts values together that are no neighbours: {names(list(hierarchy.labels[number][wrong[:SHOWN]]))}",
                "only neighbours of an ordered column may be merged",
                "regroup that level in the order of the column's values",
            )


def _odd_values(rows: Rows, leaves: Keys, column: Column, markers: TextArray) -> Iterator[str]:
    odd = ~leaves.known & ~np.isin(leaves.texts, markers)
    if odd.any() and rows.labels:
        yield f"{int(odd.sum())} of {len(leaves.texts)} values are no {column.dtype} and match no cell"


def _odd_labels(rows: Rows, hierarchy: Hierarchy) -> Iterator[str]:
    """Find labels that look like others, or like values; those that are values are only counted, unless tellable."""
    leaves = hierarchy.index

    def tellable(*labels: str) -> bool:
        return all(not rows.file or label not in leaves or _tellable(hierarchy.column, label) for label in labels)

    for number in range(1, len(hierarchy.groups)):
        labels = hierarchy.labels[number]
        if pairs := lookalikes(labels):
            first = [f"{shown(one)} and {shown(other)}" for one, other in pairs if tellable(one, other)][:EXAMPLES]
            rest = len(pairs) - len(first)
            told = (
                f"{', '.join(first)} and {rest} more"
                if first and rest
                else ", ".join(first) or f"{rest} pair{'s' * (rest > 1)}"
            )
            yield f"level {number} has labels that may mean the same: {told}"
        at = leaves.get_indexer(pd.Index(labels, dtype=object))
        foreign = (at >= 0) & (hierarchy.groups[number][at] != np.arange(len(labels)))
        if foreign.any():
            some = [label for label in labels[foreign] if tellable(label)][:EXAMPLES]
            told = names(some) if some else f"{np.count_nonzero(foreign)} of {len(labels)}"
            yield f"level {number} has labels that are also values, of another group: {told}"


def _rows(rows: Rows, at: IntArray) -> str:
    """Tell rows by number."""
    if not rows.file:
        return f"{len(at)} place{'s' if len(at) > 1 else ''}"
    first = ", ".join(str(row + 1) for row in at[:SHOWN])
    return f"row{'s' if len(at) > 1 else ''} {first}{', ...' if len(at) > SHOWN else ''}"


def _digest(labels: Sequence[TextArray], groups: Sequence[IntArray]) -> str:
    table = [level[codes].tolist() for level, codes in zip(labels, groups, strict=True)]
    return sha256(json.dumps(table, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()
