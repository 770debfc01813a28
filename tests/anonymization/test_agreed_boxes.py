"""Boxes as an agreed transformation: the same release on the same table, true cells on another, or a refusal."""

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from components.anonymization import Given
from components.anonymization.declarations import Mondrian, Pipeline, Transform
from components.anonymization.hierarchies.hierarchy import Hierarchy
from components.anonymization.hierarchies.sources import hierarchy_of
from components.anonymization.mondrian import method as mondrian
from components.anonymization.pipeline import method as pipeline
from components.anonymization.release import Release
from components.anonymization.transform import method as transform
from components.data.table import Table
from runner import canonical
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, GoalError

Tables = Callable[..., st.SearchStrategy[Table]]
Make = Callable[..., Table]
PATHS = {
    "region": [("north", "upper", "*"), ("south", "lower", "*"), ("west", "lower", "*")],
    "zip": [("01001", "010**", "*"), ("01002", "010**", "*"), ("99999", "999**", "*")],
}
CANARY = "ZZ-CANARY-7731"
CRITERIA: list[list[dict[str, Any]]] = [[], [{"name": "l_distinct", "l": 2}], [{"name": "t", "t": 0.5}]]
slowly = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)


@dataclass
class Site:
    """A folder with a transformation, and the means to agree on one and to apply it."""

    folder: Path

    def agree(self, table: Table, *climbed: str, **rule: Any) -> Release:
        declared = Mondrian.model_validate({"k": 2} | rule)
        release = mondrian.anonymise(declared, table, self.given(table, *climbed))
        if release.agreed is not None:
            self.write(release.agreed)
        return release

    def given(self, table: Table, *climbed: str) -> Given:
        return Given(hierarchies=hierarchies_of(table.schema, *climbed), base=self.folder)

    def write(self, agreed: dict[str, Any]) -> None:
        (self.folder / "transformation.json").write_bytes(canonical.dumps(canonical.plain(agreed)))

    def apply(self, table: Table, *climbed: str, **rule: Any) -> Release:
        declared = Transform.model_validate({"k": 2, "path": "transformation.json"} | rule)
        return transform.anonymise(declared, table, self.given(table, *climbed))

    def refused(self, table: Table, *climbed: str) -> str:
        with pytest.raises(ConfigurationError) as caught:
            self.apply(table, *climbed)
        assert CANARY not in str(caught.value)
        return str(caught.value)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def hierarchies_of(schema: DatasetSchema, *names: str) -> dict[str, Hierarchy]:
    return {name: hierarchy_of(schema.column(name), PATHS[name]) for name in names if name in schema.quasi_identifiers}


def shown(frame: pd.DataFrame, schema: DatasetSchema) -> list[tuple[Any, ...]]:
    rows = frame[schema.quasi_identifiers].astype(object).to_numpy()
    return [tuple(None if pd.isna(cell) else cell for cell in row) for row in rows]


def rows_of(table: Table, rows: Any) -> Table:
    return Table(table.frame.iloc[rows], table.schema)


# On the table that it was found on


@slowly
@given(data=st.data())
def test_applied_to_its_own_table_it_gives_the_same_release(site: Site, data: st.DataObject, any_tables: Tables):
    table = data.draw(any_tables(min_size=4))
    climbed = data.draw(st.sets(st.sampled_from(["region", "zip"])))
    rule = {
        "suppression_limit": data.draw(st.sampled_from([0.0, 0.2, 0.4])),
        "suppressed_rows": data.draw(st.sampled_from(["star", "drop"])),
        "criteria": sensitive(table, data.draw(st.sampled_from(CRITERIA))),
    }
    try:
        found = site.agree(table, *climbed, **rule)
    except GoalError:
        assume(False)  # noqa: FBT003
    if found.agreed is None:
        assert rule["suppression_limit"] > 0  # rows with a missing cell were left out, which * would be true of
        assert climbed
        assert "transformation.json" in found.warnings[0]
        return
    again = site.apply(table, *climbed, **rule)
    pd.testing.assert_frame_equal(again.table.frame, found.table.frame)
    pd.testing.assert_frame_equal(again.training.frame, found.training.frame)
    assert (again.table.schema, again.after, again.suppressed) == (found.table.schema, found.after, found.suppressed)
    assert again.transformation["cells_changed"] == found.transformation["cells_changed"]
    assert (again.warnings, again.agreed) == (found.warnings, {**found.agreed, "method": "mondrian"})


