"""Small tables of several sites, with hierarchies for every quasi-identifier."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

from components.anonymization import Given
from components.anonymization.declarations import Lattice
from components.anonymization.hierarchies.sources import load
from components.data.table import Table
from components.federation.harmonising.declarations import Harmonising
from components.federation.harmonising.method import harmonise
from components.federation.harmonising.outcome import Harmonisation
from components.federation.sites import Site
from schemas.dataset import DatasetSchema

TOWNS = ["a1", "a2", "b1", "b2"]
ILLNESSES = ["flu", "cold", "gout"]
COLUMNS: dict[str, Any] = {
    "person": {"dtype": "text", "role": "identifier"},
    "age": {
        "dtype": "integer",
        "role": "quasi_identifier",
        "min": 0,
        "max": 7,
        "hierarchy": {"name": "intervals", "widths": [2, 4], "origin": 0},
    },
    "town": {
        "dtype": "category",
        "values": TOWNS,
        "role": "quasi_identifier",
        "hierarchy": {"name": "tree", "groups": {"a": ["a1", "a2"], "b": ["b1", "b2"]}},
    },
    "land": {"dtype": "category", "values": ["x", "y", "z"], "role": "quasi_identifier", "hierarchy": "*"},
    "illness": {"dtype": "category", "values": ILLNESSES, "role": "sensitive"},
    "weight": {"dtype": "number", "role": "insensitive", "min": 0, "max": 9},
}


def schema_of(names: Sequence[str] = tuple(COLUMNS), **more: Any) -> DatasetSchema:
    columns = {name: more.pop(name, COLUMNS[name]) for name in names}
    return DatasetSchema.model_validate({"name": "made", "source": {"name": "none"}, "columns": columns, **more})


def site_of(name: str, schema: DatasetSchema, /, index: Any = None, **cells: Any) -> Site:
    rows = max((len(some) for some in cells.values()), default=0)
    full = {
        "person": [f"{name}{number}" for number in range(rows)],
        "age": [0] * rows,
        "town": ["a1"] * rows,
        "land": ["x"] * rows,
        "illness": (ILLNESSES * rows)[:rows],
        "weight": [float(number % 9) for number in range(rows)],
        **cells,
    }
    kinds = {"category": None, "integer": "int64", "number": "float64", "text": "string"}
    frame = pd.DataFrame(
        {
            column.name: pd.Categorical(full[column.name], categories=column.values)
            if column.dtype == "category"
            else pd.Series(full[column.name], dtype=kinds[column.dtype])  # type: ignore[call-overload]
            for column in schema.columns
        }
    )
    if index is not None:
        frame.index = pd.Index(index)
    return Site(name, Table(frame, schema), Table(frame.iloc[:0], schema))


@st.composite
def several(draw: st.DrawFn, most: int = 3, rows: int = 14, *, persons: bool = False) -> list[Site]:
    """Draw the rows of a few sites; towns and ages are skewed, so that sites need different levels."""
    schema = schema_of(subject_id="person" if persons else None)
    found = []
    for number in range(draw(st.integers(1, most))):
        size = draw(st.integers(2, rows))
        rng = np.random.default_rng(draw(st.integers(0, 10_000)))
        found.append(
            site_of(
                f"site {number}",
                schema,
                person=[f"p{who}" for who in rng.integers(0, size, size)],
                age=rng.integers(0, draw(st.sampled_from([1, 3, 8])), size),
                town=rng.choice(TOWNS[: draw(st.sampled_from([1, 2, 4]))], size),
                land=["xyz"[number % 3]] * size,
                illness=rng.choice(ILLNESSES, size, p=[0.6, 0.3, 0.1]),
            )
        )
    return found


def at(sites: Sequence[Site], how: str = "max", column: str = "land", **asked: Any) -> Harmonisation:
    options = {key: asked.pop(key) for key in ("unreachable", "site_hierarchies", "base") if key in asked}
    base = options.pop("base", Path())
    given = Given(hierarchies=load(sites[0].train.schema, base), base=base)
    return harmonise(
        Harmonising(harmonise=how, **options),  # type: ignore[arg-type]
        Lattice.model_validate({"k": 2, **asked}),
        sites,
        given,
        column,
    )


@pytest.fixture(scope="session")
def made_schema() -> Callable[..., DatasetSchema]:
    return schema_of


@pytest.fixture(scope="session")
def made_site() -> Callable[..., Site]:
    return site_of


@pytest.fixture(scope="session")
def harmonised() -> Callable[..., Harmonisation]:
    return at


@pytest.fixture(scope="session")
def any_sites() -> Callable[..., st.SearchStrategy[list[Site]]]:
    return several
