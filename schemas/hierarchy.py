"""Declarations of generalisation hierarchies. Light on purpose: nothing but pydantic is imported."""

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from difflib import get_close_matches
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from schemas.base import Contract, Text

Width = Annotated[float, Field(gt=0)]
DateLevel = Literal["day", "month", "quarter", "year", "decade"]

SUPPRESSED = "*"
"""The label of a top level: nothing is told."""

TOP = "add a top level * where the last level has more than one group"


class CsvHierarchy(Contract):
    """A file with one row a value: the raw value first, then its group on each level."""

    name: Literal["csv"] = "csv"
    path: str = Field(min_length=1, description="the file, in the folder dataset.hierarchies where one is given")
    delimiter: Literal["auto", ";", ",", "|", "tab"] = Field(
        default="auto", description="what parts the cells of a row"
    )
    encoding: str = Field(default="utf-8", description="text encoding of the file")

    @field_validator("encoding")
    @classmethod
    def _known(cls, encoding: str) -> str:
        try:
            "a".encode(encoding)  # more than codecs.lookup: base64 and its like are codecs, but not of text
        except (LookupError, ValueError) as error:
            raise PydanticCustomError("hierarchy", "no text encoding that Python knows; utf-8, latin-1 ...") from error
        return encoding


class Intervals(Contract):
    """Half-open intervals ``[low, high)`` of numbers, from an origin, wider on each level."""

    name: Literal["intervals"] = "intervals"
    origin: float = Field(default=0.0, description="where an interval of every level begins")
    widths: list[Width] = Field(min_length=1, description="width on each level, each a multiple of the one before")
    lowest: float | None = Field(default=None, description="values below are one group, < lowest")
    highest: float | None = Field(default=None, description="this and values above are one group, >= highest")
    top: bool = Field(default=True, description=TOP)

    @field_validator("widths")
    @classmethod
    def _nested(cls, widths: list[float]) -> list[float]:
        for narrow, wide in pairwise(widths):
            if wide <= narrow or exact(wide) % exact(narrow):
                raise PydanticCustomError(
                    "hierarchy",
                    "{wide} is no multiple of {narrow}, the width before it: its intervals would split groups",
                    {"wide": f"{wide:g}", "narrow": f"{narrow:g}"},
                )
        return widths

    @model_validator(mode="after")
    def _ends_in_order(self) -> "Intervals":
        if self.lowest is not None and self.highest is not None and self.lowest >= self.highest:
            raise PydanticCustomError("hierarchy", "lowest is not below highest")
        return self


def _groups(level: object) -> dict[str, list[str]]:
    """Read one level of ordered values: a list of groups, or a mapping from labels to groups."""
    named = level if isinstance(level, dict) else dict(enumerate(level, start=1)) if isinstance(level, list) else None
    if not named:
        raise PydanticCustomError("hierarchy", "a level is a list of groups, or a mapping from labels to groups")
    found: dict[str, list[str]] = {}
    for key, group in named.items():  # labels, or numbers from 1
        if not isinstance(group, list) or not group:
            raise PydanticCustomError("hierarchy", "group {key} is no list of values", {"key": key})
        for entry in (*group, *(() if isinstance(level, list) else (key,))):
            if not isinstance(entry, str):
                raise PydanticCustomError("hierarchy", "{entry} is no text: quote it in YAML", {"entry": str(entry)})
        label = str(key) if isinstance(level, dict) else _first_to_last(group)
        if label in found:
            raise PydanticCustomError("hierarchy", "two groups are called {label}", {"label": label})
        found[label] = group
    return found


def _first_to_last(group: list[str]) -> str:
    return group[0] if len(group) == 1 else f"{group[0]} to {group[-1]}"


class Order(Contract):
    """Groups of neighbours of an ordered column, level by level."""

    name: Literal["order"] = "order"
    levels: list[Annotated[dict[Text, list[Text]], BeforeValidator(_groups)]] = Field(
        min_length=1, description="groups of each level, as lists (first to last names them) or with labels"
    )
    top: bool = Field(default=True, description=TOP)


