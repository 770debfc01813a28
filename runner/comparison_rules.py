"""What a comparison asks of the rest of a configuration, and its scenarios of each other."""

from collections.abc import Iterator
from typing import Any

from components.dp.declarations import Adaptive, Noised, Personalized, Record
from components.federation.declarations import Federation
from components.federation.scenarios import Equalised, comparable, kind_of
from runner.alone import ABSENT, alone
from runner.federation_rules import privacy_faults
from runner.noises import noises, scenarios_of
from schemas.faults import Fault

PLACE = "comparison"


def comparison_faults(config: Any) -> Iterator[Fault]:
    """Yield what is wrong with a comparison.

    Parameters
    ----------
    config : RunConfig
        Of a run that compares scenarios.
    """
    why = alone(config)
    if why:
        yield Fault(
            PLACE, f"scenarios of a federation are compared, and there is none: {why}", remedy="choose a federation"
        )
        return
    if config.dp.name != ABSENT:
        yield Fault(
            "dp.name", f"each scenario has noise of its own, and dp={config.dp.name} is that of none", ABSENT, "dp=none"
        )
    for privacy, placed in noises(config):
        yield from map(placed, privacy_faults(privacy, config))
    for some in comparable(scenarios_of(config)).values():
        yield from _together(some, config.comparison.equalise, config.federation)


def _together(some: dict[str, Noised], by: Equalised | None, federation: Federation) -> Iterator[Fault]:
    """Yield why scenarios that protect the same can't be held against each other."""
    if len(some) < 2:
        return
    names = ", ".join(some)
    if by is None:
        if len({kind_of(privacy) for privacy in some.values()}) > 1:
            yield Fault(
                f"{PLACE}.equalise",
                f"{names} add noise in different ways, and what they have in common isn't said: the same multiplier "
                "at different places compares nothing",
                "variance, worst_epsilon or mean_epsilon",
                f"set {PLACE}.equalise=variance",
            )
        return
    for name, privacy in some.items():
        if why := _unmeasurable(privacy, by, federation):
            yield Fault(f"{PLACE}.equalise", f"{name} has no {by}: {why}", remedy="set another, or leave it out")
    if by != "variance" and len({privacy.delta for privacy in some.values()}) > 1:
        yield Fault(
            f"{PLACE}.equalise", f"an epsilon means nothing beside another delta: {names} differ", "one delta for all"
        )


def _unmeasurable(privacy: Noised, by: Equalised, federation: Federation) -> str:
    """Return why a scenario's figure isn't known; empty where it is."""
    if isinstance(privacy, Personalized) and privacy.paper and by != "variance":
        return "paper mode clips nothing"
    if by == "variance" and isinstance(getattr(privacy, "clipping", None), Adaptive):
        return "an adaptive clip changes it from round to round"
    local = federation.local
    if by == "variance" and isinstance(privacy, Record) and (local.optimizer != "sgd" or local.momentum):
        return "it is known of plain SGD alone what noise in every step adds up to"
    return ""
