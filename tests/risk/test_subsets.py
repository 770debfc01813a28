"""Risk by subset of quasi-identifiers, against counting records in plain Python."""

from collections import defaultdict
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.risk.subsets import subset_risk
from schemas.dataset import DatasetSchema

NAMES = ["a", "b", "c", "d"]
CELLS = st.sampled_from(["x", "y", "z", None, "*"])


def schema_of(names: list[str], **more: Any) -> DatasetSchema:
    columns: dict[str, Any] = {name: {"dtype": "text", "role": "quasi_identifier", "nullable": True} for name in names}
    columns["who"] = {"dtype": "text", "role": "identifier"}
    return DatasetSchema.model_validate({"name": "made", "source": None, "columns": columns, **more})


def frame_of(rows: list[tuple[Any, ...]], names: list[str]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.array([row[at] for row in rows], dtype="string") for at, name in enumerate(names)})


def slow(rows: list[tuple[Any, ...]], names: list[str], who: list[Any]) -> dict[str, dict[str, float]]:
    """Count persons class by class."""
    kept = [at for at, row in enumerate(rows) if set(row) != {"*"}] or list(range(len(rows)))
    found = {}
    for size in (1, 2, 3):
        for subset in combinations(range(len(names)), size):
            classes = defaultdict(set)
            for at in kept:
                classes[tuple(rows[at][column] for column in subset)].add(who[at])
            sizes = [len(members) for members in classes.values()]
            records = [count for count in sizes for _ in range(count)]
            if records:
                found[", ".join(names[column] for column in subset)] = {
                    "size": size,
                    "k": min(sizes),
                    "classes": len(sizes),
                    "sample_uniques": records.count(1) / len(records),
                    "risk_prosecutor_max": 1 / min(sizes),
                    "risk_prosecutor_mean": len(sizes) / len(records),
                    "risk_above_0.09": sum(count < 11 for count in records) / len(records),
                    "risk_above_0.2": sum(count < 5 for count in records) / len(records),
                    "risk_above_0.5": sum(count < 2 for count in records) / len(records),
                    "arirec": sum(1 / count for count in sizes) / len(sizes),
                }
    return found


@settings(deadline=None, max_examples=80)
@given(st.data())
def test_every_subset_has_the_figures_of_a_plain_count(data: st.DataObject):
    names = NAMES[: data.draw(st.integers(1, 4))]
    rows = data.draw(st.lists(st.tuples(*[CELLS] * len(names)), min_size=1, max_size=30))
    who = data.draw(st.lists(st.sampled_from("pqrstu"), min_size=len(rows), max_size=len(rows)))
    counts_persons = data.draw(st.booleans())
    frame = frame_of(rows, names)
    before = frame.copy(deep=True)
    found = subset_risk(frame, schema_of(names), persons=who if counts_persons else None)
    expected = slow(rows, names, who if counts_persons else list(range(len(rows))))
    assert found["subset"].tolist() == list(expected)
    for row in found.to_dict("records"):
        subset = str(row.pop("subset"))
        assert row == pytest.approx(expected[subset])
    pd.testing.assert_frame_equal(frame, before)


def test_a_fully_suppressed_row_is_in_no_class():
    rows = [("1", "2"), ("1", "2"), ("3", "2"), ("3", "2"), ("3", "4"), ("3", "4"), ("*", "*")]
    found = subset_risk(frame_of(rows, ["a", "b"]), schema_of(["a", "b"])).set_index("subset")
    assert found.loc["a, b", "risk_prosecutor_max"] == 0.5
    assert found.loc["a, b", "risk_prosecutor_mean"] == 0.5


def test_persons_are_counted_where_the_schema_declares_a_subject_id():
    frame = frame_of([("x",), ("x",), ("y",), ("y",)], ["a"]).assign(who=["p", "p", "q", "r"])
    found = subset_risk(frame, schema_of(["a"], subject_id="who"))
    assert found["k"].tolist() == [1]
    assert subset_risk(frame, schema_of(["a"]))["k"].tolist() == [2]


def test_the_order_of_rows_does_not_matter():
    draw = np.random.default_rng(3)
    frame = pd.DataFrame({name: draw.integers(0, 9, 300).astype(str) for name in NAMES}, dtype="string")
    mixed = frame.sample(frac=1, random_state=1)
    pd.testing.assert_frame_equal(subset_risk(frame, schema_of(NAMES)), subset_risk(mixed, schema_of(NAMES)))


def test_wide_columns_are_counted_right():
    draw = np.random.default_rng(4)
    frame = pd.DataFrame({name: draw.integers(0, 700, 1000).astype(str) for name in NAMES}, dtype="string")
    found = subset_risk(frame, schema_of(NAMES)).set_index("subset")
    for subset in found.index:
        assert found.loc[subset, "classes"] == len(frame.drop_duplicates(subset.split(", ")))


def test_a_table_of_stars_alone_is_one_class():
    found = subset_risk(frame_of([("*", "*")] * 3, ["a", "b"]), schema_of(["a", "b"]))
    assert found["k"].tolist() == [3, 3, 3]
    assert {"subset", "size", "k", "arirec", "risk_above_0.5"} <= set(found.columns)


def test_thresholds_and_largest_size_can_be_chosen():
    schema = schema_of(NAMES[:3]).model_copy(update={"risk_thresholds": [0.25]})
    found = subset_risk(frame_of([("x", "y", "z")], NAMES[:3]), schema, largest=2)
    assert found["size"].max() == 2
    assert [name for name in found.columns if "above" in name] == ["risk_above_0.25"]


def test_twenty_four_columns_give_every_subset():
    frame = pd.DataFrame({f"c{at}": np.arange(50) % (at + 2) for at in range(24)}).astype("string")
    assert len(subset_risk(frame, schema_of(list(frame.columns)))) == 2_324
