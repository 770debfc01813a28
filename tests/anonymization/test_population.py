"""The population: read as the table is, and looked up by what rows show, against a plain count."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.anonymization.hierarchies.hierarchy import climb
from components.anonymization.hierarchies.sources import load
from components.anonymization.population import (
    as_it_is,
    person_count,
    population_sizes,
    raw_population_sizes,
    read_population,
    risk_in_population,
    rows_as_persons,
)
from components.classes.coding import encode
from components.data.declarations import Csv, Hospitals
from components.data.table import Table
from runner import pipeline
from runner.compose import compose_run
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError, DataError

TOWNS = {"north": ["a", "b"], "south": ["c", "d"]}
REGION = {town: region for region, towns in TOWNS.items() for town in towns}


def schema_of(**more: Any) -> DatasetSchema:
    columns = {
        "who": {"dtype": "text", "role": "identifier"},
        "town": {
            "dtype": "category",
            "role": "quasi_identifier",
            "values": list("abcd"),
            "nullable": True,
            "hierarchy": {"name": "tree", "groups": TOWNS},
        },
        "age": {"dtype": "integer", "role": "quasi_identifier", "nullable": True, "min": 0, "max": 99},
        "ill": {"dtype": "category", "role": "sensitive", "values": ["no", "yes"]},
    }
    settled = {"name": "made", "source": None, "columns": columns, "target": "ill", "task": "classification"}
    return DatasetSchema.model_validate(settled | more)


def people_of(rows: list[tuple[str | None, int | None]]) -> pd.DataFrame:
    towns, ages = zip(*rows, strict=True)
    return pd.DataFrame(
        {
            "town": pd.Categorical(towns, categories=list("abcd")),
            "age": pd.array(ages, dtype="Int64"),
        }
    )


def ladders_of(frame: pd.DataFrame) -> list[Any]:
    schema = schema_of()
    town, age = encode(frame, [schema.column("town"), schema.column("age")])
    return [climb(town, load(schema, Path())["town"], [""]), as_it_is(age)]


PEOPLE = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", "d", None]), st.sampled_from([None, 1, 2, 3])), min_size=1, max_size=20
)


def shown(town: str | None, level: int) -> str:
    if level == 0 or town is None:
        return "missing" if town is None and level < 2 else town or "*"
    return REGION[town] if level == 1 else "*"


@settings(deadline=None, max_examples=80)
@given(PEOPLE, PEOPLE, st.data())
def test_who_fits_a_row_is_who_would_be_published_like_it(
    rows: list[tuple[str | None, int | None]], people: list[tuple[str | None, int | None]], data: st.DataObject
):
    levels = data.draw(
        st.one_of(st.integers(0, 2), st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    )
    per_row = [levels] * len(rows) if isinstance(levels, int) else levels
    population = people_of(people)
    untouched = population.copy(deep=True)
    chosen = levels if isinstance(levels, int) else np.array(levels)
    found = population_sizes(ladders_of(people_of(rows)), [chosen, 0], population, schema_of())
    expected = [
        sum(shown(other, level) == shown(town, level) and other_age == age for other, other_age in people)
        for (town, age), level in zip(rows, per_row, strict=True)
    ]
    assert found.tolist() == expected
    pd.testing.assert_frame_equal(population, untouched)


@settings(deadline=None, max_examples=60)
@given(PEOPLE, PEOPLE, st.data())
def test_persons_are_counted_once_in_a_class_where_the_population_names_them(
    rows: list[tuple[str | None, int | None]], people: list[tuple[str | None, int | None]], data: st.DataObject
):
    who = data.draw(st.lists(st.sampled_from(["p", "q", "r", None]), min_size=len(people), max_size=len(people)))
    level = data.draw(st.integers(0, 2))
    population = people_of(people).assign(who=pd.array(who, dtype="string"))
    schema = schema_of(subject_id="who")
    found = population_sizes(ladders_of(people_of(rows)), [level, 0], population, schema)
    expected = [
        len({one for one, (b, d) in zip(who, people, strict=True) if shown(b, level) == shown(a, level) and c == d})
        for a, c in rows
    ]
    assert found.tolist() == expected
    assert person_count(population, schema) == len(set(who))
    assert person_count(population, schema_of()) == len(people)


def test_a_population_that_a_hierarchy_does_not_cover_is_refused():
    schema = schema_of()
    open_column = schema.column("town").model_copy(update={"values": None, "dtype": "text"})
    frame = people_of([("a", 1)]).astype({"town": "string"})
    (town,) = encode(frame, [open_column])
    ladder = climb(town, load(schema, Path())["town"])
    with pytest.raises(DataError, match=r"dataset\.population, column 'town'") as caught:
        population_sizes([ladder], [1], pd.DataFrame({"town": pd.array(["a", "elsewhere"], dtype="string")}), schema)
    assert "elsewhere" not in str(caught.value)


class TestReading:
    def write(self, folder: Path, text: str) -> DatasetSchema:
        (folder / "people.csv").write_text(text, encoding="utf-8")
        return schema_of(population={"path": "people.csv"}, missing={"markers": ["?"]})

    def test_takes_the_quasi_identifiers_as_the_dataset_writes_them(self, tmp_path: Path):
        schema = self.write(tmp_path, "age;name;town\n34;Ann;a\n ? ;Bo;?\n")
        found = read_population(schema, Csv(path="table.csv", delimiter=";"), tmp_path).table.frame
        assert list(found.columns) == ["town", "age"]
        assert found["age"].dtype == "Int64"
        assert found["town"].tolist()[0] == "a"
        assert found.iloc[1].isna().all()

    def test_takes_the_subject_id_where_there_is_one(self, tmp_path: Path):
        self.write(tmp_path, "age,name,who,town\n34,Ann,p,a\n35,Ann,p,a\n")
        asked = {"population": {"path": "people.csv"}, "missing": {"markers": ["?"]}}
        found = read_population(schema_of(subject_id="who", **asked), Csv(path="t.csv"), tmp_path).table.frame
        assert list(found.columns) == ["town", "age", "who"]
        assert found["who"].tolist() == ["p", "p"]
        assert list(read_population(schema_of(**asked), Csv(path="t.csv"), tmp_path).table.frame.columns) == [
            "town",
            "age",
        ]

    def test_takes_each_row_for_a_person_and_says_so_where_the_file_has_no_subject_id(self, tmp_path: Path):
        self.write(tmp_path, "age,name,town\n34,Ann,a\n35,Ann,a\n")
        schema = schema_of(subject_id="who", population={"path": "people.csv"}, missing={"markers": ["?"]})
        found = read_population(schema, Csv(path="t.csv"), tmp_path).table.frame
        assert person_count(found, schema) == 2
        (said,) = rows_as_persons(found, schema)
        assert "no column 'who'" in said
        assert "each of its rows was taken as one person" in said
        assert not rows_as_persons(found, schema_of())
        assert not rows_as_persons(found.assign(who="p"), schema)
        assert not rows_as_persons(None, schema)

    def test_takes_commas_where_the_dataset_is_no_csv_file(self, tmp_path: Path):
        schema = self.write(tmp_path, "town,age\na,1\n")
        assert len(read_population(schema, Hospitals(), tmp_path).table.frame) == 1

    def test_drops_the_rows_that_the_dataset_drops(self, tmp_path: Path):
        schema = self.write(tmp_path, "town,age\na,1\n?,2\n").model_copy(
            update={"missing": schema_of(missing={"markers": ["?"], "rows": "drop"}).missing}
        )
        assert len(read_population(schema, Csv(path="t.csv"), tmp_path).table.frame) == 1

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("town,years\na,1\n", "dataset.population, column 'age': is declared but not in the source"),
            ("town,age\na,xyzzy\n", "dataset.population, column 'age': no whole number"),
            ("town,age\nxyzzy,1\n", "dataset.population, column 'town': a value that is not allowed"),
            ("town,age\n", "dataset.population, file 'people.csv': 0 rows"),
        ],
    )
    def test_says_whose_fault_it_is_and_no_value(self, tmp_path: Path, text: str, problem: str):
        schema = self.write(tmp_path, text)
        with pytest.raises(DataError) as caught:
            read_population(schema, Csv(path="t.csv"), tmp_path)
        assert problem in str(caught.value)
        assert "xyzzy" not in str(caught.value)

    def test_a_file_that_is_not_there_is_refused(self, tmp_path: Path):
        for source in (Csv(path="t.csv"), Hospitals()):
            with pytest.raises(DataError, match=r"people\.csv") as caught:
                read_population(schema_of(population={"path": "people.csv"}), source, tmp_path)
            assert "set dataset.population.path to an existing file" in str(caught.value)
            assert "dataset.source" not in str(caught.value)

    def test_what_mends_the_file_is_named_and_not_what_mends_the_dataset_s_own(self, tmp_path: Path):
        schema = schema_of(population={"path": "people.csv"})
        for content in (b"PAR1", b"town,age\n\xff,1\n", b"town,age\na\n"):
            (tmp_path / "people.csv").write_bytes(content)
            with pytest.raises(DataError) as caught:
                read_population(schema, Hospitals(), tmp_path)
            assert "dataset.source" not in str(caught.value)
            assert "commas, UTF-8 and decimal points" in str(caught.value)
            with pytest.raises(DataError) as caught:
                read_population(schema, Csv(path="t.csv"), tmp_path)
            assert "dataset.source.name" not in str(caught.value)

    def test_a_named_pipe_is_not_waited_for(self, tmp_path: Path):
        os.mkfifo(tmp_path / "people.csv")
        with pytest.raises(DataError, match="is no regular file"):
            read_population(schema_of(population={"path": "people.csv"}), Csv(path="t.csv"), tmp_path)

    def test_a_size_is_no_file(self, tmp_path: Path):
        with pytest.raises(ConfigurationError, match="names no file"):
            read_population(schema_of(population={"size": 9}), Csv(path="t.csv"), tmp_path)


class TestRisk:
    def table(self, **more: Any) -> Table:
        frame = people_of([("a", 1), ("a", 1), ("b", 2), ("b", 2), ("b", 2)])
        frame = frame.assign(who=pd.array(["p", "p", "q", "r", "s"], dtype="string"))
        return Table(frame, schema_of(**more))

    def test_looks_classes_up_where_they_were_counted(self):
        risk = risk_in_population(self.table(), 9, np.array([4, 4, 6, 6, 6]))
        assert risk is not None
        assert (risk.k_map, risk.estimated, risk.size) == (4, False, 9)

    def test_estimates_them_by_the_size_alone(self):
        risk = risk_in_population(self.table(), 50)
        assert risk is not None
        assert (risk.k_map, risk.estimated) == (20, True)

    def test_counts_persons(self):
        risk = risk_in_population(self.table(subject_id="who"), 40)
        assert risk is not None
        assert (risk.k_map, risk.sampling_fraction) == (10, 0.1)

    def test_leaves_suppressed_rows_out_but_knows_that_they_were_drawn(self):
        table = self.table()
        stars = {name: pd.array([*table.frame[name].astype(str)[:4], "*"], dtype="string") for name in ("town", "age")}
        text = {"dtype": "text", "values": None, "min": None, "max": None, "hierarchy": None}
        columns = [
            column.model_copy(update=text) if column.name in stars else column for column in table.schema.columns
        ]
        starred = Table(table.frame.assign(**stars), table.schema.model_copy(update={"columns": columns}))
        risk = risk_in_population(starred, 50, sampled=5)
        assert risk is not None
        assert (risk.k_map, risk.sampling_fraction) == (20, 0.1)

    def test_needs_a_population(self):
        assert risk_in_population(self.table(), None) is None

    def test_raw_rows_are_looked_up_as_they_are(self):
        people = people_of([("a", 1)] * 4 + [("b", 2)] * 5 + [("b", None), (None, 2)])
        assert raw_population_sizes(self.table(), people).tolist() == [4, 4, 5, 5, 5]


WARDS = """\
name: wards
synthetic: true
source: {name: csv, path: wards.csv}
split: {test: 0.3}
columns:
  age: {dtype: integer, role: quasi_identifier, min: 0, max: 1000}
  ill: {dtype: category, role: sensitive, values: ["no", "yes"]}