@slowly
@given(data=st.data())
def test_it_tells_what_the_release_shows_and_no_more(site: Site, data: st.DataObject, any_tables: Tables):
    table = data.draw(any_tables(min_size=4))
    climbed = data.draw(st.sets(st.sampled_from(["region", "zip"])))
    try:
        release = site.agree(table, *climbed)
    except GoalError:
        assume(False)  # noqa: FBT003
    (step,) = (release.agreed or {})["steps"]
    assert set(step) == {"name", "axes"}
    assert all(set(axis) == {"name", "shows", "covers", "boxes"} for axis in step["axes"])
    numbers = list(zip(*(axis["boxes"] for axis in step["axes"]), strict=True))
    assert numbers == sorted(numbers)
    written = zip(*([axis["covers"][one] for one in axis["boxes"]] for axis in step["axes"]), strict=True)
    kinds = [(table.schema.column(axis["name"]), axis["shows"]) for axis in step["axes"]]
    told = [tuple(as_shown(*kind, cover) for kind, cover in zip(kinds, box, strict=True)) for box in written]
    assert len(told) == len(set(told))
    released = {
        tuple(None if cell is None else lower(cell) for cell in row) for row in shown(release.table.frame, table.schema)
    }
    assert set(told) == released  # neither a box without rows, nor a number of rows, nor an order of cuts
    order = data.draw(st.permutations(range(len(table.frame))))
    assert site.agree(rows_of(table, order), *climbed).agreed == release.agreed


# On another table


@slowly
@given(data=st.data())
def test_on_another_table_each_cell_is_true_and_the_criteria_hold(
    site: Site, data: st.DataObject, any_tables: Tables, slow: Callable[..., dict[str, Any]]
):
    both = data.draw(any_tables(min_size=8, persons=False))
    half = data.draw(st.integers(3, len(both.frame) - 3))
    first, table = rows_of(both, slice(half)), rows_of(both, slice(half, None))
    climbed = data.draw(st.sets(st.sampled_from(["region", "zip"])))
    criteria = sensitive(both, data.draw(st.sampled_from(CRITERIA)))
    rule = {"criteria": criteria, "suppression_limit": data.draw(st.sampled_from([0.0, 0.5, 0.9]))}
    try:
        agreed = site.agree(first, *climbed).agreed
    except GoalError:
        assume(False)  # noqa: FBT003
    assert agreed is not None
    before, order = table.frame.copy(deep=True), data.draw(st.permutations(range(len(table.frame))))
    try:
        release = site.apply(table, *climbed, **rule)
    except GoalError:
        with pytest.raises(GoalError):
            site.apply(rows_of(table, order), *climbed, **rule)
        return
    pd.testing.assert_frame_equal(table.frame, before)
    pd.testing.assert_frame_equal(
        site.apply(rows_of(table, order), *climbed, **rule).table.frame, release.table.frame.iloc[order]
    )
    cells, raw = shown(release.table.frame, table.schema), shown(table.frame, table.schema)
    columns = [table.schema.column(name) for name in table.schema.quasi_identifiers]
    everything = all(set(row) == {"*"} for row in cells)
    for row, own in zip(cells, raw, strict=True):
        if set(row) == {"*"} and not everything:
            continue
        for column, cell, value in zip(columns, row, own, strict=True):
            assert is_true(cell, value, PATHS.get(column.name) if column.name in climbed else None)
    found = slow(release.table.frame, release.table.schema, table.frame)
    assert found["k_rows"] >= 2
    for one in criteria:
        figure = found[one["column"]]
        assert figure["l_distinct"] >= one["l"] if one["name"] == "l_distinct" else figure["t"] <= one["t"] + 1e-9
    assert found["suppressed"] == release.suppressed <= rule["suppression_limit"] * len(cells) + 1e-9
    assert release.transformation["rows_outside_all_boxes"] <= release.transformation["suppressed"]


