"""Whole runs that minimise: what they leave, what it says, and that it is what was measured."""

import csv
import json
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components import minimization
from components.data import Table, split
from components.minimization import Questions, load
from components.minimization.declarations import STREAMS
from components.minimization.holdout import hold_out
from components.minimization.minimise import Outcome, minimise
from components.models import load as load_model
from components.registry import declaration
from runner.compose import compose_run
from runner.record import read_record
from schemas.dataset import DatasetSchema
from schemas.faults import DataError
from schemas.generalizations import Generalizations

METHODS = ("tree", "greedy", "personal")
FEW = "minimization.columns=[age,insurance,admission,prior_admissions,weight_kg]"
SMALL = ("dataset.source.rows=1500", "model=tree", "anonymization=none", FEW)
FILES = {
    "generalizations.json": "releasable",
    "ask.html": "releasable",
    "steps.csv": "internal",
    "necessity.csv": "internal",
    "subgroups.csv": "internal",
}


@dataclass(frozen=True)
class Done:
    """How a command line ended, and the run folder that it left."""

    typed: tuple[str, ...]
    code: int
    out: str
    err: str
    folder: Path

    @cached_property
    def record(self) -> dict[str, Any]:
        loaded = json.loads((self.folder / "record.json").read_text(encoding="utf-8"))
        assert isinstance(loaded, dict)
        return loaded

    @property
    def found(self) -> dict[str, Any]:
        found = self.record["minimization"]
        assert isinstance(found, dict)
        return found

    def metrics(self, stage: str = "minimization") -> dict[tuple[str, str, str, str], float]:
        with (self.folder / "metrics.csv").open(encoding="utf-8") as file:
            return {
                (row["metric"], row["scope"], row["column"], row["split"]): float(row["value"] or "nan")
                for row in csv.DictReader(file)
                if row["stage"] == stage
            }

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (self.folder / "minimization").iterdir()}


class Runs:
    """Runs from one folder, each made once."""

    def __init__(self, do: Any, folder: Path) -> None:
        self.do, self.folder, self.ended = do, folder, dict[tuple[str, ...], Done]()

    def __call__(self, *typed: str, again: str = "") -> Done:
        key = (*typed, again)
        if key not in self.ended:
            where = self.folder / f"runs{len(self.ended)}"
            code, out, err = self.do(*typed, f"output.dir={where}")
            (folder,) = (path for path in where.glob("*/*") if path.is_dir())
            self.ended[key] = Done(typed, code, out, err, folder)
        return self.ended[key]


@pytest.fixture(scope="module")
def runs(empty_site: Any) -> Runs:
    return Runs(empty_site.do, empty_site.folder)


@pytest.fixture(scope="module", params=METHODS)
def done(runs: Runs, request: pytest.FixtureRequest) -> Done:
    ended = runs(*SMALL, f"minimization={request.param}")
    assert ended.code == 0, ended.err
    return ended


def test_every_file_is_written_with_its_release_class(done: Done) -> None:
    listed = {entry["path"]: entry["release"] for entry in done.record["outputs"]}
    found = {path: release for path, release in listed.items() if path.startswith("minimization/")}
    assert found == {f"minimization/{name}": release for name, release in FILES.items()}
    assert done.files().keys() == FILES.keys()
    Generalizations.model_validate_json(done.files()["generalizations.json"])


def test_the_record_says_rows_verdict_and_what_is_collected(done: Done) -> None:
    read_record(done.folder)
    found = done.found
    assert found["rows"] == {"fit": 1050, "calibration": 225, "report": 225}
    assert found["parameters"]["name"] == found["method"]
    verdict = found["verdict"]
    assert verdict["met"]
    assert verdict["rows"] == 225
    assert verdict["target"] <= verdict["low"] <= verdict["agreement"]
    names = [each["name"] for each in found["collected"]]
    assert names == [name for name in read_schema(done).features if name in FEW]
    assert [stage["name"] for stage in done.record["stages"]][-2:] == ["minimization", "assessment"]
    assert any("no anonymity" in text for text in done.record["limits"])


