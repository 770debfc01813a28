"""The drift check of one round: scores, who is flagged, and what is done about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, inf, sqrt

import numpy as np

from components.federation.drift.declarations import Drift
from components.federation.drift.distances import FloatArray, Metric, distances
from components.federation.drift.scoring import FAR, ROUNDING, BoolArray, beyond_noise, scores, threshold
from components.federation.layout import Layout

Streaks = dict[str, int]
"""How many rounds running each client was flagged, of those it took part in. All that a later round needs."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What the check of one round found; arrays have one entry a client.

    Parameters
    ----------
    clients : tuple of str
    scores : ndarray of float
    threshold : float
        What a score must exceed.
    within_noise : ndarray of bool
        Over the threshold, and not flagged, because its own noise could well have put it there.
    flagged : ndarray of bool
    excluded : ndarray of bool
        Left out of the round.
    factors : ndarray of float
        What the client's weight in the aggregation is multiplied by: 1, 0 or the down-weight.
    streaks : dict of str to int
        For the next round's check.
    """

    clients: tuple[str, ...]
    scores: FloatArray
    threshold: float
    within_noise: BoolArray
    flagged: BoolArray
    excluded: BoolArray
    factors: FloatArray
    streaks: Streaks


def check(
    params: Drift,
    layout: Layout,
    clients: Sequence[str],
    sets: FloatArray,
    *,
    noise: FloatArray | None = None,
    streaks: Mapping[str, int] | None = None,
) -> Checked:
    """Score a round's clients, flag those that stand apart, and say what is done about them.

    Parameters
    ----------
    params : Drift
    layout : Layout
    clients : sequence of str
        Those that came.
    sets : ndarray, shape (clients, size)
        Their weights as the server sees them, noise and all: the global weights plus their updates.
    noise : ndarray, shape (clients,), optional
        Known standard deviation of the noise on each number of a client's set.
    streaks : mapping of str to int, optional
        Of the last round.

    Returns
    -------
    Checked
        With one client or two, nobody is flagged: neither stands further from the other. The largest share allowed
        is rounded down; where more clients would be acted on, those with the highest scores are.

    Raises
    ------
    ValueError
        A weight is not finite (such updates are refused before), or there is no row per client.
    """
    if sets.shape != (len(clients), layout.size) or not np.isfinite(sets).all():
        raise ValueError("the check takes one row of finite weights per client")
    known = noise if params.noise_correction else None
    scored = scores(distances(sets, layout, params.metric, known), params.score)
    limit = threshold(scored, params.c, params.ratio, _far(params.metric, layout))
    over = scored > limit
    within = np.zeros_like(over)
    if known is not None:
        parts = layout.slices if params.metric == "layerwise" else (slice(0, layout.size),)
        beyond = [beyond_noise(sets[:, part], known, params.score, len(parts)) for part in parts]
        within = over & ~np.any(beyond, axis=0)
    flagged = over & ~within
    before = streaks or {}
    now = {client: before.get(client, 0) + 1 if flag else 0 for client, flag in zip(clients, flagged, strict=True)}
    lasting = np.array([now[client] >= params.rounds for client in clients], dtype=bool)
    acted = _highest(scored, lasting, clients, floor(params.max_share * len(clients) + ROUNDING))
    factor = {"exclude": 0.0, "down_weight": params.weight, "report": 1.0}[params.action]
    return Checked(
        clients=tuple(clients),
        scores=scored,
        threshold=limit,
        within_noise=within,
        flagged=flagged,
        excluded=acted & (params.action == "exclude"),
        factors=np.where(acted, factor, 1.0),
        streaks={**before, **now},
    )


def _far(metric: Metric, layout: Layout) -> float:
    """Return the score from which a client counts as far off, however far from one another the others stand."""
    return {"flat": FAR, "layerwise": FAR * sqrt(len(layout.names)), "plain": inf}[metric]


def _highest(scored: FloatArray, some: BoolArray, clients: Sequence[str], most: int) -> BoolArray:
    """Return the `most` of `some` with the highest scores; of equal scores, the first by name."""
    ranked = sorted(np.flatnonzero(some).tolist(), key=lambda client: (-scored[client], clients[client]))
    chosen = np.zeros_like(some)
    chosen[ranked[:most]] = True
    return chosen
