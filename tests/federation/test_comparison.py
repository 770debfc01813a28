"""Scenarios compared over paired seeds: what they share, and the arithmetic of means and differences."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from components.data import Table
from components.dp.declarations import ByMax, Fixed, Global, Noised, Personalized, Record
from components.federation import stage
from components.federation.comparison import Trial, differences, interval, means, seeds_of, trials
from components.federation.declarations import FedAvg, Local
from components.federation.stage import Federated, Sites
from components.federation.work import Done, LocalTraining, Network, Work
from components.models.declarations import Linear
from schemas.dataset import DatasetSchema

SCHEMA = DatasetSchema.model_validate(
    {
        "name": "made_up",
        "source": {"name": "csv", "path": "nowhere.csv"},
        "target": "y",
        "task": "regression",
        "columns": [
            {"name": name, "dtype": "number", "role": "insensitive", "min": -5, "max": 5} for name in ("a", "b", "y")
        ],
    }
)
PARAMS = FedAvg(rounds=3, local=Local(batch_size=16, learning_rate=0.1))
NOISED: dict[str, Noised | None] = {
    "vanilla": None,
    "personalized": Personalized(target_epsilon=5.0, personalise=ByMax(), clipping=Fixed(norm=0.2)),
    "global": Global(target_epsilon=5.0, clipping=Fixed(norm=0.2)),
    "record": Record(target_epsilon=3.0),
}


def table(rows: int, seed: int) -> Table:
    draw = np.random.default_rng(seed)
    a, b = draw.uniform(-2, 2, (2, rows))
    return Table(pd.DataFrame({"a": a, "b": b, "y": a - b / 2 + draw.normal(0, 0.1, rows)}), SCHEMA)


SITES = Sites({f"site {n}": table(40 + 10 * n, n) for n in range(3)}, {f"site {n}": 0.1 + 0.1 * n for n in range(3)})
TEST = table(50, 9)


def compared(scenarios: dict[str, Noised | None], seeds: int = 2, **more: Any) -> list[Trial]:
    return list(trials(PARAMS, scenarios, Linear(), SITES, seeds_of(4, seeds), TEST, **more))


def test_a_scenario_under_two_names_differs_from_itself_by_exactly_nothing() -> None:
    found = compared({"vanilla": None, "again": None}, seeds=3)
    for each in differences(found):
        assert (each.by.mean, each.by.low, each.by.high, each.by.seeds) == (0.0, 0.0, 0.0, 3)
    assert len({each.figures["mae"] for each in found}) == 3


@dataclass
class Watching:
    """An engine that keeps what it was asked."""

    engine: Any
    asked: list[tuple[bytes, list[int]]]

    def train(self, network: Network, start: Any, works: list[Work], options: LocalTraining) -> list[Done]:
        self.asked.append((start.tobytes(), [each.seed for each in works]))
        return list(self.engine.train(network, start, works, options))


def test_scenarios_begin_alike_and_take_rows_in_the_same_order(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[bytes, list[int]]] = []
    made: Any = stage.engine_of
    monkeypatch.setattr(stage, "engine_of", lambda *given: Watching(made(*given), asked))
    compared(NOISED, seeds=2)
    each = PARAMS.rounds
    runs = [asked[at : at + each] for at in range(0, len(asked), each)]
    first, second = runs[: len(NOISED)], runs[len(NOISED) :]
    for same in (first, second):
        assert len({run[0][0] for run in same}) == 1, "first weights"
        assert len({str([seeds for _, seeds in run]) for run in same}) == 1, "order of rows"
    assert first[0][0][0] != second[0][0][0]
    assert first[0][0][1] != second[0][0][1]


def test_whatever_there_is_when_it_stops_is_paired() -> None:
    order = [(each.number, each.scenario) for each in compared({"a": None, "b": None}, seeds=3)]
    assert order == [(1, "a"), (1, "b"), (2, "a"), (2, "b"), (3, "a"), (3, "b")]


def test_the_first_scenario_at_the_runs_own_seed_is_kept() -> None:
    kept: list[Federated] = []
    found = compared(NOISED, keep=kept.append)
    (one,) = kept
    predicted = np.asarray(one.model.predict(TEST.frame), dtype=np.float64)
    assert float(np.abs(predicted - TEST.frame["y"].to_numpy()).mean()) == pytest.approx(found[0].figures["mae"])
    assert (found[0].scenario, found[0].seed) == ("vanilla", 4)


def test_each_client_of_each_scenario_has_its_epsilon_and_multiplier() -> None:
    found = {each.scenario: each for each in compared(NOISED, seeds=2)}
    assert found["vanilla"].epsilons == {}
    assert found["vanilla"].multipliers == {}
    assert max(found["personalized"].epsilons.values()) == pytest.approx(5.0, abs=1e-3)
    assert len(set(found["personalized"].epsilons.values())) == 3
    assert set(found["record"].epsilons) == set(SITES.tables)


def test_no_epsilon_is_told_where_none_holds() -> None:
    found = compared({"seeded": Record(target_epsilon=3.0, noise_seed=1)})
    assert all(each.epsilons == {} for each in found)
    assert compared({"learned": Record(target_epsilon=3.0)}, learned_encoder=True)[0].epsilons == {}


def test_seeds_begin_with_the_runs_own_and_all_differ() -> None:
    seeds = seeds_of(7, 30)
    assert seeds[0] == 7
    assert len(set(seeds)) == 30
    assert seeds_of(7, 10) == seeds[:10]


FIGURES = st.lists(st.floats(-100, 100), min_size=2, max_size=30)


@given(FIGURES)
def test_an_interval_is_students(values: list[float]) -> None:
    found = interval(values)
    spread = stats.sem(values)
    assert found.mean == pytest.approx(np.mean(values))
    if spread > 0:
        ends = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=spread)
        assert (found.low, found.high) == pytest.approx(ends, abs=1e-9)


def test_one_value_has_no_interval() -> None:
    assert interval([3.0]) == interval([3.0]).__class__(3.0, None, None, 1)


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), min_size=3, max_size=20))
def test_a_difference_is_that_of_a_paired_t_test(pairs: list[tuple[float, float]]) -> None:
    one = Trial("a", 1, 1, {})
    found = [
        replace(one, scenario=name, number=number, figures={"mae": pair[place]})
        for number, pair in enumerate(pairs)
        for place, name in enumerate("ab")
    ]
    (gap,) = differences(found)
    assert (gap.scenario, gap.against) == ("b", "a")
    a, b = np.array(pairs).T
    if np.ptp(b - a) > 1e-6:
        ends = stats.ttest_rel(b, a).confidence_interval(0.95)
        assert (gap.by.low, gap.by.high) == pytest.approx((ends.low, ends.high), abs=1e-9)
    back = gap.turned()
    assert (back.scenario, back.against) == ("a", "b")
    assert gap.by.high is not None
    assert gap.by.low is not None
    assert (back.by.mean, back.by.low, back.by.high) == (-gap.by.mean, -gap.by.high, -gap.by.low)


def test_a_figure_that_is_undefined_at_a_seed_has_no_mean() -> None:
    whole, part = Trial("a", 1, 1, {"mae": 1.0, "r2": 0.5}), Trial("a", 2, 2, {"mae": 2.0})
    assert set(means([whole, part], "a")) == {"mae"}
