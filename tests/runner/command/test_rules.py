"""Each rule between sections: what breaks it, and that keeping it is no fault."""

from typing import Any, ClassVar

import pytest

from components.anonymization.declarations import Guided
from runner.compose import compose_run
from schemas.faults import ConfigurationError


def test_the_dataset_of_these_tests_breaks_no_rule(mine: Any) -> None:
    mine.compose()


@pytest.mark.parametrize("key", ["target", "subject_id", "client"])
def test_columns_that_are_named_are_columns(mine: Any, key: str) -> None:
    fault = mine.fault(f"dataset.{key}=agee")
    assert (fault.place, fault.remedy) == (f"dataset.{key}", "did you mean age?")


@pytest.mark.parametrize(
    ("key", "role"), [("target", "drop"), ("target", "identifier"), ("subject_id", "drop"), ("client", "drop")]
)
def test_columns_that_the_run_works_with_are_kept(mine: Any, key: str, role: str) -> None:
    mine.vary("target: cured", "  other: {dtype: text, role: sensitive, values: [x]}\ntarget: cured")
    column = "cured" if key == "target" else "other"
    fault = mine.fault(f"dataset.{key}={column}", f"dataset.columns.{column}.role={role}")
    assert (fault.place, role in fault.problem) == (f"dataset.columns.{column}.role", True)


@pytest.mark.parametrize("key", ["subject_id", "client"])
def test_an_identifier_may_tell_persons_and_sites_apart(mine: Any, key: str) -> None:
    mine.vary("target: cured", f"  who: {{dtype: text, role: identifier}}\n{key}: who\ntarget: cured")
    mine.compose()


def test_target_and_task_come_together(mine: Any) -> None:
    assert mine.fault("dataset.task=null").place == "dataset.task"
    assert mine.fault("dataset.target=null").place == "dataset.target"


def test_a_model_needs_something_to_learn(mine: Any) -> None:
    nothing = ("dataset.target=null", "dataset.task=null")
    assert "needs a target" in mine.fault(*nothing).problem
    mine.compose(*nothing, "model=none", "anonymization=none")


def test_a_model_does_its_tasks_only(mine: Any) -> None:
    assert "classification" in mine.fault("model=linear").problem


def test_a_target_that_may_be_missing_needs_its_rows_dropped(mine: Any) -> None:
    assert "nullable" in mine.fault("dataset.columns.cured.nullable=true").place
    mine.compose("dataset.columns.cured.nullable=true", "dataset.missing.rows=drop")


@pytest.mark.parametrize("typed", ["minimization=tree", "minimization=greedy", "minimization.min_rows=5"])
def test_minimisation_that_was_chosen_needs_a_model(mine: Any, typed: str) -> None:
    fault = mine.fault("model=none", "anonymization=none", typed)
    assert fault.place == "minimization.name"
    assert "there is no model" in fault.problem


def test_minimisation_by_default_is_passed_over_without_a_model(mine: Any) -> None:
    assert mine.compose("model=none", "anonymization=none").config.minimization.name != "none"
    mine.compose("model=none", "anonymization=none", "minimization=none")


@pytest.mark.parametrize(
    ("columns", "problem", "remedy"),
    [
        ("[agee]", "'agee' is no column of the schema", "did you mean age?"),
        ("[zzz]", "'zzz' is no column of the schema", "correct the name"),
        ("[age, cured]", "'cured' is the target, and no input of the model", "leave it out"),
        ("[name]", "'name' is an identifier, and no input of the model", "leave it out"),
        ("[age, age]", "'age' is named 2 times", "name it once"),
    ],
)
def test_what_is_minimised_is_what_the_model_sees(mine: Any, columns: str, problem: str, remedy: str) -> None:
    mine.vary("target: cured", "  name: {dtype: text, role: identifier}\ntarget: cured")
    fault = mine.fault("minimization=tree", f"minimization.columns={columns}")
    assert (fault.place, fault.problem, fault.remedy) == ("minimization.columns", problem, remedy)
    mine.compose("minimization=tree", "minimization.columns=[age, ward]")
    assert mine.compose("minimization=tree", "minimization.columns=age").config.minimization.columns == ["age"]


