"""Arrays of real numbers in the precision that clients are trained in."""

from typing import Any

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[Any]
"""float64; float32 in stacks of clients with record-level privacy."""

Precision = type[np.float64] | type[np.float32]
