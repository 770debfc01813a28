"""Small federations made up for tests: sites with a few rows, and trainings whose updates are written down."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from components.data.table import Table
from components.dp.declarations import Noised
from components.federation.aggregation.declarations import Aggregation, Mean
from components.federation.aggregation.weights import shares_of
from components.federation.attacks.declarations import AnyAttack
from components.federation.client import Client
from components.federation.control import ControlVariate
from components.federation.declarations import EarlyStop
from components.federation.drift.declarations import Drift
from components.federation.layout import Layout, Weights
from components.federation.messages import Wire
from components.federation.privacy import guarded
from components.federation.rounds import Schedule, Training
from components.federation.server import Server
from components.federation.stage import Sites
from components.federation.work import Done, LocalTraining, Network, Work
from schemas.dataset import DatasetSchema

Updates = Callable[[str, int], Sequence[float] | Weights]
"""What a client's training comes to, by its name and the round."""


def schema(*, classes: bool = False) -> DatasetSchema:
    """Return a schema of two features and a target."""
    unit = {"dtype": "number", "role": "insensitive", "min": 0, "max": 1}
    target = {"dtype": "number", "role": "insensitive", "min": 0, "max": 3}
    label = {"dtype": "category", "role": "insensitive", "values": ["no", "yes"]}
    return DatasetSchema.model_validate(
        {
            "name": "tiny",
            "source": {"name": "csv", "path": "tiny.csv"},
            "columns": {"x": unit, "z": unit, "y": label if classes else target},
            "target": "y",
            "task": "classification" if classes else "regression",
            "split": {"test": 0.0},
        }
    )


def table(rows: int, seed: int = 0, *, classes: bool = False) -> Table:
    """Return rows with ``y = x + 2 z``, or whether that is above 1.5."""
    draw = np.random.default_rng(seed)
    x, z = draw.random(rows), draw.random(rows)
    y = x + 2 * z
    labels = pd.Categorical(np.where(y > 1.5, "yes", "no"), categories=["no", "yes"])
    return Table(pd.DataFrame({"x": x, "z": z, "y": labels if classes else y}), schema(classes=classes))


def sites(*rows: int, classes: bool = False) -> Sites:
    """Return sites ``c0``, ``c1``, ... of so many rows, and their risks."""
    tables = {f"c{place}": table(count, place, classes=classes) for place, count in enumerate(rows)}
    return Sites(tables, {name: 0.05 + 0.01 * place for place, name in enumerate(tables)})


@dataclass(frozen=True)
class Flat:
    """A network that is one vector and starts at zeros."""

    size: int

    @property
    def layout(self) -> Layout:
        """One layer."""
        return Layout(("flat",), ((self.size,),))

    def initial(self, seed: int) -> Weights:
        """Return zeros."""
        del seed
        return np.zeros(self.size)


@dataclass
class Scripted:
    """An engine whose updates are written down; it keeps what it was asked, and what it gave."""

    updates: Updates
    steps: int = 1
    loss: Callable[[str, int], float] = lambda _name, _round: 1.0
    asked: list[list[Work]] = field(default_factory=list)
    gave: list[Done] = field(default_factory=list)

    def train(self, network: Network, start: Weights, works: list[Work], options: LocalTraining) -> list[Done]:
        """Return the updates of the next round."""
        del network, start, options
        self.asked.append(works)
        number = len(self.asked)
        done = [
            Done(
                np.array(self.updates(work.client, number), dtype=np.float64),
                self.steps,
                self.loss(work.client, number),
                finite=bool(np.isfinite(self.loss(work.client, number))),
            )
            for work in works
        ]
        self.gave += done
        return done

    @property
    def cohorts(self) -> list[list[str]]:
        """Who was asked in each round."""
        return [[work.client for work in works] for works in self.asked]


def scripted(  # noqa: PLR0913  # parts of a federation, all but one optional
    updates: Updates,
    clients: Sequence[str] = ("a", "b", "c"),
    *,
    size: int = 2,
    rounds: int = 1,
    privacy: Noised | None = None,
    aggregation: Aggregation = Aggregation(),  # noqa: B008  # frozen
    drift: Drift | None = None,
    participation: float = 1.0,
    early_stop: EarlyStop | None = None,
    attacks: Sequence[AnyAttack] = (),
    rows: int = 10,
    scaffold: bool = False,
    loss: Callable[[str, int], float] = lambda _name, _round: 1.0,
) -> Training:
    """Return a training as `components.federation.stage.federate` makes it, with an engine of written-down updates."""
    network, known = Flat(size), dict.fromkeys(clients, rows)
    schedule = Schedule(rounds, participation, LocalTraining(batch_size=rows, learning_rate=1.0), 0, early_stop)
    rule = aggregation.rule if isinstance(aggregation.rule, Mean) else Mean()
    shares = shares_of(rule, known, participation)
    guards = guarded(privacy, schedule, known, dict.fromkeys(clients, 0.1), shares)
    divisor = rule.divisor or ("realised" if privacy is None else "expected")
    made = [
        Client(
            name,
            np.zeros((rows, 1), dtype=np.float32),
            np.zeros(rows, dtype=np.float32),
            guards.guards[name],
            0,
            ControlVariate.zero(size) if scaffold else None,
            tells_loss=early_stop is not None and early_stop.monitor == "loss",
            tells_noise=drift is not None,
            attack=next((each for each in attacks if name in each.clients), None),
        )
        for name in clients
    ]
    server = Server(
        network.layout,
        np.zeros(size),
        aggregation,
        shares,
        drift,
        fixed_divisor=divisor == "expected",
        averaging=guards.averaging,
        fewest=guards.fewest,
        control=np.zeros(size) if scaffold else None,
    )
    return Training(network, made, server, Scripted(updates, loss=loss), Wire(), schedule, guards.clips)
