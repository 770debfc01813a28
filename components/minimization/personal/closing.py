"""Which ends keep their answer: calibration rows decide, in an order that the fit rows give."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from components.minimization.personal.evidence import Bools, Evidence, Integers
from components.minimization.personal.questions import NONE, Nodes, Questions
from components.minimization.problem import Answers, Problem, agreement

TOGETHER = 4
"""Calibration rows, in multiples of the fewest that can show anything, that ends are first tested on.

Where that is more than half of the rows that come to any of the ends, half of them do.
"""


def kept(problem: Problem, grown: Questions, evidence: Evidence, likely: Integers) -> tuple[Questions, pd.DataFrame]:
    """Return the questions whose answers may stand, and the steps that led there (see `Found`).

    The fit rows chose the ends, so that what they say of them is too good: it gives the order alone. Ends answer as far
    in that order as calibration rows, which chose nothing, show them to be sure together, and no further than the
    verdict is assured: in both only where a test was made. At last, ends that calibration rows refute by themselves ask
    everything, which leaves the bound what it is: of the answers at all ends that were tested, these among them.

    Parameters
    ----------
    problem : Problem
    grown : Questions
        Every end has an answer; ``labels`` holds that of each node by its number.
    evidence : Evidence
        Of the fit rows.
    likely : ndarray of int, shape (ends,)
        Ends that could answer, those first that are least likely to be wrong; all others ask everything.
    """
    judge = _judge(problem, grown)
    counts = _shown(likely, judge, evidence)
    shown = likely[: counts[-1]]
    assured = likely[: _holding(counts, likely, judge)]
    refuted = judge.refuted(assured, evidence)
    last = assured[~refuted]
    steps = [
        (likely, f"{len(likely)} ends could answer: the fit rows that chose them are seldom wrong there"),
        (shown, f"{len(shown)} of them answer: calibration rows show them sure, all taken together"),
        (assured, f"{len(shown) - len(assured)} of these ask everything: the agreement of all"),
        (last, f"{np.count_nonzero(refuted)} more ask everything: calibration rows refute each by itself"),
    ]
    questions = answering(judge.questions, last)
    if questions.spare and judge.spare_refuted(last, evidence):
        questions = replace(questions, spare=())
    return questions, pd.DataFrame([judge.step(*each, number) for number, each in enumerate(steps)])


@dataclass(frozen=True, eq=False, slots=True)
class _Judge:
    """What the calibration rows say of ends that answer, all others asking everything.

    Parameters
    ----------
    problem : Problem
    questions : Questions
        Every end has an answer.
    ended : ndarray of int, shape (rows,)
        Node that each calibration row ends at.
    everything : ndarray, shape (rows, outputs)
        What the model says where everything is asked.
    """

    problem: Problem
    questions: Questions
    ended: Integers
    everything: Answers

    @property
    def truth(self) -> Answers:
        """The model's own answers."""
        return self.problem.calibration.answers

    def answers(self, standing: Integers) -> Answers:
        """Return the answers to all rows."""
        stands = np.isin(self.ended, standing)
        now: Answers = np.where(stands[:, np.newaxis], self.questions.labels[self.ended], self.everything)
        return now

    def agreement(self, now: Answers) -> float:
        """Return how far answers agree with the model's own."""
        return agreement(self.truth, now, regression=self.problem.regression)

    def holds(self, standing: Integers) -> bool:
        """Say whether the verdict is assured, or would be no more so if all ends asked everything."""
        now = self.answers(standing)
        return self.problem.assured(now) or self.agreement(now) >= self.agreement(self.everything)

    def refuted(self, standing: Integers, evidence: Evidence) -> Bools:
        """Say which ends are refuted by their own rows."""
        labels, truth = self.questions.labels[self.ended], self.truth
        here = [self.ended == end for end in standing]
        return np.array([rows.any() and evidence.refuted(labels[rows], truth[rows]) for rows in here], dtype=np.bool_)

    def spare_refuted(self, standing: Integers, evidence: Evidence) -> bool:
        """Say whether those who are asked everything refute that some attributes are spared."""
        rest = ~np.isin(self.ended, standing)
        return bool(rest.any()) and evidence.refuted(self.everything[rest], self.truth[rest])

    def step(self, standing: Integers, change: str, number: int) -> dict[str, Any]:
        """Return a line of the steps (see `Found`)."""
        losses = answering(self.questions, standing).losses(self.problem.calibration.codes)
        told = {"step": number, "attribute": "", "change": change, "ncp": self.problem.privacy(losses)}
        return told | {"agreement": self.agreement(self.answers(standing)), "taken": True}


