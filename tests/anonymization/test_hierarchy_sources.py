"""Hierarchies of all sources are built, and everything that is wrong with them is told at once."""

import csv
import os
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.anonymization.hierarchies.hierarchy import Hierarchy
from components.anonymization.hierarchies.sources import hierarchy_of, load
from schemas.dataset import Column, DatasetSchema
from schemas.faults import ConfigurationError, DataError, Fault, RunnerError

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"


def schema_of(columns: dict[str, Any], folder: Path | str | None = None, **more: Any) -> DatasetSchema:
    full = {name: {"role": "quasi_identifier", "dtype": "text", **column} for name, column in columns.items()}
    hierarchies = None if folder is None else str(folder)
    return DatasetSchema.model_validate(
        {"name": "made", "source": {"name": "none"}, "columns": full, "hierarchies": hierarchies, **more}
    )


def built(column: dict[str, Any], **more: Any) -> Hierarchy:
    return load(schema_of({"x": column}, **more), Path())["x"]


def from_file(folder: Path, content: str | bytes, **column: Any) -> Hierarchy:
    (folder / "h.csv").write_bytes(content.encode() if isinstance(content, str) else content)
    return built({"hierarchy": "h.csv", **column}, folder=folder)


def faults(folder: Path, content: str | bytes, **column: Any) -> tuple[Fault, ...]:
    with pytest.raises(DataError) as error:
        from_file(folder, content, **column)
    return error.value.faults


def fault(folder: Path, content: str | bytes, **column: Any) -> str:
    (only,) = faults(folder, content, **column)
    return str(only)


def rows(hierarchy: Hierarchy) -> list[list[str]]:
    levels = [labels[codes] for labels, codes in zip(hierarchy.labels, hierarchy.groups, strict=True)]
    return [list(row) for row in zip(*levels, strict=True)]


# -- sources


@pytest.mark.parametrize("mark", [";", ",", "\t", "|"])
def test_the_delimiter_is_found(tmp_path: Path, mark: str) -> None:
    hierarchy = from_file(tmp_path, f"a{mark}x{mark}*\nb{mark}x{mark}*\n")
    assert rows(hierarchy) == [["a", "x", "*"], ["b", "x", "*"]]


def test_semicolons_win_over_the_commas_of_interval_labels(tmp_path: Path) -> None:
    hierarchy = from_file(tmp_path, "11;[10, 20);*\n25;[20, 30);*\n", dtype="integer")
    assert rows(hierarchy) == [["11", "[10, 20)", "*"], ["25", "[20, 30)", "*"]]


def test_quotes_protect_a_delimiter(tmp_path: Path) -> None:
    assert rows(from_file(tmp_path, '11,"[10, 20[",*\n', dtype="integer")) == [["11", "[10, 20[", "*"]]


def test_a_declared_delimiter_and_encoding_are_kept_to(tmp_path: Path) -> None:
    (tmp_path / "h.txt").write_bytes("é,x;y\n".encode("latin-1"))
    declared = {"name": "csv", "path": "h.txt", "delimiter": ";", "encoding": "latin-1"}
    assert rows(built({"hierarchy": declared}, folder=tmp_path)) == [["é,x", "y"]]


def test_a_byte_order_mark_and_blank_lines_are_no_values(tmp_path: Path) -> None:
    assert list(from_file(tmp_path, "\ufeffa,x\n\nb,y\n").leaves) == ["a", "b"]


def test_paths_start_at_the_folder_of_hierarchies_or_at_the_base(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "h.csv").write_text("a,x\n", encoding="utf-8")
    assert list(load(schema_of({"x": {"hierarchy": "h.csv"}}, folder="inner"), tmp_path)) == ["x"]
    assert list(load(schema_of({"x": {"hierarchy": "inner/h.csv"}}), tmp_path)) == ["x"]


def test_leaves_stand_in_the_order_of_their_values(tmp_path: Path) -> None:
    assert list(from_file(tmp_path, "100,x\n9,x\n?,x\n20,x\n", dtype="integer").leaves) == ["9", "20", "100", "?"]
    stages = {"dtype": "ordered", "values": ["low", "high", "above"]}
    assert list(from_file(tmp_path, "above,x\nhigh,x\nlow,x\n", **stages).leaves) == ["low", "high", "above"]
    assert list(from_file(tmp_path, "b,x\na,x\n").leaves) == ["a", "b"]


