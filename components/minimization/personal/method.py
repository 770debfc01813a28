"""Personal disclosure: ask features one at a time until the model's answer is sure, else all of them.

The order follows what an answer is expected to tell, as in the trees of Quinlan (1986); what was asked stays known, so
that it can be split by again at no cost.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from components.data.order import canonical_order
from components.minimization.attributes import BELOW, Attribute, Codes
from components.minimization.declarations import Personal
from components.minimization.necessity import typical
from components.minimization.partitions import middle
from components.minimization.personal.bins import Binned
from components.minimization.personal.closing import Ends, kept
from components.minimization.personal.evidence import Bools, Classes, Evidence, Floats, Integers, Numbers
from components.minimization.personal.growing import Growth, Material, grow, nodes_of
from components.minimization.personal.questions import Questions
from components.minimization.personal.spare import spare_ones
from components.minimization.personal.supplement import supplemented
from components.minimization.problem import Problem, Rows, agree, replaced
from components.minimization.result import Found
from components.randomness import stream

SAMPLE = 5_000
"""Most fit rows that the model is asked about again, once or twice for each attribute."""

SAFER = 0.25
"""Share of delta that made-up rows aim at: they are like real rows only as far as was asked."""


def search(params: Personal, problem: Problem) -> Found:
    """Find what to ask, in which order, and where the answer is sure.

    The chance that the model, told everything, would answer otherwise is at most ``delta``, with 95 % confidence,

    - at each end with enough fit rows to show it by themselves, unless calibration rows refute it;
    - over the other ends that answer, taken together, as calibration rows show.

    Of numbers, the mean square that an answer is off is at most ``delta`` times the variance over all fit rows, which
    keeps R2 at 1 - ``delta`` or more. Everywhere else everything is asked, but for what the model can do without, and
    the model answers. Agreement over all rows is assured beside that, as for every method.

    Parameters
    ----------
    params : Personal
    problem : Problem

    Returns
    -------
    Found
        Its ``minimized`` are `Questions`.
    """
    fit = problem.fit.taken(canonical_order(problem.fit.frame))  # so that the same rows give the same questions
    evidence: Evidence = (Numbers if problem.regression else Classes).of(fit.answers, params.delta)
    defaults = {each.name: _default(each, fit.codes[each.name]) for each in problem.attributes}
    spare = spare_ones(problem, fit.taken(_sample(fit, problem.seed)), defaults, evidence)
    spared = np.array([each.name in spare for each in problem.attributes])
    growth, material = _grown(params, problem, fit, evidence, spared)
    labels = np.array([material.evidence.answer(rows) for rows in growth.rows])
    nodes = nodes_of(growth, material.binned)
    grown = Questions(problem.attributes, nodes, labels, defaults, params.outside, spare)
    questions, steps = kept(problem, grown, evidence, _ends(growth, material.evidence, spared, len(fit)))
    return Found(questions, _notes(questions, fit), steps)


def _grown(params: Personal, problem: Problem, fit: Rows, evidence: Evidence, spared: Bools) -> tuple[Growth, Material]:
    """Grow the tree on the fit rows, then, where those are too few to be sure, on made-up rows, too."""
    binned = [Binned.of(each, fit.codes[each.name]) for each in problem.attributes]
    offsets = np.cumsum([0, *(each.size for each in binned[:-1])])
    material = Material(
        binned,
        np.column_stack([each.place(fit.codes[each.attribute.name]) for each in binned]) + offsets,
        evidence,
        np.array([problem.weight(each.name) for each in problem.attributes]),
        _swayed(problem, fit),
        params.min_rows,
        params.parts,
    )
    growth = Growth.of(material)
    grow(growth, material, [0], max(2 * params.min_rows, evidence.fewest + params.min_rows), evidence.sure)
    unsure = [end for end in _saving(growth, spared) if not evidence.sure(growth.rows[end])]
    material = supplemented(growth, material, problem, fit, np.array(unsure, dtype=np.int64))
    safer = material.evidence.stricter(SAFER * params.delta)
    grow(growth, material, unsure, 2 * params.min_rows, safer.sure)
    return growth, material


def _saving(growth: Growth, spared: Bools) -> list[int]:
    """Return the ends that leave out something that is asked where everything is."""
    return [int(end) for end in growth.ends if not (growth.known[end] | spared).all()]


def _ends(growth: Growth, evidence: Evidence, spared: Bools, fit_rows: int) -> Ends:
    """Return the ends that save questions, with what their rows say of them."""
    numbers = _saving(growth, spared)
    rows = [growth.rows[end] for end in numbers]
    return Ends(
        np.array(numbers, dtype=np.int64),
        sure=np.array([evidence.sure(each[each < fit_rows]) for each in rows], dtype=np.bool_),
        risk=np.array([(evidence.wrong(each) + 0.5) / (len(each) + 1) for each in rows]),
        saved=np.array([np.count_nonzero(~(growth.known[end] | spared)) for end in numbers]),
    )


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
        return ("no answer is sure before everything was asked",)
    return ()
