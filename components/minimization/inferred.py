"""A schema made from rows, for those who have none: domains are then what the rows hold."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from schemas.dataset import DatasetSchema
from schemas.faults import DataError, Fault

Groups = Mapping[str, Sequence[str]] | Sequence[Sequence[str]]


def inferred_schema(frame: pd.DataFrame, groups: Groups | None = None) -> DatasetSchema:
    """Return a schema with the kind of each column; its domains stay open.

    Parameters
    ----------
    frame : pandas.DataFrame
        No two columns share a name.
    groups : mapping of str to list of str, or list of lists, optional
        Columns that are the one-hot columns of one attribute.

    Raises
    ------
    DataError
        A column is not named by text, a group's column isn't there or is listed twice, or cells are of no kind known
        here.
    """
    named = groups if isinstance(groups, Mapping) else {" | ".join(each): each for each in groups or ()}
    of_group = {column: name for name, columns in named.items() for column in columns}
    faults = [Fault(f"column '{name}'", "not in the table") for name in of_group if name not in frame.columns]
    listed = [column for columns in named.values() for column in columns]
    twice = [name for name in of_group if listed.count(name) > 1]
    faults += [Fault(f"column '{name}'", "is listed twice in groups", "each column once") for name in twice]
    if not all(isinstance(name, str) and name for name in frame.columns):
        faults.append(Fault("columns", "names are texts that are not empty"))
    if faults:
        raise DataError(faults)
    columns = {name: _column(frame[name]) for name in frame.columns}
    unknown = [name for name, column in columns.items() if column["dtype"] is None]
    if unknown:
        allowed = "numbers, booleans, texts, categories of texts, dates and times"
        raise DataError([Fault(f"column '{name}'", f"holds {frame[name].dtype} cells", allowed) for name in unknown])
    for name, group in of_group.items():
        columns[name]["group"] = group
    return DatasetSchema.model_validate({"name": "inferred", "source": None, "columns": columns})


def _column(cells: pd.Series) -> dict[str, Any]:
    facts = {"role": "insensitive", "nullable": bool(cells.isna().any()), "dtype": _dtype(cells)}
    if facts["dtype"] == "ordered":
        facts["values"] = list(cells.cat.categories)
    return facts


def _dtype(cells: pd.Series) -> str | None:
    kind = cells.dtype
    if isinstance(kind, pd.CategoricalDtype):
        texts = all(isinstance(value, str) for value in kind.categories)
        return ("ordered" if kind.ordered else "category") if texts else None
    tests = {
        "boolean": pd.api.types.is_bool_dtype,
        "integer": pd.api.types.is_integer_dtype,
        "number": pd.api.types.is_float_dtype,
        "datetime": pd.api.types.is_datetime64_any_dtype,
    }
    found = next((name for name, test in tests.items() if test(kind)), None)
    if found is None and pd.api.types.infer_dtype(cells, skipna=True) in {"string", "empty"}:
        return "category"
    return found
