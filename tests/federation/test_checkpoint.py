"""A training that was interrupted goes on as if it never had been - and no other one goes on from its checkpoint."""

import io
import json
import os
import pickle
import stat
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from bench.tiny_sites import scripted, sites
from components.dp.accountant import Accountant
from components.dp.declarations import Adaptive, ByShift, Global, Noised, Personalized, Record
from components.dp.releases import Releases
from components.federation import checkpoint
from components.federation.checkpoint import Checkpoint, Keeper
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
) -> tuple[Federated, dict[int, Checkpoint]]:
    """Return a whole training, and what was kept after each round."""
    kept: dict[int, Checkpoint] = {}

    class Packing(Keeper):
        """Keeps every round, and looks at what lies in the files then."""

        def after_round(self, training: Training) -> None:
            """Keep it."""
            Keeper.after_round(self, training)
            kept[len(training.rounds)] = checkpoint.read(self.state.parent)
            assert kept[len(training.rounds)] == checkpoint.packed(training)

    with TemporaryDirectory() as folder:
        keeper = Packing(Path(folder) / checkpoint.STATE, Path(folder) / checkpoint.HISTORY)
        return federate(params, privacy, model, AT, 0, keeper=keeper), kept


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


def changed(kept: Checkpoint, **arrays: Any) -> Checkpoint:
    with np.load(io.BytesIO(kept.state)) as held:
        found = {name: held[name] for name in held.files}
    into = io.BytesIO()
    np.savez(into, **{name: each for name, each in {**found, **arrays}.items() if each is not None})
    return kept._replace(state=into.getvalue())


def retold(kept: Checkpoint, **facts: Any) -> Checkpoint:
    with np.load(io.BytesIO(kept.state)) as held:
        told = json.loads(held["told"].tobytes())
    return changed(kept, told=np.frombuffer(json.dumps({**told, **facts}).encode(), dtype=np.uint8))


def line(kept: Checkpoint, number: int, **facts: Any) -> Checkpoint:
    """Return a checkpoint with other facts in one line of its history."""
    found = kept.history.splitlines(keepends=True)
    found[number] = json.dumps({**json.loads(found[number]), **facts}).encode() + b"\n"
    return kept._replace(history=b"".join(found))


def state(change: Any) -> Any:
    return lambda kept: kept._replace(state=change(kept.state))