def test_the_figures_are_those_of_the_record(done: Done) -> None:
    found, figures = done.found, done.metrics()
    assert figures["relative_accuracy", "", "", "test"] == found["verdict"]["agreement"]
    assert figures["ncp", "", "", "test"] == pytest.approx(found["ncp"])
    columns = {column: value for (name, _, column, _), value in figures.items() if name == "ncp" and column}
    assert columns == {each["name"]: pytest.approx(each["ncp"]) for each in found["collected"]}
    assert found["ncp"] == pytest.approx(np.mean(list(columns.values())))
    if not found["asking"]:
        kinds = [each["collect"] for each in found["collected"]]
        assert figures["features_untouched", "", "", "test"] == kinds.count("exact")
        assert figures["features_suppressed", "", "", "test"] == kinds.count("nothing")
    models = done.metrics("model")
    assert {scope for _, scope, _, _ in models} == {"constant", "linear", "original", "minimized"}
    assert ("accuracy", "minimized", "", "test") in models


def test_the_closing_line_says_what_is_asked_and_what_is_promised(done: Done) -> None:
    (line,) = [text for text in done.out.splitlines() if text.startswith("asked ")]
    verdict = done.found["verdict"]
    found = done.found
    if found["uses"]:  # by default rows get the representatives of cells, and are asked by range
        assert f"(NCP {found['ncp']:.2f} in cells, {found['asked_ncp']:.2f} as asked)" in line
        assert found["uses"]["ranges"]["ncp"] == pytest.approx(found["asked_ncp"])
    elif found["asking"]:
        most = found["asking"]["features_asked_p90"]
        assert f", nine of ten persons are asked at most {most:.0f} (NCP {found['ncp']:.2f});" in line
    else:
        assert f"(NCP {found['ncp']:.2f})" in line
    if not found["asking"]:
        kinds = [each["collect"] for each in found["collected"]]
        words = {"exact": "exact", "ranges": "in ranges", "groups": "in groups", "nothing": "not asked"}
        shown = ", ".join(f"{kinds.count(kind)} {said}" for kind, said in words.items() if kind in kinds)
        assert line.startswith(f"asked        {shown} (NCP")
    assert f"agreement {verdict['agreement']:.3f} (bound {verdict['low']:.4f} >= {verdict['target']:g} met)" in line
    assert "minimized   (test rows" in done.out


def test_the_page_says_whether_anybody_asked_for_the_target(done: Done) -> None:
    page = done.files()["ask.html"].decode()
    assert ("Nobody asked for a figure" in page) == (done.found["method"] != "personal")
    assert ("This was asked for, and is shown." in page) == (done.found["method"] == "personal")


def read_schema(done: Done) -> DatasetSchema:
    return compose_run(list(done.typed)).config.dataset


def report_rows(done: Done) -> tuple[Table, Table]:
    """Return the test rows, and those of them that judged, made again from configuration and seed alone."""
    config = compose_run(list(done.typed)).config
    source = config.dataset.source
    frame = load_frame(config.dataset, source)
    parts = split(frame, config.seed)
    params = declaration("minimization", config.minimization.name)(**config.minimization.model_dump())
    assert isinstance(params, type(config.minimization))
    return parts.test, hold_out(params, parts.train, parts.test, config.seed).report  # type: ignore[arg-type]


def load_frame(schema: DatasetSchema, source: Any) -> Table:
    from components.data import read

    return read(schema, source, Path()).table


def test_the_written_file_applied_to_rows_is_what_was_measured(done: Done) -> None:
    """By the files of the run folder alone: the model, and generalizations.json."""
    loaded = load(done.folder / "minimization" / "generalizations.json")
    model = load_model(done.folder / "model")
    test, report = report_rows(done)

    def ask(frame: Any) -> Any:
        said = model.predict(frame)
        return np.array([list(model.classes).index(value) for value in said])[:, np.newaxis]

    own, now = ask(report.frame)[:, 0], loaded.answers(report.frame, ask)[:, 0]
    assert (own == now).mean() == done.found["verdict"]["agreement"]
    told = loaded.answers(test.frame, ask)[:, 0]
    right = np.array(list(model.classes), dtype=object)[told] == test.frame["readmitted"].astype(object).to_numpy()
    assert right.mean() == pytest.approx(done.metrics("model")["accuracy", "minimized", "", "test"])
    assert loaded.answers(test.frame, model).tolist() == [model.classes[place] for place in told]
    codes = loaded.encode(report.frame)
    losses = loaded.losses(codes)
    assert {each["name"]: pytest.approx(each["ncp"]) for each in done.found["collected"]} == losses


def test_the_same_seed_gives_the_same_bytes(done: Done, runs: Runs) -> None:
    again = runs(*done.typed, again="again")
    assert again.files() == done.files()
    assert again.record["metrics"] == done.record["metrics"]


