"""FedAvg, FedProx and SCAFFOLD where sites differ."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from bench.tiny_sites import scripted, sites
from components.dp.declarations import Global, Noised, Personalized
from components.federation.declarations import FedAvg, FedProx, Local
from components.federation.layout import Weights
from components.federation.server import Closed, Server
from components.federation.stage import federate
from components.federation.work import Done, LocalTraining, Network, Work
from components.models.declarations import Linear

AT = sites(64, 30, 45, 7, 50)


@dataclass
class Quadratic:
    """Clients whose loss is ``a/2 (w - b)^2``: curvatures and optima that lie apart."""

    curvature: Mapping[str, float]
    optimum: Mapping[str, float]
    steps: int = 10
    rate: float = 1.0

    def train(self, network: Network, start: Weights, works: list[Work], options: LocalTraining) -> list[Done]:
        """Take steps of gradient descent."""
        del network
        found = []
        for work in works:
            weights = start.copy()
            for _ in range(self.steps):
                slope = self.curvature[work.client] * (weights - self.optimum[work.client])
                slope = slope + options.proximal * (weights - start)
                weights = weights - options.learning_rate * (
                    slope if work.correction is None else slope + work.correction
                )
            found.append(Done(weights - start, self.steps, 0.0))
        return found


CURVATURE = {"a": 0.5, "b": 0.05, "c": 0.1}
OPTIMUM = {"a": 0.0, "b": 10.0, "c": -4.0}
BEST = sum(CURVATURE[name] * OPTIMUM[name] for name in CURVATURE) / sum(CURVATURE.values())


def settled_at(*, scaffold: bool, participation: float = 1.0, proximal: float = 0.0) -> float:
    training = scripted(
        lambda *_: [0.0], list(CURVATURE), size=1, rounds=400, scaffold=scaffold, participation=participation
    )
    training.engine = Quadratic(CURVATURE, OPTIMUM)
    local = replace(training.schedule.local, proximal=proximal)
    training.schedule = replace(training.schedule, local=local)
    training.run()
    return float(training.server.weights[0])


def test_fedavg_settles_beside_the_optimum_where_sites_differ_and_scaffold_at_it() -> None:
    pulls = {name: 1 - (1 - curvature) ** 10 for name, curvature in CURVATURE.items()}
    biased = sum(pulls[name] * OPTIMUM[name] for name in pulls) / sum(pulls.values())
    assert settled_at(scaffold=False) == pytest.approx(biased, abs=1e-6)
    assert abs(biased - BEST) > 0.5
    assert settled_at(scaffold=True) == pytest.approx(BEST, abs=1e-6)


def test_scaffold_gets_there_when_not_all_take_part() -> None:
    assert settled_at(scaffold=True, participation=0.7) == pytest.approx(BEST, abs=1e-3)


def test_fedprox_settles_nearer_to_it_than_fedavg() -> None:
    assert abs(settled_at(scaffold=False, proximal=0.3) - BEST) < 0.5 * abs(settled_at(scaffold=False) - BEST)


def test_fedprox_holds_clients_near_the_global_weights() -> None:
    local = Local(epochs=5, batch_size=16, learning_rate=0.1)
    moves = [
        federate(params, None, Linear(), AT, 0).training.rounds[0].change
        for params in (
            FedAvg(rounds=1, local=local),
            *(FedProx(rounds=1, local=local, mu=mu) for mu in (0.0, 0.3, 3.0)),
        )
    ]
    assert moves[0] == moves[1] > moves[2] > moves[3]


@pytest.mark.parametrize(
    "privacy",
    [
        Personalized(multiplier=4.0, target_epsilon=None, relation="replace_record"),
        Global(multiplier=4.0, target_epsilon=None, unproven="report"),
        Personalized(paper=True, multiplier=0.5, target_epsilon=None),
    ],
    ids=["noised", "clipped", "paper"],
)
def test_what_is_told_of_a_control_variate_follows_from_the_update_that_left(
    privacy: Noised, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of the update that stayed, larger than any clip and without noise, it would tell all that clip and noise hide.
    told: list[Mapping[str, Any]] = []
    close = Server.close

    def watched(self: Server, number: int, said: Mapping[str, Mapping[str, Any]]) -> Closed:
        told.extend(said.values())
        return close(self, number, said)

    monkeypatch.setattr(Server, "close", watched)
    training = scripted(lambda *_: [300.0, -400.0], privacy=privacy, scaffold=True)
    training.run()
    assert len(told) == 3
    for said in told:  # in the first round all variates are 0; one step of rate 1
        np.testing.assert_allclose(said["control change"], -said["update"])
        assert not np.allclose(said["update"], [300.0, -400.0])