@pytest.mark.parametrize(
    "damage",
    [
        state(lambda _: b""),
        state(lambda _: b"no zip at all"),
        state(lambda whole: whole[: len(whole) // 2]),
        state(lambda whole: whole[:-40]),
        state(lambda _: pickle.dumps(Canary())),
        lambda kept: changed(kept, weights=None),
        lambda kept: changed(kept, weights=np.zeros(2)),
        lambda kept: changed(kept, weights=np.array([Canary()], dtype=object)),
        lambda kept: changed(kept, told=None),
        lambda kept: changed(kept, told=np.frombuffer(b"[1]", dtype=np.uint8)),
        lambda kept: changed(kept, told=np.frombuffer(b"{", dtype=np.uint8)),
        lambda kept: retold(kept, rounds=9),
        lambda kept: retold(kept, rounds="3"),
        lambda kept: retold(kept, accounts={}),
        lambda kept: retold(kept, accounts={"c0": 99, "c1": 3, "c2": 3, "c3": 3}),
        lambda kept: retold(kept, clip="wide"),
        lambda kept: retold(kept, clip=None),
        lambda kept: retold(kept, streaks=3),
        lambda kept: kept._replace(history=b""),
        lambda kept: kept._replace(history=b"no line"),
        lambda kept: kept._replace(history=b"[]\n" + kept.history),
        lambda kept: kept._replace(history=kept.history[: len(kept.history) // 2]),
        lambda kept: kept._replace(history=b"".join(kept.history.splitlines(keepends=True)[:-1])),
        lambda kept: line(kept, 2, round={"number": 1}),
        lambda kept: line(kept, 2, crossings=[[1, 2]]),
        lambda kept: line(kept, 1, entries={"nobody": []}),
        lambda kept: line(kept, 1, entries={}),
    ],
)
def test_a_damaged_one_is_refused_and_changes_nothing(damage: Any) -> None:
    params, privacy = FedAvg(**PLAIN), Personalized()
    whole, kept = WHOLE
    fresh = federate(params.model_copy(update={"rounds": 0}), privacy, NET, AT, 0).training
    fresh.identity = whole.training.identity
    before = checkpoint.packed(fresh)
    with pytest.raises(DataError, match="no checkpoint of a training, or a damaged one; start the run anew"):
        checkpoint.resume(fresh, damage(kept[3]))
    assert checkpoint.packed(fresh) == before
    assert not Canary.found


WHOLE = trained(FedAvg(**PLAIN), Personalized())


def test_one_of_another_version_says_so() -> None:
    params = FedAvg(**PLAIN)
    _, kept = trained(params)
    with pytest.raises(ConfigurationError, match="another version"):
        federate(params, None, NET, AT, 0, checkpoint=line(kept[3], 0, format=1))


class CutOffError(Exception):
    """Stands for a process that was killed."""


def cut_off(privacy: Noised, folder: Path, *, at: str) -> Checkpoint:
    """Kill a training in its third round: as its updates leave, or as the round is kept."""

    class Killed(Keeper):
        """A keeper that is killed."""

        def before_release(self, training: Training, number: int, spending: Any) -> None:
            """Keep it, and die."""
            Keeper.before_release(self, training, number, spending)
            if at == "release" and number == 3:
                raise CutOffError

        def after_round(self, training: Training) -> None:
            """Die while it is kept."""
            if at == "torn" and len(training.rounds) == 3:
                with self.history.open("ab") as file:
                    file.write(b'{"round": {"number": 3, "coh')
                raise CutOffError
            Keeper.after_round(self, training)

    keeper = Killed(folder / checkpoint.STATE, folder / checkpoint.HISTORY)
    with pytest.raises(CutOffError):
        federate(FedAvg(**PLAIN), privacy, NET, AT, 0, keeper=keeper)
    return checkpoint.read(folder)


@pytest.mark.parametrize("at", ["release", "torn"])
@pytest.mark.parametrize("privacy", [Personalized(), Record()], ids=["local", "record"])
def test_a_round_that_was_cut_off_is_made_again_and_counts_twice(privacy: Noised, at: str, tmp_path: Path) -> None:
    kept = cut_off(privacy, tmp_path, at=at)
    whole = federate(FedAvg(**PLAIN), privacy, NET, AT, 0)
    keeper = Keeper(tmp_path / checkpoint.STATE, tmp_path / checkpoint.HISTORY)
    again = federate(FedAvg(**PLAIN), privacy, NET, AT, 0, checkpoint=kept, keeper=keeper)
    assert [each.number for each in again.training.rounds] == list(range(1, ROUNDS + 1))
    for client, other in zip(again.training.clients, whole.training.clients, strict=True):
        account, plain = client.guard.account, other.guard.account
        assert account is not None
        assert plain is not None
        rounds = [each.round_number for each in account.entries]
        assert rounds == [1, 2, 3, 3, 4, 5, 6]
        assert account.made_again == [3]
        more = plain.epsilon(*(each.releases for each in plain.entries if each.round_number == 3))
        assert account.epsilon().value == pytest.approx(more.value)
        assert more.value > plain.epsilon().value
    # What is kept after that still knows of it.
    last = checkpoint.read(tmp_path)
    once_more = federate(FedAvg(**PLAIN), privacy, NET, AT, 0, checkpoint=last)
    first = once_more.training.clients[0].guard.account
    assert first is not None
    assert first.made_again == [3]


def test_a_budget_sees_what_was_cut_off(tmp_path: Path) -> None:
    privacy = Personalized(multiplier=4.0, target_epsilon=None, relation="zero_out")
    enough = Accountant("c", 1e-5).epsilon(Releases(4.0, times=ROUNDS)).value + 1e-6
    privacy = privacy.model_copy(update={"budget": enough, "personalise": ByShift()})
    whole = federate(FedAvg(**PLAIN), privacy, NET, AT, 0)
    kept = cut_off(privacy, tmp_path, at="release")
    again = federate(FedAvg(**PLAIN), privacy, NET, AT, 0, checkpoint=kept)
    able = {name: sum(name not in each.spent for each in whole.training.rounds) for name in AT.tables}
    still = {name: sum(name not in each.spent for each in again.training.rounds) for name in AT.tables}
    assert any(still[name] == able[name] - 1 for name in able)
    for client in again.training.clients:
        assert client.guard.account is not None
        assert client.guard.account.epsilon().value <= enough


def test_a_training_that_has_begun_is_not_put_back() -> None:
    whole, kept = trained(FedAvg(**PLAIN), Personalized())
    with pytest.raises(ValueError, match="begun"):
        checkpoint.resume(whole.training, kept[1])


def test_it_is_for_its_owner_alone_and_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = scripted(lambda *_: [1.0, 0.0], rounds=3)
    keeper = Keeper(tmp_path / checkpoint.STATE, tmp_path / checkpoint.HISTORY)
    old = os.umask(0)
    try:
        training.run(keeper.after_round, keeper.before_release)
    finally:
        os.umask(old)
    assert sorted(each.name for each in tmp_path.iterdir()) == [checkpoint.HISTORY, checkpoint.STATE]
    assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()} == {0o600}
    before = checkpoint.read(tmp_path)
    assert before == checkpoint.packed(training)

    def torn(_: int) -> None:
        raise OSError(28, "no space")

    monkeypatch.setattr(os, "fsync", torn)
    training.server.weights = np.ones(2)
    with pytest.raises(OSError, match="no space"):
        keeper.after_round(training)
    assert checkpoint.read(tmp_path).state == before.state


def test_a_round_costs_what_it_is_however_many_there_were(tmp_path: Path) -> None:
    training = scripted(lambda *_: [1.0, 0.0], rounds=60)
    keeper = Keeper(tmp_path / checkpoint.STATE, tmp_path / checkpoint.HISTORY)
    grown: list[int] = []

    def after(each: Training) -> None:
        before = keeper.history.stat().st_size
        keeper.after_round(each)
        grown.append(keeper.history.stat().st_size - before + keeper.state.stat().st_size)

    training.run(after, keeper.before_release)
    assert len(grown) == 60
    assert grown[-1] < 1.1 * grown[0]


def test_it_holds_no_row_and_no_secret_of_the_noise() -> None:
    whole, kept = trained(FedAvg(**PLAIN), Personalized())
    content = b"".join(kept[ROUNDS])
    for client in whole.training.clients:
        for rows in (client.features, client.targets):
            assert rows[:4].tobytes() not in content
    with np.load(io.BytesIO(kept[ROUNDS].state), allow_pickle=False) as held:
        assert set(held.files) == {"told", "weights"}
        assert "key" not in held["told"].tobytes().decode() + kept[ROUNDS].history.decode()


def test_weights_are_kept_of_the_last_round_alone() -> None:
    def size(rounds: int) -> int:
        done = federate(FedAvg(rounds=rounds, local=LOCAL), None, Mlp(hidden=[200, 50]), AT, 0)
        return len(b"".join(checkpoint.packed(done.training)))

    assert size(10) < 1.2 * size(1)
