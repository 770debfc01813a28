"""What pydantic found wrong, as places of the tree and sentences of our own."""

from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from runner.expected import expected, field_at, members, names_tell, one_of
from runner.suggest import did_you_mean, nearest
from runner.tree import Path, Resolved, dotted, get, holds

LONG = 40
"""Characters of a value that are shown."""


@dataclass(frozen=True)
class Trouble:
    """One place of the tree with what is wrong there; ``known`` lists the keys that an unknown one may have meant."""

    path: Path
    problem: str
    allowed: str = ""
    remedy: str = ""
    unknown: bool = False
    known: tuple[str, ...] = ()
    name: str = ""

    def shown(self) -> Path:
        """Return the path as it is told: a column of a list by its name."""
        return (*self.path[:2], self.name, *self.path[3:]) if self.name else self.path


def troubles(error: ValidationError, model: type[BaseModel], resolved: Resolved) -> list[Trouble]:
    """Translate a validation error.

    Parameters
    ----------
    error : ValidationError
    model : type of BaseModel
        What was checked.
    resolved : Resolved
        The tree that was checked.

    Returns
    -------
    list of Trouble
        One a place, in the order found; wrong entries of one list count as one.
    """
    found: dict[Path, Trouble] = {}
    for detail in error.errors(include_url=False):
        path = tree_path(model, detail["loc"], resolved.plain)
        trouble = _trouble(path, dict(detail), model, resolved)
        found.setdefault(trouble.path, trouble)
    return list(found.values())


def tree_path(model: type[BaseModel], location: tuple[str | int, ...], tree: Any) -> Path:
    """Return the place in the tree that a pydantic location means.

    Tags of unions are left out, and a dataset's columns are found by name where the tree gives them so.
    """
    path: list[str | int] = []
    annotation: Any = model
    for part in location:
        choices = members(annotation)
        if _tagged(annotation):
            annotation = next(
                (kind for kind in choices if part in get_args(kind.model_fields["name"].annotation)), None
            )
            continue
        if len(choices) > 1 and annotation is not model:
            break  # what follows names a member of the union, not a place
        step = field_at(choices[0], (part,)) if isinstance(choices[0], type) else _element(choices[0])
        here = get(tree, tuple(path)) if holds(tree, tuple(path)) else None
        named = isinstance(part, int) and isinstance(here, dict)
        path.append(list(here)[part] if named and isinstance(here, dict) and isinstance(part, int) else part)
        annotation = step[0] if step else None
        if step is None:
            break
    return tuple(path)


def _element(annotation: Any) -> tuple[Any, tuple[Any, ...]] | None:
    """Return the type of a list's or mapping's entries."""
    arguments = get_args(annotation)
    return (arguments[-1], ()) if get_origin(annotation) in (list, dict) else None


def _tagged(annotation: Any) -> bool:
    """Tell whether a type is a union, or one or null, whose members are told apart by their name."""
    if get_origin(annotation) in (Union, UnionType):
        # A field keeps the discriminator of its own union to itself.
        return names_tell(annotation) or any(_tagged(part) for part in get_args(annotation))
    if get_origin(annotation) is not Annotated:
        return False
    return any(isinstance(part, FieldInfo) and part.discriminator for part in get_args(annotation)[1:])


def _trouble(path: Path, detail: dict[str, Any], model: type[BaseModel], resolved: Resolved) -> Trouble:
    kind, given = detail["type"], detail["input"]
    name = _column_name(path, resolved)
    place = field_at(model, path, resolved.plain)
    allowed = f"must be {expected(*place)}" if place and place[0] is not Any else ""
    if kind == "extra_forbidden":
        return Trouble(path, "", unknown=True, known=_siblings(path, model, resolved), name=name)
    if kind == "missing":
        return Trouble(path, "is missing", allowed, f"set it with {dotted(path)}=...", name=name)
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return _wrong_name(path, detail, given)
    if kind == "string_type" and isinstance(path[-1], int):
        return _unquoted_entries(path, resolved)
    if kind.endswith(("_type", "_error")) or kind in _LIMITS:
        unquoted = kind == "string_type" and isinstance(given, int | float)
        problem = f"{shown(given)} is {_sort(given)}, not text" if unquoted else f"{shown(given)} is not allowed"
        problem = f"{shown(given)} is not finite" if kind == "finite_number" else problem
        remedy = "quote it in YAML" if unquoted else _conversion(path, given, resolved)
        return Trouble(path, problem, allowed, remedy, name=name)
    # Ours: the message is the sentence.
    return Trouble(path, str(detail["msg"]), name=name)


