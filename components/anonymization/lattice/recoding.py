"""Rows on several level vectors at once (local recoding): what they show, and which of them miss the criteria."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from components.anonymization.criteria.requirements import Requirement
from components.anonymization.hierarchies.hierarchy import Ladder
from components.anonymization.lattice.space import LevelVector
from components.classes.coding import BoolArray, IntArray, combined


@dataclass(slots=True)
class Recoded:
    """Rows, each on one of several level vectors.

    Parameters
    ----------
    ladders : sequence of Ladder
    requirements : sequence of Requirement
    vectors : list of tuple of int
        Levels per ladder, as the hierarchies count them.
    rounds : ndarray of int, shape (n,)
        The vector that each row is on.
    """

    ladders: Sequence[Ladder]
    requirements: Sequence[Requirement]
    vectors: list[LevelVector]
    rounds: IntArray

    def classes(self) -> tuple[IntArray, int]:
        """Return the class of each row, and how many classes there are. Rows that show the same are one class."""
        return combined(self._shown(number) for number in range(len(self.ladders)))

    def missing(self) -> BoolArray:
        """Return the rows of classes that miss a requirement."""
        classes, n_classes = self.classes()
        fails = np.zeros(n_classes, dtype=np.bool_)
        for requirement in self.requirements:
            fails |= ~requirement.met(requirement.score(requirement.counts(classes, n_classes)))
        return np.asarray(fails[classes])

    def levels(self) -> list[int | IntArray]:
        """Return the level of all rows, or of each, per ladder."""
        if len(self.vectors) == 1:
            return list(self.vectors[0])
        return list(np.array(self.vectors)[self.rounds].T)

    def loss(self, suppressed: BoolArray) -> float:
        """Return ARX's Loss, (product over attributes of (1 + v))^(1/attributes) - 1.

        v = (mean share - 1/L) / (1 - 1/L), where share is that of the L leaves under the published value, and 1 in a
        suppressed row. An attribute that is held as it is has no leaves, and doesn't count.

        Parameters
        ----------
        suppressed : ndarray of bool, shape (n,)
        """
        parts = []
        rounds, rows = self.rounds[~suppressed].astype(np.int64), suppressed.size
        for number, ladder in enumerate(self.ladders):
            if ladder.hierarchy is None:
                continue
            codes, places = ladder.attribute.codes[~suppressed].astype(np.int64), ladder.attribute.size + 1
            amounts = np.bincount(rounds * places + codes % places, minlength=len(self.vectors) * places)
            chosen = [vector[number] for vector in self.vectors]
            shares = np.concatenate([ladder.shares[level][ladder.groups[level]] for level in chosen])
            # Counted by value, so that the order of rows does not even change the last digit.
            mean = (float(amounts @ shares) + np.count_nonzero(suppressed)) / rows
            single = 1.0 / ladder.leaves
            parts.append(np.log1p((mean - single) / (1.0 - single)) if single < 1 else 0.0)
        return float(np.expm1(sum(parts) / max(len(parts), 1)))

    def _shown(self, number: int) -> tuple[IntArray, int]:
        """Return a number for what each row shows on one attribute, and how many numbers there are."""
        ladder = self.ladders[number]
        chosen = [vector[number] for vector in self.vectors]
        texts = [np.asarray(ladder.labels[level], dtype=object)[ladder.groups[level]] for level in chosen]
        numbers, known = pd.factorize(np.concatenate(texts), use_na_sentinel=False)
        return numbers.reshape(len(chosen), -1)[self.rounds, ladder.attribute.codes], len(known)
