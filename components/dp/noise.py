"""Where privacy noise comes from."""

from dataclasses import dataclass
from math import prod
from typing import Any, Self, overload

import numpy as np
import numpy.typing as npt

from components.dp.keystream import Keystream


@dataclass(frozen=True)
class Noise:
    """A source of noise: the operating system's entropy, or for tests a seed, which voids every claim.

    It can be neither copied nor stored, a forked process gets another key, and it is used by one thread at a time.

    Parameters
    ----------
    source : Keystream
    seeded : bool
    """

    source: Keystream
    seeded: bool

    @classmethod
    def from_entropy(cls) -> Self:
        """Return a source that nobody can repeat."""
        return cls(Keystream(), seeded=False)

    @classmethod
    def from_seed(cls, seed: int) -> Self:
        """Return a source for tests; what it made carries no claim."""
        return cls(Keystream(seed), seeded=True)

    @overload
    def normal(self, shape: tuple[int, ...]) -> npt.NDArray[np.float64]: ...
    @overload
    def normal(self, shape: tuple[int, ...], dtype: type[np.float32]) -> npt.NDArray[np.float32]: ...
    def normal(self, shape: tuple[int, ...], dtype: type[Any] = np.float64) -> npt.NDArray[Any]:
        """Return standard normal numbers, float64 or (in less than half the time) float32."""
        return self.source.normal(prod(shape), dtype).reshape(shape)

    def uniform(self, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
        """Return numbers of [0, 1)."""
        return self.source.uniform(prod(shape)).reshape(shape)