def test_the_digest_is_of_what_is_said_and_not_of_how(tmp_path: Path) -> None:
    first = from_file(tmp_path, "34,x,*\n35,y,*\n", dtype="integer").digest
    assert from_file(tmp_path, "35.0; y;*\n 34;x ;*\n", dtype="integer").digest == first
    tree = {"name": "tree", "groups": {"x": [34], "y": [35]}}
    assert built({"dtype": "integer", "hierarchy": tree}).digest == first
    assert from_file(tmp_path, "34,x,*\n35,z,*\n", dtype="integer").digest != first


def test_the_digest_of_a_rule_is_of_rule_and_declared_values() -> None:
    ages = {"dtype": "integer", "min": 0, "max": 99, "hierarchy": {"name": "intervals", "widths": [5]}}
    digest = built(ages).digest
    assert built({**ages, "hierarchy": {"name": "intervals", "widths": [5.0], "origin": 0}}).digest == digest
    assert built({**ages, "max": 98}).digest != digest
    assert built({**ages, "hierarchy": {"name": "intervals", "widths": [10]}}).digest != digest


def test_a_group_stands_for_itself_where_a_tree_is_shallow() -> None:
    groups = {"Europe": {"North": ["SE"], "South": ["IT"]}, "Asia": ["JP"]}
    found = rows(built({"hierarchy": {"name": "tree", "groups": groups}}))
    assert found == [["IT", "South", "Europe", "*"], ["JP", "Asia", "Asia", "*"], ["SE", "North", "Europe", "*"]]


def test_a_shallow_group_fills_the_levels_below_it() -> None:
    groups = {"Europe": {"Germany": {"Bavaria": ["Munich"]}, "Austria": ["Linz"]}, "Asia": ["Osaka"]}
    found = rows(built({"hierarchy": {"name": "tree", "groups": groups}}))
    assert found[0] == ["Linz", "Austria", "Austria", "Europe", "*"]
    assert found[1] == ["Munich", "Bavaria", "Germany", "Europe", "*"]
    assert found[2] == ["Osaka", "Asia", "Asia", "Asia", "*"]


def test_a_top_is_added_where_there_is_none() -> None:
    several, one = {"a": ["x"], "b": ["y"]}, {"all": {"a": ["x"], "b": ["y"]}}
    assert len(built({"hierarchy": {"name": "tree", "groups": several}}).labels) == 3
    assert len(built({"hierarchy": {"name": "tree", "groups": several, "top": False}}).labels) == 2
    assert len(built({"hierarchy": {"name": "tree", "groups": one}}).labels) == 3


def test_order_groups_become_levels() -> None:
    levels = [[["never"], ["former", "current"]]]
    column = {"dtype": "ordered", "values": ["never", "former", "current"]}
    found = rows(built({**column, "hierarchy": {"name": "order", "levels": levels}}))
    assert [row[1] for row in found] == ["never", "former to current", "former to current"]


