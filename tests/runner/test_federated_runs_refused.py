"""Federations that can't be, and what comes their way: the stated outcome, before anything is trained if possible."""

from dataclasses import replace
from typing import Any

import pytest

from bench.clinics import CLIENT, clinics, with_cells
from bench.counted import cells

CALM = ("dp=global", "federation/drift=none")
FAULTS: dict[str, tuple[tuple[str, ...], list[str]]] = {
    "model": (("model=forest",), ["model=forest has no weights that could be averaged"]),
    "method": (
        ("anonymization=mondrian", "anonymization.suppression_limit=.1"),
        ["anonymization=mondrian has no levels that could be harmonised"],
    ),
    "no clients": (("dataset.client=null",), ["no column names the clients"]),
    "several targets": (("dataset.target=[label, ill]",), ["there are several targets; one target"]),
    "levels and names": (
        (
            "anonymization.local_recoding=true",
            "federation.harmonising.harmonise=none",
            "federation.attacks=[{name: lazy, clients: [Nobody]}]",
            "dp=record",
            "dp/personalise=epsilon",
            "+dp.personalise.clients.Nowhere=1.0",
        ),
        [
            "rows on levels of their own",
            "no common input space",
            "federation.attacks.0.clients (federation.attacks=[{name: lazy, clients: [Nobody]}]): there is no",
            "there is no client 'Nowhere'; one of 'Dale', 'Hill', 'Lake', 'Moor'",
        ],
    ),
    "noise on a sum": (
        ("dp=global", "federation=scaffold", "federation/rule=median", "federation.aggregation.norm_bound=1.0"),
        [
            "drifting clients are left out or weighted down before the noise",
            "a robust aggregation is no sum",
            "SCAFFOLD's control variates are a second release",
            "dp=global clips updates already",
        ],
    ),
    "a sum of weights": (
        (*CALM, "federation.aggregation.rule.weights=rows", "federation.aggregation.rule.divisor=realised"),
        ["weighted by their rows", "divided by the clients that came"],
    ),
    "what rows decide": (
        ("dp=record", "encoder.learn=true", "federation.early_stop={monitor: loss}", "dp.budget=1.0"),
        [
            "bounds learned from rows can't go with differential privacy",
            "metrics of the clients' rows",
            "it is beyond the budget",
        ],
    ),
    "weights and steps that tell of rows": (
        (*CALM[1:], "dp=personalized", "federation=scaffold", "federation.aggregation.rule.weights=rows"),
        [
            "divided by a client's local steps",
            "weighted by their rows, which they tell without noise, and replace_table lets these differ",
            "set federation.aggregation.rule.weights=equal",
        ],
    ),
    "hierarchies that nobody climbs": (
        ("anonymization=none", "+federation.harmonising.site_hierarchies.Dale=dale"),
        ["federation.harmonising.site_hierarchies", "anonymization=none climbs no hierarchy"],
    ),
    "drawn clients": (
        (
            *CALM,
            "federation/clients=iid",
            "federation.clients.clients=4",
            "federation/rule=krum",
            "dp.noise_from=clients",
            "dp.smallest_cohort=5",
            "dp.multiplier=1.0",
        ),
        ["needs 5", "there are fewer clients; at most 4", "multiplier and target_epsilon are both given"],
    ),
    "rules that go ill together": (
        (
            "federation=scaffold",
            "federation.local.optimizer=adam",
            "federation/rule=median",
            "federation.drift.action=down_weight",
            "federation.clients.column=nobody",
        ),
        ["plain SGD steps", "the rule median can't give a client less weight", "'nobody' is no column of the schema"],
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_can_not_be_is_told_all_at_once_before_there_is_a_folder(together: Any, name: str) -> None:
    typed, sentences = FAULTS[name]
    code, out, err = together.do(*typed, "output.dir=nowhere")
    assert (code, out) == (2, "")
    assert [each for each in sentences if each not in err] == []
    assert all(line.startswith("error: ") for line in err.strip().splitlines())
    assert not (together.site.folder / "nowhere").exists()


def test_a_plan_refuses_what_a_run_refuses(together: Any) -> None:
    typed, _ = FAULTS["noise on a sum"]
    assert together.do(*typed, verb="plan") == together.do(*typed)


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


def test_a_clinic_with_fewer_rows_than_k_stops_the_run_or_is_left_out(together: Any) -> None:
    together.site.write("small", clinics(sizes=(90, 70, 60, 3)))
    whole, own = together.run(table="small").refused(4)
    assert "1 of 4 clients can't reach the criteria: 'Moor'" in whole
    assert own.startswith("client 'Moor', anonymization.k: k=3 but 2 rows")
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


def test_simulated_attackers_are_named_in_plan_and_record(together: Any) -> None:
    attack = "federation.attacks=[{name: sign_flip, clients: [Moor]}]"
    code, out, _ = together.do(attack, verb="plan")
    assert (code, "SIMULATED ATTACKS: sign_flip" in " ".join(out.split())) == (0, True)
    done = together.run(attack)
    assert done.record["federation"]["attacks"] == ["sign_flip at Moor"]
