"""The `csv` source: delimited text, plain or gzipped. Every cell is text from the first byte."""

import codecs
import csv as stdlib_csv
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple, cast

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from components.data.declarations import Csv
from components.data.extract import Cells, Extract, Header, InputFact
from components.data.files import SIGNATURES, HashedFile, located, no_rows, unreadable
from schemas.faults import DataError, Fault
from schemas.wording import listed, shown

BLOCK = 8 << 20
"""Bytes parsed at once; no record may be longer."""


_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins as the mark of UTF-16 does: it is asked for first
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class _Head(NamedTuple):
    """The headers, and how many lines and records stand above the first data row."""

    names: tuple[str, ...]
    skip: int


def read(params: Csv, base: Path) -> Extract:
    """Read the whole file as text.

    Blank lines are left out and not counted, but in a file of one column, where they are empty cells.

    Parameters
    ----------
    params : Csv
    base : Path
        The folder that a relative path starts from.

    Returns
    -------
    Extract
        All cells are text, untouched.

    Raises
    ------
    DataError
        Nothing there, not readable, not text in the declared encoding, no rows, rows of unequal length, quotes that
        don't close, NUL characters.
    """
    path = located(params.path, base)
    head = _head(params, path)
    bad: list[int] = []
    with _translated(params, path), HashedFile(path) as file:
        with _content(file, path) as content:
            table = csv.read_csv(content, *_options(params, head, bad))
        rows = table.num_rows + len(bad)
        fact = InputFact(params.path, file.size, file.finish(), rows, len(head.names))
    if rows == 0:
        raise no_rows(_place(params))
    if bad:
        raise _ragged(params, head.names, bad, rows)
    _check_cells(params, path, table)
    return Extract(head.names, tuple(Cells(text=column) for column in table.columns), table.num_rows, (fact,))


def header(params: Csv, base: Path) -> Header:
    """Read the names and count the records, keeping no cell. Raises as `read` does for a file it can't count."""
    path = located(params.path, base)
    head = _head(params, path)
    bad: list[int] = []
    rows = 0
    with _translated(params, path), HashedFile(path) as file, _content(file, path) as content:
        for batch in csv.open_csv(content, *_options(params, head, bad, only_first=True)):
            rows += batch.num_rows
    if rows + len(bad) == 0:
        raise no_rows(_place(params))
    return Header(head.names, rows + len(bad))


def _place(params: Csv) -> str:
    return f"file '{params.path}'"


def _options(
    params: Csv, head: _Head, bad: list[int], *, only_first: bool = False
) -> tuple[csv.ReadOptions, csv.ParseOptions, csv.ConvertOptions]:
    """Say that every cell is text, and put the numbers of rows with too few or too many cells into `bad`."""
    keys = [str(at) for at in range(len(head.names))]

    def note(row: csv.InvalidRow) -> str:
        bad.append(row.number - head.skip)  # pyarrow counts from the start of the file
        return "skip"

    return (
        csv.ReadOptions(
            use_threads=False,  # so that rows are numbered
            block_size=BLOCK,
            column_names=keys,
            skip_rows_after_names=head.skip,
            encoding=params.encoding,
        ),
        csv.ParseOptions(
            delimiter=params.delimiter,
            quote_char=params.quote,
            newlines_in_values=True,
            ignore_empty_lines=len(head.names) > 1,
            invalid_row_handler=note,
        ),
        csv.ConvertOptions(
            column_types=dict.fromkeys(keys, pa.string()),
            strings_can_be_null=False,
            include_columns=keys[:1] if only_first else None,
        ),
    )


@contextmanager
def _content(file: HashedFile, path: Path) -> Iterator[IO[bytes]]:
    """Yield the file's bytes, unpacked where it is gzipped (told by its first bytes, not its name)."""
    with path.open("rb") as peek:
        zipped = peek.read(2) == b"\x1f\x8b"
    raw = io.BufferedReader(file, 1 << 20)
    if not zipped:
        yield raw
        return
    with gzip.open(raw) as unpacked:
        yield cast("IO[bytes]", unpacked)
        while unpacked.read(1 << 20):  # to the end, where gzip checks that nothing is missing
            pass


@contextmanager
def _translated(params: Csv, path: Path) -> Iterator[None]:
    """Turn what pyarrow, gzip and the codecs say into faults: their messages may quote cells."""
    fault: Fault | None = None
    try:
        yield
    except UnicodeError:
        fault = _encoding_fault(params, path)
    except EOFError:
        fault = Fault(_place(params), "the gzip archive is cut off", "", "fetch the file again")
    except (gzip.BadGzipFile, zlib.error):
        fault = Fault(_place(params), "the gzip archive is damaged", "", "fetch the file again")
    except pa.ArrowInvalid as error:
        if "straddling" in str(error):
            fault = Fault(
                _place(params),
                f"a record is longer than {BLOCK >> 20} MB",
                "shorter records",
                "look for a quote that is opened and never closed, or set dataset.source.quote",
            )
        elif _bad_line(params, path) is not None:
            fault = _encoding_fault(params, path)
        else:
            fault = Fault(_place(params), "can't be read as delimited text", "", "check dataset.source")
    except OSError as error:
        raise unreadable(params.path, error) from None
    if fault is not None:
        raise DataError(fault) from None