HOT = "{dtype: integer, role: insensitive, min: 0, max: 1, group: %s}"
TOO_BIG = "{dtype: integer, role: insensitive, min: 0, max: 9007199254740993000}"


def test_one_hot_columns_are_minimised_together(mine: Any) -> None:
    columns = "".join(f"  home_{name}: {HOT % 'home'}\n" for name in ("own", "rent", "free"))
    mine.vary("target: cured", f"{columns}target: cured")
    fault = mine.fault("minimization=tree", "minimization.columns=[age, home_own]")
    assert fault.problem == "1 of the 3 one-hot columns of group 'home' are named"
    assert fault.remedy == "add 'home_rent', 'home_free'"
    mine.compose("minimization=tree", "minimization.columns=[home_own, home_free, home_rent]")
    mine.compose("minimization=tree")


def test_a_group_is_not_called_as_another_column(mine: Any) -> None:
    mine.vary("target: cured", f"  hot: {HOT % 'age'}\ntarget: cured")
    assert "'age' is a column and also a group" in mine.fault("minimization=tree").problem
    mine.compose("minimization=tree", "minimization.columns=[hot]")


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ("{dtype: integer, role: insensitive, min: 0, max: 9007199254740993000}", "reaches beyond 2^53"),
        ("{dtype: integer, role: insensitive, min: 0.2, max: 0.8}", "no whole number"),
        ("{dtype: number, role: insensitive, min: -1.7e+308, max: 1.7e+308}", "too wide"),
    ],
)
def test_domains_that_minimisation_refuses_are_told_before_anything_runs(mine: Any, column: str, problem: str) -> None:
    mine.vary("target: cured", f"  big: {column}\ntarget: cured")
    fault = mine.fault("minimization=tree")
    assert (fault.place, problem in fault.problem) == ("dataset.columns.big", True)
    mine.compose("minimization=none")
    mine.compose("minimization=tree", "minimization.columns=[age]")


def test_a_target_is_no_one_hot_column_of_inputs(mine: Any) -> None:
    mine.vary("target: cured", f"  a: {HOT % 'g'}\n  b: {HOT % 'g'}\ntarget: cured")
    mine.compose("minimization=tree")
    fault = mine.fault("minimization=tree", "+dataset.columns.cured.group=g")
    assert fault.place == "dataset.columns.cured.group"
    assert "a target, and a one-hot column of group g" in fault.problem


@pytest.mark.parametrize(
    ("one", "problem"),
    [
        ("{dtype: integer, role: insensitive, min: 0, max: 99, group: g}", "its bounds are others than 0 and 1"),
        ("{dtype: number, role: insensitive, min: 0, max: 0.5, group: g}", "its bounds are others than 0 and 1"),
        ("{dtype: category, role: insensitive, values: [a], group: g}", "neither a number nor a boolean"),
    ],
)
def test_a_group_that_is_not_one_hot_is_a_fault(mine: Any, one: str, problem: str) -> None:
    mine.vary("target: cured", f"  a: {one}\n  b: {HOT % 'g'}\n  big: {TOO_BIG}\ntarget: cured")
    faults = mine.faults("minimization=tree")
    assert [each.place for each in faults] == ["dataset.columns.big", "dataset.columns.a"]
    assert problem in faults[1].problem


@pytest.mark.parametrize(
    ("key", "value"), [("target", "1"), ("target", "0"), ("calibration_share", "1"), ("columns", "[]")]
)
def test_parameters_of_minimisation_are_in_range(mine: Any, key: str, value: str) -> None:
    assert mine.fault("minimization=tree", f"minimization.{key}={value}").place == f"minimization.{key}"


