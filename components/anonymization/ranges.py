"""What covers a class: the range or the set of all its values, as text, and the value that stands for it in training.

``[20, 29]`` is a range of numbers or dates, both ends included and both actual; ``{a, b}`` a set of values in declared
order, for an ordered column with all declared values in between, so that only neighbours stand together. ``missing``
in braces says that cells are missing; one value alone stands as it is. In a set, a value that could be mistaken for
this notation is quoted.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from components.anonymization.representatives import Published, actual, counted
from components.classes.coding import MISSING, Attribute, BoolArray, IntArray, halfway, take
from components.classes.counts import Counts
from schemas.dataset import Column
from schemas.faults import DataError, Fault
from schemas.wording import shown

_T = TypeVar("_T")
TextArray = npt.NDArray[np.object_]
MOST_CHARACTERS = 2**28
"""Characters that the cells of one released column of sets hold at most, all rows together."""

_MISTAKABLE = r'[,{}\[\]"]|^\s|\s$|^missing$'


@dataclass(frozen=True, slots=True)
class _Members:
    """The values of each class, without missing: ``codes[starts[i] : starts[i] + sizes[i]]``, in order."""

    codes: IntArray
    starts: IntArray
    sizes: IntArray

    @property
    def empty(self) -> BoolArray:
        return np.asarray(self.sizes == 0)

    def at(self, place: IntArray) -> IntArray:
        """Return one value per class, missing where a class has none."""
        chosen = self.codes[np.minimum(self.starts + np.maximum(place, 0), len(self.codes) - 1)]
        return np.where(self.empty, MISSING, chosen)


def on_all(columns: Iterable[_T], publish: Callable[[_T], Iterable[Published]]) -> list[Published]:
    """Publish several columns; those that can't be are told together.

    Parameters
    ----------
    columns : iterable
    publish : callable
        Returns what is published of one of them.

    Raises
    ------
    DataError
        With the faults of all of them.
    """
    found: list[Published] = []
    faults: list[Fault] = []
    for one in columns:
        try:
            found += publish(one)
        except DataError as error:
            faults += error.faults
    if faults:
        raise DataError(faults)
    return found


def covering(attribute: Attribute, classes: IntArray, n_classes: int, missing: str) -> Published:
    """Publish, as text, what covers all values of a class.

    Parameters
    ----------
    attribute : Attribute
        Of one column.
    classes : ndarray of int, shape (n,)
    n_classes : int
    missing : {"own_value", "ignore"}
        Whether missing cells show as a member. Where all cells of a class are missing they stay so.

    Raises
    ------
    DataError
        Sets of values would make the column larger than can be held.

    Notes
    -----
    In training a range is its midpoint (rounded down for whole numbers and dates), a set of ordered values its lower
    middle member, any other set its likeliest member when every row's set is shared out evenly among its members:
    all can be told from the release alone.
    """
    counts = counted(attribute, classes, n_classes)
    if not counts.codes.any():
        return actual(attribute, np.full(n_classes, MISSING), classes)[0]
    return covers(attribute, counts, classes, missing)


def covers(attribute: Attribute, counts: Counts, classes: IntArray, missing: str = "own_value") -> Published:
    """Publish what covers the values that classes are known to hold, whichever rows they were known from.

    Parameters
    ----------
    attribute : Attribute
        Knows the values; its rows play no part.
    counts : Counts
        The values of each class: 0 is missing, code + 1 a value, of which there is at least one.
    classes : ndarray of int, shape (n,)
        Class of each row to publish.
    missing : {"own_value", "ignore"}

    Raises
    ------
    DataError
        Sets of values would make the column larger than can be held.
    """
    members = _members(counts)
    if attribute.kind == "ordered":
        attribute, members = _filled(attribute, members)
    sizes = members.sizes
    gap = (counts.total(counts.codes == 0) > 0) & ~members.empty
    shows_gap = gap if missing == "own_value" else np.zeros_like(gap)
    if attribute.kind == "number":
        labels = _range_texts(attribute, members, shows_gap)
        training = _midpoints(attribute, members)
    else:
        labels = _set_texts(attribute, members, shows_gap, np.bincount(classes, minlength=len(sizes)))
        place = (sizes - 1) // 2 if attribute.kind == "ordered" else _likeliest(attribute, members, classes)
        training = attribute.cells(members.at(place))[0]
    return Published(
        column=attribute.columns[0],
        cells=_text(labels, members.empty).take(classes),
        training=take(training, classes),
        generalised=True,
    )


def likeliest(attribute: Attribute, classes: IntArray, n_classes: int) -> IntArray:
    """Return the likeliest value of each class, told by the sets of values alone, as codes of shape (n_classes,).

    That is the one with the most rows when every row's set is shared out evenly among its members; missing where all
    cells of a class are.
    """
    members = _members(counted(attribute, classes, n_classes))
    if members.empty.all():
        return np.full(n_classes, MISSING)
    return members.at(_likeliest(attribute, members, classes))


def _members(counts: Counts) -> _Members:
    """Return the values of each class from counts in which 0 is missing."""
    there = counts.codes > 0
    sizes = np.bincount(counts.classes[there], minlength=counts.n_classes)
    return _Members(counts.codes[there] - 1, np.cumsum(sizes) - sizes, sizes)


def texts(values: Any, column: Column) -> TextArray:
    """Write values as text: dates as ISO 8601, the rest as they print."""
    if column.dtype == "date":
        return np.datetime_as_string(np.asarray(values, dtype="datetime64[D]")).astype(object)
    if column.dtype == "datetime":
        moments = pd.DatetimeIndex(values)
        stamps = np.datetime_as_string(moments.tz_localize(None).to_numpy(), unit="us").astype(object)
        return np.asarray(stamps + ("" if moments.tz is None else "Z"), dtype=object)
    if column.dtype in {"integer", "number"}:
        return (np.asarray(values) + 0).astype(str).astype(object)  # makes one zero of -0.0 and 0.0
    return np.asarray(pd.Series(values).astype(str), dtype=object)


def _filled(attribute: Attribute, members: _Members) -> tuple[Attribute, _Members]:
    """Let each class hold all declared values between its lowest and its highest: only neighbours are merged."""
    declared = attribute.columns[0].values
    if declared is None:
        return attribute, members
    place = pd.Index(declared).get_indexer(pd.Index(texts(attribute.domain()[0], attribute.columns[0])))
    low, high = (place[members.at(at)] for at in (np.zeros_like(members.sizes), members.sizes - 1))
    sizes = np.where(members.empty, 0, high - low + 1)
    starts = np.cumsum(sizes) - sizes
    codes = np.repeat(low - starts, sizes) + np.arange(sizes.sum())
    every = pd.Categorical(declared, categories=declared, ordered=True)
    whole = Attribute(attribute.name, attribute.columns, "ordered", np.arange(len(declared)), len(declared), (every,))
    return whole, _Members(codes, starts, sizes)


def _text(labels: TextArray, empty: BoolArray) -> Any:
    labels[empty] = None
    return pd.array(labels, dtype="string")


def _range_texts(attribute: Attribute, members: _Members, gap: BoolArray) -> TextArray:
    column = attribute.columns[0]
    labels = np.full(len(members.sizes), "", dtype=object)
    some = np.flatnonzero(~members.empty)
    low, high = members.at(np.zeros_like(members.sizes))[some], members.at(members.sizes - 1)[some]
    ends = [texts(attribute.cells(codes)[0], column) for codes in (low, high)]
    labels[some] = np.where(low == high, ends[0], "[" + ends[0] + ", " + ends[1] + "]")
    return np.where(gap, "{" + labels + ", missing}", labels)


def _set_texts(attribute: Attribute, members: _Members, gap: BoolArray, rows: IntArray) -> TextArray:
    plain = texts(attribute.domain()[0], attribute.columns[0])
    quoted = pd.Series(plain, dtype="str")
    odd = quoted.str.contains(_MISTAKABLE)
    quoted = quoted.where(~odd, '"' + quoted.str.replace('"', '""', regex=False) + '"')
    alone = (members.sizes == 1) & ~gap
    lengths = _lengths(members, np.asarray(quoted.str.len(), dtype=np.int64), gap)
    _refuse_endless(attribute.columns[0], members, int((lengths * np.maximum(rows, 1))[~alone].sum()))
    offsets = np.append(members.starts, len(members.codes)).astype(np.int32)
    listed = pa.ListArray.from_arrays(offsets, pa.array(quoted, pa.string()).take(pa.array(members.codes)))
    inner = np.asarray(pc.binary_join(listed, ", ").to_numpy(zero_copy_only=False), dtype=object)
    inner = np.where(gap, inner + ", missing", inner)
    labels = "{" + inner + "}"
    labels[alone] = plain[members.codes[members.starts[alone]]]
    return np.asarray(labels, dtype=object)


def _lengths(members: _Members, lengths: IntArray, gap: BoolArray) -> IntArray:
    """Return the characters of each class's set: its braces make up for the comma that the last member lacks."""
    below = np.append(0, np.cumsum(lengths[members.codes] + len(", ")))
    ends = members.starts + members.sizes
    return np.asarray(below[ends] - below[members.starts] + gap * len(", missing"), dtype=np.int64)


