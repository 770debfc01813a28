"""Reference lines: constant and linear, on the same features."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from components.data.table import Table
from components.models import reference_models, utility
from schemas.dataset import DatasetSchema

Patients = Callable[..., Table]


def test_the_constant_line_is_the_most_frequent_class(patients: Patients) -> None:
    train = patients("grade")
    constant = reference_models(train.schema, 0)["constant"].fit(train)
    assert set(constant.predict(train.frame)) == {train.frame["grade"].mode()[0]}
    figures = {figure.metric: figure.value for figure in utility(constant, train)}
    assert figures["balanced_accuracy"] == pytest.approx(1 / 3)
    assert figures["auc"] == 0.5


def test_the_constant_line_of_regression_is_the_mean(patients: Patients) -> None:
    train = patients("cost")
    constant = reference_models(train.schema, 0)["constant"].fit(train)
    assert constant.predict(train.frame) == pytest.approx(train.frame["cost"].mean())
    assert {figure.metric: figure.value for figure in utility(constant, train)}["r2"] == pytest.approx(0, abs=1e-9)


def test_the_linear_line_finds_a_linear_target() -> None:
    columns = [
        {"name": "x", "dtype": "number", "role": "insensitive", "min": 0, "max": 2},
        {"name": "c", "dtype": "category", "role": "insensitive", "values": ["a", "b"]},
        {"name": "y", "dtype": "number", "role": "sensitive"},
    ]
    schema = DatasetSchema(name="line", source=None, columns=columns, target="y", task="regression")
    frame = pd.DataFrame({"x": np.linspace(0, 2, 50), "c": pd.array(["a", "b"] * 25, dtype="str")})
    frame["y"] = 3 * frame["x"] + 5 * (frame["c"] == "b") + 1
    linear = reference_models(schema, 0)["linear"].fit(Table(frame, schema))
    assert linear.predict(frame) == pytest.approx(frame["y"], abs=0.01)


def test_the_linear_line_of_classes_beats_the_constant(patients: Patients) -> None:
    train, test = patients(), patients(seed=1)
    accuracy = {
        name: utility(model.fit(train), test)[0].value or 0 for name, model in reference_models(train.schema, 0).items()
    }
    assert accuracy["linear"] > accuracy["constant"] + 0.2
