"""Scenarios made comparable: what is kept equal, and the noise of each that follows from it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import exp, isfinite, log

import numpy as np

from components.dp.checks import mechanism_of
from components.dp.declarations import Global, Noised, Personalized, Record
from components.dp.planning import Planned, Training, planned
from components.dp.sensitivity import Unit
from components.federation.rounds import Schedule
from components.federation.scenarios import Equalised, by_policy, comparable
from schemas.faults import ConfigurationError, Fault

AGREES = 1e-2
"""How far the figure of a scenario whose noise is a policy may be off, relative to it: policies aren't changed."""

_EXACT: Mapping[Equalised, float] = {"variance": 1e-9, "worst_epsilon": 5e-4, "mean_epsilon": 5e-4}
"""How near figures are brought to each other; a calibrated epsilon is not closer to its own target."""

_TRIES = 40
_MEANS: Mapping[Equalised, str] = {
    "variance": "variance of the noise",
    "worst_epsilon": "worst epsilon",
    "mean_epsilon": "mean epsilon",
}


@dataclass(frozen=True, slots=True)
class Common:
    """What scenarios that protect the same unit have in common.

    Parameters
    ----------
    unit : {"client", "record"}
    by : {"variance", "worst_epsilon", "mean_epsilon"}
    reference : str
        The scenario that the others follow.
    figures : mapping of str to float
        By scenario, the reference's first: an epsilon, or the variance of the noise on each weight of a round's
        aggregated update.
    """

    unit: Unit
    by: Equalised
    reference: str
    figures: Mapping[str, float]

    def said(self) -> str:
        """Return it as a clause."""
        others = ", ".join(name for name in self.figures if name != self.reference)
        return f"{_MEANS[self.by]} of {others} as of {self.reference}: {self.figures[self.reference]:.4g}"


@dataclass(frozen=True, slots=True)
class Terms:
    """What of a federation decides which figure a scenario's noise comes to.

    Parameters
    ----------
    schedule : Schedule
    rows : mapping of str to int
        Train rows of each client.
    risks : mapping of str to float
        ARIREC of each client, where it is known.
    shares : mapping of str to float
        Weight of each client's update.
    """

    schedule: Schedule
    rows: Mapping[str, int]
    risks: Mapping[str, float]
    shares: Mapping[str, float]

    def plans(self, privacy: Noised) -> dict[str, Planned]:
        """Return what each client's noise is, and what it will have cost."""
        local = self.schedule.local
        training = Training(self.schedule.rounds, local.batch_size, local.epochs)
        return planned(privacy, self.rows, training, self.risks, self.shares)

    def figure(self, privacy: Noised, by: Equalised) -> float:
        """Return the figure of a scenario that is to be kept equal."""
        plans = self.plans(privacy)
        if by == "variance":
            return self.variance(privacy, {client: plan.multiplier or 0.0 for client, plan in plans.items()})
        epsilons = [plan.epsilon.value for plan in plans.values()]
        return float(max(epsilons) if by == "worst_epsilon" else np.mean(epsilons))

    def variance(self, privacy: Noised, multipliers: Mapping[str, float]) -> float:
        """Return the variance of the noise on each weight of a round's aggregated update, all clients taking part.

        With weights w, clip C and multipliers z it is ``(z C max w)^2`` of the server's noise and ``sum (w z C)^2`` of
        the clients', over the cohort where each adds its share. The k steps of plain SGD in a round add up to
        ``k (lr z C / batch)^2`` at each client; that later gradients are taken at moved weights is left aside.

        Parameters
        ----------
        privacy : Noised
            With a clip that stays as it is.
        multipliers : mapping of str to float
            z of every client.
        """
        if isinstance(privacy, Record):
            own = {client: z * privacy.clip * self._per_step(client) for client, z in multipliers.items()}
        elif isinstance(privacy, Global | Personalized):
            unclipped = isinstance(privacy, Personalized) and privacy.paper
            own = {client: z * (1.0 if unclipped else privacy.clipping.norm) for client, z in multipliers.items()}
        else:
            raise TypeError(f"nothing is known of the noise of {privacy.name}")
        mechanism = mechanism_of(privacy)
        if mechanism == "server":
            return float((max(own.values()) * max(self.shares.values())) ** 2)
        cohort = getattr(privacy, "smallest_cohort", None) or len(own)
        total = sum((self.shares[client] * deviation) ** 2 for client, deviation in own.items())
        return float(total / (cohort if mechanism == "distributed" else 1))

    def _per_step(self, client: str) -> float:
        """Return what a round's steps make of noise of deviation 1 on each sum of gradients."""
        local, rows = self.schedule.local, self.rows[client]
        return local.learning_rate / min(local.batch_size, rows) * float(np.sqrt(self.schedule.steps(rows)))


