"""The necessity audit: what changes when an attribute is not told."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from components.minimization.attributes import BELOW, attributes_of
from components.minimization.bounds import lower_bound, upper_bound
from components.minimization.generalizer import Generalizer, Ranges
from components.minimization.necessity import SPARE, necessity, typical
from components.minimization.partitions import Partition
from components.minimization.problem import Answers
from schemas.dataset import DatasetSchema

Frames = Callable[[int, int], pd.DataFrame]


def smokers(frame: pd.DataFrame) -> Answers:
    return frame["smoker"].to_numpy(dtype=np.int64)[:, np.newaxis]


def older(frame: pd.DataFrame) -> Answers:
    return frame["age"].to_numpy(dtype=np.float64)[:, np.newaxis]


def generalizer(schema: DatasetSchema, *, age: tuple[float, ...] | None = None) -> Generalizer:
    """Leave smoker, region and house exact, and cut age, where it is said how, with 40 for all below and 60 above."""
    attributes = attributes_of(schema, ["age", "region", "smoker", "house_own"])
    ranges = [Ranges(each, None, np.array([]), 0.0) for each in attributes]
    if age is not None:
        ranges[0] = Ranges(
            attributes[0], Partition(attributes[0], cuts=age), np.array([40.0, 60.0][: len(age) + 1]), 40.0
        )
    return Generalizer("greedy", "ranges", tuple(ranges))


def test_what_the_model_does_not_use_changes_nothing_and_could_be_left_out(
    people: Frames, people_schema: DatasetSchema
) -> None:
    frame, minimized = people(400, 0), generalizer(people_schema)
    table = necessity(minimized, frame, smokers, 1000, 0).set_index("attribute")
    assert table.index.tolist() == ["age", "region", "smoker", "house"]
    hits = min(frame["smoker"].sum(), 400 - frame["smoker"].sum())
    assert table["changed"].to_dict() == {"age": 0, "region": 0, "smoker": hits / 400, "house": 0}
    assert table["rows"].eq(400).all()
    assert table["low"]["smoker"] == pytest.approx(lower_bound(int(hits), 400))
    assert table["high"]["smoker"] == pytest.approx(upper_bound(int(hits), 400))
    assert table["high"]["age"] == pytest.approx(1 - 0.05 ** (1 / 400))
    assert table["advice"].to_dict() == {"age": SPARE, "region": SPARE, "smoker": "", "house": SPARE}


def test_what_is_not_collected_is_not_advised_on(people: Frames, people_schema: DatasetSchema) -> None:
    minimized = generalizer(people_schema, age=())
    table = necessity(minimized, people(200, 0), smokers, 1000, 0).set_index("attribute")
    assert table["advice"]["age"] == ""
    assert table["advice"]["region"] == SPARE


def test_numbers_change_where_they_move_beyond_the_tolerance(people: Frames, people_schema: DatasetSchema) -> None:
    frame, minimized = people(1000, 0), generalizer(people_schema, age=(53.5,))
    table = necessity(minimized, frame, older, 5000, 0).set_index("attribute")
    age = frame["age"].to_numpy()
    median = np.sort(age)[499]
    assert table["changed"]["age"] == pytest.approx((np.abs(age - median) > 0.1 * age.std()).mean())
    assert table["r2"]["age"] == pytest.approx(1 - ((age - median) ** 2).sum() / ((age - age.mean()) ** 2).sum())
    assert table["changed_minimized"]["age"] == pytest.approx(((age > 53.5) != (median > 53.5)).mean())
    assert table["r2"]["smoker"] == 1


def test_the_budget_holds_and_the_sample_does_not_depend_on_the_order_of_rows(
    people: Frames, people_schema: DatasetSchema, rule: Callable[[pd.DataFrame], Answers]
) -> None:
    asked: list[int] = []

    def ask(frame: pd.DataFrame) -> Answers:
        asked.append(len(frame))
        return rule(frame)

    frame, minimized = people(500, 0), generalizer(people_schema)
    turned = frame.sample(frac=1, random_state=1)
    first, second = (necessity(minimized, each, ask, 100, 0) for each in (frame, turned))
    assert max(asked) == 100
    assert len(asked) == 2 * (2 + 2 * 4)
    pd.testing.assert_frame_equal(first, second)
    assert not first.equals(necessity(minimized, frame, ask, 100, 1))


def test_rows_are_not_written_to(people: Frames, people_schema: DatasetSchema) -> None:
    frame, minimized = people(100, 0), generalizer(people_schema)
    before = frame.copy(deep=True)
    necessity(minimized, frame, smokers, 50, 0)
    pd.testing.assert_frame_equal(frame, before)


def test_typical_is_a_median_or_the_most_frequent_of_what_is_known(people_schema: DatasetSchema) -> None:
    age, region, grade = attributes_of(people_schema, ["age", "region", "grade"])
    assert typical(age, np.array([20.0, 30.0, 50.0, 70.0])) == 30
    assert typical(region, np.array([2, 2, 1, 4, 4, 4])) == 2
    assert typical(grade, np.array([BELOW, BELOW, BELOW, 1.0])) == 1
    assert typical(grade, np.array([BELOW])) == BELOW
