"""How names and row numbers stand in messages."""

import unicodedata
from collections.abc import Sequence

SHOWN = 10
"""How many row numbers or names a message lists."""

_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"})


def shown(name: str) -> str:
    """Return a name in quotes, as `printable`."""
    return f"'{printable(name)}'"


def printable(name: str) -> str:
    r"""Return a name on one line, invisible characters and odd blanks as escapes such as ``\ufeff``."""
    return "".join(_escaped(character) for character in name)


def _escaped(character: str) -> str:
    kind = unicodedata.category(character)
    if kind in _INVISIBLE or (kind == "Zs" and character != " "):
        return character.encode("unicode_escape").decode()
    return character


def listed(rows: Sequence[int]) -> str:
    """Return ``data row 2``, ``data rows 2, 3`` or the first ten and ``...``; rows count from 1 below the header."""
    first = ", ".join(str(row) for row in rows[:SHOWN])
    return f"data row{'s' if len(rows) > 1 else ''} {first}{', ...' if len(rows) > SHOWN else ''}"


MOST_NAMED = 10
"""Clients that a sentence names one by one."""


def of_clients(some: Sequence[str], among: int) -> str:
    """Return clients by their names, or of many how many they are and the first of them.

    Parameters
    ----------
    some : sequence of str
    among : int
        How many there are in all.
    """
    if len(some) <= MOST_NAMED:
        return names(some)
    return f"{len(some):,} of {among:,} clients, the first {shown(some[0])}"


def one_of_clients(known: Sequence[str]) -> str:
    """Return what is allowed where a client is named: all names, or of many how many there are and the first."""
    if len(known) <= MOST_NAMED:
        return f"one of {names(known)}"
    return f"one of {len(known):,} clients, such as {shown(known[0])}"


def names(some: Sequence[str]) -> str:
    """Return names in quotes, all of them: a list that is cut short costs the reader a second run."""
    return ", ".join(shown(name) for name in some)
