"""The last door of every method: what may be mistaken, or misses what was asked, is not let out."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from components.anonymization import Given, Release
from components.anonymization.declarations import Guided, Lattice, Mondrian
from components.anonymization.guided.method import anonymise as guided
from components.anonymization.hierarchies.sources import hierarchy_of
from components.anonymization.lattice.method import anonymise as lattice
from components.anonymization.mondrian.method import anonymise as mondrian
from components.data.table import Table
from schemas.dataset import DatasetSchema
from schemas.faults import DataError, GoalError

MISTAKABLE = r"2 of 40 rows would show \* on every quasi-identifier, some of it their own value"


def table_of(rows: list[tuple[str, str, str]], **more: Any) -> Table:
    columns = {
        "one": {"dtype": "text", "role": "quasi_identifier", **more},
        "two": {"dtype": "text", "role": "quasi_identifier"},
        "ill": {"dtype": "text", "role": "sensitive"},
    }
    schema = DatasetSchema.model_validate({"name": "made", "source": {"name": "none"}, "columns": columns})
    return Table(pd.DataFrame(rows, columns=list(columns), dtype="string"), schema)


STARRED = table_of([("*", "*", "HIV")] * 2 + [("a", "b", ill) for ill in "xyz" * 12] + [("a", "b", "x")] * 2)


def flat(table: Table) -> Given:
    tops = [table.schema.column(name) for name in ("one", "two")]
    leaves = {"one": ["a", "*"], "two": ["b", "*"]}
    return Given(hierarchies={one.name: hierarchy_of(one, [(leaf, "*") for leaf in leaves[one.name]]) for one in tops})


METHODS: dict[str, Callable[[], Release]] = {
    "mondrian": lambda: mondrian(Mondrian(k=2), STARRED, flat(STARRED)),
    "mondrian, drop": lambda: mondrian(Mondrian(k=2, suppressed_rows="drop"), STARRED, flat(STARRED)),
    "guided": lambda: guided(
        Guided(k=2), STARRED, Given(predictions=(STARRED.frame["one"] == "*").to_numpy(dtype=np.bool_))
    ),
}


@pytest.mark.parametrize("method", METHODS)
def test_a_class_of_raw_stars_is_not_passed_off_as_suppressed(method: str) -> None:
    with pytest.raises(DataError, match=MISTAKABLE):
        METHODS[method]()


def test_raw_stars_that_a_search_leaves_are_suppressed_rows_within_the_limit_or_refused() -> None:
    levels = {name: {"max": 0} for name in ("one", "two")}
    asked: dict[str, Any] = {"k": 2, "levels": levels}
    with pytest.raises((DataError, GoalError)):
        lattice(Lattice.model_validate(asked), STARRED, flat(STARRED))


def test_a_column_called_self_is_a_column() -> None:
    table = table_of([("a", "b", "x"), ("c", "b", "y")] * 3)
    frame = table.frame.rename(columns={"one": "self"})
    columns = [one.model_copy(update={"name": "self"}) if one.name == "one" else one for one in table.schema.columns]
    renamed = Table(frame, table.schema.model_copy(update={"columns": columns}))
    assert mondrian(Mondrian(k=4), renamed, Given()).table.frame["self"].tolist() == ["{a, c}"] * 6
