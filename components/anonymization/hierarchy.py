"""Generalisation hierarchies, ready to climb: what each value becomes on each level, told by small integer codes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from components.anonymization.coding import Attribute, FloatArray, IntArray
from schemas.dataset import Column

TextArray = npt.NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The generalisation hierarchy of one column.

    Level 0 is the raw value; each level merges groups of the one before. Leaves are all values that the hierarchy
    knows, whether or not they occur in a table.

    Parameters
    ----------
    column : Column
    leaves : ndarray of str, shape (L,)
        Canonical text of each leaf.
    groups : tuple of ndarray of int, one per level, each of shape (L,)
        Group of each leaf, from 0; ``groups[0]`` is ``arange(L)``.
    labels : tuple of ndarray of str, one per level
        What each group is published as.
    digest : str
        SHA-256 of leaves and labels, in a form that does not depend on where they came from.
    warnings : tuple of str
        What is odd, and no fault.
    """

    column: Column
    leaves: TextArray
    groups: tuple[IntArray, ...]
    labels: tuple[TextArray, ...]
    digest: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ladder:
    """One attribute of a table on every level of its hierarchy.

    Parameters
    ----------
    attribute : Attribute
        Codes of the rows.
    groups : tuple of ndarray of int, one per level, each of shape (size + 1,)
        Group of each value code. The last place is for missing, which code -1 finds by itself.
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
