"""DP-SGD inside clients: clipping by row, noise, expected batches; each shown to be needed."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from components.dp.noise import Noise
from components.federation.training import Dense, Looped, Stacked
from components.federation.training.autograd_pass import AutogradPass
from components.federation.training.dense_pass import DensePass, product_of
from components.federation.training.modules import put_into
from components.federation.training.passes import Batch, factors
from components.federation.work import LocalTraining, PerRecord, Work

Floats = npt.NDArray[np.float64]

NONE = 1e-12
"""A multiplier whose noise is nothing beside a gradient."""

SINGLE = 1e-5
"""What stacks, which are in single precision here, may be off by."""

ENGINES = [Stacked(), Stacked(backend="torch"), Looped()]


class Silent(Noise):
    """What a broken source would be: no noise at all."""

    def normal(self, shape: tuple[int, ...], dtype: type[Any] = np.float64) -> npt.NDArray[Any]:
        return np.zeros(shape, dtype)


class Nobody(Noise):
    """Never takes a row."""

    def uniform(self, shape: tuple[int, ...]) -> Floats:
        return np.full(shape, np.nextafter(1, 0))


def work(rows: int, network: Dense, privacy: PerRecord, seed: int = 0, **more: Any) -> Work:
    random = np.random.default_rng(seed)
    features = random.random((rows, network.inputs), dtype=np.float32)
    targets: Any = features.sum(axis=1, dtype=np.float32)
    if network.loss == "cross_entropy":
        targets = random.integers(0, network.outputs, rows)
    return Work("one", features, targets, seed, privacy=privacy, **more)


def clipped_by_torch(
    network: Dense, weights: Floats, features: Any, targets: Any, clip: float
) -> tuple[Floats, Floats]:
    """Return the sum of clipped gradients and their norms, each row's gradient written down by torch.func."""
    module = network.module()
    put_into(module, network.layout, weights)
    parameters = {name: each.detach() for name, each in module.named_parameters()}

    def loss(parameters: Any, row: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        found = torch.func.functional_call(module, parameters, (row[None],))
        if network.loss == "squared":
            return functional.mse_loss(found[0, 0], target)
        return functional.cross_entropy(found, target[None])

    rows, answers = torch.from_numpy(features).double(), torch.from_numpy(targets)
    answers = answers if network.loss == "cross_entropy" else answers.double()
    found = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))(parameters, rows, answers)
    gradients = torch.cat([found[name].flatten(1) for name in network.layout.names], dim=1).numpy()
    norms = np.linalg.norm(gradients, axis=1)
    return (gradients * np.minimum(1, clip / norms)[:, None]).sum(axis=0), norms


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(["relu", "gelu", "silu", "tanh"]),
    st.lists(st.integers(1, 7), max_size=3),
    st.integers(1, 4),
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.floats(0.01, 5),
)
def test_clipped_sums_are_those_of_gradients_that_are_written_down(
    activation: Any, hidden: list[int], outputs: int, counts: list[int], clip: float
) -> None:
    network = Dense(3, tuple(hidden), outputs, activation, "squared" if outputs == 1 else "cross_entropy")
    clients = [work(count, network, PerRecord(clip, 1, Noise.from_seed(0)), count) for count in counts]
    weights = np.stack([2 * network.initial(count) for count in counts])
    widest = max(counts)
    features = np.zeros((len(counts), widest, 4), dtype=np.float32)
    targets = np.zeros((len(counts), widest), dtype=clients[0].targets.dtype)
    for at, each in enumerate(clients):
        features[at, : counts[at]] = np.column_stack([each.features, np.ones(counts[at])])
        targets[at, : counts[at]] = each.targets
    present = np.arange(widest) < np.array(counts)[:, None]
    into = np.empty_like(weights)
    passing = DensePass(network, np.ascontiguousarray(weights[:, network.order]), into, product_of("numpy"))
    passing.clipped(Batch(features, targets, np.array(counts), present), np.full(len(counts), clip))
    for at, each in enumerate(clients):
        expected, _ = clipped_by_torch(network, weights[at], each.features, each.targets, clip)
        found = np.empty_like(expected)
        found[network.order] = into[at]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * max(1, clip))
        one = slice(at, at + 1)
        looped = np.empty((1, expected.size))
        autograd = AutogradPass(network, weights[one].copy(), looped)
        autograd.clipped(Batch(features[one], targets[one], np.array(counts)[one], present[one]), np.array([clip]))
        np.testing.assert_allclose(looped[0], expected, rtol=0, atol=1e-6 * max(1, clip))


