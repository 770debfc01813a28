"""The rounds of a federation: who takes part, what crosses the wire, when it ends, and where it can go on."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Any

import numpy as np

from components.dp.accountant import Entry
from components.federation.client import Client
from components.federation.declarations import EarlyStop
from components.federation.guards import Clips
from components.federation.layout import Weights
from components.federation.messages import Wire
from components.federation.server import Closed, Server
from components.federation.work import Done, Engine, LocalTraining, Network
from components.randomness import stream

Spending = Mapping[str, Sequence[Entry]]
"""What is put to the accounts of clients, by their names."""

COHORT = "federation-cohort"
"""Name of the random stream that says who takes part in a round. Who does is public: no guarantee counts on it."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long training goes on, and who takes part.

    Parameters
    ----------
    rounds : int
        0 leaves the first weights as they are.
    participation : float
        Chance of each client to take part in a round, in (0, 1].
    local : LocalTraining
    seed : int
        The run's root seed.
    early_stop : EarlyStop, optional
    """

    rounds: int
    participation: float
    local: LocalTraining
    seed: int
    early_stop: EarlyStop | None = None

    def cohort(self, names: Sequence[str], round_number: int) -> list[str]:
        """Return who takes part in a round; never nobody while there is a client."""
        if self.participation == 1 or not names:
            return list(names)
        draws = stream(self.seed, COHORT, round_number=round_number).random(len(names))
        drawn = [name for name, draw in zip(names, draws, strict=True) if draw < self.participation]
        return drawn or [names[int(np.argmin(draws))]]

    def steps(self, rows: int) -> int:
        """Return the optimiser steps of a client in a round."""
        return self.local.epochs * ceil(rows / self.local.batch_size)


@dataclass(frozen=True, slots=True)
class Round:
    """One round, told without a raw figure.

    Parameters
    ----------
    number : int
    cohort : tuple of str
        Who was asked.
    spent : tuple of str
        Of these, whose budget allows no further round.
    clip : float or None
        Clip norm of updates.
    closed : Closed
    change : float
        L2 norm of what the global weights changed by.
    loss : float or None
        Mean of the losses that clients told, where they tell them.
    """

    number: int
    cohort: tuple[str, ...]
    spent: tuple[str, ...]
    clip: float | None
    closed: Closed
    change: float
    loss: float | None = None


@dataclass(slots=True)
class Training:
    """A federation in training: everything that a later round needs.

    Parameters
    ----------
    network : Network
    clients : sequence of Client
    server : Server
    engine : Engine
    wire : Wire
    schedule : Schedule
    clips : Clips, optional
        What the next round's clip norm is; None where updates aren't clipped.
    rounds : list of Round
        Those that are over.
    identity : mapping
        What has to be the same for it to go on from a checkpoint (see `components.federation.checkpoint.identity`).
    """

    network: Network
    clients: Sequence[Client]
    server: Server
    engine: Engine
    wire: Wire
    schedule: Schedule
    clips: Clips | None = None
    rounds: list[Round] = field(default_factory=list)
    identity: Mapping[str, Any] = field(default_factory=dict)

    def run(
        self,
        after_round: Callable[["Training"], None] = lambda _: None,
        before_release: Callable[["Training", int, Spending], None] = lambda *_: None,
    ) -> str:
        """Do the rounds that are left.

        Parameters
        ----------
        after_round : callable, optional
            Called with this object after every round, such as to keep a checkpoint.
        before_release : callable, optional
            Called in every round before anything of it leaves a client, with this object, the round and what it will
            put to the accounts, by client: whoever keeps that can't forget a release.

        Returns
        -------
        str
            Why it ended.
        """
        while len(self.rounds) < self.schedule.rounds:
            if why := self._over():
                return why
            self.rounds.append(self._round(len(self.rounds) + 1, before_release))
            after_round(self)
        return "all rounds are done"

    def _over(self) -> str:
        """Return why there is no use in another round; empty where there is."""
        if not self.clients:
            return "there is no client"
        able = sum(self._may(client) for client in self.clients)
        if not able:
            return "every client's budget is spent"
        if able < self.server.fewest:
            return f"fewer than the {self.server.fewest} clients whose shares make up the noise have budget left"
        running = "a round" if self._patience == 1 else f"{self._patience} rounds"
        return f"nothing improved for {running}" if self._stands_still() else ""

    def _may(self, client: Client) -> bool:
        return client.guard.may_contribute(self.schedule.steps(len(client)))

    def _round(self, number: int, before_release: Callable[["Training", int, Spending], None]) -> Round:
        by_name = {client.name: client for client in self.clients}
        cohort = self.schedule.cohort(list(by_name), number)
        able = [name for name in cohort if self._may(by_name[name])]
        spent = [name for name in cohort if name not in able]
        for name in spent:
            self.wire.to_server(number, name, "spent", None)
        if len(able) < self.server.fewest:
            able = []  # the round will be aborted: nobody is asked to tell anything for nothing
        start, control, clip = self._broadcast(number)
        done = self._trained(start, [by_name[name] for name in able], number, control)
        before_release(self, number, self._spending(able, done, number, clip))
        told = {
            name: self._told(by_name[name], each, number, clip, control) for name, each in zip(able, done, strict=True)
        }
        closed = self.server.close(number, told)
        if self.clips is not None:
            self.clips.follow(told)
        change = float(np.linalg.norm(self.server.weights - start))
        return Round(number, tuple(cohort), tuple(spent), clip, closed, change, _mean_loss(told.values()))

    def _broadcast(self, number: int) -> tuple[Weights, Weights | None, float | None]:
        """Send what clients need for a round, and return it as they read it."""
        control, clip = self.server.control, None if self.clips is None else self.clips.norm
        start = self.wire.to_clients(number, "global weights", self.server.weights)
        if control is not None:
            control = self.wire.to_clients(number, "control", control)
        if clip is not None:
            clip = self.wire.to_clients(number, "clip norm", clip)
        return start, control, clip

    def _trained(self, start: Weights, able: list[Client], number: int, control: Weights | None) -> list[Done]:
        works = [client.work(number, control) for client in able]
        return self.engine.train(self.network, start, works, self.schedule.local)

    def _spending(self, able: Sequence[str], done: Sequence[Done], number: int, clip: float | None) -> Spending:
        """Return what a round will put to the accounts."""
        by_name, norm = {client.name: client for client in self.clients}, inf if clip is None else clip
        return {
            name: by_name[name].guard.entries(number, each.steps, norm) for name, each in zip(able, done, strict=True)
        }

    def _told(
        self, client: Client, done: Done, number: int, clip: float | None, control: Weights | None
    ) -> Mapping[str, Any]:
        rate = self.schedule.local.learning_rate
        said = client.answers(done, number, clip=inf if clip is None else clip, control=control, learning_rate=rate)
        return {kind: self.wire.to_server(number, client.name, kind, content) for kind, content in said.items()}

    @property
    def _patience(self) -> int:
        return 0 if self.schedule.early_stop is None else self.schedule.early_stop.patience

    def _stands_still(self) -> bool:
        """Say whether the best figure is older than patience allows."""
        stop = self.schedule.early_stop
        if stop is None:
            return False
        figures = [each.change if stop.monitor == "change" else each.loss for each in self.rounds]
        known = [inf if figure is None else figure for figure in figures]
        best, since = inf, 0
        for figure in known:
            if figure < best - stop.min_change:
                best, since = figure, 0
            else:
                since += 1
        return since >= stop.patience


def _mean_loss(told: Iterable[Mapping[str, Any]]) -> float | None:
    losses = [said["loss"] for said in told if said.get("loss") is not None]
    return float(np.mean(losses)) if losses else None
