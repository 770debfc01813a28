"""The surrogate: a decision tree that learns a model's predictions, and whose leaves are equivalence classes.

The tree grows on distinct tuples of codes with the number of rows as weights. CART sees only sums over rows, so this
is the tree that the rows themselves would give, at the cost of the distinct ones, and the order of rows can't matter.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from components.anonymization.criteria.requirements import Requirement
from components.classes.coding import Attribute, BoolArray, FloatArray, IntArray, any_row_of, combined, dense
from components.classes.counts import Counts, tally
from schemas.faults import Fault, GoalError

_LARGEST_EXPONENT = 480
"""Of numbers whose squares, added up over all rows that a table can have, are below the largest float (2**1024)."""


@dataclass(frozen=True, slots=True)
class Predictions:
    """What the original model says about each row.

    Parameters
    ----------
    outputs : ndarray, shape (n, outputs)
        Codes of predicted classes, or predicted numbers.
    labels : ndarray of int, shape (n,), or None
        One code per distinct tuple of predicted classes; None for numbers.
    n_labels : int
        How many there are; 0 for numbers.
    """

    outputs: npt.NDArray[np.number[Any]]
    labels: IntArray | None
    n_labels: int


@dataclass(frozen=True, slots=True)
class Tree:
    """A grown tree, reduced to what classes need.

    Parameters
    ----------
    leaves : ndarray of int, shape (n,)
        The node each row falls into.
    parent : ndarray of int, shape (nodes,)
        The node above each node; the root, node 0, has itself.
    levels : tuple of ndarray of int
        The nodes of each depth, from the root down.
    """

    leaves: IntArray
    parent: IntArray
    levels: tuple[IntArray, ...]


def read_predictions(predictions: npt.ArrayLike, rows: int, *, numbers: bool) -> Predictions:
    """Read a model's predictions on the rows of a table.

    Parameters
    ----------
    predictions : array_like, shape (n,) or (n, outputs)
    rows : int
        Rows of the table.
    numbers : bool
        Whether they are numbers to come close to (regression) or classes to hit.

    Raises
    ------
    ValueError
        There isn't one prediction per row, or a number is missing or infinite.
    """
    array = np.asarray(predictions)
    array = array.reshape(len(array), -1) if array.ndim != 1 else array[:, np.newaxis]
    if len(array) != rows:
        raise ValueError(f"{len(array)} predictions for {rows} rows")
    if numbers:
        outputs = array.astype(np.float64) + 0.0  # makes one zero of -0.0 and 0.0
        if not np.isfinite(outputs).all():
            raise ValueError("predictions are missing or infinite")
        return Predictions(_squarable(outputs), None, 0)
    columns = [pd.factorize(array[:, output], sort=True) for output in range(array.shape[1])]
    outputs = np.column_stack([codes for codes, _ in columns])
    if (outputs < 0).any():
        raise ValueError("predictions are missing")
    labels, n_labels = combined((codes, len(classes)) for codes, classes in columns)
    return Predictions(outputs, labels, n_labels)


def _squarable(outputs: FloatArray) -> FloatArray:
    """Return numbers so large that sums of their squares overflow as shares of a power of two: proportions count."""
    exponent = int(np.frexp(np.abs(outputs).max(initial=0.0))[1])
    return np.ldexp(outputs, -exponent) if exponent > _LARGEST_EXPONENT else outputs


def grow(attributes: Sequence[Attribute], predictions: Predictions, k: int, missing: str, seed: int) -> Tree:
    """Grow the surrogate tree with at least k rows in each leaf.

    Parameters
    ----------
    attributes : sequence of Attribute
        The columns it may split on.
    predictions : Predictions
        What it learns.
    k : int
        Least rows in a leaf.
    missing : {"own_value", "ignore"}
        Missing cells are told apart from values (at each split they go to the better side), or take the place of the
        column's middle value, or of its most frequent one where values have no order.
    seed : int
        Decides between columns that split equally well.

    Returns
    -------
    Tree

    Notes
    -----
    CART (Breiman et al. 1984). Values without order are put on an axis first. When the tree learns numbers, by their
    mean prediction, which makes the best subset split a threshold (section 4.2.2 there); with several outputs by the
    first principal component of these means (after Coppersmith, Hong and Hosking 1999). When it learns classes, by how
    frequent they are: by mean prediction all values of one predicted class would end in one pure leaf and share one
    representative. That costs a retrained model more than the finer splits of the other order: on Adult at k=100 test
    accuracy falls by .0040 instead of .0014 (50 splits, standard error of the difference .0007; at k=10 no
    difference shows), on two columns of 20 equally frequent values at k=5 by .17 instead of .06.
    """
    rows = len(predictions.outputs)
    attributes = [attribute for attribute in attributes if attribute.size]  # what is always missing tells nothing
    parts = [(attribute.codes, attribute.size) for attribute in attributes]
    if predictions.labels is not None:
        parts.append((predictions.labels, predictions.n_labels))
    if rows < 2 * k or not attributes:
        return Tree(np.zeros(rows, dtype=np.int64), np.zeros(1, dtype=np.int64), (np.zeros(1, dtype=np.int64),))
    units, n_units = combined(parts)
    first = any_row_of(units, n_units)
    weights = np.bincount(units, minlength=n_units)
    means: FloatArray | None = None
    if predictions.labels is not None:
        targets, estimator = predictions.outputs[first], DecisionTreeClassifier
    else:
        targets, estimator = _unit_means(predictions.outputs, units, weights), DecisionTreeRegressor
        means = targets
    inputs = np.empty((len(attributes), n_units), dtype=np.float32)  # a column lies in one piece, as the splitter reads
    for row, attribute in zip(inputs, attributes, strict=True):
        row[:] = _positions(attribute, attribute.codes[first], means, weights, missing)
    # Weights are whole numbers, so that half a row less than k asks for exactly k.
    tree = estimator(min_weight_fraction_leaf=(k - 0.5) / rows, random_state=seed)
    with warnings.catch_warnings():  # many classes are few rows each here, because equal rows are one
        warnings.filterwarnings("ignore", message="The number of unique classes", category=UserWarning)
        tree.fit(inputs.T, targets, sample_weight=weights.astype(np.float64))
    parent, levels = _shape(tree.tree_.children_left, tree.tree_.children_right)
    return Tree(tree.apply(inputs.T)[units], parent, levels)


def collapse(tree: Tree, requirements: Sequence[Requirement]) -> IntArray:
    """Fold splits of the tree, from the leaves up, until every class meets every requirement.

    A split stays if both its sides, folded as far as they must be, meet the requirements. Where these are monotone
    under merging, the result is the finest division that the tree allows.

    Parameters
    ----------
    tree : Tree
    requirements : sequence of Requirement

    Returns
    -------
    ndarray of int, shape (n,)
        The class of each row, 0 to the number of classes less one, in the tree's order.

    Raises
    ------
    GoalError
        Not even the whole table as one class meets the requirements.
    """
    leaf_of_row, n_leaves = dense(tree.leaves, len(tree.parent))
    leaf_nodes = np.unique(tree.leaves)
    tallies = [requirement.counts(leaf_of_row, n_leaves) for requirement in requirements]
    owner = np.arange(len(tree.parent))
    folded = np.zeros(len(tree.parent), dtype=np.bool_)
    while True:
        nodes, class_of_leaf = np.unique(owner[leaf_nodes], return_inverse=True)
        failing = np.zeros(len(nodes), dtype=np.bool_)
        for requirement, counts in zip(requirements, tallies, strict=True):
            failing |= ~requirement.met(requirement.score(counts.merged(class_of_leaf, len(nodes))))
        if not failing.any():
            return class_of_leaf[leaf_of_row]
        if nodes[failing][0] == 0:
            raise GoalError(_missed(requirements, tallies, class_of_leaf))
        folded[tree.parent[nodes[failing]]] = True
        for level in tree.levels[1:]:
            above = owner[tree.parent[level]]
            owner[level] = np.where(folded[above], above, level)


def _missed(requirements: Sequence[Requirement], tallies: Sequence[Counts], one_class: IntArray) -> list[Fault]:
    figures = [
        float(requirement.score(counts.merged(one_class, 1))[0])
        for requirement, counts in zip(requirements, tallies, strict=True)
    ]
    pairs = zip(requirements, figures, strict=True)
    return [requirement.fault(figure) for requirement, figure in pairs if not requirement.met(figure)]


def agreement(classes: IntArray, predictions: Predictions) -> float:
    """Return how well the classes tell the model's predictions.

    Returns
    -------
    float
        Share of rows whose prediction is the most frequent one in their class; for numbers R2 of the class means,
        averaged over outputs (1 where all predictions are equal).
    """
    sizes = np.bincount(classes)
    if predictions.labels is not None:
        counts = tally(classes, predictions.labels, len(sizes), predictions.n_labels)
        return float(np.maximum.reduceat(counts.counts, counts.starts).sum() / len(classes))
    # Sums in one canonical order: the last digits of a float sum depend on it.
    order = np.lexsort((*predictions.outputs.T, classes))
    outputs = predictions.outputs[order]
    means = np.add.reduceat(outputs, np.cumsum(sizes) - sizes, axis=0) / sizes[:, np.newaxis]
    within = ((outputs - means[classes[order]]) ** 2).sum(axis=0)
    total = ((outputs - (means * sizes[:, np.newaxis]).sum(axis=0) / len(classes)) ** 2).sum(axis=0)
    return float(np.mean(1.0 - within / np.where(total > 0, total, np.inf)))


def _unit_means(outputs: npt.NDArray[np.number[Any]], units: IntArray, weights: IntArray) -> FloatArray:
    """Average the predictions of each unit, summed in the order of their size so that row order can't matter."""
    order = np.lexsort((*outputs.T, units))
    sums = np.add.reduceat(outputs[order], np.cumsum(weights) - weights, axis=0)
    return np.asarray(sums / weights[:, np.newaxis], dtype=np.float64)


