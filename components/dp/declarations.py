"""Parameters of differential privacy. Light on purpose: nothing but pydantic is imported."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.base import Contract
from schemas.declaration import Declaration
from schemas.ranges import Budget, Delta, Multiplier, Norm, TargetEpsilon

Relation = Literal["zero_out", "replace_table", "add_remove_record", "replace_record"]


class Fixed(Contract):
    """One clip for the whole run."""

    name: Literal["fixed"] = "fixed"
    norm: Norm = Field(default=1.0, description="largest L2 norm of a client's update")


class Adaptive(Contract):
    """A clip that follows a quantile of the updates' norms (Andrew et al., arXiv 1905.03871)."""

    name: Literal["adaptive"] = "adaptive"
    norm: Norm = Field(default=1.0, description="clip of the first round")
    quantile: float = Field(default=0.5, ge=0, le=1, description="share of updates that are to be within the clip")
    rate: float = Field(default=0.2, gt=0, le=1, description="step of the clip's logarithm a round")
    vote_noise: Multiplier = Field(
        default=3.0,
        description="noise multiplier of the votes on whether an update was within, as a multiple of the updates' own; "
        "they are a second release, and accounted",
    )


Clipping = Annotated[Fixed | Adaptive, Field(discriminator="name")]


class ByMax(Contract):
    """The multiplier times risk over the largest risk."""

    name: Literal["max"] = "max"


class ByMean(Contract):
    """The multiplier times risk over the mean risk."""

    name: Literal["mean"] = "mean"


class ByMinMax(Contract):
    """The multiplier times the risk's place between the least and the largest."""

    name: Literal["minmax"] = "minmax"
    floor: Multiplier = Field(default=0.5, description="least multiplier: without it the least risky has no noise")


class ByShift(Contract):
    """The multiplier times one more than the risk's place between the least and the largest."""

    name: Literal["shift"] = "shift"


class Tier(Contract):
    """What clients of a band of risk get: one of multiplier and target epsilon."""

    up_to: float = Field(gt=0, le=1, description="largest risk (ARIREC) of the band")
    multiplier: Multiplier | None = Field(default=None, description="noise multiplier of its clients")
    target_epsilon: TargetEpsilon | None = Field(
        default=None, description="or the epsilon of its clients after all rounds"
    )


class ByTiers(Contract):
    """Bands of risk, published beforehand."""

    name: Literal["tiers"] = "tiers"
    tiers: list[Tier] = Field(min_length=1, description="bands, least risk first; the last one goes up to 1")


class ByEpsilon(Contract):
    """A target epsilon for every client, by policy and whatever its data."""

    name: Literal["epsilon"] = "epsilon"
    default: TargetEpsilon = Field(description="epsilon after all rounds of clients that are not named")
    clients: dict[str, TargetEpsilon] = Field(default={}, description="that of a client by its name")


Personalise = Annotated[
    ByMax | ByMean | ByMinMax | ByShift | ByTiers | ByEpsilon,
    Field(discriminator="name"),
]


class Privacy(Declaration):
    """What every kind of noise takes."""

    delta: Delta = Field(
        default=1e-5, description="delta of every epsilon; below one over the train rows of each client"
    )
    multiplier: Multiplier | None = Field(
        default=None, description="noise multiplier: standard deviation of the noise over the clip"
    )
    target_epsilon: TargetEpsilon | None = Field(
        default=3.0,
        description="or the epsilon after all rounds, from which multipliers are calibrated; where they follow risk, "
        "none is so low that its client exceeds it",
    )
    budget: Budget | None = Field(
        default=None, description="largest epsilon of a client: it stops to contribute before; null: no limit"
    )
    unproven: Literal["refuse", "report"] = Field(
        default="refuse", description="settings under which no epsilon holds are refused, or said to give no guarantee"
    )
    noise_seed: int | None = Field(default=None, ge=0, description="for tests alone: it voids every guarantee")


class Global(Privacy):
    """Noise on the aggregated update."""

    name: Literal["global"] = "global"
    relation: Relation = Field(
        default="replace_table", description="what two neighbouring inputs of a client differ in"
    )
    clipping: Clipping = Field(default=Fixed(), description="how long a client's update may be")
    noise_from: Literal["server", "clients"] = Field(
        default="server", description="who adds the noise: the server, or each client its share of it"
    )
    smallest_cohort: int | None = Field(
        default=None,
        ge=1,
        description="clients whose shares make up the noise; a round with fewer is aborted; null: all of them",
    )


class Personalized(Privacy):
    """Noise that each client adds to its own update, by its risk or by policy."""

    name: Literal["personalized"] = "personalized"
    relation: Relation = Field(
        default="replace_table", description="what two neighbouring inputs of a client differ in"
    )
    clipping: Clipping = Field(default=Fixed(), description="how long a client's update may be")
    personalise: Personalise | None = Field(
        default=ByMax(), description="how a client's multiplier follows its risk; null: the same for all"
    )
    paper: bool = Field(
        default=False,
        description="noise of standard deviation `multiplier` on weights that nothing clips: no formal guarantee",
    )


class Record(Privacy):
    """Noise on every step of the training inside each client (DP-SGD), which protects its single records."""

    name: Literal["record"] = "record"
    relation: Literal["add_remove_record", "replace_record"] = Field(
        default="add_remove_record", description="what two neighbouring inputs of a client differ in"
    )
    clip: Norm = Field(default=1.0, description="largest L2 norm of the gradient of one record")
    personalise: Personalise | None = Field(
        default=ByMax(), description="how a client's multiplier follows its risk; null: the same for all"
    )


Noised = Global | Personalized | Record
"""Every kind of noise."""
