"""Whether a model answers for each row by itself, as everything here takes for granted."""

import numpy as np

from components.minimization.asking import Asked
from components.minimization.problem import Answers, Rows
from components.randomness import stream
from schemas.faults import ConfigurationError, Fault

ASKED_AGAIN = 300
"""Most rows that are asked about twice."""

TOLERANCE = 1e-4
"""Difference of two numbers, relative to them and to the spread of all, that single precision may make."""


def refuse_unsteady(asked: Asked, rows: Rows, seed: int) -> None:
    """Ask about some rows again, fewer, in another order and under new labels, and refuse a model that then differs.

    An answer that hangs on a row's place, on the rows beside it or on chance would be kept, or lost, whatever is
    collected: no agreement means anything then.

    Parameters
    ----------
    asked : Asked
    rows : Rows
        With the answers that the model gave when it was asked about all of them.
    seed : int
        The run's root seed; the stream is ``minimization-steadiness``.

    Raises
    ------
    ConfigurationError
        Answers differ; told by count.
    """
    places = stream(seed, "minimization-steadiness").permutation(len(rows))[:ASKED_AGAIN]
    again = asked(rows.frame.iloc[places].reset_index(drop=True))
    if changed := int(np.count_nonzero(_differ(rows.answers[places], again, rows.answers))):
        raise ConfigurationError(
            Fault(
                "model",
                f"{changed} of {len(places)} rows get another answer when they are asked about again in another order",
                "the answer to a row hangs on that row alone",
                "take chance, row numbers and what is computed over all rows out of the model",
            )
        )


def _differ(answers: Answers, again: Answers, every: Answers) -> Answers:
    """Return the rows of which any output differs; numbers may differ by rounding."""
    if not np.issubdtype(every.dtype, np.floating):
        changed: Answers = (answers != again).any(axis=1)
        return changed
    allowed = TOLERANCE * np.maximum(np.abs(answers), every.std(axis=0))
    off: Answers = (~(np.abs(again - answers) <= allowed)).any(axis=1)
    return off
