"""A tree with what stands for each of its nodes, and what a node costs and saves when it becomes a cell."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from components.minimization.partitions import Floats
from components.minimization.tree.boxes import Intervals, Sets, boxes
from components.minimization.tree.growth import Grown
from components.minimization.tree.ranks import Nodes
from components.minimization.tree.sample import Sample


@dataclass(frozen=True, slots=True)
class Standing:
    """Statistics of nodes, each as if it were a cell.

    Parameters
    ----------
    sample : Sample
    tree : Grown
    leaves : ndarray of int64, shape (rows,)
        Leaf of each row.
    held : list of Intervals or Sets
        What nodes hold, by attribute.
    values : ndarray of float64, shape (nodes, attributes)
        Codes that stand for the nodes.
    rows : ndarray of int64, shape (nodes,)
    errors : ndarray of float64, shape (nodes,)
        Sum over the rows of a node (see `Sample.errors`).
    losses : ndarray of float64, shape (nodes, attributes)
        NCP.
    """

    sample: Sample
    tree: Grown
    leaves: Nodes
    held: list[Intervals | Sets]
    values: Floats
    rows: Nodes
    errors: Floats
    losses: Floats

    @classmethod
    def of(cls, sample: Sample, tree: Grown, leaves: Nodes, values: Floats, errors: Floats) -> Self:
        """Return them with what follows from the tree."""
        rows = tree.summed(np.bincount(leaves, minlength=len(tree)))
        held = boxes(tree)
        losses = np.column_stack([each.loss() for each in held])
        return cls(sample, tree, leaves, held, values, rows, errors, losses)

    @property
    def privacy(self) -> Floats:
        """Weighted NCP over attributes, those that stay exact among them, added up over rows, shape (nodes,)."""
        return np.asarray(self.rows * (self.losses @ shares(self.sample)))


def shares(sample: Sample) -> Floats:
    """Return what each attribute weighs in the mean over all attributes of the problem, shape (attributes,)."""
    weight = sample.problem.weight
    total = sum(weight(each.name) for each in sample.problem.attributes)
    return np.array([weight(each.name) for each in sample.attributes]) / total
