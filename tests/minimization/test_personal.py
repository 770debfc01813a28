"""Asking for features one at a time: what is asked of whom, and that the answers hold."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from components.minimization.declarations import Personal
from components.minimization.personal import method
from components.minimization.personal.method import search
from components.minimization.personal.questions import NONE, Questions
from components.minimization.problem import Answers, Ask, Problem, agree, agreement
from schemas.dataset import DatasetSchema
from schemas.faults import DataError

Frames = Callable[[int, int], pd.DataFrame]
Problems = Callable[..., Problem]


def bits(rows: int, names: str, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame({name: random.integers(0, 2, rows) for name in names})


def schema_of(frame: pd.DataFrame, **changes: dict[str, Any]) -> DatasetSchema:
    columns = {
        name: {"dtype": "integer", "role": "quasi_identifier", "min": 0, "max": int(frame[name].max())}
        | changes.get(name, {})
        for name in frame.columns
    }
    return DatasetSchema.model_validate({"name": "made", "source": None, "columns": columns})


def found(problem: Problem, **params: Any) -> Questions:
    questions = search(Personal(**params), problem).minimized
    assert isinstance(questions, Questions)
    return questions


def column(values: Any) -> Answers:
    return np.asarray(values, dtype=np.int64)[:, np.newaxis]


def branches(frame: pd.DataFrame) -> Answers:
    """Answer by one of four pairs, by whether its two are equal; a and b say which: nobody needs more than one pair."""
    pairs = [frame["c"] ^ frame["d"], frame["e"] ^ frame["f"], frame["g"] ^ frame["h"], frame["i"] ^ frame["j"]]
    return column(np.select([2 * frame["a"] + frame["b"] == place for place in range(4)], pairs))


def either_or(frame: pd.DataFrame) -> Answers:
    return column(frame["c"] ^ frame["f"])


def asked_in_order(frame: pd.DataFrame, answers: Answers, order: list[str], delta: float) -> npt.NDArray[np.int64]:
    """Ask in one order, whoever it is, until the answer is sure by the same bound; return how many are asked."""
    from components.minimization.personal.evidence import Classes

    evidence = Classes.of(answers, delta)
    left, asked = np.arange(len(frame)), np.full(len(frame), len(order))
    for turn in range(len(order)):
        known = frame[order[:turn]].assign(all=0).iloc[left]
        for rows in known.groupby(list(known.columns)).indices.values():
            if evidence.sure(left[rows]):
                asked[left[rows]] = turn
        left = left[asked[left] == len(order)]
    return asked


def test_each_branch_is_asked_for_what_it_needs_and_no_order_for_all_does_as_well(problem_for: Problems) -> None:
    frame = bits(6000, "abcdefghij")
    questions = found(problem_for(frame, schema_of(frame), branches), delta=0.05)
    codes = questions.encode(frame)
    assert questions.figures(codes) == {"features_asked_mean": 4, "features_asked_p90": 4, "asked_everything": 0}
    asked = pd.DataFrame(questions.asked(codes), columns=list(frame.columns))
    assert asked[["a", "b"]].all(axis=None)
    for place, pair in enumerate(("cd", "ef", "gh", "ij")):
        assert (asked[list(pair)].all(axis=1) == (2 * frame["a"] + frame["b"] == place)).all()
    orders = ("abcdefghij", "cdabefghij", "cdefabghij")  # all others are like one of these, or worse
    assert min(asked_in_order(frame, branches(frame), list(order), 0.05).mean() for order in orders) > 6.9


def test_two_attributes_that_matter_only_together_are_both_found(problem_for: Problems) -> None:
    frame = bits(4000, "abcdefgh")
    questions = found(problem_for(frame, schema_of(frame), either_or), delta=0.05)
    codes = questions.encode(frame)
    assert questions.figures(codes)["features_asked_mean"] == 2
    needed = questions.needed(codes).set_index("attribute")
    assert needed["asked"].to_dict() == {name: float(name in "cf") for name in "abcdefgh"}
    assert needed["position"].max() <= 2
    assert agree(either_or(frame), questions.answers(frame, either_or)).all()


def test_the_answers_hold_on_fresh_rows(
    people: Frames, people_schema: DatasetSchema, rule: Any, problem_for: Problems
) -> None:
    kept = []
    for seed in range(3):
        frame = people(4000, seed)
        fresh = people(4000, seed + 100)
        questions = found(problem_for(frame, people_schema, rule, target=0.95), delta=0.05)
        kept.append(agreement(rule(fresh), questions.answers(fresh, rule), regression=False))
        assert questions.figures(questions.encode(fresh))["features_asked_mean"] < 6.5
    assert min(kept) >= 0.95


def test_ends_that_answer_by_themselves_are_sure_one_by_one(
    people: Frames, people_schema: DatasetSchema, rule: Any, problem_for: Problems
) -> None:
    frame, fresh = people(6000, 3), people(30_000, 4)
    questions = found(problem_for(frame, people_schema, rule, target=0.95), delta=0.05)
    ends = questions.ends(questions.encode(fresh))
    same = pd.Series(agree(rule(fresh), questions.answers(fresh, rule))).groupby(ends).agg(["mean", "size"])
    large = same[same["size"] > 500]
    assert len(large) > 5
    assert (large["mean"] >= 0.95).mean() >= 0.9


def test_numbers_keep_their_r2(people: Frames, people_schema: DatasetSchema, problem_for: Problems) -> None:
    def ask(frame: pd.DataFrame) -> Answers:
        one = frame["age"].to_numpy(dtype=np.float64) + 40.0 * frame["smoker"].to_numpy(dtype=np.float64)
        return np.column_stack([one, np.full(len(frame), 7.3)])

    frame, fresh = people(4000, 0), people(2000, 1)
    questions = found(problem_for(frame, people_schema, ask, regression=True, target=0.95), delta=0.05)
    codes = questions.encode(fresh)
    assert questions.figures(codes)["features_asked_mean"] <= 2
    assert agreement(ask(fresh), questions.answers(fresh, ask), regression=True) >= 0.95


def test_one_answer_for_all_asks_nothing_and_says_so(
    people: Frames, people_schema: DatasetSchema, problem_for: Problems
) -> None:
    def ask(frame: pd.DataFrame) -> Answers:
        return column(np.full(len(frame), 4))

    frame = people(500, 0)
    result = search(Personal(delta=0.05), problem_for(frame, people_schema, ask))
    questions = result.minimized
    assert isinstance(questions, Questions)
    assert result.notes == ("the model answers all fit rows alike",)
    assert not questions.asked(questions.encode(frame)).any()
    assert set(questions.losses(questions.encode(frame)).values()) == {0.0, 1.0}  # a constant column has none
    assert (questions.answers(frame, _never) == 4).all()


def test_answers_that_hang_on_everything_are_left_to_the_model(problem_for: Problems) -> None:
    def parity(frame: pd.DataFrame) -> Answers:
        return column(frame.sum(axis=1) % 2)

    frame = bits(600, "abcdefghij")
    result = search(Personal(delta=0.05), problem_for(frame, schema_of(frame), parity))
    questions = result.minimized
    assert isinstance(questions, Questions)
    codes = questions.encode(frame)
    assert result.notes == ("no answer was shown to be sure before everything was asked",)
    assert questions.figures(codes) == {"features_asked_mean": 10, "features_asked_p90": 10, "asked_everything": 1}
    assert agree(parity(frame), questions.answers(frame, parity)).all()
    assert questions.needed(codes)["position"].eq(1).all()


def test_the_model_sees_those_alone_of_whom_everything_is_asked(
    people: Frames, people_schema: DatasetSchema, rule: Any, problem_for: Problems
) -> None:
    seen: list[pd.Index] = []

    def spy(frame: pd.DataFrame) -> Answers:
        seen.append(frame.index)
        return np.asarray(rule(frame))

    questions = found(problem_for(people(3000, 0), people_schema, rule, target=0.95), delta=0.05)
    fresh = people(700, 1)
    codes = questions.encode(fresh)
    questions.answers(fresh, spy)
    everything = questions.nodes.answer[questions.ends(codes)] == NONE
    assert 0 < everything.sum() < len(fresh)
    assert len(seen) == 1
    assert seen[0].equals(fresh.index[everything])


def test_the_same_rows_in_another_order_give_the_same_questions(
    people: Frames, people_schema: DatasetSchema, rule: Any, problem_for: Problems
) -> None:
    frame = people(1500, 0)
    one = problem_for(frame, people_schema, rule)
    turned = np.concatenate([np.random.default_rng(1).permutation(900), np.arange(900, 1500)])
    other = problem_for(frame.iloc[turned], people_schema, rule)
    first, second = found(one, delta=0.05), found(other, delta=0.05)
    for name in ("attribute", "cut", "values", "missing_left", "left", "right", "answer"):
        np.testing.assert_array_equal(getattr(first.nodes, name), getattr(second.nodes, name))


def test_of_two_that_say_the_same_the_less_sensitive_is_asked(problem_for: Problems) -> None:
    frame = bits(1000, "abc").assign(copy=lambda frame: frame["a"])

    def ask(frame: pd.DataFrame) -> Answers:
        return column(frame["a"])

    for weights, asked in (({"a": 3.0}, "copy"), ({"copy": 3.0}, "a")):
        questions = found(problem_for(frame, schema_of(frame), ask, weights=weights), delta=0.05)
        assert questions.losses(questions.encode(frame)) == {n: float(n != asked) for n in frame.columns}


def test_every_question_leads_to_an_answer(
    people: Frames, people_schema: DatasetSchema, rule: Any, problem_for: Problems
) -> None:
    nodes = found(problem_for(people(1500, 0), people_schema, rule), delta=0.05).nodes
    asking = np.flatnonzero(nodes.attribute != NONE)
    for node in asking:
        below = [nodes.left[node], nodes.right[node]]
        assert min(below) > node
        assert (nodes.answer[below] != NONE).any() or (nodes.attribute[below] != NONE).any()
    reached = np.sort(np.concatenate([nodes.left[asking], nodes.right[asking]]))
    np.testing.assert_array_equal(reached, np.arange(1, len(nodes)))


def test_the_margin_closes_ends_where_the_target_is_beyond_delta(
    people: Frames, people_schema: DatasetSchema, rule: Any, problem_for: Problems
) -> None:
    frame = people(3000, 0)
    shares = []
    for target in (0.9, 0.999):
        questions = found(problem_for(frame, people_schema, rule, target=target, report_rows=10_000), delta=0.1)
        shares.append(questions.figures(questions.encode(frame))["asked_everything"])
    assert shares[0] < shares[1]


def test_values_outside_the_domain_never_come_to_the_model(problem_for: Problems) -> None:
    frame = bits(600, "abcdefghij")
    seen: list[pd.DataFrame] = []

    def parity(frame: pd.DataFrame) -> Answers:
        seen.append(frame)
        return column(frame.sum(axis=1) % 2)

    questions = found(problem_for(frame, schema_of(frame), parity), delta=0.05)
    questions.answers(frame.assign(a=999), parity)
    assert (seen[-1]["a"] == 1).all()
    refusing = found(problem_for(frame, schema_of(frame), parity), delta=0.05, outside="refuse")
    with pytest.raises(DataError, match=r"column 'a': 600 of 600") as error:
        refusing.answers(frame.assign(a=999), parity)
    assert "999" not in str(error.value)


def test_an_unseen_category_and_a_missing_cell_are_asked_on(
    people: Frames, people_schema: DatasetSchema, rule: Any, problem_for: Problems
) -> None:
    questions = found(problem_for(people(2000, 0), people_schema, rule), delta=0.05)
    fresh = people(50, 1).assign(region="canary", height=np.nan, visits=pd.array([pd.NA] * 50, dtype="Int64"))
    assert questions.answers(fresh, rule).shape == (50, 1)


def test_no_rows_are_no_trouble(people: Frames, people_schema: DatasetSchema, rule: Any, problem_for: Problems) -> None:
    questions = found(problem_for(people(800, 0), people_schema, rule), delta=0.05)
    empty = people(5, 1).iloc[:0]
    assert questions.answers(empty, rule).shape == (0, 1)
    assert set(questions.losses(questions.encode(empty)).values()) == {0.0}
    assert questions.figures(questions.encode(empty))["features_asked_mean"] == 0


def test_several_outputs_are_kept_together(problem_for: Problems) -> None:
    def ask(frame: pd.DataFrame) -> Answers:
        return np.column_stack([frame["a"], frame["b"] * 2]).astype(np.int64)

    frame = bits(2000, "abcd")
    questions = found(problem_for(frame, schema_of(frame), ask), delta=0.05)
    assert questions.figures(questions.encode(frame))["features_asked_mean"] == 2
    assert (questions.answers(frame, ask) == ask(frame)).all()


def twist(frame: pd.DataFrame) -> Answers:
    """Answer by numbers that have to be known ever more exactly, one far from the other."""
    income, age = (frame[name].to_numpy(dtype=np.float64) for name in ("income", "age"))
    return column(np.sin(income / 3000) + np.cos(age / 5) * frame["smoker"].to_numpy(dtype=np.float64) > 0.5)


@pytest.mark.parametrize("search", [(700, 0, 10), (2000, 1, 10), (2000, 2, 5), (4000, 3, 40)])
@pytest.mark.parametrize("regression", [False, True])
def test_no_question_leaves_fewer_fit_rows_than_min_rows_on_a_side(
    people: Frames,
    people_schema: DatasetSchema,
    problem_for: Problems,
    search: tuple[int, int, int],
    *,
    regression: bool,
) -> None:
    """Made-up rows take the values of single persons: however many there are, they are nobody's."""

    def ask(frame: pd.DataFrame) -> Answers:
        return twist(frame) * 3.7 + frame[["age"]].to_numpy() if regression else twist(frame)

    rows, seed, min_rows = search
    problem = problem_for(people(rows, seed), people_schema, ask, target=0.9, regression=regression, seed=seed)
    questions = found(problem, delta=0.1, min_rows=min_rows)
    ends = questions.ends(problem.fit.codes)
    here = np.bincount(ends, minlength=len(questions.nodes))
    assert here[questions.nodes.ends].min() >= min_rows
    assert here[questions.nodes.ends].sum() == len(problem.fit)


