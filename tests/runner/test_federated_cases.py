"""One small run of everything that a federation can be made of, and what its model can be asked."""

from typing import Any

import pytest

from bench.counted import cells
from components.data import read
from components.data.declarations import Csv
from components.federation.partitioning.declarations import ByColumn
from components.federation.partitioning.partition import partition
from components.federation.sites import sites
from components.models import load, utility
from schemas.faults import DataError

BY = "federation/clients"
RAW = ("anonymization=none",)
CASES: dict[str, tuple[str, ...]] = {
    "iid": (f"{BY}=iid", "federation.clients.clients=3"),
    "dirichlet": (f"{BY}=dirichlet", "federation.clients.clients=3", "federation.clients.alpha=5", *RAW),
    "pathological": (f"{BY}=pathological", "federation.clients.clients=2", "federation.clients.classes=1"),
    "quantity skew": (
        f"{BY}=quantity_skew",
        "federation.clients.clients=3",
        "federation.clients.smallest=20",
        "federation.clients.largest=60",
    ),
    "continuous": (f"{BY}=continuous", "federation.clients.clients=3", "federation.clients.column=dose"),
    "trimmed mean, torch": ("federation/rule=trimmed_mean", "federation.engine.backend=torch", *RAW),
    "multi-krum, mlp": (
        "federation/rule=multi_krum",
        "federation.aggregation.rule.byzantine=0",
        "model=mlp",
        "federation=fedprox",
        *RAW,
    ),
    "krum, adam": (
        "federation/rule=krum",
        "federation.aggregation.rule.byzantine=0",
        "federation.local.optimizer=adam",
        *RAW,
    ),
    "norm bound, scaffold": ("federation.aggregation.norm_bound=.1", "federation=scaffold", *RAW),
}
SCORES: dict[str, tuple[str, ...]] = {
    "linear": ("model=linear",),
    "mlp, record": ("model=mlp", "dp=record", *RAW),
    "module": ("model=torch", "federation/rule=median", "model.module=mlp", "+model.params.hidden=[8]", *RAW),
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
    assert all(each["change"] > 0 for each in section["rounds"])
    assert "model/weights.npz" in done.files


@pytest.mark.parametrize(("table", "typed"), [("clinics", CASES["norm bound, scaffold"]), ("scores", SCORES["module"])])
def test_a_model_that_was_taught_raw_columns_predicts_from_its_files_as_in_the_run(
    together: Any, table: str, typed: tuple[str, ...]
) -> None:
    done = together.run(*typed, table=table)
    kept = load(done.folder / "model")
    told = {
        (row["scope"], row["metric"]): float(row["value"])
        for row in cells(done.folder / "metrics.csv")
        if row["stage"] == "model" and row["split"] == "test"
    }
    everything = read(done.made.schema, Csv(path=f"{table}.csv"), together.site.folder).table
    for site in sites(everything, partition(ByColumn(), everything, 0), 0):
        figures = {each.metric: each.value for each in utility(kept, site.test)}
        of_run = {metric: value for (scope, metric), value in told.items() if scope == f"client:{site.name}"}
        assert of_run.keys() >= {"accuracy" if table == "clinics" else "mae"}
        assert {metric: figures[metric] for metric in of_run} == pytest.approx(of_run)


@pytest.mark.parametrize(
    ("table", "typed", "expected"),
    [
        ("clinics", CASES["norm bound, scaffold"], "raw"),
        ("clinics", CASES["iid"], "releasable"),
        ("scores", SCORES["mlp, record"], "releasable"),
    ],
)
def test_a_model_of_raw_rows_without_noise_is_raw_itself(
    together: Any, table: str, typed: tuple[str, ...], expected: str
) -> None:
    done = together.run(*typed, table=table)
    classes = {each["path"]: each["release"] for each in done.record["outputs"]}
    assert {release for path, release in classes.items() if path.startswith("model/")} == {expected}
    assert any("was trained on raw rows" in each for each in done.record["warnings"]) == (expected == "raw")


def test_a_model_that_knows_generalised_columns_alone_says_so(together: Any) -> None:
    done = together.run(*CASES["iid"])
    levels = done.record["federation"]["levels"]
    kept = load(done.folder / "model")
    rows = read(done.made.schema, Csv(path="clinics.csv"), together.site.folder).table.frame
    with pytest.raises(DataError, match="model: was taught generalised columns") as caught:
        kept.predict(rows)
    assert all((name in str(caught.value)) == bool(level) for name, level in levels.items())
