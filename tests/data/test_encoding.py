"""The encoder: values worked by hand, and properties that hold for any table."""

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.data.encoding import LEARNED_VALUES_LIMIT, Encoder
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError

CANARY = "ZZ-CANARY-7731"

COLUMNS: dict[str, dict[str, Any]] = {
    "age": {"dtype": "integer", "min": 20, "max": 60},
    "sex": {"dtype": "category", "values": ["F", "M"]},
    "band": {"dtype": "ordered", "values": ["0-35", "35-55", "55<="], "nullable": True},
    "income": {"dtype": "number", "min": 0.0, "max": 200.0, "nullable": True},
    "smoker": {"dtype": "boolean"},
    "day": {"dtype": "date", "min": "2020-01-01", "max": "2020-01-11"},
    "code": {"dtype": "text", "values": ["007", "7"], "nullable": True},
}


def schema_of(columns: dict[str, dict[str, Any]]) -> DatasetSchema:
    return DatasetSchema(
        name="people",
        source=None,
        columns=[{"name": name, "role": "insensitive"} | column for name, column in columns.items()],
    )


def encoder_of(columns: dict[str, dict[str, Any]], rows: pd.DataFrame | None = None) -> Encoder:
    return Encoder.from_schema(schema_of(columns), list(columns), rows)


def encoded(column: dict[str, Any], cells: pd.Series) -> list[list[float]]:
    features = encoder_of({"x": column}).transform(pd.DataFrame({"x": cells}))
    rows: list[list[float]] = features.tolist()
    return rows


@pytest.fixture
def people() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "extra": [CANARY, CANARY],
            "code": pd.array([None, "7"], dtype="str"),
            "age": [20, 50],
            "sex": pd.Categorical(["M", "F"], categories=["F", "M"]),
            "band": pd.Categorical(["55<=", None], categories=["0-35", "35-55", "55<="], ordered=True),
            "income": [50.0, np.nan],
            "smoker": [True, False],
            "day": pd.to_datetime(["2020-01-06", "2020-01-01"]).as_unit("us"),
        },
        index=[9, 4],
    )


def test_features_are_those_worked_by_hand(people: pd.DataFrame) -> None:
    encoder = encoder_of(COLUMNS)
    features = pd.DataFrame(encoder.transform(people), columns=encoder.names)
    assert features.to_dict("list") == {
        "age": [0, 0.75],
        "sex=F": [0, 1],
        "sex=M": [1, 0],
        "sex?other": [0, 0],
        "band": [1, 0.5],
        "band?other": [0, 0],
        "band?missing": [0, 1],
        "income": [0.25, 0.5],
        "income?missing": [0, 1],
        "smoker": [1, 0],
        "day": [0.5, 0],
        "code=007": [0, 0],
        "code=7": [0, 1],
        "code?other": [0, 0],
        "code?missing": [1, 0],
    }


def test_features_are_float32_rows_in_one_block(people: pd.DataFrame) -> None:
    features = encoder_of(COLUMNS).transform(people)
    assert features.dtype == np.float32
    assert features.flags.c_contiguous


def test_the_frame_is_never_written_to(people: pd.DataFrame) -> None:
    for column in ("age", "income", "smoker", "day"):
        people[column].to_numpy().flags.writeable = False
    before = people.copy(deep=True)
    encoder_of(COLUMNS).transform(people)
    pd.testing.assert_frame_equal(people, before)


def test_no_rows_give_no_rows(people: pd.DataFrame) -> None:
    assert encoder_of(COLUMNS).transform(people.iloc[:0]).shape == (0, 15)


def test_an_ordered_column_keeps_its_declared_order() -> None:
    column = {"dtype": "ordered", "values": ["0 <= <200 DM", "<0 DM", "no account"]}
    cells = pd.Series(["no account", "0 <= <200 DM", "<0 DM"], dtype="str")
    assert encoded(column, cells) == [[1, 0], [0, 0], [0.5, 0]]


