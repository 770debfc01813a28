"""Population uniqueness: worked by hand, against plain likelihoods, and on populations that are drawn and sampled."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.risk import uniqueness
from components.risk.uniqueness import Estimate, pitman, zayatz

Sizes = npt.NDArray[np.int64]
Estimator = Callable[[Sizes, int], Estimate]


def drawn_population(persons: int, alpha: float, theta: float, draw: np.random.Generator) -> Sizes:
    """Seat persons one by one as Pitman's formula does; return the class of each."""
    classes, counts = [0], [1]
    for seated in range(1, persons):
        if draw.random() < (theta + len(counts) * alpha) / (theta + seated):
            classes.append(len(counts))
            counts.append(1)
            continue
        found = classes[draw.integers(seated)]
        while draw.random() * counts[found] >= counts[found] - alpha:
            found = classes[draw.integers(seated)]
        classes.append(found)
        counts[found] += 1
    return np.array(classes)


def class_sizes(classes: Sizes) -> Sizes:
    return np.unique(classes, return_counts=True)[1]


def log_likelihood(alpha: float, theta: float, sizes: Sequence[int]) -> float:
    """Pitman's log-likelihood, term by term."""
    new = sum(math.log(theta + i * alpha) for i in range(1, len(sizes)))
    seats = sum(math.log(theta + i) for i in range(1, sum(sizes)))
    joined = sum(math.log(seat - alpha) for size in sizes for seat in range(1, size))
    return new - seats + joined


def slow_share(alpha: float, theta: float, population: int) -> float:
    """Chance that nobody of the others joins a person's class."""
    return math.prod((theta + alpha + others - 1) / (theta + others) for others in range(1, population))


def slow_zayatz(sizes: Sequence[int], population: int) -> float:
    n, u = sum(sizes), len(sizes)

    def one_drawn(size: int) -> float:
        return size * math.comb(population - size, n - 1) / math.comb(population, n)

    among = sum(sizes.count(size) / u * one_drawn(size) for size in set(sizes))
    p = sizes.count(1) / u * one_drawn(1) / among
    return sizes.count(1) * p / (n / population) / population


def test_pitman_by_hand():
    # Classes of 2 and 1: (theta + alpha)(1 - alpha) / ((theta + 1)(theta + 2)) is largest at alpha 0, theta sqrt(2).
    estimate = pitman(np.array([2, 1]), 30)
    assert estimate.share == pytest.approx(math.sqrt(2) / (math.sqrt(2) + 29), rel=1e-9)
    assert "Ewens" in estimate.note


@pytest.mark.parametrize(("alpha", "theta", "persons"), [(0.5, 2.0, 10), (0.9, -0.8, 25), (0.0, 3.0, 8)])
def test_pitman_expects_the_uniques_that_a_person_s_chance_of_staying_alone_gives(
    monkeypatch: pytest.MonkeyPatch, alpha: float, theta: float, persons: int
):
    monkeypatch.setattr(uniqueness, "_most_likely", lambda _: (alpha, theta))
    assert pitman(np.array([1, 2]), persons).share == pytest.approx(slow_share(alpha, theta, persons), rel=1e-12)


def test_zayatz_by_hand():
    # n=3 of N=6: H(1) = 1/2, H(2) = 2 C(4,2)/C(6,3) = 3/5; p = (1/2) / (1/2 + 3/5) = 5/11, uniques 5/11 * 6/3.
    assert zayatz(np.array([1, 2]), 6).share == pytest.approx(5 / 11 * 2 / 6, rel=1e-12)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 60))
