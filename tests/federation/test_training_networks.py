"""Networks that clients train, and their weights in and out of torch modules."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from components.dp.noise import Noise
from components.federation.layout import Layout
from components.federation.training import Dense, Looped, Stacked
from components.federation.training.modules import ModuleNetwork, flat_of, put_into
from components.federation.work import LocalTraining, Network, PerRecord, Work
from components.models.torch_modules import MLP, Architecture
from schemas.faults import ConfigurationError


def of(maker: Any, inputs: int = 3, outputs: int = 1, loss: Any = "squared", **params: Any) -> ModuleNetwork:
    return ModuleNetwork(Architecture(maker.__name__, maker, params), inputs, outputs, loss)


class Normed(nn.Module):
    """Trains a layer norm, holds a constant, and leaves one parameter alone."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(inputs)
        self.out = nn.Linear(inputs, outputs)
        self.kept = nn.Parameter(torch.ones(1), requires_grad=False)
        self.register_buffer("shift", torch.full((inputs,), 0.5))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.kept * self.out(self.norm(features) + self.shift)
        return found


class OneLogit(nn.Module):
    def __init__(self, inputs: int, _outputs: int) -> None:
        super().__init__()
        self.out = nn.Linear(inputs, 1)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.out(features)[:, 0]


class Running(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.BatchNorm1d(inputs), nn.Linear(inputs, outputs))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.layers(features)
        return found


class Single(OneLogit):
    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return super().forward(features.float())


class Wide(OneLogit):
    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return super().forward(features)[:, None].expand(-1, 5)


class Empty(nn.Module):
    def __init__(self, _inputs: int, _outputs: int) -> None:
        super().__init__()

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return features[:, :1]


def rows(network: Dense | ModuleNetwork, count: int = 20, privacy: PerRecord | None = None) -> Work:
    random = np.random.default_rng(0)
    features = random.random((count, network.inputs), dtype=np.float32)
    targets: Any = random.integers(0, network.outputs, count)
    if network.loss == "squared":
        targets = features.sum(axis=1, dtype=np.float32)
    return Work("one", features, targets, 5, privacy=privacy)


@pytest.mark.parametrize("hidden", [(), (4,), (64, 32), (3, 3, 3)])
def test_a_dense_networks_weights_are_an_mlps_in_the_order_of_its_state(hidden: tuple[int, ...]) -> None:
    network = Dense(5, hidden, 2, "silu", "cross_entropy")
    state = MLP(5, 2, hidden, "silu").state_dict()
    assert network.layout == Layout(tuple(state), tuple(tuple(each.shape) for each in state.values()))
    assert np.array_equal(np.sort(network.order), np.arange(network.layout.size))
    assert network.joined.size == network.layout.size


def test_weights_go_into_a_module_and_come_back() -> None:
    network = Dense(5, (4,), 2, loss="cross_entropy")
    weights, module = network.initial(1), network.module()
    put_into(module, network.layout, weights)
    assert np.array_equal(flat_of(module, network.layout), weights)
    assert np.array_equal(module.state_dict()["layers.0.weight"].numpy(), weights[:20].reshape(4, 5))
    single = MLP(5, 2, (4,))
    put_into(single, network.layout, weights)
    np.testing.assert_allclose(flat_of(single, network.layout), weights, rtol=1e-6)
    with pytest.raises(ValueError, match="more or fewer"):
        put_into(module, network.layout, weights[:-1])
    with pytest.raises(ValueError, match="other parameters"):
        put_into(MLP(5, 2, (4, 4)), Dense(5, (4, 4, 4), 2, loss="cross_entropy").layout, weights)


def test_a_trained_network_predicts_by_the_module_that_it_is_put_into() -> None:
    network = Dense(3, (16,), activation="tanh")
    one = rows(network, 400)
    start = network.initial(0)
    (done,) = Stacked().train(network, start, [one], LocalTraining(60, 20, "adam", 0.01))
    module = network.module()
    put_into(module, network.layout, start + done.update)
    with torch.no_grad():
        found = module(torch.from_numpy(one.features).double()).numpy()[:, 0]
    assert np.abs(found - one.targets).mean() < 0.02


