"""The frame of a run's configuration: the top-level keys of ``conf/config.yaml`` and their types.

What stands inside a section of a group (model, anonymization, ...) is told by the declaration of the component it
names; the runner joins the two.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from schemas.base import Contract
from schemas.dataset import DatasetSchema
from schemas.declaration import Declaration
from schemas.protection import Protection

MAX_SEED = 2**53 - 1
"""The largest whole number that JSON readers agree on."""

RESERVED_NAMES = frozenset({"sweeps"})
"""Folders under ``output.dir`` that a run can't be called after."""


def _folder_name(text: str) -> str:
    plain = text.isascii() and text[:1].isalnum() and text.replace("-", "").replace("_", "").replace(".", "").isalnum()
    if not plain or len(text) > 100 or text.endswith("."):
        raise PydanticCustomError(
            "folder",
            "must be a plain folder name: letters, digits, '-', '_' and '.', a letter or digit first, 100 at most",
        )
    if text in RESERVED_NAMES:
        raise PydanticCustomError("folder", "is kept for sweeps; choose another name")
    return text


FolderName = Annotated[str, AfterValidator(_folder_name)]


class Output(Contract):
    """Where runs are kept."""

    dir: str = Field(min_length=1, description="folder of all runs; relative to the folder the command is started in")


class EncoderSettings(Contract):
    """How the table becomes numbers for a model."""

    learn: bool = Field(description="learn undeclared categories and bounds from train rows")


class DeclaredProtection(Protection):
    """What the people responsible declare about the run; shown in the record even when empty."""

    responsible: str | None = Field(default=None, description="person who answers for this run")


ScenarioName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$", max_length=40)]


class Scenario(Contract):
    """One of several ways to train that are compared."""

    dp: Declaration = Field(description="its noise, as in the group dp")


class Comparison(Contract):
    """Scenarios of one federation, compared over paired seeds."""

    scenarios: dict[ScenarioName, Scenario] = Field(min_length=1, description="what is compared, by name")
    seeds: int = Field(ge=2, description="trainings of each scenario; at one seed all begin alike")
    equalise: Literal["variance", "worst_epsilon", "mean_epsilon"] | None = Field(
        description="what scenarios have in common that protect the same and differ in kind, as of the first of them"
    )


class RunConfig(Contract):
    """One run, whole: the frame, the dataset's schema and the declarations of all chosen components."""

    name: FolderName = Field(description="folder under output.dir that the run is kept in")
    seed: int = Field(ge=0, le=MAX_SEED, description="root of every random stream")
    debug: bool = Field(description="show a library's own error text on the terminal")
    show_values: bool = Field(description="let error messages on the terminal show cell values")
    output: Output
    encoder: EncoderSettings
    protection: DeclaredProtection
    dataset: DatasetSchema
    model: Declaration
    anonymization: Declaration
    minimization: Declaration
    federation: Declaration
    dp: Declaration
    risk: Declaration
    comparison: Comparison | None = Field(description="scenarios that are compared; null: train once, with `dp`")
