"""Whole runs of every method: the released file, read back as text, is what was asked for and what the record says."""

import json
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import yaml
from pydantic import TypeAdapter

from bench.counted import Asked, cells, differences, standing
from bench.made import ROW, Made, made
from components.anonymization.criteria.declarations import Criterion
from components.anonymization.transform.agreeing import NO_AGREEMENT

ROWS = 150
CANARY = "ZZ-CANARY-7731"
QUASI = ["age", "region", "stage", "zip"]
ASKED = TypeAdapter(list[Criterion])


@pytest.fixture(scope="module")
def site(empty_site: Any) -> Any:
    """Return a site with a table whose rows are persons, one whose persons have several rows, and one for models."""
    empty_site.write("rows", with_canaries(table_of(16, ["ill", "grade"])))
    empty_site.write("visits", with_canaries(table_of(16, ["ill"], persons=True)))
    empty_site.write("later", table_of(15, ["ill", "grade"]))
    learnt = table_of(33, ["ill", "cost"], quasi=QUASI[:3])
    empty_site.write("learnt", without(learnt, "note"))  # a model's inputs are declared
    return empty_site


def table_of(
    seed: int, sensitive: list[str], quasi: Sequence[str] = QUASI, *, rows: int = ROWS, persons: bool = False
) -> Made:
    return made(random.Random(seed), rows, quasi, sensitive, persons=persons)  # noqa: S311  # no secrets


def with_canaries(table: Made) -> Made:
    """Put a cell that is found nowhere else into two columns."""
    rows = [dict(row) for row in table.rows]
    rows[7]["zip"], rows[11]["note"] = CANARY, f"{CANARY} note"
    return replace(table, rows=rows)


def without(table: Made, name: str) -> Made:
    columns = {other: column for other, column in table.option["columns"].items() if other != name}
    rows = [{other: cell for other, cell in row.items() if other != name} for row in table.rows]
    return Made({**table.option, "columns": columns}, rows)


CRITERIA = {
    "k": "",
    "l": "{name: l_distinct, l: 2, column: ill}",
    "t": "{name: t, t: 0.4, column: ill}",
    "t, hierarchical": "{name: t, t: 0.35, column: ill, distance: hierarchical}",
    "entropy": "{name: l_entropy, l: 2, column: ill}",
    "recursive": "{name: l_recursive, l: 2, c: 3, column: ill}",
    "alpha": "{name: alpha, alpha: 0.6, column: ill}",
    "beta": "{name: beta, beta: 2.5, column: ill}",
    "beta, enhanced": "{name: beta_enhanced, beta: 2.5, column: ill}",
    "delta": "{name: delta_disclosure, delta: 2, column: ill, absent: skip}",
    "k-map": "{name: k_map, k: 20}",
    "others known": "{name: l_distinct, l: 2, column: ill, others: known}",
    "two columns": "{name: l_distinct, l: 2, column: ill}, {name: t, t: 0.5, column: grade}",
}
LOCAL = ("anonymization=lattice", "anonymization.local_recoding=true")
STEPS = {
    "searched": (
        "[{name: top_bottom, columns: [age], bottom: 21, top: 60}, {name: generalise, columns: [region], level: 1},"
        " {name: lattice, columns: [stage]}, {name: mondrian, columns: [zip]}]"
    ),
    "averaged": (
        "[{name: microaggregate, columns: [age], size: 5}, {name: suppress, columns: [zip]},"
        " {name: mondrian, columns: [region, stage]}]"
    ),
    "agreed": (
        "[{name: top_bottom, columns: [age], bottom: 21, top: 60}, {name: suppress, columns: [zip]},"
        " {name: lattice, columns: [region, stage]}]"
    ),
}
METHODS: dict[str, tuple[str, ...]] = {
    "guided": ("anonymization=guided",),
    "guided, ranges": ("anonymization=guided", "anonymization.representative=range"),
    "lattice": ("anonymization=lattice", "anonymization.suppression_limit=.2"),
    "lattice, drop": (
        "anonymization=lattice",
        "anonymization.suppression_limit=.2",
        "anonymization.suppressed_rows=drop",
    ),
    "lattice, local": (*LOCAL, "anonymization.suppression_limit=.3"),
    "mondrian": ("anonymization=mondrian",),
    "mondrian, star": ("anonymization=mondrian", "anonymization.suppression_limit=.1"),
    "mondrian, drop": (
        "anonymization=mondrian",
        "anonymization.suppression_limit=.1",
        "anonymization.suppressed_rows=drop",
    ),
    **{
        f"pipeline, {name}": (
            "anonymization=pipeline",
            f"anonymization.steps={steps}",
            "anonymization.suppression_limit=.3",
        )
        for name, steps in STEPS.items()
    },
}
NOT_GUIDED = {"two columns", "k-map", "t, hierarchical"}
"""Criteria that the guided method has no use for, or whose columns its table lacks."""


