"""Multidimensional partitioning: boxes that meet all criteria, have no cut left, and show what they truly hold."""

import copy
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from components.anonymization import Given
from components.anonymization.criteria.requirements import Requirement
from components.anonymization.declarations import Mondrian
from components.anonymization.hierarchies.hierarchy import Hierarchy
from components.anonymization.hierarchies.sources import hierarchy_of
from components.anonymization.mondrian import method
from components.anonymization.mondrian.boxes import spread
from components.anonymization.mondrian.method import anonymise
from components.anonymization.publishing import publish
from components.anonymization.representatives import Published
from components.data.table import Table
from schemas.dataset import Column, DatasetSchema
from schemas.faults import ConfigurationError, DataError, GoalError

Tables = Callable[..., st.SearchStrategy[Table]]
Make = Callable[..., Table]
PATHS = {
    "region": [("north", "upper", "*"), ("south", "lower", "*"), ("west", "lower", "*")],
    "zip": [("01001", "010**", "*"), ("01002", "010**", "*"), ("99999", "999**", "*")],
}
CRITERIA: list[list[dict[str, Any]]] = [
    [],
    [{"name": "l_distinct", "l": 2}],
    [{"name": "l_entropy", "l": 1.3}],
    [{"name": "l_recursive", "l": 2, "c": 3.0}],
    [{"name": "alpha", "alpha": 0.8}],
    [{"name": "t", "t": 0.4}, {"name": "l_distinct", "l": 2}],
    [{"name": "beta", "beta": 1.0}],
    [{"name": "delta_disclosure", "delta": 1.5}],
    [{"name": "delta_disclosure", "delta": 0.8, "absent": "skip"}],
]
slowly = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def params(**given_: Any) -> Mondrian:
    return Mondrian.model_validate({"k": 2} | given_)


def hierarchies_of(schema: DatasetSchema, *names: str) -> dict[str, Hierarchy]:
    return {name: hierarchy_of(schema.column(name), PATHS[name]) for name in names if name in schema.quasi_identifiers}


def table_of(cells: dict[str, pd.Series], columns: dict[str, dict[str, Any]]) -> Table:
    roles = {name: {"role": "quasi_identifier"} | column for name, column in columns.items()}
    schema = {"name": "made", "source": {"name": "none"}, "columns": roles}
    return Table(pd.DataFrame(cells), DatasetSchema.model_validate(schema))


def shown(table: Table) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in table.frame[table.schema.quasi_identifiers].astype(object).to_numpy()]


def classes_of(table: Table) -> list[list[int]]:
    found = defaultdict(list)
    for position, row in enumerate(shown(table)):
        if set(row) != {"*"}:
            found[tuple("missing" if pd.isna(cell) else cell for cell in row)].append(position)
    return list(found.values())


def plain(series: pd.Series) -> list[Any]:
    return [None if pd.isna(cell) else cell for cell in series.astype(object)]


# Right values


def test_ranges_are_the_true_ends_of_a_class(make: Make):
    release = anonymise(params(), make({"age": [20, 21, 60, 61]}), Given())
    assert release.table.frame["age"].tolist() == ["[20, 21]", "[20, 21]", "[60, 61]", "[60, 61]"]
    assert release.training.frame["age"].tolist() == [20, 20, 60, 60]
    assert (release.after.k, release.after.classes, release.suppressed) == (2, 2, 0)


def test_a_plane_is_cut_along_the_wider_side_and_then_along_the_other():
    # x is cut first: both are as wide as the table, and x comes first. On the left x is down to .1 and y is cut; on the
    # right y is down to 0, and the four values of x are halved.
    points = {"x": [0, 1, 0, 1, 7, 8, 9, 10], "y": [0, 0, 10, 10, 5, 5, 5, 5]}
    cells = {name: pd.Series(values, dtype="int64") for name, values in points.items()}
    release = anonymise(params(), table_of(cells, {name: {"dtype": "integer"} for name in points}), Given())
    assert shown(release.table) == [
        *[("[0, 1]", "0")] * 2,
        *[("[0, 1]", "10")] * 2,
        *[("[7, 8]", "5")] * 2,
        *[("[9, 10]", "5")] * 2,
    ]
    assert release.transformation["cuts"] == {"x": 2, "y": 1}
    assert release.transformation["depth"] == 2


