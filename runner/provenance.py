"""Where each setting comes from: the last file or override that sets it."""

from dataclasses import dataclass
from typing import Any

from hydra._internal.defaults_list import DefaultsList
from hydra.core.override_parser.types import Override
from omegaconf import OmegaConf

from runner.options import ConfigFile, Options
from runner.tree import Path, deepest, dotted, get, walk


@dataclass(frozen=True, slots=True)
class Layer:
    """One file or override, as the plain tree that it lays over those before it."""

    label: str
    tree: Any
    from_override: bool = False
    shipped: bool = False


def layers(options: Options, defaults: DefaultsList, overrides: list[Override]) -> list[Layer]:
    """Return the layers of a composed configuration, in the order in which they were laid.

    Parameters
    ----------
    options : Options
        Where the files are.
    defaults : DefaultsList
        The files that took part.
    overrides : list of Override
        Those of values; choices of groups show in the files.
    """
    found: list[Layer] = []
    for default in defaults.defaults:
        if default.config_path is None or default.config_path.startswith("hydra/"):
            continue
        loaded = options.repository.load_config(default.config_path)
        if loaded is None:
            continue
        package = default.package if default.package is not None else loaded.header["package"]
        tree: Any = OmegaConf.to_container(loaded.config, resolve=False)
        for part in reversed((package or "").split(".") if package and package != "_global_" else []):
            tree = {part: tree}
        label = options.label(default.config_path)
        found.append(Layer(label, tree, shipped=label.startswith("conf/")))
    for override in overrides:
        value: Any = None if override.is_delete() else override.value()
        for key in reversed(override.key_or_group.split(".")):
            value = {int(key) if key.isdigit() else key: value}
        found.append(Layer(str(override.input_line), value, from_override=True))
    return found


def origin(found: list[Layer], path: Path) -> Layer | None:
    """Return the layer that sets `path`, or else the nearest node above it; None when none does."""
    while path:
        for layer in reversed(found):
            depth = deepest(layer.tree, path)
            # An ancestor that is set to a value, or given anew as a list, settles what is below it too.
            settled = depth > 0 and not isinstance(get(layer.tree, path[:depth]), dict)
            if depth == len(path) or settled:
                return layer
        path = path[:-1]
    return None


def source_of(found: list[Layer], path: Path) -> str:
    """Return the label of the layer that sets `path`; empty when none does."""
    layer = origin(found, path)
    return layer.label if layer else ""


def sources(found: list[Layer], tree: Any) -> dict[str, str]:
    """Return the source of every leaf of a plain tree, by its dotted path."""
    leaves = (path for path, value in walk(tree) if not value or not isinstance(value, dict | list))
    return {dotted(path): source_of(found, path) for path in leaves}


def files(options: Options, defaults: DefaultsList) -> tuple[ConfigFile, ...]:
    """Return the configuration files that took part, with their digests, in the order in which they were laid."""
    paths = (default.config_path for default in defaults.defaults)
    digests = (options.digest(path) for path in paths if path and not path.startswith("hydra/"))
    return tuple(file for file in digests if file)


def choices(defaults: DefaultsList) -> dict[str, str]:
    """Return the option chosen in each group, Hydra's own left out."""
    chosen = defaults.overrides.known_choices
    return {
        group: option
        for group, option in sorted(chosen.items())
        if option and not group.split("@")[0].startswith("hydra/")
    }
