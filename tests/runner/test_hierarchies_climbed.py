"""Whole runs: what hierarchies lack is told for all columns at once, and only where they are climbed."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.counted import standing
from runner.__main__ import main

ZIPS = ["01001", "01002", "02001", "02002"] * 5
AGES = [str(20 + number) for number in range(20)]
Start = Callable[..., tuple[int, str, list[str]]]
QIS = ["age", "zip"]
QUASI = {"role": "quasi_identifier"}
OPTION: dict[str, Any] = {
    "name": "ward",
    "source": {"name": "csv", "path": "ward.csv"},
    "hierarchies": "trees",
    "columns": {
        "age": {**QUASI, "dtype": "integer", "hierarchy": "age.csv"},
        "zip": {**QUASI, "dtype": "text", "hierarchy": "zip.csv"},
    },
    "split": {"test": 0},
}


class Ward:
    """A folder with a table, its hierarchies and the option that declares them, from beside which runs are started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "ward.csv").write_text("age,zip\n" + "".join(f"{a},{z}\n" for a, z in zip(AGES, ZIPS, strict=True)))
        (folder / "options" / "dataset").mkdir(parents=True)
        (folder / "options" / "dataset" / "ward.yaml").write_text(yaml.safe_dump(OPTION))
        (folder / "trees").mkdir()
        self.tree("age", "".join(f"{age};{age[0]}x;*\n" for age in AGES))
        self.tree("zip", "".join(f"{code};{code[:2]}***;*\n" for code in sorted(set(ZIPS))))

    def tree(self, name: str, text: str) -> None:
        (self.folder / "trees" / f"{name}.csv").write_text(text)

    def line(self, *typed: str) -> list[str]:
        return [*typed, "dataset=ward", "model=none", "anonymization.k=2", "--config-dir", "options"]

    @property
    def record(self) -> Any:
        (path,) = self.folder.glob("outputs/ward/*/record.json")
        return json.loads(path.read_text())


@pytest.fixture
def ward(tmp_path: Path) -> Ward:
    return Ward(tmp_path)


@pytest.fixture
def start(ward: Ward, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Start:
    """Return a function that does a command line in this process, and returns its exit code, output and errors."""

    def started(*typed: str) -> tuple[int, str, list[str]]:
        monkeypatch.chdir(ward.folder)
        monkeypatch.setattr(sys, "argv", ["privacy-runner", *ward.line(*typed)])
        capsys.readouterr()
        code = main(ward.line(*typed))
        said = capsys.readouterr()
        return code, " ".join(said.out.split()), errors(said.err)

    return started


def errors(text: str) -> list[str]:
    return [line.removeprefix("error: ") for line in text.splitlines() if line.startswith("error: ")]


def test_all_columns_that_hierarchies_do_not_cover_are_told_at_once_and_no_value(ward: Ward) -> None:
    ward.tree("age", "20;2x;*\n21;2x;*\n")
    ward.tree("zip", "01001;01***;*\n01002;01***;*\n")
    line = [sys.executable, "-m", "runner", *ward.line("anonymization=lattice")]
    ended = subprocess.run(line, cwd=ward.folder, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 3
    first, second = errors(ended.stderr)
    assert first.startswith("column 'age': 18 of 20 values uncovered, 18 of 20 rows (data rows 3, 4, 5, ")
    assert second.startswith("column 'zip': 2 of 4 values uncovered, 10 of 20 rows (data rows 3, 4, 7, ")
    shown = {str(path): path.read_bytes() for path in ward.folder.glob("outputs/**/*") if path.is_file()}
    shown |= {"standard output": ended.stdout, "standard error": ended.stderr}
    assert [standing(value, shown) for value in ("02001", "02002")] == [[], []]
    assert {stage["name"] for stage in ward.record["stages"]} == {"dataset"}


@pytest.mark.parametrize("tree", ["20;2x;*\n", "20;a;x\n21;a;y\n", ""], ids=["lacks values", "splits groups", "empty"])
def test_a_hierarchy_that_is_not_climbed_refuses_no_run(ward: Ward, start: Start, tree: str) -> None:
    ward.tree("age", tree)
    code, said, told = start("plan", "anonymization=mondrian")
    assert (code, told) == (0, [])
    assert "age: not climbed; zip: 4 of 4 values covered (100%)" in said
    code, _, told = start("anonymization=mondrian")
    assert (code, told) == (0, [])
    cut_by = ward.record["anonymization"]["transformation"]["cut_by"]
    assert cut_by == {"age": "median", "zip": "children in the hierarchy"}


def test_a_hierarchy_that_is_climbed_refuses_the_run(ward: Ward, start: Start) -> None:
    ward.tree("zip", "01001;01***;*\n")
    code, _, told = start("anonymization=mondrian")
    assert code == 3
    assert told[0].startswith("column 'zip': 3 of 4 values uncovered")


def test_a_hierarchy_file_that_is_not_there_is_told_whether_or_not_it_would_be_climbed(
    ward: Ward, start: Start
) -> None:
    (ward.folder / "trees" / "age.csv").unlink()
    (ward.folder / "trees" / "zip.csv").unlink()
    code, _, told = start("anonymization=mondrian")
    assert code == 3
    assert [sentence.split(": ")[0] for sentence in told] == [f"column '{name}', hierarchy {name}.csv" for name in QIS]


def test_an_agreed_transformation_needs_the_hierarchies_that_it_climbs_alone(ward: Ward, start: Start) -> None:
    assert start("anonymization=mondrian")[0] == 0
    (agreed,) = ward.folder.glob("outputs/ward/*/anonymization/transformation.json")
    ward.tree("age", "20;2x;*\n")
    asked = ("anonymization=transform", f"anonymization.path={agreed}", "output.dir=again")
    code, _, told = start(*asked)
    assert (code, told) == (0, [])
    ward.tree("zip", "20;2x;*\n")
    code, _, told = start(*asked)
    assert code == 2
    assert "its hierarchy is another than the agreed one" in told[0]
