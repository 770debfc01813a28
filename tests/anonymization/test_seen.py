"""Generalised columns as models see them: one space for every table, and nothing left of the raw value."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.anonymization.declarations import SeenAs
from components.anonymization.hierarchies.functions import level_labels
from components.anonymization.hierarchies.hierarchy import climb, published
from components.anonymization.hierarchies.sources import load
from components.anonymization.hierarchies.training import middles
from components.anonymization.representatives import Published
from components.anonymization.transform.seen import full_domain, learned_from
from components.anonymization.transform.seen_groups import groups_of
from components.classes.coding import encode
from components.data.encoding import Encoder
from components.data.table import Table
from components.models import build
from components.models.declarations import Tree
from schemas.dataset import Column, DatasetSchema
from schemas.faults import ConfigurationError, DataError
from schemas.table import validate

REGIONS = ["north", "south", "west", "east"]
GRADES = ["I", "II", "III", "IV"]
COLUMNS: dict[str, dict[str, Any]] = {
    "person": {"dtype": "text", "role": "identifier"},
    "age": {"dtype": "integer", "min": 0, "max": 99, "hierarchy": {"name": "intervals", "widths": [10, 50]}},
    "height": {
        "dtype": "number",
        "min": 0.5,
        "max": 2.25,
        "hierarchy": {"name": "intervals", "widths": [0.1, 0.5], "lowest": 1.0, "highest": 2.0},
    },
    "region": {
        "dtype": "category",
        "values": REGIONS,
        "hierarchy": {"name": "tree", "groups": {"NS": REGIONS[:2], "WE": REGIONS[2:]}},
    },
    "grade": {
        "dtype": "ordered",
        "values": GRADES,
        "hierarchy": {"name": "order", "levels": [{"low": GRADES[:2], "high": GRADES[2:]}]},
    },
    "zip": {"dtype": "text", "values": ["01001", "01002", "02001"], "hierarchy": {"name": "mask", "keep": [2]}},
    "smoker": {"dtype": "boolean", "hierarchy": "*"},
    "seen": {
        "dtype": "date",
        "min": "2023-01-10",
        "max": "2024-12-31",
        "hierarchy": {"name": "date", "levels": ["month", "year"]},
    },
    "at": {
        "dtype": "datetime",
        "min": "2024-01-01T00:00",
        "max": "2024-12-31T23:59",
        "hierarchy": {"name": "date", "levels": ["day", "quarter"]},
    },
    "visits": {"dtype": "integer", "role": "insensitive", "min": 0, "max": 9},
    "ill": {"dtype": "category", "role": "sensitive", "values": ["no", "yes"]},
}
QUASI = [name for name, column in COLUMNS.items() if "role" not in column]
HEIGHTS = dict.fromkeys(("age", "height", "seen", "at"), 3) | {"region": 2, "grade": 2, "zip": 2, "smoker": 1}
CELLS: dict[str, st.SearchStrategy[Any]] = {
    "age": st.integers(0, 99),
    "height": st.integers(50, 225).map(lambda centimetres: centimetres / 100),
    "region": st.sampled_from(REGIONS),
    "grade": st.sampled_from(GRADES),
    "zip": st.sampled_from(["01001", "01002", "02001"]),
    "smoker": st.booleans(),
    "seen": st.integers(0, 700).map(lambda days: pd.Timestamp("2023-01-10") + pd.Timedelta(days=days)),
    "at": st.integers(0, 8000).map(lambda hours: pd.Timestamp("2024-01-01") + pd.Timedelta(hours=hours)),
}
DTYPES = {
    "age": "Int64",
    "height": "float64",
    "region": pd.CategoricalDtype(REGIONS),
    "grade": pd.CategoricalDtype(GRADES, ordered=True),
    "zip": "string",
    "smoker": "boolean",
    "seen": "datetime64[us]",
    "at": "datetime64[us]",
}
ENCODINGS = [
    SeenAs(encode_numbers=numbers, encode_categories=categories)
    for numbers in ("midpoint", "code", "one_hot")
    for categories in ("one_hot", "code")
]


def schema_of(names: list[str] | None = None, *, nullable: bool = True, **more: Any) -> DatasetSchema:
    columns = {
        name: {"role": "quasi_identifier", "nullable": nullable, **COLUMNS[name]} if name in QUASI else COLUMNS[name]
        for name in names or COLUMNS
    }
    settings_ = {"target": "ill", "task": "classification"} if "ill" in columns else {}
    return DatasetSchema.model_validate(
        {"name": "made", "source": {"name": "none"}, "columns": columns, **settings_, **more}
    )


def table_of(cells: dict[str, list[Any]], schema: DatasetSchema) -> Table:
    rows = len(next(iter(cells.values())))
    frame = pd.DataFrame({name: pd.Series(column, dtype=DTYPES[name]) for name, column in cells.items()})
    for name in schema.names():
        column = schema.column(name)
        if name in QUASI and not column.nullable and column.dtype in {"integer", "boolean"}:
            frame[name] = frame[name].astype({"integer": "int64", "boolean": "bool"}[column.dtype])
    if "ill" in schema.names():
        frame["ill"] = pd.Categorical(["no", "yes"] * rows, categories=["no", "yes"])[:rows]
        frame["visits"] = np.arange(rows) % 10
        frame["person"] = pd.array([f"p{row}" for row in range(rows)], dtype="string")
    return Table(frame[schema.names()], schema)


def one(name: str, cells: list[Any], **changes: Any) -> Table:
    column = {"role": "quasi_identifier", "nullable": False, **COLUMNS[name], **changes}
    more = {"missing": {"markers": ["?"]}}
    schema = DatasetSchema.model_validate({"name": "m", "source": {"name": "none"}, "columns": {name: column}, **more})
    dtype = DTYPES[name] if column["nullable"] or column["dtype"] != "integer" else "int64"
    return Table(pd.DataFrame({name: pd.Series(cells, dtype=dtype)}), schema)


def seen_on(table: Table, levels: dict[str, int], params: SeenAs, hierarchies: Any = None) -> Any:
    hierarchies = hierarchies or load(table.schema, Path())
    units = encode(table.frame, [table.schema.column(name) for name in levels])
    ladders = [climb(unit, hierarchies[unit.name], table.schema.missing.markers) for unit in units]
    return ladders, full_domain(ladders, list(levels.values()), params)


@st.composite
def tables(draw: st.DrawFn, min_size: int = 1, *, nullable: bool = True) -> Table:
    rows = draw(st.integers(min_size, 12))
    cells = {
        name: draw(st.lists(st.none() | values if nullable else values, min_size=rows, max_size=rows))
        for name, values in CELLS.items()
    }
    return table_of(cells, schema_of(nullable=nullable))


LEVELS = st.fixed_dictionaries({name: st.integers(0, height) for name, height in HEIGHTS.items()})


@settings(max_examples=25, deadline=None)
@given(tables(), tables(), LEVELS, st.sampled_from(ENCODINGS))
def test_two_sites_without_a_row_in_common_share_one_space(
    here: Table, there: Table, levels: dict[str, int], params: SeenAs
) -> None:
    _, seen_here = seen_on(here, levels, params)
    _, seen_there = seen_on(there, levels, params)
    first, second, crossed = seen_here(here), seen_there(there), seen_here(there)
    assert first.schema == second.schema == crossed.schema
    pd.testing.assert_frame_equal(second.frame, crossed.frame)
    names = [name for name in first.schema.features if levels.get(name, 1) or name != "smoker"]
    encoder = Encoder.from_schema(first.schema, names)  # from the schema alone: nothing is learned
    assert encoder.names == Encoder.from_schema(second.schema, names).names
    features = encoder.transform(second.frame)
    assert ((features >= 0) & (features <= 1)).all()
    assert not features[:, [name.endswith("?other") for name in encoder.names]].any()
    validate(second.frame, second.schema)


@settings(max_examples=25, deadline=None)
@given(tables(min_size=2), LEVELS, st.sampled_from(ENCODINGS))
def test_rows_of_one_released_class_look_the_same_to_a_model(
    table: Table, levels: dict[str, int], params: SeenAs
) -> None:
    before = table.frame.copy(deep=True)
    ladders, seen = seen_on(table, levels, params)
    shown = seen(table)
    pd.testing.assert_frame_equal(table.frame, before)
    names = list(levels)
    features = Encoder.from_schema(shown.schema, names).transform(shown.frame)
    cells = [published(ladder, levels[ladder.attribute.name]) for ladder in ladders]
    released = pd.DataFrame(
        {
            name: pd.Series(table.frame[name].to_numpy() if one is None else one.cells).astype("string").fillna("?")
            for name, one in zip(names, cells, strict=True)
        }
    )
    for rows in released.groupby(names).indices.values():
        assert (features[rows] == features[rows[0]]).all()
    if params.encode_numbers != "midpoint":  # and what is told apart in the release is told apart by the model
        assert len(np.unique(features, axis=0)) == len(released.drop_duplicates())


@pytest.mark.parametrize(
    ("name", "level", "cells", "wanted", "low", "high"),
    [
        ("age", 1, [20, 29, 30, 99], [24.5, 24.5, 34.5, 94.5], 4.5, 94.5),
        ("age", 2, [0, 49, 50], [24.5, 24.5, 74.5], 24.5, 74.5),
        ("age", 3, [1, 98], [49.5, 49.5], 49.5, 49.5),
        ("height", 1, [0.6, 1.04, 1.75, 2.25], [0.75, 1.05, 1.75, 2.125], 0.75, 2.125),
        ("height", 3, [0.6, 2.2], [1.375, 1.375], 1.375, 1.375),
    ],
)
def test_numbers_become_the_middle_of_their_declared_group(
    name: str, level: int, cells: list[Any], wanted: list[float], low: float, high: float
) -> None:
    table = one(name, cells)
    _, seen = seen_on(table, {name: level}, SeenAs())
    shown = seen(table)
    assert shown.frame[name].tolist() == pytest.approx(wanted)
    column = shown.schema.column(name)
    assert (column.dtype, column.nullable) == ("number", False)
    assert (column.min, column.max) == (low, high)


def test_dates_become_the_middle_day_of_their_declared_group() -> None:
    table = one("seen", ["2023-01-31", "2024-02-01", "2024-02-29"])
    _, seen = seen_on(table, {"seen": 1}, SeenAs())
    shown = seen(table)
    assert shown.frame["seen"].tolist() == [pd.Timestamp(day) for day in ("2023-01-20", "2024-02-15", "2024-02-15")]
    column = shown.schema.column("seen")
    assert (column.dtype, column.min, column.max) == ("date", "2023-01-20", "2024-12-16")


@pytest.mark.parametrize(
    ("name", "level", "cells", "wanted", "last"),
    [
        ("age", 1, [9, 10, 99], [0, 1, 9], 9),
        ("height", 1, [0.99, 1.0, 1.95, 2.0], [0, 1, 10, 11], 11),
        ("grade", 1, ["II", "III"], [0, 1], 1),
        ("zip", 1, ["02001", "01002"], [1, 0], 1),
        ("seen", 2, ["2023-12-31", "2024-01-01"], [0, 1], 1),
        ("at", 1, ["2024-01-01T12:00", "2024-12-31"], [0, 365], 365),
        ("smoker", 1, [True, False], [0, 0], 0),
    ],
)
def test_codes_keep_the_order_of_groups(name: str, level: int, cells: list[Any], wanted: list[int], last: int) -> None:
    table = one(name, cells)
    _, seen = seen_on(table, {name: level}, SeenAs(encode_numbers="code", encode_categories="code"))
    shown = seen(table)
    assert shown.frame[name].tolist() == wanted
    column = shown.schema.column(name)
    assert (column.dtype, column.min, column.max) == ("integer", 0, last)
    assert shown.frame[name].dtype == "int64"


def test_one_hot_has_all_labels_of_the_level_whether_they_occur_or_not() -> None:
    table = one("height", [1.2])
    _, seen = seen_on(table, {"height": 2}, SeenAs(encode_numbers="one_hot"))
    shown = seen(table)
    assert shown.schema.column("height").values == ["< 1", "[1, 1.5)", "[1.5, 2)", ">= 2"]
    assert shown.frame["height"].tolist() == ["[1, 1.5)"]


@settings(max_examples=50, deadline=None)
@given(
    bounds=st.tuples(st.integers(-400, 400), st.integers(0, 400)),
    origin=st.integers(-30, 30),
    width=st.sampled_from([0.1, 0.25, 1, 3, 7.5]),
    ends=st.tuples(st.none() | st.integers(-200, 0), st.none() | st.integers(1, 200)),
    values=st.lists(st.floats(0, 1), min_size=1, max_size=30),
)
def test_every_interval_between_the_bounds_is_listed(
    bounds: tuple[int, int], origin: int, width: float, ends: tuple[Any, Any], values: list[float]
) -> None:
    low, high = bounds[0] / 10, (bounds[0] + bounds[1]) / 10
    hierarchy = {"name": "intervals", "origin": origin / 10, "widths": [width]}
    hierarchy |= {key: end / 10 for key, end in zip(("lowest", "highest"), ends, strict=True) if end is not None}
    cells = [min(max(low + value * (high - low), low), high) for value in [0.0, 1.0, *values]]
    table = one("height", cells, min=low, max=high, hierarchy=hierarchy)
    (listed,) = load(table.schema, Path()).values()
    (unit,) = encode(table.frame, [table.schema.column("height")])
    groups = groups_of(climb(unit, listed), listed, 1)
    assert groups is not None
    found = level_labels(listed.column.hierarchy, listed.column, np.array(cells), 1)  # type: ignore[arg-type]
    assert set(found) <= set(groups.labels)
    assert (np.diff(groups.low) > 0).all()
    _, seen = seen_on(table, {"height": 1}, SeenAs(encode_numbers="code"))
    codes = seen(table).frame["height"].to_numpy()
    order = np.argsort(cells, kind="stable")
    assert (np.diff(codes[order]) >= 0).all()


def test_slivers_beside_open_ends_are_listed() -> None:
    hierarchy = {"name": "intervals", "widths": [0.5], "lowest": 0.9, "highest": 1.6}
    table = one("height", [1.55], hierarchy=hierarchy)
    _, seen = seen_on(table, {"height": 1}, SeenAs(encode_numbers="one_hot"))
    values = seen(table).schema.column("height").values
    assert values == ["< 0.9", "[0.9, 1)", "[1, 1.5)", "[1.5, 1.6)", ">= 1.6"]


@pytest.mark.parametrize("params", ENCODINGS)
def test_missing_cells_stay_missing_till_the_level_of_one_group(params: SeenAs) -> None:
    for name, cells in {"age": [None, 20], "region": [None, "west"], "seen": [None, "2024-01-01"]}.items():
        table = one(name, cells, nullable=True)
        top = HEIGHTS[name]
        for level in range(1, top + 1):
            _, seen = seen_on(table, {name: level}, params)
            shown = seen(table)
            assert shown.schema.column(name).nullable == (level < top)
            assert shown.frame[name].isna().tolist() == [level < top, False]
            features = Encoder.from_schema(shown.schema, [name]).transform(shown.frame)
            assert (features[0] == features[1]).all() == (level == top)
            validate(shown.frame, shown.schema)


@pytest.mark.parametrize("params", ENCODINGS)
def test_missing_cells_climb_with_a_marker_that_the_hierarchy_holds(params: SeenAs, tmp_path: Path) -> None:
    (tmp_path / "age.csv").write_text("1;low;*\n2;low;*\n3;high;*\n?;?;*\n")
    table = one("age", [1, None, 3], nullable=True, hierarchy="age.csv", min=1, max=3)
    hierarchies = load(table.schema, tmp_path)
    _, seen = seen_on(table, {"age": 1}, params, hierarchies)
    shown = seen(table)
    assert shown.frame["age"].isna().tolist() == [False, True, False]
    assert shown.schema.column("age").nullable
    assert "?" not in (shown.schema.column("age").values or [])
    validate(shown.frame, shown.schema)
    _, seen = seen_on(table, {"age": 2}, params, hierarchies)
    assert not seen(table).schema.column("age").nullable
    assert len(set(seen(table).frame["age"])) == 1


def test_a_marker_in_a_group_of_its_own_has_no_middle(tmp_path: Path) -> None:
    (tmp_path / "age.csv").write_text("1;low;*\n2;low;*\n3;high;*\n?;unknown;*\n")
    table = one("age", [1, None, 3], nullable=True, hierarchy="age.csv", min=1, max=3)
    hierarchies = load(table.schema, tmp_path)
    for params in ENCODINGS:
        _, seen = seen_on(table, {"age": 1}, params, hierarchies)
        shown = seen(table)
        validate(shown.frame, shown.schema)
        assert shown.schema.column("age").nullable == (params.encode_numbers == "midpoint")
        assert shown.frame["age"].nunique(dropna=False) == 3


def test_leaves_beyond_the_declared_bounds_do_not_move_the_middle(tmp_path: Path) -> None:
    (tmp_path / "age.csv").write_text("".join(f"{age};{age // 10};*\n" for age in range(-50, 120)))
    table = one("age", [18, 25], hierarchy="age.csv", min=17, max=90)
    _, seen = seen_on(table, {"age": 1}, SeenAs(), load(table.schema, tmp_path))
    shown = seen(table)
    assert shown.frame["age"].tolist() == [18.0, 24.5]
    assert (shown.schema.column("age").min, shown.schema.column("age").max) == (18.0, 90.0)


def test_a_leaf_that_stands_for_missing_does_not_move_the_middle(tmp_path: Path) -> None:
    (tmp_path / "age.csv").write_text("".join(f"{age};{'old' if age > 9 else 'young'};*\n" for age in [1, 3, 10, 99]))
    table = one("age", [1, 3, 10, None], nullable=True, hierarchy="age.csv", min=None, max=None)
    schema = table.schema.model_copy(
        update={"missing": table.schema.missing.model_copy(update={"markers": ("?", "99")})}
    )
    _, seen = seen_on(Table(table.frame, schema), {"age": 1}, SeenAs(), load(schema, tmp_path))
    assert seen(Table(table.frame, schema)).frame["age"].tolist() == [2.0, 2.0, 10.0, 10.0]


def test_codes_without_declared_values_are_learned_or_refused() -> None:
    table = one("zip", ["01001", "02002"], values=None)
    for params in ENCODINGS:
        _, seen = seen_on(table, {"zip": 1}, params)
        shown = seen(table)
        assert shown.frame["zip"].tolist() == ["01***", "02***"]
        with pytest.raises(ConfigurationError):
            Encoder.from_schema(shown.schema, ["zip"])
        assert Encoder.from_schema(shown.schema, ["zip"], shown.frame).names == ("zip=01***", "zip=02***", "zip?other")
        _, seen = seen_on(table, {"zip": 2}, params)  # but the top is known
        Encoder.from_schema(seen(table).schema, ["zip"])


def test_numbers_without_declared_bounds_have_the_middle_of_their_interval() -> None:
    table = one("height", [1.21, 1.94], min=None, max=None, hierarchy={"name": "intervals", "widths": [0.5]})
    _, seen = seen_on(table, {"height": 1}, SeenAs())
    shown = seen(table)
    assert shown.frame["height"].tolist() == [1.25, 1.75]
    assert Encoder.from_schema(shown.schema, ["height"], shown.frame).learned == ("height",)


def test_a_later_value_that_no_hierarchy_covers_is_refused_and_not_told() -> None:
    hierarchy = {"name": "tree", "groups": {"first": ["a", "b"], "second": ["c"]}}
    table = one("zip", ["a", "b", "c"], values=None, hierarchy=hierarchy)
    _, seen = seen_on(table, {"zip": 1}, SeenAs())
    with pytest.raises(DataError) as caught:
        seen(Table(pd.DataFrame({"zip": pd.Series(["a", "canary"], dtype="string")}), table.schema))
    assert "zip" in str(caught.value)
    assert "canary" not in str(caught.value)


@settings(max_examples=10, deadline=None)
@given(tables(min_size=4, nullable=False), LEVELS, st.sampled_from(ENCODINGS))
def test_a_model_learns_from_released_rows_and_predicts_raw_ones(
    table: Table, levels: dict[str, int], params: SeenAs
) -> None:
    _, seen = seen_on(table, levels, params)
    suppressed = np.arange(len(table.frame)) == 0
    training = learned_from(seen, table, [], suppressed)
    assert list(training.frame.index) == list(table.frame.index[1:])
    assert "person" not in training.frame.columns
    model = build(Tree(), training.schema, 7).fit(training)
    assert set(model.predict(seen(table).frame)) <= {"no", "yes"}


def test_a_target_is_learned_as_released_and_predicted_as_it_is() -> None:
    schema = DatasetSchema.model_validate(
        {
            "name": "m",
            "source": {"name": "none"},
            "target": "age",
            "task": "regression",
            "columns": {name: {"role": "quasi_identifier", **COLUMNS[name]} for name in ("age", "height")},
        }
    )
    table = Table(pd.DataFrame({"age": [20, 29, 61], "height": [1.5, 1.6, 1.7]}), schema)
    _, seen = seen_on(table, {"age": 1, "height": 2}, SeenAs())
    age = Published(schema.column("age"), None, np.array([24, 24, 64]), generalised=True)
    gone = np.array([False, True, False])
    training = learned_from(seen, table, [age], gone)
    assert training.frame["age"].tolist() == [24, 64]
    assert seen(table).frame["age"].tolist() == [20, 29, 61]
    assert seen(table).schema.column("age") == training.schema.column("age")


def test_the_middle_of_the_widest_span_is_a_number():
    column = Column(name="x", dtype="number")
    assert middles(np.array([-1.7e308, 1.0]), np.array([1.7e308, 2.0]), column).tolist() == [0.0, 1.5]


def test_every_target_is_learned_as_released_and_predicted_as_it_is() -> None:
    columns = {name: {"role": "quasi_identifier", **COLUMNS[name]} for name in ("age", "height")}
    whole = {"name": "m", "source": {"name": "none"}, "target": ["age", "height"], "task": "regression"}
    schema = DatasetSchema.model_validate({**whole, "columns": columns})
    table = Table(pd.DataFrame({"age": [20, 29, 61], "height": [1.5, 1.6, 1.7]}), schema)
    _, seen = seen_on(table, {"age": 1, "height": 2}, SeenAs())
    released = [
        Published(schema.column("age"), None, np.array([24, 24, 64]), generalised=True),
        Published(schema.column("height"), None, np.array([1.6, 1.6, 1.6]), generalised=True),
    ]
    training = learned_from(seen, table, released, np.array([False, True, False]))
    assert training.frame.to_numpy().tolist() == [[24, 1.6], [64, 1.6]]
    pd.testing.assert_frame_equal(seen(table).frame, table.frame)
