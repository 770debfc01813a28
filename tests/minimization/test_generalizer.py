"""Generalisers: rows in, rows out, and nothing of the rows but what is collected."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.minimization.attributes import BELOW, Attribute, attributes_of, encoded
from components.minimization.generalizer import NO_CELL, Cells, Generalizer, Ranges
from components.minimization.partitions import Partition
from components.minimization.problem import Rows, agree, agreement, replaced
from schemas.dataset import DatasetSchema
from schemas.faults import DataError

Make = Callable[..., Generalizer]
People = Callable[..., pd.DataFrame]
SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def frame(people: People) -> pd.DataFrame:
    return people(120, 7)


@pytest.fixture(scope="module")
def age(people_schema: DatasetSchema) -> Attribute:
    return attributes_of(people_schema, ["age"])[0]


@pytest.fixture(scope="module")
def region(people_schema: DatasetSchema) -> Attribute:
    return attributes_of(people_schema, ["region"])[0]


def _slow_cell(cells: Cells, parts: dict[str, np.ndarray], row: int) -> int:
    for number in range(len(cells)):
        if all(table[number, parts[name][row]] for name, table in cells.admitted.items()):
            return number
    return NO_CELL


def _written(cells: pd.Series) -> list[Any]:
    return [None if pd.isna(cell) else cell for cell in cells]


@settings(deadline=None, max_examples=40)
@given(seed=SEEDS)
def test_a_rows_cell_is_the_first_one_that_holds_its_parts(
    people_schema: DatasetSchema, any_generalizer: Make, frame: pd.DataFrame, seed: int
) -> None:
    made = any_generalizer(people_schema, seed, ["age", "region", "grade", "height"], use="representatives")
    parts = made.parts(made.encode(frame.head(60)))
    if made.cells is None or not parts:
        return
    assert made.cells.of(parts).tolist() == [_slow_cell(made.cells, parts, row) for row in range(60)]


@settings(deadline=None, max_examples=30)
@given(seed=SEEDS)
def test_ncp_is_between_0_and_1_in_either_use(
    people_schema: DatasetSchema, any_generalizer: Make, frame: pd.DataFrame, seed: int
) -> None:
    made = any_generalizer(people_schema, seed)
    codes = made.encode(frame)
    for use in ("representatives", "ranges"):
        losses = made.losses(codes, use)
        assert set(losses) == {each.name for each in made.attributes}
        assert all(0 <= loss <= 1 for loss in losses.values())
        assert losses["one"] == 0  # of a constant nothing can be lost


@settings(deadline=None, max_examples=30)
@given(seed=SEEDS)
def test_rows_get_representatives_or_defaults_and_nothing_of_their_own(
    people_schema: DatasetSchema, any_generalizer: Make, frame: pd.DataFrame, seed: int
) -> None:
    made = any_generalizer(people_schema, seed)
    before = frame.copy(deep=True)
    new = made.transform(frame)
    codes = made.encode(new)
    for each in made.ranges:
        name = each.attribute.name
        if each.exact:
            pd.testing.assert_frame_equal(new[each.attribute.names], frame[each.attribute.names])
            continue
        standing = set(each.representatives)
        if made.cells is not None:
            standing = {*made.cells.representatives[name], each.default}
        assert set(codes[name]) <= standing
    pd.testing.assert_frame_equal(frame, before)
    assert new.index.equals(frame.index)
    assert list(new.columns) == list(frame.columns)
    assert new.dtypes.drop("outcome").equals(frame.dtypes.drop("outcome"))


@settings(deadline=None, max_examples=15)
@given(seed=SEEDS, order=st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(
    people_schema: DatasetSchema, any_generalizer: Make, frame: pd.DataFrame, seed: int, order: Any
) -> None:
    made = any_generalizer(people_schema, seed)
    places = list(range(len(frame)))
    order.shuffle(places)
    pd.testing.assert_frame_equal(made.transform(frame.iloc[places]), made.transform(frame).iloc[places])


@settings(deadline=None, max_examples=15)
@given(seed=SEEDS)
def test_no_raw_value_of_what_is_minimised_is_left_anywhere(
    people_schema: DatasetSchema, any_generalizer: Make, frame: pd.DataFrame, seed: int
) -> None:
    """Values that no schema and no cut holds: numbers with a mark in their digits, names that nobody declares."""
    marked = frame.assign(
        income=np.full(len(frame), 12345.678901),
        height=np.full(len(frame), 1.7654321),
        region=pd.Categorical(["Zebedee-4711"] * len(frame)),
        zip=pd.array(["Zebedee-4711"] * len(frame), dtype="string"),
    )
    made = any_generalizer(people_schema, seed, ["income", "height", "region", "zip"])
    new = made.transform(marked)
    assert "Zebedee" not in new.to_csv()
    assert not any("Zebedee" in str(dtype.categories) for dtype in new.dtypes if hasattr(dtype, "categories"))
    exact = {each.attribute.name for each in made.ranges if each.exact}
    assert "income" in exact or "12345.678901" not in new.to_csv()
    assert "height" in exact or "1.7654321" not in new.to_csv()


def test_only_age_to_minimise_leaves_every_other_column_identical(age: Attribute, frame: pd.DataFrame) -> None:
    made = Generalizer("made", "ranges", (Ranges(age, Partition(age, cuts=(40.5,)), np.array([30.0, 60.0]), 17.0),))
    new = made.transform(frame)
    pd.testing.assert_frame_equal(new.drop(columns="age"), frame.drop(columns="age"))
    assert new["age"].tolist() == [30 if cell <= 40 else 60 for cell in frame["age"]]


def _two(age: Attribute, region: Attribute, **more: Any) -> Generalizer:
    """Make cells: up to 40 in the north or south, above 40 in the north; everybody else is in none."""
    ranges = (
        Ranges(age, Partition(age, cuts=(40.5,)), np.array([30.0, 60.0]), 50.0),
        Ranges(region, Partition(region, groups=(0, 0, 1, 1, 1)), np.array([1.0, 2.0]), 2.0),
    )
    admitted = {"age": np.array([[True, False], [False, True]]), "region": np.array([[True, False], [True, False]])}
    standing = {"age": np.array([25.0, 70.0]), "region": np.array([0.0, 1.0])}
    cells = Cells(admitted, standing, np.array([True, True]), np.array([[0.0], [1.0]]))
    return Generalizer("made", "representatives", ranges, cells, **more)


def _some(**cells: list[Any]) -> pd.DataFrame:
    return pd.DataFrame(cells)


def test_a_row_outside_every_cell_gets_defaults_or_is_refused(age: Attribute, region: Attribute) -> None:
    rows = _some(age=[20, 80, 33], region=["south", "north", "west"])
    new = _two(age, region).transform(rows)
    assert new["age"].tolist() == [25, 70, 50]
    assert new["region"].tolist() == ["north", "south", "west"]  # the last row's is the default, not its own
    with pytest.raises(DataError, match="1 of 3 rows are in no cell"):
        _two(age, region, outside="refuse").transform(rows)


def test_a_row_outside_every_cell_loses_everything(age: Attribute, region: Attribute) -> None:
    made = _two(age, region)
    rows = made.encode(_some(age=[33], region=["west"]))
    assert made.losses(rows) == {"age": 1.0, "region": 1.0}
    assert made.losses(made.encode(_some(age=[33], region=["north"]))) == {
        "age": pytest.approx((40.5 - 17) / (90 - 17)),
        "region": 0.5,
    }


def test_an_unseen_category_counts_as_the_default_or_is_refused(age: Attribute, region: Attribute) -> None:
    rows = _some(age=[20, 20], region=["Zebedee-4711", "north"])
    new = _two(age, region).recoded(_two(age, region).encode(rows), use="ranges")
    assert new["region"].tolist() == [2, 1]
    with pytest.raises(DataError, match="column 'region': 1 of 2 cells are outside the domain") as told:
        _two(age, region, outside="refuse").transform(rows)
    assert "4711" not in str(told.value)


def test_missing_cells_apart_stay_missing_others_get_what_stands_for_their_part(people_schema: DatasetSchema) -> None:
    (visits,) = attributes_of(people_schema, ["visits"])
    rows = pd.DataFrame({"visits": pd.array([None, 3, 12], dtype="Int64")})
    apart = Ranges(visits, Partition(visits, cuts=(BELOW, 6.5)), np.array([BELOW, 3.0, 9.0]), 0.0)
    with_them = Ranges(visits, Partition(visits, cuts=(6.5,)), np.array([3.0, 9.0]), 0.0)
    nothing = Ranges(visits, Partition.whole(visits), np.array([6.0]), 0.0)
    found = [
        _written(Generalizer("made", "ranges", (each,)).transform(rows)["visits"])
        for each in (apart, with_them, nothing)
    ]
    assert found == [[None, 3, 9], [3, 3, 9], [6, 6, 6]]


def test_what_stays_exact_is_not_written_anew(people_schema: DatasetSchema) -> None:
    """Numbers of more digits than a float holds, and nanoseconds, stay whole."""
    some = attributes_of(people_schema, ["seen", "age"])
    made = Generalizer("made", "ranges", tuple(Ranges(each, None, np.array([]), each.low) for each in some))
    rows = pd.DataFrame(
        {"age": [20], "seen": pd.to_datetime(["2024-05-05T05:05:05.123456789Z"]).astype("datetime64[ns, UTC]")}
    )
    pd.testing.assert_frame_equal(made.transform(rows), rows)
    outside = made.transform(rows.assign(age=[4711]))
    assert outside["age"].tolist() == [90]


@pytest.mark.parametrize("bounds", [{"min": "2024-01-01", "max": "2024-12-31"}, {}], ids=["declared", "learned"])
def test_an_exact_date_keeps_no_time_of_day(bounds: dict[str, str]) -> None:
    option = {"name": "seen", "role": "insensitive", "dtype": "date", **bounds}
    schema = DatasetSchema.model_validate({"name": "made", "source": None, "columns": [option]})
    rows = pd.DataFrame({"seen": pd.to_datetime(["2024-05-05 05:05", "2024-08-08 12:00", "2024-12-31 23:59"])})
    (each,) = attributes_of(schema, ["seen"], learn_from=rows)
    made = Generalizer("made", "ranges", (Ranges(each, None, np.array([]), each.low),))
    assert made.transform(rows)["seen"].astype(str).tolist() == ["2024-05-05", "2024-08-08", "2024-12-31"]


@pytest.mark.parametrize("use", ["representatives", "ranges"])
def test_no_rows_go_through_and_lose_nothing(
    people_schema: DatasetSchema, any_generalizer: Make, people: People, use: str
) -> None:
    made = any_generalizer(people_schema, 3, use=use)
    nobody = people(5, 0).iloc[:0]
    pd.testing.assert_frame_equal(made.transform(nobody), nobody)
    assert set(made.losses(made.encode(nobody)).values()) == {0.0}


def test_cells_over_no_attribute_are_one_for_all(age: Attribute, frame: pd.DataFrame) -> None:
    cells = Cells({}, {}, np.array([True]), np.zeros((1, 1)))
    assert cells.of({"age": np.array([0, 1, 1])}).tolist() == [0, 0, 0]
    made = Generalizer("made", "representatives", (Ranges(age, None, np.array([]), 17.0),), cells)
    pd.testing.assert_frame_equal(made.transform(frame), frame)


@pytest.mark.parametrize("rows", [np.zeros((1, 2)), {"age": [1]}, pd.Series({"age": 1}), [[1]], None])
@pytest.mark.parametrize("method", ["transform", "from_form", "encode", "answers"])
def test_what_is_no_table_is_refused(
    people_schema: DatasetSchema, any_generalizer: Make, rows: Any, method: str
) -> None:
    made = any_generalizer(people_schema, 0, ["age", "income"])
    more = [lambda frame: frame] if method == "answers" else []
    with pytest.raises(DataError, match=f"^rows: {type(rows).__name__} is no table; a pandas.DataFrame"):
        getattr(made, method)(rows, *more)


def test_absent_columns_are_told_at_once(people_schema: DatasetSchema, any_generalizer: Make) -> None:
    made = any_generalizer(people_schema, 0, ["age", "income"])
    with pytest.raises(DataError) as told:
        made.transform(pd.DataFrame({"other": [1]}))
    assert str(told.value) == "column 'age': not in the table\ncolumn 'income': not in the table"


def test_more_cells_than_bits_of_a_word_are_told_apart(people_schema: DatasetSchema) -> None:
    (income,) = attributes_of(people_schema, ["income"])
    cuts = tuple(np.arange(1, 200) * 500.0)
    admitted = {"income": np.eye(200, dtype=bool)}
    cells = Cells(admitted, {"income": np.append(cuts, 1e5)}, np.ones(200, dtype=bool), np.zeros((200, 1)))
    made = Generalizer(
        "made", "representatives", (Ranges(income, Partition(income, cuts=cuts), np.append(cuts, 1e5), 0.0),), cells
    )
    rows = pd.DataFrame({"income": np.append(cuts, 1e5) - 250})
    assert made.transform(rows)["income"].tolist() == [*cuts, 1e5]


def test_agreement_is_of_all_outputs_together() -> None:
    answers, now = np.array([[0, 1], [1, 1], [0, 0]]), np.array([[0, 1], [1, 0], [0, 0]])
    assert agree(answers, now).tolist() == [True, False, True]
    assert agreement(answers, now, regression=False) == pytest.approx(2 / 3)


def test_a_problem_weighs_what_attributes_lose_by_their_sensitivity(
    people_schema: DatasetSchema, people: People, rule: Any, problem_for: Callable[..., Any]
) -> None:
    problem = problem_for(people(100, 0), people_schema, rule, columns=["age", "income"], weights={"age": 3.0})
    assert problem.privacy({"age": 1.0, "income": 0.0}) == pytest.approx(0.75)
    assert problem.assured(problem.calibration.answers) == (problem.report_rows >= 59)
    rows: Rows = problem.fit
    assert len(rows) == 60
    shown = replaced(rows.frame, problem.attributes, {"age": np.full(60, 40.0)})
    assert set(encoded(problem.attributes, shown)["age"]) == {40.0}
