"""What is asked of a person: ``generalizations.json``, read by forms, by end points and by people."""

import json
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, model_validator
from pydantic_core import PydanticCustomError

from schemas.base import Contract, Text
from schemas.dataset import DType

Collect = Literal["exact", "ranges", "groups", "nothing"]
Value = StrictBool | StrictInt | StrictFloat | StrictStr
"""A value of a column's domain; dates and times are ISO 8601 text."""

Share = Annotated[float, Field(ge=0, le=1)]


class Collected(Contract):
    """What is collected of one attribute: a column, or the one-hot columns of one group.

    A value's *part* is its place among the ranges or groups. ``cuts`` end ranges: part 0 holds values up to the first
    cut, part i those above cut i-1 and up to cut i, the last one those above the last cut. ``groups`` list values of
    the schema's domain. Values of a boolean are called ``false`` and ``true`` there, those of a group by their columns.
    """

    name: Text = Field(description="the column, or the group of one-hot columns")
    columns: list[Text] = Field(min_length=1, description="the columns that hold it; several: exactly one of them is 1")
    dtype: DType = Field(description="dtype of the columns in the dataset's schema")
    values: list[Text] | None = Field(
        default=None, min_length=1, description="domain of a category, an ordered column, a boolean or a group"
    )
    low: Value | None = Field(default=None, description="lower bound of the domain of a number or date")
    high: Value | None = Field(default=None, description="upper bound of the domain of a number or date")
    unit: str | None = Field(default=None, description="unit of measurement")
    description: str = Field(default="", description="what the attribute means, as the dataset's schema says it")
    nullable: bool = Field(default=False, description="cells may be missing")
    learned: bool = Field(default=False, description="the domain comes from rows, not from the schema")
    collect: Collect = Field(
        description="exact: as it is; ranges or groups: which of them (those of one value each are as exact as values: "
        "cells need them); nothing: not at all, or, where there are choices, whether it is known"
    )
    cuts: list[Value] = Field(default=[], description="ascending; ends of the ranges, each part of the range it ends")
    groups: list[Annotated[list[Text], Field(min_length=1)]] = Field(
        default=[], description="groups of values; each value in one"
    )
    representatives: list[Value | None] = Field(
        default=[],
        description="what the model gets where the attribute counts by itself, one per range or group, one for "
        "nothing, none for exact; null is a missing cell",
    )
    missing: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="range or group that missing cells count to; null: they stay missing"
    )
    default: Value | None = Field(
        description="what a value outside the domain counts as (numbers: the nearer bound), and what the model gets "
        "for a row in no cell; null is a missing cell"
    )
    ncp: Share = Field(description="information lost on the rows it was measured on: 0 exact, 1 nothing")
    text: str = Field(description="the question for a form")
    choices: list[str] = Field(
        default=[],
        description="the answers to choose from: one per range or group, in their order, and a last one for not known "
        "where missing cells stay missing; end points take these texts (from_form)",
    )

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        parts = {"exact": 0, "nothing": 1, "ranges": len(self.cuts) + 1, "groups": len(self.groups)}[self.collect]
        if len(self.representatives) != parts:
            raise PydanticCustomError("collected", "representatives are not one per range or group")
        if self.missing is not None and self.missing >= max(parts, 1):
            raise PydanticCustomError("collected", "missing cells count to a part that there is not")
        listed = [value for group in self.groups for value in group]
        if self.collect == "groups" and sorted(listed) != sorted(self.values or []):
            raise PydanticCustomError("collected", "groups don't hold each value of the domain once")
        if (self.values is None) == (self.low is None or self.high is None):
            raise PydanticCustomError("collected", "a domain has either values or two bounds")
        if (self.collect == "groups" and not self.groups) or (self.collect == "ranges" and not self.cuts):
            raise PydanticCustomError("collected", "ranges without cuts, or groups without values")
        return self


class Region(Contract):
    """What one cell holds of one attribute: an interval (start exclusive, end inclusive) or some values."""

    start: Value | None = Field(default=None, description="exclusive; null: from the lower end of the domain")
    end: Value | None = Field(default=None, description="inclusive; null: to the upper end of the domain")
    values: list[Text] | None = Field(
        default=None, description="of a category, an ordered column or a group; of any other none at all, or null"
    )
    missing: bool = Field(default=False, description="missing cells are in it")


