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


def column_faults(schema: DatasetSchema, names: Sequence[str], *, identifying: Collection[str] = ()) -> list[Fault]:
    """Hold headers against a schema: columns that are there twice, missing, or without a role.

    Parameters
    ----------
    schema : DatasetSchema
    names : sequence of str
        Tidied headers, in order.
    identifying : collection of str, optional
        Columns in which nearly every value differs.

    Returns
    -------
    list of Fault
        Headers are named but where none is known: the first row may then be cells rather than headers.
    """
    faults = _doubled(names)
    missing = [column.name for column in schema.used if column.name not in names]
    loose = undeclared(schema, names)
    known = {column.name for column in schema.columns}
    if not any(_resembles(name, known) for name in names):
        return [_no_header(names, sorted(known))]
    for name in missing:
        faults.append(_missing(name, list(loose)))
    if loose and schema.undeclared == "refuse":
        faults.append(_loose(loose, identifying))
    return faults


def _resembles(name: str, known: Collection[str]) -> bool:
    bare = _bare(name)
    return bool(bare) and any(bare == _bare(other) for other in known)


def _bare(name: str) -> str:
    """Return letters and digits alone, in lower case and without a misread byte order mark."""
    for mark in BYTE_ORDER_MARKS:
        name = name.removeprefix(mark)
    return "".join(character for character in name.casefold() if character.isalnum())


def _doubled(names: Sequence[str]) -> list[Fault]:
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


def _no_header(names: Sequence[str], known: Sequence[str]) -> Fault:
    return Fault(
        "header",
        f"none of the declared columns is among the {len(names)} of the source's first row",
        f"expected {quoted(known)}",
        "add a header row, or check dataset.source",
        values=quoted(names),
    )


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


def delimiter_fault(place: str, schema: DatasetSchema, names: Sequence[str], delimiter: str) -> Fault | None:
    """Return a fault when the one header found is several, by another delimiter."""
    if len(names) != 1 or len(schema.used) < 2:
        return None
    best = max((mark for mark in ",;\t|" if mark != delimiter), key=names[0].count)
    parts = {_bare(part) for part in names[0].split(best)}
    if not any(_bare(column.name) in parts for column in schema.columns):
        return None
    escaped = best.encode("unicode_escape").decode()
    return Fault(
        place,
        f"one column found where the schema declares {len(schema.columns)}",
        f"the header is delimited by '{escaped}'",
        f"set dataset.source.delimiter='{escaped}'",
    )
