"""What holds for any sites: criteria counted independently, the best common vector, and no part for any order."""

from collections import defaultdict
from collections.abc import Callable
from math import exp, log, prod
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from bench.counted import checker, meets
from components.data.table import Table
from components.federation.harmonising.outcome import Harmonisation
from components.federation.sites import Site
from schemas.faults import GoalError

Make = Callable[..., Any]
FEW = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
LIMITS = st.sampled_from([0.0, 0.2, 0.5])
QUALITIES = st.sampled_from(["loss", "precision", "discernibility", "average_class_size"])
CRITERIA = st.sampled_from(
    [
        [],
        [{"name": "l_distinct", "l": 2, "column": "illness"}],
        [{"name": "l_entropy", "l": 1.5, "column": "illness"}],
    ]
)

CLOSE = [{"name": "t", "t": 0.3, "distance": "equal", "column": "illness"}]


def counted(found: Harmonisation, persons: str | None = None) -> None:
    """Count every site's release by the slow checker."""
    for part in found.sites:
        frame, raw = part.release.table.frame, part.site.train.frame
        criteria = [one.criterion for one in part.release.requirements]
        who = raw.loc[frame.index, persons].tolist() if persons else None
        slow = checker().slow_measure(frame, part.release.table.schema, raw, who, criteria)
        assert slow["arirec"] == pytest.approx(part.release.after.risk.arirec)
        assert slow["k"] == part.release.after.k
        for criterion, reached in zip(criteria, slow["criteria"], strict=True):
            assert criterion is not None
            assert meets(criterion, reached), (part.site.name, criterion, reached)


@FEW
@given(data=st.data(), limit=LIMITS, criteria=CRITERIA | st.just(CLOSE))
@pytest.mark.parametrize("how", ["max", "common", "none"])
def test_every_site_meets_every_criterion_on_what_it_publishes(
    how: str, data: st.DataObject, limit: float, criteria: Any, any_sites: Make, harmonised: Make
) -> None:
    sites = data.draw(any_sites(persons=True))
    asked: Any = {"suppressed_rows": data.draw(st.sampled_from(["star", "drop"])), "unreachable": "leave_out"}
    try:
        found = harmonised(sites, how, suppression_limit=limit, criteria=criteria, **asked)
    except GoalError:
        return
    counted(found, "person")
    assert {one.site.name for one in (*found.sites, *found.left_out)} == {one.name for one in sites}
    if how == "max":
        assert all(one.levels[name] >= level for one in found.sites for name, level in one.own.items())
    for part in found.sites:
        assert part.release.suppressed <= limit * len(part.site.train.frame) + 1e-9
    raw = pd.concat([part.site.train.frame for part in found.sites])
    who = pd.concat([part.site.train.frame.loc[part.release.table.frame.index] for part in found.sites])
    slow = checker().slow_measure(found.pooled.frame, found.pooled.schema, raw, who["person"].tolist())
    assert slow["k"] == found.after.k
    assert slow["arirec"] == pytest.approx(found.after.risk.arirec)
    assert found.after.suppressed == sum(part.release.suppressed for part in found.sites)


@settings(FEW, max_examples=25)
@given(data=st.data(), limit=LIMITS, criteria=CRITERIA, quality=QUALITIES)
def test_the_common_vector_is_the_best_of_all(
    data: st.DataObject, limit: float, criteria: Any, quality: str, any_sites: Make, harmonised: Make
) -> None:
    sites = data.draw(any_sites())
    asked: Any = {"suppression_limit": limit, "criteria": criteria, "quality": quality}
    try:
        found = harmonised(sites, "common", **asked)
    except GoalError:
        found = None
    totals = {levels: by_force(sites, levels, asked) for levels in np.ndindex(4, 3, 1)}
    fitting = {levels: total for levels, total in totals.items() if total is not None}
    if found is None:
        assert not fitting
        return
    chosen = tuple(found.levels[name] for name in ("age", "town", "land"))
    best = min(fitting.values())
    assert found.facts["total_loss"] == pytest.approx(best, rel=1e-9)
    assert fitting[chosen] == pytest.approx(best, rel=1e-9)
    assert found.facts["proved"]
    assert found.facts["nodes"] == 12


