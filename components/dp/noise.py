"""Where privacy noise comes from."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Noise:
    """A source of noise: the operating system's entropy, or for tests a seed, which voids every claim.

    Parameters
    ----------
    seeded : bool
    """

    generator: np.random.Generator
    seeded: bool

    @classmethod
    def from_entropy(cls) -> Self:
        """Return a source that nobody can repeat."""
        return cls(np.random.default_rng(), seeded=False)

    @classmethod
    def from_seed(cls, seed: int) -> Self:
        """Return a source for tests; what it made carries no claim."""
        return cls(np.random.default_rng(seed), seeded=True)

    def normal(self, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
        """Return standard normal numbers."""
        return self.generator.standard_normal(shape)

    def uniform(self, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
        """Return numbers of [0, 1)."""
        return self.generator.random(shape)
