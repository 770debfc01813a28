"""What the rows of each part lose for each value that may stand for it, given the other attributes' present state."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from components.minimization.attributes import Codes
from components.minimization.generalizer import Ranges
from components.minimization.greedy.cuts import mean_answers, scaled
from components.minimization.greedy.ladders import Effects, Integers, candidates
from components.minimization.greedy.trials import Trial, recoded
from components.minimization.partitions import Floats, Partition
from components.randomness import stream

LOOKED_AT = 5_000
"""Most rows that are looked at: a seeded sample of the fit rows."""

NEIGHBOURS = 1
"""Where a part has many others, only these on each side are tried in its place, and what may stand for all."""

MISSING = -1
"""Place of the missing cell among candidates."""


@dataclass(frozen=True, slots=True)
class Looks:
    """A sample of the fit rows that effects are seen on.

    Parameters
    ----------
    fit : Trial
        All of them, in canonical order.
    sample : Trial
    """

    fit: Trial
    sample: Trial

    @classmethod
    def at(cls, fit: Trial, seed: int) -> "Looks":
        """Draw the sample."""
        drawn = stream(seed, "minimization-effects").permutation(len(fit.rows))[:LOOKED_AT]
        return cls(fit, fit.among(np.sort(drawn)))

    def lost(self, state: Mapping[str, Ranges]) -> float:
        """Return the agreement that is lost in a state."""
        return float(self.sample.lost(recoded(self.sample.rows.codes, state)).mean())

    def effects(self, partition: Partition, state: Mapping[str, Ranges]) -> Effects:
        """Return what the parts of an attribute do, the others generalised as `state` says.

        Individual conditional expectations (Goldstein et al. 2015), summed up by part: one question to the model for
        each value, or for each distance between a part and the one whose value it gets.
        """
        name = partition.attribute.name
        codes, here = self.fit.rows.codes[name], self.sample.rows.codes[name]
        rows = np.bincount(partition.parts(codes), minlength=partition.size)
        offered = self._offered(partition, codes, state[name])
        others = {each: ranges for each, ranges in state.items() if each != name}
        within = self.sample.given(recoded(self.sample.rows.codes, others))
        lost, apart = np.full((partition.size, len(offered)), np.inf), 0.0
        part = partition.parts(here)
        valued = np.append(offered, partition.attribute.missing).astype(here.dtype)
        questions = list(_questions(partition, offered, rows))
        answered = within.lost_each(name, valued[np.array(questions)][:, part]) / len(part)
        for asked, losses in zip(questions, answered, strict=True):
            now = np.bincount(part, weights=losses, minlength=partition.size)
            known = asked != MISSING
            lost[known, asked[known]] = now[known]
            apart = float(now[~known].sum()) if not known.all() else apart
        return Effects(partition, rows, offered, lost, apart, 1 / len(part))

    def _offered(self, partition: Partition, codes: Codes, now: Ranges) -> Floats:
        """Return what may stand for parts: what stands for them now, else see `candidates`; neighbours side by side."""
        if now.partition is None:
            offered = candidates(partition, codes)
        else:
            offered = np.unique(now.representatives[now.representatives != partition.attribute.missing])
        if not partition.groups:
            return offered
        answers = scaled(self.fit.rows.answers, regression=self.fit.spread is not None)
        means = mean_answers(partition.parts(codes), partition.size, answers)
        return np.asarray(offered[np.argsort(means[partition.parts(offered.astype(np.int64))], kind="stable")])


def _questions(partition: Partition, offered: Floats, rows: Integers) -> Iterator[Integers]:
    """Yield for each question to the model the place of the candidate that each part gets, shape (parts,)."""
    count, parts = len(offered), np.arange(partition.size)
    if partition.missing_apart and rows[partition.missing]:
        yield np.where(parts == partition.missing, MISSING, 0)
    if count <= 2 * NEIGHBOURS + 4:
        yield from (np.full(partition.size, place) for place in range(count))
        return
    owner = partition.parts(offered.astype(np.int64 if partition.groups else np.float64))
    first = np.zeros(partition.size, dtype=np.int64)
    first[owner[::-1]] = np.arange(count)[::-1]
    for distance in range(-NEIGHBOURS, NEIGHBOURS + 1):
        yield np.clip(first + distance, 0, count - 1)
    own = np.where(first[owner] == np.arange(count), rows[owner], 0)
    usual = int(np.searchsorted(np.cumsum(own), own.sum() / 2))
    yield from (np.full(partition.size, place) for place in sorted({0, usual, count - 1}))
