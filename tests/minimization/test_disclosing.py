"""What makes a contract raw, and how many digits its means have."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from components.minimization.attributes import Attribute, attributes_of
from components.minimization.declarations import Greedy, Personal
from components.minimization.disclosing import FEWEST, few_persons, rounded, why_raw
from components.minimization.generalizer import Cells, Generalizer, Ranges
from components.minimization.partitions import Partition
from components.minimization.personal.questions import NONE, Nodes, Questions
from components.minimization.problem import Rows
from components.minimization.result import Minimized
from components.models import Target
from schemas.dataset import DatasetSchema

Make = Callable[..., Generalizer]
DECLARED = Target(column="ill", task="classification", dtype="category", classes=("no", "yes"))


@pytest.fixture
def made(any_generalizer: Make, people_schema: DatasetSchema) -> Generalizer:
    return any_generalizer(people_schema, 0, ["age", "region"], use="representatives")


def test_what_rests_on_rows_enough_and_on_the_schema_may_leave(made: Generalizer) -> None:
    assert why_raw(Greedy(min_rows=FEWEST), made, [DECLARED]) == ()


def test_parts_of_a_few_rows_are_raw(made: Generalizer) -> None:
    for params in (Greedy(min_rows=FEWEST - 1), Personal(min_rows=1)):
        (reason,) = why_raw(params, made, [DECLARED])
        assert reason == f"parts may rest on fewer than 5 rows (minimization.min_rows={params.min_rows})"


def test_classes_and_domains_from_rows_are_raw_and_so_are_actual_rows(made: Generalizer) -> None:
    learned = "domains or classes come from rows"
    assert why_raw(Greedy(), made, [DECLARED.model_copy(update={"learned": True})]) == (learned,)
    assert why_raw(Greedy(), made, [DECLARED, DECLARED.model_copy(update={"learned": True})]) == (learned,)
    first = replace(made.ranges[0], attribute=replace(made.ranges[0].attribute, learned=True))
    assert why_raw(Greedy(), replace(made, ranges=(first, *made.ranges[1:])), [DECLARED]) == (learned,)
    assert why_raw(Greedy(), replace(made, representative="row"), [DECLARED]) == ("representatives are actual rows",)


def named(schema: DatasetSchema) -> DatasetSchema:
    who = schema.columns[0].model_copy(update={"name": "who", "role": "identifier", "dtype": "text"})
    return schema.model_copy(update={"columns": [*schema.columns, who], "subject_id": "who"})


def rows_of(made: Minimized, frame: pd.DataFrame, who: list[str | None]) -> Rows:
    told = frame.assign(who=pd.array(who, dtype="string"))
    return Rows.of(told, np.zeros((len(told), 1)), made.attributes)


def test_persons_are_counted_and_not_their_rows(
    people_schema: DatasetSchema, people: Callable[[int, int], pd.DataFrame]
) -> None:
    (age,) = attributes_of(people_schema, ["age"])
    ranges = Ranges(age, Partition(age, cuts=(30.5, 60.5)), np.array([24.0, 45.0, 75.0]), 45.0)
    admitted = {"age": np.array([[True, True, False], [False, False, True]])}
    cells = Cells(admitted, {"age": np.array([40.0, 75.0])}, np.array([True, True]), np.zeros((2, 1)))
    made = Generalizer("made", "ranges", (ranges,))
    ages = np.repeat([20, 45, 80], [40, 10, 10])
    frame = people(60, 0).assign(age=ages)
    alone = [f"p{number}" if age > 30 else "p" for number, age in enumerate(ages)]
    told = "ranges, groups, cells and branches rest on fewer than 5 persons"
    schema = named(people_schema)
    assert few_persons(made, rows_of(made, frame, alone), schema) == (f"1 of 3 {told}",)
    with_cells = replace(made, use="representatives", cells=cells)  # its first cell holds many persons
    assert few_persons(with_cells, rows_of(made, frame, alone), schema) == (f"1 of 5 {told}",)
    unnamed: list[str | None] = [None if age > 30 else f"p{number % 5}" for number, age in enumerate(ages)]
    assert few_persons(with_cells, rows_of(made, frame, unnamed), schema) == (f"3 of 5 {told}",)  # no id: one person
    five = [f"p{number % 5}" for number in range(60)]
    assert few_persons(with_cells, rows_of(made, frame, five), schema) == ()
    assert few_persons(made, rows_of(made, frame, alone), people_schema) == ()  # there every row is a person
    young = frame.assign(age=20)  # two of the ranges are nobody's
    assert few_persons(made, rows_of(made, young, ["p"] * 60), schema) == (f"1 of 1 {told}",)


def by_age(age: Attribute) -> Questions:
    """Ask for the age; the young get an answer."""
    nodes = Nodes(
        attribute=np.array([0, NONE, NONE]),
        cut=np.array([30.0, 0.0, 0.0]),
        values=np.zeros((3, 0), dtype=bool),
        missing_left=np.zeros(3, dtype=bool),
        left=np.array([1, 1, 2]),
        right=np.array([2, 1, 2]),
        answer=np.array([NONE, 0, NONE]),
    )
    return Questions((age,), nodes, np.zeros((1, 1)), {"age": 45.0})


def test_persons_are_counted_where_the_asking_ends(
    people_schema: DatasetSchema, people: Callable[[int, int], pd.DataFrame]
) -> None:
    (age,) = attributes_of(people_schema, ["age"])
    made = by_age(age)
    ages = np.repeat([20, 80], [50, 10])
    frame, schema = people(60, 0).assign(age=ages), named(people_schema)
    alone = [f"p{number}" if age < 30 else "p" for number, age in enumerate(ages)]
    (reason,) = few_persons(made, rows_of(made, frame, alone), schema)
    assert reason.startswith("1 of 2 ranges")
    assert few_persons(made, rows_of(made, frame, [f"p{number}" for number in range(60)]), schema) == ()
    assert few_persons(made, rows_of(made, frame, alone), people_schema) == ()  # there every row is a person


@pytest.mark.parametrize("old", [0, 1, 4, 5])
@pytest.mark.parametrize("id_told", [True, False])
def test_rows_are_counted_where_the_asking_ends_if_each_is_a_person(
    people_schema: DatasetSchema, people: Callable[[int, int], pd.DataFrame], old: int, *, id_told: bool
) -> None:
    (age,) = attributes_of(people_schema, ["age"])
    frame = people(60, 0).assign(age=np.repeat([20, 80], [60 - old, old]))
    rows = rows_of(by_age(age), frame, [f"p{number}" for number in range(60)])
    reasons = few_persons(by_age(age), rows, named(people_schema) if id_told else people_schema)
    told = "1 of 2 ranges, groups, cells and branches rest on fewer than 5 persons"
    assert reasons == (() if old >= FEWEST else (told,))


@pytest.mark.parametrize(
    ("spread", "label", "told"),
    [(77.0, 152.3333, 152.0), (7.7, 152.3333, 152.3), (770.0, 1523.0, 1520.0), (0.013, 0.12345, 0.123)],
)
def test_means_of_cells_are_told_to_two_digits_of_the_spread(
    made: Generalizer, spread: float, label: float, told: float
) -> None:
    assert made.cells is not None
    labels = np.full((len(made.cells), 2), label)
    answers = np.array([[-spread, 5.0], [spread, 5.0]])  # the second output is always the same
    found = rounded(replace(made, cells=replace(made.cells, labels=labels)), answers)
    assert isinstance(found, Generalizer)
    assert found.cells is not None
    assert set(found.cells.labels[:, 0]) == {told}
    assert set(found.cells.labels[:, 1]) == {label}


def test_without_cells_there_is_nothing_to_round(made: Generalizer) -> None:
    bare = replace(made, cells=None, use="ranges")
    assert rounded(bare, np.zeros((3, 1))) is bare
