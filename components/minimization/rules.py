"""What is wrong with the columns of a minimisation, told by the schema alone.

Light on purpose: neither numpy nor pandas is imported, so that a configuration is judged before anything starts.
"""

from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches

from components.minimization import declared
from components.minimization.declarations import Minimization
from schemas.dataset import DatasetSchema
from schemas.declaration import Declaration
from schemas.faults import Fault
from schemas.wording import names

PLACE = "minimization.columns"


def column_faults(params: Declaration, schema: DatasetSchema) -> Iterator[Fault]:
    """Yield what is wrong with the columns that a method is to minimise.

    Parameters
    ----------
    params : Declaration
        Nothing is yielded for what is no `Minimization`.
    schema : DatasetSchema
    """
    if not isinstance(params, Minimization):
        return
    features = schema.features
    if not features:
        yield Fault("dataset.columns", "no column is an input of a model, so there is nothing to minimise")
        return
    asked = features if params.columns is None else params.columns
    for name in dict.fromkeys(asked):
        if name not in features:
            yield _no_feature(name, schema)
        elif asked.count(name) > 1:
            yield Fault(PLACE, f"{name!r} is named {asked.count(name)} times", "each column once", "name it once")
    yield from _halved(asked, schema)
    yield from _ambiguous(asked, schema)
    yield from _undomained(asked, schema)


def _no_feature(name: str, schema: DatasetSchema) -> Fault:
    features = schema.features
    if name in schema.names():
        what = _article(schema.column(name).role or "column without role")
        if name in schema.targets:
            what = "the target" if len(schema.targets) == 1 else "a target"
        return Fault(
            PLACE, f"{name!r} is {what}, and no input of the model", f"one of {names(features)}", "leave it out"
        )
    close = get_close_matches(name, features, 1)
    remedy = f"did you mean {close[0]}?" if close else "correct the name"
    return Fault(PLACE, f"{name!r} is no column of the schema", f"one of {names(features)}", remedy)


def _article(word: str) -> str:
    return f"{'an' if word[:1] in 'aeiou' else 'a'} {word}"


def _halved(asked: list[str], schema: DatasetSchema) -> Iterator[Fault]:
    """Yield the groups of one-hot columns of which only some are named."""
    known = [schema.column(name) for name in asked if name in schema.names()]
    for group in dict.fromkeys(column.group for column in known if column.group is not None):
        members = [column.name for column in schema.columns if column.group == group and column.name in schema.features]
        left = [name for name in members if name not in asked]
        if left:
            yield Fault(
                PLACE,
                f"{len(members) - len(left)} of the {len(members)} one-hot columns of group {group!r} are named",
                "they are minimised together",
                f"add {names(left)}",
            )


def _ambiguous(asked: list[str], schema: DatasetSchema) -> Iterator[Fault]:
    """Yield the groups that are called as a column outside of them is: results go by these names."""
    known = [schema.column(name) for name in asked if name in schema.names()]
    single = {column.name for column in known if column.group is None}
    for group in sorted({column.group for column in known if column.group is not None} & single):
        yield Fault(
            "dataset.columns",
            f"{group!r} is a column and also a group of one-hot columns, and both are to be minimised",
            remedy="call the group otherwise",
        )


def _undomained(asked: list[str], schema: DatasetSchema) -> Iterator[Fault]:
    """Yield what keeps columns, or the one-hot columns of a group, from having a domain, as far as it is declared."""
    known = [schema.column(name) for name in dict.fromkeys(asked) if name in schema.features]
    groups = dict.fromkeys(column.group for column in known if column.group is not None)
    members = {group: [column for column in schema.columns if column.group == group] for group in groups}
    alone = [column for column in known if len(members.get(column.group or "", ())) < 2]
    for column in alone:
        yield from (_placed(fault, column.name) for fault in declared.column_faults(column))
    for group, columns in members.items():
        for column in columns if len(columns) > 1 else ():
            if column.name in schema.targets:
                problem = f"a target, and a one-hot column of group {group}, which is an input of the model"
                yield Fault(f"dataset.columns.{column.name}.group", problem, remedy="take it out of the group")
                continue
            yield from (_placed(fault, column.name) for fault in declared.group_faults(group, [column]))


def _placed(fault: Fault, column: str) -> Fault:
    return replace(fault, place=f"dataset.columns.{column}")
