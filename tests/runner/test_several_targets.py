"""Whole runs of a dataset with several targets, each as a command of its own."""

import csv
import json
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from components.data import read
from components.minimization import contract
from components.models import JointModel, load
from runner.compose import compose_run
from runner.listing import headlines
from runner.record import read_record

ROWS = 900
COLUMNS = """\
columns:
  age: {dtype: integer, role: quasi_identifier, min: 18, max: 90, hierarchy: {name: intervals, widths: [5, 20]}}
  region: {dtype: category, role: quasi_identifier, values: [north, south, west], hierarchy: "*"}
  income: {dtype: integer, role: insensitive, min: 0, max: 90000}
  smoker: {dtype: boolean, role: insensitive}
"""
CLASSES = """\
  ill: {dtype: category, role: sensitive, values: ["no", "yes"]}
  band: {dtype: ordered, role: insensitive, values: [low, mid, high]}
  cost: {dtype: number, role: drop}
  rent: {dtype: number, role: drop}
target: [ill, band]
task: classification
split: {test: 0.4, stratify: true}
"""
NUMBERS = """\
  ill: {dtype: category, role: drop}
  band: {dtype: category, role: drop}
  cost: {dtype: number, role: sensitive, unit: EUR}
  rent: {dtype: number, role: insensitive}
target: [cost, rent]
task: regression
split: {test: 0.4}
"""


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    site: Path
    code: int
    out: str
    err: str

    @property
    def folder(self) -> Path:
        (folder,) = self.site.glob("outputs/*/*")
        return folder

    def record(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.folder / "record.json").read_bytes())
        return loaded

    def figures(self) -> dict[tuple[str, str, str], float]:
        with (self.folder / "metrics.csv").open(encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["stage"] == "model" and row["split"] == "test"]
        return {(row["metric"], row["scope"], row["column"]): float(row["value"] or "nan") for row in rows}

    def rows(self) -> pd.DataFrame:
        """Return the whole table, as the run read it."""
        composed = compose_run([f"dataset={self.record()['dataset']['name']}"], self.site / "mine")
        return read(composed.config.dataset, composed.config.dataset.source, self.site).table.frame


