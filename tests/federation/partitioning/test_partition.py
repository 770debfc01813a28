"""Whose rows are whose: shares, skews, persons kept whole, and the same partition whatever order the rows come in."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from components.data.order import canonical_order
from components.data.table import Table
from components.federation.partitioning.declarations import Partitioning
from components.federation.partitioning.drawn import dealt
from components.federation.partitioning.partition import Partition, partition
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError

SITES = ["north", "south", "west"]
COLUMNS: dict[str, Any] = {
    "person": {"dtype": "text", "role": "identifier"},
    "age": {"dtype": "integer", "role": "quasi_identifier", "nullable": True},
    "site": {"dtype": "category", "values": SITES, "role": "quasi_identifier", "nullable": True},
    "town": {"dtype": "text", "role": "insensitive"},
    "label": {"dtype": "category", "values": list("abcdefghij"), "role": "insensitive", "nullable": True},
    "score": {"dtype": "number", "role": "insensitive"},
}
DRAWN: list[dict[str, Any]] = [
    {"name": "iid"},
    {"name": "dirichlet"},
    {"name": "dirichlet", "column": "score"},
    {"name": "pathological", "column": "label"},
    {"name": "quantity_skew", "smallest": 5, "largest": 50},
    {"name": "quantity_skew", "sizes": "dirichlet"},
    {"name": "continuous", "column": "score"},
    {"name": "continuous", "column": "age", "strictness": 0.5},
]


def made(rows: int = 600, seed: int = 0, **more: Any) -> Table:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "person": pd.Series([f"p{number}" for number in rng.integers(0, max(rows // 2, 1), rows)], dtype="string"),
            "age": pd.Series(rng.integers(20, 90, rows), dtype="Int64"),
            "site": pd.Categorical(rng.choice(SITES[:2], rows), categories=SITES),
            "town": pd.Series(rng.choice(["Ulm", "Bonn"], rows), dtype="string"),
            "label": pd.Categorical(rng.choice(list("abcdefghij"), rows), categories=list("abcdefghij")),
            "score": rng.normal(size=rows).round(2),
        }
    )
    schema = {"name": "made", "source": {"name": "none"}, "columns": COLUMNS, "target": "label", **more}
    return Table(frame, DatasetSchema.model_validate({"task": "classification", "client": "site", **schema}))


def parted(table: Table, seed: int = 1, **asked: Any) -> Partition:
    return partition(TypeAdapter(Partitioning).validate_python(asked), table, seed)


def test_a_column_names_the_clients_that_occur() -> None:
    table = made()
    found = parted(table, name="column")
    assert found.names == ("north", "south")
    assert found.column == "site"
    assert [found.names[client] for client in found.client_of_row] == table.frame["site"].tolist()
    assert found.warnings == ()


def test_values_that_no_schema_declares_name_nobody_in_records() -> None:
    table = made()
    found = parted(table, name="column", column="town")
    assert found.names == ("client 1", "client 2")
    assert found.client_of_row.tolist() == (table.frame["town"] == "Ulm").astype(int).tolist()
    public = made(columns={**COLUMNS, "town": {**COLUMNS["town"], "public": True}})
    assert parted(public, name="column", column="town").names == ("Bonn", "Ulm")


@pytest.mark.parametrize(
    ("sites", "expected"),
    [
        (["a/b\n<c>", "=cmd()", "\x1b[2J"], ("=cmd()", "\\x1b[2J", "a/b\\n<c>")),
        (["a\n", "a\\n"], ("client 1", "client 2")),
    ],
)
def test_clients_are_named_on_one_line_each_by_another_name(sites: list[str], expected: tuple[str, ...]) -> None:
    table = made(len(sites))
    columns = COLUMNS | {"site": {"dtype": "category", "values": sites, "role": "insensitive"}}
    frame = table.frame.assign(site=pd.Categorical(sites, categories=sites))
    schema = table.schema.model_dump() | {"columns": columns}
    found = parted(Table(frame, DatasetSchema.model_validate(schema)), name="column", column="site")
    assert sorted(found.names) == sorted(expected)
    assert found.sizes.tolist() == [1] * len(sites)


def test_rows_without_a_client_are_named_by_number_alone() -> None:
    table = made()
    table.frame.loc[[4, 17], "site"] = None
    with pytest.raises(DataError) as told:
        parted(table, name="column")
    assert told.value.faults[0].rows == (5, 18)
    assert "2 of 600 rows name no client (data rows 5, 18)" in str(told.value)


@pytest.mark.parametrize(
    ("asked", "more", "told"),
    [
        ({"name": "column", "column": "sit"}, {}, "did you mean 'site'"),
        ({"name": "column"}, {"client": None}, "dataset.client"),
        ({"name": "dirichlet"}, {"target": None, "task": None}, "dataset.target"),
        ({"name": "continuous", "column": "nowhere"}, {}, "no column 'nowhere'"),
        ({"name": "pathological", "clients": 4, "classes": 2}, {}, "3 to 10 classes a client"),
        ({"name": "pathological", "classes": 11}, {}, "of 10 classes"),
    ],
)
def test_columns_and_classes_that_do_not_do_are_configuration_faults(asked: Any, more: Any, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        parted(made(**more), **asked)


@pytest.mark.parametrize(
    "asked",
    [{"name": "iid", "clients": 0}, {"name": "dirichlet", "alpha": 0.0}, {"name": "quantity_skew", "largest": 3}],
)
def test_parameters_have_ranges(asked: Any) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Partitioning).validate_python(asked)


@pytest.mark.parametrize("asked", DRAWN, ids=str)
@pytest.mark.parametrize("subject", [None, "person"])
def test_the_order_of_rows_plays_no_part(asked: dict[str, Any], subject: str | None) -> None:
    table = made(subject_id=subject)
    mixed = Table(table.frame.sample(frac=1, random_state=3), table.schema)
    one, other = (parted(each, clients=7, **asked) for each in (table, mixed))
    assert one.digest == other.digest
    again = pd.Series(other.client_of_row, index=mixed.frame.index).reindex(table.frame.index)
    assert (again.to_numpy() == one.client_of_row).all()
    by_value_alone = asked["name"] == "continuous" and asked.get("strictness", 1) == 1
    assert by_value_alone or parted(table, 2, clients=7, **asked).digest != one.digest


@pytest.mark.parametrize("asked", DRAWN, ids=str)
def test_persons_stay_whole_where_a_partition_is_drawn(asked: dict[str, Any]) -> None:
    table = made(subject_id="person")
    found = parted(table, clients=7, **asked)
    assert table.frame.assign(client=found.client_of_row).groupby("person")["client"].nunique().max() == 1
    assert found.shared_persons == 0


def test_a_person_at_two_clients_is_told() -> None:
    table = made(subject_id="person")
    expected = sum(len(set(own)) > 1 for _, own in table.frame.groupby("person")["site"])
    found = parted(table, name="column")
    assert found.shared_persons == expected > 0
    assert "privacy losses add up" in found.warnings[0]


def test_iid_shares_are_equal_and_alike() -> None:
    found = parted(made(601), name="iid", clients=7)
    assert found.sizes.max() - found.sizes.min() <= 1
    assert found.names[0] == "client 1"


def test_quantity_skew_runs_from_the_smallest_to_the_largest_by_an_equal_factor() -> None:
    sizes = parted(made(1111), name="quantity_skew", clients=3, smallest=10, largest=1000).sizes
    assert sizes.tolist() == pytest.approx([10, 100, 1000], abs=1.5)


def test_sizes_that_the_table_is_too_small_for_are_told() -> None:
    found = parted(made(111), name="quantity_skew", clients=3, smallest=10, largest=1000)
    assert found.sizes.tolist() == pytest.approx([1, 10, 100], abs=1)
    assert any("not 10 to 1000" in each for each in found.warnings)


def test_dirichlet_skews_labels_the_more_the_smaller_alpha() -> None:
    def commonest(alpha: float) -> float:
        table = made(3000)
        found = parted(table, name="dirichlet", clients=10, alpha=alpha)
        shares = pd.crosstab(found.client_of_row, table.frame["label"], normalize="index")
        return float(shares.max(axis=1).mean())

    assert commonest(0.05) > 0.5
    assert commonest(1000.0) < 0.16
    assert commonest(0.05) > commonest(0.5) > commonest(1000.0)


def test_numbers_are_skewed_by_quantiles_and_equal_values_stay_in_one_class() -> None:
    table = made(1000)
    table.frame["score"] = np.repeat([0.0, 1.0, 2.0, 3.0], [700, 100, 100, 100])
    found = parted(table, name="pathological", column="score", clients=4, classes=1, bins=4)
    by_value = table.frame.assign(client=found.client_of_row).groupby("score")["client"]
    assert by_value.nunique().max() == 1


def test_pathological_clients_have_few_classes_and_no_class_is_lost() -> None:
    table = made(2000)
    found = parted(table, name="pathological", clients=7, classes=2)
    counts = pd.crosstab(found.client_of_row, table.frame["label"])
    assert ((counts > 0).sum(axis=1) == 2).all()
    assert (counts.sum(axis=0) == table.frame["label"].value_counts().reindex(counts.columns)).all()


def test_continuous_clients_follow_the_column() -> None:
    table = made(1000)
    strict = parted(table, name="continuous", column="score", clients=5)
    by_client = table.frame.assign(client=strict.client_of_row).groupby("client")["score"]
    assert (by_client.max().to_numpy()[:-1] <= by_client.min().to_numpy()[1:]).all()
    loose = parted(table, name="continuous", column="score", clients=5, strictness=0.0)
    assert table.frame.assign(client=loose.client_of_row).groupby("client")["score"].mean().abs().max() < 0.3


def test_empty_clients_and_clients_of_one_row_are_told() -> None:
    found = parted(made(5), name="iid", clients=7)
    assert (
        found.warnings
        == (
            "2 of 7 clients have no row: 'client 4', 'client 7'",
            "5 of 7 clients have one row: 'client 1', 'client 2', 'client 3', 'client 5', 'client 6'",
        )
        or len(found.warnings) == 2
    )
    nobody = parted(made(0), name="iid", clients=2)
    assert nobody.sizes.tolist() == [0, 0]


def test_the_digest_tells_every_assignment_apart() -> None:
    table = made()
    found = parted(table, name="iid", clients=3)
    assert len(found.digest) == 64
    assert found.digest != parted(table, name="iid", clients=4).digest
    order = canonical_order(table.frame)
    assert len(order) == len(found.client_of_row)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_every_group_is_dealt_by_its_shares(data: st.DataObject) -> None:
    groups, clients = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
    group = np.array(data.draw(st.lists(st.integers(0, groups - 1), min_size=1, max_size=60)))
    shares = np.array(data.draw(st.lists(st.integers(0, 3), min_size=groups * clients, max_size=groups * clients)))
    shares = shares.reshape(groups, clients).astype(float)
    shares[shares.sum(axis=1) == 0, 0] = 1
    key = np.random.default_rng(data.draw(st.integers(0, 9))).random(group.size)
    found = dealt(np.ones(group.size, dtype=np.int64), group, key, shares)
    counts = np.zeros_like(shares)
    np.add.at(counts, (group, found), 1)
    fair = shares / shares.sum(axis=1, keepdims=True) * np.bincount(group, minlength=groups)[:, np.newaxis]
    assert (np.abs(counts - fair) < 1 + 1e-9).all()
    assert (counts[shares == 0] == 0).all()
