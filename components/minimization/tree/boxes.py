"""What each node of a tree holds of each attribute, and what is lost there."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from components.minimization.attributes import BELOW, Attribute
from components.minimization.partitions import Floats, Partition, group_loss, interval_loss, trivial
from components.minimization.tree.growth import Grown
from components.minimization.tree.ranks import Nodes

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Intervals:
    """What nodes hold of a number or ordered attribute.

    Parameters
    ----------
    attribute : Attribute
    cuts : ndarray of float64
        All that the tree makes of it; they end the parts 0, 1, ...
    first, last : ndarray of int64, shape (nodes,)
        Parts that a node holds.
    """

    attribute: Attribute
    cuts: Floats
    first: Nodes
    last: Nodes

    @classmethod
    def of(cls, tree: Grown, place: int) -> Self:
        """Follow the tree's cuts of an attribute from the root down."""
        mine = tree.split == place
        cuts = np.unique(tree.at[mine])
        part = np.searchsorted(cuts, tree.at)
        first, last = np.zeros(len(tree), dtype=np.int64), np.full(len(tree), len(cuts))
        for level in tree.levels[1:]:
            over = tree.parent[level]
            right = tree.right[over] == level
            first[level] = np.where(mine[over] & right, part[over] + 1, first[over])
            last[level] = np.where(mine[over] & ~right, part[over], last[over])
        return cls(tree.attributes[place], cuts, first, last)

    def bounds(self) -> tuple[Floats, Floats]:
        """Return start (exclusive) and end (inclusive) of each node."""
        ends = np.concatenate(([BELOW], self.cuts, [np.inf]))
        return ends[self.first], ends[self.last + 1]

    def loss(self) -> Floats:
        """Return the NCP of each node, 1 where it leaves the attribute free."""
        free = (self.first == 0) & (self.last == len(self.cuts))
        return np.where(free, float(not trivial(self.attribute)), interval_loss(self.attribute, *self.bounds()))

    def raised(self, tree: Grown, node: int, child: int, cells: Nodes) -> Floats:
        """Return the NCP of some cells below a child of a node when the node's split of the attribute is gone."""
        first, last = self.first[cells], self.last[cells]
        part = np.searchsorted(self.cuts, tree.at[node])
        if child == tree.left[node]:
            last = np.where(last == part, self.last[node], last)
        else:
            first = np.where(first == part + 1, self.first[node], first)
        return type(self)(self.attribute, self.cuts, first, last).loss()

    def holds(self, nodes: Nodes, codes: Floats) -> Bools:
        """Tell whether each of some nodes holds the code given for it."""
        part = np.searchsorted(self.cuts, codes)
        return np.asarray((part >= self.first[nodes]) & (part <= self.last[nodes]))

    def admitted(self, nodes: Nodes, partition: Partition) -> Bools:
        """Return the parts of a partition that some nodes hold, shape (nodes, parts); its cuts are among the tree's."""
        starts, ends = (bound[nodes, np.newaxis] for bound in self.bounds())
        cuts = np.asarray(partition.cuts)
        part = np.arange(partition.size)
        # A node without a lower bound holds the first part, and one that starts with the values lacks the missing.
        low = np.where(self.first[nodes, np.newaxis] == 0, 0, np.searchsorted(cuts, starts) + 1)
        return np.asarray((part >= low) & (part <= np.searchsorted(cuts, ends)))

    def partition(self, inner: Nodes, tree: Grown) -> Partition:
        """Return the partition that the cuts of some splits of the attribute make."""
        return Partition(self.attribute, cuts=tuple(float(cut) for cut in np.unique(tree.at[inner])))


@dataclass(frozen=True, slots=True)
class Sets:
    """What nodes hold of a nominal attribute.

    Parameters
    ----------
    attribute : Attribute
    values : ndarray of bool, shape (nodes, values + 1)
        The last place is for missing cells.
    single : ndarray of bool, shape (nodes,)
        The node holds one code that was told apart, and not what was left over.
    """

    attribute: Attribute
    values: Bools
    single: Bools

    @classmethod
    def of(cls, tree: Grown, place: int) -> Self:
        """Follow the tree's splits of an attribute from the root down."""
        attribute = tree.attributes[place]
        values = np.ones((len(tree), len(attribute.values) + 1), dtype=np.bool_)
        single = np.zeros(len(tree), dtype=np.bool_)
        code = np.where(tree.split == place, tree.at, -1).astype(np.int64)
        for level in tree.levels[1:]:
            over = tree.parent[level]
            one = np.arange(values.shape[1]) == code[over, np.newaxis]
            right, split = tree.right[over] == level, code[over] >= 0
            values[level] = values[over] & ((one == right[:, np.newaxis]) | ~split[:, np.newaxis])
            single[level] = single[over] | (right & split)
        return cls(attribute, values, single)

    def loss(self) -> Floats:
        """Return the NCP of each node, 1 where it leaves the attribute free."""
        lost = group_loss(self.values[:, :-1].sum(axis=1), len(self.attribute.values))
        return np.where(self.values.all(axis=1), float(not trivial(self.attribute)), lost)

    def raised(self, tree: Grown, node: int, child: int, cells: Nodes) -> Floats:
        """Return the NCP of some cells below a child of a node when the node's split of the attribute is gone."""
        values = self.values[cells]
        if child == tree.left[node]:
            values[~self.single[cells], int(tree.at[node])] = True
        else:
            values[:] = self.values[node]
        return type(self)(self.attribute, values, self.single[cells]).loss()

    def admitted(self, nodes: Nodes, partition: Partition) -> Bools:
        """Return the parts of a partition that some nodes hold, shape (nodes, parts); its groups are whole in them."""
        groups = np.asarray(partition.groups)
        first = np.unique(groups, return_index=True)[1]
        return np.asarray(self.values[nodes][:, first])

    def partition(self, inner: Nodes, tree: Grown) -> Partition:
        """Return the partition of the values that some splits of the attribute tell apart, and of all others."""
        apart = np.unique(tree.at[inner]).astype(np.int64)
        groups = np.zeros(self.values.shape[1], dtype=np.int64)
        groups[apart] = np.arange(1, len(apart) + 1)
        numbers = np.unique(groups, return_inverse=True)[1]  # none is skipped where every value stands apart
        return Partition(self.attribute, groups=tuple(int(number) for number in numbers))


def boxes(tree: Grown) -> list[Intervals | Sets]:
    """Return what each node holds, one per attribute."""
    return [
        Sets.of(tree, place) if each.kind == "nominal" else Intervals.of(tree, place)
        for place, each in enumerate(tree.attributes)
    ]
