"""What can be said of agreement on fresh rows: lower bounds, and the margin that a search keeps to meet them."""

from functools import lru_cache
from math import ceil, log

import numpy as np
import numpy.typing as npt
from scipy.stats import beta, betabinom, norm

CONFIDENCE = 0.95
"""Of every one-sided bound."""

ASSURANCE = 0.95
"""Chance that the verdict confirms what the search stops at, as far as the calibration rows tell."""

RESAMPLES = 1000
AT_ONCE = 2**18
"""Rows drawn at once: few calls for small tables, little memory for large ones."""

Floats = npt.NDArray[np.float64]


def least_rows(target: float) -> int:
    """Return the fewest rows that can show `target`: all agreeing, the lower bound is (1 - confidence)^(1/rows).

    Parameters
    ----------
    target : float
        In (0, 1).
    """
    return ceil(log(1 - CONFIDENCE) / log(target) - 1e-9)


def lower_bound(agreeing: int, rows: int) -> float:
    """Return the one-sided lower bound of a share (Clopper and Pearson 1934, a quantile of a beta distribution)."""
    return float(beta.ppf(1 - CONFIDENCE, agreeing, rows - agreeing + 1)) if agreeing else 0.0


def upper_bound(hits: int, rows: int) -> float:
    """Return the one-sided upper bound of a share (Clopper and Pearson 1934)."""
    return float(beta.ppf(CONFIDENCE, hits + 1, rows - hits)) if hits < rows else 1.0


@lru_cache(maxsize=256)
def most_disagreeing(rows: int, target: float) -> int:
    """Return how many of `rows` may disagree for the lower bound to be at least `target`; -1 where none may."""
    low, high = -1, rows
    while high - low > 1:  # the bound falls as disagreement grows
        middle = (low + high) // 2
        low, high = (middle, high) if lower_bound(rows - middle, rows) >= target else (low, middle)
    return low


def assured(agreeing: int, rows: int, report_rows: int, target: float) -> bool:
    """Say whether `report_rows` fresh rows would show `target` with the chance `ASSURANCE`.

    The number that disagree among them is beta-binomial: what `rows` calibration rows say of the true share (Jeffreys'
    prior), and chance among the fresh rows on top. Where rows are so few that not even full agreement gives it,
    full agreement is what is held to: there is nothing better to ask of them.

    Parameters
    ----------
    agreeing, rows : int
        Of the calibration rows.
    report_rows : int
        Rows that the verdict is judged on.
    target : float
    """
    allowed = most_disagreeing(report_rows, target)
    if allowed < 0 or rows == 0:
        return False
    return agreeing == rows or chance_to_show(agreeing, rows, report_rows, target) >= ASSURANCE


def chance_to_show(agreeing: int, rows: int, report_rows: int, target: float) -> float:
    """Return the chance that `report_rows` fresh rows show `target` (see `assured`)."""
    allowed = most_disagreeing(report_rows, target)
    if allowed < 0:
        return 0.0
    return float(betabinom.cdf(allowed, report_rows, rows - agreeing + 0.5, agreeing + 0.5))


def r2(truth: Floats, now: Floats) -> float:
    """Return R2 of `now` against `truth`, both of shape (rows, outputs): the mean over outputs.

    An output that is constant counts 1 where it is met exactly, else 0.
    """
    return float(_r2(*_squares(truth, now)).mean())


def r2_lower_bound(truth: Floats, now: Floats, rng: np.random.Generator) -> float:
    """Return the one-sided lower bound of R2 by the bootstrap over rows (Efron 1979, percentiles); any order of rows.

    Parameters
    ----------
    truth, now : ndarray, shape (rows, outputs)
    rng : numpy.random.Generator
    """
    order = np.lexsort(np.hstack([truth, now]).T)  # draws are of places: equal rows stand at equal places
    return float(np.quantile(_resampled(truth[order], now[order], rng), 1 - CONFIDENCE))


def r2_assured(truth: Floats, now: Floats, report_rows: int, target: float) -> bool:
    """Say what `assured` says, for R2, taking it as normal with the standard error of the delta method."""
    if report_rows < 1 or len(truth) < 2:
        return False
    scatter = r2_scatter(truth, now)
    here, there = scatter / np.sqrt(len(truth)), scatter / np.sqrt(report_rows)
    margin = norm.ppf(CONFIDENCE) * there + norm.ppf(ASSURANCE) * np.hypot(here, there)
    return bool(r2(truth, now) - margin >= target)


def r2_scatter(truth: Floats, now: Floats) -> float:
    """Return the standard deviation of one row's influence on R2; by the root of the rows it is the standard error.

    R2 of an output is 1 - E/S, the mean squared error by the variance. A row moves it by (E s / S - e) / S, where e and
    s are its own squares (delta method, e.g. van der Vaart 1998, chapter 3). An output that is constant has none.
    """
    errors, squares = (now - truth) ** 2, (truth - truth.mean(axis=0)) ** 2
    error, spread = errors.mean(axis=0), squares.mean(axis=0)
    varied = spread > 0
    error, spread = error[varied], spread[varied]
    influence = (error * squares[:, varied] / spread - errors[:, varied]) / spread
    return float(np.std(influence.sum(axis=1) / truth.shape[1]))


def _squares(truth: Floats, now: Floats) -> tuple[Floats, Floats]:
    return ((now - truth) ** 2).sum(axis=0), ((truth - truth.mean(axis=0)) ** 2).sum(axis=0)


def _r2(errors: Floats, spread: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(spread > 0, 1 - errors / spread, (errors == 0).astype(np.float64))


def _resampled(truth: Floats, now: Floats, rng: np.random.Generator) -> Floats:
    """Return R2 of `RESAMPLES` draws of rows with replacement, shape (RESAMPLES,)."""
    rows = len(truth)
    errors, moments = (now - truth) ** 2, np.hstack([truth - truth.mean(axis=0), (truth - truth.mean(axis=0)) ** 2])
    outputs = truth.shape[1]
    found = []
    at_once = max(AT_ONCE // rows, 1)
    for start in range(0, RESAMPLES, at_once):
        draws = min(at_once, RESAMPLES - start)
        drawn = rng.integers(0, rows, (draws, rows)) + rows * np.arange(draws)[:, np.newaxis]
        times = np.bincount(drawn.ravel(), minlength=draws * rows).reshape(draws, rows).astype(np.float64)
        sums = times @ moments
        spread = sums[:, outputs:] - sums[:, :outputs] ** 2 / rows
        found.append(_r2(times @ errors, np.maximum(spread, 0.0)).mean(axis=1))
    return np.concatenate(found)