def test_the_order_of_a_frames_own_categories_does_not_matter() -> None:
    column = {"dtype": "category", "values": ["a", "b"]}
    cells = pd.Series(pd.Categorical(["a", "b", "c"], categories=["c", "b", "a"]))
    assert encoded(column, cells) == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_an_unseen_value_goes_to_other() -> None:
    assert encoded({"dtype": "category", "values": ["a"]}, pd.Series([CANARY], dtype="str")) == [[0, 1]]
    assert encoded({"dtype": "ordered", "values": ["a", "b"]}, pd.Series([CANARY], dtype="str")) == [[0.5, 1]]


def test_leading_zeros_tell_texts_apart() -> None:
    column = {"dtype": "text", "values": ["01001", "1001"]}
    assert encoded(column, pd.Series(["1001", "01001"], dtype="str")) == [[0, 1, 0], [1, 0, 0]]


def test_numbers_beyond_their_bounds_stay_in_the_unit_interval() -> None:
    assert encoded({"dtype": "number", "min": 0, "max": 10}, pd.Series([-5.0, 5, 1e9, np.inf])) == [
        [0],
        [0.5],
        [1],
        [1],
    ]


def test_zero_has_no_sign() -> None:
    features = encoder_of({"x": {"dtype": "number", "min": 0, "max": 1}}).transform(pd.DataFrame({"x": [0.0, -0.0]}))
    assert features[0].tobytes() == features[1].tobytes()


def test_equal_bounds_are_a_constant_and_not_a_division_by_zero() -> None:
    assert encoded({"dtype": "number", "min": 3, "max": 3}, pd.Series([3.0, 3.0])) == [[0], [0]]


@pytest.mark.parametrize("dtype", ["int64", "Int64", "float64", "Float64", "int8"])
def test_numbers_of_every_pandas_dtype_are_read_alike(dtype: str) -> None:
    assert encoded({"dtype": "integer", "min": 0, "max": 4}, pd.Series([1, 4], dtype=dtype)) == [[0.25], [1]]


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean"])
def test_missing_cells_of_extension_dtypes_are_missing(dtype: str) -> None:
    column: dict[str, Any] = {"dtype": "boolean"} if dtype == "boolean" else {"dtype": "number", "min": 0, "max": 1}
    cells = pd.Series([1, None], dtype=dtype)
    assert encoded(column | {"nullable": True}, cells) == [[1, 0], [0.5, 1]]


def test_times_with_a_zone_are_compared_in_utc() -> None:
    column = {"dtype": "datetime", "min": "2020-01-01T00:00:00+00:00", "max": "2020-01-01T10:00:00+00:00"}
    cells = pd.Series(pd.to_datetime(["2020-01-01T06:00:00+01:00"])).dt.as_unit("us")
    assert encoded(column, cells) == [[0.5]]
    assert encoded(column, pd.Series(pd.to_datetime(["2020-01-01T05:00:00"]))) == [[0.5]]


def test_a_missing_moment_gets_the_middle() -> None:
    column = {"dtype": "date", "min": "2020-01-01", "max": "2020-01-03", "nullable": True}
    assert encoded(column, pd.Series(pd.to_datetime([None, "2020-01-03"]))) == [[0.5, 1], [1, 0]]


def test_one_hot_columns_of_a_group_pass_as_they_are() -> None:
    columns = {
        "race_a": {"dtype": "integer", "group": "race"},
        "race_b": {"dtype": "number", "group": "race"},
        "race_c": {"dtype": "boolean", "group": "race"},
    }
    frame = pd.DataFrame({"race_a": [1, 0, 0], "race_b": [0.0, 1.0, 0.0], "race_c": [False, False, True]})
    assert encoder_of(columns).transform(frame).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_names_of_two_columns_that_could_be_confused_differ() -> None:
    names = encoder_of(
        {"a": {"dtype": "category", "values": ["b_c", "other"]}, "a_b": {"dtype": "category", "values": ["c"]}}
    ).names
    assert names == ("a=b_c", "a=other", "a?other", "a_b=c", "a_b?other")