@given(st.integers(1, 3), st.floats(0.001, 100), st.floats(0.01, 30), st.integers(0, 99))
def test_single_precision_carries_no_row_beyond_the_clip(layers: int, clip: float, size: float, seed: int) -> None:
    network = Dense(20, (40,) * layers, activation="gelu")
    random = np.random.default_rng(seed)
    weights = (size * network.initial(seed)).astype(np.float32)[None].repeat(50, axis=0)
    into = np.empty_like(weights)
    batch = Batch(
        np.append(random.random((50, 1, 20)), np.ones((50, 1, 1)), axis=-1).astype(np.float32),
        random.normal(size=(50, 1)).astype(np.float32),
        np.ones(50, dtype=np.int64),
        np.ones((50, 1), dtype=np.bool_),
    )
    DensePass(network, weights, into, product_of("numpy")).clipped(batch, np.full(50, clip))
    norms = np.linalg.norm(into.astype(np.float64), axis=1)
    assert norms.max() <= clip
    exact = np.empty(weights.shape)
    DensePass(network, weights.astype(np.float64), exact, product_of("numpy")).clipped(batch, np.full(50, clip))
    # Of most rows: where huge weights saturate, single precision turns a rare gradient, but makes none longer.
    assert np.median(np.abs(exact - into).max(axis=1)) <= 1e-4 * clip


@pytest.mark.parametrize(("engine", "multiplier"), [*((each, NONE) for each in ENGINES), (Stacked(3), 0.7)])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_engines_agree_on_equal_batches_and_chunks_on_equal_noise_too(
    engine: Stacked | Looped, multiplier: float, optimizer: Any
) -> None:
    network = Dense(4, (6,), 3, "tanh", "cross_entropy")
    options = LocalTraining(2, 5, optimizer, 0.05, weight_decay=0.01, proximal=0.1)

    def works() -> list[Work]:
        pushed = np.linspace(-1, 1, network.layout.size)
        more = [{}, {"correction": pushed}, {}, {}]
        return [
            work(rows, network, PerRecord(0.5, multiplier, Noise.from_seed(rows)), rows, **given)
            for rows, given in zip((12, 3, 0, 31), more, strict=True)
        ]

    reference = Stacked(1).train(network, network.initial(0), works(), options)
    found = engine.train(network, network.initial(0), works(), options)
    assert [done.steps for done in found] == [6, 2, 0, 14]
    for one, other in zip(found, reference, strict=True):
        np.testing.assert_allclose(one.update, other.update, rtol=0, atol=SINGLE)


def deviation(engine: Stacked | Looped, source: type[Noise]) -> float:
    """Return the standard deviation of one step's noise, told by 60 clients who differ in nothing else."""
    network = Dense(3, (8,))
    options = LocalTraining(batch_size=10, learning_rate=1.0)
    alike = work(10, network, PerRecord(0.5, 2.0, source.from_seed(0)))
    several = [replace(alike, privacy=PerRecord(0.5, 2.0, source.from_seed(at))) for at in range(60)]
    done = engine.train(network, network.initial(0), several, options)
    return float(np.std(np.stack([each.update for each in done]), axis=0).mean())


@pytest.mark.parametrize("engine", ENGINES)
def test_noise_is_multiplier_times_clip_over_the_expected_batch_and_its_absence_shows(engine: Stacked | Looped) -> None:
    expected = 2.0 * 0.5 / 10
    assert deviation(engine, Noise) == pytest.approx(expected, rel=0.05)
    assert deviation(engine, Silent) < 0.01 * expected


@pytest.mark.parametrize("engine", ENGINES)
def test_every_step_of_every_client_has_noise_of_its_own(engine: Stacked | Looped) -> None:
    network, noise = Dense(400, ()), Noise.from_seed(0)
    rate, steps = 1e-6, 25
    nothing = Work("one", np.zeros((20, 400), dtype=np.float32), np.zeros(20, dtype=np.float32), 0)
    works = [replace(nothing, privacy=PerRecord(1.0, 1.0, noise)) for _ in range(4)]
    done = engine.train(network, np.zeros(401), works, LocalTraining(steps, 20, learning_rate=rate))
    summed = np.stack([each.update for each in done]) * 20 / rate
    assert summed.std() == pytest.approx(np.sqrt(steps), rel=0.1)  # the same one at each step would come to 25
    assert np.abs(np.corrcoef(summed) - np.eye(4)).max() < 0.25