def test_a_weight_makes_an_axis_wider():
    points = {"x": [0, 1, 2, 3], "y": [0, 3, 2, 1]}
    cells = {name: pd.Series(values, dtype="int64") for name, values in points.items()}
    table = table_of(cells, {name: {"dtype": "integer"} for name in points})
    assert anonymise(params(), table, Given()).transformation["cuts"] == {"x": 1, "y": 0}
    assert anonymise(params(weights={"y": 2.0}), table, Given()).transformation["cuts"] == {"x": 0, "y": 1}


def test_of_axes_as_wide_as_each_other_one_with_a_hierarchy_is_cut_first(make: Make):
    table = make({"age": [20, 21, 22, 23], "region": ["north", "south", "north", "south"]})
    release = anonymise(params(), table, Given(hierarchies=hierarchies_of(table.schema, "region")))
    assert shown(release.table) == [("[20, 22]", "north"), ("[21, 23]", "south")] * 2


def test_equal_values_are_never_parted(make: Make):
    release = anonymise(params(), make({"age": [20, 21, 21, 21, 21, 21]}), Given())
    assert set(release.table.frame["age"]) == {"[20, 21]"}  # 20 by itself would be a class of one


def test_a_category_shows_the_lowest_common_ancestor(make: Make):
    table = make({"region": ["north", "north", "south", "west"], "zip": ["01001", "01002", "99999", "99999"]})
    release = anonymise(params(), table, Given(hierarchies=hierarchies_of(table.schema, "region", "zip")))
    assert shown(release.table) == [("north", "010**")] * 2 + [("lower", "99999")] * 2
    assert release.transformation["cut_by"] == dict.fromkeys(("region", "zip"), "children in the hierarchy")


def test_a_category_without_a_hierarchy_is_halved_by_frequency_and_shows_sets(make: Make):
    table = make({"region": ["west", "west", "west", "north", "south", "south"]})
    release = anonymise(params(), table, Given())
    assert release.table.frame["region"].tolist() == ["west"] * 3 + ["{north, south}"] * 3


def test_ordered_values_are_cut_between_neighbours(make: Make):
    table = make({"kind": ["low", "low", "high", "middle"], "age": [1, 1, 1, 1]})
    assert anonymise(params(), table, Given()).table.frame["kind"].tolist() == ["low"] * 2 + ["{middle, high}"] * 2


def test_missing_cells_are_a_part_of_their_own_where_they_are_enough(make: Make):
    table = make({"age": [20, 30, 40, 50, None, None]})
    release = anonymise(params(), table, Given())
    assert release.table.frame["age"].fillna("-").tolist() == ["[20, 30]"] * 2 + ["[40, 50]"] * 2 + ["-"] * 2
    beside = anonymise(params(), make({"age": [20, 20, None, None], "height": [1.5] * 4}), Given())
    assert beside.transformation["cuts"] == {"age": 1, "height": 0}
    alone = anonymise(params(), make({"age": [20, 30, 40, None]}), Given())
    assert alone.table.frame["age"].tolist() == ["[20, 30]"] * 2 + ["{40, missing}"] * 2


def test_missing_cells_climb_to_the_top_with_what_they_can_t_be_told_from(make: Make):
    table = make({"region": ["north", "north", "south", None], "age": [20, 20, 20, 20]})
    release = anonymise(params(), table, Given(hierarchies=hierarchies_of(table.schema, "region")))
    assert (
        release.table.frame["region"].tolist() == ["north", "north", "*", "*"]
        or release.table.frame["region"].tolist() == ["*"] * 4
    )


def test_one_hot_columns_are_one_attribute():
    hot = {"a": [1, 1, 0, 0, 0, 0], "b": [0, 0, 1, 1, 0, 0], "c": [0, 0, 0, 0, 1, 1]}
    cells = {name: pd.Series(values, dtype="int64") for name, values in hot.items()}
    table = table_of(cells, {name: {"dtype": "integer", "group": "kind"} for name in hot})
    release = anonymise(params(k=3), table, Given())
    assert shown(release.table) == [("[0, 1]", "[0, 1]", "[0, 1]")] * 6
    assert (release.training.frame.sum(axis=1) == 1).all()  # a model sees a row that there could be
    apart = anonymise(params(k=2, weights={"kind": 3.0}), table, Given())
    assert shown(apart.table) == [("1", "0", "0")] * 2 + [("0", "1", "0")] * 2 + [("0", "0", "1")] * 2


