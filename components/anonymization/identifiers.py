"""Identifiers that stay in a release: masked, or replaced by a keyed hash. All others are dropped.

Neither is anonymisation. A pseudonym links all rows of a person, in every table that was treated with the same key,
and whoever holds the key can tell whose it is; a mask shows a part of the truth to everyone. What linked rows leave
of k is measured (`Measurement.k_linked`), and no criterion is enforced on it.

The key comes from an environment variable and is held by nothing but the call that hashes: no configuration, record,
log or message has it. A pseudonym depends on the key and the value alone, and not on the column or table: the same
person gets the same one wherever the key is used, which is what joins tables over time and between sources. To keep
two tables apart, use two keys.
"""

import hmac
import os
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from components.anonymization.declarations import Identifier, Mask, Pseudonymise
from components.anonymization.hierarchies.hierarchy import TextArray
from components.anonymization.hierarchies.keys import keys_of_values
from components.classes.coding import encode, take
from components.data.table import Table
from schemas.dataset import TEXT_LIKE, Column
from schemas.faults import ConfigurationError, DataError, Fault
from schemas.wording import names, shown

LEAST_KEY = 16
"""Fewest bytes of a key; a longer one is better, and what ``openssl rand -hex 32`` prints is a good one."""

HIDDEN = "***"
"""Stands for what a mask hides, however long that is: its length would tell something too."""


def check_keys(identifiers: Mapping[str, Identifier]) -> list[Fault]:
    """Return what is wrong with the keys that pseudonyms are made with, without reading any data.

    Parameters
    ----------
    identifiers : mapping of str to Mask or Pseudonymise
        Per column, as ``anonymization.identifiers`` says.
    """
    faults = []
    for name, how in identifiers.items():
        if not isinstance(how, Pseudonymise):
            continue
        length = len(_key(how))
        if length < LEAST_KEY:
            found = f"holds {length} bytes" if how.key_variable in os.environ else "is not set"
            faults.append(
                Fault(
                    place=f"anonymization.identifiers.{name}.key_variable",
                    problem=f"the environment variable {how.key_variable} {found}",
                    allowed=f"a key of at least {LEAST_KEY} bytes",
                    remedy=f"set it from where keys are kept, or make one: export {how.key_variable}="
                    "$(openssl rand -hex 32)",
                )
            )
    return faults


def treated(identifiers: Mapping[str, Identifier], table: Table) -> dict[str, Any]:
    """Mask and pseudonymise the identifiers of a table.

    Parameters
    ----------
    identifiers : mapping of str to Mask or Pseudonymise
        Per column, as ``anonymization.identifiers`` says.
    table : Table
        Is not written to.

    Returns
    -------
    dict of str to array
        Per column its cells as pandas ``string``, of shape (n,), in the order of the table's columns; a missing cell
        stays missing.

    Raises
    ------
    ConfigurationError
        A column is no identifier of the table, a subject id would be masked, or a key is not set or too short.
    DataError
        Different values would get one pseudonym, or a cell would be written as a missing one is.

    Notes
    -----
    A pseudonym is the beginning of HMAC-SHA-256 (RFC 2104, FIPS 180-4) over the UTF-8 bytes of a value's canonical
    text, in hexadecimal digits. The canonical text of text is its Unicode NFC; of numbers the shortest that reads back
    to the same number, so that 34 and 34.0 agree; of dates and times ISO 8601; of booleans ``true`` and ``false``.
    Each different value is hashed once.
    """
    if faults := [*_unfit(identifiers, table), *check_keys(identifiers)]:
        raise ConfigurationError(faults)
    columns = [table.schema.column(name) for name in table.frame.columns if name in identifiers]
    cells: dict[str, Any] = {}
    for attribute, column in zip(encode(table.frame, columns), columns, strict=True):
        how = identifiers[column.name]
        plain = _canonical(attribute.domain()[0], column)
        labels = _pseudonyms(how, plain) if isinstance(how, Pseudonymise) else _masked(how, plain)
        faults += _collisions(column, how, len(set(plain)) - len(set(labels)))
        faults += _mistakable(column, labels, table.schema.missing.markers)
        cells[column.name] = take(pd.array(labels, dtype="string"), attribute.codes, holes=True)
    if faults:
        raise DataError(faults)
    return cells