@pytest.mark.parametrize("inside", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"])
def test_lines_end_at_cr_and_lf_alone(tmp_path: Path, inside: str) -> None:
    expected = [[f"a{inside}a", "x"], ["b", "y"]]
    for end in ("\n", "\r\n", "\r"):
        for mark in ";,":
            content = f"a{inside}a{mark}x{end}b{mark}y{end}"
            assert rows(from_file(tmp_path, content)) == expected
            assert rows(from_file(tmp_path, f"{end}{content}")) == expected


def test_a_first_row_of_any_length_is_read_whole(tmp_path: Path) -> None:
    levels = ["group " + "g" * 30_000] * 7
    for mark in ";,":
        content = "".join(mark.join([value, *levels]) + "\n" for value in "ab")
        for blank in ("", "\n"):
            assert [row[0] for row in rows(from_file(tmp_path, blank + content))] == ["a", "b"]
    assert rows(from_file(tmp_path, f"a;{'g' * 200_000}\n")) == [["a", "g" * 200_000]]
    assert csv.field_size_limit() == 131_072


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    problems = {
        "pipe": "is no regular file",
        "folder": "is a folder",
        "x\0y": "not found",
        "h" * 300: "can't be read: File name too long",
    }
    for path, problem in problems.items():
        schema = schema_of({"x": {"hierarchy": path}}, folder=tmp_path)
        for climbed in (None, set[str]()):  # read, or only looked for
            with pytest.raises(DataError) as error:
                load(schema, Path(), climbed)
            assert error.value.faults[0].problem == problem


def test_rows_of_a_single_cell_are_told_in_the_singular(tmp_path: Path) -> None:
    assert "; 1 cell in each row;" in fault(tmp_path, "a\nb;x\n")


def test_only_columns_that_climb_are_looked_at(tmp_path: Path) -> None:
    columns = {role: {"role": role, "hierarchy": "gone.csv"} for role in ("identifier", "insensitive", "drop")}
    assert load(schema_of(columns, folder=tmp_path), Path()) == {}
    with pytest.raises(DataError, match="not found"):
        load(schema_of({"x": {"role": "sensitive", "hierarchy": "gone.csv"}}, folder=tmp_path), Path())


# -- faults


def test_a_value_with_two_parents_is_told_with_both(tmp_path: Path) -> None:
    (found,) = faults(tmp_path, "secret,x,*\nb,y,*\n secret,z,*\n")
    assert "rows 1 and 3: 'x' and 'z' on level 1" in found.problem
    assert "secret" not in str(found)
    assert found.values == "secret"
    assert "'secret' in rows 1 and 3" in fault(tmp_path, "secret,x,*\nb,y,*\n secret,z,*\n", public=True)


def test_numbers_that_are_the_same_value_are_one_key(tmp_path: Path) -> None:
    assert "1 value has several parents" in fault(tmp_path, "34,x\n34.0,y\n", dtype="integer")
    assert list(from_file(tmp_path, "34,x\n34.0,y\n").leaves) == ["34", "34.0"]


def test_a_row_said_twice_is_a_warning(tmp_path: Path) -> None:
    hierarchy = from_file(tmp_path, "a,x\nb,x\na,x\n")
    assert list(hierarchy.leaves) == ["a", "b"]
    assert "1 row says again what an earlier row says" in hierarchy.warnings[0]


def test_levels_that_split_groups_are_refused(tmp_path: Path) -> None:
    found = fault(tmp_path, "a,ab,ac\nb,ab,bd\nc,cd,ac\nd,cd,bd\n")
    assert "level 2: splits 2 groups of level 1, such as 'ab' into 'ac' and 'bd'" in found


def test_rows_of_unequal_length_are_told(tmp_path: Path) -> None:
    assert "2 of 4 rows hold more or fewer cells than the first (rows 2, 4)" in fault(tmp_path, "a,x\nb\nc,y\nd,y,z\n")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"a\nb\n", "no level above"),
        (b"a,x\nb,\n", "level 1: no label in row 2"),
        (b"a,x\n\xff,y\n", "first in line 2"),
    ],
)
def test_what_is_no_hierarchy_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    assert said in fault(tmp_path, content)