def test_a_norm_that_is_no_number_is_scaled_to_nothing() -> None:
    squares = np.array([[4.0, 0.25, 0.0, np.inf, np.nan, 9.0]])
    present = np.array([[True] * 5 + [False]])
    assert factors(squares, np.array([1.0]), present).tolist() == [[0.5, 1, 1, 0, 0, 0]]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_huge_row_moves_the_sum_by_no_more_than_the_clip(engine: Stacked | Looped) -> None:
    network = Dense(3, (5,))
    clip, rows = 0.25, 8
    options = LocalTraining(batch_size=rows, learning_rate=1.0)

    def sums(privacy: PerRecord | None, features: Any, targets: Any) -> Floats:
        one = Work("one", features, targets, 0, privacy=privacy)
        (done,) = engine.train(network, network.initial(0), [one], options)
        return rows * done.update

    plain = work(rows, network, PerRecord(clip, NONE, Noise.from_seed(0)))
    features, targets = plain.features.copy(), np.array(plain.targets)
    features[3], targets[3] = 1e6, -1e6
    without_features = np.delete(plain.features, 3, axis=0)
    without = Work("one", without_features, np.delete(targets, 3), 0, privacy=PerRecord(clip, NONE, Noise.from_seed(0)))
    (alone,) = engine.train(network, network.initial(0), [without], options)
    moved = np.linalg.norm(sums(plain.privacy, features, targets) - (rows - 1) * alone.update)
    assert clip * (1 - 2 * SINGLE) <= moved <= clip * (1 + 1e-6)
    assert np.linalg.norm(sums(None, features, targets) - sums(None, plain.features, plain.targets)) > 1e6


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("cell", [np.nan, np.inf, 3e38])
def test_a_row_of_no_finite_gradient_adds_nothing(engine: Stacked | Looped, cell: float) -> None:
    network = Dense(3, (5,))
    one = work(6, network, PerRecord(1.0, NONE, Noise.from_seed(0)))
    features = one.features.copy()
    features[2] = cell
    options = LocalTraining(batch_size=6, learning_rate=1.0)
    (done,) = engine.train(network, network.initial(0), [replace(one, features=features)], options)
    assert np.isfinite(done.update).all()
    assert done.finite  # that the row is there must not be told
    kept = replace(one, features=np.delete(features, 2, axis=0), targets=np.delete(np.array(one.targets), 2))
    (rest,) = engine.train(network, network.initial(0), [kept], replace(options, batch_size=5))
    bound = 1.0 if np.isfinite(cell) else 1e-6
    assert np.linalg.norm(6 * done.update - 5 * rest.update) <= bound + 1e-6


@pytest.mark.parametrize("engine", ENGINES)
def test_an_empty_batch_adds_noise_and_counts(engine: Stacked | Looped) -> None:
    network = Dense(3, (5,))
    one = work(12, network, PerRecord(1.0, 1.0, Nobody.from_seed(0)))
    (done,) = engine.train(network, network.initial(0), [one], LocalTraining(2, 4))
    assert done.steps == 6
    assert np.all(done.update != 0)
    assert np.isnan(done.loss)
    assert done.finite


def test_the_divisor_is_the_expected_batch_and_not_the_one_that_came() -> None:
    network = Dense(1, ())
    one = Work("one", np.ones((40, 1), dtype=np.float32), np.full(40, 9, dtype=np.float32), 0)
    found = []
    for seed in range(300):
        private = replace(one, privacy=PerRecord(1.0, NONE, Noise.from_seed(seed)))
        (done,) = Stacked().train(network, np.zeros(2), [private], LocalTraining(1, 20, learning_rate=1.0))
        found.append(done.update[0] * 20 * np.sqrt(2))  # every row's gradient is of norm 1, in one direction
    assert np.mean(found) == pytest.approx(2 * 40 * 0.5, rel=0.03)  # two steps
    assert np.std(found) == pytest.approx(np.sqrt(2 * 40 * 0.25), rel=0.2)
    assert np.abs(found - np.round(found)).max() < 1e-3


def test_clients_with_and_without_privacy_train_in_one_round() -> None:
    network = Dense(3, (4,))
    private = work(9, network, PerRecord(1.0, 1.0, Noise.from_seed(0)))
    open_ = replace(private, privacy=None)
    start, options = network.initial(0), LocalTraining(batch_size=4)
    done = Stacked().train(network, start, [private, open_, private, open_], options)
    assert done[1].update.tobytes() == done[3].update.tobytes()
    assert done[0].update.tobytes() != done[2].update.tobytes()
    (alone,) = Stacked().train(network, start, [open_], options)
    np.testing.assert_allclose(done[1].update, alone.update, rtol=0, atol=1e-12)
