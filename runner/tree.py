"""A composed configuration as a plain tree: every leaf resolved by itself, so that all that is wrong is found."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from omegaconf import Container, OmegaConf
from omegaconf.errors import InterpolationToMissingValueError, MissingMandatoryValue, OmegaConfBaseException

Path = tuple[str | int, ...]
"""Keys and list positions from the root down to a node."""

_REFERENCE = re.compile(r"\$\{(\.*)([A-Za-z_][\w\-]*(?:[.\[][\w\-\]]+)*)\}")


def dotted(path: Path) -> str:
    """Return a path as it is written on the command line."""
    return ".".join(str(part) for part in path)


def walk(tree: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every node of a plain tree with its path, parents first; the root itself is left out."""
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in pairs:
        yield (*path, key), value
        yield from walk(value, (*path, key))


def holds(tree: Any, path: Path) -> bool:
    """Tell whether a plain tree has a node at `path`."""
    return deepest(tree, path) == len(path)


def deepest(tree: Any, path: Path) -> int:
    """Return how many parts of `path` lead somewhere in a plain tree."""
    for depth, part in enumerate(path):
        inside = isinstance(tree, list) and isinstance(part, int) and 0 <= part < len(tree)
        if not inside and not (isinstance(tree, dict) and part in tree):
            return depth
        tree = tree[part]
    return len(path)


def get(tree: Any, path: Path) -> Any:
    """Return the node at `path` of a plain tree; ``KeyError`` or ``IndexError`` when there is none."""
    for part in path:
        tree = tree[part]
    return tree


def clash(under: Any, over: Any) -> Path | None:
    """Return the first place where one plain tree has a list and the other a mapping; None when there is none."""
    if isinstance(under, list | dict) and isinstance(over, list | dict) and type(under) is not type(over):
        return ()
    if not isinstance(under, dict) or not isinstance(over, dict):
        return None  # a list is laid over another as a whole
    for key, value in over.items():
        if key in under and (below := clash(under[key], value)) is not None:
            return (key, *below)
    return None


@dataclass
class Resolved:
    """What became of a tree's leaves.

    Parameters
    ----------
    plain : dict
        All that could be resolved, as plain containers and scalars.
    raw : dict
        The same tree with interpolations as they are written.
    missing : list of Path
        Leaves that are ``???``.
    broken : dict of Path to OmegaConfBaseException
        Interpolations that can't be resolved, with the reason.
    dependent : list of Path
        Interpolations that point at a missing value: the missing one is what is told.
    """

    plain: dict[str, Any]
    raw: dict[str, Any]
    missing: list[Path] = field(default_factory=list)
    broken: dict[Path, OmegaConfBaseException] = field(default_factory=dict)
    dependent: list[Path] = field(default_factory=list)

    def unusable(self) -> set[Path]:
        """Return the paths that have no value, for whatever reason."""
        return {*self.missing, *self.broken, *self.dependent}


def resolve(config: Container) -> Resolved:
    """Resolve a composed configuration leaf by leaf.

    Parameters
    ----------
    config : omegaconf.DictConfig
        The composed tree without Hydra's own section.

    Returns
    -------
    Resolved
    """
    raw: Any = OmegaConf.to_container(config, resolve=False)
    found = Resolved(plain={}, raw=raw)
    found.plain = _resolved(config, raw, (), found)
    return found


def _resolved(node: Any, raw: Any, path: Path, found: Resolved) -> Any:
    """Return the plain form of one container; what can't be resolved is left out and noted in `found`."""
    pairs = list(raw.items()) if isinstance(raw, dict) else list(enumerate(raw))
    plain: dict[Any, Any] = {}
    for key, value in pairs:
        here = (*path, key)
        if OmegaConf.is_missing(node, key):
            found.missing.append(here)
        elif OmegaConf.is_interpolation(node, key):
            try:
                plain[key] = _detached(node[key])
            except (InterpolationToMissingValueError, MissingMandatoryValue):
                found.dependent.append(here)
            except OmegaConfBaseException as error:
                found.broken[here] = error
        elif isinstance(value, dict | list):
            plain[key] = _resolved(node[key], value, here, found)
        else:
            plain[key] = node[key]
    # A list keeps its length: a position left out would move the others.
    return plain if isinstance(raw, dict) else [plain.get(position) for position in range(len(raw))]


def _detached(value: Any) -> Any:
    if not isinstance(value, Container):
        return value
    return OmegaConf.to_container(value, resolve=True, throw_on_missing=True)


def references(raw: object, path: Path) -> set[Path]:
    """Return the paths that an interpolation at `path` points at, absolute."""
    if not isinstance(raw, str):
        return set()
    found: set[Path] = set()
    for dots, text in _REFERENCE.findall(raw):
        parts = tuple(int(part) if part.isdigit() else part for part in re.split(r"[.\[\]]+", text) if part)
        # One leading dot is the container that holds the interpolation, each further one its parent.
        found.add((*path[: len(path) - len(dots)], *parts) if dots else parts)
    return found