def _positions(
    attribute: Attribute, codes: IntArray, means: FloatArray | None, weights: IntArray, missing: str
) -> npt.NDArray[np.float32]:
    """Place the values of an attribute on the axis that the tree splits; see the notes of `grow`."""
    holes: BoolArray = codes < 0
    if missing == "ignore" and holes.any():
        codes = np.where(holes, _usual(attribute, codes[~holes], weights[~holes]), codes)
        holes = np.zeros_like(holes)
    axis = np.full(attribute.size + 1, np.nan, dtype=np.float32)  # the last place is for missing, code -1
    if attribute.kind != "nominal":
        axis[:-1] = np.arange(attribute.size)
        return axis[codes]
    rows = np.bincount(codes[~holes], weights=weights[~holes], minlength=attribute.size).astype(np.float64)
    score = -rows if means is None else _mean_score(codes[~holes], means[~holes], weights[~holes], rows)
    axis[np.argsort(score, kind="stable")] = np.arange(attribute.size)
    return axis[codes]


def _usual(attribute: Attribute, codes: IntArray, weights: IntArray) -> int:
    """Return the middle value of a column, or the most frequent one of values without order."""
    rows = np.bincount(codes, weights=weights, minlength=attribute.size)
    if attribute.kind == "nominal":
        return int(rows.argmax())
    return int(np.searchsorted(np.cumsum(rows), rows.sum() / 2))


