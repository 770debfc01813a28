"""Named arrays in one file that holds no code: NumPy's .npz, whose bytes follow from its content alone."""

from collections.abc import Mapping
from io import BytesIO
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from components.models.packing import packed
from schemas.faults import DataError, Fault

Arrays = dict[str, npt.NDArray[np.generic]]


def written(arrays: Mapping[str, npt.NDArray[np.generic]]) -> bytes:
    """Return the file of some arrays of numbers.

    Raises
    ------
    ValueError
        An array holds objects.
    """
    return packed({f"{name}.npy": _npy(array) for name, array in arrays.items()})


def read(data: bytes, file: str) -> Arrays:
    """Return the arrays of a file, none of which is unpickled.

    Raises
    ------
    DataError
        `data` is no such file; the fault calls it `file`.
    """
    try:
        with np.load(BytesIO(data), allow_pickle=False) as content:
            found = {name: content[name] for name in content.files}
    except (ValueError, TypeError, AttributeError, LookupError, OSError, EOFError, BadZipFile):
        raise DataError(_unreadable(file)) from None
    if not all(isinstance(array, np.ndarray) for array in found.values()):  # a member of another kind comes as bytes
        raise DataError(_unreadable(file))
    return found


def _unreadable(file: str) -> Fault:
    return Fault(file, "not a readable file of arrays", remedy="train again")


def _npy(array: npt.NDArray[np.generic]) -> bytes:
    buffer = BytesIO()
    np.save(buffer, np.ascontiguousarray(array).reshape(array.shape), allow_pickle=False)
    return buffer.getvalue()
