"""What configuration alone decides is told before anything runs, all at once."""

import subprocess
import sys
from typing import Any

import pytest

from components.dp.checks import combination_faults, faults, mechanism_of, small_enough
from components.dp.conditions import Setting
from components.dp.declarations import Adaptive, ByEpsilon, ByTiers, Global, Personalized, Record, Tier

TIERS = ByTiers(tiers=[Tier(up_to=0.05, multiplier=2.0), Tier(up_to=1.0, target_epsilon=3.0)])


def places(*args: Any) -> list[str]:
    return [fault.place for fault in faults(*args)]


@pytest.mark.parametrize(
    "right",
    [
        Global(),
        Personalized(),
        Record(),
        Global(multiplier=2.0, target_epsilon=None),
        Personalized(target_epsilon=None, personalise=TIERS),
        Record(target_epsilon=None, personalise=ByEpsilon(default=3.0)),
        Personalized(paper=True, multiplier=0.15, target_epsilon=None),
        Record(budget=3.0),
    ],
)
def test_what_is_right_has_no_fault(right: Any):
    assert list(faults(right, 10)) == []


@pytest.mark.parametrize("kind", [Global, Personalized, Record])
def test_exactly_one_of_multiplier_and_target_is_given(kind: Any):
    assert places(kind(multiplier=1.0)) == ["dp.multiplier"]
    assert places(kind(target_epsilon=None)) == ["dp.multiplier"]


def test_a_policy_by_client_takes_the_place_of_both():
    assert places(Record(multiplier=1.0, personalise=ByEpsilon(default=1.0))) == ["dp.multiplier", "dp.target_epsilon"]


def test_no_target_is_beyond_the_budget():
    assert places(Record(budget=2.0)) == ["dp.target_epsilon"]
    how = ByEpsilon(default=1.0, clients={"A": 5.0})
    assert places(Record(budget=2.0, target_epsilon=None, personalise=how)) == ["dp.personalise.clients.A"]
    assert places(Record(budget=2.0, target_epsilon=None, personalise=TIERS)) == [
        "dp.personalise.tiers.1.target_epsilon"
    ]


@pytest.mark.parametrize(
    ("tiers", "place"),
    [
        ([Tier(up_to=0.5, multiplier=1.0)], "dp.personalise.tiers.0.up_to"),
        ([Tier(up_to=0.5, multiplier=1.0), Tier(up_to=0.4, multiplier=1.0), Tier(up_to=1, multiplier=1.0)], ".tiers"),
        ([Tier(up_to=1.0)], "dp.personalise.tiers.0"),
        ([Tier(up_to=1.0, multiplier=1.0, target_epsilon=1.0)], "dp.personalise.tiers.0"),
    ],
)
def test_tiers_cover_every_risk_once(tiers: list[Tier], place: str):
    found = places(Record(target_epsilon=None, personalise=ByTiers(tiers=tiers)))
    assert len(found) == 1
    assert found[0].endswith(place)


def test_paper_mode_knows_no_epsilon():
    found = places(Personalized(paper=True, budget=5.0, clipping=Adaptive()))
    assert found == ["dp.target_epsilon", "dp.budget", "dp.clipping"]
    assert "dp.personalise" in places(Personalized(paper=True, target_epsilon=None, personalise=TIERS))


def test_the_smallest_cohort_is_no_larger_than_all():
    assert places(Global(smallest_cohort=11), 10) == ["dp.smallest_cohort"]
    assert places(Global(smallest_cohort=11)) == []


def test_what_takes_the_epsilon_away_is_refused_unless_it_is_to_be_reported():
    setting = Setting("server", drift="raw", weights="rows")
    assert len(list(combination_faults(Global(), setting))) == 2
    assert list(combination_faults(Global(unproven="report"), setting)) == []
    assert list(combination_faults(Global(), Setting("server"))) == []


def test_paper_mode_was_asked_for():
    paper = Personalized(paper=True, multiplier=0.15, target_epsilon=None)
    assert list(combination_faults(paper, Setting("local", clipped=False, learned_encoder=True))) == []


def test_every_declaration_has_its_mechanism():
    found = [mechanism_of(each) for each in (Global(), Global(noise_from="clients"), Personalized(), Record())]
    assert found == ["server", "distributed", "local", "record"]


def test_a_delta_is_below_one_over_the_rows():
    assert small_enough(1e-5, 50_000)
    assert not small_enough(1e-5, 100_000)


def test_checks_import_nothing_heavy():
    code = "import sys; import components.dp.checks; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
