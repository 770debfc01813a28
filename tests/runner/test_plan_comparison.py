"""What a plan says of a comparison before anything is trained."""

import re

import pytest

from runner.compose import compose_run
from runner.plan_comparison import comparison_lines

ROWS = {"small": 200, "large": 4000}


def lines(*typed: str) -> list[str]:
    return [text for _, text in comparison_lines(compose_run(typed).config, ROWS)]


def test_each_scenario_is_told_with_what_it_would_promise() -> None:
    *scenarios, trainings = lines("experiment=unequal_sites", "federation.rounds=1")
    assert re.fullmatch(
        r"by_client: .*; epsilon 1, multiplier [\d.]+ to [\d.]+, rate [\d.]+ to [\d.]+, "
        r"\d+ to \d+ noised releases a client",
        scenarios[1],
    )
    assert [each.split("; ")[0] for each in scenarios] == [
        "vanilla: no formal guarantee: dp=none",
        "by_client: noise of dp=record, epsilon 1 at delta 1e-05 for the worst client",
        "alike: noise of dp=record, as much as gives it the worst epsilon of by_client",
        "by_risk: noise of dp=record, as much as gives it the worst epsilon of by_client",
        "by_tier: noise of dp=record, by the risk that the run measures: up to 0.05 epsilon 1, up to 1 epsilon 0.5",
    ]
    assert trainings.startswith("100 (5 scenarios, 20 paired seeds), about ")


def test_noise_without_an_epsilon_is_told_as_such() -> None:
    typed = [
        "experiment=cancer_severity",
        "federation.drift.action=exclude",
        "comparison.scenarios.global.dp.unproven=report",
    ]
    (told,) = (text for text in lines(*typed) if text.startswith("global"))
    assert told.startswith("global: no formal guarantee: drifting clients are left out")


@pytest.mark.parametrize(("seeds", "count"), [(2, 8), (5, 20)])
def test_every_scenario_is_trained_at_every_seed(seeds: int, count: int) -> None:
    assert lines("experiment=cancer_severity", f"comparison.seeds={seeds}")[-1].startswith(f"{count} (4 scenarios")
