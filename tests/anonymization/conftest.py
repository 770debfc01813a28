"""A table for every kind of column, and a slow measurement straight from the definitions."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

from components.data.table import Table
from schemas.dataset import DatasetSchema

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


def slow_measure(
    frame: pd.DataFrame, schema: DatasetSchema, whole: pd.DataFrame | None = None, persons: list[Any] | None = None
) -> dict[str, Any]:
    """Measure a table row by row, as the definitions say."""
    whole = frame if whole is None else whole
    quasi = [name for name in schema.quasi_identifiers if name in frame.columns]
    rows = [tuple(None if pd.isna(cell) else cell for cell in row) for row in frame[quasi].astype(object).to_numpy()]
    kept = [position for position, row in enumerate(rows) if set(row) != {"*"}]
    who = list(range(len(rows))) if persons is None else [None if pd.isna(person) else person for person in persons]
    classes: dict[Any, list[int]] = defaultdict(list)
    for position in kept:
        classes[rows[position]].append(position)
    sizes = [len({who[position] for position in members}) for members in classes.values()]
    alike = [
        len({who[j] for j in kept if all(a is None or a == b for a, b in zip(rows[i], rows[j], strict=True))})
        for i in kept
    ]
    found: dict[str, Any] = {
        "k": min(sizes),
        "k_rows": min(map(len, classes.values())),
        "k_wildcard": min(alike),
        "classes": len(classes),
        "suppressed": len(rows) - len(kept),
        "arirec": sum(1 / size for size in sizes) / len(sizes),
        "mean": len(sizes) / sum(sizes),
        "below_11": sum(size for size in sizes if size < 11) / sum(sizes),
    }
    for name in schema.sensitive:
        cells = ["missing" if pd.isna(cell) else cell for cell in frame[name]]
        table = ["missing" if pd.isna(cell) else cell for cell in whole[name]]
        groups = [[cells[position] for position in members] for members in classes.values()]
        shares = [Counter(group).values() for group in groups]
        far = slow_ordered if schema.column(name).dtype in {"number", "ordered"} else slow_equal
        found[name] = {
            "l_distinct": min(len(set(group)) for group in groups),
            "l_entropy": min(
                math.exp(-sum(c / sum(counts) * math.log(c / sum(counts)) for c in counts)) for counts in shares
            ),
            "alpha": max(max(counts) / sum(counts) for counts in shares),
            "t": max(far(group, table, schema.column(name).values) for group in groups),
            "t_released": max(far(group, [cells[i] for i in kept], schema.column(name).values) for group in groups),
        }
    return found


def slow_equal(group: list[Any], table: list[Any], _: Any = None) -> float:
    values = set(group) | set(table)
    return sum(abs(group.count(v) / len(group) - table.count(v) / len(table)) for v in values) / 2


def slow_ordered(group: list[Any], table: list[Any], declared: list[str] | None = None) -> float:
    def place(value: Any) -> Any:
        if value == "missing":
            return (1, 0)
        return (0, declared.index(value) if declared else value)

    values = sorted(set(group) | set(table), key=place)
    gaps = [
        abs(
            sum(x in values[: i + 1] for x in group) / len(group)
            - sum(x in values[: i + 1] for x in table) / len(table)
        )
        for i in range(len(values) - 1)
    ]
    return sum(gaps) / len(gaps) if gaps else 0.0


@pytest.fixture(scope="session")
def slow() -> Callable[..., dict[str, Any]]:
    return slow_measure


@pytest.fixture(scope="session")
def make() -> Callable[..., Table]:
    return table_of


@pytest.fixture(scope="session")
def any_tables() -> Callable[..., Any]:
    return tables


@pytest.fixture(scope="session")
def rng() -> np.random.Generator:
    return np.random.default_rng(11)
