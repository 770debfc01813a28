"""Climbing a hierarchy, and what is published and learned from on each level."""

import datetime as dt
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.anonymization.hierarchies.functions import level_labels
from components.anonymization.hierarchies.hierarchy import Ladder, climb, published
from components.anonymization.hierarchies.sources import hierarchy_of, load
from components.classes.coding import encode
from schemas.dataset import Column, DatasetSchema
from schemas.faults import DataError

REGIONS = [
    ["SE", "North", "Europe", "*"],
    ["NO", "North", "Europe", "*"],
    ["IT", "South", "Europe", "*"],
    ["JP", "Asia", "Asia", "*"],
]
STAGES = ["none", "some", "much", "all"]


def climbed(cells: Any, hierarchy: Any, dtype: str = "text", markers: tuple[str, ...] = ("",), **more: Any) -> Ladder:
    rows = hierarchy if isinstance(hierarchy, list) else None
    column = {"dtype": dtype, "role": "quasi_identifier", "nullable": True, **more}
    schema = DatasetSchema.model_validate(
        {
            "name": "made",
            "source": {"name": "none"},
            "columns": {"x": column if rows else {**column, "hierarchy": hierarchy}},
            "missing": {"markers": list(markers)},
        }
    )
    frame = pd.DataFrame({"x": cells})
    kept = frame.copy(deep=True)
    (attribute,) = encode(frame, schema.columns)
    found = hierarchy_of(schema.column("x"), rows) if rows else load(schema, Path())["x"]
    ladder = climb(attribute, found, markers)
    pd.testing.assert_frame_equal(frame, kept)
    return ladder


def shown(ladder: Ladder, level: Any) -> list[Any]:
    one = published(ladder, level)
    assert one is not None
    assert one.cells.dtype == "string"
    return [None if pd.isna(cell) else cell for cell in one.cells]


def learned(ladder: Ladder, level: Any) -> list[Any]:
    one = published(ladder, level)
    assert one is not None
    assert one.training.dtype == ladder.attribute.source[0].dtype
    return [None if pd.isna(cell) else cell for cell in one.training]


def text(cells: list[str | None]) -> Any:
    return pd.array(cells, dtype="string")


def whole(cells: list[int | None]) -> Any:
    return pd.array(cells, dtype="Int64")


def intervals(*widths: float, **more: Any) -> dict[str, Any]:
    return {"name": "intervals", "widths": list(widths), **more}


# -- climbing


def test_every_level_shows_its_labels() -> None:
    ladder = climbed(text(["SE", "JP", "IT"]), REGIONS)
    assert shown(ladder, 1) == ["North", "Asia", "South"]
    assert shown(ladder, 2) == ["Europe", "Asia", "Europe"]
    assert shown(ladder, 3) == ["*", "*", "*"]


def test_level_0_is_left_alone() -> None:
    ladder = climbed(text(["SE", "JP"]), REGIONS)
    assert published(ladder, 0) is None
    assert published(ladder, np.zeros(2, dtype=np.int64)) is None


def test_rows_may_be_on_levels_of_their_own() -> None:
    ladder = climbed(text(["SE", "NO", "IT", "JP"]), REGIONS)
    assert shown(ladder, np.array([0, 1, 2, 3])) == ["SE", "North", "Europe", "*"]


def test_shares_are_of_all_leaves_also_those_that_do_not_occur() -> None:
    ladder = climbed(text(["SE", "JP"]), REGIONS)
    found = [list(share[group][:2]) for share, group in zip(ladder.shares, ladder.groups, strict=True)]
    assert found == [[0.25, 0.25], [0.25, 0.5], [0.25, 0.75], [1, 1]]
    assert ladder.leaves == 4


def test_missing_stays_missing_until_all_are_one_group() -> None:
    ladder = climbed(text(["SE", None, "JP"]), REGIONS)
    assert [shown(ladder, level)[1] for level in (1, 2, 3)] == [None, None, "*"]
    assert [float(share[group[-1]]) for share, group in zip(ladder.shares, ladder.groups, strict=True)] == [
        0.25,
        0.25,
        0.25,
        1,
    ]


def test_missing_climbs_with_its_marker() -> None:
    ladder = climbed(text(["SE", None]), [*REGIONS, ["?", "Unknown", "Unknown", "*"]], markers=("?",))
    assert [shown(ladder, level)[1] for level in (1, 2, 3)] == ["Unknown", "Unknown", "*"]
    assert shown(ladder, np.array([1, 0])) == ["North", None]
    assert ladder.leaves == 5


def test_a_label_that_is_the_marker_is_a_missing_cell() -> None:
    ladder = climbed(text(["a", None]), [["a", "x", "*"], ["?", "?", "*"]], markers=("?",))
    assert shown(ladder, 1) == ["x", None]


