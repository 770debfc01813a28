"""Which rows a step takes: every row once an epoch, or Poisson batches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from components.dp.noise import Noise
from components.federation.training.batches import poisson, shuffled, steps_of
from components.federation.work import LocalTraining


@given(st.integers(1, 60), st.integers(1, 30), st.integers(1, 4), st.integers(0, 9))
def test_every_epoch_takes_every_row_once(rows: int, size: int, epochs: int, seed: int) -> None:
    options = LocalTraining(epochs=epochs, batch_size=size)
    batches = shuffled(seed, rows, options)
    assert len(batches.counts) == steps_of(rows, options)
    each = batches.rows.reshape(epochs, -1)
    assert [sorted(epoch[epoch >= 0]) for epoch in each] == [[*range(rows)]] * epochs
    assert np.array_equal(np.count_nonzero(batches.rows >= 0, axis=1), batches.counts)
    assert set(batches.counts) <= {min(size, rows), rows % size}


def test_epochs_and_seeds_come_in_other_orders() -> None:
    options = LocalTraining(epochs=2, batch_size=50)
    first, second = shuffled(0, 50, options).rows
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, shuffled(1, 50, options).rows[0])


def test_1000_rows_in_batches_of_64_over_2_epochs_and_5_rounds_are_160_steps() -> None:
    assert 5 * steps_of(1000, LocalTraining(epochs=2, batch_size=64)) == 160


@given(st.integers(1, 40), st.floats(0.001, 1), st.integers(1, 30), st.integers(0, 9))
def test_poisson_batches_hold_rows_in_order_and_none_twice(rows: int, rate: float, steps: int, seed: int) -> None:
    batches = poisson(Noise.from_seed(seed), rows, rate, steps)
    assert batches.counts.shape == (steps,)
    for taken, count in zip(batches.rows, batches.counts, strict=True):
        assert np.all(np.diff(taken[:count]) > 0)
        assert np.all((taken[:count] >= 0) & (taken[:count] < rows))
        assert np.all(taken[count:] == -1)


def test_each_row_is_taken_at_the_rate_and_batches_vary_as_binomials_do() -> None:
    rows, rate, steps = 40, 0.2, 20_000
    batches = poisson(Noise.from_seed(0), rows, rate, steps)
    held = np.zeros((steps, rows), dtype=bool)
    present = batches.rows >= 0
    held[np.nonzero(present)[0], batches.rows[present]] = True
    deviation = np.sqrt(rate * (1 - rate) / steps)
    assert np.abs(held.mean(axis=0) - rate).max() < 5 * deviation
    together = np.corrcoef(held.T) - np.eye(rows)
    assert np.abs(together).max() < 6 / np.sqrt(steps)
    in_line = np.corrcoef(held.reshape(-1)[:-1], held.reshape(-1)[1:])[0, 1]
    assert abs(in_line) < 5 / np.sqrt(held.size)
    expected = stats.binom.pmf(np.arange(rows + 1), rows, rate) * steps
    often = expected >= 10
    found = np.bincount(batches.counts, minlength=rows + 1)
    assert stats.chisquare(found[often], expected[often] * found[often].sum() / expected[often].sum()).pvalue > 1e-4


def test_a_rate_of_1_takes_every_row_in_every_step() -> None:
    assert np.array_equal(poisson(Noise.from_seed(0), 3, 1.0, 4).rows, np.tile([0, 1, 2], (4, 1)))


def test_a_small_rate_gives_empty_batches_and_draws_little() -> None:
    drawn = []

    class Counting(Noise):
        def uniform(self, shape: tuple[int, ...]) -> np.ndarray:
            drawn.append(shape[0])
            return super().uniform(shape)

    batches = poisson(Counting.from_seed(0), 10_000, 1e-4, 1000)
    assert stats.poisson(1).ppf(1e-6) == 0
    assert np.mean(batches.counts == 0) == pytest.approx(np.exp(-1), abs=0.08)
    assert sum(drawn) < 2000
