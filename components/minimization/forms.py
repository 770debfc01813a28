"""The answers to a form: which part of each attribute a text stands for, and where there is a text in place of a value.

An answer becomes the code of a value in the part that it names: what is done with it looks at parts alone.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from components.minimization.attributes import BELOW, Attribute, Codes
from components.minimization.completing import blanks, standing
from components.minimization.domains import day_of, moment_code
from components.minimization.partitions import Floats, Partition
from components.minimization.wording import YES_OR_NO, choices, listed
from schemas.dataset import NUMERIC, TEMPORAL
from schemas.faults import DataError, Fault

Collecting = Iterable[tuple[Attribute, Partition | None]]
"""Attributes with what is collected of each; None: the value as it is."""

ANSWERS = "the texts in its choices in generalizations.json"


def read_form(
    collecting: Collecting, frame: pd.DataFrame, defaults: Mapping[str, float]
) -> tuple[pd.DataFrame, dict[str, Codes]]:
    """Return rows with the columns that a table has, and the codes of what was answered in words.

    Parameters
    ----------
    collecting : iterable of (Attribute, Partition or None)
    frame : pandas.DataFrame
        One column an attribute, by its name; exact values of a one-hot group in its own columns, too.
    defaults : mapping of str to float
        By attribute: a code that can stand for anything, where nothing is collected.

    Returns
    -------
    frame : pandas.DataFrame
        Columns that hold answers have given place to those of the attribute, which hold nothing yet.
    codes : dict of str to ndarray, shape (rows,)
        Of these attributes. All others are left to be read as they are.

    Raises
    ------
    DataError
        Columns that are collected are absent or there twice; answers are none of the choices; or values that are
        collected exactly are of another kind.
    """
    faults: list[Fault] = []
    codes: dict[str, Codes] = {}
    emptied: list[Attribute] = []
    for attribute, partition in collecting:
        if partition is not None and partition.size == 1:
            codes[attribute.name] = standing(attribute, defaults[attribute.name], len(frame))
        elif partition is None and not _in_words(attribute, frame):
            frame, unread = _dated(attribute, frame)
            faults += unread or attribute.misfits(frame)
            continue
        elif (there := int((frame.columns == attribute.name).sum())) != 1:
            problem = "stands twice in the table" if there else "not in the table"
            faults.append(Fault(_place(attribute), problem))
            continue
        else:
            codes[attribute.name], unknown = understood(attribute, partition, frame[attribute.name])
            if unknown:
                faults.append(_unknown(attribute, partition, unknown, len(frame)))
        emptied.append(attribute)
    if faults:
        raise DataError(faults)
    return _emptied(frame, emptied), codes


def answered(collecting: Collecting, frame: pd.DataFrame) -> list[Fault]:
    """Return the faults of columns that hold answers to a form where values are expected."""
    faults = []
    for attribute, partition in collecting:
        texts = set(choices(attribute, partition)) - set(attribute.values)
        if attribute.grouped or not texts or int((frame.columns == attribute.name).sum()) != 1:
            continue
        cells = frame[attribute.name]
        if _texts(cells) and (count := int(cells.isin(texts).sum())):
            problem = f"{count} of {len(cells)} cells are answers of the form"
            faults.append(Fault(_place(attribute), problem, "values are expected", "call from_form"))
    return faults


def _in_words(attribute: Attribute, frame: pd.DataFrame) -> bool:
    """Say whether what is collected exactly is there in a form's words: yes or no, or the name of a group's column."""
    if attribute.grouped:
        return attribute.name in frame.columns
    there = attribute.dtype == "boolean" and int((frame.columns == attribute.name).sum()) == 1
    return there and _texts(frame[attribute.name])


def _dated(attribute: Attribute, frame: pd.DataFrame) -> tuple[pd.DataFrame, list[Fault]]:
    """Return rows with dates and times in place of their texts (ISO 8601), which is how forms give them.

    They come as tables have them: in UTC without saying so, and dates without a time.
    """
    name = attribute.name
    if attribute.dtype not in TEMPORAL or int((frame.columns == name).sum()) != 1:
        return frame, []
    cells = frame[name]
    if pd.api.types.infer_dtype(cells.dropna(), skipna=True) not in {"string", "categorical", "date"}:
        return frame, []
    place, told = pd.factorize(cells.astype(object))
    moments = np.array([*map(_moment, told), np.nan])
    if unread := int(np.isnan(moments[:-1])[place[place >= 0]].sum()):
        return frame, [Fault(_place(attribute), f"{unread} of {len(cells)} cells are no dates or times", "ISO 8601")]
    codes = moments[place]
    codes = day_of(codes) if attribute.dtype == "date" else codes
    return frame.assign(**attribute.cells(np.where(np.isnan(codes), BELOW, codes), blanks(attribute, frame.index))), []


def _moment(told: Any) -> float:
    """Return the code of a text, or of a date of Python; NaN where it is no moment."""
    try:
        return moment_code(str(told))
    except ValueError:
        return np.nan


def understood(attribute: Attribute, partition: Partition | None, cells: pd.Series) -> tuple[Codes, int]:
    """Return the code of each answer, and how many answers are none; a missing cell is one that is not known."""
    texts, codes = _answers(attribute, partition)
    names = pd.Series(np.arange(len(texts)), index=texts, dtype=np.int64)
    if partition is not None and _numbered(attribute) and pd.api.types.infer_dtype(cells, skipna=True) == "integer":
        names = pd.Series(_numbers(attribute, partition, len(texts)))
    # Of two groups with one text neither is meant; a range with the text of the one before it holds nothing.
    names = names[~names.index.duplicated(keep=False if attribute.kind == "nominal" else "first")]
    try:
        place = names.index.astype(object).get_indexer(pd.Index(cells.astype(object)))
    except TypeError:  # lists and mappings
        return standing(attribute, 0.0, len(cells)), len(cells)
    absent = cells.isna().to_numpy()
    known = place >= 0
    standing_for = np.where(known, codes[np.append(names.to_numpy(), 0)[place]], attribute.missing)
    unknown = int(np.count_nonzero(~known & ~absent))
    return standing_for.astype(np.int64) if attribute.kind == "nominal" else standing_for, unknown


def _answers(attribute: Attribute, partition: Partition | None) -> tuple[list[str], Floats]:
    """Return the texts that can be answered, and a code of the part that each names."""
    if partition is None:
        texts = list(attribute.values if attribute.grouped else YES_OR_NO)
        return texts, np.arange(len(texts), dtype=np.float64)
    texts = choices(attribute, partition)
    if attribute.kind == "nominal":
        codes = [float(partition.groups.index(part)) for part in sorted(set(partition.groups[:-1]))]
    else:
        codes = [*partition.cuts[int(partition.missing_apart) :], np.inf]
    return texts, np.array([*codes, *([attribute.missing] if partition.missing_apart else [])])


def _numbers(attribute: Attribute, partition: Partition, texts: int) -> npt.NDArray[np.int64]:
    """Return the place in `_answers` of each choice, by its number in the contract."""
    if attribute.kind != "nominal":
        return np.arange(texts)
    parts = sorted(set(partition.groups[:-1]))
    return np.array([*(parts.index(part) for part in listed(partition)), *range(len(parts), texts)])


def _numbered(attribute: Attribute) -> bool:
    """Say whether a whole number can be nothing but the number of a choice."""
    return attribute.grouped or attribute.dtype not in NUMERIC | {"boolean"}


def _texts(cells: pd.Series) -> bool:
    return pd.api.types.infer_dtype(cells, skipna=True) in {"string", "categorical"}


def _unknown(attribute: Attribute, partition: Partition | None, unknown: int, rows: int) -> Fault:
    allowed = "yes or no" if attribute.dtype == "boolean" and not attribute.grouped else "the names of its columns"
    if partition is not None:
        allowed = f"{ANSWERS}{', or their places from 0' if _numbered(attribute) else ''}"
    return Fault(_place(attribute), f"{unknown} of {rows} answers are none of the form's", allowed)


def _emptied(frame: pd.DataFrame, some: list[Attribute]) -> pd.DataFrame:
    """Return rows with the columns of some attributes, empty, where these or one by the attribute's name were."""
    of = {name: attribute for attribute in some for name in (attribute.name, *attribute.names)}
    pieces: dict[str | int, pd.DataFrame] = {}
    for place, name in enumerate(frame.columns):
        if name not in of:
            pieces[place] = frame.iloc[:, [place]]
        elif of[name].name not in pieces:
            pieces[of[name].name] = blanks(of[name], frame.index)
    return pd.concat(list(pieces.values()), axis=1) if some else frame


def _place(attribute: Attribute) -> str:
    return f"{'group' if attribute.grouped else 'column'} '{attribute.name}'"