def test_a_hierarchy_without_a_common_top_gets_one(make: Make):
    table = make({"zip": ["01001", "01002", "99999", "99999"], "age": [1, 1, 1, 1], "visits": [0, 0, 0, 0]})
    short = {"zip": hierarchy_of(table.schema.column("zip"), [path[:2] for path in PATHS["zip"]])}
    assert (
        anonymise(params(), table, Given(hierarchies=short)).table.frame["zip"].tolist()
        == ["010**"] * 2 + ["99999"] * 2
    )
    assert anonymise(params(k=3), table, Given(hierarchies=short)).table.frame["zip"].tolist() == ["*"] * 4


# What holds for every release


@pytest.mark.parametrize("criteria", CRITERIA, ids=lambda some: "+".join(one["name"] for one in some) or "k")
@slowly
@given(data=st.data())
def test_classes_meet_every_criterion_and_have_no_cut_left(
    data: st.DataObject, any_tables: Tables, checker: ModuleType, trees: Any, criteria: list[dict[str, Any]]
):
    table = data.draw(any_tables(min_size=2))
    assume(table.schema.sensitive or not criteria)
    column = data.draw(st.sampled_from(table.schema.sensitive)) if criteria else None
    asked = params(k=data.draw(st.integers(2, 4)), criteria=[one | {"column": column} for one in criteria])
    known = hierarchies_of(table.schema, *data.draw(st.sets(st.sampled_from(["region", "zip"]))))
    meets = judge(table, asked, checker, trees)
    try:
        release = anonymise(asked, table, Given(hierarchies=known))
    except GoalError:
        root = [*range(len(table.frame))]
        assert not meets(root) or set(shown_by(table, root, known)) == {"*"}
        return
    for members in classes_of(release.table):
        assert meets(members)
        for parts in cuts(table, members, known):
            assert not all(meets(part) for part in parts)
        cells = shown(release.table)[members[0]]
        told = ["missing" if pd.isna(cell) else cell for cell in cells]
        assert told == shown_by(table, members, known)


@slowly
@given(data=st.data())
def test_rows_in_another_order_are_released_alike_and_nothing_is_written_to(data: st.DataObject, any_tables: Tables):
    table = data.draw(any_tables(min_size=6))
    known = hierarchies_of(table.schema, "region", "zip")
    limit = data.draw(st.sampled_from([0.0, 0.3]))
    asked = params(suppression_limit=limit, suppressed_rows=data.draw(st.sampled_from(["star", "drop"])))
    before = copy.deepcopy(table.frame)
    order = data.draw(st.permutations(range(len(before))))
    moved = Table(table.frame.iloc[order], table.schema)
    try:
        release = anonymise(asked, table, Given(hierarchies=known))
    except GoalError:
        with pytest.raises(GoalError):
            anonymise(asked, moved, Given(hierarchies=known))
        return
    again = anonymise(asked, moved, Given(hierarchies=known))
    pd.testing.assert_frame_equal(table.frame, before)
    for one, other in ((release.table.frame, again.table.frame), (release.training.frame, again.training.frame)):
        assert Counter(map(str, one.astype(object).to_numpy().tolist())) == Counter(
            map(str, other.astype(object).to_numpy().tolist())
        )
    untouched = [name for name in release.table.frame if name not in table.schema.quasi_identifiers]
    if asked.suppressed_rows == "star":
        pd.testing.assert_frame_equal(release.table.frame[untouched], table.frame[untouched])
    assert release.suppressed <= limit * len(before) + 1e-9
    quasi = release.table.frame[table.schema.quasi_identifiers].astype("string")
    if not quasi.eq("*").all(axis=None):  # where all rows show nothing else they are one class, and none is suppressed
        assert len(release.training.frame) == len(before) - release.suppressed
    assert release.after.k >= 2
    assert release.after.suppressed == release.suppressed


