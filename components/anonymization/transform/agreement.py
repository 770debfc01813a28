"""An agreed transformation as ``transformation.json`` holds it: what one site found, for others to apply.

It says what is done to each quasi-identifier, by which hierarchies (their digests) and which rule of suppression. All
of it was declared, was found for whole columns, or stands in the cells of the release: no other value of a row does.
"""

from collections.abc import Iterator
from typing import Annotated, Final, Literal

from pydantic import Field

from components.anonymization.criteria.declarations import Criterion
from components.anonymization.declarations import SeenAs, Share, SuppressColumns, TopBottom
from schemas.base import Contract, Text
from schemas.dataset import DType
from schemas.faults import Fault
from schemas.wording import names

FORMAT: Final = "privacy-runner/transformation"
VERSION: Final = 1
MOST_COLUMNS, MOST_ROUNDS, MOST_BOXES = 10_000, 32_000, 1_000_000
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


class BoxColumn(Contract):
    """What boxes show on one column.

    Cells that several boxes show are written once: ``boxes[i]`` is the place in ``covers`` of what box i shows.
    """

    name: Text
    shows: Literal["range", "set", "label"] = Field(
        description="the smallest and the largest value (one, where they are equal); all values; or a hierarchy's label"
    )
    covers: list[Annotated[list[str | None], Field(min_length=1)]] = Field(
        min_length=1, max_length=MOST_BOXES, description="each as the release shows it; a last null is missing cells"
    )
    boxes: list[Annotated[int, Field(ge=0)]] = Field(min_length=1, max_length=MOST_BOXES)


class Boxes(Contract):
    """Put each row into the box that holds it on all columns, and show what the box shows (multidimensional recoding).

    Boxes are the classes of the release that they were found on, and hold what their cells say. How they were cut is
    not told: it follows from them (see `mondrian.box_tree`). A row that no box holds is suppressed.
    """

    name: Literal["boxes"] = "boxes"
    axes: list[BoxColumn] = Field(min_length=1, max_length=MOST_COLUMNS)

    @property
    def columns(self) -> list[str]:
        """The columns that boxes lie along."""
        return [axis.name for axis in self.axes]


class Suppression(Contract):
    """The rule of suppression that was agreed."""

    limit: Share
    rows: Literal["star", "drop"]


AgreedStep = Annotated[Levels | Boxes | TopBottom | SuppressColumns, Field(discriminator="name")]


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
        if isinstance(step, Boxes):
            yield from _contradictions_of_boxes(place, step, agreement)
        if isinstance(step, Levels):
            if any(set(levels) != set(columns) for levels in step.rounds):
                yield Fault(f"{place}.rounds", "they differ in their columns", "each names the same")
            raised = {name for levels in step.rounds for name, level in levels.items() if level > 0}
            if bare := [name for name in columns if name in raised - climbs and name in known]:
                yield Fault(place, f"generalises columns without a hierarchy's digest: {names(bare)}")


def _contradictions_of_boxes(place: str, step: Boxes, agreement: Agreement) -> Iterator[Fault]:
    if left := [column.name for column in agreement.columns if column.name not in step.columns]:
        yield Fault(place, f"has boxes that leave open what they hold on {names(left)}", "all columns")
    if len(agreement.steps) > 1:
        yield Fault(place, "stands beside other steps", "boxes alone: they are all that is done")
    if twice := sorted({name for name in step.columns if step.columns.count(name) > 1}):
        yield Fault(place, f"names columns twice: {names(twice)}", "each once")
    climbs = {column.name for column in agreement.columns if column.hierarchy is not None}
    for number, axis in enumerate(step.axes):
        at = f"{place}.axes.{number}"
        if len(axis.boxes) != len(step.axes[0].boxes):
            yield Fault(f"{at}.boxes", "is another number of boxes than on the first column", "all boxes")
        if max(axis.boxes) >= len(axis.covers):
            yield Fault(f"{at}.boxes", "names covers that aren't there", f"0 to {len(axis.covers) - 1}")
        if (axis.shows == "label") != (axis.name in climbs):
            yield Fault(at, "shows labels without a hierarchy's digest, or has a digest and shows none")
        if odd := sum(not _is_cover(axis.shows, cover) for cover in axis.covers):
            yield Fault(f"{at}.covers", f"{odd} of {len(axis.covers)} are no {axis.shows}")


def _is_cover(shows: str, cover: list[str | None]) -> bool:
    """Tell whether a cover has as many members as it may, each once, and missing last."""
    most = {"range": 2 + (cover[-1] is None), "label": 1}.get(shows, len(cover))
    return len(cover) <= most and len(set(cover)) == len(cover) and None not in cover[:-1]
