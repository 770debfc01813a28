"""Which rows each step of a client takes."""

from dataclasses import dataclass
from math import ceil, log1p, sqrt

import numpy as np
import numpy.typing as npt

from components.dp.noise import Noise
from components.federation.work import LocalTraining, Work

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Batches:
    """The batches of one client in one round.

    Parameters
    ----------
    rows : ndarray of int64, shape (steps, widest)
        Positions; those of a step stand first, the others are -1.
    counts : ndarray of int64, shape (steps,)
        Rows of each step.
    """

    rows: Integers
    counts: Integers


def steps_of(rows: int, options: LocalTraining) -> int:
    """Return how many steps a client of so many rows takes, with or without record-level privacy."""
    return options.epochs * ceil(rows / options.batch_size)


def rate_of(rows: int, options: LocalTraining) -> float:
    """Return the share of its rows that a step of a client with record-level privacy expects."""
    return min(options.batch_size / rows, 1.0)


def batches_of(work: Work, options: LocalTraining) -> Batches:
    """Return a client's batches: Poisson ones with record-level privacy, else its rows in a new order every epoch."""
    rows = len(work.targets)
    steps = steps_of(rows, options)
    if steps == 0:
        return Batches(np.zeros((0, 0), dtype=np.int64), np.zeros(0, dtype=np.int64))
    if work.privacy is not None:
        return poisson(work.privacy.noise, rows, rate_of(rows, options), steps)
    return shuffled(work.seed, rows, options)


def shuffled(seed: int, rows: int, options: LocalTraining) -> Batches:
    """Return batches without replacement; the last one of an epoch is as small as it comes.

    They follow from the seed alone, whatever other clients there are.
    """
    random = np.random.default_rng(seed)
    size = min(options.batch_size, rows)
    each = ceil(rows / size)
    order = np.full((options.epochs, each * size), -1, dtype=np.int64)
    for epoch in range(options.epochs):
        order[epoch, :rows] = random.permutation(rows)
    taken = order.reshape(options.epochs * each, size)
    return Batches(taken, np.count_nonzero(taken >= 0, axis=1))


def poisson(noise: Noise, rows: int, rate: float, steps: int) -> Batches:
    """Return batches that take each row with probability `rate`, independently of all else.

    Rows of all steps stand in one line, and the gap to the next one taken is geometric: floor(log(1 - u) / log(1 -
    rate)) of a u that is uniform in [0, 1) (Devroye, Non-Uniform Random Variate Generation, 1986, X.2). So what is
    drawn grows with what is taken, and not with rows times steps.
    """
    line = rows * steps
    if rate >= 1:
        taken = np.arange(line)
    else:
        at, parts = -1, []
        while at < line:
            left = (line - at) * rate
            spread = np.log1p(-noise.uniform((int(left + 5 * sqrt(left)) + 8,))) / log1p(-rate)
            parts.append(at + np.cumsum(np.minimum(spread, line).astype(np.int64) + 1))
            at = int(parts[-1][-1])
        taken = np.concatenate(parts)
        taken = taken[taken < line]
    counts = np.bincount(taken // rows, minlength=steps)
    placed = np.full((steps, int(counts.max())), -1, dtype=np.int64)
    placed[np.arange(placed.shape[1]) < counts[:, None]] = taken % rows
    return Batches(placed, counts)
