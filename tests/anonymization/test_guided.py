import json
from collections import Counter
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from components.anonymization import Given, Release
from components.anonymization.declarations import Guided
from components.anonymization.guided import method as guided
from components.data.table import Table
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError, GoalError, RunnerError

Make = Callable[..., Table]
Tables = Callable[..., st.SearchStrategy[Table]]
Slow = Callable[..., dict[str, Any]]
FEW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
REPRESENTATIVES = ("median", "medoid", "range")
MADE_UP = "ZZ-CANARY-7731"


def anonymise(params: Guided, table: Table, predictions: npt.ArrayLike, seed: int) -> Release:
    return guided.anonymise(params, table, Given(predictions=predictions, seed=seed))


def rows_of(frame: pd.DataFrame):
    """Return the rows as a multiset."""
    return Counter(
        tuple(None if pd.isna(cell) else str(cell) for cell in row) for row in frame.astype(object).to_numpy()
    )


@st.composite
def calls(draw: st.DrawFn, tables: Tables, **fixed: Any):
    """Draw a table, parameters that it can meet, and predictions for it."""
    table = draw(tables(min_size=2))
    rows = len(table.frame)
    people = table.frame["person"].fillna("nobody").nunique() if table.schema.subject_id else rows
    if people < 2:
        table = Table(table.frame, table.schema.model_copy(update={"subject_id": None}))
        people = rows
    criteria = [
        {"name": "l_distinct", "l": 2, "column": name}
        for name in table.schema.sensitive
        if len(table.frame[name].unique()) > 1 and draw(st.booleans())
    ]
    criteria += [{"name": "t", "t": 0.4, "column": name} for name in table.schema.sensitive if draw(st.booleans())]
    labels = draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=rows, max_size=rows))
    numbers = draw(st.lists(st.floats(-3, 3, width=16), min_size=rows, max_size=rows))
    said = np.array(draw(st.sampled_from([labels, numbers])))
    settings_ = {
        "k": draw(st.integers(2, min(4, people))),
        "criteria": criteria,
        "surrogate": draw(st.sampled_from(["quasi_identifiers", "all"])),
        "representative": draw(st.sampled_from(REPRESENTATIVES)),
        "missing": draw(st.sampled_from(["own_value", "ignore"])),
        **fixed,
    }
    return Guided.model_validate(settings_), table, said


@FEW
@given(data=st.data())
def test_every_criterion_holds_on_an_independent_count(data: st.DataObject, any_tables: Tables, slow: Slow):
    params, table, said = data.draw(calls(any_tables))
    release = anonymise(params, table, said, 0)
    persons = table.frame["person"].tolist() if table.schema.subject_id else None
    found = slow(release.table.frame, release.table.schema, table.frame, persons)
    assert found["k"] >= params.k
    assert (found["k"], found["classes"]) == (release.after.k, release.after.classes)
    for criterion in params.criteria:
        if criterion.name == "t":
            assert found[criterion.column]["t"] <= criterion.t + 1e-9
        else:
            assert found[criterion.column][criterion.name] >= criterion.l


@FEW
@given(data=st.data())
def test_only_cells_of_quasi_identifiers_change(data: st.DataObject, any_tables: Tables):
    params, table, said = data.draw(calls(any_tables))
    untouched = table.frame.copy(deep=True)
    release = anonymise(params, table, said, 0)
    assert_frame_equal(table.frame, untouched)
    kept = [name for name in table.frame.columns if name != "person"]
    assert release.table.frame.columns.tolist() == release.training.frame.columns.tolist() == kept
    others = [name for name in kept if name not in table.schema.quasi_identifiers]
    assert_frame_equal(release.table.frame[others], untouched[others])
    assert release.table.frame.index.equals(untouched.index)
    assert (release.training.frame.dtypes == untouched[kept].dtypes).all()
    if params.representative != "range":
        assert (release.table.frame.dtypes == untouched[kept].dtypes).all()
        for name in table.schema.quasi_identifiers:
            assert {*release.table.frame[name].dropna()} <= {*untouched[name].dropna()}


