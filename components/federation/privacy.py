"""Differential privacy of a federation, from its declaration: who gets which noise, and what may be said of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, sqrt

from components.dp.accountant import Accountant
from components.dp.accounting import multiplier_for
from components.dp.checks import mechanism_of
from components.dp.claims import Setting
from components.dp.declarations import Adaptive, Global, Personalized, Privacy, Record
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


def setting_of(privacy: Privacy, federation: Federation, *, learned_encoder: bool = False) -> Setting:
    """Return what decides whether an epsilon holds.

    Control variates follow from what clients release (`components.federation.control`), and drift, robust aggregation
    and early stops look at messages as they arrive: with noise where clients add their own.
    """
    rule, drift, stop = federation.aggregation.rule, federation.drift, federation.early_stop
    mechanism = mechanism_of(privacy)
    weights = getattr(rule, "weights", "equal")
    divisor = getattr(rule, "divisor", None) or "expected"
    return Setting(
        mechanism,
        clipped=not getattr(privacy, "paper", False),
        seeded=privacy.noise_seed is not None,
        learned_encoder=learned_encoder,
        drift=drift is not None and drift.action != "report",
        robust=rule.name != "mean",
        weights=weights,
        stops_on_metrics=stop is not None,
        scaffold=federation.name == "scaffold",
        sees="raw" if stop is not None and stop.monitor == "loss" else "noised",
        divisor=divisor,
    )


def assignments(privacy: Privacy, risks: Mapping[str, float], clients: Sequence[str]) -> dict[str, Assigned]:
    """Return what each client's noise is to be; risks are looked at where the declaration personalises by them."""
    how = getattr(privacy, "personalise", None)
    if how is None:
        return everyone_alike(list(clients), privacy.multiplier, privacy.target_epsilon)
    known = {client: risks.get(client, 0.0) for client in clients}
    return personalised(how, known, privacy.multiplier)


def pattern(privacy: Privacy, rows: int, schedule: Schedule) -> tuple[Releases, ...]:
    """Return what a client releases in all rounds, with a multiplier of 1."""
    if isinstance(privacy, Record):
        units = sensitivity("record", privacy.relation, "record")
        return per_record(rows, schedule.local.batch_size, schedule.local.epochs, schedule.rounds, units)
    return per_update(schedule.rounds, _units(privacy), _vote_noise(privacy))


def multipliers(
    privacy: Privacy, assigned: Mapping[str, Assigned], rows: Mapping[str, int], schedule: Schedule
) -> dict[str, float]:
    """Return each client's noise multiplier, calibrated where a target epsilon is given."""
    found = {}
    for client, each in assigned.items():
        released = pattern(privacy, rows[client], schedule)
        if each.multiplier is not None:
            found[client] = each.multiplier
        elif released and each.target_epsilon is not None:
            found[client] = multiplier_for(each.target_epsilon, privacy.delta, released)
        else:  # nothing is released
            found[client] = inf
    return found


def guarded(
    privacy: Privacy | None, federation: Federation, schedule: Schedule, rows: Mapping[str, int], risks: Mapping[str, float]
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
    assigned = assignments(privacy, risks, list(rows))
    found = multipliers(privacy, assigned, rows, schedule)
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
            account, partial.multipliers[client], _units(privacy), share * partial.multipliers[client], noise, vote_noise
        )
        for client, account in accounts.items()
    }
    multiplier = max(partial.multipliers.values(), default=0.0)
    server = multiplier if mechanism == "server" else 0.0
    clips = Clips(privacy.clipping, expected, privacy.clipping.norm, server * (vote_noise or 0.0), noise)
    averaging = ServerNoise(clips, multiplier, noise) if mechanism == "server" else None
    return Guarded(guards, partial.assigned, partial.multipliers, clips, averaging)


def _units(privacy: Privacy) -> float:
    relation = getattr(privacy, "relation", "replace_table")
    return sensitivity(UNITS[relation], relation, mechanism_of(privacy))


def _vote_noise(privacy: Privacy) -> float | None:
    clipping = getattr(privacy, "clipping", None)
    return clipping.vote_noise if isinstance(clipping, Adaptive) else None
