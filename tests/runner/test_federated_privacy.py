"""Noise in whole runs of federations: what is claimed follows from what was done, and only there."""

import re
from math import inf
from typing import Any

import pytest

from bench.counted import cells
from components.dp.accounting import epsilon
from components.dp.claims import shown
from components.dp.conditions import NO_GUARANTEE
from components.dp.releases import Releases

RUNS = {
    "record": ("dp=record",),
    "record, alike": ("dp=record", "dp/personalise=none", "dp.relation=replace_record"),
    "record, tiers": (
        "dp=record",
        "dp/personalise=tiers",
        "dp.personalise.tiers=[{up_to: .1, target_epsilon: 6.0}, {up_to: 1.0, target_epsilon: 2.0}]",
        "federation=scaffold",
    ),
    "personalized": ("dp=personalized",),
    "personalized, adaptive": ("dp=personalized", "dp/clipping=adaptive", "dp.relation=zero_out"),
    "personalized, by policy": ("dp=personalized", "dp/personalise=epsilon", "+dp.personalise.clients.Dale=1.0"),
    "global, adaptive": ("dp=global", "federation/drift=none", "dp/clipping=adaptive"),
    "global, shares": ("dp=global", "federation/drift=none", "dp.noise_from=clients"),
    "global, weighted": (
        "dp=global",
        "federation/drift=none",
        "federation.aggregation.rule.weights=fixed",
        "federation.aggregation.rule.fixed={Dale: 5.0, Hill: 2.5, Lake: 1.5, Moor: 1.0}",
    ),
}