def _refuse_endless(column: Column, members: _Members, characters: int) -> None:
    """Raise ``DataError`` where every row names all values of its class, and these are too many to be written."""
    if characters > MOST_CHARACTERS:
        raise DataError(
            Fault(
                f"column {shown(column.name)}",
                f"would hold {characters:,} characters: each row shows the set of its class's values, of which there "
                f"are up to {int(members.sizes.max()):,}",
                f"at most {MOST_CHARACTERS:,} characters",
                "give it a hierarchy and a method that follows it (mondrian on categories, lattice), or the role drop "
                "or insensitive",
            )
        )


def _midpoints(attribute: Attribute, members: _Members) -> Any:
    """Return the midpoint of each class's range, in the column's own dtype."""
    (low,) = attribute.cells(members.at(np.zeros_like(members.sizes)))
    (high,) = attribute.cells(members.at(members.sizes - 1))
    half = halfway(low, high)
    if attribute.columns[0].dtype == "date":
        return half.astype("datetime64[D]").astype(low.dtype)
    return half


def _likeliest(attribute: Attribute, members: _Members, classes: IntArray) -> IntArray:
    """Return, per class, the place of the member with the largest even share of all rows, the first among equals."""
    class_of = np.repeat(np.arange(len(members.sizes)), members.sizes)
    shares = np.bincount(classes, minlength=len(members.sizes))[class_of] / members.sizes[class_of]
    weight = np.round(np.bincount(members.codes, weights=shares, minlength=attribute.size), 6)
    order = np.lexsort((members.codes, -weight[members.codes], class_of))
    first = np.zeros_like(members.sizes)
    some = ~members.empty
    first[some] = order[members.starts[some]] - members.starts[some]
    return first
