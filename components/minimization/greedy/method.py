"""minimization=greedy: attributes climb their ladders together, as far as the target allows; then cells within."""

from dataclasses import replace

from components.minimization import declarations
from components.minimization.greedy.cells import Cellular, in_cells
from components.minimization.greedy.climbing import State
from components.minimization.greedy.joint import Joint
from components.minimization.greedy.judging import Judge
from components.minimization.greedy.trials import Trial
from components.minimization.problem import Problem
from components.minimization.result import Found

SHARES = (0.75, 0.4)
"""Of the loss between the last state that holds and the next: what smaller steps may fill."""

LOOKS = 3
"""What trying many paths, and cells of many trees, on the same calibration rows counts as (see `Problem`)."""

SLACK = 1.02
"""By how much a state may lose more than the present one on the fit rows, and be tried."""

BACK = 4
"""Most attributes that are taken back in a round."""


def search(params: declarations.Greedy, problem: Problem) -> Found:
    """Look for the ranges and groups, and the cells within, that tell least and keep the target.

    Fit rows choose every step; the calibration rows say which results hold, and of those the most private is taken.

    Parameters
    ----------
    params : declarations.Greedy
    problem : Problem

    Returns
    -------
    Found

    Raises
    ------
    ConfigurationError
        A hierarchy can't be climbed, or SHAP values are asked for and the library is not installed.
    """
    problem = replace(problem, calibration=problem.calibration.in_order(), looks=max(problem.looks, LOOKS))
    joint, judge = Joint.of(params, problem, Trial.of(problem)), Judge(problem, params.outside)
    alone = joint.alone()
    path = joint.climb(joint.exact, budget=1 - problem.target)
    last = judge.furthest(path)
    best, notes = path[last], problem.notes()
    if params.use == "representatives" and not all(rung.ranges.nothing for rung in best.rungs.values()):
        cellular = Cellular(params, judge, joint.looks.fit, alone)
        celled = in_cells(cellular, path, last)
        if celled.generalizer is not None and celled.privacy > joint.privacy(best):
            judge.take(celled.steps)
            return Found(celled.generalizer, tuple(dict.fromkeys((*notes, *celled.notes))), judge.steps())
    if last + 1 < len(path):
        best = _filled(joint, judge, best, path[last + 1].lost)
    for _ in range(params.back_steps):
        best = _stepped_back(joint, judge, best)
    if all(rung.ranges.exact for rung in best.rungs.values()):
        notes.append("nothing could be generalised: each column is needed as it is to keep the target")
    return Found(judge.generalizer(best), tuple(notes), judge.steps())


def _filled(joint: Joint, judge: Judge, best: State, missed: float) -> State:
    """Return a state with smaller steps taken where the next one was too much."""
    for share in SHARES:
        path = joint.climb(best, best.lost + share * (missed - best.lost))
        best = path[judge.furthest(path)]
    return best


def _stepped_back(joint: Joint, judge: Judge, best: State) -> State:
    """Take attributes back to their exact values, and spend the agreement that frees on the others first.

    Those are tried that free agreement at the least price in privacy.
    """
    prices = {}
    for name in joint.order:
        back = joint.back(best, name)
        if back.lost < best.lost:
            prices[name] = (joint.privacy(best) - joint.privacy(back)) / (best.lost - back.lost)
    for name in sorted(prices, key=lambda each: prices[each])[:BACK]:
        budget = best.lost * SLACK
        path = joint.climb(joint.back(best, name), budget, [each for each in joint.order if each != name])
        path += joint.climb(path[-1], budget)[1:]
        better = [best, *(state for state in path if joint.privacy(state) > joint.privacy(best))]
        best = better[judge.furthest(better)]
    return best
