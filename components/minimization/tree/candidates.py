"""Values of the domain that may stand for a node: the rounded middle of what it holds, and what is usual there.

What is usual is told by steps of a grid over the domain, not by a cell of a row.
"""

from itertools import pairwise
from math import ceil, floor

import numpy as np

from components.minimization.attributes import BELOW, Attribute, Codes
from components.minimization.domains import DAY
from components.minimization.partitions import Floats, Partition, middle, roundest
from components.minimization.tree.boxes import Intervals, Sets
from components.minimization.tree.ranks import Nodes
from schemas.dataset import TEMPORAL

STEPS = 64
"""Steps of the grid, at least half as many."""


def grid(attribute: Attribute) -> Floats:
    """Return codes spread over a domain, ascending: its bounds, and round numbers between; ordered values all."""
    if attribute.kind == "ordered":
        return np.arange(len(attribute.values), dtype=np.float64)
    low, high = attribute.low, attribute.high
    if not low < high:
        return np.array([low])
    if attribute.dtype in TEMPORAL:
        step = ceil((high - low) / STEPS / DAY) * DAY
    else:
        step = roundest((high - low) / STEPS, 2 * (high - low) / STEPS)
        step = max(1.0, floor(step)) if attribute.whole else step
    inner = np.arange(floor(low / step) + 1, ceil(high / step)) * step
    return np.unique(np.concatenate(([low], inner[(inner > low) & (inner < high)], [high])))


def middles(held: Intervals, nodes: Nodes) -> Floats:
    """Return the rounded middle of what some nodes hold of an attribute, shape (nodes,)."""
    starts, ends = held.bounds()
    pairs = np.stack((held.first[nodes], held.last[nodes]))
    _, first, where = np.unique(pairs, axis=1, return_index=True, return_inverse=True)
    found = [middle(held.attribute, starts[node], ends[node]) for node in nodes[first].tolist()]
    return np.array(found)[where]


def offers(held: Intervals | Sets, nodes: Nodes, place: Nodes, codes: Codes) -> tuple[Floats, Floats]:
    """Return for some nodes the rounded middle of what they hold of an attribute, and what is usual among their rows.

    Parameters
    ----------
    held : Intervals or Sets
    nodes : ndarray of int64, shape (nodes,)
    place : ndarray of int64, shape (rows,)
        Place of each row's node among them.
    codes : ndarray, shape (rows,)

    Returns
    -------
    middle, usual : ndarray of float64, shape (nodes,)
        Of a nominal attribute both are `usual`; so are both the middle where what is usual is not in the node.
    """
    found = usual(held.attribute, counted(held.attribute, place, codes, len(nodes)))
    if isinstance(held, Sets):
        return found, found
    middle_values = middles(held, nodes)
    return middle_values, np.where(held.holds(nodes, found), found, middle_values)


def usual(attribute: Attribute, counts: Nodes) -> Floats:
    """Return the grid's code nearest the median of each of some sets of rows; of a nominal attribute the most frequent.

    Parameters
    ----------
    attribute : Attribute
    counts : ndarray of int64, shape (sets, places)
        See `counted`.
    """
    if attribute.kind == "nominal":
        return np.asarray(counts.argmax(axis=1), dtype=np.float64)
    running = counts.cumsum(axis=1)
    return np.asarray(grid(attribute)[(2 * running >= running[:, -1:]).argmax(axis=1)])


def counted(attribute: Attribute, sets: Nodes, codes: Codes, size: int) -> Nodes:
    """Return how many rows of each of `size` sets are nearest each place of the grid, missing cells left out.

    Of a nominal attribute the places are its codes, that of missing cells among them.
    """
    if attribute.kind == "nominal":
        places, places_there = codes, len(attribute.values) + 1
    else:
        steps = grid(attribute)
        there = codes != BELOW
        sets, places = sets[there], np.searchsorted((steps[1:] + steps[:-1]) / 2, codes[there])
        places_there = len(steps)
    return np.bincount(sets * places_there + places, minlength=size * places_there).reshape(size, places_there)


def standing_for(partition: Partition, codes: Codes) -> Floats:
    """Return what stands for each part of an attribute by itself: what is usual among its rows, else its middle.

    Where all rows hold one and the same value, that is usual: it tells of nobody.

    Parameters
    ----------
    partition : Partition
    codes : ndarray, shape (rows,)

    Returns
    -------
    ndarray of float64, shape (parts,)
        Missing cells stand for a part only where it holds no value.
    """
    attribute = partition.attribute
    counts = counted(attribute, partition.parts(codes), codes, partition.size)
    if attribute.kind == "nominal":
        mine = np.asarray(partition.groups) == np.arange(partition.size)[:, np.newaxis]
        mine[:, -1] &= ~mine[:, :-1].any(axis=1)
        return usual(attribute, np.where(mine, counts, -1))
    if partition.size == 1 and len(codes) and codes[0] != BELOW and (codes == codes[0]).all():
        return np.array([codes[0]], dtype=np.float64)
    found = usual(attribute, counts)
    fits = partition.parts(found) == np.arange(partition.size)
    ends = pairwise((BELOW, *partition.cuts, np.inf))
    middle_values = [
        value if fit else middle(attribute, *end) for value, fit, end in zip(found, fits, ends, strict=True)
    ]
    return np.array(middle_values)
