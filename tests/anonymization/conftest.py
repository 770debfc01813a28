"""A table for every kind of column, and the slow checker beside it."""

from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

from components.anonymization.hierarchies.hierarchy import Hierarchy
from components.data.table import Table
from schemas.dataset import Column, DatasetSchema

KINDS = ["low", "middle", "high"]
REGIONS = ["north", "south", "west"]
DISEASES = ["flu", "angina", "asthma"]
COLUMNS: dict[str, dict[str, Any]] = {
    "person": {"dtype": "text", "role": "identifier"},
    "age": {"dtype": "integer", "role": "quasi_identifier", "nullable": True},
    "height": {"dtype": "number", "role": "quasi_identifier", "nullable": True},
    "region": {"dtype": "category", "values": REGIONS, "role": "quasi_identifier", "nullable": True},
    "kind": {"dtype": "ordered", "values": KINDS, "role": "quasi_identifier", "nullable": True},
    "zip": {"dtype": "text", "role": "quasi_identifier", "nullable": True},
    "smoker": {"dtype": "boolean", "role": "quasi_identifier", "nullable": True},
    "seen": {"dtype": "date", "role": "quasi_identifier", "nullable": True},
    "visits": {"dtype": "integer", "role": "insensitive"},
    "disease": {"dtype": "category", "values": DISEASES, "role": "sensitive", "nullable": True},
    "stage": {"dtype": "ordered", "values": KINDS, "role": "sensitive"},
    "cost": {"dtype": "number", "role": "sensitive"},
}
DTYPES = {
    "person": "string",
    "age": "Int64",
    "height": "float64",
    "region": pd.CategoricalDtype(REGIONS),
    "kind": pd.CategoricalDtype(KINDS, ordered=True),
    "zip": "string",
    "smoker": "boolean",
    "seen": "datetime64[us]",
    "visits": "int64",
    "disease": pd.CategoricalDtype(DISEASES),
    "stage": pd.CategoricalDtype(KINDS, ordered=True),
    "cost": "float64",
}
CELLS: dict[str, list[Any]] = {
    "person": ["p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8"],
    "age": [None, 20, 21, 60, 61],
    "height": [None, -0.0, 0.0, 1.5, 1.75],
    "region": [None, *REGIONS],
    "kind": [None, *KINDS],
    "zip": [None, "01001", "01002", "99999"],
    "smoker": [None, True, False],
    "seen": [None, "2024-01-01", "2024-01-04", "2024-02-29"],
    "visits": [0, 1, 2],
    "disease": [None, *DISEASES],
    "stage": KINDS,
    "cost": [1.0, 2.0, 5.0],
}


TREES: dict[str, dict[Any, tuple[str, ...]]] = {
    "disease": {
        "flu": ("flu", "airways", "*"),
        "asthma": ("asthma", "airways", "*"),
        "angina": ("angina", "heart", "*"),
    },
    "stage": {"low": ("low", "*"), "middle": ("middle", "*"), "high": ("high", "*")},
    "cost": {
        1.0: ("1", "cheap", "fair", "*"),
        2.0: ("2", "cheap", "fair", "*"),
        5.0: ("5", "middling", "fair", "*"),
        9.0: ("9", "dear", "dear", "*"),
    },
}
"""What the values of the sensitive columns become on every level."""


def schema_of(names: list[str], **more: Any) -> DatasetSchema:
    return DatasetSchema.model_validate(
        {"name": "made", "source": {"name": "none"}, "columns": {name: COLUMNS[name] for name in names}, **more}
    )


def frame_of(cells: dict[str, list[Any]], index: list[int] | None = None) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(column, dtype=DTYPES[name]) for name, column in cells.items()}).set_axis(
        index if index is not None else list(range(len(next(iter(cells.values()))))), axis=0
    )


def table_of(cells: dict[str, list[Any]], index: list[int] | None = None, **more: Any) -> Table:
    return Table(frame_of(cells, index), schema_of(list(cells), **more))


@st.composite
def tables(draw: st.DrawFn, min_size: int = 1, max_size: int = 24, *, persons: bool | None = None) -> Table:
    """Draw small tables with missing cells, duplicates, one-valued columns and an index neither sorted nor unique."""
    rows = draw(st.integers(min_size, max_size))
    quasi = draw(
        st.sets(st.sampled_from(["age", "height", "region", "kind", "zip", "smoker", "seen"]), min_size=1, max_size=4)
    )
    sensitive = draw(st.sets(st.sampled_from(["disease", "stage", "cost"]), max_size=2))
    with_persons = draw(st.booleans()) if persons is None else persons
    names = [name for name in COLUMNS if name in quasi | sensitive | {"visits"} or (name == "person" and with_persons)]
    cells = {name: draw(st.lists(st.sampled_from(CELLS[name]), min_size=rows, max_size=rows)) for name in names}
    index = draw(st.lists(st.integers(0, 5), min_size=rows, max_size=rows))
    return table_of(cells, index, subject_id="person" if with_persons else None)


@pytest.fixture(scope="session")
def checker() -> ModuleType:
    """Return the module of the independent checker: tests are no package that it could be imported from."""
    spec = spec_from_file_location("slow", Path(__file__).with_name("slow.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def trees() -> dict[str, dict[Any, tuple[str, ...]]]:
    return TREES


@pytest.fixture(scope="session")
def hierarchies() -> dict[str, Hierarchy]:
    """Return the trees as the engine knows them."""
    found = {}
    for name, tree in TREES.items():
        groups, labels = zip(
            *(pd.factorize(pd.Series(level)) for level in zip(*tree.values(), strict=True)), strict=True
        )
        leaves = np.array([path[0] for path in tree.values()], dtype=object)
        texts = tuple(np.asarray(level, dtype=object) for level in labels)
        found[name] = Hierarchy(Column.model_validate({"name": name, **COLUMNS[name]}), leaves, groups, texts, "")
    return found


@pytest.fixture(scope="session")
def slow(checker: ModuleType) -> Callable[..., dict[str, Any]]:
    measured: Callable[..., dict[str, Any]] = checker.slow_measure
    return measured


@pytest.fixture(scope="session")
def make() -> Callable[..., Table]:
    return table_of


@pytest.fixture(scope="session")
def any_tables() -> Callable[..., Any]:
    return tables


@pytest.fixture(scope="session")
def rng() -> np.random.Generator:
    return np.random.default_rng(11)
