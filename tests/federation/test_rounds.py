"""Who takes part in a round, when training ends, and what is told of it."""

import numpy as np
import pytest

from bench.tiny_sites import Scripted, scripted
from components.dp.declarations import Global, Personalized
from components.dp.releases import Releases
from components.federation.aggregation.declarations import Aggregation
from components.federation.declarations import EarlyStop
from components.federation.rounds import Schedule, Training
from components.federation.work import LocalTraining

NAMES = [f"c{place}" for place in range(10)]


def cohorts(training: Training) -> list[list[str]]:
    training.run()
    assert isinstance(training.engine, Scripted)
    return training.engine.cohorts


def test_everyone_takes_part_by_default() -> None:
    assert cohorts(scripted(lambda *_: [1.0, 0.0], NAMES, rounds=3)) == [NAMES] * 3


def test_clients_take_part_by_chance_and_never_nobody() -> None:
    schedule = Schedule(400, 0.3, LocalTraining(), 5)
    drawn = [schedule.cohort(NAMES, number) for number in range(1, 401)]
    assert all(drawn)
    assert drawn == [schedule.cohort(NAMES, number) for number in range(1, 401)]
    shares = np.array([sum(name in each for each in drawn) / 400 for name in NAMES])
    assert np.abs(shares - 0.3).max() < 4 * np.sqrt(0.3 * 0.7 / 400)
    rare = Schedule(50, 1e-9, LocalTraining(), 5)
    assert {len(rare.cohort(NAMES, number)) for number in range(1, 51)} == {1}


def test_a_cohort_follows_from_seed_and_round_alone() -> None:
    longer = Schedule(9, 0.5, LocalTraining(epochs=3), 1)
    assert longer.cohort(NAMES, 7) == Schedule(8, 0.5, LocalTraining(), 1).cohort(NAMES, 7)
    seeds = {tuple(Schedule(9, 0.5, LocalTraining(), seed).cohort(NAMES, 7)) for seed in range(20)}
    assert len(seeds) > 10


def test_steps_of_a_round() -> None:
    assert Schedule(5, 1.0, LocalTraining(epochs=2, batch_size=64), 0).steps(1000) * 5 == 160
    assert Schedule(5, 1.0, LocalTraining(), 0).steps(0) == 0


def test_sampled_clients_move_weights_by_all_they_stand_for() -> None:
    # Divided by those that came, ten equal updates average to themselves however many came.
    training = scripted(lambda *_: [1.0, 0.0], NAMES, rounds=20, participation=0.4)
    training.run()
    np.testing.assert_allclose(training.server.weights, [20.0, 0.0])


def test_with_a_fixed_divisor_whoever_does_not_come_counts_as_zero() -> None:
    rule = {"rule": {"name": "mean", "divisor": "expected"}}
    training = scripted(
        lambda *_: [1.0, 0.0], NAMES, rounds=400, participation=0.4, aggregation=Aggregation.model_validate(rule)
    )
    training.run()
    moved = np.array([each.change for each in training.rounds])
    came = np.array([len(each.closed.came) for each in training.rounds])
    np.testing.assert_allclose(moved, came / 4)  # of 10 clients 4 are expected
    assert abs(moved.mean() - 1) < 0.1


def test_no_rounds_leave_the_first_weights() -> None:
    training = scripted(lambda *_: [1.0, 0.0], rounds=0)
    assert training.run() == "all rounds are done"
    assert training.rounds == []
    assert not training.server.weights.any()


def test_without_a_client_training_says_so() -> None:
    assert scripted(lambda *_: [1.0, 0.0], [], rounds=3).run() == "there is no client"


def test_it_ends_when_the_weights_have_come_to_rest() -> None:
    training = scripted(
        lambda _, number: [max(5 - number, 2), 0.0],
        rounds=50,
        early_stop=EarlyStop(monitor="change", patience=3, min_change=0.5),
    )
    assert training.run() == "nothing improved for 3 rounds"
    assert [each.change for each in training.rounds] == [4.0, 3.0, 2.0, 2.0, 2.0, 2.0]
    assert all(each.loss is None for each in training.rounds)


