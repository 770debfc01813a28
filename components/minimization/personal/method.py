"""Personal disclosure: ask features one at a time until the model's answer is sure, else all of them.

The order follows what an answer is expected to tell, as in the trees of Quinlan (1986); what was asked stays known, so
that it can be split by again at no cost.
"""

from collections.abc import Callable, Collection
from functools import cache

import numpy as np

from components.minimization.attributes import BELOW, Attribute, Codes
from components.minimization.declarations import Personal
from components.minimization.necessity import typical
from components.minimization.partitions import middle
from components.minimization.personal.bins import Binned
from components.minimization.personal.closing import kept
from components.minimization.personal.evidence import Bools, Classes, Evidence, Floats, Integers, Numbers
from components.minimization.personal.growing import Growth, Material, grow, nodes_of
from components.minimization.personal.questions import Questions
from components.minimization.personal.spare import spare_ones
from components.minimization.personal.supplement import supplemented
from components.minimization.problem import Problem, Rows, agree, replaced
from components.minimization.result import Found
from components.minimization.tree.idle import idle
from components.minimization.tree.sample import Sample
from components.randomness import stream

SAMPLE = 5_000
"""Most fit rows that the model is asked about again, once or twice for each attribute."""


def search(params: Personal, problem: Problem) -> Found:
    """Find what to ask, in which order, and where the answer is sure.

    Some ends are tested: calibration rows, which had no part in growing the tree, show with 95 % confidence that of all
    who come to any of them at most a share of ``delta`` would get another answer from the model if it were told
    everything. These ends answer, unless calibration rows then refute one by itself: there everything is asked after
    all. So the bound is of the tested ends together. Of a single one no more is known than that the fit rows expect it
    to be wrong at most that often, which is no bound since they chose it, and that it is not refuted.

    Of numbers, it is the mean square that an answer is off that is at most ``delta`` times the variance over all fit
    rows. Everywhere else everything is asked, but for what the model can do without, and the model answers: of that
    there is no bound by itself. Agreement over all rows, R2 of numbers, is assured beside, as for every method.

    Parameters
    ----------
    params : Personal
    problem : Problem

    Returns
    -------
    Found
        Its ``minimized`` are `Questions`.
    """
    fit = problem.fit.in_order()
    evidence: Evidence = (Numbers if problem.regression else Classes).of(fit.answers, params.delta)
    usual = _unneeded(problem)
    defaults = {each.name: usual.get(each.name, _default(each, fit.codes[each.name])) for each in problem.attributes}
    spare = spare_ones(problem, fit.taken(_sample(fit, problem.seed)), defaults, evidence)
    spare = tuple(sorted(usual.keys() | set(spare)))
    spared = np.array([each.name in spare for each in problem.attributes])
    growth, material = _grown(params, problem, fit, evidence, spared, _closed(problem, usual))
    labels = np.array([material.evidence.answer(rows) for rows in growth.rows])
    nodes = nodes_of(growth, material.binned)
    grown = Questions(problem.attributes, nodes, labels, defaults, params.outside, spare)
    questions, steps = kept(problem, grown, evidence, _likely(growth, material.evidence, spared, params.delta))
    return Found(questions, _notes(questions, fit), steps)


def _grown(
    params: Personal, problem: Problem, fit: Rows, evidence: Evidence, spared: Bools, closed: Bools
) -> tuple[Growth, Material]:
    """Grow the tree on the fit rows, then, where those are too few to be sure, on made-up rows, too."""
    binned = [Binned.of(each, fit.codes[each.name]) for each in problem.attributes]
    offsets = np.cumsum([0, *(each.size for each in binned[:-1])])
    material = Material(
        binned,
        np.column_stack([each.place(fit.codes[each.attribute.name]) for each in binned]) + offsets,
        evidence,
        np.array(list(problem.every_weight().values())),
        closed,
        _swayed(problem, fit),
        len(fit),
        params.min_rows,
        params.parts,
    )
    growth = Growth.of(material)
    grow(growth, material, [0], max(2 * params.min_rows, evidence.fewest + params.min_rows), evidence.sure)
    unsure = [end for end in _saving(growth, spared) if not evidence.sure(growth.rows[end])]
    material = supplemented(growth, material, problem, fit, np.array(unsure, dtype=np.int64))
    grow(growth, material, unsure, 2 * params.min_rows, material.evidence.sure)
    return growth, material


def _unneeded(problem: Problem) -> dict[str, float]:
    """Return the attributes that change no answer (see `tree.idle`), with the codes by which they change none."""
    if (problem.fit.answers == problem.fit.answers[:1]).all():
        return {}  # then nothing is asked anyway
    sample = Sample.of(problem)
    return {each.name: sample.defaults[each.name] for each in idle(sample)}


def _closed(problem: Problem, unneeded: Collection[str]) -> Bools:
    """Tell the attributes that are never asked for: what changes no answer may still go along with one that does.

    Only where it is less sensitive is it worth asking for in its place.
    """
    weights = problem.every_weight()
    most = max((weight for name, weight in weights.items() if name not in unneeded), default=0.0)
    return np.array([name in unneeded and weight >= most for name, weight in weights.items()])


def _saving(growth: Growth, spared: Bools) -> list[int]:
    """Return the ends that leave out something that is asked where everything is."""
    return [int(end) for end in growth.ends if not (growth.known[end] | spared).all()]


def _likely(growth: Growth, evidence: Evidence, spared: Bools, delta: float) -> Integers:
    """Return the ends that save questions and are expected to be right, those first that are so most likely.

    Expected is the share of rows that the answer is wrong for, with Jeffreys' prior.
    """
    numbers = np.array(_saving(growth, spared), dtype=np.int64)
    risk = np.array([(evidence.wrong(growth.rows[end]) + 0.5) / (len(growth.rows[end]) + 1) for end in numbers])
    order = np.argsort(risk, kind="stable")
    return numbers[order[risk[order] <= delta]]


def _sample(fit: Rows, seed: int) -> Integers:
    """Return the places of the fit rows that the model is asked about again and again."""
    return np.sort(stream(seed, "minimization-personal").permutation(len(fit))[:SAMPLE])


def _default(attribute: Attribute, codes: Codes) -> float:
    """Return the code that values outside the domain count as: its middle, or its most frequent value."""
    return typical(attribute, codes) if attribute.kind == "nominal" else middle(attribute, BELOW, np.inf)


def _swayed(problem: Problem, fit: Rows) -> Callable[[], Floats]:
    """Return what says how far the answer to each fit row hangs on each attribute.

    The model is asked again with each attribute shuffled among the rows (Breiman 2001), once, when it is first needed.
    """

    @cache
    def swayed() -> Floats:
        sample = _sample(fit, problem.seed)
        draws = stream(problem.seed, "minimization-swayed")
        frame, answers = fit.frame.iloc[sample], fit.answers[sample]
        found = np.full((len(fit), len(problem.attributes)), np.nan)
        for place, each in enumerate(problem.attributes):
            shuffled = {each.name: draws.permutation(fit.codes[each.name][sample])}
            now = problem.ask(replaced(frame, problem.attributes, shuffled))
            found[sample, place] = ((now - answers) ** 2).mean(axis=1) if problem.regression else ~agree(answers, now)
        return found

    return swayed


def _notes(questions: Questions, fit: Rows) -> tuple[str, ...]:
    if (fit.answers == fit.answers[:1]).all():
        return ("the model answers all fit rows alike",)
    if len(questions.nodes) == 1:
        return ("no answer was shown to be sure before everything was asked",)
    return ()
