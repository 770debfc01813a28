"""Keys of overrides, checked against the composed tree and against what the declarations know."""

from typing import Any

from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from runner.expected import expected, field_at
from runner.joined import joined
from runner.options import Options
from runner.suggest import did_you_mean, nearest, nearest_path
from runner.tree import Path, clash, deepest, dotted, get, holds, walk
from schemas.faults import Fault


def check(
    base: DictConfig, values: list[Override], unsure: set[str], options: Options
) -> tuple[list[Override], list[Fault]]:
    """Part the overrides whose key there is from those whose key there isn't.

    A key that a declaration knows counts as there, whether or not the files write it out. Adding with ``+`` makes no
    key known.

    Parameters
    ----------
    base : DictConfig
        The tree as the choices of groups make it.
    values : list of Override
        Overrides of values.
    unsure : set of str
        Sections that are not the ones that were meant: any key in them is let through unchecked, and left out.
    options : Options
        For the names of groups, which a mistyped key may have meant.

    Returns
    -------
    tuple
        The overrides to apply, and the faults.
    """
    tree: Any = OmegaConf.to_container(base, resolve=False)
    tree.pop("hydra", None)
    model, _ = joined(_with_names(tree, values))
    kept, faults = [], []
    for override in values:
        path = parts(override.key_or_group)
        if path and path[0] in unsure:
            continue
        fault = _fault(override, path, tree, model, options)
        if fault is None:
            kept.append(override)
        else:
            faults.append(fault)
    return kept, faults


def parts(key: str) -> Path:
    """Return a dotted key as a path."""
    return tuple(int(part) if part.isdigit() else part for part in key.split(".")) if key else ()


def _with_names(tree: dict[str, Any], values: list[Override]) -> dict[str, Any]:
    """Return the sections as far as the declaration is concerned: with the name that an override gives them."""
    named = {key: dict(value) if isinstance(value, dict) else value for key, value in tree.items()}
    for override in values:
        match parts(override.key_or_group):
            case (str(section), "name") if isinstance(named.get(section), dict):
                named[section]["name"] = override.value()
            case ("dataset", "source", "name") if isinstance(named.get("dataset"), dict):
                source = named["dataset"].get("source")
                named["dataset"]["source"] = {**(source if isinstance(source, dict) else {}), "name": override.value()}
    return named


def _fault(override: Override, path: Path, tree: Any, model: Any, options: Options) -> Fault | None:
    """Return what is wrong with the key of one override; None when nothing is."""
    key, text = override.key_or_group, str(override.input_line)
    if "_target_" in path:
        return target(key, text)
    if override.package is not None:
        groups = options.groups()
        return Fault(key, "there is no such group", f"one of {', '.join(groups)}", source=text)
    if holds(tree, path):
        return None if override.is_delete() else _misshapen(override, path, tree, model)
    if not override.is_delete() and _known(model, path, tree, adding=override.is_add() or override.is_force_add()):
        return None
    known = [*map(dotted, (found for found, _ in walk(tree))), *options.groups(), *_declared(model)]
    return unknown(key, text, [*_corrected(path, tree, model), *known])


def _misshapen(override: Override, path: Path, tree: Any, model: Any) -> Fault | None:
    """Return the fault of a list that is given where a mapping stands, or the other way round."""
    below = clash(get(tree, path), override.value())
    if below is None:
        return None
    here = (*path, *below)
    place = field_at(model, here, tree)
    return misshapen(here, get(tree, here), expected(*place) if place else "", str(override.input_line))


def misshapen(path: Path, under: Any, words: str, source: str) -> Fault:
    """Return the fault of a list that is laid over the mapping `under`, or of a mapping that is laid over a list.

    `words` say what the setting takes; where they allow both, only that of what stands there goes.
    """
    listed = isinstance(under, list)
    stands, given = ("a list", "a mapping") if listed else ("a mapping", "a list")
    return Fault(
        place=dotted(path),
        problem=f"{given} is not allowed",
        allowed=f"must be {words if words.startswith(stands) else stands}",
        remedy="put the entries in brackets: [..., ...]" if listed else "put keys and values in braces: {key: value}",
        source=source,
    )


def _known(model: Any, path: Path, tree: Any, *, adding: bool) -> bool:
    """Tell whether the declarations have a place for a key that the tree doesn't hold."""
    if field_at(model, path) is None:
        return False
    # A column is added on purpose, with +, or else its name is mistyped.
    inside = path[:2] == ("dataset", "columns") and len(path) > 2
    return not inside or adding or holds(tree, path[:3])


def _corrected(path: Path, tree: Any, model: Any) -> list[str]:
    """Return the path with its first wrong part put right, where the rest then leads somewhere."""
    depth = deepest(tree, path)
    around = get(tree, path[:depth])
    if depth == len(path) or not isinstance(around, dict):
        return []
    similar = nearest(str(path[depth]), map(str, around))
    right = (*path[:depth], similar, *path[depth + 1 :])
    return [dotted(right)] if similar and (holds(tree, right) or field_at(model, right)) else []


def _declared(model: Any) -> list[str]:
    """Return the keys directly inside the sections that the declarations know."""
    found = []
    for section, field in model.model_fields.items():
        inside = getattr(field.annotation, "model_fields", {})
        found += [section, *(f"{section}.{name}" for name in inside)]
    return found


def unknown(key: str, source: str, known: list[str], component: str = "") -> Fault:
    """Return the fault of a key that there isn't, in the section of `component` where it stands in one."""
    key = key or "''"
    problem = f"{component} has no such key" if component else "there is no such key"
    others = [other for other in known if other != key]  # another kind of mapping may have such a key
    return Fault(key, problem, remedy=did_you_mean(nearest_path(key, others)), source=source)


def target(place: str, source: str) -> Fault:
    """Return the fault of a ``_target_``."""
    return Fault(place, "_target_ is not allowed", remedy="choose a component by its registered name", source=source)
