"""Files of named arrays: read back as they were, equal bytes for equal arrays, and never a pickle."""

import pickle
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from components.models.packing import packed
from components.models.tensors import read, written
from schemas.faults import DataError

DTYPES = st.sampled_from([np.float32, np.float64, np.int64, np.bool_, np.uint8])


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,5}(\.[a-z0-9]{1,3})?", fullmatch=True),
        DTYPES.flatmap(lambda dtype: arrays(dtype, array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))),
        max_size=4,
    )
)
@settings(deadline=None, max_examples=50)
def test_arrays_come_back_as_they_were(content: dict[str, Any]) -> None:
    data = written(content)
    again = read(data, "weights.npz")
    assert again.keys() == content.keys()
    for name, array in content.items():
        assert again[name].dtype == array.dtype
        assert again[name].shape == array.shape
        np.testing.assert_array_equal(again[name], array)
    assert written(dict(reversed(content.items()))) == data


def test_the_layout_in_memory_does_not_show() -> None:
    table = np.arange(6.0).reshape(2, 3)
    assert written({"a": np.asfortranarray(table)}) == written({"a": table})


def test_objects_are_not_written() -> None:
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        written({"a": np.array([{}], dtype=object)})


class Bomb:
    """Would leave a trace if it were ever unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.trace,))


def test_what_is_no_such_file_is_refused_and_never_unpickled(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    buffer = BytesIO()
    np.save(buffer, np.array([Bomb(trace)], dtype=object), allow_pickle=True)
    for data in (
        b"",
        b"nothing",
        pickle.dumps(Bomb(trace)),
        buffer.getvalue(),
        packed({"a.npy": buffer.getvalue()}),
        packed({"data.pkl": pickle.dumps(Bomb(trace))}),
        written({"a": np.zeros(3)})[:-30],
    ):
        with pytest.raises(DataError, match=r"weights\.npz: not a readable file of arrays"):
            read(data, "weights.npz")
    assert not trace.exists()
