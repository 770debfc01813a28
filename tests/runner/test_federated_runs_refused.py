"""Federations that can't be, and what comes their way: the stated outcome, before anything is trained if possible."""

from dataclasses import replace
from typing import Any

import pytest

from bench.clinics import CLIENT, clinics, with_cells
from bench.counted import cells

CALM = ("dp=global", "federation/drift=none")
FAULTS: dict[str, tuple[tuple[str, ...], str]] = {
    "a model without weights": (("model=forest",), "model=forest has no weights that could be averaged"),
    "no model": (("model=none",), "model=none has no weights that could be averaged"),
    "a method without levels": (
        ("anonymization=mondrian", "anonymization.suppression_limit=.1"),
        "anonymization=mondrian has no levels that could be harmonised",
    ),
    "rows on levels of their own": (("anonymization.local_recoding=true",), "rows on levels of their own"),
    "sites on levels of their own": (("federation.harmonising.harmonise=none",), "no common input space"),
    "no column of clients": (("dataset.client=null",), "no column names the clients"),
    "another column": (("federation.clients.column=nobody",), "'nobody' is no column of the schema"),
    "several targets": (("dataset.target=[label, ill]",), "there are several targets"),
    "learned encodings": (("dp=record", "encoder.learn=true"), "the encoder was learned from rows"),
    "noise before exclusion": (("dp=global",), "drifting clients are left out or weighted down before the noise"),
    "noise before a median": ((*CALM, "federation/rule=median"), "a robust aggregation is no sum"),
    "weights by rows": ((*CALM, "federation.aggregation.rule.weights=rows"), "weighted by their rows"),
    "whoever came": ((*CALM, "federation.aggregation.rule.divisor=realised"), "divided by the clients that came"),
    "variates": ((*CALM, "federation=scaffold"), "SCAFFOLD's control variates are a second release"),
    "a stop by losses": (("dp=record", "federation.early_stop={monitor: loss}"), "metrics of the clients' rows"),
    "two bounds": ((*CALM, "federation.aggregation.norm_bound=1.0"), "dp=global clips updates already"),
    "a cohort of too many": (
        (
            *CALM,
            "dp.noise_from=clients",
            "dp.smallest_cohort=5",
            "federation/clients=iid",
            "federation.clients.clients=4",
        ),
        "there are fewer clients; at most 4",
    ),
    "an attacker who is no client": (
        ("federation.attacks=[{name: lazy, clients: [Nobody]}]",),
        "federation.attacks.0.clients (federation.attacks=[{name: lazy, clients: [Nobody]}]): there is no client 'Nob",
    ),
    "a policy for no client": (
        ("dp=record", "dp/personalise=epsilon", "+dp.personalise.clients.Nobody=1.0"),
        "there is no client 'Nobody'; one of 'Dale', 'Hill', 'Lake', 'Moor'",
    ),
    "too few for Krum": (("federation/rule=krum", "federation/clients=iid", "federation.clients.clients=4"), "needs 5"),
    "a median of weights": (
        ("federation/rule=median", "federation.drift.action=down_weight"),
        "the rule median can't give a client less weight",
    ),
    "adam and variates": (("federation=scaffold", "federation.local.optimizer=adam"), "plain SGD steps"),
    "a target beyond the budget": (("dp=record", "dp.budget=1.0"), "it is beyond the budget"),
    "two strengths": (("dp=record", "dp.multiplier=1.0"), "multiplier and target_epsilon are both given"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_can_not_be_is_told_before_there_is_a_folder(together: Any, name: str) -> None:
    typed, sentence = FAULTS[name]
    code, out, err = together.do(*typed, "output.dir=nowhere")
    assert (code, out) == (2, "")
    assert sentence in err
    assert all(line.startswith("error: ") for line in err.strip().splitlines())
    assert not (together.site.folder / "nowhere").exists()
    assert together.do(*typed, verb="plan") == (2, "", err)


def test_noise_needs_a_federation(together: Any) -> None:
    code, _, err = together.site.do(
        "dataset=clinics", "model=logistic", "anonymization=lattice", "dp=record", "--config-dir", "options"
    )
    assert (code, "there is no federation" in err) == (2, True)


def test_a_target_without_bounds_has_no_scale_that_nobody_told(together: Any) -> None:
    code, _, err = together.do("model=linear", "dataset.columns.score.max=null", table="scores")
    assert code == 2
    assert "dataset.columns.score" in err
    assert "declares none" in err


KNOWN_LATER: dict[str, tuple[tuple[str, ...], str]] = {
    "Krum": (("federation/rule=krum",), "krum needs 5 clients and there are 4"),
    "weights": (
        ("federation.aggregation.rule.weights=fixed", "federation.aggregation.rule.fixed={Dale: 1.0, Hill: 1.0}"),
        "no weight for 'Lake', 'Moor'",
    ),
    "cohort": ((*CALM, "dp.noise_from=clients", "dp.smallest_cohort=5"), "there are fewer clients; at most 4"),
}


@pytest.mark.parametrize("name", KNOWN_LATER)
def test_what_the_clients_of_the_table_decide_is_told_by_plan_and_run_before_training(together: Any, name: str) -> None:
    typed, sentence = KNOWN_LATER[name]
    (told,) = together.run(*typed).refused(2)
    assert sentence in told
    code, _, err = together.do(*typed, verb="plan")
    assert (code, err.strip()) == (2, f"error: {told}")


def test_rows_that_name_no_client_are_told_by_number(together: Any) -> None:
    made = clinics()
    columns = {**made.option["columns"], CLIENT: {**made.option["columns"][CLIENT], "nullable": True}}
    rows = [{**row, CLIENT: "" if number in {3, 17} else row[CLIENT]} for number, row in enumerate(made.rows)]
    together.site.write("strays", replace(made, option={**made.option, "columns": columns}, rows=rows))
    (told,) = together.run(table="strays").refused(3)
    assert told.startswith("column 'clinic': 2 of 270 rows name no client")
    assert together.do(verb="plan", table="strays")[::2] == (3, f"error: {told}\n")


def test_one_clinic_trains_alone(together: Any) -> None:
    together.site.write("one", clinics(sizes=(90, 0, 0, 0)))
    done = together.run("dp=record", table="one")
    assert done.code == 0, done.err
    assert [client["name"] for client in done.record["federation"]["clients"]] == ["Dale"]
    assert "1 client" in done.out


def test_a_clinic_with_fewer_rows_than_k_stops_the_run_or_is_left_out(together: Any) -> None:
    together.site.write("small", clinics(sizes=(90, 70, 60, 3)))
    whole, own = together.run(table="small").refused(4)
    assert "1 of 4 clients can't reach the criteria: 'Moor'" in whole
    assert own.startswith("client 'Moor', anonymization.k: k=3 but 2 rows") or "client 'Moor'" in own
    done = together.run("federation.harmonising.unreachable=leave_out", "dp=record", table="small")
    assert done.code == 0, done.err
    told = {client["name"]: client for client in done.record["federation"]["clients"]}
    assert {name: client["took_part"] for name, client in told.items()} == {
        "Dale": True,
        "Hill": True,
        "Lake": True,
        "Moor": False,
    }
    assert told["Moor"]["why_not"] == "it can't reach the criteria"
    assert any("'Moor'" in warning for warning in done.record["warnings"])
    assert {row[CLIENT] for row in cells(done.release)} == {"Dale", "Hill", "Lake"}
    assert {each["client"] for each in done.record["differential_privacy"]["clients"]} == {"Dale", "Hill", "Lake"}
    sent = {row["kind"] for row in cells(done.folder / "federation/messages.csv") if row["sender"] == "Moor"}
    assert sent == {"hierarchies", "unreachable"}


def test_a_clinic_of_one_class_trains_with_the_others(together: Any) -> None:
    together.site.write("alike", with_cells(clinics(), {"Moor": {"label": "yes"}}))
    done = together.run("federation.participation=.5", "federation.rounds=4", table="alike")
    assert done.code == 0, done.err
    asked = [each["asked"] for each in done.record["federation"]["rounds"]]
    assert all(1 <= each <= 4 for each in asked)
    assert min(asked) < 4
    (client,) = [each for each in done.record["federation"]["clients"] if each["name"] == "Moor"]
    assert client["took_part"]


def test_without_rounds_the_first_weights_stay_and_cost_nothing(together: Any) -> None:
    done = together.run("federation.rounds=0", "dp=record")
    assert done.code == 0, done.err
    assert "nothing was learned" in done.out
    privacy = done.record["differential_privacy"]
    assert {(client["epsilon"], client["steps"]) for client in privacy["clients"]} == {(0, 0)}
    assert "federation/drift.csv" not in done.files
    assert not [row for row in cells(done.folder / "federation/messages.csv") if row["kind"] == "update"]


def test_simulated_attackers_are_named_in_plan_and_record(together: Any) -> None:
    attack = "federation.attacks=[{name: sign_flip, clients: [Moor]}]"
    code, out, _ = together.do(attack, verb="plan")
    assert (code, "SIMULATED ATTACKS: sign_flip" in " ".join(out.split())) == (0, True)
    done = together.run(attack)
    assert done.record["federation"]["attacks"] == ["sign_flip at Moor"]
