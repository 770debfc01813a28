"""What a client has trained, and what of that it tells."""

from math import inf
from typing import Any

import numpy as np
import pytest

from components.dp.declarations import Personalized
from components.federation.attacks.declarations import Gaussian, Lazy, Scaling, SignFlip
from components.federation.client import Client
from components.federation.control import ControlVariate
from components.federation.guards import Open
from components.federation.privacy import guarded
from components.federation.rounds import Schedule
from components.federation.work import Done, LocalTraining

SIZE = 4
UPDATE = np.array([1.0, -2.0, 3.0, 0.5])


def client(name: str = "a", **given: Any) -> Client:
    features = np.arange(6, dtype=np.float32).reshape(3, 2)
    return Client(name, features, np.zeros(3, dtype=np.float32), **{"guard": Open(), "seed": 7, **given})


def answers(one: Client, update: np.ndarray = UPDATE, loss: float = 0.25, **given: Any) -> dict[str, Any]:
    finite = bool(np.isfinite(update).all() and np.isfinite(loss))
    round_number = given.pop("round_number", 1)
    asked = {"clip": inf, "control": None, "learning_rate": 0.5, **given}
    return one.answers(Done(update, 2, loss, finite=finite), round_number, **asked)


def test_it_tells_its_update_and_nothing_else() -> None:
    said = answers(client())
    assert list(said) == ["update"]
    np.testing.assert_array_equal(said["update"], UPDATE)


def test_it_tells_its_loss_only_where_that_was_asked_for() -> None:
    assert answers(client(tells_loss=True))["loss"] == 0.25
    assert answers(client(tells_loss=True), loss=np.nan)["loss"] is None


def test_batches_are_another_order_for_every_client_round_and_seed() -> None:
    works = [each.work(number, None) for each in (client(), client("b"), client(seed=8)) for number in (1, 2)]
    assert len({work.seed for work in works}) == 6
    assert client().work(2, None).seed == works[1].seed
    assert works[0].correction is None
    assert works[0].privacy is None


def test_scaffold_corrects_by_the_difference_of_the_variates() -> None:
    one = client(control=ControlVariate(np.full(SIZE, 0.5)))
    np.testing.assert_array_equal(one.work(1, np.ones(SIZE)).correction, np.full(SIZE, 0.5))


def test_its_variate_follows_from_what_was_released() -> None:
    # Karimireddy et al., option II: c_i - c + (x - y_i) / (K lr), with y_i - x the update as it left, clipped.
    before, control, clip = np.full(SIZE, 0.5), np.ones(SIZE), 1.0
    privacy = Personalized(multiplier=2.0, target_epsilon=None)
    guard = guarded(privacy, Schedule(3, 1.0, LocalTraining(), 0), {"a": 3}, {"a": 0.1}, {"a": 1.0}).guards["a"]
    one = client(control=ControlVariate(before), guard=guard)
    said = answers(one, clip=clip, control=control)
    assert one.control is not None
    np.testing.assert_allclose(one.control.value, before - control - said["update"] / (2 * 0.5))
    np.testing.assert_allclose(said["control change"], one.control.value - before)
    assert guard.account is not None
    assert [each.kind for each in guard.account.entries] == ["update"]  # no second release


@pytest.mark.parametrize("spoiled", [np.nan, inf])
def test_training_that_ran_away_once_does_not_spoil_its_variate(spoiled: float) -> None:
    one = client(control=ControlVariate(np.zeros(SIZE)))
    said = answers(one, np.array([1.0, spoiled, 0.0, 0.0]), control=np.ones(SIZE))
    assert "control change" not in said
    assert one.control is not None
    assert np.isfinite(one.control.value).all()
    correction = one.work(2, np.ones(SIZE)).correction
    assert correction is not None
    assert np.isfinite(correction).all()


@pytest.mark.parametrize(
    ("attack", "expected"),
    [
        (SignFlip(clients=["a"]), -UPDATE),
        (Scaling(clients=["a"], factor=-10), -10 * UPDATE),
        (Lazy(clients=["a"]), 0 * UPDATE),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_an_attacker_tells_something_else(attack: Any, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(answers(client(attack=attack))["update"], expected)


def test_an_attackers_noise_is_new_in_every_round_and_follows_from_the_seed() -> None:
    one = client(attack=Gaussian(clients=["a"], std=2.0))
    first, second = (answers(one, round_number=number)["update"] for number in (1, 2))
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, answers(one)["update"])


def test_an_attack_is_clipped_like_anything_else() -> None:
    privacy = Personalized(multiplier=1e-6, target_epsilon=None)
    guard = guarded(privacy, Schedule(3, 1.0, LocalTraining(), 0), {"a": 3}, {"a": 0.1}, {"a": 1.0}).guards["a"]
    one = client(attack=Scaling(clients=["a"], factor=1e308), guard=guard)
    assert np.linalg.norm(answers(one, clip=0.5)["update"]) <= 0.5 + 1e-5
