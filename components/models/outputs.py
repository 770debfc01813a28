"""What models put out, whatever its form, as positions among classes, scores per class, or numbers.

The forms, for `n` rows: labels (n,) or (n, 1); probabilities or logits (n, classes), or one column, which is then of
the last of two classes; numbers (n,) or (n, 1). Several outputs are a list of these, or one column each.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import expit, softmax

from components.models.target import Numbers, Target
from schemas.dataset import TEXT_LIKE
from schemas.faults import ConfigurationError, Fault

Outputs = Literal["labels", "probabilities", "logits"]

SUM_TOLERANCE = 1e-3
"""How far from 1 the probabilities of a row may add up to: they may come rounded, or in half precision."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model says of rows.

    Parameters
    ----------
    numbers : numpy.ndarray, shape (rows,)
        Positions among the classes (int64), or numbers (float64).
    scores : numpy.ndarray of float64, shape (rows, classes), or None
        Probabilities; None for labels and for regression.
    """

    numbers: Numbers
    scores: Numbers | None = None


def answer(raw: Any, form: Outputs, *, classes: int, rows: int) -> Answer:
    """Read one output that is given as numbers; labels are positions among the classes.

    Parameters
    ----------
    raw : array-like or torch.Tensor
        In one of the forms of this module.
    form : {"labels", "probabilities", "logits"}
        What classifiers put out; means nothing in regression.
    classes : int
        How many; 0 in regression.
    rows : int
        How many were asked about.

    Returns
    -------
    Answer
        Of equally likely classes the first is taken.

    Raises
    ------
    ConfigurationError
        Another shape, no finite numbers, positions of no class, no probabilities; told by count.
    """
    found = _numeric(raw)
    if not classes:
        return Answer(_finite(_column(found, rows)))
    if form == "labels":
        return Answer(_positions(_column(found, rows), classes))
    scores = _scores(found, form, classes, rows)
    return Answer(scores.argmax(axis=1).astype(np.int64), scores)


def answers(raw: Any, form: Outputs, *, classes: Sequence[int], rows: int) -> list[Answer]:
    """Read several outputs, each as `answer` does.

    Parameters
    ----------
    raw : sequence of arrays, or array-like
        One array per output, or shape (rows, outputs): labels, numbers, or what stands for the last of two classes.
    form : {"labels", "probabilities", "logits"}
    classes : sequence of int
        Of each output; 0 where it is a number.
    rows : int

    Returns
    -------
    list of Answer
        One per output.
    """
    return [
        answer(part, form, classes=count, rows=rows)
        for part, count in zip(separate(raw, len(classes), rows), classes, strict=True)
    ]


def separate(raw: Any, outputs: int, rows: int) -> list[Any]:
    """Take several outputs apart: a list of arrays, or a table; ``ConfigurationError`` where there are not as many.

    A list of lists is a table, row by row, as it is everywhere else.
    """
    if isinstance(raw, list | tuple) and len(raw) == outputs and all(_has_rows(part, rows) for part in raw):
        return list(raw)
    lists = isinstance(raw, list | tuple)
    try:
        table = np.asarray(plain(raw), dtype=object if lists else None)  # texts would make texts of numbers beside them
    except ValueError:
        raise ConfigurationError(Fault("model", "gives rows of unequal length")) from None
    if table.shape != (rows, outputs):
        raise _misshapen(table, f"{outputs} arrays of {rows} rows, or ({rows}, {outputs})")
    return list(table.T)


def _has_rows(part: Any, rows: int) -> bool:
    return hasattr(part, "shape") and tuple(part.shape[:1]) == (rows,)


def label_positions(raw: Any, target: Target, rows: int) -> npt.NDArray[np.int64]:
    """Return the positions of labels that are given as the target's own values.

    Parameters
    ----------
    raw : array-like, shape (rows,) or (rows, 1)
        Values of the target; where these are texts, numbers are taken as positions among the classes, unless a class
        is a number in text.
    target : Target
        Of a classification.
    rows : int

    Raises
    ------
    ConfigurationError
        Another shape, missing or unknown labels; told by count.
    """
    values = _column(np.asarray(plain(raw)), rows)
    if values.dtype == object:
        values = np.asarray(pd.Series(values).infer_objects())
    if missing := int(pd.isna(values).sum()):
        raise _some(missing, rows, "have no label")
    if values.dtype.kind in "iuf" and target.dtype in TEXT_LIKE:
        if any(str(name).strip().isdecimal() for name in target.classes):
            problem = "gives numbers where classes are numbers in text: they may be labels or positions"
            raise ConfigurationError(Fault("model", problem, "labels as text"))
        return _positions(values, len(target.classes))
    texts = values.dtype.kind in "OU"
    if texts != (target.dtype in TEXT_LIKE):
        raise ConfigurationError(Fault("model", "gives labels of another kind", f"{target.dtype} values of the target"))
    named = pd.Series(values, dtype="str") if texts else pd.Series(_whole(values))
    positions = np.asarray(target.encode(pd.DataFrame({target.column: named})), dtype=np.int64)
    if unknown := int((positions < 0).sum()):
        raise _some(unknown, rows, "have a label that is no class of the target")
    return positions


def plain(raw: Any) -> Any:
    """Return what torch holds as numpy does; all else as it is."""
    return raw.detach().cpu().numpy() if hasattr(raw, "detach") else raw


def _numeric(raw: Any) -> npt.NDArray[np.float64]:
    try:
        return np.asarray(plain(raw), dtype=np.float64)
    except (ValueError, TypeError):
        raise ConfigurationError(Fault("model", "gives something that is no table of numbers")) from None


def _column(found: Numbers, rows: int) -> Numbers:
    if found.shape not in {(rows,), (rows, 1)}:
        raise _misshapen(found, f"({rows},) or ({rows}, 1)")
    return found.reshape(rows)


def _finite(numbers: Numbers) -> Numbers:
    odd = ~np.isfinite(numbers)
    if bad := int((odd if odd.ndim == 1 else odd.any(axis=1)).sum()):
        raise _some(bad, len(numbers), "have what is no finite number")
    return numbers


def _whole(values: Numbers) -> npt.NDArray[np.int64]:
    if bad := int((values != np.floor(_finite(values.astype(np.float64)))).sum()):
        raise _some(bad, len(values), "have a label that is no whole number")
    return values.astype(np.int64)


def _positions(values: Numbers, classes: int) -> npt.NDArray[np.int64]:
    positions = _whole(values)
    if bad := int(((positions < 0) | (positions >= classes)).sum()):
        raise _some(bad, len(values), f"have a position that is none of {classes} classes")
    return positions


def _scores(found: Numbers, form: Outputs, classes: int, rows: int) -> Numbers:
    """Return probabilities, shape (rows, classes)."""
    single = classes == 2 and found.shape in {(rows,), (rows, 1)}
    if not single and found.shape != (rows, classes):
        raise _misshapen(found, f"({rows}, {classes})" + (f", ({rows},) or ({rows}, 1)" if classes == 2 else ""))
    _finite(found)
    if form == "logits":
        if not single:
            return np.asarray(softmax(found, axis=1))
        logits = found.reshape(rows)
        return np.column_stack([expit(-logits), expit(logits)])
    if single:
        found = np.column_stack([1 - found.reshape(rows), found.reshape(rows)])
    outside = ((found < -SUM_TOLERANCE) | (found > 1 + SUM_TOLERANCE)).any(axis=1)
    if bad := int((outside | (np.abs(found.sum(axis=1) - 1) > SUM_TOLERANCE)).sum()):
        raise _some(bad, rows, "have no probabilities", "in [0, 1], adding up to 1")
    return found


def _misshapen(found: Numbers, wanted: str) -> ConfigurationError:
    return ConfigurationError(Fault("model", f"gives an output of shape {found.shape}", wanted))


def _some(count: int, rows: int, problem: str, allowed: str = "", remedy: str = "") -> ConfigurationError:
    return ConfigurationError(Fault("model", f"{count} of {rows} rows {problem}", allowed, remedy))
