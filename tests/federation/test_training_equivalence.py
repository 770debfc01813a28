"""Whether clients are stacked or looped, and in what chunks, shows in no weight."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.federation.training import Dense, Looped, Stacked
from components.federation.work import Done, LocalTraining, Work

TOLERANCE = 1e-6


def work(client: str, rows: int, network: Dense, seed: int, **more: Any) -> Work:
    random = np.random.default_rng([seed, *client.encode()])
    features = random.random((rows, network.inputs), dtype=np.float32)
    if network.loss == "squared":
        return Work(client, features, features.sum(axis=1, dtype=np.float32) - 1, seed, **more)
    return Work(client, features, random.integers(0, network.outputs, rows), seed, **more)


def furthest(some: Sequence[Done], others: Sequence[Done]) -> float:
    assert [done.steps for done in some] == [done.steps for done in others]
    assert [done.finite for done in some] == [done.finite for done in others]
    np.testing.assert_allclose([done.loss for done in some], [done.loss for done in others], rtol=1e-6)
    return max(float(np.abs(one.update - other.update).max()) for one, other in zip(some, others, strict=True))


NETWORKS = st.builds(
    lambda inputs, hidden, activation, outputs: Dense(
        inputs, tuple(hidden), outputs, activation, "squared" if outputs == 1 else "cross_entropy"
    ),
    st.integers(1, 6),
    st.lists(st.integers(1, 9), max_size=3),
    st.sampled_from(["relu", "gelu", "silu", "tanh"]),
    st.integers(1, 4),
)
TRAININGS = st.builds(
    LocalTraining,
    epochs=st.integers(1, 3),
    batch_size=st.integers(1, 20),
    optimizer=st.sampled_from(["sgd", "adam"]),
    learning_rate=st.sampled_from([0.001, 0.02]),
    momentum=st.sampled_from([0.0, 0.9]),
    weight_decay=st.sampled_from([0.0, 0.01]),
    proximal=st.sampled_from([0.0, 0.5]),
)


@settings(max_examples=40, deadline=None)
@given(NETWORKS, TRAININGS, st.lists(st.integers(0, 30), min_size=1, max_size=6), st.data())
def test_stacked_is_looped_whatever_the_chunk(
    network: Dense, options: LocalTraining, rows: list[int], data: st.DataObject
) -> None:
    seed = data.draw(st.integers(0, 2**32 - 1))
    works = [work(str(place), count, network, seed + place) for place, count in enumerate(rows)]
    if data.draw(st.booleans()):
        pushed = np.random.default_rng(seed).normal(size=network.layout.size)
        works[-1] = replace(works[-1], correction=pushed)
    start = network.initial(seed)
    looped = Looped().train(network, start, works, options)
    stacked = Stacked(data.draw(st.integers(1, 7))).train(network, start, works, options)
    assert furthest(stacked, looped) <= TOLERANCE
    torchs = Stacked(data.draw(st.integers(1, 7)), "torch").train(network, start, works, options)
    assert furthest(torchs, looped) <= TOLERANCE


def test_five_rounds_over_hundreds_of_steps_agree() -> None:
    network = Dense(15)
    works = [work(str(place), 300 + 40 * place, network, place) for place in range(7)]
    options = LocalTraining(epochs=3, batch_size=16, learning_rate=0.02, momentum=0.5)
    starts = [network.initial(0)] * 2
    for _ in range(5):
        engines = (Stacked(3), Looped())
        rounds = [engine.train(network, start, works, options) for engine, start in zip(engines, starts, strict=True)]
        starts = [start + np.mean([d.update for d in done], axis=0) for start, done in zip(starts, rounds, strict=True)]
    assert np.abs(starts[0] - starts[1]).max() <= TOLERANCE
    assert rounds[0][0].loss < 0.01


@pytest.mark.parametrize("engine", [Stacked(), Stacked(backend="torch"), Looped()])
def test_the_same_call_gives_the_same_bytes_and_writes_to_nothing_it_was_given(engine: Stacked | Looped) -> None:
    network = Dense(4, (5,), 3, "gelu", "cross_entropy")
    works = [work(str(place), 40, network, place, correction=np.ones(network.layout.size)) for place in range(4)]
    start = network.initial(3)
    held = [start, *(array for each in works for array in (each.features, each.targets, each.correction))]
    before = [array.tobytes() for array in held if array is not None]
    options = LocalTraining(optimizer="adam", proximal=0.1, weight_decay=0.1, batch_size=7)
    first, second = (engine.train(network, start, works, options) for _ in range(2))
    assert [done.update.tobytes() for done in first] == [done.update.tobytes() for done in second]
    assert [array.tobytes() for array in held if array is not None] == before
    assert all(done.update.dtype == np.float64 for done in first)


def test_a_clients_batches_follow_from_its_own_seed_alone() -> None:
    network = Dense(3, (4,))
    works = [work(str(place), 25, network, place) for place in range(3)]
    options = LocalTraining(batch_size=4)
    start = network.initial(0)
    together = Stacked().train(network, start, works, options)
    alone = Stacked().train(network, start, [works[1]], options)
    np.testing.assert_allclose(together[1].update, alone[0].update, rtol=0, atol=1e-12)
    other = Stacked().train(network, start, [replace(works[1], seed=99)], options)
    assert np.abs(other[0].update - alone[0].update).max() > 1e-6


@pytest.mark.parametrize("engine", [Stacked(), Looped()])
def test_a_client_without_rows_or_without_epochs_moves_nothing(engine: Stacked | Looped) -> None:
    network = Dense(3, (4,))
    some, none = work("some", 10, network, 0), work("none", 0, network, 1, correction=np.ones(network.layout.size))
    start = network.initial(0)
    moved, idle = engine.train(network, start, [some, none], LocalTraining(batch_size=4, weight_decay=0.1))
    assert moved.steps == 3
    assert np.abs(moved.update).max() > 0
    assert (idle.steps, idle.finite) == (0, True)
    assert not idle.update.any()
    assert np.isnan(idle.loss)
    (kept,) = engine.train(network, start, [some], LocalTraining(epochs=0))
    assert kept.steps == 0
    assert not kept.update.any()
    assert engine.train(network, start, [], LocalTraining()) == []


@pytest.mark.parametrize("engine", [Stacked(), Stacked(backend="torch"), Looped()])
def test_a_client_that_runs_away_is_told_and_spoils_no_other(engine: Stacked | Looped) -> None:
    network = Dense(3, (4,))
    works = [work(str(place), 20, network, place) for place in range(3)]
    features = works[1].features.copy()
    features[5] = np.nan
    broken = [works[0], replace(works[1], features=features), works[2]]
    start, options = network.initial(0), LocalTraining(batch_size=6)
    found = engine.train(network, start, broken, options)
    sound = engine.train(network, start, works, options)
    assert [done.finite for done in found] == [True, False, True]
    for place in (0, 2):
        np.testing.assert_allclose(found[place].update, sound[place].update, rtol=0, atol=1e-12)
    (steep,) = engine.train(network, start, [works[0]], replace(options, learning_rate=1e30, epochs=9))
    assert not steep.finite


def test_the_mean_loss_is_over_the_rows_before_each_step() -> None:
    network = Dense(2, ())
    features = np.array([[0, 0], [1, 0], [0, 1]], dtype=np.float32)
    one = Work("one", features, np.array([1, 2, 3], dtype=np.float32), 0)
    start = np.array([0.5, 0.25, 0.0])
    (done,) = Stacked().train(network, start, [one], LocalTraining(batch_size=3))
    assert done.loss == pytest.approx((1 + 1.5**2 + 2.75**2) / 3)
    slopes = -2 / 3 * np.array([1.5, 2.75, 1 + 1.5 + 2.75])
    np.testing.assert_allclose(done.update, -0.1 * slopes)


def test_the_last_smaller_batch_counts_as_a_whole_step() -> None:
    network = Dense(1, ())
    one = Work("one", np.ones((3, 1), dtype=np.float32), np.ones(3, dtype=np.float32), 0)
    (done,) = Stacked().train(network, np.zeros(2), [one], LocalTraining(batch_size=2, learning_rate=0.125))
    assert done.steps == 2
    np.testing.assert_allclose(done.update, [0.375, 0.375])  # .25 x 1, then .25 x (1 - .5)


@pytest.mark.parametrize("engine", [Stacked(), Looped()])
def test_rows_that_do_not_fit_the_network_are_refused(engine: Stacked | Looped) -> None:
    network = Dense(3, (), 2, loss="cross_entropy")
    good = work("here", 4, network, 0)
    start = network.initial(0)
    for wrong in (
        replace(good, features=good.features[:, :2]),
        replace(good, targets=good.targets[:3]),
        replace(good, targets=good.targets + 7),
        replace(good, targets=good.targets - 7),
    ):
        with pytest.raises(ValueError, match=r"^here: (rows of other|not one target|targets that are no positions)"):
            engine.train(network, start, [wrong], LocalTraining())
