"""What simulated attackers do."""

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from components.federation.attacks.declarations import AnyAttack, Attack, Gaussian, LabelFlip, Lazy, Scaling, SignFlip
from components.federation.attacks.simulate import attacked_classes, attacked_numbers, attacked_update

UPDATE = np.array([1.0, -2.0])
ALL: list[Attack] = [each(clients=["a"]) for each in (LabelFlip, SignFlip, Scaling, Gaussian, Lazy)]


def sent(attack: Attack) -> list[float]:
    return attacked_update(attack, UPDATE, np.random.default_rng(0)).tolist()


def test_labels_are_flipped_within_their_domain() -> None:
    flip = LabelFlip(clients=["a"])
    numbers = np.array([0.0, 2.5, 10.0], dtype=np.float32)
    assert attacked_numbers(flip, numbers, 0, 10).tolist() == [10, 7.5, 0]
    assert attacked_numbers(flip, numbers, 0, 10).dtype == np.float32
    classes = np.array([0, 1, 2, 3])
    assert attacked_classes(flip, classes, 4).tolist() == [3, 2, 1, 0]
    assert attacked_classes(flip, classes, 4).dtype == np.int64


def test_a_label_flip_sends_what_it_trained_and_the_others_train_on_what_is_true() -> None:
    assert sent(LabelFlip(clients=["a"])) == UPDATE.tolist()
    for attack in ALL[1:]:
        assert attacked_numbers(attack, UPDATE, 0, 10) is UPDATE
        assert attacked_classes(attack, np.array([1]), 2).tolist() == [1]


def test_updates_are_turned_round_scaled_or_not_made() -> None:
    assert sent(SignFlip(clients=["a"])) == [-1, 2]
    assert sent(Scaling(clients=["a"])) == [100, -200]
    assert sent(Scaling(clients=["a"], factor=-10)) == [-10, 20]
    assert sent(Lazy(clients=["a"])) == [0, 0]


def test_gaussian_adds_noise_of_its_standard_deviation_from_the_stream_it_is_given() -> None:
    attack, update = Gaussian(clients=["a"], std=3.0), np.ones(20_000)
    first, again = (attacked_update(attack, update, np.random.default_rng(5)) for _ in range(2))
    assert np.array_equal(first, again)
    assert (first - update).std() == pytest.approx(3.0, rel=0.03)


def test_the_clients_own_update_is_left_as_it_is() -> None:
    for attack in ALL:
        sent(attack)
    assert UPDATE.tolist() == [1, -2]


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "label_flip"},
        {"name": "sign_flip", "clients": []},
        {"name": "gaussian", "clients": ["a"], "std": 0.0},
        {"name": "scaling", "clients": ["a"], "factor": float("inf")},
        {"name": "backdoor", "clients": ["a"]},
    ],
)
def test_impossible_attacks_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(AnyAttack).validate_python(wrong)
