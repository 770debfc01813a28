"""What is told of a federation before and after it: plans, lists and sweeps, and the run that ships as the default."""

import re
from typing import Any

import pytest

from bench.counted import cells
from runner.compose import compose_run

PLANNED = {
    "record": ("dp=record", "dp/personalise=none"),
    "personalized": ("dp=personalized",),
    "by policy": ("dp=record", "dp/personalise=epsilon", "+dp.personalise.clients.Moor=1.0"),
    "within a budget": (
        "dp=record",
        "dp/personalise=none",
        "dp.target_epsilon=null",
        "dp.multiplier=2.0",
        "dp.budget=2",
    ),
}


def lines(out: str) -> dict[str, list[str]]:
    """Return the texts of a plan by what they are about."""
    found: dict[str, list[str]] = {}
    for line in out.splitlines():
        if line[:1].strip():
            about = line[:18].strip()
            found.setdefault(about, []).append(line[18:])
        elif about in found:
            found[about][-1] += " " + line.strip()
    return found


@pytest.mark.parametrize("name", PLANNED)
def test_a_plan_tells_every_client_s_rows_releases_noise_and_epsilon_as_the_run_has_them(
    together: Any, name: str
) -> None:
    code, out, err = together.do(*PLANNED[name], verb="plan")
    assert (code, err) == (0, "")
    told = lines(out)
    done = together.run(*PLANNED[name])
    privacy, section = done.record["differential_privacy"], done.record["federation"]
    assert told["clients"] == [
        f"4 with {sum(client['train'] for client in section['clients'])} train rows, before any is suppressed"
    ]
    costs = {client["client"]: client for client in privacy["clients"]}
    about = "about " * (privacy["mechanism"] == "record")
    for client in section["clients"]:
        (line,) = [each for each in told["client"] if each.startswith(f"{client['name']}: ")]
        cost = costs[client["name"]]
        assert f"{client['train']} train rows" in line
        assert f"{cost['steps']} noised releases" in line
        epsilon = float(re.findall(r"epsilon ([\d.]+)", line)[0])
        if name == "personalized":  # more noise than planned, by risk
            assert "or more, by its risk" in line
            assert cost["epsilon"] <= epsilon
        else:
            assert f"multiplier {about}{cost['multiplier']:.4g}" in line
            assert epsilon == pytest.approx(cost["epsilon"], abs=0.0011)
    (guarantee,) = told["guarantee"]
    assert float(re.findall(r"epsilon ([\d.]+)", guarantee)[0]) == pytest.approx(privacy["worst_epsilon"], abs=0.0011)
    assert "at delta 1e-05 for the worst client" in guarantee


def test_a_plan_says_where_there_is_no_guarantee(together: Any) -> None:
    _, out, _ = together.do(verb="plan")
    assert lines(out)["guarantee"] == ["no formal guarantee: dp=none"]
    _, out, _ = together.do("dp=record", "dp.noise_seed=3", verb="plan")
    assert lines(out)["guarantee"] == ["no formal guarantee: the noise was seeded and can be repeated"]
    _, out, _ = together.do(
        "dp=personalized", "dp.paper=true", "dp.target_epsilon=null", "dp.multiplier=.1", verb="plan"
    )
    assert lines(out)["guarantee"][0].startswith("no formal guarantee: nothing bounds what a client sends")


@pytest.mark.parametrize("noise", ["personalized", "record", "global"])
def test_a_delta_that_would_publish_a_row_is_refused_by_plan_and_run(together: Any, noise: str) -> None:
    typed = (f"dp={noise}", "dp.delta=.018", *(["federation/drift=none"] if noise == "global" else []))
    told = "dp.delta: 0.018 is no smaller than one over the train rows of 'Dale': whoever publishes one row"
    code, _, err = together.do(*typed, verb="plan")
    assert (code, told in err, "below 1/68" in err, "set dp.delta=0.001" in err) == (2, True, True, True)
    ran = together.run(*typed)
    assert told in ran.refused(2)[0]
    code, _, err = together.do(*typed, "dp.delta=.001", verb="plan")
    assert code == 0, err
    # Where no epsilon is claimed there is no delta to be too large.
    code, _, err = together.do(*typed, "dp.noise_seed=1", verb="plan")
    assert code == 0, err


def test_runs_that_federate_are_listed_with_what_came_of_them(together: Any) -> None:
    done = together.run(*PLANNED["personalized"])
    code, out, _ = together.site.do("list", f"output.dir={done.folder.parent.parent}")
    assert code == 0
    (line,) = [each for each in out.splitlines() if done.folder.name in each]
    accuracy = {
        row["scope"]: float(row["value"])
        for row in cells(done.folder / "metrics.csv")
        if (row["metric"], row["split"]) == ("accuracy", "test")
    }
    shown = [f"{accuracy[scope]:.3f}".removeprefix("0") for scope in ("original", "federated")]
    assert f"accuracy {'->'.join(shown)}" in line
    assert line.endswith("epsilon 3")


def test_a_sweep_over_target_epsilon_has_a_job_for_each(together: Any) -> None:
    typed = together.typed("dp=personalized", "dp.target_epsilon=1,3", "output.dir=swept", *("anonymization=none",))
    code, _, err = together.site.do("-m", "dataset=clinics", *typed, "--config-dir", "options")
    assert code == 0, err
    (sweep,) = (together.site.folder / "swept" / "sweeps" / "clinics").iterdir()
    ledgers = [cells(path) for path in sorted(sweep.glob("jobs/*/ledger.csv"))]
    worst = [max(float(row["epsilon"]) for row in rows if row["kind"] == "all") for rows in ledgers]
    assert worst == pytest.approx([1.0, 3.0], rel=1e-6)
    _, out, _ = together.site.do("list", "output.dir=swept")
    assert [line.split()[-1] for line in out.splitlines() if "epsilon" in line] == ["1", "3"]


USUAL = {"federation": "fedavg", "dp": "record", "model": "logistic", "anonymization": "lattice"}


def names_of(*typed: str) -> dict[str, str]:
    config: Any = compose_run(list(typed)).config
    return {group: getattr(config, group).name for group in USUAL}


def test_the_default_run_is_the_experiment_of_the_hospitals() -> None:
    assert names_of() == USUAL == names_of("experiment=hospitals")
    assert compose_run([]).resolved == compose_run(["experiment=hospitals"]).resolved


@pytest.mark.parametrize("typed", [("model=forest",), ("dataset=hospitals",), ("federation=none",)])
def test_choosing_an_option_gives_the_default_run_up_as_a_whole(typed: tuple[str, ...]) -> None:
    assert names_of(*typed) == {"federation": "none", "dp": "none", "model": "forest", "anonymization": "guided"}


def test_options_stand_above_an_experiment_that_is_asked_for() -> None:
    assert names_of("experiment=hospitals", "dp=none") == {**USUAL, "dp": "none"}


@pytest.mark.parametrize(
    "typed",
    ["federation/rule=median", "federation/drift=none", "dp/personalise=none", "federation.rounds=2", "seed=4"],
)
def test_settings_and_nested_options_are_those_of_the_default_run(typed: str) -> None:
    assert names_of(typed) == USUAL
    config: Any = compose_run([typed]).config
    changed = {
        "federation/rule=median": config.federation.aggregation.rule.name == "median",
        "federation/drift=none": config.federation.drift is None,
        "dp/personalise=none": getattr(config.dp, "personalise", 0) is None,
        "federation.rounds=2": config.federation.rounds == 2,
        "seed=4": config.seed == 4,
    }
    assert changed[typed]