@slowly
@given(data=st.data())
def test_a_model_sees_only_what_the_release_tells(data: st.DataObject, any_tables: Tables):
    table = data.draw(any_tables(min_size=6))
    known = hierarchies_of(table.schema, "region", "zip")
    try:
        release = anonymise(params(), table, Given(hierarchies=known))
    except GoalError:
        return
    seen = defaultdict(set)
    for row, training in zip(shown(release.table), shown(release.training), strict=True):
        seen[str(row)].add(str(training))
    assert all(len(ones) == 1 for ones in seen.values())


# Rows that are left out


def test_a_rare_category_is_left_out_where_that_lets_all_others_be_told_apart():
    regions = ["a"] * 99 + ["b"] * 99 + ["c"] * 2
    table = table_of({"region": pd.Series(regions, dtype="string")}, {"region": {"dtype": "text"}})
    flat = {"region": hierarchy_of(table.schema.column("region"), [(one, "*") for one in "abc"])}
    whole = anonymise(params(k=5), table, Given(hierarchies=flat))  # all rows show *, and are one class
    assert (whole.suppressed, whole.after.suppressed, whole.after.k) == (0, 0, 200)
    release = anonymise(params(k=5, suppression_limit=0.01), table, Given(hierarchies=flat))
    assert Counter(release.table.frame["region"]) == {"a": 99, "b": 99, "*": 2}
    assert (release.suppressed, release.after.k, len(release.training.frame)) == (2, 99, 198)


@slowly
@given(
    values=st.lists(st.integers(0, 9), min_size=10, max_size=60),
    k=st.integers(2, 8),
    limit=st.sampled_from([0.05, 0.1, 0.25, 0.5]),
)
def test_no_more_rows_are_left_out_than_the_limit_allows(values: list[int], k: int, limit: float):
    texts = pd.Series(list(map(str, values)), dtype="string")
    table = table_of(
        {"x": texts, "y": pd.Series(values, dtype="int64") % 3}, {"x": {"dtype": "text"}, "y": {"dtype": "integer"}}
    )
    tree = {"x": hierarchy_of(table.schema.column("x"), [(str(x), str(x % 2), "*") for x in range(10)])}
    release = anonymise(params(k=k, suppression_limit=limit), table, Given(hierarchies=tree))
    assert release.suppressed <= limit * len(values) + 1e-9
    assert release.after.k >= k


def branches(cells: list[str], paths: list[tuple[str, ...]], **asked: Any) -> tuple[Counter[str], int]:
    """Partition one column with a hierarchy, and count what it shows."""
    table = table_of({"x": pd.Series(cells, dtype="string")}, {"x": {"dtype": "text"}})
    release = anonymise(params(**asked), table, Given(hierarchies={"x": hierarchy_of(table.schema.column("x"), paths)}))
    return Counter(release.table.frame["x"]), release.suppressed


NULLABLE = {"dtype": "text", "nullable": True}
TWICE = [("a", "a", "rest", "*"), ("b", "b", "rest", "*"), ("c", "c", "rest", "*"), ("d", "d", "d", "*")]


@pytest.mark.parametrize(("limit", "shown"), [(0.05, {"rest": 19, "*": 1}), (0.1, {"a": 9, "b": 9, "*": 2})])
def test_what_one_cut_has_left_out_the_next_can_t_spend(limit: float, shown: dict[str, int]):
    cells = ["a"] * 9 + ["b"] * 9 + ["c", "d"]  # d is in the way of the first cut, c of the second
    assert branches(cells, TWICE, k=3, suppression_limit=limit) == (shown, shown["*"])


def test_a_cut_that_leaves_a_single_part_is_taken_back_unless_it_opens_another():
    paths = [("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*")]
    cells = ["a"] * 4 + ["b"] + ["c", "c", "d", "d"]  # nothing comes of a without b, and of cd no part could stay
    assert branches(cells, paths, k=3, suppression_limit=1.0) == ({"ab": 5, "cd": 4}, 0)
    deep = [("a", "ab", "abe", "*"), ("b", "ab", "abe", "*"), ("e", "e", "abe", "*"), ("c", "c", "c", "*")]
    opened = branches(["a"] * 4 + ["b"] * 4 + ["e"] + ["c"] * 3, deep, k=3, suppression_limit=1.0)
    assert opened == ({"a": 4, "b": 4, "*": 1, "c": 3}, 1)  # without e, ab can be parted
    closed = branches(["a"] * 5 + ["b"] + ["e"] + ["c"] * 3, deep, k=3, suppression_limit=1.0)
    assert closed == ({"abe": 7, "c": 3}, 0)  # e was left out, and b after it: both come back


