"""No update is longer than the clip, whatever it holds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from components.dp.clipping import clip

NUMBERS = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=8), elements=st.floats(width=64))


@given(NUMBERS, st.floats(1e-6, 1e6))
def test_nothing_is_longer_than_the_clip_and_nothing_is_turned(updates: np.ndarray, norm: float):
    kept = updates.copy()
    found = clip(updates, norm)
    assert np.array_equal(updates, kept, equal_nan=True)
    assert np.isfinite(found.updates).all()
    assert (np.linalg.norm(found.updates / norm, axis=1) <= 1).all()
    assert (found.refused == ~np.isfinite(updates).all(axis=1)).all()
    assert (found.updates[found.refused] == 0).all()
    kept_whole = ~found.shortened & ~found.refused
    assert np.allclose(found.updates[kept_whole], updates[kept_whole], rtol=1e-11, atol=0)
    assert (np.sign(found.updates) * np.where(found.refused[:, None], 0, np.sign(updates)) >= 0).all()


def test_short_updates_stay_and_long_ones_keep_their_direction():
    found = clip([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]], 1.0)
    assert found.updates == pytest.approx(np.array([[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]]))
    assert found.norms == pytest.approx([5, 0.5, 0])
    assert found.shortened.tolist() == [True, False, False]


def test_an_update_that_is_no_number_is_refused_and_told():
    found = clip([[np.nan, 1.0], [np.inf, 1.0], [1.0, 1.0]], 1.0)
    assert found.refused.tolist() == [True, True, False]
    assert np.isnan(found.norms[:2]).all()
    assert (found.updates[:2] == 0).all()
