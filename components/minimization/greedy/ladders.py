"""The ladder of one attribute: from its present parts over ever fewer to nothing at all."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from components.minimization.attributes import BELOW, Codes
from components.minimization.generalizer import Ranges
from components.minimization.greedy.cuts import numbered
from components.minimization.partitions import Floats, Partition, group_loss, interval_loss, trivial
from components.minimization.tree.candidates import standing_for

RUNGS = 12
"""Most rungs between the present parts and nothing; a step that is left out is taken together with the next."""

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Rung:
    """One rung.

    Parameters
    ----------
    ranges : Ranges
    ncp : float
        Mean NCP of the attribute on the fit rows.
    lost : float
        Agreement lost by the whole state when the attribute is here, as far as the rows looked at tell.
    """

    ranges: Ranges
    ncp: float
    lost: float


@dataclass(frozen=True, slots=True)
class Effects:
    """The parts of an attribute, and what their rows lose for each value that may stand for them.

    Parameters
    ----------
    partition : Partition
    rows : ndarray of int64, shape (parts,)
        Fit rows of each part.
    candidates : ndarray of float64, shape (candidates,)
        Codes.
    lost : ndarray of float64, shape (parts, candidates)
        Agreement lost, given all other attributes' present state; infinite where it was not asked.
    apart : float
        Agreement lost by rows with missing cells while these stay missing.
    smoothing : float
        Added to each loss: what is nothing among the rows looked at may be something.
    """

    partition: Partition
    rows: Integers
    candidates: Floats
    lost: Floats
    apart: float
    smoothing: float

    @property
    def owner(self) -> Integers:
        """The part that each candidate is in, shape (candidates,)."""
        kind = np.int64 if self.partition.groups else np.float64
        return self.partition.parts(self.candidates.astype(kind))

    def ncp(self, members: Flags) -> Floats:
        """Return what groups of parts add to the mean NCP, shape (groups,); `members` has shape (groups, parts)."""
        attribute = self.partition.attribute
        if attribute.kind == "nominal":
            sizes = np.bincount(self.partition.groups[:-1], minlength=self.partition.size)
            lost = group_loss(members @ sizes, len(attribute.values))
        else:
            ends = np.array([BELOW, *self.partition.cuts, np.inf])
            first, last = members.argmax(axis=1), members.shape[1] - members[:, ::-1].argmax(axis=1)
            lost = interval_loss(attribute, ends[first], ends[last])
        return np.asarray(lost * (members @ self.rows) / max(int(self.rows.sum()), 1))


@dataclass(frozen=True, slots=True)
class Groups:
    """Parts joined to groups; each array has one row a group.

    Parameters
    ----------
    members : ndarray of bool, shape (groups, parts)
    lost : ndarray of float64, shape (groups, candidates)
    held : ndarray of bool, shape (groups, candidates)
        Which candidates a group holds: others can't stand for it.
    """

    members: Flags
    lost: Floats
    held: Flags

    @classmethod
    def of(cls, effects: Effects, members: Flags) -> "Groups":
        """Return groups of parts."""
        lost = np.stack([effects.lost[mine].sum(axis=0) for mine in members])
        return cls(members, lost, members[:, effects.owner])

    def open(self) -> Floats:
        """Return the losses with those of the candidates that stand for a group, all others infinite."""
        return np.asarray(np.where(self.held, self.lost, np.inf))

    def joined(self, first: Integers, second: Integers) -> "Groups":
        """Return what pairs of groups are together."""
        members = self.members[first] | self.members[second]
        return Groups(members, self.lost[first] + self.lost[second], self.held[first] | self.held[second])

    def after(self, first: int, second: int, joined: "Groups", pair: int) -> "Groups":
        """Return the groups when the first of a pair holds what both held, and the second is gone."""

        def replaced(mine: npt.NDArray[Any], theirs: npt.NDArray[Any]) -> npt.NDArray[Any]:
            rows = mine.copy()
            rows[first] = theirs[pair]
            return np.delete(rows, second, axis=0)

        return Groups(
            replaced(self.members, joined.members), replaced(self.lost, joined.lost), replaced(self.held, joined.held)
        )


@dataclass(frozen=True, slots=True)
class Draft:
    """What a rung will be: its groups of parts, None for nothing collected, and its figures (see `Rung`)."""

    groups: Groups | None
    ncp: float
    lost: float

    @classmethod
    def of(cls, effects: Effects, groups: Groups) -> "Draft":
        """Return the draft of groups."""
        lost = float(groups.open().min(axis=1).sum()) + effects.apart * effects.partition.missing_apart
        return cls(groups, float(effects.ncp(groups.members).sum()), lost)


def candidates(partition: Partition, codes: Codes) -> Floats:
    """Return codes of the domain that may stand for parts of a partition, ascending.

    What is usual in each part, told by a grid over the domain, or its rounded middle where nothing of the grid is in
    it (see `tree.candidates`), and the ends of a number's domain. None stands for missing cells.

    Parameters
    ----------
    partition : Partition
    codes : ndarray, shape (rows,)
        Of the fit rows.
    """
    attribute = partition.attribute
    bounds = [attribute.low, attribute.high] if attribute.kind == "number" else []
    standing = standing_for(partition, codes)
    return np.unique([*standing[standing != attribute.missing], *bounds])


def ladder(effects: Effects, levels: Sequence[Partition] | None = None) -> tuple[Rung, ...]:
    """Return rungs from the present parts to nothing, each a coarsening of the one before.

    Those parts join that gain most NCP per agreement lost: neighbours only, where values have an order, else any two.
    Missing cells stay apart up to the last rung. A rung that loses no less than a coarser one is left out.

    Parameters
    ----------
    effects : Effects
    levels : sequence of Partition, optional
        Of a hierarchy, finest first: they are the rungs then, those that are no finer than the present parts.
    """
    attribute = effects.partition.attribute
    steps = _joining(effects) if levels is None else _climbing(effects, levels)
    everything = effects.lost.sum(axis=0)
    standing = float(effects.candidates[everything.argmin()])
    drafts = [Draft.of(effects, groups) for groups in steps]
    drafts.append(Draft(None, float(not trivial(attribute)), float(everything.min())))
    return tuple(_rung(effects, draft, standing) for draft in _fewer(_worthwhile(drafts)))


def _alone(partition: Partition) -> Flags:
    """Return each part but that of missing cells as a group, shape (groups, parts)."""
    parts = np.arange(partition.size)
    alone = np.delete(parts, partition.missing) if partition.missing_apart else parts
    return np.asarray(alone[:, np.newaxis] == parts)


def _joining(effects: Effects) -> Iterator[Groups]:
    """Yield the parts as they are, and after each joining of two, while what that loses is known."""
    groups = Groups.of(effects, _alone(effects.partition))
    yield groups
    while len(groups.members) > 1:
        count = len(groups.members)
        if effects.partition.groups:
            first, second = np.triu_indices(count, 1)
        else:
            first, second = np.arange(count - 1), np.arange(1, count)
        joined, ncp, cost = groups.joined(first, second), effects.ncp(groups.members), groups.open().min(axis=1)
        gained = effects.ncp(joined.members) - ncp[first] - ncp[second]
        lost = np.maximum(joined.open().min(axis=1) - cost[first] - cost[second], 0.0)
        known = np.isfinite(lost)
        if not known.any():
            return
        pair = int(np.where(known, gained / (lost + effects.smoothing), -1.0).argmax())
        groups = groups.after(int(first[pair]), int(second[pair]), joined, pair)
        yield groups


def _climbing(effects: Effects, levels: Sequence[Partition]) -> Iterator[Groups]:
    """Yield what the parts become on each level."""
    partition = effects.partition
    if partition.groups:
        inside: Floats | Integers = np.unique(partition.groups, return_index=True)[1]
    else:
        inside = np.minimum([*partition.cuts, np.inf], partition.attribute.high)
    alone = _alone(partition).any(axis=0)
    for level in levels:
        above = np.where(alone, level.parts(inside), -1)
        yield Groups.of(effects, np.unique(above[alone])[:, np.newaxis] == above)


def _rung(effects: Effects, draft: Draft, standing: float) -> Rung:
    """Return a draft as a rung; `standing` stands for nothing collected."""
    partition, groups = effects.partition, draft.groups
    attribute = partition.attribute
    if groups is None:
        whole = Ranges(attribute, Partition.whole(attribute), np.array([standing]), standing)
        return Rung(whole, draft.ncp, draft.lost)
    group = np.full(partition.size, len(groups.members), dtype=np.int64)  # what is in none: missing cells
    for number, members in enumerate(groups.members):
        group[members] = number
    codes = np.append(effects.candidates[groups.open().argmin(axis=1)], attribute.missing)
    if partition.groups:
        of_value = group[list(partition.groups)].tolist()
        coarser, order = Partition(attribute, groups=numbered(of_value)), list(dict.fromkeys(of_value))
    else:
        ends = np.asarray(partition.cuts)[group[1:] != group[:-1]]
        coarser, order = Partition(attribute, cuts=tuple(ends.tolist())), list(dict.fromkeys(group.tolist()))
    return Rung(Ranges(attribute, coarser, codes[order], standing), draft.ncp, draft.lost)


def _worthwhile(drafts: list[Draft]) -> list[Draft]:
    """Return the rungs that lose less than all coarser ones, and gain something; the last one stays."""
    kept = drafts[-1:]
    for draft in reversed(drafts[:-1]):
        if 0 < draft.ncp < kept[0].ncp and draft.lost < kept[0].lost:
            kept.insert(0, draft)
    return kept


def _fewer(drafts: list[Draft]) -> list[Draft]:
    """Return at most `RUNGS` rungs and the last, without those that are nearest their neighbours."""
    kept = list(drafts)
    while len(kept) > RUNGS + 1:
        ncp = np.array([0.0, *(draft.ncp for draft in kept)])
        del kept[int((ncp[2:] - ncp[:-2]).argmin())]
    return kept
