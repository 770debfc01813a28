"""Sites that publish on levels in common: what they agree on, what is raised, and what ends it."""

from collections.abc import Callable
from typing import Any

import pytest
from pandas.testing import assert_frame_equal

from components.anonymization import Given
from components.anonymization.declarations import Lattice
from components.federation.harmonising.declarations import Harmonising
from components.federation.harmonising.method import harmonise
from components.federation.sites import Site
from schemas.faults import ConfigurationError, GoalError

Make = Callable[..., Any]


def needing_more(make_schema: Make, make_site: Make) -> list[Site]:
    """Return two sites whose optima differ: the first generalises ages, the second towns."""
    schema = make_schema()
    return [
        make_site("first", schema, age=[0, 1, 2, 3] * 2, town=["a1"] * 4 + ["b1"] * 4, land=["x"] * 8),
        make_site("second", schema, age=[0, 0, 4, 4], town=["a1", "a2"] * 2, land=["y"] * 4),
    ]


def test_the_maximum_is_taken_by_column(made_schema: Make, made_site: Make, harmonised: Make) -> None:
    found = harmonised(needing_more(made_schema, made_site))
    assert [dict(one.own) for one in found.sites] == [
        {"age": 1, "town": 0, "land": 0},
        {"age": 0, "town": 1, "land": 0},
    ]
    assert found.levels == {"age": 1, "town": 1, "land": 0}
    assert all(one.levels == found.levels for one in found.sites)
    assert all(one.loss > one.own_loss for one in found.sites)
    assert set(found.pooled.frame["age"]) == {"[0, 2)", "[2, 4)", "[4, 6)"}
    assert set(found.pooled.frame["town"]) == {"a", "b"}


def test_the_best_common_vector_may_lose_less_than_the_maximum(
    made_schema: Make, made_site: Make, harmonised: Make
) -> None:
    schema = made_schema()
    sites = [
        made_site("first", schema, age=[0, 1, 2, 3], town=["a1", "a1", "a2", "a2"]),
        made_site("second", schema, age=[0, 0, 0, 0, 2, 2], town=["a1", "a2", "a1", "a2", "b1", "b1"]),
    ]
    by_max, best = (harmonised(sites, how) for how in ("max", "common"))
    total = [sum(len(one.site.train.frame) * one.loss for one in found.sites) for found in (by_max, best)]
    assert total[1] <= total[0]
    assert best.facts["proved"]


def test_each_site_may_keep_its_own_levels_and_then_there_is_no_common_space(
    made_schema: Make, made_site: Make, harmonised: Make
) -> None:
    found = harmonised(needing_more(made_schema, made_site), "none")
    assert found.levels is None
    assert found.seen is None
    assert [dict(one.levels) for one in found.sites] == [dict(one.own) for one in found.sites]
    assert set(found.pooled.frame["age"]) == {"[0, 2)", "[2, 4)", "0", "4"}
    assert set(found.pooled.frame["town"]) == {"a1", "b1", "a"}
    assert found.after.k == 2
    assert found.pooled.schema.column("age").dtype == "text"


def test_a_client_column_stays_as_it_is_unless_its_levels_are_set(
    made_schema: Make, made_site: Make, harmonised: Make
) -> None:
    sites = needing_more(made_schema, made_site)
    assert set(harmonised(sites).pooled.frame["land"]) == {"x", "y"}
    raised = harmonised(sites, levels={"land": {"min": 1}})
    assert raised.levels["land"] == 1
    assert set(raised.pooled.frame["land"]) == {"*"}


# Where more generalisation breaks a criterion, since rows that were suppressed are released


def broken_at_the_maximum(make_schema: Make, make_site: Make) -> list[Site]:
    """Return sites of which the first must suppress too much on the second's levels, but not above them."""
    schema = make_schema()
    towns = ["a1"] * 10 + ["a2"] * 4 + ["b1"] * 30
    ills = ["flu", "cold"] * 5 + ["flu"] * 4 + ["flu", "cold"] * 15
    second = ["a1", "a2", "b1", "b2"]
    return [
        make_site("first", schema, town=towns, illness=ills),
        make_site("second", schema, town=second, illness=["flu", "cold"] * 2),
    ]


ALPHA: dict[str, Any] = {"criteria": [{"name": "alpha", "alpha": 0.6}], "suppression_limit": 0.1}


def test_levels_are_raised_where_the_maximum_breaks_a_criterion(
    made_schema: Make, made_site: Make, harmonised: Make
) -> None:
    found = harmonised(broken_at_the_maximum(made_schema, made_site), **ALPHA)
    assert [one.own["town"] for one in found.sites] == [0, 1]
    assert found.levels["town"] == 2
    assert found.facts["raised"] == 1
    assert any("raised above the maximum" in each for each in found.warnings)
    assert all(one.met for part in found.sites for one in part.release.after.criteria)


