"""Whether a model answers for each row by itself, as everything here takes for granted."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from components.minimization.problem import Answers, Ask, Rows
from components.randomness import stream
from schemas.faults import ConfigurationError, Fault

ASKED_AGAIN = 300
"""Most rows that are asked about again."""

ALONE = 5
"""Rows that are asked about one by one, and then once more with as many others."""

TOLERANCE = 1e-4
"""Difference of two numbers, relative to them and to the spread of all, that single precision may make."""


def refuse_unsteady(ask: Ask, rows: Rows, seed: int) -> None:
    """Ask about some rows again and refuse a model that then differs.

    They are asked about fewer, in another order and under new labels; some of them alone, and beside a few; and those
    of the most frequent answer, of the rarest, or of the lowest and highest numbers by themselves. An answer that hangs
    on a row's place, on the rows beside it or on chance would be kept, or lost, whatever is collected: no agreement
    means anything then.

    Parameters
    ----------
    ask : callable
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
    changed = np.zeros(len(rows), dtype=np.bool_)
    for batch in _batches(places, rows.answers):
        again = ask(rows.frame.iloc[batch].reset_index(drop=True))
        changed[batch] |= _differ(rows.answers[batch], again, rows.answers)
    if count := int(np.count_nonzero(changed)):
        raise ConfigurationError(
            Fault(
                "model",
                f"{count} of {len(places)} rows get another answer when they are asked about again in another order, "
                "alone or beside other rows",
                "the answer to a row hangs on that row alone",
                "take chance, row numbers and what is computed over all rows out of the model",
            )
        )


def _batches(places: npt.NDArray[np.int64], answers: Answers) -> Iterator[npt.NDArray[np.int64]]:
    """Yield the rows that are asked about together: all, few, one, and those that are answered alike."""
    yield places
    yield places[: 2 * ALONE]
    yield from np.split(places[:ALONE], len(places[:ALONE]))
    order = np.lexsort(answers[places].T)
    alike = places[order]
    if np.issubdtype(answers.dtype, np.floating):
        third = max(len(places) // 3, 1)
        yield alike[:third]
        yield alike[-third:]
        return
    _, answer, count = np.unique(answers[places], axis=0, return_inverse=True, return_counts=True)
    for one in {int(count.argmax()), int(count.argmin())}:
        yield places[answer.ravel() == one]


def _differ(answers: Answers, again: Answers, every: Answers) -> Answers:
    """Return the rows of which any output differs; numbers may differ by rounding."""
    if not np.issubdtype(every.dtype, np.floating):
        changed: Answers = (answers != again).any(axis=1)
        return changed
    allowed = TOLERANCE * np.maximum(np.abs(answers), every.std(axis=0))
    off: Answers = (~(np.abs(again - answers) <= allowed)).any(axis=1)
    return off
