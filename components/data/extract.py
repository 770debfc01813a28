"""What a source hands over before the schema is applied: headers, and cells exactly as they were stored."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv


@dataclass(frozen=True, slots=True)
class InputFact:
    """What the record says about one input.

    Parameters
    ----------
    uri : str
        The path as given, the masked database URL, or ``generated:`` and ``sklearn:`` with a name.
    bytes : int or None
        Size of a file; None where there is no file.
    sha256 : str or None
        Digest of a file's bytes, elsewhere of the content (see `content_digest`).
    rows, columns : int or None
        Shape as read, before any row or column is left out; None for a file that is no table of the dataset's.
    """

    uri: str
    bytes: int | None
    sha256: str | None
    rows: int | None
    columns: int | None


@dataclass(frozen=True, slots=True)
class Header:
    """Column names and row count of a source."""

    names: tuple[str, ...]
    rows: int


@dataclass(frozen=True)
class Cells:
    """The cells of one column. A cell is text, or typed, or odd, or (null in all three) missing.

    Parameters
    ----------
    text : pyarrow.ChunkedArray of string, or None
        Text cells as stored; null elsewhere. None where no cell is text.
    typed : pyarrow.ChunkedArray, or None
        Cells that the source stores as numbers, dates, ...; null elsewhere.
    odd : numpy.ndarray of int
        Positions of cells of a kind that differs from the column's other typed cells.
    zones : dict of str to int, optional
        How often each time zone occurs among typed times, where the column's type doesn't say.
    """

    text: pa.ChunkedArray | None = None
    typed: pa.ChunkedArray | None = None
    odd: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    zones: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Extract:
    """A table as its source stores it.

    Parameters
    ----------
    names : tuple of str
        Headers as stored, in order; not yet trimmed, maybe not unique.
    columns : tuple of Cells
        One for each name.
    rows : int
    inputs : tuple of InputFact
    """

    names: tuple[str, ...]
    columns: tuple[Cells, ...]
    rows: int
    inputs: tuple[InputFact, ...]


def cells_of(array: pa.Array | pa.ChunkedArray) -> Cells:
    """Return the cells of an Arrow array of any type."""
    chunked = array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
    if pa.types.is_dictionary(chunked.type):
        chunked = chunked.cast(chunked.type.value_type)
    if pa.types.is_string(chunked.type):
        return Cells(text=chunked)
    if pa.types.is_large_string(chunked.type) or pa.types.is_string_view(chunked.type):
        return Cells(text=chunked.cast(pa.string()))
    return Cells(typed=chunked)


def cells_of_objects(objects: Sequence[object]) -> Cells:
    """Return the cells of a column of Python objects, as database drivers and workbook readers give them.

    Where the typed cells are of several kinds that don't go together, the most frequent kind is the column's and the
    others are odd.
    """
    texts = [str(cell) if isinstance(cell, (str, UUID)) else None for cell in objects]
    others = [None if text is not None else cell for text, cell in zip(texts, objects, strict=True)]
    zones: Counter[str] = Counter(
        cell.isoformat(timespec="minutes")[16:] for cell in others if isinstance(cell, datetime) and cell.tzinfo
    )
    if zones:  # pandera sets PYARROW_IGNORE_TIMEZONE, under which only times in UTC convert rightly
        others = [cell.astimezone(UTC) if isinstance(cell, datetime) and cell.tzinfo else cell for cell in others]
    typed, odd = _one_kind(others)
    return Cells(
        text=pa.chunked_array([pa.array(texts, pa.string())]),
        typed=pa.chunked_array([typed]),
        odd=np.asarray(odd, dtype=np.int64),
        zones=dict(zones),
    )


def _one_kind(cells: list[object]) -> tuple[pa.Array, list[int]]:
    """Return the cells of the column's kind as an array, and the positions of the others."""
    kinds = [_kind(cell) for cell in cells]
    met = Counter(kind for kind in kinds if kind is not type(None))
    if not met:
        return pa.nulls(len(cells)), []
    kind, _ = met.most_common(1)[0]
    odd = [at for at, found in enumerate(kinds) if found not in (kind, type(None))]
    alike = [cell if found == kind else None for found, cell in zip(kinds, cells, strict=True)]
    try:
        return pa.array(alike), odd
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # numbers beyond 64 bits, objects of a driver
        return pa.nulls(len(cells)), [at for at, found in enumerate(kinds) if found is not type(None)]


def _kind(cell: object) -> object:
    """Tell cells that go together: numbers but no booleans, and times with or without zone."""
    if isinstance(cell, datetime):
        return "time" if cell.tzinfo is None else "zoned time"
    return float if type(cell) is int else type(cell)


def content_digest(names: Sequence[str], columns: Sequence[Cells]) -> str:
    """Return the SHA-256 of a table's content: its names as JSON, then its rows as CSV text, sorted.

    For inputs that are no file. Sorted, since a database promises no order of rows.
    """
    digest = sha256(json.dumps(list(names)).encode())
    if columns:
        table = pa.table({str(at): _as_text(cells) for at, cells in enumerate(columns)})
        order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in table.column_names])
        sink = pa.BufferOutputStream()
        csv.write_csv(table.take(order), sink, csv.WriteOptions(include_header=False))
        digest.update(sink.getvalue())
    return digest.hexdigest()


def _as_text(cells: Cells) -> pa.ChunkedArray:
    parts = [] if cells.text is None else [cells.text]
    if cells.typed is not None:
        try:
            parts.append(cells.typed.cast(pa.string()))
        except pa.ArrowException:  # nested and other types without a text form in Arrow
            texts = [None if cell is None else str(cell) for cell in cells.typed.to_pylist()]
            parts.append(pa.chunked_array([pa.array(texts, pa.string())]))
    return pc.coalesce(*parts)
