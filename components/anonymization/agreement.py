"""An agreed transformation as ``transformation.json`` holds it: what one site found, for others to apply.

It says what is done to each quasi-identifier, by which hierarchies (their digests) and which rule of suppression. All
of it was declared or found for whole columns; no value of a row is in it.
"""

from collections.abc import Iterator
from typing import Annotated, Final, Literal

from pydantic import Field

from components.anonymization.criterion_declarations import Criterion
from components.anonymization.declarations import SeenAs, Share, SuppressColumns, TopBottom
from schemas.base import Contract, Text
from schemas.dataset import DType
from schemas.faults import Fault
from schemas.wording import names

FORMAT: Final = "privacy-runner/transformation"
VERSION: Final = 1
MOST_COLUMNS, MOST_ROUNDS = 10_000, 32_000
"""Far more than any table needs; a file that goes beyond wasn't written by a run."""

Level = Annotated[int, Field(ge=0, le=10_000)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class AgreedColumn(Contract):
    """A quasi-identifier of the table that the transformation was found on."""

    name: Text
    dtype: DType
    hierarchy: Digest | None = Field(default=None, description="digest of its hierarchy, where a step climbs it")


class Levels(Contract):
    """Generalise columns to levels of their hierarchies.

    Rows of classes that miss the criteria on one level vector go on to the next (local recoding); rows that miss them
    on the last one are suppressed.
    """

    name: Literal["levels"] = "levels"
    rounds: list[Annotated[dict[Text, Level], Field(min_length=1, max_length=MOST_COLUMNS)]] = Field(
        min_length=1, max_length=MOST_ROUNDS, description="level vectors, in the order they are tried"
    )

    @property
    def columns(self) -> list[str]:
        """The columns that it puts on levels."""
        return list(dict.fromkeys(name for levels in self.rounds for name in levels))


class Suppression(Contract):
    """The rule of suppression that was agreed."""

    limit: Share
    rows: Literal["star", "drop"]


AgreedStep = Annotated[Levels | TopBottom | SuppressColumns, Field(discriminator="name")]


class Agreement(Contract):
    """A transformation that other sites, or later rows, can be put through."""

    format: Literal["privacy-runner/transformation"] = FORMAT
    version: Literal[1] = VERSION
    method: str = Field(max_length=100, description="the method that found it")
    dataset: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", description="name of the dataset it was found on")
    columns: list[AgreedColumn] = Field(min_length=1, max_length=MOST_COLUMNS, description="the quasi-identifiers")
    steps: list[AgreedStep] = Field(max_length=MOST_COLUMNS, description="what is done; no column is in two steps")
    criteria: list[Criterion] = Field(max_length=MOST_COLUMNS, description="what was asked of every class")
    suppression: Suppression
    seen_as: SeenAs = Field(description="how a model sees generalised columns")


def contradictions(path: str, agreement: Agreement) -> Iterator[Fault]:
    """Say where the parts of a transformation don't go together."""
    known = [column.name for column in agreement.columns]
    if twice := sorted({name for name in known if known.count(name) > 1}):
        yield Fault(f"{path}: columns", f"declared twice: {names(twice)}")
    climbs = {column.name for column in agreement.columns if column.hierarchy is not None}
    taken: set[str] = set()
    for number, step in enumerate(agreement.steps):
        place = f"{path}: steps.{number}"
        columns = dict.fromkeys(step.columns)
        if unknown := [name for name in columns if name not in known]:
            yield Fault(place, f"names no column of the transformation: {names(unknown)}", f"one of {names(known)}")
        if again := [name for name in columns if name in taken]:
            yield Fault(place, f"changes columns of an earlier step: {names(again)}", "one step a column")
        taken.update(columns)
        if isinstance(step, Levels):
            if any(set(levels) != set(columns) for levels in step.rounds):
                yield Fault(f"{place}.rounds", "they differ in their columns", "each names the same")
            raised = {name for levels in step.rounds for name, level in levels.items() if level > 0}
            if bare := [name for name in columns if name in raised - climbs and name in known]:
                yield Fault(place, f"generalises columns without a hierarchy's digest: {names(bare)}")
