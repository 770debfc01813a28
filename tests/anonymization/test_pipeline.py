"""Several recodings on different columns: each does its part, and the criteria hold for the whole."""

import copy
from collections import Counter, defaultdict
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.anonymization import Given
from components.anonymization.declarations import Lattice, Mondrian, Pipeline
from components.anonymization.hierarchies.sources import hierarchy_of
from components.anonymization.lattice.method import Found
from components.anonymization.lattice.method import anonymise as search_levels
from components.anonymization.mondrian.method import anonymise as partition
from components.anonymization.pipeline import working
from components.anonymization.pipeline.method import anonymise
from components.data.table import Table
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError, GoalError

Tables = Callable[..., st.SearchStrategy[Table]]
PATHS = {
    "region": [("north", "upper", "*"), ("south", "lower", "*"), ("west", "lower", "*")],
    "zip": [("01001", "010**", "*"), ("01002", "010**", "*"), ("99999", "999**", "*")],
}
slowly = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def params(*steps: dict[str, Any], **more: Any) -> Pipeline:
    return Pipeline.model_validate({"k": 2, "steps": list(steps)} | more)


def with_hierarchies(table: Table) -> tuple[Table, Given]:
    """Declare the hierarchies in the schema, too."""
    columns = [
        column.model_copy(update={"hierarchy": "known"}) if column.name in PATHS else column
        for column in table.schema.columns
    ]
    schema = table.schema.model_copy(update={"columns": columns})
    known = {
        name: hierarchy_of(schema.column(name), paths)
        for name, paths in PATHS.items()
        if name in schema.quasi_identifiers
    }
    return Table(table.frame, schema), Given(hierarchies=known)


def without_ages(table: Table) -> Table:
    kept = [column for column in table.schema.columns if column.name != "age"]
    return Table(table.frame.drop(columns="age"), table.schema.model_copy(update={"columns": kept}))


def shown(table: Table) -> list[tuple[Any, ...]]:
    rows = table.frame[table.schema.quasi_identifiers].astype(object).to_numpy()
    return [tuple("-" if pd.isna(cell) else cell for cell in row) for row in rows]


@pytest.fixture
def people(make: Callable[..., Table]) -> tuple[Table, Given]:
    return with_hierarchies(
        make(
            {
                "age": [18, 19, 30, 30, 31, 31, 85, 92],
                "region": ["north", "north", "south", "west", "south", "west", "north", "north"],
                "zip": ["01001", "01002", "01001", "01002", "99999", "99999", "01001", "01002"],
                "disease": ["flu", "angina"] * 4,
            }
        )
    )


# Right values


def test_steps_do_their_part_on_their_columns(people: tuple[Table, Given]):
    release = anonymise(
        params(
            {"name": "top_bottom", "columns": ["age"], "bottom": 20, "top": 80},
            {"name": "suppress", "columns": ["zip"]},
            {"name": "lattice", "columns": ["region"]},
        ),
        *people,
    )
    assert shown(release.table) == [
        *[("<= 20", "upper", "*")] * 2,
        *[("30", "lower", "*")] * 2,
        *[("31", "lower", "*")] * 2,
        *[(">= 80", "upper", "*")] * 2,
    ]
    assert release.training.frame["age"].tolist() == [20, 20, 30, 30, 31, 31, 80, 80]
    assert (release.after.k, release.suppressed) == (2, 0)
    assert set(release.nodes["step"]) == {2}
    assert [step["name"] for step in release.transformation["steps"]] == ["top_bottom", "suppress", "lattice"]


def test_the_last_search_sees_the_other_columns_as_they_are_released(people: tuple[Table, Given]):
    steps = [
        {"name": "mondrian", "columns": ["age"]},
        {"name": "generalise", "columns": ["region"], "level": 1},
        {"name": "suppress", "columns": ["zip"]},
    ]
    release = anonymise(params(*steps), *people)
    assert shown(release.table) == [
        *[("[18, 19]", "upper", "*")] * 2,
        *[("30", "lower", "*")] * 2,
        *[("31", "lower", "*")] * 2,
        *[("[85, 92]", "upper", "*")] * 2,
    ]
    assert shown(anonymise(params(*steps[::-1]), *people).table) == shown(release.table)  # codings commute


def test_microaggregated_numbers_stay_numbers(people: tuple[Table, Given]):
    release = anonymise(
        params(
            {"name": "microaggregate", "columns": ["age"], "size": 4},
            {"name": "mondrian", "columns": ["region", "zip"]},
        ),
        *people,
    )
    assert release.table.frame["age"].tolist() == [24, 24, 24, 24, 60, 60, 60, 60]
    assert release.table.frame["age"].dtype == "Int64"
    assert release.after.k >= 2


