"""Parameters of aggregation. Light on purpose: nothing but pydantic is imported."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from schemas.base import Contract, Text
from schemas.ranges import Norm


class Mean(Contract):
    """Weighted mean (FedAvg: McMahan et al., arXiv 1602.05629, algorithm 1)."""

    name: Literal["mean"] = "mean"
    weights: Literal["equal", "rows", "fixed"] = Field(
        default="equal", description="what a client counts for: all the same, its training rows, or the weights below"
    )
    fixed: dict[Text, Annotated[float, Field(gt=0)]] = Field(
        default={}, description="weight of every client, public; only their proportions count"
    )
    divisor: Literal["expected", "realised"] | None = Field(
        default=None,
        description="divide by the weights of the clients that a round expects, or by those that came and were kept; "
        "null: expected under differential privacy, realised without",
    )

    @model_validator(mode="after")
    def _fixed_where_they_are_used(self) -> Self:
        if (self.weights == "fixed") != bool(self.fixed):
            told = "weights: fixed needs them in fixed" if not self.fixed else "fixed goes with weights: fixed only"
            raise PydanticCustomError("fixed_weights", told)
        return self


class Median(Contract):
    """Median of each coordinate (Yin et al., arXiv 1803.01498, definition 1)."""

    name: Literal["median"] = "median"


class TrimmedMean(Contract):
    """Mean of each coordinate without its lowest and highest values (Yin et al., arXiv 1803.01498, definition 2)."""

    name: Literal["trimmed_mean"] = "trimmed_mean"
    share: float = Field(
        default=0.1, gt=0, lt=0.5, description="share of the clients that is cut off at either end, rounded up"
    )


class Krum(Contract):
    """The one update nearest to its neighbours (Blanchard et al., NeurIPS 2017, section 4)."""

    name: Literal["krum"] = "krum"
    byzantine: int = Field(
        default=1, ge=0, description="clients f that may send anything; 2 f + 3 clients at least must come"
    )


class MultiKrum(Contract):
    """Mean of the updates nearest to their neighbours (Blanchard et al., NeurIPS 2017, section 5)."""

    name: Literal["multi_krum"] = "multi_krum"
    byzantine: int = Field(
        default=1, ge=0, description="clients f that may send anything; 2 f + 3 clients at least must come"
    )
    keep: int | None = Field(
        default=None, ge=1, description="updates that are kept, all clients less f at most; null: all less f and 2"
    )


Rule = Annotated[Mean | Median | TrimmedMean | Krum | MultiKrum, Field(discriminator="name")]


class Aggregation(Contract):
    """How the updates of a round become the next global weights."""

    rule: Rule = Field(default=Mean(), description="how updates become one")
    norm_bound: Norm | None = Field(
        default=None, description="largest L2 norm of an update, which is scaled down to it first; null: none"
    )
    learning_rate: float = Field(
        default=1.0, gt=0, description="the server's step along the aggregated update; 1: FedAvg"
    )
