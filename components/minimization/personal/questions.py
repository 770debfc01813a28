"""A tree of questions: what is asked of a person, in which order, and when the answer stands."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from components.minimization.attributes import BELOW, Attribute, Codes, Outside, encoded
from components.minimization.completing import completed
from components.minimization.partitions import Partition, trivial
from components.minimization.personal.known import known_cells
from components.minimization.personal.one_person import row_of
from components.minimization.problem import Answers, Ask, replaced
from components.models.interface import Model
from components.models.target import joined
from schemas.faults import DataError, Fault

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

NONE = -1
"""No attribute: the asking ends here. No answer: here everything is asked, and the model answers."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes of a tree of questions, by number; node 0 comes first, and every node before those under it.

    Parameters
    ----------
    attribute : ndarray of int, shape (nodes,)
        Position of the attribute that is asked, or `NONE`.
    cut : ndarray of float, shape (nodes,)
        Numbers and ordered values: codes up to it go left.
    values : ndarray of bool, shape (nodes, most values)
        Other attributes: whether the value at this place of the domain goes left.
    missing_left : ndarray of bool, shape (nodes,)
        Whether missing cells go left.
    left, right : ndarray of int, shape (nodes,)
        Numbers of the nodes that follow; of an end its own.
    answer : ndarray of int, shape (nodes,)
        Row of `Questions.labels`, or `NONE`.
    """

    attribute: Integers
    cut: Floats
    values: Bools
    missing_left: Bools
    left: Integers
    right: Integers
    answer: Integers

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.attribute)

    @property
    def ends(self) -> Integers:
        """Numbers of the nodes where the asking ends."""
        return np.flatnonzero(self.attribute == NONE)


@dataclass(frozen=True)
class Questions:
    """A tree of questions with the answers at its ends.

    Parameters
    ----------
    attributes : tuple of Attribute
        What can be asked. Everything else is known anyway, and is not looked at before the model is asked.
    nodes : Nodes
    labels : ndarray, shape (labels, outputs)
        Answers that ends give.
    defaults : dict of str to float
        By attribute: the code that a value outside the domain counts as (numbers get the nearer bound).
    outside : {"default", "refuse"}
        Whether values outside the domain get defaults, or are refused.
    spare : tuple of str
        What is not asked even where everything is: there the model gets its default.
    """

    attributes: tuple[Attribute, ...]
    nodes: Nodes
    labels: Answers
    defaults: Mapping[str, float]
    outside: Outside = "default"
    spare: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        """Name of the method."""
        return "personal"

    def encode(self, frame: pd.DataFrame) -> dict[str, Codes]:
        """Return the codes of each attribute.

        Raises
        ------
        DataError
            A column is absent; or, with ``outside: refuse``, values are outside the domain.
        """
        return encoded(self.attributes, frame, self.defaults, self.outside)

    def ends(self, codes: Mapping[str, Codes]) -> Integers:
        """Return the number of the node where the asking ends, for each row."""
        nodes = self.nodes
        table = np.column_stack([np.asarray(codes[each.name], dtype=np.float64) for each in self.attributes])
        at = np.zeros(len(table), dtype=np.int64)
        rows = np.arange(len(table)) if nodes.attribute[0] != NONE else np.array([], dtype=np.int64)
        while len(rows):
            at[rows] = self._follows(at[rows], table[rows, nodes.attribute[at[rows]]])
            rows = rows[nodes.attribute[at[rows]] != NONE]
        return at

    def answers(self, frame: pd.DataFrame, model: Ask | Model) -> Answers:
        """Return the answers that rows end with.

        The model sees those rows alone of which everything is asked.

        Parameters
        ----------
        frame : pandas.DataFrame
            What nobody is asked for may be absent.
        model : Model or callable
            The model that the questions were made for: either as `components.models.load` returns it, or what gives
            its answers as numbers, shape (rows, outputs).

        Returns
        -------
        ndarray
            Values of the target, shape (rows,), or (rows, targets), as the model's ``predict`` returns them; of a
            callable its numbers, shape (rows, outputs).

        Raises
        ------
        DataError
            As for `encode`; or the questions were made for another model.
        """
        asked = {self.attributes[place].name for place in self.nodes.attribute[self.nodes.attribute != NONE]}
        rows = completed(frame, self.attributes, set(self.spare) - asked, self.defaults)
        codes = self.encode(rows)
        answer = self.nodes.answer[self.ends(codes)]
        labels, ask = (self.labels, model) if callable(model) else (_values(self.labels, model), model.predict)
        everything = np.flatnonzero(answer == NONE)
        if not len(everything):
            return labels[answer]
        told = ask(self.told(rows.iloc[everything], {name: cells[everything] for name, cells in codes.items()}))
        found = np.empty((len(rows), *told.shape[1:]), dtype=np.result_type(labels, told))
        found[everything] = told
        found[answer != NONE] = labels[answer[answer != NONE]]
        return found

    def to_ask(self, told: Mapping[str, Any]) -> list[str]:
        """Return what a person is to be asked for next.

        Parameters
        ----------
        told : mapping of str to any
            By attribute, what the person told so far: a value as ``generalizations.json`` holds it (dates in ISO
            8601, of one-hot columns the name of the one that is 1), the text of one of its ``choices`` there, or None
            where it is not known.

        Returns
        -------
        list of str
            One attribute; where everything is asked all that is left, at once; nothing where the answer stands.

        Raises
        ------
        DataError
            A value is of another kind; or, with ``outside: refuse``, outside the domain.
        """
        end = self._reached(row_of(self._collecting, told, self.defaults, self.outside)[1])
        if self.nodes.attribute[end] != NONE:
            return [self.attributes[self.nodes.attribute[end]].name]
        if self.nodes.answer[end] != NONE:
            return []
        return [each.name for each in self.attributes if each.name not in told and each.name not in self.spare]

    def answer(self, told: Mapping[str, Any], model: Ask | Model) -> Any:
        """Return the answer to one person, as `answers` does to rows.

        Parameters
        ----------
        told : mapping of str to any
            As for `to_ask`; also what the model knows anyway, by column: None where it is missing, dates in ISO 8601.
        model : Model or callable
            As for `answers`.

        Raises
        ------
        DataError
            As for `to_ask`; or something is still to be asked, or the model can't read what it knows.
        """
        left = self.to_ask(told)
        if left:
            raise DataError(
                [Fault(f"column '{name}'", "was not told", "it is to be asked (see to_ask)") for name in left]
            )
        frame, codes = row_of(self._collecting, told, self.defaults, self.outside)
        own = {each.name for each in self.attributes}
        known = known_cells({name: value for name, value in told.items() if name not in own}, model)
        frame = frame.assign(**known)
        untold = [name for name in own if name not in codes]
        return self.answers(completed(frame, self.attributes, untold, self.defaults), model)[0]

    @cached_property
    def _collecting(self) -> list[tuple[Attribute, Partition | None]]:
        from components.minimization.question_nodes import asked_for  # it is made of what stands here

        return [(each.attribute, each.partition) for each in asked_for(self)]

    def _reached(self, codes: Mapping[str, Codes]) -> int:
        """Return the number of the first node that asks for something that was not told, or ends the asking."""
        nodes, at = self.nodes, 0
        while nodes.attribute[at] != NONE and self.attributes[nodes.attribute[at]].name in codes:
            at = int(self._follows(np.array([at]), codes[self.attributes[nodes.attribute[at]].name])[0])
        return at

    def told(self, frame: pd.DataFrame, codes: Mapping[str, Codes]) -> pd.DataFrame:
        """Return rows as the model gets them where everything is asked."""
        spared = {name: np.full_like(codes[name], self.defaults[name]) for name in self.spare}
        return replaced(frame, self.attributes, {**codes, **spared})

    def asked(self, codes: Mapping[str, Codes]) -> Bools:
        """Return which attributes each row is asked for, shape (rows, attributes)."""
        return (self.turns() > 0)[self.ends(codes)]

    def losses(self, codes: Mapping[str, Codes]) -> dict[str, float]:
        """Return the NCP of each attribute: the share of rows not asked for it; 0 of constants and of no rows."""
        asked = self.asked(codes)
        lost = np.count_nonzero(~asked, axis=0) / max(len(asked), 1)
        return {
            each.name: 0.0 if trivial(each) else float(share) for each, share in zip(self.attributes, lost, strict=True)
        }

    def figures(self, codes: Mapping[str, Codes]) -> dict[str, float]:
        """Return how many attributes rows are asked for, and of how many rows everything is asked; 0 of no rows.

        Returns
        -------
        dict
            ``features_asked_mean``; ``features_asked_p90`` (the least number that suffices for 90 % of the rows);
            ``asked_everything``, a share.
        """
        ends = self.ends(codes)
        count = np.count_nonzero(self.turns(), axis=1)[ends]
        everything = float(np.count_nonzero(self.nodes.answer[ends] == NONE))
        return {
            "features_asked_mean": float(count.sum() / max(len(ends), 1)),
            "features_asked_p90": float(np.quantile(count, 0.9, method="inverted_cdf")) if len(ends) else 0.0,
            "asked_everything": everything / max(len(ends), 1),
        }

    def needed(self, codes: Mapping[str, Codes]) -> pd.DataFrame:
        """Return how often, and how early, each attribute is asked.

        Returns
        -------
        pandas.DataFrame
            ``attribute``; ``asked``: share of rows that were asked for it; ``position``: its mean turn among those,
            from 1, missing where it was never asked. Where everything is asked at the end, what is left shares a turn.
        """
        turns = self.turns()[self.ends(codes)]
        times = np.count_nonzero(turns, axis=0)
        position = np.where(times > 0, turns.sum(axis=0) / np.maximum(times, 1), np.nan)
        names = [each.name for each in self.attributes]
        return pd.DataFrame({"attribute": names, "asked": times / max(len(turns), 1), "position": position})

    def turns(self) -> Integers:
        """Return at which turn each attribute was asked on the way to each node, 0 never, shape (nodes, attributes)."""
        nodes = self.nodes
        turns = np.zeros((len(nodes), len(self.attributes)), dtype=np.int64)
        for number in np.flatnonzero(nodes.attribute != NONE):
            turn = turns[number].copy()
            if not turn[nodes.attribute[number]]:
                turn[nodes.attribute[number]] = turn.max() + 1
            turns[[nodes.left[number], nodes.right[number]]] = turn
        everything = (nodes.attribute == NONE) & (nodes.answer == NONE)
        last = turns.max(axis=1, keepdims=True) + 1
        needed = np.array([each.name not in self.spare for each in self.attributes])
        return np.where(everything[:, None] & (turns == 0) & needed, last, turns)

    def _follows(self, node: Integers, code: Codes) -> Integers:
        """Return the nodes that follow nodes which ask, by the codes of what they ask for."""
        nodes = self.nodes
        asked = nodes.attribute[node]
        goes_left = np.where(code == BELOW, nodes.missing_left[node], code <= nodes.cut[node])
        named = np.array([each.kind == "nominal" for each in self.attributes])[asked]
        goes_left[named] = self._listed(node[named], asked[named], code[named].astype(np.int64))
        followed: Integers = np.where(goes_left, nodes.left[node], nodes.right[node])
        return followed

    def _listed(self, node: Integers, asked: Integers, place: Integers) -> Bools:
        """Say which values of nominal attributes go left; the place after the last is that of missing cells."""
        sizes = np.array([len(each.values) for each in self.attributes])
        missing = place == sizes[asked]
        listed: Bools = self.nodes.values[node, np.where(missing, 0, place)]
        return np.where(missing, self.nodes.missing_left[node], listed)


def _values(labels: Answers, model: Model) -> Answers:
    """Return answers that were found in numbers as the model predicts: (labels,), of several targets a column each."""
    targets = model.targets
    fits = labels.shape[1] == len(targets) and all(
        not target.classes or np.isin(column, np.arange(len(target.classes))).all()
        for target, column in zip(targets, labels.T, strict=True)
    )
    if not fits:
        problem = "predicts something else than the questions were made for"
        raise DataError(Fault("model", problem, remedy="load the model of the same run"))
    return joined([target.decode(column) for target, column in zip(targets, labels.T, strict=True)])
