"""From a declaration of privacy to every client's guard."""

from typing import Any

import numpy as np
import pytest

from bench.tiny_sites import sites
from components.dp.declarations import Adaptive, Global, Noised, Personalized, Record
from components.federation.declarations import FedAvg, Local
from components.federation.guards import Open, Records, Unclipped, Updates
from components.federation.privacy import Guarded, guarded
from components.federation.rounds import Schedule
from components.federation.stage import federate
from components.federation.work import LocalTraining
from components.models.declarations import Linear

ROWS = {"a": 100, "b": 200, "c": 400}
RISKS = {"a": 0.1, "b": 0.05, "c": 0.02}
SHARES = dict.fromkeys(ROWS, 1 / 3)


def of(privacy: Noised | None, rounds: int = 5, shares: dict[str, float] = SHARES, **local: Any) -> Guarded:
    schedule = Schedule(rounds, 1.0, LocalTraining(**{"batch_size": 50, **local}), 0)
    return guarded(privacy, schedule, ROWS, RISKS, shares)


def test_without_privacy_nothing_stands_in_the_way() -> None:
    found = of(None)
    assert all(isinstance(each, Open) for each in found.guards.values())
    assert found.clips is None
    assert found.averaging is None
    assert not found.plans


@pytest.mark.parametrize(
    "privacy",
    [
        Record(target_epsilon=2.0),
        Personalized(target_epsilon=2.0),
        Personalized.model_validate({"target_epsilon": 2.0, "clipping": {"name": "adaptive"}}),
        Global(target_epsilon=2.0),
        Global(target_epsilon=2.0, noise_from="clients"),
    ],
    ids=["record", "personalized", "adaptive", "server", "shares"],
)
def test_a_target_is_met_after_all_rounds_and_not_before(privacy: Noised) -> None:
    params = FedAvg(rounds=5, local=Local(batch_size=50, learning_rate=0.1))
    done = federate(params, privacy, Linear(), sites(100, 200, 400), 0)
    spent = [client.guard.account.epsilon().value for client in done.training.clients if client.guard.account]
    assert max(spent) <= 2.0
    assert max(spent) > 1.99
    assert [done.guarded.plans[name].epsilon.value for name in ("c0", "c1", "c2")] == pytest.approx(spent)


def test_multipliers_follow_risk() -> None:
    found = of(Personalized(multiplier=4.0, target_epsilon=None))
    owns = {name: guard.own for name, guard in found.guards.items() if isinstance(guard, Updates)}
    assert owns == pytest.approx({"a": 4.0, "b": 2.0, "c": 0.8})


def test_everyone_shares_one_source_of_noise_that_cannot_be_repeated() -> None:
    for privacy in (Personalized(), Global(), Global(noise_from="clients")):
        sources = {id(guard.noise) for guard in of(privacy).guards.values() if isinstance(guard, Updates)}
        assert len(sources) == 1
        (guard, *_) = of(privacy).guards.values()
        assert isinstance(guard, Updates)
        assert not guard.noise.seeded
    (guard, *_) = of(Personalized(noise_seed=1)).guards.values()
    assert isinstance(guard, Updates)
    assert guard.noise.seeded


@pytest.mark.parametrize(
    ("noise_from", "cohort", "own"), [("server", None, 0.0), ("clients", None, 3**-0.5), ("clients", 2, 2**-0.5)]
)
def test_who_adds_noise_on_a_sum(noise_from: Any, cohort: int | None, own: float) -> None:
    found = of(Global(multiplier=1.0, target_epsilon=None, noise_from=noise_from, smallest_cohort=cohort))
    assert [guard.own for guard in found.guards.values() if isinstance(guard, Updates)] == pytest.approx([own] * 3)
    assert (found.averaging is not None) == (noise_from == "server")
    assert found.fewest == (1 if noise_from == "server" else cohort or 3)


def test_the_servers_noise_is_for_the_largest_share() -> None:
    found = of(Global(multiplier=1.0, target_epsilon=None), shares={"a": 0.5, "b": 0.25, "c": 0.25})
    assert found.averaging is not None
    assert found.averaging.largest == 0.5
    assert found.plans["a"].epsilon.value > found.plans["b"].epsilon.value == found.plans["c"].epsilon.value


def test_the_servers_noise_is_that_of_whoever_releases_anything() -> None:
    found = of(Global(multiplier=3.0, target_epsilon=None), shares={"a": 1.0, "b": 0.0, "c": 0.0})
    assert found.averaging is not None
    assert (found.averaging.multiplier, found.averaging.largest) == (3.0, 1.0)