def test_a_cut_that_parts_a_box_comes_before_a_cheaper_one_that_only_shrinks_it():
    cells = {"x": ["q"] + ["p"] * 19, "y": ["a"] * 9 + ["b"] * 9 + ["c"] * 2, "z": [1] * 20}
    texts = {name: pd.Series(cells[name], dtype="string") for name in "xy"}
    columns = {"x": {"dtype": "text"}, "y": {"dtype": "text"}, "z": {"dtype": "integer"}}
    table = table_of(texts | {"z": pd.Series(cells["z"], dtype="int64")}, columns)
    flat = {name: hierarchy_of(table.schema.column(name), [(one, "*") for one in "pqabc"]) for name in "xy"}
    release = anonymise(params(k=3, suppression_limit=1.0), table, Given(hierarchies=flat))
    assert Counter(shown(release.table)) == {("*", "a", "1"): 9, ("p", "b", "1"): 9, ("*", "*", "*"): 2}


def test_a_box_that_would_show_nothing_may_be_shrunk_to_a_single_part():
    paths = [("a", "a", "*"), ("b", "b", "*")]
    table = table_of({"x": pd.Series(["a"] * 9 + ["b"] + [None] * 5, dtype="string")}, {"x": NULLABLE})
    tree = Given(hierarchies={"x": hierarchy_of(table.schema.column("x"), paths)})
    with pytest.raises(GoalError, match="show nothing but"):
        anonymise(params(k=3), table, tree)
    release = anonymise(params(k=3, suppression_limit=0.2), table, tree)
    assert Counter(release.table.frame["x"].fillna("-")) == {"a": 9, "-": 5, "*": 1}


def test_a_box_that_misses_a_criterion_may_be_shrunk_to_a_single_part():
    cells = {"x": pd.Series([1] * 6 + [2], dtype="int64"), "ill": pd.Series(["no", "yes"] * 3 + ["yes"])}
    columns = {"x": {"dtype": "integer"}, "ill": {"dtype": "category", "values": ["no", "yes"], "role": "sensitive"}}
    alpha = [{"name": "alpha", "alpha": 0.5, "column": "ill"}]
    table = table_of({"x": cells["x"], "ill": cells["ill"].astype("category")}, columns)
    release = anonymise(params(criteria=alpha, suppression_limit=0.2), table, Given())
    assert release.table.frame["x"].tolist() == ["1"] * 6 + ["*"]


def test_no_row_is_left_out_of_a_box_that_can_not_be_parted():
    # Halves of halves: boxes of five, of which cuts at the median make three rows and two.
    table = table_of({"x": pd.Series(range(5 * 2**6), dtype="int64")}, {"x": {"dtype": "integer"}})
    for limit in (0.0, 0.3, 0.5, 1.0):
        release = anonymise(params(k=3, suppression_limit=limit), table, Given())
        assert (release.suppressed, release.after.classes, release.after.k) == (0, 64, 5)
        assert release.transformation["cuts"] == {"x": 63}
        assert release.transformation["depth"] == 6


def test_a_larger_limit_ends_in_no_fewer_classes_on_this_table():
    ages = np.random.default_rng(7).integers(18, 95, 600)
    stays = np.random.default_rng(8).geometric(0.2, 600)
    table = table_of(
        {"age": pd.Series(ages), "stay": pd.Series(stays), "ward": pd.Series(ages % 7, dtype="int64").astype("string")},
        {"age": {"dtype": "integer"}, "stay": {"dtype": "integer"}, "ward": {"dtype": "text"}},
    )
    found = [anonymise(params(k=3, suppression_limit=limit), table, Given()) for limit in (0, 0.05, 0.3, 0.5, 1)]
    reached = [(release.after.classes, release.suppressed) for release in found]
    assert all(more >= fewer for (fewer, _), (more, _) in pairwise(reached))


