"""The question for a form, and the answers to choose from, in plain words: of schema values and cuts, of no row's."""

from itertools import pairwise
from math import floor

import numpy as np

from components.minimization.attributes import BELOW, Attribute
from components.minimization.domains import DAY
from components.minimization.partitions import Partition

LONG = 6
"""Most values of a group that are listed where it can be said by what it leaves, too."""

UNKNOWN = "not known"
OTHER = "any other"
YES_OR_NO = ("no", "yes")


def question(attribute: Attribute, partition: Partition | None) -> str:
    """Return the question for a form.

    Parameters
    ----------
    attribute : Attribute
    partition : Partition or None
        What is collected; None: the value as it is.
    """
    asked = _title(attribute)
    if partition is None:
        return f"{asked}: yes or no?" if _yes_no(attribute) else f"{asked}: which value exactly?"
    if partition.size == 1:
        return f"{asked}: not asked"
    if partition.size == 2 and partition.missing_apart:
        return f"{asked}: known or not?"
    return f"{asked}: which of these?"


def choices(attribute: Attribute, partition: Partition | None) -> list[str]:
    """Return the answers to choose from, one per part; `UNKNOWN` comes last, where missing cells are a part of theirs.

    Where the column allows missing cells that count to another part, that part says so.
    """
    if partition is None or partition.size == 1:
        return []
    apart = partition.missing_apart
    if apart and partition.size == 2:
        return ["known", UNKNOWN]
    texts = _groups(attribute, partition) if attribute.kind == "nominal" else _intervals(attribute, partition)
    if not any(column.nullable for column in attribute.columns):
        return texts
    if apart:
        return [*texts, UNKNOWN]
    texts[partition.missing] += f" (or {UNKNOWN})"
    return texts


def listed(partition: Partition) -> list[int]:
    """Return the parts of a nominal attribute as a form lists them, none of missing cells alone.

    They come in the order of their first values in the domain, what is called `OTHER` last.
    """
    members = _members(partition)
    parts = [part for part in dict.fromkeys(partition.groups) if members[part]]
    rest = _rest(members)
    return [part for part in parts if part != rest] + [part for part in parts if part == rest]


def interval(attribute: Attribute, start: float, end: float) -> str:
    """Return an interval (start exclusive, end inclusive) of numbers or ordered values in words.

    Parameters
    ----------
    attribute : Attribute
    start, end : float
        Codes; minus and plus infinity for the ends of the domain.
    """
    if attribute.kind == "ordered":
        first, last = floor(max(start, -1.0)) + 1, floor(min(end, len(attribute.values) - 1.0))
        return _from_to(attribute.values[first], attribute.values[last])
    if attribute.whole or attribute.dtype == "date":
        return _stepwise(attribute, start, end, 1.0 if attribute.whole else DAY)
    if start == BELOW:
        return f"up to {_number(attribute, end)}"
    above = f"{'after' if attribute.dtype == 'datetime' else 'above'} {_number(attribute, start)}"
    return above if np.isposinf(end) else f"{above}, up to {_number(attribute, end)}"


def _stepwise(attribute: Attribute, start: float, end: float, step: float) -> str:
    """Say an interval of whole numbers or days by the first and the last that it holds."""
    first = attribute.low if start == BELOW else (floor(start / step) + 1) * step
    last = attribute.high if np.isposinf(end) else floor(end / step) * step
    if first >= last:
        return _number(attribute, min(first, attribute.high))
    if start == BELOW:
        return f"up to {_number(attribute, last)}"
    beginning = _number(attribute, first)
    if np.isposinf(end):
        return f"{beginning} {'and more' if attribute.whole else 'and later'}"
    return _from_to(beginning, _number(attribute, last))


def _title(attribute: Attribute) -> str:
    column = attribute.columns[0]
    said = "" if attribute.grouped else column.description
    said = said or attribute.name.replace("_", " ").replace("-", " ").strip() or "(no name)"
    unit = "" if attribute.grouped else column.unit or ""
    told = unit.lower() in said.lower().split()  # as in weight_kg
    return said[0].upper() + said[1:] + (f" ({unit})" if unit and not told else "")


def _yes_no(attribute: Attribute) -> bool:
    return attribute.dtype == "boolean" and not attribute.grouped


def _intervals(attribute: Attribute, partition: Partition) -> list[str]:
    cuts = partition.cuts[1:] if partition.missing_apart else partition.cuts
    ends = [BELOW, *cuts, np.inf]
    return [interval(attribute, start, end) for start, end in pairwise(ends)]


def _groups(attribute: Attribute, partition: Partition) -> list[str]:
    names = YES_OR_NO if _yes_no(attribute) else attribute.values
    members = _members(partition)
    rest = _rest(members)
    return [
        OTHER if part == rest else " or ".join(names[place] for place in places) or UNKNOWN
        for part, places in enumerate(members)
        if places or not partition.missing_apart
    ]


def _members(partition: Partition) -> list[list[int]]:
    """Return the places in the domain of each part's values."""
    members: list[list[int]] = [[] for _ in range(partition.size)]
    for place, part in enumerate(partition.groups[:-1]):
        members[part].append(place)
    return members


def _rest(members: list[list[int]]) -> int | None:
    """Return the part that is said by what the others leave: the largest one, where it is long."""
    largest = max(range(len(members)), key=lambda part: len(members[part]))
    return largest if len(members[largest]) > LONG else None


def _from_to(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"


def _number(attribute: Attribute, code: float) -> str:
    value = attribute.value(code)
    if isinstance(value, str):
        return value.replace("T", " ").replace("+00:00", " UTC").replace(":00 UTC", " UTC")
    # from five digits on they are grouped, years are not
    many = max(abs(attribute.low), abs(attribute.high)) >= 10_000
    return f"{value:,.12g}" if many else f"{value:.12g}"