@FEW
@given(data=st.data())
def test_the_order_of_rows_changes_nothing_but_the_order(data: st.DataObject, any_tables: Tables):
    params, table, said = data.draw(calls(any_tables))
    order = np.array(data.draw(st.permutations(range(len(said)))))
    one = anonymise(params, table, said, 3)
    other = anonymise(params, Table(table.frame.iloc[order], table.schema), said[order], 3)
    assert_frame_equal(one.table.frame.iloc[order], other.table.frame)
    assert_frame_equal(one.training.frame.iloc[order], other.training.frame)
    assert (one.transformation, one.before, one.after) == (other.transformation, other.before, other.after)


@FEW
@given(data=st.data())
def test_training_rows_follow_from_published_cells(data: st.DataObject, any_tables: Tables):
    params, table, said = data.draw(calls(any_tables))
    release = anonymise(params, table, said, 0)
    for name in table.schema.quasi_identifiers:
        pairs = zip(release.table.frame[name].astype(object), release.training.frame[name].astype(object), strict=True)
        told = {(None if pd.isna(a) else a, None if pd.isna(b) else b) for a, b in pairs}
        assert len(told) == len({published for published, _ in told})


def test_no_bit_of_a_float_sum_depends_on_the_order_of_rows(make: Make, rng: np.random.Generator):
    rows = 3000
    cells = {"age": rng.integers(0, 30, rows).tolist(), "region": rng.choice(["north", "south", "west"], rows).tolist()}
    table, said = make(cells), rng.normal(size=rows) * 10.0 ** rng.integers(-8, 8, rows)
    order = rng.permutation(rows)
    one = anonymise(Guided(k=5), table, said, 0)
    other = anonymise(Guided(k=5), Table(table.frame.iloc[order], table.schema), said[order], 0)
    assert_frame_equal(one.table.frame.iloc[order], other.table.frame)
    assert one.transformation == other.transformation


def test_a_sum_that_depends_on_its_order_places_a_category_alike(make: Make):
    cells = [(code, value) for code, value in (("b", 0.1), ("c", 0.2), ("d", 0.9)) for _ in range(3)]
    huge = [("a", 1e16), ("a", 1.0), ("a", -1e16)]  # adds up to 0 or 1, as the order wants it
    shown = []
    for first in permutations(huge):
        codes, said = zip(*first, *cells, strict=True)
        shown.append(rows_of(anonymise(Guided(k=6), make({"zip": [*codes]}), np.array(said), 0).table.frame))
    assert all(one == shown[0] for one in shown)


def test_k_over_persons_when_one_has_many_rows(make: Make):
    ages = [20] * 6 + [60] * 6
    persons = ["a"] * 6 + ["b", "b", "c", "c", "d", "d"]
    table = make({"person": persons, "age": ages}, subject_id="person")
    release = anonymise(Guided(k=3), table, np.array(ages) > 40, 0)
    assert (release.after.k, release.after.k_persons, release.after.classes) == (4, 4, 1)
    by_rows = anonymise(Guided(k=3), make({"age": ages}), np.array(ages) > 40, 0)
    assert (by_rows.after.k, by_rows.after.classes) == (6, 2)


def test_a_k_among_the_criteria_wins(make: Make):
    table = make({"age": [*range(40)]})
    params = Guided.model_validate({"k": 2, "criteria": [{"name": "k", "k": 13}]})
    assert anonymise(params, table, np.arange(40.0), 0).after.k >= 13


