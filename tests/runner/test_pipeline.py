"""A completed run is what its record says: each figure, seed, digest and release class, told from the files again."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from components.anonymization import Given, Release
from components.anonymization.declarations import Guided
from components.anonymization.guided.method import anonymise
from components.data import Split, Table, canonical_order, read, split
from components.data.declarations import Csv, Parquet
from components.models import Model, build, load, reference_models, utility
from runner import pipeline
from runner.compose import Composed, compose_run
from runner.events import read_chain
from runner.record import read_record
from runner.releasing import table_digest
from schemas.dataset import released
from schemas.record import Record

ROWS, TEST = 300, 90
QUASI = ["age", "sex", "town", "seen", "stage"]
YEAR = {"min": "2024-01-01", "max": "2024-12-31"}
COLUMNS: dict[str, dict[str, Any]] = {
    "patient": {"dtype": "text", "role": "identifier"},
    "born": {"dtype": "date", "role": "drop"},
    "age": {"dtype": "integer", "role": "quasi_identifier", "min": 0, "max": 99},
    "sex": {"dtype": "category", "role": "quasi_identifier", "values": ["f", "m"]},
    "town": {"dtype": "boolean", "role": "quasi_identifier", "nullable": True},
    "seen": {"dtype": "date", "role": "quasi_identifier", "format": "%d.%m.%Y", **YEAR},
    "stage": {"dtype": "ordered", "role": "quasi_identifier", "nullable": True, "values": ["I", "II", "III", "IV"]},
    "smoker": {"dtype": "boolean", "role": "insensitive", "nullable": True},
    "weight": {"dtype": "number", "role": "insensitive", "nullable": True, "min": 40, "max": 160},
    "visits": {"dtype": "integer", "role": "insensitive", "nullable": True, "min": 0, "max": 9},
    "checked": {"dtype": "datetime", "role": "insensitive", "nullable": True, "format": "%d/%m/%Y %H:%M", **YEAR},
    "remark": {"dtype": "category", "role": "insensitive", "nullable": True, "values": ["a, b", 'say "c"', "NA?"]},
    "biopsy": {"dtype": "category", "role": "sensitive", "nullable": True, "values": ["benign", "malignant"]},
    "blood": {"dtype": "category", "role": "sensitive", "values": ["0", "A", "AB", "B"]},
    "back": {"dtype": "category", "role": "insensitive", "values": ["no", "yes"]},
}
RULES = {"target": "back", "task": "classification", "missing": {"markers": ["NA", ""]}, "split": {"test": 0.3}}


def patients() -> pd.DataFrame:
    """Make patients up: every biopsy that is known is benign, many are not, and any crowd has several blood groups."""
    draw = np.random.default_rng(5)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(draw.integers(0, 300, ROWS), unit="D")
    frame = pd.DataFrame(
        {
            "patient": [f"Patient-{number:04d}" for number in draw.permutation(ROWS)],
            "born": "1970-01-01",
            "age": draw.integers(18, 95, ROWS),
            "sex": draw.choice(["f", "m"], ROWS),
            "town": draw.choice(["True", "False"], ROWS),
            "seen": day.strftime("%d.%m.%Y"),
            "stage": draw.choice(["I", "II", "III", "IV"], ROWS),
            "smoker": draw.choice(["True", "False"], ROWS),
            "weight": draw.normal(80, 12, ROWS).round(2),
            "visits": draw.integers(0, 9, ROWS).astype(str),
            "checked": (day + pd.to_timedelta(draw.integers(0, 1440, ROWS), unit="min")).strftime("%d/%m/%Y %H:%M"),
            "remark": draw.choice(["a, b", 'say "c"', "NA?"], ROWS),
            "biopsy": "benign",
            "blood": draw.choice(["0", "A", "AB", "B"], ROWS),
        }
    )
    frame["back"] = np.where(frame["age"] + draw.normal(0, 15, ROWS) > 60, "yes", "no")
    for name in ("town", "stage", "smoker", "weight", "visits", "checked", "remark"):
        frame[name] = frame[name].mask(draw.random(ROWS) < 0.1)
    frame["biopsy"] = frame["biopsy"].mask(draw.random(ROWS) < 0.4)
    frame["person"] = np.arange(ROWS) // 2
    frame[QUASI] = frame.groupby("person")[QUASI].transform("first")
    return frame


@dataclass(frozen=True)
class Done:
    """A completed run."""

    composed: Composed
    folder: Path

    @cached_property
    def record(self) -> Record:
        return read_record(self.folder)

    @cached_property
    def released(self) -> pd.DataFrame:
        return pd.DataFrame(pq.read_table(self.folder / "data/release.parquet").to_pandas())

    @cached_property
    def table(self) -> Table:
        data = self.composed.config.dataset
        return read(data, data.source, Path()).table

    @cached_property
    def parts(self) -> Split:
        return split(self.table, self.composed.config.seed)

    def fitted(self, table: Table) -> Model:
        config = self.composed.config
        return build(config.model, config.dataset, config.seed, learn=config.encoder.learn).fit(table)

    def release(self, seed: int) -> Release:
        """Anonymise anew, with a seed of one's own."""
        said = self.fitted(self.parts.train).predict(self.parts.train.frame)
        params = self.composed.config.anonymization
        assert isinstance(params, Guided)
        return anonymise(params, self.parts.train, Given(predictions=said, seed=seed))

    def value(self, metric: str, scope: str = "", when: str = "", column: str = "") -> float:
        (found,) = (
            row.value
            for row in self.record.metrics
            if (row.metric, row.scope, row.when, row.column) == (metric, scope, when, column) and row.split != "train"
        )
        assert found is not None
        return found

    def classes(self) -> dict[str, str]:
        return {output.path: output.release for output in self.record.outputs}

    def listed(self, stage: str) -> dict[str, str]:
        (found,) = (each.outputs for each in self.record.stages if each.name == stage)
        return found


