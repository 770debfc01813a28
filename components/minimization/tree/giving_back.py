"""Attributes that stay exact because the target does not hold otherwise."""

from math import ceil

import numpy as np

from components.minimization.attributes import Attribute
from components.minimization.tree.standing import Standing, shares

LOOKED_AT = 4_000
"""Most rows that choose, evenly from all in canonical order: they are asked once per attribute at each turn."""


def given_back(standing: Standing, allowance: float) -> list[Attribute]:
    """Choose attributes to leave exact: at each turn that which costs least privacy per error saved.

    Parameters
    ----------
    standing : Standing
        Only leaves are looked at: no pruning comes nearer to the model.
    allowance : float
        Mean error on fit rows that is to be reached in the end. A quarter of the way to it is gone at a time: grown
        without the attributes given back, the next tree comes nearer by itself.

    Returns
    -------
    list of Attribute
        At least one, in the order of choice.
    """
    sample = standing.sample
    rows = np.arange(0, len(sample), ceil(len(sample) / LOOKED_AT))
    values, own = standing.values[standing.leaves[rows]], sample.own()[rows]
    costs = (standing.losses[standing.leaves[rows]] * shares(sample)).mean(axis=0)
    chosen: list[Attribute] = []
    left = list(range(len(sample.attributes)))
    error = float(sample.errors(rows, values).mean())
    goal = error - max(error - allowance, 0.0) / 4
    while left and (error > goal or not chosen):
        errors = []
        for place in left:
            mixed = values.copy()
            mixed[:, place] = own[:, place]
            errors.append(float(sample.errors(rows, mixed).mean()))
        saved = error - np.array(errors)
        price = np.where(saved > 1e-9, costs[left] / np.maximum(saved, 1e-9), np.inf)
        best = int(np.lexsort((costs[left], price))[0])
        error, place = errors[best], left.pop(best)
        values[:, place] = own[:, place]
        chosen.append(sample.attributes[place])
    return chosen
