"""Small tables written to disk and read back through the public door."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from components.data import Reading, read
from components.data.declarations import Csv
from schemas.dataset import DatasetSchema
from schemas.faults import DataError, Fault

ReadCsv = Callable[..., Reading]
Faults = Callable[..., tuple[Fault, ...]]


def schema_of(columns: dict[str, dict[str, Any]], **settings: Any) -> DatasetSchema:
    filled = {name: {"role": "insensitive", **column} for name, column in columns.items()}
    return DatasetSchema.model_validate({"name": "small", "source": {}, "columns": filled, **settings})


@pytest.fixture
def make_schema() -> Callable[..., DatasetSchema]:
    return schema_of


@pytest.fixture
def read_csv(tmp_path: Path) -> ReadCsv:
    """Read text or bytes as a CSV file under a schema given by its columns."""

    def go(content: str | bytes, columns: dict[str, dict[str, Any]], *, csv: Any = None, **settings: Any) -> Reading:
        (tmp_path / "table.csv").write_bytes(content.encode() if isinstance(content, str) else content)
        return read(schema_of(columns, **settings), Csv(path="table.csv", **(csv or {})), tmp_path)

    return go


@pytest.fixture
def csv_faults(read_csv: ReadCsv) -> Faults:
    """Return the faults that reading such a file ends with."""

    def go(*args: Any, **settings: Any) -> tuple[Fault, ...]:
        with pytest.raises(DataError) as caught:
            read_csv(*args, **settings)
        return caught.value.faults

    return go
