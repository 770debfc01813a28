"""Partitions: where values fall, what parts lose, and what stands for them."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from components.minimization.attributes import BELOW, Attribute, attributes_of
from components.minimization.partitions import DAY, Partition, between, interval_loss, middle, roundest
from schemas.dataset import DatasetSchema

FINITE = st.floats(-1e15, 1e15, allow_nan=False)


def _one(**column: Any) -> Attribute:
    declared = {"x": {"role": "quasi_identifier"} | column}
    (attribute,) = attributes_of(
        DatasetSchema.model_validate({"name": "made", "source": None, "columns": declared}), ["x"]
    )
    return attribute


@cache
def _whole(low: int, high: int) -> Attribute:
    return _one(dtype="integer", min=low, max=high)


@cache
def _real(low: float, high: float) -> Attribute:
    return _one(dtype="number", min=low, max=high)


@cache
def _nominal(size: int) -> Attribute:
    return _one(dtype="category", values=[f"value {place}" for place in range(size)])


@cache
def _ordered(size: int) -> Attribute:
    return _one(dtype="ordered", values=[f"value {place}" for place in range(size)])


def _moment(text: str) -> float:
    return float(np.datetime64(text, "us").astype(np.int64))


DATES = _one(dtype="date", min="1930-01-01", max="2010-12-31")
TIMES = _one(dtype="datetime", min="1930-01-01", max="2010-12-31")


# --- right values ---------------------------------------------------------------------------------------------------


def test_values_1_4_9_with_cuts_2_5_and_5_5_fall_into_ranges_0_1_2() -> None:
    partition = Partition(_whole(0, 9), cuts=(2.5, 5.5))
    assert partition.parts(np.array([1.0, 4.0, 9.0])).tolist() == [0, 1, 2]
    assert np.bincount(partition.parts(np.arange(10.0))).tolist() == [3, 3, 4]


def test_value_5_9_with_cut_5_5_is_above() -> None:
    assert Partition(_real(0, 10), cuts=(5.5,)).parts(np.array([5.9, 5.5, 5.4])).tolist() == [1, 0, 0]


def test_minus_3_is_not_above_0() -> None:
    assert Partition(_real(-10, 10), cuts=(0.0,)).parts(np.array([-3.0, 0.0, 3.0])).tolist() == [0, 0, 1]


@pytest.mark.parametrize("attribute", [_whole(0, 10), _real(0, 10)], ids=["whole", "real"])
def test_ncp_of_8_to_10_in_0_to_10_is_a_fifth(attribute: Attribute) -> None:
    assert Partition(attribute, cuts=(8.0,)).loss()[1] == pytest.approx(0.2)


def test_ncp_of_two_halves_is_a_half_wherever_the_rows_are() -> None:
    assert Partition(_real(0, 10), cuts=(5.0,)).loss().tolist() == [0.5, 0.5]


@pytest.mark.parametrize("attribute", [_real(3, 3), _whole(3, 3), _nominal(1), _ordered(1)])
def test_ncp_of_a_constant_is_0_even_where_nothing_is_collected(attribute: Attribute) -> None:
    assert Partition.whole(attribute).loss().tolist() == [0.0]


def test_ncp_of_a_single_value_is_0_and_of_a_group_its_share_of_the_values() -> None:
    assert Partition(_nominal(4), groups=(0, 0, 1, 0, 1)).loss().tolist() == [0.75, 0.0]
    assert Partition(_ordered(4), cuts=(0.5,)).loss().tolist() == [0.0, 0.75]
    assert Partition(_whole(0, 10), cuts=(2.5, 3.5)).loss()[1] == 0.0


# --- properties -----------------------------------------------------------------------------------------------------


@st.composite
def partitions(draw: st.DrawFn) -> tuple[Partition, np.ndarray]:
    """Draw a partition and codes of its attribute, missing ones among them."""
    size = draw(st.integers(1, 7))
    kind = draw(st.sampled_from(["whole", "real", "ordered", "nominal"]))
    if kind == "nominal":
        groups = draw(st.lists(st.integers(0, 3), min_size=size + 1, max_size=size + 1))
        numbered = np.unique(groups, return_inverse=True)[1]
        return Partition(_nominal(size), groups=tuple(map(int, numbered))), np.arange(size + 1)
    attribute = {"whole": _whole(-3, size - 3), "real": _real(-3, size - 3), "ordered": _ordered(size)}[kind]
    cuts = sorted(draw(st.sets(st.integers(-8, 12).map(lambda half: half / 2), max_size=5)))
    apart = (BELOW,) if draw(st.booleans()) else ()
    codes = np.arange(size) if kind == "ordered" else np.arange(-3, size - 2)
    return Partition(attribute, cuts=(*apart, *cuts)), np.append(codes, BELOW)


@settings(deadline=None)
@given(made=partitions())
def test_every_code_falls_into_one_part_and_ncp_is_between_0_and_1(made: tuple[Partition, np.ndarray]) -> None:
    partition, codes = made
    parts, lost = partition.parts(codes), partition.loss()
    assert lost.shape == (partition.size,)
    assert ((lost >= 0) & (lost <= 1)).all()
    assert ((parts >= 0) & (parts < partition.size)).all()
    assert parts[-1] == partition.missing


@settings(deadline=None)
@given(made=partitions())
def test_what_stands_for_a_part_is_of_the_domain_and_of_the_part_wherever_that_holds_a_value(
    made: tuple[Partition, np.ndarray],
) -> None:
    partition, codes = made
    attribute = partition.attribute
    if attribute.kind == "nominal":
        return
    ends = np.array([BELOW, *partition.cuts, np.inf])
    held = set(partition.parts(codes[:-1]))
    for part in range(partition.size):
        value = middle(attribute, ends[part], ends[part + 1])
        if ends[part + 1] == BELOW:
            assert value == BELOW
            continue
        assert value in codes[:-1] or (attribute.dtype == "number" and attribute.low <= value <= attribute.high)
        if part in held:
            assert partition.parts(np.array([value]))[0] == part


@settings(deadline=None)
@given(start=st.integers(-1000, 2**40), width=st.integers(1, 2**40), half=st.booleans())
def test_what_stands_for_whole_numbers_is_one_of_them(start: int, width: int, half: bool) -> None:  # noqa: FBT001
    end = start + width + 0.5 * half
    value = middle(_whole(-1000, 2**42), start, end)
    assert start < value <= end
    assert value.is_integer()


@settings(deadline=None)
@given(start=st.floats(0, 1e6), width=st.floats(0, 1e6, exclude_min=True))
def test_what_stands_for_numbers_is_one_of_them(start: float, width: float) -> None:
    assume(start < start + width)
    assert start < middle(_real(0, 1e7), start, start + width) <= start + width


@settings(deadline=None)
@given(cuts=st.lists(st.floats(0, 100), unique=True, max_size=6).map(sorted))
def test_the_widths_of_all_parts_of_a_number_add_up_to_its_domain(cuts: list[float]) -> None:
    ends = np.array([BELOW, *cuts, np.inf])
    assert interval_loss(_real(0, 100), ends[:-1], ends[1:]).sum() == pytest.approx(1.0)


@settings(deadline=None, max_examples=300)
@given(low=FINITE, high=FINITE)
def test_a_round_number_is_within_its_bounds(low: float, high: float) -> None:
    assume(low < high)
    assert low <= roundest(low, high) < high


@pytest.mark.parametrize(
    ("low", "high", "round_number"),
    [(7, 12, 10), (-3, 5, 0), (11, 19, 15), (1234, 1290, 1250), (0.123, 0.187, 0.15), (41.2, 42, 41.5), (8, 8, 8)],
)
def test_round_numbers_have_the_fewest_digits(low: float, high: float, round_number: float) -> None:
    assert roundest(low, high) == round_number


@settings(deadline=None, max_examples=200)
@given(low=st.integers(-50, 50), step=st.integers(1, 50), real=st.booleans())
def test_a_cut_parts_its_neighbours(low: int, step: int, real: bool) -> None:  # noqa: FBT001
    attribute = _real(-50, 100) if real else _whole(-50, 100)
    cut = between(attribute, low, low + step)
    assert Partition(attribute, cuts=(cut,)).parts(np.array([low, low + step], dtype=np.float64)).tolist() == [0, 1]


@settings(deadline=None, max_examples=200)
@given(low=st.integers(-14_000, 14_000), step=st.integers(1, 900), part=st.integers(1, 86_399_999_999))
def test_a_cut_parts_dates_and_times(low: int, step: int, part: int) -> None:
    first, second = low * DAY, (low + step) * DAY
    cut = between(DATES, first, second)
    assert first <= cut < second
    assert cut % DAY == 0
    assert first <= between(TIMES, first, first + part) < first + part


@settings(deadline=None, max_examples=200)
@given(start=st.integers(-14_000, 14_000), step=st.integers(1, 900))
def test_what_stands_for_dates_is_a_date_of_theirs(start: int, step: int) -> None:
    value = middle(DATES, start * DAY, (start + step) * DAY)
    assert start * DAY < value <= (start + step) * DAY
    assert value % DAY == 0


@pytest.mark.parametrize(
    ("low", "high", "last_day"),
    [
        ("1983-05-01", "1986-02-01", "1984-12-31"),
        ("1985-02-10", "1985-06-20", "1985-04-30"),
        ("1985-02-10", "1985-02-11", "1985-02-10"),
    ],
)
def test_dates_are_cut_at_the_end_of_a_year_a_month_or_a_day(low: str, high: str, last_day: str) -> None:
    assert between(DATES, _moment(low), _moment(high)) == _moment(last_day)


def test_times_are_cut_and_represented_where_a_day_or_an_hour_begins() -> None:
    assert between(TIMES, _moment("1985-02-10T07:12"), _moment("1985-02-10T11:48")) == _moment("1985-02-10T09:00")
    assert middle(TIMES, _moment("1969-11-01"), _moment("1970-03-01")) == _moment("1970-01-01")  # code 0


def test_between_missing_cells_and_values_missing_cells_are_cut_off() -> None:
    assert between(_whole(0, 10), BELOW, 3) == BELOW
    partition = Partition(_whole(0, 10), cuts=(BELOW, 5.5))
    assert partition.missing_apart
    assert partition.parts(np.array([BELOW, 0.0, 9.0])).tolist() == [0, 1, 2]


def test_missing_cells_of_other_values_are_a_part_like_any() -> None:
    assert Partition(_nominal(2), groups=(0, 1, 2)).missing_apart
    together = Partition(_nominal(2), groups=(0, 1, 1))
    assert not together.missing_apart
    assert together.missing == 1
    assert not Partition.whole(_nominal(2)).missing_apart


def test_a_part_without_a_whole_number_is_still_represented_from_the_domain() -> None:
    assert 0 <= middle(_whole(0, 10), 2.2, 2.7) <= 10
    assert 0 <= middle(_whole(0, 10), 20, 30) <= 10
