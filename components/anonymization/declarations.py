"""Parameters of the anonymisation methods. Light on purpose: nothing but pydantic is imported."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from components.anonymization.criteria.declarations import Criterion
from components.registry import Declaration
from schemas.base import Contract

Share = Annotated[float, Field(ge=0, le=1)]


class Mask(Contract):
    """Show the first or last characters of an identifier, and hide the rest."""

    name: Literal["mask"] = "mask"
    keep: int = Field(default=0, ge=0, description="characters that stay")
    side: Literal["first", "last"] = Field(default="first", description="where they stand")


class Pseudonymise(Contract):
    """Replace an identifier by a keyed hash (HMAC-SHA-256): pseudonymisation, and no anonymisation."""

    name: Literal["pseudonymise"] = "pseudonymise"
    key_variable: str = Field(
        default="PSEUDONYM_KEY", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="environment variable with the key"
    )
    length: int = Field(default=16, ge=8, le=64, description="hexadecimal digits of a pseudonym")


Identifier = Annotated[Mask | Pseudonymise, Field(discriminator="name")]


class AnonymizationDeclaration(Declaration):
    """Base of all methods."""

    precheck: ClassVar[str] = ""
    """``"module:function"`` that takes what the method takes, and raises what is hopeless before any work."""

    check_given: ClassVar[str] = ""
    """``"module:function"`` that takes the declaration, the schema and what is given, and needs no table."""

    reads: ClassVar[tuple[str, ...]] = ()
    """Parameters that name files the method reads: they are inputs of the run."""

    needs_hierarchies: ClassVar[bool] = False
    """Whether it can't do without a hierarchy for every quasi-identifier."""

    uses_hierarchies: ClassVar[bool] = False
    """Whether it climbs hierarchies; `climbing.climbed` tells whose."""

    needs_model: ClassVar[bool] = False


class Method(AnonymizationDeclaration):
    """What every method of ours takes."""

    k: int = Field(default=5, ge=2, description="least rows (persons) in a class")
    criteria: list[Criterion] = Field(
        default=[], description="what every class must satisfy; a k here wins over k above"
    )
    identifiers: dict[str, Identifier] = Field(
        default={}, description="identifiers that stay, masked or pseudonymised; all others are dropped"
    )


class Guided(Method):
    """Model-guided anonymisation (Goldsteen et al., arXiv 2007.13086)."""

    component: ClassVar[str] = "components.anonymization.guided.method:anonymise"
    precheck: ClassVar[str] = "components.anonymization.guided.method:precheck"
    needs_model: ClassVar[bool] = True
    name: Literal["guided"] = "guided"
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


class Suppressing(Method):
    """What methods take that suppress the rows of violating classes."""

    uses_hierarchies: ClassVar[bool] = True

    suppression_limit: Share = Field(default=0.0, description="largest share of rows that may be suppressed")
    suppressed_rows: Literal["star", "drop"] = Field(
        default="star", description="suppressed rows show * on every quasi-identifier, or are left out"
    )


class LevelRange(Contract):
    """Levels of one hierarchy that a search may use."""

    min: int = Field(default=0, ge=0, description="lowest level")
    max: int | None = Field(default=None, ge=0, description="highest level; the hierarchy's last one without it")


class LatticeOptions(Contract):
    """How a lattice is searched."""

    quality: Literal["loss", "precision", "entropy", "discernibility", "average_class_size", "ambiguity"] = Field(
        default="loss", description="what the best level vector loses least of"
    )
    weights: dict[str, Annotated[float, Field(gt=0)]] = Field(
        default={}, description="weight of a quasi-identifier in quality; 1 unless named"
    )
    levels: dict[str, LevelRange] = Field(default={}, description="levels that a quasi-identifier may take")
    local_recoding: bool = Field(
        default=False, description="search again on the rows that would be suppressed, until none can be saved"
    )
    exact_nodes: int = Field(
        default=1_000_000, ge=1, description="largest lattice that is searched until the optimum is proved"
    )
    exact_seconds: float = Field(
        default=600.0, gt=0, description="most seconds spent on a proof; then the best node found, and what is proved"
    )
    bounded_nodes: int = Field(default=2_000, ge=1, description="most nodes tried on a larger lattice")
    bounded_seconds: float = Field(default=120.0, gt=0, description="most seconds spent on a larger lattice")


