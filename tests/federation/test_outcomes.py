"""What goes wrong in a federation, or nearly does, has a clear outcome."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bench.tiny_sites import schema, sites, table
from components.data.table import Table
from components.dp.declarations import Global, Personalized, Record
from components.federation import server as module
from components.federation.attacks.declarations import Scaling
from components.federation.declarations import FedAvg, Federation, Local, Scaffold
from components.federation.drift.declarations import Drift
from components.federation.layout import Weights
from components.federation.stage import Sites, federate
from components.models.declarations import Linear, Logistic
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError

AT = sites(64, 30, 45, 7, 50)
LOCAL = Local(epochs=2, batch_size=16, learning_rate=0.1)


def weights_of(params: Federation, model: Any = Linear(), at: Sites = AT, **given: Any) -> Weights:  # noqa: B008
    return federate(params, given.pop("privacy", None), model, at, given.pop("seed", 0)).training.server.weights


def test_numbers_beyond_all_bounds_are_refused_every_time() -> None:
    params = FedAvg(rounds=3, local=LOCAL, attacks=[Scaling(clients=["c0"], factor=1e308)])
    done = federate(params, None, Linear(), AT, 0)
    assert [each.closed.refused for each in done.training.rounds] == [("c0",)] * 3
    assert np.isfinite(done.training.server.weights).all()


@pytest.mark.parametrize("method", [FedAvg, Scaffold])
def test_training_that_runs_away_at_every_client_leaves_the_weights(method: type[Federation]) -> None:
    params = method(rounds=2, drift=None, local=Local(epochs=200, batch_size=4, learning_rate=1e12))
    done = federate(params, None, Linear(), AT, 0)
    assert {each.closed.stayed for each in done.training.rounds} == {
        "every update was refused: none was a finite vector"
    }
    assert done.ended == "all rounds are done"
    assert np.isfinite(np.asarray(done.model.predict(table(3).frame), dtype=np.float64)).all()


def test_a_site_of_one_class_trains_like_any_other() -> None:
    at = sites(40, 40, classes=True)
    one = at.tables["c0"].frame
    lone = Table(one[one["y"] == "yes"], schema(classes=True))
    done = federate(FedAvg(rounds=5, local=LOCAL), None, Logistic(), replace(at, tables={**at.tables, "c0": lone}), 0)
    assert {each.closed.came for each in done.training.rounds} == {("c0", "c1")}
    assert set(done.model.predict(table(50).frame)) <= {"yes", "no"}


def test_an_empty_site_takes_no_part() -> None:
    at = sites(40, 0, 30)
    for privacy in (None, Personalized(), Record(), Global()):
        done = federate(FedAvg(rounds=2, local=LOCAL), privacy, Linear(), at, 0)
        assert [client.name for client in done.training.clients] == ["c0", "c2"]


@pytest.mark.parametrize("rows", [1, 3])
def test_a_site_smaller_than_a_batch_trains(rows: int) -> None:
    for privacy in (None, Record()):
        done = federate(FedAvg(rounds=2, local=LOCAL), privacy, Linear(), sites(rows, 40), 0)
        assert {each.closed.came for each in done.training.rounds} == {("c0", "c1")}


@pytest.mark.parametrize("privacy", [None, Personalized(), Record(), Global(), Global(noise_from="clients")])
def test_one_client_is_enough(privacy: Any) -> None:
    done = federate(FedAvg(rounds=2, local=LOCAL, drift=None), privacy, Linear(), sites(40), 0)
    assert done.ended == "all rounds are done"
    assert [each.closed.stayed for each in done.training.rounds] == ["", ""]


@pytest.mark.parametrize("privacy", [None, Personalized(), Record(), Global()])
def test_no_rounds_give_the_first_weights(privacy: Any) -> None:
    params = FedAvg(rounds=0)
    done = federate(params, privacy, Linear(), AT, 0)
    assert done.ended == "all rounds are done"
    assert done.training.server.weights.tobytes() == weights_of(params).tobytes()
    assert not done.training.rounds


@pytest.mark.parametrize(
    "privacy",
    [
        Personalized(budget=1e-3, target_epsilon=None, multiplier=2.0),
        Record(budget=1e-3, target_epsilon=None, multiplier=2.0),
    ],
)
def test_a_budget_below_one_round_leaves_the_first_weights(privacy: Any) -> None:
    done = federate(FedAvg(rounds=3), privacy, Linear(), AT, 0)
    assert done.ended == "every client's budget is spent"
    assert done.training.server.weights.tobytes() == weights_of(FedAvg(rounds=0)).tobytes()


def test_without_sites_or_rows_it_says_so() -> None:
    with pytest.raises(DataError, match=r"federation\.clients: there is no site"):
        federate(FedAvg(), None, Linear(), Sites({}, {}), 0)
    with pytest.raises(DataError, match=r"federation\.clients: no site has a row to train on"):
        federate(FedAvg(), None, Linear(), sites(0, 0), 0)


def test_what_names_other_clients_is_refused_all_at_once() -> None:
    params = FedAvg.model_validate(
        {
            "aggregation": {"rule": {"name": "mean", "weights": "fixed", "fixed": {"c0": 1, "c9": 1}}},
            "attacks": [{"name": "lazy", "clients": ["c1", "nobody"]}],
        }
    )
    with pytest.raises(ConfigurationError) as caught:
        federate(params, None, Linear(), AT, 0)
    told = str(caught.value)
    assert "no weight for 'c1', 'c2', 'c3', 'c4'" in told
    assert "no such client: 'c9'" in told
    assert "federation.attacks: no such client: 'nobody'" in told
    krum = FedAvg.model_validate({"aggregation": {"rule": {"name": "krum", "byzantine": 2}}})
    with pytest.raises(ConfigurationError, match="krum needs 7 clients and there are 5"):
        federate(krum, None, Linear(), AT, 0)


def test_all_clients_left_out_leave_the_weights() -> None:
    params = FedAvg(rounds=2, local=LOCAL, drift=Drift(max_share=0.99))
    with pytest.MonkeyPatch.context() as patch:

        def everybody(*given: Any, **more: Any) -> Any:
            found = check(*given, **more)
            out = np.ones(len(found.clients), dtype=bool)
            return replace(found, excluded=out, flagged=out, factors=np.zeros(len(out)))

        check = module.check
        patch.setattr(module, "check", everybody)
        for privacy in (None, Personalized(), Global(unproven="report")):
            done = federate(params, privacy, Linear(), AT, 0)
            assert {each.closed.stayed for each in done.training.rounds} == {"every client was left out"}
            assert {each.change for each in done.training.rounds} == {0.0}


def test_a_target_without_bounds_is_asked_for_them() -> None:
    given = schema().model_dump()
    (target,) = (column for column in given["columns"] if column["name"] == "y")
    target["min"] = target["max"] = None
    tables = {"c0": Table(AT.tables["c0"].frame, DatasetSchema.model_validate(given))}
    with pytest.raises(ConfigurationError, match=r"dataset\.columns\.y: .* by its bounds, and it declares none"):
        federate(FedAvg(), None, Linear(), Sites(tables, {}), 0)