@pytest.fixture(scope="module", params=RUNS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def done(together: Any, name: str) -> Any:
    ended = together.run(*RUNS[name])
    assert ended.code == 0, ended.err
    return ended


def of_noise(row: dict[str, str]) -> Releases:
    return Releases(float(row["multiplier"]), float(row["rate"]), int(float(row["steps"])), float(row["sensitivity"]))


def test_epsilon_follows_from_the_noise_of_the_ledger(done: Any) -> None:
    covered = [row for row in cells(done.folder / "ledger.csv") if row["covered"] == "True"]
    costs = {client["client"]: client for client in done.record["differential_privacy"]["clients"]}
    for client, cost in costs.items():
        own = [row for row in covered if row["client"] == client]
        parts, (whole,) = [row for row in own if row["kind"] != "all"], [row for row in own if row["kind"] == "all"]
        for row in parts:
            assert epsilon([of_noise(row)], float(row["delta"])).value == pytest.approx(float(row["epsilon"]))
        total = epsilon([of_noise(row) for row in parts], float(whole["delta"])).value
        assert float(whole["epsilon"]) == pytest.approx(total)
        assert cost["epsilon"] == pytest.approx(total)
        assert cost["epsilon_rdp"] is None or cost["epsilon"] <= cost["epsilon_rdp"]
        assert int(float(whole["steps"])) == cost["steps"] == sum(int(float(row["steps"])) for row in parts)
    worst = max(cost["epsilon"] for cost in costs.values())
    assert done.record["differential_privacy"]["worst_epsilon"] == worst


def test_nobody_exceeds_the_target_epsilon(done: Any, name: str) -> None:
    targets = {"record, tiers": 6.0}
    privacy = done.record["differential_privacy"]
    assert privacy["worst_epsilon"] <= targets.get(name, 3.0) * (1 + 1e-6)
    if name == "personalized, by policy":
        told = {client["client"]: client["epsilon"] for client in privacy["clients"]}
        assert told == pytest.approx({"Dale": 1.0, "Hill": 3.0, "Lake": 3.0, "Moor": 3.0})


def test_multipliers_that_follow_risk_are_called_data_derived(done: Any, name: str) -> None:
    by_policy = name in {"record, alike", "record, tiers", "personalized, by policy"} or name.startswith("global")
    expected = "policy" if by_policy else "data-derived"
    assert {client["basis"] for client in done.record["differential_privacy"]["clients"]} == {expected}
    assert all(
        f"Multipliers were {expected}." in client["statement"]
        for client in done.record["differential_privacy"]["clients"]
    )


def test_an_epsilon_holds_against_those_alone_whom_noise_stands_between(done: Any) -> None:
    privacy = done.record["differential_privacy"]
    for client in privacy["clients"]:
        against = {party: inf if value == "infinite" else value for party, value in client["against"].items()}
        assert set(against) == {"outsider", "client", "server"}
        if privacy["mechanism"] in {"local", "record"}:
            assert set(against.values()) == {client["epsilon"]}
        else:
            assert against["outsider"] == client["epsilon"]
            assert against["server"] > client["epsilon"]
        if privacy["mechanism"] == "server":
            assert against["server"] == inf
            assert f"the server {NO_GUARANTEE}" in client["statement"]
    rows = [row for row in cells(done.folder / "ledger.csv") if row["covered"] == "True"]
    assert all(("server" in row["holds_against"]) == (privacy["mechanism"] != "server") for row in rows)
    wholes = {row["client"]: row for row in rows if row["kind"] == "all"}
    for client in privacy["clients"]:
        for party in ("client", "server"):
            cell, told = wholes[client["client"]][f"epsilon_{party}"], client["against"][party]
            assert (cell == "") if told == "infinite" else (float(cell) == pytest.approx(told))


def test_the_closing_line_says_against_whom_how_much_is_promised(done: Any) -> None:
    privacy = done.record["differential_privacy"]
    (line,) = [line for line in done.out.splitlines() if line.startswith("guarantee")]
    first, *others = line.split("; ")
    worst = {
        party: max(inf if (told := client["against"][party]) == "infinite" else told for client in privacy["clients"])
        for party in ("outsider", "client", "server")
    }
    assert f"epsilon {shown(worst['outsider'])} at most" in first
    words = {"outsider": "outsiders", "client": "other clients", "server": "the server"}
    for party, word in words.items():
        assert (word in first) == (worst[party] == worst["outsider"])
        apart = worst["outsider"] < worst[party] < inf
        assert (f"epsilon {shown(worst[party])} against {word}" in others) == apart


def test_every_statement_names_unit_relation_and_what_else_crossed(done: Any) -> None:
    privacy = done.record["differential_privacy"]
    words = {"add_remove_record": "add or remove one record", "replace_record": "replace one record"}
    words |= {"replace_table": "replace table", "zero_out": "zero out"}
    for client in privacy["clients"]:
        text = client["statement"]
        assert words[privacy["relation"]] in text
        assert "Covered: what a round of training changed of the weights" in text
        assert "criteria, classes, loss and risk (ARIREC) of what the site publishes" in text
    assert privacy["unit"] == ("record" if "record" in privacy["relation"] else "client")
    assert privacy["random_source"] == "operating system, by AES-256-CTR"
    assert privacy["reasons"] == []


def test_personalised_noise_is_stronger_where_more_is_at_risk(together: Any) -> None:
    record = together.run("dp=personalized").record
    risks = {client["name"]: client["arirec"] for client in record["federation"]["clients"]}
    noise = {client["client"]: client["multiplier"] for client in record["differential_privacy"]["clients"]}
    least = min(risks, key=risks.__getitem__)
    assert {name: value / noise[least] for name, value in noise.items()} == pytest.approx(
        {name: value / risks[least] for name, value in risks.items()}
    )


def told_apart(one: Any, two: Any) -> set[str]:
    names = one.files.keys() | two.files.keys()
    return {name for name in names if one.files.get(name) != two.files.get(name)}


OF_A_RUN = {"record.json", "ro-crate-metadata.json", "events.jsonl", "config.yaml"}


SEEDED = ("dp=record", "dp.noise_seed=3")
SHUFFLED = "dataset.source.path=clinics-shuffled.csv"


@pytest.mark.parametrize("typed", [(), SEEDED])
def test_without_fresh_noise_rows_in_another_order_give_the_same_bytes(together: Any, typed: tuple[str, ...]) -> None:
    one, two = together.run(*typed), together.run(*typed, SHUFFLED)
    assert (one.code, two.code) == (0, 0)
    assert told_apart(one, two) <= OF_A_RUN
    assert one.record["federation"]["partition_sha256"] == two.record["federation"]["partition_sha256"]


def test_fresh_noise_differs_from_run_to_run_and_moves_nothing_before_it(together: Any) -> None:
    one, two = together.run(*RUNS["record"]), together.run(*RUNS["record"], SHUFFLED)
    different = told_apart(one, two)
    assert "model/weights.npz" in different
    assert not {name for name in different if name.startswith(("data/", "anonymization/"))}
    assert "ledger.csv" not in different


@pytest.mark.parametrize(
    "typed", [SEEDED, ("dp=personalized", "dp.noise_seed=3"), ("dp=global", "federation/drift=none", "dp.noise_seed=3")]
)
def test_seeded_noise_withdraws_the_claim_in_all_places(together: Any, typed: tuple[str, ...]) -> None:
    done = together.run(*typed)
    assert done.code == 0
    assert f"{NO_GUARANTEE}: the noise was seeded and can be repeated" in done.out
    privacy = done.record["differential_privacy"]
    assert privacy["random_source"] == "seeded"
    assert privacy["worst_epsilon"] is None
    assert all(client["epsilon"] is None and not client["against"] for client in privacy["clients"])
    assert all(NO_GUARANTEE in client["statement"] for client in privacy["clients"])
    rows = cells(done.folder / "ledger.csv")
    assert {row["covered"] for row in rows} == {"False"}
    assert not any(row["epsilon"] for row in rows)
    assert any(NO_GUARANTEE in row["note"] for row in rows)
    assert not [row for row in cells(done.folder / "metrics.csv") if row["stage"] == "dp"]
    assert any(NO_GUARANTEE in warning for warning in done.record["warnings"])


def test_paper_mode_is_noise_without_a_guarantee(together: Any) -> None:
    done = together.run("dp=personalized", "dp.paper=true", "dp.target_epsilon=null", "dp.multiplier=.05")
    assert done.code == 0, done.err
    assert f"{NO_GUARANTEE}: nothing bounds what a client sends" in done.out
    rows = cells(done.folder / "ledger.csv")
    assert {row["client"] for row in rows if row["kind"] == "update"} == {"Dale", "Hill", "Lake", "Moor"}
    assert {row["covered"] for row in rows} == {"False"}


def test_what_carries_no_epsilon_may_go_on_without_one(together: Any) -> None:
    done = together.run("dp=global", "federation/rule=median", "dp.unproven=report")
    assert done.code == 0, done.err
    assert f"{NO_GUARANTEE}: drifting clients are left out" in done.out
    reasons = done.record["differential_privacy"]["reasons"]
    assert any("a robust aggregation is no sum" in reason for reason in reasons)


def test_clients_whose_budget_is_spent_stop_contributing_and_are_shown(together: Any) -> None:
    noise = ("dp.target_epsilon=null", "dp.multiplier=5.0", "dp.budget=4.5", "federation.rounds=6")
    done = together.run("dp=personalized", *noise)
    assert done.code == 0, done.err
    privacy, rounds = done.record["differential_privacy"], done.record["federation"]["rounds"]
    assert privacy["worst_epsilon"] <= 4.5
    first = {client["client"]: client["spent"] for client in privacy["clients"]}
    assert len({spent for spent in first.values() if spent is not None}) > 1  # risks differ, and so do budgets' ends
    for told in rounds:
        spent = sorted(name for name, since in first.items() if since is not None and told["number"] >= since)
        assert sorted(told["spent"]) == spent
        assert told["came"] == 4 - len(spent)
    assert all(
        client["participations"] == sum(client["client"] not in told["spent"] for told in rounds)
        for client in privacy["clients"]
    )
    assert re.search(r"^federation .*, 'Dale', .+ out of some, their budget spent; all rounds", done.out, re.MULTILINE)


def test_a_federation_ends_when_every_budget_is_spent(together: Any) -> None:
    done = together.run(
        "dp=record", "dp/personalise=none", "dp.target_epsilon=null", "dp.multiplier=.5", "dp.budget=.5"
    )
    assert done.code == 0, done.err
    privacy, section = done.record["differential_privacy"], done.record["federation"]
    assert (section["rounds"], section["ended"]) == ([], "every client's budget is spent")
    assert {(client["spent"], client["epsilon"], client["steps"]) for client in privacy["clients"]} == {(1, 0, 0)}
    assert "4 clients, 0 rounds; every client's budget is spent" in done.out


def test_an_epsilon_that_promises_nothing_is_no_number_on_the_terminal(together: Any) -> None:
    done = together.run("dp=record", "dp.target_epsilon=200", "federation.rounds=1", "anonymization=none")
    assert done.code == 0, done.err
    assert "no meaningful guarantee, delta 1e-05, for one record, against outsiders" in done.out
    told = "the worst client has no meaningful guarantee: an epsilon above 100 promises nothing"
    assert told in done.record["warnings"]
    assert "epsilon no" not in done.out
    assert done.record["differential_privacy"]["worst_epsilon"] == pytest.approx(200, rel=1e-3)


def test_rounds_with_too_few_shares_of_noise_are_aborted_and_cost_nothing(together: Any) -> None:
    shares = ("federation/drift=none", "dp.noise_from=clients", "dp.smallest_cohort=3")
    done = together.run("dp=global", *shares, "federation.participation=.4", "federation.rounds=6")
    assert done.code == 0, done.err
    rounds = done.record["federation"]["rounds"]
    assert {each["asked"] >= 3 for each in rounds} == {True, False}
    for told in rounds:
        assert bool(told["change"]) == (told["asked"] >= 3)
        assert ("aborted" in told["stayed"]) == (told["asked"] < 3)
    held = [row for row in cells(done.folder / "ledger.csv") if row["kind"] == "all"]
    assert all(int(float(row["steps"])) == sum(each["asked"] >= 3 for each in rounds) for row in held)
    whole = sum(each["came"] for each in rounds)
    assert whole == sum(1 for row in cells(done.folder / "federation/messages.csv") if row["kind"] == "update")