def _mean_score(codes: IntArray, means: FloatArray, weights: IntArray, rows: FloatArray) -> FloatArray:
    """Return each value's mean prediction; of several outputs, its first principal component."""
    sums = [np.bincount(codes, weights=weights * output, minlength=len(rows)) for output in means.T]
    profile = np.column_stack(sums) / rows[:, np.newaxis]
    if profile.shape[1] == 1:
        return np.asarray(profile[:, 0], dtype=np.float64)
    spread = np.std(means, axis=0)
    centred = (profile - np.average(profile, axis=0, weights=rows)) / np.where(spread > 0, spread, 1.0)
    _, axes = np.linalg.eigh((centred * rows[:, np.newaxis]).T @ centred)
    axis = axes[:, -1] * np.sign(axes[np.abs(axes[:, -1]).argmax(), -1])
    return np.asarray(np.round(centred @ axis, 12), dtype=np.float64)  # equal means stay equal


def _shape(left: IntArray, right: IntArray) -> tuple[IntArray, tuple[IntArray, ...]]:
    """Return each node's parent, and the nodes of each depth."""
    parent = np.zeros(len(left), dtype=np.int64)
    inner = np.flatnonzero(left >= 0)
    parent[left[inner]] = inner
    parent[right[inner]] = inner
    levels = []
    level = np.zeros(1, dtype=np.int64)
    while level.size:
        levels.append(level)
        children = np.concatenate((left[level], right[level]))
        level = children[children >= 0]
    return parent, tuple(levels)
