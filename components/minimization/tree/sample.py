"""The rows that a tree is learned from, and how far the model's answers go astray when their values are replaced."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from components.minimization.attributes import Attribute, Codes
from components.minimization.partitions import Floats, Partition
from components.minimization.problem import Answers, Problem, agree, replaced
from components.minimization.tree.candidates import standing_for
from components.minimization.tree.ranks import Ranks
from components.randomness import stream

CHUNK = 2**16
"""Rows that the model is asked about at once: what is held beside the table must not grow with it."""

CONTEXTS = 16
"""Other rows whose remaining columns each row's values are put into (see `Sample.targets`)."""

LOOKS = 4
"""Of these the first, which are drawn from all rows; the others from those that a look swayed."""

OWN = 2
"""What the answers to the rows as they are weigh among those in contexts."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Fit rows in canonical order, so that nothing learned depends on the order they came in.

    Parameters
    ----------
    problem : Problem
    attributes : tuple of Attribute
        Those still to be minimised; all others stay exact.
    frame : pandas.DataFrame, shape (rows, columns)
    answers : ndarray, shape (rows, outputs)
    codes : dict of str to ndarray, shape (rows,)
    ranks : Ranks
        Of `attributes`.
    defaults : dict of str to float
        What values outside the domain count as: what is usual among the rows.
    spared : tuple of Attribute
        Those that are not asked for: `frame` holds their defaults.
    """

    problem: Problem
    attributes: tuple[Attribute, ...]
    frame: pd.DataFrame
    answers: Answers
    codes: dict[str, Codes]
    ranks: Ranks
    defaults: dict[str, float]
    spared: tuple[Attribute, ...] = ()

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return the fit rows of a problem, all its attributes to be minimised."""
        fit = problem.fit.in_order()
        codes = fit.codes
        ranks = Ranks.of(problem.attributes, codes)
        defaults = {
            each.name: float(standing_for(Partition.whole(each), codes[each.name])[0]) for each in ranks.attributes
        }
        return cls(problem, problem.attributes, fit.frame, fit.answers, codes, ranks, defaults)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.answers)

    def without(self, attributes: Collection[Attribute]) -> Self:
        """Return the same rows with some attributes left exact."""
        return self.only([each for each in self.attributes if each not in attributes])

    def only(self, attributes: Collection[Attribute]) -> Self:
        """Return the same rows with some attributes to be minimised, and all others left exact."""
        return replace(self, attributes=tuple(attributes), ranks=self.ranks.of_some(tuple(attributes)))

    def again(self, attribute: Attribute) -> Self:
        """Return the same rows with an attribute to be minimised that was left exact."""
        both = {*(each.name for each in self.attributes), attribute.name}
        more = tuple(each for each in self.problem.attributes if each.name in both)
        return replace(self, attributes=more, ranks=Ranks.of(more, self.codes))

    def sparing(self, attributes: Collection[Attribute]) -> Self:
        """Return the same rows with some attributes asked for no more: all rows hold their defaults."""
        if not attributes:
            return self
        codes = {
            each.name: np.full(len(self), self.defaults[each.name]).astype(self.codes[each.name].dtype)
            for each in attributes
        }
        frame = replaced(self.frame, tuple(attributes), codes)
        return replace(self.without(attributes), frame=frame, spared=(*self.spared, *attributes))

    def errors(self, rows: npt.NDArray[np.int64], values: Floats) -> Floats:
        """Return how far the model goes astray when `rows` hold `values`.

        Parameters
        ----------
        rows : ndarray of int64, shape (asked,)
        values : ndarray of float64, shape (asked, attributes)
            Codes.

        Returns
        -------
        ndarray of float64, shape (asked,)
            1 where an answer changes, else 0. Of a regression the squared change by the variance of the answers, so
            that the mean over all rows is 1 - R2.
        """
        there, now = self.answers[rows], self.asked(rows, values)
        if self.problem.regression:
            return np.asarray(((now - there) ** 2 / self._variance()).mean(axis=1))
        return (~agree(there, now)).astype(np.float64)

    def asked(self, rows: npt.NDArray[np.int64], values: Floats) -> Answers:
        """Return the model's answers when `rows` hold `values` (see `errors`), shape (asked, outputs)."""
        found = np.empty((len(rows), self.answers.shape[1]), dtype=self.answers.dtype)
        for start in range(0, len(rows), CHUNK):
            piece = slice(start, start + CHUNK)
            codes = {
                each.name: column.astype(np.int64) if each.kind == "nominal" else column
                for each, column in zip(self.attributes, values[piece].T, strict=True)
            }
            found[piece] = self.problem.ask(replaced(self.frame.iloc[rows[piece]], self.attributes, codes))
        return found

    def own(self) -> Floats:
        """Return the codes of all rows, shape (rows, attributes)."""
        return np.column_stack([self.codes[each.name] for each in self.attributes]).astype(np.float64)

    def targets(self) -> Floats:
        """Return what the tree learns: the model's answers to each row's values, added up over contexts.

        The paper's tree learns the answers alone, and so splits also on what merely goes along with columns that the
        model sees anyway. Here each row's values are put into the remaining columns of other rows, too: first of any,
        then of those whose answer that has been seen to change. Summed, these answers tell what the model itself makes
        of the values, as the partial dependence does (Friedman 2001, section 8.2).

        Returns
        -------
        ndarray of float64, shape (rows, outputs)
            Of a classification the number of times that each class was answered; of a regression the sum of answers,
            in standard deviations.
        """
        total = OWN * self._indicated(self.answers)
        draws = stream(self.problem.seed, "minimization-contexts")
        own, swayed = self.own(), np.zeros(len(self), dtype=np.bool_)
        for number in range(CONTEXTS):
            drawn = draws.permutation(len(self))
            if number >= LOOKS:
                drawn = np.resize(draws.permutation(np.flatnonzero(swayed)), len(self))
            answers = self.asked(drawn, own)
            total += self._indicated(answers)
            swayed[drawn] |= (answers != self.answers[drawn]).any(axis=1)
            if np.array_equal(answers, self.answers) or (number + 1 >= LOOKS and not swayed.any()):
                break  # the remaining columns do not matter, or nothing but them does
        return total

    def _variance(self) -> Floats:
        spread = self.answers.var(axis=0)
        return np.where(spread > 0, spread, 1.0)

    def _indicated(self, answers: Answers) -> Floats:
        if self.problem.regression:
            return np.asarray(answers / np.sqrt(self._variance()))
        columns = []
        for now, there in zip(answers.T, self.answers.T, strict=True):
            known = np.unique(there)
            columns.append(now[:, np.newaxis] == (known[1:] if len(known) == 2 else known))
        return np.concatenate(columns, axis=1).astype(np.float64)
