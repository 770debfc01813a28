"""The tree of questions between the contract and the arrays that it is walked with."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from components.minimization.attributes import BELOW, Attribute
from components.minimization.collected import value_of_cut
from components.minimization.generalizer import Ranges
from components.minimization.partitions import Partition, middle
from components.minimization.personal.questions import NONE, Nodes, Questions
from components.minimization.problem import Answers
from schemas.generalizations import Node

Said = Callable[[Any], list[Any]]
"""Makes of one row of answers what the contract says."""


def to_nodes(questions: Questions, said: Said) -> list[Node]:
    """Return the tree of questions as the contract says it."""
    nodes = questions.nodes
    found = []
    for number in range(len(nodes)):
        answer = int(nodes.answer[number])
        if nodes.attribute[number] == NONE:
            found.append(Node(answer=None if answer == NONE else said(questions.labels[answer])))
            continue
        attribute = questions.attributes[nodes.attribute[number]]
        nominal = attribute.kind == "nominal"
        listed = nodes.values[number, : len(attribute.values)] if nominal else ()
        found.append(
            Node(
                attribute=attribute.name,
                cut=None if nominal else value_of_cut(attribute, nodes.cut[number]),
                values=[attribute.values[place] for place in np.flatnonzero(listed)] if nominal else None,
                missing="left" if nodes.missing_left[number] else "right",
                left=int(nodes.left[number]),
                right=int(nodes.right[number]),
            )
        )
    return found


def from_nodes(given: Sequence[Node], attributes: tuple[Attribute, ...]) -> tuple[Nodes, list[list[Any]]]:
    """Return the tree of questions, and the answers of its ends, one row an end that has one.

    Raises
    ------
    ValueError
        A question is of no attribute, or its cut or values are none of its domain.
    """
    place = {attribute.name: number for number, attribute in enumerate(attributes)}
    count, widest = len(given), max((len(each.values) for each in attributes), default=0)
    nodes = Nodes(
        attribute=np.full(count, NONE, dtype=np.int64),
        cut=np.zeros(count),
        values=np.zeros((count, widest), dtype=bool),
        missing_left=np.array([node.missing == "left" for node in given]),
        left=np.array([number if node.left is None else node.left for number, node in enumerate(given)]),
        right=np.array([number if node.right is None else node.right for number, node in enumerate(given)]),
        answer=np.full(count, NONE, dtype=np.int64),
    )
    answers: list[list[Any]] = []
    for number, node in enumerate(given):
        if node.attribute is None:
            if node.answer is not None:
                nodes.answer[number] = len(answers)
                answers.append(list(node.answer))
            continue
        if node.attribute not in place:
            raise ValueError("a question is of no attribute")
        nodes.attribute[number] = place[node.attribute]
        attribute = attributes[place[node.attribute]]
        if (attribute.kind == "nominal") != (node.values is not None):
            raise ValueError("numbers and ordered values are asked by a cut, others by values")
        if node.values is None:
            nodes.cut[number] = attribute.code(node.cut)
        else:
            nodes.values[number, [attribute.values.index(value) for value in node.values]] = True
    return nodes, answers


def asked_for(questions: Questions) -> list[Ranges]:
    """Return what is collected of each attribute over all ways through the questions.

    Exact where some way ends with asking everything, but for what is spared even there; else the ranges, or groups,
    that its questions tell apart, or nothing where it is in none.
    """
    nodes = questions.nodes
    everything = bool((nodes.answer[nodes.ends] == NONE).any())
    found = []
    for place, attribute in enumerate(questions.attributes):
        asked = np.flatnonzero(nodes.attribute == place)
        default = questions.defaults[attribute.name]
        exact = everything and attribute.name not in questions.spare
        partition = None if exact else _told_apart(attribute, nodes, asked)
        standing = np.array([]) if partition is None else _standing(partition)
        if partition is not None and partition.size == 1:
            standing = np.array([default])
        found.append(Ranges(attribute, partition, standing, default))
    return found


def _told_apart(attribute: Attribute, nodes: Nodes, asked: Any) -> Partition:
    if not len(asked):
        return Partition.whole(attribute)
    nullable = any(column.nullable for column in attribute.columns)
    if attribute.kind != "nominal":
        top = attribute.high if attribute.kind == "number" else len(attribute.values) - 1.0
        cuts = np.unique(nodes.cut[asked])
        apart = (BELOW,) if nullable else ()
        return Partition(attribute, cuts=(*apart, *map(float, cuts[cuts < top])))
    size = len(attribute.values)
    _, groups = np.unique(nodes.values[asked, :size], axis=1, return_inverse=True)
    last = int(groups.max()) + 1 if nullable else int(groups[0])
    return Partition(attribute, groups=(*(int(group) for group in groups.ravel()), last))


def _standing(partition: Partition) -> Any:
    """Return a value of the domain for each part: it is shown, while the questions are answered by their own ends."""
    attribute = partition.attribute
    if attribute.kind == "nominal":
        return np.array([partition.groups.index(part) for part in range(partition.size)], dtype=np.float64)
    ends = [BELOW, *partition.cuts, np.inf]
    return np.array([middle(attribute, start, end) for start, end in pairwise(ends)])


def labels_of(answers: list[list[Any]], outputs: int) -> Answers:
    """Return answers as an array, shape (labels, outputs): int64 where all are whole numbers, else float64."""
    if not answers:
        return np.zeros((0, outputs), dtype=np.int64)
    labels: Answers = np.array(answers)
    if labels.ndim != 2 or labels.dtype.kind not in "if":
        raise ValueError("answers are neither all numbers nor all of the classes told")
    return labels
