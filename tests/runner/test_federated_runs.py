"""Whole runs of federations: what a run leaves is what was asked for, and says the same everywhere."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import TypeAdapter

from bench.clinics import CLIENT, CLINICS
from bench.counted import Asked, cells, differences, measured, meets
from bench.made import ROW
from components.anonymization.criteria.declarations import Criterion
from components.federation.messages import KINDS, SERVER

L_TOO = "anonymization.criteria=[{name: k, k: 3}, {name: l_distinct, l: 2, column: ill}]"
CRITERIA = TypeAdapter(list[Criterion]).validate_python(
    [{"name": "k", "k": 3}, {"name": "l_distinct", "l": 2, "column": "ill"}]
)
RUNS = {
    "none": (L_TOO,),
    "common": (L_TOO, "federation.harmonising.harmonise=common", "federation=fedprox"),
    "record": (L_TOO, "dp=record", "federation=scaffold"),
    "personalized": ("dp=personalized", "dp/clipping=adaptive", "federation.participation=.5", "federation.rounds=3"),
    "global": ("dp=global", "federation/drift=none", "model=mlp", "federation.early_stop={monitor: change}"),
    "rows": ("federation.aggregation.rule.weights=rows", "federation.early_stop={monitor: loss}", L_TOO),
}


@pytest.fixture(scope="module", params=RUNS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def done(together: Any, name: str) -> Any:
    ended = together.run(*RUNS[name])
    assert ended.code == 0, ended.err
    assert "Traceback" not in ended.err
    return ended


def table(done: Any, name: str) -> list[dict[str, str]]:
    return cells(done.folder / name)


def sites_of(done: Any) -> dict[str, list[dict[str, str]]]:
    """Return the released rows of each clinic."""
    rows = cells(done.release)
    return {clinic: [row for row in rows if row[CLIENT] == clinic] for clinic in CLINICS}


def test_the_closing_lines_tell_who_trained_and_under_which_guarantee(done: Any) -> None:
    lines = dict(re.findall(r"^(\w+) {2,}(.+)$", done.out, re.MULTILINE))
    rounds = len(done.record["federation"]["rounds"])
    assert lines["federation"].startswith(f"4 clients, {rounds} rounds")
    assert lines["federation"].endswith(done.record["federation"]["ended"])
    privacy = done.record["differential_privacy"]
    if privacy is None:
        assert lines["guarantee"] == "no formal guarantee (dp=none)"
    else:
        assert f"delta {privacy['delta']:g}" in lines["guarantee"]
        told = float(re.findall(r"epsilon ([\d.]+) at most", lines["guarantee"])[0])
        assert privacy["worst_epsilon"] <= told <= privacy["worst_epsilon"] + 0.0011
        assert ("the server" in lines["guarantee"]) == (privacy["mechanism"] in {"local", "record"})
    assert "federated" in lines["accuracy"]


def test_each_clinic_reaches_the_criteria_on_the_rows_that_it_publishes(done: Any, name: str) -> None:
    asked = CRITERIA if L_TOO in RUNS[name] else CRITERIA[:1]
    clients = {client["name"]: client for client in done.record["federation"]["clients"]}
    levels = {tuple(client["own_levels"]) for client in clients.values()}
    assert levels == {("age", "region", "seen")}
    for clinic, rows in sites_of(done).items():
        own = [row for row in done.made.rows if row[ROW] in {each[ROW] for each in rows}]
        found = measured(rows, Asked(own, done.made.schema, asked))
        assert all(meets(one, reached) for one, reached in zip(asked, found["criteria"], strict=True))
        told = clients[clinic]
        assert (told["k"], told["suppressed"], told["train"]) == (found["k"], found["suppressed"], len(rows))
        assert told["arirec"] == pytest.approx(found["arirec"])


def test_the_whole_release_is_what_the_record_says_of_it(done: Any, name: str) -> None:
    released = {row[ROW] for row in cells(done.release)}
    trained = [row for row in done.made.rows if row[ROW] in released]
    asked = CRITERIA if L_TOO in RUNS[name] else CRITERIA[:1]
    assert differences(done.release, Asked(trained, done.made.schema, asked), done.how["after"]) == []
    assert done.how["suppressed"] == done.how["after"]["suppressed"]
    test = sum(client["test"] for client in done.record["federation"]["clients"])
    assert len(trained) + test == len(done.made.rows)


def test_all_clinics_publish_on_the_same_levels(done: Any) -> None:
    levels = done.record["federation"]["levels"]
    assert done.how["transformation"]["levels"] == [levels]
    widths = {0: 1, 1: 5, 2: 20}
    for rows in sites_of(done).values():
        shown = {row["age"] for row in rows if row["region"] != "*" or row["age"] != "*"}
        ends = [re.findall(r"\d+", label) for label in shown if label != "*"]
        assert {int(high) - int(low) for low, high in ends} <= {widths.get(levels["age"], 0)} or levels["age"] == 0


def test_every_file_is_in_the_record_with_its_release_class(done: Any) -> None:
    outputs = {each["path"]: each["release"] for each in done.record["outputs"]}
    assert set(done.files) - {"record.json", "ro-crate-metadata.json", "events.jsonl"} <= set(outputs)
    releasable = {path for path, release in outputs.items() if release == "releasable"}
    assert releasable >= {"data/release.csv", "data/release.parquet", "anonymization/transformation.json"}
    assert not {path for path in releasable if path.startswith("federation/") or path == "ledger.csv"}
    assert {outputs[path] for path in outputs if path.startswith("federation/")} == {"internal"}


def test_no_cell_that_one_row_alone_has_stands_outside_data(done: Any) -> None:
    unique = {row[column].encode() for row in done.made.rows for column in ("patient", "dose")}
    shown = {path: content for path, content in done.files.items() if not path.startswith("data/")}
    shown |= {"terminal": done.out.encode(), "errors": done.err.encode()}
    found = {path: unique & set(re.findall(rb"[\w.-]+", content)) for path, content in shown.items()}
    assert {path: cell for path, cell in found.items() if cell} == {}
    doses = {row["dose"] for row in cells(done.release)}
    assert len(doses) == done.record["federation"]["clients"][0]["train"] + sum(
        client["train"] for client in done.record["federation"]["clients"][1:]
    )


def test_rounds_and_clients_of_record_and_files_agree(done: Any) -> None:
    section, rounds = done.record["federation"], table(done, "federation/rounds.csv")
    assert [int(row["number"]) for row in rounds] == [each["number"] for each in section["rounds"]]
    for row, told in zip(rounds, section["rounds"], strict=True):
        assert (int(row["asked"]), int(row["came"])) == (told["asked"], told["came"])
        assert float(row["change"]) == told["change"]
        assert (float(row["clip"]) if row["clip"] else None) == told["clip"]
        lists = ("excluded", "refused", "spent")
        assert {each: json.loads(row[each]) for each in lists} == {each: told[each] for each in lists}
    left_out = Counter(client for told in section["rounds"] for client in told["excluded"])
    assert {client["name"]: client["excluded"] for client in section["clients"]} == {
        clinic: left_out[clinic] for clinic in CLINICS
    }


def test_the_drift_table_has_a_row_for_each_client_that_came_and_the_picture_is_drawn(done: Any, name: str) -> None:
    if "federation/drift=none" in RUNS[name]:
        assert "federation/drift.csv" not in done.files
        return
    rows = table(done, "federation/drift.csv")
    came = {each["number"]: each["came"] for each in done.record["federation"]["rounds"]}
    assert Counter(int(row["round"]) for row in rows) == came
    assert b"<svg" in done.files["federation/drift.svg"]


def test_the_messages_are_those_of_the_protocol_and_no_others(done: Any, name: str) -> None:
    rows = table(done, "federation/messages.csv")
    kinds = Counter(row["kind"] for row in rows)
    assert dict(kinds) == done.record["federation"]["messages"]
    assert {row["kind"]: row["cover"] for row in rows} == {kind: KINDS[kind].cover for kind in kinds}
    assert all((row["sender"] == SERVER) != (row["receiver"] == SERVER) for row in rows)
    came = sum(each["came"] for each in done.record["federation"]["rounds"])
    rounds = len(done.record["federation"]["rounds"])
    expected = {"hierarchies": 4, "measured": 4, "agreed levels": 1, "global weights": rounds, "update": came}
    expected |= dict(more(name, rounds, came))
    counted = {kind: count for kind, count in kinds.items() if kind not in {"node", "optimum", "weights", "proposal"}}
    assert counted == expected


def more(name: str, rounds: int, came: int) -> Iterator[tuple[str, int]]:
    """Yield what crosses beside levels, weights and updates."""
    yield "figures", 4
    if name in {"record", "personalized"}:
        yield from {"noise": came, "multiplier": 4}.items()
    if name == "record":
        yield from {"rows": 4, "control": rounds, "control change": came}.items()
    if name in {"personalized", "global"}:
        yield "clip norm", rounds
    if name == "personalized":
        yield "vote", came
    if name == "rows":
        yield from {"rows": 4, "loss": came}.items()


def test_updates_are_as_long_as_the_model_and_nothing_longer_crosses(done: Any, name: str) -> None:
    rows = table(done, "federation/messages.csv")
    arrays = {row["kind"]: {int(each["numbers"]) for each in rows if each["kind"] == row["kind"]} for row in rows}
    (size,) = arrays["global weights"]
    long = {kind for kind, numbers in arrays.items() if numbers != {0}}
    assert long == {"global weights", "update"} | ({"control", "control change"} if name == "record" else set())
    assert all(arrays[kind] == {size} for kind in long)
    most = max(int(row["size"]) for row in rows if row["numbers"] == "0")
    assert most < 1200  # JSON of levels and criteria; rows would be far longer


def test_the_ledger_names_every_client_and_kind_of_message_that_tells_of_rows(done: Any) -> None:
    ledger = table(done, "ledger.csv")
    sent = {(row["sender"], row["kind"]) for row in table(done, "federation/messages.csv")}
    bare = {(row["client"], row["kind"]) for row in ledger if row["covered"] == "False"}
    privacy = done.record["differential_privacy"]
    noised = privacy is not None
    telling = {
        (sender, kind)
        for sender, kind in sent
        if sender != SERVER and (KINDS[kind].cover == "declared" or (KINDS[kind].cover == "noised" and not noised))
    }
    shown = set()
    if noised:  # what the strength of the noise shows
        shown = {(each["client"], "multiplier") for each in privacy["clients"] if each["basis"] == "data-derived"}
    assert bare == telling | shown


def test_metrics_have_the_rows_of_federation_and_privacy(done: Any) -> None:
    rows = table(done, "metrics.csv")
    found = {(row["stage"], row["metric"], row["scope"]): row["value"] for row in rows if row["split"] != "train"}
    section, privacy = done.record["federation"], done.record["differential_privacy"]
    assert float(found["federation", "rounds", ""]) == len(section["rounds"])
    assert float(found["federation", "clients", ""]) == 4
    assert {scope for stage, _, scope in found if stage == "model"} >= {
        "constant",
        "linear",
        "original",
        "anonymized",
        "federated",
        *(f"client:{clinic}" for clinic in CLINICS),
    }
    of_privacy = {key: float(value) for key, value in found.items() if key[0] == "dp"}
    expected: dict[Any, float] = {}
    if privacy is not None:
        expected["dp", "epsilon", "worst"] = privacy["worst_epsilon"]
        for client in privacy["clients"]:
            scope = f"client:{client['client']}"
            expected["dp", "epsilon", scope] = client["epsilon"]
            expected["dp", "noise_multiplier", scope] = client["multiplier"]
            expected["dp", "delta", scope] = privacy["delta"]
    assert of_privacy == expected
