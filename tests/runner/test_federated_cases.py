"""One small run of everything that a federation can be made of, and of what can come its way."""

from typing import Any

import pytest

from bench.counted import cells

BY = "federation/clients"
NONE = ("anonymization=none",)
CASES: dict[str, tuple[str, ...]] = {
    "iid": (f"{BY}=iid", "federation.clients.clients=3"),
    "dirichlet": (f"{BY}=dirichlet", "federation.clients.clients=3", "federation.clients.alpha=5", *NONE),
    "pathological": (f"{BY}=pathological", "federation.clients.clients=2", "federation.clients.classes=1"),
    "quantity skew": (
        f"{BY}=quantity_skew",
        "federation.clients.clients=3",
        "federation.clients.smallest=20",
        "federation.clients.largest=60",
    ),
    "continuous": (f"{BY}=continuous", "federation.clients.clients=3", "federation.clients.column=dose"),
    "trimmed mean, torch": ("federation/rule=trimmed_mean", "federation.engine.backend=torch", *NONE),
    "krum, adam": ("federation/rule=krum", "federation.local.optimizer=adam", *NONE),
    "multi-krum, mlp": ("federation/rule=multi_krum", "model=mlp", *NONE),
    "norm bound, scaffold": ("federation.aggregation.norm_bound=.1", "federation=scaffold"),
}
SCORES: dict[str, tuple[str, ...]] = {
    "linear": ("model=linear",),
    "mlp, record": ("model=mlp", "dp=record", *NONE),
    "module": ("model=torch", "federation/rule=median", "model.module=mlp", "+model.params.hidden=[8]", *NONE),
}


@pytest.mark.parametrize("name", CASES)
def test_every_way_to_train_together_ends_well(together: Any, name: str) -> None:
    ended_well(together.run(*CASES[name]))


@pytest.mark.parametrize("name", SCORES)
def test_every_model_of_numbers_can_be_trained_together(together: Any, name: str) -> None:
    done = together.run(*SCORES[name], table="scores")
    ended_well(done)
    rows = cells(done.folder / "metrics.csv")
    assert {row["metric"] for row in rows if row["scope"] == "federated"} >= {"mae", "mre", "rmse", "r2"}


def ended_well(done: Any) -> None:
    assert done.code == 0, done.err
    section = done.record["federation"]
    assert len(section["rounds"]) == 2
    assert section["ended"] == "all rounds are done"
    assert all(client["took_part"] for client in section["clients"])
    assert sum(each["came"] for each in section["rounds"]) == 2 * len(section["clients"])
    assert "model/weights.npz" in done.files
