"""The budget arithmetic of a run, before anything is trained."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from components.dp.accounting import Epsilon, epsilon, multiplier_for, within
from components.dp.checks import mechanism_of, personalise_of
from components.dp.declarations import (
    Adaptive,
    ByEpsilon,
    ByMax,
    ByMean,
    ByMinMax,
    ByShift,
    ByTiers,
    Global,
    Noised,
    Personalized,
    Record,
)
from components.dp.personalising import Assigned, Basis, everyone_alike, personalised
from components.dp.releases import Releases
from components.dp.schedule import per_record, per_update
from components.dp.sensitivity import UNITS, sensitivity


@dataclass(frozen=True, slots=True)
class Training:
    """What of a run's training decides how often something is released.

    Parameters
    ----------
    rounds : int
        In which a client takes part at most.
    batch_size, epochs : int
        Of a round of DP-SGD.
    """

    rounds: int
    batch_size: int
    epochs: int


@dataclass(frozen=True, slots=True)
class Planned:
    """What is planned for one client.

    Parameters
    ----------
    multiplier : float or None
        Noise multiplier; None where there is nothing to release.
    basis : {"policy", "data-derived"}
    band : int or None
        Of tiers.
    per_round : tuple of Releases
        What each round releases: updates (or gradients), and an adaptive clip's votes after them.
    rounds : int
        How many the budget allows, of those that there are.
    epsilon : Epsilon
        After these rounds, with Renyi DP's figure as a check.
    """

    multiplier: float | None
    basis: Basis
    band: int | None
    per_round: tuple[Releases, ...]
    rounds: int
    epsilon: Epsilon

    @property
    def by_risk(self) -> bool:
        """Whether the multiplier follows a risk, its own or that of others."""
        return self.basis == "data-derived" or self.band is not None


def planned(
    privacy: Noised,
    rows: Mapping[str, int],
    training: Training,
    risks: Mapping[str, float] | None = None,
    weights: Mapping[str, float] | None = None,
) -> dict[str, Planned]:
    """Return multiplier, releases and epsilon of every client.

    Parameters
    ----------
    privacy : Noised
        Without fault (see `components.dp.checks`).
    rows : mapping of str to int
        Rows that each client trains on.
    training : Training
    risks : mapping of str to float, optional
        ARIREC of each client; asked for where multipliers follow it.
    weights : mapping of str to float, optional
        Fixed public weights of an average with noise for the largest one; equal without them.

    Returns
    -------
    dict of str to Planned

    Raises
    ------
    DataError
        A risk that is asked for is not known.
    """
    patterns = {client: _pattern(privacy, count, training, client, weights) for client, count in rows.items()}
    assigned = _assigned(privacy, patterns, training.rounds, risks)
    return {client: _planned(privacy, assigned[client], patterns[client], training.rounds) for client in rows}


def _pattern(
    privacy: Noised, rows: int, training: Training, client: str, weights: Mapping[str, float] | None
) -> tuple[Releases, ...]:
    """Return what one round releases, with a multiplier of 1."""
    mechanism = mechanism_of(privacy)
    units = sensitivity(UNITS[privacy.relation], privacy.relation, mechanism)
    if isinstance(privacy, Record):
        return per_record(rows, training.batch_size, training.epochs, 1, units)
    votes = privacy.clipping.vote_noise if isinstance(privacy.clipping, Adaptive) else None
    shared = weights if mechanism != "local" else None
    return per_update(1, units, votes, shared[client] / max(shared.values()) if shared else 1.0)


def _assigned(
    privacy: Noised, patterns: Mapping[str, tuple[Releases, ...]], rounds: int, risks: Mapping[str, float] | None
) -> dict[str, Assigned]:
    how = personalise_of(privacy)
    if isinstance(privacy, Global) and privacy.target_epsilon is not None:
        # One noise for all: that of the client who needs most of it.
        alike = Assigned(None, privacy.target_epsilon, "policy")
        needed = [_multiplier(privacy, alike, pattern, rounds) or 0.0 for pattern in patterns.values()]
        return everyone_alike(list(patterns), max(needed, default=0.0), None)
    if how is None:
        return everyone_alike(list(patterns), privacy.multiplier, privacy.target_epsilon)
    known = {client: (risks or {}).get(client, float("nan")) for client in patterns}
    if isinstance(how, ByTiers | ByEpsilon):
        return personalised(how, known)
    if privacy.target_epsilon is None:
        return personalised(how, known, dict.fromkeys(patterns, privacy.multiplier or 0.0))
    alike = Assigned(None, privacy.target_epsilon, "policy")
    enough = {client: _multiplier(privacy, alike, pattern, rounds) or 0.0 for client, pattern in patterns.items()}
    return _within_target(how, known, enough)


def _within_target(
    how: ByMax | ByMean | ByMinMax | ByShift, risks: Mapping[str, float], needed: Mapping[str, float]
) -> dict[str, Assigned]:
    """Return multipliers in the ratios of the risks, the least ones with which nobody exceeds the target epsilon.

    Rounding gives no client less than it needs.
    """
    ratios = {
        client: each.multiplier or 0.0 for client, each in personalised(how, risks, dict.fromkeys(risks, 1.0)).items()
    }
    shared = max((needed[client] / ratio for client, ratio in ratios.items()), default=0.0)
    return {
        client: Assigned(max(shared * ratio, needed[client]), None, "data-derived") for client, ratio in ratios.items()
    }


def _multiplier(privacy: Noised, assigned: Assigned, pattern: tuple[Releases, ...], rounds: int) -> float | None:
    if not pattern or not rounds:
        return None
    if assigned.target_epsilon is not None:
        return multiplier_for(assigned.target_epsilon, privacy.delta, _repeated(pattern, rounds))
    return assigned.multiplier


def _planned(privacy: Noised, assigned: Assigned, pattern: tuple[Releases, ...], rounds: int) -> Planned:
    multiplier = _multiplier(privacy, assigned, pattern, rounds)
    unclipped = isinstance(privacy, Personalized) and privacy.paper
    strength = 0.0 if unclipped else multiplier or 0.0
    per_round = tuple(replace(each, multiplier=each.multiplier * strength) for each in pattern)
    allowed = rounds if privacy.budget is None else _affordable(per_round, rounds, privacy.delta, privacy.budget)
    spent = epsilon(_repeated(per_round, allowed), privacy.delta, check=True)
    return Planned(multiplier, assigned.basis, assigned.band, per_round, allowed, spent)


def _affordable(per_round: tuple[Releases, ...], rounds: int, delta: float, budget: float) -> int:
    """Return the most rounds whose epsilon is within the budget."""
    low, high = 0, rounds
    while low < high:
        middle = (low + high + 1) // 2
        fits = within(_repeated(per_round, middle), delta, budget)
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _repeated(per_round: tuple[Releases, ...], rounds: int) -> tuple[Releases, ...]:
    return tuple(replace(each, times=each.times * rounds) for each in per_round)