def test_rows_get_the_agreed_cells_and_those_outside_are_suppressed(site: Site, make: Make):
    site.agree(make({"age": [20, 21, 60, 61]}))
    release = site.apply(make({"age": [20, 20, 61, 60, 20, 21, 21, 60, 60, 60]}))
    assert set(release.table.frame["age"]) == {"[20, 21]", "[60, 61]"}
    assert site.apply(make({"age": [20, 20, 20]})).table.frame["age"].tolist() == ["[20, 21]"] * 3  # not 20
    wild = make({"age": [20, 21, 60, 60, None]})
    with pytest.raises(GoalError, match="1 of 5 rows are in no box"):
        site.apply(wild)
    some = site.apply(wild, suppression_limit=0.2)
    assert some.table.frame["age"].tolist() == ["[20, 21]"] * 2 + ["[60, 61]"] * 2 + ["*"]
    assert some.transformation["rows_outside_all_boxes"] == some.suppressed == 1
    assert some.transformation["boxes_here"] == some.transformation["boxes"] == 2
    assert some.transformation["steps"] == [{"name": "boxes", "columns": ["age"]}]
    assert "limit of 0; it is 0.2 here" in some.warnings[0]
    lone = site.apply(make({"age": [20, 21, 60]}), suppression_limit=0.4)  # in a box, but alone there
    assert (lone.suppressed, lone.transformation["rows_outside_all_boxes"]) == (1, 0)
    with pytest.raises(GoalError, match="every one of the 2 rows"):
        site.apply(make({"age": [None, None]}), suppression_limit=1.0)


def test_a_column_is_text_on_every_site_wherever_boxes_show_groups(site: Site, make: Make):
    site.agree(make({"region": ["north", "north", "south", "west"], "age": [None, None, 1, 2]}), "region")
    release = site.apply(make({"region": ["north", "north"], "age": [None, None]}), "region")
    assert release.table.frame["region"].tolist() == ["north"] * 2
    assert [release.table.schema.column(name).dtype for name in ("region", "age")] == ["text", "text"]
    assert release.table.frame["age"].isna().all()
    assert release.training.frame["age"].dtype == "Int64"


def test_a_hierarchy_without_a_top_has_one_on_every_site(site: Site, make: Make):
    table = make({"zip": ["01001", "01002", "99999", "99999"]})
    short = {"zip": hierarchy_of(table.schema.column("zip"), [path[:2] for path in PATHS["zip"]])}
    given_ = Given(hierarchies=short, base=site.folder)
    release = mondrian.anonymise(Mondrian(k=3), make({"zip": [*table.frame["zip"], None]}), given_)
    assert set(release.table.frame["zip"]) == {"*"}
    assert release.agreed is not None
    site.write(release.agreed)
    declared = Transform(k=2, path="transformation.json")
    for cells in (["01001", "01002"], [None, "99999"], ["01001", "99999"]):
        applied = transform.anonymise(declared, make({"zip": cells}), given_)
        assert applied.table.frame["zip"].tolist() == ["*", "*"]


def test_moments_numbers_and_odd_texts_come_back_as_they_were(site: Site):
    cells = {
        "at": pd.Series(pd.to_datetime(["2024-01-01T10:00:00.000001Z", "2024-01-02T00:00:00.000000Z"] * 4)).dt.as_unit(
            "us"
        ),
        "size": pd.Series([0.1, 1 / 3, 1e300, -1e-7, 5e-324, -0.0, 0.0, 2.0]),
        "big": pd.Series([2**63 - 1, -(2**63), 2**53 + 1, 2**53] * 2),
        "said": pd.Series(["{a, b}", "a, b", '"a"', "missing", " a", "", "[1, 2]", "*"], dtype="string"),
    }
    dtypes = {"at": "datetime", "size": "number", "big": "integer", "said": "text"}
    columns = {name: {"dtype": dtype, "role": "quasi_identifier"} for name, dtype in dtypes.items()}
    schema = DatasetSchema.model_validate({"name": "made", "source": {"name": "none"}, "columns": columns})
    for names in [list(cells), *([name] for name in cells)]:
        kept = schema.model_copy(update={"columns": [schema.column(name) for name in names]})
        table = Table(pd.DataFrame({name: cells[name] for name in names}), kept)
        found = site.agree(table)
        again = site.apply(table)
        pd.testing.assert_frame_equal(again.table.frame, found.table.frame)
        pd.testing.assert_frame_equal(again.training.frame, found.training.frame)


