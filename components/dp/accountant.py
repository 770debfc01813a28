"""What one client has let go of over a whole run, and what it may still let go of."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from components.dp import accounting
from components.dp.accounting import Epsilon
from components.dp.releases import Releases
from schemas.faults import Fault, GoalError


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that was released in one round.

    Parameters
    ----------
    round_number : int
    kind : str
        What it was: ``update``, ``gradients``, ``votes``, ``control variates``.
    clip : float
        Of that round.
    releases : Releases
    """

    round_number: int
    kind: str
    clip: float
    releases: Releases


@dataclass
class Accountant:
    """The account of one client, which grows over the whole run and never restarts.

    Multipliers, rates and rounds are fixed beforehand or follow public rules, so that the composition of what was
    released is that of releases known beforehand.

    Parameters
    ----------
    client : str
    delta : float
        Of every epsilon.
    budget : float, optional
        Largest epsilon against an outsider; None for no limit.
    entries : list of Entry
        What was released so far.
    """

    client: str
    delta: float
    budget: float | None = None
    entries: list[Entry] = field(default_factory=list)

    @property
    def participations(self) -> int:
        """In how many rounds something was released."""
        return len({each.round_number for each in self.entries})

    @property
    def releases(self) -> tuple[Releases, ...]:
        """All that was released."""
        return tuple(each.releases for each in self.entries)

    @property
    def made_again(self) -> list[int]:
        """Rounds that were cut off, and made again: whatever was released then was released twice."""
        counts = Counter((each.round_number, each.kind) for each in self.entries)
        return sorted({number for (number, _), times in counts.items() if times > 1})

    def epsilon(self, *more: Releases, strength: float = 1.0, check: bool = False) -> Epsilon:
        """Return the epsilon so far, or after more releases.

        With Poisson batches every new count of steps costs some tenths of a second; counts once asked for are kept.

        Parameters
        ----------
        *more : Releases
            What would come next.
        strength : float, optional
            By what a party's view changes the multipliers (see `components.dp.sensitivity.strengths`).
        check : bool, optional
            Whether Renyi DP's figure is wanted too.
        """
        seen = (*self.releases, *more)
        if strength != 1:
            seen = tuple(replace(each, multiplier=each.multiplier * strength) for each in seen)
        return accounting.epsilon(seen, self.delta, check=check)

    def may_contribute(self, *more: Releases) -> bool:
        """Return whether the budget allows more releases."""
        return self.budget is None or accounting.within((*self.releases, *more), self.delta, self.budget)

    def record(self, entries: Iterable[Entry]) -> None:
        """Take down what a round releases, before it is released.

        Parameters
        ----------
        entries : iterable of Entry
            Of one round, all together.

        Raises
        ------
        GoalError
            They are beyond the budget; nothing is taken down then.
        ValueError
            The round is before the last one.
        """
        found = list(entries)
        last = max((each.round_number for each in self.entries), default=0)
        if any(each.round_number < last for each in found):
            raise ValueError("rounds follow each other; an account never restarts")
        if not self.may_contribute(*(each.releases for each in found)):
            raise GoalError(
                Fault(
                    place="dp.budget",
                    problem=f"client {self.client} would go beyond its budget",
                    allowed=f"an epsilon of at most {self.budget:g} over the whole run",
                    remedy="leave the client out of the rounds that follow",
                )
            )
        self.entries += found

    def state(self) -> dict[str, Any]:
        """Return the account as JSON can hold it, for a checkpoint."""
        return asdict(self)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the account that `state` was taken of."""
        entries = [Entry(**{**each, "releases": Releases(**each["releases"])}) for each in state["entries"]]
        return cls(**{**state, "entries": entries})
