"""How one column becomes features: the arithmetic of the encoder, column by column."""

from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from schemas.base import Contract

MIDDLE = 0.5
"""What a missing or unseen cell gets where the column is scaled: the middle of [0, 1]."""

Kind = Literal["one_hot", "ordered", "number", "moment"]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Features = npt.NDArray[np.float32]


class ColumnEncoding(Contract):
    """How one column becomes features, all in [0, 1].

    ``one_hot`` gives one feature per value and one for anything else; ``ordered`` gives the position among the
    values, divided by the last position, and a feature for anything else; ``number`` and ``moment`` are scaled by
    their bounds and clipped to them (moments in microseconds since 1970, UTC). A nullable column adds a feature that
    is 1 where the cell is missing; its other features are then 0 (one-hot) or the middle.
    """

    column: str
    kind: Kind
    values: tuple[str, ...] = ()
    low: int | float = 0
    high: int | float = 1
    nullable: bool = False
    learned: bool = Field(default=False, description="values or bounds come from rows, not from the schema")

    @cached_property
    def names(self) -> tuple[str, ...]:
        r"""Names of the features; no two columns can share one.

        The first ``=`` or ``?`` ends the column's name; those signs in the name itself are escaped by ``\``.
        """
        stem = self.column
        for sign in "\\=?":
            stem = stem.replace(sign, f"\\{sign}")
        names = [f"{stem}={value}" for value in self.values] if self.kind == "one_hot" else [stem]
        names += [f"{stem}?other"] * (self.kind in {"one_hot", "ordered"}) + [f"{stem}?missing"] * self.nullable
        return tuple(names)

    def fill(self, cells: pd.Series, out: Features) -> int:
        """Write the features of `cells` into `out`, zeros of shape (rows, len(names)); return how many are missing."""
        if self.kind in {"one_hot", "ordered"}:
            missing = cells.isna().to_numpy()
            positions = positions_among(cells, self.values)
            unseen = (positions < 0) & ~missing
            if self.kind == "one_hot":
                rows = np.flatnonzero(positions >= 0)
                out[rows, positions[rows]] = 1
            else:
                out[:, 0] = np.where(positions < 0, MIDDLE, positions / max(len(self.values) - 1, 1))
            out[unseen, -2 if self.nullable else -1] = 1
        else:
            scaled = microseconds(cells) if self.kind == "moment" else floats(cells)
            missing = np.isnan(scaled)
            scaled -= self.low
            scaled /= (self.high - self.low) or 1
            np.clip(scaled, 0, 1, out=scaled)
            scaled[missing] = MIDDLE
            scaled += 0.0  # -0.0 becomes 0.0, so that equal values have equal bytes
            out[:, 0] = scaled
        if self.nullable:
            out[:, -1] = missing
        return int(np.count_nonzero(missing))

    def unfit(self, dtype: Any) -> str:
        """Return what a column of `dtype` should have been, or nothing when it fits."""
        if self.kind in {"one_hot", "ordered"}:
            if isinstance(dtype, pd.CategoricalDtype) and dtype.categories.empty:
                return ""  # of no kind yet, since every cell is missing
            inner = dtype.categories.dtype if isinstance(dtype, pd.CategoricalDtype) else dtype
            fits = isinstance(inner, pd.StringDtype) or pd.api.types.is_object_dtype(inner)
            return "" if fits else "text, or a category of texts"
        if self.kind == "moment":
            return "" if pd.api.types.is_datetime64_any_dtype(dtype) else "dates or times"
        return "" if pd.api.types.is_numeric_dtype(dtype) else "numbers or booleans"


def positions_among(cells: pd.Series, values: tuple[str, ...]) -> Integers:
    """Return each cell's position among `values`, -1 where it is missing or none of them."""
    if isinstance(cells.dtype, pd.CategoricalDtype):
        codes, found = cells.cat.codes.to_numpy(), cells.cat.categories
    else:
        codes, found = pd.factorize(cells)
    lookup = pd.Index(values, dtype="str").get_indexer(pd.Index(found, dtype="str"))
    return np.append(lookup, -1)[codes]  # a missing cell has code -1: the appended one


def floats(cells: pd.Series) -> Floats:
    """Return a copy as float64, missing cells NaN."""
    return cells.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)


def microseconds(cells: pd.Series) -> Floats:
    """Return moments as microseconds since 1970 UTC (times without a zone are taken as UTC), missing cells NaN."""
    naive = cells.dt.tz_convert(None) if isinstance(cells.dtype, pd.DatetimeTZDtype) else cells
    moments = naive.to_numpy(dtype="datetime64[us]")
    numbers = moments.astype(np.int64).astype(np.float64)
    numbers[np.isnat(moments)] = np.nan
    return numbers