# Where nothing can be agreed upon


def test_what_a_release_doesn_t_tell_is_not_agreed_upon_and_that_is_said(site: Site, make: Make):
    hot = {"a": [1, 1, 0, 0], "b": [0, 0, 1, 1]}
    columns = {name: {"dtype": "integer", "role": "quasi_identifier", "group": "kind"} for name in hot}
    schema = DatasetSchema.model_validate({"name": "made", "source": {"name": "none"}, "columns": columns})
    release = site.agree(Table(pd.DataFrame(hot), schema))
    assert release.agreed is None
    assert "one-hot" in release.warnings[0]
    # A row without a region was left out; that the class which shows * doesn't hold it is told by nothing.
    ill = ["flu", "angina"] * 49 + ["flu", "flu"]  # one of the two too many, unless the row is left out
    few = make({"region": ["north", "south", "west"] * 33 + [None], "age": [1] * 100, "disease": ill})
    alpha = {"name": "alpha", "alpha": 0.506, "column": "disease"}
    release = site.agree(few, "region", k=40, suppression_limit=0.01, criteria=[alpha])
    assert set(release.table.frame["region"]) == {"*"}
    assert (release.suppressed, release.agreed) == (1, None)
    assert "a missing cell" in release.warnings[0]


def test_a_pipeline_with_boxes_has_no_agreement_and_says_so(site: Site, make: Make):
    table = make({"age": [20, 21, 60, 61], "kind": ["low"] * 4})
    steps = [{"name": "mondrian", "columns": ["age"]}]
    release = pipeline.anonymise(Pipeline.model_validate({"k": 2, "steps": steps}), table, site.given(table))
    assert release.agreed is None
    assert "can't be applied to another table" in release.warnings[0]


# What was tampered with


@pytest.fixture
def agreed(site: Site, make: Make) -> tuple[dict[str, Any], Table]:
    """Return ages in two ranges, regions as labels, kinds as neighbours, and who smokes."""
    table = make(
        {
            "age": [20, 21, 60, 61],
            "region": ["north", "north", "south", "west"],
            "kind": ["low", "low", "middle", "high"],
            "smoker": [True, None, True, False],
        }
    )
    release = site.agree(table, "region")
    assert release.agreed is not None
    return release.agreed, table


def put(agreed: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(agreed)
    inside: Any = changed
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return changed


AGE, REGION, KIND, SMOKER = (("steps", 0, "axes", number) for number in range(4))


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ((*AGE, "boxes"), [0, 5], "axes.0.boxes: names covers that aren't there"),
        ((*AGE, "boxes"), [0, -1], "axes.0.boxes.1"),
        ((*AGE, "boxes"), [0, 10**30], "axes.0.boxes"),
        ((*AGE, "boxes"), [0], "is another number of boxes"),
        ((*AGE, "boxes"), [], "axes.0.boxes"),
        ((*AGE, "covers"), [["20", "21"], ["21", "20"]], "end before they begin"),
        ((*AGE, "covers"), [["20", "21"], ["60", "9" * 25]], "no values of a column of dtype integer"),
        ((*AGE, "covers"), [["20", "21"], ["60", "9" * 19]], "no values of a column of dtype integer"),
        ((*AGE, "covers"), [["20", "21"], ["60", CANARY]], "no values of a column of dtype integer"),
        ((*AGE, "covers"), [["20", "21"], ["60", "NaN"]], "no values of a column of dtype integer"),
        ((*AGE, "covers"), [["20", "21", "22"], ["60"]], "1 of 2 are no range"),
        ((*AGE, "covers"), [[None, "21"], ["60"]], "1 of 2 are no range"),
        ((*AGE, "covers"), [[], ["60"]], "axes.0.covers.0"),
        ((*AGE, "covers"), [["20", 21], ["60"]], "axes.0.covers.0.1"),
        ((*AGE, "shows"), "set", "says set of 'age'"),
        ((*AGE, "shows"), "label", "without a hierarchy's digest"),
        ((*AGE, "name"), "years", "names no column of the transformation: 'years'"),
        ((*AGE, "name"), "region", "names columns twice: 'region'"),
        ((*REGION, "covers"), [["north"], [CANARY]], "1 of 2 are no labels of its hierarchy"),
        ((*REGION, "covers"), [["north", "south"], ["lower"]], "1 of 2 are no label"),
        ((*REGION, "shows"), "set", "has a digest and shows none"),
        ((*KIND, "covers"), [["high", "low"], ["middle"]], "end before they begin"),
        ((*KIND, "covers"), [[CANARY], ["middle"]], "no values of a column of dtype ordered"),
        ((*SMOKER, "covers"), [["True", "True"], ["False"]], "1 of 2 are no set"),
        (("steps", 0, "parent"), 0, "is no key of a transformation"),
        (("steps", 0, "axes"), [], "steps.0.axes"),
        (("columns", 1, "hierarchy"), "0" * 64, "another than the agreed one"),
    ],
)
def test_a_tampered_transformation_is_refused(
    site: Site, agreed: tuple[dict[str, Any], Table], path: tuple[Any, ...], value: Any, words: str
):
    content, table = agreed
    (site.folder / "transformation.json").write_text(json.dumps(put(content, path, value)))
    assert words in site.refused(table, "region")