target: ill
task: classification
"""


class TestRuns:
    @pytest.fixture
    def figures(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pd.Series]:
        monkeypatch.chdir(tmp_path)
        ages = range(100)
        table = pd.DataFrame({"age": ages, "ill": ["no" if age < 50 else "yes" for age in ages]})
        table.to_csv("wards.csv", index=False)
        option = tmp_path / "options" / "dataset" / "wards.yaml"
        option.parent.mkdir(parents=True)
        option.write_text(WARDS, encoding="utf-8")

        def run(*overrides: str) -> pd.Series:
            composed = compose_run(["dataset=wards", "model=tree", "anonymization.k=5", *overrides], Path("options"))
            assert pipeline.run(composed) == 0
            found = pd.read_csv(next(Path("outputs").rglob("metrics.csv")), keep_default_na=False)
            return found[found["stage"] == "anonymization"].set_index(["metric", "when"])["value"]

        return run

    def test_say_what_a_journalist_finds_where_only_a_size_is_known(self, figures: Callable[..., pd.Series]):
        found = figures("dataset.population.size=700").astype(float)
        assert found["k_map", "before"] == 10  # 70 train rows, all unique, of 700 persons
        assert found["risk_journalist_max", "before"] == pytest.approx(0.1)
        assert found["sample_uniques", "before"] == 1
        assert found["population_uniques_zayatz", "before"] == 1
        assert np.isnan(found["population_uniques_pitman", "before"])
        assert found["population_uniques_pitman", "after"] == 0
        assert found["k_map", "after"] == pytest.approx(10 * found["k", "after"])

    def test_count_raw_rows_in_a_population_that_is_given(self, figures: Callable[..., pd.Series]):
        pd.DataFrame({"age": [*range(100)] * 3}).to_csv("people.csv", index=False)
        found = figures("dataset.population.path=people.csv").astype(float)
        assert found["k_map", "before"] == 3
        assert found["risk_marketer_population", "before"] == pytest.approx(1 / 3)

    def named(self) -> None:
        ages = [*range(100)]
        table = pd.DataFrame({"who": [f"p{age}" for age in ages], "age": ages, "ill": ["no", "yes"] * 50})
        table.to_csv("wards.csv", index=False)
        option = WARDS.replace("columns:\n", "subject_id: who\ncolumns:\n  who: {dtype: text, role: identifier}\n")
        Path("options/dataset/wards.yaml").write_text(option, encoding="utf-8")

    def test_count_persons_of_a_population_and_not_their_rows(self, figures: Callable[..., pd.Series]):
        self.named()
        visits = [(f"p{age}", age) for age in range(100)] * 3 + [(f"other{age}", age) for age in range(100)]
        pd.DataFrame(visits, columns=["who", "age"]).to_csv("people.csv", index=False)
        found = figures("dataset.population.path=people.csv").astype(float)
        assert found["k_map", "before"] == 2
        assert found["risk_journalist_max", "before"] == 0.5
        record = json.loads(next(Path("outputs").rglob("record.json")).read_text(encoding="utf-8"))
        told = record["anonymization"]["before"]["population"]
        assert (told["size"], told["sampling_fraction"]) == (200, 70 / 200)
        assert not [text for text in record["warnings"] if "taken as one person" in text]

    @pytest.mark.parametrize("method", [(), ("anonymization=lattice", "dataset.columns.age.hierarchy='*'")])
    def test_say_once_that_rows_were_taken_for_persons(
        self, figures: Callable[..., pd.Series], method: tuple[str, ...]
    ):
        self.named()
        pd.DataFrame({"age": [*range(100)] * 3}).to_csv("people.csv", index=False)
        assert figures("dataset.population.path=people.csv", *method).astype(float)["k_map", "before"] == 3
        record = json.loads(next(Path("outputs").rglob("record.json")).read_text(encoding="utf-8"))
        assert len([text for text in record["warnings"] if "taken as one person" in text]) == 1

    def test_stop_at_a_population_without_the_table_s_persons(self, figures: Callable[..., pd.Series]):
        pd.DataFrame({"age": [*range(60)] * 3}).to_csv("people.csv", index=False)
        with pytest.raises(DataError, match="hold more persons than the population"):
            figures("dataset.population.path=people.csv")
        assert not list(Path("outputs").rglob("release.*"))
        with pytest.raises(DataError, match="population is smaller than the table"):
            figures("dataset.population.size=50")
