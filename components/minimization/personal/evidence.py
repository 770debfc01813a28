"""What rows tell of a model's answers: the doubt left about them, and when one answer may stand for all of them."""

from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri, xlogy
from scipy.stats import norm

from components.minimization.bounds import CONFIDENCE, least_rows, most_disagreeing, upper_bound
from components.minimization.problem import Answers, agree

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

CHANCE = 0.0001
"""Chance of calling a split of no use a help; shared by all splits that are tried on the same rows."""

FEWEST = 30
"""Rows below which nothing is said of a mean square: its bound is a normal one."""


class Evidence(Protocol):
    """A model's answers to the fit rows, and the largest chance `delta` of another answer that an end may have."""

    @property
    def delta(self) -> float:
        """The largest chance of another answer."""

    @property
    def fewest(self) -> int:
        """Rows below which nothing can be sure."""

    def extended(self, answers: Answers) -> Self:
        """Return the evidence of these rows and more, which are numbered after them."""

    def stricter(self, delta: float) -> Self:
        """Return the same evidence for another chance."""

    def sums(self, rows: Integers, bins: Integers, size: int) -> Floats:
        """Return what the answers add up to in each bin, shape (size, sums).

        Parameters
        ----------
        rows : ndarray of int, shape (rows,)
        bins : ndarray of int, shape (rows, attributes)
        size : int
            Number of bins, of all attributes together.
        """

    def counts(self, sums: Floats) -> Floats:
        """Return the number of rows behind sums of shape (..., sums)."""

    def doubt(self, sums: Floats) -> Floats:
        """Return the doubt left about the answers behind sums of shape (..., sums), as a log likelihood ratio."""

    def shares(self, sums: Floats) -> Floats:
        """Return mean answers, shape (..., directions): what bins of a nominal attribute are put in order by."""

    def by_chance(self, sums: Floats, parts: int, tried: int) -> float:
        """Return the doubt that `parts` parts of the rows behind `sums` lose by chance, the best of `tried` ways."""

    def answer(self, rows: Integers) -> Answers:
        """Return the answer that stands for rows, shape (outputs,)."""

    def sure(self, rows: Integers) -> bool:
        """Say whether rows look sure by themselves, so that nothing more is asked there.

        It is no bound where the same rows chose what to ask: that takes other rows, see `shown`.
        """

    def wrong(self, rows: Integers) -> float:
        """Return how many of the rows `answer` is wrong for."""

    def off(self, now: Answers, truth: Answers) -> float:
        """Return how far answers to other rows are off: what has to be at most delta."""

    def shown(self, now: Answers, truth: Answers) -> bool:
        """Say whether other rows show, with the bounds' confidence, that answers are sure."""

    def refuted(self, now: Answers, truth: Answers) -> bool:
        """Say whether other rows show, with the bounds' confidence, that answers are not sure."""


