"""The necessity audit: how many predictions change when a model is not told one attribute."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from components.data.order import canonical_order
from components.minimization.attributes import BELOW, Attribute, Codes
from components.minimization.bounds import lower_bound, r2, upper_bound
from components.minimization.problem import Answers, Ask, replaced
from components.minimization.result import Minimized
from components.randomness import stream

TOLERANCE = 0.1
"""A number counts as changed when it moves by more than this share of its standard deviation over the rows."""

SPARE = "could be left out"


def necessity(minimized: Minimized, frame: pd.DataFrame, ask: Ask, budget: int, seed: int) -> pd.DataFrame:
    """Return how many predictions change when an attribute is replaced by a constant.

    Parameters
    ----------
    minimized : Minimized
        Its attributes are looked at, one at a time.
    frame : pandas.DataFrame
        Rows; a sample is taken of them that does not depend on their order.
    ask : callable
        The model, or what stands in for it: it gives the answers with the attribute as well as those without.
    budget : int
        Most rows that the model is asked about for each attribute and state.
    seed : int
        The run's root seed.

    Returns
    -------
    pandas.DataFrame
        A row an attribute: ``attribute``; ``changed``, the share of rows with any other output (numbers: any that
        moved by more than `TOLERANCE` standard deviations), with ``low`` and ``high``, its one-sided 95 % bounds
        (Clopper and Pearson), and ``rows`` behind it; ``changed_minimized``, ``low_minimized`` and ``high_minimized``,
        the same for what the model says as it will be used; ``advice``, `SPARE` where an attribute is still collected
        and changes nothing any more. Of numbers also ``r2`` and ``r2_minimized``, between the answers with and without
        the attribute (of several outputs the least).

    Notes
    -----
    The constant is the median of the rows looked at (numbers, ordered values), or their most frequent value. An
    attribute that changes nothing by itself may still matter where another one that says the same is left out, too.
    """
    sample = _sample(frame, budget, seed)
    codes = minimized.encode(sample)
    losses = minimized.losses(codes)
    own, now = ask(sample), minimized.answers(sample, ask)
    found = []
    for attribute in minimized.attributes:
        constant = np.full_like(codes[attribute.name], typical(attribute, codes[attribute.name]))
        without = replaced(sample, (attribute,), {attribute.name: constant})
        before = _moved(own, ask(without), "")
        after = _moved(now, minimized.answers(without, ask), "_minimized")
        spare = losses[attribute.name] < 1 and after["changed_minimized"] == 0
        line = {"attribute": attribute.name, **before, "rows": len(sample), **after}
        found.append({**line, "advice": SPARE if spare else ""})
    return pd.DataFrame(found)


def typical(attribute: Attribute, codes: Codes) -> float:
    """Return the code that tells least of a row: the lower median, or the most frequent, of those that are known."""
    if attribute.kind == "nominal":
        return float(np.bincount(codes, minlength=len(attribute.values) + 1)[:-1].argmax())
    known = codes[codes != BELOW]
    return float(np.quantile(known, 0.5, method="lower")) if len(known) else attribute.missing


def _sample(frame: pd.DataFrame, budget: int, seed: int) -> pd.DataFrame:
    """Return at most `budget` rows, drawn from their canonical order."""
    if len(frame) <= budget:
        return frame
    drawn = stream(seed, "minimization-necessity").choice(len(frame), budget, replace=False)
    return frame.iloc[np.sort(canonical_order(frame)[drawn])]


def _moved(answers: Answers, now: Answers, suffix: str) -> dict[str, float]:
    numbers = answers.dtype.kind == "f"
    changed = _far(answers, now) if numbers else (answers != now).any(axis=1)
    hits, rows = int(np.count_nonzero(changed)), len(changed)
    found = {
        f"changed{suffix}": hits / rows,
        f"low{suffix}": lower_bound(hits, rows),
        f"high{suffix}": upper_bound(hits, rows),
    }
    return found | ({f"r2{suffix}": r2(answers, now)} if numbers else {})


def _far(answers: Answers, now: Answers) -> npt.NDArray[np.bool_]:
    allowed = TOLERANCE * answers.std(axis=0)
    far: npt.NDArray[np.bool_] = (np.abs(now - answers) > allowed).any(axis=1)
    return far
