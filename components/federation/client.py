"""A client: holds its rows, has them trained on, and decides what of that leaves."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from components.data.features import Features
from components.dp.accountant import Accountant, Entry
from components.federation.attacks.declarations import AnyAttack
from components.federation.attacks.simulate import attacked_update
from components.federation.control import ControlVariate
from components.federation.layout import Weights
from components.federation.work import Done, PerRecord, Work
from components.randomness import derived_seed, stream

BATCHES, ATTACKS = "federation-batches", "federation-attacks"
"""Names of the random streams that clients draw from."""


class Guard(Protocol):
    """What stands between a client's training and the wire: its clip, its noise and its budget."""

    @property
    def per_record(self) -> PerRecord | None:
        """Record-level privacy of the training itself, if that is where it is."""

    @property
    def deviation(self) -> float:
        """Standard deviation of the client's own noise on each number of its last update, as far as it is known."""

    @property
    def account(self) -> Accountant | None:
        """What the client released so far; None where nothing is accounted."""

    def may_contribute(self, steps: int) -> bool:
        """Say whether one more round of `steps` steps stays within the client's budget."""

    def entries(self, round_number: int, steps: int, clip: float) -> list[Entry]:
        """Return what a round of `steps` steps would put to the client's account."""

    def released(self, update: Weights, round_number: int, steps: int, clip: float) -> dict[str, Any]:
        """Return what of an update leaves, by kind of message, and put it to the client's account.

        Parameters
        ----------
        update : ndarray of float64, shape (size,)
            Numbers that are not finite are allowed.
        round_number : int
        steps : int
            Optimiser steps that it took.
        clip : float
            Of the round, where updates are clipped.
        """


@dataclass(slots=True)
class Client:
    """One site in training.

    Parameters
    ----------
    name : str
    features : ndarray of float32, shape (rows, features)
        In canonical order.
    targets : ndarray, shape (rows,)
    guard : Guard
    seed : int
        The run's root seed.
    control : ControlVariate, optional
        SCAFFOLD's, of this client.
    tells_loss, tells_noise : bool
        Whether the server is told the loss of every round, and how strong the client's noise is.
    attack : AnyAttack, optional
        What it is to do to its update, in simulations.
    """

    name: str
    features: Features
    targets: npt.NDArray[np.generic]
    guard: Guard
    seed: int
    control: ControlVariate | None = None
    tells_loss: bool = False
    tells_noise: bool = False
    attack: AnyAttack | None = None

    def __len__(self) -> int:
        """Return the number of its rows."""
        return len(self.targets)

    def work(self, round_number: int, control: Weights | None) -> Work:
        """Return what the engine is to do for the client in a round; `control` is the server's variate."""
        correction = None if self.control is None or control is None else control - self.control.value
        order = derived_seed(self.seed, BATCHES, self.name, round_number)
        return Work(self.name, self.features, self.targets, order, correction, self.guard.per_record)

    def answers(
        self, done: Done, round_number: int, *, clip: float, control: Weights | None, learning_rate: float
    ) -> dict[str, Any]:
        """Return what the client tells of a round, by kind of message.

        Parameters
        ----------
        done : Done
            What its training came to.
        round_number : int
        clip : float
            Of the round, where updates are clipped.
        control : ndarray of float64, shape (size,), optional
            The server's control variate of the round.
        learning_rate : float
            Of every local step.
        """
        update = done.update
        if self.attack is not None:
            draw = stream(self.seed, ATTACKS, self.name, round_number)
            with np.errstate(over="ignore"):  # it may send infinities: clips and the server know what to do with them
                update = attacked_update(self.attack, update, draw)
        said = self.guard.released(update, round_number, done.steps, clip)
        if self.control is not None and control is not None and done.steps:
            with np.errstate(over="ignore", invalid="ignore"):
                after = self.control.after(control, said["update"], done.steps, learning_rate)
            if np.isfinite(after.value).all():  # training that ran away once is no reason never to come back
                said["control change"] = after.value - self.control.value
                self.control = after
        if self.tells_loss:
            said["loss"] = done.loss if done.finite else None
        if self.tells_noise and self.guard.deviation:
            said["noise"] = self.guard.deviation
        return said