@pytest.mark.parametrize("kind", [Record, Personalized, Global])
def test_every_account_has_the_delta_and_the_budget_that_were_declared(kind: Any) -> None:
    found = of(kind(multiplier=9.0, target_epsilon=None, delta=1e-7, budget=2.5))
    accounts = [guard.account for guard in found.guards.values()]
    assert [(each.client, each.delta, each.budget) for each in accounts if each] == [(name, 1e-7, 2.5) for name in ROWS]


@pytest.mark.parametrize(
    ("privacy", "expected"),
    [
        (Personalized(multiplier=4.0, target_epsilon=None), [5.0, 3.0, 1.8]),
        (Record(multiplier=4.0, target_epsilon=None), [5.0, 3.0, 1.8]),
        (Record(multiplier=4.0, target_epsilon=None, personalise=None), [4.0, 4.0, 4.0]),
        (Global(multiplier=4.0, target_epsilon=None), [4.0, 4.0, 4.0]),
    ],
)
def test_a_client_reads_its_multiplier_where_it_follows_its_risk_alone(privacy: Noised, expected: list[float]) -> None:
    schedule = Schedule(5, 1.0, LocalTraining(), 0)
    found = guarded(privacy, schedule, ROWS, RISKS, SHARES, lambda _, multiplier: multiplier + 1)
    assert [plan.multiplier for plan in found.plans.values()] == pytest.approx(expected)


def test_an_adaptive_clip_counts_on_the_clients_that_a_round_expects() -> None:
    for participation, expected in ((1.0, 3), (0.7, 2), (0.01, 1)):
        schedule = Schedule(5, participation, LocalTraining(), 0)
        found = guarded(Global(clipping=Adaptive()), schedule, ROWS, RISKS, SHARES)
        assert found.clips is not None
        assert found.clips.expected == expected


def test_paper_mode_has_no_accounts() -> None:
    found = of(Personalized(paper=True, multiplier=0.15, target_epsilon=None))
    assert all(isinstance(each, Unclipped) and each.account is None for each in found.guards.values())
    deviations = [guard.deviation for guard in found.guards.values()]
    assert deviations == pytest.approx([0.15, 0.075, 0.03])
    assert found.clips is None


def test_record_level_noise_is_in_the_steps_and_says_how_strong_it_becomes() -> None:
    local = {"batch_size": 50, "learning_rate": 1e-3, "epochs": 2}
    (guard, *_) = of(Record(multiplier=50.0, target_epsilon=None), **local).guards.values()
    assert isinstance(guard, Records)
    assert guard.per_record is not None
    assert (guard.per_record.multiplier, guard.per_record.clip, guard.per_record.noise.seeded) == (50.0, 1.0, False)
    params = FedAvg(rounds=1, local=Local(**local))
    updates = []
    for _ in range(150):
        done = federate(params, Record(multiplier=50.0, target_epsilon=None), Linear(), sites(100), 0)
        updates.append(done.training.server.weights)
    assert np.std(updates, axis=0).mean() == pytest.approx(guard.deviation, rel=0.2)


def test_record_level_noise_is_for_the_clip_and_the_batch_that_there_are() -> None:
    # Every step adds learning_rate * multiplier * clip / batch, and "a" has fewer rows than a batch.
    local = {"batch_size": 150, "learning_rate": 0.5, "epochs": 2}
    guards = of(Record(multiplier=3.0, target_epsilon=None, clip=0.2, personalise=None), **local).guards
    per_record = [guard.per_record for guard in guards.values()]
    assert [(each.clip, each.multiplier) for each in per_record if each] == [(0.2, 3.0)] * 3
    expected = [0.5 * 3 * 0.2 / batch * steps**0.5 for batch, steps in ((100, 2), (150, 4), (150, 6))]
    assert [guard.deviation for guard in guards.values()] == pytest.approx(expected)


def test_steps_are_put_to_the_account_as_they_were_taken_and_none_beyond_the_budget() -> None:
    (guard, *_) = of(Record(multiplier=20.0, target_epsilon=None, budget=2.0)).guards.values()
    guard.released(np.zeros(3), 1, 7, np.inf)
    guard.released(np.zeros(3), 2, 0, np.inf)
    assert guard.account is not None
    assert [(each.round_number, each.kind, each.releases.times) for each in guard.account.entries] == [
        (1, "gradients", 7)
    ]
    assert guard.may_contribute(1)
    assert not guard.may_contribute(1000)


@pytest.mark.parametrize("local", [{"optimizer": "adam"}, {"momentum": 0.9}])
def test_where_the_optimiser_mixes_noise_of_several_steps_its_strength_is_not_told(local: dict[str, Any]) -> None:
    (guard, *_) = of(Record(), **local).guards.values()
    assert guard.deviation == 0.0


def test_no_rounds_release_nothing() -> None:
    for privacy in (Personalized(), Record(), Global()):
        assert {plan.epsilon.value for plan in of(privacy, rounds=0).plans.values()} == {0.0}
