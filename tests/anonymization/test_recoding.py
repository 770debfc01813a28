"""Local recoding: rows of several rounds that show the same are one class, whichever levels they are on."""

from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.anonymization import Given
from components.anonymization.criteria.requirements import required
from components.anonymization.declarations import Lattice
from components.anonymization.hierarchies.hierarchy import Ladder, climb, held
from components.anonymization.hierarchies.sources import hierarchy_of, load
from components.anonymization.lattice.method import anonymise
from components.anonymization.lattice.recoding import Recoded
from components.classes.coding import encode
from components.data.table import Table
from schemas.dataset import DatasetSchema

TENS = {"10": ["10", "11", "12"], "20": ["20", "21", "22"]}
"""Rounded to tens: the label of a group is one of its values too, so that two levels show the same text."""


def rounded(cells: dict[str, Sequence[str | None]]) -> Table:
    hierarchy = {"name": "tree", "groups": TENS}
    quasi = {"dtype": "text", "role": "quasi_identifier", "nullable": True, "hierarchy": hierarchy}
    schema = {"name": "made", "source": {"name": "none"}, "columns": dict.fromkeys(cells, quasi)}
    return Table(pd.DataFrame(cells, dtype="string"), DatasetSchema.model_validate(schema))


def climbed(table: Table) -> list[Ladder]:
    hierarchies = load(table.schema, Path())
    return [climb(unit, hierarchies[unit.name]) for unit in encode(table.frame, table.schema.columns)]


def test_a_later_round_joins_a_class_of_an_earlier_one() -> None:
    # Round 1 keeps the twelve rows of 10 as they are. Round 2 rounds the others: 20 are three, and 11 alone would be
    # two rows too few. But it shows 10, as the twelve do.
    table = rounded({"p": ["10"] * 12 + ["20", "21", "22", "11"]})
    params = Lattice(k=3, suppression_limit=0.25, local_recoding=True)
    release = anonymise(params, table, Given(hierarchies=load(table.schema, Path())))
    assert release.transformation["levels"] == [{"p": 0}, {"p": 1}]
    assert Counter(release.table.frame["p"]) == {"10": 13, "20": 3}
    assert (release.suppressed, release.after.k, release.after.classes) == (0, 3, 2)
    assert len(release.transformation["searches"]) == 2


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_classes_are_what_the_released_cells_tell(data: st.DataObject) -> None:
    values = st.sampled_from([None, *TENS["10"], *TENS["20"]])
    rows = data.draw(st.lists(st.tuples(values, values), min_size=1, max_size=12))
    vectors = data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=3))
    rounds = data.draw(st.lists(st.integers(0, len(vectors) - 1), min_size=len(rows), max_size=len(rows)).map(np.array))
    p, q = zip(*rows, strict=True)
    table = rounded({"p": p, "q": q})
    recoded = Recoded(climbed(table), required(Lattice(k=2), table), vectors, rounds)
    ids, count = recoded.classes()
    shows = [
        tuple(text(value, level) for value, level in zip(row, vectors[number], strict=True))
        for row, number in zip(rows, rounds.tolist(), strict=True)
    ]
    assert count == len(set(shows)) == len(set(ids.tolist()))
    assert len(set(zip(ids.tolist(), shows, strict=True))) == count
    assert recoded.missing().tolist() == [shows.count(one) < 2 for one in shows]


def test_missing_cells_are_told_apart_from_every_value() -> None:
    rows = list(product([None, *TENS["10"], *TENS["20"]], repeat=2))
    p, q = zip(*rows, strict=True)
    recoded = Recoded(climbed(rounded({"p": p, "q": q})), [], [(0, 0)], np.zeros(len(rows), dtype=np.int16))
    assert recoded.classes()[1] == len(rows)


def text(value: str | None, level: int) -> str | None:
    """Return what a value is published as; a missing one stays missing below the top."""
    if level == 2:
        return "*"
    return value if level == 0 or value is None else f"{value[0]}0"


def test_loss_of_several_rounds_is_the_mean_over_rows_of_what_each_shows() -> None:
    table = rounded({"p": ["10", "10", "20", "21", "22", "12"]})
    recoded = Recoded(climbed(table), [], [(0,), (1,)], np.array([0, 0, 1, 1, 1, 1]))
    suppressed = np.array([False] * 5 + [True])
    mean = (2 * (1 / 6) + 3 * (3 / 6) + 1) / 6
    assert recoded.loss(suppressed) == pytest.approx((mean - 1 / 6) / (1 - 1 / 6))


def test_what_is_held_or_has_one_leaf_costs_nothing() -> None:
    table = rounded({"p": ["10", "11"], "held": ["20", "21"]})
    ladders = climbed(table)
    alone = hierarchy_of(table.schema.column("p"), [("10", "*")])
    one = climb(encode(table.frame.assign(p="10").astype("string"), table.schema.columns)[0], alone)
    recoded = Recoded([ladders[0], held(ladders[1].attribute)], [], [(1, 0), (0, 0)], np.array([0, 1]))
    kept = np.zeros(2, dtype=np.bool_)
    v = ((1 / 2 + 1 / 6) / 2 - 1 / 6) / (1 - 1 / 6)
    assert recoded.loss(kept) == pytest.approx(v)
    recoded.ladders = [ladders[0], one]
    assert recoded.loss(kept) == pytest.approx((1 + v) ** (1 / 2) - 1)
