"""From a pruned tree to a generaliser: its cells, and the ranges and groups that they make of each attribute."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from components.classes.coding import combined
from components.minimization.declarations import Tree
from components.minimization.generalizer import Cells, Generalizer, Ranges
from components.minimization.partitions import Floats, Partition
from components.minimization.problem import Answers, agree
from components.minimization.tree.boxes import Bools
from components.minimization.tree.candidates import standing_for
from components.minimization.tree.pruning import Path
from components.minimization.tree.ranks import Nodes
from components.minimization.tree.sample import Sample


def draft(params: Tree, path: Path, steps: int) -> Generalizer:
    """Return the generaliser of a path after some steps, as far as a trial needs it.

    Cells lack their labels, and where each attribute is not generalised by itself, ranges what stands for them.
    """
    standing = path.standing
    tree, sample, cell = standing.tree, standing.sample, path.cells(steps)
    nodes, inner = np.flatnonzero(cell), ~cell & ~tree.above(cell)
    partitions = {
        held.attribute.name: held.partition(np.flatnonzero(inner & (tree.split == place)), tree)
        for place, held in enumerate(standing.held)
    }
    everything = {each.name: np.ones((len(nodes), 1), dtype=np.bool_) for each in sample.spared}
    usual = {each.name: np.full(len(nodes), sample.defaults[each.name]) for each in sample.spared}
    cells = Cells(
        {each.attribute.name: each.admitted(nodes, partitions[each.attribute.name]) for each in standing.held}
        | everything,
        {each.attribute.name: standing.values[nodes, place] for place, each in enumerate(standing.held)} | usual,
        np.ones(len(nodes), dtype=np.bool_),
        np.zeros((len(nodes), sample.answers.shape[1])),
    )
    ranges = _ranges(sample, partitions, stand=params.use == "ranges")
    return Generalizer("tree", params.use, ranges, cells, params.representative, params.outside)


def exact(params: Tree, sample: Sample) -> Generalizer:
    """Return the generaliser that leaves everything as it is, each attribute by itself: there are no cells."""
    return Generalizer("tree", "ranges", _ranges(sample, {}, stand=False), outside=params.outside)


def finished(params: Tree, path: Path, steps: int) -> Generalizer:
    """Return the generaliser of a path after some steps, whole.

    The label of a cell is the model's most frequent answer (the first among equals), all outputs together; of a
    regression the mean. A cell agrees where most of its rows keep the model's answer when they hold the
    representative, each with its other columns as they are; of a regression where the mean answer to them is within a
    standard deviation of the label.

    Parameters
    ----------
    params : declarations.Tree
    path : Path
    steps : int
    """
    standing = path.standing
    sample, nodes = standing.sample, np.flatnonzero(path.cells(steps))
    cell = np.searchsorted(nodes, standing.leaves, side="right") - 1  # what is below a node follows it without a gap
    now = sample.asked(np.arange(len(sample)), standing.values[nodes[cell]])
    told = _means if sample.problem.regression else _majorities
    labels, agrees = told(sample.answers, now, cell, len(nodes))
    found = draft(params, path, steps)
    partitions = {each.attribute.name: each.partition for each in found.ranges if each.partition is not None}
    cells = None if found.cells is None else replace(found.cells, labels=labels, agrees=agrees)
    return replace(found, cells=cells, ranges=_ranges(sample, partitions, stand=True))


def _ranges(sample: Sample, partitions: Mapping[str, Partition], *, stand: bool) -> tuple[Ranges, ...]:
    """Return how each attribute is generalised by itself: nothing is asked of those spared, others stay exact."""
    made, spared = [], {each.name: Partition.whole(each) for each in sample.spared}
    for attribute in sample.problem.attributes:
        default = sample.defaults[attribute.name]
        partition = partitions.get(attribute.name, spared.get(attribute.name))
        standing = np.full(0 if partition is None else partition.size, default)
        if stand and partition is not None and attribute.name not in spared:
            standing = standing_for(partition, sample.codes[attribute.name])
        made.append(Ranges(attribute, partition, standing, default))
    return tuple(made)


def _majorities(answers: Answers, now: Answers, cell: Nodes, cells: int) -> tuple[Floats, Bools]:
    joint, count = combined((output, int(output.max()) + 1) for output in answers.T)
    pairs, first, times = np.unique(cell * count + joint, return_index=True, return_counts=True)
    # the last pair of a cell is its most frequent answer, the first among equals
    order = np.lexsort((-pairs, times, pairs // count))
    last = np.searchsorted(pairs[order] // count, np.arange(cells), side="right") - 1
    labels = answers[first[order[last]]]
    # by rows, not by the label: where columns that stay exact decide, a cell has no one answer
    hits = np.bincount(cell, weights=agree(answers, now), minlength=cells)
    return labels.astype(np.float64), np.asarray(2 * hits > np.bincount(cell, minlength=cells))


def _means(answers: Answers, now: Answers, cell: Nodes, cells: int) -> tuple[Floats, Bools]:
    def mean(numbers: Floats) -> Floats:
        sums = [np.bincount(cell, weights=output, minlength=cells) for output in numbers.T]
        return np.column_stack(sums) / np.bincount(cell, minlength=cells)[:, np.newaxis]

    labels = mean(answers)
    deviation = np.sqrt(mean((answers - labels[cell]) ** 2))
    near = np.abs(mean(now) - labels) <= deviation + 1e-9 * np.abs(labels)
    return labels, np.asarray(near.all(axis=1))
