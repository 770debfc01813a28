"""The rows of a minimisation, and what they can show."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.data.table import Table
from components.minimization.bounds import lower_bound, most_disagreeing
from components.minimization.declarations import TARGETS, Greedy, Personal
from components.minimization.holdout import (
    ENOUGH_RESAMPLED,
    LEAST_RESAMPLED,
    Sides,
    asked_target,
    expected_rows,
    hold_out,
    least_report_rows,
)
from schemas.dataset import DatasetSchema
from schemas.faults import GoalError

COLUMNS = {"who": {"dtype": "text", "role": "identifier"}, "x": {"dtype": "integer", "role": "insensitive"}}
NAMES = ("fit", "calibration", "report")


def table(rows: int, persons: int | None = None, start: int = 0) -> Table:
    """Return rows told apart by x, of persons who come round in turn."""
    subject = None if persons is None else "who"
    schema = DatasetSchema(name="m", source=None, columns=COLUMNS, subject_id=subject)
    who = [f"p{number % (persons or 1)}" for number in range(rows)]
    frame = pd.DataFrame({"who": pd.array(who, dtype="string"), "x": np.arange(start, start + rows)})
    return Table(frame, schema)


def drawn(sides: Sides, column: str = "x") -> dict[str, list[int]]:
    return {name: getattr(sides, name).frame[column].tolist() for name in NAMES}


def shuffled(found: Table, seed: int) -> Table:
    return Table(found.frame.sample(frac=1, random_state=seed), found.schema)


def test_fit_rows_are_train_rows_and_the_test_rows_are_parted_without_rest() -> None:
    rows = drawn(hold_out(Greedy(search_rows=50), table(200), table(90, start=1000), seed=3))
    assert len(rows["fit"]) == 50
    assert max(rows["fit"]) < 200
    assert sorted(rows["calibration"] + rows["report"]) == list(range(1000, 1090))
    assert len(rows["calibration"]) == 45


def test_the_order_of_the_rows_changes_nothing_and_the_seed_does() -> None:
    params, train, test = Greedy(search_rows=50), table(200), table(90, start=1000)
    first = drawn(hold_out(params, train, test, seed=3))
    assert drawn(hold_out(params, shuffled(train, 1), shuffled(test, 2), seed=3)) == first
    other = drawn(hold_out(params, train, test, seed=4))
    assert all(other[name] != first[name] for name in NAMES)


def test_rows_come_in_canonical_order_with_index_and_dtypes() -> None:
    test = shuffled(table(90), 1)
    report = hold_out(Greedy(), table(20), test, seed=0).report.frame
    assert report["x"].is_monotonic_increasing or report["who"].is_monotonic_increasing
    pd.testing.assert_frame_equal(report, test.frame.loc[report.index])


def test_persons_stay_together() -> None:
    sides = hold_out(Greedy(), table(50, 7), table(120, 30), seed=0)
    assert not set(sides.calibration.frame["who"]) & set(sides.report.frame["who"])


@pytest.mark.parametrize(("rows", "persons"), [(0, None), (1, None), (9, 1)])
def test_what_can_not_be_parted_judges_nothing(rows: int, persons: int | None) -> None:
    sides = hold_out(Greedy(), table(50), table(rows, persons), seed=0)
    assert (len(sides.calibration.frame), len(sides.report.frame)) == (0, 0)


@settings(max_examples=40, deadline=None)
@given(
    train=st.integers(0, 60),
    test=st.integers(0, 80),
    share=st.floats(0.01, 0.99),
    search=st.integers(10, 70),
)
def test_the_plan_counts_as_the_run_does(train: int, test: int, share: float, search: int) -> None:
    params = Greedy(calibration_share=share, search_rows=search)
    sides = hold_out(params, table(train), table(test), seed=1)
    counts = tuple(len(getattr(sides, name).frame) for name in NAMES)
    assert counts == expected_rows(params, train, test)
    assert counts[1] <= search


@pytest.mark.parametrize(("target", "least"), [(0.998, 1497), (0.99, 299), (0.95, 59)])
def test_a_target_needs_so_many_rows_and_not_one_less(target: float, least: int) -> None:
    assert least_report_rows(target, regression=False) == least
    assert asked_target(Greedy(target=target), least, regression=False) == target
    assert lower_bound(least, least) >= target
    with pytest.raises(GoalError) as caught:
        asked_target(Greedy(target=target), least - 1, regression=False)
    (fault,) = caught.value.faults
    assert fault.place == "minimization.target"
    assert fault.problem == (f"{target:g} can be shown by {least:,} report rows or more, and there are {least - 1:,}")


def test_what_is_said_to_be_allowed_is_allowed() -> None:
    with pytest.raises(GoalError) as caught:
        asked_target(Greedy(target=0.99), 100, regression=False)
    allowed = float(caught.value.faults[0].allowed.split()[-1])
    assert asked_target(Greedy(target=allowed), 100, regression=False) == allowed == 0.97
    with pytest.raises(GoalError) as caught:
        asked_target(Personal(delta=0.01), 100, regression=False)
    assert caught.value.faults[0].place == "minimization.delta"
    assert caught.value.faults[0].problem.startswith("0.01 can be shown by 299")
    delta = float(caught.value.faults[0].allowed.split()[-1])
    asked_target(Personal(delta=delta), 100, regression=False)


def test_without_a_target_it_is_the_strictest_that_the_rows_can_show() -> None:
    found = [asked_target(Greedy(), rows, regression=False) for rows in range(1, 9000, 7)]
    levels = [0.0 if target is None else target for target in found]
    assert set(levels) == {0.0, *TARGETS}
    assert all(
        most_disagreeing(rows, level) >= 1 for rows, level in zip(range(1, 9000, 7), levels, strict=True) if level
    )
    assert asked_target(Greedy(), 900, regression=False) == 0.95


def test_a_regression_needs_rows_enough_for_the_bootstrap() -> None:
    assert asked_target(Greedy(), ENOUGH_RESAMPLED - 1, regression=True) is None
    assert asked_target(Greedy(), ENOUGH_RESAMPLED, regression=True) == 0.95
    assert asked_target(Greedy(target=0.5), LEAST_RESAMPLED, regression=True) == 0.5
    with pytest.raises(GoalError, match="20 report rows or more, and there are 19"):
        asked_target(Greedy(target=0.5), LEAST_RESAMPLED - 1, regression=True)
