"""What stands for each node: chosen on its fit rows, from the leaves up.

A leaf chooses among values of the domain, an inner node between what stands for its children, by the answers that
change. All nodes of a level are asked about at once.
"""

from collections.abc import Iterator

import numpy as np

from components.minimization.partitions import Floats
from components.minimization.tree.boxes import boxes
from components.minimization.tree.candidates import offers
from components.minimization.tree.growth import NONE, Grown
from components.minimization.tree.ranks import Nodes
from components.minimization.tree.sample import Sample
from components.minimization.tree.standing import Standing


def for_leaves(sample: Sample, tree: Grown, leaves: Nodes) -> Standing:
    """Choose what stands for each leaf: the rounded middle of what it holds, unless what is usual changes less answers.

    Parameters
    ----------
    sample : Sample
    tree : Grown
    leaves : ndarray of int64, shape (rows,)
        Leaf of each row.

    Returns
    -------
    Standing
        Of the inner nodes, `values` and `errors` are missing.
    """
    held, rows = boxes(tree), np.arange(len(leaves))
    nodes, place = np.unique(leaves, return_inverse=True)
    by_attribute = [offers(each, nodes, place, sample.codes[each.attribute.name]) for each in held]
    values = np.full((len(tree), len(held)), np.nan)
    errors = np.full(len(tree), np.nan)
    values[nodes], usual = (np.column_stack(offered) for offered in zip(*by_attribute, strict=True))
    errors[nodes], usual_errors = (
        _summed(place, sample.errors(rows, offered[place]), len(nodes)) for offered in (values[nodes], usual)
    )
    better = usual_errors < errors[nodes]
    values[nodes[better]], errors[nodes[better]] = usual[better], usual_errors[better]
    return Standing.of(sample, tree, leaves, values, errors)


def with_errors(sample: Sample, tree: Grown, leaves: Nodes, values: Floats) -> Standing:
    """Return the standing of leaves whose values are known; of inner nodes nothing is known."""
    errors = np.bincount(leaves, weights=sample.errors(np.arange(len(leaves)), values[leaves]), minlength=len(tree))
    return Standing.of(sample, tree, leaves, values, np.where(tree.left == NONE, errors, np.nan))


def for_root(sample: Sample) -> Standing:
    """Let what is usual stand for everybody: the tree is its root alone."""
    none, leaves = np.full(1, NONE), np.zeros(len(sample), dtype=np.int64)
    tree = Grown.of(sample.attributes, (none, none), none, np.full((2, 1), np.nan))
    values = np.array([[sample.defaults[each.name] for each in sample.attributes]])
    return with_errors(sample, tree, leaves, values)


def for_all(standing: Standing) -> Standing:
    """Choose what stands for the inner nodes, when that of the leaves is known: what stands for the better child.

    Errors at a child's own rows are known by then, and the model is asked about the other child's rows only.
    """
    tree, sample, leaves = standing.tree, standing.sample, standing.leaves
    values, errors = standing.values.copy(), standing.errors.copy()
    own, below = sample.errors(np.arange(len(leaves)), values[leaves]), leaves.copy()  # each row's error, and child
    for rows, node in upwards(tree, leaves):
        child = below[rows]
        left = child == tree.left[node]
        other = sample.errors(rows, values[np.where(left, tree.right[node], tree.left[node])])
        by_left = _summed(node, np.where(left, own[rows], other), len(tree))
        by_right = _summed(node, np.where(left, other, own[rows]), len(tree))
        takes_left = by_left <= by_right
        level = np.unique(node)
        values[level] = values[np.where(takes_left, tree.left, tree.right)[level]]
        errors[level] = np.minimum(by_left, by_right)[level]
        changed = takes_left[node] != left
        own[rows[changed]] = other[changed]
        below[rows] = node
    return Standing.of(sample, tree, leaves, values, errors)


def rounded(standing: Standing, nodes: Nodes) -> Standing:
    """Let the rounded middle of what each of some nodes holds stand for it where it changes no more answers.

    Parameters
    ----------
    standing : Standing
    nodes : ndarray of int64, ascending
        Cells: each row is below one of them.
    """
    sample, leaves = standing.sample, standing.leaves
    place = np.searchsorted(nodes, leaves, side="right") - 1
    by_attribute = [offers(each, nodes, place, sample.codes[each.attribute.name]) for each in standing.held]
    middle = np.column_stack([offered[0] for offered in by_attribute])
    changed = _summed(place, sample.errors(np.arange(len(leaves)), middle[place]), len(nodes))
    values, errors = standing.values.copy(), standing.errors.copy()
    better = changed <= errors[nodes]
    values[nodes[better]], errors[nodes[better]] = middle[better], changed[better]
    return Standing.of(sample, standing.tree, leaves, values, errors)


def upwards(tree: Grown, leaves: Nodes) -> Iterator[tuple[Nodes, Nodes]]:
    """Yield rows with the inner nodes that hold them, level by level from the lowest up."""
    depth = np.zeros(len(tree), dtype=np.int64)
    for number, level in enumerate(tree.levels):
        depth[level] = number
    node = leaves.copy()
    for number in reversed(range(len(tree.levels) - 1)):
        rows = np.flatnonzero(depth[node] > number)
        node[rows] = tree.parent[node[rows]]
        yield rows, node[rows]


def _summed(nodes: Nodes, errors: Floats, size: int) -> Floats:
    """Return the errors of rows added up by node; to nine digits, so that equal sums of a regression compare equal."""
    return np.asarray(np.round(np.bincount(nodes, weights=errors, minlength=size), 9))