def test_pure_leaves_are_folded_where_diversity_is_asked_for(make: Make, rng: np.random.Generator):
    age = rng.integers(20, 80, 400)
    disease = np.where(age > 50, "flu", "angina")
    table = make({"age": age.tolist(), "disease": disease.tolist()})
    plain = anonymise(Guided(k=5), table, disease, 0)
    assert (plain.after.columns["disease"].l_distinct, plain.after.columns["disease"].alpha) == (1, 1.0)
    diverse = anonymise(
        Guided.model_validate({"k": 5, "criteria": [{"name": "l_distinct", "l": 2}]}), table, disease, 0
    )
    assert diverse.after.columns["disease"].l_distinct == 2
    close = anonymise(Guided.model_validate({"k": 5, "criteria": [{"name": "t", "t": 0.1}]}), table, disease, 0)
    assert close.after.columns["disease"].t <= 0.1
    evened = {"k": 5, "criteria": [{"name": "l_entropy", "l": 1.5}]}
    assert anonymise(Guided.model_validate(evened), table, disease, 0).after.columns["disease"].l_entropy >= 1.5


def test_a_median_is_the_actual_value_nearest_and_the_smaller_of_two(make: Make):
    table = make(
        {
            "age": [20, 21, 60, 61],
            "kind": ["low", "high", "high", "middle"],
            "region": ["west", "south", "south", "west"],
            "smoker": [True, False, True, False],
            "seen": ["2024-01-01", "2024-01-04", "2024-02-29", None],
        }
    )
    frame = anonymise(Guided(k=4), table, ["a"] * 4, 0).table.frame
    assert frame.drop_duplicates().iloc[0].tolist() == [21, "middle", "south", False, pd.Timestamp("2024-01-04")]


@pytest.mark.parametrize(
    ("missing", "ages", "expected"),
    [
        ("own_value", [None, None, 20], None),
        ("own_value", [None, 20, 30], 20),
        ("own_value", [None, None, 20, 30], 20),
        ("ignore", [None, None, 20], 20),
        ("ignore", [None, None, None], None),
    ],
)
def test_missing_cells_have_a_voice_or_none(make: Make, missing: str, ages: Any, expected: Any):
    frame = anonymise(Guided(k=len(ages), missing=missing), make({"age": ages}), ["a"] * len(ages), 0).table.frame
    (shown,) = frame["age"].unique().tolist()
    assert (None if pd.isna(shown) else shown) == expected


@pytest.mark.parametrize(("missing", "expected"), [("own_value", None), ("ignore", "west")])
def test_missing_categories_win_where_they_are_the_most(make: Make, missing: str, expected: Any):
    frame = anonymise(Guided(k=3, missing=missing), make({"region": [None, None, "west"]}), [1.0] * 3, 0).table.frame
    (shown,) = frame["region"].astype(object).unique().tolist()
    assert (None if pd.isna(shown) else shown) == expected


def test_missing_cells_are_refused_with_rows_and_without_values(make: Make):
    table = make({"age": [None, 20, None], "zip": ["x", None, MADE_UP], "visits": [1, 1, 1]})
    with pytest.raises(DataError) as error:
        anonymise(Guided(k=2, missing="refuse"), table, [1.0, 2.0, 3.0], 0)
    age, code = error.value.faults
    assert (age.place, code.place) == ("column 'age'", "column 'zip'")
    assert "2 of 3" in age.problem
    assert "rows 1, 3" in age.problem
    assert MADE_UP not in str(error.value)


def test_a_medoid_is_an_actual_record(make: Make, rng: np.random.Generator):
    cells = {
        "age": rng.integers(20, 60, 300).tolist(),
        "region": rng.choice(["north", "south", "west"], 300).tolist(),
        "kind": rng.choice(["low", "middle", "high"], 300).tolist(),
    }
    table = make(cells)
    release = anonymise(Guided(k=7, representative="medoid"), table, rng.choice(["a", "b"], 300), 0)
    assert rows_of(release.table.frame).keys() <= rows_of(table.frame).keys()
    assert "actual record" in release.transformation["representatives"]


