"""What a plan says of a federation: who would train on how many rows, and what that would cost each client."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from components.data import Table, read
from components.dp.claims import named
from components.dp.conditions import NO_GUARANTEE, withdrawn
from components.dp.declarations import ByMax, ByMean, ByMinMax, ByShift, ByTiers, Noised, Personalized, Record
from components.dp.planning import Planned, Training, planned
from components.federation.aggregation.declarations import Mean
from components.federation.aggregation.weights import client_weights
from components.federation.declarations import Federation
from components.federation.drift.scoring import powerless
from components.federation.model import Space, network_of
from components.federation.partitioning.partition import partition
from components.federation.setting import setting_of
from components.federation.sites import sites
from runner.alone import ABSENT
from runner.compose import Composed
from runner.federated_record import BLIND
from runner.federation_rules import client_faults, delta_faults
from runner.plan_comparison import comparison_lines
from schemas.declaration import Declaration
from schemas.faults import ConfigurationError
from schemas.wording import of_clients

MOST = 12
"""Clients that are told one by one."""


def described(federation: Federation, privacy: Declaration, scenarios: Collection[str] | None = None) -> str:
    """Return what training together means, in a few words; `scenarios` are those of a comparison."""
    local, aggregation, drift = federation.local, federation.aggregation, federation.drift
    rule = aggregation.rule
    weights = f" of {rule.weights} weights" if isinstance(rule, Mean) else ""
    check = "no drift check" if drift is None else f"drift checked by {drift.metric} distances ({drift.action})"
    noise = "without noise" if privacy.name == "none" else f"noise of dp={privacy.name}"
    noise = noise if scenarios is None else f"noise of {len(scenarios)} scenarios: {', '.join(scenarios)}"
    attacked = f"; SIMULATED ATTACKS: {', '.join(each.name for each in federation.attacks)}" * bool(federation.attacks)
    return (
        f"{federation.name}: clients by {federation.clients.name}, {federation.rounds} rounds of {local.epochs} "
        f"epoch{'s' * (local.epochs != 1)} ({local.optimizer}, rate {local.learning_rate:g}, batches of "
        f"{local.batch_size}), {rule.name}{weights}; {check}; {noise}{attacked}"
    )


def federation_lines(composed: Composed) -> Iterator[tuple[str, str]]:
    """Yield what would be done at each client and what it would cost; reads the table.

    Raises
    ------
    RunnerError
        What the run would end with: rows that have no client, or don't fit the schema; clients that there are not.
    """
    config: Any = composed.config
    table: Table = read(config.dataset, config.dataset.source, composed.base).table
    found = partition(config.federation.clients, table, config.seed)
    if faults := list(client_faults(config, found.names)):
        raise ConfigurationError(faults)
    made = sites(table, found, config.seed)
    rows = {site.name: len(site.train.frame) for site in made if len(site.train.frame)}
    if faults := list(delta_faults(config, rows)):
        raise ConfigurationError(faults)
    idle = [site.name for site in made if site.name not in rows]
    yield "clients", f"{len(rows)} with {sum(rows.values()):,} train rows{_before(config)}" + _idle(idle, len(made))
    if config.comparison is not None:
        yield from comparison_lines(config, rows)
        return
    if not isinstance(config.dp, Noised):
        yield from (("client", f"{name}: {count:,} train rows") for name, count in list(rows.items())[:MOST])
        yield "guarantee", f"{NO_GUARANTEE}: dp=none"
        return
    yield from _costs(config, config.dp, rows)


def _costs(config: Any, privacy: Noised, rows: dict[str, int]) -> Iterator[tuple[str, str]]:
    federation, how = config.federation, getattr(config.dp, "personalise", None)
    by_risk = isinstance(how, ByMax | ByMean | ByMinMax | ByShift)
    if isinstance(how, ByTiers):
        tiers = ", ".join(f"up to {tier.up_to:g}: {_tier(tier)}" for tier in how.tiers)
        yield "guarantee", f"by tiers of risk, which the run measures: {tiers}"
        return
    alike = privacy.model_copy(update={"personalise": None}) if by_risk else privacy
    about = "about " * bool(_before(config) and isinstance(privacy, Record))
    local = Training(federation.rounds, federation.local.batch_size, federation.local.epochs)
    rule = federation.aggregation.rule
    weights = client_weights(rule if isinstance(rule, Mean) else Mean(), rows)
    plans = planned(alike, rows, local, weights=weights)
    for name in list(rows)[:MOST]:
        yield (
            "client",
            f"{name}: {rows[name]:,} train rows; {_cost(plans[name], privacy, by_risk=by_risk, about=about)}",
        )
    if len(rows) > MOST:
        yield "", f"and {len(rows) - MOST} more"
    if _blind(config, privacy, plans):
        yield "drift", BLIND
    reasons = withdrawn(setting_of(privacy, federation, learned_encoder=config.encoder.learn))
    if reasons:
        yield "guarantee", f"{NO_GUARANTEE}: {'; '.join(reasons)}"
        return
    worst = max((plan.epsilon.value for plan in plans.values()), default=0.0)
    risk = ", whatever the risks turn out to be" if by_risk and privacy.target_epsilon is not None else ""
    yield "guarantee", f"{named(worst)} at delta {privacy.delta:g} for the worst client{risk}"


def _blind(config: Any, privacy: Noised, plans: Mapping[str, Planned]) -> bool:
    """Say whether the noise on updates hides all that the drift check could look for."""
    drift = config.federation.drift
    if drift is None or not drift.noise_correction or not isinstance(privacy, Personalized) or privacy.paper:
        return False
    noise = np.array([(plan.multiplier or 0.0) * privacy.clipping.norm for plan in plans.values()])
    size = network_of(config.model, Space.of(config.dataset)).layout.size
    return powerless(noise, size, privacy.clipping.norm)


def _before(config: Any) -> str:
    """Say that rows may become fewer, and with them steps, rates and multipliers others."""
    return "" if config.anonymization.name == ABSENT else ", before any is suppressed"


def _cost(plan: Planned, privacy: Noised, *, by_risk: bool, about: str) -> str:
    if not plan.per_round or plan.multiplier is None:
        return "nothing to release"
    first = plan.per_round[0]
    least = " or more, by its risk" if by_risk and privacy.target_epsilon is not None else ""
    if by_risk and privacy.target_epsilon is None:
        least = " times its share by risk"
    rate = f", rate {first.rate:.4g}" if first.rate < 1 else ""
    spent = "" if plan.rounds and privacy.budget is None else f" (its budget allows {plan.rounds} rounds)"
    return (
        f"{about}{first.times * plan.rounds:,} noised releases{rate}, multiplier {about}{plan.multiplier:.4g}{least}, "
        f"{named(plan.epsilon.value)}{spent}"
    )


def _tier(tier: Any) -> str:
    return f"epsilon {tier.target_epsilon:g}" if tier.target_epsilon else f"multiplier {tier.multiplier:g}"


def _idle(some: list[str], among: int) -> str:
    return f"; without any: {of_clients(some, among)}" if some else ""
