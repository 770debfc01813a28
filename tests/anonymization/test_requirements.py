from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from components.anonymization.criteria.declarations import Criterion
from components.anonymization.criteria.requirements import Requirement, bind, refuse_the_impossible, required
from components.anonymization.criteria.sensitive import rows_of
from components.anonymization.declarations import Guided
from components.anonymization.hierarchies.hierarchy import Hierarchy
from components.classes.coding import dense
from components.data.table import Table
from schemas.faults import ConfigurationError, DataError, GoalError

Make = Callable[..., Table]
Tables = Callable[..., st.SearchStrategy[Table]]
OFTEN = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
NAMES = {
    "k": {"k": 2},
    "l_distinct": {"l": 2},
    "l_entropy": {"l": 1.5},
    "l_recursive": {"l": 2, "c": 1.0},
    "alpha": {"alpha": 0.5},
    "t": {"t": 0.3},
    "beta": {"beta": 1.0},
    "beta_enhanced": {"beta": 1.0},
    "delta_disclosure": {"delta": 1.0},
    "k_map": {"k": 2},
}


def criterion(name: str, **more: Any) -> Criterion:
    return TypeAdapter(Criterion).validate_python({"name": name, **NAMES[name], **more})


def battery(table: Table) -> list[Criterion]:
    """Return every criterion with every option on every sensitive column."""
    found: list[Criterion] = []
    for column in table.schema.sensitive:
        ordered = [] if column == "disease" else ["ordered"]
        for others in ("ignore", "known"):
            on = {"column": column, "others": others}
            plain = ("l_distinct", "l_entropy", "alpha", "beta", "beta_enhanced")
            found += [criterion(name, **on) for name in plain]
            found += [criterion("l_recursive", l=l, **on) for l in (2, 3, 4)]
            found += [criterion("t", distance=d, **on) for d in ("auto", "equal", *ordered, "hierarchical")]
            found += [criterion("delta_disclosure", absent=absent, **on) for absent in ("strict", "skip")]
    return found


def bound(table: Table, hierarchies: dict[str, Hierarchy]) -> list[Requirement]:
    rows = rows_of(table.frame, table.schema)
    return [
        bind(criterion("k"), rows.subject, rows),
        *(bind(one, one.column or "", rows, hierarchies.get(one.column or "")) for one in battery(table)),
    ]


@st.composite
def divided(draw: st.DrawFn, tables: Tables):
    """Draw a table, and classes of all or some of its rows."""
    table = draw(tables())
    rows = len(table.frame)
    drawn = np.array(draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows)))
    kept = np.array(draw(st.lists(st.booleans(), min_size=rows, max_size=rows)))
    if not kept.any() or draw(st.booleans()):
        kept = np.ones(rows, dtype=bool)
    classes, n_classes = dense(drawn[kept], 4)
    return table, np.flatnonzero(kept), classes, n_classes


@OFTEN
@given(data=st.data())
def test_every_figure_agrees_with_the_definitions(
    data: st.DataObject, any_tables: Tables, checker: ModuleType, hierarchies: Any, trees: Any
):
    table, rows, classes, n_classes = data.draw(divided(any_tables))
    groups = [rows[classes == number].tolist() for number in range(n_classes)]
    persons = table.frame["person"].tolist() if table.schema.subject_id else range(len(table.frame))
    cells = {name: checker.cells_of(table.frame[name]) for name in table.schema.sensitive}
    for requirement in bound(table, hierarchies):
        found = requirement.score(requirement.counts(classes, n_classes, rows))
        assert found.shape == (n_classes,)
        for figure, group in zip(found, groups, strict=True):
            expected = checker.slow_criterion(
                requirement.criterion,
                table.schema,
                [group],
                who=list(persons),
                cells=cells,
                table=cells,
                tree=trees.get(requirement.column),
            )
            assert figure == pytest.approx(expected, abs=1e-9), requirement.criterion


@OFTEN
@given(data=st.data())
def test_what_is_said_to_be_monotone_or_absorbing_is(data: st.DataObject, any_tables: Tables, hierarchies: Any):
    table, rows, classes, n_classes = data.draw(divided(any_tables))
    drawn = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n_classes, max_size=n_classes)))
    into, n_merged = dense(drawn, 2)
    for requirement in bound(table, hierarchies):
        counts = requirement.counts(classes, n_classes, rows)
        parts, whole = requirement.score(counts), requirement.score(counts.merged(into, n_merged))
        if requirement.sense != "at least":
            parts, whole = -parts, -whole
        for number in range(n_merged):
            mine = parts[into == number]
            slack = 1e-9 * max(1.0, abs(whole[number])) if np.isfinite(whole[number]) else 0.0
            assert not requirement.monotone or whole[number] >= mine.min() - slack, requirement.criterion
            assert not requirement.absorbing or whole[number] >= mine.max() - slack, requirement.criterion


