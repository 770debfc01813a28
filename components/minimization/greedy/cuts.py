"""The finest partition of each attribute: as many cuts as it may take to keep the model's answers."""

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from components.classes.coding import combined
from components.data.order import value_ranks
from components.minimization.attributes import BELOW, Attribute, Codes
from components.minimization.partitions import Floats, Partition, between
from components.minimization.problem import Answers, Rows

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Axis:
    """An attribute's values in a row: as they are ordered, or in the order of their mean answer.

    Parameters
    ----------
    attribute : Attribute
    values : ndarray of float64, shape (n_values,)
        Codes from the first value to the last, without that of missing cells.
    places : ndarray of int64, shape (rows,)
        Of each row's value among them; missing cells have the place before the first.
    apart : ndarray of float64, shape (n_values - 1,)
        How far the mean answers to neighbours without order are apart; 0 of values in their order.
    """

    attribute: Attribute
    values: Floats
    places: Integers
    apart: Floats

    @cached_property
    def counts(self) -> Integers:
        """Rows of each value."""
        return np.bincount(self.places[self.places >= 0], minlength=len(self.values))

    @property
    def missing_apart(self) -> bool:
        """Whether missing cells need a part of their own."""
        return bool((self.places < 0).any()) or any(column.nullable for column in self.attribute.columns)

    def partition(self, cuts: Integers) -> Partition:
        """Return the partition that ends a part after each of the values at `cuts`."""
        if self.attribute.kind != "nominal":
            ends = [between(self.attribute, *self.values[[cut, cut + 1]].tolist()) for cut in cuts]
            return Partition(self.attribute, cuts=(*[BELOW] * self.missing_apart, *ends))
        part = np.searchsorted(cuts, np.arange(len(self.values)), side="left")
        of_value = part[np.argsort(self.values)]
        apart = len(cuts) + 1 if self.missing_apart else of_value[int(self.values[self.counts.argmax()])]
        return Partition(self.attribute, groups=numbered([*of_value.tolist(), int(apart)]))


def finest(
    attributes: tuple[Attribute, ...], rows: Rows, *, regression: bool, parts: int, min_rows: int, seed: int
) -> dict[str, Partition]:
    """Return the finest partition of each attribute.

    Cuts come from a tree that learns the model's answers from all columns, also those that stay as they are: where an
    effect depends on other columns, its mean over them can be flat. Those that gain most over all nodes are kept, and
    where there is room those of a tree on the attribute alone. Values without order are put in the order of their mean
    answer first (Breiman et al. 1984, section 4.2.2).

    Parameters
    ----------
    attributes : tuple of Attribute
    rows : Rows
        In canonical order.
    regression : bool
    parts : int
        Most parts, that of missing cells aside.
    min_rows : int
        Least rows in a part; missing cells are apart, however few.
    seed : int
        Decides between columns that split equally well.
    """
    targets = scaled(rows.answers, regression=regression)
    axes = [_axis(attribute, rows.codes[attribute.name], targets) for attribute in attributes]
    held = {name for attribute in attributes for name in attribute.names}
    others = [value_ranks(rows.frame[name]) for name in rows.frame.columns if name not in held]
    learned = targets if regression else rows.answers
    tree = {"regression": regression, "min_samples_leaf": min_rows, "random_state": seed}
    together = _gains([axis.places for axis in axes] + others, learned, tree)
    found = {}
    for axis, most in zip(axes, together, strict=False):
        alone = _gains([axis.places], learned, tree | {"max_leaf_nodes": parts})[0]
        worth = (most + alone)[: len(axis.apart)] if axis.attribute.kind == "number" else axis.apart
        cuts = _absorbed(_kept(axis, most, alone, parts), axis.counts, worth, min_rows)
        found[axis.attribute.name] = axis.partition(cuts)
    return found


def numbered(groups: list[int]) -> tuple[int, ...]:
    """Return groups numbered from 0 in the order of their first values."""
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(group, len(numbers)) for group in groups)


def _axis(attribute: Attribute, codes: Codes, targets: Floats) -> Axis:
    if attribute.kind == "nominal":
        size = len(attribute.values)
        means = mean_answers(codes, size, targets)
        values = np.argsort(means, kind="stable")
        places = np.append(np.argsort(values), -1)[codes].astype(np.int64)
        return Axis(attribute, values.astype(np.float64), places, np.diff(means[values]))
    distinct, ranks = np.unique(codes, return_inverse=True)
    missing = int(distinct[:1].tolist() == [BELOW])
    known = distinct[missing:].astype(np.float64)
    return Axis(attribute, known, ranks - missing, np.zeros(max(len(known) - 1, 0)))