def test_a_medoid_is_nearest_the_median_and_the_smallest_among_equals(make: Make):
    table = make({"age": [20, 40, 44, 60], "height": [1.0, 1.2, 1.0, 2.0]})
    frame = anonymise(Guided(k=4, representative="medoid"), table, ["a"] * 4, 0).table.frame
    # The median tuple is (40, 1.0): 4/40 away from (44, 1.0), .2/1 from (40, 1.2).
    assert frame.drop_duplicates().to_numpy().tolist() == [[44, 1.0]]
    even = make({"age": [20, 30, 40], "height": [1.0, 2.0, 1.0]})
    frame = anonymise(Guided(k=3, representative="medoid"), even, ["a"] * 3, 0).table.frame
    # The median tuple is (30, 1.0); (20, 1.0) and (40, 1.0) are equally near.
    assert frame.drop_duplicates().to_numpy().tolist() == [[20, 1.0]]


def test_a_medoid_may_be_drawn_from_the_majority(make: Make):
    table = make({"age": [20, 21, 22, 60, 61]})
    said = ["a", "b", "b", "a", "a"]
    anyone = anonymise(Guided(k=5, representative="medoid"), table, said, 0)
    assert anyone.table.frame["age"].unique().tolist() == [22]
    params = Guided(k=5, representative="medoid", medoid_label="majority")
    assert anonymise(params, table, said, 0).table.frame["age"].unique().tolist() == [20]
    with pytest.raises(ConfigurationError, match="majority needs predicted classes"):
        anonymise(params, table, [1.0, 2.0, 3.0, 4.0, 5.0], 0)


def test_a_range_is_the_true_minimum_and_maximum_of_the_class(make: Make):
    table = make({"age": [60, 20, 61, 21]})
    release = anonymise(Guided(k=2, representative="range"), table, ["b", "a", "b", "a"], 0)
    assert release.table.frame["age"].tolist() == ["[60, 61]", "[20, 21]", "[60, 61]", "[20, 21]"]
    assert release.training.frame["age"].tolist() == [60, 20, 60, 20]
    assert release.table.schema.column("age").dtype == "text"
    assert release.training.schema.column("age").dtype == "integer"


def test_ranges_and_sets_of_every_kind_of_column(make: Make):
    table = make(
        {
            "age": [20, None, 21, 20],
            "height": [1.5, 1.5, 1.5, 1.5],
            "region": ["west", "north", "north", "west"],
            "kind": ["high", "low", "high", "high"],
            "zip": ["01001", None, None, "01001"],
            "smoker": [True, False, True, True],
            "seen": ["2024-01-01", "2024-01-04", "2024-01-04", "2024-01-01"],
        }
    )
    release = anonymise(Guided(k=4, representative="range"), table, ["a"] * 4, 0)
    (shown,) = release.table.frame.drop_duplicates().to_numpy().tolist()
    assert shown == [
        "{[20, 21], missing}",
        "1.5",
        "{north, west}",
        "{low, middle, high}",
        "{01001, missing}",
        "{False, True}",
        "[2024-01-01, 2024-01-04]",
    ]
    (trained,) = release.training.frame.drop_duplicates().to_numpy().tolist()
    assert trained == [20, 1.5, "north", "middle", "01001", False, pd.Timestamp("2024-01-02")]
    quiet = anonymise(Guided(k=4, representative="range", missing="ignore"), table, ["a"] * 4, 0).table.frame
    assert quiet["age"].unique().tolist() == ["[20, 21]"]
    assert quiet["zip"].unique().tolist() == ["01001"]


def test_a_set_quotes_what_could_be_mistaken_for_its_notation(make: Make):
    table = make({"zip": ["a, b", 'say "x"', "missing", "plain"]})
    release = anonymise(Guided(k=4, representative="range"), table, ["a"] * 4, 0)
    assert release.table.frame["zip"].unique().tolist() == ['{"a, b", "missing", plain, "say ""x"""}']


