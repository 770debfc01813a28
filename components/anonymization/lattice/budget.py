"""How much a search may spend."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Budget:
    """How much may be spent, from now on.

    Parameters
    ----------
    nodes : float
        Trials; may be infinite.
    seconds : float
    before : int, optional
        Trials that were made already, and don't count.
    """

    nodes: float
    seconds: float
    before: int = 0
    clock: Callable[[], float] = time.monotonic
    start: float = field(init=False)

    def __post_init__(self) -> None:
        """Start the clock."""
        self.start = self.clock()

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return max(self.start + self.seconds - self.clock(), 0.0)

    def spent(self, trials: int, share: float = 1.0) -> str:
        """Return the limit that a share of the budget has reached: ``nodes``, ``seconds`` or nothing.

        Parameters
        ----------
        trials : int
            All that were made by now.
        share : float, optional
        """
        if trials - self.before >= self.nodes * share:
            return "nodes"
        return "seconds" if self.clock() - self.start >= self.seconds * share else ""