def _cells(draw: random.Random) -> list[Any]:
    age, income, smoker = draw.randint(18, 90), draw.randint(0, 90_000), draw.random() < 0.3
    region = draw.choice(["north", "south", "west"])
    ill = age / 90 + 0.4 * smoker + draw.gauss(0, 0.1) > 0.8
    band = "low" if income < 30_000 else "mid" if income < 60_000 else "high"
    cost, rent = age * 10 + 300 * smoker + draw.gauss(0, 20), income / 100 + draw.gauss(0, 10)
    return [age, region, income, str(smoker).lower(), "yes" if ill else "no", band, f"{cost:.2f}", f"{rent:.2f}"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a function that makes a folder with a table and the datasets ``classes`` and ``numbers`` of it."""

    def made() -> Path:
        site = tmp_path_factory.mktemp("site")
        draw = random.Random(1)  # noqa: S311  # a table, no secret
        with (site / "table.csv").open("w", encoding="utf-8", newline="") as file:
            names = ["age", "region", "income", "smoker", "ill", "band", "cost", "rent"]
            csv.writer(file).writerows([names, *(_cells(draw) for _ in range(ROWS))])
        (site / "mine" / "dataset").mkdir(parents=True)
        for name, part in (("classes", CLASSES), ("numbers", NUMBERS)):
            head = f"name: {name}\nsynthetic: true\nsource: {{name: csv, path: table.csv}}\n"
            (site / "mine" / "dataset" / f"{name}.yaml").write_text(head + COLUMNS + part, encoding="utf-8")
        return site

    return made


def ran(folder: Path, *typed: str) -> Ran:
    """Run as a command of its own."""
    call = [sys.executable, "-m", "runner", *typed, "--config-dir", "mine"]
    done = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=False)
    return Ran(folder, done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def classes(site: Any) -> Ran:
    ended = ran(site(), "dataset=classes", "model=tree", "minimization=tree", "minimization.target=0.8")
    assert ended.code == 0, ended.err
    return ended


@pytest.fixture(scope="module")
def numbers(site: Any) -> Ran:
    ended = ran(
        site(),
        "dataset=numbers",
        "model=tree",
        "anonymization=lattice",
        "minimization=greedy",
        "minimization.target=0.5",
    )
    assert ended.code == 0, ended.err
    return ended


def test_a_run_learns_judges_and_minimises_for_two_classes(classes: Ran) -> None:
    figures = classes.figures()
    for scope in ("constant", "linear", "original", "anonymized", "minimized"):
        each = [figures["accuracy", scope, name] for name in ("ill", "band")]
        assert max(0, sum(each) - 1) - 1e-9 <= figures["accuracy", scope, ""] <= min(each) + 1e-9
        assert {("f1", scope, "ill"), ("auc", scope, "band")} <= set(figures)
        assert ("f1", scope, "") not in figures
    assert "all of 2 targets" in classes.out
    assert classes.record()["minimization"]["verdict"]["met"]
    shown = (classes.folder / "minimization" / "ask.html").read_text(encoding="utf-8")
    assert "predicts ill and band of classes" in shown


def test_a_run_learns_judges_and_minimises_for_two_numbers(numbers: Ran) -> None:
    figures = numbers.figures()
    for scope in ("constant", "linear", "original", "anonymized", "minimized"):
        each = [figures["r2", scope, name] for name in ("cost", "rent")]
        assert figures["r2", scope, ""] == pytest.approx(np.mean(each))
        assert ("mae", scope, "rent") in figures
    assert "mean of 2 targets" in numbers.out
    assert numbers.record()["minimization"]["verdict"]["measure"] == "r2"


@pytest.mark.parametrize("which", ["classes", "numbers"])
def test_what_is_left_works_without_the_run(which: str, request: pytest.FixtureRequest) -> None:
    ended: Ran = request.getfixturevalue(which)
    record = read_record(ended.folder)
    listed = {entry["path"]: entry["release"] for entry in ended.record()["outputs"]}
    files = {
        f"model/target-{number}/{name}" for number in (1, 2) for name in ("model.json", "model.skops", "encoder.json")
    }
    assert {path for path in listed if path.startswith("model/")} == files | {"model/model.json"}
    (stage,) = [stage for stage in ended.record()["stages"] if stage["name"] == "retraining"]
    assert {f"model/{name}" for name in stage["outputs"]} == files | {"model/model.json"}
    metric, figures = "accuracy" if which == "classes" else "r2", ended.figures()
    shown = [f"{figures[metric, scope, '']:.3f}".lstrip("0") for scope in ("original", "anonymized")]
    assert headlines(record)[1] == f"{metric} {'->'.join(shown)}"
    model, rows = load(ended.folder / "model"), ended.rows()
    assert isinstance(model, JointModel)
    collected = contract.read(ended.folder / "minimization" / "generalizations.json")
    assert [output.name for output in collected.outputs] == [target.column for target in model.targets]
    asked = contract.load(ended.folder / "minimization" / "generalizations.json").transform(rows)
    if which == "classes":
        said = model.predict(asked)
        assert said.shape == (ROWS, 2)
        assert (said == model.predict(rows)).all(axis=1).mean() > 0.8


SCORE = """\
import numpy as np

def predict(rows):
    bands = np.array(["low", "mid", "high"])[np.digitize(rows["income"], [30000, 60000])]
    return [np.where(rows["age"] > 60, "yes", "no"), bands]
"""


@pytest.mark.parametrize(
    "chosen",
    [
        ("model=callable", "model.path=score.py"),
        ("model=predictions", "model.path=table.csv", "model.column=[ill,band]", "minimization=none"),
    ],
    ids=lambda chosen: str(chosen[0]),
)
def test_a_model_that_comes_trained_answers_for_both(
    chosen: tuple[str, ...], site: Any, empty_site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = site()
    (folder / "score.py").write_text(SCORE, encoding="utf-8")
    monkeypatch.chdir(folder)
    ended = Ran(
        folder,
        *empty_site.do("--config-dir", "mine", "dataset=classes", "anonymization=none", "minimization=tree", *chosen),
    )
    assert ended.code == 0, ended.err
    figures = ended.figures()
    hits = (ended.rows()["age"] > 60) == (ended.rows()["ill"] == "yes")
    assert figures["accuracy", "original", "band"] == 1
    said = ended.record()["warnings"]
    assert {f"auc of original for {name} on test rows: the model gives no scores" for name in ("ill", "band")} <= set(
        said
    )
    if chosen[0] == "model=callable":
        assert figures["accuracy", "original", ""] == pytest.approx(hits.mean(), abs=0.1)
        assert ended.record()["minimization"]["verdict"]["met"]
    else:
        assert figures["accuracy", "original", ""] == 1
