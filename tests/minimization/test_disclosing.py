"""What makes a contract raw, and how many digits its means have."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from components.minimization.declarations import Greedy, Personal
from components.minimization.disclosing import FEWEST, rounded, why_raw
from components.minimization.generalizer import Generalizer
from components.models import Target
from schemas.dataset import DatasetSchema

Make = Callable[..., Generalizer]
DECLARED = Target(column="ill", task="classification", dtype="category", classes=("no", "yes"))


@pytest.fixture
def made(any_generalizer: Make, people_schema: DatasetSchema) -> Generalizer:
    return any_generalizer(people_schema, 0, ["age", "region"], use="representatives")


def test_what_rests_on_rows_enough_and_on_the_schema_may_leave(made: Generalizer) -> None:
    assert why_raw(Greedy(min_rows=FEWEST), made, DECLARED) == ()


def test_parts_of_a_few_rows_are_raw(made: Generalizer) -> None:
    for params in (Greedy(min_rows=FEWEST - 1), Personal(min_rows=1)):
        (reason,) = why_raw(params, made, DECLARED)
        assert reason == f"parts may rest on fewer than 5 rows (minimization.min_rows={params.min_rows})"


def test_classes_and_domains_from_rows_are_raw_and_so_are_actual_rows(made: Generalizer) -> None:
    learned = "domains or classes come from rows"
    assert why_raw(Greedy(), made, DECLARED.model_copy(update={"learned": True})) == (learned,)
    first = replace(made.ranges[0], attribute=replace(made.ranges[0].attribute, learned=True))
    assert why_raw(Greedy(), replace(made, ranges=(first, *made.ranges[1:])), DECLARED) == (learned,)
    assert why_raw(Greedy(), replace(made, representative="row"), DECLARED) == ("representatives are actual rows",)


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
