"""Which ends keep their answer: real rows decide, in an order that the fit rows give."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from components.minimization.personal.evidence import Bools, Evidence, Floats, Integers
from components.minimization.personal.questions import NONE, Nodes, Questions
from components.minimization.problem import Answers, Problem, agreement

TOGETHER = 4
"""Calibration rows, in multiples of the fewest that can show anything, that ends are first shown on together."""


@dataclass(frozen=True, eq=False, slots=True)
class Ends:
    """Ends that could answer, and what fit rows say of them; all arrays are of shape (ends,).

    Parameters
    ----------
    numbers : ndarray of int
        Of their nodes.
    sure : ndarray of bool
        Fit rows show that the answer is sure.
    risk : ndarray of float
        Expected share of rows for which the answer is wrong (Jeffreys' prior).
    saved : ndarray of int
        Questions that are not asked there.
    """

    numbers: Integers
    sure: Bools
    risk: Floats
    saved: Integers


def kept(problem: Problem, grown: Questions, evidence: Evidence, ends: Ends) -> tuple[Questions, pd.DataFrame]:
    """Return the questions whose answers may stand, and the steps that led there (see `Found`).

    Ends that fit rows are too few for answer as far as calibration rows show them to be sure together. Then, until the
    verdict is assured, ends ask everything, those first that are wrong most often for each question they save. Both
    follow an order that comes from the fit rows, so that the calibration rows stay honest. Only at last ends that
    these refute ask everything, too, which leaves the agreement as it is, or better.

    Parameters
    ----------
    problem : Problem
    grown : Questions
        Every end has an answer; ``labels`` holds that of each node by its number.
    evidence : Evidence
        Of the fit rows.
    ends : Ends
        All others ask everything.
    """
    judge = _judge(problem, grown)
    sure = ends.numbers[ends.sure]
    doubtful = np.flatnonzero(~ends.sure & (ends.risk <= evidence.delta))
    doubtful = ends.numbers[doubtful[np.argsort(ends.risk[doubtful], kind="stable")]]
    together = _shown(doubtful, judge, evidence)
    riskiest = ends.numbers[np.argsort(-ends.risk / ends.saved, kind="stable")]
    standing = riskiest[np.isin(riskiest, np.concatenate([sure, together]))]
    assured = standing[_to_close(standing, judge) :]
    refuted = judge.refuted(assured, evidence)
    last = assured[~refuted]
    steps = [
        (sure, f"{len(sure)} ends answer: fit rows show that they are sure"),
        (standing, f"{len(together)} more of {len(doubtful)} answer: calibration rows show them sure together"),
        (assured, f"{len(standing) - len(assured)} of them ask everything: the agreement of all"),
        (last, f"{np.count_nonzero(refuted)} of them ask everything: calibration rows refute them"),
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


def _to_close(riskiest: Integers, judge: _Judge) -> int:
    """Return how many ends, in their order, have to ask everything."""
    low, high = (-1, 0) if judge.holds(riskiest) else (0, len(riskiest))
    while high - low > 1:
        half = (low + high) // 2
        low, high = (low, half) if judge.holds(riskiest[half:]) else (half, high)
    return high


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


def _shown(ends: Integers, judge: _Judge, evidence: Evidence) -> Integers:
    """Return as many of some ends, those least likely to be wrong first, as rows show to be sure together.

    One test after the other, each of the ends so far, and none after the first that fails: so all of them hold with
    the confidence of one (a fixed sequence, Maurer et al. 1995).
    """
    turn = np.full(len(judge.questions.nodes), len(ends))
    turn[ends] = np.arange(len(ends))
    turn = turn[judge.ended]
    rows = np.argsort(turn, kind="stable")
    reached = np.searchsorted(turn[rows], np.arange(len(ends)), side="right")  # rows at the first ends
    now, truth = judge.questions.labels[judge.ended[rows]], judge.truth[rows]
    shown = 0
    for count, size in enumerate(reached, start=1):
        if size < min(TOGETHER * evidence.fewest, reached[-1]):
            continue
        if not evidence.shown(now[:size], truth[:size]):
            break
        shown = count
    return ends[:shown]