def test_a_site_with_nothing_above_the_maximum_is_unreachable(
    made_schema: Make, made_site: Make, harmonised: Make
) -> None:
    sites = broken_at_the_maximum(made_schema, made_site)
    asked = {**ALPHA, "levels": {"town": {"max": 1}}}
    with pytest.raises(GoalError, match=r"1 of 2 clients can't reach the criteria: 'first'"):
        harmonised(sites, **asked)
    found = harmonised(sites, unreachable="leave_out", **asked)
    assert [one.site.name for one in found.sites] == ["second"]
    assert [one.site.name for one in found.left_out] == ["first"]
    assert found.levels["town"] == 1
    assert len(found.pooled.frame) == 4


def test_no_common_vector_is_an_outcome_of_its_own(made_schema: Make, made_site: Make, harmonised: Make) -> None:
    sites = broken_at_the_maximum(made_schema, made_site)
    with pytest.raises(GoalError, match="satisfy all of 2 clients, though each can reach"):
        harmonised(sites, "common", unreachable="leave_out", **{**ALPHA, "levels": {"town": {"max": 1}}})


# Sites that can't


@pytest.mark.parametrize("how", ["max", "common", "none"])
def test_sites_that_cannot_reach_the_criteria_are_told_apart(
    how: str, made_schema: Make, made_site: Make, harmonised: Make
) -> None:
    schema = made_schema()
    good = needing_more(made_schema, made_site)
    small = made_site("small", schema, age=[1], land=["z"])
    empty = made_site("empty", schema)
    alike = made_site("alike", schema, age=[0] * 6, illness=["gout"] * 6)
    sites = [good[0], small, empty, alike, good[1]]
    asked: Any = {"criteria": [{"name": "l_distinct", "l": 2}]}
    with pytest.raises(GoalError) as told:
        harmonised(sites, how, **asked)
    said = str(told.value)
    assert "3 of 5 clients can't reach the criteria: 'small', 'empty', 'alike'" in said
    assert "set federation.harmonising.unreachable to leave_out" in said
    assert "client 'small', anonymization.k: k=2 but 1 row" in said
    assert "client 'empty', table: there are no rows" in said
    assert "client 'alike', " in said
    assert "gout" not in said
    found = harmonised(sites, how, unreachable="leave_out", **asked)
    assert [one.site.name for one in found.sites] == ["first", "second"]
    assert [one.site.name for one in found.left_out] == ["small", "empty", "alike"]
    assert {one.site for one in found.told if one.kind == "unreachable"} == {"small", "empty", "alike"}
    assert not {"small", "empty", "alike"} & {one.site for one in found.told if one.kind in {"node", "measured"}}
    alone = harmonised(good, how, **asked)
    assert_frame_equal(found.pooled.frame, alone.pooled.frame)


@pytest.mark.parametrize("unreachable", ["stop", "leave_out"])
def test_nobody_left_is_a_goal_that_was_missed(
    unreachable: str, made_schema: Make, made_site: Make, harmonised: Make
) -> None:
    sites = [made_site(name, made_schema(), age=[1]) for name in "ab"]
    with pytest.raises(GoalError) as told:
        harmonised(sites, unreachable=unreachable)
    assert "2 of 2 clients can't reach" in str(told.value)
    assert "leave_out" not in str(told.value)


@pytest.mark.parametrize("rows", ["star", "drop"])
def test_pooled_rows_are_counted_by_person_and_with_those_left_out(
    rows: str, made_schema: Make, made_site: Make, harmonised: Make
) -> None:
    schema = made_schema(subject_id="person")
    own = {"age": [0] * 6 + [7], "town": ["a1"] * 6 + ["b2"], "land": ["x"] * 7}
    sites = [
        made_site(name, schema, person=[*(f"{name}{number // 2}" for number in range(6)), f"{name}9"], **own)
        for name in "pq"
    ]
    found = harmonised(sites, suppressed_rows=rows, suppression_limit=0.2)
    assert [one.release.after.k for one in found.sites] == [3, 3]
    assert (found.after.k, found.after.k_rows, found.after.suppressed) == (6, 12, 2)
    assert len(found.pooled.frame) == (14 if rows == "star" else 12)
    assert (found.before.k, found.before.k_rows) == (2, 2)


def test_one_site_harmonises_with_itself(made_schema: Make, made_site: Make, harmonised: Make) -> None:
    (one,) = harmonised(needing_more(made_schema, made_site)[:1]).sites
    assert one.levels == one.own


def test_no_site_at_all_is_a_configuration_fault() -> None:
    with pytest.raises(ConfigurationError, match="no clients"):
        harmonise(Harmonising(), Lattice(), [], Given())


def test_a_proof_that_time_ends_says_so(made_schema: Make, made_site: Make, harmonised: Make) -> None:
    found = harmonised(needing_more(made_schema, made_site), "common", exact_seconds=1e-9)
    assert found.facts["stopped_by"] == "exact_seconds"
    assert found.levels == {"age": 1, "town": 1, "land": 0}
