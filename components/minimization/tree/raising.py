"""Raising a child to its parent's place (Quinlan 1993, section 4.2): a split goes, what is below it stays.

Pruning alone can't do without a split near the root that most of the rows below don't need. A raised child drops it
for all of them; the rows of its sibling fall down through it.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from components.minimization.partitions import Floats
from components.minimization.tree.growth import NONE, Grown
from components.minimization.tree.pruning import Path, weakest_links
from components.minimization.tree.ranks import Nodes
from components.minimization.tree.standing import Standing, shares

ROUNDS = 8
LEAST_GAIN = 1e-4
"""Of the mean NCP: what gains less is not worth asking the model about."""


@dataclass(frozen=True, slots=True)
class Offers:
    """Nodes whose larger child may take their place.

    Parameters
    ----------
    nodes : ndarray of int64, shape (offers,)
    kept : ndarray of int64, shape (offers,)
        The child that would be raised.
    lost, gained : ndarray of float64, shape (offers,)
        Errors and privacy, as means over the fit rows.
    """

    nodes: Nodes
    kept: Nodes
    lost: Floats
    gained: Floats


def raised(path: Path, allowance: float) -> list[Path]:
    """Return the path given and those of its tree with children raised, each better than the one before.

    A path is as good as the privacy that it reaches within the allowance. Its next step goes beyond that: in each
    round children are raised with what is left, those first that lose least agreement per privacy gained.

    Parameters
    ----------
    path : Path
    allowance : float
        Mean error on fit rows that the raising may end with.
    """
    found = [path]
    for _ in range(ROUNDS):
        steps = found[-1].within(allowance)
        room = allowance - found[-1].errors[steps]
        if room < 0 or steps == len(found[-1]):
            break
        offers = _offers(found[-1], steps)
        chosen = _chosen(found[-1].standing.tree, offers, room)
        if not chosen.size:
            break
        better = weakest_links(_applied(found[-1].standing, offers.nodes[chosen], offers.kept[chosen]))
        if better.privacy[better.within(allowance)] <= found[-1].privacy[steps] + LEAST_GAIN:
            break
        found.append(better)
    return found


def _offers(path: Path, steps: int) -> Offers:
    """Look at all splits of the tree as it is pruned after some steps."""
    standing = path.standing
    tree, sample, cell = standing.tree, standing.sample, path.cells(steps)
    inner = np.flatnonzero(~cell & ~tree.above(cell))
    inner = inner[standing.rows[inner] * shares(sample)[tree.split[inner]] >= LEAST_GAIN * len(sample)]
    kept = _larger(standing, inner)
    dropped = tree.left[inner] + tree.right[inner] - kept
    below = standing.errors * cell, standing.privacy * cell
    errors_below, privacy_below = (tree.summed(each) for each in below)
    rows, offer = _rows_below(standing, dropped)
    to = tree.fall(sample.ranks.values[rows], kept[offer], cell)
    gained = np.array(
        [
            _privacy(standing, node, child, np.flatnonzero(cell[child : tree.stop[child]]) + child, to[offer == number])
            for number, (node, child) in enumerate(zip(inner.tolist(), kept.tolist(), strict=True))
        ]
    ).reshape(len(inner))
    gained = (gained - privacy_below[inner]) / len(sample)
    worth = gained >= LEAST_GAIN
    asked = worth[offer]
    errors = np.zeros(len(rows))
    errors[asked] = sample.errors(rows[asked], standing.values[to[asked]])
    lost = np.bincount(offer, weights=errors, minlength=len(inner)) - errors_below[dropped]
    return Offers(inner[worth], kept[worth], lost[worth] / len(sample), gained[worth])


def _privacy(standing: Standing, node: int, kept: int, cells: Nodes, fallen: Nodes) -> float:
    """Return the privacy of a node's cells with a child in its place, added up over rows."""
    place = int(standing.tree.split[node])
    before, now = standing.losses[cells], standing.held[place].raised(standing.tree, node, kept, cells)
    weights = shares(standing.sample)
    rows = standing.rows[cells] + np.bincount(np.searchsorted(cells, fallen), minlength=len(cells))
    return float(rows @ (before @ weights + (now - before[:, place]) * weights[place]))


def _chosen(tree: Grown, offers: Offers, room: float) -> npt.NDArray[np.int64]:
    """Return the places of the offers to take while there is room: the cheapest first, none of them below another."""
    taken = np.zeros(len(tree), dtype=np.bool_)
    chosen = []
    for place in np.lexsort((offers.nodes, offers.lost / offers.gained)):
        node = offers.nodes[place]
        above = taken[: node + 1] & (tree.stop[: node + 1] > node)
        if offers.lost[place] > room or above.any() or taken[node : tree.stop[node]].any():
            continue
        taken[node] = True
        room -= max(float(offers.lost[place]), 0.0)
        chosen.append(place)
    return np.array(chosen, dtype=np.int64)


def _applied(standing: Standing, nodes: Nodes, kept: Nodes) -> Standing:
    """Return the statistics of the tree in which some children have taken their parents' places.

    Nothing changes for nodes above. In a raised child and below, the errors of the rows that fall through it are
    added.
    """
    tree, sample = standing.tree, standing.sample
    smaller = tree.left[nodes] + tree.right[nodes] - kept
    rows, offer = _rows_below(standing, smaller)
    stays = np.ones(len(tree), dtype=np.bool_)
    stays[nodes] = False
    for node in smaller:
        stays[node : tree.stop[node]] = False
    number = np.cumsum(stays) - 1
    number[nodes] = number[kept]
    children = [np.where(each == NONE, NONE, number[each])[stays] for each in (tree.left, tree.right)]
    cuts = np.stack((tree.at, tree.rank))[:, stays]
    shorter = Grown.of(tree.attributes, (children[0], children[1]), tree.split[stays], cuts)
    leaves, values, errors = number[standing.leaves], standing.values[stays], standing.errors[stays]
    node = number[kept[offer]]
    met_rows, met_nodes = [rows], [node]
    while True:
        further = shorter.left[node] != NONE
        leaves[rows[~further]] = node[~further]
        rows, node = rows[further], node[further]
        if not rows.size:
            break
        node = shorter.below(sample.ranks.values[rows], node)
        met_rows.append(rows)
        met_nodes.append(node)
    met = np.concatenate(met_nodes)
    added = sample.errors(np.concatenate(met_rows), values[met])
    errors = errors + np.bincount(met, weights=added, minlength=len(shorter))
    return Standing.of(sample, shorter, leaves, values, errors)


def _larger(standing: Standing, nodes: Nodes) -> Nodes:
    left, right = standing.tree.left[nodes], standing.tree.right[nodes]
    return np.where(standing.rows[left] >= standing.rows[right], left, right)


def _rows_below(standing: Standing, nodes: Nodes) -> tuple[Nodes, Nodes]:
    """Return the rows below each of some nodes, one after the other, and the place of the node each is below."""
    order = np.argsort(standing.leaves, kind="stable")
    leaves = standing.leaves[order]
    starts, stops = np.searchsorted(leaves, nodes), np.searchsorted(leaves, standing.tree.stop[nodes])
    place = np.repeat(np.arange(len(nodes)), stops - starts)
    within = np.arange(len(place)) - np.repeat(np.cumsum(stops - starts) - (stops - starts), stops - starts)
    return order[starts[place] + within], place