def test_the_group_of_missing_does_not_depend_on_missing_cells() -> None:
    with_gap, without = climbed(text(["SE", None]), REGIONS), climbed(text(["SE", "SE"]), REGIONS)
    assert [group[-1] for group in with_gap.groups] == [group[-1] for group in without.groups]


def test_missing_takes_no_label_but_the_tops() -> None:
    day = pd.to_datetime(["2024-02-29", None]).astype("datetime64[us]")
    rule = {"name": "date", "levels": ["year"]}
    assert shown(climbed(day, rule, "date", min="2024-01-01", max="2024-12-31"), 1) == ["2024", None]
    assert shown(climbed(text(["a", None]), [["a", "all", "*"], ["b", "all", "*"]]), 1) == ["all", None]
    assert shown(climbed(text(["a", None]), [["a", "all"], ["b", "all"]]), 1) == ["all", "all"]


def test_missing_never_takes_a_single_value() -> None:
    ladder = climbed(text(["a", None]), [["a", "a", "*"]])
    assert shown(ladder, 1) == ["a", None]
    assert shown(ladder, 2) == ["*", "*"]


def test_a_table_of_one_value_is_not_the_top_of_a_rule() -> None:
    ladder = climbed(text(["81675", None]), {"name": "mask", "keep": [3]})
    assert shown(ladder, 1) == ["816**", None]
    assert shown(ladder, 2) == ["*", "*"]


def test_a_column_without_values_climbs() -> None:
    for ladder in (climbed(text([None, None]), REGIONS), climbed(whole([None]), intervals(5), "integer")):
        assert set(shown(ladder, len(ladder.groups) - 1)) == {"*"}


# -- rules


@pytest.mark.parametrize(
    ("value", "labels"),
    [(3, ["< 10", "< 10"]), (10, ["[10, 15)", "[10, 20)"]), (29, ["[25, 30)", "[20, 40)"]), (90, [">= 90", ">= 90"])],
)
def test_intervals_are_half_open_and_cut_at_the_open_ends(value: int, labels: list[str]) -> None:
    ladder = climbed(whole([value]), intervals(5, 20, lowest=10, highest=90), "integer", min=0, max=99)
    assert [shown(ladder, level)[0] for level in (1, 2)] == labels


def test_ten_with_step_ten_lies_in_ten_to_twenty() -> None:
    assert shown(climbed(whole([9, 10, 19, 20, -1]), intervals(10), "integer"), 1) == [
        "[0, 10)",
        "[10, 20)",
        "[10, 20)",
        "[20, 30)",
        "[-10, 0)",
    ]


def test_a_number_just_below_a_bound_lies_below_it() -> None:
    just_below = float(np.nextafter(0.9, 0))  # times 10 it is 9
    assert shown(climbed(np.array([just_below, 0.9]), intervals(0.1), "number"), 1) == ["[0.8, 0.9)", "[0.9, 1)"]


def test_a_number_on_a_bound_lies_above_it() -> None:
    assert shown(climbed(np.array([0.29]), intervals(0.01), "number"), 1) == ["[0.29, 0.3)"]  # 0.29 * 100 < 29


@settings(max_examples=40)
@given(
    st.sampled_from([0.1, 0.3, 0.7, 1.1, 2.5, 3]),
    st.sampled_from([0.0, 0.05, -0.3, 7]),
    st.lists(st.integers(-3000, 3000), min_size=1, max_size=20),
)
def test_every_number_lies_in_the_interval_that_is_shown(width: float, origin: float, hundredths: list[int]) -> None:
    values = [number / 100 for number in hundredths]
    ladder = climbed(np.array(values), intervals(width, origin=origin), "number")
    for value, label in zip(values, shown(ladder, 1), strict=True):
        low, high = map(float, str(label)[1:-1].split(", "))
        assert low <= value < high
        assert math.isclose(high - low, width, rel_tol=1e-9)


@settings(max_examples=40)
@given(
    st.lists(st.integers(-200, 200), min_size=1),
    st.integers(1, 9),
    st.lists(st.integers(2, 4), max_size=3),
    st.sampled_from([{}, {"lowest": -50, "highest": 60}]),
)
def test_wider_intervals_never_split_narrower_ones(
    values: list[int], width: int, factors: list[int], ends: dict[str, int]
) -> None:
    widths = [width * math.prod(factors[:count]) for count in range(len(factors) + 1)]
    ladder = climbed(whole([*values]), intervals(*widths, origin=3, **ends), "integer")
    for lower, upper in pairwise(ladder.groups):
        assert len(set(zip(lower, upper, strict=True))) == len(set(lower))


