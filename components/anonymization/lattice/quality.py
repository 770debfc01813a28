"""What a generalisation loses: quality models over the nodes of a lattice, less being better.

A suppressed record loses all that a record can lose. Where a model is separable, its value without suppression
follows from one figure per attribute and level, and bounds the value of every node from below, because suppression
only adds to it. The other models look at classes; without suppression they never fall as classes merge, so that what
a node loses without suppression bounds all nodes above it.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from components.anonymization.declarations import LatticeOptions
from components.anonymization.lattice.space import Dimension, LevelVector, Space, Tried
from components.anonymization.search_rules import WEIGHTED
from components.classes.coding import FloatArray, IntArray


class Separable:
    """Quality by attribute: each record costs something on each attribute, and attributes are put together at the end.

    Parameters
    ----------
    name : str
    space : Space
    weights : mapping of str to float
        Per attribute; 1 unless named.

    Attributes
    ----------
    means : list of ndarray of float, one per dimension, each of shape (levels,)
        Mean cost of the records on each level, none being suppressed; held attributes cost nothing.
    """

    def __init__(self, name: str, space: Space, weights: Mapping[str, float]) -> None:
        self.name = name
        self._space = space
        self._total = space.total()
        self._geometric = name == "loss"
        wanted = [0.0 if one.held else weights.get(one.ladder.attribute.name, 1.0) for one in space.dimensions]
        exponent = math.frexp(max(wanted, default=0.0))[1]
        wanted = [math.ldexp(weight, -exponent) for weight in wanted]  # to where their sum doesn't overflow
        self._weights = [weight / (sum(wanted) or 1.0) for weight in wanted]
        cost = {"loss": _leaf_shares, "precision": _levels_climbed, "entropy": _surprise}[name]
        self.means: list[FloatArray] = []
        self._extra: list[FloatArray] = []
        for one, codes in zip(space.dimensions, space.codes, strict=True):
            rows: FloatArray = np.bincount(codes, weights=space.rows, minlength=one.sizes[0]).astype(np.float64)
            kept, suppressed = cost(one, rows)
            self.means.append(kept @ rows / self._total)
            self._extra.append((suppressed - kept) / self._total)
        self._least = [
            np.minimum.accumulate(self._part(weight, mean)[::-1])[::-1].tolist()
            for weight, mean in zip(self._weights, self.means, strict=True)
        ]

    def bounds(self) -> FloatArray:
        """Return what each node of the lattice loses at least, shape of the lattice."""
        return self._outer(self.means)

    def parts(self) -> list[FloatArray]:
        """Return what each attribute adds on each level, none being suppressed (see `together`)."""
        return [self._part(weight, mean) for weight, mean in zip(self._weights, self.means, strict=True)]

    def bounds_below(self, tried: Tried) -> FloatArray:
        """Return what the nodes up to `tried` lose at least, since each of them suppresses its nested tuples too."""
        extra = self._suppression(np.flatnonzero(tried.nested))
        some = [
            mean[: level + 1] + more[: level + 1]
            for mean, more, level in zip(self.means, extra, tried.levels, strict=True)
        ]
        return self._outer(some)

    def bound(self, lowest: LevelVector) -> float:
        """Return what every node from `lowest` upwards loses at least."""
        whole = sum(least[level] for least, level in zip(self._least, lowest, strict=True))
        return math.expm1(whole) if self._geometric else whole

    def value(self, tried: Tried) -> float:
        """Return what a node loses."""
        extra = self._suppression(np.flatnonzero(tried.bad[tried.key]))
        whole = sum(
            float(self._part(weight, mean[level] + more[level]))
            for weight, mean, more, level in zip(self._weights, self.means, extra, tried.levels, strict=True)
        )
        return math.expm1(whole) if self._geometric else whole

    def floor(self, tried: Tried) -> float:
        """Return what every node from `tried` upwards loses at least."""
        return self.bound(tried.levels)

    def _suppression(self, tuples: IntArray) -> list[FloatArray]:
        """Return what suppressing some tuples adds to the mean cost, per dimension and level."""
        rows = self._space.rows[tuples]
        return [
            extra @ np.bincount(codes[tuples], weights=rows, minlength=extra.shape[1])
            for extra, codes in zip(self._extra, self._space.codes, strict=True)
        ]

    def _part(self, weight: float, cost: FloatArray) -> FloatArray:
        return weight * np.log1p(cost) if self._geometric else weight * cost

    def _outer(self, costs: Sequence[FloatArray]) -> FloatArray:
        """Put the costs of all attributes together, one axis per attribute."""
        parts = [self._part(weight, cost) for weight, cost in zip(self._weights, costs, strict=True)]
        return together(self.name, parts)


def together(name: str, parts: Sequence[FloatArray]) -> FloatArray:
    """Return what each node loses at least, of what each attribute adds on each level.

    Parameters
    ----------
    name : str
        Of a separable quality.
    parts : sequence of ndarray of float, each of shape (levels,)
        See `Separable.parts`.

    Returns
    -------
    ndarray of float, one axis per attribute
    """
    whole = np.zeros((1,) * len(parts))
    for number, part in enumerate(parts):
        whole = whole + part.reshape([-1 if axis == number else 1 for axis in range(len(parts))])
    return np.asarray(np.expm1(whole) if name == "loss" else whole, dtype=np.float64)


class ByClass(ABC):
    """Quality by equivalence class; knows no attributes, and so no weights."""

    name: str

    def __init__(self, space: Space) -> None:
        self._space = space
        self._total = space.total()

    @abstractmethod
    def value(self, tried: Tried) -> float:
        """Return what a node loses."""

    @abstractmethod
    def floor(self, tried: Tried) -> float:
        """Return what every node from `tried` upwards loses at least: its own value if nothing were suppressed."""


class Discernibility(ByClass):
    """Sum of squared class sizes, a suppressed record costing as much as the table (Bayardo and Agrawal 2005)."""

    name = "discernibility"

    def value(self, tried: Tried) -> float:
        """Return the sum over kept classes of rows**2, and n for each suppressed row."""
        return float(np.square(tried.cells[~tried.bad]).sum()) + float(tried.suppressed) * self._total

    def floor(self, tried: Tried) -> float:
        """Return the sum of squares over all classes: merging only adds, and n is no less than any class."""
        return float(np.square(tried.cells).sum())


class AverageClassSize(ByClass):
    """Mean rows per class (AECS; LeFevre et al. 2006, section 1.1, there over k); suppressed records are one class."""

    name = "average_class_size"

    def value(self, tried: Tried) -> float:
        """Return rows by classes."""
        kept = np.count_nonzero(tried.cells[~tried.bad])
        return self._total / (int(kept) + (tried.suppressed > 0))

    def floor(self, tried: Tried) -> float:
        """Return rows by all classes: no node above has more, and the class of suppressed records replaces others."""
        return self._total / int(np.count_nonzero(tried.cells))


class Ambiguity(ByClass):
    """Mean share of all possible tuples that a record's published tuple stands for (Goldberger and Tassa 2010).

    They count the tuples; here they are divided by how many there are, so that a suppressed record counts 1.
    """

    name = "ambiguity"

    def value(self, tried: Tried) -> float:
        """Return the mean over records of the product of leaf shares."""
        return self._mean(tried, np.flatnonzero(tried.bad[tried.key]))

    def floor(self, tried: Tried) -> float:
        """Return the mean if nothing were suppressed: shares only grow."""
        return self._mean(tried, np.empty(0, dtype=np.int64))

    def _mean(self, tried: Tried, suppressed: IntArray) -> float:
        product = np.ones(self._space.rows.size)
        for one, codes, level in zip(self._space.dimensions, self._space.codes, tried.levels, strict=True):
            if not one.held:
                product *= _shares(one)[level][codes]
        product[suppressed] = 1.0
        return float(product @ self._space.rows) / self._total


Quality = Separable | ByClass


def quality(options: LatticeOptions, space: Space) -> Quality:
    """Return the quality model that is asked for, over one space."""
    if options.quality in WEIGHTED:
        return Separable(options.quality, space, options.weights)
    models: dict[str, type[ByClass]] = {one.name: one for one in (Discernibility, AverageClassSize, Ambiguity)}
    return models[options.quality](space)


def _shares(one: Dimension) -> list[FloatArray]:
    """Return the share of the hierarchy's leaves under each lowest group's value, per level."""
    ladder = one.ladder
    return [np.asarray(ladder.shares[level][ladder.groups[level][one.member]]) for level in one.levels]


def _leaf_shares(one: Dimension, _rows: FloatArray) -> tuple[Any, Any]:
    """ARX's Loss: (share of leaves - 1/L) / (1 - 1/L), after Iyengar 2002; a suppressed cell costs 1."""
    single = 1.0 / one.ladder.leaves
    if one.held or one.ladder.leaves == 1:
        return np.zeros((len(one.levels), one.sizes[0])), np.zeros(one.sizes[0])
    return (np.stack(_shares(one)) - single) / (1.0 - single), np.ones(one.sizes[0])


