"""Rows as what a tree can split, and the places where it may: none sets fewer than so many rows apart.

Cuts of different cells meet in the ranges of a form. So the rows between any two places where an attribute may be cut
are counted, and not those of cells alone.
"""

from bisect import bisect, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from components.minimization.attributes import BELOW, Attribute, Codes
from components.minimization.partitions import Floats, between

Nodes = npt.NDArray[np.int64]
"""Numbers of nodes, or ranks."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """The codes of rows as what a tree can split.

    Parameters
    ----------
    attributes : tuple of Attribute
    values : ndarray of float32, shape (rows, attributes)
        Rank of a number or ordered code among those that occur; the code of a nominal one.
    distinct : tuple of ndarray
        Per attribute the codes that occur, ascending.
    """

    attributes: tuple[Attribute, ...]
    values: npt.NDArray[np.float32]
    distinct: tuple[Codes, ...]

    @classmethod
    def of(cls, attributes: tuple[Attribute, ...], codes: Mapping[str, Codes]) -> Self:
        """Rank the codes of rows."""
        rows = len(next(iter(codes.values())))
        values = np.empty((rows, len(attributes)), dtype=np.float32)
        distinct = []
        for place, attribute in enumerate(attributes):
            column = codes[attribute.name]
            there, ranks = np.unique(column, return_inverse=True)
            values[:, place] = column if attribute.kind == "nominal" else ranks
            distinct.append(there)
        return cls(attributes, values, tuple(distinct))

    def of_some(self, attributes: tuple[Attribute, ...]) -> Self:
        """Return the ranks of some of the attributes, in the order given."""
        places = [self.attributes.index(each) for each in attributes]
        return type(self)(attributes, self.values[:, places], tuple(self.distinct[place] for place in places))

    def places(self, min_rows: int) -> list[Nodes]:
        """Return per attribute where it may be split before any cut is settled.

        Returns
        -------
        list of ndarray of int64
            Of a number or ordered attribute the last rank before each place, ascending; of a nominal one the codes
            that may be told apart (see `told_apart`).
        """
        return [
            told_apart(attribute, self.values[:, place].astype(np.int64), min_rows)
            if attribute.kind == "nominal"
            else np.arange(len(there) - 1)
            for place, (attribute, there) in enumerate(zip(self.attributes, self.distinct, strict=True))
        ]

    def features(self, places: Sequence[Nodes]) -> tuple[npt.NDArray[np.float32], list[tuple[int, float | None]]]:
        """Return what CART gets, shape (rows, features), and of each feature its attribute and the code it tells apart.

        Parameters
        ----------
        places : sequence of ndarray
            See `places`. An attribute that has none is in no feature.
        """
        origins: list[tuple[int, float | None]] = []
        for place, (attribute, mine) in enumerate(zip(self.attributes, places, strict=True)):
            if attribute.kind == "nominal":
                origins += [(place, float(code)) for code in mine]
            elif len(mine):
                origins.append((place, None))
        columns = np.empty((len(origins), len(self.values)), dtype=np.float32)  # in one piece, as CART reads them
        for column, (place, code) in zip(columns, origins, strict=True):
            values = self.values[:, place]
            column[:] = np.searchsorted(places[place], values) if code is None else values == code
        return columns.T, origins

    def settled(self, place: int, wanted: Iterable[int], min_rows: int) -> Floats:
        """Return where to cut a number or ordered attribute, ascending: no range holds fewer than `min_rows` rows.

        Parameters
        ----------
        place : int
            Of the attribute.
        wanted : iterable of int
            Ranks after which to cut, the most useful first: a cut that is too near one before it is left out. Each is
            made round (see `_rounded`).
        min_rows : int
        """
        upto = np.cumsum(np.bincount(self.values[:, place].astype(np.int64)))  # rows up to each rank
        kept, ends = {}, [0, int(upto[-1])]
        for rank in wanted:
            cut = _rounded(self.attributes[place], self.distinct[place], upto, rank, min_rows // 2)
            rows = int(upto[np.searchsorted(self.distinct[place], cut, side="right") - 1])
            after = bisect(ends, rows)
            if after < len(ends) and rows - ends[after - 1] >= min_rows and ends[after] - rows >= min_rows:
                insort(ends, rows)
                kept[rows] = cut
        return np.array([kept[rows] for rows in sorted(kept)], dtype=np.float64)


def told_apart(attribute: Attribute, codes: Nodes, min_rows: int) -> Nodes:
    """Return the codes of a nominal attribute that may be told apart, ascending.

    Each occurs in at least `min_rows` rows, and so do all that are left over, taken together: the rarest others stay
    with them until they do. Of two codes that are all there is, telling one is enough.
    """
    counts = np.bincount(codes, minlength=len(attribute.values) + 1)
    possible = counts > 0
    possible[:-1] = True
    possible[-1] |= any(column.nullable for column in attribute.columns)
    apart = [int(code) for code in np.argsort(-counts, kind="stable") if counts[code] >= min_rows]
    while apart and len(apart) < possible.sum() and len(codes) - counts[apart].sum() < min_rows:
        apart.pop()
    return np.sort(np.array(apart[:1] if len(apart) == possible.sum() == 2 else apart, dtype=np.int64))


def _rounded(attribute: Attribute, codes: Codes, upto: Nodes, rank: int, slack: int) -> float:
    """Return a cut near the end of a rank: the roundest place from which at most `slack` rows lie on its other side.

    Between neighbours alone, a cut would tell the values of two rows nearly as they are. Ordered values are cut between
    two of them, and missing cells from all values, which tells of no row.

    Parameters
    ----------
    attribute : Attribute
    codes : ndarray, shape (ranks,)
    upto : ndarray of int64, shape (ranks,)
        Rows up to each rank.
    rank, slack : int
    """
    if attribute.kind == "ordered" or codes[rank] == BELOW:
        return between(attribute, float(codes[rank]), float(codes[rank + 1]))
    first = int(np.searchsorted(upto, upto[rank] - slack))
    last = min(int(np.searchsorted(upto, upto[rank] + slack, side="right")), len(codes) - 1)
    return between(attribute, float(codes[max(first, int(codes[0] == BELOW))]), float(codes[last]))
