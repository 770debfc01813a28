"""``generalizations.json``: written of what a minimiser found, and read back to work without rows or schema."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from components.minimization.collected import code_within, from_collected, to_collected
from components.minimization.generalizer import Cells, Generalizer, Ranges
from components.minimization.personal.questions import Questions
from components.minimization.question_nodes import asked_for, from_nodes, labels_of, to_nodes
from components.minimization.regions import from_region, to_region
from components.minimization.result import Minimized
from components.minimization.wording import choices
from schemas.faults import DataError, Fault
from schemas.generalizations import Cell, Collected, Generalizations, Output, Verdict

FILE = "generalizations.json"
VERSION: int = Generalizations.model_fields["schema_version"].default


def to_contract(
    minimized: Minimized,
    losses: Mapping[str, float],
    verdict: Verdict | None = None,
    outputs: Sequence[Output] = (),
) -> Generalizations:
    """Return what is collected, as the contract says it.

    Parameters
    ----------
    minimized : Minimized
        A `Generalizer` or `Questions`.
    losses : mapping of str to float
        NCP of each attribute.
    verdict : Verdict, optional
    outputs : sequence of Output, optional
        What the model predicts: labels and answers are then told by class, else by the position of the class.
    """
    said = _saying(outputs)
    if isinstance(minimized, Questions):
        collected = asked_for(minimized)
        use: dict[str, Any] = {"use": "questions", "questions": to_nodes(minimized, said)}
    elif isinstance(minimized, Generalizer):
        collected = list(minimized.ranges)
        cells = [] if minimized.cells is None else _to_cells(minimized.ranges, minimized.cells, said)
        use = {"use": minimized.use, "representative": minimized.representative, "cells": cells}
    else:
        raise TypeError(f"{type(minimized).__name__} has no contract")
    return Generalizations(
        method=minimized.method,
        outside=minimized.outside,
        verdict=verdict,
        outputs=list(outputs),
        attributes=[to_collected(each, losses[each.attribute.name]) for each in collected],
        **use,
    )


def from_contract(contract: Generalizations) -> Generalizer | Questions:
    """Return what a contract describes; it does to rows what was done before it was written.

    Its choices may be absent, or in other words (translated), as long as no text is that of two parts, nor what the
    file would say of another part. ``from_form`` goes by the file's own words, or by the places of choices; a form in
    other words answers by place.

    Raises
    ------
    DataError
        The parts of the contract contradict each other.
    """
    try:
        return _from(contract)
    except (ValueError, KeyError, IndexError, TypeError, OverflowError):  # their messages may hold values
        raise DataError(
            Fault(FILE, "contradicts itself", "cuts, groups and cells are of the domains it declares", "write it again")
        ) from None


def dumps(contract: Generalizations) -> bytes:
    """Return the bytes of a contract: JSON with sorted keys, equal for equal contracts.

    What cells and questions leave at its default is left out: most of a file is of these.
    """
    data = contract.model_dump(mode="json")
    for part in ("cells", "questions"):
        data[part] = [each.model_dump(mode="json", exclude_defaults=True) for each in getattr(contract, part)]
    return (json.dumps(data, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def write(path: Path, contract: Generalizations) -> None:
    """Write a contract as `dumps` returns it."""
    path.write_bytes(dumps(contract))


def load(path: str | Path) -> Generalizer | Questions:
    """Read what to collect: it transforms rows without the rows it was learned from, and without a schema.

    Parameters
    ----------
    path : str or pathlib.Path
        A ``generalizations.json``.

    Returns
    -------
    Generalizer or Questions
        The latter of ``minimization=personal``: its ``answers`` ask the model only where they must.

    Raises
    ------
    DataError
        The file can't be read, is no such file or of another version, or contradicts itself.
    """
    return from_contract(read(path))


def read(path: str | Path) -> Generalizations:
    """Read the contract itself, for a form or a page; errors as for `load`."""
    name = Path(path).name
    try:
        data = json.loads(Path(path).read_bytes())
        json.dumps(data, ensure_ascii=False).encode()  # half a character may be escaped, and written nowhere
    except OSError as error:
        raise DataError(Fault(name, f"can't be read ({type(error).__name__})")) from None
    except (ValueError, RecursionError):  # no UTF-8, no JSON, or nested without end
        raise DataError(Fault(name, "is no JSON", remedy=f"name a {FILE}")) from None
    return parsed(data, name)


def parsed(data: Any, name: str = FILE) -> Generalizations:
    """Read the contract from what its JSON holds; ``DataError`` without values where it is none."""
    version = data.get("schema_version") if isinstance(data, dict) else None
    if isinstance(version, int) and version != VERSION:
        raise DataError(Fault(name, f"is of version {version}", f"version {VERSION} is read here", "write it again"))
    try:
        return Generalizations.model_validate(data)
    except ValidationError as error:
        count = error.error_count()
        raise DataError(
            Fault(name, f"does not say what to collect ({count} faults)", remedy=f"name a {FILE}")
        ) from None


def _saying(outputs: Sequence[Output]) -> Callable[[Any], list[Any]]:
    """Return what makes of one row of answers what the contract says: classes, else positions or numbers."""

    def said(row: Any) -> list[Any]:
        values = [value.item() for value in np.asarray(row)]
        if not outputs:
            return values
        return [
            value if output.classes is None else output.classes[int(value)]
            for value, output in zip(values, outputs, strict=True)
        ]

    return said


def _heard(said: Sequence[Any], outputs: Sequence[Output]) -> list[Any]:
    """Return the answers behind what the contract says."""
    if not outputs:
        return list(said)
    return [
        value if output.classes is None else output.classes.index(value)
        for value, output in zip(said, outputs, strict=True)
    ]


def _require_choices(collected: Collected, ranges: Ranges) -> None:
    """Refuse choices of which one can be taken for another; translated ones are none of these (see `from_contract`)."""
    own, given = choices(ranges.attribute, ranges.partition), collected.choices
    if not given:
        return
    if len(given) != len(own):
        raise ValueError("choices are not one per part")
    means = dict(zip(own, own, strict=True))
    for text, meant in zip(given, own, strict=True):
        if means.setdefault(text, meant) != meant:
            raise ValueError("a choice is the text of two parts, or of another one")


def _from(contract: Generalizations) -> Generalizer | Questions:
    ranges = tuple(from_collected(each) for each in contract.attributes)
    for each, made in zip(contract.attributes, ranges, strict=True):
        _require_choices(each, made)
    if contract.use == "questions":
        attributes = tuple(each.attribute for each in ranges)
        nodes, answers = from_nodes(contract.questions, attributes)
        labels = labels_of([_heard(row, contract.outputs) for row in answers], max(len(contract.outputs), 1))
        defaults = {each.attribute.name: each.default for each in ranges}
        spare = tuple(each.attribute.name for each in ranges if not each.exact)
        return Questions(attributes, nodes, labels, defaults, contract.outside, spare)
    return Generalizer(
        contract.method,
        contract.use,
        ranges,
        _from_cells(contract, ranges) if contract.cells else None,
        contract.representative,
        contract.outside,
    )


def _to_cells(ranges: Sequence[Ranges], cells: Cells, said: Callable[[Any], list[Any]]) -> list[Cell]:
    found = []
    attributes = [(each.attribute, each.partition) for each in ranges if each.partition is not None]
    for number in range(len(cells)):
        rows = [(partition, attribute, cells.admitted[attribute.name][number]) for attribute, partition in attributes]
        found.append(
            Cell(
                regions={
                    attribute.name: to_region(partition, row) for partition, attribute, row in rows if not row.all()
                },
                representative={
                    attribute.name: attribute.value(cells.representatives[attribute.name][number])
                    for attribute, _ in attributes
                },
                label=said(cells.labels[number]),
                agrees=bool(cells.agrees[number]),
            )
        )
    return found


def _from_cells(contract: Generalizations, ranges: Sequence[Ranges]) -> Cells:
    given = contract.cells
    partitions = {each.attribute.name: each.partition for each in ranges if each.partition is not None}
    if any(set(cell.representative) != set(partitions) or not set(cell.regions) <= set(partitions) for cell in given):
        raise ValueError("a cell tells of other attributes than those that don't stay exact")
    admitted = {}
    for name, partition in partitions.items():
        admitted[name] = np.ones((len(given), partition.size), dtype=bool)
        for number, cell in enumerate(given):
            if name in cell.regions:
                admitted[name][number] = from_region(partition, cell.regions[name])
    return Cells(
        admitted,
        {
            name: np.array([code_within(partition.attribute, cell.representative[name]) for cell in given])
            for name, partition in partitions.items()
        },
        np.array([cell.agrees for cell in given]),
        np.array([_heard(cell.label, contract.outputs) for cell in given], dtype=np.float64),
    )