Runs = Callable[..., Done]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Return a function that makes a run with a small tree, each run once."""
    home = tmp_path_factory.mktemp("pipeline")
    patients().to_csv(home / "patients.csv", index=False, na_rep="NA")
    (home / "options/dataset").mkdir(parents=True)
    source = {"name": "csv", "path": str(home / "patients.csv")}
    bare = {name: {key: value for key, value in column.items() if key != "max"} for name, column in COLUMNS.items()}
    person = {"person": {"dtype": "integer", "role": "identifier"}}
    for name, columns, more in (
        ("clinic", COLUMNS, {"undeclared": "drop"}),
        ("open", bare, {"undeclared": "drop"}),
        ("visits", COLUMNS | person, {"subject_id": "person"}),
    ):
        content = {"name": name, "source": source, "columns": columns, **RULES, **more}
        (home / f"options/dataset/{name}.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    made: dict[tuple[str, ...], Done] = {}

    def ran(*overrides: str) -> Done:
        if overrides not in made:
            where = home / str(len(made))
            typed = ["dataset=clinic", "model=tree", f"output.dir={where}", *overrides]
            composed = compose_run(typed, home / "options")
            assert pipeline.run(composed) == 0
            (folder,) = (where / composed.config.name).iterdir()
            made[overrides] = Done(composed, folder)
        return made[overrides]

    return ran


RAW, BARE = ("anonymization=none",), ("anonymization=none", "model=none")
SHOWN = {
    "median": (),
    "medoid": ("anonymization.representative=medoid",),
    "range": ("anonymization.representative=range",),
}
EVERY = pytest.mark.parametrize("overrides", [*SHOWN.values(), RAW, BARE, ("dataset=visits",)], ids=" ".join)
"""Runs of every make."""


def test_the_model_kept_is_the_one_that_the_released_file_gives(runs: Runs) -> None:
    done = runs()
    rows = done.parts.test.frame
    kept = load(done.folder / "model")
    schema = released(done.composed.config.dataset)
    again = done.fitted(Table(done.released, schema))
    np.testing.assert_array_equal(kept.predict(rows), again.predict(rows))
    np.testing.assert_array_equal(kept.scores(rows), again.scores(rows))
    raw, config = done.fitted(done.parts.train), done.composed.config
    lines = {scope: line.fit(done.parts.train) for scope, line in reference_models(config.dataset, config.seed).items()}
    for scope, model in {"anonymized": again, "original": raw, **lines}.items():
        (accuracy,) = (each.value for each in utility(model, done.parts.test) if each.metric == "accuracy")
        assert done.value("accuracy", scope) == accuracy
    assert not np.array_equal(np.asarray(raw.scores(rows)), np.asarray(kept.scores(rows)))
    assert done.value("accuracy", "anonymized") != done.value("accuracy", "original")


@pytest.mark.parametrize("shown", SHOWN)
def test_recorded_seeds_make_the_release_and_the_model_again(runs: Runs, shown: str) -> None:
    done = runs(*SHOWN[shown])
    release = done.release(done.record.randomness.streams["anonymization"])
    frame = release.table.frame
    expected = frame.iloc[canonical_order(frame)].reset_index(drop=True)
    pd.testing.assert_frame_equal(done.released, expected, check_dtype=False)
    assert done.listed("anonymization") == {"release": table_digest(release.table)}
    rows = done.parts.test.frame
    kept = load(done.folder / "model")
    np.testing.assert_array_equal(kept.scores(rows), done.fitted(release.training).scores(rows))


def test_anonymisation_draws_from_the_recorded_stream(runs: Runs) -> None:
    done = runs("dataset=hospitals", f"dataset.source.rows={ROWS}", "anonymization.k=2", "seed=3")
    stream = done.record.randomness.streams["anonymization"]
    (made,) = done.listed("anonymization").values()
    assert made == table_digest(done.release(stream).table)
    others = {table_digest(done.release(seed).table) for seed in (0, 3, *range(10, 16))}
    assert others - {made}  # on this table the seed matters


def test_the_split_draws_from_the_recorded_stream(runs: Runs) -> None:
    done = runs()
    order = canonical_order(done.table.frame)
    draw = np.random.default_rng(done.record.randomness.streams["split"]).permutation(ROWS)
    test = Table(done.table.frame.iloc[order[draw < TEST]], done.table.schema)
    assert done.listed("split")["test"] == table_digest(test)


def test_the_model_draws_from_the_recorded_streams(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    for done in (runs(), runs(*RAW)):
        engine: Any = load(done.folder / "model").fitted.engine
        assert engine.estimator.random_state == done.record.randomness.streams["model"]
    drawn = Mock(wraps=np.random.default_rng)
    monkeypatch.setattr(np.random, "default_rng", drawn)
    streams = runs("seed=11").record.randomness.streams
    assert {call.args[0] for call in drawn.call_args_list} == {
        streams[name] for name in ("split", "model-order", "minimization-split")
    }
    assert len(set(streams.values())) == len(streams)


@EVERY
def test_every_file_has_its_release_class(runs: Runs, overrides: tuple[str, ...]) -> None:
    done = runs(*overrides)
    files = dict.fromkeys(("config.yaml", "events.jsonl", "metrics.csv"), "internal")
    model = dict.fromkeys(("model/encoder.json", "model/model.json", "model/model.skops"), "releasable")
    if overrides == RAW:
        files |= dict.fromkeys(model, "raw")
    elif overrides != BARE:
        files |= model | dict.fromkeys(("data/release.csv", "data/release.parquet"), "releasable")
        told = ("anonymization/sensitive_counts.csv", "anonymization/subset_risk.csv")
        files |= dict.fromkeys(told, "internal")
    assert done.classes() == files
    warned = [text for text in done.record.warnings if "class raw" in text]
    assert warned == (["the model was trained on raw rows; its files are of class raw"] if overrides == RAW else [])


def test_a_model_that_learned_bounds_from_rows_is_raw(runs: Runs) -> None:
    done = runs("dataset=open", "encoder.learn=true")
    learned = {path: release for path, release in done.classes().items() if path.startswith("model/")}
    assert set(learned.values()) == {"raw"}
    (told,) = (text for text in done.record.warnings if "class raw" in text)
    assert "holds values learned from rows" in told
    assert all(name in told for name in ("age", "weight", "visits"))
    assert done.classes()["data/release.csv"] == "releasable"
    declared = runs("encoder.learn=true")
    assert "raw" not in declared.classes().values()


@EVERY
def test_every_record_says_what_is_not_claimed(runs: Runs, overrides: tuple[str, ...]) -> None:
    said = " ".join(runs(*overrides).record.limits)
    for claim in ("quasi-identifiers", "k-anonymity", "No differential privacy", "anonymised rows does not by itself"):
        assert claim in said


@pytest.mark.parametrize("shown", SHOWN)
def test_a_column_that_classes_give_away_is_warned_of(runs: Runs, shown: str) -> None:
    done = runs(*SHOWN[shown])
    classes = done.released.groupby(QUASI, dropna=False, observed=True)
    known = {name: classes[name].nunique().min() for name in ("biopsy", "blood", "back")}
    assert known["biopsy"] <= 1 < known["blood"]
    assert done.value("l_distinct", when="after", column="biopsy") == 2  # a class's unknown biopsies hide nothing
    for name, least in known.items():
        assert done.value("l_known", when="after", column=name) == least
        told = [text for text in done.record.warnings if f"every known value of '{name}' is the same" in text]
        assert len(told) == (least <= 1)


@pytest.mark.parametrize("shown", SHOWN)
def test_the_released_csv_reads_back_to_the_parquet(runs: Runs, shown: str) -> None:
    done = runs(*SHOWN[shown])
    schema = done.release(done.record.randomness.streams["anonymization"]).table.schema
    path = done.folder / "data"
    text = read(schema, Csv(path=str(path / "release.csv")), Path()).table.frame
    typed = read(schema, Parquet(path=str(path / "release.parquet")), Path()).table.frame
    pd.testing.assert_frame_equal(text, typed)
    pd.testing.assert_frame_equal(text, done.released, check_dtype=False)
    assert {"smoker", "weight", "visits", "checked", "remark", "biopsy"} <= set(text.columns[text.isna().any()])
    lines = (path / "release.csv").read_text(encoding="utf-8").splitlines()
    assert ",NA," in lines[1] + "".join(lines)
    assert ",," not in "".join(lines)


def test_k_counts_persons_on_the_written_file(runs: Runs) -> None:
    done = runs("dataset=visits", "anonymization.k=4")
    release = done.release(done.record.randomness.streams["anonymization"]).table.frame
    order = canonical_order(release)
    pd.testing.assert_frame_equal(done.released, release.iloc[order].reset_index(drop=True), check_dtype=False)
    persons = done.parts.train.frame["person"].to_numpy()[order]
    classes = done.released.assign(_who=persons).groupby(QUASI, dropna=False, observed=True)["_who"]
    k, rows = classes.nunique().min(), classes.size().min()
    assert 4 <= k < rows
    for metric, expected in {"k": k, "k_persons": k, "k_rows": rows}.items():
        assert done.value(metric, when="after") == expected
    assert done.record.anonymization is not None
    assert done.record.anonymization.after["k"] == k
    parts = done.parts
    assert not set(parts.train.frame["person"]) & set(parts.test.frame["person"])
    assert not {"person", "patient"} & set(done.released)


@EVERY
def test_the_record_adds_up(runs: Runs, overrides: tuple[str, ...]) -> None:
    done = runs(*overrides)
    listed = {output.path: output for output in done.record.outputs}
    files = {path.relative_to(done.folder).as_posix(): path for path in done.folder.rglob("*") if path.is_file()}
    assert set(files) == {"record.json", *listed}
    for name, output in listed.items():
        content = files[name].read_bytes()
        assert (output.bytes, output.sha256) == (len(content), sha256(content).hexdigest())
        assert output.rows == (ROWS - TEST if name.startswith("data/") else lines_below_the_header(files[name]))
    with files["metrics.csv"].open(newline="") as stream:
        told = list(csv.DictReader(stream))
    figures = [{key: as_text(value) for key, value in row.model_dump().items()} for row in done.record.metrics]
    assert [{key: number(value) for key, value in row.items()} for row in told] == [
        {key: number(value) for key, value in row.items()} for row in figures
    ]
    settings = yaml.safe_load(files["config.yaml"].read_text())
    assert settings == done.record.configuration.resolved == done.composed.resolved


def lines_below_the_header(path: Path) -> int | None:
    return len(path.read_text().splitlines()) - 1 if path.suffix == ".csv" else None


def as_text(value: object) -> str:
    return "" if value is None else str(value)


def number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


@EVERY
def test_stages_and_events_tell_one_story(runs: Runs, overrides: tuple[str, ...]) -> None:
    done = runs(*overrides)
    events = read_chain(done.folder / "events.jsonl")
    ended = [(event.event, event.stage) for event in events]
    assert (ended[0], ended[-1]) == (("run started", ""), ("run completed", ""))
    finished = [stage for event, stage in ended if event == "stage finished"]
    assert finished == [stage.name for stage in done.record.stages]
    skipped = [stage for event, stage in ended if event == "stage skipped"]
    assert sorted([*finished, *skipped]) == sorted(pipeline.STAGES)
    facts = {event.stage: event.facts for event in events if event.event == "stage finished"}
    assert facts["split"] == {"train": ROWS - TEST, "test": TEST}
    digests = {stage.name: stage for stage in done.record.stages}
    (source,) = done.record.dataset.inputs
    assert list(digests["dataset"].inputs.values()) == [source.sha256]
    assert digests["dataset"].outputs == {"table": table_digest(done.table)}
    assert digests["split"].inputs == digests["dataset"].outputs
    assert digests["split"].outputs == {"train": table_digest(done.parts.train), "test": table_digest(done.parts.test)}
    for name in {"model", "anonymization"} & set(digests):
        assert digests[name].inputs == {"train": digests["split"].outputs["train"]}
        assert digests[name].outputs
    if "assessment" in digests:  # what it makes are the figures, whose digest is that of metrics.csv
        assert digests["assessment"].inputs == digests["split"].outputs
    if "retraining" in digests:
        training = done.release(done.record.randomness.streams["anonymization"]).training
        assert digests["retraining"].inputs == {"training": table_digest(training)}
        kept = {name.removeprefix("model/") for name in done.classes() if name.startswith("model/")}
        assert set(digests["retraining"].outputs) == kept


@pytest.mark.parametrize("shown", [(), ("dataset=visits",)], ids=["rows", "persons"])
def test_rows_and_columns_are_accounted_for(runs: Runs, shown: tuple[str, ...]) -> None:
    done = runs(*shown)
    flow = done.record.flow
    assert flow is not None
    assert (flow.rows_in, flow.rows_out) == (ROWS, len(done.released))
    assert flow.dropped_rows == {"held out for testing": TEST}
    assert set(flow.columns_in) == {*COLUMNS, "person"}
    assert flow.columns_out == list(done.released.columns) == list(COLUMNS)[2:]
    assert set(flow.dropped_columns) == {"patient", "born", "person"}
    assert flow.dropped_columns["patient"] == "role identifier"
    assert all(flow.dropped_columns.values())
