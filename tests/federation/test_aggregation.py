"""What the rules of aggregation promise, whoever sends what."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pydantic import TypeAdapter, ValidationError
from scipy.spatial.distance import cdist
from scipy.stats import trim_mean

from components.federation.aggregation.checks import faults, least_clients
from components.federation.aggregation.declarations import (
    Aggregation,
    Krum,
    Mean,
    Median,
    MultiKrum,
    Rule,
    TrimmedMean,
)
from components.federation.aggregation.rules import krum_chosen, krum_scores, norm_bounded, trimmed_mean
from components.federation.aggregation.server import aggregate, usable
from components.federation.aggregation.weights import client_weights
from components.federation.drift.declarations import Drift
from schemas.faults import ConfigurationError

RULES: list[Rule] = [Mean(), Median(), TrimmedMean(), TrimmedMean(share=0.3), Krum(), MultiKrum(), MultiKrum(keep=2)]
NUMBERS = st.floats(-1e3, 1e3, width=32)


def named(rule: Rule) -> str:
    return rule.name


def equal(clients: int) -> np.ndarray:
    return np.full(clients, 1 / clients)


def combined(rule: Rule, updates: np.ndarray, **more: object) -> np.ndarray:
    weights = equal(len(updates))
    return aggregate(Aggregation(rule=rule), np.zeros(updates.shape[1]), updates, weights, **more).update  # type: ignore[arg-type]


def spread(clients: int, size: int, seed: int, attackers: int = 0) -> np.ndarray:
    """Make updates of honest clients about one direction; the first `attackers` of them times -10."""
    draw = np.random.default_rng(seed)
    found = draw.normal(1, 0.1, size) + draw.normal(0, 0.1, (clients, size))
    found[:attackers] *= -10
    return found


@pytest.mark.parametrize("rule", RULES, ids=named)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_the_order_of_clients_changes_not_a_bit(rule: Rule, data: st.DataObject) -> None:
    updates = data.draw(arrays(np.float64, st.tuples(st.integers(5, 9), st.integers(1, 4)), elements=NUMBERS))
    order = data.draw(st.permutations(range(len(updates))))
    assert np.array_equal(combined(rule, updates), combined(rule, updates[order]))


@pytest.mark.parametrize("rule", RULES, ids=named)
@given(update=arrays(np.float64, st.integers(1, 4), elements=NUMBERS), clients=st.integers(5, 9))
@settings(max_examples=15, deadline=None)
def test_equal_updates_are_their_own_aggregate(rule: Rule, update: np.ndarray, clients: int) -> None:
    np.testing.assert_allclose(combined(rule, np.tile(update, (clients, 1))), update, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("rule", RULES, ids=named)
@given(updates=arrays(np.float64, (6, 3), elements=NUMBERS))
@settings(max_examples=15, deadline=None)
def test_an_aggregate_lies_within_what_came(rule: Rule, updates: np.ndarray) -> None:
    found = combined(rule, updates)
    room = 1e-9 * (1 + np.abs(updates).max())
    assert (found >= updates.min(0) - room).all()
    assert (found <= updates.max(0) + room).all()


@pytest.mark.parametrize(
    ("rule", "attackers"),
    [
        (Median(), 4),
        (TrimmedMean(), 1),
        (TrimmedMean(share=0.3), 3),
        (Krum(), 1),
        (Krum(byzantine=3), 3),
        (MultiKrum(), 1),
        (MultiKrum(byzantine=3), 3),
    ],
)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 40))
@settings(max_examples=25, deadline=None)
def test_clients_times_minus_ten_move_no_robust_aggregate_beyond_the_honest_hull(
    rule: Rule, attackers: int, seed: int, size: int
) -> None:
    updates = spread(10, size, seed, attackers)
    found, honest = combined(rule, updates), updates[attackers:]
    assert (found >= honest.min(0) - 1e-12).all()
    assert (found <= honest.max(0) + 1e-12).all()


@given(
    updates=arrays(np.float64, (9, 3), elements=NUMBERS), sent=arrays(np.float64, (4, 3), elements=st.floats(-1e9, 1e9))
)
@settings(max_examples=50, deadline=None)
def test_whatever_fewer_than_half_send_the_median_stays_in_the_honest_hull(
    updates: np.ndarray, sent: np.ndarray
) -> None:
    updates[:4] = sent
    found, honest = combined(Median(), updates), updates[4:]
    assert ((found >= honest.min(0)) & (found <= honest.max(0))).all()


def test_the_mean_is_moved_beyond_the_honest_hull_so_that_the_test_above_means_something() -> None:
    updates = spread(10, 40, 0, 1)
    assert (combined(Mean(), updates) < updates[1:].min(0)).any()


def test_krum_and_multi_krum_keep_honest_updates_as_they_are() -> None:
    updates = spread(10, 40, 1, 3)
    one = combined(Krum(byzantine=3), updates)
    assert (one == updates[3:]).all(axis=1).any()
    shares = aggregate(Aggregation(rule=MultiKrum(byzantine=3)), np.zeros(40), updates, equal(10)).shares
    assert shares[:3].tolist() == [0, 0, 0]
    assert sorted(shares[3:]) == pytest.approx([0, 0, *[1 / 5] * 5])


def test_krum_scores_are_those_of_the_definition() -> None:
    updates = np.random.default_rng(0).normal(size=(11, 7)) + 1e7
    squares = np.sort(cdist(updates, updates, "sqeuclidean"), axis=1)[:, 1:]
    np.testing.assert_allclose(krum_scores(updates, 2), squares[:, : 11 - 2 - 2].sum(1), rtol=1e-6)


def test_krum_tells_honest_updates_apart_beside_one_that_is_huge() -> None:
    updates = spread(7, 5, 3)
    alone = krum_chosen(updates[1:], 1, 1) + 1
    updates[0] = 1e140
    assert krum_chosen(updates, 2, 1) == krum_chosen(updates[1:], 1, 1) + 1 == alone


def test_trimmed_mean_is_scipys_where_the_cut_is_whole() -> None:
    updates = np.random.default_rng(0).normal(size=(10, 6))
    for share in (0.1, 0.2, 0.3, 0.4):
        np.testing.assert_allclose(trimmed_mean(updates, share), trim_mean(updates, share, axis=0))


@pytest.mark.parametrize("clients", [1, 2, 3, 4])
def test_trimmed_mean_trims_small_rounds_as_far_as_one_or_two_are_left(clients: int) -> None:
    updates = np.arange(clients, dtype=np.float64)[:, None] ** 3
    np.testing.assert_allclose(trimmed_mean(updates, 0.1), np.median(updates, axis=0))


@given(updates=arrays(np.float64, (5, 3), elements=NUMBERS), bound=st.floats(0.01, 1e4))
@settings(max_examples=50, deadline=None)
def test_a_norm_bound_scales_down_what_is_over_it_and_nothing_else(updates: np.ndarray, bound: float) -> None:
    before = updates.copy()
    found = norm_bounded(updates, bound)
    assert (np.linalg.norm(found, axis=1) <= bound * (1 + 1e-12)).all()
    below = np.linalg.norm(updates, axis=1) <= bound
    assert np.array_equal(found[below], updates[below])
    assert np.array_equal(before, updates)


def test_a_norm_bound_stands_in_front_of_any_rule() -> None:
    updates = spread(10, 40, 0, 1)
    found = aggregate(Aggregation(norm_bound=1.0), np.zeros(40), updates, equal(10)).update
    np.testing.assert_allclose(found, norm_bounded(updates, 1.0).mean(0))
    assert (
        np.linalg.norm(aggregate(Aggregation(rule=Krum(), norm_bound=1.0), np.zeros(40), updates, equal(10)).update)
        < 1.001
    )


def test_the_servers_step_follows_its_learning_rate() -> None:
    start, updates = np.array([1.0, 2.0]), np.array([[1.0, 0.0], [3.0, 2.0]])
    step = aggregate(Aggregation(learning_rate=0.5), start, updates, equal(2))
    assert step.update.tolist() == [2, 1]
    assert step.weights.tolist() == [2, 2.5]
    assert start.tolist() == [1, 2]


def test_weights_are_equal_by_rows_or_fixed_and_sum_to_one() -> None:
    rows = {"a": 100, "b": 300, "c": 0}
    assert client_weights(Mean(), rows) == pytest.approx({"a": 1 / 3, "b": 1 / 3, "c": 1 / 3})
    assert client_weights(Mean(weights="rows"), rows) == {"a": 0.25, "b": 0.75, "c": 0}
    fixed = Mean(weights="fixed", fixed={"b": 1, "a": 2, "c": 1})
    assert client_weights(fixed, rows) == {"a": 0.5, "b": 0.25, "c": 0.25}
    assert client_weights(Mean(), {}) == {}


def test_one_client_moves_a_weighted_mean_by_its_weight_times_the_clip() -> None:
    weights = np.array([0.5, 0.25, 0.25])
    updates = norm_bounded(np.random.default_rng(0).normal(size=(3, 4)) * 9, 2.0)
    whole = aggregate(Aggregation(), np.zeros(4), updates, weights, fixed_divisor=True).update
    for absent in range(3):
        there = np.arange(3) != absent
        less = aggregate(Aggregation(), np.zeros(4), updates[there], weights[there], fixed_divisor=True).update
        assert np.linalg.norm(whole - less) == pytest.approx(weights[absent] * 2.0)


def test_a_realised_divisor_moves_more_than_the_weight_says() -> None:
    weights, updates = np.array([0.5, 0.25, 0.25]), np.diag([2.0, 2.0, 2.0])
    whole = aggregate(Aggregation(), np.zeros(3), updates, weights).update
    less = aggregate(Aggregation(), np.zeros(3), updates[1:], weights[1:]).update
    assert np.linalg.norm(whole - less) > weights.max() * 2.0


def test_faults_of_fixed_weights_are_told_together() -> None:
    fixed = Mean(weights="fixed", fixed={"a": 1.0, "x": 1.0})
    with pytest.raises(ConfigurationError) as told:
        client_weights(fixed, {"a": 1, "b": 1})
    assert [str(fault) for fault in told.value.faults] == [
        "federation.aggregation.rule.fixed: no weight for 'b'; give every client one",
        "federation.aggregation.rule.fixed: no such client: 'x'; one of 'a', 'b'; correct the name",
    ]
    with pytest.raises(ConfigurationError, match="no client has a training row"):
        client_weights(Mean(weights="rows"), {"a": 0})


def test_all_that_a_configuration_cannot_mean_is_told_together() -> None:
    down = Drift(action="down_weight")
    told = faults(Aggregation(rule=Krum(byzantine=4)), down, ["a", "b"])
    first, second = map(str, told)
    assert first.startswith("federation.aggregation.rule.name: krum needs 11 clients and there are 2; lower byzantine")
    assert second.startswith("federation.drift.action: down_weight, and the rule krum can't give a client less weight;")
    assert "allowed with it: exclude, report" in second
    assert len(faults(Aggregation(rule=Mean(weights="fixed", fixed={"x": 1.0})), down, ["a"])) == 2
    assert faults(Aggregation(), down, ["a", "b"]) == []
    assert faults(Aggregation(rule=Median()), Drift(), ["a"]) == []
    assert faults(Aggregation(rule=Krum()), None, list("abcde")) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "mean", "weights": "fixed"},
        {"name": "mean", "fixed": {"a": 1.0}},
        {"name": "mean", "weights": "fixed", "fixed": {"a": 0.0}},
        {"name": "trimmed_mean", "share": 0.5},
        {"name": "krum", "byzantine": -1},
        {"name": "multi_krum", "keep": 0},
        {"name": "median", "share": 0.1},
        {"name": "average"},
    ],
)
def test_impossible_parameters_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Rule).validate_python(wrong)


def test_clients_left_out_leave_the_others_their_weights() -> None:
    updates = np.array([[1.0], [2.0], [9.0]])
    weights = np.array([0.5, 0.25, 0.25])
    step = aggregate(Aggregation(), np.zeros(1), updates, weights, factors=np.array([1.0, 1.0, 0.0]))
    assert step.shares == pytest.approx([2 / 3, 1 / 3, 0])
    assert step.update == pytest.approx([4 / 3])
    fixed = aggregate(
        Aggregation(), np.zeros(1), updates, weights, factors=np.array([1.0, 1.0, 0.0]), fixed_divisor=True
    )
    assert fixed.update == pytest.approx([1.0])
    assert combined(Median(), updates, factors=np.array([1.0, 1.0, 0.0])).tolist() == [1.5]


def test_down_weighting_goes_with_the_mean_alone() -> None:
    updates, factors = np.array([[1.0], [5.0]]), np.array([1.0, 0.25])
    assert combined(Mean(), updates, factors=factors) == pytest.approx([1.8])
    with pytest.raises(ValueError, match="can't give it less weight"):
        combined(Median(), updates, factors=factors)


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_without_clients_the_global_weights_stay_and_it_says_so(rule: Rule) -> None:
    start = np.array([1.0, -2.0])
    none = aggregate(Aggregation(rule=rule), start, np.zeros((0, 2)), np.zeros(0))
    out = aggregate(Aggregation(rule=rule), start, np.ones((6, 2)), equal(6), factors=np.zeros(6))
    assert np.array_equal(none.weights, start)
    assert np.array_equal(out.weights, start)
    assert none.stayed == "no client came"
    assert out.stayed == "every client was left out"
    assert out.shares.tolist() == [0] * 6


def test_clients_without_weight_leave_the_global_weights_as_they_are() -> None:
    step = aggregate(Aggregation(), np.ones(1), np.ones((1, 1)), np.zeros(1))
    assert step.stayed == "no client that is left has any weight"
    assert step.weights.tolist() == [1]


@pytest.mark.parametrize(("rule", "needed"), [(Krum(byzantine=2), 7), (MultiKrum(keep=6), 7), (MultiKrum(), 5)])
def test_krum_with_too_few_clients_changes_nothing_and_says_so(rule: Rule, needed: int) -> None:
    assert least_clients(rule) == needed
    few = aggregate(Aggregation(rule=rule), np.zeros(2), np.ones((needed - 1, 2)), equal(needed - 1))
    assert few.stayed == f"{rule.name} needs {needed} clients, and {needed - 1} of those that came are left"
    assert not few.weights.any()
    assert combined(rule, np.ones((needed, 2))) == pytest.approx([1, 1])


@pytest.mark.parametrize("rule", [Mean(), Median(), TrimmedMean()], ids=named)
def test_a_single_client_is_followed(rule: Rule) -> None:
    assert combined(rule, np.array([[3.0, -1.0]])).tolist() == [3, -1]


def test_updates_that_cannot_be_reckoned_with_are_told_and_refused() -> None:
    updates = np.ones((5, 2))
    updates[1:, 0] = [np.nan, np.inf, -np.inf, 1e200]
    assert usable(updates).tolist() == [True, False, False, False, False]
    assert usable(np.zeros((0, 2))).tolist() == []
    for each in updates[1:]:
        with pytest.raises(ValueError, match="refused before"):
            combined(Mean(), each[None])


def test_large_updates_that_are_usable_overflow_nowhere() -> None:
    updates = np.array([[1e149], [-1e149], [1e149], [0.0], [1.0]])
    assert usable(updates).all()
    for rule in RULES:
        assert np.isfinite(combined(rule, updates)).all()
