"""minimization=tree as a whole: what it finds, keeps, says and never lets through."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from bench.minimization import Learned, fit
from components.minimization import from_contract, to_contract
from components.minimization.attributes import attributes_of
from components.minimization.declarations import Tree
from components.minimization.problem import Answers, Ask, Problem, Rows, agree, agreement
from components.minimization.result import Found
from components.minimization.tree.method import search
from schemas.dataset import DatasetSchema

People = Callable[[int, int], pd.DataFrame]
Make = Callable[..., Problem]
MINIMISED = ["age", "income", "region", "smoker", "grade"]


def schema_of(**columns: dict[str, Any]) -> DatasetSchema:
    named = {name: {"role": "quasi_identifier"} | column for name, column in columns.items()}
    return DatasetSchema.model_validate({"name": "made", "source": None, "columns": named})


def losses(found: Found, rows: Rows) -> dict[str, float]:
    minimized = found.minimized
    return dict(minimized.losses(minimized.encode(rows.frame)))


def agreed(found: Found, frame: pd.DataFrame, ask: Ask) -> float:
    return float(agree(ask(frame), found.minimized.answers(frame, ask)).mean())


@pytest.fixture(scope="module")
def found_of_people(people: People, people_schema: DatasetSchema, rule: Ask, problem_for: Make):
    problem = problem_for(people(3000, 0), people_schema, rule, columns=MINIMISED, target=0.85)
    return search(Tree(), problem), problem


def test_keeps_the_target_on_fresh_rows_and_loses_something(found_of_people: Any, people: People, rule: Ask):
    found, problem = found_of_people
    assert agreed(found, people(3000, 1), rule) >= 0.85
    kept = losses(found, problem.calibration)
    assert set(kept) == set(MINIMISED)
    assert all(0 <= loss <= 1 for loss in kept.values())
    assert problem.privacy(kept) > 0.4
    assert kept["grade"] == 1  # the rule does not look at it


def test_leaves_other_columns_index_order_and_dtypes_alone(found_of_people: Any, people: People):
    found, _ = found_of_people
    fresh = people(200, 2).set_index(np.arange(200)[::-1])
    before = fresh.copy(deep=True)
    after = found.minimized.transform(fresh)
    pd.testing.assert_frame_equal(fresh, before)
    rest = [name for name in fresh.columns if name not in MINIMISED]
    pd.testing.assert_frame_equal(after[rest], before[rest])
    assert after.dtypes.equals(before.dtypes)
    assert after.index.equals(before.index)


def test_minimising_one_column_leaves_every_other_one_identical(
    people: People, people_schema: DatasetSchema, rule: Ask, problem_for: Make
):
    found = search(Tree(), problem_for(people(1500, 0), people_schema, rule, columns=["age"], target=0.9))
    fresh = people(300, 3)
    after = found.minimized.transform(fresh)
    pd.testing.assert_frame_equal(after.drop(columns="age"), fresh.drop(columns="age"))
    assert after["age"].nunique() < fresh["age"].nunique()


def test_every_kind_of_column_can_be_minimised_and_read_back(
    people: People, people_schema: DatasetSchema, rule: Ask, problem_for: Make
):
    columns = [name for name in people_schema.features if name != "outcome"]
    found = search(Tree(), problem_for(people(2500, 0), people_schema, rule, columns=columns, target=0.85))
    fresh = people(400, 4)
    contract = to_contract(found.minimized, found.minimized.losses(found.minimized.encode(fresh)))  # type: ignore[arg-type]
    again = from_contract(contract)
    pd.testing.assert_frame_equal(again.transform(fresh), found.minimized.transform(fresh))  # type: ignore[union-attr]


def test_values_that_stand_for_cells_are_of_the_domain_and_no_cell_of_a_row_passes(
    people: People, people_schema: DatasetSchema, rule: Ask, problem_for: Make
):
    frame = people(2000, 0)
    frame["income"] = frame["income"].round(0) + 0.123456789  # no rounded middle looks like this
    found = search(Tree(), problem_for(frame, people_schema, rule, columns=["income"], target=0.9))
    after = found.minimized.transform(frame)["income"]
    assert not after.isin(frame["income"]).any()
    assert after.between(0, 1e5).all()


def test_actual_rows_stand_for_cells_where_that_is_asked_for(
    people: People, people_schema: DatasetSchema, rule: Ask, problem_for: Make
):
    problem = problem_for(people(2000, 0), people_schema, rule, columns=MINIMISED, target=0.8)
    found = search(Tree(representative="row"), problem)
    assert not any(each.exact for each in found.minimized.ranges)  # type: ignore[attr-defined]
    assert found.minimized.representative == "row"  # type: ignore[attr-defined]
    own = set(map(tuple, problem.fit.frame[MINIMISED].astype(str).to_numpy()))
    assert set(map(tuple, found.minimized.transform(people(500, 5))[MINIMISED].astype(str).to_numpy())) <= own


def test_global_ranges_are_judged_as_they_will_be_used(
    people: People, people_schema: DatasetSchema, rule: Ask, problem_for: Make
):
    problem = problem_for(people(3000, 0), people_schema, rule, columns=MINIMISED, target=0.9)
    found = search(Tree(use="ranges"), problem)
    after = found.minimized.transform(people(500, 6))
    for each in found.minimized.ranges:  # type: ignore[attr-defined]
        assert each.exact or after[each.attribute.name].nunique() <= each.partition.size
    assert agreed(found, people(3000, 7), rule) >= 0.9


def test_the_order_of_rows_does_not_matter(people: People, people_schema: DatasetSchema, rule: Ask, problem_for: Make):
    def shuffled(rows: Rows) -> Rows:
        order = np.random.default_rng(1).permutation(len(rows))
        return Rows(
            rows.frame.iloc[order], rows.answers[order], {name: each[order] for name, each in rows.codes.items()}
        )

    problem = problem_for(people(1500, 0), people_schema, rule, columns=MINIMISED, target=0.9)
    other = replace(problem, fit=shuffled(problem.fit), calibration=shuffled(problem.calibration))
    one, two = search(Tree(), problem), search(Tree(), other)
    codes = problem.calibration
    assert to_contract(one.minimized, losses(one, codes)) == to_contract(two.minimized, losses(two, codes))  # type: ignore[arg-type]
    pd.testing.assert_frame_equal(one.steps, two.steps)


def test_one_answer_to_everybody_suppresses_everything_and_says_so(
    people: People, people_schema: DatasetSchema, problem_for: Make
):
    problem = problem_for(
        people(800, 0), people_schema, lambda frame: np.zeros((len(frame), 1), dtype=np.int64), columns=MINIMISED
    )
    found = search(Tree(), problem)
    assert set(losses(found, problem.calibration).values()) == {1.0}
    assert any("one and the same answer" in note for note in found.notes)
    assert len(found.minimized.cells) == 1  # type: ignore[attr-defined]


def test_a_constant_column_loses_nothing(people: People, people_schema: DatasetSchema, rule: Ask, problem_for: Make):
    problem = problem_for(people(1000, 0), people_schema, rule, columns=["one", "age"], target=0.8)
    assert losses(search(Tree(), problem), problem.calibration)["one"] == 0


def parity_problem(problem_for: Make) -> tuple[Problem, Ask]:
    """Make one that needs a column exactly, and of another only which half."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"fine": random.integers(0, 1000, 3000), "coarse": random.integers(0, 100, 3000)})
    schema = schema_of(
        fine={"dtype": "integer", "min": 0, "max": 999}, coarse={"dtype": "integer", "min": 0, "max": 99}
    )

    def parity(rows: pd.DataFrame) -> Answers:
        return ((rows["fine"] % 2) ^ (rows["coarse"] > 50)).to_numpy(dtype=np.int64)[:, np.newaxis]

    return problem_for(frame, schema, parity, columns=["fine", "coarse"], target=0.95), parity