def test_a_set_stands_for_its_likeliest_member(make: Make):
    ages = [20] * 4 + [40] * 6 + [60] * 6
    regions = ["south"] * 4 + ["north", "west"] * 3 + ["north", "south"] * 3
    release = anonymise(Guided(k=4, representative="range"), make({"age": ages, "region": regions}), ages, 0)
    assert release.table.frame["region"].tolist() == ["south"] * 4 + ["{north, west}"] * 6 + ["{north, south}"] * 6
    # Even shares: south 4 + 6/2, north 6/2 + 6/2, west 6/2; north is in the sets of more rows.
    assert release.training.frame["region"].tolist() == ["south"] * 4 + ["north"] * 6 + ["south"] * 6


def test_a_class_of_missing_cells_stays_missing_in_a_range(make: Make):
    table = make({"age": [None, None, 20, 21]})
    release = anonymise(Guided(k=2, representative="range"), table, ["a", "a", "b", "b"], 0)
    assert release.table.frame["age"].fillna("none").tolist() == ["none", "none", "[20, 21]", "[20, 21]"]
    nothing = anonymise(Guided(k=2, representative="range"), make({"age": [None, None]}), ["a", "a"], 0)
    assert nothing.after.k == 2


@pytest.mark.parametrize("representative", REPRESENTATIVES)
@pytest.mark.parametrize("missing", ["own_value", "ignore"])
def test_one_hot_columns_move_together(rng: np.random.Generator, representative: str, missing: str):
    hot = np.eye(3, dtype=np.int64)[rng.integers(0, 3, 60)]
    frame = pd.DataFrame(hot, columns=["is_a", "is_b", "is_c"]).assign(age=rng.integers(20, 60, 60))
    columns = {
        name: {"dtype": "integer", "role": "quasi_identifier", "group": "is"} for name in ("is_a", "is_b", "is_c")
    }
    columns["age"] = {"dtype": "integer", "role": "quasi_identifier"}
    schema = pd_schema(columns)
    params = Guided(k=2, representative=representative, missing=missing)
    release = anonymise(params, Table(frame, schema), rng.choice(["x", "y"], 60), 0)
    for part in (release.table, release.training):
        assert (part.frame[["is_a", "is_b", "is_c"]].sum(axis=1) == 1).all()
        assert part.frame["is_a"].dtype == np.int64
    assert release.after.k >= 2


def pd_schema(columns: Any, **more: Any):
    return DatasetSchema.model_validate({"name": "made", "source": None, "columns": columns, **more})


def test_regression_and_several_targets(make: Make, rng: np.random.Generator):
    cells = {"age": rng.integers(20, 60, 200).tolist(), "height": rng.normal(size=200).tolist()}
    table = make(cells)
    one = np.array(cells["age"], dtype=float)
    release = anonymise(Guided(k=5), table, np.column_stack([one, rng.normal(size=200)]), 0)
    assert release.after.k >= 5
    labels = np.column_stack([np.where(one > 40, "old", "young"), rng.choice(["x", "y"], 200)])
    params = Guided(k=5, representative="medoid", medoid_label="majority")
    assert anonymise(params, table, labels, 0).after.k >= 5
    exact = anonymise(Guided(k=5), table, one, 0)
    assert exact.transformation["agreement"] > 0.95


def test_whole_numbers_are_numbers_when_the_task_is_regression(make: Make, rng: np.random.Generator):
    ages = rng.integers(20, 90, 300)
    cells = {"age": ages.tolist(), "visits": [0] * 300}
    by_task = [
        anonymise(Guided(k=5), make(cells, target="visits", task=task), ages, 0).transformation["agreement"]
        for task in ("classification", "regression")
    ]
    assert by_task[1] > 0.99 > by_task[0]


def test_the_same_seed_gives_the_same_release(make: Make, rng: np.random.Generator):
    cells = {"age": rng.integers(20, 60, 200).tolist(), "height": rng.integers(20, 60, 200).tolist()}
    said = rng.choice(["a", "b"], 200)
    one, other = (anonymise(Guided(k=5), make(cells), said, 7) for _ in range(2))
    assert_frame_equal(one.table.frame, other.table.frame)


