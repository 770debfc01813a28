"""Whether a released label is true of the cell that it stands for, told by its text alone."""

import re
from collections.abc import Callable
from typing import Any

from bench.made import GROUPS, MARKER, QUASI

_MEMBER = re.compile(r'\s*(?:"((?:[^"]|"")*)"|(\[[^\]]*\]|[^,]+))')
_RANGE = re.compile(r"^\[(.+), (.+)([\])])$")
_SIDES: dict[str, Callable[[Any, Any], bool]] = {
    "<= ": lambda cell, bound: bool(cell <= bound),
    ">= ": lambda cell, bound: bool(cell >= bound),
    "< ": lambda cell, bound: bool(cell < bound),
}


def covers(label: str, cell: str, name: str) -> bool:
    """Tell whether a label covers a cell of a column of `bench.made.QUASI`, both as they are written.

    A label is a value, ``*``, a range ``[a, b]`` or ``[a, b)``, one side ``<= a``, a set ``{a, b, missing}``, or what
    the column's hierarchy calls a group.
    """
    if label in ("*", cell):
        return True
    if label.startswith("{") and label.endswith("}"):
        return any(_member_covers(quoted, plain, cell, name) for quoted, plain in _MEMBER.findall(label[1:-1]))
    if MARKER in (label, cell):
        return False
    dtype = QUASI[name]["dtype"]
    if dtype == "boolean":
        return label.casefold() == cell
    if label in GROUPS:
        return cell in GROUPS[label]
    if dtype in ("text", "category"):
        return dtype == "text" and _masked(label, cell)
    return _lies_in(label, cell, name) or (dtype == "date" and cell.startswith(f"{label}-"))


def _member_covers(quoted: str, plain: str, cell: str, name: str) -> bool:
    if quoted:
        return quoted.replace('""', '"') == cell
    return cell == MARKER if plain.strip() == "missing" else covers(plain.strip(), cell, name)


def _masked(label: str, cell: str) -> bool:
    stays = label.rstrip("*")
    return len(label) == len(cell) and cell.startswith(stays)


def _lies_in(label: str, cell: str, name: str) -> bool:
    """Tell whether a value with an order lies in a range, or on one side of a bound."""
    value = _place(cell, name)
    if found := _RANGE.match(label):
        low, high = (_place(end, name) for end in found.groups()[:2])
        return bool(low <= value <= high and (found[3] == "]" or value < high))
    for sign, holds in _SIDES.items():
        if label.startswith(sign):
            return holds(value, _place(label.removeprefix(sign), name))
    return QUASI[name]["dtype"] in ("integer", "number") and _place(label, name) == value


def _place(text: str, name: str) -> Any:
    """Return what a value is compared by; dates in ISO 8601 are in the order of their text."""
    dtype = QUASI[name]["dtype"]
    if dtype in ("integer", "number"):
        return float(text)
    return QUASI[name]["values"].index(text) if dtype == "ordered" else text