@dataclass(frozen=True, eq=False, slots=True)
class Classes:
    """Answers that are the same or not: doubt is entropy, an end is sure by the bound of Clopper and Pearson.

    Parameters
    ----------
    classes : ndarray, shape (classes, outputs)
        The different answers.
    codes : ndarray of int, shape (rows,)
        The class of each fit row.
    delta : float
    """

    classes: Answers
    codes: Integers
    delta: float

    @classmethod
    def of(cls, answers: Answers, delta: float) -> Self:
        """Return the evidence of answers of shape (rows, outputs)."""
        classes, codes = np.unique(answers, axis=0, return_inverse=True)
        return cls(classes, codes.reshape(-1).astype(np.int64), delta)

    def extended(self, answers: Answers) -> Self:
        """Return the evidence of more rows."""
        return self.of(np.concatenate([self.classes[self.codes], answers]), self.delta)

    def stricter(self, delta: float) -> Self:
        """Return the same for another chance."""
        return replace(self, delta=delta)

    @property
    def fewest(self) -> int:
        """Rows that, all agreeing, just suffice."""
        return least_rows(1 - self.delta)

    def sums(self, rows: Integers, bins: Integers, size: int) -> Floats:
        """Return the number of rows of each class in each bin, shape (size, classes)."""
        width = len(self.classes)
        joint = bins * width + self.codes[rows, None]
        return np.bincount(joint.ravel(), minlength=size * width).reshape(size, width).astype(np.float64)

    def counts(self, sums: Floats) -> Floats:
        """Return the number of rows."""
        total: Floats = sums.sum(axis=-1)
        return total

    def doubt(self, sums: Floats) -> Floats:
        """Return rows times entropy, in nats."""
        total = sums.sum(axis=-1)
        doubt: Floats = xlogy(total, total) - xlogy(sums, sums).sum(axis=-1)
        return doubt

    def shares(self, sums: Floats) -> Floats:
        """Return the share of each class; of two, that of one."""
        shares: Floats = sums / np.maximum(sums.sum(axis=-1, keepdims=True), 1)
        return shares[..., 1:] if shares.shape[-1] == 2 else shares

    def by_chance(self, sums: Floats, parts: int, tried: int) -> float:
        """Return half the quantile of G, which is chi-squared where a split tells nothing (Wilks 1938)."""
        present = int(np.count_nonzero(sums))
        return float(chdtri(max((parts - 1) * (present - 1), 1), CHANCE / tried)) / 2

    def answer(self, rows: Integers) -> Answers:
        """Return the most frequent answer, the least among equals."""
        most: Answers = self.classes[np.bincount(self.codes[rows]).argmax()]
        return most

    def sure(self, rows: Integers) -> bool:
        """Say whether the lower bound of agreement with the most frequent answer is at least 1 - delta."""
        return len(rows) > 0 and self.wrong(rows) <= most_disagreeing(len(rows), 1 - self.delta)

    def wrong(self, rows: Integers) -> float:
        """Return the number of rows with another than the most frequent answer."""
        return float(len(rows) - np.bincount(self.codes[rows]).max())

    def off(self, now: Answers, truth: Answers) -> float:
        """Return the share of rows that disagree."""
        return float(1 - agree(truth, now).mean())

    def shown(self, now: Answers, truth: Answers) -> bool:
        """Say whether the lower bound of agreement is at least 1 - delta."""
        wrong = int(np.count_nonzero(~agree(truth, now)))
        return len(truth) > 0 and wrong <= most_disagreeing(len(truth), 1 - self.delta)

    def refuted(self, now: Answers, truth: Answers) -> bool:
        """Say whether the upper bound of agreement is below 1 - delta."""
        return upper_bound(int(np.count_nonzero(agree(truth, now))), len(truth)) < 1 - self.delta


