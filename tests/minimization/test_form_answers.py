"""Rows that come from an end point: without the columns that nobody asks for, and with the answers of a form."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.minimization import Generalizer, GreedyMinimizer, TreeMinimizer, from_contract, to_contract
from components.minimization.attributes import attributes_of
from components.minimization.generalizer import Ranges
from components.minimization.partitions import Partition
from schemas.dataset import DatasetSchema
from schemas.faults import DataError
from schemas.generalizations import Collected, Generalizations

Make = Callable[..., Generalizer]
People = Callable[[int, int], pd.DataFrame]
SEEDS = st.integers(0, 2**32 - 1)
CLUB = {
    "points": {"dtype": "number", "min": 0, "max": 100},
    "visits": {"dtype": "integer", "min": 0, "max": 90},
    "card": {"dtype": "category", "values": ["basic", "plus", "gold"], "nullable": True},
    "grade": {"dtype": "ordered", "values": ["none", "some", "much"]},
    "smoker": {"dtype": "boolean"},
    "joined": {"dtype": "date", "min": "2000-01-01", "max": "2020-12-31"},
}
CUT = {
    "points": {"cuts": (12.25,)},
    "visits": {"cuts": ()},
    "card": {"groups": (0, 1, 1, 0)},
    "grade": {"cuts": (0.5,)},
    "smoker": None,
    "joined": None,
}
STANDS = {"points": [6.0, 50.0], "visits": [45.0], "card": [0.0, 2.0], "grade": [0.0, 1.0]}


def made(cut: dict[str, Any] | None = None, **more: Any) -> Generalizer:
    columns = {name: {"role": "insensitive"} | column for name, column in CLUB.items()}
    schema = DatasetSchema.model_validate({"name": "club", "source": None, "columns": columns})
    ranges = [
        Ranges(
            each,
            None if CUT[each.name] is None else Partition(each, **(CUT | (cut or {}))[each.name]),
            np.array(STANDS.get(each.name, [])),
            0.0,
        )
        for each in attributes_of(schema, list(CLUB))
    ]
    return Generalizer("made", "ranges", tuple(ranges), **more)


def members(**changed: Any) -> pd.DataFrame:
    answers = {
        "points": ["above 12.25", "up to 12.25"],
        "card": ["plus or gold", "basic (or not known)"],
        "grade": ["none", "some to much"],
        "smoker": [True, False],
        "joined": pd.to_datetime(["2001-02-03", "2004-05-06"]),
        "number": [7, 8],
    }
    return pd.DataFrame(answers | changed, index=[5, 3])


def told(contract: Generalizations) -> Generalizer:
    """Return what a file gives back."""
    loaded = from_contract(contract)
    assert isinstance(loaded, Generalizer)
    return loaded


def faults(call: Callable[[pd.DataFrame], Any], frame: pd.DataFrame) -> list[str]:
    with pytest.raises(DataError) as caught:
        call(frame)
    return [str(fault) for fault in caught.value.faults]


@settings(deadline=None, max_examples=25)
@given(seed=SEEDS)
def test_columns_that_are_not_collected_may_be_absent(
    people: People, people_schema: DatasetSchema, any_generalizer: Make, seed: int
) -> None:
    """What is put in their place has the dtype, the place and the value that it has where they are there."""
    frame = people(40, 3).assign(seen=lambda rows: rows["seen"].dt.tz_localize(None))
    generalizer = any_generalizer(people_schema, seed)
    spare = [name for each in generalizer.ranges if each.nothing for name in each.attribute.names]
    fewer = frame.drop(columns=spare)
    pd.testing.assert_frame_equal(generalizer.transform(fewer), generalizer.transform(frame))
    assert not set(spare) & set(fewer.columns)


def test_an_absent_column_is_put_back_in_the_order_of_the_schema() -> None:
    generalizer = made()
    rows = pd.DataFrame({"other": [1], "points": [3.5], "card": ["gold"]})
    rows = rows.assign(grade=["much"], smoker=[True], joined=pd.to_datetime(["2001-01-01"]))
    assert list(generalizer.transform(rows).columns) == ["other", *CLUB]
    assert generalizer.transform(rows)["visits"].tolist() == [45]


def test_all_absent_columns_that_are_collected_are_named() -> None:
    said = faults(made().transform, pd.DataFrame({"points": [3.5], "smoker": [True]}))
    assert [sentence.split(":")[0] for sentence in said] == ["column 'card'", "column 'grade'", "column 'joined'"]
    assert all("not in the table" in sentence for sentence in said)


@pytest.mark.parametrize("kind", [TreeMinimizer, GreedyMinimizer])
def test_the_transformers_take_frames_without_what_is_not_collected(kind: Any) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(2000, 4)), columns=list("dabc"))
    minimizer = kind(lambda rows: np.where(rows["a"] > 0, "plus", "minus"), target=0.9, random_state=0).fit(frame)
    spare = [each.attribute.name for each in minimizer.generalizer_.ranges if each.nothing]
    assert "d" in spare
    assert "a" not in spare
    fewer = frame[["a"]]
    assert set(fewer.columns) | set(spare) == set(frame.columns)
    pd.testing.assert_frame_equal(minimizer.transform(fewer), minimizer.transform(frame))
    pd.testing.assert_frame_equal(minimizer.set_output(transform="pandas").transform(fewer), minimizer.transform(frame))
    alone = kind(minimizer.estimator, columns=["d"], target=0.9, random_state=0).fit(frame)
    pd.testing.assert_frame_equal(alone.transform(frame.drop(columns="d")), alone.transform(frame))
    with pytest.raises(ValueError, match="missing"):
        minimizer.transform(frame.drop(columns="a"))
    with pytest.raises(ValueError, match="order"):
        minimizer.transform(frame[list("abcd")])


@settings(deadline=None, max_examples=25)
@given(seed=SEEDS)
def test_the_answers_of_a_form_give_what_the_values_give(
    people: People, people_schema: DatasetSchema, any_generalizer: Make, seed: int
) -> None:
    frame = people(60, 4).assign(seen=lambda rows: rows["seen"].dt.tz_localize(None))
    generalizer = any_generalizer(people_schema, seed)
    losses = dict.fromkeys((each.name for each in generalizer.attributes), 0.0)
    contract = to_contract(generalizer, losses)
    form = _filled_in(generalizer, contract, frame)
    before = form.copy(deep=True)
    for each in (generalizer, told(contract)):
        got = each.from_form(form)
        pd.testing.assert_frame_equal(got[list(frame.columns)], each.transform(frame))
    pd.testing.assert_frame_equal(form, before)


def _filled_in(generalizer: Generalizer, contract: Generalizations, frame: pd.DataFrame) -> pd.DataFrame:
    """Fill in the form of a contract for each row of a table."""
    parts = told(contract).parts(generalizer.encode(frame))
    form = frame.copy()
    for ranges, collected in zip(generalizer.ranges, contract.attributes, strict=True):
        if not ranges.exact:
            form = form.drop(columns=ranges.attribute.names)
        if collected.choices:
            form[collected.name] = _chosen(collected, ranges, parts[collected.name])
    return form


def _chosen(collected: Collected, ranges: Ranges, parts: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    below = collected.missing is None and ranges.attribute.kind != "nominal"
    return np.array(collected.choices, dtype=object)[parts - below]


def test_answers_are_the_texts_on_the_page_and_other_columns_stay() -> None:
    got = made().from_form(members())
    assert list(got.columns) == ["points", "visits", "card", "grade", "smoker", "joined", "number"]
    assert got.index.tolist() == [5, 3]
    assert got["points"].tolist() == [50.0, 6.0]
    assert got["card"].tolist() == ["gold", "basic"]
    assert got["grade"].tolist() == ["none", "some"]
    assert got["number"].tolist() == [7, 8]
    assert got.dtypes.astype(str).tolist()[:5] == ["float64", "int64", "category", "category", "bool"]


def test_what_is_not_collected_is_not_looked_at() -> None:
    asked = made().from_form(members(visits=["some", "thing"]))
    pd.testing.assert_frame_equal(asked[list(CLUB)], made().from_form(members())[list(CLUB)])


def test_missing_answers_are_not_known() -> None:
    assert made().from_form(members(card=["plus or gold", None]))["card"].tolist() == ["gold", "basic"]
    apart = made({"card": {"groups": (0, 1, 1, 2)}})
    stands = [
        np.array([0.0, 2.0, 3.0]) if each.attribute.name == "card" else each.representatives for each in apart.ranges
    ]
    ranges = tuple(
        Ranges(each.attribute, each.partition, standing, 0.0)
        for each, standing in zip(apart.ranges, stands, strict=True)
    )
    for answer in (None, "not known"):
        got = Generalizer("made", "ranges", ranges).from_form(members(card=["plus or gold", answer]))
        assert got["card"].isna().tolist() == [False, True]


def test_numbers_of_choices_will_do_where_they_can_be_nothing_else() -> None:
    got = made().from_form(members(card=[1, 0], grade=[0, 1]))
    pd.testing.assert_frame_equal(got, made().from_form(members()))
    (said,) = faults(made().from_form, members(points=[1, 0]))
    assert said == (
        "column 'points': 2 of 2 answers are none of the form's; the texts in its choices in generalizations.json"
    )
    assert "1 of 2" in faults(made().from_form, members(card=[1, 2]))[0]
    assert "2 of 2" in faults(made().from_form, members(card=[True, False]))[0]


def test_numbers_of_choices_are_those_of_the_file() -> None:
    """A long group is listed last, and so it is counted last, whatever its number inside."""
    columns = {"code": {"role": "insensitive", "dtype": "category", "values": [f"c{place}" for place in range(10)]}}
    schema = DatasetSchema.model_validate({"name": "made", "source": None, "columns": columns})
    (code,) = attributes_of(schema, ["code"])
    partition = Partition(code, groups=(0,) * 8 + (2, 1, 0))
    generalizer = Generalizer("made", "ranges", (Ranges(code, partition, np.array([3.0, 9.0, 8.0]), 0.0),))
    contract = to_contract(generalizer, {"code": 0.5})
    assert contract.attributes[0].choices == ["c8", "c9", "any other"]
    assert contract.attributes[0].groups == [["c8"], ["c9"], [f"c{place}" for place in range(8)]]
    assert contract.attributes[0].representatives == ["c8", "c9", "c3"]
    for each in (generalizer, told(contract)):
        for answers in ([0, 1, 2], contract.attributes[0].choices):
            assert each.from_form(pd.DataFrame({"code": answers}))["code"].tolist() == ["c8", "c9", "c3"]


def test_answers_that_are_none_are_refused_by_count_and_never_shown() -> None:
    rows = members(points=["above 12.25", "Zebedee"], card=["Zebedee", "Zebedee"], grade=[["Zebedee"], "none"])
    said = faults(made(outside="default").from_form, rows)
    assert [sentence.split(" answers")[0] for sentence in said] == [
        "column 'points': 1 of 2",
        "column 'card': 2 of 2",
        "column 'grade': 2 of 2",
    ]
    assert "Zebedee" not in "".join(said)


def test_absent_answers_and_exact_values_in_words_are_told_together() -> None:
    said = faults(made().from_form, members(joined=["Zebedee", "1"]).drop(columns=["points", "grade"]))
    assert [sentence.split(":")[0] for sentence in said] == ["column 'points'", "column 'grade'", "column 'joined'"]
    assert "Zebedee" not in "".join(said)


def test_an_exact_boolean_may_be_answered_by_yes_and_no() -> None:
    pd.testing.assert_frame_equal(made().from_form(members(smoker=["yes", "no"])), made().from_form(members()))
    assert "yes or no" in faults(made().from_form, members(smoker=["yes", "maybe"]))[0]


def test_exact_values_outside_the_domain_are_the_nearest_in_it_or_refused() -> None:
    rows = members(joined=pd.to_datetime(["1999-01-01", "2004-05-06"]))
    assert made().from_form(rows)["joined"].dt.year.tolist() == [2000, 2004]
    assert "1 of 2 cells are outside the domain" in faults(made(outside="refuse").from_form, rows)[0]


def test_one_hot_columns_are_answered_by_their_group(people: People, people_schema: DatasetSchema) -> None:
    (house,) = attributes_of(people_schema, ["house_own"])
    frame = people(9, 0)[house.names]
    for partition, answers in (
        (None, frame.idxmax(axis=1)),
        (Partition(house, groups=(0, 1, 1, 1)), np.where(frame["house_own"] == 1, 0, 1)),
    ):
        generalizer = Generalizer("made", "ranges", (Ranges(house, partition, np.array([0.0, 2.0]), 0.0),))
        form = pd.DataFrame({"a": 1, "house": answers, "b": 2}, index=frame.index)
        got = generalizer.from_form(form)
        assert list(got.columns) == ["a", *house.names, "b"]
        pd.testing.assert_frame_equal(got[house.names], generalizer.transform(frame))


def test_two_answers_with_one_text_are_neither() -> None:
    columns = {"x": {"role": "insensitive", "dtype": "category", "values": ["a or b", "a", "b"]}}
    schema = DatasetSchema.model_validate({"name": "made", "source": None, "columns": columns})
    (x,) = attributes_of(schema, ["x"])
    ranges = Ranges(x, Partition(x, groups=(0, 1, 1, 0)), np.array([0.0, 1.0]), 0.0)
    generalizer = Generalizer("made", "ranges", (ranges,))
    assert "2 of 2" in faults(generalizer.from_form, pd.DataFrame({"x": ["a or b", "a or b"]}))[0]
    assert generalizer.from_form(pd.DataFrame({"x": [0, 1]}))["x"].tolist() == ["a or b", "a"]


@pytest.mark.parametrize(
    "answers",
    [
        {"points": ["above 12.25", "up to 12.25"]},
        {"card": ["plus or gold", "basic"]},
        {"grade": ["much", "some to much"]},
    ],
)
def test_answers_of_the_form_in_place_of_values_are_refused_and_never_defaults(answers: dict[str, Any]) -> None:
    values = members(points=[1.0, 2.0], visits=[1, 2], card=["plus", "basic"], grade=["much", "none"])
    made().transform(values)
    (said,) = faults(made().transform, values.assign(**answers))
    assert "of 2 cells are answers of the form; values are expected; call from_form" in said


@pytest.mark.parametrize("cells", [["41", "12"], ["41", None], ["41", 12.0], pd.array(["41", "12"], dtype="string")])
@pytest.mark.parametrize("name", ["points", "visits"])
def test_numbers_in_text_are_refused(name: str, cells: Any) -> None:
    values = members(points=[1.0, 2.0], visits=[1, 2], card=["plus", "basic"], grade=["much", "none"])
    (said,) = faults(made().transform, values.assign(**{name: cells}))
    assert "numbers are minimised here" in said
    assert "41" not in said


def test_a_model_is_asked_by_predict_or_by_call() -> None:
    class Model:
        def predict(self, rows: pd.DataFrame) -> Any:
            return np.where(rows["points"] > 20, "much", "little")

    values = members(points=[90.0, 2.0], card=["plus", "basic"], grade=["much", "none"])
    assert made().answers(values, Model()).tolist() == ["much", "little"]  # type: ignore[arg-type]
    assert made().answers(values, lambda rows: rows[["points"]].to_numpy()).tolist() == [[50.0], [6.0]]


def test_dates_that_are_collected_exactly_are_read_from_their_texts() -> None:
    """As tables have them: days, in UTC; whatever stands for what is missing."""
    generalizer = made()
    day = pd.Timestamp("2010-05-06")
    for told in ("2010-05-06", "2010-05-06T12:34:56.789", "2010-05-06T23:00:00-00:30", day.date()):
        for missing in (None, pd.NaT, np.nan, pd.NA):
            read = generalizer.from_form(members(joined=pd.Series([told, missing], dtype=object).tolist()))["joined"]
            assert read.dtype.kind == "M"
            assert read.iloc[0] == day
            assert pd.isna(read.iloc[1])
    for told in ("last year", "now", "today", "20 May 2010"):
        with pytest.raises(DataError, match="column 'joined': 1 of 2 cells are no dates or times; ISO 8601") as caught:
            generalizer.from_form(members(joined=["2010-05-06", told]))
        assert told not in str(caught.value)
