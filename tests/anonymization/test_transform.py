"""Agreed transformations: the same release on the same table, the criteria measured anew on another, or a refusal."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, settings
from hypothesis import given as drawn
from hypothesis import strategies as st

from components.anonymization.criteria.declarations import Criterion, K, LDistinct, T
from components.anonymization.declarations import Lattice, Pipeline, SuppressColumns, TopBottom, Transform
from components.anonymization.hierarchies.sources import load
from components.anonymization.lattice import method as lattice
from components.anonymization.pipeline import method as pipeline
from components.anonymization.release import Given, Release
from components.anonymization.transform import agreeing, agreement_checks
from components.anonymization.transform import method as transform
from components.anonymization.transform.agreement import FORMAT, Agreement, Levels
from components.anonymization.transform.agreement_checks import weaker_rule
from components.anonymization.transform.agreement_file import LARGEST_FILE, read_agreement
from components.data.table import Table
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError, GoalError

REGIONS = ["north", "south", "west", "east"]
CANARY = "ZZ-CANARY-7731"
COLUMNS: dict[str, dict[str, Any]] = {
    "person": {"dtype": "text", "role": "identifier"},
    "age": {
        "dtype": "integer",
        "role": "quasi_identifier",
        "nullable": True,
        "min": 0,
        "max": 99,
        "hierarchy": {"name": "intervals", "widths": [10, 50]},
    },
    "region": {
        "dtype": "category",
        "role": "quasi_identifier",
        "values": REGIONS,
        "hierarchy": {"name": "tree", "groups": {"NS": REGIONS[:2], "WE": REGIONS[2:]}},
    },
    "zip": {"dtype": "text", "role": "quasi_identifier", "hierarchy": {"name": "mask", "keep": [2]}},
    "disease": {"dtype": "category", "role": "sensitive", "values": ["flu", "angina", "asthma"]},
}
LEVELS = {"age": 1, "region": 1, "zip": 1}


def schema_of(**changes: dict[str, Any] | None) -> DatasetSchema:
    """Return the schema with some columns changed, or left out."""
    columns = {
        name: {**column, **(changes.get(name) or {})}
        for name, column in COLUMNS.items()
        if name not in changes or changes[name] is not None
    }
    return DatasetSchema.model_validate({"name": "made", "source": {"name": "none"}, "columns": columns})


def table_of(rows: list[tuple[Any, str, str, str]], schema: DatasetSchema | None = None) -> Table:
    ages, regions, zips, diseases = zip(*rows, strict=True) if rows else ([], [], [], [])
    schema = schema or schema_of()
    frame = pd.DataFrame(
        {
            "person": pd.array([f"{CANARY}-{number}" for number in range(len(rows))], dtype="string"),
            "age": pd.array(ages, dtype="Int64"),
            "region": pd.Categorical(regions, categories=REGIONS),
            "zip": pd.array(zips, dtype="string"),
            "disease": pd.Categorical(diseases, categories=["flu", "angina", "asthma"]),
        }
    )
    return Table(frame[[name for name in frame.columns if name in schema.names()]], schema)


ROWS = st.tuples(
    st.sampled_from([None, 3, 8, 12, 14, 55, 57, 99]),
    st.sampled_from(REGIONS),
    st.sampled_from(["01001", "01002", "02001", "9"]),
    st.sampled_from(["flu", "angina", "asthma"]),
)
SIX = [
    (age, "north", "01001", disease) for age, disease in zip([3, 5, 8, 11, 15, 19], ["flu", "angina"] * 3, strict=True)
]


@dataclass
class Site:
    """A folder with a transformation, and the means to apply it."""

    folder: Path

    def given(self, table: Table) -> Given:
        return Given(hierarchies=load(table.schema, self.folder), base=self.folder)

    def write(self, agreed: Any) -> None:
        text = agreed if isinstance(agreed, str) else json.dumps(agreed)
        (self.folder / "transformation.json").write_text(text)

    def apply(self, table: Table, **params: Any) -> Release:
        declared = Transform(path="transformation.json", **{"k": 2, **params})
        return transform.anonymise(declared, table, self.given(table))

    def refused(self, table: Table, kind: type[Exception] = ConfigurationError, **params: Any) -> str:
        declared = Transform(path="transformation.json", **{"k": 2, **params})
        told = []
        for what in (transform.precheck, transform.anonymise):  # both say the same, and none says a cell
            with pytest.raises(kind) as caught:
                what(declared, table, self.given(table))
            told.append(str(caught.value))
        assert told[0] == told[1]
        assert CANARY not in told[0]
        return told[0]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture
def agreed(site: Site) -> dict[str, Any]:
    """Return what was agreed on six rows: ages in tens, regions in halves, two digits of the zip."""
    table = table_of(SIX)
    ladders = [
        lattice.climb(unit, site.given(table).hierarchies[unit.name])
        for unit in lattice.encode(table.frame, lattice.quasi_identifiers(table))
    ]
    found = agreeing.agreed_levels(Lattice(k=2), table, ladders, [list(LEVELS.values())])
    site.write(found)
    return found


def same(one: Release, other: Release) -> None:
    pd.testing.assert_frame_equal(one.table.frame, other.table.frame)
    assert one.table.schema == other.table.schema
    assert one.after == other.after
    assert one.suppressed == other.suppressed
    if one.seen is not None:
        pd.testing.assert_frame_equal(one.training.frame, other.training.frame)
        assert one.training.schema == other.training.schema


CRITERIA = st.sampled_from([[], [K(k=3)], [LDistinct(l=2)], [T(t=0.4)], [LDistinct(l=2), T(t=0.5)]])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@drawn(
    rows=st.lists(ROWS, min_size=4, max_size=24),
    limit=st.sampled_from([0.0, 0.2, 0.5, 0.9]),
    criteria=CRITERIA,
    recoding=st.booleans(),
    how=st.sampled_from(["star", "drop"]),
)
def test_applied_to_its_own_table_it_gives_the_same_release(
    site: Site, rows: list[Any], limit: float, criteria: list[Any], *, recoding: bool, how: Any
) -> None:
    table = table_of(rows)
    rule: dict[str, Any] = {"k": 2, "criteria": criteria, "suppression_limit": limit, "suppressed_rows": how}
    try:
        found = lattice.anonymise(Lattice(local_recoding=recoding, **rule), table, site.given(table))
    except GoalError:
        assume(False)  # noqa: FBT003
    site.write(found.agreed)
    again = site.apply(table, **rule)
    same(found, again)
    assert again.warnings == ()
    assert again.agreed is not None
    assert found.agreed is not None
    assert again.agreed["steps"] == found.agreed["steps"]
    assert (again.seen is None) == (found.seen is None)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@drawn(
    rows=st.lists(ROWS, min_size=2, max_size=24),
    vectors=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)).map(list), min_size=1, max_size=3
    ),
    limit=st.sampled_from([0.0, 0.3, 0.9]),
    criteria=CRITERIA,
    seed=st.integers(0, 9),
)
def test_on_another_table_the_criteria_hold_or_it_is_refused(  # noqa: PLR0913, PLR0917
    site: Site,
    slow: Callable[..., dict[str, Any]],
    rows: list[Any],
    vectors: list[list[int]],
    limit: float,
    criteria: list[Any],
    seed: int,
) -> None:
    first, table = table_of(SIX), table_of(rows)
    units = lattice.encode(first.frame, lattice.quasi_identifiers(first))
    ladders = [lattice.climb(unit, site.given(first).hierarchies[unit.name]) for unit in units]
    site.write(agreeing.agreed_levels(Lattice(k=2), first, ladders, vectors))
    before = table.frame.copy(deep=True)
    rule: dict[str, Any] = {"criteria": criteria, "suppression_limit": limit}
    try:
        release = site.apply(table, **rule)
    except GoalError:
        release = None
    pd.testing.assert_frame_equal(table.frame, before)
    order = np.random.default_rng(seed).permutation(len(rows))
    shuffled = Table(table.frame.iloc[order], table.schema)
    if release is None:
        with pytest.raises(GoalError) as caught:
            site.apply(shuffled, **rule)
        assert CANARY not in str(caught.value)
        return
    pd.testing.assert_frame_equal(site.apply(shuffled, **rule).table.frame, release.table.frame.iloc[order])
    found = slow(release.table.frame, release.table.schema, table.frame)
    assert found["k_rows"] >= max([2, *(one.k for one in criteria if isinstance(one, K))])
    for one in criteria:
        if isinstance(one, LDistinct):
            assert found["disease"]["l_distinct"] >= one.l
        if isinstance(one, T):
            assert found["disease"]["t"] <= one.t + 1e-9
    assert found["suppressed"] == release.suppressed <= limit * len(rows) + 1e-9
    pd.testing.assert_series_equal(release.table.frame["disease"], table.frame["disease"])


def test_cells_become_the_agreed_levels(site: Site, agreed: dict[str, Any]) -> None:
    table = table_of([(20, "west", "77001", "flu"), (29, "east", "77999", "flu"), *SIX])
    frame = site.apply(table).table.frame
    assert frame.columns.tolist() == ["age", "region", "zip", "disease"]
    assert frame.iloc[:2, :3].to_numpy().tolist() == [["[20, 30)", "WE", "77***"]] * 2
    assert frame.iloc[2, :3].tolist() == ["[0, 10)", "NS", "01***"]
    assert agreed["columns"][0]["name"] == "age"


def test_it_says_what_was_applied_and_hands_it_on(site: Site, agreed: dict[str, Any]) -> None:
    table = table_of(SIX)
    release = site.apply(table, k=3)
    facts = release.transformation
    assert facts["steps"] == [{"name": "levels", "rounds": [LEVELS]}]
    assert facts["agreed"]["dataset"] == "made"
    assert facts["hierarchies"] == {column["name"]: column["hierarchy"] for column in agreed["columns"]}
    assert release.agreed == {**agreed, "criteria": [{"name": "k", "k": 3}]}
    assert CANARY not in json.dumps([facts, release.agreed])


def test_columns_on_level_0_need_no_hierarchy(site: Site) -> None:
    table = table_of(SIX, schema_of(zip={"hierarchy": None}))
    units = lattice.encode(table.frame, lattice.quasi_identifiers(table))
    hierarchies = site.given(table).hierarchies
    step = Levels(rounds=[{"age": 1, "region": 2, "zip": 0}])
    site.write(agreeing.agreed_steps(Lattice(k=2), table, hierarchies, [step]))
    release = site.apply(table)
    assert release.table.frame["zip"].tolist() == ["01001"] * 6
    assert len(units) == 3


def test_only_rows_that_miss_the_criteria_go_on_to_the_next_levels(site: Site) -> None:
    rows = [(1, "north", "01001", "flu"), (2, "north", "01001", "flu"), (3, "south", "01001", "flu")]
    table = table_of([*rows, (14, "south", "01001", "flu"), (99, "east", "9", "flu")])
    step = Levels(
        rounds=[{"age": 1, "region": 0, "zip": 0}, {"age": 2, "region": 0, "zip": 0}, {"age": 3, "region": 1, "zip": 2}]
    )
    site.write(agreeing.agreed_steps(Lattice(k=2), table, site.given(table).hierarchies, [step]))
    release = site.apply(table, suppression_limit=0.2)
    assert release.table.frame.iloc[:, :3].to_numpy().tolist() == [
        ["[0, 10)", "north", "01001"],
        ["[0, 10)", "north", "01001"],
        ["[0, 50)", "south", "01001"],
        ["[0, 50)", "south", "01001"],
        ["*", "*", "*"],
    ]
    assert release.suppressed == 1
    assert release.seen is None


def test_rows_that_show_nothing_count_as_suppressed_unless_all_do(site: Site) -> None:
    outliers = [(99, "east", "9", "flu"), (50, "west", "8", "flu")]
    table = table_of([*SIX, *outliers])
    step = Levels(rounds=[LEVELS, {"age": 3, "region": 2, "zip": 2}])
    site.write(agreeing.agreed_steps(Lattice(k=2), table, site.given(table).hierarchies, [step]))
    release = site.apply(table, suppression_limit=0.25)
    assert release.suppressed == release.after.suppressed == 2
    assert len(site.apply(table, suppression_limit=0.25, suppressed_rows="drop").table.frame) == 6
    with pytest.raises(GoalError, match="2 of 8 rows show nothing but"):
        site.apply(table, suppression_limit=0.2)
    site.write(put(release.agreed or {}, "steps", 0, "rounds", value=[{"age": 3, "region": 2, "zip": 2}]))
    whole = site.apply(table)
    assert (whole.suppressed, whole.after.k) == (0, 8)


def test_codings_with_fixed_bounds_apply_too(site: Site) -> None:
    table = table_of([*SIX, (70, "west", "02001", "flu"), (99, "east", "02001", "flu")])
    steps = [
        TopBottom(columns=["age"], bottom=10, top=60),
        SuppressColumns(columns=["region"]),
        Levels(rounds=[{"zip": 1}]),
    ]
    site.write(agreeing.agreed_steps(Lattice(k=2), table, site.given(table).hierarchies, steps))
    release = site.apply(table, suppression_limit=0.5)
    frame = release.table.frame
    assert frame["age"].tolist() == ["<= 10"] * 3 + ["*"] * 3 + [">= 60"] * 2  # 11, 15 and 19 stay alone
    assert frame["region"].tolist() == ["*"] * 8
    assert frame["zip"].tolist() == ["01***"] * 3 + ["*"] * 3 + ["02***"] * 2
    assert release.seen is None
    assert release.training.frame["age"].tolist() == [10, 10, 10, 60, 60]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@drawn(
    rows=st.lists(ROWS, min_size=4, max_size=24),
    age=st.sampled_from(["top_bottom", "suppress", "generalise", "lattice", "none"]),
    region=st.sampled_from(["suppress", "generalise", "lattice", "none"]),
    limit=st.sampled_from([0.0, 0.3, 0.9]),
)
def test_a_pipeline_of_fixed_steps_applies_as_it_was(
    site: Site, rows: list[Any], age: str, region: str, limit: float
) -> None:
    kinds: dict[str, dict[str, Any]] = {"top_bottom": {"bottom": 8.0, "top": 57.0}, "generalise": {"level": 2}}
    steps = [
        {"name": kind, "columns": [column], **kinds.get(kind, {})}
        for column, kind in (("age", age), ("region", region), ("zip", "lattice"))
        if kind != "none"
    ]
    table = table_of(rows)
    rule: dict[str, Any] = {"k": 2, "suppression_limit": limit}
    try:
        found = pipeline.anonymise(Pipeline.model_validate({**rule, "steps": steps}), table, site.given(table))
    except GoalError:
        assume(False)  # noqa: FBT003
    site.write(found.agreed)
    same(found, site.apply(table, **rule))


def test_what_depends_on_the_rows_is_not_agreed_upon(site: Site) -> None:
    table = table_of(SIX)
    steps = [{"name": "microaggregate", "columns": ["age"], "size": 2}]
    release = pipeline.anonymise(Pipeline.model_validate({"k": 2, "steps": steps}), table, site.given(table))
    assert release.agreed is None


def test_too_many_rows_to_suppress_is_a_goal_missed(site: Site, agreed: dict[str, Any]) -> None:
    assert agreed
    table = table_of([*SIX, (99, "west", "90001", "flu")])
    with pytest.raises(GoalError, match=r"1 of 7 rows would have to be suppressed"):
        site.apply(table)
    assert site.apply(table, suppression_limit=0.15).suppressed == 1
    with pytest.raises(GoalError, match=r"every one of the 2 rows"):
        site.apply(table_of([(1, "west", "90001", "flu"), (99, "west", "90001", "flu")]), suppression_limit=1.0)


def test_more_persons_than_there_are_is_refused_before_any_work(site: Site, agreed: dict[str, Any]) -> None:
    assert agreed
    assert "k=8 but 6 rows" in site.refused(table_of(SIX), GoalError, k=8)
    assert "0 rows" in site.refused(table_of([]), DataError)


def test_a_weaker_rule_than_agreed_is_said(site: Site, agreed: dict[str, Any]) -> None:
    site.write({**agreed, "criteria": [{"name": "k", "k": 3}, {"name": "l_distinct", "l": 2}]})
    table = table_of(SIX)
    assert site.apply(table, k=3, criteria=[LDistinct(l=2)]).warnings == ()
    told = site.apply(table, k=2, suppression_limit=0.1).warnings
    assert len(told) == 3
    assert "k=3" in told[0]
    assert "l_distinct" in told[1]
    assert "0.1" in told[2]


@pytest.mark.parametrize(
    ("agreed_one", "here", "weaker"),
    [
        ({"name": "l_distinct", "l": 2}, {"name": "l_distinct", "l": 3}, False),
        ({"name": "l_distinct", "l": 3}, {"name": "l_distinct", "l": 2}, True),
        ({"name": "t", "t": 0.4}, {"name": "t", "t": 0.3}, False),
        ({"name": "t", "t": 0.3}, {"name": "t", "t": 0.4}, True),
        ({"name": "t", "t": 0.4}, {"name": "t", "t": 0.3, "distance": "ordered"}, True),
        ({"name": "l_recursive", "l": 2, "c": 2.0}, {"name": "l_recursive", "l": 2, "c": 1.5}, False),
        ({"name": "l_recursive", "l": 2, "c": 2.0}, {"name": "l_recursive", "l": 3, "c": 2.0}, True),
        ({"name": "k", "k": 3}, {"name": "k_map", "k": 3}, True),
    ],
)
def test_a_stricter_rule_of_the_same_kind_is_no_weaker_one(
    agreed: dict[str, Any], agreed_one: dict[str, Any], here: dict[str, Any], *, weaker: bool
) -> None:
    agreement = Agreement.model_validate({**agreed, "criteria": [agreed_one]})
    criteria = Lattice.model_validate({"criteria": [here]}).criteria
    assert bool(weaker_rule(agreement, criteria, 0.0)) == weaker


def test_every_criterion_says_which_way_it_is_strict() -> None:
    kinds = {one.model_fields["name"].default for one in get_args(get_args(Criterion)[0])}
    assert set(agreement_checks.LIMITS) == kinds


def test_an_uncovered_value_is_refused_by_column(site: Site) -> None:
    schema = schema_of(
        zip={
            "hierarchy": {"name": "tree", "groups": {"low": ["01001", "01002"], "high": ["02001"]}},
            "role": "quasi_identifier",
        }
    )
    table = table_of(SIX, schema)
    step = Levels(rounds=[LEVELS])
    site.write(agreeing.agreed_steps(Lattice(k=2), table, site.given(table).hierarchies, [step]))
    told = site.refused(table_of([*SIX, (1, "west", CANARY, "flu")], schema), DataError)
    assert "zip" in told
    assert "1 of 2 values" in told


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"age": {"max": 120}}, ["column 'age'", "hierarchy is another"]),
        ({"age": {"hierarchy": {"name": "intervals", "widths": [5, 50]}}}, ["column 'age'", "another than the agreed"]),
        ({"age": {"hierarchy": None}}, ["column 'age'", "declares no hierarchy"]),
        ({"age": {"role": "insensitive"}}, ["no quasi-identifiers of this table: 'age'"]),
        ({"disease": {"role": "quasi_identifier"}}, ["doesn't know: 'disease'"]),
        ({"zip": {"dtype": "category", "hierarchy": "*"}}, ["category here and text", "another than the agreed"]),
        (
            {"age": {"max": 120}, "region": {"hierarchy": "*"}, "disease": {"role": "quasi_identifier"}},
            ["column 'age'", "column 'region'", "'disease'"],
        ),
    ],
)
def test_another_dataset_is_refused_with_all_that_differs(
    site: Site, agreed: dict[str, Any], changes: dict[str, Any], words: list[str]
) -> None:
    assert agreed
    told = site.refused(table_of(SIX, schema_of(**changes)))
    for word in words:
        assert word in told


def put(agreed: dict[str, Any], *path: Any, value: Any) -> dict[str, Any]:
    """Return a copy with one entry changed."""
    copy: dict[str, Any] = json.loads(json.dumps(agreed))
    inside: Any = copy
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return copy


ROUND = ("steps", 0, "rounds", 0)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ((*ROUND, "age"), 9, "steps.0.rounds.0.age: level 9; its hierarchy ends at level 3"),
        ((*ROUND, "age"), -1, "steps.0.rounds.0.age"),
        ((*ROUND, "age"), 10**40, "steps.0.rounds.0.age"),
        ((*ROUND, "age"), 1.5, "steps.0.rounds.0.age"),
        ((*ROUND, "age"), True, "steps.0.rounds.0.age"),
        ((*ROUND, "age"), None, "steps.0.rounds.0.age"),
        ((*ROUND, "income"), 1, "'income'"),
        (("steps", 0, "rounds"), [], "steps.0"),
        (("steps", 0, "rounds"), [{"age": 1}, {"region": 1}], "differ in their columns"),
        (("steps", 0, "name"), "partition", "steps.0"),
        (("steps",), [{"name": "levels", "rounds": [{"age": 1}]}] * 2, "changes columns of an earlier step"),
        (
            ("steps",),
            [{"name": "top_bottom", "columns": ["region"], "top": 3.0}],
            "steps.0.columns: 'region' is a category column, which has neither",
        ),
        (("steps",), [{"name": "top_bottom", "columns": ["age"], "top": 9.5}], "steps.0.top: is no value of column"),
        (
            ("steps",),
            [{"name": "suppress", "columns": ["age", "region", "zip"]}],
            "every quasi-identifier is suppressed",
        ),
        (("columns", 0, "hierarchy"), "f" * 64, "another than the agreed one"),
        (("columns", 0, "hierarchy"), "F" * 64, "columns.0.hierarchy"),
        (("columns", 0, "hierarchy"), None, "without a hierarchy's digest: 'age'"),
        (("columns", 0, "name"), "years", "'years'"),
        (("columns", 0, "dtype"), "number", "is integer here and number"),
        (("columns", 0, "dtype"), CANARY, "columns.0.dtype"),
        (("columns", 1, "name"), "age", "declared twice: 'age'"),
        (("columns",), [], "columns"),
        (("criteria",), [{"name": "k", "k": 1}], "criteria.0.k"),
        (("criteria",), [{"name": "t", "t": 1e999}], "infinity"),
        (("suppression", "limit"), 1.5, "suppression.limit"),
        (("version",), 2, "reads version 1"),
        (("version",), True, "reads version 1"),
        (("format",), "other", FORMAT),
        (("extra",), 1, "extra: is no key of a transformation"),
        (("method",), "x" * 1000, "method"),
    ],
)
def test_a_tampered_transformation_is_refused(
    site: Site, agreed: dict[str, Any], path: tuple[Any, ...], value: Any, words: str
) -> None:
    site.write(put(agreed, *path, value=value))
    assert words in site.refused(table_of(SIX))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("null", "no transformation"),
        ("[" * 100_000, "nested too deeply"),
        ('{"format": NaN}', "NaN"),
        ('{"version": 1, "version": 2}', "stands twice"),
        ('{"version": ' + "9" * 10_000 + "}", "too long"),
        (f'{{"format": "{FORMAT}"}}', "reads version 1"),
        (f'{{"format": "{FORMAT}", "version": 1}}', "columns: is missing"),
        (f'{{"format": "{FORMAT}", "version": 1, "{CANARY * 2000}": 1}}', "is no key"),
        (" " * (LARGEST_FILE + 1), "larger than 32 MB"),
    ],
)
def test_what_is_no_transformation_is_refused(site: Site, text: str, words: str) -> None:
    site.write(text)
    with pytest.raises(ConfigurationError) as caught:
        site.apply(table_of(SIX))
    assert words in str(caught.value)
    assert len(str(caught.value)) < 2500


@pytest.mark.parametrize("path", ["absent.json", ".", "a\0b", "x" * 5000])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(ConfigurationError, match=r"anonymization\.path"):
        read_agreement(path, tmp_path)


def test_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigurationError, match=r"'pipe': is no regular file"):
        read_agreement("pipe", tmp_path)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_bytes(b'{"format": "\xff"}')
    with pytest.raises(ConfigurationError, match="UTF-8"):
        read_agreement("t.json", tmp_path)


def test_a_flood_of_faults_is_cut_short(site: Site, agreed: dict[str, Any]) -> None:
    flood = {f"key{number}": 1 for number in range(20_000)}
    site.write({**agreed, **flood})
    told = site.refused(table_of(SIX))
    assert "19980 more faults" in told
    assert len(told.splitlines()) == 21