def test_a_pipeline_of_one_search_is_that_search(people: tuple[Table, Given]):
    table, known = people
    every = table.schema.quasi_identifiers
    for limit in (0.0, 0.25):
        alone = partition(Mondrian(k=2, suppression_limit=limit), table, known)
        assert shown(
            anonymise(params({"name": "mondrian", "columns": every}, suppression_limit=limit), *people).table
        ) == shown(alone.table)
    two = without_ages(table)
    found = search_levels(Lattice(k=2), two, known)
    release = anonymise(params({"name": "lattice", "columns": ["region", "zip"]}), two, known)
    assert shown(release.table) == shown(found.table)
    assert release.agreed is not None
    assert release.agreed["steps"] == found.agreed["steps"]
    assert release.agreed["columns"] == found.agreed["columns"]


def test_a_search_that_the_clock_ends_is_warned_of(people: tuple[Table, Given]):
    steps = [{"name": "suppress", "columns": ["age"]}, {"name": "lattice", "columns": ["region", "zip"]}]
    assert anonymise(params(*steps), *people).warnings == ()
    steps[1] |= {"exact_seconds": 1e-9, "bounded_nodes": 1}
    (warning,) = anonymise(params(*steps), *people).warnings
    assert "ended by exact_seconds" in warning


def test_rows_of_violating_classes_are_suppressed_within_the_limit(people: tuple[Table, Given]):
    steps = [{"name": "suppress", "columns": ["zip", "region"]}]
    release = anonymise(params(*steps, suppression_limit=0.5), *people)
    assert shown(release.table) == [("*",) * 3] * 2 + [("30", "*", "*")] * 2 + [("31", "*", "*")] * 2 + [("*",) * 3] * 2
    assert (release.suppressed, release.after.suppressed, len(release.training.frame)) == (4, 4, 4)
    with pytest.raises(GoalError, match=r"the limit 0\.4 allows 3; set it to 0\.5 or more") as caught:
        anonymise(params(*steps, suppression_limit=0.4), *people)
    assert "k: asks for at least 2; the worst class reaches 1" in str(caught.value)


def test_rows_that_are_lost_anyhow_are_kept_for_before_cuts_leave_out_others(make: Callable[..., Table]):
    regions = ["north"] * 98 + ["south"] * 99 + ["west"] + ["north"] * 4
    kinds = ["low"] * 198 + ["middle", "high"] * 2
    table, known = with_hierarchies(make({"region": regions, "kind": kinds}))
    step = {"name": "mondrian", "columns": ["region"]}
    release = anonymise(params(step, k=3, suppression_limit=0.02), table, known)
    assert Counter(shown(release.table)) == {("north", "low"): 98, ("lower", "low"): 100, ("*", "*"): 4}


def test_rows_that_show_nothing_are_one_class(people: tuple[Table, Given]):
    steps = [
        {"name": "suppress", "columns": ["zip"]},
        {"name": "generalise", "columns": ["region"], "level": 2},
        {"name": "mondrian", "columns": ["age"]},
    ]
    assert anonymise(params(*steps, k=8), *people).after.k == 8  # the range of ages is something
    table, known = people
    bare = anonymise(params(*steps[:2], k=8), without_ages(table), known)
    assert (bare.after.k, bare.after.suppressed, bare.suppressed) == (8, 0, 0)


# What holds for every pipeline


@slowly
@given(data=st.data())
def test_the_criteria_hold_on_the_whole_or_it_is_refused(
    data: st.DataObject, any_tables: Tables, checker: ModuleType, trees: Any
):
    table, known = with_hierarchies(data.draw(any_tables(min_size=4)))
    asked = data.draw(pipelines(table.schema))
    before = copy.deepcopy(table.frame)
    order = data.draw(st.permutations(range(len(before))))
    moved = Table(table.frame.iloc[order], table.schema)
    try:
        release = anonymise(asked, table, known)
    except GoalError:
        with pytest.raises(GoalError):
            anonymise(asked, moved, known)
        return
    pd.testing.assert_frame_equal(table.frame, before)
    again = anonymise(asked, moved, known)
    assert Counter(shown(release.table)) == Counter(shown(again.table))
    frame, subject = release.table.frame, table.schema.subject_id
    persons = None if subject is None else list(table.frame[subject])
    found = checker.slow_measure(frame, release.table.schema, table.frame, persons, asked.criteria, trees)
    assert found["k"] >= asked.k
    assert all(figure >= 2 for figure in found.get("criteria", []))
    assert found["suppressed"] == release.suppressed <= asked.suppression_limit * len(before) + 1e-9
    untouched = {
        name for name in table.schema.quasi_identifiers if not any(name in step.columns for step in asked.steps)
    }
    others = [name for name in frame if name not in table.schema.quasi_identifiers]
    same = [*others, *(untouched if not release.suppressed else ())]
    pd.testing.assert_frame_equal(frame[same], table.frame[same], check_dtype=True)