def test_only_counts_of_persons_and_values_are_absorbing_and_only_skipped_values_break_monotony(
    make: Make, hierarchies: Any
):
    table = make({"age": [1, 2], "disease": ["flu", "angina"], "stage": ["low", "high"]})
    for requirement in bound(table, hierarchies):
        said = requirement.options
        assert requirement.absorbing == (
            requirement.name == "k" or (requirement.name == "l_distinct" and said["others"] == "ignore")
        )
        assert requirement.monotone == (said.get("absent") != "skip")


def figures(table: Table, asked: Criterion, classes: list[int], *, merged: bool = False) -> list[float]:
    rows = rows_of(table.frame, table.schema)
    requirement = bind(asked, getattr(asked, "column", None) or "", rows)
    counts = requirement.counts(np.array(classes), max(classes) + 1)
    if merged:
        counts = counts.merged(np.zeros(max(classes) + 1, dtype=int), 1)
    return requirement.score(counts).tolist()


def test_a_class_that_is_merged_may_lose_what_is_not_absorbing(make: Make):
    table = make({"age": [1] * 8, "stage": ["low", "high", *["low"] * 6]})
    asked = criterion("l_entropy", column="stage")
    assert figures(table, asked, [0, 0, *[1] * 6])[0] == pytest.approx(2.0)
    assert figures(table, asked, [0, 0, *[1] * 6], merged=True)[0] < 1.5
    known = criterion("l_distinct", column="stage", others="known")
    two = make({"age": [1] * 3, "disease": ["flu", "flu", "angina"], "stage": ["low", "high", "low"]})
    assert figures(two, known, [0, 0, 1]) == [2, 1]
    assert figures(two, known, [0, 0, 1], merged=True) == [1]


def test_a_value_that_is_skipped_while_absent_counts_once_it_is_rare(make: Make):
    table = make({"age": [1] * 100, "stage": ["low"] * 49 + ["high"] * 51})
    asked = criterion("delta_disclosure", column="stage", absent="skip")
    low, high, rest = [0] * 49, [1], [2] * 50
    assert figures(table, asked, low + high + rest)[:2] == pytest.approx([-np.log(0.49), -np.log(0.51)])
    assert figures(table, asked, low + [0] + [1] * 50)[0] == pytest.approx(np.log(0.51 / 0.02))


@pytest.mark.parametrize(
    ("name", "limit", "meets", "misses"),
    [
        ("k", {"k": 3}, 3, 2),
        ("l_distinct", {"l": 3}, 3, 2),
        ("l_entropy", {"l": 2.5}, 2.5 - 1e-10, 2.499),
        ("l_recursive", {"c": 3.0}, 2.999, 3.0 - 1e-10),
        ("alpha", {"alpha": 0.5}, 0.5 + 1e-10, 0.501),
        ("t", {"t": 0.5}, 0.5 + 1e-10, 0.501),
        ("beta", {"beta": 2.0}, 2.0 + 1e-10, 2.001),
        ("beta_enhanced", {"beta": 2.0}, 2.0, np.inf),
        ("delta_disclosure", {"delta": 0.7}, 0.699, 0.7 - 1e-10),
    ],
)
def test_limits_are_included_where_the_definition_includes_them(
    make: Make, name: str, limit: dict[str, Any], meets: float, misses: float
):
    table = make({"age": [1, 2], "stage": ["low", "high"]})
    asked = criterion(name, **limit, **({} if name == "k" else {"column": "stage"}))
    requirement = bind(asked, getattr(asked, "column", None) or "", rows_of(table.frame, table.schema))
    assert requirement.met(np.array([meets, misses])).tolist() == [True, False]
    assert not requirement.reached(np.zeros(0)).met


def test_an_attacker_who_knows_the_other_sensitive_columns_tells_rows_apart(make: Make):
    table = make(
        {"age": [1] * 4, "disease": ["flu", "flu", "angina", "angina"], "stage": ["low", "low", "high", "low"]}
    )
    assert figures(table, criterion("l_distinct", column="stage"), [0] * 4) == [2]
    assert figures(table, criterion("l_distinct", column="stage", others="known"), [0] * 4) == [1]
    assert figures(table, criterion("alpha", column="stage", others="known"), [0] * 4) == [1.0]
    alone = make({"age": [1, 1], "stage": ["low", "high"]})
    assert figures(alone, criterion("l_distinct", column="stage", others="known"), [0, 0]) == [2]


def test_criteria_are_bound_in_order_after_the_largest_k(make: Make):
    table = make({"person": ["a", "b", "c"], "age": [1, 2, 3], "stage": ["low", "high", "low"]}, subject_id="person")
    asked = [{"name": "t", "t": 0.5}, {"name": "k", "k": 3}, {"name": "alpha", "alpha": 0.9}]
    params = Guided.model_validate({"k": 2, "criteria": asked})
    found = required(params, table)
    assert [(one.name, one.column, one.asked) for one in found] == [
        ("k", "person", 3.0),
        ("t", "stage", 0.5),
        ("alpha", "stage", 0.9),
    ]
    assert found[1].options == {"others": "ignore", "distance": "ordered"}


