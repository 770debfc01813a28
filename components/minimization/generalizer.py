"""A fitted generalisation: rows in, generalised rows out, without the rows that it was learned from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from components.minimization.attributes import Attribute, Codes, Outside, counted, encoded
from components.minimization.completing import completed
from components.minimization.forms import answered, read_form
from components.minimization.partitions import Floats, Partition, Parts, group_loss, interval_loss, trivial
from components.minimization.problem import Answers, Ask, replaced
from components.models.interface import Model
from schemas.faults import DataError, Fault

Use = Literal["representatives", "ranges"]
NO_CELL = -1
CHUNK = 2**15
"""Rows looked up at once: few enough for what is held beside them to stay small."""


@dataclass(frozen=True, slots=True)
class Ranges:
    """How one attribute is generalised by itself.

    Parameters
    ----------
    attribute : Attribute
    partition : Partition or None
        None: it stays exact.
    representatives : ndarray of float64, shape (parts,)
        Code that stands for each part; a part of missing cells alone stays missing.
    default : float
        Code of the value that stands for nothing collected, and for values outside the domain.
    """

    attribute: Attribute
    partition: Partition | None
    representatives: Floats
    default: float

    @property
    def exact(self) -> bool:
        """Whether values stay as they are."""
        return self.partition is None

    @property
    def nothing(self) -> bool:
        """Whether nothing is collected."""
        return self.partition is not None and self.partition.size == 1


@dataclass(frozen=True, slots=True)
class Cells:
    """Boxes over the parts of all attributes that don't stay exact, with one tuple of values each.

    Parameters
    ----------
    admitted : dict of str to ndarray of bool, shape (cells, parts)
        The parts of an attribute that a cell holds.
    representatives : dict of str to ndarray of float64, shape (cells,)
        Codes.
    agrees : ndarray of bool, shape (cells,)
        Whether most fit rows of the cell keep the model's answer when they hold the representative, each with its
        other columns as they are; of a regression, whether the mean answer stays within a standard deviation.
    labels : ndarray, shape (cells, outputs)
        The most frequent answers of the model in the cell; of a regression their mean.
    """

    admitted: dict[str, npt.NDArray[np.bool_]]
    representatives: dict[str, Floats]
    agrees: npt.NDArray[np.bool_]
    labels: npt.NDArray[np.float64]

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.agrees)

    def of(self, parts: Mapping[str, Parts]) -> Parts:
        """Return the first cell that each row fits, -1 where none does.

        Each part of each attribute has one bit per cell; the bits of a row's parts, taken together, leave those cells
        that hold it.

        Parameters
        ----------
        parts : mapping of str to ndarray of int64, shape (rows,)
            Of each attribute named in `admitted`, and of any other.
        """
        masks = {name: _words(table) for name, table in self.admitted.items()}
        rows = len(next(iter(parts.values()), ()))
        found = np.full(rows, 0 if len(self) else NO_CELL, dtype=np.int64)
        for start in range(0, rows if masks else 0, CHUNK):
            piece = slice(start, start + CHUNK)
            chosen = (np.take(mask, parts[name][piece], axis=0) for name, mask in masks.items())
            left = next(chosen)
            for more in chosen:
                np.bitwise_and(left, more, out=left)
            found[piece] = _first_bit(left)
        return found


@dataclass(frozen=True, slots=True)
class Generalizer:
    """A generalisation of some attributes.

    Parameters
    ----------
    method : str
        What it was learned by.
    use : {"representatives", "ranges"}
        Rows get the representatives of their cell, or each attribute that of its own part.
    ranges : tuple of Ranges
        One an attribute.
    cells : Cells or None
        Needed for representatives.
    representative : {"domain", "row"}
        Where representatives come from: the schema's domain, or actual rows of persons.
    outside : {"default", "refuse"}
        What becomes of values outside the domain: they count as the nearer bound (numbers and dates) or the default
        (other values), or are refused; and of rows in no cell: they get defaults, or are refused.
    """

    method: str
    use: Use
    ranges: tuple[Ranges, ...]
    cells: Cells | None = None
    representative: Literal["domain", "row"] = "domain"
    outside: Outside = "default"

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """What is generalised."""
        return tuple(each.attribute for each in self.ranges)

    def transform(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return rows with every attribute generalised; other columns, index, order and dtypes stay.

        What is not collected may be absent, and is there in what is returned. What is collected exactly stays as it is,
        but for values outside the domain (see `outside`); one-hot columns with several ones, or none, hold no such
        value.

        Parameters
        ----------
        frame : pandas.DataFrame
            Values, as tables hold them. For the answers to a form see `from_form`.

        Raises
        ------
        DataError
            A column that is collected is absent, or holds answers of a form in place of values; or, with
            ``outside: refuse``, values outside the domain or rows in no cell.
        """
        frame = self.completed(frame)
        try:
            codes, strange = counted(self.attributes, frame, self._defaults, self.outside)
        except DataError:
            self._refuse_answers(frame)
            raise
        if any(strange.values()):
            self._refuse_answers(frame)
        return self._generalised(frame, codes, strange)

    def from_form(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return rows as the model is to see them, by the answers to a form.

        Parameters
        ----------
        frame : pandas.DataFrame
            One column an attribute, under its name; of one-hot columns that is the group. Where ranges or groups are
            collected it holds texts of ``choices`` in ``generalizations.json``; of all but numbers and booleans their
            places there, from 0, will do. What is collected exactly is there as it is (a boolean may be ``yes`` or
            ``no``), and what is not collected may be absent. Missing cells are answers that are not known.

        Returns
        -------
        pandas.DataFrame
            The columns of the attributes in the dtypes of the schema; all other columns stay.

        Raises
        ------
        DataError
            A column that is collected is absent; answers are none of the choices (told by count, whatever `outside`
            says); or, with ``outside: refuse``, exact values outside the domain or rows in no cell.
        """
        collecting = [(each.attribute, each.partition) for each in self.ranges]
        typed, answers = read_form(collecting, self.completed(frame), self._defaults)
        exact = [each for each in self.attributes if each.name not in answers]
        codes, strange = counted(exact, typed, self._defaults, self.outside)
        return self._generalised(typed, codes | answers, strange)

    def completed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return rows with the columns that are not collected, where `frame` has none."""
        _require_table(frame)
        spare = [each.attribute.name for each in self.ranges if each.nothing]
        return completed(frame, self.attributes, spare, self._defaults)

    def _generalised(self, frame: pd.DataFrame, codes: dict[str, Codes], strange: Mapping[str, int]) -> pd.DataFrame:
        """Return rows with what codes say; of what stays exact only cells outside the domain are written anew."""
        kept = {each.attribute.name for each in self.ranges if each.exact} & set(strange)
        made = replaced(
            frame, self.attributes, {name: cells for name, cells in self.recoded(codes).items() if name not in kept}
        )
        new: dict[str, pd.Series] = {}
        for attribute in self.attributes:
            if attribute.name in kept and strange[attribute.name]:
                new |= attribute.bounded(frame, codes[attribute.name])
        return made.assign(**new)

    def _refuse_answers(self, frame: pd.DataFrame) -> None:
        faults = answered([(each.attribute, each.partition) for each in self.ranges], frame)
        if faults:
            raise DataError(faults)

    def answers(self, frame: pd.DataFrame, model: Ask | Model) -> Answers:
        """Return what the model says of generalised rows.

        Parameters
        ----------
        frame : pandas.DataFrame
            As `transform` takes it.
        model : Model or callable
            Either has ``predict``, such as what `components.models.load` returns, or gives answers, shape (rows,
            outputs).

        Returns
        -------
        ndarray
            What the model returns.
        """
        new = self.transform(frame)
        return model(new) if callable(model) else model.predict(new)

    def encode(self, frame: pd.DataFrame) -> dict[str, Codes]:
        """Return the codes of each attribute; `DataError` as for `transform`."""
        _require_table(frame)
        return encoded(self.attributes, frame, self._defaults, self.outside)

    def recoded(self, codes: Mapping[str, Codes], use: Use | None = None) -> dict[str, Codes]:
        """Return the codes that rows get; `use` other than the generaliser's own is for comparison."""
        parts = self.parts(codes)
        if (use or self.use) == "ranges" or self.cells is None or not parts:
            return {
                each.attribute.name: codes[each.attribute.name]
                if each.exact
                else _typed(each.attribute, each.representatives[parts[each.attribute.name]])
                for each in self.ranges
            }
        cell = self.cells.of(parts)
        homeless = int(np.count_nonzero(cell == NO_CELL))
        if homeless and self.outside == "refuse":
            raise DataError(Fault("rows", f"{homeless} of {len(cell)} rows are in no cell"))
        new = {}
        for each in self.ranges:
            name = each.attribute.name
            new[name] = codes[name]
            if not each.exact:
                standing = np.append(self.cells.representatives[name], each.default)  # the last one is for no cell
                new[name] = _typed(each.attribute, standing[cell])
        return new

    @property
    def _defaults(self) -> dict[str, float]:
        return {each.attribute.name: each.default for each in self.ranges}

    def parts(self, codes: Mapping[str, Codes]) -> dict[str, Parts]:
        """Return the part of each row, of each attribute that does not stay exact."""
        return {
            each.attribute.name: each.partition.parts(codes[each.attribute.name])
            for each in self.ranges
            if each.partition is not None
        }

    def losses(self, codes: Mapping[str, Codes], use: Use | None = None) -> dict[str, float]:
        """Return the NCP of each attribute: the mean over rows of what the row's part, or cell, loses; 0 of no rows."""
        parts = self.parts(codes)
        found = dict.fromkeys((each.name for each in self.attributes), 0.0)
        if not any(map(len, parts.values())):
            return found
        cells = self.cells if (use or self.use) == "representatives" else None
        cell = None if cells is None else cells.of(parts)
        for each in self.ranges:
            name = each.attribute.name
            if each.partition is None:
                continue
            if cells is None or cell is None:
                lost = each.partition.loss()[parts[name]]
            else:
                free = 0.0 if trivial(each.attribute) else 1.0
                # a row in no cell gets defaults, which tell nothing of it
                lost = np.append(cell_loss(each.partition, cells.admitted[name]), free)[cell]
            found[name] = float(lost.mean())
        return found


def cell_loss(partition: Partition, admitted: npt.NDArray[np.bool_]) -> Floats:
    """Return the NCP of each cell on one attribute, shape (cells,); 1 where the cell leaves it free."""
    attribute = partition.attribute
    free = admitted.all(axis=1)
    if attribute.kind == "nominal":
        sizes = np.bincount(partition.groups[:-1], minlength=partition.size)
        lost = group_loss(admitted @ sizes, len(attribute.values))
    else:
        ends = np.array([-np.inf, *partition.cuts, np.inf])
        first, last = admitted.argmax(axis=1), admitted.shape[1] - 1 - admitted[:, ::-1].argmax(axis=1)
        lost = interval_loss(attribute, ends[first], ends[last + 1])
    return np.where(free, 0.0 if trivial(attribute) else 1.0, lost)


def _require_table(rows: Any) -> None:
    if not isinstance(rows, pd.DataFrame):
        allowed = "a pandas.DataFrame with a column for each that is collected"
        raise DataError(Fault("rows", f"{type(rows).__name__} is no table", allowed))


def _typed(attribute: Attribute, codes: Floats) -> Codes:
    return codes.astype(np.int64) if attribute.kind == "nominal" else codes


def _words(admitted: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint64]:
    """Return for each part the cells that hold it as bits, lowest first, shape (parts, words of 64 cells)."""
    packed = np.packbits(admitted.T, axis=1, bitorder="little")
    return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))).view("<u8")


def _first_bit(words: npt.NDArray[np.uint64]) -> Parts:
    """Return the place of the lowest bit set in each row, `NO_CELL` where none is."""
    there = words != 0
    word = there.argmax(axis=1)
    value = words[np.arange(len(words)), word]
    lowest = value & (~value + np.uint64(1))
    place = word * 64 + np.frexp(lowest.astype(np.float64))[1] - 1  # a power of two is a float exactly
    return np.where(lowest == 0, NO_CELL, place).astype(np.int64)
