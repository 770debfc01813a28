"""What a field of the configuration takes, in words made from its own type and constraints."""

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from runner.tree import Path, get, holds

_NUMBERS = {int: "a whole number", float: "a number"}


def expected(annotation: Any, metadata: tuple[Any, ...] = ()) -> str:
    """Return what a type takes, such as ``a whole number >= 2`` or ``one of median, medoid or range``.

    Parameters
    ----------
    annotation : type
        A field's annotation.
    metadata : tuple
        Its constraints, as pydantic keeps them.
    """
    if get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        return expected(inner, (*_constraints(more), *metadata))
    if get_origin(annotation) in (Union, UnionType):
        return _union(annotation, metadata)
    if get_origin(annotation) is Literal:
        return one_of([str(value) for value in get_args(annotation)])
    return _simple(annotation, metadata)


def _union(annotation: Any, metadata: tuple[Any, ...]) -> str:
    nullable = NoneType in get_args(annotation)
    kinds = members(annotation)
    if len(kinds) > 1 and (tags := _tags(kinds)):
        return f"a mapping with name: {one_of(tags)}" + (" or null" if nullable else "")
    if nullable and len(kinds) == 1 and get_origin(kinds[0]) is Literal:
        return one_of([*map(str, get_args(kinds[0])), "null"])
    parts = [expected(part, metadata) for part in get_args(annotation) if part is not NoneType]
    parts = [part for part in dict.fromkeys(parts) if not (part == "a whole number" and "a number" in parts)]
    return " or ".join([*parts, "null"] if nullable else parts)


def _tags(kinds: list[Any]) -> list[str]:
    """Return the names that tell the members of a union apart; none where names don't."""
    fields = [kind.model_fields.get("name") for kind in kinds if _is_model(kind)]
    told = [get_args(field.annotation) for field in fields if field and get_origin(field.annotation) is Literal]
    return [str(value) for values in told for value in values] if len(told) == len(kinds) else []


def names_tell(annotation: Any) -> bool:
    """Say whether a type is a union, or one or null, of several models that go by a name each."""
    kinds = members(annotation)
    return len(kinds) > 1 and bool(_tags(kinds))


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _simple(annotation: Any, metadata: tuple[Any, ...]) -> str:
    if annotation in _NUMBERS:
        return _NUMBERS[annotation] + _range(metadata)
    if annotation in (bool, str):
        pattern = _limit(metadata, "pattern")
        text = f"text that matches {pattern}" if pattern else "text"
        text = "one character" if _limit(metadata, "max_length") == "1" else text
        return "true or false" if annotation is bool else text
    if get_origin(annotation) in (list, tuple):
        some = "a list that is not empty" if _limit(metadata, "min_length") else "a list"
        return f"{some}, each entry {_entry(get_args(annotation)[0])}"
    if _is_model(annotation):
        return f"a mapping with the keys {', '.join(annotation.model_fields)}"
    if get_origin(annotation) is dict:
        return "a mapping"
    return "another value"


def _entry(annotation: Any) -> str:
    """Return what a list's entries are; keys of mappings are told where an entry is faulty, not here."""
    mappings = all(map(_is_model, members(annotation)))
    return "a mapping" if mappings else expected(annotation)


def one_of(words: list[str]) -> str:
    """Return a choice in words."""
    if len(words) == 1:
        return words[0]
    return f"one of {', '.join(words[:-1])} or {words[-1]}"


def _range(metadata: tuple[Any, ...]) -> str:
    low, above = _limit(metadata, "ge"), _limit(metadata, "gt")
    high, below = _limit(metadata, "le"), _limit(metadata, "lt")
    if low is not None and high is not None:
        return f" between {low} and {high}"
    if above is not None and below is not None:
        return f" between {above} and {below}, both excluded"
    named = {">=": low, ">": above, "<=": high, "<": below}
    told = " and ".join(f"{sign} {limit}" for sign, limit in named.items() if limit is not None)
    return f" {told}" if told else ""


def _limit(metadata: tuple[Any, ...], name: str) -> str | None:
    found = next((limit for part in metadata if (limit := getattr(part, name, None)) is not None), None)
    return f"{found:g}" if isinstance(found, float) else None if found is None else str(found)


def _constraints(parts: list[Any]) -> Iterator[Any]:
    for part in parts:
        if isinstance(part, FieldInfo):
            yield from part.metadata
        else:
            yield part


def field_at(model: type[BaseModel], path: Path, tree: Any = None) -> tuple[Any, tuple[Any, ...]] | None:
    """Return annotation and constraints of what `path` leads to in a model; None when the model has no such place.

    Positions of lists and keys of free mappings lead on; the columns of a dataset are found by name as well as by
    position. Of a union whose members are told apart by name, the member that a plain `tree` names at that place is
    meant, and any of them where it names none.
    """
    places: list[tuple[Any, tuple[Any, ...]]] = [(model, ())]
    for depth, part in enumerate(path):
        here = get(tree, path[:depth]) if holds(tree, path[:depth]) else None
        name = here.get("name") if isinstance(here, dict) else None
        places = [following for annotation, _ in places for following in _step(annotation, part, name)]
        if not places:
            return None
        if places[0][0] is Any:
            return Any, ()
        if all(not _children(annotation) for annotation, _ in places) and depth < len(path) - 1:
            return None
    return places[0]


def _step(annotation: Any, part: str | int, name: Any) -> list[tuple[Any, tuple[Any, ...]]]:
    """Return all that one part of a path can lead to from a type, or from its members that go by `name`."""
    found: list[tuple[Any, tuple[Any, ...]]] = []
    kinds = members(annotation)
    named = [kind for kind in kinds if name in _tags([kind])] if len(kinds) > 1 else []
    for kind in named or kinds:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            if part in kind.model_fields:
                field = kind.model_fields[str(part)]
                found.append((field.annotation, tuple(field.metadata)))
        elif get_origin(kind) is dict:
            found.append((get_args(kind)[1], ()))
        elif get_origin(kind) is list and (isinstance(part, int) or _by_name(kind)):
            found.append((get_args(kind)[0], ()))
        elif kind is Any:
            found.append((Any, ()))
    return found


def _by_name(kind: Any) -> bool:
    """Tell whether a list of models may be given as a mapping from their names."""
    element = get_args(kind)[0]
    return isinstance(element, type) and issubclass(element, BaseModel) and "name" in element.model_fields


def members(annotation: Any) -> list[Any]:
    """Return the members of a union but for null, however it is wrapped; a type by itself otherwise."""
    if get_origin(annotation) is Annotated:
        return members(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        parts = [part for part in get_args(annotation) if part is not NoneType]
        return [member for part in parts for member in members(part)]
    return [annotation]


def _children(annotation: Any) -> bool:
    return any(
        kind is Any or get_origin(kind) in (dict, list) or (isinstance(kind, type) and issubclass(kind, BaseModel))
        for kind in members(annotation)
    )
