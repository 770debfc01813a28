"""What stands between a client's training and the wire, one guard a kind of noise."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from components.dp.accountant import Accountant, Entry
from components.dp.adaptive import following, votes
from components.dp.clipping import Clipped
from components.dp.clipping import clip as clipped_to
from components.dp.declarations import Adaptive, Clipping
from components.dp.mechanisms import grid_noise, grid_step, noised_average, noised_messages, noised_unclipped
from components.dp.noise import Noise
from components.dp.releases import Releases
from components.federation.layout import Weights
from components.federation.work import PerRecord


@dataclass(frozen=True, slots=True)
class Open:
    """No guard at all: updates leave as they are."""

    per_record: PerRecord | None = None
    deviation: float = 0.0
    account: Accountant | None = None

    def may_contribute(self, steps: int) -> bool:
        """Return True: there is no budget."""
        del steps
        return True

    def entries(self, round_number: int, steps: int, clip: float) -> list[Entry]:
        """Return nothing: nothing is accounted."""
        del round_number, steps, clip
        return []

    def released(self, update: Weights, round_number: int, steps: int, clip: float) -> dict[str, Any]:
        """Return the update."""
        del round_number, steps, clip
        return {"update": update}


@dataclass(slots=True)
class Unclipped:
    """Noise of a fixed deviation on weights that nothing clips (``paper`` mode): no epsilon, and no account.

    Parameters
    ----------
    deviation : float
        Standard deviation on every number.
    noise : Noise
    """

    deviation: float
    noise: Noise
    per_record: PerRecord | None = None
    account: Accountant | None = None

    def may_contribute(self, steps: int) -> bool:
        """Return True: what has no epsilon has no budget."""
        del steps
        return True

    def entries(self, round_number: int, steps: int, clip: float) -> list[Entry]:
        """Return nothing: what has no epsilon is not accounted."""
        del round_number, steps, clip
        return []

    def released(self, update: Weights, round_number: int, steps: int, clip: float) -> dict[str, Any]:
        """Return the update with noise."""
        del round_number, steps, clip
        return {"update": noised_unclipped(update[None], self.deviation, self.noise)[0]}


@dataclass(slots=True)
class Records:
    """Noise in every step of the training (DP-SGD): the update leaves as it is, since it is made of noised steps.

    Parameters
    ----------
    account : Accountant
    per_record : PerRecord
    per_round : Releases
        The steps of a round.
    deviation : float
        Of the noise on each number of an update, as far as that is known: 0 where the optimiser isn't plain SGD.
    """

    account: Accountant
    per_record: PerRecord
    per_round: Releases
    deviation: float = 0.0

    def may_contribute(self, steps: int) -> bool:
        """Say whether so many steps more stay within the budget."""
        return self.account.may_contribute(*self._steps(steps))

    def entries(self, round_number: int, steps: int, clip: float) -> list[Entry]:
        """Return the steps of a round as the account takes them down."""
        del clip
        return [Entry(round_number, "gradients", self.per_record.clip, each) for each in self._steps(steps)]

    def released(self, update: Weights, round_number: int, steps: int, clip: float) -> dict[str, Any]:
        """Put the steps to the account and return the update."""
        self.account.record(self.entries(round_number, steps, clip))
        return {"update": update}

    def _steps(self, steps: int) -> list[Releases]:
        return [replace(self.per_round, times=steps)] if steps else []


@dataclass(slots=True)
class Updates:
    """Updates that are clipped as a whole; by whom noise is added, the account says the same.

    Parameters
    ----------
    account : Accountant
    per_round : tuple of Releases
        What a round releases: the update, and the vote on an adaptive clip after it.
    own : float
        Multiplier of the noise that the client itself adds: all that is accounted, its share of it, or 0 where the
        server adds it.
    noise : Noise
    vote_noise : float, optional
        Multiplier of the vote on an adaptive clip over that of the update.
    clip : float
        Of the last round that was released, for the deviation.
    """

    account: Accountant
    per_round: tuple[Releases, ...]
    own: float
    noise: Noise
    vote_noise: float | None = None
    clip: float = 0.0
    per_record: PerRecord | None = None

    @property
    def deviation(self) -> float:
        """Standard deviation of the client's own noise on each number of its last update."""
        return self.own * self.clip

    def may_contribute(self, steps: int) -> bool:
        """Say whether one more update stays within the budget."""
        del steps
        return self.account.may_contribute(*self.per_round)

    def entries(self, round_number: int, steps: int, clip: float) -> list[Entry]:
        """Return an update, and a vote, as the account takes them down."""
        del steps
        kinds = zip(("update", "votes"), self.per_round, strict=False)
        return [Entry(round_number, kind, clip, each) for kind, each in kinds]

    def released(self, update: Weights, round_number: int, steps: int, clip: float) -> dict[str, Any]:
        """Put an update to the account, and return it clipped, with the client's noise, and its vote."""
        self.clip = clip
        self.account.record(self.entries(round_number, steps, clip))
        clipped = clipped_to(update, clip)
        if not self.own:
            said: dict[str, Any] = {"update": clipped.updates[0]}
        else:
            said = {"update": noised_messages(clipped, clip, self.own, self.noise)[0]}
        if self.vote_noise is not None:
            said["vote"] = float(votes(clipped, self.noise, self.own * self.vote_noise)[0])
        return said


@dataclass(slots=True)
class Clips:
    """The clip norm of the next round.

    Parameters
    ----------
    how : Clipping
    expected : int
        Clients that a round expects.
    norm : float
    server_noise : float
        Multiplier of the noise that the server adds to the sum of votes; 0 where clients noise their own.
    noise : Noise
    """

    how: Clipping
    expected: int
    norm: float
    server_noise: float
    noise: Noise

    def follow(self, told: Mapping[str, Mapping[str, Any]]) -> None:
        """Take a round's votes into account; a fixed clip stays, and so does one that nobody voted on."""
        if not isinstance(self.how, Adaptive) or not told:
            return
        total = sum(said["vote"] for said in told.values() if "vote" in said)
        if self.server_noise:
            deviation = 0.5 * self.server_noise
            total += float(grid_noise((1,), deviation, grid_step(0.5, deviation), self.noise)[0])
        self.norm = following(self.norm, total, self.expected, self.how.quantile, self.how.rate)


@dataclass(slots=True)
class ServerNoise:
    """Noise that the server adds to the weighted sum of clipped updates.

    Parameters
    ----------
    clips : Clips
    multiplier : float
        Standard deviation over the sensitivity, which is the largest share of all clients times the clip.
    largest : float
        That share, whoever comes: the accounts of the others count on its noise.
    noise : Noise
    """

    clips: Clips
    multiplier: float
    largest: float
    noise: Noise

    def averaged(self, updates: Weights, weights: Weights, divisor: float) -> Weights:
        """Return the noised sum of updates that are no longer than the round's clip."""
        none = np.zeros(len(updates), dtype=np.bool_)
        clipped = Clipped(updates, np.linalg.norm(updates, axis=1), none, none)
        largest = self.largest / divisor
        return noised_average(clipped, weights / divisor, self.clips.norm, self.multiplier, self.noise, largest=largest)


def accumulated(learning_rate: float, per_record: PerRecord, batch: float, steps: int) -> float:
    """Return the deviation that the noise of plain SGD steps adds up to on each weight.

    Every step adds ``learning_rate * multiplier * clip / batch`` of noise, independently; that later gradients are
    taken at moved weights is left aside.
    """
    return learning_rate * per_record.multiplier * per_record.clip / batch * sqrt(steps) if batch else 0.0
