"""The target: classes in declared order, to numbers and back."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.models.target import CLASS_LIMIT, Scale, Target
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError

Schemas = Callable[..., DatasetSchema]


@given(st.lists(st.sampled_from(["none", "some", "much"]), max_size=20), st.booleans())
def test_values_come_back_from_their_numbers(cells: list[str], categorical: bool) -> None:  # noqa: FBT001  # drawn
    target = Target(column="y", task="classification", dtype="ordered", classes=("none", "some", "much"))
    frame = pd.DataFrame({"y": pd.Series(cells, dtype="category" if categorical else "str")})
    assert target.decode(target.encode(frame)).tolist() == cells


def test_declared_order_decides_and_not_the_alphabet(schema_of: Schemas) -> None:
    assert Target.from_schema(schema_of("outcome")).classes == ("well", "ill")
    assert Target.from_schema(schema_of("back")).classes == (False, True)
    assert Target.from_schema(schema_of("visits")).classes == (0, 1, 2)
    assert Target.from_schema(schema_of("cost")).classes == ()
    assert Target.from_schema(schema_of("cost")).unit == "EUR"


def test_an_unknown_class_is_minus_one() -> None:
    texts = Target(column="y", task="classification", dtype="category", classes=("a", "b"))
    assert texts.encode(pd.DataFrame({"y": pd.Series(["b", "z"], dtype="str")})).tolist() == [1, -1]
    numbers = Target(column="y", task="classification", dtype="integer", classes=(3, 4))
    assert numbers.encode(pd.DataFrame({"y": pd.Series([4, 9], dtype="Int64")})).tolist() == [1, -1]
    flags = Target(column="y", task="classification", dtype="boolean", classes=(False, True))
    assert flags.encode(pd.DataFrame({"y": pd.Series([True, False], dtype="boolean")})).tolist() == [1, 0]


def test_values_have_the_dtype_of_their_column() -> None:
    codes = np.array([1, 0])
    assert Target(column="y", task="classification", dtype="integer", classes=(3, 4)).decode(codes).dtype == np.int64
    assert Target(column="y", task="classification", dtype="boolean", classes=(False, True)).decode(codes).dtype == bool


def test_classes_are_told_apart_after_json() -> None:
    for classes in (("0", "1"), (0, 1), (False, True)):
        target = Target(column="y", task="classification", dtype="integer", classes=classes)
        again = Target.model_validate_json(target.model_dump_json()).classes
        assert [(type(value), value) for value in again] == [(type(value), value) for value in classes]


def test_missing_cells_and_an_absent_column_are_refused() -> None:
    target = Target(column="y", task="regression", dtype="number")
    with pytest.raises(DataError, match="1 of 2 cells are missing"):
        target.encode(pd.DataFrame({"y": [1.0, None]}))
    with pytest.raises(DataError, match="column 'y': not in the table"):
        target.encode(pd.DataFrame({"x": [1.0]}))


def test_far_bounds_of_integers_are_no_list_of_classes(schema_of: Schemas) -> None:
    assert len(Target.from_schema(schema_of("visits", max=CLASS_LIMIT - 1)).classes) == CLASS_LIMIT
    schema = schema_of("visits", max=CLASS_LIMIT)
    with pytest.raises(ConfigurationError, match=r"encoder\.learn=true"):
        Target.from_schema(schema)
    learned = Target.from_schema(schema, pd.DataFrame({"visits": pd.Series([7, 3, 7, None], dtype="Int64")}))
    assert (learned.classes, learned.learned) == ((3, 7), True)


def test_the_scale_of_numbers_is_that_of_the_bounds_or_of_rows(schema_of: Schemas) -> None:
    numbers = np.array([100.0, 300.0])
    declared = Scale.of(schema_of("cost").column("cost"), numbers)
    assert (declared.middle, declared.deviation, declared.learned) == (500, pytest.approx(1000 / 12**0.5), False)
    half = Scale.of(schema_of("cost", max=None).column("cost"), numbers)
    assert (half.middle, half.deviation, half.learned) == (200, 100, True)
    assert half.standardised(numbers).tolist() == [-1, 1]
    assert half.restored(half.standardised(numbers)).tolist() == [100, 300]


def test_a_scale_of_one_value_is_no_division_by_zero(schema_of: Schemas) -> None:
    assert Scale.of(schema_of("cost", min=7, max=7).column("cost"), np.zeros(1)).deviation == 1
    assert Scale.of(schema_of("cost", min=None).column("cost"), np.full(3, 7.0)).deviation == 1
