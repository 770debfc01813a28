"""Each client's noise follows its risk as was declared, and says whether it was a policy."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.dp.declarations import ByEpsilon, ByMax, ByMean, ByMinMax, ByShift, ByTiers, Personalise, Tier
from components.dp.personalising import everyone_alike, personalised
from schemas.faults import DataError

RISKS = {"a": 0.04, "b": 0.06, "c": 0.08}
BY_RISK: list[Personalise] = [ByMax(), ByMean(), ByMinMax(floor=0.5), ByShift()]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (ByMax(), [1.0, 1.5, 2.0]),
        (ByMean(), [4 / 3, 2.0, 8 / 3]),
        (ByMinMax(floor=0.5), [0.5, 1.0, 2.0]),
        (ByShift(), [2.0, 3.0, 4.0]),
    ],
)
def test_multipliers_by_risk(how: Personalise, expected: list[float]):
    found = personalised(how, RISKS, dict.fromkeys(RISKS, 2.0))
    assert list(found) == ["a", "b", "c"]
    assert [each.multiplier for each in found.values()] == pytest.approx(expected)
    assert {each.basis for each in found.values()} == {"data-derived"}


def test_the_mean_is_that_of_all_risks_and_everyone_has_its_own_multiplier():
    multipliers = {"c": 3.0, "b": 2.0, "a": 1.0}
    found = personalised(ByMean(), {"a": 0.02, "b": 0.02, "c": 0.08}, multipliers)
    assert [each.multiplier for each in found.values()] == pytest.approx([0.5, 1.0, 6.0])


@pytest.mark.parametrize(
    ("how", "expected"), [(ByMax(), 2.0), (ByMean(), 2.0), (ByMinMax(floor=0.5), 2.0), (ByShift(), 4.0)]
)
def test_equal_risks_count_as_the_largest(how: Personalise, expected: float):
    found = personalised(how, dict.fromkeys(RISKS, 0.05), dict.fromkeys(RISKS, 2.0))
    assert [each.multiplier for each in found.values()] == pytest.approx([expected] * 3)


@given(
    st.sampled_from(BY_RISK),
    st.dictionaries(st.text(min_size=1, max_size=3), st.floats(1e-4, 1), min_size=1, max_size=8),
    st.floats(0.1, 50),
)
def test_everyone_has_noise_and_more_risk_never_means_less(
    how: Personalise, risks: dict[str, float], multiplier: float
):
    found = personalised(how, risks, dict.fromkeys(risks, multiplier))
    ranked = [found[client].multiplier or 0.0 for client in sorted(risks, key=risks.__getitem__)]
    assert ranked[0] > 0
    assert all(low <= high * (1 + 1e-12) for low, high in pairwise(ranked))


def test_tiers_are_a_policy_whose_band_the_noise_shows():
    how = ByTiers(tiers=[Tier(up_to=0.05, target_epsilon=3.0), Tier(up_to=1.0, multiplier=6.0)])
    found = personalised(how, {**RISKS, "edge": 0.05})
    assert (found["a"].target_epsilon, found["a"].multiplier, found["a"].band) == (3.0, None, 0)
    assert (found["c"].target_epsilon, found["c"].multiplier, found["c"].band) == (None, 6.0, 1)
    assert found["edge"].band == 0
    assert {each.basis for each in found.values()} == {"policy"}


def test_a_target_epsilon_is_a_policy_that_looks_at_no_risk():
    found = personalised(ByEpsilon(default=3.0, clients={"b": 0.5}), {"a": float("nan"), "b": 0.06})
    assert [each.target_epsilon for each in found.values()] == [3.0, 0.5]
    assert {each.basis for each in found.values()} == {"policy"}


@pytest.mark.parametrize("risk", [0.0, -0.1, 1.1, float("nan")])
def test_what_is_no_risk_is_refused_by_its_clients_name(risk: float):
    with pytest.raises(DataError, match="no risk is known of 'b'"):
        personalised(ByMax(), {"a": 0.04, "b": risk}, {"a": 1.0, "b": 1.0})


def test_without_clients_there_is_nothing_to_personalise():
    with pytest.raises(DataError, match="there are no clients"):
        personalised(ByMean(), {}, {})
    with pytest.raises(ValueError, match="multiplier"):
        personalised(ByMax(), RISKS)


def test_everyone_alike_is_a_policy():
    found = everyone_alike(["a", "b"], None, 3.0)
    assert {(each.multiplier, each.target_epsilon, each.basis) for each in found.values()} == {(None, 3.0, "policy")}
