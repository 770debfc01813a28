"""What a minimiser finds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import pandas as pd

from components.minimization.attributes import Attribute, Codes
from components.minimization.problem import Answers, Ask


class Minimized(Protocol):
    """What is left of rows, and what the model says of it, as it will be used."""

    @property
    def method(self) -> str:
        """Name of the method."""

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """What was minimised."""

    def answers(self, frame: pd.DataFrame, ask: Ask) -> Answers:
        """Return what the model says when it knows no more than what is collected, shape (rows, outputs)."""

    def encode(self, frame: pd.DataFrame) -> dict[str, Codes]:
        """Return the codes of each attribute."""

    def losses(self, codes: Mapping[str, Codes]) -> dict[str, float]:
        """Return the NCP of each attribute on rows with these codes."""


@dataclass(frozen=True)
class Found:
    """The end of a search.

    Parameters
    ----------
    minimized : Minimized
        What can be applied to rows.
    notes : tuple of str
        What a reader should know, without cell values.
    steps : pandas.DataFrame
        What was tried, one step a row: ``step``, ``attribute``, ``change``, ``ncp`` (weighted mean over attributes),
        ``agreement`` (on the calibration rows, missing where it was not asked), ``taken`` (it is part of what was
        found). Of a tree and of greedy also ``held``: whether that agreement was enough.
    """

    minimized: Minimized
    notes: tuple[str, ...]
    steps: pd.DataFrame
