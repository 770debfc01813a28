"""What checks on a table's cells find, and the sentences that say it: what is wrong, what is allowed, one remedy."""

from dataclasses import dataclass

import numpy as np

from schemas.dataset import Column
from schemas.faults import Fault
from schemas.wording import SHOWN, listed, names, shown

KINDS = {
    "integer": ("whole number", "digits with an optional sign, at most 18 of them"),
    "number": ("finite number", "digits with the declared decimal and thousands marks"),
    "boolean": ("boolean", "true/false, yes/no, y/n, t/f or 1/0"),
    "date": ("date", "ISO 8601 such as 2024-12-31"),
    "datetime": ("time", "ISO 8601 such as 2024-12-31T23:59:00Z"),
}
"""What a cell of each dtype is called, and how it is written."""

CORRECT = "correct the cells, or list what marks a missing cell in dataset.missing.markers"


@dataclass(frozen=True, slots=True)
class Check:
    """A check that was made on a column: how many cells it saw, and how many failed it."""

    name: str
    column: str
    rows_checked: int
    failures: int


@dataclass(frozen=True)
class Failure:
    """What one check found wrong in one column.

    Parameters
    ----------
    column, check : str
    positions : numpy.ndarray of int
        Positions of the failing cells, from 0; empty where the column as a whole fails.
    checked : int
        How many cells the check saw.
    tokens : tuple of str, optional
        The most frequent failing cells as Python writes them: values, for the terminal alone.
    hint : str, optional
        A likelier remedy than the check's usual one.
    """

    column: str
    check: str
    positions: np.ndarray
    checked: int
    tokens: tuple[str, ...] = ()
    hint: str = ""


def fault_of(
    failure: Failure, column: Column | None, rows: np.ndarray, *, place: str = "", is_target: bool = False
) -> Fault:
    """Word a failure.

    Parameters
    ----------
    failure : Failure
        Its tokens go into ``Fault.values``, and into the sentence only where the column is ``public``.
    column : Column or None
        The column's declaration; None for a column that the schema doesn't know.
    rows : numpy.ndarray of int
        The number that each position has in messages.
    place : str, optional
        Begins the fault's place.
    is_target : bool, optional
        The column is the target, which may be missing in no row.
    """
    failing = tuple(rows[failure.positions].tolist())
    if column is None or not failing:
        problem, allowed, remedy = _whole_column(failure.check, column)
    else:
        problem, allowed, remedy = _cells(failure.check, column, is_target=is_target)
        problem += f" in {len(failing)} of {failure.checked} cells ({listed(failing)})"
    spelt = ", ".join(failure.tokens)
    if spelt and column is not None and column.public:
        problem += f": {spelt}"
    where = f"{place}column {shown(failure.column)}"
    return Fault(where, problem, allowed, failure.hint or remedy, values=spelt, rows=failing)


def _whole_column(check: str, column: Column | None) -> tuple[str, str, str]:
    kind = "" if column is None else f"the pandas dtype that stands for {column.dtype}"
    return {
        "absent": ("is not in the table", "every declared column", ""),
        "unexpected": ("must not be in the table", "the declared columns and no other", ""),
        "order": ("stands in another place than declared", "the declared order", ""),
    }.get(check, (f"fails the check '{check}' as a whole", kind, ""))


def _cells(check: str, column: Column, *, is_target: bool) -> tuple[str, str, str]:
    sentences = {
        "dtype": _conversion(column),
        "finite": _conversion(column),
        "text": (
            "a number or date where text is declared",
            "cells stored as text",
            "store it as text at its source (leading zeros may be lost already), or declare another dtype",
        ),
        "kind": ("a cell of another kind than most", "cells of one kind", "store the column's cells alike"),
        "zone": (
            "a time without zone beside times with one",
            "a zone in all cells or in none",
            "add the zone at the source",
        ),
        "missing": _missing(column, is_target=is_target),
        "values": (
            "a value that is not allowed",
            _allowed(column.values or []),
            f"add it to the column's values, or {CORRECT}",
        ),
        "min": ("a value below the minimum", f"at least {column.min}", "lower the column's min, or correct the cells"),
        "max": ("a value above the maximum", f"at most {column.max}", "raise the column's max, or correct the cells"),
        "unique": (
            "a value that occurs more than once",
            "every value once",
            "set unique: false, or correct the cells",
        ),
    }
    return sentences.get(check, (f"a value that fails the check '{check}'", "", CORRECT))


def _conversion(column: Column) -> tuple[str, str, str]:
    kind, spelling = KINDS.get(column.dtype, ("text", "text"))
    if column.dtype not in {"date", "datetime"}:
        return f"no {kind}", spelling, CORRECT
    if column.format is not None:
        return f"no {kind}", f"written as the format says, {column.format}", CORRECT
    return f"no {kind}", spelling, "state how they are written as the column's format, or correct the cells"


def _missing(column: Column, *, is_target: bool) -> tuple[str, str, str]:
    if is_target:
        return "missing", "the target in every row", "set dataset.missing.rows=drop to leave such rows out"
    kind = "a nullable integer" if column.dtype == "integer" else "nullable"
    allowed = f"the column is declared {column.dtype} and not nullable"
    return "missing", allowed, f"declare it {kind} (nullable: true), or set dataset.missing.rows=drop"


def _allowed(declared: list[str]) -> str:
    more = f" and {len(declared) - SHOWN} more" if len(declared) > SHOWN else ""
    return f"allowed are {names(declared[:SHOWN])}{more}"