@dataclass(frozen=True, eq=False, slots=True)
class Numbers:
    """Answers that are more or less off: doubt is spread, an end is sure by the bound of its mean square.

    An answer is off by the mean over outputs of its squared distance by the output's variance over all fit rows. Where
    that is at most delta on average at every end, R2 is at least 1 - delta.

    Parameters
    ----------
    answers : ndarray of float, shape (rows, outputs)
    scaled : ndarray of float, shape (rows, outputs)
        The answers, each output with mean 0 and variance 1 (0 of a constant one).
    middle : ndarray of float, shape (outputs,)
        Means.
    deviations : ndarray of float, shape (outputs,)
        Standard deviations; 1 of a constant output.
    delta : float
    """

    answers: Answers
    scaled: Floats
    middle: Floats
    deviations: Floats
    delta: float

    @classmethod
    def of(cls, answers: Answers, delta: float) -> Self:
        """Return the evidence of answers of shape (rows, outputs)."""
        spread = np.ptp(answers, axis=0)
        deviations = np.where(spread > 0, answers.std(axis=0), 1.0)
        middle = np.where(spread > 0, answers.mean(axis=0), answers[0])
        return cls(answers, (answers - middle) / deviations, middle, deviations, delta)

    def extended(self, answers: Answers) -> Self:
        """Return the evidence of more rows; the variances stay those of the fit rows."""
        scaled = (answers - self.middle) / self.deviations
        return replace(
            self, answers=np.concatenate([self.answers, answers]), scaled=np.concatenate([self.scaled, scaled])
        )

    def stricter(self, delta: float) -> Self:
        """Return the same for another chance."""
        return replace(self, delta=delta)

    @property
    def fewest(self) -> int:
        """Rows below which the normal bound is not trusted."""
        return FEWEST

    def sums(self, rows: Integers, bins: Integers, size: int) -> Floats:
        """Return the number of rows, the sum of each output, and the sum of all squares, shape (size, 2 + outputs)."""
        scaled = self.scaled[rows]
        added = np.column_stack([np.ones(len(rows)), scaled, (scaled**2).sum(axis=1)])
        flat, each = bins.ravel(), bins.shape[1]
        columns = [np.bincount(flat, np.repeat(column, each), size) for column in added.T]
        return np.column_stack(columns)

    def counts(self, sums: Floats) -> Floats:
        """Return the number of rows."""
        return sums[..., 0]

    def doubt(self, sums: Floats) -> Floats:
        """Return half the squared distance from the mean, summed over rows and outputs."""
        count = np.maximum(sums[..., 0], 1)
        spread: Floats = np.maximum(sums[..., -1] - (sums[..., 1:-1] ** 2).sum(axis=-1) / count, 0) / 2
        return spread

    def shares(self, sums: Floats) -> Floats:
        """Return the mean of each output."""
        means: Floats = sums[..., 1:-1] / np.maximum(sums[..., :1], 1)
        return means

    def by_chance(self, sums: Floats, parts: int, tried: int) -> float:
        """Return what a chi-squared share of the spread comes to, as in an analysis of variance of many rows."""
        outputs: int = self.scaled.shape[1]
        variance = 2 * float(self.doubt(sums)) / max(float(sums[0]) * outputs, 1)
        return float(chdtri((parts - 1) * outputs, CHANCE / tried)) / 2 * variance

    def answer(self, rows: Integers) -> Answers:
        """Return the mean; exactly the answer where all are equal."""
        told = self.answers[rows]
        mean: Answers = np.where(np.ptp(told, axis=0) > 0, told.mean(axis=0), told[0])
        return mean

    def sure(self, rows: Integers) -> bool:
        """Say whether the upper bound of the mean square around the mean is at most delta."""
        if len(rows) < FEWEST:
            return False
        off = self._off(self.answer(rows), self.answers[rows])
        freedom = len(rows) / (len(rows) - 1)
        return bool(off.mean() * freedom + _margin(off) <= self.delta)

    def wrong(self, rows: Integers) -> float:
        """Return the sum of squares around the mean, in variances of all fit rows."""
        return self.off(self.answer(rows), self.answers[rows]) * len(rows)

    def off(self, now: Answers, truth: Answers) -> float:
        """Return the mean square."""
        return float(self._off(now, truth).mean())

    def shown(self, now: Answers, truth: Answers) -> bool:
        """Say whether the upper bound of the mean square is at most delta."""
        if len(truth) < FEWEST:
            return False
        off = self._off(now, truth)
        return bool(off.mean() + _margin(off) <= self.delta)

    def refuted(self, now: Answers, truth: Answers) -> bool:
        """Say whether the lower bound of the mean square is above delta."""
        if len(truth) < FEWEST:
            return False
        off = self._off(now, truth)
        return bool(off.mean() - _margin(off) > self.delta)

    def _off(self, answer: Answers, truth: Answers) -> Floats:
        off: Floats = (((truth - answer) / self.deviations) ** 2).mean(axis=1)
        return off


def _margin(values: Floats) -> float:
    """Return the distance of the one-sided normal bound of a mean."""
    return float(norm.ppf(CONFIDENCE) * values.std(ddof=1) / np.sqrt(len(values)))