def combinations() -> list[tuple[str, str, str]]:
    """Let the criteria go round among the methods, two each; persons are counted by some."""
    found = [("lattice", "visits", "l"), ("mondrian, star", "visits", "l"), ("pipeline, averaged", "visits", "k")]
    names = list(CRITERIA)
    for number, method in enumerate(METHODS):
        guided = method.startswith("guided")
        fitting = [name for name in names if not (guided and name in NOT_GUIDED)]
        some = [fitting[(2 * number + step) % len(fitting)] for step in range(2)]
        found += [(method, "learnt" if guided else "rows", criteria) for criteria in some]
    return found


EVERY = pytest.mark.parametrize(("method", "table", "criteria"), combinations())
FIRST = {method: criteria for method, table, criteria in combinations() if table != "visits"}
EACH = pytest.mark.parametrize(("method", "table", "criteria"), {one[0]: one for one in combinations()}.values())
"""One combination of each method."""


def asked_for(criteria: str) -> str:
    return f"[{', '.join(filter(None, ['{name: k, k: 3}', CRITERIA[criteria]]))}]"


def held(done: Any, method: str, criteria: str) -> Asked:
    """Return what a release is held against: what was typed, and the table as it was written."""
    option = {**done.made.option, "population": {"size": 3000 if criteria == "k-map" else None}}
    replaced = {"guided": QUASI, "pipeline, averaged": ["age"]}.get(method, [])
    asked = ASKED.validate_python(yaml.safe_load(asked_for(criteria)))
    return Asked(done.made.rows, replace(done.made, option=option).schema, asked, replaced=replaced)


def typed_for(method: str, criteria: str) -> tuple[str, ...]:
    model = ("model=tree", "dataset.split.test=.3") if method.startswith("guided") else ("model=none",)
    people = ("+dataset.population.size=3000",) if criteria == "k-map" else ()
    return (*METHODS[method], f"anonymization.criteria={asked_for(criteria)}", *model, *people)


AGREED = ["lattice", "lattice, drop", "lattice, local", "pipeline, agreed"]
"""Methods whose result others can always apply."""


@EVERY
def test_the_released_file_is_what_was_asked_for_and_told(site: Any, method: str, table: str, criteria: str) -> None:
    done = site.run(table, *typed_for(method, criteria))
    assert done.code == 0, done.err
    rows = done.made.rows
    if method.startswith("guided"):  # the train rows are the table that was anonymised
        kept = {row[ROW] for row in cells(done.release)}
        rows = [row for row in rows if row[ROW] in kept]
        assert len(rows) == 0.7 * ROWS
    asked = held(done, method, criteria)
    assert differences(done.release, replace(asked, table=rows), done.how["after"]) == []
    limit = done.how["parameters"].get("suppression_limit", 0)
    assert done.how["suppressed"] == done.how["after"]["suppressed"] <= limit * len(rows)
    assert done.how["transformation"]["suppressed"] == done.how["suppressed"]


@EVERY
def test_the_shares_of_cells_changed_are_those_of_the_file(site: Any, method: str, table: str, criteria: str) -> None:
    done = site.run(table, *typed_for(method, criteria))
    assert done.how["transformation"]["cells_changed"] == pytest.approx(changed(done))


def changed(done: Any) -> dict[str, float]:
    """Count the cells of a released file that are written otherwise than the table's."""
    rows, original = cells(done.release), {row[ROW]: row for row in done.made.rows}
    names = [name for name in QUASI if name in rows[0]]
    return {name: sum(row[name] != original[row[ROW]][name] for row in rows) / len(rows) for name in names}


@EACH
def test_rows_in_another_order_give_the_same_files(site: Any, method: str, table: str, criteria: str) -> None:
    typed = typed_for(method, criteria)
    one, two = site.run(table, *typed), site.run(table, *typed, f"dataset.source.path={table}-shuffled.csv")
    told_apart = {"record.json", "events.jsonl", "config.yaml"}
    first, second = ({name: found for name, found in run.files.items() if name not in told_apart} for run in (one, two))
    assert [name for name in first.keys() | second.keys() if first.get(name) != second.get(name)] == []
    assert one.how == two.how