def by_force(sites: list[Site], levels: tuple[int, ...], asked: dict[str, Any]) -> float | None:
    """Return the mean loss by rows of one vector, row by row as the definitions say; None where a site refuses."""
    total = 0.0
    for site in sites:
        rows = [generalised(row, levels) for row in site.train.frame.itertuples()]
        classes: dict[Any, list[str]] = defaultdict(list)
        for row, illness in zip(rows, site.train.frame["illness"], strict=True):
            classes[row].append(illness)
        bad = {key for key, ills in classes.items() if not suits(ills, asked["criteria"])}
        gone = sum(len(classes[key]) for key in bad)
        if gone > asked["suppression_limit"] * len(rows) + 1e-9 or gone == len(rows):
            return None
        kept = [len(ills) for key, ills in classes.items() if key not in bad]
        total += loss_of(asked["quality"], levels, kept, gone) * len(rows)
    return total / sum(len(site.train.frame) for site in sites)


def generalised(row: Any, levels: tuple[int, ...]) -> tuple[Any, ...]:
    age = [row.age, row.age // 2, row.age // 4, "*"][levels[0]]
    return age, [row.town, row.town[0], "*"][levels[1]], row.land


def suits(ills: list[str], criteria: list[dict[str, Any]]) -> bool:
    shares = [ills.count(ill) / len(ills) for ill in set(ills)]
    entropy = exp(-sum(share * log(share) for share in shares))
    reached = {"l_distinct": len(shares), "l_entropy": entropy}
    return len(ills) >= 2 and all(reached[one["name"]] >= one["l"] - 1e-9 for one in criteria)


def loss_of(quality: str, levels: tuple[int, ...], kept: list[int], gone: int) -> float:
    rows = sum(kept) + gone
    if quality == "discernibility":
        return sum(size**2 for size in kept) + gone * rows
    if quality == "average_class_size":
        return rows / (len(kept) + (gone > 0))
    costs = [[0, 1 / 3, 2 / 3, 1], [0, 1 / 2, 1], [0]]
    if quality == "loss":  # (share - 1/leaves) / (1 - 1/leaves)
        costs = [[0, 1 / 7, 3 / 7, 1], [0, 1 / 3, 1], [0]]
    means = [(cost[level] * sum(kept) + gone) / rows for cost, level in zip(costs, levels, strict=True)]
    if quality == "precision":
        return sum(means) / 3
    return prod(1 + mean for mean in means) ** (1 / 3) - 1


@FEW
@given(data=st.data(), limit=LIMITS)
def test_a_search_without_a_proof_finds_levels_that_fit_and_says_so(
    data: st.DataObject, limit: float, any_sites: Make, harmonised: Make
) -> None:
    sites = data.draw(any_sites())
    try:
        found = harmonised(sites, "common", suppression_limit=limit, exact_nodes=1)
    except GoalError:
        return
    proved = harmonised(sites, "common", suppression_limit=limit)
    assert not found.facts["proved"]
    assert found.facts["stopped_by"] == "exact_nodes"
    assert any("not proved: exact_nodes" in each for each in found.warnings)
    assert found.facts["total_loss"] >= proved.facts["total_loss"] - 1e-12
    counted(found)


@FEW
@given(data=st.data(), how=st.sampled_from(["max", "common"]), seed=st.integers(0, 99))
def test_the_order_of_rows_and_sites_plays_no_part(
    data: st.DataObject, how: str, seed: int, any_sites: Make, harmonised: Make
) -> None:
    sites = data.draw(any_sites())
    mixed = [
        Site(one.name, Table(one.train.frame.sample(frac=1, random_state=seed), one.train.schema), one.test)
        for one in sites
    ]
    asked: Any = {"unreachable": "leave_out", "suppression_limit": 0.2}
    try:
        found = harmonised(sites, how, **asked)
    except GoalError:
        with pytest.raises(GoalError):
            harmonised(mixed[::-1], how, **asked)
        return
    again = harmonised(mixed[::-1], how, **asked)
    assert again.levels == found.levels
    assert again.after.risk == found.after.risk
    for part, other in zip(found.sites, again.sites[::-1], strict=True):
        assert_frame_equal(part.release.table.frame, other.release.table.frame.sort_index())