def test_what_was_asked_stays_known(problem_for: Problems) -> None:
    def ask(frame: pd.DataFrame) -> Answers:
        return column(frame["age"].between(30, 60) & (frame["a"] == 1))

    frame = bits(3000, "abc").assign(age=lambda frame: np.arange(len(frame)) % 90)
    questions = found(problem_for(frame, schema_of(frame), ask), delta=0.05)
    codes = questions.encode(frame)
    asked = pd.DataFrame(questions.asked(codes), columns=list(frame.columns))
    needs_both = (frame["a"] == 1) if asked["a"].all() else frame["age"].between(29, 61)
    assert not asked[["b", "c"]].any(axis=None)
    assert (asked["a"] & asked["age"] & ~needs_both).mean() < 0.02
    assert agree(ask(frame), questions.answers(frame, ask)).mean() > 0.98


def test_an_end_that_calibration_rows_refute_asks_everything(problem_for: Problems) -> None:
    def ask(frame: pd.DataFrame) -> Answers:
        return column((frame["a"] == 1) & (frame["b"] == 1) | (frame["a"] == 0) & (frame["c"] == 1))

    frame = bits(3000, "abcd")
    frame.loc[: 0.6 * 3000 - 1, "b"] *= 1 - frame["a"]  # among the fit rows, b is never 1 where a is
    questions = found(problem_for(frame, schema_of(frame), ask, target=0.5), delta=0.05)
    later = frame.iloc[1800:]
    assert agree(ask(later), questions.answers(later, ask)).all()


