"""What a plan says of hierarchies: coverage, sizes of lattices, and refusals with what was covered shown."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from components.anonymization import Given
from components.anonymization.declarations import Lattice, Pipeline
from components.anonymization.hierarchies.sources import load
from components.data import Table
from runner import plan_hierarchies
from runner.plan import CHECKED
from schemas.dataset import DatasetSchema

Do = Callable[..., Any]

WARD = """\
name: ward
source: {name: csv, path: ward.csv}
hierarchies: hierarchies
columns:
  age: {dtype: integer, role: quasi_identifier, hierarchy: {name: intervals, widths: [5, 10], lowest: 20, highest: 80}}
  zip: {dtype: text, role: quasi_identifier, hierarchy: {name: mask, keep: [4, 3, 2]}}
  school: {dtype: text, role: quasi_identifier, nullable: true, hierarchy: school.csv}
  sick: {dtype: category, role: sensitive, values: [flu, cold], hierarchy: "*"}
missing: {markers: ["?"]}
split: {test: 0}
"""
HEAD = "age,zip,school,sick"
ROWS = ["34,81675,primary,flu", "45,81667,secondary,cold", "66,81925,primary,flu", "70,81931,?,cold"] * 3
SCHOOLS = "primary;school;*\nsecondary;school;*\nmaster;degree;*\n?;unknown;*\n"
VALUES = ("81675", "81667", "81925", "primary", "secondary", "zz-secret")
LATTICE = ("model=none", "anonymization=lattice", "anonymization.k=2")
FEW = "; a proof mostly needs few of the nodes"
COVERED = {
    "age": "age: 4 of 4 values covered (100%), 4 levels",
    "zip": "zip: 4 of 4 values covered (100%), 5 levels",
    "school": "school: 2 of 2 values covered (100%), 3 levels",
}


@pytest.fixture
def plan(command: Do, mine: Any, tmp_path: Path) -> Do:
    """Return a function that plans a ward of twelve rows; nothing is written beside it, and no cell is shown."""

    def planned(
        *typed: str, rows: list[str] = ROWS, schools: str = SCHOOLS, option: str = WARD, head: str = HEAD
    ) -> Any:
        mine.write("dataset/ward", option)
        (tmp_path / "hierarchies").mkdir(exist_ok=True)
        (tmp_path / "hierarchies/school.csv").write_text(schools)
        (tmp_path / "ward.csv").write_text("\n".join([head, *rows, ""]))
        ended = command("plan", "--config-dir", str(mine.folder), "dataset=ward", *typed, toy=False)
        ended.text = " ".join(ended.out.split())
        assert {path.name for path in tmp_path.iterdir()} == {"options", "hierarchies", "ward.csv"}
        assert [value for value in VALUES if value in ended.out + ended.err] == []
        return ended

    return planned


def test_a_plan_says_how_much_of_each_column_is_covered(plan: Do) -> None:
    ended = plan(*LATTICE)
    assert (ended.code, ended.err) == (0, "")
    assert f"hierarchies {'; '.join(COVERED.values())}" in ended.text
    assert f"checked {CHECKED}: no fault found" in ended.text


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ((), "lattice 60 nodes (4 x 5 x 3 levels); the optimum is proved"),
        (("anonymization.levels={zip: {min: 1, max: 2}, age: {min: 3}}",), "6 nodes (1 x 2 x 3 levels); the optimum"),
        (
            ("anonymization.exact_nodes=59", "anonymization.bounded_nodes=7"),
            "more than exact_nodes=59: the best of at most 7 ",
        ),
        (("anonymization.exact_nodes=60",), "60 nodes (4 x 5 x 3 levels); the optimum is proved"),
    ],
)
def test_a_plan_says_how_large_the_lattice_is(plan: Do, typed: tuple[str, ...], said: str) -> None:
    ended = plan(*LATTICE, *typed)
    assert ended.code == 0, ended.err
    assert said in ended.text


def test_a_plan_says_when_the_proof_may_not_be_given_the_time_it_takes(plan: Do) -> None:
    ended = plan(*LATTICE, "anonymization.exact_seconds=1e-6")
    assert ended.code == 0, ended.err
    assert "a proof mostly needs few of the nodes, and stops after 1e-06 s" in ended.text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "10 ms a node: at most 1.2 s" + FEW),
        ({"exact_nodes": 59}, "10 ms a node: at most 20 s"),
        ({"exact_nodes": 59, "bounded_seconds": 3}, "10 ms a node: at most 3 s"),
        (
            {"exact_seconds": 1, "bounded_nodes": 50},
            f"10 ms a node: at most 1.5 s{FEW}, and stops after 1 s",
        ),
        (
            {"local_recoding": True, "exact_seconds": 5, "bounded_seconds": 2},
            f"10 ms a node: at most 1.2 s a round, 7 s with all rounds of local recoding{FEW}",
        ),
    ],
)
def test_the_time_of_a_search_follows_from_that_of_a_node(
    options: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_hierarchies, "seconds_a_node", lambda *_: 0.01)
    columns = {
        "age": {"dtype": "integer", "role": "quasi_identifier", "hierarchy": {"name": "intervals", "widths": [5, 10]}},
        "zip": {"dtype": "text", "role": "quasi_identifier", "hierarchy": {"name": "mask", "keep": [4, 3, 2]}},
        "sex": {"dtype": "text", "role": "quasi_identifier", "hierarchy": "sex.csv"},
    }
    schema = DatasetSchema.model_validate({"name": "few", "source": {"name": "none"}, "columns": columns})
    table = Table(pd.DataFrame({"age": [30, 41], "zip": ["81931", "81932"], "sex": ["f", "m"]}), schema)
    (tmp_path / "sex.csv").write_text("f;x;*\nm;x;*\nd;y;*\n")
    given = Given(hierarchies=load(schema, tmp_path))
    method = Lattice.model_validate({"k": 2, **options})
    assert [len(one.labels) for one in given.hierarchies.values()] == [4, 5, 3]
    lines = list(plan_hierarchies.search_time(method, table, given, []))
    assert lines == [
        ("expected time", f"search: {said}"),
        ("risk", "measured before and after, by 7 subsets of up to 3 quasi-identifiers"),
    ]


@pytest.mark.parametrize(("held", "how"), [(56, "the optimum is proved"), (57, "60 columns are too many for a proof")])
def test_the_columns_that_a_step_leaves_alone_count_as_one(held: int, how: str) -> None:
    names = [f"q{number}" for number in range(held + 60)]
    two = SimpleNamespace(labels=[["a"], ["*"]])
    one = {name: {"min": 1} for name in names[3 : held + 3]}
    steps = [
        {"name": "suppress", "columns": names[held + 3 :]},
        {"name": "lattice", "columns": names[: held + 3], "levels": one},
    ]
    method = Pipeline.model_validate({"k": 2, "steps": steps})
    ((label, said),) = plan_hierarchies.lattice_lines(method, dict.fromkeys(names, two), names)
    assert label == "lattice, step 1"
    assert said.startswith("8 nodes (2 x 2 x 2 x 1")
    assert how in said


def test_uncovered_values_are_refused_and_what_is_covered_is_shown_all_the_same(plan: Do) -> None:
    ended = plan(*LATTICE, rows=[*ROWS, "50,81931,zz-secret,flu"])
    assert ended.code == 3
    (sentence,) = ended.errors
    assert sentence == (
        "error: column 'school': 1 of 3 values uncovered, 1 of 13 rows (data row 13); add the values to the hierarchy"
    )
    assert "school: 2 of 3 values covered (67%), 3 levels" in ended.text
    assert COVERED["zip"] in ended.text
    assert "lattice 60 nodes" in ended.text
    assert "no fault found" not in ended.text


def test_a_file_that_is_no_hierarchy_is_refused_with_all_its_faults(plan: Do) -> None:
    ended = plan(*LATTICE, schools="a;x;*\nb;y;*\na;y;*\n;y;*\n")
    assert ended.code == 3
    assert ended.out == ""
    assert len(ended.errors) == 2
    assert all(line.startswith("error: column 'school', hierarchy school.csv") for line in ended.errors)


def test_mondrian_shows_coverage_and_no_lattice(plan: Do) -> None:
    ended = plan("model=none", "anonymization=mondrian", "anonymization.k=2")
    assert ended.code == 0, ended.err
    assert f"hierarchies age: not climbed; {COVERED['zip']}; {COVERED['school']}" in ended.text
    assert "nodes" not in ended.text.replace("exact_nodes", "").replace("bounded_nodes", "")


def test_mondrian_needs_no_hierarchy(plan: Do) -> None:
    ended = plan("model=none", "anonymization=mondrian", option=WARD.replace(", hierarchy: school.csv", ""))
    assert ended.code == 0, ended.err
    assert "school: none" in ended.text


def test_a_pipeline_shows_the_lattice_of_each_of_its_steps(plan: Do) -> None:
    steps = (
        "anonymization.steps=[{name: lattice, columns: [age]}, {name: suppress, columns: [zip]},"
        " {name: lattice, columns: [school], levels: {school: {min: 1}}}]"
    )
    ended = plan("model=none", "anonymization=pipeline", steps)
    assert ended.code == 0, ended.err
    assert "lattice, step 0 4 nodes (4 levels); the optimum is proved" in ended.text
    assert "lattice, step 2 2 nodes (2 levels); the optimum is proved" in ended.text
    assert ended.text.count(" ms a node: at most ") == 2
    assert "search, step 0: " in ended.text
    assert "search, step 2: " in ended.text
    assert "anonymization pipeline (k=5, criteria=[k]" in ended.text
    assert "steps=[lattice, suppress, lattice]" in ended.text


def test_methods_without_hierarchies_say_nothing_of_them(plan: Do) -> None:
    ended = plan("model=none", "anonymization=none", schools="no hierarchy at all\n")
    assert ended.code == 0, ended.err
    assert "hierarchies" not in ended.text.replace("hierarchies/", "")


def test_a_plan_refuses_what_the_run_would_refuse_after_reading(plan: Do) -> None:
    ended = plan(*LATTICE, "anonymization.levels={age: {max: 9}}")
    assert ended.code == 2
    assert "level 9 is above the top of the hierarchy" in ended.err
    assert "lattice" in ended.out
    assert "no fault found" not in ended.out


def test_a_plan_says_what_a_search_takes_at_most(plan: Do) -> None:
    assert "ms a node: at most" in plan(*LATTICE).text
    assert "expected time" not in plan("model=none", "anonymization=mondrian", "anonymization.k=2").text


def test_a_plan_passes_on_what_is_odd_in_a_hierarchy(plan: Do) -> None:
    ended = plan(*LATTICE, schools=SCHOOLS.replace("master;degree", "master;School"))
    assert ended.code == 0
    assert "warning column 'school'" in ended.text


@pytest.mark.parametrize(
    ("learn", "rows", "code"), [("true", ROWS, 0), ("true", [",x,flu", ",y,cold"] * 12, 3), ("false", ROWS, 0)]
)
def test_a_plan_that_reads_cells_refuses_what_a_model_can_not_learn_from(
    plan: Do, learn: str, rows: list[str], code: int
) -> None:
    bounds = "" if learn == "true" else ", min: 0, max: 99"
    option = (
        "name: ward\nsource: {name: csv, path: ward.csv}\ncolumns:\n"
        f"  age: {{dtype: integer, role: quasi_identifier, nullable: true{bounds}}}\n"
        "  zip: {dtype: category, role: quasi_identifier, values: [x, y]}\n"
        "  sick: {dtype: category, role: sensitive, values: [flu, cold]}\ntarget: sick\ntask: classification\n"
    )
    cells = rows if code else [f"{number},x,{'flu' if number % 2 else 'cold'}" for number in range(24)]
    ended = plan(
        *("model=logistic", f"encoder.learn={learn}", "anonymization=mondrian", "anonymization.k=2"),
        option=option,
        rows=cells,
        head="age,zip,sick",
    )
    assert ended.code == code, ended.err
    if code:
        assert ended.errors == [
            "error: column 'age': there is nothing to learn its values or bounds from; declare them"
        ]
        assert "no fault found" not in ended.text
