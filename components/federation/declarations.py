"""Parameters of federations. Light on purpose: nothing but pydantic is imported."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from components.federation.aggregation.declarations import Aggregation
from components.federation.attacks.declarations import AnyAttack
from components.federation.drift.declarations import Drift
from components.federation.harmonising.declarations import Harmonising
from components.federation.partitioning.declarations import ByColumn, Partitioning
from schemas.base import Contract
from schemas.declaration import Declaration
from schemas.ranges import Rounds


class Embedded(Contract):
    """Trains all clients in this process."""

    name: Literal["embedded"] = "embedded"
    backend: Literal["numpy", "torch"] = Field(default="numpy", description="whose products of matrices are used")
    chunk: int = Field(
        default=10, ge=1, le=100_000, description="clients that are trained side by side; 10 to 20 are fastest"
    )


class Local(Contract):
    """How every client trains in a round."""

    epochs: int = Field(default=1, ge=1, le=10_000, description="passes over a client's rows in a round")
    batch_size: int = Field(
        default=64, ge=1, le=10**9, description="rows of one step; expected rows under record-level privacy"
    )
    optimizer: Literal["sgd", "adam"] = Field(default="sgd", description="its state starts anew in every round")
    learning_rate: float = Field(default=0.1, gt=0, description="of every step, on features in [0, 1]")
    momentum: float = Field(default=0.0, ge=0, lt=1, description="of sgd")
    weight_decay: float = Field(default=0.0, ge=0, description="L2 penalty on all weights")


class EarlyStop(Contract):
    """End before all rounds are done."""

    monitor: Literal["change", "loss"] = Field(
        default="change",
        description="what must fall: how far the weights move, or the mean training loss, which clients then tell",
    )
    patience: int = Field(default=5, ge=1, le=1_000_000, description="rounds running without a new best")
    min_change: float = Field(default=0.0, ge=0, description="what counts as better: lower by more than this")


class Federation(Declaration):
    """What every federation takes."""

    clients: Partitioning = Field(default=ByColumn(), description="which client a row belongs to")
    harmonising: Harmonising = Field(default=Harmonising(), description="how sites come to the levels they publish on")
    rounds: Rounds = Field(default=20, description="rounds of training")
    participation: float = Field(default=1.0, gt=0, le=1, description="chance of each client to take part in a round")
    local: Local = Field(default=Local(), description="training at a client")
    aggregation: Aggregation = Field(default=Aggregation(), description="how updates become the next global weights")
    drift: Drift | None = Field(default=Drift(), description="find clients whose weights stand apart; null: don't look")
    early_stop: EarlyStop | None = Field(default=None, description="end before all rounds are done; null: do them all")
    engine: Annotated[Embedded, Field(description="where clients are trained")] = Embedded()
    attacks: list[AnyAttack] = Field(default=[], description="simulated attackers, for tests and demonstrations")


class FedAvg(Federation):
    """Federated averaging (McMahan et al., arXiv 1602.05629, algorithm 1)."""

    component: ClassVar[str] = "components.federation.stage:federate"
    name: Literal["fedavg"] = "fedavg"


class FedProx(Federation):
    """FedAvg with local training held near the global weights (Li et al., arXiv 1812.06127, algorithm 2)."""

    component: ClassVar[str] = "components.federation.stage:federate"
    name: Literal["fedprox"] = "fedprox"
    mu: float = Field(default=0.01, ge=0, description="strength of the pull: the loss gains mu/2 |w - w_global|^2")


class Scaffold(Federation):
    """FedAvg with control variates against client drift (Karimireddy et al., arXiv 1910.06378, algorithm 1)."""

    component: ClassVar[str] = "components.federation.stage:federate"
    name: Literal["scaffold"] = "scaffold"
