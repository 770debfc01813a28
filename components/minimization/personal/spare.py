"""Attributes that nobody needs to be asked for, since the model's answers hardly hang on them."""

import numpy as np

from components.minimization.personal.evidence import Evidence
from components.minimization.problem import Answers, Problem, Rows, replaced

SHARE = 0.1
"""Share of delta that doing without them may cost over all rows: it falls on the few who are asked everything."""


def spare_ones(problem: Problem, rows: Rows, defaults: dict[str, float], evidence: Evidence) -> tuple[str, ...]:
    """Return as many attributes as the model can do without, all at once, those first that change least by themselves.

    Parameters
    ----------
    problem : Problem
    rows : Rows
        Fit rows that the model is asked about again.
    defaults : dict of str to float
        Code that the model gets instead.
    evidence : Evidence
        Says how sure the answers have to be.
    """

    def without(names: list[str]) -> Answers:
        codes = {name: np.full_like(rows.codes[name], defaults[name]) for name in names}
        return problem.ask(replaced(rows.frame, problem.attributes, codes))

    off = [evidence.off(without([each.name]), rows.answers) for each in problem.attributes]
    order = [problem.attributes[place].name for place in np.argsort(off, kind="stable")]
    strict = evidence.stricter(SHARE * evidence.delta)
    enough, beyond = 0, len(order) + 1
    while beyond - enough > 1:
        half = (enough + beyond) // 2
        good = strict.shown(without(order[:half]), rows.answers)
        enough, beyond = (half, beyond) if good else (enough, half)
    return tuple(sorted(order[:enough]))