def _judge(problem: Problem, grown: Questions) -> _Judge:
    """Ask the model for everything; nothing is spared where the target would be missed."""
    calibration = problem.calibration
    everything = problem.ask(grown.told(calibration.frame, calibration.codes))
    if grown.spare and not problem.assured(everything):
        grown = replace(grown, spare=())
        everything = problem.ask(grown.told(calibration.frame, calibration.codes))
    return _Judge(problem, grown, grown.ends(calibration.codes), everything)


def _holding(counts: list[int], ends: Integers, judge: _Judge) -> int:
    """Return the greatest of some counts, in rising order from 0, with which that many of the ends may answer."""
    low, high = 0, len(counts)
    while high - low > 1:
        half = (low + high) // 2
        low, high = (half, high) if judge.holds(ends[: counts[half]]) else (low, half)
    return counts[low]


def answering(grown: Questions, standing: Integers) -> Questions:
    """Return questions where only some ends answer, and all others ask everything.

    A question between whose branches nothing is left to choose, since both ask everything, is not asked.
    """
    nodes = grown.nodes
    answer = np.where(np.isin(np.arange(len(nodes)), standing), nodes.answer, NONE)
    asking = nodes.attribute != NONE
    for number in np.flatnonzero(asking)[::-1]:  # branches before what they hang on
        below = [nodes.left[number], nodes.right[number]]
        asking[number] = asking[below].any() or (answer[below] != NONE).any()
    stays = np.zeros(len(nodes), dtype=np.bool_)
    stays[0] = True
    stays[nodes.left[asking]] = stays[nodes.right[asking]] = True
    own = np.arange(len(nodes))
    new = np.cumsum(stays) - 1
    labels, number = np.unique(grown.labels[answer[stays & (answer != NONE)]], axis=0, return_inverse=True)
    answer[stays & (answer != NONE)] = number.reshape(-1)
    return replace(
        grown,
        labels=labels,
        nodes=Nodes(
            np.where(asking, nodes.attribute, NONE)[stays],
            nodes.cut[stays],
            nodes.values[stays],
            nodes.missing_left[stays],
            new[np.where(asking, nodes.left, own)[stays]],
            new[np.where(asking, nodes.right, own)[stays]],
            answer[stays],
        ),
    )


def _shown(ends: Integers, judge: _Judge, evidence: Evidence) -> list[int]:
    """Return how many of some ends, in their order, rows show to be sure together: every count that they do, and 0.

    One test after the other, each of the ends so far, and none after the first that fails: so all of them hold with
    the confidence of one (a fixed sequence, Maurer et al. 1995), whichever count is taken then.
    """
    turn = np.full(len(judge.questions.nodes), len(ends))
    turn[ends] = np.arange(len(ends))
    turn = turn[judge.ended]
    rows = np.argsort(turn, kind="stable")
    reached = np.searchsorted(turn[rows], np.arange(len(ends)), side="right")  # rows at the first ends
    now, truth = judge.questions.labels[judge.ended[rows]], judge.truth[rows]
    least = min(TOGETHER * evidence.fewest, max(reached[-1] // 2, evidence.fewest)) if len(ends) else 0
    shown = [0]
    for count, size in enumerate(reached, start=1):
        if size < least:
            continue
        if not evidence.shown(now[:size], truth[:size]):
            break
        shown.append(count)
    return shown