class Mask(Contract):
    """Hide characters of codes such as postcodes, more on each level."""

    name: Literal["mask"] = "mask"
    side: Literal["suffix", "prefix"] = Field(default="suffix", description="end that is hidden")
    keep: list[Annotated[int, Field(ge=0)]] = Field(
        min_length=1, description="characters that stay on each level, fewer on each"
    )
    top: bool = Field(default=True, description=TOP)

    @field_validator("keep")
    @classmethod
    def _falls(cls, keep: list[int]) -> list[int]:
        if any(less >= more for more, less in pairwise(keep)):
            raise PydanticCustomError("hierarchy", "keep must fall from level to level")
        return keep


class Dates(Contract):
    """Calendar units of dates and times."""

    name: Literal["date"] = "date"
    levels: list[DateLevel] = Field(min_length=1, description="calendar unit of each level, each larger")
    top: bool = Field(default=True, description=TOP)

    @field_validator("levels", mode="before")
    @classmethod
    def _known(cls, levels: object) -> object:
        units = ", ".join(DATE_LEVELS)
        for level in levels if isinstance(levels, list) else ():
            if level not in DATE_LEVELS:
                near = get_close_matches(str(level), DATE_LEVELS, n=1)
                meant = f"; did you mean {near[0]}?" if near else ""
                raise PydanticCustomError(
                    "hierarchy",
                    "{level} is none of {units}{meant}",
                    {"level": str(level), "units": units, "meant": meant},
                )
        return levels

    @field_validator("levels")
    @classmethod
    def _grow(cls, levels: list[DateLevel]) -> list[DateLevel]:
        sizes = [DATE_LEVELS.index(level) for level in levels]
        if sizes != sorted(set(sizes)):
            raise PydanticCustomError("hierarchy", "units must grow: {units}", {"units": ", ".join(DATE_LEVELS)})
        return levels


DATE_LEVELS: tuple[DateLevel, ...] = ("day", "month", "quarter", "year", "decade")


class Tree(Contract):
    """Groups within groups, written out.

    Where values lie at unequal depth, the group that holds a value stands for it on the levels below that group too.
    """

    name: Literal["tree"] = "tree"
    groups: dict[str, Any] = Field(
        description="label: list of values, or label: mapping of smaller groups, to any depth"
    )
    top: bool = Field(default=True, description=TOP)

    @field_validator("groups", mode="before")
    @classmethod
    def _sound(cls, groups: object) -> object:
        if not isinstance(groups, dict) or not groups:
            raise PydanticCustomError("hierarchy", "must be a mapping from labels to lists of values, or to mappings")
        problems = list(_tree_problems(groups))
        if problems:
            raise PydanticCustomError("hierarchy", "{problems}", {"problems": "; ".join(problems)})
        return groups

    def paths(self) -> list[tuple[Any, tuple[str, ...]]]:
        """Return each value with the labels above it, the topmost first."""
        return list(_paths(self.groups, ()))


def _tree_problems(groups: dict[Any, Any]) -> Iterator[str]:
    nodes = list(_nodes(groups))
    for label, inside in nodes:
        if not isinstance(label, str):
            yield f"label {label} is no text: quote it in YAML"
        if not isinstance(inside, (dict, list)) or not inside:
            yield f"group {label} is neither a list of values nor a mapping of groups"
    odd = [label for label, inside in nodes if isinstance(inside, list) and not all(map(_plain, inside))]
    yield from (f"group {label} holds something that is no value" for label in odd)
    yield from (f"label {label} stands for {count} groups" for label, count in _repeated(label for label, _ in nodes))


def _plain(value: object) -> bool:
    return isinstance(value, (str, int, float))


def _repeated(names: Iterator[Any]) -> list[tuple[Any, int]]:
    return [(name, count) for name, count in Counter(names).items() if count > 1]