def warnings(identifiers: Mapping[str, Identifier], cells: Mapping[str, Any]) -> tuple[str, ...]:
    """Say what identifiers that stay mean for a release.

    Parameters
    ----------
    identifiers : mapping of str to Mask or Pseudonymise
    cells : mapping of str to array
        What is released of them (see `treated`).
    """
    said = []
    for name, released in cells.items():
        how = identifiers[name]
        if isinstance(how, Pseudonymise):
            said.append(
                f"column {shown(name)} is pseudonymised: its rows stay linked, whoever has the key can tell the "
                "persons, and the release is personal data still"
            )
        elif how.keep:
            said.append(f"column {shown(name)} {_shows(how, pd.Series(released).value_counts())}")
    return tuple(said)


def _shows(how: Mask, rows: pd.Series) -> str:
    """Say what a mask shows, from the rows of each text that it made."""
    parts = rows.drop(HIDDEN, errors="ignore")
    characters = f"{how.keep} character{'s' if how.keep > 1 else ''}"
    if parts.empty:
        return f"shows nothing of an identifier: no value has more than the {characters} that the mask keeps"
    whole = f" (values that have no more are hidden whole, in {rows[HIDDEN]} rows)" if HIDDEN in rows else ""
    return (
        f"shows the {how.side} {characters} of an identifier{whole}, which can single out persons and is in no figure "
        f"of risk; the rarest stands in {parts.min()} rows"
    )


def _canonical(values: Any, column: Column) -> TextArray:
    """Write the different values of a column in the one form that a pseudonym is made of."""
    plain = keys_of_values(values, column)
    return _each(lambda text: unicodedata.normalize("NFC", text), plain) if column.dtype in TEXT_LIKE else plain


def _each(function: Callable[[Any], str], values: npt.NDArray[Any]) -> TextArray:
    """Apply a function to each of the different values of a column."""
    made = np.empty(len(values), dtype=object)
    made[:] = [function(value) for value in values]
    return made


def _key(how: Pseudonymise) -> bytes:
    return os.fsencode(os.environ.get(how.key_variable, ""))


def _pseudonyms(how: Pseudonymise, plain: TextArray) -> TextArray:
    key = _key(how)
    return _each(lambda text: hmac.digest(key, text.encode(), "sha256").hex()[: how.length], plain)


def _masked(how: Mask, plain: TextArray) -> TextArray:
    """Keep the first or last characters; a value that has no others is hidden whole."""

    def masked(text: str) -> str:
        if how.keep == 0 or len(text) <= how.keep:
            return HIDDEN
        return text[: how.keep] + HIDDEN if how.side == "first" else HIDDEN + text[-how.keep :]

    return _each(masked, plain)


def _collisions(column: Column, how: Identifier, lost: int) -> list[Fault]:
    """Refuse pseudonyms that different values share: they would make one person of two."""
    if not isinstance(how, Pseudonymise) or not lost:
        return []
    return [
        Fault(
            place=f"anonymization.identifiers.{column.name}.length",
            problem=f"with {how.length} digits {lost} values get a pseudonym that another one has",
            allowed="a pseudonym for each value",
            remedy=f"set it to {min(64, 2 * how.length)}",
        )
    ]


def _mistakable(column: Column, labels: TextArray, markers: list[str]) -> list[Fault]:
    """Refuse cells that whoever reads the release would take for missing ones."""
    if not set(labels) & set(markers):
        return []
    return [
        Fault(
            place=f"anonymization.identifiers.{column.name}",
            problem="a masked cell would be written as a missing one is",
            allowed="dataset.missing.markers that no mask gives",
            remedy="change dataset.missing.markers",
        )
    ]


def _unfit(identifiers: Mapping[str, Identifier], table: Table) -> list[Fault]:
    """Refuse columns that are no identifiers, and a mask that makes one person of several."""
    known = [name for name in table.schema.names("identifier") if name in table.frame.columns]
    faults = []
    for name, how in identifiers.items():
        place = f"anonymization.identifiers.{name}"
        if name not in known:
            allowed = f"one of {names(known)}" if known else "the schema declares no identifier"
            faults.append(
                Fault(place, "names no identifier of the table", allowed, "name a column with the role identifier")
            )
        elif isinstance(how, Mask) and name == table.schema.subject_id:
            faults.append(
                Fault(
                    place, "a mask would make one person of several", "the subject id tells persons", "pseudonymise it"
                )
            )
    return faults