def test_a_column_needed_exactly_is_given_back_and_the_rest_still_generalised(problem_for: Make):
    problem, parity = parity_problem(problem_for)
    found = search(Tree(), problem)
    kept = losses(found, problem.calibration)
    assert kept["fine"] == 0
    assert kept["coarse"] > 0.3
    assert agreed(found, problem.fit.frame, parity) > 0.95
    assert found.notes[0] == "the search left these as they are: 'fine'"


def test_no_more_trees_are_grown_than_allowed(problem_for: Make):
    problem, _ = parity_problem(problem_for)
    assert losses(search(Tree(), problem, growths=2), problem.calibration)["coarse"] > 0.3
    for growths in (0, 1):
        found = search(Tree(), problem, growths=growths)
        assert set(losses(found, problem.calibration).values()) == {0.0}
        assert "nothing could be generalised" in found.notes[-1]


def test_what_is_given_back_too_much_is_taken_up_again():
    found = fit(Tree(target=0.95, use="ranges"), Learned.of(2000))
    given_back = set(found.steps["attribute"].dropna())
    exact = {each.attribute.name for each in found.minimized.ranges if each.exact}  # type: ignore[attr-defined]
    assert exact < given_back


def test_where_nothing_can_be_generalised_everything_stays_exact_and_a_note_says_so(problem_for: Make):
    frame = pd.DataFrame({"fine": np.random.default_rng(0).integers(0, 1000, 600)})
    schema = schema_of(fine={"dtype": "integer", "min": 0, "max": 999})
    problem = problem_for(
        frame, schema, lambda rows: (rows[["fine"]] % 2).to_numpy(dtype=np.int64), columns=["fine"], target=0.95
    )
    found = search(Tree(), problem)
    pd.testing.assert_frame_equal(found.minimized.transform(frame), frame)  # type: ignore[attr-defined]
    assert "nothing could be generalised" in found.notes[-1]
    assert to_contract(found.minimized, losses(found, problem.calibration)).attributes[0].collect == "exact"  # type: ignore[arg-type]