def test_a_value_that_no_row_has_goes_the_way_of_the_more_rows(problem_for: Problems) -> None:
    values = ["rare", "one", "two", "three", "never"]
    schema = schema_of(bits(2, "xy"), x={"dtype": "category", "values": values, "min": None, "max": None})
    place = np.random.default_rng(0).choice(4, 2000, p=[0.2, 0.3, 0.3, 0.2])
    frame = bits(2000, "y").assign(x=pd.Categorical.from_codes(place, values))
    for sign in (0, 1):
        questions = found(
            problem_for(frame, schema, lambda rows, sign=sign: column((rows["x"] == "rare") ^ sign)), delta=0.05
        )
        fresh = frame.iloc[:5].assign(x=pd.Categorical(["never"] * 5, values))
        standing = questions if not questions.spare else replace(questions, spare=())
        end = standing.ends(standing.encode(fresh))
        answer = questions.nodes.answer[end]
        told = questions.labels[answer] if (answer != NONE).all() else np.full((5, 1), sign)
        assert (told == sign).all()


def test_what_the_model_hardly_uses_is_not_asked_even_where_everything_is(
    people: Frames, people_schema: DatasetSchema, rule: Any, problem_for: Problems
) -> None:
    frame = people(3000, 0)
    questions = found(problem_for(frame, people_schema, rule), delta=0.05)
    assert {"visits", "branch", "zip", "born", "house", "one"} <= set(questions.spare)
    assert not {"age", "income", "smoker"} & set(questions.spare)
    ends = questions.ends(questions.encode(frame))
    assert (questions.nodes.answer[ends] == NONE).any()
    assert questions.figures(questions.encode(frame))["features_asked_p90"] <= 6


