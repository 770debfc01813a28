"""A small made-up table of patients that models of both tasks can learn from."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

from components.data.table import Table
from schemas.dataset import DatasetSchema

FEATURES: dict[str, dict[str, Any]] = {
    "age": {"dtype": "integer", "role": "quasi_identifier", "min": 0, "max": 100},
    "sex": {"dtype": "category", "role": "quasi_identifier", "values": ["F", "M"]},
    "severity": {"dtype": "ordered", "role": "insensitive", "values": ["low", "mid", "high"], "nullable": True},
    "pressure": {"dtype": "number", "role": "insensitive", "min": 50, "max": 200, "nullable": True},
    "smoker": {"dtype": "boolean", "role": "insensitive"},
}

TARGETS: dict[str, dict[str, Any]] = {
    "outcome": {"dtype": "category", "role": "sensitive", "values": ["well", "ill"]},
    "grade": {"dtype": "ordered", "role": "sensitive", "values": ["none", "some", "much"]},
    "back": {"dtype": "boolean", "role": "sensitive"},
    "visits": {"dtype": "integer", "role": "sensitive", "min": 0, "max": 2},
    "cost": {"dtype": "number", "role": "sensitive", "min": 0, "max": 1000, "unit": "EUR"},
    "days": {"dtype": "number", "role": "sensitive", "min": 0, "max": 50},
}


def _schema(target: str, **changes: Any) -> DatasetSchema:
    columns = FEATURES | {target: TARGETS[target] | changes}
    return DatasetSchema(
        name="patients",
        source=None,
        columns=[{"name": name} | column for name, column in columns.items()],
        target=target,
        task="regression" if target == "cost" else "classification",
    )


def _frame(rows: int, seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": random.integers(0, 101, rows),
            "sex": pd.Categorical(random.choice(["F", "M"], rows), categories=["F", "M"]),
            "severity": pd.Categorical(
                random.choice(["low", "mid", "high"], rows), categories=["low", "mid", "high"], ordered=True
            ),
            "pressure": random.normal(120, 20, rows).clip(50, 200),
            "smoker": random.random(rows) < 0.5,
        }
    )
    frame.loc[random.random(rows) < 0.1, "pressure"] = np.nan
    frame.loc[random.random(rows) < 0.1, "severity"] = None
    burden = frame["age"] / 100 + 0.3 * frame["smoker"] + random.normal(0, 0.1, rows)
    level = np.digitize(burden, [0.4, 0.8])
    frame["outcome"] = pd.Categorical(np.where(burden > 0.65, "ill", "well"), categories=["well", "ill"])
    grades = TARGETS["grade"]["values"]
    frame["grade"] = pd.Categorical.from_codes(level, categories=grades, ordered=True)
    frame["back"] = burden > 0.65
    frame["visits"] = level
    frame["cost"] = (400 * burden).clip(0, 1000)
    frame["days"] = 25.0 * frame["smoker"] + frame["age"] / 10
    return frame


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Keep OpenMP from spinning: the tables here are small."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session")
def schema_of() -> Callable[..., DatasetSchema]:
    """Return the schema of the patients, by the target to learn; further arguments change the target's declaration."""
    return _schema


@pytest.fixture(scope="session")
def patients() -> Callable[..., Table]:
    """Patients, by target, number of rows and seed."""

    def table(target: str = "outcome", rows: int = 300, seed: int = 0) -> Table:
        return Table(_frame(rows, seed)[[*FEATURES, target]], _schema(target))

    return table


@pytest.fixture(scope="session")
def several() -> Callable[..., Table]:
    """Patients with several targets: by these, number of rows and seed."""

    def table(*targets: str, rows: int = 300, seed: int = 0) -> Table:
        task = "regression" if targets[0] == "cost" else "classification"
        columns = {name: {"name": name} | column for name, column in (FEATURES | TARGETS).items()}
        declared = [columns[name] for name in (*FEATURES, *targets)]
        schema = DatasetSchema(name="patients", source=None, columns=declared, target=list(targets), task=task)
        return Table(_frame(rows, seed)[[*FEATURES, *targets]], schema)

    return table
