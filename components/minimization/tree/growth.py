"""A decision tree over some attributes, as arrays over its nodes.

Numbers and ordered values are given to the tree as ranks, since its 32-bit floats hold neither dates nor large
numbers; other values as one indicator each, missing cells among them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.tree import DecisionTreeRegressor

from components.minimization.attributes import Attribute
from components.minimization.partitions import Floats
from components.minimization.tree.ranks import Nodes, Ranks

NONE = -1
"""No child, or no split."""


@dataclass(frozen=True, slots=True)
class Grown:
    """A tree. Nodes are numbered from the root, 0, so that all below a node follow it without a gap.

    Parameters
    ----------
    attributes : tuple of Attribute
    left, right : ndarray of int64, shape (nodes,)
        Children, `NONE` for a leaf. Codes up to the cut go left, and so does all but the value of a nominal split.
    split : ndarray of int64, shape (nodes,)
        Place of the attribute that a node splits on; `NONE` for a leaf.
    at : ndarray of float64, shape (nodes,)
        The cut, or the nominal code that goes right.
    rank : ndarray of float64, shape (nodes,)
        The same among ranks (see `Ranks.values`).
    """

    attributes: tuple[Attribute, ...]
    left: Nodes
    right: Nodes
    split: Nodes
    at: Floats
    rank: Floats
    parent: Nodes
    stop: Nodes
    levels: tuple[Nodes, ...]

    @classmethod
    def of(cls, attributes: tuple[Attribute, ...], children: tuple[Nodes, Nodes], split: Nodes, cuts: Floats) -> Self:
        """Return a tree with what follows from its children.

        Parameters
        ----------
        attributes : tuple of Attribute
        children : (left, right)
        split : ndarray of int64, shape (nodes,)
        cuts : ndarray of float64, shape (2, nodes)
            `at` and `rank`.

        Returns
        -------
        Grown
            With ``parent`` (the root has itself), ``stop`` (the first node that is not below a node) and ``levels``
            (the nodes of each depth).
        """
        left, right = children
        parent, stop = np.zeros(len(left), dtype=np.int64), np.arange(1, len(left) + 1)
        inner = np.flatnonzero(left != NONE)
        parent[left[inner]] = parent[right[inner]] = inner
        levels = [np.zeros(1, dtype=np.int64)]
        while (splitting := levels[-1][left[levels[-1]] != NONE]).size:
            levels.append(np.sort(np.concatenate((left[splitting], right[splitting]))))
        for level in reversed(levels):
            splitting = level[left[level] != NONE]
            stop[splitting] = stop[right[splitting]]
        return cls(attributes, left, right, split, cuts[0], cuts[1], parent, stop, tuple(levels))

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.left)

    def summed(self, own: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return for each node the sum of what stands at itself and all below it, shape (nodes, ...)."""
        running = np.concatenate((np.zeros_like(own[:1]), np.cumsum(own, axis=0)))
        return np.asarray(running[self.stop] - running[:-1])

    def above(self, nodes: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Tell the nodes that have one of `nodes` above them."""
        found = np.zeros(len(self), dtype=np.bool_)
        for level in self.levels[1:]:
            over = self.parent[level]
            found[level] = nodes[over] | found[over]
        return found

    def below(self, ranks: npt.NDArray[np.float32], node: Nodes) -> Nodes:
        """Return the child that each row goes to; `node` holds no leaf."""
        nominal = np.array([each.kind == "nominal" for each in self.attributes])
        place = self.split[node]
        rank = ranks[np.arange(len(node)), place]
        right = np.where(nominal[place], rank == self.rank[node], rank > self.rank[node])
        return np.where(right, self.right[node], self.left[node])

    def fall(self, ranks: npt.NDArray[np.float32], start: Nodes, ends: npt.NDArray[np.bool_]) -> Nodes:
        """Return the first of the nodes told by `ends` that each row meets on its way down from `start`."""
        node = start.copy()
        falling = np.flatnonzero(~ends[node])
        while falling.size:
            node[falling] = self.below(ranks[falling], node[falling])
            falling = falling[~ends[node[falling]]]
        return node


def grow(
    ranks: Ranks, targets: npt.NDArray[np.float64], min_rows: int, max_depth: int | None, seed: int
) -> tuple[Grown, Nodes]:
    """Grow a tree (CART, Breiman et al. 1984) that learns `targets`, and return it with the leaf of each row.

    It is grown twice: free cuts first, which tell where cutting helps; then on cuts that are round and leave enough
    rows between any two of them (see `Ranks.settled`), whichever branches they are in.

    Parameters
    ----------
    ranks : Ranks
        In an order that follows from what the rows are, so that sums, and with them the tree, do too.
    targets : ndarray, shape (rows, outputs)
    min_rows : int
        Least rows in a leaf, and between two cuts of an attribute.
    max_depth : int or None
    seed : int
        Decides between features that split equally well.
    """

    def fitted(places: Sequence[Nodes]) -> tuple[DecisionTreeRegressor | None, list[tuple[int, float | None]], Nodes]:
        features, origins = ranks.features(places)
        if not origins or len(targets) < 2 * min_rows:
            return None, origins, np.zeros(len(targets), dtype=np.int64)
        cart = DecisionTreeRegressor(min_samples_leaf=min_rows, max_depth=max_depth, random_state=seed)
        cart.fit(features, targets)
        return cart, origins, cart.apply(features).astype(np.int64)

    places = ranks.places(min_rows)
    cuts = [place.astype(np.float64) for place in places]
    cart, origins, leaves = fitted(places)
    if cart is not None:
        for place, wanted in _wanted(cart.tree_, origins).items():
            cuts[place] = ranks.settled(place, wanted, min_rows)
            places[place] = np.searchsorted(ranks.distinct[place], cuts[place], side="right") - 1
        cart, origins, leaves = fitted(places)
    if cart is None:
        none, nan = np.full(1, NONE), np.full((2, 1), np.nan)
        return Grown.of(ranks.attributes, (none, none), none, nan), leaves
    return _read(ranks, cart.tree_, origins, places, cuts), leaves


def _wanted(cart: Any, origins: Sequence[tuple[int, float | None]]) -> dict[int, list[int]]:
    """Return for each attribute that has ranks those after which a tree cuts, what lessens impurity most first."""
    inner = np.flatnonzero(cart.children_left != NONE)
    impurity = cart.impurity * cart.weighted_n_node_samples
    gain = impurity[inner] - impurity[cart.children_left[inner]] - impurity[cart.children_right[inner]]
    found = {}
    for feature, (place, code) in enumerate(origins):
        if code is None:
            mine = cart.feature[inner] == feature
            gains = np.bincount(cart.threshold[inner][mine].astype(np.int64), weights=gain[mine])
            order = np.argsort(-np.round(gains, 9), kind="stable")
            found[place] = [int(rank) for rank in order if gains[rank] > 0]
    return found


def _read(
    ranks: Ranks,
    cart: Any,
    origins: Sequence[tuple[int, float | None]],
    places: Sequence[Nodes],
    cuts: Sequence[Floats],
) -> Grown:
    children = cart.children_left.astype(np.int64), cart.children_right.astype(np.int64)
    split, at = np.full(len(children[0]), NONE), np.full((2, len(children[0])), np.nan)
    for node in np.flatnonzero(children[0] != NONE):
        split[node], code = origins[cart.feature[node]]
        lower = int(cart.threshold[node])
        at[:, node] = (cuts[split[node]][lower], places[split[node]][lower]) if code is None else code
    return Grown.of(ranks.attributes, children, split, at)
