"""What each client holds: its own rows, checked and split by itself."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from components.data.table import Table
from components.federation.partitioning.declarations import ByColumn, Iid
from components.federation.partitioning.partition import partition
from components.federation.sites import sites
from schemas.dataset import DatasetSchema
from schemas.faults import DataError

COLUMNS: dict[str, Any] = {
    "age": {"dtype": "integer", "role": "quasi_identifier", "max": 90},
    "site": {"dtype": "category", "values": ["north", "south", "west"], "role": "insensitive"},
}


def made(sizes: dict[str, int], test: float = 0.3) -> Table:
    names = [name for name, size in sizes.items() for _ in range(size)]
    ages = np.random.default_rng(5).integers(20, 90, len(names))
    frame = pd.DataFrame({"age": ages, "site": pd.Categorical(names, categories=COLUMNS["site"]["values"])})
    schema = {"name": "made", "source": {"name": "none"}, "columns": COLUMNS, "client": "site"}
    return Table(frame, DatasetSchema.model_validate({**schema, "split": {"test": test}}))


def by_site(table: Table, seed: int = 1) -> dict[str, Any]:
    return {site.name: site for site in sites(table, partition(ByColumn(), table, seed), seed)}


def test_a_client_has_its_own_rows_and_no_others() -> None:
    table = made({"north": 100, "south": 40})
    found = by_site(table)
    for name, site in found.items():
        rows = pd.concat([site.train.frame, site.test.frame]).sort_index()
        assert_frame_equal(rows, table.frame[table.frame["site"] == name])
    assert (len(found["north"].test.frame), len(found["south"].test.frame)) == (30, 12)


def test_what_a_client_holds_out_depends_on_nobody_else() -> None:
    alone = by_site(made({"north": 100}))["north"]
    beside = by_site(made({"north": 100, "south": 40, "west": 3}))["north"]
    assert_frame_equal(alone.test.frame, beside.test.frame)


def test_clients_with_the_same_rows_draw_from_streams_of_their_own() -> None:
    table = made({"north": 100, "south": 100})
    table.frame["age"] = np.tile(np.arange(100) % 90, 2)
    found = by_site(table)
    positions = [site.test.frame.index.to_numpy() % 100 for site in found.values()]
    assert not np.array_equal(*positions)


def test_a_client_too_small_to_split_keeps_all_rows_for_training_and_is_told() -> None:
    found = by_site(made({"north": 10, "south": 1}))["south"]
    assert (len(found.train.frame), len(found.test.frame)) == (1, 0)
    assert found.warnings == ("client 'south' has too few rows to be split: all its rows are train rows",)


def test_an_empty_client_has_neither() -> None:
    table = made({"north": 3})
    found = sites(table, partition(Iid(clients=5), table, 1), 1)
    empty = [site for site in found if not len(site.train.frame)]
    assert len(empty) == 2
    assert all(len(site.test.frame) == 0 and "has no rows" in site.warnings[0] for site in empty)


def test_a_share_of_nothing_holds_nothing_out() -> None:
    assert len(by_site(made({"north": 10}, test=0.0))["north"].test.frame) == 0


def test_every_client_that_breaks_the_schema_is_named_with_its_rows() -> None:
    table = made({"north": 10, "south": 10})
    table.frame.loc[[3, 14], "age"] = 1234
    with pytest.raises(DataError) as told:
        by_site(table)
    places = [fault.place for fault in told.value.faults]
    assert [place.split(",")[0] for place in places] == ["client 'north'", "client 'south'"]
    assert [fault.rows for fault in told.value.faults] == [(4,), (15,)]
    assert "1234" not in str(told.value)