def test_boxes_that_overlap_are_refused(site: Site, agreed: tuple[dict[str, Any], Table]):
    content, table = agreed
    for number, covers in enumerate(
        [[["20", "60"], ["60", "61"]], [["north"], ["*"]], [["low", "middle"], ["middle"]]]
    ):
        content = put(content, ("steps", 0, "axes", number, "covers"), covers)
    site.write(put(content, (*SMOKER, "boxes"), [1, 1]))
    assert "steps.0: 2 of 2 boxes can't be told apart" in site.refused(table, "region")


def test_boxes_stand_alone_and_on_all_columns(site: Site, agreed: tuple[dict[str, Any], Table]):
    content, table = agreed
    site.write(put(content, ("steps",), [*content["steps"], {"name": "suppress", "columns": ["age"]}]))
    told = site.refused(table, "region")
    assert "stands beside other steps" in told
    assert "changes columns of an earlier step: 'age'" in told
    site.write(put(content, ("steps", 0, "axes"), content["steps"][0]["axes"][:2]))
    assert "leave open what they hold on 'kind', 'smoker'" in site.refused(table, "region")


# A plain look at one cell, straight from the notation


def sensitive(table: Table, criteria: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one | {"column": name} for one, name in islice(product(criteria, table.schema.sensitive), 1)]


def lower(cell: Any) -> Any:
    """Write what stayed as it was as text."""
    if isinstance(cell, pd.Timestamp):
        return str(cell.date())
    return str(cell)


def as_shown(column: Any, shows: str, cover: list[Any]) -> str | None:
    """Write a cover as a release shows it."""
    values, missing = [one for one in cover if one is not None], None in cover
    if not values:
        return None
    if shows == "label":
        return str(values[0])
    if column.dtype == "ordered":
        first, last = (column.values.index(one) for one in (values[0], values[-1]))
        values = column.values[first : last + 1]
    elif shows == "range" and len(values) == 2:
        values = [f"[{values[0]}, {values[1]}]"]
    inside = values + ["missing"] * missing
    return str(inside[0]) if len(inside) == 1 else "{" + ", ".join(inside) + "}"


def is_true(cell: Any, value: Any, paths: list[tuple[str, ...]] | None) -> bool:
    """Tell whether a released cell is true of a raw one."""
    if paths is not None:
        known: dict[Any, tuple[Any, ...]] = {path[0]: path for path in paths}
        return cell in known.get(value, (None, None, "*"))
    if cell is None or value is None:
        return (cell is None and value is None) or (value is None and str(cell).endswith(", missing}"))
    text = str(cell).removesuffix(", missing}") if str(cell).endswith(", missing}") else str(cell)
    if text.startswith("{["):
        text = text[1:] + ("]" if not text.endswith("]") else "")
    if text.startswith("["):
        low, high = text.strip("[]{}").split(", ")
        return as_number(low) <= as_number(lower(value)) <= as_number(high)
    members = list(parts(text))
    return lower(value) in members or as_number(lower(value)) in {as_number(one) for one in members}


def as_number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def parts(text: str) -> Iterator[str]:
    yield from text.strip("{}").split(", ")