def test_it_ends_when_the_loss_no_longer_falls() -> None:
    losses = [9.0, 5.0, float("nan"), 5.0, 4.0, 6.0, 7.0, 8.0]
    training = scripted(
        lambda *_: [1.0, 0.0],
        rounds=50,
        early_stop=EarlyStop(monitor="loss", patience=3),
        loss=lambda _, number: losses[number - 1],
    )
    assert training.run() == "nothing improved for 3 rounds"
    assert [each.loss for each in training.rounds] == [None if np.isnan(loss) else loss for loss in losses]


def test_a_loss_is_the_mean_of_what_was_told() -> None:
    training = scripted(
        lambda *_: [1.0, 0.0],
        early_stop=EarlyStop(monitor="loss"),
        loss=lambda name, _: {"a": 1.0, "b": 3.0}.get(name, np.nan),
    )
    training.run()
    assert training.rounds[0].loss == 2.0


def test_a_client_whose_budget_is_spent_stops_before_it_would_exceed_it_and_says_so() -> None:
    # z = 4, sensitivity 1: 10 rounds cost 3.34141, 11 more.
    privacy = Personalized(multiplier=4.0, target_epsilon=None, relation="zero_out", budget=3.3415)
    training = scripted(lambda *_: [1.0, 0.0], rounds=14, privacy=privacy)
    assert training.run() == "every client's budget is spent"
    assert len(training.rounds) == 10
    assert [client.guard.account.participations for client in training.clients if client.guard.account] == [10] * 3
    assert all(client.guard.account.epsilon().value <= 3.3415 for client in training.clients if client.guard.account)


def test_the_others_go_on_without_it() -> None:
    privacy = Personalized.model_validate(
        {
            "target_epsilon": None,
            "relation": "zero_out",
            "budget": 3.0,
            "personalise": {"name": "epsilon", "default": 3.0, "clients": {"a": 1.0}},
        }
    )
    training = scripted(lambda *_: [1.0, 0.0], rounds=6, privacy=privacy)
    account = training.clients[0].guard.account
    assert account is not None
    account.budget = 0.5
    training.run()
    allowed = account.participations
    assert 0 < allowed < 6
    assert account.epsilon().value <= 0.5
    assert [each.spent for each in training.rounds] == [()] * allowed + [("a",)] * (6 - allowed)
    told = [each.round_number for each in training.wire.crossings if each.kind == "spent" and each.sender == "a"]
    assert told == list(range(allowed + 1, 7))
    sent = [each for each in training.wire.crossings if each.kind == "update" and each.sender == "a"]
    assert len(sent) == allowed
    assert len(training.rounds) == 6


def test_a_budget_below_one_round_lets_nobody_begin() -> None:
    privacy = Personalized(multiplier=1.0, target_epsilon=None, budget=0.1)
    training = scripted(lambda *_: [1.0, 0.0], rounds=6, privacy=privacy)
    assert training.run() == "every client's budget is spent"
    assert not training.rounds
    assert not training.server.weights.any()
    assert not training.wire.crossings


@pytest.mark.parametrize("smallest", [7, None])
def test_shares_of_noise_abort_a_round_that_too_few_can_answer(smallest: int | None) -> None:
    privacy = Global(multiplier=1.0, target_epsilon=None, noise_from="clients", smallest_cohort=smallest)
    training = scripted(lambda *_: [1.0, 0.0], NAMES, rounds=30, participation=0.7, privacy=privacy)
    training.run()
    fewest = smallest or 10
    assert {len(each.cohort) < fewest for each in training.rounds} >= {True}
    for each in training.rounds:
        aborted = len(each.cohort) < fewest
        assert ("aborted" in each.closed.stayed) == aborted
        assert (each.change == 0) == aborted
    told = {each.round_number for each in training.wire.crossings if each.kind == "update"}
    assert told == {each.number for each in training.rounds if len(each.cohort) >= fewest}
    counted = [client.guard.account.participations for client in training.clients if client.guard.account]
    assert sum(counted) == sum(len(each.closed.came) for each in training.rounds)


def test_training_ends_where_shares_of_noise_can_no_longer_make_it_up() -> None:
    privacy = Global(multiplier=4.0, target_epsilon=None, noise_from="clients", smallest_cohort=3, relation="zero_out")
    training = scripted(lambda *_: [1.0, 0.0], rounds=5, privacy=privacy)
    account = training.clients[0].guard.account
    assert account is not None
    account.budget = account.epsilon(Releases(4.0, times=2)).value + 1e-9
    assert training.run() == "fewer than the 3 clients whose shares make up the noise have budget left"
    assert len(training.rounds) == 2
