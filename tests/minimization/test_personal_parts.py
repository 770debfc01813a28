"""What personal disclosure is made of: bounds, splits, and the walk through the questions."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.minimization.attributes import BELOW, Attribute, attributes_of, encoded
from components.minimization.personal.bins import Binned, best_split, told
from components.minimization.personal.evidence import Classes, Integers, Numbers
from components.minimization.personal.growing import Growth, Material, grow
from components.minimization.personal.questions import NONE, Nodes, Questions
from schemas.dataset import DatasetSchema

Frames = Callable[[int, int], pd.DataFrame]
NAMES = ("age", "visits", "region", "grade", "member", "house")


def places(count: int) -> Integers:
    return np.arange(count)


@pytest.mark.parametrize(("delta", "rows", "wrong"), [(0.05, 59, 0), (0.05, 93, 1), (0.01, 299, 0)])
def test_an_answer_is_sure_as_clopper_and_pearson_have_it(delta: float, rows: int, wrong: int) -> None:
    evidence = Classes.of(np.array([[1]] * wrong + [[0]] * (rows - wrong)), delta)
    assert evidence.sure(places(rows))
    assert not evidence.sure(places(rows - 1))
    assert evidence.wrong(places(rows)) == wrong
    assert evidence.answer(places(rows)).tolist() == [0]


def test_answers_of_several_outputs_are_one() -> None:
    evidence = Classes.of(np.array([[0, 0], [0, 1], [0, 1], [1, 0]]), 0.05)
    assert evidence.answer(places(4)).tolist() == [0, 1]
    assert evidence.wrong(places(4)) == 2


def test_numbers_are_sure_by_their_mean_square() -> None:
    random = np.random.default_rng(0)
    answers = np.concatenate([random.normal(0, 1, 500), random.normal(100, 1, 500)])[:, np.newaxis]
    evidence = Numbers.of(answers, 0.001)
    half = places(500)
    variance = answers.var()
    assert evidence.wrong(half) == pytest.approx(500 * answers[:500].var() / variance)
    assert evidence.sure(half)
    assert not evidence.sure(places(1000))
    assert not evidence.sure(places(29))
    assert evidence.shown(answers[:500], answers[:500])
    assert evidence.refuted(answers[:500] + 50, answers[:500])
    assert not evidence.refuted(answers[:500] + 0.1, answers[:500])


def test_a_constant_output_is_met_exactly() -> None:
    answers = np.column_stack([np.full(50, 0.1), np.arange(50.0)])
    assert Numbers.of(answers, 0.05).answer(places(50))[0] == 0.1


def test_doubt_is_entropy_and_spread() -> None:
    classes = Classes.of(np.array([[0], [0], [1], [1]]), 0.05)
    assert classes.doubt(np.array([2.0, 2.0])) == pytest.approx(4 * np.log(2))
    assert classes.doubt(np.array([4.0, 0.0])) == 0
    numbers = Numbers.of(np.array([[0.0], [0.0], [2.0], [2.0]]), 0.05)
    assert numbers.doubt(np.array([4.0, 0.0, 4.0])) == pytest.approx(2)


def attribute(name: str, schema: DatasetSchema) -> Attribute:
    return attributes_of(schema, [name])[0]


def test_a_number_is_cut_where_its_answers_part(people_schema: DatasetSchema) -> None:
    age = attribute("age", people_schema)
    codes = np.repeat(np.arange(20.0, 60.0), 10)
    evidence = Classes.of((codes > 43)[:, np.newaxis].astype(np.int64), 0.05)
    binned = Binned.of(age, codes)
    sums = evidence.sums(places(400), binned.place(codes)[:, np.newaxis], binned.size)
    rows = np.bincount(binned.place(codes), minlength=binned.size)
    split = best_split(binned, sums, rows, evidence, 10)
    assert binned.cut(split) == 43.5
    assert split.gain == pytest.approx(evidence.doubt(sums.sum(axis=0)))
    assert told(binned, sums, evidence, 2)[0] < split.gain
    assert best_split(binned, sums, rows, evidence, 300).gain == 0


def test_rows_that_were_made_up_are_nobody(people_schema: DatasetSchema) -> None:
    """Of 400 rows that would be cut at 43.5, all above 43 were made from those of nine persons."""
    age = attribute("age", people_schema)
    codes = np.repeat(np.arange(20.0, 60.0), 10)
    evidence = Classes.of((codes > 43)[:, np.newaxis].astype(np.int64), 0.05)
    binned = Binned.of(age, codes)
    sums = evidence.sums(places(400), binned.place(codes)[:, np.newaxis], binned.size)
    own = binned.place(np.concatenate([codes[codes <= 43], np.arange(44.0, 53.0)]))
    rows = np.bincount(own, minlength=binned.size)
    assert binned.cut(best_split(binned, sums, rows, evidence, 9)) == 43.5
    assert binned.cut(best_split(binned, sums, rows, evidence, 10)) == 42.5
    assert best_split(binned, sums, np.zeros_like(rows), evidence, 10).gain == 0


@pytest.mark.parametrize("alike", [5, 10])
def test_missing_cells_go_with_those_that_answer_alike(people_schema: DatasetSchema, alike: int) -> None:
    visits = attribute("visits", people_schema)
    codes = np.concatenate([np.full(50, BELOW), np.repeat(np.arange(10.0), 20)])
    high = (codes == BELOW) | (codes >= alike)
    evidence = Classes.of(high[:, np.newaxis].astype(np.int64), 0.05)
    binned = Binned.of(visits, codes)
    sums = evidence.sums(places(250), binned.place(codes)[:, np.newaxis], binned.size)
    split = best_split(binned, sums, np.bincount(binned.place(codes), minlength=binned.size), evidence, 10)
    assert not split.left[binned.missing]
    assert split.right[binned.missing]
    assert binned.cut(split) == {5: 4.5, 10: visits.high}[alike]


def test_categories_that_answer_alike_go_together(people_schema: DatasetSchema) -> None:
    branch = attribute("branch", people_schema)
    codes = np.repeat(np.arange(9), 20)
    evidence = Classes.of(np.isin(codes, [1, 4, 8])[:, np.newaxis].astype(np.int64), 0.05)
    binned = Binned.of(branch, codes)
    sums = evidence.sums(places(180), binned.place(codes)[:, np.newaxis], binned.size)
    split = best_split(binned, sums, np.bincount(codes, minlength=binned.size), evidence, 10)
    assert {tuple(np.flatnonzero(split.left)), tuple(np.flatnonzero(split.right))} == {(1, 4, 8), (0, 2, 3, 5, 6, 7)}


@pytest.mark.parametrize(("known_tells", "asked"), [(0.08, "b"), (0.2, "a"), (0.35, "a")])
def test_what_is_known_is_split_by_again_where_that_tells_enough(known_tells: float, asked: str) -> None:
    """To split by what was asked before costs no question, but rows: so not where a question tells much more."""
    random = np.random.default_rng(0)
    columns = {name: {"dtype": "integer", "role": "insensitive", "min": 0, "max": 1} for name in "ab"}
    schema = DatasetSchema.model_validate({"name": "x", "source": None, "columns": columns})
    codes = random.integers(0, 2, (20_000, 2)).astype(np.float64)
    chance = 0.5 + known_tells * (codes[:, 0] - 0.5) + 0.25 * (codes[:, 1] - 0.5)
    evidence = Classes.of((random.random(len(codes)) < chance)[:, np.newaxis].astype(np.int64), 0.05)
    binned = [Binned.of(each, codes[:, place]) for place, each in enumerate(attributes_of(schema, "ab"))]
    bins = np.column_stack([each.place(codes[:, place]) for place, each in enumerate(binned)])
    bins[:, 1] += binned[0].size
    swayed = np.zeros((len(codes), 2))
    weights, closed = np.ones(2), np.zeros(2, dtype=np.bool_)
    material = Material(binned, bins, evidence, weights, closed, lambda: swayed, len(codes), 10, 16)
    growth = Growth.of(material)
    growth.known[0][0] = True
    grow(growth, material, [0], len(codes), lambda _rows: False)
    assert growth.asked == ["ab".index(asked), NONE, NONE]


def test_chance_is_taken_for_help_seldom() -> None:
    random = np.random.default_rng(0)
    schema = DatasetSchema.model_validate(
        {
            "name": "x",
            "source": None,
            "columns": {"x": {"dtype": "integer", "role": "insensitive", "min": 0, "max": 99}},
        }
    )
    taken = 0
    for _ in range(300):
        codes = random.integers(0, 100, 400).astype(np.float64)
        evidence = Classes.of(random.integers(0, 2, (400, 1)), 0.05)
        binned = Binned.of(attribute("x", schema), codes)
        sums = evidence.sums(places(400), binned.place(codes)[:, np.newaxis], binned.size)
        rows = np.bincount(binned.place(codes), minlength=binned.size)
        split = best_split(binned, sums, rows, evidence, 10)
        taken += split.gain > evidence.by_chance(sums.sum(axis=0), 2, split.tried)
    assert taken <= 2


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[int], list[float], list[list[bool]], list[bool], list[tuple[int, int]]]:
    """Make a tree whose nodes are numbered as they are opened, each asking any attribute, or ending."""
    asked: list[int] = []
    children: list[tuple[int, int]] = []
    number, opened = 0, 1
    while number < opened:
        asks = opened < 30 and draw(st.booleans() if number else st.just(value=True))
        asked.append(draw(st.integers(0, len(NAMES) - 1)) if asks else NONE)
        children.append((opened, opened + 1) if asks else (number, number))
        opened += 2 * asks
        number += 1
    cuts = draw(st.lists(st.floats(0, 90), min_size=opened, max_size=opened))
    values = draw(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=opened, max_size=opened))
    missing = draw(st.lists(st.booleans(), min_size=opened, max_size=opened))
    return asked, cuts, values, missing, children


@given(tree=trees(), everything=st.integers(0, 2**30), spare=st.sets(st.sampled_from(NAMES)))
@settings(max_examples=40, deadline=None)
def test_the_walk_is_that_of_each_row_by_itself(
    people: Frames, people_schema: DatasetSchema, tree: tuple, everything: int, spare: set[str]
) -> None:
    asked, cuts, values, missing, children = tree
    columns = [name for name in people_schema.names() if name in NAMES or name.startswith("house")]
    attributes = tuple(attributes_of(people_schema, columns))
    answer = [
        number % 3 if each == NONE and not everything >> number & 1 else NONE for number, each in enumerate(asked)
    ]
    left, right = np.array(children).T
    nodes = Nodes(np.array(asked), np.array(cuts), np.array(values), np.array(missing), left, right, np.array(answer))
    defaults = {each.name: 0.0 for each in attributes}
    questions = Questions(attributes, nodes, np.array([[0], [1], [2]]), defaults, spare=tuple(spare))
    frame = people(60, 0)
    codes = encoded(attributes, frame)
    found = questions.asked(codes)
    told = questions.answers(frame, lambda rows: np.full((len(rows), 1), 7))
    turns = []
    for row in range(len(frame)):
        node, order = 0, []
        while asked[node] != NONE:
            each = attributes[asked[node]]
            order += [each.name] * (each.name not in order)
            code = codes[each.name][row]
            goes_left = (
                values[node][int(code)] if each.kind == "nominal" and code != each.missing else code <= cuts[node]
            )
            node = children[node][0 if (missing[node] if code == each.missing else goes_left) else 1]
        at_once = [each.name for each in attributes if each.name not in order and each.name not in spare]
        at_once *= answer[node] == NONE
        assert {each.name for each, is_asked in zip(attributes, found[row], strict=True) if is_asked} == {
            *order,
            *at_once,
        }
        assert told[row, 0] == (7 if answer[node] == NONE else answer[node])
        turns.append({name: turn for turn, name in enumerate(order, 1)} | dict.fromkeys(at_once, len(order) + 1))
    losses, needed = questions.losses(codes), questions.needed(codes).set_index("attribute")
    table = pd.DataFrame(turns, columns=[each.name for each in attributes])
    for each in attributes:
        assert losses[each.name] == pytest.approx(table[each.name].isna().mean())
        assert needed["asked"][each.name] == pytest.approx(table[each.name].notna().mean())
        np.testing.assert_allclose(needed["position"][each.name], table[each.name].mean())
    count = table.notna().sum(axis=1)
    figures = questions.figures(codes)
    assert figures["features_asked_mean"] == pytest.approx(count.mean())
    assert figures["features_asked_p90"] == sorted(count)[int(np.ceil(0.9 * len(count))) - 1]


def test_answers_of_the_model_are_not_rounded_to_those_of_ends(people_schema: DatasetSchema) -> None:
    age = attribute("age", people_schema)
    two = np.zeros(3, dtype=np.bool_)
    nodes = Nodes(
        np.array([0, NONE, NONE]), np.array([50.0, 0, 0]), two[:, np.newaxis], two, *np.array([[1, 1, 2], [2, 1, 2]]),
        np.array([NONE, 0, NONE]),
    )  # fmt: skip
    questions = Questions((age,), nodes, np.array([[3]]), {"age": 50.0})
    frame = pd.DataFrame({"age": [40, 60]})
    assert questions.answers(frame, lambda rows: np.full((len(rows), 1), 0.5)).tolist() == [[3], [0.5]]