def test_masks_hide_one_end_and_keep_lengths() -> None:
    ladder = climbed(text(["81675", "01", "é1"]), {"name": "mask", "keep": [3, 0], "side": "suffix"})
    assert shown(ladder, 1) == ["816**", "01", "é1"]
    assert shown(ladder, 2) == ["*****", "**", "**"]
    prefix = climbed(text(["81675", "01"]), {"name": "mask", "keep": [3, 0], "side": "prefix"})
    assert shown(prefix, 1) == ["**675", "01"]
    assert shown(prefix, 2) == ["*****", "**"]


def test_dates_become_calendar_units() -> None:
    days = pd.to_datetime(["2023-01-31", "2024-04-01", "1969-12-31"]).astype("datetime64[us]")
    ladder = climbed(days, {"name": "date", "levels": ["day", "month", "quarter", "year", "decade"]}, "date")
    assert shown(ladder, 1) == ["2023-01-31", "2024-04-01", "1969-12-31"]
    assert shown(ladder, 2) == ["2023-01", "2024-04", "1969-12"]
    assert shown(ladder, 3) == ["2023-Q1", "2024-Q2", "1969-Q4"]
    assert shown(ladder, 4) == ["2023", "2024", "1969"]
    assert shown(ladder, 5) == ["2020s", "2020s", "1960s"]
    assert shown(ladder, 6) == ["*", "*", "*"]


def test_leaves_of_a_rule_are_the_declared_domain_or_what_occurs() -> None:
    rule = intervals(10)
    assert climbed(whole([1, 2]), rule, "integer", min=0, max=99).leaves == 100
    assert climbed(whole([1, 2]), rule, "integer", min=0, max=10**6).leaves == 2
    assert climbed(whole([1, 2]), rule, "integer").leaves == 2
    day = pd.to_datetime(["2024-02-01"]).astype("datetime64[us]")
    assert climbed(day, "*", "date", min="2024-01-01", max="2024-12-31").leaves == 366
    assert climbed(pd.array([True], dtype="boolean"), "*", "boolean").leaves == 2
    zips = pd.Categorical(["a"], categories=["a", "b", "c"])
    assert climbed(zips, {"name": "mask", "keep": [0]}, "category", values=["a", "b", "c"]).leaves == 3


@settings(max_examples=40)
@given(st.lists(st.integers(0, 99), min_size=1), st.lists(st.integers(0, 99), min_size=1))
def test_a_label_does_not_depend_on_other_rows(some: list[int], others: list[int]) -> None:
    rule = intervals(5, 10, 30, lowest=7)
    alone, together = climbed(whole([*some]), rule, "integer"), climbed(whole([*some, *others]), rule, "integer")
    for level in (1, 2, 3, 4):
        assert shown(alone, level) == shown(together, level)[: len(some)]
        assert learned(alone, level) == learned(together, level)[: len(some)]


# -- what a model learns from


def test_numbers_are_the_midpoint_of_their_leaves() -> None:
    ages = climbed(whole([20, 24, None]), intervals(5), "integer", min=0, max=99)
    assert learned(ages, 1) == [22, 22, None]
    assert learned(ages, 2) == [49, 49, 49]
    listed = [["17", "young"], ["20", "young"], ["90", "old"]]
    assert learned(climbed(whole([17, 90]), listed, "integer"), 1) == [18, 90]
    assert learned(climbed(whole([20, 90]), listed, "integer", min=18), 1) == [20, 90]
    assert learned(climbed(np.array([1.2]), intervals(0.5), "number"), 1) == [1.25]


def test_open_ends_reach_to_the_declared_bound_or_one_width() -> None:
    ends = intervals(5, lowest=20, highest=90)
    assert learned(climbed(whole([3, 95]), ends, "integer"), 1) == [17, 92]
    assert learned(climbed(whole([3, 95]), ends, "integer", min=0, max=99), 1) == [9, 94]


def test_an_interval_far_from_the_origin_keeps_its_own_midpoint() -> None:
    assert learned(climbed(whole([95]), intervals(5), "integer"), 1) == [97]


def test_dates_are_the_middle_day() -> None:
    day = pd.to_datetime(["2024-02-29", None]).astype("datetime64[us]")
    rule = {"name": "date", "levels": ["month", "year"]}
    ladder = climbed(day, rule, "date", min="2024-01-01", max="2024-12-31")
    assert learned(ladder, 1) == [dt.datetime(2024, 2, 15), None]  # noqa: DTZ001
    assert learned(ladder, 2) == [dt.datetime(2024, 7, 1), None]  # noqa: DTZ001
    assert learned(ladder, 3) == [dt.datetime(2024, 7, 1)] * 2  # noqa: DTZ001
    zoned = pd.to_datetime(["2024-02-29T10:00"], utc=True).astype("datetime64[us, UTC]")
    assert learned(climbed(zoned, rule, "datetime"), 1)[0].date() == dt.date(2024, 2, 15)


