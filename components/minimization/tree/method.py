"""minimization=tree: cells of a tree that learned the model's answers, as coarse as the target allows."""

from dataclasses import replace
from math import inf

import numpy as np
import pandas as pd

from components.minimization import bounds, declarations
from components.minimization.attributes import Attribute, encoded
from components.minimization.generalizer import Generalizer
from components.minimization.problem import Problem, agreement, replaced
from components.minimization.result import Found
from components.minimization.tree.assembling import draft, exact, finished
from components.minimization.tree.choosing import for_all, for_leaves, for_root, rounded, with_errors
from components.minimization.tree.giving_back import given_back
from components.minimization.tree.growth import grow
from components.minimization.tree.idle import idle
from components.minimization.tree.medoids import rows_for_all, rows_for_leaves
from components.minimization.tree.pruning import Path, unpruned, weakest_links
from components.minimization.tree.raising import raised
from components.minimization.tree.sample import Sample
from components.minimization.tree.standing import Standing
from components.randomness import derived_seed

LOOKS = 2
"""What trying prunings of several trees on the same calibration rows counts as, at least (see `Problem`)."""

ROOM = 0.75
"""Of the error allowed: where more is used up, what was given back is not tried again."""

IN_VAIN = 2
"""Trees grown to take something back that don't keep the target, after which no more are."""


class Trials:
    """What was tried, judged on the calibration rows as it will be used.

    Parameters
    ----------
    params : declarations.Tree
    problem : Problem
    defaults : dict of str to float
        What values outside the domain count as.

    Attributes
    ----------
    steps : list of dict
        See `Found.steps`.
    agreement : float
        Of the last trial.
    """

    def __init__(self, params: declarations.Tree, problem: Problem, defaults: dict[str, float]) -> None:
        self.params = params
        self.problem = problem
        self.codes = encoded(problem.attributes, problem.calibration.frame, defaults, params.outside)
        self.steps: list[dict[str, object]] = []
        self.agreement = np.nan
        self._tried: list[tuple[Path, int, dict[str, object]]] = []

    def holds(self, path: Path, steps: int, change: str = "") -> bool:
        """Say whether the tree of a path may be pruned so far; `change` says what is tried, if not only that."""
        generalizer = draft(self.params, path, steps)
        calibration, problem = self.problem.calibration, self.problem
        now = problem.ask(replaced(calibration.frame, problem.attributes, generalizer.recoded(self.codes)))
        held = problem.assured(now)
        self.agreement = agreement(calibration.answers, now, regression=problem.regression)
        ncp = problem.privacy(generalizer.losses(self.codes))
        step = self._put_down(change or f"{int(path.cells(steps).sum())} cells")
        step |= {"ncp": ncp, "agreement": self.agreement, "held": held}
        self._tried.append((path, steps, step))
        return held

    def gave_back(self, attribute: str) -> None:
        """Put down that an attribute stays exact; what was tried with it no longer counts."""
        self._tried.clear()
        self._put_down("given back", attribute)["taken"] = True

    def start(self) -> None:
        """Put down that pruning starts from what was tried last."""
        self._tried = self._tried[-1:]

    def forget(self) -> None:
        """Put down that what was tried after the start leads nowhere: trees are not held on to."""
        del self._tried[1:]

    def take(self, path: Path, steps: int) -> None:
        """Put down that the search ends here; a path that nothing was pruned on was tried first, as its leaves."""
        tried = [step for one, many, step in self._tried if one is path and many == steps]
        (tried[-1] if tried else self._tried[0][2])["taken"] = True

    def _put_down(self, change: str, attribute: str | None = None) -> dict[str, object]:
        step: dict[str, object] = {"step": len(self.steps), "attribute": attribute, "change": change}
        self.steps.append(step | {"ncp": np.nan, "agreement": np.nan, "held": None, "taken": False})
        return self.steps[-1]


def search(params: declarations.Tree, problem: Problem, growths: int | None = None) -> Found:
    """Look for the cells that tell least and keep the target.

    Attributes that change no answer are not asked for. On the others a tree learns the model's answers, and each node
    gets what stands for it. Where not even all leaves keep the target, attributes are given back until they do, and
    then tried once more (see `giving_back`). Then children are raised and nodes pruned, in the order that fit rows
    tell, as far as the calibration rows allow.

    Parameters
    ----------
    params : declarations.Tree
    problem : Problem
    growths : int, optional
        Most trees that are grown: where attributes would have to be given back for more, all others stay exact.

    Returns
    -------
    Found
    """
    problem = replace(problem, calibration=problem.calibration.in_order(), looks=max(problem.looks, LOOKS))
    whole, limit, notes = Sample.of(problem), allowance(problem), problem.notes()
    trials = Trials(params, problem, whole.defaults)
    spared = _spared(trials, whole)
    standing = _settled(trials, whole.sparing(spared), limit, inf if growths is None else growths)
    if standing is None and not spared:
        notes.append("nothing could be generalised: each column is needed as it is to keep the target")
        return Found(exact(params, whole), tuple(notes), pd.DataFrame(trials.steps))
    if standing is None:
        path = unpruned(for_root(whole.only(spared)))
        trials.holds(path, 0)
    elif params.representative == "row":
        path = weakest_links(rows_for_all(standing))
    else:
        path = weakest_links(for_all(standing))
    path, steps = _furthest(trials, path, limit)
    if params.representative == "domain":
        path = _rounded(trials, path, steps)
    trials.take(path, steps)
    found = finished(params, path, steps)
    return Found(found, (*notes, *_kept_exact(found)), pd.DataFrame(trials.steps))


