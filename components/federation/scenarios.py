"""What scenarios of noise have to do with each other, as far as their declarations tell. Light on purpose."""

from collections.abc import Mapping
from typing import Literal

from components.dp.checks import mechanism_of
from components.dp.declarations import ByEpsilon, ByTiers, Noised
from components.dp.sensitivity import UNITS, Unit

Equalised = Literal["variance", "worst_epsilon", "mean_epsilon"]


def unit_of(privacy: Noised) -> Unit:
    """Return what a declaration protects."""
    return UNITS[getattr(privacy, "relation")]  # noqa: B009 (of every kind, and not of their base)


def by_policy(privacy: Noised) -> bool:
    """Say whether a declaration tells each client's noise itself, so that no one number could change it."""
    return isinstance(getattr(privacy, "personalise", None), ByTiers | ByEpsilon)


def kind_of(privacy: Noised) -> tuple[str, str]:
    """Return what makes two scenarios differ in kind: where noise is added, and how it follows the clients."""
    how = getattr(getattr(privacy, "personalise", None), "name", "")
    return mechanism_of(privacy), how or ("multiplier" if privacy.target_epsilon is None else "target_epsilon")


def comparable(scenarios: Mapping[str, Noised | None]) -> dict[Unit, dict[str, Noised]]:
    """Return the scenarios with noise by the unit that they protect; between units no figure could be kept equal."""
    found: dict[Unit, dict[str, Noised]] = {}
    for name, privacy in scenarios.items():
        if privacy is not None:
            found.setdefault(unit_of(privacy), {})[name] = privacy
    return found
