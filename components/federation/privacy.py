"""Differential privacy of a federation, from its declaration: who gets which noise, and what may be said of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf, sqrt

from components.dp.accountant import Accountant
from components.dp.accounting import multiplier_for
from components.dp.checks import mechanism_of
from components.dp.declarations import (
    Adaptive,
    ByMax,
    ByMean,
    ByMinMax,
    ByShift,
    Global,
    Personalized,
    Privacy,
    Record,
    Relation,
)
from components.dp.noise import Noise
from components.dp.personalising import Assigned, everyone_alike, personalised
from components.dp.releases import Releases
from components.dp.schedule import per_record, per_update
from components.dp.sensitivity import UNITS, sensitivity
from components.federation.client import Guard
from components.federation.declarations import Federation
from components.federation.guards import Clips, Open, Records, ServerNoise, Unclipped, Updates, accumulated
from components.federation.rounds import Schedule
from components.federation.work import PerRecord


@dataclass(frozen=True, slots=True)
class Guarded:
    """The guards of all clients, and what the server does beside them.

    Parameters
    ----------
    guards : mapping of str to Guard
    assigned : mapping of str to Assigned
        What each client's noise was to be; empty without privacy.
    multipliers : mapping of str to float
        What it is.
    clips : Clips or None
    averaging : ServerNoise or None
    """

    guards: Mapping[str, Guard]
    assigned: Mapping[str, Assigned] = field(default_factory=dict)
    multipliers: Mapping[str, float] = field(default_factory=dict)
    clips: Clips | None = None
    averaging: ServerNoise | None = None


def assigned_to(
    privacy: Privacy, rows: Mapping[str, int], risks: Mapping[str, float], schedule: Schedule
) -> dict[str, Assigned]:
    """Return each client's noise multiplier, and whether it is policy or follows from data.

    A target epsilon is calibrated to what the client will release in all rounds. Where multipliers follow risks, it is
    the epsilon that nobody exceeds: the least multiplier to personalise with is taken that gives every client, by its
    own share of it, no more.

    Parameters
    ----------
    privacy : Privacy
    rows : mapping of str to int
        Train rows of each client, above 0.
    risks : mapping of str to float
        ARIREC of what each client released; looked at where the declaration personalises by it.
    schedule : Schedule
    """
    how = getattr(privacy, "personalise", None)
    clients = list(rows)

    def calibrated(client: str, target: float) -> float:
        released = pattern(privacy, rows[client], schedule)
        return multiplier_for(target, privacy.delta, released) if released else inf

    target = privacy.target_epsilon
    if isinstance(how, ByMax | ByMean | ByMinMax | ByShift) and target is not None:
        needed = {client: calibrated(client, target) for client in clients}
        return _shared_out(how, needed, {client: risks.get(client, 0.0) for client in clients})
    if how is None:
        found = everyone_alike(clients, privacy.multiplier, target)
    else:
        found = personalised(how, {client: risks.get(client, 0.0) for client in clients}, privacy.multiplier)
    return {
        client: each
        if each.multiplier is not None or each.target_epsilon is None
        else replace(each, multiplier=calibrated(client, each.target_epsilon))
        for client, each in found.items()
    }


def _shared_out(
    how: ByMax | ByMean | ByMinMax | ByShift, needed: Mapping[str, float], risks: Mapping[str, float]
) -> dict[str, Assigned]:
    """Return multipliers in the ratios that `how` asks for, none of which is below what is needed."""
    ratios = {client: each.multiplier or 0.0 for client, each in personalised(how, risks, 1.0).items()}
    shared = max((needed[client] / ratio for client, ratio in ratios.items() if ratio > 0), default=0.0)
    return {
        client: Assigned(max(shared * ratio, needed[client]), None, "data-derived") for client, ratio in ratios.items()
    }


def pattern(privacy: Privacy, rows: int, schedule: Schedule) -> tuple[Releases, ...]:
    """Return what a client releases in all rounds, with a multiplier of 1."""
    if isinstance(privacy, Record):
        units = sensitivity("record", privacy.relation, "record")
        return per_record(rows, schedule.local.batch_size, schedule.local.epochs, schedule.rounds, units)
    return per_update(schedule.rounds, _units(privacy), _vote_noise(privacy))


def guarded(
    privacy: Privacy | None,
    federation: Federation,
    schedule: Schedule,
    rows: Mapping[str, int],
    risks: Mapping[str, float],
) -> Guarded:
    """Return the guards of all clients.

    Parameters
    ----------
    privacy : Privacy or None
    federation : Federation
    schedule : Schedule
    rows : mapping of str to int
        Train rows of each client.
    risks : mapping of str to float
        ARIREC of what each client released.
    """
    if privacy is None:
        return Guarded({client: Open() for client in rows})
    assigned = assigned_to(privacy, rows, risks, schedule)
    found = {client: each.multiplier or 0.0 for client, each in assigned.items()}
    noise = Noise.from_entropy() if privacy.noise_seed is None else Noise.from_seed(privacy.noise_seed)
    accounts = {client: Accountant(client, privacy.delta, privacy.budget) for client in rows}
    if isinstance(privacy, Record):
        guards = {
            client: _of_records(privacy, accounts[client], found[client], rows[client], schedule, noise)
            for client in rows
        }
        return Guarded(guards, assigned, found)
    if isinstance(privacy, Personalized) and privacy.paper:
        return Guarded({client: Unclipped(found[client], noise) for client in rows}, assigned, found)
    return _of_updates(privacy, federation, accounts, Guarded({}, assigned, found), noise)


def _of_records(
    privacy: Record, account: Accountant, multiplier: float, rows: int, schedule: Schedule, noise: Noise
) -> Guard:
    local = schedule.local
    rate = min(local.batch_size / rows, 1.0)
    per_step = PerRecord(privacy.clip, multiplier, noise)
    plain = local.optimizer == "sgd" and not local.momentum
    steps = schedule.steps(rows)
    deviation = accumulated(local.learning_rate, per_step, rate * rows, steps) if plain else 0.0
    step = Releases(multiplier, rate, 1, sensitivity("record", privacy.relation, "record"))
    return Records(account, per_step, step, deviation)


def _of_updates(
    privacy: Privacy, federation: Federation, accounts: Mapping[str, Accountant], partial: Guarded, noise: Noise
) -> Guarded:
    if not isinstance(privacy, Global | Personalized):
        raise TypeError(f"{privacy.name} clips no updates")
    mechanism, vote_noise = mechanism_of(privacy), _vote_noise(privacy)
    expected = max(round(federation.participation * len(accounts)), 1)
    cohort = (privacy.smallest_cohort or len(accounts)) if isinstance(privacy, Global) else 1
    share = {"server": 0.0, "distributed": 1 / sqrt(cohort), "local": 1.0}[mechanism]
    guards = {
        client: Updates(
            account,
            partial.multipliers[client],
            _units(privacy),
            share * partial.multipliers[client],
            noise,
            vote_noise,
        )
        for client, account in accounts.items()
    }
    multiplier = max(partial.multipliers.values(), default=0.0)
    server = multiplier if mechanism == "server" else 0.0
    clips = Clips(privacy.clipping, expected, privacy.clipping.norm, server * (vote_noise or 0.0), noise)
    averaging = ServerNoise(clips, multiplier, noise) if mechanism == "server" else None
    return Guarded(guards, partial.assigned, partial.multipliers, clips, averaging)


def _units(privacy: Privacy) -> float:
    relation: Relation = getattr(privacy, "relation", "replace_table")
    return sensitivity(UNITS[relation], relation, mechanism_of(privacy))


def _vote_noise(privacy: Privacy) -> float | None:
    clipping = getattr(privacy, "clipping", None)
    return clipping.vote_noise if isinstance(clipping, Adaptive) else None