def test_a_cut_that_costs_rows_waits_for_those_that_cost_nothing():
    # Both axes are as wide as the table. A cut of x costs the rare value; one of y, where there is one, costs nothing.
    cells = {"x": ["a"] * 50 + ["b"] * 48 + ["c"] * 2, "y": [0, 1] * 50}
    columns = {"x": {"dtype": "text"}, "y": {"dtype": "integer"}}
    for halves, cut in ((1, "y"), (0, "x")):
        ys = pd.Series(cells["y"], dtype="int64") * halves
        table = table_of({"x": pd.Series(cells["x"], dtype="string"), "y": ys}, columns)
        flat = {"x": hierarchy_of(table.schema.column("x"), [(one, "*") for one in "abc"])}
        cuts = anonymise(params(k=26, suppression_limit=0.05), table, Given(hierarchies=flat)).transformation["cuts"]
        assert cuts == {"x": int(cut == "x"), "y": int(cut == "y")}


# What can't be done


def test_what_is_hopeless_is_refused_with_all_faults(make: Make):
    with pytest.raises(GoalError, match="k=8 but 7 rows"):
        anonymise(params(k=8), make({"age": [*range(7)]}), Given())
    with pytest.raises(DataError, match="0 rows"):
        anonymise(params(), make({"age": []}), Given())
    with pytest.raises(ConfigurationError, match="no quasi-identifier"):
        anonymise(params(), make({"visits": [1, 2]}), Given())
    with pytest.raises(ConfigurationError, match=r"weights\.sex: names no quasi-identifier that is searched"):
        anonymise(params(weights={"sex": 2.0}), make({"age": [1, 2]}), Given())
    with pytest.raises(DataError, match="1 of 3 cells to release are missing") as caught:
        anonymise(params(missing="refuse"), make({"age": [1, 2, None], "zip": ["01001", None, None]}), Given())
    assert len(caught.value.faults) == 2


def test_a_hierarchy_that_lacks_values_is_refused_without_naming_them(make: Make):
    table = make({"zip": ["01001", "99999"]})
    short = {"zip": hierarchy_of(table.schema.column("zip"), PATHS["zip"][:2])}
    with pytest.raises(DataError, match="zip") as caught:
        anonymise(params(), table, Given(hierarchies=short))
    assert "99999" not in str(caught.value)


def test_a_hierarchy_that_no_cut_follows_may_lack_values(make: Make):
    table = make({"age": [20, 21, 60, 61], "zip": ["01001", "01001", "99999", "99999"]})
    unused = {"age": hierarchy_of(table.schema.column("age"), [("20", "*"), ("21", "*")])}
    release = anonymise(params(), table, Given(hierarchies=unused | hierarchies_of(table.schema, "zip")))
    assert release.table.frame["age"].tolist() == ["[20, 21]", "[20, 21]", "[60, 61]", "[60, 61]"]
    assert release.agreed is not None
    assert [column["hierarchy"] is None for column in release.agreed["columns"]] == [True, False]


def test_hierarchies_of_categories_and_of_distances_are_held_against_the_table_at_once(make: Make):
    cells = {"zip": ["01001", "01002", "99999", "99999"], "disease": ["flu", "angina", "flu", "angina"]}
    table = make(cells)
    given_ = {name: hierarchy_of(table.schema.column(name), [(values[0], "*")]) for name, values in cells.items()}
    asked = params(criteria=[{"name": "t", "t": 0.9, "column": "disease", "distance": "hierarchical"}])
    with pytest.raises(DataError) as caught:
        anonymise(asked, table, Given(hierarchies=given_))
    assert [fault.place for fault in caught.value.faults] == ["column 'zip'", "column 'disease'"]


def test_rows_whose_own_values_are_stars_are_refused_before_any_work():
    stars = pd.Series(["*"] * 3 + ["a"] * 4 + ["b"] * 3, dtype="string")
    table = table_of({"x": stars, "y": stars}, {"x": {"dtype": "text"}, "y": {"dtype": "text"}})
    flat = {name: hierarchy_of(table.schema.column(name), [(one, "*") for one in "*ab"]) for name in "xy"}
    with pytest.raises(DataError, match="3 of 10 rows would show"):
        method.precheck(params(), table, Given(hierarchies=flat))
    above = {name: hierarchy_of(table.schema.column(name), [("*", "a"), ("a", "a"), ("b", "b")]) for name in "xy"}
    for known in ({}, {"x": flat["x"]}, {"x": flat["x"], "y": above["y"]}):  # beside others they may show something
        method.precheck(params(), table, Given(hierarchies=known))


