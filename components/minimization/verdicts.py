"""The verdict: answers of what is collected, held against the model's own on rows that nothing was tuned on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from components.minimization import bounds
from components.minimization.problem import Answers, Problem, agree
from components.models import Target
from components.randomness import stream
from schemas.generalizations import Verdict


@dataclass(frozen=True, slots=True)
class Kept:
    """How far the answers of one target stay on the report rows.

    Parameters
    ----------
    agreement, low : float
        With the model's own answers (regression: R2), and its one-sided 95 % lower bound.
    """

    agreement: float
    low: float


def judge(truth: Answers, now: Answers, problem: Problem) -> Verdict:
    """Hold answers to rows that nothing was tuned on against the model's own.

    Of several outputs a row agrees where all of them do, and R2 is that of the worst.

    Parameters
    ----------
    truth, now : ndarray, shape (rows, outputs)
        The model's answers to the rows as they are, and as they will be used.
    problem : Problem
        Says target and task.
    """
    kept = _kept(truth, now, problem) if problem.regression else [_alike(agree(truth, now))]
    reached, low = min(each.agreement for each in kept), min(each.low for each in kept)
    return Verdict(
        measure="r2" if problem.regression else "agreement",
        target=problem.target,
        agreement=reached,
        low=low,
        rows=len(truth),
        met=low >= problem.target,
    )


def each_target(truth: Answers, now: Answers, problem: Problem, targets: Sequence[Target]) -> dict[str, Kept]:
    """Return how far each of several targets stays, by its column; of one nothing, as the verdict says it.

    The least R2, and the least bound of one, are those of the verdict.
    """
    if len(targets) == 1:
        return {}
    kept = _kept(truth, now, problem)
    return {target.column: each for target, each in zip(targets, kept, strict=True)}


def _kept(truth: Answers, now: Answers, problem: Problem) -> list[Kept]:
    """Return how far each output stays, in the order of the outputs."""
    if not problem.regression:
        return [_alike(same) for same in (truth == now).T]
    lows = bounds.r2_lower_bounds(truth, now, stream(problem.seed, "minimization-verdict"))
    return [Kept(*each) for each in zip(bounds.r2_each(truth, now).tolist(), lows.tolist(), strict=True)]


def _alike(same: npt.NDArray[np.bool_]) -> Kept:
    return Kept(float(same.mean()), bounds.lower_bound(int(np.count_nonzero(same)), len(same)))
