import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.anonymization import measure
from components.anonymization.criteria.requirements import required
from components.anonymization.declarations import Guided
from components.anonymization.disclosure import FIGURES
from components.anonymization.publishing import Decided, publish
from components.data.table import Table
from runner import canonical
from runner.metrics import metrics_csv
from schemas.dataset import DatasetSchema, released
from schemas.faults import GoalError
from schemas.hierarchy import SUPPRESSED
from schemas.tables import METRICS, Metric, kind_of

Make = Callable[..., Table]
Tables = Callable[..., st.SearchStrategy[Table]]
Slow = Callable[..., dict[str, Any]]


def text_schema(*names: str, **more: object) -> DatasetSchema:
    columns = {name: {"dtype": "text", "role": "quasi_identifier", "nullable": True} for name in names}
    return DatasetSchema.model_validate({"name": "t", "source": None, "columns": columns, **more})


def figures(frame: pd.DataFrame, schema: DatasetSchema, whole: Any = None, persons: Any = None):
    found = measure(frame, schema, whole, persons=persons)
    flat = {
        "k": found.k,
        "k_rows": found.k_rows,
        "k_wildcard": found.k_wildcard,
        "classes": found.classes,
        "suppressed": found.suppressed,
        "arirec": found.risk.arirec,
        "mean": found.risk.prosecutor_mean,
        "max": found.risk.prosecutor_max,
        "below_11": found.risk.above["0.09"],
        "above_a_fifth": found.risk.above["0.2"],
        "above_a_half": found.risk.above["0.5"],
        "uniques": found.risk.sample_uniques,
        "k_linked": found.k_linked,
        "linked_persons": found.linked_persons,
        "linked_alone": found.linked_alone,
    }
    flat = {name: figure for name, figure in flat.items() if figure is not None}
    return flat | {
        column: {name: figure for name in FIGURES if (figure := getattr(one, name)) is not None}
        for column, one in found.columns.items()
        if one.sensitive
    }


def assert_alike(found: Any, expected: Any):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-9), name


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_agrees_with_the_definitions(data: st.DataObject, any_tables: Tables, slow: Slow):
    table = data.draw(any_tables())
    persons = table.frame["person"].tolist() if "person" in table.frame else None
    assert_alike(figures(table.frame, table.schema), slow(table.frame, table.schema, persons=persons))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_compares_with_the_whole_table_where_there_is_one(data: st.DataObject, any_tables: Tables, slow: Slow):
    table = data.draw(any_tables(persons=True))
    some = table.frame.iloc[: data.draw(st.integers(1, len(table.frame)))]
    persons = some["person"].tolist()
    without = some.drop(columns="person")
    found = figures(without, table.schema, table.frame, persons)
    assert_alike(found, slow(without, table.schema, table.frame, persons))


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_counts_what_linked_rows_tell_together(data: st.DataObject, any_tables: Tables, slow: Slow):
    table = data.draw(any_tables(persons=True))
    frame, schema, persons = data.draw(releases(table))
    linked = released(schema_with(table, "person"), table.schema.quasi_identifiers, ["person"])
    frame = frame.assign(person=pd.array([person and f"pseudonym of {person}" for person in persons], dtype="string"))
    found = figures(frame, linked, table.frame, persons)
    assert_alike(found, slow(frame, linked, table.frame, persons))
    assert "k_linked" in found or not any(persons)
    assert "k_linked" not in figures(frame, schema, table.frame, persons)


def schema_with(table: Table, missing: str) -> DatasetSchema:
    columns = [one.model_copy(update={"nullable": one.nullable or one.name == missing}) for one in table.schema.columns]
    return table.schema.model_copy(update={"columns": columns})


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_the_order_of_rows_changes_no_bit_of_any_figure(data: st.DataObject, any_tables: Tables):
    table = data.draw(any_tables())
    order = data.draw(st.permutations(range(len(table.frame))))
    assert measure(table.frame.iloc[order], table.schema) == measure(table.frame, table.schema)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_release_is_measured_as_it_stands(data: st.DataObject, any_tables: Tables, slow: Slow):
    table = data.draw(any_tables())
    frame, schema, persons = data.draw(releases(table))
    asked = data.draw(criteria(table.schema))
    requirements = required(Guided.model_validate({"k": 2, "criteria": asked}), table)
    found = measure(frame, schema, table.frame, persons=persons, requirements=requirements)
    declared = [one.criterion for one in requirements]
    expected = slow(frame, schema, table.frame, persons, declared)
    reached = expected.pop("criteria")
    assert_alike(figures(frame, schema, table.frame, persons), expected)
    assert [one.reached for one in found.criteria] == pytest.approx(reached, abs=1e-9)
    assert [(one.name, one.column) for one in found.criteria] == [(one.name, one.column) for one in requirements]
    assert [one.met for one in found.criteria] == [
        bool(one.met(figure)) for one, figure in zip(requirements, reached, strict=True)
    ]