def mean_answers(codes: Codes, size: int, targets: Floats) -> Floats:
    """Return a number per value that is nearer for values with nearer mean answers, shape (size,).

    With several outputs it is the first principal component of the means (Coppersmith, Hong and Hosking 1999). One row
    with the overall mean is added to each value: few rows tell little.
    """
    counts = np.bincount(codes, minlength=size + 1)[:size]
    centred = targets - targets.mean(axis=0)
    sums = [np.bincount(codes, weights=column, minlength=size + 1)[:size] for column in centred.T]
    means = np.column_stack(sums) / (counts + 1)[:, np.newaxis]
    if means.shape[1] == 1:
        return np.asarray(means[:, 0])
    axis = np.linalg.svd(means * np.sqrt(counts)[:, np.newaxis], full_matrices=False)[2][0]
    projected: Floats = means @ (axis * np.sign(axis[np.abs(axis).argmax()]))
    return projected


def scaled(answers: Answers, *, regression: bool) -> Floats:
    """Return answers as numbers of about one scale: indicators of all classes but the first, shape (rows, d)."""
    if regression:
        spread = answers.std(axis=0)
        return np.asarray((answers - answers.mean(axis=0)) / np.where(spread > 0, spread, 1.0))
    shown = [output[:, np.newaxis] == np.unique(output)[1:] for output in answers.T]
    indicators = np.hstack(shown).astype(np.float64)
    return indicators if indicators.shape[1] else np.zeros((len(answers), 1))


def _gains(features: list[Integers], answers: npt.NDArray[Any], options: dict[str, Any]) -> list[Floats]:
    """Return, of each feature, how much impurity cuts after each place take away over all nodes of a tree."""
    matrix = np.empty((len(features), len(answers)), dtype=np.float32)  # a column lies in one piece, as it is read
    for row, feature in zip(matrix, features, strict=True):
        row[:] = feature
    if options["regression"]:
        estimator: Any = DecisionTreeRegressor
    else:
        estimator, answers = DecisionTreeClassifier, combined((each, int(each.max()) + 1) for each in answers.T)[0]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The number of unique classes", category=UserWarning)
        tree = estimator(**{key: value for key, value in options.items() if key != "regression"})
        grown = tree.fit(matrix.T, answers).tree_
    inner = np.flatnonzero(grown.feature >= 0)
    worth = grown.weighted_n_node_samples * grown.impurity
    gain = worth[inner] - worth[grown.children_left[inner]] - worth[grown.children_right[inner]]
    found = []
    for number, feature in enumerate(features):
        mine = grown.feature[inner] == number
        places = np.floor(grown.threshold[inner][mine]).astype(np.int64) + 1  # the first place is that of missing cells
        sums = np.bincount(places, weights=gain[mine], minlength=int(feature.max()) + 2)
        found.append(sums[1:].astype(np.float64))
    return found


def _kept(axis: Axis, together: Floats, alone: Floats, parts: int) -> Integers:
    """Return the places of the values that parts end with, ascending."""
    last = len(axis.values) - 1
    if axis.attribute.kind != "number" and last < parts:
        return np.arange(last)
    first = np.argsort(-together[:last], kind="stable")
    second = np.argsort(-alone[:last], kind="stable")
    chosen = [*first[together[first] > 0].tolist(), *second[alone[second] > 0].tolist()]
    return np.sort(np.array(list(dict.fromkeys(chosen))[: parts - 1], dtype=np.int64))


def _absorbed(cuts: Integers, counts: Integers, worth: Floats, min_rows: int) -> Integers:
    """Return the cuts left when each part with too few rows has lost that of its two which is worth less."""
    kept = cuts.tolist()
    before = np.concatenate([[0], np.cumsum(counts)])
    while kept:
        rows = np.diff(before[[0, *(cut + 1 for cut in kept), len(counts)]])
        least = int(rows.argmin())
        if rows[least] >= min_rows:
            break
        right = least == 0 or (least < len(kept) and worth[kept[least]] < worth[kept[least - 1]])
        del kept[least if right else least - 1]
    return np.array(kept, dtype=np.int64)
