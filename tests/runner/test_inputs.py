"""Whole runs: each file that was read is an input in the record, and figures say what they count."""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from runner.__main__ import main
from schemas.tables import METRICS, counted

ZIPS = ["01001", "01002", "02001", "02002"] * 5
OPTION: dict[str, Any] = {
    "name": "ward",
    "source": {"name": "csv", "path": "ward.csv"},
    "hierarchies": "trees",
    "population": {"path": "people.csv"},
    "columns": {
        "who": {"dtype": "text", "role": "identifier"},
        "zip": {"role": "quasi_identifier", "dtype": "text", "hierarchy": "zip.csv"},
        "ill": {"role": "sensitive", "dtype": "category", "values": ["no", "yes"]},
    },
    "split": {"test": 0},
}
TYPED = ("dataset=ward", "model=none", "--config-dir", "options")
CRITERIA = "anonymization.criteria=[{name: k, k: 5}, {name: k_map, k: 6}, {name: l_distinct, l: 2}]"

Ran = Callable[..., dict[str, Any]]


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ran:
    """Return a function that makes a run and returns its record; the run folder is the only one of its name."""
    monkeypatch.chdir(tmp_path)
    rows = [f"p{number % 10},{code},{'yes' if number < 9 else 'no'}\n" for number, code in enumerate(ZIPS)]
    Path("ward.csv").write_text("who,zip,ill\n" + "".join(rows))
    Path("people.csv").write_text("zip\n" + "".join(f"{code}\n" for code in ZIPS * 2))
    Path("trees").mkdir()
    Path("trees/zip.csv").write_text("".join(f"{code};{code[:2]}***;*\n" for code in sorted(set(ZIPS))))
    Path("options/dataset").mkdir(parents=True)

    def run(name: str, *typed: str, code: int = 0, **more: Any) -> dict[str, Any]:
        Path("options/dataset/ward.yaml").write_text(yaml.safe_dump(OPTION | more))
        assert main([f"name={name}", *typed, *TYPED]) == code
        (path,) = Path("outputs", name).glob("*/record.json")
        found: dict[str, Any] = json.loads(path.read_text())
        return found

    return run


def inputs(record: dict[str, Any]) -> dict[str, str]:
    return {one["uri"]: one["sha256"] for one in record["dataset"]["inputs"]}


def digests(*paths: str) -> dict[str, str]:
    return {path: sha256(Path(path).read_bytes()).hexdigest() for path in paths}


def test_every_file_that_a_run_reads_is_among_its_inputs(ran: Ran) -> None:
    first = ran("first", "anonymization=lattice", "anonymization.levels={zip: {min: 1}}")
    files = ("ward.csv", "people.csv", "trees/zip.csv")
    assert inputs(first) == digests(*files)
    (stage,) = (stage for stage in first["stages"] if stage["name"] == "dataset")
    assert stage["inputs"] == inputs(first)
    assert first["flow"]["rows_in"] == len(ZIPS)  # of the table alone
    agreed = next(Path("outputs/first").glob("*/anonymization/transformation.json")).as_posix()
    second = ran("second", "anonymization=transform", f"anonymization.path={agreed}")
    assert inputs(second) == digests(*files, agreed)
    facts = {one["uri"]: (one["bytes"], one["rows"], one["columns"]) for one in second["dataset"]["inputs"]}
    assert facts[agreed] == (Path(agreed).stat().st_size, None, None)
    assert facts["people.csv"][1:] == (2 * len(ZIPS), 1)


def test_files_that_are_not_read_are_no_inputs(ran: Ran) -> None:
    columns = {**OPTION["columns"], "zip": {"role": "quasi_identifier", "dtype": "text"}}
    assert inputs(ran("bare", "anonymization=mondrian", columns=columns, population={})) == digests("ward.csv")


def test_a_table_that_does_not_fit_leaves_all_inputs_in_the_record(ran: Ran) -> None:
    columns = {**OPTION["columns"], "ill": {**OPTION["columns"]["ill"], "values": ["no"]}}
    record = ran("unfit", "anonymization=lattice", columns=columns, code=3)
    assert inputs(record) == digests("ward.csv", "people.csv", "trees/zip.csv")


@pytest.mark.parametrize(("subject", "unit"), [(None, "rows"), ("who", "persons")])
def test_figures_say_whether_rows_or_persons_are_counted(ran: Ran, subject: str | None, unit: str) -> None:
    ran("units", "anonymization=lattice", subject_id=subject)
    (path,) = Path("outputs/units").glob("*/metrics.csv")
    found = pd.read_csv(path, keep_default_na=False).groupby("metric")["unit"].unique()
    units = {metric: list(told) for metric, told in found.items()}
    for metric in ("k", "k_wildcard", "risk_prosecutor_max", "risk_above_0.2", "arirec", "sample_uniques"):
        assert units[metric] == [unit]
    assert (units["k_rows"], units["suppressed_share"], units["k_map"]) == (["rows"], ["rows"], ["persons"])
    assert units["l_distinct"] == [""]
    assert units.get("k_persons", ["persons"]) == ["persons"]


def test_every_figure_that_counts_has_a_unit() -> None:
    bare = {name for name in METRICS["anonymization"] if not counted(name, persons=True)}
    assert bare == {
        *("classes", "l_distinct", "l_known", "l_entropy", "l_recursive", "t", "t_released"),
        *("beta", "beta_enhanced", "delta_disclosure", "loss", "ncp"),
    }


@pytest.mark.parametrize(
    "method",
    [
        ("lattice", CRITERIA),
        ("mondrian", CRITERIA.replace("{name: k_map, k: 6}, ", "")),
        ("pipeline", CRITERIA.replace("{name: k_map, k: 6}, ", "")),
    ],
)
def test_criteria_are_measured_before_and_after(
    ran: Ran, method: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    name, criteria = method
    steps = ["anonymization.steps=[{name: lattice, columns: [zip]}]"] if name == "pipeline" else []
    told = ran("asked", f"anonymization={name}", criteria, *steps)["anonymization"]
    before, after = ({one["name"]: one["reached"] for one in told[when]["criteria"]} for when in ("before", "after"))
    assert before.keys() == after.keys()
    assert (before["k"], after["k"]) == (5, 5)
    assert (before.get("k_map", 10), before["l_distinct"]) == (10, 2)
    assert "l_distinct of ill 2 -> 2 (at least 2)" in capsys.readouterr().out