@st.composite
def releases(draw: st.DrawFn, table: Table):
    """Draw a release of a table: some rows show stars, some are left out, and one row at least is whole."""
    rows = len(table.frame)
    fates = st.sampled_from(["kept", "kept", "starred", "dropped"])
    fate = np.array(["kept", *draw(st.lists(fates, min_size=rows - 1, max_size=rows - 1))])
    quasi = table.schema.quasi_identifiers
    stars = {name: table.frame[name].astype("string").mask(fate == "starred", "*") for name in quasi}
    schema = released(table.schema, quasi)
    shown = table.frame.assign(**stars)[schema.names()][fate != "dropped"]
    named = table.schema.subject_id is not None
    return shown, schema, table.frame["person"][fate != "dropped"].tolist() if named else None


@st.composite
def criteria(draw: st.DrawFn, schema: DatasetSchema):
    """Draw some criteria on the sensitive columns."""
    limits = [
        {"name": "l_distinct", "l": 2},
        {"name": "l_entropy", "l": 1.2},
        {"name": "l_recursive", "l": 2, "c": 2.5},
        {"name": "l_recursive", "l": 3, "c": 2.5},
        {"name": "alpha", "alpha": 0.8},
        {"name": "t", "t": 0.4},
        {"name": "t", "t": 0.4, "distance": "equal"},
        {"name": "beta", "beta": 1.5},
        {"name": "beta_enhanced", "beta": 1.5},
        {"name": "delta_disclosure", "delta": 1.2},
        {"name": "delta_disclosure", "delta": 1.2, "absent": "skip"},
    ]
    pairs = [(limit, column) for limit in limits for column in schema.sensitive]
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=5)) if pairs else []
    return [
        {**limit, "column": column, "others": draw(st.sampled_from(["ignore", "known"]))} for limit, column in chosen
    ]


def test_rows_that_were_left_out_are_suppressed_ones(make: Make):
    table = make({"age": [20, 20, 60, 60], "disease": ["flu", "angina", "flu", "flu"]})
    found = measure(table.frame.iloc[:3], table.schema, table.frame)
    assert (found.rows, found.suppressed, found.risk.suppressed_share) == (3, 1, 0.25)


def test_k_map_is_measured_on_the_persons_who_fit_each_row(make: Make):
    table = make({"age": [20, 20, 60, 60]}, population={"path": "all.csv"})
    params = Guided.model_validate({"criteria": [{"name": "k_map", "k": 5}], "k": 2})
    requirements = required(params, table, counts_population=True)
    found = measure(table.frame, table.schema, requirements=requirements, fitting=np.array([9, 9, 4, 4]))
    assert [(one.name, one.reached, one.met) for one in found.criteria] == [("k", 2, True), ("k_map", 4, False)]
    with pytest.raises(ValueError, match="k_map needs the persons"):
        measure(table.frame, table.schema, requirements=requirements)


def test_without_any_class_nothing_that_was_asked_for_is_met(make: Make):
    table = make({"zip": ["a", "b"], "stage": ["low", "high"]})
    asked = [{"name": "l_distinct", "l": 2}, {"name": "t", "t": 0.5}]
    requirements = required(Guided.model_validate({"criteria": asked}), table)
    found = measure(table.frame[:0], table.schema, table.frame, requirements=requirements)
    assert [(one.reached, one.met) for one in found.criteria] == [(0.0, False), (0.0, False), (np.inf, False)]


def test_what_misses_a_criterion_is_not_published(make: Make):
    table = make({"age": [20, 20, 60], "stage": ["low", "high", "low"]})
    params = Guided.model_validate({"k": 2, "criteria": [{"name": "l_recursive", "l": 2, "c": 1.5}]})
    requirements = required(params, table)
    before = measure(table.frame, table.schema)
    with pytest.raises(GoalError) as caught:
        publish(params, table, Decided([], {}), requirements, before)
    k, recursive = map(str, caught.value.faults)
    assert k.startswith("anonymization.criteria, k: asks for 2; 1 was measured on the release; nothing was published")
    assert "l_recursive on column 'stage': asks for 1.5; infinite was measured" in recursive


