"""What counts released files must itself see what is wrong with one."""

import csv
import random
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from bench.counted import Asked, cells, differences, standing
from bench.made import Made, made
from bench.truth import covers
from components.anonymization import Given
from components.anonymization.criteria.declarations import K, LDistinct
from components.anonymization.declarations import Mondrian
from components.anonymization.mondrian.method import anonymise
from runner.canonical import plain
from runner.releasing import write_table

Rows = list[dict[str, str]]


@pytest.fixture(scope="module")
def table() -> Made:
    return made(random.Random(16), 60, ["age", "stage", "zip"], ["ill"], persons=False)  # noqa: S311  # no secrets


@pytest.fixture(scope="module")
def told(table: Made, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Release the table, and return what is told of it and where it stands."""
    folder = tmp_path_factory.mktemp("release")
    release = anonymise(Mondrian(k=3, criteria=[LDistinct(l=2, column="ill")]), table.table(folder), Given())
    written = write_table(release.table, lambda path: folder / Path(path).name)
    return {"after": plain(asdict(release.after)), "csv": written.csv}


def found(table: Made, told: dict[str, Any], rows: Rows, folder: Path) -> list[str]:
    path = folder / "changed.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return differences(path, Asked(table.rows, table.schema, [K(k=3), LDistinct(l=2, column="ill")]), told["after"])


def test_a_sound_release_has_no_differences(table: Made, told: dict[str, Any], tmp_path: Path) -> None:
    assert found(table, told, cells(told["csv"]), tmp_path) == []


def shown_raw(rows: Rows, table: Made) -> None:
    original = {row["row"]: row for row in table.rows}
    for row in rows:
        row |= {name: original[row["row"]][name] for name in ("age", "stage", "zip")}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows, _: rows[0].update(ill="unheard of"), "1 cells of ill are changed"),
        (lambda rows, _: rows[0].update(age="[97, 98]"), "1 labels of age are not true"),
        (lambda rows, _: rows[0].update(row=rows[1]["row"]), "there are rows that are none of the table, or twice"),
        (lambda rows, _: rows.pop(), "suppressed: counted 1, told 0"),
        (lambda rows, _: [row.pop("note") for row in rows], "the columns are "),
        (shown_raw, "k: the file reaches 1, which does not do"),
    ],
)
def test_what_is_wrong_with_a_release_is_told(
    table: Made, told: dict[str, Any], tmp_path: Path, change: Callable[[Rows, Made], Any], said: str
) -> None:
    rows = cells(told["csv"])
    change(rows, table)
    assert any(difference.startswith(said) for difference in found(table, told, rows, tmp_path))


TRUE = [
    ("*", "20", "age"),
    ("[20, 22]", "22", "age"),
    ("[20, 25)", "24", "age"),
    ("{[20, 22], missing}", "NA", "age"),
    ("<= 21", "21", "age"),
    ("0.0", "-0.0", "height"),
    ("{I, II}", "II", "stage"),
    ("II to IV", "III", "stage"),
    (">= III", "IV", "stage"),
    ("NS", "south", "region"),
    ("010**", "01002", "zip"),
    ('{01001, "{9, *}", 9}', "{9, *}", "zip"),
    ("2024-02", "2024-02-29", "seen"),
    ("[2023-12-31, 2024-01-31]", "2024-01-01", "seen"),
    ("True", "true", "smoker"),
]
FALSE = [
    ("[20, 22]", "23", "age"),
    ("[20, 25)", "25", "age"),
    ("[20, 22]", "NA", "age"),
    ("NA", "20", "age"),
    ("<= 21", "22", "age"),
    ("0.0", "1.5", "height"),
    ("{I, II}", "III", "stage"),
    ("II to IV", "I", "stage"),
    (">= III", "II", "stage"),
    ("NS", "west", "region"),
    ("010**", "02116", "zip"),
    ("010**", "010", "zip"),
    ('{01001, "{9, *}"}', "9", "zip"),
    ("2024-02", "2024-01-31", "seen"),
    ("2024", "2023-12-31", "seen"),
    ("True", "false", "smoker"),
]


@pytest.mark.parametrize(("label", "cell", "name"), TRUE)
def test_a_label_covers_what_it_stands_for(label: str, cell: str, name: str) -> None:
    assert covers(label, cell, name)


@pytest.mark.parametrize(("label", "cell", "name"), FALSE)
def test_a_label_covers_nothing_else(label: str, cell: str, name: str) -> None:
    assert not covers(label, cell, name)


@pytest.mark.parametrize(
    "text", ['"01002"', "a,01002\r\n", b"\xff=01002;", "01002", "zip 01002.", "zip.01002", r"a\n01002\r"]
)
def test_a_cell_is_found_wherever_it_stands_as_a_whole(text: str | bytes) -> None:
    assert standing("01002", {"one": text, "other": "1002"}) == ["one"]


@pytest.mark.parametrize("text", ["9f01002c", "12:00:00.010021Z", "0.01002", "01002Z"])
def test_digits_inside_a_hash_or_a_time_are_no_cell(text: str) -> None:
    assert standing("01002", {"one": text}) == []


def test_a_cell_that_no_hash_can_hold_is_found_inside_words_too() -> None:
    assert standing("Patient-", {"one": "Patient-17", "other": "OnePatient-17"}) == ["one", "other"]
