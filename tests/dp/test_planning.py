"""The budget arithmetic of a run is known before anything is trained."""

import math

import numpy as np
import pytest

from components.dp.accountant import Accountant, Entry
from components.dp.declarations import (
    Adaptive,
    ByEpsilon,
    ByMax,
    ByMean,
    ByMinMax,
    ByShift,
    ByTiers,
    Global,
    Personalise,
    Personalized,
    Record,
    Tier,
)
from components.dp.planning import Training, planned
from components.dp.releases import Releases
from schemas.faults import DataError

TRAINING = Training(rounds=10, batch_size=64, epochs=1)
SIZES = {str(rows): rows for rows in (200, 350, 700, 1200, 2000, 3500, 5000, 8000, 12_000, 20_000)}


def test_ten_sites_of_different_rates_are_calibrated_to_one_epsilon():
    found = planned(Record(target_epsilon=3.0, personalise=None), SIZES, TRAINING)
    for client, each in found.items():
        assert each.epsilon.value <= 3
        assert each.epsilon.value == pytest.approx(3.0, abs=1e-3)
        assert each.epsilon.value <= each.epsilon.check <= 1.4 * each.epsilon.value
        assert each.per_round[0].rate == min(64 / SIZES[client], 1)
        assert each.rounds == 10
    assert found["200"].multiplier > found["20000"].multiplier


def test_noise_at_the_server_by_multiplier():
    found = planned(Global(multiplier=4.0, target_epsilon=None, relation="zero_out"), {"A": 10, "B": 20}, TRAINING)
    assert found["A"] == found["B"]
    assert found["A"].per_round == (Releases(4.0),)
    assert found["A"].epsilon.value == pytest.approx(3.34141, abs=1e-5)


def test_another_table_is_what_local_noise_is_accounted_for_by_default():
    how = Personalized(multiplier=4.0, target_epsilon=None)
    found = planned(how, {"A": 10, "B": 20}, TRAINING, risks={"A": 0.08, "B": 0.04})
    assert found["A"].epsilon.value == pytest.approx(7.51128, abs=1e-5)
    assert (found["A"].multiplier, found["B"].multiplier) == (4.0, 2.0)
    assert found["B"].epsilon.value > found["A"].epsilon.value
    assert found["A"].basis == "data-derived"


@pytest.mark.parametrize("how", [ByMax(), ByMean(), ByMinMax(floor=0.1), ByShift()])
@pytest.mark.parametrize("rows", [{"A": 900, "B": 900, "C": 900}, {"A": 5000, "B": 900, "C": 200}])
def test_nobody_exceeds_the_target_whose_noise_follows_risk(how: Personalise, rows: dict[str, int]) -> None:
    risks = {"A": 0.08, "B": 0.06, "C": 0.04}
    found = planned(Record(personalise=how), rows, TRAINING, risks)
    epsilons = {client: each.epsilon.value for client, each in found.items()}
    assert max(epsilons.values()) == pytest.approx(3.0, abs=2e-3)
    if len(set(rows.values())) == 1:
        assert epsilons["A"] < epsilons["B"] <= epsilons["C"]


def test_multipliers_stand_in_the_ratios_of_the_risks() -> None:
    found = planned(Personalized(personalise=ByMax()), {"A": 10, "B": 20}, TRAINING, risks={"A": 0.08, "B": 0.04})
    assert found["A"].multiplier == pytest.approx(2 * (found["B"].multiplier or 0))
    assert found["B"].epsilon.value == pytest.approx(3.0, abs=1e-6)


def test_a_floor_is_a_multiplier_and_not_a_share_of_one():
    how = Personalized(multiplier=8.0, target_epsilon=None, personalise=ByMinMax(floor=0.5))
    found = planned(how, {"A": 10, "B": 20}, TRAINING, risks={"A": 0.08, "B": 0.04})
    assert (found["A"].multiplier, found["B"].multiplier) == (8.0, 0.5)


def test_policies_calibrate_each_client():
    how = ByTiers(tiers=[Tier(up_to=0.05, target_epsilon=3.0), Tier(up_to=1.0, target_epsilon=1.0)])
    found = planned(Record(target_epsilon=None, personalise=how), {"A": 900, "B": 900}, TRAINING, {"A": 0.1, "B": 0.04})
    assert [each.epsilon.value for each in found.values()] == pytest.approx([1.0, 3.0], abs=1e-3)
    assert [each.band for each in found.values()] == [1, 0]
    by_name = Record(target_epsilon=None, personalise=ByEpsilon(default=2.0, clients={"B": 0.5}))
    found = planned(by_name, {"A": 900, "B": 900}, TRAINING)
    assert [each.epsilon.value for each in found.values()] == pytest.approx([2.0, 0.5], abs=1e-3)
    assert {each.basis for each in found.values()} == {"policy"}