def test_an_empty_value_is_refused_unless_it_marks_missing_cells(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text(",unknown\na,x\n", encoding="utf-8")
    column = {"x": {"hierarchy": "h.csv"}}
    assert len(load(schema_of(column, tmp_path), Path())["x"].leaves) == 2
    with pytest.raises(DataError, match="no value in row 1"):
        load(schema_of(column, tmp_path, missing={"markers": ["?"]}), Path())


def test_a_label_that_would_read_back_as_missing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("a,?\n?,?\n", encoding="utf-8")
    with pytest.raises(DataError, match="marks missing cells"):
        load(schema_of({"x": {"hierarchy": "h.csv"}}, tmp_path, missing={"markers": ["?"]}), Path())


def test_two_markers_are_one_value(tmp_path: Path) -> None:
    columns, missing = {"x": {"hierarchy": "h.csv"}}, {"markers": ["?", "NA"]}
    (tmp_path / "h.csv").write_text("NA,unknown\n?,unknown\na,x\n", encoding="utf-8")
    assert list(load(schema_of(columns, tmp_path, missing=missing), Path())["x"].leaves) == ["a", "?"]
    (tmp_path / "h.csv").write_text("NA,unknown\n?,x\na,x\n", encoding="utf-8")
    with pytest.raises(DataError, match="several parents"):
        load(schema_of(columns, tmp_path, missing=missing), Path())


@pytest.mark.parametrize("label", ["[0, 10)", "[0,10[", "]10, 20]", "(10, 20)", "<10", "< 10", ">10", "11+", "≥ 11"])
def test_ten_is_not_in(tmp_path: Path, label: str) -> None:
    found = fault(tmp_path, f"10;{label}\n", dtype="integer")
    assert "1 of 1 values lie outside their own interval (row 1" in found
    assert label in found


@pytest.mark.parametrize(
    "label",
    [
        "[10, 20)",
        "[10, 20[",
        "(0, 10]",
        "[10, 10]",
        "10-19",
        "0 \u2013 10",
        "<=10",
        "≤10",
        ">= 10",
        "10+",
        "(-inf, 11)",
        "tens",
    ],
)
def test_ten_is_in(tmp_path: Path, label: str) -> None:
    assert from_file(tmp_path, f"10;{label}\n", dtype="integer").warnings == ()


def test_fractions_lie_in_an_interval_up_to_the_next_whole_number(tmp_path: Path) -> None:
    assert from_file(tmp_path, "19.5;10-19\n", dtype="number").warnings == ()


def test_one_beside_a_dashed_interval_is_a_warning_and_further_a_fault(tmp_path: Path) -> None:
    assert "one outside their own interval" in from_file(tmp_path, "5;0-4\n", dtype="integer").warnings[0]
    assert "lie outside" in fault(tmp_path, "6;0-4\n", dtype="integer")


def test_text_is_held_against_intervals_where_all_of_it_is_numbers(tmp_path: Path) -> None:
    assert "outside their own interval" in fault(tmp_path, "30;[0, 10)\n")
    assert from_file(tmp_path, "30;[0, 10)\nolder;>90\n").warnings == ()


def test_groups_of_an_ordered_column_are_neighbours(tmp_path: Path) -> None:
    bands = {"dtype": "ordered", "values": ["0-35", "35-55", "55<="]}
    assert "no neighbours: 'ends'" in fault(tmp_path, "0-35;ends\n35-55;middle\n55<=;ends\n", **bands)
    assert len(from_file(tmp_path, "55<=;35+\n0-35;0-35\n35-55;35+\n", **bands).labels[1]) == 2
    with pytest.raises(ConfigurationError, match="no neighbours"):
        built({**bands, "hierarchy": {"name": "tree", "groups": {"ends": ["0-35", "55<="], "middle": ["35-55"]}}})


def test_a_tree_that_holds_a_value_twice_is_told_with_both_groups() -> None:
    with pytest.raises(ConfigurationError, match=r"'IT': 'South' and 'North' on level 1"):
        built({"hierarchy": {"name": "tree", "groups": {"South": ["IT"], "North": ["SE", "IT"]}}})


def test_the_faults_of_all_columns_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,x\na,y\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("a,x\nb\n", encoding="utf-8")
    tree = {"name": "tree", "groups": {"x": ["a"], "y": ["a"]}}
    columns = {"a": "a.csv", "b": "b.csv", "c": "gone.csv", "d": tree}
    with pytest.raises(DataError) as error:
        load(schema_of({name: {"hierarchy": one} for name, one in columns.items()}, tmp_path), Path())
    places = " ".join(found.place for found in error.value.faults)
    assert all(place in places for place in ("'a'", "'b'", "'c'", "columns.d"))


def test_numbers_too_large_for_their_intervals_are_refused() -> None:
    rule = {"name": "intervals", "widths": [0.001]}
    with pytest.raises(RunnerError, match="can't be told apart"):
        built(
            {
                "dtype": "integer",
                "min": 10**15,
                "max": 10**15 + 2,
                "hierarchy": {**rule, "widths": [1]},
                "public": False,
            }
            | {"min": 10**16, "max": 10**16 + 2}
        )


# -- warnings


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Europa", "Europe"),
        ("north america", "North  America"),
        ("Lawyer", "Lawyers"),
        ("Technical staff", "Tecnical staff"),
    ],
)
def test_labels_that_look_alike_are_a_warning(tmp_path: Path, one: str, other: str) -> None:
    (warning,) = from_file(tmp_path, f"a,{one}\nb,{other}\nc,Sales people\n").warnings
    assert repr(one) in warning
    assert repr(other) in warning


@pytest.mark.parametrize(
    ("one", "other"), [("male", "female"), ("Stage I", "Stage II"), ("11th", "12th"), ("Eastern", "Western")]
)
def test_labels_that_differ_are_none(tmp_path: Path, one: str, other: str) -> None:
    assert from_file(tmp_path, f"a,{one}\nb,{other}\n").warnings == ()


def test_a_label_that_is_another_groups_value_is_a_warning(tmp_path: Path) -> None:
    content = "a,b\nb,c\nd,d\n"
    assert "also values, of another group: 'b'" in from_file(tmp_path, content, public=True).warnings[0]
    assert "also values, of another group: 'b'" in from_file(tmp_path, content, values=["a", "b", "d"]).warnings[0]
    (said,) = from_file(tmp_path, content).warnings
    assert said.endswith("labels that are also values, of another group: 1 of 3")


def test_labels_that_look_alike_are_only_counted_where_they_are_values(tmp_path: Path) -> None:
    content = "Schmidt,Schmidt\nSchmitt,Schmitt\nMiller,others\n"
    (said,) = from_file(tmp_path, content).warnings
    assert said.endswith("may mean the same: 1 pair")
    assert "'Schmidt' and 'Schmitt'" in from_file(tmp_path, content, public=True).warnings[0]
    (said,) = from_file(tmp_path, content + "Smith,northern\nSmythe,norhern\n").warnings
    assert said.endswith("may mean the same: 'norhern' and 'northern' and 1 more")