@pytest.mark.parametrize(
    ("stars", "others", "column"),
    [
        (3, ["1", "1", "1", "2", "2"], {"dtype": "text"}),  # another column shows something
        (3, [1, 1, 1, 2, 2], {"dtype": "integer"}),
        (5, ["*"] * 5, {"dtype": "text"}),  # all are alike: one class
        (3, ["*"] * 5, {"dtype": "category", "values": ["*"]}),  # declared: a value as any other
    ],
)
def test_stars_that_nobody_takes_for_suppressed_rows_are_not_refused(stars: int, others: list[Any], column: Any):
    cells = {"x": pd.Series(["*"] * stars + ["a"] * (5 - stars), dtype="string"), "y": pd.Series(others)}
    if column["dtype"] != "integer":
        cells["y"] = cells["y"].astype("category" if "values" in column else "string")
    table = table_of(cells, {"x": {"dtype": "text"}, "y": column})
    known = {name: hierarchy_of(table.schema.column(name), [(one, "*") for one in "*a12"]) for name in "xy"}
    method.precheck(params(), table, Given(hierarchies=known))


def test_a_cut_that_nobody_checked_never_gets_out(make: Make, monkeypatch: pytest.MonkeyPatch):
    table = make({"age": [20, 21, 60, 61]})
    met = Requirement.met
    monkeypatch.setattr(Requirement, "met", lambda self, figures: met(self, figures) | (np.ndim(figures) > 0))
    monkeypatch.setattr("components.anonymization.mondrian.partition._too_small", lambda _, rows, __: rows < 2)
    with pytest.raises(GoalError, match="was measured on the release"):
        anonymise(params(), table, Given())


# A plain look at one class, straight from the definitions


def judge(table: Table, asked: Mondrian, checker: ModuleType, trees: Any) -> Callable[[list[int]], bool]:
    cells = {name: checker.cells_of(table.frame[name]) for name in table.schema.sensitive}
    subject = table.schema.subject_id
    who = [*range(len(table.frame))] if subject is None else plain(table.frame[subject])

    def meets(members: list[int]) -> bool:
        if len({who[position] for position in members}) < asked.k:
            return False
        for one in asked.criteria:
            figure = checker.slow_criterion(
                one, table.schema, [members], who=who, cells=cells, table=cells, tree=trees.get(one.column)
            )
            if one.name.startswith("l_d") or one.name == "l_entropy":
                met = figure >= one.l * (1 - 1e-9)
            elif one.name == "l_recursive":
                met = figure < one.c * (1 - 1e-9)
            elif one.name == "delta_disclosure":
                met = figure < one.delta * (1 - 1e-9)
            else:
                met = figure <= getattr(one, one.name) + 1e-9
            if not met:
                return False
        return True

    return meets


def path(name: str, cell: Any) -> tuple[Any, ...]:
    return {known[0]: known for known in PATHS[name]}.get(cell, (None, None, "*"))


def cuts(table: Table, members: list[int], known: dict[str, Hierarchy]) -> Iterator[list[list[int]]]:
    """Yield the parts of every cut that a class could still have."""
    for name in table.schema.quasi_identifiers:
        cells = plain(table.frame[name])
        blank = [position for position in members if cells[position] is None]
        if blank and len(blank) < len(members):
            yield [blank, [position for position in members if cells[position] is not None]]
        if name in known:
            paths = {position: path(name, cells[position]) for position in members}
            level = next(at for at in range(3) if len({one[at] for one in paths.values()}) == 1)
            if level:
                parts = defaultdict(list)
                for position, one in paths.items():
                    parts[one[level - 1]].append(position)
                yield list(parts.values())
            continue
        order = in_order(table, name)
        places = sorted({order.index(cells[position]) for position in members})
        below = {place: [one for one in members if order.index(cells[one]) <= place] for place in places[:-1]}
        if below:
            best = min(below.values(), key=lambda lower: abs(2 * len(lower) - len(members)))
            yield [best, [one for one in members if one not in best]]


def in_order(table: Table, name: str) -> list[Any]:
    """Return a column's values in the order in which cuts part them, missing last."""
    column, cells = table.schema.column(name), plain(table.frame[name])
    values = sorted(set(cells) - {None}, key=lambda one: column.values.index(one) if column.values else one)
    if column.dtype in {"category", "text", "boolean"}:
        values.sort(key=lambda one: -cells.count(one))
    return [*values, None]


