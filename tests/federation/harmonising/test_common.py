"""The search for one level vector: pruning misses nothing that trying every vector finds."""

from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.anonymization import Given
from components.anonymization.declarations import Lattice
from components.anonymization.hierarchies.sources import load
from components.anonymization.lattice.quality import Separable
from components.anonymization.lattice.search import Search
from components.federation.harmonising.agreeing import joint_of
from components.federation.harmonising.common import Common, Joint, Reply, search_common
from components.federation.harmonising.local import search_of
from components.federation.sites import Site
from schemas.faults import GoalError

Make = Callable[..., Any]
MANY = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
TOP = (3, 2, 1)
QUALITIES = st.sampled_from(["loss", "entropy", "discernibility", "average_class_size", "ambiguity"])
CRITERIA = st.sampled_from([[], [{"name": "l_entropy", "l": 1.5}], [{"name": "alpha", "alpha": 0.6}]])


def searches_of(params: Lattice, sites: list[Site]) -> list[Search]:
    """Return searches of the sites that have a chance."""
    found = []
    for site in sites:
        try:
            found.append(search_of(params, site, Given(hierarchies=load(site.train.schema, Path()))))
        except GoalError:
            continue
    return found


def shares(searches: list[Search]) -> Any:
    rows = np.array([search.space.total() for search in searches], dtype=np.float64)
    return rows / rows.sum()


def told(search: Search) -> dict[str, Any]:
    """Return what a site tells of a search before it is asked about levels."""
    names = [one.ladder.attribute.name for one in search.space.dimensions]
    ranges = [[one.levels[0], one.levels[-1]] for one in search.space.dimensions]
    content = {"rows": search.space.total(), "levels": dict(zip(names, ranges, strict=True))}
    if isinstance(search.model, Separable):
        content["least_loss"] = dict(zip(names, search.model.parts(), strict=True))
    return content


def replied(search: Search, levels: tuple[int, ...]) -> Reply:
    look, tried = search.look(levels)
    if not look.fits:
        return Reply(fits=False, condemns=look.condemns)
    floor = -inf if isinstance(search.model, Separable) else search.model.floor(tried)
    return Reply(fits=True, loss=look.value, suppressed=look.suppressed, floor=floor)


def searched(params: Lattice, sites: list[Site]) -> tuple[Common, Joint] | None:
    searches = searches_of(params, sites)
    if not searches:
        return None
    joint = joint_of(params, [told(search) for search in searches])
    proposals = search_common(params, joint, TOP)
    try:
        site, levels = next(proposals)
        while True:
            site, levels = proposals.send(replied(searches[site], levels))
    except StopIteration as done:
        return done.value, joint


@MANY
@given(data=st.data(), limit=st.sampled_from([0.0, 0.15, 0.4]), quality=QUALITIES, criteria=CRITERIA)
def test_pruning_misses_nothing(
    data: st.DataObject, limit: float, quality: str, criteria: list[dict[str, Any]], any_sites: Make
) -> None:
    sites = data.draw(any_sites(rows=30))
    asked = {"k": 2, "criteria": criteria, "quality": quality, "suppression_limit": limit}
    params = Lattice.model_validate(asked)
    both = searched(params, sites)
    if both is None:
        return
    found, joint = both
    assert found.proved
    assert found.nodes == 24
    assert found.asked == len(joint.totals) <= 24
    assert len(set(joint.asked)) == len(joint.asked)
    is_best_of_all(found, searches_of(params, sites))


def is_best_of_all(found: Common, fresh: list[Search]) -> None:
    best = inf
    for levels in np.ndindex(*(level + 1 for level in TOP)):
        looks = [search.look(levels)[0] for search in fresh]
        if all(look.fits for look in looks):
            best = min(best, float(shares(fresh) @ [look.value for look in looks]))
    assert found.total == pytest.approx(best, rel=1e-9)
    assert (found.levels is None) == (best == inf)


# Tables on which a search goes wrong that drops vectors as good as the best, or all that lie below any refused one.
@pytest.mark.parametrize(
    ("seed", "quality", "limit"),
    [
        (41, "loss", 0.4),
        (58, "loss", 0.15),
        (23, "loss", 0.4),
        (23, "discernibility", 0.4),
        (59, "average_class_size", 0.4),
    ],
)
def test_refusals_that_condemn_nothing_and_near_ties_are_looked_into(
    seed: int, quality: str, limit: float, made_schema: Make, made_site: Make
) -> None:
    rng, schema = np.random.default_rng(seed), made_schema()
    sites = [
        made_site(
            f"site {number}",
            schema,
            age=rng.integers(0, 8, rows),
            town=rng.choice(["a1", "a2", "b1", "b2"], rows),
            land=rng.choice(list("xyz"), rows, p=[0.8, 0.1, 0.1]),
            illness=rng.choice(["flu", "cold", "gout"], rows, p=[0.6, 0.3, 0.1]),
        )
        for number, rows in enumerate(rng.integers(20, 120, 3))
    ]
    criteria = [{"name": "alpha", "alpha": 0.7}] if seed % 2 else []
    asked = {"k": 3, "criteria": criteria, "quality": quality, "suppression_limit": limit}
    params = Lattice.model_validate(asked)
    found, _ = searched(params, sites) or pytest.fail("all sites have enough rows")
    is_best_of_all(found, searches_of(params, sites))


def test_a_lattice_of_many_levels_is_settled_by_few_proposals(made_schema: Make, made_site: Make) -> None:
    rng = np.random.default_rng(3)
    schema = made_schema()
    sites = [
        made_site(f"site {number}", schema, age=rng.integers(0, 8, 200), town=rng.choice(["a1", "a2", "b1", "b2"], 200))
        for number in range(5)
    ]
    found, joint = searched(Lattice(k=5), sites) or pytest.fail("all sites have enough rows")
    assert found.asked <= 12
    assert len(joint.asked) < 5 * found.asked
