"""Parameters of partitioning. Light on purpose: nothing but pydantic is imported."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from schemas.base import Contract, Text

MOST_CLIENTS = 10_000

STREAM = "partition"
"""Name of the random stream that partitions are drawn from (see `components.randomness`)."""


class ByColumn(Contract):
    """A row belongs to the client that a column names."""

    name: Literal["column"] = "column"
    column: Text | None = Field(default=None, description="column that names the client; null: dataset.client")


class Drawn(Contract):
    """What all partitions take that are drawn, for tables that come from one place."""

    clients: int = Field(default=10, ge=1, le=MOST_CLIENTS, description="number of clients")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the clients, in order."""
        return tuple(f"client {number:0{len(str(self.clients))}}" for number in range(1, self.clients + 1))


class Iid(Drawn):
    """Equal shares, drawn at random: every client's rows are like all others'."""

    name: Literal["iid"] = "iid"


class Labelled(Drawn):
    """What partitions take that look at the classes of a column."""

    column: Text | None = Field(default=None, description="column whose classes are dealt out; null: the target")
    bins: int = Field(default=10, ge=2, le=1_000, description="classes by quantiles, of a column of numbers or dates")


class Dirichlet(Labelled):
    """Label skew: each class is shared out by a draw from a symmetric Dirichlet (Hsu et al., arXiv 1909.06335)."""

    name: Literal["dirichlet"] = "dirichlet"
    alpha: float = Field(
        default=0.5, gt=0, le=1e6, description="concentration: .1 nearly one client a class, 100 nearly even shares"
    )


class Pathological(Labelled):
    """Few classes a client (McMahan et al., arXiv 1602.05629, section 3), each shared out evenly among those it is of.

    There the rows, sorted by class, are cut into shards; here classes are dealt out, so that no client has more.
    """

    name: Literal["pathological"] = "pathological"
    classes: int = Field(default=2, ge=1, description="classes a client has")


class QuantitySkew(Drawn):
    """Clients of unequal size, whose rows are alike."""

    name: Literal["quantity_skew"] = "quantity_skew"
    sizes: Literal["geometric", "dirichlet"] = Field(
        default="geometric", description="rows rise by an equal factor from smallest to largest, or are drawn"
    )
    smallest: int = Field(default=200, ge=1, description="rows of the smallest client, of geometric sizes")
    largest: int = Field(
        default=20_000,
        ge=1,
        description="rows of the largest client, of geometric sizes; all are scaled so that every row is given out",
    )
    alpha: float = Field(default=0.5, gt=0, le=1e6, description="concentration of a Dirichlet, of drawn sizes")

    @model_validator(mode="after")
    def _smallest_first(self) -> Self:
        if self.smallest > self.largest:
            raise PydanticCustomError("partition", "smallest is larger than largest")
        return self


class Continuous(Drawn):
    """Clients of equal size along a column: the first has the lowest values, the last the highest."""

    name: Literal["continuous"] = "continuous"
    column: Text | None = Field(default=None, description="column that rows are ordered by; null: the target")
    strictness: float = Field(
        default=1.0, ge=0, le=1, description="1 orders by the column alone, 0 at random, between them by both"
    )


Partitioning = Annotated[
    ByColumn | Iid | Dirichlet | Pathological | QuantitySkew | Continuous, Field(discriminator="name")
]