signs = st.text(alphabet="ab=?\\_", min_size=1, max_size=4)


@given(st.dictionaries(signs, st.lists(signs, min_size=1, max_size=3, unique=True), min_size=1, max_size=4))
@settings(deadline=None, max_examples=200)
def test_feature_names_never_collide(columns: dict[str, list[str]]) -> None:
    # With a number column called like each feature, too: the worst a header can do.
    declared: dict[str, dict[str, Any]] = {
        name: {"dtype": "category", "values": values, "nullable": True} for name, values in columns.items()
    }
    numbers = {name: {"dtype": "number", "min": 0, "max": 1} for name in encoder_of(declared).names}
    names = encoder_of(numbers | declared).names
    assert len(set(names)) == len(names)


cells = st.one_of(st.none(), st.sampled_from(["a", "b", "c", CANARY]))


@given(st.lists(cells, min_size=1, max_size=20), st.randoms(use_true_random=False), st.booleans())
@settings(deadline=None, max_examples=100)
def test_one_hot_rows_add_up_to_one_whatever_the_order(
    drawn: list[str | None],
    random: Any,
    categorical: bool,  # noqa: FBT001  # drawn by hypothesis
) -> None:
    encoder = encoder_of({"x": {"dtype": "category", "values": ["a", "b", "c"], "nullable": True}})
    frame = pd.DataFrame({"x": pd.Series(drawn, dtype="category" if categorical else "str")})
    features = encoder.transform(frame)
    assert (features.sum(axis=1) == 1).all()
    assert features[:, -1].astype(bool).tolist() == [cell is None for cell in drawn]
    order = random.sample(range(len(drawn)), len(drawn))
    assert (encoder.transform(frame.iloc[order]) == features[order]).all()


@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=False)), min_size=1, max_size=20))
@settings(deadline=None, max_examples=100)
def test_scaled_features_stay_in_the_unit_interval_and_keep_order(drawn: list[float | None]) -> None:
    encoder = encoder_of({"x": {"dtype": "number", "min": -3, "max": 7.5, "nullable": True}})
    numbers = np.array(drawn, dtype=np.float64)
    features = encoder.transform(pd.DataFrame({"x": numbers}))
    assert ((features >= 0) & (features <= 1)).all()
    assert not np.signbit(features).any()
    present = np.sort(numbers[~np.isnan(numbers)])
    assert (np.diff(encoder.transform(pd.DataFrame({"x": present}))[:, 0]) >= 0).all()


def test_every_fault_of_a_frame_is_told_without_its_values() -> None:
    frame = pd.DataFrame(
        {"age": [CANARY], "sex": [1], "income": [CANARY], "day": [CANARY], "band": [None], "code": [2]}
    )
    frame["smoker"] = pd.Series([None], dtype="boolean")
    with pytest.raises(DataError) as caught:
        encoder_of(COLUMNS | {"gone": {"dtype": "boolean"}}).transform(frame)
    places = [fault.place for fault in caught.value.faults]
    assert places == [f"column '{name}'" for name in ("age", "sex", "income", "smoker", "day", "code", "gone")]
    assert CANARY not in str(caught.value)
    assert "1 of 1 cells are missing" in str(caught.value)


def test_columns_that_declare_too_little_are_refused_together() -> None:
    columns = {"job": {"dtype": "text"}, "age": {"dtype": "integer", "min": 0}, "ok": {"dtype": "boolean"}}
    with pytest.raises(ConfigurationError) as caught:
        encoder_of(columns)
    assert [fault.place for fault in caught.value.faults] == ["column 'job'", "column 'age'"]
    assert "dataset.columns.job.values, or encoder.learn=true" in str(caught.value)
    assert "dataset.columns.age.min and .max" in str(caught.value)


