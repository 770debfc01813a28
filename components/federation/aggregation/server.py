"""The server's step: from the updates of a round to the next global weights."""

from dataclasses import dataclass

import numpy as np

from components.federation.aggregation.checks import least_clients
from components.federation.aggregation.declarations import Aggregation, Krum, Mean, Median, MultiKrum, Rule, TrimmedMean
from components.federation.aggregation.rules import (
    BoolArray,
    FloatArray,
    canonical_order,
    krum_chosen,
    median,
    norm_bounded,
    trimmed_mean,
)
from components.federation.layout import Weights

LARGEST = 1e300
"""Squared norms stay below, so that no sum of a few of them overflows."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a round came to at the server.

    Parameters
    ----------
    weights : ndarray, shape (size,)
        The next global weights.
    update : ndarray, shape (size,)
        The aggregated update, before the server's learning rate.
    shares : ndarray, shape (clients,)
        What each client's (bounded) update was multiplied by in that sum; NaN where every coordinate has its own.
    stayed : str
        Why the global weights stayed as they were; empty where they did not.
    """

    weights: Weights
    update: Weights
    shares: FloatArray
    stayed: str = ""


def usable(updates: FloatArray) -> BoolArray:
    """Return which updates can be reckoned with: every number finite, and the squared norm far from overflow.

    The others are refused before anything is made of them, by whoever takes them in, so that they can be named.

    Parameters
    ----------
    updates : ndarray, shape (clients, size)

    Returns
    -------
    ndarray of bool, shape (clients,)
    """
    with np.errstate(over="ignore", invalid="ignore"):
        found: BoolArray = np.einsum("ij,ij->i", updates, updates) < LARGEST  # NaN is not
    return found


def aggregate(
    params: Aggregation,
    start: Weights,
    updates: FloatArray,
    weights: FloatArray,
    *,
    factors: FloatArray | None = None,
    fixed_divisor: bool = False,
) -> Step:
    """Make the next global weights.

    Parameters
    ----------
    params : Aggregation
    start : ndarray, shape (size,)
        The global weights.
    updates : ndarray, shape (clients, size)
        Of the clients that came, usable ones alone (see `usable`).
    weights : ndarray, shape (clients,)
        Their weights in the mean, as shares of what a round expects: see `client_weights`, divided by the
        rate at which clients are sampled. Other rules don't look at them.
    factors : ndarray, shape (clients,), optional
        What the drift check multiplies them by; 0 leaves a client out, under every rule.
    fixed_divisor : bool, optional
        The mean's weights are taken as they are: whoever did not come, or was left out, counts as an update of 0.
        Otherwise they are divided by the sum of those that are left.

    Returns
    -------
    Step
        With no client left, or fewer than the rule can do with, the global weights stay, and it says why.

    Raises
    ------
    ValueError
        An update is not usable, or a rule other than the mean is asked to give a client less weight.
    """
    if not usable(updates).all():
        raise ValueError("updates that can't be reckoned with are refused before they are aggregated")
    kept = np.ones(len(updates)) if factors is None else factors
    if not isinstance(params.rule, Mean) and not np.isin(kept, (0.0, 1.0)).all():
        raise ValueError(f"{params.rule.name} can leave a client out, and can't give it less weight")
    left = np.flatnonzero(kept)
    shares = np.zeros(len(updates))
    stayed = why_it_stays(params.rule, len(updates), len(left))
    if isinstance(params.rule, Mean) and not stayed and not weights[left].any():
        stayed = "no client that is left has any weight"
    if stayed:
        return Step(start.copy(), np.zeros_like(start), shares, stayed)
    left = left[canonical_order(updates[left])]
    some = updates[left] if params.norm_bound is None else norm_bounded(updates[left], params.norm_bound)
    update, shares[left] = _combined(params.rule, some, weights[left] * kept[left], fixed_divisor=fixed_divisor)
    return Step(start + params.learning_rate * update, update, shares)


def why_it_stays(rule: Rule, came: int, left: int) -> str:
    """Return why a round changes nothing; empty where it does.

    Parameters
    ----------
    rule : Rule
    came, left : int
        Clients that came, and those of them that nothing leaves out.
    """
    if not left:
        return "every client was left out" if came else "no client came"
    needed = least_clients(rule)
    return f"{rule.name} needs {needed} clients, and {left} of those that came are left" if left < needed else ""


def _combined(
    rule: Rule, updates: FloatArray, weights: FloatArray, *, fixed_divisor: bool
) -> tuple[Weights, FloatArray]:
    """Return the aggregated update, and what each update was multiplied by."""
    match rule:
        case Median():
            return median(updates), np.full(len(updates), np.nan)
        case TrimmedMean():
            return trimmed_mean(updates, rule.share), np.full(len(updates), np.nan)
        case Mean():
            total = 1.0 if fixed_divisor else weights.sum()
            shares = weights / total
        case Krum() | MultiKrum():
            keep = 1 if isinstance(rule, Krum) else rule.keep or len(updates) - rule.byzantine - 2
            shares = np.zeros(len(updates))
            shares[krum_chosen(updates, rule.byzantine, keep)] = 1 / keep
    return shares @ updates, shares
