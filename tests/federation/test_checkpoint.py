"""A training that was interrupted goes on as if it never had been - and no other one goes on from its checkpoint."""

import io
import json
import os
import pickle
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.tiny_sites import scripted, sites
from components.dp.declarations import Adaptive, Global, Noised, Personalized, Record
from components.federation import checkpoint
from components.federation.declarations import EarlyStop, FedAvg, Federation, Local, Scaffold
from components.federation.drift.declarations import Drift
from components.federation.rounds import Training
from components.federation.stage import Federated, federate
from components.models.declarations import Declaration as Model
from components.models.declarations import Linear, Mlp
from schemas.faults import ConfigurationError, DataError

AT = sites(30, 40, 50, 60)
ROUNDS = 6
LOCAL = Local(learning_rate=0.1, batch_size=16)
NET = Mlp(hidden=[3])


def trained(
    params: Federation, privacy: Noised | None = None, model: Model = NET
) -> tuple[Federated, dict[int, bytes]]:
    """Return a whole training, and what was kept after each round."""
    kept: dict[int, bytes] = {}

    def keep(training: Training) -> None:
        kept[len(training.rounds)] = checkpoint.packed(training)

    return federate(params, privacy, model, AT, 0, after_round=keep), kept


def same_but_for_numbers(one: Training, other: Training) -> bool:
    def told(training: Training) -> list[Any]:
        return [
            (each.number, each.cohort, each.spent, each.closed.came, each.closed.stayed) for each in training.rounds
        ]

    sent, sent_again = ([replace(each, size=0) for each in training.wire.crossings] for training in (one, other))
    return told(one) == told(other) and sent == sent_again  # sizes are of numbers as text, which noise has changed


PLAIN = {"rounds": ROUNDS, "local": LOCAL}


@pytest.mark.parametrize(
    "params",
    [
        FedAvg(**PLAIN, participation=0.6),
        FedAvg(**PLAIN, drift=Drift(rounds=2), early_stop=EarlyStop(monitor="loss", patience=5)),
        Scaffold(**PLAIN, participation=0.6),
    ],
    ids=["sampled", "drift", "scaffold"],
)
def test_going_on_gives_the_same_bytes_as_never_having_stopped(params: Federation) -> None:
    whole, kept = trained(params)
    assert list(kept) == list(range(1, ROUNDS + 1))
    for after in (1, 3, ROUNDS):
        again = federate(params, None, NET, AT, 0, checkpoint=kept[after])
        assert again.training.server.weights.tobytes() == whole.training.server.weights.tobytes()
        assert checkpoint.packed(again.training) == kept[ROUNDS]
        assert again.ended == whole.ended


@pytest.mark.parametrize(
    "privacy",
    [
        Personalized(clipping=Adaptive(), budget=2.0, target_epsilon=2.0),
        Record(target_epsilon=3.0),
        Global(noise_from="clients"),
        Global(clipping=Adaptive()),
        Personalized(paper=True, multiplier=1.0, target_epsilon=None),
    ],
    ids=["personalized", "record", "shares", "server", "paper"],
)
def test_accounts_go_on_where_they_were(privacy: Noised) -> None:
    params = FedAvg(**PLAIN, participation=0.8 if isinstance(privacy, Personalized) else 1.0)
    whole, kept = trained(params, privacy)
    again = federate(params, privacy, NET, AT, 0, checkpoint=kept[2])
    for one, other in zip(whole.training.clients, again.training.clients, strict=True):
        assert (one.guard.account is None) == (other.guard.account is None)
        if one.guard.account is not None and other.guard.account is not None:
            assert other.guard.account.epsilon() == one.guard.account.epsilon()
            assert [each.round_number for each in other.guard.account.entries] == [
                each.round_number for each in one.guard.account.entries
            ]
    assert same_but_for_numbers(whole.training, again.training)
    # The third round's clip is what the checkpoint after the second one holds.
    clips = [[each.clip for each in training.rounds[:3]] for training in (again.training, whole.training)]
    assert clips[0] == clips[1]
    if not isinstance(privacy, Global):
        assert not np.array_equal(again.training.server.weights, whole.training.server.weights)  # new noise


def test_a_budget_that_was_spent_stays_spent() -> None:
    params = FedAvg(**PLAIN)
    privacy = Personalized(multiplier=4.0, target_epsilon=None, budget=4.5)
    whole, kept = trained(params, privacy)
    last = max(kept)
    assert last < ROUNDS
    again = federate(params, privacy, NET, AT, 0, checkpoint=kept[last])
    assert again.ended == whole.ended == "every client's budget is spent"
    assert len(again.training.rounds) == last


def test_training_that_was_over_is_not_taken_up_again() -> None:
    params = FedAvg(rounds=50, local=Local(learning_rate=1e-9), early_stop=EarlyStop(patience=2, min_change=1.0))
    whole, kept = trained(params)
    again = federate(params, None, NET, AT, 0, checkpoint=kept[max(kept)])
    assert again.ended == whole.ended == "nothing improved for 2 rounds"
    assert len(again.training.rounds) == len(whole.training.rounds)


