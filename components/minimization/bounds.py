"""What can be said of agreement on fresh rows: lower bounds, and the margin that a search keeps to meet them."""

from functools import lru_cache
from math import ceil, log

import numpy as np
import numpy.typing as npt
from scipy.stats import beta, betabinom, norm, t

CONFIDENCE = 0.95
"""Of every one-sided bound."""

ASSURANCE = 0.95
"""Chance that the verdict confirms what the search stops at, as far as the calibration rows tell."""

UNASKED = 0.998
"""The same where nobody asked for the target: no run should fail one time in twenty for what was not asked."""

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


def assured(
    agreeing: int, rows: int, report_rows: int, target: float, looks: int = 1, chance: float = ASSURANCE
) -> bool:
    """Say whether `report_rows` fresh rows would show `target` with a chance.

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
    looks : int, default 1
        Results that the same rows choose among, as far as they are told apart: the chance holds for all of them
        together (Bonferroni's inequality).
    chance : float, default `ASSURANCE`
    """
    allowed = most_disagreeing(report_rows, target)
    if allowed < 0 or rows == 0:
        return False
    return agreeing == rows or chance_to_show(agreeing, rows, report_rows, target) >= _of_all(looks, chance)


def chance_to_show(agreeing: int, rows: int, report_rows: int, target: float) -> float:
    """Return the chance that `report_rows` fresh rows show `target` (see `assured`)."""
    allowed = most_disagreeing(report_rows, target)
    if allowed < 0:
        return 0.0
    return float(betabinom.cdf(allowed, report_rows, rows - agreeing + 0.5, agreeing + 0.5))


def r2(truth: Floats, now: Floats) -> float:
    """Return R2 of `now` against `truth`, both of shape (rows, outputs): that of the worst output (see `r2_each`).

    A mean over outputs would let one that is ruined hide behind those that are kept.
    """
    return float(r2_each(truth, now).min())


def r2_each(truth: Floats, now: Floats) -> Floats:
    """Return R2 of each output of `now` against `truth`, both of shape (rows, outputs); shape (outputs,).

    An output that is constant counts 1 where it is met exactly, else 0.
    """
    return _r2(*_squares(truth, now))


def r2_lower_bounds(truth: Floats, now: Floats, rng: np.random.Generator) -> Floats:
    """Return the one-sided lower bound of each output's R2, shape (outputs,); never above the R2 that was measured.

    By the bootstrap over rows (Efron 1979, percentiles), in any order of rows. The least of these is a lower bound of
    the least R2, with the same confidence: it misses only where the bound of the worst output does (Berger 1982).

    Parameters
    ----------
    truth, now : ndarray, shape (rows, outputs)
    rng : numpy.random.Generator
    """
    order = np.lexsort(np.hstack([truth, now]).T)  # draws are of places: equal rows stand at equal places
    drawn = _resampled(truth[order], now[order], rng)
    return np.minimum(np.quantile(drawn, 1 - CONFIDENCE, axis=0), r2_each(truth, now))


def r2_assured(
    truth: Floats, now: Floats, report_rows: int, target: float, looks: int = 1, chance: float = ASSURANCE
) -> bool:
    """Say what `assured` says, for R2, by the standard error of the logarithm of 1 - R2.

    R2 of few rows leans to one side: a row that is far off costs more than many that are near can give. 1 - R2 is a
    ratio of two means of squares, and its logarithm leans less. Student's t stands for the normal. Every output has to
    be assured, and the chance holds for all of them together (Bonferroni's inequality).

    Parameters
    ----------
    truth, now : ndarray, shape (rows, outputs)
        Of the calibration rows.
    report_rows, target, looks, chance
        As for `assured`.
    """
    rows = len(truth)
    if report_rows < 1 or rows < 2:
        return False
    missed = 1 - r2_each(truth, now)
    off = missed > 0  # what is met exactly is assured
    if not off.any():
        return True
    scatter = r2_scatter(truth[:, off], now[:, off])
    here, there = scatter / np.sqrt(rows), scatter / np.sqrt(report_rows)
    each = _of_all(looks * int(np.count_nonzero(off)), chance)
    margin = norm.ppf(CONFIDENCE) * there + t.ppf(each, rows - 1) * np.hypot(here, there)
    return bool((np.log(missed[off]) + margin <= np.log(1 - target)).all())


def r2_scatter(truth: Floats, now: Floats) -> Floats:
    """Return the scatter of log(1 - R2) of each output, whose R2 is less than 1; shape (outputs,).

    By the root of the rows it is the standard error. It is told by leaving out one row at a time (jackknife, Tukey
    1958), which tends to tell too much rather than too little (Efron and Stein 1981): most where few rows hold most of
    the error. Where one row holds all of it, what is left without it counts as one row's share.
    """
    rows = len(truth)
    errors, squares = (now - truth) ** 2, (truth - truth.mean(axis=0)) ** 2
    spread = squares.sum(axis=0) - squares * rows / (rows - 1)  # the mean moves, too
    missed = 1 - _r2(errors.sum(axis=0) - errors, np.maximum(spread, 0.0))
    logarithms = np.log(np.maximum(missed, (1 - r2_each(truth, now)) / rows))
    found: Floats = np.sqrt((rows - 1) * ((logarithms - logarithms.mean(axis=0)) ** 2).sum(axis=0))
    return found


def _of_all(looks: int, chance: float) -> float:
    """Return the chance that each of several looks must have for all to have `chance`."""
    return 1 - (1 - chance) / looks


def _squares(truth: Floats, now: Floats) -> tuple[Floats, Floats]:
    return ((now - truth) ** 2).sum(axis=0), ((truth - truth.mean(axis=0)) ** 2).sum(axis=0)


def _r2(errors: Floats, spread: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(spread > 0, 1 - errors / spread, (errors == 0).astype(np.float64))


def _resampled(truth: Floats, now: Floats, rng: np.random.Generator) -> Floats:
    """Return R2 of `RESAMPLES` draws of rows with replacement, shape (RESAMPLES, outputs)."""
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
        found.append(_r2(times @ errors, np.maximum(spread, 0.0)))
    return np.concatenate(found)
