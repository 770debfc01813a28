"""What a client has an engine do in one round, and what it gets back; nothing of it has left the client yet."""

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from components.data.features import Features
from components.dp.noise import Noise
from components.federation.layout import Layout, Weights


@dataclass(frozen=True, slots=True)
class LocalTraining:
    """How every client trains in a round.

    Parameters
    ----------
    epochs : int
        Passes over the client's rows; with record-level privacy, ``epochs * ceil(rows / batch_size)`` steps.
    batch_size : int
    optimizer : {"sgd", "adam"}
        Its state starts anew in every round.
    learning_rate : float
    momentum : float
        Of sgd.
    weight_decay : float
        L2 penalty on all weights.
    proximal : float
        FedProx's mu (Li et al., arXiv 1812.06127, eq. 2): the loss gains ``mu/2 |w - w_global|^2``.
    """

    epochs: int = 1
    batch_size: int = 64
    optimizer: Literal["sgd", "adam"] = "sgd"
    learning_rate: float = 0.1
    momentum: float = 0.0
    weight_decay: float = 0.0
    proximal: float = 0.0


@dataclass(frozen=True, slots=True)
class PerRecord:
    """Record-level privacy of one client's training (DP-SGD, Abadi et al., arXiv 1607.00133, algorithm 1).

    Every step takes each row with probability ``min(batch_size / rows, 1)``, clips each row's gradient, adds noise of
    standard deviation ``multiplier * clip`` to their sum and divides by the expected batch ``rate * rows``. An empty
    batch adds noise and counts.

    Parameters
    ----------
    clip : float
        Largest L2 norm of one row's gradient.
    multiplier : float
        Noise multiplier z > 0.
    noise : Noise
        Draws the batches and the noise.
    """

    clip: float
    multiplier: float
    noise: Noise


@dataclass(frozen=True, slots=True)
class Work:
    """One client's training in one round.

    Parameters
    ----------
    client : str
    features : ndarray of float32, shape (rows, features)
        In canonical order.
    targets : ndarray, shape (rows,)
        int64 class positions, or float32 numbers.
    seed : int
        Of the order of the batches, where no privacy noise is drawn; derived from (root, client, round).
    correction : ndarray of float64, shape (size,), optional
        Added to every step's gradient (SCAFFOLD's ``c - c_i``).
    privacy : PerRecord, optional
    """

    client: str
    features: Features
    targets: npt.NDArray[np.generic]
    seed: int
    correction: Weights | None = None
    privacy: PerRecord | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """What a client's training came to.

    Parameters
    ----------
    update : ndarray of float64, shape (size,)
        Local weights minus the global ones that training started from.
    steps : int
        Optimiser steps that were taken.
    loss : float
        Mean loss over the rows that were trained on, before each step; NaN where there were none. It is raw: it may
        not leave the client unless that is declared.
    finite : bool
        False where the update became no finite number, and is of no use to anybody; without record-level privacy also
        where the loss did. With it the noised update alone decides, so that whoever acts on it spends no privacy.
    """

    update: Weights
    steps: int
    loss: float
    finite: bool = True


class Network(Protocol):
    """What clients train: its layout, first weights, and whatever an engine needs to know to train it."""

    @property
    def layout(self) -> Layout:
        """Where its layers lie in a flat vector."""

    def initial(self, seed: int) -> Weights:
        """Return first weights."""


class Engine(Protocol):
    """Trains clients. The embedded one does so in this process; a distributed one would ask the sites to."""

    def train(self, network: Network, start: Weights, works: list[Work], options: LocalTraining) -> list[Done]:
        """Train every client from `start`.

        Parameters
        ----------
        network : Network
        start : ndarray of float64, shape (size,)
            The global weights.
        works : list of Work
        options : LocalTraining

        Returns
        -------
        list of Done
            In the order of `works`. Which clients are trained together, and in which order, changes nothing beyond
            rounding (without privacy noise 1e-6).
        """
