"""The order in which nodes become cells: weakest link first (Breiman et al. 1984, section 3.3), by two statistics."""

from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np
import numpy.typing as npt

from components.minimization.partitions import Floats
from components.minimization.tree.growth import NONE
from components.minimization.tree.ranks import Nodes
from components.minimization.tree.standing import Standing


@dataclass(frozen=True, slots=True)
class Path:
    """Ever coarser prunings of one tree, from all its leaves to the root alone.

    Parameters
    ----------
    standing : Standing
    nodes : ndarray of int64, shape (steps,)
        The node that each step makes a cell.
    errors, privacy : ndarray of float64, shape (steps + 1,)
        Before the first step and after each, as means over the fit rows.
    """

    standing: Standing
    nodes: Nodes
    errors: Floats
    privacy: Floats

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self.nodes)

    def cells(self, steps: int) -> npt.NDArray[np.bool_]:
        """Tell the nodes that are cells after some steps, shape (nodes,)."""
        return cells(self.standing, self.nodes[:steps])

    def within(self, allowance: float) -> int:
        """Return the most steps that keep the errors below an allowance, 0 where none does."""
        fits = np.flatnonzero(self.errors <= allowance)
        return int(fits[-1]) if fits.size else 0


def cells(standing: Standing, pruned: Nodes) -> npt.NDArray[np.bool_]:
    """Tell the cells when some nodes are pruned: these and the leaves, but for those below others of them."""
    tree = standing.tree
    ends = tree.left == NONE
    ends[pruned] = True
    return np.asarray(ends & ~tree.above(ends))


def unpruned(standing: Standing) -> Path:
    """Return the path of no steps; nothing is asked of inner nodes."""
    leaf = standing.tree.left == NONE
    sums = [np.array([figure[leaf].sum() / len(standing.sample)]) for figure in (standing.errors, standing.privacy)]
    return Path(standing, np.zeros(0, dtype=np.int64), sums[0], sums[1])


def weakest_links(standing: Standing) -> Path:
    """Return the prunings by ascending agreement lost per privacy gained.

    No statistic is computed anew: what a pruned node costs and saves is added to the sums of those above it.
    """
    tree, errors, privacy = standing.tree, standing.errors.tolist(), standing.privacy.tolist()
    parent, stop = tree.parent.tolist(), tree.stop.tolist()
    leaf = tree.left == NONE
    error_below = tree.summed(np.where(leaf, standing.errors, 0.0)).tolist()
    privacy_below = tree.summed(np.where(leaf, standing.privacy, 0.0)).tolist()
    gone = leaf.tolist()

    def link(node: int) -> tuple[float, int]:
        """Return how weak a node's link is, and the node; one that loses nothing, or gains nothing, at either end."""
        lost, gained = errors[node] - error_below[node], privacy[node] - privacy_below[node]
        if gained <= 1e-9:
            return (-np.inf if lost <= 0 else np.inf), node
        return lost / gained, node

    links = [link(int(node)) for node in np.flatnonzero(~leaf)]
    heapify(links)
    order: list[int] = []
    sums = [(error_below[0], privacy_below[0])]
    while links:
        weakest = heappop(links)
        node = weakest[1]
        if gone[node] or weakest != link(node):  # it was pruned with one above, or has changed since
            continue
        order.append(node)
        gone[node : stop[node]] = [True] * (stop[node] - node)
        lost, gained = errors[node] - error_below[node], privacy[node] - privacy_below[node]
        while True:
            error_below[node] += lost
            privacy_below[node] += gained
            if not gone[node]:
                heappush(links, link(node))
            if node == 0:
                break
            node = parent[node]
        sums.append((error_below[0], privacy_below[0]))
    means = np.array(sums) / len(standing.sample)
    return Path(standing, np.array(order, dtype=np.int64), means[:, 0], means[:, 1])
