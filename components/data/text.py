"""Text cells cleaned and converted. What can't be converted becomes null, so that the failures are known by place."""

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from schemas.dataset import Column

ISO_DATE = r"^\d{4}-\d{2}-\d{2}$"
ISO_TIME = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)?)?$"
ZONE = r"(?P<zone>Z|[+-]\d{2}(?::?\d{2})?)$"
TRUE = ("true", "yes", "y", "t", "1")
FALSE = ("false", "no", "n", "f", "0")


@dataclass(frozen=True, slots=True)
class Rules:
    """How text cells are to be read: the source's settings and the schema's markers.

    ``has_marks`` says that the source has settings for decimal and thousands marks.
    """

    trim: bool = False
    normalize: bool = False
    has_marks: bool = False
    decimal: str = "."
    thousands: str | None = None
    markers: tuple[str, ...] = ()


def cleaned(cells: pa.ChunkedArray, rules: Rules) -> pa.ChunkedArray:
    """Strip blanks and bring text to Unicode NFC, as `rules` say."""
    if rules.trim:
        cells = pc.utf8_trim_whitespace(cells)
    if rules.normalize and not pc.all(pc.string_is_ascii(cells)).as_py():
        cells = pc.utf8_normalize(cells, form="NFC")
    return cells


def without_missing(cells: pa.ChunkedArray, rules: Rules) -> tuple[pa.ChunkedArray, dict[str, int]]:
    """Turn missing markers into nulls, and count each marker.

    Parameters
    ----------
    cells : pyarrow.ChunkedArray of string, shape (n,)
        Cleaned.
    rules : Rules

    Returns
    -------
    cells : pyarrow.ChunkedArray of string, shape (n,)
    counts : dict of str to int
        For every declared marker, zeros included.
    """
    counts = {}
    missing = pa.chunked_array([pa.array(np.zeros(len(cells), dtype=bool))])
    for marker in rules.markers:
        sought = marker.strip() if rules.trim else marker
        found = pc.fill_null(pc.equal(cells, sought), fill_value=False)
        counts[marker] = pc.sum(found).as_py() or 0
        missing = pc.or_(missing, found)
    return pc.if_else(missing, pa.scalar(None, pa.string()), cells), counts


def integers(cells: pa.ChunkedArray, rules: Rules) -> pa.ChunkedArray:
    """Convert to int64: digits with an optional sign, grouped by threes where a thousands mark is declared."""
    good = _matching(cells, rf"^[+-]?0*({_grouped(rules)})$")
    digits = pc.utf8_ltrim(_plain(good, rules), characters="+")
    return _matching(digits, r"^-?0*\d{1,18}$").cast(pa.int64())


def numbers(cells: pa.ChunkedArray, rules: Rules) -> pa.ChunkedArray:
    """Convert to float64: declared decimal and thousands marks, exponents allowed; no infinities, no NaN."""
    mark = re.escape(rules.decimal)
    good = _matching(cells, rf"^[+-]?(({_grouped(rules)})({mark}\d*)?|{mark}\d+)([eE][+-]?\d+)?$")
    plain = _plain(good, rules)
    if rules.decimal != ".":
        plain = pc.replace_substring(plain, rules.decimal, ".")
    values = plain.cast(pa.float64())
    return pc.if_else(pc.is_finite(values), values, pa.scalar(None, pa.float64()))


def looks_like_decimal_commas(cells: pa.ChunkedArray) -> bool:
    """Whether more than half of the cells are numbers if a comma is the decimal mark."""
    commas = pc.match_substring_regex(cells, r"^[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+$")
    return bool(2 * (pc.sum(commas).as_py() or 0) > len(cells) - cells.null_count)


def _grouped(rules: Rules) -> str:
    if rules.thousands is None:
        return r"\d+"
    return rf"\d+|\d{{1,3}}({re.escape(rules.thousands)}\d{{3}})+"


def _plain(cells: pa.ChunkedArray, rules: Rules) -> pa.ChunkedArray:
    return cells if rules.thousands is None else pc.replace_substring(cells, rules.thousands, "")


def _matching(cells: pa.ChunkedArray, pattern: str) -> pa.ChunkedArray:
    return pc.if_else(pc.match_substring_regex(cells, pattern), cells, pa.scalar(None, pa.string()))


def booleans(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert to bool: true/false, yes/no, y/n, t/f or 1/0 in any case."""
    lower = pc.utf8_lower(cells)
    true = pc.is_in(lower, value_set=pa.array(TRUE))
    known = pc.or_(true, pc.is_in(lower, value_set=pa.array(FALSE)))
    return pc.if_else(known, true, pa.scalar(None, pa.bool_()))


def dates(cells: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    """Convert to timestamp[us] at midnight: ISO 8601, or the column's format."""
    if column.format is not None:
        return midnights(_parsed(cells, column.format, utc=False))
    return _parsed(_matching(cells, ISO_DATE), "%Y-%m-%d", utc=False)


def midnights(moments: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn times that are not at midnight into null."""
    whole = pc.equal(pc.floor_temporal(moments, unit="day"), moments)
    return pc.if_else(whole, moments, pa.scalar(None, moments.type))


def moments(cells: pa.ChunkedArray, column: Column) -> tuple[pa.ChunkedArray, np.ndarray, dict[str, int]]:
    """Convert to timestamp[us, UTC]: ISO 8601, or the column's format.

    Parameters
    ----------
    cells : pyarrow.ChunkedArray of string, shape (n,)
    column : Column

    Returns
    -------
    moments : pyarrow.ChunkedArray, shape (n,)
        A time without zone is taken as if it were UTC.
    zoned : numpy.ndarray of bool, shape (n,)
        Which cells state a zone.
    zones : dict of str to int
        How often each zone occurs.
    """
    if column.format is None:
        values = _parsed(_matching(cells, ISO_TIME), "ISO8601", utc=True)
        stated = pc.struct_field(pc.extract_regex(cells, ZONE), "zone")
        stated = pc.if_else(pc.match_substring(cells, ":"), stated, pa.scalar(None, pa.string()))  # not a date's day
    else:
        values = _parsed(cells, column.format, utc=True)
        zone = "as the format's %z says" if "%z" in column.format else None
        stated = pa.chunked_array([pa.array([zone], pa.string()).take(pa.array(np.zeros(len(cells), dtype=np.int64)))])
    stated = pc.if_else(pc.is_valid(values), stated, pa.scalar(None, pa.string()))
    counted = pc.value_counts(stated.drop_null()).to_pylist()
    return values, pc.is_valid(stated).to_numpy(), {each["values"]: each["counts"] for each in counted}


def _parsed(cells: pa.ChunkedArray, pattern: str, *, utc: bool) -> pa.ChunkedArray:
    zone = "UTC" if utc else None
    kind = pa.timestamp("us", tz=zone)
    texts = pd.Series(pd.arrays.ArrowStringArray(cells))
    try:
        values = pd.to_datetime(texts, format=pattern, errors="coerce", utc=utc)
        if not utc and values.dt.tz is not None:  # a date format with %z
            values = values.dt.tz_localize(None)
    except (ValueError, AttributeError):  # a directive that pandas doesn't know, or zones that differ: all fail
        return pa.chunked_array([pa.nulls(len(cells), kind)])
    return pa.chunked_array([pa.array(values, from_pandas=True).cast(kind, safe=False)])