def test_zayatz_is_its_formula(sizes: list[int], more: int):
    population = sum(sizes) + more
    assert zayatz(np.array([1, *sizes]), population + 1).share == pytest.approx(
        slow_zayatz([1, *sizes], population + 1), rel=1e-9
    )


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 12), min_size=0, max_size=14))
def test_no_other_parameters_are_likelier(sizes: list[int]):
    sizes = [1, 2, *sizes]
    share = pitman(np.array(sizes), 500).share
    grid = [
        (alpha, above - alpha)
        for alpha in np.concatenate([[0.0], np.linspace(0.02, 0.98, 40)])
        for above in np.geomspace(1e-3, 1e4, 90)
    ]
    likelihoods = np.array([log_likelihood(alpha, theta, sizes) for alpha, theta in grid])
    near = [slow_share(*grid[at], 500) for at in np.flatnonzero(likelihoods > likelihoods.max() - 0.02)]
    assert min(near) * 0.9 <= share <= max(near) * 1.1


@pytest.mark.parametrize(
    ("alpha", "theta", "fraction"),
    [
        (0.3, 100.0, 0.05),
        (0.5, 100.0, 0.05),
        (0.8, 10.0, 0.05),
        (0.3, 100.0, 0.2),
        (0.5, 100.0, 0.2),
        (0.8, 10.0, 0.2),
        (0.0, 500.0, 0.2),
    ],
)
def test_pitman_finds_the_uniques_of_populations_of_its_own(alpha: float, theta: float, fraction: float):
    draw = np.random.default_rng(1)
    errors = []
    for _ in range(4):
        population = drawn_population(10_000, alpha, theta, draw)
        true = np.mean(class_sizes(population) == 1) * len(np.unique(population)) / len(population)
        for _ in range(3):
            sample = draw.choice(population, int(fraction * len(population)), replace=False)
            errors.append(pitman(class_sizes(sample), len(population)).share / true - 1)
    assert abs(np.mean(errors)) < 0.2


def test_zayatz_is_near_for_large_samples_and_too_high_for_small_ones():
    draw = np.random.default_rng(2)
    population = drawn_population(10_000, 0.3, 100.0, draw)
    true = np.count_nonzero(class_sizes(population) == 1) / len(population)
    large, small = (
        np.mean(
            [zayatz(class_sizes(draw.choice(population, rows, replace=False)), 10_000).share / true for _ in range(5)]
        )
        for rows in (5_000, 300)
    )
    assert large == pytest.approx(1, abs=0.15)
    assert small > 1.5


@pytest.mark.parametrize("estimate", [pitman, zayatz])
class TestEitherEstimate:
    def test_is_exact_where_the_sample_is_the_population(self, estimate: Estimator):
        found = estimate(np.array([1, 1, 2, 4]), 8)
        assert found.share == 0.25
        assert "is the population" in found.note

    def test_finds_no_unique_where_no_record_is_one(self, estimate: Estimator):
        assert estimate(np.array([2, 3, 5]), 1000).share == 0.0

    def test_has_none_without_classes_and_says_why(self, estimate: Estimator):
        found = estimate(np.array([], dtype=np.int64), 10)
        assert math.isnan(found.share)
        assert found.note == "there is no class"

    def test_refuses_a_population_smaller_than_its_sample(self, estimate: Estimator):
        with pytest.raises(ValueError, match="smaller than the sample"):
            estimate(np.array([2, 3]), 4)

    def test_does_not_depend_on_the_order_of_classes(self, estimate: Estimator):
        sizes = np.array([1, 1, 1, 2, 2, 3, 9, 4, 1])
        assert estimate(sizes, 400) == estimate(sizes[::-1], 400)

    @settings(deadline=None)
    @given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=30), more=st.integers(1, 10**9))
    def test_is_a_share(self, estimate: Estimator, sizes: list[int], more: int):
        found = estimate(np.array(sizes), sum(sizes) + more)
        assert math.isnan(found.share) or 0.0 <= found.share <= 1.0

    def test_copes_with_tables_that_are_nearly_all_unique(self, estimate: Estimator):
        sizes = np.ones(100_000, dtype=np.int64)
        sizes[:2] = 2
        assert 0.9 < estimate(sizes, 10**7).share <= 1.0


def test_pitman_has_no_estimate_where_every_record_is_unique():
    found = pitman(np.array([1, 1, 1]), 100)
    assert math.isnan(found.share)
    assert "no maximum" in found.note