def _spared(trials: Trials, sample: Sample) -> list[Attribute]:
    """Return the attributes that are not asked for from the outset; actual rows stand for all that they hold."""
    found = [] if trials.params.representative == "row" else idle(sample)
    if not found:
        return []
    alone = unpruned(for_root(sample.only(found)))
    held = trials.holds(alone, 0, f"without {', '.join(each.name for each in found)}")
    return found if held or trials.agreement == 1 else []


def _settled(trials: Trials, sample: Sample, limit: float, growths: float) -> Standing | None:
    """Give attributes back until all leaves hold, and try those once more; None where all are given back."""
    back: list[Attribute] = []
    while sample.attributes and growths > 0:
        standing, growths = _grown(trials.params, sample), growths - 1
        finest = unpruned(standing)
        if trials.holds(finest, 0):
            trials.start()
            return _tried_again(trials, standing, back, limit, growths)
        # fit rows tell less error than fresh ones: it has to fall in proportion
        more = given_back(standing, finest.errors[0] * limit / max(1 - trials.agreement, limit, 1e-9))
        for attribute in more:
            trials.gave_back(attribute.name)
        sample = sample.without(more)
        back += more
    return None


def _tried_again(trials: Trials, standing: Standing, back: list[Attribute], limit: float, growths: float) -> Standing:
    """Try once more to do without what was given back, else to generalise it; the last that was given back first.

    Several are given back at a time, by what fit rows tell: once the target holds, some may not be needed as they are.
    That ends where little agreement is left for them to use, or trees were grown in vain.
    """
    agreed, vain = trials.agreement, 0
    for attribute in reversed(back):
        if 1 - agreed > ROOM * limit or vain == IN_VAIN or not growths:
            break
        without = replace(standing, sample=standing.sample.sparing([attribute]))
        if trials.params.representative == "domain" and trials.holds(unpruned(without), 0, f"without {attribute.name}"):
            standing = with_errors(without.sample, standing.tree, standing.leaves, standing.values)
        else:
            grown, growths = _grown(trials.params, standing.sample.again(attribute)), growths - 1
            if not trials.holds(unpruned(grown), 0):
                trials.forget()
                vain += 1
                continue
            standing = grown
        trials.start()
        agreed = trials.agreement
    return standing


def allowance(problem: Problem) -> float:
    """Return the error on calibration rows with which the report rows are still expected to show the target.

    For regression it is taken without a margin, 1 - target: it guides, and does not decide.
    """
    if problem.regression:
        return 1 - problem.target
    rows = len(problem.calibration)
    low, high = -1, rows
    while high - low > 1:
        middle = (low + high) // 2
        assured = bounds.assured(
            rows - middle, rows, problem.report_rows, problem.target, problem.looks, problem.chance
        )
        low, high = (middle, high) if assured else (low, middle)
    return low / max(rows, 1)


def _grown(params: declarations.Tree, sample: Sample) -> Standing:
    seed = derived_seed(sample.problem.seed, "minimization-tree")
    tree, leaves = grow(sample.ranks, sample.targets(), params.min_rows, params.max_depth, seed)
    return (rows_for_leaves if params.representative == "row" else for_leaves)(sample, tree, leaves)


def _furthest(trials: Trials, path: Path, limit: float) -> tuple[Path, int]:
    """Return the path, and the steps on it that hold on the calibration rows, with more privacy.

    It is the one given, or that with most children raised of those that hold.
    """
    reached = [(path, _last(trials, path))]
    # A child raised saves a cell its bounds, but no attribute its cuts elsewhere.
    paths = raised(path, limit)[1:] if trials.params.use == "representatives" else []
    holding = next((each for each in reversed(paths) if trials.holds(each, 0)), None)
    if holding is not None:
        reached.append((holding, _last(trials, holding)))
    return max(reversed(reached), key=lambda each: float(each[0].privacy[each[1]]))


def _last(trials: Trials, path: Path) -> int:
    """Return the most steps that hold, as if more steps never held where fewer do not; none are known to hold."""
    low, high = 0, len(path) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if trials.holds(path, middle) else (low, middle)
    return low


def _rounded(trials: Trials, path: Path, steps: int) -> Path:
    """Return the path with rounded middles standing for its cells where that changes no more answers, if it holds."""
    nodes = np.flatnonzero(path.cells(steps))
    rounder = replace(path, standing=rounded(path.standing, nodes))
    return rounder if trials.holds(rounder, steps) else path


def _kept_exact(found: Generalizer) -> list[str]:
    names = [repr(each.attribute.name) for each in found.ranges if each.exact]
    return [f"the search left these as they are: {', '.join(names)}"] if 0 < len(names) < len(found.ranges) else []