def test_an_unknown_column_is_a_clear_fault() -> None:
    with pytest.raises(ConfigurationError, match="column 'nobody': the schema has no such column"):
        Encoder.from_schema(schema_of(COLUMNS), ["age", "nobody"])
    with pytest.raises(ConfigurationError, match="no column is left"):
        Encoder.from_schema(schema_of(COLUMNS), [])


def test_what_is_learned_from_rows_is_listed() -> None:
    columns: dict[str, dict[str, Any]] = COLUMNS | {
        "job": {"dtype": "text"},
        "height": {"dtype": "number", "min": 100},
        "seen": {"dtype": "date"},
        "town": {"dtype": "category", "nullable": True},
    }
    rows = pd.DataFrame(
        {
            "job": pd.array(["nurse", "clerk"], dtype="str"),
            "height": [150.0, 200.0],
            "seen": pd.to_datetime(["2020-01-01", "2020-01-03"]),
            "town": pd.Categorical(["x", None], categories=["x", "nobody lives here"]),
        }
    )
    encoder = encoder_of(columns, rows)
    assert encoder.learned == ("job", "height", "seen", "town")
    names = ["job=clerk", "job=nurse", "job?other", "height", "seen", "town=x", "town?other", "town?missing"]
    assert encoder.names[15:] == tuple(names)
    later = pd.DataFrame(
        {
            "job": pd.array(["pilot"], dtype="str"),
            "height": [150.0],
            "seen": pd.to_datetime(["2020-01-02"]),
            "town": pd.array([None], dtype="str"),
        }
    )
    learned = Encoder(columns=encoder.columns[-4:])
    assert learned.transform(later).tolist() == [[0, 0, 1, 0.5, 0.5, 0, 0, 1]]


def test_nothing_is_learned_where_everything_is_declared(people: pd.DataFrame) -> None:
    assert encoder_of(COLUMNS, people) == encoder_of(COLUMNS)
    assert encoder_of(COLUMNS, people).learned == ()


def test_free_text_is_not_learned_as_categories() -> None:
    rows = pd.DataFrame({"x": pd.Series(range(LEARNED_VALUES_LIMIT + 1)).astype("str") + CANARY})
    with pytest.raises(DataError, match="1001 values among the train rows") as caught:
        encoder_of({"x": {"dtype": "text"}}, rows)
    assert CANARY not in str(caught.value)


def test_there_must_be_something_to_learn_from() -> None:
    rows = pd.DataFrame({"x": pd.Series([None], dtype="str"), "y": [np.nan]})
    with pytest.raises(DataError) as caught:
        encoder_of({"x": {"dtype": "text"}, "y": {"dtype": "number"}, "z": {"dtype": "number"}}, rows)
    assert len(caught.value.faults) == 3


def test_it_reads_itself_back_from_json(people: pd.DataFrame) -> None:
    encoder = encoder_of(COLUMNS)
    again = Encoder.from_json(encoder.model_dump_json())
    assert again == encoder
    assert (again.transform(people) == encoder.transform(people)).all()


@pytest.mark.parametrize("text", ["", "{}", '{"columns": []}', '{"columns": [{"column": "x", "kind": "pickle"}]}'])
def test_json_that_describes_no_encoder_is_refused(text: str) -> None:
    with pytest.raises(DataError, match=r"encoder\.json"):
        Encoder.from_json(text)


def test_encoding_takes_no_more_than_three_times_the_table() -> None:
    rows = 100_000
    random = np.random.default_rng(0)
    numbers = {f"n{i}": {"dtype": "number", "min": 0, "max": 1} for i in range(8)}
    texts = {f"c{i}": {"dtype": "category", "values": list("abcde")} for i in range(4)}
    frame = pd.DataFrame({name: random.random(rows) for name in numbers})
    for name in texts:
        frame[name] = pd.Categorical(random.choice(list("abcde"), rows), categories=list("abcde"))
    encoder = encoder_of(numbers | texts)
    tracemalloc.start()
    encoder.transform(frame)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * frame.memory_usage(index=False).sum()
