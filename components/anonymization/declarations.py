"""Parameters of the anonymisation methods. Light on purpose: nothing but pydantic is imported."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from components.registry import Declaration
from schemas.base import Contract


class K(Contract):
    """k-anonymity (Sweeney 2002): every class holds at least k rows, or k persons where a subject id is declared."""

    name: Literal["k"] = "k"
    k: int = Field(ge=2)


class LDistinct(Contract):
    """Distinct l-diversity (Machanavajjhala 2007): every class holds at least l values of the sensitive column."""

    name: Literal["l_distinct"] = "l_distinct"
    l: int = Field(ge=2)
    column: str | None = Field(default=None, description="the sensitive column; may be left out when there is one")


class LEntropy(Contract):
    """Entropy l-diversity (Machanavajjhala 2007): exp(entropy of the sensitive values) is at least l in every class."""

    name: Literal["l_entropy"] = "l_entropy"
    l: float = Field(gt=1)
    column: str | None = None


class T(Contract):
    """t-closeness (Li 2007): no class is farther than t from the table, by earth mover's distance."""

    name: Literal["t"] = "t"
    t: float = Field(gt=0, lt=1)
    column: str | None = None


Criterion = Annotated[K | LDistinct | LEntropy | T, Field(discriminator="name")]


class AnonymizationDeclaration(Declaration):
    """Base of all methods."""

    precheck: ClassVar[str] = ""
    """``"module:function"`` that takes the declaration and the table, and raises what is hopeless before any work."""

    needs_hierarchies: ClassVar[bool] = False
    needs_model: ClassVar[bool] = False


class Guided(AnonymizationDeclaration):
    """Model-guided anonymisation (Goldsteen et al., arXiv 2007.13086)."""

    component: ClassVar[str] = "components.anonymization.guided:anonymise"
    precheck: ClassVar[str] = "components.anonymization.guided:precheck"
    needs_model: ClassVar[bool] = True
    name: Literal["guided"] = "guided"
    k: int = Field(default=5, ge=2, description="least rows (persons) in a class")
    criteria: list[Criterion] = Field(
        default=[], description="what every class must satisfy; a k here wins over k above"
    )
    surrogate: Literal["quasi_identifiers", "all"] = Field(
        default="quasi_identifiers", description="columns the surrogate tree grows on"
    )
    representative: Literal["median", "medoid", "range"] = Field(
        default="median", description="what a class's rows get on the quasi-identifiers"
    )
    medoid_label: Literal["any", "majority"] = Field(
        default="any", description="records a medoid is chosen from: all, or those with the class's majority label"
    )
    missing: Literal["own_value", "ignore", "refuse"] = Field(
        default="own_value", description="missing quasi-identifiers: a value of their own, left aside, or refused"
    )
