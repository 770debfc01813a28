"""Quality models: right values worked out by hand."""

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from components.anonymization.criteria.requirements import required
from components.anonymization.declarations import Lattice
from components.anonymization.hierarchies.hierarchy import climb
from components.anonymization.hierarchies.sources import load
from components.anonymization.lattice.collapsing import collapse
from components.anonymization.lattice.quality import Separable, quality
from components.anonymization.lattice.space import Space, dimension
from components.classes.coding import encode
from components.data.table import Table
from schemas.dataset import DatasetSchema

PAIRS = {"name": "tree", "groups": {"ab": ["a", "b"], "cd": ["c", "d"]}}
CELLS = {"p": list("aaabbc"), "q": list("vvvvww")}
"""Classes of 3 rows and three of 1; p has four leaves, of which d does not occur."""


def space_of(params: Lattice) -> Space:
    columns = {
        "p": {"dtype": "text", "role": "quasi_identifier", "hierarchy": PAIRS},
        "q": {"dtype": "text", "role": "quasi_identifier", "hierarchy": "*"},
    }
    schema = DatasetSchema.model_validate({"name": "made", "source": {"name": "none"}, "columns": columns})
    table = Table(pd.DataFrame(CELLS, dtype="string"), schema)
    hierarchies = load(schema, Path())
    ladders = [climb(unit, hierarchies[unit.name]) for unit in encode(table.frame, schema.columns)]
    return collapse([dimension(ladder) for ladder in ladders], required(params, table))


def value(model: str, levels: tuple[int, int], **asked: Any) -> float:
    params = Lattice.model_validate({"k": 2, "quality": model, **asked})
    space = space_of(params)
    tried = space.attempt(levels)
    found = quality(params, space)
    assert found.floor(tried) <= found.value(tried) + 1e-12
    if isinstance(found, Separable):
        assert found.bounds()[levels] <= found.value(tried) + 1e-12
        assert found.bound(levels) <= found.value(tried) + 1e-12
        upwards = found.bounds()[tuple(slice(level, None) for level in levels)]
        assert found.bound(levels) == found.floor(tried) == pytest.approx(upwards.min())
    return found.value(tried)


def test_loss_is_the_geometric_mean_of_shares_of_leaves():
    # On (1, 0) the classes ab, w and cd, w are one row each: two of six rows are suppressed, and count 1.
    v_p = ((4 * 0.5 + 2) / 6 - 0.25) / 0.75
    v_q = ((4 * 0.5 + 2) / 6 - 0.5) / 0.5
    assert value("loss", (1, 0)) == pytest.approx(math.sqrt((1 + v_p) * (1 + v_q)) - 1)
    v_p = ((5 * 0.5 + 1) / 6 - 0.25) / 0.75  # on (1, 1) it is the one row of cd
    assert value("loss", (1, 1)) == pytest.approx(math.sqrt((1 + v_p) * 2) - 1)
    assert value("loss", (2, 1)) == pytest.approx(1.0)


def test_weights_make_means_weighted():
    v_p = ((5 * 0.5 + 1) / 6 - 0.25) / 0.75
    assert value("loss", (1, 1), weights={"p": 3.0}) == pytest.approx(((1 + v_p) ** 3 * 2) ** (1 / 4) - 1)
    assert value("loss", (1, 1), weights={"p": 2.0, "q": 2.0}) == pytest.approx(value("loss", (1, 1)))
    p, q = (5 * 0.5 + 1) / 6, 1.0
    assert value("precision", (1, 1)) == pytest.approx((p + q) / 2)
    assert value("precision", (1, 1), weights={"q": 3.0}) == pytest.approx((p + 3 * q) / 4)


def test_entropy_tells_how_much_of_a_column_s_own_is_lost():
    entropy_p = 3 * math.log(2) + 2 * math.log(3) + math.log(6)
    lost = 3 * math.log(5 / 3) + 2 * math.log(5 / 2) + math.log(6)  # c is suppressed: as if all rows were its class
    assert value("entropy", (1, 1)) == pytest.approx((lost / entropy_p + 1) / 2)
    assert value("entropy", (2, 1)) == pytest.approx(1.0)


def test_class_models_count_suppressed_rows_as_declared():
    assert value("discernibility", (0, 0)) == 3**2 + 3 * 6
    assert value("discernibility", (1, 1)) == 5**2 + 6
    assert value("average_class_size", (0, 0)) == 6 / 2
    assert value("average_class_size", (2, 1)) == 6 / 1
    assert value("ambiguity", (0, 0)) == pytest.approx((3 * (1 / 4) * (1 / 2) + 3) / 6)
    assert value("ambiguity", (2, 1)) == 1.0
