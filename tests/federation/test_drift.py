"""Distances, scores, who is flagged, and what is done about it."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pydantic import ValidationError
from scipy import stats

from components.federation.drift.check import Checked, check
from components.federation.drift.declarations import Drift
from components.federation.drift.distances import CEILING, Metric, distances
from components.federation.drift.scoring import UNLIKELY, beyond_noise, powerless, scores, threshold
from components.federation.drift.table import COLUMNS, table
from components.federation.layout import Layout

LAYOUT = Layout(("hidden.weight", "hidden.bias", "out.weight"), ((2, 3), (3,), (3, 1)))
METRICS: list[Metric] = ["layerwise", "flat", "plain"]


def clients(number: int) -> list[str]:
    return [f"c{position}" for position in range(number)]


def honest(number: int, seed: int = 0, size: int = LAYOUT.size) -> np.ndarray:
    draw = np.random.default_rng(seed)
    return draw.normal(size=size) + draw.normal(0, 0.05, (number, size))


def with_outlier(number: int = 10) -> np.ndarray:
    sets = honest(number)
    sets[0] *= -1
    return sets


def norm(some: np.ndarray) -> float:
    return float(np.sqrt((some**2).sum()))


def by_the_formula(a: np.ndarray, b: np.ndarray, metric: Metric) -> float:
    if metric == "plain":
        return norm(a - b)
    if metric == "flat":
        return norm(a - b) / norm(a + b)
    layers = zip(LAYOUT.arrays(a), LAYOUT.arrays(b), strict=True)
    return float(np.sqrt(sum((norm(x - y) / norm(x + y)) ** 2 for x, y in layers)))


@pytest.mark.parametrize("metric", METRICS)
def test_distances_are_those_of_the_formulas(metric: Metric) -> None:
    sets = np.random.default_rng(0).normal(size=(6, LAYOUT.size))
    found = distances(sets, LAYOUT, metric)
    for i in range(6):
        for j in range(6):
            assert found[i, j] == pytest.approx(by_the_formula(sets[i], sets[j], metric) if i != j else 0, rel=1e-9)


@pytest.mark.parametrize("metric", METRICS)
def test_close_sets_keep_their_digits_beside_one_that_is_far_off(metric: Metric) -> None:
    sets = 1e3 + 1e-6 * np.random.default_rng(0).normal(size=(5, LAYOUT.size))
    sets[4] = 1e140
    found = distances(sets, LAYOUT, metric)
    for i, j in ((0, 1), (1, 2), (2, 3)):
        assert found[i, j] == pytest.approx(by_the_formula(sets[i], sets[j], metric), rel=1e-6)


@pytest.mark.parametrize("metric", ["layerwise", "flat"])
def test_zero_sums_are_a_defined_distance(metric: Metric) -> None:
    zero, one = np.zeros(LAYOUT.size), np.ones(LAYOUT.size)
    found = distances(np.array([zero, zero, one, -one]), LAYOUT, metric)
    assert found[0, 1] == 0
    assert found[0, 2] == pytest.approx(1 if metric == "flat" else np.sqrt(3))
    assert found[2, 3] == pytest.approx(CEILING * (1 if metric == "flat" else np.sqrt(3)))


@pytest.mark.parametrize("metric", METRICS)
@given(sets=arrays(np.float64, st.tuples(st.integers(0, 7), st.just(12)), elements=st.floats(-1e6, 1e6)))
@settings(max_examples=40, deadline=None)
def test_distances_are_symmetric_finite_and_not_negative(metric: Metric, sets: np.ndarray) -> None:
    for noise in (None, np.full(len(sets), 0.5)):
        found = distances(sets, LAYOUT, metric, noise)
        assert np.isfinite(found).all()
        assert (found >= 0).all()
        assert np.array_equal(found, found.T)
        assert not np.diagonal(found).any()


@pytest.mark.parametrize("metric", METRICS)
def test_known_noise_is_taken_off_the_distances(metric: Metric) -> None:
    layout = Layout(("a", "b"), ((15_000,), (5_000,)))
    draw = np.random.default_rng(0)
    clean = draw.normal(size=layout.size) + draw.normal(0, 1, (6, layout.size))
    noise = np.array([0.1, 0.5, 1.0, 1.5, 2.0, 2.5])
    noisy = clean + noise[:, None] * draw.normal(size=clean.shape)
    pairs = np.triu_indices(6, 1)
    truth = distances(clean, layout, metric)[pairs]
    np.testing.assert_allclose(distances(noisy, layout, metric, noise)[pairs], truth, rtol=0.1)
    assert (distances(noisy, layout, metric)[pairs] / truth).max() > 1.4


def test_scores_are_over_the_others_alone() -> None:
    between = np.array([[0.0, 1, 2, 6], [1, 0, 3, 5], [2, 3, 0, 4], [6, 5, 4, 0]])
    assert scores(between, "mean").tolist() == [3, 3, 3, 5]
    assert scores(between, "median").tolist() == [2, 3, 3, 5]
    assert scores(np.zeros((1, 1)), "mean").tolist() == [0]
    assert scores(np.zeros((0, 0)), "median").tolist() == []


def test_the_threshold_is_the_rules() -> None:
    scored = np.array([1.0, 1.1, 1.2, 1.3, 9.0])
    assert threshold(scored, 4, 1) == pytest.approx(1.2 + 4 * 1.4826 * 0.1)
    assert threshold(scored, 4, 2) == pytest.approx(2.4)
    assert threshold(np.zeros(0), 4, 2) == 0


def test_a_client_that_outweighs_all_others_is_flagged_however_unlike_they_are() -> None:
    random = np.random.default_rng(5)
    sets = 1.0 + random.normal(size=(10, 12)) * 0.6
    sets[3] *= 100
    found = check(Drift(), LAYOUT, clients(10), sets)
    middle = np.median(found.scores)
    assert Drift().ratio * middle > found.scores[3] > 0.9  # as many times the median as that no score can be
    assert found.excluded.tolist() == [place == 3 for place in range(10)]
    layers = check(Drift(metric="layerwise"), LAYOUT, clients(10), sets)
    assert layers.excluded.tolist() == [place == 3 for place in range(10)]


def test_scores_that_differ_by_rounding_alone_are_not_over_the_threshold() -> None:
    scored = np.array([*[0.1 + 0.2] * 6, 0.3, np.nextafter(0.1 + 0.2, 1)])
    assert scored.max() <= threshold(scored, 4, 1)


@pytest.mark.parametrize("metric", METRICS)
def test_a_client_that_stands_apart_is_flagged_and_left_out(metric: Metric) -> None:
    found = check(Drift(metric=metric), LAYOUT, clients(10), with_outlier())
    assert found.flagged.tolist() == [True, *[False] * 9]
    assert found.excluded.tolist() == [True, *[False] * 9]
    assert found.factors.tolist() == [0, *[1] * 9]
    assert found.scores[0] > found.threshold > found.scores[1:].max()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("number", [0, 1, 2, 3, 10])
@pytest.mark.parametrize("score", ["mean", "median"])
def test_equal_clients_are_not_flagged_however_few(metric: Metric, number: int, score: str) -> None:
    sets = np.tile(np.linspace(0.1, 1, LAYOUT.size), (number, 1))
    params = Drift.model_validate({"metric": metric, "score": score, "ratio": 1.0})
    found = check(params, LAYOUT, clients(number), sets)
    assert not found.flagged.any()
    assert found.factors.tolist() == [1] * number


@pytest.mark.parametrize("metric", METRICS)
def test_of_two_clients_neither_is_flagged(metric: Metric) -> None:
    sets = np.stack([np.ones(LAYOUT.size), -50 * np.ones(LAYOUT.size)])
    assert not check(Drift(metric=metric, ratio=1.0), LAYOUT, clients(2), sets).flagged.any()


def test_of_three_clients_one_may_be_flagged_and_none_is_left_out() -> None:
    sets = with_outlier(3)
    found = check(Drift(metric="plain", ratio=1.0), LAYOUT, clients(3), sets)
    assert found.flagged.tolist() == [True, False, False]
    assert not found.excluded.any()


def test_one_client_apart_from_equal_ones_is_flagged_though_they_do_not_spread() -> None:
    sets = np.tile(np.ones(LAYOUT.size), (9, 1))
    sets[4] = 3
    assert np.flatnonzero(check(Drift(), LAYOUT, clients(9), sets).flagged).tolist() == [4]


@given(order=st.permutations(range(10)))
@settings(max_examples=20, deadline=None)
def test_the_order_of_clients_changes_nothing(order: list[int]) -> None:
    sets = with_outlier()
    there = check(Drift(), LAYOUT, clients(10), sets)
    back = check(Drift(), LAYOUT, [f"c{position}" for position in order], sets[order])
    np.testing.assert_allclose(back.scores, there.scores[order], rtol=1e-9)
    assert np.array_equal(back.excluded, there.excluded[order])


def test_weights_that_are_larger_throughout_are_flagged_as_the_smaller_ones_are_by_the_ratios() -> None:
    small, large = (check(Drift(), LAYOUT, clients(10), size * with_outlier()) for size in (1.0, 1e6))
    np.testing.assert_allclose(small.scores, large.scores, rtol=1e-9)


def test_nothing_is_done_before_a_client_was_flagged_often_enough_running() -> None:
    params = Drift(rounds=2)
    first = check(params, LAYOUT, clients(10), with_outlier())
    assert first.flagged[0]
    assert not first.excluded.any()
    again = check(params, LAYOUT, clients(10), with_outlier(), streaks=first.streaks)
    assert again.excluded.tolist() == [True, *[False] * 9]
    between = check(params, LAYOUT, clients(10), honest(10), streaks=first.streaks)
    assert between.streaks["c0"] == 0
    assert not check(params, LAYOUT, clients(10), with_outlier(), streaks=between.streaks).excluded.any()


def test_a_round_that_a_client_misses_neither_adds_to_its_streak_nor_ends_it() -> None:
    first = check(Drift(rounds=2), LAYOUT, clients(10), with_outlier())
    missed = check(Drift(rounds=2), LAYOUT, clients(10)[1:], honest(9), streaks=first.streaks)
    assert missed.streaks["c0"] == 1


def test_streaks_survive_a_checkpoint() -> None:
    streaks = check(Drift(), LAYOUT, clients(10), with_outlier()).streaks
    assert json.loads(json.dumps(streaks)) == streaks == {"c0": 1, **dict.fromkeys(clients(10)[1:], 0)}


def test_never_more_than_a_share_is_acted_on_and_it_is_those_furthest_out() -> None:
    sets = honest(20)
    sets[:4] *= np.array([[-1.0], [-4.0], [-2.0], [-3.0]])
    found = check(Drift(metric="plain", ratio=1.0, max_share=0.1), LAYOUT, clients(20), sets)
    assert found.flagged[:4].all()
    assert np.flatnonzero(found.excluded).tolist() == [1, 3]
    assert not check(Drift(metric="plain", ratio=1.0, max_share=0.0), LAYOUT, clients(20), sets).excluded.any()


def test_a_share_of_three_tenths_of_ten_is_three() -> None:
    sets = honest(10)
    sets[:4] *= -3
    sets[:4] += np.arange(4)[:, None]
    assert check(Drift(c=0.1, ratio=1.0), LAYOUT, clients(10), sets).excluded.sum() == 3


def test_equal_scores_are_acted_on_by_name() -> None:
    sets = np.tile(np.ones(LAYOUT.size), (10, 1))
    sets[[2, 7]] = 9.0
    found = check(Drift(max_share=0.1), LAYOUT, ["z", *clients(9)], sets)
    assert found.flagged.sum() == 2
    assert np.flatnonzero(found.excluded).tolist() == [2]


def test_down_weighting_and_reporting_leave_nobody_out() -> None:
    less = check(Drift(action="down_weight", weight=0.25), LAYOUT, clients(10), with_outlier())
    told = check(Drift(action="report"), LAYOUT, clients(10), with_outlier())
    assert less.factors.tolist() == [0.25, *[1] * 9]
    assert told.factors.tolist() == [1] * 10
    assert told.flagged[0]
    assert not (less.excluded | told.excluded).any()


def flagged_for_noise(*, corrected: bool, trials: int = 60) -> np.ndarray:
    """Return how often each of 10 clients is flagged that differ in their noise alone, one with six times as much."""
    layout = Layout(("w",), ((200,),))
    noise = np.array([0.05] * 9 + [0.3])
    draw = np.random.default_rng(0)
    flags = np.zeros(10)
    for _ in range(trials):
        sets = draw.normal(0, 0.3, 200) + noise[:, None] * draw.normal(size=(10, 200))
        flags += check(Drift(noise_correction=corrected), layout, clients(10), sets, noise=noise).flagged
    return flags / trials


def test_a_client_is_not_flagged_for_its_own_privacy_noise() -> None:
    assert flagged_for_noise(corrected=True).max() <= 0.05
    assert flagged_for_noise(corrected=False)[9] > 0.9


def test_scores_over_the_threshold_within_the_noise_are_told_apart() -> None:
    layout = Layout(("w",), ((200,),))
    noise = np.array([0.05] * 9 + [0.3])
    draw = np.random.default_rng(1)
    found = [
        check(
            Drift(),
            layout,
            clients(10),
            draw.normal(0, 0.05, 200) + noise[:, None] * draw.normal(size=(10, 200)),
            noise=noise,
        )
        for _ in range(20)
    ]
    assert any(each.within_noise[9] for each in found)
    for each in found:
        assert not (each.within_noise & each.flagged).any()
        assert np.array_equal(each.scores > each.threshold, each.within_noise | each.flagged)


@pytest.mark.parametrize("numbers", [1, 4, 30, 300])
@pytest.mark.parametrize(
    "noise", [[0.1] * 5, [0.1, 0.1, 0.2, 0.2, 0.4], [0.05] * 9 + [0.3]], ids=["alike", "by risk", "one"]
)
def test_noise_alone_is_called_more_than_noise_as_seldom_as_it_says(numbers: int, noise: list[float]) -> None:
    known, draw, trials = np.array(noise), np.random.default_rng(numbers), 1500
    same = draw.normal(size=numbers)
    found = np.zeros(len(known))
    for _ in range(trials):
        found += beyond_noise(same + known[:, None] * draw.normal(size=(len(known), numbers)), known, "mean")
    allowed = stats.binom.ppf(1 - 1e-4, trials, stats.norm.sf(UNLIKELY))  # of a client, a chance of .00135
    assert found.max() <= allowed


@pytest.mark.parametrize("numbers", [4, 300])
def test_what_noise_could_not_have_done_is_seen_through_it(numbers: int) -> None:
    known, draw = np.full(10, 0.1), np.random.default_rng(0)
    apart = np.zeros((10, numbers))
    apart[9, 0] = 1.6
    seen = [beyond_noise(apart + 0.1 * draw.normal(size=apart.shape), known, "mean") for _ in range(100)]
    assert np.mean(seen, axis=0)[9] == 1
    assert np.mean(seen, axis=0)[:9].max() <= 0.03


def test_a_layer_of_few_numbers_is_no_reason_to_flag_whom_noise_moved() -> None:
    layout, draw = Layout(("w", "b"), ((200,), (1,))), np.random.default_rng(2)
    noise, same = np.array([0.1] * 4 + [0.3]), draw.normal(0, 0.3, 201)
    flagged = sum(
        check(
            Drift(metric="layerwise"),
            layout,
            clients(5),
            same + noise[:, None] * draw.normal(size=(5, 201)),
            noise=noise,
        ).flagged
        for _ in range(400)
    )
    assert flagged.max() <= 4


def test_noise_hides_all_that_a_clipped_update_can_do_or_it_does_not() -> None:
    # Of 20 numbers at 4 times the clip, the noise's energy is 320 clips squared, and opposite updates lie 4 apart.
    assert powerless(np.full(10, 4.0), 20, 1.0)
    assert not powerless(np.full(10, 0.1), 20, 1.0)
    assert not powerless(np.array([0.1] * 9 + [4.0]), 20, 1.0)  # those that add little can be seen
    assert not powerless(np.array([0.0] + [4.0] * 9), 20, 1.0)  # and one that adds none is no matter of noise
    assert not powerless(np.full(2, 4.0), 20, 1.0)


def test_weights_that_are_not_finite_or_not_one_row_a_client_are_refused() -> None:
    sets = honest(3)
    with pytest.raises(ValueError, match="finite"):
        check(Drift(), LAYOUT, clients(2), sets)
    sets[1, 1] = np.nan
    with pytest.raises(ValueError, match="finite"):
        check(Drift(), LAYOUT, clients(3), sets)


def test_the_callers_arrays_are_left_as_they_are() -> None:
    sets, noise, streaks = with_outlier(), np.full(10, 0.01), {"c0": 3}
    before = sets.copy()
    check(Drift(), LAYOUT, clients(10), sets, noise=noise, streaks=streaks)
    assert np.array_equal(sets, before)
    assert streaks == {"c0": 3}


@pytest.mark.parametrize(
    "wrong",
    [{"metric": "cosine"}, {"c": 0.0}, {"ratio": 0.5}, {"rounds": 0}, {"max_share": 1.0}, {"weight": 1.0}, {"most": 1}],
)
def test_impossible_parameters_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Drift.model_validate(wrong)


def two_rounds() -> list[tuple[int, Checked]]:
    first = check(Drift(rounds=2), LAYOUT, clients(10), with_outlier())
    return [(1, first), (2, check(Drift(rounds=2), LAYOUT, clients(10), with_outlier(), streaks=first.streaks))]


def test_the_table_has_a_row_a_round_and_client() -> None:
    found = table(two_rounds())
    assert tuple(found.columns) == COLUMNS == tuple(table([]).columns)
    assert len(found) == 20
    assert len(table([])) == 0
    assert found.loc[found["flagged"], ["round", "client", "excluded", "weight"]].to_numpy().tolist() == [
        [1, "c0", False, 1.0],
        [2, "c0", True, 0.0],
    ]
