"""What a plan says of a comparison: its scenarios, what each would promise, and how long all would take."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from components.dp.claims import shown
from components.dp.conditions import NO_GUARANTEE, withdrawn
from components.dp.declarations import ByEpsilon, ByTiers, Noised, Record, Tier
from components.dp.planning import Planned, Training, planned
from components.federation.aggregation.declarations import Mean
from components.federation.aggregation.weights import client_weights
from components.federation.model import Space, network_of
from components.federation.scenarios import by_policy, comparable
from components.federation.setting import setting_of
from runner.noises import scenarios_of

A_ROW, A_WEIGHT, PRIVATE, A_TRAINING = 2e-7, 4e-9, 2.0, 0.1
"""Seconds of one core: a pass over a row, for each weight more, how often that for DP-SGD, and around a training."""


def comparison_lines(config: Any, rows: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield what each scenario would promise, and how many trainings there would be.

    Parameters
    ----------
    config : RunConfig
        With a comparison.
    rows : mapping of str to int
        Train rows of each client.
    """
    scenarios, by = scenarios_of(config), config.comparison.equalise
    firsts = {name: next(iter(some)) for some in comparable(scenarios).values() for name in some}
    for name, privacy in scenarios.items():
        yield "scenario", f"{name}: {_promise(config, privacy, rows, _followed(name, firsts, privacy, by))}"
    seeds, seconds = config.comparison.seeds, _seconds(config, scenarios, rows)
    told = f"{len(scenarios) * seeds} ({len(scenarios)} scenarios, {seeds} paired seeds)"
    yield "trainings", f"{told}, about {_duration(seconds)} on one core that nothing else is busy with"


def _followed(name: str, firsts: Mapping[str, str], privacy: Noised | None, by: str | None) -> str:
    """Return the scenario whose figure another is given; empty where it keeps its own noise."""
    first = firsts.get(name, name)
    return "" if by is None or privacy is None or by_policy(privacy) or first == name else first


def _promise(config: Any, privacy: Noised | None, rows: Mapping[str, int], followed: str) -> str:
    if privacy is None:
        return f"{NO_GUARANTEE}: dp=none"
    if reasons := withdrawn(setting_of(privacy, config.federation, learned_encoder=config.encoder.learn)):
        return f"{NO_GUARANTEE}: {'; '.join(reasons)}"
    kind = f"noise of dp={privacy.name}"
    if followed:
        return f"{kind}, as much as gives it the {config.comparison.equalise.replace('_', ' ')} of {followed}"
    how = getattr(privacy, "personalise", None)
    if isinstance(how, ByTiers):
        tiers = ", ".join(f"up to {tier.up_to:g} {_tier(tier)}" for tier in how.tiers)
        return f"{kind}, by the risk that the run measures: {tiers}"
    if how is not None and not isinstance(how, ByEpsilon):
        if privacy.target_epsilon is None:
            return f"{kind}, multiplier {privacy.multiplier:g} by the risk that the run measures"
        privacy = privacy.model_copy(update={"personalise": None})
    rule = config.federation.aggregation.rule
    local = Training(config.federation.rounds, config.federation.local.batch_size, config.federation.local.epochs)
    weights = client_weights(rule if isinstance(rule, Mean) else Mean(), rows)
    plans = planned(privacy, rows, local, weights=weights)
    worst = max((plan.epsilon.value for plan in plans.values()), default=0.0)
    told = f"{kind}, epsilon {shown(worst)} at delta {privacy.delta:g} for the worst client"
    return f"{told}; {_spread(plans)}" if plans else told


def _spread(plans: Mapping[str, Planned]) -> str:
    """Return what all clients release, from the least to the most of each figure."""
    first = {name: plan.per_round[0] for name, plan in plans.items() if plan.per_round}
    releases = [each.times * plans[name].rounds for name, each in first.items()]
    figures = {
        "epsilon": [plan.epsilon.value for plan in plans.values()],
        "multiplier": [plan.multiplier or 0.0 for plan in plans.values()],
        "rate": [each.rate for each in first.values()],
    }
    told = [f"{name} {_range([f'{value:.3g}' for value in sorted(values)])}" for name, values in figures.items()]
    return ", ".join([*told, f"{_range([f'{count:,}' for count in sorted(releases)])} noised releases a client"])


def _range(texts: Sequence[str]) -> str:
    return texts[0] if texts[0] == texts[-1] else f"{texts[0]} to {texts[-1]}"


def _tier(tier: Tier) -> str:
    return f"multiplier {tier.multiplier:g}" if tier.target_epsilon is None else f"epsilon {tier.target_epsilon:g}"


def _seconds(config: Any, scenarios: Mapping[str, Noised | None], rows: Mapping[str, int]) -> float:
    """Return about how long all trainings take."""
    federation = config.federation
    weights = network_of(config.model, Space.of(config.dataset)).layout.size
    passes = sum(rows.values()) * federation.rounds * federation.local.epochs * federation.participation
    plain = passes * (A_ROW + A_WEIGHT * weights)
    each = [A_TRAINING + plain * (PRIVATE if isinstance(privacy, Record) else 1) for privacy in scenarios.values()]
    return float(config.comparison.seeds * sum(each))


def _duration(seconds: float) -> str:
    return f"{max(round(seconds), 1)} s" if seconds < 100 else f"{round(seconds / 60)} min"