def test_first_weights_lie_within_those_of_torch_and_follow_the_seed() -> None:
    network = Dense(25, (400,))
    first = network.initial(0)
    assert np.array_equal(first, network.initial(0))
    assert not np.array_equal(first, network.initial(1))
    weight, bias, last, _ = network.layout.arrays(first)
    for array, bound in ((weight, 1 / 5), (bias, 1 / 5), (last, 1 / 20)):
        assert np.abs(array).max() <= bound
        assert np.abs(array).max() > 0.95 * bound
        assert array.std() == pytest.approx(bound / np.sqrt(3), rel=0.1)


def test_squared_loss_of_several_outputs_is_refused() -> None:
    with pytest.raises(ValueError, match="one output"):
        Dense(3, (), 2)


def test_a_mlp_by_its_module_is_the_dense_network() -> None:
    dense = Dense(3, (6, 4), 3, "gelu", "cross_entropy")
    same = of(MLP, 3, 3, "cross_entropy", hidden=(6, 4), activation="gelu")
    assert same.layout == dense.layout
    start, options = dense.initial(0), LocalTraining(3, 6, "adam", 0.01)
    (stacked,) = Stacked().train(dense, start, [rows(dense)], options)
    (looped,) = Looped().train(same, start, [rows(dense)], options)
    np.testing.assert_allclose(looped.update, stacked.update, rtol=0, atol=1e-9)


def test_only_what_learns_is_in_a_modules_layout() -> None:
    network = of(Normed)
    assert network.layout.names == ("norm.weight", "norm.bias", "out.weight", "out.bias")
    assert np.array_equal(network.initial(2), network.initial(2))
    assert not np.array_equal(network.initial(2), network.initial(3))
    for privacy in (None, PerRecord(1.0, 1e-9, Noise.from_seed(0))):
        one, start = rows(network, privacy=privacy), network.initial(0)
        short, long = (Looped().train(network, start, [one], LocalTraining(epochs, 5))[0] for epochs in (1, 30))
        assert long.finite
        assert long.loss < 0.6 * short.loss


def test_one_logit_of_two_classes_trains_as_two_do() -> None:
    one, two = of(OneLogit, 3, 2, "cross_entropy"), Dense(3, (), 2, loss="cross_entropy")
    work = rows(two, 60)
    options = LocalTraining(5, 10, learning_rate=0.2)
    (logit,) = Looped().train(one, np.zeros(4), [work], options)
    (logits,) = Stacked().train(two, np.zeros(8), [work], LocalTraining(5, 10, learning_rate=0.1))
    weights, biases = two.layout.arrays(logits.update)
    np.testing.assert_allclose(logit.update, [*(weights[1] - weights[0]), biases[1] - biases[0]], atol=1e-12)


def test_dropout_follows_from_the_clients_seed_and_leaves_torchs_generator_alone() -> None:
    network = of(MLP, hidden=(8,), dropout=0.5)
    before = torch.random.get_rng_state()
    for privacy in (None, PerRecord(1.0, 1e-9, Noise.from_seed(0))):
        drawn = [Noise.from_seed(1) for _ in range(2)]
        works = [rows(network, privacy=None if privacy is None else PerRecord(1.0, 1e-9, each)) for each in drawn]
        first, second = Looped().train(network, network.initial(0), works, LocalTraining(batch_size=5))
        assert first.update.tobytes() == second.update.tobytes()
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize(
    ("maker", "problem"),
    [
        (Running, "changes buffers"),
        (Single, "double precision"),
        (Wide, "no column for each"),
        (Empty, "no parameters"),
    ],
)
def test_a_module_that_clients_cannot_train_is_refused_as_it_is_made(maker: type[nn.Module], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem) as error:
        of(maker)
    assert maker.__name__ in str(error.value)


def test_a_network_of_another_kind_is_refused() -> None:
    network: Network = of(Normed)
    with pytest.raises(TypeError, match="dense"):
        Stacked().train(network, network.initial(0), [], LocalTraining())


def test_stacks_of_numpy_need_no_torch() -> None:
    code = (
        "import sys, numpy as np\n"
        "from components.federation.training import Dense, Stacked\n"
        "from components.federation.work import LocalTraining, Work\n"
        "network = Dense(2)\n"
        "work = Work('one', np.ones((3, 2), np.float32), np.ones(3, np.float32), 0)\n"
        "Stacked().train(network, network.initial(0), [work], LocalTraining())\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
