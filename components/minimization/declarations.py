"""Parameters of minimisation. Light on purpose: nothing but pydantic is imported."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from schemas.base import Text
from schemas.declaration import Declaration

Target = Annotated[float, Field(gt=0, lt=1)]

TARGETS: tuple[float, ...] = (0.998, 0.99, 0.95, 0.9, 0.8)
"""What is asked for where no target is given: the first of these that the report rows can show (see `holdout`)."""

STREAMS: tuple[str, ...] = (
    "minimization-rows",
    "minimization-split",
    "minimization-contexts",
    "minimization-effects",
    "minimization-importance",
    "minimization-growths",
    "minimization-personal",
    "minimization-steadiness",
    "minimization-supplement",
    "minimization-swayed",
    "minimization-tree",
    "minimization-verdict",
    "minimization-necessity",
)
"""Names of the random streams that minimisation may draw from (see `components.randomness`)."""


class Minimization(Declaration):
    """What every method takes; methods of other distributions derive from it, or from `Targeted`."""

    needs_model: ClassVar[bool] = True

    columns: list[Text] | None = Field(
        default=None,
        min_length=1,
        description="columns to minimise, the one-hot columns of a group all together; null: all features",
    )
    min_rows: int = Field(default=10, ge=1, description="least fit rows, not persons, of a range, group, cell or end")
    search_rows: int = Field(
        default=20_000, ge=10, description="most rows that are searched on, and most that say where to stop; a sample"
    )
    calibration_share: float = Field(
        default=0.5, gt=0, lt=1, description="share of the held-out rows that say where to stop; the others judge"
    )
    audit_rows: int = Field(
        default=1_000, ge=1, description="most rows that the model is asked about per feature in the necessity audit"
    )
    outside: Literal["default", "refuse"] = Field(
        default="default",
        description="values outside the domain count as the default (numbers: the nearer bound), and rows in no cell "
        "get defaults; or both are refused",
    )

    @field_validator("columns", mode="before")
    @classmethod
    def _several(cls, columns: Any) -> Any:
        return [columns] if isinstance(columns, str) else columns


class Targeted(Minimization):
    """What methods take that keep an agreement."""

    target: Target | None = Field(
        default=None,
        description="least agreement with the model's own predictions (regression: each target's R2); null: the "
        f"strictest of {', '.join(f'{target:g}' for target in TARGETS)} that the report rows can show",
    )


class Tree(Targeted):
    """A generaliser tree over cells (Goldsteen et al., arXiv 2008.04113)."""

    component: ClassVar[str] = "components.minimization.tree.method:search"
    name: Literal["tree"] = "tree"
    use: Literal["representatives", "ranges"] = Field(
        default="representatives", description="rows get their cell's representatives, or each column that of its range"
    )
    representative: Literal["domain", "row"] = Field(
        default="domain", description="values of the schema's domain, or an actual row (which makes the file raw)"
    )
    max_depth: int | None = Field(default=None, ge=1)


class Greedy(Targeted):
    """A joint greedy search over one ladder of ever coarser partitions per column, and cells within what it leaves."""

    component: ClassVar[str] = "components.minimization.greedy.method:search"
    name: Literal["greedy"] = "greedy"
    use: Literal["representatives", "ranges"] = Field(
        default="representatives", description="rows get their cell's representatives, or each column that of its range"
    )
    parts: int = Field(default=32, ge=2, description="most ranges or groups of a column below its exact values")
    hierarchies: bool = Field(default=False, description="climb the schema's hierarchies where columns have one")
    order: Literal["permutation", "shap"] = Field(
        default="permutation", description="importance that the first order of columns follows"
    )
    back_steps: int = Field(default=1, ge=0, description="rounds of steps back and other steps forward at the end")


class Personal(Minimization):
    """Disclosure one feature at a time, as far as each person's prediction needs it."""

    component: ClassVar[str] = "components.minimization.personal.method:search"
    name: Literal["personal"] = "personal"
    delta: Target = Field(
        default=0.05, description="largest share whose prediction would still change, of those whose asking ends early"
    )
    parts: int = Field(default=16, ge=2, description="most ranges that a number is looked at in")

    @property
    def target(self) -> float:
        """Least agreement with the model's own predictions."""
        return 1 - self.delta