def test_all_that_is_wrong_with_criteria_is_told_at_once(make: Make):
    table = make({"age": [1, 2], "disease": ["flu", "angina"], "stage": ["low", "high"]})
    asked = [
        {"name": "l_distinct", "l": 2},
        {"name": "t", "t": 0.5, "column": "illness"},
        {"name": "t", "t": 0.5, "column": "disease", "distance": "ordered"},
        {"name": "t", "t": 0.5, "column": "stage", "distance": "hierarchical"},
        {"name": "k_map", "k": 3},
    ]
    with pytest.raises(ConfigurationError) as caught:
        required(Guided.model_validate({"criteria": asked}), table)
    places = [fault.place.removeprefix("anonymization.criteria.") for fault in caught.value.faults]
    assert places == ["0.column", "1.column", "2.distance", "3.distance", "4"]


def test_k_map_is_estimated_where_only_the_size_of_the_population_is_known(make: Make):
    cells = {"person": ["a", "a", "b", "c"], "age": [1, 1, 1, 2]}
    table = make(cells, subject_id="person", population={"size": 30})
    params = Guided.model_validate({"criteria": [{"name": "k_map", "k": 11}]})
    requirement = required(params, table)[1]
    assert (requirement.name, requirement.absorbing, requirement.monotone) == ("k_map", True, True)
    assert requirement.score(requirement.counts(np.array([0, 0, 0, 1]), 2)).tolist() == [20, 10]
    assert requirement.met(requirement.score(requirement.counts(np.array([0, 0, 0, 1]), 2))).tolist() == [True, False]
    with pytest.raises(DataError, match=r"population.size: the population is smaller"):
        required(params, make(cells, population={"size": 3}))


def test_k_map_on_a_population_table_is_for_those_who_can_count_it(make: Make):
    table = make({"person": ["a", "a"], "age": [1, 1]}, subject_id="person", population={"path": "all.csv", "size": 9})
    params = Guided.model_validate({"criteria": [{"name": "k_map", "k": 2}]})
    with pytest.raises(ConfigurationError) as caught:
        required(params, table)
    assert str(caught.value) == (
        "anonymization.criteria.0: k_map is asked for, and this method counts no population table; "
        "choose anonymization=lattice, or declare dataset.population.size for an estimate"
    )
    requirement = required(params, table, counts_population=True)[1]
    assert requirement.score(requirement.counts(np.array([0, 0, 0]), 1, np.array([0, 1, 1]))).tolist() == [3]


def test_what_no_division_reaches_is_refused_with_all_that_misses(make: Make):
    table = make({"age": [1, 2, 3], "stage": ["low", "low", "high"], "disease": ["flu"] * 3})
    asked = [
        {"name": "k", "k": 8},
        {"name": "l_distinct", "l": 4, "column": "stage"},
        {"name": "alpha", "alpha": 0.5, "column": "stage"},
        {"name": "l_recursive", "l": 2, "c": 9.0, "column": "disease"},
        {"name": "t", "t": 0.1, "column": "stage"},
    ]
    requirements = required(Guided.model_validate({"criteria": asked}), table)
    with pytest.raises(GoalError) as caught:
        refuse_the_impossible(requirements, 3)
    reaches = "the whole table as one class reaches"
    on, of = "anonymization.criteria, ", "on column"
    k, l, alpha, recursive = map(str, caught.value.faults)
    assert k == "anonymization.k: k=8 but 3 rows; k is at most the number of rows; lower k or bring more rows"
    assert l.startswith(f"{on}l_distinct {of} 'stage': asks for 4; {reaches} 2; at most 2 can be reached")
    assert alpha.startswith(f"{on}alpha {of} 'stage': asks for 0.5; {reaches} 0.666667; at least 0.666667 can be")
    assert recursive.startswith(f"{on}l_recursive {of} 'disease': asks for 9; {reaches} infinite; no limit can be met")


def test_what_suppression_may_mend_is_not_refused(make: Make):
    table = make({"age": [1] * 3, "stage": ["low", "low", "high"]})
    asked = [{"name": "alpha", "alpha": 0.5}, {"name": "l_distinct", "l": 3}]
    requirements = required(Guided.model_validate({"k": 2, "criteria": asked}), table)
    with pytest.raises(GoalError) as caught:
        refuse_the_impossible(requirements, 3, suppression_limit=0.4)
    assert [fault.place for fault in caught.value.faults] == ["anonymization.criteria, l_distinct on column 'stage'"]


def test_no_frame_is_written_to(make: Make, hierarchies: Any):
    table = make({"age": [1, 2, 1], "disease": ["flu", None, "angina"], "cost": [1.0, 2.0, 5.0]})
    before = table.frame.copy(deep=True)
    for requirement in bound(table, hierarchies):
        requirement.score(requirement.counts(np.array([0, 1, 0]), 2))
    assert table.frame.equals(before)
