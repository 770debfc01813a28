"""Generalisation hierarchies, ready to climb: what each value becomes on each level, told by small integer codes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from components.anonymization.hierarchies.checks import leaf_places, refuse_uncovered
from components.anonymization.hierarchies.functions import Rule, is_top, ruled_levels
from components.anonymization.hierarchies.keys import marker_keys
from components.anonymization.hierarchies.training import original_domain
from components.anonymization.representatives import Published
from components.classes.coding import Attribute, BoolArray, FloatArray, IntArray, TextArray
from schemas.dataset import Column

__all__ = ["Hierarchy", "Ladder", "TextArray", "climb", "published"]


@dataclass(frozen=True)
class Hierarchy:
    """The generalisation hierarchy of one column.

    Level 0 is the raw value; each level merges groups of the one before. Leaves are all values that the hierarchy
    knows, whether or not they occur in a table. A rule (intervals, mask, date, flat) on a column whose values the
    schema doesn't bound has none before a table is there: its arrays are empty, one a level.

    Parameters
    ----------
    column : Column
    leaves : ndarray of str, shape (L,)
        Canonical text of each leaf: by size, in declared order, or by text.
    groups : tuple of ndarray of int, one per level, each of shape (L,)
        Group of each leaf, from 0 in the order of their first leaves; ``groups[0]`` is ``arange(L)``.
    labels : tuple of ndarray of str, one per level
        What each group is published as.
    digest : str
        SHA-256 of leaves and labels, in a form that does not depend on where they came from; of a rule, that of its
        declaration and of the column's declared values.
    warnings : tuple of str
        What is odd, and no fault.
    """

    column: Column
    leaves: TextArray
    groups: tuple[IntArray, ...]
    labels: tuple[TextArray, ...]
    digest: str
    warnings: tuple[str, ...] = ()

    @cached_property
    def index(self) -> pd.Index:
        """The leaves, to be looked up."""
        return pd.Index(self.leaves, dtype=object)


@dataclass(frozen=True, slots=True)
class Ladder:
    """One attribute of a table on every level of its hierarchy.

    Parameters
    ----------
    attribute : Attribute
        Codes of the rows.
    groups : tuple of ndarray of int, one per level, each of shape (size + 1,)
        Group of each value code, numbered as in the hierarchy: not all groups occur. The last place is for missing,
        which code -1 finds by itself, whether or not a cell is missing.
    labels : tuple of ndarray, one per level
        What each group is published as; None where the cell stays missing.
    shares : tuple of ndarray of float, one per level
        Leaves under each group, by the number L of leaves of the hierarchy: 1/L at a leaf, 1 at the top.
    leaves : int
        L.
    hierarchy : Hierarchy or None
        Where it came from; None for an attribute that is held as it is.
    """

    attribute: Attribute
    groups: tuple[IntArray, ...]
    labels: tuple[Any, ...]
    shares: tuple[FloatArray, ...]
    leaves: int
    hierarchy: Hierarchy | None = None


def climb(attribute: Attribute, hierarchy: Hierarchy, markers: Sequence[str] = ()) -> Ladder:
    """Put an attribute on every level of its hierarchy.

    Parameters
    ----------
    attribute : Attribute
        Of one column.
    hierarchy : Hierarchy
    markers : sequence of str, optional
        How missing cells are written: where the hierarchy holds one, missing cells climb with it. Else missing is a
        value of its own on every level but the top, on which all values are one group: there it joins them.

    Raises
    ------
    DataError
        The hierarchy lacks values of the attribute.
    """
    size = attribute.size
    place, missing = leaf_places(attribute, hierarchy, markers)
    refuse_uncovered(attribute, hierarchy, place)
    if len(hierarchy.leaves):
        of_leaves, labels = hierarchy.groups, hierarchy.labels
    else:
        found = ruled_levels(hierarchy.column, attribute.domain()[0])
        of_leaves, labels = tuple(found[0]), tuple(found[1])
    leaves = max(len(of_leaves[0]), 1)
    told = marker_keys(markers, hierarchy.column)
    ladder: list[tuple[IntArray, TextArray, FloatArray]] = []
    for level, (codes, texts) in enumerate(zip(of_leaves, labels, strict=True)):
        groups = np.empty(size + 1, dtype=np.int64)
        groups[:size] = codes[place]
        shares = np.bincount(codes, minlength=len(texts)) / leaves
        shown = texts.copy()
        shown[np.isin(texts, told)] = None
        if missing >= 0:
            groups[size] = codes[missing]
        elif _is_one_group(hierarchy, level, labels):
            groups[size] = 0
        else:
            groups[size] = len(texts)
            shown, shares = np.concatenate([shown, [None]]), np.append(shares, 1 / leaves)
        ladder.append((groups, shown, shares))
    steps, names, parts = zip(*ladder, strict=True)
    return Ladder(attribute, steps, names, parts, leaves, hierarchy)


def held(attribute: Attribute, labels: TextArray | None = None) -> Ladder:
    """Return the ladder, of level 0 alone, of an attribute that stays as it is.

    Parameters
    ----------
    attribute : Attribute
    labels : ndarray, shape (size + 1,), optional
        What each value shows, a missing one last; needed where it is compared with what another table shows.
    """
    size = attribute.size
    places = np.arange(size + 1)
    shown = places if labels is None else labels
    return Ladder(attribute, (places,), (shown,), (np.full(size + 1, 1 / max(size, 1)),), max(size, 1))


def _is_one_group(hierarchy: Hierarchy, level: int, labels: Sequence[TextArray]) -> bool:
    """Tell whether all values that there may be, and not just those of a table, are one group: the top."""
    rule, last = hierarchy.column.hierarchy, level == len(labels) - 1
    top = is_top(rule, level) if isinstance(rule, Rule) else last and level > 0 and len(labels[level]) == 1
    return top and labels[level][0] not in labels[0]


def published(ladder: Ladder, levels: int | IntArray, kept: BoolArray | None = None) -> Published | None:
    """Publish an attribute on a level.

    Parameters
    ----------
    ladder : Ladder
        Of an attribute with a hierarchy.
    levels : int or ndarray of int, shape (n,)
        The level of all rows, or of each.
    kept : ndarray of bool, shape (n,), optional
        The rows that are not suppressed: they alone tell what stands for a group in training. All without it.

    Returns
    -------
    Published or None
        None where every level is 0: the column stays as it is.

    Notes
    -----
    In training a group of numbers or dates is the midpoint of its leaves (rounded down for whole numbers and dates),
    one of ordered values its lower middle leaf, any other its likeliest leaf when every row's group is shared out
    evenly among its leaves: all can be told from the released cells and the hierarchy. Where a rule gives groups of
    text that no schema lists, it is the label.
    """
    levels = np.asarray(levels)
    return relabelled(ladder, levels, kept) if levels.any() else None


def changed_on(climbed: Iterable[tuple[Ladder, int | IntArray]], gone: BoolArray) -> list[Published]:
    """Publish some attributes on their levels, those that stay as they are left out.

    Parameters
    ----------
    climbed : iterable of (Ladder, levels)
    gone : ndarray of bool, shape (n,)
        Rows that are suppressed: they tell nothing of what stands for a group in training.
    """
    return [shown for one in climbed if (shown := published(*one, ~gone)) is not None]


def relabelled(ladder: Ladder, levels: IntArray, kept: BoolArray | None = None) -> Published:
    """Publish the labels of an attribute's levels, also where every level is 0 (see `published`)."""
    codes = ladder.attribute.codes
    starts = np.cumsum([0, *(len(texts) for texts in ladder.labels[:-1])])
    places = np.stack(ladder.groups) + starts[:, np.newaxis]  # where each value on each level finds its label
    texts = np.concatenate([np.asarray(labels, dtype=object) for labels in ladder.labels])
    shown = places[levels, codes]
    return Published(
        column=ladder.attribute.columns[0],
        cells=pd.array(texts, dtype="string").take(shown),
        training=original_domain(ladder, levels, kept),
        generalised=True,
    )
