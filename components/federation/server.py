"""The server of a federation: global weights, and what becomes of the updates that arrive. It never sees a row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from components.federation.aggregation.declarations import Aggregation
from components.federation.aggregation.server import Step, aggregate, usable
from components.federation.drift.check import Checked, Streaks, check
from components.federation.drift.declarations import Drift
from components.federation.layout import Layout, Weights


class Averaging(Protocol):
    """Noise that the server adds to the sum of clipped updates in place of a plain aggregation."""

    def averaged(self, updates: Weights, weights: Weights) -> Weights:
        """Return the noised weighted sum of updates of shape (clients, size)."""


@dataclass(frozen=True, slots=True)
class Closed:
    """What became of a round.

    Parameters
    ----------
    round_number : int
    came : tuple of str
        Clients whose update was used or looked at, in the order of their names.
    refused : tuple of str
        Clients whose update was no finite vector.
    step : Step
    checked : Checked or None
        The drift check, where there is one.
    """

    round_number: int
    came: tuple[str, ...]
    refused: tuple[str, ...]
    step: Step
    checked: Checked | None = None


@dataclass(slots=True)
class Server:
    """What the server knows and does.

    Parameters
    ----------
    layout : Layout
    weights : ndarray of float64, shape (size,)
        The global weights.
    aggregation : Aggregation
    shares : mapping of str to float
        Public weight of every client as a share of what a round expects.
    drift : Drift, optional
    fixed_divisor : bool
        Whoever does not come counts as an update of 0.
    averaging : Averaging, optional
    control : ndarray of float64, shape (size,), optional
        SCAFFOLD's, of the server.
    streaks : dict of str to int
        How many rounds running each client was flagged.
    """

    layout: Layout
    weights: Weights
    aggregation: Aggregation
    shares: Mapping[str, float]
    drift: Drift | None = None
    fixed_divisor: bool = False
    averaging: Averaging | None = None
    control: Weights | None = None
    streaks: Streaks = field(default_factory=dict)

    def close(self, round_number: int, told: Mapping[str, Mapping[str, Any]]) -> Closed:
        """Take what clients told in a round into the global weights.

        Parameters
        ----------
        round_number : int
        told : mapping of str to mapping
            By client, messages by kind, as they came over the wire.
        """
        answered = sorted(client for client in told if "update" in told[client])
        every = np.stack([told[client]["update"] for client in answered]) if answered else self._none()
        fine = usable(every)
        came = [client for client, good in zip(answered, fine, strict=True) if good]
        refused = sorted(set(told) - set(came))
        updates = every[fine]
        checked = self._checked(came, updates, told)
        step = self._stepped(came, updates, checked)
        self.weights = step.weights
        if self.control is not None and not step.stayed:
            self._follow([told[client]["control change"] for client in came])
        return Closed(round_number, tuple(came), tuple(refused), step, checked)

    def _checked(self, came: Sequence[str], updates: Weights, told: Mapping[str, Mapping[str, Any]]) -> Checked | None:
        if self.drift is None or not came:
            return None
        noise = np.array([told[client].get("noise", 0.0) for client in came])
        sets = self.weights + updates
        checked = check(self.drift, self.layout, came, sets, noise=noise if noise.any() else None, streaks=self.streaks)
        self.streaks = dict(checked.streaks)
        return checked

    def _stepped(self, came: Sequence[str], updates: Weights, checked: Checked | None) -> Step:
        weights = np.array([self.shares[each] for each in came], dtype=np.float64)
        factors = None if checked is None else checked.factors
        if self.averaging is None or not came:
            return aggregate(
                self.aggregation, self.weights, updates, weights, factors=factors, fixed_divisor=self.fixed_divisor
            )
        shares = weights if factors is None else weights * factors
        update = self.averaging.averaged(updates, shares)
        return Step(self.weights + self.aggregation.learning_rate * update, update, shares)

    def _follow(self, changes: Sequence[Weights]) -> None:
        """Move the server's control variate by what clients tell of theirs: ``c += sum of changes / N``."""
        if self.control is not None and changes:
            self.control = self.control + np.sum(changes, axis=0) / len(self.shares)

    def _none(self) -> Weights:
        return np.zeros((0, self.layout.size))