def test_infinite_figures_stand_in_metrics_and_record(make: Make):
    table = make({"age": [1, 1, 2, 2, 2], "stage": ["low", "low", "high", "high", "low"]})
    found = measure(table.frame, table.schema)
    told = {name: value for name, column, value in found.figures() if column == "stage"}
    assert (told["l_recursive"], told["delta_disclosure"], told["beta"]) == (np.inf, np.inf, pytest.approx(2 / 3))
    rows = [Metric(stage="anonymization", metric=name, column="stage", value=value) for name, value in told.items()]
    assert b"anonymization,l_recursive,,stage,,,inf,,," in metrics_csv(rows)
    assert b'"l_recursive":"infinite"' in canonical.dumps(asdict(found))


def test_a_missing_value_is_its_own_and_the_wildcard_rule_stands_beside():
    schema = text_schema("Region", "Status")
    frame = pd.DataFrame({"Region": ["A"] * 5, "Status": ["S", "M", "M", "S", None]}, dtype="string")
    found = measure(frame, schema)
    assert (found.k, found.k_wildcard) == (1, 2)
    assert measure(frame[:4], schema).k == 2
    assert measure(frame.assign(Status="*"), schema).k == 5


def test_fully_suppressed_rows_are_counted_apart():
    rows = [("a", "x")] * 2 + [("b", "x")] * 2 + [("c", "*")] * 2 + [(SUPPRESSED, SUPPRESSED)]
    found = measure(pd.DataFrame(rows, columns=["one", "two"], dtype="string"), text_schema("one", "two"))
    assert (found.risk.prosecutor_max, found.risk.prosecutor_mean) == (0.5, 0.5)
    assert (found.rows, found.suppressed, found.classes, found.k) == (7, 1, 3, 2)
    assert found.risk.suppressed_share == pytest.approx(1 / 7)


def test_rows_that_nothing_tells_apart_are_one_class_though_all_they_show_is_a_star():
    found = measure(pd.DataFrame({"one": ["*", "*"]}, dtype="string"), text_schema("one"))
    assert (found.k, found.classes, found.suppressed, found.risk.suppressed_share) == (2, 1, 0, 0.0)


def test_an_unused_category_is_no_class_and_no_value(make: Make):
    table = make({"region": ["north"] * 3 + ["west"] * 3, "stage": ["low", "high"] * 3})
    found = measure(table.frame, table.schema)
    assert found.classes == 2
    assert found.columns["stage"].t == pytest.approx(1 / 6)  # low and high are neighbours: nobody is in the middle


def test_a_row_of_another_person_counts_and_one_of_the_same_does_not(make: Make):
    table = make({"person": ["a", "a", "b", "b"], "age": [20, 20, 20, 20]}, subject_id="person")
    found = measure(table.frame, table.schema)
    assert (found.k, found.k_rows, found.k_persons) == (2, 4, 2)
    assert measure(table.frame, table.schema.model_copy(update={"subject_id": None})).k == 4
    nobody = measure(table.frame.assign(person=pd.array([None] * 4, dtype="string")), table.schema)
    assert nobody.k == 1  # who can't be told apart may be one person


def test_who_is_hidden_in_each_class_is_alone_in_all_of_them(make: Make):
    cells = {
        "person": list("aabbcc"),
        "age": [1, 2, 2, 3, 3, 1],
    }  # two persons in each class, and no two in the same two
    found = measure((table := make(cells, subject_id="person")).frame, table.schema)
    assert (found.k, found.k_linked, found.linked_persons, found.linked_alone) == (2, 1, 3, 3)
    told = {name: value for name, _, value in found.figures()}
    assert (told["k_linked"], told["linked_alone"]) == (1, 1.0)
    without = table.frame.drop(columns="person")
    assert measure(without, table.schema, persons=cells["person"]).k_linked is None
    assert measure(table.frame, table.schema.model_copy(update={"subject_id": None})).k_linked is None


def test_rows_without_an_id_are_linked_to_nothing(make: Make):
    cells = {"person": ["a", "b", None, None, None], "age": [1, 1, 1, 2, 2]}
    found = measure((table := make(cells, subject_id="person")).frame, table.schema)
    assert (found.k, found.k_linked, found.linked_persons, found.linked_alone) == (1, 2, 2, 0)


