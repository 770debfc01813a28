"""Rows that generalisations are tried on, and what each row then loses of the model's own answers."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from components.minimization.attributes import Attribute, Codes
from components.minimization.generalizer import Ranges
from components.minimization.partitions import Floats
from components.minimization.problem import Answers, Ask, Problem, Rows, agree, replaced

TOGETHER = 2**15
"""Most rows of one question: a question costs as much as some thousands of rows, before the model sees any."""

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Trial:
    """Rows with the model's answers to them.

    Parameters
    ----------
    attributes : tuple of Attribute
    ask : callable
    rows : Rows
    spread : ndarray of float64, shape (outputs,), or None
        Variance of each output of a regression; None for classes.
    """

    attributes: tuple[Attribute, ...]
    ask: Ask
    rows: Rows
    spread: Floats | None

    @classmethod
    def of(cls, problem: Problem) -> "Trial":
        """Return the fit rows of a problem, in canonical order."""
        rows = problem.fit.in_order()
        return cls(problem.attributes, problem.ask, rows, rows.answers.var(axis=0) if problem.regression else None)

    def among(self, places: Places) -> "Trial":
        """Return some of the rows, by their places."""
        return replace(self, rows=self.rows.taken(places))

    def given(self, codes: Mapping[str, Codes]) -> "Trial":
        """Return the same rows where the attributes named in `codes` hold them; answers and codes stay those before."""
        rows = Rows(replaced(self.rows.frame, self.attributes, codes), self.rows.answers, self.rows.codes)
        return replace(self, rows=rows)

    def lost(self, codes: Mapping[str, Codes]) -> Floats:
        """Return what each row loses when the attributes named in `codes` hold them, shape (rows,).

        Its mean over the fit rows is 1 less the agreement: of classes it is 1 where an answer changes; of a regression
        the squared change by the variance of the output, as a mean over outputs.
        """
        return self._lost(self.rows.answers, self.ask(replaced(self.rows.frame, self.attributes, codes)))

    def lost_each(self, name: str, codes: Codes) -> Floats:
        """Return `lost` for each of several ways to fill one attribute, a few of them in one question to the model.

        Parameters
        ----------
        name : str
        codes : ndarray, shape (ways, rows)

        Returns
        -------
        ndarray of float64, shape (ways, rows)
        """
        rows, found = np.arange(len(self.rows)), np.empty(codes.shape)
        together = max(TOGETHER // max(len(rows), 1), 1)
        for start in range(0, len(codes), together):
            piece = codes[start : start + together]
            frame = self.rows.frame.iloc[np.tile(rows, len(piece))]
            now = self.ask(replaced(frame, self.attributes, {name: piece.ravel()}))
            found[start : start + together] = self._lost(np.tile(self.rows.answers, (len(piece), 1)), now).reshape(
                piece.shape
            )
        return found

    def _lost(self, there: Answers, now: Answers) -> Floats:
        if self.spread is None:
            return (~agree(there, now)).astype(np.float64)
        errors = (now - there) ** 2
        steady = self.spread <= 0
        shares = np.where(steady, errors > 0, errors / np.where(steady, 1.0, self.spread))
        return np.asarray(shares.mean(axis=1))


def recoded(codes: Mapping[str, Codes], state: Mapping[str, Ranges]) -> dict[str, Codes]:
    """Return the codes that attributes get when each is generalised as `state` says; exact ones are left out."""
    new = {}
    for name, ranges in state.items():
        if ranges.partition is not None:
            column = codes[name]
            new[name] = ranges.representatives.astype(column.dtype)[ranges.partition.parts(column)]
    return new
