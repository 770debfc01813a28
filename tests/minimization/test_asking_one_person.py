"""Questions asked of one person step by step, and answered by a model as it is loaded."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from components.data import Table
from components.minimization import Generalizer, Questions, to_contract
from components.minimization import load as load_questions
from components.minimization.attributes import Attribute, attributes_of
from components.minimization.contract import write
from components.minimization.generalizer import Ranges
from components.minimization.personal.questions import NONE, Nodes
from components.models import Model, build, load
from components.models.callable_model import CallableModel
from components.models.declarations import Forest
from components.models.joint_model import JointModel
from schemas.dataset import DatasetSchema
from schemas.faults import DataError
from schemas.generalizations import Output

Frames = Callable[[int, int], pd.DataFrame]
NAMES = ["age", "height", "region", "born", "house_own", "house_rent", "house_free"]


@pytest.fixture(scope="module")
def questions(people_schema: DatasetSchema) -> Questions:
    """Return age first; who is old is ill, of whom is young region and house decide, or all but the height is asked."""
    attributes = tuple(attributes_of(people_schema, NAMES))
    age, region, house = (place for place, each in enumerate(attributes) if each.name in {"age", "region", "house"})
    asked = np.array([age, region, NONE, house, NONE, NONE, NONE])
    left, right = np.array([1, 3, 2, 5, 4, 5, 6]), np.array([2, 4, 2, 6, 4, 5, 6])
    values = np.zeros((7, 4), dtype=bool)
    values[1, [0, 1]] = values[3, 0] = True
    nodes = Nodes(
        asked, np.where(asked == age, 50.0, 0.0), values, np.ones(7, dtype=bool), left, right,
        np.array([NONE, NONE, 1, NONE, 0, 0, NONE]),
    )  # fmt: skip
    defaults = {each.name: each.high if each.kind == "number" else 0.0 for each in attributes}
    return Questions(attributes, nodes, np.array([[0], [1]]), defaults, spare=("height",))


@pytest.fixture(scope="module")
def model(people: Frames, people_schema: DatasetSchema, tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = tmp_path_factory.mktemp("model")
    build(Forest(), people_schema, 0).fit(Table(people(300, 1), people_schema)).save(folder)
    return load(folder)


def coded(model: Model) -> Callable[[pd.DataFrame], Any]:
    return lambda rows: model.target.encode(pd.DataFrame({"outcome": model.predict(rows)}))[:, np.newaxis]


def person(frame: pd.DataFrame, row: int) -> dict[str, Any]:
    """Return what a person knows, as JSON holds it."""
    cells = frame.iloc[row]
    known = {name: None if pd.isna(cell) else cell for name, cell in cells.items()}
    known["house"] = next(name for name in NAMES if name.startswith("house") and cells[name] == 1)
    return known | {"born": known["born"] and known["born"].date().isoformat(), "age": int(cells["age"])}


def test_a_loaded_model_gives_values_where_a_callable_gives_positions(
    questions: Questions, model: Model, people: Frames
) -> None:
    frame = people(200, 2)
    values, positions = questions.answers(frame, model), questions.answers(frame, coded(model))
    assert values.shape == (200,)
    assert positions.shape == (200, 1)
    assert values.tolist() == model.target.decode(positions[:, 0]).tolist()
    assert set(values) == {"well", "ill"}
    old = frame[frame["age"] > 50]
    assert set(questions.answers(old, model)) == {"ill"}


def test_a_model_of_something_else_is_refused(questions: Questions, model: Model, people: Frames) -> None:
    for labels in (np.array([[0], [2]]), np.array([[0.5], [1.0]]), np.array([[0, 1], [1, 0]])):
        with pytest.raises(DataError, match="something else"):
            replace(questions, labels=labels).answers(people(9, 0), model)


def test_what_nobody_is_asked_for_may_be_absent(questions: Questions, model: Model, people: Frames) -> None:
    frame = people(50, 3)
    fewer = frame.drop(columns="height")
    assert questions.answers(fewer, model).tolist() == questions.answers(frame, model).tolist()
    with pytest.raises(DataError) as caught:
        questions.answers(fewer.drop(columns=["age", "born"]), model)
    assert [fault.place for fault in caught.value.faults] == ["column 'age'", "column 'born'"]
    with pytest.raises(DataError, match="column 'region': not in the table"):  # asked on the way, if not at the end
        replace(questions, spare=("height", "region")).answers(frame.drop(columns="region"), model)


def test_a_person_is_asked_step_by_step_for_no_more_than_is_needed(
    questions: Questions, model: Model, people: Frames
) -> None:
    frame = people(80, 4)
    asked = questions.asked(questions.encode(frame))
    answers = questions.answers(frame, model)
    names = [each.name for each in questions.attributes]
    for row in range(len(frame)):
        known, told, turns = person(frame, row), {}, []
        while left := questions.to_ask(told):
            assert not set(left) & set(told)
            told |= {name: known[name] for name in left}
            turns.append(left)
        assert turns[0] == ["age"]
        assert all(len(turn) == 1 for turn in turns[:-1])
        assert set(told) == {name for name, needed in zip(names, asked[row], strict=True) if needed}
        rest = {name: cell for name, cell in known.items() if name not in {*NAMES, *names}}
        assert questions.answer(told | rest, model) == answers[row]


def test_an_answer_that_does_not_stand_yet_is_refused_by_what_is_left(questions: Questions, model: Model) -> None:
    with pytest.raises(DataError, match=r"column 'region': was not told"):
        questions.answer({"age": 30}, model)
    assert questions.answer({"age": 80}, model) == "ill"
    assert questions.answer({"age": 80}, coded(model)).tolist() == [1]
    assert questions.to_ask({"age": 30, "region": "north"}) == ["house"]
    assert questions.to_ask({"age": 30, "region": None, "house": "house_rent"}) == ["born"]


def as_json(frame: pd.DataFrame, row: int) -> dict[str, Any]:
    """Return what is told of a person in an end point, whatever it is: dates and times as text, None for missing."""
    known = {name: cell for name, cell in person(frame, row).items() if not name.startswith("house_")}
    return json.loads(json.dumps(known | {"seen": known["seen"].isoformat()}, default=lambda cell: cell.item()))


def function(rows: pd.DataFrame) -> list[str]:
    """Answer by what is known anyway, in the dtypes of a table."""
    young = rows["born"].dt.year.fillna(2000) > 1970
    late = rows["seen"].dt.month.to_numpy() > 6
    return np.where(late & (rows["visits"].fillna(9) > 4) | young & rows["grade"].isna(), "ill", "well").tolist()


@pytest.mark.parametrize("kind", ["one target", "two targets", "function"])
def test_what_the_model_knows_anyway_is_told_as_json_holds_it(
    questions: Questions, model: Model, people: Frames, people_schema: DatasetSchema, kind: str
) -> None:
    both = replace(questions, labels=np.array([[0, 0], [1, 1]]))
    asking, asked = {
        "one target": (questions, model),
        "two targets": (both, JointModel([model, model])),
        "function": (questions, CallableModel(function, people_schema, outputs="labels")),
    }[kind]
    frame = people(150, 5)
    ends = asking.nodes.answer[asking.ends(asking.encode(frame))]
    rows = np.flatnonzero(ends == NONE)
    known = ["visits", "branch", "grade", "zip", "member"]
    assert frame.iloc[rows][known].isna().any().all()
    expected = asking.answers(frame, asked)
    told = [asking.answer(as_json(frame, row), asked) for row in rows]
    np.testing.assert_array_equal(np.array(told), expected[rows])


def test_what_the_model_knows_is_typed_by_its_values_where_only_a_function_is_there(questions: Questions) -> None:
    seen: list[pd.DataFrame] = []

    def ask(rows: pd.DataFrame) -> Any:
        seen.append(rows)
        return np.zeros((len(rows), 1), dtype=np.int64)

    told = {"age": 30, "region": "north", "house": "house_rent", "born": None}
    moments = {
        "day": "2024-02-29",
        "time": "2024-02-29T12:30:00+02:00",
        "python": date(2024, 2, 29),
        "zone": datetime(2024, 2, 29, 12, 30, tzinfo=timezone(timedelta(hours=2))),
    }
    texts = {"digits": "20240229", "no day": "2024-02-31", "zip": "01001"}
    questions.answer(told | moments | texts | {"gone": None, "size": 1.5}, ask)
    (row,) = seen
    assert {str(row[name].dtype) for name in moments} == {"datetime64[us]"}
    assert row["day"][0] == row["python"][0] == pd.Timestamp("2024-02-29")
    assert row["time"][0] == row["zone"][0] == pd.Timestamp("2024-02-29T10:30")
    assert {name: row[name][0] for name in texts} == texts
    assert row["gone"].isna().all()
    assert row["size"].dtype == np.float64


@pytest.mark.parametrize("value", ["4711-99-01", "soon 4711", 4711, [4711]])
def test_what_is_no_moment_is_refused_and_not_shown(questions: Questions, model: Model, value: Any) -> None:
    with pytest.raises(DataError, match="column 'seen': was told as what is no value") as caught:
        questions.answer({"age": 80, "seen": value}, model)
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize(
    "told",
    [{"age": "4711"}, {"age": [4711]}, {"born": "4711-99-01"}, {"born": 4711}, {"house": "4711"}, {"region": 4711}],
)
def test_what_is_no_value_is_refused_and_not_shown(questions: Questions, told: dict[str, Any]) -> None:
    with pytest.raises(DataError) as caught:
        questions.to_ask(told)
    assert f"'{next(iter(told))}'" in str(caught.value)
    assert "4711" not in str(caught.value)


def test_the_words_of_a_form_will_do_where_parts_are_collected(questions: Questions, model: Model) -> None:
    """Where nobody is asked everything, of each attribute that is collected which its questions tell apart."""
    never = np.where(questions.nodes.attribute == NONE, 0, NONE)
    short = replace(questions, nodes=replace(questions.nodes, answer=never))
    losses = dict.fromkeys((each.name for each in short.attributes), 0.5)
    contract = {each.name: each.choices for each in to_contract(short, losses).attributes}
    assert contract["age"] == ["up to 50", "51 and more"]
    assert contract["region"] == ["north or south", "west or <0 DM"]
    for text, age in zip(contract["age"], (50, 51), strict=True):
        assert short.to_ask({"age": text}) == short.to_ask({"age": age})
    assert short.to_ask({"age": "up to 50", "region": "north or south"}) == ["house"]
    assert short.to_ask({"age": "up to 50", "region": "west or <0 DM"}) == []
    strict = replace(short, outside="refuse", nodes=replace(short.nodes, cut=np.where(short.nodes.cut > 0, 50.5, 0)))
    for text in contract["age"]:
        assert strict.answer({"age": text, "region": "west or <0 DM"}, model) == "well"
    for told in ({"age": "up to 60"}, {"age": 40, "region": "west or south"}):
        with pytest.raises(DataError, match=r"no value of its kind|numbers are minimised"):
            short.to_ask(told)


def test_values_outside_the_domain_count_as_defaults_or_are_refused(questions: Questions, model: Model) -> None:
    assert questions.answer({"age": 999}, model) == "ill"
    assert questions.to_ask({"age": 20, "region": "nowhere"}) == ["house"]  # as its first value
    strict = replace(questions, outside="refuse")
    with pytest.raises(DataError, match="outside the domain"):
        strict.to_ask({"age": 20, "region": "nowhere"})


def test_files_of_a_run_answer_one_person(tmp_path: Path, questions: Questions) -> None:
    losses = dict.fromkeys((each.name for each in questions.attributes), 0.5)
    path = tmp_path / "generalizations.json"
    write(path, to_contract(questions, losses, None, [Output(name="outcome", classes=["well", "ill"])]))
    loaded = load_questions(path)
    assert isinstance(loaded, Questions)
    assert loaded.to_ask({}) == ["age"]
    assert loaded.to_ask({"age": 30, "region": "west"}) == []
    assert loaded.to_ask({"age": 30, "region": "south", "house": "house_free"}) == ["born"]


def test_a_group_is_told_by_name_and_its_columns_alone_are_refused(questions: Questions) -> None:
    """Else the group would be asked for again and again."""
    told = {"age": 30, "region": "north", "house_own": 1, "house_rent": 0, "house_free": 0}
    with pytest.raises(DataError, match="column 'house_rent': is one of a group; tell 'house' by the name"):
        questions.to_ask(told)
    assert questions.to_ask(told | {"house": "house_own"}) == questions.to_ask(
        {"age": 30, "region": "north", "house": "house_own"}
    )


def test_a_model_that_was_taught_generalised_columns_is_not_asked(
    questions: Questions, people: Frames, people_schema: DatasetSchema, tmp_path: Path
) -> None:
    model = build(Forest(n_estimators=3), people_schema, 0)
    model.generalised = ("age",)  # type: ignore[attr-defined]
    frame = people(100, 1)
    model.fit(Table(frame, people_schema)).save(tmp_path)
    exact = Generalizer("made", "ranges", tuple(exactly(each) for each in questions.attributes))
    for ask in (exact.answers, questions.answers):
        with pytest.raises(DataError, match=r"model: was taught generalised columns \(age\), .*guided"):
            ask(frame, load(tmp_path))


def exactly(attribute: Attribute) -> Ranges:
    return Ranges(attribute, None, np.empty(0), attribute.high if attribute.kind == "number" else 0.0)
