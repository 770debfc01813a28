"""Differential privacy of a federation, from its declaration: who gets which noise."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import sqrt

from components.dp import planning
from components.dp.accountant import Accountant
from components.dp.checks import mechanism_of
from components.dp.declarations import Adaptive, Global, Noised, Personalized, Record
from components.dp.noise import Noise
from components.dp.planning import Planned, planned
from components.federation.client import Guard
from components.federation.guards import Clips, Open, Records, ServerNoise, Unclipped, Updates, accumulated
from components.federation.rounds import Schedule
from components.federation.work import PerRecord


@dataclass(frozen=True, slots=True)
class Guarded:
    """The guards of all clients, and what the server does beside them.

    Parameters
    ----------
    guards : mapping of str to Guard
    plans : mapping of str to Planned
        What each client's noise is, and what it will release; empty without privacy.
    clips : Clips or None
    averaging : ServerNoise or None
    fewest : int
        Clients that a round needs, for their shares of noise to make up all of it.
    """

    guards: Mapping[str, Guard]
    plans: Mapping[str, Planned] = field(default_factory=dict)
    clips: Clips | None = None
    averaging: ServerNoise | None = None
    fewest: int = 1


def guarded(
    privacy: Noised | None,
    schedule: Schedule,
    rows: Mapping[str, int],
    risks: Mapping[str, float],
    shares: Mapping[str, float],
    tell: Callable[[str, float], float] = lambda _, multiplier: multiplier,
) -> Guarded:
    """Return the guards of all clients.

    Parameters
    ----------
    privacy : Noised or None
    schedule : Schedule
    rows : mapping of str to int
        Train rows of each client.
    risks : mapping of str to float
        ARIREC of what each client released.
    shares : mapping of str to float
        Weight of each client's update in what the server makes of them.
    tell : callable, optional
        Tells a client its multiplier where that follows its risk, and returns what the client reads.
    """
    if privacy is None:
        return Guarded({client: Open() for client in rows})
    training = planning.Training(schedule.rounds, schedule.local.batch_size, schedule.local.epochs)
    plans = {
        client: plan
        if plan.multiplier is None or not plan.by_risk
        else replace(plan, multiplier=tell(client, plan.multiplier))
        for client, plan in planned(privacy, rows, training, risks, shares).items()
    }
    noise = Noise.from_entropy() if privacy.noise_seed is None else Noise.from_seed(privacy.noise_seed)
    accounts = {client: Accountant(client, privacy.delta, privacy.budget) for client in rows}
    if isinstance(privacy, Record):
        guards = {
            client: _of_records(privacy, accounts[client], plans[client], rows[client], schedule, noise)
            for client in rows
        }
        return Guarded(guards, plans)
    if isinstance(privacy, Personalized) and privacy.paper:
        return Guarded({client: Unclipped(each.multiplier or 0.0, noise) for client, each in plans.items()}, plans)
    return _of_updates(privacy, accounts, plans, schedule, max(shares.values(), default=1.0), noise)


def _of_records(
    privacy: Record, account: Accountant, plan: Planned, rows: int, schedule: Schedule, noise: Noise
) -> Guard:
    local = schedule.local
    per_step = PerRecord(privacy.clip, plan.multiplier or 0.0, noise)
    plain = local.optimizer == "sgd" and not local.momentum
    batch = min(local.batch_size, rows)
    deviation = accumulated(local.learning_rate, per_step, batch, schedule.steps(rows)) if plain else 0.0
    return Records(account, per_step, plan.per_round[0], deviation)


def _of_updates(
    privacy: Noised,
    accounts: Mapping[str, Accountant],
    plans: Mapping[str, Planned],
    schedule: Schedule,
    largest: float,
    noise: Noise,
) -> Guarded:
    if not isinstance(privacy, Global | Personalized):
        raise TypeError(f"{privacy.name} clips no updates")
    mechanism = mechanism_of(privacy)
    expected = max(round(schedule.participation * len(accounts)), 1)
    cohort = (privacy.smallest_cohort or len(accounts)) if isinstance(privacy, Global) else 1
    share = {"server": 0.0, "distributed": 1 / sqrt(cohort), "local": 1.0}[mechanism]
    vote_noise = privacy.clipping.vote_noise if isinstance(privacy.clipping, Adaptive) else None
    guards = {
        client: Updates(accounts[client], plan.per_round, share * (plan.multiplier or 0.0), noise, vote_noise)
        for client, plan in plans.items()
    }
    multiplier = max((plan.multiplier or 0.0 for plan in plans.values()), default=0.0)
    server = multiplier if mechanism == "server" else 0.0
    clips = Clips(privacy.clipping, expected, privacy.clipping.norm, server * (vote_noise or 0.0), noise)
    averaging = ServerNoise(clips, multiplier, largest, noise) if mechanism == "server" else None
    return Guarded(guards, plans, clips, averaging, cohort if mechanism == "distributed" else 1)
