"""How good a model is on rows: figures with their intervals."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.stats import beta, rankdata, t

from components.data.table import Table
from components.models.interface import Model
from components.models.target import Numbers, Target, numbers_of
from schemas.faults import DataError, Fault

CONFIDENCE = 0.95
TAIL = (1 - CONFIDENCE) / 2

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure.

    Parameters
    ----------
    metric : str
        Name as in metrics.csv.
    value : float or None
        None where the figure is undefined on these rows; `note` then says why.
    low, high : float or None
        95 % confidence interval, taking rows as independent; None where none is given.
    unit : str
        Unit of the value; empty for shares and scores.
    note : str
        Why there is no value.
    column : str
        The target that it is about, where the model has several; empty for a figure of all of them.
    """

    metric: str
    value: float | None
    low: float | None = None
    high: float | None = None
    unit: str = ""
    note: str = ""
    column: str = ""


def utility(model: Model, table: Table) -> list[Figure]:
    """Measure a fitted model on rows.

    Parameters
    ----------
    model : Model
        Fitted.
    table : Table
        Rows with their target; a class that the model doesn't know counts as missed.

    Returns
    -------
    list of Figure
        Classification: ``accuracy`` (interval: Clopper and Pearson 1934), ``balanced_accuracy`` (mean recall over the
        classes that occur), ``f1`` (two classes: of the last declared one; more: mean over the classes that occur or
        are predicted), ``auc`` (two classes: of the last declared one; more: mean over the classes, each against the
        rest). Regression: ``mae``, ``mre`` (mean of absolute error / absolute value over the rows whose value isn't
        0), ``rmse`` (these three with an interval by Student's t on the rows' errors), ``r2``.
        Of several targets: all of these for each, under its name, and before them one figure of all: ``accuracy``, the
        share of rows with every target right, or ``r2``, the mean over the targets.

    Raises
    ------
    DataError
        There are no rows, or they don't fit the model.
    """
    if table.frame.empty:
        raise DataError(Fault("rows to measure on", "0 rows", "at least one"))
    targets = model.targets
    truth = np.column_stack([target.encode(table.frame) for target in targets])
    predicted = numbers_of(targets, model.predict(table.frame))
    regression = targets[0].task == "regression"
    found = None if regression else model.scores(table.frame)
    scores = [found] if len(targets) == 1 else found or [None] * len(targets)
    each = [_figures(*parts) for parts in zip(targets, truth.T, predicted.T, scores, strict=True)]
    if len(targets) == 1:
        return each[0]
    named = [replace(one, column=target.column) for target, some in zip(targets, each, strict=True) for one in some]
    hits = int((truth == predicted).all(axis=1).sum())
    return [_mean_r2(named) if regression else _share("accuracy", hits, len(truth)), *named]


def _figures(target: Target, truth: Numbers, predicted: Numbers, scores: Numbers | None) -> list[Figure]:
    """Measure what is predicted of one target, given as its numbers."""
    if target.task == "regression":
        return _regression(truth, predicted, target.unit)
    return [*_hits(truth, predicted, len(target.classes)), _auc(truth, scores)]


def _mean_r2(figures: Sequence[Figure]) -> Figure:
    """Return the mean over targets, none where one of them has none."""
    values = [figure.value for figure in figures if figure.metric == "r2"]
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return Figure("r2", None, note="these rows hold one value only of a target")
    return Figure("r2", float(np.mean(known)))


def _hits(truth: Numbers, predicted: Numbers, classes: int) -> list[Figure]:
    """Count what was predicted right; in the counts an unknown class is the last row."""
    counts = np.bincount(np.where(truth < 0, classes, truth) * (classes + 1) + predicted, minlength=(classes + 1) ** 2)
    counts = counts.reshape(classes + 1, classes + 1)
    right, occurs, given = np.diag(counts), counts.sum(axis=1), counts.sum(axis=0)
    accuracy = _share("accuracy", int(right.sum()), int(counts.sum()))
    recall = right[occurs > 0] / occurs[occurs > 0]
    either = occurs + given
    if classes == 2 and not either[1]:
        f1 = Figure("f1", None, note="the positive class neither occurs nor is predicted")
    elif classes == 2:
        f1 = Figure("f1", float(2 * right[1] / either[1]))
    else:
        f1 = Figure("f1", float(np.mean(2 * right[either > 0] / either[either > 0])))
    return [accuracy, Figure("balanced_accuracy", float(recall.mean())), f1]


def _share(metric: str, hits: int, rows: int) -> Figure:
    """Return a share with its exact interval (Clopper and Pearson 1934, as quantiles of beta distributions)."""
    low = float(beta.ppf(TAIL, hits, rows - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - TAIL, hits + 1, rows - hits)) if hits < rows else 1.0
    return Figure(metric, hits / rows, low, high)


def _auc(truth: Numbers, scores: Numbers | None) -> Figure:
    """Return the area under the ROC curve, from ranks (Mann and Whitney 1947)."""
    if scores is None:
        return Figure("auc", None, note="the model gives no scores")
    picked = [1] if scores.shape[1] == 2 else range(scores.shape[1])
    areas = [_area(truth == code, scores[:, code]) for code in picked if 0 < (truth == code).sum() < len(truth)]
    if not areas:
        return Figure("auc", None, note="these rows hold one class only")
    return Figure("auc", float(np.mean(areas)))


def _area(positive: npt.NDArray[np.bool_], score: Floats) -> float:
    """Return the share of pairs of a positive and another row that the score puts in order, ties counting half."""
    hits = int(positive.sum())
    others = len(positive) - hits
    return float((rankdata(score)[positive].sum() - hits * (hits + 1) / 2) / (hits * others))


def _regression(truth: Floats, predicted: Floats, unit: str) -> list[Figure]:
    errors = np.abs(predicted - truth)
    squares = _mean("rmse", errors**2)
    value, low, high = (
        None if part is None else float(np.sqrt(part)) for part in (squares.value, squares.low, squares.high)
    )
    sized = truth != 0
    spread = float(((truth - truth.mean()) ** 2).sum())
    return [
        _mean("mae", errors, unit),
        _mean("mre", errors[sized] / np.abs(truth[sized]))
        if sized.any()
        else Figure("mre", None, note="every value is 0"),
        Figure("rmse", value, low, high, unit),
        Figure("r2", 1 - float((errors**2).sum()) / spread)
        if spread
        else Figure("r2", None, note="these rows hold one value only"),
    ]


def _mean(metric: str, parts: Floats, unit: str = "") -> Figure:
    """Return the mean of what can't be negative, with Student's interval (from two rows on)."""
    mean = float(parts.mean())
    if len(parts) < 2:
        return Figure(metric, mean, unit=unit)
    half = float(t.ppf(1 - TAIL, len(parts) - 1) * parts.std(ddof=1) / np.sqrt(len(parts)))
    return Figure(metric, mean, max(mean - half, 0.0), mean + half, unit)