def _nodes(groups: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
    for label, inside in groups.items():
        yield label, inside
        if isinstance(inside, dict):
            yield from _nodes(inside)


def _paths(inside: Any, above: tuple[str, ...]) -> Iterator[tuple[Any, tuple[str, ...]]]:
    if isinstance(inside, dict):
        for label, smaller in inside.items():
            yield from _paths(smaller, (*above, label))
    else:
        yield from ((value, above) for value in inside)


class Flat(Contract):
    """The raw value, or nothing."""

    name: Literal["flat"] = "flat"


HierarchyDeclaration = Annotated[
    CsvHierarchy | Intervals | Order | Mask | Dates | Tree | Flat, Field(discriminator="name")
]

FITTING: dict[str, tuple[str, ...]] = {
    "intervals": ("integer", "number"),
    "order": ("ordered",),
    "mask": ("text", "category"),
    "date": ("date", "datetime"),
}
"""Dtypes that a kind of hierarchy is for; others are for all."""


def written_out(hierarchy: object) -> object:
    """Return the mapping that a hierarchy given as text stands for: ``*`` is flat, all else names a file."""
    if isinstance(hierarchy, str):
        return {"name": "flat"} if hierarchy == SUPPRESSED else {"name": "csv", "path": hierarchy}
    if hierarchy is None or isinstance(hierarchy, Contract) or (isinstance(hierarchy, dict) and "name" in hierarchy):
        return hierarchy
    kinds = "csv, intervals, order, mask, date, tree or flat"
    raise PydanticCustomError(
        "hierarchy", "must be a mapping whose name is {kinds}, or the name of a file, or *", {"kinds": kinds}
    )


def exact(number: float) -> Decimal:
    """Return a number as it is written, free of binary rounding."""
    return Decimal(repr(number))


def misfits(declared: Any, dtype: str, values: Sequence[str] | None) -> Iterator[str]:
    """Yield what keeps a hierarchy from fitting its column, as far as the configuration alone tells.

    Parameters
    ----------
    declared : HierarchyDeclaration
    dtype : str
        The column's.
    values : sequence of str, optional
        The column's allowed values.
    """
    fitting = FITTING.get(declared.name, (dtype,))
    if dtype not in fitting:
        yield f"{declared.name} is for {' and '.join(fitting)} columns, not {dtype}"
    elif isinstance(declared, Intervals) and dtype == "integer":
        numbers = [declared.origin, *declared.widths, declared.lowest, declared.highest]
        if odd := [number for number in numbers if number is not None and number % 1]:
            yield f"{odd[0]:g} is no whole number, and the column is integer"
    elif isinstance(declared, Order) and values is not None:
        yield from _order_problems(declared, values)
    elif isinstance(declared, Tree):
        yield from _leaf_problems(declared, dtype)


def _order_problems(declared: Order, values: Sequence[str]) -> Iterator[str]:
    place = {value: at for at, value in enumerate(values)}
    below = {value: {value} for value in values}
    for number, level in enumerate(declared.levels, start=1):
        members = [value for group in level.values() for value in group]
        unknown = [value for value in members if value not in place]
        absent = [value for value in values if value not in members]
        twice = [value for value, _ in _repeated(iter(members))]
        yield from (f"level {number}: {value!r} is no value of the column" for value in unknown)
        yield from (f"level {number}: {value!r} is in no group" for value in absent)
        yield from (f"level {number}: {value!r} is listed twice" for value in twice)
        if unknown or absent or twice:
            return
        for label, group in level.items():
            at = sorted(place[value] for value in group)
            if at[-1] - at[0] >= len(at):
                yield f"level {number}: group {label!r} skips {values[_gap(at)]!r}; only neighbours may be merged"
        group_of = {value: set(group) for group in level.values() for value in group}
        if any(not below[value] <= group_of[value] for value in values):
            yield f"level {number} splits a group of level {number - 1}"
        below = group_of


def _gap(places: list[int]) -> int:
    """Return the first place that is skipped."""
    return next(at for at in range(places[0], places[-1]) if at not in places)


def _leaf_problems(declared: Tree, dtype: str) -> Iterator[str]:
    kinds: dict[str, tuple[type, ...]] = {"integer": (int,), "number": (int, float), "boolean": (bool,)}
    paths = declared.paths()
    for value, above in paths:
        allowed = kinds.get(dtype, ())
        boolean = isinstance(value, bool) and dtype != "boolean"
        if not isinstance(value, str) and (boolean or not isinstance(value, allowed)):
            yield f"{value} in group {above[-1]} is no text: quote it in YAML"
