"""Scenarios that mean nothing beside each other are refused before anything is read."""

import pytest

from runner.compose import compose_run
from schemas.faults import ConfigurationError

CANCER = ["experiment=cancer_severity"]
SCENARIOS = "comparison.scenarios"


def faults(*overrides: str) -> dict[str, str]:
    """Return what is wrong, by its place."""
    with pytest.raises(ConfigurationError) as refused:
        compose_run([*CANCER, *overrides])
    return {fault.place: str(fault) for fault in refused.value.faults}


def test_the_experiments_are_without_fault() -> None:
    composed = compose_run(CANCER)
    assert list(composed.config.comparison.scenarios) == ["vanilla", "personalized", "global", "record"]
    assert compose_run(["experiment=unequal_sites"]).config.comparison.seeds == 20


def test_a_run_compares_nothing_unless_told_to() -> None:
    assert compose_run([]).config.comparison is None


def test_noise_at_different_places_needs_something_in_common() -> None:
    found = faults("comparison.equalise=null")
    assert found.keys() == {"comparison.equalise"}
    assert "personalized, global add noise in different ways" in found["comparison.equalise"]
    assert "set comparison.equalise=variance" in found["comparison.equalise"]


def test_what_protects_another_unit_or_has_no_noise_needs_nothing_in_common() -> None:
    compose_run([*CANCER, "comparison.equalise=null", f"~{SCENARIOS}.global"])


def test_all_that_is_wrong_is_told_at_once_each_at_its_place() -> None:
    found = faults(
        f"{SCENARIOS}.record.dp.clip=-1",
        f"{SCENARIOS}.global.dp.clipping={{name: fixed, norm: 0}}",
        f"{SCENARIOS}.personalized.dp.personalise.name=maxx",
        "comparison.seeds=1",
        "comparison.equalise=variances",
    )
    assert found.keys() == {
        f"{SCENARIOS}.record.dp.clip",
        f"{SCENARIOS}.global.dp.clipping.norm",
        f"{SCENARIOS}.personalized.dp.personalise.name",
        "comparison.seeds",
        "comparison.equalise",
    }
    assert "must be a number between 1e-09 and 1e+09" in found[f"{SCENARIOS}.record.dp.clip"]
    assert "did you mean max?" in found[f"{SCENARIOS}.personalized.dp.personalise.name"]


def test_noise_of_a_scenario_is_checked_like_any_other() -> None:
    place = f"{SCENARIOS}.global.dp.multiplier"
    found = faults(f"{place}=2.0")
    assert found.keys() == {place}
    assert f"one of {place} and {SCENARIOS}.global.dp.target_epsilon" in found[place]


def test_noise_of_a_scenario_is_held_against_the_clients_that_there_are() -> None:
    by_client = "{name: record, target_epsilon: null, personalise: {name: epsilon, default: 1.0, clients: {Ukk: 2.0}}}"
    shares = f"{SCENARIOS}.global.dp.noise_from=clients", f"{SCENARIOS}.global.dp.smallest_cohort=11"
    found = faults(f"{SCENARIOS}.record.dp={by_client}", *shares)
    assert found.keys() == {
        f"{SCENARIOS}.record.dp.personalise.clients",
        f"{SCENARIOS}.global.dp.smallest_cohort",
    }
    assert "there is no client 'Ukk'" in found[f"{SCENARIOS}.record.dp.personalise.clients"]
    assert "at most 10" in found[f"{SCENARIOS}.global.dp.smallest_cohort"]
    drawn = ("federation/clients=iid", "federation.clients.clients=4")
    assert "at most 4" in faults(*drawn, *shares)[f"{SCENARIOS}.global.dp.smallest_cohort"]


def test_noise_of_the_server_covers_no_exclusion() -> None:
    (told,) = faults("federation.drift.action=exclude").values()
    assert "no epsilon holds: drifting clients are left out" in told
    assert f"or {SCENARIOS}.global.dp.unproven=report" in told
    assert "set federation.drift.action=report, or federation/drift=none" in told
    compose_run([*CANCER, "federation.drift.action=exclude", f"{SCENARIOS}.global.dp.unproven=report"])


def test_names_that_there_are_not_are_refused() -> None:
    assert "did you mean global?" in faults(f"{SCENARIOS}.global.dp.name=globl")[f"{SCENARIOS}.global.dp.name"]
    assert "there is no such key" in faults(f"{SCENARIOS}.record.dp.clipp=1")[f"{SCENARIOS}.record.dp.clipp"]


def test_noise_of_the_run_beside_that_of_scenarios_is_refused() -> None:
    assert faults("dp=record").keys() == {"dp.name"}


def test_models_whose_weights_can_not_be_averaged_are_not_compared() -> None:
    assert "comparison" in faults("model=forest")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("personalized.dp.clipping={name: adaptive}", "an adaptive clip changes it"),
        ("global.dp.delta=1e-6", "an epsilon means nothing beside another delta"),
    ],
)
def test_a_figure_that_is_not_known_can_not_be_kept_equal(change: str, told: str) -> None:
    by = "mean_epsilon" if "delta" in change else "variance"
    assert told in faults(f"comparison.equalise={by}", f"{SCENARIOS}.{change}")["comparison.equalise"]


def test_steps_of_plain_sgd_alone_have_a_variance() -> None:
    again = f"+{SCENARIOS}.again.dp={{name: record, personalise: {{name: max}}}}"
    assert "plain SGD alone" in faults(again)["comparison.equalise"]
    compose_run([*CANCER, again, "federation.local.momentum=0.0"])
    compose_run([*CANCER, again, "comparison.equalise=worst_epsilon"])


def test_paper_mode_has_a_variance_and_no_epsilon() -> None:
    paper = [
        f"{SCENARIOS}.personalized.dp={{name: personalized, paper: true, multiplier: 0.15, target_epsilon: null}}",
        f"{SCENARIOS}.global.dp.target_epsilon=3.0",
    ]
    compose_run([*CANCER, *paper])
    assert "paper mode clips nothing" in faults(*paper, "comparison.equalise=worst_epsilon")["comparison.equalise"]