@st.composite
def pipelines(draw: st.DrawFn, schema: DatasetSchema) -> Pipeline:
    """Draw steps, each column in one at most."""
    steps = defaultdict(list)
    for name in schema.quasi_identifiers:
        column = schema.column(name)
        kinds = ["mondrian", "mondrian", "suppress", "none"]
        if column.dtype in {"integer", "number", "date"}:
            kinds += ["microaggregate", "top_bottom"]
        if column.hierarchy is not None:
            kinds += ["lattice", "generalise"]
        steps[draw(st.sampled_from(kinds))].append(name)
    if set(steps) == {"suppress"}:  # which is refused
        steps["mondrian"] = steps.pop("suppress")
    steps.pop("none", None)
    more = {"generalise": {"level": 1}, "microaggregate": {"size": 2}}
    bounds = {"age": (21, 60), "height": (0.5, 1.6), "seen": ("2024-01-02", "2024-02-01")}
    chosen: list[dict[str, Any]] = []
    for kind, columns in steps.items():
        if kind == "top_bottom":
            chosen += [
                {"name": kind, "columns": [one], "bottom": bounds[one][0], "top": bounds[one][1]} for one in columns
            ]
        else:
            chosen.append({"name": kind, "columns": columns} | more.get(kind, {}))
    criteria = [{"name": "l_distinct", "l": 2, "column": name} for name in schema.sensitive]
    limit = draw(st.sampled_from([0.0, 0.2, 0.6]))
    chosen = draw(st.permutations(chosen)) or [{"name": "mondrian", "columns": [schema.quasi_identifiers[0]]}]
    return Pipeline.model_validate(
        {"k": 2, "criteria": draw(st.sampled_from([[], criteria])), "suppression_limit": limit, "steps": chosen}
    )


def test_rows_that_a_later_step_suppresses_tell_nothing_of_what_a_model_sees(
    make: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
):
    paths = {"region": [("north", "any"), ("south", "any"), ("west", "any")]}

    def levels(step: Any, table: Table, *_: Any) -> Found:
        """Put all rows but the last on level 1, as local recoding can."""
        vectors, of_row = ((1,), (0,)), np.append(np.ones(len(table.frame) - 1, dtype=np.int64), 0)
        return Found(vectors, [of_row], np.zeros(len(of_row), dtype=np.bool_), pd.DataFrame(), {"step": step.name})

    monkeypatch.setattr(working, "search_columns", levels)
    seen = []
    for last in ("south", "west"):
        table = make({"region": ["north", "south", "west", "north", last]})
        columns = [table.schema.column("region").model_copy(update={"hierarchy": "known"})]
        table = Table(table.frame, table.schema.model_copy(update={"columns": columns}))
        known = Given(hierarchies={"region": hierarchy_of(columns[0], paths["region"])})
        release = anonymise(params({"name": "lattice", "columns": ["region"]}, suppression_limit=0.2), table, known)
        assert shown(release.table) == [("any",)] * 4 + [("*",)]
        seen.append(release.training.frame)
    pd.testing.assert_frame_equal(*seen)
    assert seen[0]["region"].tolist() == ["north"] * 4


# What can't be done


def test_all_faults_are_told_at_once(people: tuple[Table, Given]):
    asked = params(
        {"name": "generalise", "columns": ["zip"], "level": 3},
        {"name": "lattice", "columns": ["region"], "levels": {"region": {"max": 9}}},
        {"name": "suppress", "columns": ["aeg"]},
    )
    with pytest.raises(ConfigurationError) as caught:
        anonymise(asked, *people)
    assert [fault.place for fault in caught.value.faults] == [
        "anonymization.steps.2.columns",
        "anonymization.steps.0.level",
        "anonymization.steps.1.levels.region.max",
    ]


def test_k_above_the_rows_and_no_rows_are_refused_before_any_work(people: tuple[Table, Given]):
    table, known = people
    step = {"name": "mondrian", "columns": ["age"]}
    with pytest.raises(GoalError, match="k=9 but 8 rows"):
        anonymise(params(step, k=9), table, known)
    with pytest.raises(DataError, match="0 rows"):
        anonymise(params(step), Table(table.frame.iloc[:0], table.schema), known)