def test_suppressed_rows_are_a_class_that_linked_persons_are_in_too():
    schema = text_schema("zip").model_dump() | {"subject_id": "who"}
    schema["columns"] = [{"name": "who", "dtype": "text", "role": "identifier"}, *schema["columns"]]
    frame = pd.DataFrame({"who": list("abcad"), "zip": ["1", "1", "1", "*", "*"]}, dtype="string")
    found = measure(frame, DatasetSchema.model_validate(schema))
    assert (found.k, found.k_linked, found.linked_persons, found.linked_alone) == (3, 1, 4, 2)  # a: both; d: stars


def test_a_value_that_all_persons_of_a_class_have_is_given_away_though_rows_differ(make: Make):
    cells = {"person": list("aabbb"), "age": [1] * 5, "disease": ["flu", "angina", "flu", "asthma", "asthma"]}
    table = make(cells, subject_id="person")
    found = measure(table.frame, table.schema).columns["disease"]
    assert (found.alpha, found.alpha_persons, found.l_known) == (0.4, 1.0, 3)
    rows = measure(table.frame, table.schema.model_copy(update={"subject_id": None}))
    assert rows.columns["disease"].alpha_persons is None
    assert "alpha_persons" not in {name for name, _, _ in rows.figures()}
    without = measure(table.frame.drop(columns="person"), table.schema, persons=cells["person"])
    assert without.columns["disease"].alpha_persons == 1.0


def test_a_person_of_whom_no_value_is_known_has_none_in_common(make: Make):
    cells = {"person": list("abbcd"), "age": [1, 1, 1, 1, 2], "disease": ["flu", "flu", None, "angina", None]}
    table = make(cells, subject_id="person")
    assert measure(table.frame, table.schema).columns["disease"].alpha_persons == pytest.approx(2 / 3)
    unknown = table.frame.assign(disease=pd.Series([None] * 5, dtype=table.frame["disease"].dtype))
    assert measure(unknown, table.schema).columns["disease"].alpha_persons == 0.0


def test_a_target_is_measured_without_being_sensitive(make: Make):
    table = make({"age": [20, 21], "visits": [0, 1]}, target="visits", task="classification")
    one = measure(table.frame, table.schema).columns["visits"]
    assert (one.sensitive, one.l_distinct, one.alpha) == (False, 1, 1.0)


def test_categories_count_in_the_schemas_order_whatever_the_frame_says(make: Make):
    table = make({"age": [20, 20, 21], "stage": ["low", "middle", "high"]})
    stored = table.frame.assign(stage=table.frame["stage"].astype(pd.CategoricalDtype(["low", "high", "middle"])))
    assert measure(stored, table.schema) == measure(table.frame, table.schema)
    assert measure(table.frame.assign(stage=table.frame["stage"].astype("string")), table.schema) == measure(
        table.frame, table.schema
    )


def test_a_table_without_quasi_identifiers_is_one_class(make: Make):
    table = make({"visits": [0, 1, 2], "disease": ["flu", "flu", "angina"]})
    found = measure(table.frame, table.schema)
    assert (found.k, found.classes, found.columns["disease"].t) == (3, 1, 0.0)


def test_figures_go_by_the_names_of_the_metrics_file_and_into_json(make: Make):
    table = make({"person": ["a", "b"], "age": [20, 20], "disease": ["flu", None]}, subject_id="person")
    found = measure(table.frame, table.schema)
    assert {kind_of(name) for name, _, _ in found.figures()} <= set(METRICS["anonymization"])
    assert len({(name, column) for name, column, _ in found.figures()}) == len(found.figures())
    json.dumps(asdict(found))


def test_many_columns_of_many_values_do_not_overflow(rng: np.random.Generator):
    person = rng.permutation(3000).astype(float)
    pairs = {f"c{number}": person // 2 for number in range(8)}  # more tuples than fit a 64-bit key, and no row alone
    frame = pd.DataFrame(pairs | {f"c{number}": person for number in range(8, 12)})
    frame = pd.concat([frame, frame.iloc[:1000]], ignore_index=True)
    columns = {name: {"dtype": "number", "role": "quasi_identifier"} for name in frame}
    found = measure(frame, DatasetSchema.model_validate({"name": "t", "source": None, "columns": columns}))
    assert (found.classes, found.k) == (3000, 1)
    assert found.risk.arirec == pytest.approx((1000 * 0.5 + 2000) / 3000)
    assert np.isclose(found.risk.prosecutor_mean, 0.75)
