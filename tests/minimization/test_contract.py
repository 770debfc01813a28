"""``generalizations.json``: what is read back does to rows what it did before, without rows and schema."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import components.minimization
from components.minimization import Generalizer, Questions, dumps, from_contract, load, read, to_contract
from components.minimization.attributes import BELOW, attributes_of
from components.minimization.generalizer import Ranges
from components.minimization.partitions import Partition
from components.minimization.personal.questions import NONE, Nodes
from schemas import generalizations as schema_module
from schemas.dataset import DatasetSchema
from schemas.faults import DataError
from schemas.generalizations import Generalizations, Output, Verdict

Make = Callable[..., Generalizer]
People = Callable[..., pd.DataFrame]
SEEDS = st.integers(0, 2**32 - 1)
VERDICT = Verdict(target=0.95, agreement=0.97, low=0.955, rows=500, met=True)


@pytest.fixture(scope="module")
def frame(people: People) -> pd.DataFrame:
    return people(120, 3)


def _questions(schema: DatasetSchema, seed: int, ends: str = "both") -> Questions:
    """Make any tree of questions over some attributes; `ends` says whether all have answers, or some ask everything."""
    random = np.random.default_rng(seed)
    attributes = tuple(attributes_of(schema, ["age", "height", "region", "grade", "member", "born", "house_own"]))
    inner = int(random.integers(0, 6))
    count, widest = 2 * inner + 1, max(len(each.values) for each in attributes)
    attribute, left = np.full(count, NONE), np.arange(count)
    attribute[:inner] = random.integers(0, len(attributes), inner)
    left[:inner] = 1 + 2 * np.arange(inner)
    right = left + (attribute != NONE)
    cut, values = np.zeros(count), np.zeros((count, widest), dtype=bool)
    for number in range(inner):
        asked = attributes[attribute[number]]
        if asked.kind == "number":
            cut[number] = np.floor(random.uniform(asked.low, asked.high))
        elif asked.kind == "ordered":
            cut[number] = random.integers(0, len(asked.values) - 1) + 0.5
        else:
            values[number, : len(asked.values)] = random.random(len(asked.values)) < 0.5
    answer = np.where(attribute == NONE, random.integers(0, 3, count), NONE)
    if ends == "both":
        answer[random.random(count) < 0.3] = NONE
    nodes = Nodes(attribute, cut, values, random.random(count) < 0.5, left, right, answer)
    defaults = {each.name: each.low if each.kind == "number" else 0.0 for each in attributes}
    return Questions(attributes, nodes, np.array([[0], [1], [2]]), defaults)


def _through(minimized: Any, frame: pd.DataFrame, folder: Path, outputs: tuple[Output, ...] = ()) -> Any:
    contract = to_contract(minimized, minimized.losses(minimized.encode(frame)), VERDICT, outputs)
    path = folder / "generalizations.json"
    path.write_bytes(dumps(contract))
    assert read(path) == contract
    return load(path)


@settings(deadline=None, max_examples=30)
@given(seed=SEEDS)
def test_rows_become_the_same_after_writing_and_reading(
    people_schema: DatasetSchema,
    any_generalizer: Make,
    frame: pd.DataFrame,
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
) -> None:
    made = any_generalizer(people_schema, seed)
    back = _through(made, frame, tmp_path_factory.getbasetemp())
    pd.testing.assert_frame_equal(back.transform(frame), made.transform(frame))
    codes = made.encode(frame)
    assert back.losses(codes) == pytest.approx(made.losses(codes))
    other = back.recoded(back.encode(frame), "ranges")
    assert all((other[name] == cells).all() for name, cells in made.recoded(codes, "ranges").items())


@settings(deadline=None, max_examples=30)
@given(seed=SEEDS, ends=st.sampled_from(["both", "answers"]))
def test_questions_are_asked_and_answered_the_same_after_writing_and_reading(
    people_schema: DatasetSchema,
    frame: pd.DataFrame,
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    ends: str,
) -> None:
    made = _questions(people_schema, seed, ends)
    back = _through(made, frame, tmp_path_factory.getbasetemp(), (Output(name="y", classes=["a", "b", "c"]),))

    def ask(rows: pd.DataFrame) -> Any:
        return np.asarray(rows["age"].to_numpy() % 3)[:, None]

    assert (back.answers(frame, ask) == made.answers(frame, ask)).all()
    codes = made.encode(frame)
    assert (back.asked(codes) == made.asked(codes)).all()


def test_equal_generalisers_have_equal_bytes_whatever_the_numbers_of_their_groups(
    people_schema: DatasetSchema, frame: pd.DataFrame
) -> None:
    (region,) = attributes_of(people_schema, ["region"])
    one, other = (
        Generalizer("made", "ranges", (Ranges(region, Partition(region, groups=groups), standing, 0.0),))
        for groups, standing in (
            ((0, 0, 1, 1, 1), np.array([0.0, 2.0])),
            ((1, 1, 0, 0, 0), np.array([2.0, 0.0])),
        )
    )
    first, second = (dumps(to_contract(each, each.losses(each.encode(frame)))) for each in (one, other))
    assert first == second
    assert first == dumps(Generalizations.model_validate_json(first))
    assert list(json.loads(first)) == sorted(json.loads(first))


def test_missing_cells_alone_and_with_others_are_told_apart(people_schema: DatasetSchema) -> None:
    (visits,) = attributes_of(people_schema, ["visits"])
    made = {
        "apart": Partition(visits, cuts=(BELOW, 6.5)),
        "with": Partition(visits, cuts=(6.5,)),
        "known": Partition(visits, cuts=(BELOW,)),
        "nothing": Partition.whole(visits),
    }
    standing = {"apart": [BELOW, 3, 9], "with": [3, 9], "known": [BELOW, 6], "nothing": [6]}
    found = {}
    for name, partition in made.items():
        ranges = Ranges(visits, partition, np.array(standing[name], dtype=np.float64), 0.0)
        contract = to_contract(Generalizer("made", "ranges", (ranges,)), {"visits": 0.5})
        (told,) = contract.attributes
        found[name] = (told.collect, told.missing, told.cuts, told.representatives)
        back = from_contract(contract)
        assert isinstance(back, Generalizer)
        assert back.ranges[0].partition is not None
        assert back.ranges[0].partition.cuts == partition.cuts
        assert back.ranges[0].representatives.tolist() == standing[name]
    assert found == {
        "apart": ("ranges", None, [6.5], [3, 9]),
        "with": ("ranges", 0, [6.5], [3, 9]),
        "known": ("nothing", None, [], [6]),
        "nothing": ("nothing", 0, [], [6]),
    }


def test_it_works_without_schema_and_without_the_columns_that_it_does_not_name(
    people_schema: DatasetSchema, any_generalizer: Make, frame: pd.DataFrame, tmp_path: Path
) -> None:
    made = any_generalizer(people_schema, 5, ["age", "region"], use="representatives")
    back = _through(made, frame, tmp_path)
    form = pd.DataFrame({"region": ["west", "<0 DM"], "age": [30, 71]})
    pd.testing.assert_frame_equal(back.transform(form), made.transform(form))


def test_labels_are_told_by_class_and_come_back_as_positions(
    people_schema: DatasetSchema, any_generalizer: Make, frame: pd.DataFrame, tmp_path: Path
) -> None:
    made = any_generalizer(people_schema, 4, ["age", "region"], use="representatives")
    back = _through(made, frame, tmp_path, (Output(name="outcome", classes=["well", "ill"]),))
    told = read(tmp_path / "generalizations.json")
    assert {label for cell in told.cells for label in cell.label} <= {"well", "ill"}
    assert (back.cells.labels == made.cells.labels).all()  # type: ignore[union-attr]


def test_no_cell_of_a_row_is_in_the_file(
    people_schema: DatasetSchema, any_generalizer: Make, people: People, tmp_path: Path
) -> None:
    marked = people(50, 0).assign(income=12345.678901, region=pd.Categorical(["Zebedee-4711"] * 50))
    for seed in range(20):
        _through(any_generalizer(people_schema, seed), marked, tmp_path)
        written = (tmp_path / "generalizations.json").read_text(encoding="utf-8")
        assert "Zebedee" not in written
        assert "12345.67" not in written


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema_version": 1}', "\x00", '{"attributes": NaN}', "7"])
def test_a_file_that_is_none_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=r"^some\.json: "):
        load(path)


def test_a_file_that_is_not_there_or_of_another_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^none\.json: can't be read \(FileNotFoundError\)"):
        load(tmp_path / "none.json")
    (tmp_path / "next.json").write_text('{"schema_version": 2}', encoding="utf-8")
    with pytest.raises(DataError, match="is of version 2; version 1 is read here"):
        load(tmp_path / "next.json")


def _changed(people_schema: DatasetSchema, any_generalizer: Make, frame: pd.DataFrame) -> dict[str, Any]:
    for seed in range(100):
        made = any_generalizer(people_schema, seed, ["age", "region", "born"], use="representatives")
        if all(each.partition is not None and each.partition.size > 2 for each in made.ranges):
            found: dict[str, Any] = json.loads(dumps(to_contract(made, made.losses(made.encode(frame)))))
            return found
    raise AssertionError("no seed makes one")


CHANGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "cuts that don't ascend": lambda data: data["attributes"][0]["cuts"].reverse(),
    "a cut that is no date": lambda data: data["attributes"][2]["cuts"].__setitem__(0, "Zebedee-4711"),
    "a representative outside the domain": lambda data: data["attributes"][1]["representatives"].__setitem__(
        0, "Zebedee-4711"
    ),
    "a default outside the domain": lambda data: data["attributes"][1].__setitem__("default", "Zebedee-4711"),
    "a number outside its bounds that stands for a range": lambda data: data["attributes"][0][
        "representatives"
    ].__setitem__(0, 9999),
    "half a year that stands for a range": lambda data: data["attributes"][0]["representatives"].__setitem__(0, 17.5),
    "a default beyond the bounds": lambda data: data["attributes"][0].__setitem__("default", 4711),
    "a cell's number outside its bounds": lambda data: data["cells"][0]["representative"].__setitem__("age", 4711),
    "missing cells that stand for what is never missing": lambda data: data["cells"][0]["representative"].__setitem__(
        "age", None
    ),
    "bounds the wrong way round": lambda data: data["attributes"][0].__setitem__("low", 100),
    "a truth for a bound": lambda data: data["attributes"][0].update(low=False),
    "a cell over an attribute that there is not": lambda data: data["cells"][0]["representative"].__setitem__("x", 1),
    "a cell that ends inside a range": lambda data: data["cells"][0]["regions"].__setitem__("age", {"end": 17.25}),
    "a cell with half a group": lambda data: data["cells"][0]["regions"].__setitem__(
        "region", {"values": ["Zebedee-4711"]}
    ),
    "a bound that is no number": lambda data: data["attributes"][0].__setitem__("low", "Zebedee-4711"),
    "another dtype": lambda data: data["attributes"][0].__setitem__("dtype", "date"),
    "choices in another order": lambda data: data["attributes"][0]["choices"].reverse(),
    "a choice twice": lambda data: data["attributes"][1].update(choices=["x"] * len(data["attributes"][1]["choices"])),
    "a choice too few": lambda data: data["attributes"][1]["choices"].pop(),
    "a choice in the words of another one": lambda data: data["attributes"][0]["choices"].__setitem__(
        0, data["attributes"][0]["choices"][1]
    ),
    "other columns": lambda data: data["attributes"][1].__setitem__("columns", ["a", "b"]),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_file_that_contradicts_itself_is_refused_without_a_value_of_it(
    people_schema: DatasetSchema, any_generalizer: Make, frame: pd.DataFrame, tmp_path: Path, change: Callable[..., Any]
) -> None:
    data = _changed(people_schema, any_generalizer, frame)
    (tmp_path / "changed.json").write_text(json.dumps(data), encoding="utf-8")
    load(tmp_path / "changed.json")  # unchanged, it is read
    change(data)
    (tmp_path / "changed.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(DataError) as told:
        load(tmp_path / "changed.json")
    assert "4711" not in str(told.value)


@pytest.mark.parametrize("translated", [True, False])
def test_choices_may_be_translated_or_absent_and_a_form_then_answers_by_place(
    people_schema: DatasetSchema, any_generalizer: Make, frame: pd.DataFrame, tmp_path: Path, *, translated: bool
) -> None:
    data = _changed(people_schema, any_generalizer, frame)
    (region,) = (each for each in data["attributes"] if each["name"] == "region")
    words = region["choices"]
    region["choices"] = [f"Gegend {place}" for place, _ in enumerate(words)] if translated else []
    (tmp_path / "translated.json").write_text(json.dumps(data), encoding="utf-8")
    read = load(tmp_path / "translated.json")
    assert isinstance(read, Generalizer)
    form = {each["name"]: each["choices"][0] for each in data["attributes"] if each["name"] != "region"}
    by_place, by_word = (
        read.from_form(pd.DataFrame([form | {"region": answer} for answer in answers]))
        for answers in (range(len(words)), words)
    )
    pd.testing.assert_frame_equal(by_place, by_word)
    with pytest.raises(DataError, match="1 of 1 answers are none of the form's"):
        read.from_form(pd.DataFrame([form | {"region": "Gegend 0"}]))


@pytest.mark.parametrize("content", ["[" * 100_000, '{"schema_version": 1, "method": "\\ud800"}'])
def test_a_file_without_end_or_with_half_a_character_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text(content, encoding="utf-8")
    with pytest.raises(DataError):
        load(tmp_path / "odd.json")


@pytest.mark.parametrize("change", [{"low": 0.1}, {"agreement": 5.0}, {"low": -3.0, "met": False}, {"met": False}])
def test_a_verdict_follows_from_its_figures(change: dict[str, Any]) -> None:
    figures = {"target": 0.9, "agreement": 0.95, "low": 0.92, "rows": 400, "met": True}
    Verdict.model_validate(figures)
    with pytest.raises(ValidationError):
        Verdict.model_validate(figures | change)


@pytest.mark.parametrize(
    "change",
    [
        {"representatives": []},
        {"missing": 7},
        {"groups": [["north"]]},
        {"values": None},
        {"collect": "ranges"},
    ],
)
def test_an_attribute_that_does_not_hold_together_is_refused(
    people_schema: DatasetSchema, change: dict[str, Any]
) -> None:
    (region,) = attributes_of(people_schema, ["region"])
    ranges = Ranges(region, Partition(region, groups=(0, 0, 1, 1, 1)), np.array([0.0, 2.0]), 0.0)
    data = to_contract(Generalizer("made", "ranges", (ranges,)), {"region": 0.5}).model_dump()
    data["attributes"][0] |= change
    with pytest.raises(ValidationError):
        Generalizations.model_validate(data)


def test_a_question_leads_forward_and_to_one_that_is_there(people_schema: DatasetSchema) -> None:
    made = next(each for each in (_questions(people_schema, seed) for seed in range(99)) if len(each.nodes) > 3)
    data = to_contract(made, dict.fromkeys((each.name for each in made.attributes), 0.5)).model_dump()
    for side in (0, 99):
        data["questions"][0]["left"] = side
        with pytest.raises(ValidationError):
            Generalizations.model_validate(data)


def test_only_what_can_be_minimised_has_a_contract() -> None:
    class Other:
        method, outside = "other", "default"

    with pytest.raises(TypeError, match="Other has no contract"):
        to_contract(Other(), {})  # type: ignore[arg-type]


def test_the_exported_json_schema_is_that_of_the_model() -> None:
    exported = Path(schema_module.__file__).with_name("generalizations.schema.json")
    assert exported.read_text(encoding="utf-8") == schema_module.json_schema_text(), (
        "write schemas.generalizations.json_schema_text() to schemas/generalizations.schema.json"
    )


def test_all_public_names_are_there() -> None:
    for name in components.minimization.__all__:
        assert getattr(components.minimization, name) is not None
    with pytest.raises(AttributeError):
        components.minimization.nothing  # noqa: B018  # the look-up is what is tried