@EVERY
def test_every_file_has_its_class_and_no_cell_stands_outside_the_data(
    site: Any, method: str, table: str, criteria: str
) -> None:
    done = site.run(table, *typed_for(method, criteria))
    classes = {output["path"]: output["release"] for output in done.record["outputs"]}
    assert classes.keys() == done.files.keys() - {"record.json"}
    expected = dict.fromkeys(("data/release.csv", "data/release.parquet"), "releasable")
    expected |= dict.fromkeys(("anonymization/subset_risk.csv", "anonymization/sensitive_counts.csv"), "internal")
    if method.startswith("lattice") or method in {"pipeline, searched", "pipeline, agreed"}:
        expected["anonymization/nodes.csv"] = "internal"
    said_why_not = any(warning.startswith(NO_AGREEMENT) for warning in done.record["warnings"])
    if not (method.startswith("guided") or said_why_not):
        expected["anonymization/transformation.json"] = "releasable"
    assert not (said_why_not and method in AGREED)
    found = {name: said for name, said in classes.items() if name.startswith(("data/", "anonymization/"))}
    assert found == expected
    outside = {name: content for name, content in done.files.items() if not name.startswith("data/")}
    outside |= {"standard output": done.out.encode(), "standard error": done.err.encode()}
    for cell in (CANARY, "Patient-", "say ", "01002"):
        assert standing(cell, outside) == []


def test_the_transformation_of_a_run_is_in_its_record(site: Any) -> None:
    done = site.run("rows", *typed_for("lattice", FIRST["lattice"]))
    agreed = json.loads(done.files["anonymization/transformation.json"])
    (step,) = agreed["steps"]
    assert step["rounds"] == done.how["transformation"]["levels"]
    assert {one["name"]: one["hierarchy"] for one in agreed["columns"] if one["hierarchy"]}.items() <= (
        done.how["transformation"]["hierarchies"].items()
    )
    nodes = cells(done.folder / "anonymization/nodes.csv")
    (chosen,) = (node for node in nodes if node["outcome"].startswith("chosen"))
    assert {name: int(chosen[f"level {name}"]) for name in QUASI} == step["rounds"][0]


def applied(site: Any, table: str, method: str) -> Any:
    """Apply what a run on the first table agreed on to a table, under the same rule."""
    first = typed_for(method, FIRST[method])
    agreed = site.run("rows", *first).folder / "anonymization/transformation.json"
    rule = [
        text for text in first if text.startswith(("anonymization.criteria=", "anonymization.suppress", "+dataset"))
    ]
    typed = ("anonymization=transform", f"anonymization.path={agreed.relative_to(site.folder)}", "model=none", *rule)
    return site.run(table, *typed)


@pytest.mark.parametrize("method", AGREED)
def test_an_agreed_transformation_gives_the_same_bytes_on_its_own_table(site: Any, method: str) -> None:
    first, again = site.run("rows", *typed_for(method, FIRST[method])), applied(site, "rows", method)
    assert again.code == 0, again.err
    for name in ("data/release.csv", "data/release.parquet"):
        assert again.files[name] == first.files[name]
    assert again.how["after"] == first.how["after"]
    assert again.how["transformation"]["cells_changed"] == pytest.approx(changed(first))
    agreed = json.loads(again.files["anonymization/transformation.json"])
    assert agreed == json.loads(first.files["anonymization/transformation.json"])


@pytest.mark.parametrize("method", AGREED)
def test_an_agreed_transformation_holds_on_another_table_or_is_refused(site: Any, method: str) -> None:
    done = applied(site, "later", method)
    if done.code == 4:
        assert any("rows would have to be suppressed" in sentence for sentence in done.refused(4))
        return
    assert done.code == 0, done.err
    assert differences(done.release, held(done, method, FIRST[method]), done.how["after"]) == []


@pytest.mark.parametrize("method", ["guided", "lattice, drop", "mondrian"])
def test_pseudonyms_stay_and_their_key_stands_nowhere(site: Any, method: str) -> None:
    table = "learnt" if method == "guided" else "rows"
    done = site.run(
        table, *typed_for(method, FIRST[method]), "anonymization.identifiers={patient: {name: pseudonymise}}"
    )
    assert done.code == 0, done.err
    rows = cells(done.release)
    assert all(re.fullmatch(r"[0-9a-f]{16}", row["patient"]) for row in rows)
    patients = {row[ROW]: row["patient"] for row in done.made.rows}
    assert len({row["patient"] for row in rows}) == len({patients[row[ROW]] for row in rows})
    shown = {**done.files, "terminal": (done.out + done.err).encode()}
    assert [
        name for name, content in shown.items() if b"a key that stands nowhere" in content or b"Patient-" in content
    ] == []
    assert any("pseudonymised" in warning for warning in done.record["warnings"])


def test_zero_is_written_one_way(site: Any) -> None:
    table = table_of(4, [], ["height"], rows=12)
    rows = [{**row, "height": "-0.0" if number == 0 else "0.0"} for number, row in enumerate(table.rows)]
    site.write("zeros", replace(table, rows=rows))
    done = site.run("zeros", "anonymization=lattice", "anonymization.k=3", "model=none")
    assert done.code == 0, done.err
    assert {row["height"] for row in cells(done.release)} == {"0.0"}