def test_questions_are_counted(runs: Runs) -> None:
    done = runs(*SMALL, "minimization=personal")
    asking, figures = done.found["asking"], done.metrics()
    assert 0 <= asking["features_asked_mean"] <= asking["features_asked_p90"] <= 5
    assert figures["features_asked_mean", "", "", "test"] == asking["features_asked_mean"]
    assert isinstance(load(done.folder / "minimization" / "generalizations.json"), Questions)
    assert "features on average" in done.out


def test_both_uses_of_cells_are_measured(runs: Runs) -> None:
    done = runs(*SMALL, "minimization=tree")
    uses, figures = done.found["uses"], done.metrics()
    assert uses.keys() == {"representatives", "ranges"}
    for name, use in uses.items():
        assert figures["relative_accuracy", f"use:{name}", "", "test"] == use["agreement"]
        assert figures["ncp", f"use:{name}", "", "test"] == use["ncp"]
    assert uses["representatives"]["agreement"] == done.found["verdict"]["agreement"]
    other = runs(*SMALL, "minimization=tree", "minimization.use=ranges")
    assert other.found["uses"]["ranges"]["agreement"] == other.found["verdict"]["agreement"]


def test_the_retrained_model_is_asked_as_it_sees_rows(runs: Runs) -> None:
    """After a lattice the model sees generalised columns: raw rows are minimised first, and then brought there."""
    typed = ("dataset.source.rows=1500", "model=tree", "anonymization=lattice", "anonymization.suppression_limit=0.2")
    done = runs(*typed, "minimization=personal", FEW)
    assert done.code == 0, done.err
    assert {"original", "anonymized", "minimized"} <= {scope for _, scope, _, _ in done.metrics("model")}
    assert done.found["verdict"]["met"]


def test_a_regression_is_held_to_r2(runs: Runs) -> None:
    """By few rows no range is sure to be enough: then everything is asked, and that is said."""
    done = runs("experiment=diabetes", "minimization=personal")
    assert done.code == 0, done.err
    assert done.found["verdict"]["measure"] == "r2"
    assert re.search(r"; R2 \d\.\d{3} \(bound \d\.\d{4} >= 0\.95 met\)", done.out)
    assert ("r2", "minimized", "", "test") in done.metrics("model")
    default = runs("experiment=diabetes")
    assert default.code == 0, default.err
    assert "asked        everything: 66 report rows are too few to aim at an R2" in default.out


def test_an_actual_row_as_representative_makes_what_is_asked_raw(runs: Runs) -> None:
    done = runs(*SMALL, "minimization=tree", "minimization.representative=row")
    assert done.code == 0, done.err
    listed = {entry["path"]: entry["release"] for entry in done.record["outputs"]}
    assert listed["minimization/generalizations.json"] == listed["minimization/ask.html"] == "raw"
    assert any("of class raw: representatives are actual rows" in text for text in done.record["warnings"])


