"""Privacy criteria as a configuration writes them. Light on purpose: nothing but pydantic is imported."""

from typing import Annotated, Literal

from pydantic import Field, ValidationError

from schemas.base import Contract


class K(Contract):
    """k-anonymity (Sweeney 2002): every class holds at least k rows, or k persons where a subject id is declared."""

    name: Literal["k"] = "k"
    k: int = Field(ge=2)


class OnColumn(Contract):
    """Base of the criteria on the values of one sensitive column."""

    column: str | None = Field(default=None, description="the sensitive column; may be left out when there is one")
    others: Literal["ignore", "known"] = Field(
        default="ignore",
        description="whether an attacker knows the other sensitive columns: then they tell classes apart",
    )


class LDistinct(OnColumn):
    """Distinct l-diversity (Machanavajjhala et al. 2007): every class holds at least l sensitive values."""

    name: Literal["l_distinct"] = "l_distinct"
    l: int = Field(ge=2)


class LEntropy(OnColumn):
    """Entropy l-diversity (Machanavajjhala et al. 2007): exp(entropy of the values) is at least l in every class."""

    name: Literal["l_entropy"] = "l_entropy"
    l: float = Field(gt=1)


class LRecursive(OnColumn):
    """Recursive (c, l)-diversity (Machanavajjhala et al. 2007): r1 < c * (r_l + ... + r_m) in every class."""

    name: Literal["l_recursive"] = "l_recursive"
    l: int = Field(ge=2)
    c: float = Field(gt=0)


class Alpha(OnColumn):
    """(alpha, k)-anonymity (Wong et al. 2006): no value has more than the share alpha in a class."""

    name: Literal["alpha"] = "alpha"
    alpha: float = Field(gt=0, lt=1)


class T(OnColumn):
    """t-closeness (Li et al. 2007): no class is farther than t from the table, by earth mover's distance."""

    name: Literal["t"] = "t"
    t: float = Field(gt=0, lt=1)
    distance: Literal["auto", "equal", "ordered", "hierarchical"] = Field(
        default="auto", description="between values; auto is ordered for numbers, dates and ordered columns, else equal"
    )


class Beta(OnColumn):
    """Basic beta-likeness (Cao and Karras 2012): no value gains more than beta, (q - p) / p, over the table."""

    name: Literal["beta"] = "beta"
    beta: float = Field(gt=0)


class BetaEnhanced(OnColumn):
    """Enhanced beta-likeness (Cao and Karras 2012): the gain is at most min(beta, -ln p)."""

    name: Literal["beta_enhanced"] = "beta_enhanced"
    beta: float = Field(gt=0)


class DeltaDisclosure(OnColumn):
    """delta-disclosure privacy (Brickell and Shmatikov 2008): abs(ln(q / p)) is below delta for every value."""

    name: Literal["delta_disclosure"] = "delta_disclosure"
    delta: float = Field(gt=0)
    absent: Literal["strict", "skip"] = Field(
        default="strict", description="values that a class lacks: infinitely far, or left out as ARX does"
    )


class KMap(Contract):
    """k-map (Sweeney 2002): every class fits at least k persons of the population (``dataset.population``)."""

    name: Literal["k_map"] = "k_map"
    k: int = Field(ge=2)


Criterion = Annotated[
    K | LDistinct | LEntropy | LRecursive | Alpha | T | Beta | BetaEnhanced | DeltaDisclosure | KMap,
    Field(discriminator="name"),
]


def takes(criterion: Criterion, parameter: str, limit: float) -> bool:
    """Tell whether a configuration takes another limit for a criterion."""
    given = int(limit) if float(limit).is_integer() else limit  # 2.0 is no whole number to a declaration
    try:
        type(criterion).model_validate({**criterion.model_dump(), parameter: given})
    except ValidationError:
        return False
    return True