@pytest.mark.parametrize("weight", ["0", "-1", ".inf"])
def test_a_sensitivity_is_a_positive_number(mine: Any, weight: str) -> None:
    assert mine.fault(f"+dataset.columns.age.sensitivity={weight}").place == "dataset.columns.age.sensitivity"
    mine.compose("+dataset.columns.age.sensitivity=3")


def test_columns_without_a_role_are_listed(mine: Any) -> None:
    mine.vary("role: quasi_identifier, values", "values")
    assert "without a role: sex" in mine.fault().problem
    mine.compose("dataset.undeclared=drop")


def test_a_method_that_follows_a_model_has_one(mine: Any) -> None:
    assert mine.fault("model=none").place == "anonymization.name"
    mine.compose("model=none", "anonymization=none")


def test_there_is_something_to_anonymise(mine: Any) -> None:
    bare = ("dataset.columns.age.role=insensitive", "dataset.columns.sex.role=insensitive")
    assert "quasi_identifier" in mine.fault(*bare).problem
    mine.compose(*bare, "anonymization=none")


def test_a_method_that_climbs_hierarchies_has_them_all(mine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Climbing(Guided):
        needs_hierarchies: ClassVar[bool] = True

    monkeypatch.setattr("components.anonymization.declarations.Guided", Climbing)
    assert "age, sex" in mine.fault().problem
    mine.compose("dataset.columns.age.hierarchy=h.csv", "dataset.columns.sex.hierarchy=h.csv")


def criteria(*entries: str) -> str:
    return f"anonymization.criteria=[{','.join(entries)}]"


def test_a_criterion_names_its_column_unless_there_is_only_one(mine: Any) -> None:
    mine.compose(criteria("{name: l_distinct, l: 2}"))
    two = "dataset.columns.cured.role=sensitive"
    assert mine.fault(two, criteria("{name: l_distinct, l: 2}")).place == "anonymization.criteria.0.column"
    mine.compose(two, criteria("{name: t, t: 0.3, column: ward}"))


def test_a_criterion_is_on_a_sensitive_column(mine: Any) -> None:
    fault = mine.fault(criteria("{name: t, t: 0.3, column: wrd}"))
    assert fault.remedy == "did you mean ward?"
    assert "none" in mine.fault("dataset.columns.ward.role=insensitive", criteria("{name: t, t: 0.3}")).problem


def test_a_criterion_is_asked_for_once(mine: Any) -> None:
    twice = criteria("{name: t, t: 0.3}", "{name: t, t: 0.2, column: ward}")
    assert mine.fault(twice).place == "anonymization.criteria.1"
    mine.compose(criteria("{name: t, t: 0.3}", "{name: t, t: 0.2, others: known}"))
    mine.compose(criteria("{name: l_recursive, l: 2, c: 3}", "{name: alpha, alpha: 0.6}", "{name: l_distinct, l: 2}"))


def test_a_distance_is_one_that_the_column_knows(mine: Any) -> None:
    fault = mine.fault(criteria("{name: t, t: 0.3, distance: ordered}"))
    assert (fault.place, "no order" in fault.problem) == ("anonymization.criteria.0.distance", True)
    fault = mine.fault(criteria("{name: t, t: 0.3, distance: hierarchical}"))
    assert (fault.place, "needs a hierarchy" in fault.problem) == ("anonymization.criteria.0.distance", True)
    mine.compose(criteria("{name: t, t: 0.3, distance: equal}"))
    mine.vary("role: sensitive, values: [a, b]", "role: sensitive, values: [a, b], hierarchy: '*'")
    mine.compose(criteria("{name: t, t: 0.3, distance: hierarchical}"))
    mine.vary("ward: {dtype: category", "ward: {dtype: ordered")
    mine.compose(criteria("{name: t, t: 0.3, distance: ordered}"))


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        ("{name: l_distinct, l: 3}", "at most 2"),
        ("{name: l_entropy, l: 2.1}", "at most 2"),
        ("{name: l_recursive, l: 3, c: 1}", "at most 2"),
        ("{name: alpha, alpha: 0.4}", "at least 0.5"),
    ],
)
def test_more_than_the_declared_values_allow_is_refused(mine: Any, asked: str, allowed: str) -> None:
    fault = mine.fault(criteria(asked))
    assert ("declares 2 values" in fault.problem, fault.allowed) == (True, allowed)
    mine.compose(criteria(asked), "dataset.columns.ward.nullable=true")