def test_values_that_match_no_cell_are_a_warning(tmp_path: Path) -> None:
    assert "1 of 2 values are no integer" in from_file(tmp_path, "age,x\n34,y\n", dtype="integer").warnings[0]


# -- in general


@st.composite
def ladders(draw: st.DrawFn) -> list[list[str]]:
    """Draw rows whose every level merges groups of the one before."""
    size = draw(st.integers(1, 12))
    columns, groups = [[f"v{at}" for at in range(size)]], list(range(size))
    for level in range(draw(st.integers(1, 4))):
        into = [draw(st.integers(0, group)) for group in range(max(groups) + 1)]
        groups = [into[group] for group in groups]
        columns.append([f"{level}:{group}" for group in groups])
    return [list(row) for row in zip(*columns, strict=True)]


@given(ladders(), st.randoms(use_true_random=False))
def test_groups_never_split_and_order_of_rows_is_no_matter(table: list[list[str]], rng: random.Random) -> None:
    column = Column(name="x", dtype="text")
    hierarchy = hierarchy_of(column, table)
    for lower, upper in pairwise(hierarchy.groups):
        assert len(set(zip(lower, upper, strict=True))) == len(set(lower))
    assert rows(hierarchy) == sorted(table)
    again = table.copy()
    rng.shuffle(again)
    assert hierarchy_of(column, again).digest == hierarchy.digest


@given(ladders(), st.data())
def test_a_split_is_always_found(table: list[list[str]], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(table) - 1))
    level = data.draw(st.integers(1, len(table[0]) - 1))
    shared = [row for row in table if row is not table[at] and row[level] == table[at][level]]
    broken = [
        row if row is not table[at] else [*row[: level + 1], *(f"new {label}" for label in row[level + 1 :])]
        for row in table
    ]
    if shared and level + 1 < len(table[0]):
        with pytest.raises(DataError, match="splits"):
            hierarchy_of(Column(name="x", dtype="text"), broken)


def test_what_is_given_is_not_written_to() -> None:
    table = [[" a", "x "], ["b", "y"]]
    hierarchy_of(Column(name="x", dtype="text"), table)
    assert table == [[" a", "x "], ["b", "y"]]


# -- the files of others

LEAVES = {"age": 73, "education": 16, "marital-status": 7, "occupation": 15, "sex": 2, "native-country": 42}
FILES = {"marital-status": "marital", "native-country": "country"}


@pytest.mark.skipif(not (DATA / "hierarchies" / "adult").is_dir(), reason="needs the shared data")
def test_the_hierarchies_of_adult_load() -> None:
    columns = {
        name: {"dtype": "integer" if name == "age" else "category", "hierarchy": f"{FILES.get(name, name)}.csv"}
        for name in LEAVES
    }
    schema = schema_of(columns, DATA / "hierarchies" / "adult", missing={"markers": ["?"]})
    found = load(schema, Path())
    assert {name: len(one.leaves) for name, one in found.items()} == LEAVES
    assert [len(found[name].labels) - 1 for name in LEAVES] == [6, 3, 2, 2, 1, 2]
    warned = {name: one.warnings for name, one in found.items() if one.warnings}
    assert list(warned) == ["native-country"]
    assert "'Europa' and 'Europe'" in warned["native-country"][0]


@pytest.mark.skipif(not (DATA / "anonbench").is_dir(), reason="needs the shared data")
@pytest.mark.parametrize(
    ("folder", "prefix"), [("adult_arx", "adult"), ("adult_int", "adult_int"), ("creditcard", "creditcard_int")]
)
def test_the_hierarchies_of_the_benchmark_load(folder: str, prefix: str) -> None:
    files = sorted((DATA / "anonbench" / folder).glob(f"{prefix}_hierarchy_*.csv"))
    numbers = folder != "adult_arx"
    columns = {
        path.stem: {"dtype": "integer" if numbers or path.stem.endswith("_age") else "category", "hierarchy": path.name}
        for path in files
    }
    found = load(schema_of(columns, DATA / "anonbench" / folder), Path())
    for path in files:
        lines = sum(1 for line in path.read_bytes().splitlines() if line)
        assert len(found[path.stem].leaves) == lines
        assert len(found[path.stem].labels[-1]) == 1
        assert np.array_equal(found[path.stem].groups[0], np.arange(lines))
