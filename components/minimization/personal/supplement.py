"""Made-up rows for small nodes: what is known of their own rows, and the rest as other rows have it.

A model can be asked about any row. Where a node is left with too few rows to tell what its answers hang on, rows are
made up that are like its own in all that was asked. They say what to ask next, and how likely an end is to be wrong;
whether its answer may stand is left to calibration rows. They count as nobody where a branch has to hold enough rows,
since they repeat what single persons' rows say.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from components.minimization.personal.evidence import Integers
from components.minimization.personal.growing import Growth, Material
from components.minimization.personal.questions import NONE
from components.minimization.problem import Problem, Rows, replaced
from components.randomness import stream

ROWS = 1_000
"""Most rows made up for a node."""

ALL = 100_000
"""Most rows made up for all nodes together: the model has to answer them."""


class Pairs(NamedTuple):
    """Made-up rows: the node that each is for, the row it takes what is known from, and the one it takes the rest from.

    All are arrays of int of shape (rows,).
    """

    node: Integers
    known: Integers
    rest: Integers


def supplemented(growth: Growth, material: Material, problem: Problem, fit: Rows, starts: Integers) -> Material:
    """Make rows up for some ends of a tree, and return the material with them; the ends get them in place.

    Parameters
    ----------
    growth : Growth
        Grown on the fit rows.
    material : Material
        Of the fit rows.
    problem : Problem
    fit : Rows
    starts : ndarray of int, shape (ends,)
        Numbers of ends.
    """
    if not len(starts):
        return material
    pairs = _pairs(growth, starts, problem.seed)
    asked = np.array(growth.known)[pairs.node]
    codes = {
        each.name: np.where(asked[:, place], fit.codes[each.name][pairs.known], fit.codes[each.name][pairs.rest])
        for place, each in enumerate(problem.attributes)
    }
    answers = problem.ask(replaced(fit.frame.iloc[pairs.known], problem.attributes, codes))
    bins = np.where(asked, material.bins[pairs.known], material.bins[pairs.rest])
    for start in starts:
        made = len(fit) + np.flatnonzero(pairs.node == start)
        growth.rows[start] = np.concatenate([growth.rows[start], made])
    evidence = material.evidence.extended(answers)
    return replace(material, bins=np.concatenate([material.bins, bins]), evidence=evidence)


def _pairs(growth: Growth, starts: Integers, seed: int) -> Pairs:
    """Pair rows of each end with rows of the nearest node above it that has enough of them."""
    draws = stream(seed, "minimization-supplement")
    count = max(min(ROWS, ALL // len(starts)), 1)
    found = []
    for start in starts:
        above = start
        while len(growth.rows[above]) < count and growth.parents[above] != NONE:
            above = growth.parents[above]
        rest = draws.permutation(growth.rows[above])[:count]
        found.append(Pairs(np.full(len(rest), start), draws.choice(growth.rows[start], len(rest)), rest))
    return Pairs(*(np.concatenate(each) for each in zip(*found, strict=True)))