def equalised(
    scenarios: Mapping[str, Noised | None], by: Equalised | None, terms: Terms
) -> tuple[dict[str, Noised | None], list[Common]]:
    """Give scenarios the noise with which they share a figure.

    Of those that protect the same unit the first one stays as it is. The others keep their shape, as what follows
    risk or what is the same for all, and are given another `multiplier` or `target_epsilon`, whichever they declare.

    Parameters
    ----------
    scenarios : mapping of str to Noised or None
    by : {"variance", "worst_epsilon", "mean_epsilon"} or None
        None leaves all as they are.
    terms : Terms

    Returns
    -------
    tuple
        All scenarios, and what was kept equal.

    Raises
    ------
    ConfigurationError
        No noise has that figure, or a policy has another one.
    """
    made, found = dict(scenarios), []
    for unit, some in comparable(scenarios).items() if by else ():
        if by is None or len(some) < 2:
            continue
        reference = next(iter(some))
        figures = {reference: terms.figure(some[reference], by)}
        for name, privacy in some.items():
            if name != reference:
                made[name], figures[name] = _following(name, privacy, by, figures[reference], terms)
        found.append(Common(unit, by, reference, figures))
    return made, found


def _following(name: str, privacy: Noised, by: Equalised, aim: float, terms: Terms) -> tuple[Noised, float]:
    """Return a scenario with the noise that has the figure `aim`, and the figure that it has."""
    if by_policy(privacy):
        figure = terms.figure(privacy, by)
        if not abs(figure / aim - 1) <= AGREES:
            raise ConfigurationError(_unequal(name, by, f"its policy comes to {figure:.4g} and not {aim:.4g}"))
        return privacy, figure
    dial = "target_epsilon" if privacy.multiplier is None else "multiplier"

    def at(value: float) -> float:
        return terms.figure(privacy.model_copy(update={dial: value}), by)

    found = _solved(at, aim, getattr(privacy, dial), _EXACT[by])
    if found is None:
        raise ConfigurationError(_unequal(name, by, f"no {dial} comes to {aim:.4g}"))
    return privacy.model_copy(update={dial: found}), at(found)


def _solved(at: Callable[[float], float], aim: float, start: float, exact: float) -> float | None:
    """Return where a monotone figure comes to `aim`: secants between logarithms, which are nearly lines here."""

    def off(place: float) -> float:
        figure = at(exp(place))
        return log(figure / aim) if figure > 0 and isfinite(figure) else float("nan")

    here, miss = log(start), off(log(start))
    slope = 1.0
    for _ in range(_TRIES):
        if abs(miss) <= exact:
            return exp(here)
        step = float(np.clip(-miss / slope, -2.0, 2.0)) if slope else float("nan")
        if not isfinite(step):
            return None
        there, later = here + step, off(here + step)
        slope = (later - miss) / step
        here, miss = there, later
    return None


def _unequal(name: str, by: Equalised, problem: str) -> Fault:
    return Fault(
        place=f"comparison.scenarios.{name}.dp",
        problem=f"{problem}, the {_MEANS[by]} of the first scenario that protects the same",
        allowed="scenarios that can share that figure",
        remedy="change its noise, or what comparison.equalise keeps equal",
    )