_LIMITS = frozenset(
    {
        "greater_than",
        "greater_than_equal",
        "less_than",
        "less_than_equal",
        "finite_number",
        "string_too_short",
        "string_too_long",
        "too_short",
        "too_long",
        "int_from_float",
        "string_pattern_mismatch",
    }
)


def _wrong_name(path: Path, detail: dict[str, Any], given: Any) -> Trouble:
    """Say which names an entry told apart by its name may have."""
    known = [part.strip().strip("'") for part in str(detail["ctx"].get("expected_tags", "")).split(",") if part.strip()]
    name = given.get("name") if isinstance(given, dict) else None
    if name is None:
        return Trouble((*path, "name"), "is missing", f"must be {one_of(known)}" if known else "")
    similar = nearest(str(name), known)
    return Trouble((*path, "name"), f"{shown(name)} is not allowed", f"must be {one_of(known)}", did_you_mean(similar))


def _unquoted_entries(path: Path, resolved: Resolved) -> Trouble:
    """Tell all entries of a list of texts that YAML has made something else of."""
    inside = path[:-1]
    entries = get(resolved.plain, inside)
    wrong = [(index, entry) for index, entry in enumerate(entries, start=1) if not isinstance(entry, str)]
    first = ", ".join(f"entry {index} is {_sort(entry)} ({shown(entry)})" for index, entry in wrong[:3])
    more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
    quoted = any(isinstance(entry, int | float) for _, entry in wrong)
    remedy = "quote it: YAML takes codes such as 01001, NO and 12:30 for numbers and booleans" if quoted else ""
    return Trouble(inside, first + more, "every entry must be text", remedy, name=_column_name(inside, resolved))


def _conversion(path: Path, given: Any, resolved: Resolved) -> str:
    """Return how a value that came as text becomes the number or boolean that it spells."""
    if not isinstance(given, str):
        return ""
    written = get(resolved.raw, path) if holds(resolved.raw, path) else None
    if isinstance(written, str) and written.startswith("${oc.env:"):
        return f'write "${{oc.decode:{written}}}" to have it read as a number or boolean'
    plain = given.strip().lstrip("+-").replace("_", "").replace(".", "", 1)
    return "write it without quotes" if plain.isdigit() or given.lower() in ("true", "false") else ""


def _siblings(path: Path, model: type[BaseModel], resolved: Resolved) -> tuple[str, ...]:
    """Return the keys that the model knows where an unknown one stands; of a union, those of the member named there."""
    around: Any = field_at(model, path[:-1]) if len(path) > 1 else (model, ())
    kinds = members(around[0]) if around else []
    if around and _tagged(around[0]):
        tag = get(resolved.plain, path[:-1]).get("name")
        kinds = [kind for kind in kinds if tag in get_args(kind.model_fields["name"].annotation)]
    names = [name for kind in kinds if isinstance(kind, type) for name in getattr(kind, "model_fields", {})]
    return tuple(dotted((*path[:-1], name)) for name in dict.fromkeys(names))


def _column_name(path: Path, resolved: Resolved) -> str:
    """Return the name of the column that a path leads into where columns are a list; empty elsewhere."""
    if path[:2] != ("dataset", "columns") or len(path) < 3 or not isinstance(path[2], int):
        return ""
    column = get(resolved.plain, path[:3]) if holds(resolved.plain, path[:3]) else None
    name = column.get("name") if isinstance(column, dict) else None
    return name if isinstance(name, str) else ""


def shown(value: Any) -> str:
    """Return a configured value as it is told in a sentence."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict | list):
        kind = "mapping" if isinstance(value, dict) else "list"
        return f"a {kind}" if value else f"an empty {kind}"
    text = repr(value)
    return text if len(text) <= LONG else f"{text[:LONG]}..."


def _sort(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    return "a number" if isinstance(value, int | float) else shown(value)