def test_too_few_rows_are_refused_before_any_work(make: Make):
    table = make({"age": [20] * 7})
    with pytest.raises(GoalError, match="k=8 but 7 rows"):
        anonymise(Guided(k=8), table, None, 0)  # predictions aren't even looked at
    persons = make({"person": ["a"] * 8, "age": [20] * 8}, subject_id="person")
    with pytest.raises(GoalError, match="k=8 but 1 person;"):
        anonymise(Guided(k=8), persons, ["a"] * 8, 0)


def test_no_rows_and_no_quasi_identifiers_are_refused(make: Make):
    with pytest.raises(DataError, match="0 rows; k is undefined"):
        anonymise(Guided(k=2), make({"age": []}), [], 0)
    with pytest.raises(ConfigurationError, match="no quasi-identifier"):
        anonymise(Guided(k=2), make({"visits": [1, 2]}), ["a", "b"], 0)


def test_what_can_not_be_reached_is_told_all_at_once_with_the_best_there_is(make: Make):
    table = make({"age": [20] * 4, "disease": ["flu", "flu", "flu", "angina"]})
    criteria = [{"name": "l_distinct", "l": 3}, {"name": "l_entropy", "l": 1.9}, {"name": "t", "t": 0.1}]
    with pytest.raises(GoalError) as error:
        anonymise(Guided.model_validate({"k": 2, "criteria": criteria}), table, ["a"] * 4, 0)
    diverse, even = error.value.faults
    assert "asks for 3; the whole table as one class reaches 2" in diverse.problem
    assert "reaches 1.75" in even.problem
    assert "flu" not in str(error.value)


def test_a_criterion_must_name_a_sensitive_column(make: Make):
    table = make({"age": [20] * 4, "disease": ["flu"] * 4, "stage": ["low"] * 4})
    criteria = [{"name": "l_distinct", "l": 2}, {"name": "t", "t": 0.2, "column": "age"}]
    with pytest.raises(ConfigurationError) as error:
        anonymise(Guided.model_validate({"k": 2, "criteria": criteria}), table, ["a"] * 4, 0)
    assert [fault.place for fault in error.value.faults] == [
        "anonymization.criteria.0.column",
        "anonymization.criteria.1.column",
    ]


@pytest.mark.parametrize("representative", REPRESENTATIVES)
def test_no_cell_value_is_in_what_is_said_about_a_release(make: Make, representative: str):
    table = make({"zip": [MADE_UP, "x", "y", MADE_UP], "disease": ["flu", None, "flu", "angina"]})
    release = anonymise(Guided(k=2, representative=representative), table, [MADE_UP, "a", "a", MADE_UP], 0)
    said = json.dumps(release.transformation) + repr(release.before) + repr(release.after)
    assert MADE_UP not in said
    assert "flu" not in said


def test_an_error_of_the_method_lets_nothing_out(make: Make, monkeypatch: pytest.MonkeyPatch):

    monkeypatch.setattr(guided, "_divide", lambda _, splits, *__: (np.arange(len(splits[0].codes)), {}))
    with pytest.raises(GoalError, match="nothing was published"):
        anonymise(Guided(k=2), make({"age": [20, 21, 22]}), ["a", "b", "c"], 0)


def test_all_errors_carry_exit_codes():
    assert issubclass(GoalError, RunnerError)
    assert (ConfigurationError.exit_code, DataError.exit_code, GoalError.exit_code) == (2, 3, 4)


def test_a_value_that_comes_first_in_no_order_does_not_show(make: Make):
    zeros = make({"height": [-0.0, 0.0, -0.0]})
    shown = anonymise(Guided(k=3), zeros, ["a"] * 3, 0).table.frame["height"]
    assert not np.signbit(shown).any()


def test_writing_to_a_release_leaves_the_input_alone(make: Make):
    table = make({"age": [20, 20, 21], "visits": [1, 2, 3]})
    release = anonymise(Guided(k=3), table, ["a"] * 3, 0)
    release.table.frame.loc[:, "visits"] = 9
    assert table.frame["visits"].tolist() == [1, 2, 3]