def test_cells_that_lose_the_answer_are_counted_in_the_record(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    def with_two(*given: Any, **more: Any) -> Outcome:
        found = minimise(*given, **more)
        cells = [cell.model_copy(update={"agrees": place > 1}) for place, cell in enumerate(found.contract.cells)]
        return replace(found, contract=found.contract.model_copy(update={"cells": cells}))

    assert not any("lose the model's answer" in text for text in runs(*SMALL, "minimization=tree").record["warnings"])
    monkeypatch.setattr("runner.minimizing.minimise", with_two)
    done = runs(*SMALL, "minimization=tree", again="two")
    (told,) = [text for text in done.record["warnings"] if "lose the model's answer" in text]
    assert re.match(r"in 2 of \d+ cells most fit rows lose the model's answer", told)


def test_a_goal_that_is_missed_keeps_what_was_reached(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that keeps its margin seldom misses: here it is the report rows that are made to disagree."""
    monkeypatch.setattr("components.minimization.verdicts.agree", lambda truth, _: np.arange(len(truth)) % 2 == 0)
    done = runs(*SMALL, "minimization=tree", "minimization.target=0.95", again="missed")
    assert done.code == 4
    assert "agreement of 0.95 is not shown: reached is" in done.err
    assert "on 225 report rows, with a lower bound of" in done.err
    assert done.record["status"] == "failed"
    assert done.record["error"]["stage"] == "minimization"
    assert not done.found["verdict"]["met"]
    assert done.metrics()["relative_accuracy", "", "", "test"] == done.found["verdict"]["agreement"]
    assert done.files().keys() == FILES.keys()
    assert "Traceback" not in done.err


def test_an_error_nobody_foresaw_leaves_no_file_of_the_stage(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise ValueError("ZZ-CANARY-7731")

    monkeypatch.setattr("runner.minimizing.page", fails)
    done = runs(*SMALL, "minimization=personal", again="broken")
    assert done.code == 5
    assert "CANARY" not in done.out + done.err + json.dumps(done.record)
    assert done.record["error"]["stage"] == "minimization"
    assert not (done.folder / "minimization").exists()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("minimization=tree", "minimization.target=0.99"), "0.99 can be shown by 299 report rows or more, and there"),
        (
            ("minimization=personal", "minimization.delta=0.01"),
            "minimization.delta (minimization.delta=0.01): 0.01 can",
        ),
    ],
)
def test_a_target_that_the_rows_can_not_show_is_refused_before_any_work(
    runs: Runs, typed: tuple[str, ...], said: str
) -> None:
    done = runs(*SMALL, *typed)
    assert done.code == 4
    assert said in done.err
    assert [stage["name"] for stage in done.record["stages"]] == ["dataset"]
    code, out, err = runs.do("plan", *SMALL, *typed)
    assert (code, out) == (4, "")
    assert said in err


def test_persons_are_counted_when_they_are_parted(runs: Runs) -> None:
    """The plan can't know how many rows of persons are held out; the run refuses before a model is fitted."""
    persons = ("dataset.subject_id=patient_id", "minimization=tree", "minimization.target=0.99")
    done = runs(*SMALL, *persons)
    assert done.code == 4
    assert "and there are 225" in done.err
    assert [(stage["name"], stage["completed"]) for stage in done.record["stages"]][-1] == ("split", False)


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        (("minimization=none",), "minimization=none"),
        (("model=none",), "model=none"),
        (
            ("dataset.source.rows=60",),
            "9 report rows are too few to aim at an agreement of 0.8; give minimization.target a value to try",
        ),
    ],
)
def test_what_is_not_minimised_is_said_in_plain_sight(runs: Runs, typed: tuple[str, ...], reason: str) -> None:
    done = runs("dataset.source.rows=300", "model=tree", "anonymization=none", *typed)
    assert done.code == 0, done.err
    assert done.record["minimization"] is None
    events = [json.loads(line) for line in (done.folder / "events.jsonl").read_text().splitlines()]
    (skipped,) = [event for event in events if event["event"] == "stage skipped" and event["stage"] == "minimization"]
    assert skipped["facts"] == {"reason": reason}
    assert not (done.folder / "minimization").exists()
    assert ("asked        everything: 9 report rows" in done.out) == ("60" in typed[0])


def test_the_command_line_minimises_as_a_process_of_its_own(tmp_path: Path) -> None:
    typed = [*SMALL, "minimization=personal", "minimization.delta=0.1"]
    ended = subprocess.run(  # our own interpreter with arguments of our own
        [sys.executable, "-m", "runner", *typed], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    assert "asked " in ended.stdout


def test_the_streams_that_it_draws_from_are_recorded(done: Done) -> None:
    streams = done.record["randomness"]["streams"]
    assert {"minimization-rows", "minimization-split", "minimization-verdict"} <= streams.keys()


def test_every_stream_in_the_code_is_listed() -> None:
    files = [path for path in Path(minimization.__file__).parent.rglob("*.py") if path.name != "declarations.py"]
    named = {
        name for file in files for name in re.findall(r'"(minimization-[a-z]+)"', file.read_text(encoding="utf-8"))
    }
    assert named == set(STREAMS)


def test_a_model_that_was_taught_generalised_columns_is_not_asked_from_its_files(runs: Runs) -> None:
    """By those columns alone that a lattice generalised; any other model of a run answers."""
    typed = ("dataset.source.rows=1500", "model=tree", "minimization=none")
    done, plain = runs(*typed, "anonymization=lattice"), runs(*typed, "anonymization=guided")
    dataset = compose_run(list(typed)).config.dataset
    raw = load_frame(dataset, dataset.source).frame
    assert len(load_model(plain.folder / "model").predict(raw)) == len(raw)
    model = load_model(done.folder / "model")
    assert set(model.generalised) <= {"age", "sex", "zip", "admission"}
    assert model.generalised
    with pytest.raises(DataError, match="model: was taught generalised columns"):
        model.predict(raw)
