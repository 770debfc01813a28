"""Parameters of simulated attacks. Light on purpose: nothing but pydantic is imported."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.base import Contract, Text


class Attack(Contract):
    """What every attack takes."""

    clients: list[Text] = Field(min_length=1, description="clients that attack")


class LabelFlip(Attack):
    """Trains on targets turned round: the lowest for the highest, the first class for the last."""

    name: Literal["label_flip"] = "label_flip"


class SignFlip(Attack):
    """Sends its update with the other sign."""

    name: Literal["sign_flip"] = "sign_flip"


class Scaling(Attack):
    """Sends a multiple of its update."""

    name: Literal["scaling"] = "scaling"
    factor: float = Field(default=100.0, description="what the update is multiplied by; below 0 it turns round as well")


class Gaussian(Attack):
    """Adds noise to its update."""

    name: Literal["gaussian"] = "gaussian"
    std: float = Field(default=1.0, gt=0, description="standard deviation of the noise on each number of the update")


class Lazy(Attack):
    """Trains nothing, and sends the global weights back."""

    name: Literal["lazy"] = "lazy"


AnyAttack = Annotated[LabelFlip | SignFlip | Scaling | Gaussian | Lazy, Field(discriminator="name")]
