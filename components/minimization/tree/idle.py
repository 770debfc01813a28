"""Attributes that nothing need be asked of: what is usual stands for all their values, and no answer changes."""

from math import ceil

import numpy as np

from components.minimization.attributes import Attribute
from components.minimization.tree.sample import Sample

LOOKED_AT = 1_000
"""Rows that are looked at first, evenly from all in canonical order."""

LEAST = 1e-9
"""Mean error that counts as none: sums of floats may differ in their last digits."""


def idle(sample: Sample) -> list[Attribute]:
    """Find attributes that the model does without, all of them together; those that weigh most are looked at first.

    A sample of the rows rules most attributes out, and all rows decide. A tree alone doesn't see it: it may split on a
    column that the model never looks at, where that goes along with one that it does.
    """
    found: list[Attribute] = []
    weight, steps = sample.problem.weight, sorted({max(ceil(len(sample) / LOOKED_AT), 1), 1}, reverse=True)
    for place in sorted(range(len(sample.attributes)), key=lambda place: -weight(sample.attributes[place].name)):
        tried = [*found, sample.attributes[place]]
        if all(_unneeded(sample, tried, step) for step in steps):
            found = tried
    return [each for each in sample.attributes if each in found]


def _unneeded(sample: Sample, attributes: list[Attribute], step: int) -> bool:
    rows = np.arange(0, len(sample), step)
    values = sample.own()[rows]
    for place, attribute in enumerate(sample.attributes):
        if attribute in attributes:
            values[:, place] = sample.defaults[attribute.name]
    return not len(rows) or float(sample.errors(rows, values).mean()) <= LEAST