class Cell(Contract):
    """One cell: what it holds, and what stands for it. Attributes that it does not name are free in it."""

    regions: dict[Text, Region] = Field(default={}, description="by attribute")
    representative: dict[Text, Value | None] = Field(
        description="by attribute, of all that don't stay exact; null is a missing cell"
    )
    label: list[Value] = Field(default=[], description="what the model says of most of its rows, one value per output")
    agrees: bool = Field(
        default=True,
        description="with its representative and their other columns as they are, most of its rows keep the model's "
        "answer (regression: the mean answer stays within a standard deviation)",
    )


class Verdict(Contract):
    """What was asked for and what was reached, on rows that nothing was fitted or tuned on."""

    measure: Literal["agreement", "r2"] = Field(
        default="agreement",
        description="share of rows with the model's own prediction (several outputs: with all of them), or R2 against "
        "it (several outputs: the least of theirs)",
    )
    target: Share = Field(
        description="least agreement with the model's own predictions (regression: each output's R2) asked for"
    )
    agreement: float = Field(description="as measured")
    low: float = Field(description="one-sided 95 % lower bound; the target is met where it is at least the target")
    rows: Annotated[int, Field(ge=1)] = Field(description="rows it was judged on")
    met: bool

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        share = self.measure == "r2" or self.low >= 0
        if self.met != (self.low >= self.target) or not (share and self.low <= self.agreement <= 1):
            raise PydanticCustomError("verdict", "the verdict doesn't follow from its figures")
        return self


class Node(Contract):
    """One step of asking (``personal``): a question with its branches, or an end.

    An asking node sends answers up to ``cut`` (numbers, ordered values), or among ``values`` (categories), to the node
    numbered ``left``, all others to ``right``; missing cells go where ``missing`` says. A node without attribute ends
    the asking: with ``answer``, or, where that is null, with the model's own prediction after all was asked
    that is collected exactly; of the rest it gets the defaults.
    """

    attribute: Text | None = None
    cut: Value | None = None
    values: list[Text] | None = None
    missing: Literal["left", "right"] = "left"
    left: Annotated[int, Field(ge=1)] | None = None
    right: Annotated[int, Field(ge=1)] | None = None
    answer: list[Value] | None = None

    @model_validator(mode="after")
    def _asks_or_ends(self) -> Self:
        asks = self.attribute is not None
        if asks != (self.left is not None) or asks != (self.right is not None):
            raise PydanticCustomError("node", "a question has two branches, an end has none")
        if asks and (self.answer is not None or (self.cut is None) == (self.values is None)):
            raise PydanticCustomError("node", "a question has either a cut or values, and no answer")
        return self


class Output(Contract):
    """One thing that the model predicts."""

    name: Text
    classes: list[Value] | None = Field(
        default=None, description="in the model's order; null: a number, or classes told by their position"
    )


class Generalizations(Contract):
    """``generalizations.json``, whole."""

    schema_version: Literal[1] = 1
    method: str = Field(description="tree, greedy or personal")
    use: Literal["representatives", "ranges", "questions"] = Field(
        description="representatives: a row gets those of its cell; ranges: each attribute by itself gets that of its "
        "range or group; questions: attributes are asked for one at a time"
    )
    representative: Literal["domain", "row"] = Field(
        default="domain", description="domain: values of the schema's domain; row: actual rows of persons (raw)"
    )
    outside: Literal["default", "refuse"] = Field(
        default="default",
        description="values outside the domain count as the default (numbers: the nearer bound), and rows in no cell "
        "get defaults; or both are refused",
    )
    verdict: Verdict | None = Field(default=None, description="null before it was judged")
    outputs: list[Output] = Field(
        default=[], description="what labels and answers are of, in this order; empty: not told"
    )
    attributes: list[Collected] = Field(min_length=1, description="in the order of the schema")
    cells: list[Cell] = Field(
        default=[], description="where attributes count together; a row's cell is the first it fits"
    )
    questions: list[Node] = Field(default=[], description="where use is questions; node 0 comes first")

    @model_validator(mode="after")
    def _fits_its_use(self) -> Self:
        needed = {"representatives": self.cells, "ranges": [self], "questions": self.questions}[self.use]
        if not needed:
            raise PydanticCustomError("use", "there is nothing of what its use is of")
        names = [each.name for each in self.attributes]
        if len(set(names)) != len(names):
            raise PydanticCustomError("use", "an attribute stands twice")
        if any(
            side is not None and not number < side < len(self.questions)
            for number, node in enumerate(self.questions)
            for side in (node.left, node.right)
        ):
            raise PydanticCustomError("use", "a question leads to one before it, or to none")
        return self


def json_schema_text() -> str:
    """Return the text of ``generalizations.schema.json``, which stands beside this module."""
    schema: dict[str, Any] = Generalizations.model_json_schema()
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
