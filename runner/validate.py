"""Level 1 of the check: the whole tree against its types, then the rules between its sections, every fault told."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel, ValidationError

from runner.draft import Draft
from runner.expected import field_at
from runner.joined import SECTIONS, joined
from runner.keys import target, unknown
from runner.provenance import source_of
from runner.rules import Facts, broken_rules
from runner.suggest import did_you_mean, nearest_path
from runner.translate import Trouble, troubles
from runner.tree import Path, Resolved, dotted, get, holds, references, resolve, walk
from schemas.faults import Fault
from schemas.run_config import RunConfig


def validate(draft: Draft) -> tuple[RunConfig | None, Resolved, list[Fault]]:
    """Check a composed tree.

    Parameters
    ----------
    draft : Draft
        Its own faults are not repeated.

    Returns
    -------
    tuple
        The configuration (None when it has a fault), the resolved tree, and all faults found.
    """
    resolved = resolve(draft.tree())
    faults = [*_targets(resolved, draft), *_missing(resolved, draft), *_broken(resolved, draft)]
    model, unnamed = joined(resolved.plain)
    unusable = resolved.unusable()
    found = [
        Trouble(tuple(place.split(".")), fault.problem, fault.allowed, fault.remedy) for place, fault in unnamed.items()
    ]
    config: RunConfig | None = None
    try:
        config = model.model_validate(resolved.plain)
    except ValidationError as error:
        found += troubles(error, model, resolved)
    found = [trouble for trouble in found if not _explained(trouble, resolved, unusable, draft)]
    found = _first_causes(found, resolved)
    known = [dotted(path) for path, _ in walk(resolved.raw) if field_at(model, path)]
    faults += [_fault(trouble, known, resolved, draft) for trouble in found]
    told = {trouble.path for trouble in found} | unusable
    run, unsure = (config, draft.unsure) if config and not unnamed else _stand_in(model, resolved, told, draft.unsure)
    facts = Facts(run, resolved, draft.layers, frozenset(_columns(told, resolved)), draft.chosen())
    faults += [
        replace(fault, source=source_of(draft.layers, tuple(fault.place.split("."))))
        for fault in broken_rules(facts, unsure)
        if fault.place not in map(dotted, told)
    ]
    return (None if faults else config), resolved, faults


def _targets(resolved: Resolved, draft: Draft) -> list[Fault]:
    return [
        target(dotted(path), source_of(draft.layers, path))
        for path, _ in walk(resolved.raw)
        if path[-1] == "_target_" and path[0] not in draft.unsure
    ]


def _missing(resolved: Resolved, draft: Draft) -> list[Fault]:
    return [
        Fault(
            place=dotted(path),
            problem="a value must be given",
            remedy=f"set it with {dotted(path)}=...",
            source=source_of(draft.layers, path),
        )
        for path in resolved.missing
        if path[0] not in draft.unsure
    ]


def _broken(resolved: Resolved, draft: Draft) -> list[Fault]:
    """Return a fault for each interpolation that leads nowhere, but for those that only lead to another such one."""
    ends = {path: references(get(resolved.raw, path), path) for path in resolved.broken}
    sure = [path for path in ends if not any(place[0] in draft.unsure for place in (path, *ends[path]))]
    first = [path for path in sure if not ends[path] & (ends.keys() - {path})]
    known = [dotted(path) for path, _ in walk(resolved.raw)]
    faults = []
    for path in first or sure:  # where each only leads to another they go round in a circle
        nowhere = sorted(dotted(end) for end in ends[path] if not holds(resolved.raw, end))
        remedy = did_you_mean(nearest_path(nowhere[0], known)) if nowhere else _advice(resolved.broken[path])
        if not first or path in ends[path]:
            remedy = "it leads back to itself"
        problem = f"{get(resolved.raw, path)} {'leads nowhere' if nowhere else 'can not be resolved'}"
        faults.append(Fault(dotted(path), problem, remedy=remedy, source=source_of(draft.layers, path)))
    return faults


def _advice(error: OmegaConfBaseException) -> str:
    message = str(error).strip().splitlines()[0]
    if "oc.env" in message or "Environment variable" in message:
        return "set that environment variable, or give a default: ${oc.env:NAME,default}"
    return message


def _explained(trouble: Trouble, resolved: Resolved, unusable: set[Path], draft: Draft) -> bool:
    """Tell whether a trouble is only the shadow of something that is told already."""
    if not trouble.path or trouble.path[0] in draft.unsure or trouble.path[-1] == "_target_":
        return True
    # A list keeps a null where a value is missing, and a mapping lacks its key.
    return any(trouble.path[: len(path)] == path for path in unusable) or _points_at(trouble.path, resolved, unusable)


def _points_at(path: Path, resolved: Resolved, others: set[Path]) -> bool:
    """Tell whether the value at `path`, or around it, is taken by an interpolation from one of `others`."""
    for depth in range(1, len(path) + 1):
        if not holds(resolved.raw, path[:depth]):
            return False
        ends = references(get(resolved.raw, path[:depth]), path[:depth])
        if any(end[: len(other)] == other or other[: len(end)] == end for end in ends for other in others):
            return True
    return False


def _first_causes(found: list[Trouble], resolved: Resolved) -> list[Trouble]:
    """Leave out the troubles of values that an interpolation takes from a faulty one."""
    paths = {trouble.path for trouble in found}
    return [trouble for trouble in found if not _points_at(trouble.path, resolved, paths - {trouble.path})]


def _fault(trouble: Trouble, known: list[str], resolved: Resolved, draft: Draft) -> Fault:
    place, source = dotted(trouble.shown()), source_of(draft.layers, trouble.path)
    if trouble.unknown:
        return unknown(place, source, [*trouble.known, *known], _component(trouble.path, resolved))
    return Fault(place, trouble.problem, trouble.allowed, trouble.remedy, source)


def _component(path: Path, resolved: Resolved) -> str:
    """Return the component or hierarchy that the section around `path` names, in words; empty outside of such."""
    around = path[:-1] if path[-2:-1] == ("hierarchy",) else path[:2] if path[:2] == ("dataset", "source") else path[:1]
    if len(path) != len(around) + 1 or around[-1] not in (*SECTIONS, "source", "hierarchy"):
        return ""
    section = get(resolved.plain, around)
    return f"the {around[-1]} {section['name']}" if isinstance(section, dict) and "name" in section else ""


def _columns(told: set[Path], resolved: Resolved) -> Iterator[str]:
    """Yield the names of the columns that faulty values belong to."""
    for path in told:
        if path[:2] == ("dataset", "columns") and len(path) > 2:
            column = get(resolved.plain, path[:3]) if holds(resolved.plain, path[:3]) else None
            listed = isinstance(path[2], int) and isinstance(column, dict)
            yield str(column.get("name")) if listed and column else str(path[2])


def _stand_in(
    model: type[RunConfig], resolved: Resolved, told: set[Path], unsure: set[str]
) -> tuple[RunConfig, set[str]]:
    """Return a configuration without the faulty values, for the rules to be tried on, and the sections it lacks.

    A faulty value gives way to its default; a section that has no default for it is left out.
    """
    plain = resolved.plain
    for path in told:
        plain = _without(plain, path)
    sections: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            with suppress(ValidationError):
                sections[name] = kind.model_validate(plain.get(name))
    return RunConfig.model_construct(**sections), unsure | (model.model_fields.keys() - sections.keys())


def _without(tree: Any, path: Path) -> Any:
    """Return a copy of a plain tree without the node at `path`; entries of lists stay."""
    key, *rest = path
    if isinstance(tree, dict) and key in tree:
        if rest:
            return {**tree, key: _without(tree[key], tuple(rest))}
        return {name: value for name, value in tree.items() if name != key}
    if isinstance(tree, list) and isinstance(key, int) and rest and key < len(tree):
        return [_without(value, tuple(rest)) if index == key else value for index, value in enumerate(tree)]
    return tree
