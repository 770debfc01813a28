"""Rows that don't fit the domains: refused, counted and told, and never written anew where all is collected."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from components.data.table import Table
from components.minimization import GreedyMinimizer, TreeMinimizer
from components.minimization.asking import Asked
from components.minimization.attributes import attributes_of
from components.minimization.declarations import Greedy
from components.minimization.generalizer import Generalizer, Ranges
from components.minimization.holdout import hold_out
from components.minimization.minimise import minimise
from components.models import CallableModel
from schemas.dataset import DatasetSchema
from schemas.faults import DataError

CANARY = "Zebedee-4711"
MOMENT = "2024-03-01T00:00:00.123456789"
COLUMNS: dict[str, Any] = {
    "own": {"dtype": "number", "min": 0, "max": 1, "group": "house", "nullable": True},
    "rent": {"dtype": "number", "min": 0, "max": 1, "group": "house", "nullable": True},
    "age": {"dtype": "integer", "min": 0, "max": 99},
    "seen": {"dtype": "datetime", "min": "2024-01-01", "max": "2024-12-31"},
    "site": {"dtype": "category", "values": ["a", "b"]},
}


def _exact(outside: Any = "default") -> Generalizer:
    columns = {name: {"role": "insensitive"} | column for name, column in COLUMNS.items()}
    schema = DatasetSchema.model_validate({"name": "t", "source": None, "columns": columns})
    ranges = [Ranges(each, None, np.array([]), 0.0) for each in attributes_of(schema, list(COLUMNS))]
    return Generalizer("made", "ranges", tuple(ranges), outside=outside)


def _rows(**columns: list[Any]) -> pd.DataFrame:
    """Return three rows in their domains, the first two of which a test may change."""
    moments = pd.to_datetime([MOMENT] * 3)
    usual = {"own": [1.0, 0, 0], "rent": [0.0, 1, 1], "age": [7, 8, 9], "seen": moments, "site": ["a", "b", "a"]}
    return pd.DataFrame(usual | columns)


@pytest.mark.parametrize(
    ("own", "rent"),
    [([1, 0, 0], [1, 1, 1]), ([0, 0, 0], [0, 1, 1]), ([np.nan, 0, 0], [0, 1, 1]), ([np.nan] * 3, [np.nan] * 3)],
    ids=["several", "none", "half missing", "missing"],
)
def test_an_exact_group_stays_as_it_is_however_many_of_its_columns_are_1(own: list[Any], rent: list[Any]) -> None:
    rows = _rows(own=own, rent=rent)
    pd.testing.assert_frame_equal(_exact().transform(rows), rows)


def test_of_what_is_exact_only_cells_outside_the_domain_change() -> None:
    late = pd.to_datetime(["2031-01-01", MOMENT, MOMENT], format="ISO8601")
    rows = _rows(own=[5.0, 1, 0], rent=[0.0, 1, np.nan], age=[150, 8, 9], seen=late, site=[CANARY, "b", "a"])
    new = _exact().transform(rows)
    wanted = rows.assign(own=[1.0, 1, 0], rent=[0, 1, np.nan], age=[99, 8, 9], site=["a", "b", "a"])
    wanted.loc[0, "seen"] = pd.Timestamp("2024-12-31")
    pd.testing.assert_frame_equal(new, wanted)


@pytest.mark.parametrize("column", [{"own": [1.0, 0, 1]}, {"age": [150, 8, 9]}])
def test_they_are_refused_where_that_is_asked(column: dict[str, list[Any]]) -> None:
    with pytest.raises(DataError, match="1 of 3 cells are outside the domain"):
        _exact("refuse").transform(_rows(**column))


def _mixed(rows: int = 600) -> pd.DataFrame:
    random = np.random.default_rng(0)
    return pd.DataFrame({"age": random.integers(18, 90, rows), "b": random.normal(size=rows)})


def _old(frame: pd.DataFrame) -> Any:
    return np.where(frame["age"] > 50, "old", "young")


@pytest.mark.parametrize("kind", [TreeMinimizer, GreedyMinimizer])
def test_columns_of_a_group_that_are_not_one_hot_are_refused_by_count(kind: Any) -> None:
    with pytest.raises(DataError) as told:
        kind(_old, groups={"g": ["age", "b"]}, target=0.9).fit(_mixed())
    assert [(fault.place, fault.problem) for fault in told.value.faults] == [
        ("column 'age'", "600 of 600 cells are neither 0 nor 1 nor missing"),
        ("column 'b'", "600 of 600 cells are neither 0 nor 1 nor missing"),
    ]


def _hot(frame: pd.DataFrame) -> Any:
    return np.where((frame["own"] == 1) & (frame["rent"] == 0), "own", "other")


@pytest.mark.parametrize("kind", [TreeMinimizer, GreedyMinimizer])
def test_rows_of_a_group_with_several_ones_or_none_are_told_by_count_and_stay_where_it_is_exact(kind: Any) -> None:
    frame = _mixed().assign(own=lambda rows: (rows["age"] > 50) * 1, rent=lambda rows: (rows["age"] <= 50) * 1)
    frame.loc[:9, ["own", "rent"]] = 1
    frame.loc[10:14, ["own", "rent"]] = 0
    made = kind(_hot, groups={"house": ["own", "rent"]}, target=0.95, random_state=0).fit(frame)
    assert [note.split(";")[0] for note in made.notes_ if note.startswith("group")] == [
        "group 'house': 10 of 600 rows have not one 1 but several, or other numbers",
        "group 'house': 5 of 600 rows have no 1, and count as missing",
    ]
    kept = {each.attribute.name: each.exact for each in made.generalizer_.ranges}
    assert kept["house"]
    pd.testing.assert_frame_equal(made.transform(frame)[["own", "rent"]], frame[["own", "rent"]])
    assert made.score(frame) >= 0.95


def test_cells_outside_a_given_domain_are_told_by_count() -> None:
    columns = {"age": {"dtype": "integer", "min": 0, "max": 60}, "b": {"dtype": "category", "values": ["x", "y"]}}
    columns = {name: {"role": "insensitive"} | column for name, column in columns.items()}
    schema = DatasetSchema.model_validate({"name": "t", "source": None, "columns": columns})
    frame = _mixed().assign(b="x")
    frame.loc[:2, "b"] = CANARY
    made = TreeMinimizer(_old, schema=schema, target=0.8, random_state=0).fit(frame)
    over = int((frame["age"] > 60).sum())
    assert f"column 'age': {over} of 600 cells are outside the domain, and count as the nearer bound" in made.notes_
    assert "column 'b': 3 of 600 cells are outside the domain, and count as its default" in made.notes_
    assert not made.transform(frame)["b"].eq(CANARY).any()


def _asked(people_schema: DatasetSchema) -> Asked:
    """Return a rule over people whose one-hot columns declare no bounds, which a model's encoder needs none of."""
    bare = {"min": None, "max": None}
    columns = [each.model_copy(update=bare) if each.group == "house" else each for each in people_schema.columns]
    schema = people_schema.model_copy(update={"columns": columns})
    return Asked(CallableModel(lambda frame: np.where(frame["age"] > 50, "ill", "well"), schema), schema)


@pytest.mark.parametrize("broken", ["others", "several"])
def test_a_run_refuses_a_group_of_other_numbers_and_tells_of_broken_rows(
    people_schema: DatasetSchema, people: Callable[[int, int], pd.DataFrame], broken: str
) -> None:
    asked, frame = _asked(people_schema), people(1200, 3)
    frame.loc[:19, ["house_own", "house_rent"]] = 7 if broken == "others" else 1
    tables = (Table(frame.iloc[:600], asked.schema), Table(frame.iloc[600:], asked.schema))
    params = Greedy(columns=["age", "house_own", "house_rent", "house_free"], back_steps=0)
    sides = hold_out(params, *tables, seed=0)
    if broken == "others":
        with pytest.raises(DataError, match="20 of 600 cells are neither 0 nor 1 nor missing"):
            minimise(params, asked, sides, 0.8, 0)
        return
    notes = minimise(params, asked, sides, 0.8, 0).notes
    assert "group 'house': 20 of 600 rows have not one 1 but several" in notes[0]
