"""What the labels of a hierarchy give away about themselves: intervals of numbers, and names that look misspelt."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from components.classes.coding import BoolArray, FloatArray, IntArray, TextArray

_NUMBER = r"[+-]?(?:\d+(?:\.\d+)?|inf|∞)"
_BRACKETS = rf"^(?P<left>[\[\](])\s*(?P<low>{_NUMBER})\s*[,;]\s*(?P<high>{_NUMBER})\s*(?P<right>[\[\])])$"
_DASH = rf"^(?P<low>{_NUMBER})\s*(?:-|–|—|\.\.|to)\s*(?P<high>{_NUMBER})$"  # noqa: RUF001  # dashes that people type
_ONE_SIDED = rf"^(?P<sign><=|>=|<|>|≤|≥)\s*(?P<end>{_NUMBER})$"
_AND_MORE = rf"^(?P<end>{_NUMBER})\s*\+$"
_WORD = re.compile(r"[^\W\d_]{5,}")
_LONGEST = 200
"""Characters of a label that is still held against others."""


@dataclass(frozen=True, slots=True)
class _Ends:
    """The interval that each label names, endless where it names none."""

    low: FloatArray
    high: FloatArray
    low_open: BoolArray
    high_open: BoolArray
    dashed: BoolArray


def outside_own_interval(values: FloatArray, groups: IntArray, labels: TextArray) -> tuple[BoolArray, BoolArray]:
    """Tell which numbers lie outside the interval that their group's label names.

    ``[10, 20)``, ``[10, 20[``, ``(10, 20]``, ``10-19``, ``<20``, ``>= 90`` and ``90+`` are intervals; values under
    any other label lie inside. ``10-19`` holds its ends, and fractions up to the next whole number.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
    groups : ndarray of int, shape (n,)
        Group of each value.
    labels : ndarray of str, shape (groups,)

    Returns
    -------
    outside : ndarray of bool, shape (n,)
    by_one : ndarray of bool, shape (n,)
        Those outside by no more than one under a label such as ``10-19``, of which ends are counted in many ways.
    """
    ends = _ends(labels)
    low, high = ends.low[groups], ends.high[groups]
    below = np.where(ends.low_open[groups], values <= low, values < low)
    above = np.where(ends.high_open[groups], values >= high, values > high)
    outside = np.asarray(below | above)
    near = (values >= low - 1) & (values <= high)  # the end of 10-19 is 20 here, excluded
    return outside, outside & ends.dashed[groups] & near


def _ends(labels: TextArray) -> _Ends:
    flags = [np.zeros(len(labels), dtype=np.bool_) for _ in range(3)]
    ends = _Ends(np.full(len(labels), -np.inf), np.full(len(labels), np.inf), *flags)
    texts = pd.Series(labels, dtype="str")
    plain = np.asarray(pc.match_substring_regex(pa.array(labels, pa.string()), r"^-?\d*$"))
    texts = texts[~plain]  # codes, of which there can be many
    found = texts.str.extract(_BRACKETS).dropna()
    _put(ends.low, found["low"])
    _put(ends.high, found["high"])
    ends.low_open[found.index] = found["left"].isin(["(", "]"])
    ends.high_open[found.index] = found["right"].isin([")", "["])
    found = texts.str.extract(_DASH).dropna()
    found = found[_floats(found["low"]) <= _floats(found["high"])]
    _put(ends.low, found["low"])
    _put(ends.high, found["high"])
    ends.dashed[found.index] = True
    whole = found.index[_floats(found["high"]) % 1 == 0]
    ends.high[whole] += 1
    ends.high_open[whole] = True
    for pattern in (_ONE_SIDED, _AND_MORE):
        found = texts.str.extract(pattern).dropna()
        sign = found["sign"] if "sign" in found else pd.Series(">=", index=found.index, dtype="str")
        down = sign.str[0].isin(["<", "≤"])
        _put(ends.high, found.loc[down, "end"])
        _put(ends.low, found.loc[~down, "end"])
        ends.high_open[found.index] = down & (sign == "<")
        ends.low_open[found.index] = ~down & (sign == ">")
    return ends


def _floats(texts: pd.Series) -> FloatArray:
    return np.asarray(texts.str.replace("∞", "inf", regex=False), dtype=np.float64)


def _put(ends: FloatArray, texts: pd.Series) -> None:
    ends[texts.index] = _floats(texts)


def lookalikes(labels: TextArray) -> list[tuple[str, str]]:
    """Return the pairs of labels that differ by case, by blanks, or by one letter in one word of at least five.

    Parameters
    ----------
    labels : ndarray of str, shape (groups,)
        Different from each other.

    Notes
    -----
    Two words are one edit apart when they agree after a letter of one, or the letter at one place of both, is taken
    away: labels that share such a form are paired, so that the cost is that of the letters and not of all pairs. It
    grows with the square of a label's length: labels of more than 200 characters are not looked at.
    """
    texts = pa.array(labels, pa.string())
    short = np.asarray(pc.utf8_length(texts)) <= _LONGEST
    worded = labels[short & np.asarray(pc.match_substring_regex(texts, r"\pL{5}"))]
    whole: dict[str, list[str]] = defaultdict(list)
    for label in worded:
        whole[" ".join(label.casefold().split())].append(label)
    forms: dict[object, list[str]] = defaultdict(list)
    pairs: set[tuple[str, str]] = set()
    for plain, same in whole.items():
        pairs.update((same[0], other) for other in same[1:])
        for place, shorter in _shortened(plain):
            forms[place, shorter].append(plain)
            if shorter in whole:
                pairs.add((same[0], whole[shorter][0]))
    for alike in forms.values():
        pairs.update((whole[alike[0]][0], whole[other][0]) for other in alike[1:])
    return sorted({(min(pair), max(pair)) for pair in pairs})


def _shortened(plain: str) -> Iterator[tuple[int, str]]:
    """Yield a text without one of its letters, each that stands in a word of at least five, and its place."""
    for word in _WORD.finditer(plain):
        for place in range(*word.span()):
            yield place, plain[:place] + plain[place + 1 :]
