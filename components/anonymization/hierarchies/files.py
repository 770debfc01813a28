"""Hierarchy files: one row a value, the raw value first and its group on each level after it, without a header."""

import csv as stdlib_csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from components.classes.coding import TextArray
from components.data.files import NOT_FOUND, no_file
from schemas.faults import DataError, Fault
from schemas.hierarchy import CsvHierarchy
from schemas.wording import SHOWN

_DELIMITERS = (";", ",", "\t", "|")
_SNIFFED = 1 << 16
"""Characters whose lines, each as a whole, tell the delimiter."""


def read_columns(declared: CsvHierarchy, path: Path, place: str) -> list[TextArray]:
    """Read a file's columns as text, cells as they are.

    Parameters
    ----------
    declared : CsvHierarchy
    path : Path
    place : str
        What the file is called in messages.

    Raises
    ------
    DataError
        Not found, no regular file, not readable, not text in the declared encoding, empty, or rows of unequal length.
    """
    content = _content(declared, path, place)
    with _cells_of_any_length(content):
        delimiter = _delimiter(declared, content)
        first = next((row for row in stdlib_csv.reader(_lines(content), delimiter=delimiter) if row), None)
    if first is None:
        raise DataError(Fault(place, "is empty", "a row for each value, the value first", "fill it"))
    bad: list[int] = []

    def note(row: csv.InvalidRow) -> str:
        bad.append(row.number)
        return "skip"

    keys = [str(at) for at in range(len(first))]
    encoded = content.encode()
    try:
        table = csv.read_csv(
            pa.BufferReader(encoded),
            csv.ReadOptions(use_threads=False, block_size=len(encoded) + 1, column_names=keys),
            csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=note),
            csv.ConvertOptions(column_types=dict.fromkeys(keys, pa.string()), strings_can_be_null=False),
        )
    except pa.ArrowInvalid:
        raise DataError(Fault(place, "can't be read as delimited text", "", "check its quotes and delimiter")) from None
    if bad:
        raise DataError(_ragged(place, bad, table.num_rows + len(bad), len(first)))
    return [np.asarray(column.to_numpy(), dtype=object) for column in table.columns]


def absent(path: Path, place: str) -> Fault | None:
    """Say that there is no file, where there is none."""
    problem = no_file(path)
    if not problem:
        return None
    remedy = "set dataset.hierarchies to the folder that holds it" if problem == NOT_FOUND else "name the file itself"
    return Fault(place, problem, f"looked in {path.parent}" if problem == NOT_FOUND else "", remedy)


def _content(declared: CsvHierarchy, path: Path, place: str) -> str:
    if fault := absent(path, place):
        raise DataError(fault)
    try:
        raw = path.read_bytes()
        encoding = (
            "utf-8-sig" if declared.encoding.lower().replace("_", "-") in {"utf-8", "utf8"} else declared.encoding
        )
        return raw.decode(encoding)
    except OSError as error:
        fault = Fault(place, f"can't be read: {error.strerror or type(error).__name__}")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        fault = Fault(
            place,
            f"holds bytes that are no {declared.encoding} text (first in line {line})",
            "",
            "set the hierarchy's encoding to the file's own, often cp1252 or latin-1",
        )
    raise DataError(fault) from None


def _lines(content: str) -> Iterable[str]:
    """Return the lines, which end where pyarrow ends them: at CR, LF or both."""
    return io.StringIO(content, newline="")


def _head(content: str) -> list[str]:
    """Return the first lines, the first that isn't blank among them."""
    head: list[str] = []
    size = 0
    for line in _lines(content):
        head.append(line)
        size += len(line)
        if size >= _SNIFFED and line.strip("\r\n"):
            break
    return head


@contextmanager
def _cells_of_any_length(content: str) -> Iterator[None]:
    """Let the standard library read what pyarrow reads: by itself it refuses cells of more than 131,072 characters."""
    limit = stdlib_csv.field_size_limit(len(content))
    try:
        yield
    finally:
        stdlib_csv.field_size_limit(limit)


def _delimiter(declared: CsvHierarchy, content: str) -> str:
    """Return the declared delimiter, or the one that parts most of the first rows into equally many cells."""
    if declared.delimiter != "auto":
        return "\t" if declared.delimiter == "tab" else declared.delimiter
    fit, head = {}, _head(content)
    for delimiter in _DELIMITERS:
        widths = Counter(len(row) for row in stdlib_csv.reader(head, delimiter=delimiter) if len(row) > 1)
        fit[delimiter] = max(widths.values(), default=0)
    return max(_DELIMITERS, key=lambda delimiter: fit[delimiter])


def _ragged(place: str, bad: list[int], rows: int, width: int) -> Fault:
    told = ", ".join(map(str, bad[:SHOWN])) + (", ..." if len(bad) > SHOWN else "")
    return Fault(
        place,
        f"{len(bad)} of {rows} rows hold more or fewer cells than the first (row{'s' if len(bad) > 1 else ''} {told})",
        f"{width} cell{'s' if width > 1 else ''} in each row",
        "give every value a group on every level, and quote cells that hold the delimiter",
    )
