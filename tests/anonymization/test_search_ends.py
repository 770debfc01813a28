"""How a search ends before its proof, and what its record says of every node that was tried."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from components.anonymization import Given, Release
from components.anonymization.declarations import Lattice, LatticeOptions
from components.anonymization.hierarchies.sources import load
from components.anonymization.lattice import method as lattice
from components.anonymization.lattice.budget import Budget
from components.anonymization.lattice.options import is_exact
from components.data.table import Table
from schemas.dataset import DatasetSchema
from schemas.faults import GoalError

QUALITIES = ["loss", "entropy", "discernibility", "ambiguity"]
T = [{"name": "t", "t": 0.12, "distance": "equal"}]


@pytest.fixture
def anonymised() -> Callable[..., Release]:
    """Return a function that anonymises 300 rows with four correlated quasi-identifiers of four levels each."""

    def run(**asked: Any) -> Release:
        draw = np.random.default_rng(11)
        common = draw.integers(0, 16, 300)
        cells = {f"q{number}": np.clip(common + draw.integers(-3, 4, 300), 0, 15) for number in range(4)}
        steps = {"name": "intervals", "origin": 0, "widths": [4, 8]}
        number = {"dtype": "integer", "role": "quasi_identifier", "min": 0, "max": 15, "hierarchy": steps}
        columns: dict[str, Any] = dict.fromkeys(cells, number)
        columns["ill"] = {"dtype": "integer", "role": "sensitive"}
        schema = DatasetSchema.model_validate({"name": "made", "source": {"name": "none"}, "columns": columns})
        table = Table(pd.DataFrame({**cells, "ill": (common + draw.integers(0, 9, 300)) // 6}), schema)
        params = Lattice.model_validate({"k": 3, "suppression_limit": 0.2, **asked})
        return lattice.anonymise(params, table, Given(hierarchies=load(schema, Path())))

    return run


@pytest.mark.parametrize("quality", QUALITIES)
def test_a_proof_whose_time_is_up_tells_the_best_it_found_and_what_it_proved(
    anonymised: Callable[..., Release], quality: str
) -> None:
    proved = anonymised(quality=quality, criteria=T)
    late = anonymised(quality=quality, criteria=T, exact_seconds=1e-9, bounded_nodes=5)
    best, search = proved.transformation["quality"]["value"], late.transformation["searches"][0]
    assert proved.transformation["searches"][0]["proved"]
    assert proved.warnings == ()
    assert not search["proved"]
    assert search["stopped_by"] == "exact_seconds"
    assert search["lower_bound"] <= best + 1e-12
    assert best <= late.transformation["quality"]["value"] + 1e-12
    assert search["gap"] == pytest.approx(late.transformation["quality"]["value"] - search["lower_bound"])
    assert "nodes not tried may lose less" in search["chosen"]
    assert any("ended by exact_seconds" in warning for warning in late.warnings)


def test_nodes_that_a_proof_had_no_time_for_are_told_from_those_that_it_ruled_out(
    anonymised: Callable[..., Release],
) -> None:
    late = anonymised(criteria=T, exact_seconds=1e-9, bounded_nodes=5)
    search, nodes = late.transformation["searches"][0], late.nodes
    assert nodes is not None
    assert len(nodes) == search["nodes"] == 4**4
    assert not nodes[[f"level q{number}" for number in range(4)]].duplicated().any()
    left = nodes["outcome"] == "not tried: exact_seconds was over"
    assert left.any()
    told = nodes["outcome"].str
    assert nodes["trial"].notna().sum() == search["tried"]
    assert told.startswith("not tried: below").sum() == search["condemned"]
    assert (nodes["outcome"] == "not tried: loses no less than the best").sum() == search["not_better"]
    assert left.sum() == 4**4 - search["tried"] - search["condemned"] - search["not_better"]


def test_a_proof_without_time_is_given_by_a_bounded_search_that_comes_to_an_end(
    anonymised: Callable[..., Release],
) -> None:
    proved, late = anonymised(criteria=T), anonymised(criteria=T, exact_seconds=1e-9)
    assert late.transformation["levels"] == proved.transformation["levels"]
    assert late.transformation["searches"][0]["proved"]
    assert "stopped_by" not in late.transformation["searches"][0]
    assert late.warnings == ()


def test_a_search_that_its_nodes_have_ended_is_the_same_on_every_machine_and_not_warned_of(
    anonymised: Callable[..., Release],
) -> None:
    some = anonymised(criteria=T, exact_nodes=1, bounded_nodes=5)
    assert some.transformation["searches"][0]["stopped_by"] == "bounded_nodes"
    assert some.warnings == ()


def test_all_rounds_of_local_recoding_have_one_clock(
    anonymised: Callable[..., Release], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = []
    plain = lattice.exact

    def exact(search: Any, budget: Any) -> Any:
        given.append(budget.seconds)
        return plain(search, budget)

    monkeypatch.setattr(lattice, "exact", exact)
    release = anonymised(k=12, local_recoding=True, suppression_limit=0.4, exact_seconds=50.0)
    assert len(given) >= len(release.transformation["searches"]) > 1  # a round that saves no row is undone
    assert given[0] == 50
    assert all(later < earlier for earlier, later in pairwise(given))
    assert release.transformation["quality"]["value"] is None
    assert release.transformation["searches"][0]["value"] > release.transformation["loss"]


def test_a_budget_counts_from_where_it_was_given_and_by_the_share_that_is_asked_of() -> None:
    now = iter([0.0, 4.9, 5.1, 7.0, 11.0])
    budget = Budget(10, 10.0, before=100, clock=lambda: next(now))
    assert budget.spent(104, 0.5) == ""
    assert budget.spent(104, 0.5) == "seconds"
    assert budget.spent(105, 0.5) == "nodes"
    assert budget.left == 3.0
    assert budget.left == 0.0


def test_where_no_node_fits_within_the_time_the_option_that_gives_more_is_named(
    anonymised: Callable[..., Release],
) -> None:
    impossible = [{"name": "t", "t": 0.0001, "distance": "equal"}]
    with pytest.raises(GoalError) as caught:
        anonymised(
            criteria=impossible,
            exact_seconds=1e-9,
            bounded_nodes=2,
            levels={f"q{number}": {"max": 1} for number in range(4)},
        )
    assert "raise exact_seconds to try more" in str(caught.value)


def test_lattices_of_too_many_columns_for_arrays_are_searched_without() -> None:
    assert is_exact(LatticeOptions(), [2] * 3 + [1] * 57)
    assert not is_exact(LatticeOptions(), [2] * 3 + [1] * 58)
    assert not is_exact(LatticeOptions(exact_nodes=7), [2] * 3)


def test_criteria_of_one_name_on_one_column_have_a_column_each_in_the_record(
    anonymised: Callable[..., Release],
) -> None:
    criteria = [
        {"name": "l_recursive", "l": 2, "c": 3.0},
        {"name": "l_recursive", "l": 3, "c": 3.0},
        {"name": "alpha", "alpha": 0.9},
    ]
    nodes = anonymised(criteria=criteria).nodes
    assert nodes is not None
    assert [name for name in nodes.columns if name.startswith("misses")] == [
        "misses k",
        "misses l_recursive l=2 on ill",
        "misses l_recursive l=3 on ill",
        "misses alpha on ill",
    ]
    two, three = nodes["misses l_recursive l=2 on ill"], nodes["misses l_recursive l=3 on ill"]
    assert (two.dropna() <= three.dropna()).all()
    assert (two.dropna() != three.dropna()).any()


def test_every_node_tried_tells_what_it_suppresses_and_loses_whether_it_will_do_or_not(
    anonymised: Callable[..., Release],
) -> None:
    nodes = anonymised(criteria=T).nodes
    assert nodes is not None
    tried = nodes[nodes["trial"].notna()]
    assert tried[["quality", "suppressed", "misses k", "misses t on ill"]].notna().all(axis=None)
    assert (tried["suppressed"] >= tried[["misses k", "misses t on ill"]].max(axis=1)).all()
    assert (tried["bound"] <= tried["quality"] + 1e-12).all()
    too_many = tried["outcome"].str.startswith("suppresses more than 60 rows")
    assert (too_many == (tried["suppressed"] > 60)).all()
    assert too_many.any()
    assert not too_many.all()