def shown_by(table: Table, members: list[int], known: dict[str, Hierarchy]) -> list[Any]:
    """Return what a class must show: no more and no less than it holds."""
    labels = []
    for name in table.schema.quasi_identifiers:
        column, cells = table.schema.column(name), plain(table.frame[name])
        inside = {cells[position] for position in members}
        if name in known:
            paths = {path(name, cell) for cell in inside}
            label = next(label for label, *others in (zip(*paths, strict=True)) if {label} >= set(others))
            labels.append("missing" if label is None else label)
            continue
        values = sorted(inside - {None}, key=lambda one: column.values.index(one) if column.values else one)
        if column.dtype == "ordered" and values:
            values = column.values[column.values.index(values[0]) : column.values.index(values[-1]) + 1]
        texts = [
            str(one.date()) if column.dtype == "date" else str(one + 0.0 if column.dtype == "number" else one)
            for one in values
        ]
        if not texts:
            labels.append("missing")
        elif column.dtype in {"integer", "number", "date"}:
            label = texts[0] if len(texts) == 1 else f"[{texts[0]}, {texts[-1]}]"
            labels.append(f"{{{label}, missing}}" if None in inside else label)
        elif len(inside) == 1 and len(texts) == 1:
            labels.append(texts[0])
        else:
            labels.append("{" + ", ".join(texts + ["missing"] * (None in inside)) + "}")
    return labels


@pytest.mark.parametrize(
    "cells", [pd.array(["a", "b"], dtype="string"), pd.Categorical(["a", "b"]), np.array([1.5, 2])]
)
def test_rows_in_no_box_hold_nothing_that_could_be_published(cells: Any):
    column = Column(name="x", dtype="text")
    placed = spread(Published(column, cells, cells, generalised=True), np.array([1, 3]), 4)
    assert pd.isna(placed.cells).tolist() == [True, False, True, False]
    assert placed.cells.dtype == cells.dtype
    assert list(placed.cells[[1, 3]]) == list(cells)
    assert pd.isna(placed.training).sum() == 0


def test_dtypes_that_know_no_missing_cells_stay():
    column = Column(name="x", dtype="integer")
    placed = spread(Published(column, np.array([3, 4]), np.array([3, 4])), np.array([1, 2]), 3)
    assert placed.cells.dtype == "int64"
    assert placed.cells[1:].tolist() == [3, 4]


def test_a_mask_that_is_forgotten_publishes_no_label_of_another_class(monkeypatch: pytest.MonkeyPatch, make: Make):
    table = make({"age": [30] * 8, "zip": ["01001"] * 3 + ["01002"] * 3 + ["99999"] * 2})
    asked = params(k=3, suppression_limit=0.4)
    paths = hierarchies_of(table.schema, "zip")
    plain = anonymise(asked, table, Given(hierarchies=paths))
    gone = (plain.table.frame[["age", "zip"]] == "*").all(axis=1)
    assert gone.sum() == 2
    given_columns = []

    def forgetful(*given_: Any, **more: Any) -> Any:
        given_columns.extend(given_[2].columns)
        return publish(*given_, **more)

    monkeypatch.setattr(method, "publish", forgetful)
    anonymise(asked, table, Given(hierarchies=paths))
    assert {one.column.name for one in given_columns} == {"age", "zip"}
    for one in given_columns:
        assert pd.isna(one.cells)[gone.to_numpy()].all()
        assert not pd.isna(one.cells)[~gone.to_numpy()].any()


def test_numbers_as_far_apart_or_as_near_as_can_be_are_cut_without_a_warning(make: Make):
    far = anonymise(params(k=2), make({"height": [-1.7e308, -1.7e308, 1.7e308, 1.7e308]}), Given())
    assert len(classes_of(far.table)) == 2
    whole = {"age": pd.Series([2**63 - 2, 2**63 - 2, 2**63 - 1, 2**63 - 1])}
    near = anonymise(params(k=2), table_of(whole, {"age": {"dtype": "integer"}}), Given())
    assert near.table.frame["age"].tolist() == list(map(str, whole["age"]))
