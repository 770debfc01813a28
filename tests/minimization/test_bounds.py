"""What can be said of fresh rows: bounds, the fewest rows, and the margin that a search keeps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from components.minimization import bounds


@pytest.mark.parametrize(("target", "rows"), [(0.998, 1497), (0.99, 299), (0.95, 59)])
def test_least_rows_that_can_show_a_target(target: float, rows: int) -> None:
    assert bounds.least_rows(target) == rows
    assert bounds.lower_bound(rows, rows) >= target
    assert bounds.lower_bound(rows - 1, rows - 1) < target
    assert bounds.most_disagreeing(rows, target) == 0
    assert bounds.most_disagreeing(rows - 1, target) == -1


@settings(deadline=None, max_examples=50)
@given(rows=st.integers(1, 400), data=st.data())
def test_bounds_solve_the_equation_of_clopper_and_pearson(rows: int, data: st.DataObject) -> None:
    """At the lower bound, seeing so many hits or more has a chance of 5 %; at the upper one so many or fewer."""
    hits = data.draw(st.integers(0, rows))
    low, high = bounds.lower_bound(hits, rows), bounds.upper_bound(hits, rows)
    assert 0 <= low <= hits / rows <= high <= 1
    assert low == 0 if hits == 0 else binom.sf(hits - 1, rows, low) == pytest.approx(0.05)
    assert high == 1 if hits == rows else binom.cdf(hits, rows, high) == pytest.approx(0.05)
    assert bounds.upper_bound(rows - hits, rows) == pytest.approx(1 - low)


@settings(deadline=None, max_examples=50)
@given(rows=st.integers(1, 3000), target=st.sampled_from([0.9, 0.95, 0.99, 0.998]))
def test_one_more_disagreeing_row_than_may_be_misses_the_target(rows: int, target: float) -> None:
    most = bounds.most_disagreeing(rows, target)
    assert most < 0 or bounds.lower_bound(rows - most, rows) >= target
    assert bounds.lower_bound(rows - most - 1, rows) < target


@pytest.mark.parametrize("target", [0.95, 0.99])
def test_where_a_search_just_may_stop_the_verdict_confirms_it_19_times_of_20(target: float) -> None:
    """Shares are uniform about the target; what is looked at is the last count of calibration rows that is assured."""
    random = np.random.default_rng(5)
    share = random.uniform(2 * target - 1, 1, 400_000)
    rows = 2000
    last = max(missed for missed in range(200) if bounds.assured(rows - missed, rows, rows, target))
    here = random.binomial(rows, 1 - share) == last
    assert here.sum() > 1500
    met = random.binomial(rows, 1 - share[here]) <= bounds.most_disagreeing(rows, target)
    assert met.mean() == pytest.approx(bounds.ASSURANCE, abs=0.03)


def test_where_even_full_agreement_gives_little_chance_it_is_what_is_held_to() -> None:
    assert bounds.chance_to_show(90, 90, 90, 0.95) < bounds.ASSURANCE
    assert bounds.assured(90, 90, 90, 0.95)
    assert not bounds.assured(89, 90, 90, 0.95)


def test_nothing_is_assured_of_too_few_rows() -> None:
    assert not bounds.assured(1000, 1000, 298, 0.99)
    assert not bounds.assured(0, 0, 1000, 0.5)
    assert not bounds.r2_assured(np.zeros((1, 1)), np.zeros((1, 1)), 100, 0.5)
    assert not bounds.r2_assured(np.zeros((9, 1)), np.zeros((9, 1)), 0, 0.5)


def _outputs(rows: int, seed: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    truth = np.column_stack([random.normal(size=rows), random.gamma(2, 1, rows)])
    return truth, truth + random.standard_t(6, size=truth.shape) * noise


def test_r2_is_that_of_the_worst_output_as_scikit_learn_has_it_and_a_constant_counts_when_met() -> None:
    from sklearn.metrics import r2_score

    truth, now = _outputs(200, 0, 0.3)
    each = r2_score(truth, now, multioutput="raw_values")
    assert bounds.r2_each(truth, now) == pytest.approx(each)
    assert bounds.r2(truth, now) == pytest.approx(each.min())
    flat = np.ones((5, 1))
    assert bounds.r2(flat, flat) == 1
    assert bounds.r2(flat, flat + 1e-3) == 0


def test_the_scatter_of_r2_is_that_of_resampled_rows() -> None:
    truth, now = _outputs(2000, 1, 0.3)
    random = np.random.default_rng(0)
    draws = [random.integers(0, 2000, 2000) for _ in range(300)]
    spread = np.std([np.log(1 - bounds.r2_each(truth[draw], now[draw])) for draw in draws], axis=0)
    assert bounds.r2_scatter(truth, now) / np.sqrt(2000) == pytest.approx(spread, rel=0.15)


def test_the_scatter_of_r2_leaves_out_one_row_at_a_time() -> None:
    truth, now = _outputs(12, 2, 0.3)
    left = [np.log(1 - bounds.r2_each(np.delete(truth, row, 0), np.delete(now, row, 0))) for row in range(12)]
    assert bounds.r2_scatter(truth, now) == pytest.approx(np.sqrt(11 * 12) * np.std(left, axis=0))


def test_one_row_that_holds_all_error_says_little_of_fresh_rows() -> None:
    truth, _ = _outputs(60, 4, 0.0)
    now = truth.copy()
    now[7] += 0.5
    assert bounds.r2(truth, now) > 0.99
    assert np.isfinite(bounds.r2_scatter(truth, now)).all()
    assert not bounds.r2_assured(truth, now, 60, 0.9)


def test_the_lower_bound_of_r2_holds_for_fresh_rows_nearly_always() -> None:
    truth, now = _outputs(200_000, 9, 0.35)
    true = bounds.r2_each(truth, now)
    lows = np.array(
        [bounds.r2_lower_bounds(*_outputs(300, seed, 0.35), np.random.default_rng(seed)) for seed in range(40)]
    )
    assert ((lows <= true).mean(axis=0) >= 0.9).all()  # 95 % of many; 36 of 40 leaves room for chance
    assert np.mean(lows.min(axis=1) <= true.min()) >= 0.9


def test_the_lower_bound_of_r2_does_not_depend_on_the_order_of_rows() -> None:
    truth, now = _outputs(100, 3, 0.3)
    shuffled = np.random.default_rng(0).permutation(100)
    one, other = (
        bounds.r2_lower_bounds(*rows, np.random.default_rng(7)).tolist()
        for rows in ((truth, now), (truth[shuffled], now[shuffled]))
    )
    assert one == other


def test_what_the_margin_assures_of_r2_is_confirmed_nine_times_of_ten_or_more() -> None:
    random = np.random.default_rng(4)
    met = []
    for seed in range(100):
        noise = random.uniform(0.1, 0.4)
        if bounds.r2_assured(*_outputs(400, seed, noise), 400, 0.9):
            fresh = _outputs(400, 1000 + seed, noise)
            met.append(bounds.r2_lower_bounds(*fresh, np.random.default_rng(seed)).min() >= 0.9)
    assert len(met) > 20
    assert np.mean(met) >= 0.9


@pytest.mark.parametrize("outputs", [1, 6])
def test_what_the_margin_assures_of_few_rows_is_confirmed_too(outputs: int) -> None:
    """Noise is the most that the calibration rows let pass, as after a search; 66 rows are as many as diabetes has."""
    met = []
    for seed in range(150):
        random = np.random.default_rng(seed)
        truth, fresh = random.gamma(2, 1, (2, 66, outputs))
        noise, other = random.standard_t(6, (2, 66, outputs))
        sizes = np.geomspace(0.02, 1, 40)
        low, high = 0, len(sizes)
        while high - low > 1:
            middle = (low + high) // 2
            held = bounds.r2_assured(truth, truth + noise * sizes[middle], 66, 0.8)
            low, high = (middle, high) if held else (low, middle)
        now = fresh + other * sizes[low]
        met.append(bounds.r2_lower_bounds(fresh, now, np.random.default_rng(seed)).min() >= 0.8)
    assert np.mean(met) >= 0.92


@pytest.mark.parametrize("target", [0.9, 0.95])
def test_the_more_results_are_looked_at_the_more_is_asked_of_each(target: float) -> None:
    def most(looks: int) -> int:
        return sum(bounds.assured(1000 - missed, 1000, 1000, target, looks) for missed in range(100))

    def reached(looks: int) -> int:
        return sum(bounds.r2_assured(*_outputs(300, 3, 0.1), 300, goal / 1000, looks) for goal in range(900, 1000))

    assert most(20) < most(5) < most(1)
    assert reached(20) < reached(5) < reached(1)


def test_one_ruined_output_does_not_hide_behind_those_that_are_kept() -> None:
    truth, _ = _outputs(500, 0, 0.0)
    truth = np.column_stack([truth] * 4)
    now = truth.copy()
    now[:, 3] += np.random.default_rng(1).normal(size=500)
    each = bounds.r2_each(truth, now)
    assert each.mean() > 0.85
    assert bounds.r2(truth, now) == each[3] < 0.6
    assert bounds.r2_lower_bounds(truth, now, np.random.default_rng(0))[3] < each[3]
    assert not bounds.r2_assured(truth, now, 500, 0.8)
    assert bounds.r2_assured(np.delete(truth, 3, 1), np.delete(now, 3, 1), 500, 0.8)


def test_of_more_outputs_each_is_asked_for_more() -> None:
    """That all of them are confirmed has the same chance; one that is met exactly takes no part of it."""
    truth, now = (rows[:, :1] for rows in _outputs(300, 3, 0.1))

    def reached(there: np.ndarray, seen: np.ndarray) -> int:
        return sum(bounds.r2_assured(there, seen, 300, goal / 1000) for goal in range(900, 1000))

    assert reached(np.hstack([truth] * 9), np.hstack([now] * 9)) < reached(truth, now)
    assert reached(np.hstack([truth] * 9), np.hstack([now, *[truth] * 8])) == reached(truth, now)


def test_what_is_met_exactly_is_assured_of_any_rows() -> None:
    truth, _ = _outputs(5, 0, 0)
    assert bounds.r2_assured(truth, truth, 5, 0.99)


def test_where_nobody_asked_for_the_target_fewer_disagree_when_a_search_stops() -> None:
    def stop(chance: float) -> int:
        return max(missed for missed in range(200) if bounds.assured(1000 - missed, 1000, 1000, 0.95, 2, chance))

    asked, unasked = stop(bounds.ASSURANCE), stop(bounds.UNASKED)
    assert unasked < asked
    rare = bounds.chance_to_show(1000 - unasked, 1000, 1000, 0.95)
    assert rare >= 1 - (1 - bounds.UNASKED) / 2
    assert bounds.chance_to_show(1000 - unasked - 1, 1000, 1000, 0.95) < 1 - (1 - bounds.UNASKED) / 2