def test_nothing_is_spared_that_the_target_needs(problem_for: Problems, monkeypatch: pytest.MonkeyPatch) -> None:
    def parity(frame: pd.DataFrame) -> Answers:
        return column(frame.sum(axis=1) % 2)

    monkeypatch.setattr(method, "spare_ones", lambda *_: ("a",))
    frame = bits(600, "abcdefghij")
    questions = found(problem_for(frame, schema_of(frame), parity), delta=0.05)
    assert questions.spare == ()
    assert agree(parity(frame), questions.answers(frame, parity)).all()


def test_made_up_rows_save_questions_where_rows_are_few(problem_for: Problems, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    frame = pd.DataFrame(random.integers(0, 100, (5000, 10)), columns=list("abcdefghij"))
    score = 1.5 * (frame["a"] > 50) + (frame["b"] > 30) + frame["c"] / 50 + (frame["d"] > 70) + 0.7 * (frame["e"] > 50)
    model = DecisionTreeClassifier(min_samples_leaf=20, random_state=0)
    model.fit(frame, score + random.normal(0, 0.5, len(frame)) > 3)

    def ask(frame: pd.DataFrame) -> Answers:
        return column(model.predict(frame))

    problem = problem_for(frame, schema_of(frame), ask)
    monkeypatch.setattr(method, "spare_ones", lambda *_: ())
    with_them = found(problem, delta=0.05)
    monkeypatch.setattr(method, "supplemented", lambda _growth, material, *_: material)
    without = found(problem, delta=0.05)
    means = [each.figures(each.encode(frame))["features_asked_mean"] for each in (with_them, without)]
    assert means[0] < means[1] - 0.1
    assert agree(ask(frame), with_them.answers(frame, ask)).mean() > 0.98


def _never(frame: pd.DataFrame) -> Answers:
    raise AssertionError(f"the model was asked about {len(frame)} rows")


def test_a_column_without_a_known_value_is_passed_over(
    people: Any, people_schema: DatasetSchema, rule: Ask, problem_for: Any
) -> None:
    frame = people(1200, 3).assign(height=np.nan, grade=pd.Categorical([None] * 1200, ["none", "some", "much"]))
    found = search(Personal(), problem_for(frame, people_schema, rule, columns=["age", "income", "height", "grade"]))
    told = found.minimized.answers(frame, rule)
    assert len(told) == len(frame)