def test_values_are_grouped_by_what_the_model_makes_of_them(problem_for: Make):
    codes = np.random.default_rng(0).integers(0, 4, 2000)
    frame = pd.DataFrame({"kind": pd.Categorical.from_codes(codes, ["zero", "one", "two", "three"])})
    schema = schema_of(kind={"dtype": "category", "values": ["zero", "one", "two", "three"]})
    problem = problem_for(
        frame, schema, lambda rows: (rows[["kind"]] == "two").to_numpy(dtype=np.int64), columns=["kind"]
    )
    found = search(Tree(), problem)
    [collected] = to_contract(found.minimized, losses(found, problem.calibration)).attributes  # type: ignore[arg-type]
    assert collected.groups == [["zero", "one", "three"], ["two"]]


def test_an_unseen_category_and_a_number_outside_get_what_stands_for_others(found_of_people: Any, people: People):
    found, _ = found_of_people
    fresh = people(50, 8)
    fresh["region"] = fresh["region"].astype(object).where(np.arange(50) > 0, "atlantis").astype("string")
    fresh["age"] = fresh["age"].where(np.arange(50) > 0, 9000)
    after = found.minimized.transform(fresh)
    assert not after["region"].eq("atlantis").any()
    assert after["age"].max() <= 90


def test_a_cell_whose_representative_changes_most_of_its_answers_is_flagged(found_of_people: Any, rule: Ask):
    found, problem = found_of_people
    cells, fit = found.minimized.cells, problem.fit
    cell = cells.of(found.minimized.parts(fit.codes))
    now = found.minimized.answers(fit.frame, rule)
    for number in range(len(cells)):
        answers = fit.answers[cell == number]
        assert cells.agrees[number] == (agree(answers, now[cell == number]).mean() > 0.5)
        assert cells.labels[number, 0] == np.bincount(answers[:, 0]).argmax()


def test_cells_that_a_column_left_alone_decides_are_not_flagged(problem_for: Make):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"deciding": random.integers(0, 3, 3000), "age": random.integers(0, 100, 3000)})
    columns = {name: {"dtype": "integer", "min": 0, "max": most} for name, most in (("deciding", 2), ("age", 99))}

    def ask(rows: pd.DataFrame) -> Answers:  # in no cell of ages has one answer the majority
        return (2 * rows[["deciding"]].to_numpy() + (rows[["age"]].to_numpy() > 89)).astype(np.int64)

    found = search(Tree(), problem_for(frame, schema_of(**columns), ask, columns=["age"], target=0.95))
    assert len(found.minimized.cells) > 1  # type: ignore[attr-defined]
    assert found.minimized.cells.agrees.all()  # type: ignore[attr-defined]


def test_of_the_steps_tried_the_one_at_the_end_is_taken_and_those_that_hold_are_told(found_of_people: Any):
    found, problem = found_of_people
    steps, minimized = found.steps, found.minimized
    assert list(steps) == ["step", "attribute", "change", "ncp", "agreement", "held", "taken"]
    [last] = steps[steps["taken"] & steps["attribute"].isna()].to_dict("records")
    assert last["held"]
    assert last["change"] == f"{len(minimized.cells)} cells"
    assert last["ncp"] == pytest.approx(problem.privacy(losses(found, problem.calibration)))
    answers = minimized.answers(problem.calibration.frame, problem.ask)
    assert last["agreement"] == agreement(problem.calibration.answers, answers, regression=False)
    tried = steps[steps["attribute"].isna()]
    assert tried["held"].sum() > 1
    assert not tried["held"].all()


@pytest.mark.parametrize("use", ["ranges", "representatives"])
def test_what_is_asked_isolates_no_one(
    people: People, people_schema: DatasetSchema, rule: Ask, problem_for: Make, use: Any
):
    problem = problem_for(people(3000, 0), people_schema, rule, columns=["age", "income"], target=0.95)
    found = search(Tree(use=use), problem).minimized
    parts = found.parts(problem.fit.codes)  # type: ignore[attr-defined]
    ranges = [each for each in found.ranges if each.partition is not None]  # type: ignore[attr-defined]
    assert max(each.partition.size for each in ranges) > 10
    for each in ranges:
        assert np.bincount(parts[each.attribute.name], minlength=each.partition.size).min() >= 10