def test_an_adaptive_clips_votes_are_within_the_target():
    found = planned(Global(clipping=Adaptive(vote_noise=3.0)), {"A": 10}, TRAINING)["A"]
    updates, votes = found.per_round
    assert votes.multiplier == pytest.approx(3 * updates.multiplier)
    assert found.epsilon.value == pytest.approx(3.0, abs=1e-6)


def test_a_smaller_public_weight_is_better_protected():
    how = Global(multiplier=2.0, target_epsilon=None, relation="zero_out")
    weights = {"A": 0.5, "B": 0.25, "C": 0.25}
    found = planned(how, {"A": 2, "B": 1, "C": 1}, TRAINING, weights=weights)
    assert found["A"].epsilon.value == pytest.approx(7.51128, abs=1e-5)
    assert found["B"].epsilon.value == pytest.approx(3.34141, abs=1e-5)
    assert planned(how, {"A": 2, "B": 1}, TRAINING, weights={"A": 1, "B": 0})["B"].epsilon.value == 0
    calibrated = planned(Global(), {"A": 2, "B": 1, "C": 1}, TRAINING, weights=weights)
    assert calibrated["A"].multiplier == calibrated["B"].multiplier
    assert calibrated["B"].epsilon.value < calibrated["A"].epsilon.value == pytest.approx(3.0, abs=1e-6)


@pytest.mark.parametrize(
    "how",
    [
        Record(multiplier=1.0, target_epsilon=None, budget=1.0, personalise=None),
        Record(target_epsilon=1.0, personalise=None),
    ],
)
def test_the_plan_is_what_the_accounts_come_to(how: Record):
    found = planned(how, {"A": 1000}, TRAINING)["A"]
    account = Accountant("A", how.delta, how.budget)
    for number in range(1, TRAINING.rounds + 1):
        if account.may_contribute(*found.per_round):
            account.record([Entry(number, "gradients", how.clip, each) for each in found.per_round])
    assert account.participations == found.rounds
    assert account.epsilon(check=True) == found.epsilon
    assert found.epsilon.value <= 1.0


def test_a_budget_spent_in_the_first_round_leaves_none():
    found = planned(Record(multiplier=0.5, target_epsilon=None, budget=0.01, personalise=None), {"A": 1000}, TRAINING)[
        "A"
    ]
    assert (found.rounds, found.epsilon.value) == (0, 0)


def test_paper_mode_has_no_finite_epsilon():
    how = Personalized(paper=True, multiplier=0.15, target_epsilon=None)
    found = planned(how, {"A": 10, "B": 20}, TRAINING, risks={"A": 0.08, "B": 0.04})
    assert [each.multiplier for each in found.values()] == pytest.approx([0.15, 0.075])
    assert {each.epsilon.value for each in found.values()} == {math.inf}


@pytest.mark.parametrize("privacy", [Record(personalise=None), Record(), Global()])
def test_without_rows_or_rounds_nothing_is_spent(privacy: Record | Global):
    risks = {"A": 0.1}
    assert planned(privacy, {"A": 100}, Training(0, 64, 1), risks)["A"].epsilon.value == 0
    if isinstance(privacy, Record):
        found = planned(privacy, {"A": 0}, TRAINING, risks)["A"]
        assert (found.per_round, found.epsilon.value) == ((), 0)


def test_a_risk_that_is_asked_for_has_to_be_known():
    with pytest.raises(DataError, match="no risk is known of 'B'"):
        planned(Personalized(), {"A": 10, "B": 20}, TRAINING, risks={"A": 0.08})


def test_noise_by_risk_is_never_a_bit_less_than_a_client_needs():
    # (needed / ratio) * ratio may fall short of needed by a rounding, and an epsilon that was promised with it.
    training, by_risk = Training(5, 64, 1), Personalized(target_epsilon=1.0, personalise=ByMax())
    alike = by_risk.model_copy(update={"personalise": None})
    needed = planned(alike, {"a": 100}, training)["a"].multiplier
    assert needed is not None
    ratios = np.random.default_rng(0).uniform(0.1, 1.0, 10_000)
    ratio = float(ratios[(needed / ratios) * ratios < needed][0])
    found = planned(by_risk, {"a": 100, "b": 100}, training, {"a": ratio, "b": 1.0})
    assert (found["a"].multiplier or 0.0) >= needed
