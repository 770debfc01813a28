"""Released files hold what was to be written, whatever the cells are."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from components.data import Table, read
from components.data.declarations import Csv
from runner.releasing import write_table
from schemas.dataset import DatasetSchema
from schemas.faults import DataError


def table(cells: pd.Series, markers: list[str], **column: Any) -> Table:
    declared = {"name": "c", "role": "insensitive", "nullable": True, **column}
    other = {"name": "n", "dtype": "integer", "role": "insensitive"}
    schema = DatasetSchema.model_validate(
        {"name": "t", "source": None, "columns": [declared, other], "missing": {"markers": markers}}
    )
    return Table(pd.DataFrame({"c": cells, "n": range(len(cells))}), schema)


def placed(folder: Path) -> Callable[[str], Path]:
    def path(relative: str) -> Path:
        (folder / relative).parent.mkdir(exist_ok=True)
        return folder / relative

    return path


@pytest.mark.parametrize(
    "cells", [["a\rb", "x"], ["a\nb", "x"], ["a\r\nb", '"'], [" a ", 'x"y'], ["", None], ["=1+1", "a,b"], ["?", "NA"]]
)
def test_text_of_any_kind_reads_back(tmp_path: Path, cells: list[str | None]) -> None:
    made = table(pd.Series(cells, dtype="string"), ["missing"], dtype="text")
    written = write_table(made, placed(tmp_path))
    source = Csv(path="release.csv", trim=False, normalize=False)
    back = read(made.schema, source, written.csv.parent).table.frame
    pd.testing.assert_frame_equal(back, made.frame.iloc[written.order].reset_index(drop=True))


@pytest.mark.parametrize(
    ("cells", "dtype", "marker"),
    [([9, 7], "integer", "9"), ([-9.0, 1.5], "number", "-9.0"), ([1e22, 1], "number", "1e+22")],
)
def test_a_number_that_is_written_as_a_marker_is_refused(
    tmp_path: Path, cells: list[float], dtype: str, marker: str
) -> None:
    series = pd.Series(cells, dtype="Int64" if dtype == "integer" else "float64")
    with pytest.raises(DataError, match="1 of 2 cells of the release would be written as a missing marker") as caught:
        write_table(table(series, [marker], dtype=dtype), placed(tmp_path))
    assert marker not in str(caught.value)


def test_missing_cells_need_a_marker(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no marker says how they are written"):
        write_table(table(pd.Series([1.5, None]), [], dtype="number"), placed(tmp_path))


def test_a_column_may_be_called_self(tmp_path: Path) -> None:
    columns = {name: {"dtype": "date", "role": "insensitive"} for name in ("self", "cls")}
    schema = DatasetSchema.model_validate({"name": "t", "source": None, "columns": columns})
    days = pd.Series(["2024-02-29", "2023-01-01"], dtype="datetime64[us]")
    written = write_table(Table(pd.DataFrame({"self": days, "cls": days}), schema), placed(tmp_path))
    assert written.csv.read_text().splitlines()[0] == "self,cls"
    assert "2024-02-29,2024-02-29" in written.csv.read_text()
