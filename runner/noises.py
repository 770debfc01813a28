"""The noises that a run trains under: its own, or those of the scenarios that it compares."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from components.dp.declarations import Noised
from schemas.faults import Fault

Placed = Callable[[Fault], Fault]
"""Says of a fault of noise, whose places begin with dp, whose noise it is."""


def scenarios_of(config: Any) -> dict[str, Noised | None]:
    """Return the noise of every scenario of a comparison by its name, None where there is none."""
    return {
        name: each.dp if isinstance(each.dp, Noised) else None for name, each in config.comparison.scenarios.items()
    }


def noises(config: Any) -> Iterator[tuple[Noised, Placed]]:
    """Yield every noise that there is, and what puts its faults in their place.

    Parameters
    ----------
    config : RunConfig
        Without its comparison where that is faulty.
    """
    if getattr(config, "comparison", None) is None:
        if isinstance(config.dp, Noised):
            yield config.dp, lambda fault: fault
        return
    for name, privacy in scenarios_of(config).items():
        if privacy is not None:
            yield privacy, placed_in(name)


def placed_in(scenario: str) -> Placed:
    """Return what makes a fault of noise one of a scenario's."""
    here = f"comparison.scenarios.{scenario}.dp"

    def placed(fault: Fault) -> Fault:
        place, allowed, remedy = (
            re.sub(r"\bdp\b(?=[.= ])", here, text) for text in (fault.place, fault.allowed, fault.remedy)
        )
        return replace(fault, place=place, allowed=allowed, remedy=remedy)

    return placed