@pytest.mark.parametrize(
    ("asked", "limit", "allowed"),
    [
        ("{name: alpha, alpha: 0.333333}", "0.333333", "at least 0.333334"),
        ("{name: l_entropy, l: 3.0000001}", "3.0000001", "at most 3"),
    ],
)
def test_a_limit_just_out_of_reach_is_told_from_the_one_within(mine: Any, asked: str, limit: str, allowed: str) -> None:
    three = "dataset.columns.ward.values=[a, b, c]"
    fault = mine.fault(criteria(asked), three)
    assert (fault.problem.split(" ")[0], fault.allowed) == (limit, allowed)
    mine.compose(criteria(asked.replace(limit, allowed.rsplit(" ", maxsplit=1)[-1])), three)


@pytest.mark.parametrize(
    "asked", ["{name: alpha, alpha: 0.9}", "{name: l_distinct, l: 2}", "{name: l_entropy, l: 1.1}"]
)
def test_no_limit_is_advised_where_none_can_be_met(mine: Any, asked: str) -> None:
    fault = mine.fault(criteria(asked), "dataset.columns.ward.values=[a]")
    assert (fault.allowed, "leave the criterion out" in fault.remedy) == ("no limit can be met", True)


def test_k_in_a_population_needs_one(mine: Any) -> None:
    asked = criteria("{name: k_map, k: 5}")
    assert mine.fault(asked).place == "anonymization.criteria.0"
    mine.compose(asked, "+dataset.population.size=1000")


def test_all_that_is_wrong_with_criteria_is_told_at_once(mine: Any) -> None:
    asked = criteria("{name: l_distinct, l: 9}", "{name: k_map, k: 5}", "{name: t, t: 0.3, column: wrd}")
    places = {fault.place for fault in mine.faults(asked)}
    assert places == {f"anonymization.criteria.{place}" for place in ("0.l", "1", "2.column")}


def test_names_and_keys_of_criteria_get_a_suggestion(mine: Any) -> None:
    assert "did you mean l_distinct?" in str(mine.fault(criteria("{name: l_distnct, l: 2}")))
    assert "did you mean anonymization.criteria.0.distance?" in str(
        mine.fault(criteria("{name: t, t: 0.3, distnce: equal}"))
    )


def test_lists_that_must_hold_something_say_so(mine: Any) -> None:
    fault = mine.fault("anonymization=pipeline", "anonymization.steps=[]")
    assert (fault.problem, fault.allowed) == (
        "an empty list is not allowed",
        "must be a list that is not empty, each entry a mapping",
    )
    fault = mine.fault("anonymization=pipeline", "anonymization.steps=[{name: suppress, columns: []}]")
    assert (fault.place, fault.allowed) == (
        "anonymization.steps.0.columns",
        "must be a list that is not empty, each entry text",
    )


def test_a_criterion_is_a_mapping_with_a_name(mine: Any) -> None:
    fault = mine.fault(criteria("5"))
    assert fault.place == "anonymization.criteria.0"
    assert fault.allowed.startswith("must be a mapping with name: one of k, l_distinct, ")
    assert "absent" not in fault.allowed


SEARCHED = ("dataset.columns.age.hierarchy='*'", "dataset.columns.sex.hierarchy='*'")


