"""Optimisers and what is added to a gradient, beside torch's own."""

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from components.federation.training import Dense, Stacked
from components.federation.training.activations import ACTIVATIONS
from components.federation.training.modules import flat_of, put_into
from components.federation.work import LocalTraining, Work


@pytest.mark.parametrize(
    ("name", "more", "optimizer"),
    [
        ("sgd", {}, torch.optim.SGD),
        ("sgd", {"momentum": 0.8, "weight_decay": 0.1}, torch.optim.SGD),
        ("adam", {"weight_decay": 0.1}, torch.optim.Adam),
    ],
)
def test_a_step_is_torchs(name: Any, more: dict[str, Any], optimizer: Any) -> None:
    network = Dense(4, (6,), 3, "silu", "cross_entropy")
    random = np.random.default_rng(0)
    features, targets = random.random((9, 4), dtype=np.float32), random.integers(0, 3, 9)
    start = network.initial(0)
    work = Work("one", features, targets, 0)
    (done,) = Stacked().train(network, start, [work], LocalTraining(25, 9, name, 0.05, **more))
    module = network.module()
    put_into(module, network.layout, start)
    stepping = optimizer(module.parameters(), lr=0.05, **more)
    for _ in range(25):
        stepping.zero_grad()
        functional.cross_entropy(module(torch.from_numpy(features).double()), torch.from_numpy(targets)).backward()
        stepping.step()
    np.testing.assert_allclose(start + done.update, flat_of(module, network.layout), rtol=0, atol=1e-9)


def test_fedprox_pulls_towards_the_global_weights() -> None:
    one = Work("one", np.zeros((1, 1), dtype=np.float32), np.array([4], dtype=np.float32), 0)
    network, start = Dense(1, ()), np.array([7.0, 1.0])
    for proximal, steps in ((0.5, 200), (0.0, 200)):
        (done,) = Stacked().train(network, start, [one], LocalTraining(steps, proximal=proximal))
        # of (b - 4)^2 + mu/2 (b - 1)^2 the least lies at (8 + mu) / (2 + mu)
        np.testing.assert_allclose(start + done.update, [7.0, (8 + proximal) / (2 + proximal)])


def test_a_correction_is_added_to_every_steps_gradient() -> None:
    one = Work("one", np.zeros((6, 1), dtype=np.float32), np.ones(6, dtype=np.float32), 0, np.array([2.0, 0.0]))
    (done,) = Stacked().train(Dense(1, ()), np.array([0.0, 1.0]), [one], LocalTraining(2, 2))
    np.testing.assert_allclose(done.update, [-0.1 * 2 * 6, 0])


@pytest.mark.parametrize("name", ["relu", "gelu", "silu", "tanh"])
def test_activations_and_their_slopes_are_torchs(name: Any) -> None:
    values = np.concatenate([np.linspace(-6, 6, 101), [-800.0, 800.0, 0.0]])
    there = torch.from_numpy(values.copy()).requires_grad_()
    expected = getattr(functional, name)(there) if name != "tanh" else torch.tanh(there)
    (slopes,) = torch.autograd.grad(expected.sum(), [there])
    found = np.empty_like(values)
    ACTIVATIONS[name](values, found)
    np.testing.assert_allclose(values, expected.detach().numpy(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found, slopes.numpy(), rtol=1e-9, atol=1e-12)