@pytest.mark.parametrize("heavy", ["one", "two"])
def test_of_two_columns_the_heavier_one_is_suppressed(problem_for: Make, heavy: str):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({name: random.integers(0, 100, 4000) for name in ("one", "two")})
    schema = schema_of(**{name: {"dtype": "integer", "min": 0, "max": 99} for name in ("one", "two")})

    def ask(rows: pd.DataFrame) -> Answers:  # the target lets one of the two answers go
        return (rows[["one", "two"]] > 89).to_numpy(dtype=np.int64)

    problem = problem_for(frame, schema, ask, columns=["one", "two"], target=0.8, weights={heavy: 5.0})
    kept = losses(search(Tree(), problem), problem.calibration)
    assert kept.pop(heavy) == 1
    assert max(kept.values()) < 0.95


def test_regression_keeps_r2(people: People, people_schema: DatasetSchema, problem_for: Make):
    frame = people(3000, 0)

    def ask(rows: pd.DataFrame) -> Answers:
        both = rows["age"] * 2.0 + rows["smoker"] * 30
        return np.column_stack([both, -both + rows["income"] / 1e3]).astype(np.float64)

    problem = problem_for(frame, people_schema, ask, columns=["age", "smoker", "income"], target=0.9, regression=True)
    found, fresh = search(Tree(), problem), people(2000, 9)
    assert agreement(ask(fresh), found.minimized.answers(fresh, ask), regression=True) >= 0.9
    assert problem.privacy(losses(found, problem.calibration)) > 0.05


def test_several_outputs_agree_together(people: People, people_schema: DatasetSchema, problem_for: Make):
    def ask(rows: pd.DataFrame) -> Answers:
        outputs = [rows["age"] > 40, rows["income"] > 20_000, rows["region"] == "west"]
        return np.column_stack(outputs).astype(np.int64)

    problem = problem_for(people(3000, 0), people_schema, ask, columns=["age", "income", "region"], target=0.9)
    found = search(Tree(), problem)
    assert agreed(found, people(2000, 10), ask) >= 0.9
    assert found.minimized.cells.labels.shape[1] == 3  # type: ignore[attr-defined]


@given(st.integers(0, 10_000))
@settings(max_examples=8, deadline=None)
def test_the_target_holds_on_fresh_rows_of_random_problems(seed: int):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(random.normal(size=(3000, 4)), columns=list("abcd"))
    schema = schema_of(**{name: {"dtype": "number", "min": -6, "max": 6} for name in "abcd"})
    signal = frame["a"] * random.normal() + frame["b"] * random.normal() + random.normal(size=3000)
    model = DecisionTreeClassifier(min_samples_leaf=20, random_state=0).fit(frame, signal > 0)

    def ask(rows: pd.DataFrame) -> Answers:
        return model.predict(rows[list("abcd")]).astype(np.int64)[:, np.newaxis]

    attributes = tuple(attributes_of(schema, ["a", "b", "c"]))
    fit, calibration, report = (
        Rows.of(part, ask(part), attributes) for part in (frame[:1400], frame[1400:2200], frame[2200:])
    )
    problem = Problem(attributes, ask, regression=False, fit=fit, calibration=calibration, report_rows=800, target=0.9)
    found = search(Tree(), problem)
    assert agree(report.answers, found.minimized.answers(report.frame, ask)).mean() >= 0.9
    # with the margin that lets the verdict be expected to hold, not just above the target
    assert problem.assured(found.minimized.answers(calibration.frame, ask))


def test_a_tiny_table_is_minimised_without_a_crash(
    people: People, people_schema: DatasetSchema, rule: Ask, problem_for: Make
):
    problem = problem_for(people(12, 0), people_schema, rule, columns=MINIMISED, target=0.5)
    search(Tree(), problem).minimized.transform(people(5, 1))  # type: ignore[attr-defined]


def test_a_model_of_numbers_is_learned_from_more_than_two_classes(
    people: People, people_schema: DatasetSchema, problem_for: Make
):
    frame = people(2500, 0)
    model = DecisionTreeRegressor(max_leaf_nodes=5, random_state=0).fit(frame[["age", "income"]], frame["age"])
    places = np.unique(model.tree_.value)

    def ask(rows: pd.DataFrame) -> Answers:
        return np.searchsorted(places, model.predict(rows[["age", "income"]]))[:, np.newaxis]

    problem = problem_for(frame, people_schema, ask, columns=["age", "income", "smoker"], target=0.9)
    found = search(Tree(), problem)
    assert losses(found, problem.calibration)["smoker"] == 1
    assert agreed(found, people(1000, 11), ask) >= 0.9
