"""Attackers among ten sites, through whole federations."""

from typing import Any

import numpy as np
import pytest

from bench.tiny_sites import sites
from components.federation.aggregation.declarations import Aggregation
from components.federation.attacks.declarations import AnyAttack, Gaussian, LabelFlip, Lazy, Scaling, SignFlip
from components.federation.declarations import FedAvg, Federation, Local
from components.federation.drift.declarations import Drift
from components.federation.layout import Weights
from components.federation.server import Closed, Server
from components.federation.stage import Federated, Sites, federate
from components.models.declarations import Linear, Mlp

LOCAL = Local(epochs=2, batch_size=16, learning_rate=0.1)
TEN = sites(*[120] * 10)


def weights_of(params: Federation, model: Any = Linear(), at: Sites = TEN, **given: Any) -> Weights:  # noqa: B008
    return federate(params, given.pop("privacy", None), model, at, given.pop("seed", 0)).training.server.weights


EVIL = ["c7"]
ATTACKS: list[AnyAttack] = [
    LabelFlip(clients=EVIL),
    SignFlip(clients=EVIL),
    Scaling(clients=EVIL, factor=100.0),
    Scaling(clients=EVIL, factor=-10.0),
]


def excluded(done: Federated) -> list[set[str]]:
    found = []
    for each in done.training.rounds:
        checked = each.closed.checked
        assert checked is not None
        found.append({name for name, out in zip(checked.clients, checked.excluded, strict=True) if out})
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: f"{attack.name} {getattr(attack, 'factor', '')}")
def test_attackers_are_left_out(attack: AnyAttack, seed: int) -> None:
    params = FedAvg(rounds=4, local=Local(batch_size=16, learning_rate=0.1), drift=Drift(), attacks=[attack])
    assert set(EVIL) in excluded(federate(params, None, Mlp(hidden=[8]), TEN, seed))


def test_honest_sites_are_not() -> None:
    params = FedAvg(rounds=4, local=Local(batch_size=16, learning_rate=0.1), drift=Drift())
    assert excluded(federate(params, None, Mlp(hidden=[8]), TEN, 0)) == [set()] * 4


def watched(params: Federation, model: Any) -> list[tuple[Weights, dict[str, Weights], Closed, Weights]]:
    """Train, and return of each round: weights before, updates by client, what became of it, weights after."""
    found: list[tuple[Weights, dict[str, Weights], Closed, Weights]] = []
    close = Server.close

    def looked_at(self: Server, number: int, told: Any) -> Closed:
        before = self.weights
        closed = close(self, number, told)
        found.append((before, {name: said["update"] for name, said in told.items()}, closed, self.weights))
        return closed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Server, "close", looked_at)
        federate(params, None, model, TEN, 0)
    return found


@pytest.mark.parametrize("rule", ["median", "trimmed_mean", "krum"])
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: f"{attack.name} {getattr(attack, 'factor', '')}")
def test_robust_rules_stay_inside_the_honest_hull(attack: AnyAttack, rule: str) -> None:
    aggregation = Aggregation.model_validate({"rule": {"name": rule}, "norm_bound": 1.0})
    params = FedAvg(rounds=4, local=LOCAL, aggregation=aggregation, attacks=[attack])
    for before, updates, _, after in watched(params, Linear()):
        honest = np.stack([update for name, update in updates.items() if name not in EVIL])
        honest = honest / np.maximum(np.linalg.norm(honest, axis=1, keepdims=True), 1.0)
        moved = after - before
        assert ((honest.min(axis=0) - 1e-9 <= moved) & (moved <= honest.max(axis=0) + 1e-9)).all()


@pytest.mark.parametrize("attack", [Gaussian(clients=EVIL, std=50.0), Lazy(clients=EVIL)], ids=lambda each: each.name)
def test_other_attackers_do_no_harm_to_the_median(attack: AnyAttack) -> None:
    rule = Aggregation.model_validate({"rule": {"name": "median"}})
    params = FedAvg(rounds=20, local=LOCAL, attacks=[attack], aggregation=rule)
    np.testing.assert_allclose(weights_of(params), weights_of(params.model_copy(update={"attacks": []})), atol=0.05)
