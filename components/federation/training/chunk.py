"""Training of a few clients side by side: one step of each at a time, until each has taken its own number of them."""

from collections.abc import Iterator
from math import isfinite

import numpy as np

from components.federation.layout import Weights
from components.federation.training.batches import Batches, Integers, batches_of, rate_of
from components.federation.training.optimisers import optimiser
from components.federation.training.passes import Batch, Maker, Pass
from components.federation.training.reals import Precision, Reals
from components.federation.work import Done, LocalTraining, Work

AHEAD = 16384
"""Numbers of noise that are drawn for a client at once, where one step takes fewer."""


def train_chunk(
    start: Weights, works: list[Work], options: LocalTraining, make: Maker, precision: Precision = np.float64
) -> list[Done]:
    """Train clients side by side.

    Parameters
    ----------
    start : ndarray of float64, shape (size,)
    works : list of Work
        All with record-level privacy or all without; those that take the most steps stand first.
    options : LocalTraining
    make : callable
        Gives the gradients of the clients whose weights it takes.
    precision : type
        Of weights and gradients.

    Returns
    -------
    list of Done
        In the order of `works`.
    """
    stack = Stack(works, options)
    first: Reals = start.astype(precision)
    weights = np.tile(first, (len(works), 1))
    gradient = np.empty_like(weights)
    correction = _corrections(works, first)
    private = Private(works, stack, options, first) if works[0].privacy is not None else None
    step = optimiser(options, (len(works), start.size), precision)
    total = np.zeros(len(works))
    with np.errstate(all="ignore"):  # a client that runs away is told by what it came to
        for active, steps in stack.spans():
            moved, slope = weights[:active], gradient[:active]
            passing = make(moved, slope)
            for at in steps:
                batch = stack.batch(at, active)
                losses = passing.mean(batch) if private is None else private.gradient(passing, batch, slope, at)
                total[:active] += np.where(batch.present, losses, 0).sum(axis=1)
                if options.weight_decay:
                    slope += options.weight_decay * moved
                if options.proximal:
                    slope += options.proximal * (moved - first)
                if correction is not None:
                    slope += correction[:active]
                step(moved, slope)
        updates = weights.astype(np.float64) - first
        means = total / stack.counts.sum(axis=0)
    return [
        Done(update, int(taken), float(mean), finite=_finite(work, update, float(mean), int(taken)))
        for work, update, taken, mean in zip(works, updates, stack.steps, means, strict=True)
    ]


def _finite(work: Work, update: Weights, loss: float, steps: int) -> bool:
    """Tell whether all went well; with record-level privacy from the update alone, which is all that may be told."""
    well = bool(np.isfinite(update).all())
    return well and (work.privacy is not None or steps == 0 or isfinite(loss))


class Stack:
    """Rows of several clients in one table, and which of them each step takes.

    Parameters
    ----------
    works : list of Work
        Those that take the most steps first.
    options : LocalTraining
    """

    def __init__(self, works: list[Work], options: LocalTraining) -> None:
        batches = [batches_of(work, options) for work in works]
        self.steps = np.array([len(each.counts) for each in batches])
        rows = [len(work.targets) for work in works]
        self.table = np.ones((sum(rows) + 1, works[0].features.shape[1] + 1), dtype=np.float32)
        np.concatenate([work.features for work in works], out=self.table[:-1, :-1])
        self.table[-1] = 0
        self.targets = np.concatenate([*(work.targets for work in works), np.zeros(1, works[0].targets.dtype)])
        firsts = np.cumsum([0, *rows[:-1]])
        self.counts, self.rows = _side_by_side(batches, firsts, len(self.targets) - 1)
        self.places = np.arange(self.rows.shape[2])

    def spans(self) -> Iterator[tuple[int, range]]:
        """Yield how many clients are still active, from the first on, and through which steps."""
        first = 0
        for last in np.unique(self.steps[self.steps > 0]):
            yield int(np.count_nonzero(self.steps > first)), range(first, last)
            first = last

    def batch(self, step: int, active: int) -> Batch:
        """Return the batches of one step."""
        counts = self.counts[step, :active]
        width = int(counts.max())
        rows = self.rows[step, :active, :width]
        features = np.take(self.table, rows, axis=0, mode="clip")  # all lie in the table: checking that takes longer
        targets = np.take(self.targets, rows, mode="clip")
        return Batch(features, targets, counts, self.places[:width] < counts[:, None])


class Private:
    """Gradients of clients with record-level privacy: clipped sums with noise, over the expected batch.

    Parameters
    ----------
    works : list of Work
    stack : Stack
    options : LocalTraining
    start : ndarray, shape (size,)
        In the precision of the gradients.
    """

    def __init__(self, works: list[Work], stack: Stack, options: LocalTraining, start: Reals) -> None:
        self.privacy = [work.privacy for work in works if work.privacy is not None]
        self.steps, self.size, self.precision = stack.steps, start.size, start.dtype.type
        rows = [max(len(work.targets), 1) for work in works]
        expected = np.array([rate_of(each, options) * each for each in rows])
        self.shares = (1 / expected).astype(start.dtype)[:, None]
        self.clips = np.array([each.clip for each in self.privacy])
        self.deviations = self.clips * [each.multiplier for each in self.privacy]
        self.ahead = max(1, AHEAD // self.size)
        self.drawn = np.empty((len(works), self.ahead, self.size), start.dtype)

    def gradient(self, passing: Pass, batch: Batch, into: Reals, step: int) -> Reals:
        """Write the noised gradients of one step; return the losses of the rows."""
        active = len(into)
        losses = passing.clipped(batch, self.clips[:active])
        if step % self.ahead == 0:
            self._draw(step, active)
        into += self.drawn[:active, step % self.ahead]
        into *= self.shares[:active]
        return losses

    def _draw(self, step: int, active: int) -> None:
        for at, each in enumerate(self.privacy[:active]):
            left = min(self.ahead, int(self.steps[at]) - step)
            drawn = each.noise.normal((left, self.size), self.precision)
            np.multiply(drawn, self.precision(self.deviations[at]), out=self.drawn[at, :left])


def _side_by_side(batches: list[Batches], firsts: Integers, nothing: int) -> tuple[Integers, Integers]:
    """Return all batches: counts, shape (steps, clients), and places in the table, shape (steps, clients, widest)."""
    steps, widest = (max(each.rows.shape[axis] for each in batches) for axis in (0, 1))
    counts = np.zeros((steps, len(batches)), dtype=np.int64)
    rows = np.full((steps, len(batches), widest), nothing)
    for at, (each, first) in enumerate(zip(batches, firsts, strict=True)):
        taken, width = each.rows.shape
        counts[:taken, at] = each.counts
        rows[:taken, at, :width] = np.where(each.rows < 0, nothing, each.rows + first)
    return counts, rows


def _corrections(works: list[Work], start: Reals) -> Reals | None:
    if all(work.correction is None for work in works):
        return None
    zeros = np.zeros_like(start)
    return np.stack([zeros if work.correction is None else work.correction for work in works], dtype=start.dtype)
