"""Scenarios that share a figure: by formula, by oracle, and by the noise that really comes of it."""

import numpy as np
import pandas as pd
import pytest

from components.data import Table
from components.dp.declarations import (
    ByEpsilon,
    ByMax,
    ByMinMax,
    ByTiers,
    Fixed,
    Global,
    Noised,
    Personalized,
    Record,
    Tier,
)
from components.dp.equalising import servers_multiplier
from components.federation.declarations import FedAvg, Local
from components.federation.equalising import Terms, equalised
from components.federation.known import Known
from components.federation.model import Space, network_of
from components.federation.scenarios import Equalised
from components.federation.stage import INITIAL, Sites, federate, terms
from components.models.declarations import Mlp
from components.randomness import derived_seed
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError

ROWS = {"small": 100, "middle": 400, "large": 1600}
RISKS = {"small": 0.2, "middle": 0.1, "large": 0.05}
PARAMS = FedAvg(rounds=10, local=Local(batch_size=64))
SCHEMA = DatasetSchema.model_validate(
    {
        "name": "made_up",
        "source": {"name": "csv", "path": "nowhere.csv"},
        "target": "y",
        "task": "regression",
        "columns": [{"name": name, "dtype": "number", "role": "insensitive", "min": 0, "max": 1} for name in "aby"],
    }
)


def sites() -> Sites:
    draw = np.random.default_rng(1)
    tables = {
        name: Table(pd.DataFrame(draw.uniform(0, 1, (rows, 3)), columns=list("aby")), SCHEMA)
        for name, rows in ROWS.items()
    }
    return Sites(tables, RISKS)


@pytest.fixture(scope="module")
def setting() -> Terms:
    return terms(PARAMS, Known(ROWS, RISKS), 0)


def at(setting: Terms, privacy: Noised | None) -> dict[str, float]:
    assert privacy is not None
    return {client: plan.multiplier or 0.0 for client, plan in setting.plans(privacy).items()}


LOCAL = Personalized(multiplier=4.0, target_epsilon=None, personalise=ByMax())


@pytest.mark.parametrize("by", ["variance", "worst_epsilon", "mean_epsilon"])
def test_the_servers_noise_follows_the_clients_by_the_known_formulas(setting: Terms, by: Equalised) -> None:
    made, (common,) = equalised({"local": LOCAL, "server": Global(target_epsilon=3.0)}, by, setting)
    assert made["local"] is LOCAL
    wanted = servers_multiplier(list(at(setting, LOCAL).values()), by, PARAMS.rounds * 4, LOCAL.delta)
    assert at(setting, made["server"])["small"] == pytest.approx(wanted, rel=5e-4)
    assert common.reference == "local"
    assert common.figures["server"] == pytest.approx(common.figures["local"], rel=5e-4)


def test_nothing_is_touched_where_nothing_is_to_be_equal(setting: Terms) -> None:
    scenarios: dict[str, Noised | None] = {"a": None, "b": LOCAL, "c": Global()}
    assert equalised(scenarios, None, setting) == (scenarios, [])


def test_what_protects_another_unit_keeps_its_noise(setting: Terms) -> None:
    record = Record(target_epsilon=3.0)
    made, found = equalised({"local": LOCAL, "server": Global(), "record": record}, "variance", setting)
    assert made["record"] is record
    assert [common.unit for common in found] == ["client"]


def test_one_multiplier_for_all_is_that_of_whoever_needs_most(setting: Terms) -> None:
    policy = Record(target_epsilon=None, personalise=ByEpsilon(default=2.0))
    alike = Record(target_epsilon=None, multiplier=1.0, personalise=None)
    made, _ = equalised({"policy": policy, "alike": alike}, "worst_epsilon", setting)
    found = at(setting, made["alike"])
    assert len(set(found.values())) == 1
    assert found["small"] == pytest.approx(max(at(setting, policy).values()), rel=2e-3)


def test_noise_that_follows_risk_keeps_its_ratios(setting: Terms) -> None:
    other = LOCAL.model_copy(update={"multiplier": 40.0})
    made, _ = equalised({"server": Global(multiplier=9.0, target_epsilon=None), "local": other}, "variance", setting)
    found = at(setting, made["local"])
    assert found["small"] / found["large"] == pytest.approx(4.0)
    assert sum(z**2 for z in found.values()) == pytest.approx(81.0)


def test_a_policy_is_kept_and_has_to_agree(setting: Terms) -> None:
    policy = Record(target_epsilon=None, personalise=ByEpsilon(default=2.0))
    tiers = [Tier(up_to=0.1, target_epsilon=2.0), Tier(up_to=1.0, target_epsilon=1.0)]
    alike = Record(target_epsilon=None, personalise=ByTiers(tiers=tiers))
    made, (common,) = equalised({"policy": policy, "tiers": alike}, "worst_epsilon", setting)
    assert made["tiers"] is alike
    assert common.figures["tiers"] == pytest.approx(2.0, abs=1e-3)
    with pytest.raises(ConfigurationError, match=r"comparison\.scenarios\.tiers\.dp: its policy comes to"):
        equalised({"policy": policy, "tiers": alike}, "mean_epsilon", setting)


def test_noise_that_can_not_have_the_figure_is_refused(setting: Terms) -> None:
    floored = Personalized(multiplier=4.0, target_epsilon=None, personalise=ByMinMax(floor=50.0))
    with pytest.raises(ConfigurationError, match="no multiplier comes to"):
        equalised({"local": LOCAL, "floored": floored}, "variance", setting)


WIDE = Mlp(hidden=[400], activation="relu")


def noise_of(privacy: Noised, params: FedAvg) -> float:
    """Return the variance of what one round adds to weights that hardly learn."""
    some = sites()
    done = federate(params, privacy, WIDE, some, 0)
    network = network_of(WIDE, Space.of(SCHEMA))
    moved = done.training.server.weights - network.initial(derived_seed(0, INITIAL))
    return float(np.var(moved))


def test_equal_variance_is_that_of_the_noise_that_is_really_added() -> None:
    params = FedAvg(rounds=1, local=Local(batch_size=64, learning_rate=1e-9))
    setting = terms(params, Known(ROWS, RISKS), 0)
    distributed = Global(target_epsilon=3.0, noise_from="clients", clipping=Fixed(norm=0.3))
    scenarios: dict[str, Noised | None] = {
        "local": LOCAL,
        "server": Global(target_epsilon=3.0, clipping=Fixed(norm=2.0)),
        "distributed": distributed,
    }
    made, (common,) = equalised(scenarios, "variance", setting)
    for name, privacy in made.items():
        assert privacy is not None
        assert noise_of(privacy, params) == pytest.approx(common.figures["local"], rel=0.2), name
    # What promises the worst client as much adds another noise altogether.
    promising = equalised({"local": LOCAL, "server": Global(target_epsilon=3.0)}, "worst_epsilon", setting)[0]["server"]
    assert promising is not None
    assert noise_of(promising, params) < common.figures["local"] / 3


def test_the_noise_of_steps_adds_up_to_what_is_said_of_it() -> None:
    params = FedAvg(rounds=1, local=Local(batch_size=64, learning_rate=1e-3, epochs=2))
    setting = terms(params, Known(ROWS, RISKS), 0)
    record = Record(multiplier=500.0, target_epsilon=None, clip=0.01, personalise=ByMax())
    assert noise_of(record, params) == pytest.approx(setting.figure(record, "variance"), rel=0.2)