class SeenAs(Contract):
    """How a model sees columns that are generalised as a whole."""

    encode_numbers: Literal["midpoint", "code", "one_hot"] = Field(
        default="midpoint", description="how a model sees a generalised number or date"
    )
    encode_categories: Literal["one_hot", "code"] = Field(
        default="one_hot", description="how a model sees a generalised category"
    )


class Lattice(SeenAs, LatticeOptions, Suppressing):
    """Optimal full-domain generalisation with record suppression, over the lattice of level vectors."""

    component: ClassVar[str] = "components.anonymization.lattice.method:anonymise"
    precheck: ClassVar[str] = "components.anonymization.lattice.method:precheck"
    needs_hierarchies: ClassVar[bool] = True
    name: Literal["lattice"] = "lattice"


class MondrianOptions(Contract):
    """How partitions are cut."""

    weights: dict[str, Annotated[float, Field(gt=0)]] = Field(
        default={}, description="weight of a quasi-identifier when a cut is chosen; 1 unless named"
    )


class Mondrian(MondrianOptions, Suppressing):
    """Multidimensional partitioning at medians (LeFevre et al. 2006), which recodes locally."""

    component: ClassVar[str] = "components.anonymization.mondrian.method:anonymise"
    precheck: ClassVar[str] = "components.anonymization.mondrian.method:precheck"
    name: Literal["mondrian"] = "mondrian"
    missing: Literal["own_value", "refuse"] = Field(
        default="own_value", description="missing quasi-identifiers: a value of their own, or refused"
    )


class Step(Contract):
    """Base of the steps of a pipeline."""

    columns: list[str] = Field(min_length=1, description="quasi-identifiers that the step may change")


class TopBottom(Step):
    """Top and bottom coding: a bound, and all beyond it, are published as that bound or beyond."""

    name: Literal["top_bottom"] = "top_bottom"
    bottom: float | str | None = Field(default=None, description="values up to it are published as ``<= bottom``")
    top: float | str | None = Field(default=None, description="values from it on are published as ``>= top``")


class Microaggregate(Step):
    """Replace numbers by the mean, median or mode of groups of at least `size` similar rows."""

    name: Literal["microaggregate"] = "microaggregate"
    size: int = Field(default=5, ge=2, description="least rows in a group")
    function: Literal["mean", "median", "mode"] = Field(default="mean", description="what a group's rows get")


class SuppressColumns(Step):
    """Attribute suppression: every cell becomes ``*``."""

    name: Literal["suppress"] = "suppress"


class Generalise(Step):
    """Put columns on one level of their hierarchies."""

    name: Literal["generalise"] = "generalise"
    level: int = Field(ge=0)


class LatticeStep(LatticeOptions, Step):
    """Search the lattice of these columns."""

    name: Literal["lattice"] = "lattice"


class MondrianStep(MondrianOptions, Step):
    """Partition on these columns."""

    name: Literal["mondrian"] = "mondrian"


PipelineStep = Annotated[
    TopBottom | Microaggregate | SuppressColumns | Generalise | LatticeStep | MondrianStep, Field(discriminator="name")
]


class Pipeline(Suppressing):
    """Several steps on different columns, in order; the criteria are measured once, on the whole."""

    component: ClassVar[str] = "components.anonymization.pipeline.method:anonymise"
    precheck: ClassVar[str] = "components.anonymization.pipeline.method:precheck"
    name: Literal["pipeline"] = "pipeline"
    steps: list[PipelineStep] = Field(min_length=1, description="what is done, in this order")


class Transform(Suppressing):
    """Apply a transformation that was agreed before, and measure the criteria anew."""

    component: ClassVar[str] = "components.anonymization.transform.method:anonymise"
    precheck: ClassVar[str] = "components.anonymization.transform.method:precheck"
    check_given: ClassVar[str] = "components.anonymization.transform.method:fitting_agreement"
    reads: ClassVar[tuple[str, ...]] = ("path",)
    name: Literal["transform"] = "transform"
    path: str = Field(description="transformation.json of an earlier run")