def test_ordered_values_are_the_lower_middle_one() -> None:
    cells = pd.Categorical(["all", "none"], categories=STAGES, ordered=True)
    rule = {"name": "order", "levels": [[["none"], ["some", "much", "all"]], {"any": STAGES}]}
    ladder = climbed(cells, rule, "ordered", values=STAGES)
    assert learned(ladder, 1) == ["much", "none"]
    assert learned(ladder, 2) == ["some", "some"]


def test_the_middle_is_that_of_declared_values() -> None:
    cells = pd.Categorical(["some"], categories=STAGES, ordered=True)
    listed = [["some", "x"], ["much", "x"], ["never heard of", "x"], ["nor of", "x"]]
    assert learned(climbed(cells, listed, "ordered", values=STAGES), 1) == ["some"]


def test_others_are_the_likeliest_leaf_by_even_shares() -> None:
    ladder = climbed(text(["SE", "SE", "IT", "JP"]), REGIONS)
    assert learned(ladder, 1) == ["NO", "NO", "IT", "JP"]
    # IT: 1 + 3/4 rows, NO and SE: 3/4 and 3/4 + 1 (first in order)
    assert learned(ladder, np.array([0, 3, 0, 3]))[1] == "IT"
    assert learned(ladder, np.array([1, 1, 2, 3]))[2:] == ["NO", "NO"]


def test_only_admitted_values_are_learned_from() -> None:
    declared = ["SE", "IT", "JP"]
    cells = pd.Categorical(["SE", None], categories=declared)
    rows = [*REGIONS, ["?", "North", "Europe", "*"]]
    ladder = climbed(cells, rows, "category", values=declared, markers=("?",))
    assert shown(ladder, 1) == ["North", "North"]
    assert learned(ladder, 1) == ["SE", "SE"]
    gap = climbed(cells, [*REGIONS, ["?", "Unknown", "Unknown", "*"]], "category", values=declared, markers=("?",))
    assert learned(gap, 1) == ["SE", None]


def test_open_text_is_its_label_so_that_nothing_of_the_cells_is_left() -> None:
    ladder = climbed(text(["81675", "81667", None]), {"name": "mask", "keep": [3]})
    assert learned(ladder, 1) == ["816**", "816**", None]
    assert learned(ladder, 2) == ["*", "*", "*"]


def test_booleans_stay_booleans() -> None:
    assert learned(climbed(pd.array([True, None], dtype="boolean"), "*", "boolean"), 1) == [False, False]


@settings(max_examples=40)
@given(st.lists(st.sampled_from(["SE", "NO", "IT", "JP", None]), min_size=1), st.data())
def test_what_is_learned_follows_from_what_is_shown(cells: list[str | None], data: st.DataObject) -> None:
    ladder = climbed(text(cells), REGIONS)
    levels = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(cells), max_size=len(cells))))
    if not levels.any():
        return
    one = published(ladder, levels)
    assert one is not None
    told = dict(zip(zip(levels, shown(ladder, levels), strict=True), learned(ladder, levels), strict=True))
    for key, found in zip(zip(levels, shown(ladder, levels), strict=True), learned(ladder, levels), strict=True):
        assert told[key] == found


@settings(max_examples=40)
@given(st.permutations(range(6)))
def test_the_order_of_rows_is_no_matter(order: list[int]) -> None:
    cells, levels = ["SE", "NO", "IT", "JP", None, "IT"], np.array([0, 1, 2, 3, 1, 3])
    here = climbed(text([cells[at] for at in order]), REGIONS)
    there = climbed(text([*cells]), REGIONS)
    assert shown(here, levels[order]) == [shown(there, levels)[at] for at in order]
    assert learned(here, levels[order]) == [learned(there, levels)[at] for at in order]


@pytest.mark.parametrize("width", [1e-300, 1e-310, 5e-324])
@pytest.mark.parametrize("bounds", [{}, {"highest": 1e307}, {"lowest": -1.7e308, "highest": 1e307}])
def test_intervals_too_narrow_for_their_numbers_are_refused_without_a_warning(width: float, bounds: dict[str, float]):
    rule = {"name": "intervals", "widths": [width], **bounds}
    column = Column.model_validate({"name": "x", "dtype": "number", "role": "quasi_identifier", "hierarchy": rule})
    with pytest.raises(DataError, match="intervals of this width can't be told apart"):
        level_labels(column.hierarchy, column, np.array([1.0, 1e308, -1e308]), 1)  # type: ignore[arg-type]