@pytest.mark.parametrize(
    ("options", "place", "said"),
    [
        (("anonymization=lattice", "+anonymization.levels.agee={max: 1}"), "levels.agee", "did you mean age?"),
        (("anonymization=lattice", "+anonymization.levels.age={min: 2, max: 1}"), "levels.age", "exchange or"),
        (("anonymization=lattice", "+anonymization.weights.ward=2.0"), "weights.ward", "correct the name"),
        (
            ("anonymization=lattice", "+anonymization.weights.age=2.0", "anonymization.quality=ambiguity"),
            "weights",
            "leave the weights out",
        ),
        (("anonymization=mondrian", "+anonymization.weights.sexx=2.0"), "weights.sexx", "did you mean sex?"),
    ],
)
def test_weights_and_levels_are_judged_before_any_data(mine: Any, options: Any, place: str, said: str) -> None:
    fault = mine.fault(*SEARCHED, *options)
    assert fault.place == f"anonymization.{place}"
    assert said in fault.remedy


def test_weights_and_levels_of_quasi_identifiers_are_none_of_the_faults(mine: Any) -> None:
    mine.compose(
        *SEARCHED,
        "anonymization=lattice",
        "+anonymization.weights.age=2.0",
        "+anonymization.levels.sex={min: 1, max: 1}",
    )
    mine.vary("role: quasi_identifier, values: [f, m]", "role: quasi_identifier, values: [f, m], group: one")
    mine.compose("anonymization=mondrian", "+anonymization.weights.one=2.0")
    assert mine.fault("anonymization=mondrian", "+anonymization.weights.sex=2.0").place == "anonymization.weights.sex"


def test_a_k_in_the_criteria_wins_over_the_one_that_ships(mine: Any) -> None:
    assert mine.compose(criteria("{name: k, k: 9}")).config.anonymization.criteria[0].k == 9


def test_two_k_that_someone_gave_are_a_contradiction(mine: Any) -> None:
    assert "anonymization.k=7" in mine.fault("anonymization.k=7", criteria("{name: k, k: 9}")).problem
    mine.compose("anonymization.k=9", criteria("{name: k, k: 9}"))
    mine.compose("anonymization.k=7", criteria('{name: k, k: "${anonymization.k}"}'))


def test_a_k_given_in_a_file_contradicts_as_well(mine: Any) -> None:
    mine.write("experiment/twice", "# @package _global_\nanonymization: {k: 7, criteria: [{name: k, k: 9}]}\n")
    assert "options/experiment/twice.yaml" in mine.fault("experiment=twice").problem


def test_inputs_without_values_or_bounds_are_named_with_both_remedies(mine: Any) -> None:
    mine.vary("min: 0, max: 120", "min: 0")
    mine.write("dataset/toy", (mine.folder / "dataset/toy.yaml").read_text().replace(", values: [a, b]", ""))
    fault = mine.fault()
    assert "age, ward" in fault.problem
    assert "min and max" in fault.remedy
    assert "encoder.learn=true" in fault.remedy
    mine.compose("encoder.learn=true")
    mine.compose("model=none", "anonymization=none")


def test_the_target_is_no_input(mine: Any) -> None:
    mine.vary(', values: ["yes", "no"]', "")
    mine.compose()


def test_a_faulty_column_has_no_faults_that_only_follow_from_it(mine: Any) -> None:
    assert mine.fault("dataset.columns.sex.values=[1]").place == "dataset.columns.sex.values"
    assert mine.fault("dataset.columns.sex.role=rol").place == "dataset.columns.sex.role"


def test_a_faulty_value_is_not_called_missing_as_well(mine: Any) -> None:
    assert "'clasification' is not allowed" in mine.fault("dataset.task=clasification").problem


def test_rules_are_judged_although_a_type_is_wrong(mine: Any) -> None:
    faults = mine.faults("dataset.target=agee", "dataset.split.test=5", "model.n_estimators=no", "anonymization.k=1")
    assert {fault.place for fault in faults} == {
        "dataset.target",
        "dataset.split.test",
        "model.n_estimators",
        "anonymization.k",
    }


def test_a_learned_encoder_voids_differential_privacy() -> None:
    compose_run(["experiment=hospitals", "dp=none", "encoder.learn=true"])
    with pytest.raises(ConfigurationError) as told:
        compose_run(["experiment=hospitals", "encoder.learn=true"])
    assert [fault.place for fault in told.value.faults] == ["encoder.learn"]
