"""The values that pass between the stages of a run: a table with its schema, and its two parts."""

from dataclasses import dataclass

import pandas as pd

from schemas.dataset import DatasetSchema


@dataclass(frozen=True)
class Table:
    """A frame and the schema it satisfies.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows by columns. Dtypes follow the schema: integer ``int64`` (``Int64`` when nullable), number ``float64``,
        text ``string``, category and ordered ``CategoricalDtype`` over the declared values (ordered ones ordered;
        a category without declared values is ``string``), boolean ``bool`` (``boolean`` when nullable), date and
        datetime ``datetime64[us]`` (``datetime64[us, UTC]`` where the source carries a time zone).
    schema : DatasetSchema
    """

    frame: pd.DataFrame
    schema: DatasetSchema


@dataclass(frozen=True)
class Split:
    """The rows a model may learn from, and those it is judged on."""

    train: Table
    test: Table