def _levels_climbed(one: Dimension, _rows: FloatArray) -> tuple[Any, Any]:
    """One minus precision (Sweeney 2002b, section 5): level by height of the hierarchy; a suppressed cell costs 1."""
    height = max(len(one.ladder.groups) - 1, 1)
    cost = np.repeat(np.array(one.levels)[:, None] / height, one.sizes[0], axis=1)
    return cost, np.full(one.sizes[0], 0.0 if one.held else 1.0)


def _surprise(one: Dimension, _rows: FloatArray) -> tuple[Any, Any]:
    """Non-uniform entropy (Gionis and Tassa 2009; de Waal and Willenborg 1999), by what a column can lose.

    A record loses -log(rows with its raw value / rows with its published value), counted over the whole table; when
    suppressed, as if all records had its published value. Divided by the entropy of the column, so that a column of
    nothing but suppressed cells costs 1.
    """
    attribute = one.ladder.attribute
    raw = np.roll(np.bincount(attribute.codes.astype(np.int64) + 1, minlength=attribute.size + 1), -1)
    log_raw = np.log(np.maximum(raw, 1))
    rows = np.bincount(one.places[0], weights=raw, minlength=one.sizes[0])
    told = np.bincount(one.places[0], weights=raw * log_raw, minlength=one.sizes[0]) / np.maximum(rows, 1.0)
    whole = float(rows.sum())
    entropy = np.log(whole) - float(raw @ log_raw) / whole
    if one.held or entropy <= 0:
        return np.zeros((len(one.levels), one.sizes[0])), np.zeros(one.sizes[0])
    kept = [np.log(np.maximum(np.bincount(groups, weights=rows)[groups], 1.0)) - told for groups in one.groups]
    return np.stack(kept) / entropy, (np.log(whole) - told) / entropy
