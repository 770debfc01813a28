"""A source's headers against the schema's columns."""

import unicodedata
from collections.abc import Collection, Sequence
from difflib import get_close_matches

from schemas.dataset import DatasetSchema
from schemas.faults import Fault
from schemas.wording import names as quoted
from schemas.wording import shown

BYTE_ORDER_MARKS = ("\ufeff", "\u00ef\u00bb\u00bf")
"""U+FEFF itself, and its UTF-8 bytes read as latin-1 or cp1252."""

DELIMITERS = ",;\t|"
"""What a header may be delimited by instead."""


_LEAST_SHARE = 0.5
"""Share of the declared columns below which a first row may be cells rather than headers."""


def tidied(names: Sequence[str], *, trim: bool, normalize: bool) -> tuple[str, ...]:
    """Return headers without a byte order mark's own character, trimmed and in Unicode NFC as asked."""
    out = [name.removeprefix("\ufeff") if at == 0 else name for at, name in enumerate(names)]
    out = [name.strip() for name in out] if trim else out
    return tuple(unicodedata.normalize("NFC", name) for name in out) if normalize else tuple(out)


def undeclared(schema: DatasetSchema, names: Sequence[str]) -> dict[str, str]:
    """Return the columns that would not be carried along, with the reason: those that nobody gave a role.

    Parameters
    ----------
    schema : DatasetSchema
    names : sequence of str
        Tidied headers.
    """
    roles = {column.name: column.role for column in schema.columns}
    return {name: "has no role" if name in roles else "not in the schema" for name in names if roles.get(name) is None}


def header_faults(schema: DatasetSchema, names: Sequence[str], place: str, delimiter: str = ",") -> list[Fault]:
    """Ask whether the first row is a header of this schema at all.

    Parameters
    ----------
    schema : DatasetSchema
    names : sequence of str
        Tidied headers, in order.
    place : str
        What was read.
    delimiter : str, optional
        What parts the headers; another one that would part them is hinted at.

    Returns
    -------
    list of Fault
        Empty, or one. Headers are not named where none is known: the first row may be cells rather than headers.
    """
    known = sorted({column.name for column in schema.columns})
    if len(names) == 1 and len(known) > 1:
        mark = max((mark for mark in DELIMITERS if mark != delimiter), key=names[0].count)
        if any(_resembles(part, known) for part in names[0].split(mark)) and mark in names[0]:
            return [_undelimited(place, len(known), mark)]
    met = sum(_resembles(name, names) for name in known)
    if met and met >= _LEAST_SHARE * len(known):
        return []
    return [
        Fault(
            place,
            f"{met or 'none'} of {len(known)} declared columns found among the {len(names)} of the first row",
            f"expected {quoted(known)}",
            "add a header row, or check dataset.source",
            values=quoted(names),
        )
    ]


def _undelimited(place: str, declared: int, mark: str) -> Fault:
    escaped = mark.encode("unicode_escape").decode()
    return Fault(
        place,
        f"one column found where the schema declares {declared}",
        f"the header is delimited by '{escaped}'",
        f"set dataset.source.delimiter='{escaped}'",
    )


def column_faults(schema: DatasetSchema, names: Sequence[str], *, identifying: Collection[str] = ()) -> list[Fault]:
    """Hold headers against a schema: columns that are there twice, missing, or without a role.

    Parameters
    ----------
    schema : DatasetSchema
    names : sequence of str
        Tidied headers in which `header_faults` finds nothing, in order.
    identifying : collection of str, optional
        Columns in which nearly every value differs.

    Returns
    -------
    list of Fault
    """
    loose = undeclared(schema, names)
    faults = doubled(names)
    if not schema.used:
        faults.append(Fault("dataset.columns", "no column has a role other than drop", "", "give at least one a role"))
    faults += [_missing(column.name, list(loose)) for column in schema.used if column.name not in names]
    if loose and schema.undeclared == "refuse":
        faults.append(_loose(loose, identifying))
    elif loose:
        faults += [
            Fault(f"dataset.{key}", f"column {shown(name)} {loose[name]} and would be left out", "", "give it a role")
            for key, needed in (
                ("target", schema.targets),
                ("subject_id", (schema.subject_id,)),
                ("client", (schema.client,)),
            )
            for name in needed
            if name in loose
        ]
    return faults


def _resembles(name: str, known: Collection[str]) -> bool:
    bare = _bare(name)
    return bool(bare) and any(bare == _bare(other) for other in known)


def _bare(name: str) -> str:
    """Return letters and digits alone, in lower case and without a misread byte order mark."""
    for mark in BYTE_ORDER_MARKS:
        name = name.removeprefix(mark)
    return "".join(character for character in name.casefold() if character.isalnum())


def doubled(names: Sequence[str]) -> list[Fault]:
    """Name each header that occurs more than once, with its positions from 1."""
    places: dict[str, list[int]] = {}
    for at, name in enumerate(names, start=1):
        places.setdefault(name, []).append(at)
    return [
        Fault(
            f"column {shown(name)}",
            f"stands {'twice' if len(at) == 2 else f'{len(at)} times'} in the header "
            f"(positions {', '.join(map(str, at))})",
            "every header once",
            "rename or remove one of them in the file",
        )
        for name, at in places.items()
        if len(at) > 1
    ]


def _missing(name: str, loose: Sequence[str]) -> Fault:
    near = next((other for other in loose if _bare(other) == _bare(name)), None)
    near = near or next(iter(get_close_matches(name, loose, n=1, cutoff=0.75)), None)
    if near is None:
        return Fault(f"column {shown(name)}", "is declared but not in the source", "", "correct the schema or the file")
    if any(near.startswith(mark) for mark in BYTE_ORDER_MARKS):
        remedy = "set dataset.source.encoding=utf-8: a byte order mark was read as part of the header"
    else:
        remedy = "name it as the source does"
    return Fault(f"column {shown(name)}", "is declared but not in the source", f"there is {shown(near)}", remedy)


def _loose(loose: dict[str, str], identifying: Collection[str]) -> Fault:
    listed = ", ".join(f"{shown(name)} ({reason})" for name, reason in loose.items())
    likely = [name for name in loose if name in identifying]
    suspect = f"; likely {'an identifier' if len(likely) == 1 else 'identifiers'}: {quoted(likely)}" if likely else ""
    return Fault(
        "dataset.columns",
        f"{len(loose)} column{'s' if len(loose) > 1 else ''} without a declared role: {listed}{suspect}",
        "every column has a role",
        "give each a role (role: drop leaves it out), or set dataset.undeclared=drop",
    )
