"""Parameters of drift detection. Light on purpose: nothing but pydantic is imported."""

from typing import Literal

from pydantic import Field

from schemas.base import Contract


class Drift(Contract):
    """Find clients whose weights stand apart from the others', every round.

    A client's score is its mean (or median) distance to the others. It is flagged when its score is over
    ``median + c * 1.4826 * MAD`` of all scores, and over ``ratio`` times their median. Where the noise on the weights
    is known, what the noise alone could have done flags nobody. Of the ratio metrics ``ratio`` times the median counts
    as no more than .9 a layer: a client that outweighs the others by far scores 1, and honest sites may be that unlike.

    Of clients that attack in the same way, mean scores show those that are less than ``1 / (1 + ratio)`` of all, as
    their own likeness lowers their scores; median scores show any minority, at the cost of more honest sites of
    unequal size being flagged, and of less being seen through noise.
    """

    metric: Literal["layerwise", "flat", "plain"] = Field(
        default="flat",
        description="distance between two clients' weights: |A-B|/|A+B| of all layers as one vector (flat), the root "
        "of the sum of its squares over layers (layerwise), or |A-B| (plain)",
    )
    score: Literal["mean", "median"] = Field(
        default="mean",
        description="a client's score is this of its distances to the others; median shows more that attack together, "
        "and suspects more honest sites",
    )
    c: float = Field(
        default=4.0, gt=0, description="a score is flagged from this many deviations (MAD) above the median"
    )
    ratio: float = Field(
        default=2.5,
        ge=1,
        description="least multiple of the median score that is flagged; 1: none. Sites of unequal size or labels "
        "stand apart too, but not as far",
    )
    rounds: int = Field(
        default=1, ge=1, description="rounds running that a client must be flagged before anything is done"
    )
    max_share: float = Field(
        default=0.3,
        ge=0,
        lt=1,
        description="largest share of a round's clients that anything is done about, rounded down",
    )
    action: Literal["exclude", "down_weight", "report"] = Field(
        default="exclude", description="what is done: left out of the round, given less weight, or only reported"
    )
    weight: float = Field(
        default=0.1, gt=0, lt=1, description="what a client's weight is multiplied by where the action is down_weight"
    )
    noise_correction: bool = Field(
        default=True,
        description="take the energy of the clients' own privacy noise off the distances, so that it ranks nobody",
    )