def test_another_training_does_not_go_on_from_it() -> None:
    params = FedAvg(**PLAIN)
    _, kept = trained(params)
    for other, model, at, seed, told in [
        (FedAvg(**{**PLAIN, "rounds": 7}), NET, AT, 0, ["another configuration"]),
        (params, NET, AT, 1, ["another configuration"]),
        (params, Linear(), AT, 0, ["another configuration", "other layers"]),
        (params, NET, sites(30, 40, 50), 0, ["other clients: 'c3' is in one"]),
        (params, NET, sites(30, 41, 50, 60), 0, ["train rows of 'c1'"]),
        (params, Mlp(hidden=[4]), sites(31, 40), 1, ["configuration", "'c2', 'c3' is", "rows of 'c0'", "layers"]),
    ]:
        with pytest.raises(ConfigurationError) as caught:
            federate(other, None, model, at, seed, checkpoint=kept[3])
        faults = [str(fault) for fault in caught.value.faults]
        assert len(faults) == len(told)
        for fault, part in zip(faults, told, strict=True):
            assert fault.startswith("checkpoint: ")
            assert part in fault
            assert "go on with the same configuration and data" in fault


def test_another_privacy_does_not_go_on_from_it() -> None:
    params = FedAvg(**PLAIN)
    _, kept = trained(params, Personalized(target_epsilon=3.0))
    for other in (None, Personalized(target_epsilon=8.0), Record(target_epsilon=3.0)):
        with pytest.raises(ConfigurationError, match="another configuration"):
            federate(params, other, NET, AT, 0, checkpoint=kept[3])


class Canary:
    """Leaves a trace when it is unpickled."""

    found: list[int] = []  # noqa: RUF012

    def __reduce__(self) -> tuple[Any, tuple[int]]:
        return Canary.found.append, (1,)


def changed(content: bytes, **arrays: Any) -> bytes:
    with np.load(io.BytesIO(content)) as held:
        found = {name: held[name] for name in held.files}
    into = io.BytesIO()
    np.savez(into, **{name: each for name, each in {**found, **arrays}.items() if each is not None})
    return into.getvalue()


def retold(content: bytes, **facts: Any) -> bytes:
    with np.load(io.BytesIO(content)) as held:
        told = json.loads(held["told"].tobytes())
    return changed(content, told=np.frombuffer(json.dumps({**told, **facts}).encode(), dtype=np.uint8))


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda _: b"no zip at all",
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole[:-40],
        lambda whole: changed(whole, weights=None),
        lambda whole: changed(whole, weights=np.zeros(2)),
        lambda whole: changed(whole, weights=np.array([Canary()], dtype=object)),
        lambda whole: changed(whole, told=None),
        lambda whole: changed(whole, told=np.frombuffer(b"[1]", dtype=np.uint8)),
        lambda whole: changed(whole, told=np.frombuffer(b"{", dtype=np.uint8)),
        lambda _: pickle.dumps(Canary()),
        lambda whole: retold(whole, rounds=[{"number": 1}]),
        lambda whole: retold(whole, crossings=[[1, 2]]),
        lambda whole: retold(whole, accounts={}),
        lambda whole: retold(whole, clip="wide"),
        lambda whole: retold(whole, streaks=3),
    ],
)
def test_a_damaged_one_is_refused_and_changes_nothing(damage: Any) -> None:
    params, privacy = FedAvg(**PLAIN), Personalized()
    whole, kept = trained(params, privacy)
    fresh = federate(params.model_copy(update={"rounds": 0}), privacy, NET, AT, 0).training
    fresh.identity = whole.training.identity
    before = checkpoint.packed(fresh)
    with pytest.raises(DataError, match="no checkpoint of a training, or a damaged one; start the run anew"):
        checkpoint.resume(fresh, damage(kept[3]))
    assert checkpoint.packed(fresh) == before
    assert not Canary.found


def test_one_of_another_version_says_so() -> None:
    params = FedAvg(**PLAIN)
    _, kept = trained(params)
    with pytest.raises(ConfigurationError, match="another version"):
        federate(params, None, NET, AT, 0, checkpoint=retold(kept[3], format=0))


def test_a_training_that_has_begun_is_not_put_back() -> None:
    whole, kept = trained(FedAvg(**PLAIN), Personalized())
    with pytest.raises(ValueError, match="begun"):
        checkpoint.resume(whole.training, kept[1])


def test_it_is_for_its_owner_alone_and_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = scripted(lambda *_: [1.0, 0.0], rounds=3)
    path = tmp_path / "checkpoint.npz"
    old = os.umask(0)
    try:
        training.run(lambda each: checkpoint.save(path, each))
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["checkpoint.npz"]
    before = path.read_bytes()
    assert before == checkpoint.packed(training)

    def torn(_: int) -> None:
        raise OSError(28, "no space")

    monkeypatch.setattr(os, "fsync", torn)
    training.server.weights = np.ones(2)
    with pytest.raises(OSError, match="no space"):
        checkpoint.save(path, training)
    assert path.read_bytes() == before
    monkeypatch.undo()
    checkpoint.save(path, training)  # over what the torn one left beside
    assert path.read_bytes() != before
    assert [each.name for each in tmp_path.iterdir()] == ["checkpoint.npz"]


def test_it_holds_no_row_and_no_secret_of_the_noise() -> None:
    whole, kept = trained(FedAvg(**PLAIN), Personalized())
    content = kept[ROUNDS]
    for client in whole.training.clients:
        for rows in (client.features, client.targets):
            assert rows[:4].tobytes() not in content
    with np.load(io.BytesIO(content), allow_pickle=False) as held:
        assert set(held.files) == {"told", "weights"}
        assert "key" not in held["told"].tobytes().decode()


def test_it_grows_with_rounds_and_not_with_rounds_times_weights() -> None:
    kept: dict[int, bytes] = {}
    federate(
        FedAvg(rounds=10, local=LOCAL),
        None,
        Mlp(hidden=[200, 50]),
        AT,
        0,
        after_round=lambda each: kept.__setitem__(len(each.rounds), checkpoint.packed(each)),
    )
    assert len(kept[10]) < 1.2 * len(kept[1])
