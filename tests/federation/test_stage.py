"""Whole federations: whatever trains them comes to the same weights, which are those that they should be."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bench.tiny_sites import schema, sites, table
from components.data.table import Table
from components.dp.declarations import Personalized
from components.federation import stage
from components.federation.declarations import Embedded, FedAvg, Federation, FedProx, Local, Scaffold
from components.federation.layout import Weights
from components.federation.model import Space, network_of
from components.federation.stage import Sites, federate
from components.federation.training import Looped, Stacked
from components.models.declarations import Linear, Mlp

AT = sites(64, 30, 45, 7, 50)
LOCAL = Local(epochs=2, batch_size=16, learning_rate=0.1)


def weights_of(params: Federation, model: Any = Linear(), at: Sites = AT, **given: Any) -> Weights:  # noqa: B008
    return federate(params, given.pop("privacy", None), model, at, given.pop("seed", 0)).training.server.weights


@pytest.mark.parametrize(
    ("method", "optimizer"),
    [(FedAvg, "sgd"), (FedAvg, "adam"), (FedProx, "sgd"), (FedProx, "adam"), (Scaffold, "sgd")],
)
def test_stacked_or_looped_a_whole_training_comes_to_the_same_weights(
    method: type[Federation], optimizer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rate = 0.1 if optimizer == "sgd" else 0.01
    local = Local(epochs=2, batch_size=16, learning_rate=rate, optimizer=optimizer, weight_decay=0.01)
    params = method(rounds=5, local=local, participation=0.8)
    stacked = weights_of(params, Mlp(hidden=[8]))
    monkeypatch.setattr(stage, "engine_of", lambda *_: Looped())
    np.testing.assert_allclose(weights_of(params, Mlp(hidden=[8])), stacked, atol=1e-6)
    assert np.abs(stacked).max() > 0.1


@pytest.mark.parametrize("chunk", [1, 2, 3, 100])
@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_how_many_are_stacked_changes_nothing(chunk: int, backend: Any) -> None:
    params = FedAvg(rounds=5, local=LOCAL)
    other = params.model_copy(update={"engine": Embedded(chunk=chunk, backend=backend)})
    np.testing.assert_allclose(weights_of(other, Mlp(hidden=[8])), weights_of(params, Mlp(hidden=[8])), atol=1e-6)


def test_one_client_alone_trains_as_it_would_by_itself() -> None:
    one = Sites({"c0": AT.tables["c0"]}, {})
    done = federate(FedAvg(rounds=4, local=LOCAL), None, Linear(), one, 0)
    space = Space.of(schema())
    network = network_of(Linear(), space)
    client, weights = done.training.clients[0], done.training.network.initial(0)
    (weights,) = (federate(FedAvg(rounds=0), None, Linear(), one, 0).training.server.weights,)
    for number in range(1, 5):
        (own,) = Stacked().train(network, weights, [client.work(number, None)], done.training.schedule.local)
        weights = weights + own.update
    np.testing.assert_allclose(done.training.server.weights, weights, atol=1e-12)


def test_in_full_batches_of_equal_sites_it_is_gradient_descent_on_all_rows() -> None:
    at = sites(40, 40, 40)
    params = FedAvg(rounds=30, local=Local(batch_size=40, learning_rate=0.2))
    done = federate(params, None, Linear(), at, 0)
    rows = np.concatenate([client.features for client in done.training.clients]).astype(np.float64)
    targets = np.concatenate([client.targets for client in done.training.clients]).astype(np.float64)
    design = np.column_stack([rows, np.ones(len(rows))])
    weights = federate(params.model_copy(update={"rounds": 0}), None, Linear(), at, 0).training.server.weights
    for _ in range(30):
        weights = weights - 0.2 * 2 * design.T @ (design @ weights - targets) / len(rows)
    np.testing.assert_allclose(done.training.server.weights, weights, atol=1e-6)


def test_it_learns_what_its_rows_hold() -> None:
    done = federate(FedAvg(rounds=100, local=Local(batch_size=16, learning_rate=0.3)), None, Linear(), AT, 0)
    fresh = table(500, 99)
    found = np.asarray(done.model.predict(fresh.frame), dtype=np.float64)
    assert np.abs(found - fresh.frame["y"].to_numpy()).mean() < 0.02


def test_the_seed_decides_everything_but_the_noise() -> None:
    params = FedAvg(rounds=3, local=LOCAL, participation=0.6)
    assert weights_of(params).tobytes() == weights_of(params).tobytes()
    assert weights_of(params).tobytes() != weights_of(params, seed=1).tobytes()
    privacy = Personalized()
    assert weights_of(params, privacy=privacy).tobytes() != weights_of(params, privacy=privacy).tobytes()


def test_rows_in_another_order_change_nothing() -> None:
    shuffled = {
        name: Table(one.frame.sample(frac=1, random_state=3), one.schema) for name, one in reversed(AT.tables.items())
    }
    params = FedAvg(rounds=3, local=LOCAL)
    np.testing.assert_allclose(weights_of(params, at=replace(AT, tables=shuffled)), weights_of(params), atol=1e-12)


def test_where_few_are_asked_each_stands_for_more() -> None:
    given = {"rounds": 3, "participation": 0.4, "aggregation": {"rule": {"name": "mean", "divisor": "expected"}}}
    done = federate(FedAvg.model_validate(given), None, Linear(), AT, 0)
    assert {share for each in done.training.rounds for share in each.closed.shares} == {1 / 5 / 0.4}


def test_weights_by_rows_are_those_of_the_sites() -> None:
    params = FedAvg.model_validate({"rounds": 1, "aggregation": {"rule": {"name": "mean", "weights": "rows"}}})
    done = federate(params, None, Linear(), AT, 0)
    rows = np.array([64, 30, 45, 7, 50])
    np.testing.assert_allclose(done.training.rounds[0].closed.shares, rows / rows.sum())
