"""The server of a federation: global weights, and what becomes of the updates that arrive. It never sees a row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from components.federation.aggregation.declarations import Aggregation, Mean
from components.federation.aggregation.rules import FloatArray, norm_bounded
from components.federation.aggregation.server import Step, aggregate, usable
from components.federation.drift.check import Checked, Streaks, check
from components.federation.drift.declarations import Drift
from components.federation.layout import Layout, Weights

OUT_OF_RANGE = "the new weights would be out of the range of numbers: lower federation.aggregation.learning_rate"


class Averaging(Protocol):
    """Noise that the server adds to the sum of clipped updates in place of a plain aggregation."""

    def averaged(self, updates: Weights, weights: Weights, divisor: float) -> Weights:
        """Return the noised weighted sum of updates, shape (clients, size), over a divisor."""


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
    shares : ndarray of float64, shape (clients,)
        What the update of each client that came was multiplied by; NaN where every coordinate has its own.
    stayed : str
        Why the global weights stayed as they were; empty where they did not.
    checked : Checked or None
        The drift check, where there is one.
    """

    round_number: int
    came: tuple[str, ...]
    refused: tuple[str, ...]
    shares: FloatArray
    stayed: str = ""
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
    fewest : int
        A round that fewer clients answer is aborted: it leaves the global weights as they are.
    control : ndarray of float64, shape (size,), optional
        SCAFFOLD's, of the server.
    step_length : float
        The least that a client's local steps come to: their learning rate times as few of them as it can take.
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
    fewest: int = 1
    control: Weights | None = None
    step_length: float = 1.0
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
        if stayed := self._aborted(len(answered), len(came)):
            return Closed(round_number, tuple(came), tuple(refused), np.zeros(len(came)), stayed)
        updates = every[fine]
        checked = self._checked(came, updates, told)
        step = self._kept_finite(self._stepped(came, updates, checked))
        self.weights = step.weights
        if not step.stayed:
            self._follow([told[client].get("control change") for client in came], checked)
        return Closed(round_number, tuple(came), tuple(refused), step.shares, step.stayed, checked)

    def _aborted(self, answered: int, came: int) -> str:
        """Return why nothing is made of a round; empty where something is."""
        if answered and not came:
            return "every update was refused: none was a finite vector"
        if came < self.fewest and self.fewest > 1:
            return f"the round is aborted: fewer than the {self.fewest} clients answered whose shares make up the noise"
        return ""

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
        factors = np.ones(len(came)) if checked is None else checked.factors
        step = aggregate(
            self.aggregation, self.weights, updates, weights, factors=factors, fixed_divisor=self.fixed_divisor
        )
        if self.averaging is None or step.stayed:
            return step
        if isinstance(self.aggregation.rule, Mean):
            kept = weights * factors
            update = self.averaging.averaged(updates, kept, 1.0 if self.fixed_divisor else float(kept.sum()))
        else:
            update = self.averaging.averaged(step.update[None], np.ones(1), 1.0)
        return Step(self.weights + self.aggregation.learning_rate * update, update, step.shares)

    def _kept_finite(self, step: Step) -> Step:
        """Leave the global weights as they were where a step, of a huge learning rate, leads out of all numbers."""
        if usable(step.weights[None]).all():
            return step
        return Step(self.weights, np.zeros_like(self.weights), np.zeros_like(step.shares), OUT_OF_RANGE)

    def _follow(self, told: Sequence[Weights | None], checked: Checked | None) -> None:
        """Move the server's control variate by what clients tell of theirs: ``c += sum of changes / N``.

        Whoever the drift check leaves out is left out here too, a robust rule takes the place of the mean, and what
        bounds updates bounds these: else what an attacker sends would come in by this door. A change is
        ``-c - u / (K lr)`` (see `control`), so that with an update ``u`` of norm B it is no longer than ``|c| + B /
        (K lr)``, and K no less than one step a pass.
        """
        if self.control is None:
            return
        factors = np.ones(len(told)) if checked is None else checked.factors
        changes = np.stack([self._no_change() if change is None else change for change in told])
        if (bound := self.aggregation.norm_bound) is not None:
            with np.errstate(over="ignore", invalid="ignore"):  # what is no number is refused below
                changes = norm_bounded(changes, float(np.linalg.norm(self.control)) + bound / self.step_length)
        fine = usable(changes)
        equal = np.full(int(fine.sum()), 1 / len(self.shares))
        rule = self.aggregation.rule
        unbounded = Aggregation(rule=Mean() if isinstance(rule, Mean) else rule)
        step = aggregate(unbounded, self.control, changes[fine], equal, factors=factors[fine], fixed_divisor=True)
        # Of N clients those that did not come change nothing; in the mean they count as 0 already.
        came = 1.0 if isinstance(rule, Mean) else float(equal.sum())
        control = self.control + came * step.update
        if usable(control[None]).all():
            self.control = control

    def _no_change(self) -> Weights:
        return np.zeros(self.layout.size)

    def _none(self) -> Weights:
        return np.zeros((0, self.layout.size))
