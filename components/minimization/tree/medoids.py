"""Actual rows that stand for nodes, as in the paper: of the rows with a node's label the one nearest the median."""

import numpy as np
import numpy.typing as npt

from components.classes.coding import combined
from components.minimization.partitions import Floats
from components.minimization.tree.choosing import upwards, with_errors
from components.minimization.tree.growth import Grown
from components.minimization.tree.ranks import Nodes
from components.minimization.tree.sample import Sample
from components.minimization.tree.standing import Standing


def rows_for_leaves(sample: Sample, tree: Grown, leaves: Nodes) -> Standing:
    """Let an actual row stand for each leaf (see `choosing.for_leaves`)."""
    values = np.zeros((len(tree), len(sample.attributes)))
    values[np.unique(leaves)] = _nearest(sample, np.arange(len(sample)), leaves)
    return with_errors(sample, tree, leaves, values)


def rows_for_all(standing: Standing) -> Standing:
    """Let an actual row stand for each inner node, too."""
    sample, tree = standing.sample, standing.tree
    values, errors = standing.values.copy(), standing.errors.copy()
    for rows, node in upwards(tree, standing.leaves):
        level, place = np.unique(node, return_inverse=True)
        values[level] = _nearest(sample, rows, node)
        errors[level] = np.bincount(place, weights=sample.errors(rows, values[node]))
    return Standing.of(sample, tree, standing.leaves, values, errors)


def _nearest(sample: Sample, rows: Nodes, node: Nodes) -> Floats:
    """Return the codes of the row that stands for each node, in the nodes' order, shape (nodes, attributes).

    Of the rows with the node's most frequent answer (of a regression, of all its rows) the nearest to the medians and
    most frequent values: in ranks, by the number of values that occur, added up over attributes. The first in
    canonical order among equals.
    """
    place = np.unique(node, return_inverse=True)[1]
    if not sample.problem.regression:
        labels, _ = combined((output, int(output.max()) + 1) for output in sample.answers.T)
        usual = labels[rows] == _most_frequent(labels[rows], place)[place]
        rows, place = rows[usual], place[usual]
    distance = np.zeros(len(rows))
    for attribute, ranks, there in zip(
        sample.attributes, sample.ranks.values[rows].T, sample.ranks.distinct, strict=True
    ):
        if attribute.kind == "nominal":
            distance += ranks != _most_frequent(ranks.astype(np.int64), place)[place]
        else:
            distance += np.abs(ranks - _medians(ranks, place)[place]) / len(there)
    order = np.lexsort((rows, np.round(distance, 9), place))
    chosen = rows[order[_starts(place[order])]]
    return np.column_stack([sample.codes[each.name][chosen] for each in sample.attributes]).astype(np.float64)


def _medians(ranks: npt.NDArray[np.float32], place: Nodes) -> Floats:
    """Return the lower median of each place."""
    order = np.lexsort((ranks, place))
    starts = _starts(place[order])
    sizes = np.diff(np.append(starts, len(order)))
    return np.asarray(ranks[order[starts + (sizes - 1) // 2]], dtype=np.float64)


def _most_frequent(codes: Nodes, place: Nodes) -> Nodes:
    """Return the most frequent code of each place, the first among equals."""
    size = int(codes.max()) + 1
    pairs, times = np.unique(place * size + codes, return_counts=True)
    order = np.lexsort((pairs, -times, pairs // size))
    return np.asarray(pairs[order[_starts(pairs[order] // size)]] % size)


def _starts(places: Nodes) -> Nodes:
    """Return where each place begins in an ascending array of them."""
    return np.flatnonzero(np.diff(places, prepend=-1))
