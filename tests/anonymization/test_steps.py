"""Recodings of chosen columns: what they show, what a model sees, and which rows they leave alike."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.anonymization.declarations import Microaggregate, Pipeline, TopBottom
from components.anonymization.hierarchies.hierarchy import climb, relabelled
from components.anonymization.hierarchies.sources import hierarchy_of
from components.anonymization.pipeline.rules import step_faults
from components.anonymization.pipeline.steps import Coded, labels_on, microaggregated, suppressed, top_bottom
from components.classes.coding import Attribute, encode
from schemas.dataset import Column, DatasetSchema

KINDS = ["low", "middle", "high"]
ORDERED = pd.CategoricalDtype(KINDS, ordered=True)


def unit_of(cells: list[Any], cell_dtype: Any, /, **column: Any) -> Attribute:
    declared = Column.model_validate({"name": "x", "nullable": True} | column)
    (unit,) = encode(pd.DataFrame({"x": pd.Series(cells, dtype=cell_dtype)}), [declared])
    return unit


def shown(coded: Coded) -> list[Any]:
    return [None if pd.isna(cell) else cell for cell in coded.columns[0].cells]


def training(coded: Coded) -> list[Any]:
    return [None if pd.isna(cell) else cell for cell in coded.columns[0].training]


def alike(coded: Coded) -> bool:
    """Tell whether codes part rows just as what they show does."""
    pairs = set(zip(coded.codes.tolist(), map(str, shown(coded)), strict=True))
    return len(pairs) == len(set(coded.codes.tolist())) == len({text for _, text in pairs})


@pytest.mark.parametrize(
    ("cells", "dtype", "column", "bounds", "cells_after", "seen"),
    [
        (
            [18, 20, 25, 80, 93, None],
            "Int64",
            {"dtype": "integer"},
            {"bottom": 20, "top": 80},
            ["<= 20", "<= 20", "25", ">= 80", ">= 80", None],
            [20, 20, 25, 80, 80, None],
        ),
        ([18, 20, 25], "int64", {"dtype": "integer"}, {"top": 22}, ["18", "20", ">= 22"], [18, 20, 22]),
        ([1.5, 2.25, None], "float64", {"dtype": "number"}, {"bottom": 2}, ["<= 2.0", "2.25", None], [2.0, 2.25, None]),
        (
            ["low", "middle", "high"],
            ORDERED,
            {"dtype": "ordered", "values": KINDS},
            {"top": "middle"},
            ["low", ">= middle", ">= middle"],
            ["low", "middle", "middle"],
        ),
        ([20, 30], "int64", {"dtype": "integer"}, {"bottom": 5, "top": 90}, ["20", "30"], [20, 30]),
        ([None, None], "Int64", {"dtype": "integer"}, {"bottom": 5}, [None, None], [None, None]),
    ],
)
def test_top_and_bottom_coding(
    cells: list[Any], dtype: Any, column: Any, bounds: Any, cells_after: list[Any], seen: list[Any]
):
    coded = top_bottom(unit_of(cells, dtype, **column), TopBottom(columns=["x"], **bounds))
    assert shown(coded) == cells_after
    assert training(coded) == seen
    assert coded.columns[0].training.dtype == dtype
    assert alike(coded)


@pytest.mark.parametrize("dtype", ["datetime64[us]", "datetime64[us, UTC]"])
def test_times_have_a_top_and_a_bottom_too(dtype: str):
    unit = unit_of(["2024-01-01", "2024-01-05", "2024-03-01"], dtype, dtype="datetime")
    coded = top_bottom(unit, TopBottom(columns=["x"], bottom="2024-01-02T00:00:00Z", top="2024-02-01"))
    mark = "Z" if "UTC" in dtype else ""
    assert shown(coded) == [
        f"<= 2024-01-02T00:00:00.000000{mark}",
        f"2024-01-05T00:00:00.000000{mark}",
        f">= 2024-02-01T00:00:00.000000{mark}",
    ]
    assert coded.columns[0].training.dtype == dtype
    assert pd.Series(coded.columns[0].training).dt.day.tolist() == [2, 5, 1]


@settings(max_examples=60, deadline=None)
@given(
    cells=st.lists(st.one_of(st.none(), st.integers(0, 20)), min_size=1, max_size=30),
    bottom=st.integers(0, 9),
    top=st.integers(10, 20),
)
def test_what_a_model_sees_is_told_by_the_release(cells: list[int | None], bottom: int, top: int):
    coded = top_bottom(
        unit_of(cells, "Int64", dtype="integer"), TopBottom(columns=["x"], bottom=float(bottom), top=float(top))
    )
    assert training(coded) == [None if one is None else min(max(one, bottom), top) for one in cells]
    for label, seen in zip(shown(coded), training(coded), strict=True):
        assert label is None if seen is None else int(label.split(" ")[-1]) == seen
    assert coded.facts["share_coded"] == np.mean([one is not None and not bottom < one < top for one in cells])
    assert alike(coded)


@pytest.mark.parametrize(
    ("cells", "dtype", "column", "seen"),
    [
        ([1, None], "Int64", {"dtype": "integer", "min": 10, "max": 21}, 15),
        ([1, 2], "int64", {"dtype": "integer"}, 0),
        ([1, 2], "int64", {"dtype": "integer", "min": 0, "max": 1e300}, 2**62 - 1),
        ([2, 3], "int64", {"dtype": "integer", "min": 2, "max": 5.5}, 3),
        ([1.0, 2.0], "float64", {"dtype": "number", "min": 1, "max": 2}, 1.5),
        ([1.0, 2.0], "float64", {"dtype": "number", "min": 1}, 1.0),
        (
            ["2024-01-09", None],
            "datetime64[us]",
            {"dtype": "date", "min": "2024-01-01", "max": "2024-01-04"},
            pd.Timestamp("2024-01-02"),
        ),
        (["2024-01-09", None], "datetime64[us]", {"dtype": "date"}, pd.Timestamp("1970-01-01")),
        (["low", "high"], ORDERED, {"dtype": "ordered", "values": KINDS}, "middle"),
        (["a", "b"], "string", {"dtype": "text"}, "*"),
        ([True, None], "boolean", {"dtype": "boolean"}, False),
    ],
)
def test_a_suppressed_column_tells_nothing_and_keeps_its_dtype(cells: list[Any], dtype: Any, column: Any, seen: Any):
    coded = suppressed(unit_of(cells, dtype, **column))
    assert shown(coded) == ["*", "*"]
    assert training(coded) == [seen, seen]
    assert coded.columns[0].training.dtype == dtype
    assert (coded.size, set(coded.codes)) == (1, {0})


@pytest.mark.parametrize("levels", [0, 1, 2, [0, 1, 2, 0, 1], [1, 0, 0, 1, 0], [2, 2, 1, 1, 2]])
def test_numbers_part_rows_of_a_column_as_the_labels_on_their_levels_do(levels: Any):
    unit = unit_of(["a", "b", "c", None, "c"], "string", dtype="text")
    hierarchy = hierarchy_of(unit.columns[0], [("a", "ab", "*"), ("b", "ab", "*"), ("c", "c", "*")])
    ladder = climb(unit, hierarchy)
    levels = np.asarray(levels)
    codes, count = labels_on(ladder, levels)
    cells = pd.Series(relabelled(ladder, levels).cells).fillna("missing").tolist()
    pairs = set(zip(codes.tolist(), cells, strict=True))
    assert len(pairs) == len(set(codes.tolist())) == len(set(cells))
    assert max(codes) < count


def test_microaggregated_rows_are_alike_where_their_values_are():
    unit = unit_of([0.0, 2.0, 1.0, 1.0, None], "float64", dtype="number")
    coded = microaggregated([unit], Microaggregate(columns=["x"], size=2))
    assert shown(coded) == [1.0, 1.0, 1.0, 1.0, None] or alike(coded)
    assert coded.facts["smallest_group"] == 1  # the missing cell by itself, which the criteria will see


# What steps can't do


def faults(steps: list[dict[str, Any]]) -> list[str]:
    columns = {
        "age": {"dtype": "integer", "role": "quasi_identifier", "min": 0, "max": 120},
        "visits": {"dtype": "integer", "role": "quasi_identifier", "min": 0.5, "max": 1e300},
        "seen": {"dtype": "datetime", "role": "quasi_identifier"},
        "born": {"dtype": "date", "role": "quasi_identifier", "min": "1900-01-01"},
        "kind": {"dtype": "ordered", "values": KINDS, "role": "quasi_identifier"},
        "zip": {"dtype": "text", "role": "quasi_identifier", "hierarchy": "zip.csv"},
        "hot_a": {"dtype": "integer", "role": "quasi_identifier", "group": "hot"},
        "hot_b": {"dtype": "integer", "role": "quasi_identifier", "group": "hot"},
        "cost": {"dtype": "number", "role": "sensitive"},
    }
    schema = DatasetSchema.model_validate({"name": "x", "source": None, "columns": columns, "hierarchies": "."})
    return [str(fault) for fault in step_faults(Pipeline.model_validate({"steps": steps}).steps, schema)]


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"name": "suppress", "columns": ["aeg"]}, "steps.0.columns: 'aeg' is no column of the schema"),
        ({"name": "suppress", "columns": ["ziip"]}, "did you mean zip?"),
        ({"name": "suppress", "columns": ["cost"]}, "'cost' has another role"),
        ({"name": "suppress", "columns": ["zip", "zip"]}, "'zip' is named twice"),
        ({"name": "suppress", "columns": ["hot_a"]}, "these are left out: 'hot_b'"),
        ({"name": "top_bottom", "columns": ["age"]}, "steps.0: neither bottom nor top"),
        ({"name": "top_bottom", "columns": ["age"], "bottom": 60, "top": 20}, "bottom is not below top"),
        ({"name": "top_bottom", "columns": ["age"], "bottom": 20, "top": 20}, "bottom is not below top"),
        ({"name": "top_bottom", "columns": ["age"], "top": 130}, "steps.0.top: lies outside the domain"),
        ({"name": "top_bottom", "columns": ["age"], "top": 20.5}, "a whole number is needed"),
        ({"name": "top_bottom", "columns": ["visits"], "top": 1e300}, "outside what whole numbers hold"),
        ({"name": "top_bottom", "columns": ["visits"], "top": 2.0**63}, "outside what whole numbers hold"),
        ({"name": "top_bottom", "columns": ["visits"], "bottom": -1e300}, "outside what whole numbers hold"),
        ({"name": "top_bottom", "columns": ["visits"], "top": 1e20}, "steps.0.top: is no value of column 'visits'"),
        ({"name": "top_bottom", "columns": ["born"], "top": "20000-01-01"}, "an ISO 8601 date or time in quotes"),
        ({"name": "top_bottom", "columns": ["seen"], "top": "9999-12-31T23:00:00-05:00"}, "in the years 1 to 9999"),
        ({"name": "top_bottom", "columns": ["seen"], "bottom": "0001-01-01T00:00:00+05:00"}, "years 1 to 9999"),
        ({"name": "top_bottom", "columns": ["age"], "top": "20"}, "a finite number is needed"),
        ({"name": "top_bottom", "columns": ["born"], "bottom": 1950}, "an ISO 8601 date or time in quotes is needed"),
        ({"name": "top_bottom", "columns": ["born"], "bottom": "1850-01-01"}, "outside the domain of column 'born'"),
        ({"name": "top_bottom", "columns": ["kind"], "top": "highest"}, "one of the column's declared values"),
        ({"name": "top_bottom", "columns": ["zip"], "top": "9"}, "'zip' is a text column, which has neither top"),
        ({"name": "microaggregate", "columns": ["zip", "age"]}, "'zip' is a text column, whose values have no order"),
        ({"name": "microaggregate", "columns": ["kind"]}, "'kind' is ordered, and has no mean"),
        ({"name": "microaggregate", "columns": ["hot_a", "hot_b"]}, "one of the one-hot columns of a group"),
        ({"name": "lattice", "columns": ["age", "zip"]}, "'age' is a column without a hierarchy"),
        ({"name": "generalise", "columns": ["age"], "level": 1}, "the step generalise climbs a hierarchy"),
        ({"name": "mondrian", "columns": ["age"], "weights": {"zip": 2.0}}, "weights.zip: names no quasi-identifier"),
        ({"name": "mondrian", "columns": ["age"], "weights": {"agee": 2.0}}, "did you mean age?"),
        (
            {"name": "lattice", "columns": ["zip"], "levels": {"age": {}}},
            "steps.0.levels.age: names no quasi-identifier",
        ),
        ({"name": "lattice", "columns": ["zip"], "levels": {"zip": {"min": 2, "max": 1}}}, "min 2 is above max 1"),
        (
            {"name": "lattice", "columns": ["zip"], "weights": {"zip": 2.0}, "quality": "ambiguity"},
            "steps.0.weights: the quality model ambiguity looks at classes",
        ),
    ],
)
def test_what_a_step_can_t_do_is_said(step: dict[str, Any], said: str):
    assert any(said in fault for fault in faults([step])), faults([step])


def test_a_column_is_recoded_once():
    (said,) = faults([{"name": "suppress", "columns": ["zip"]}, {"name": "lattice", "columns": ["zip"]}])
    assert said.startswith(
        "anonymization.steps.1.columns: 'zip' is recoded by anonymization.steps.0 already; one step a column"
    )


def test_not_every_column_may_be_suppressed():
    every = ["age", "visits", "seen", "born", "kind", "zip", "hot_a", "hot_b"]
    (said,) = faults([{"name": "suppress", "columns": every}])
    assert "every quasi-identifier is suppressed" in said
    assert not faults([{"name": "suppress", "columns": every[1:]}])