def _head(params: Csv, path: Path) -> _Head:
    """Read the first record; says what the file is where it clearly is no delimited text."""
    with _translated(params, path), path.open("rb") as file:
        head = file.read(16)
        for signature, what, remedy in SIGNATURES:
            if head.startswith(signature):
                raise DataError(Fault(_place(params), f"is {what}, not delimited text", "", remedy))
        for mark, name in _MARKS:
            if head.startswith(mark):
                if codecs.lookup(params.encoding).name.startswith(name):
                    break
                problem = f"is {name.upper()} text"
                raise DataError(Fault(_place(params), problem, "", f"set dataset.source.encoding={name}"))
        file.seek(0)
        content = gzip.GzipFile(fileobj=file) if head.startswith(b"\x1f\x8b") else file
        encoding = codecs.lookup(params.encoding).name
        with io.TextIOWrapper(
            cast("IO[bytes]", content), encoding="utf-8-sig" if encoding == "utf-8" else encoding, newline=""
        ) as text:
            records = stdlib_csv.reader(text, delimiter=params.delimiter, quotechar=params.quote, strict=True)
            try:
                before, names = next(((at, record) for at, record in enumerate(records) if record), (0, None))
                rest = text.read(1)
            except stdlib_csv.Error:
                raise DataError(
                    Fault(_place(params), "the header can't be read", "", "check dataset.source.quote")
                ) from None
    if names is None or not rest:
        raise no_rows(_place(params))
    return _Head(tuple(names), before + 1)


def _ragged(params: Csv, names: tuple[str, ...], bad: list[int], rows: int) -> DataError:
    return DataError(
        Fault(
            _place(params),
            f"{len(bad)} of {rows} rows hold more or fewer cells than the header ({listed(bad)})",
            f"{len(names)} cell{'s' if len(names) > 1 else ''} in each row",
            "quote cells that hold the delimiter, or set dataset.source.delimiter and quote as the file has them",
            rows=tuple(bad),
        )
    )


def _check_cells(params: Csv, path: Path, table: pa.Table) -> None:
    """Refuse NUL characters, and quotes that swallowed cells or rows."""
    faults = []
    for at, column in enumerate(table.columns):
        nul = pc.match_substring(column, "\0")
        if pc.any(nul).as_py():
            rows = (pc.indices_nonzero(nul).to_numpy() + 1).tolist()
            faults.append(
                Fault(
                    f"{_place(params)}, column {at + 1}",
                    f"NUL characters in {listed(rows)}",
                    "text",
                    "check dataset.source.encoding (utf-16?), or clean the file",
                    rows=tuple(rows),
                )
            )
    # A stray quote can only swallow rows into a cell that then spans lines: such files alone are read once more.
    if any(pc.any(pc.match_substring_regex(column, r"[\r\n]")).as_py() for column in table.columns):
        faults += _misquoted(params, path)
    if faults:
        raise DataError(faults)


def _misquoted(params: Csv, path: Path) -> list[Fault]:
    """Read the file by the strict rule: a quoted cell ends at the delimiter, the line's end or the file's."""
    record = 0
    limit = stdlib_csv.field_size_limit(BLOCK)
    try:
        with (
            _translated(params, path),
            HashedFile(path) as file,
            _content(file, path) as content,
            io.TextIOWrapper(content, encoding=params.encoding, newline="") as text,
        ):
            lines = stdlib_csv.reader(text, delimiter=params.delimiter, quotechar=params.quote, strict=True)
            for record, _ in enumerate(filter(None, lines)):  # noqa: B007  # the number of the last sound record
                pass
    except stdlib_csv.Error:
        return [
            Fault(
                f"{_place(params)}, data row {record + 1}",
                f"a quote {shown(params.quote)} is opened and not closed at the end of a cell",
                "quotes around whole cells, doubled inside them",
                "mend the cell, or set dataset.source.quote to a character that the file quotes with",
                rows=(record + 1,),
            )
        ]
    finally:
        stdlib_csv.field_size_limit(limit)
    return []


def _bad_line(params: Csv, path: Path) -> int | None:
    """Return the line, from 1 at the header, whose bytes aren't text in the declared encoding."""
    decoder = codecs.getincrementaldecoder(params.encoding)()
    line = 1
    with suppress(OSError, EOFError), HashedFile(path) as file, _content(file, path) as content:
        for piece in content:
            try:
                decoder.decode(piece)
            except UnicodeError:
                return line
            line += 1
    return None


def _encoding_fault(params: Csv, path: Path) -> Fault:
    line = _bad_line(params, path)
    where = "" if line is None else f" (first in line {line})"
    return Fault(
        _place(params),
        f"holds bytes that are no {params.encoding} text{where}",
        f"text in {params.encoding}, as dataset.source.encoding says",
        "set dataset.source.encoding to the file's own, often cp1252 or latin-1",
    )
