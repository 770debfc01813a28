"""The options there are: ours in ``conf``, and the user's own, which add to them but can't replace them."""

import warnings
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import ClassVar

from hydra import version
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import CachingConfigRepository, ConfigRepository
from hydra._internal.defaults_list import DefaultsList
from hydra._internal.utils import create_config_search_path
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.object_type import ObjectType
from hydra.core.plugins import Plugins
from hydra.core.utils import setup_globals
from hydra.errors import HydraException
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.types import RunMode
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from schemas.faults import ConfigurationError, Fault

VERSION_BASE = "1.3"
PRIMARY = "config"
COMPOSING = (HydraException, OmegaConfBaseException, YAMLError, OSError, ValueError, AssertionError, RecursionError)
"""What Hydra lets escape while it composes."""

CONF = Path(__file__).resolve().parent.parent / "conf"


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A configuration file that took part in composing: its path as told to the user, and its digest."""

    path: str
    sha256: str


class _Lending(ConfigRepository):
    """Hydra's files, parsed once for as long as they stay as they are; whoever is lent one leaves it as it is."""

    parsed: ClassVar[dict[tuple[str, int, int], ConfigResult]] = {}

    def load_config(self, config_path: str) -> ConfigResult | None:
        """Return a file's content."""
        source = source_of(self.get_sources(), config_path)
        if source is None or source.scheme() not in {"file", "pkg"}:
            return super().load_config(config_path)
        key = (f"{config_path}\n{source.path}", 0, 0)  # what comes with a package stays as it is
        if source.scheme() == "file":
            state = _file_in(source, config_path).stat()
            key = (key[0], state.st_mtime_ns, state.st_size)
        if key not in self.parsed:
            loaded = super().load_config(config_path)
            if loaded is None:
                return None
            self.parsed[key] = loaded
        return self.parsed[key]


class _Giving(_Lending):
    """The same files, each for the caller to change at will, as composing does."""

    def load_config(self, config_path: str) -> ConfigResult | None:
        """Return a copy of a file's content."""
        return deepcopy(super().load_config(config_path))


def source_of(sources: list[ConfigSource], config_path: str) -> ConfigSource | None:
    """Return where a config path such as ``dataset/adult`` is found first; None when it is nowhere."""
    return next((source for source in sources if source.is_config(config_path)), None)


def file_of(sources: list[ConfigSource], config_path: str) -> Path | None:
    """Return the file behind a config path such as ``dataset/adult``; None when it is no file."""
    source = source_of(sources, config_path)
    return None if source is None or source.scheme() != "file" else _file_in(source, config_path)


def _file_in(source: ConfigSource, config_path: str) -> Path:
    name = config_path if config_path.endswith((".yaml", ".yml")) else f"{config_path}.yaml"
    return Path(source.path) / name


@dataclass(frozen=True)
class Options:
    """All groups with their options, and the loader that composes them.

    Parameters
    ----------
    loader : ConfigLoaderImpl
        Hydra's loader over ``conf`` and the user's folder.
    reader : ConfigLoaderImpl
        The same, for what takes part only: content that is composed has to be the loader's.
    repository : CachingConfigRepository
        The same files, to be asked what exists.
    config_dir : Path or None
        The user's own folder of options, as it was typed.
    primary : str
        Name of the configuration that composing begins with.
    """

    loader: ConfigLoaderImpl
    reader: ConfigLoaderImpl
    repository: CachingConfigRepository
    config_dir: Path | None
    primary: str

    def compose(self, overrides: list[str], mode: RunMode = RunMode.RUN) -> DictConfig:
        """Compose with Hydra; its own exceptions escape."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a missing _self_ is no news for the person who runs
            return self.loader.load_configuration(self.primary, overrides, mode, validate_sweep_overrides=False)

    def defaults(self, overrides: list[str]) -> DefaultsList:
        """Return the files that composing takes, in order, with the choices made."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return self.reader.compute_defaults_list(self.primary, overrides, RunMode.RUN)

    @cached_property
    def standard(self) -> dict[str, str]:
        """The option of each group unless another is chosen; empty where not even that can be composed."""
        return self.chosen([])

    def chosen(self, overrides: list[str]) -> dict[str, str]:
        """Return the option of each group where some are chosen; empty where that can't be composed."""
        try:
            return {group: option or "" for group, option in self.defaults(overrides).overrides.known_choices.items()}
        except COMPOSING:
            return {}

    def is_group(self, name: str) -> bool:
        """Tell whether there is a group of this name."""
        return bool(name) and bool(self.repository.group_exists(name))

    def names(self, group: str) -> list[str]:
        """Return the options of one group, sorted; Hydra's inner ones left out."""
        return [name for name in self.repository.get_group_options(group, ObjectType.CONFIG) if name[:1] != "_"]

    def groups(self, parent: str = "") -> list[str]:
        """Return all groups that hold an option, Hydra's own left out."""
        found: list[str] = []
        for name in self.repository.get_group_options(parent, ObjectType.GROUP):
            group = f"{parent}/{name}" if parent else name
            if group == "hydra" or name.startswith((".", "__")):
                continue
            if self.names(group):
                found.append(group)
            found += self.groups(group)
        return found

    def has(self, group: str, option: str) -> bool:
        """Tell whether `option` stands in `group` itself or in a folder below it."""
        folder, _, name = f"{group}/{option}".rpartition("/")
        inside = not any(part in {"", ".", ".."} for part in option.split("/"))
        return inside and self.is_group(folder) and name.removesuffix(".yaml") in self.names(folder)

    def file(self, config_path: str) -> Path | None:
        """Return the file behind a config path such as ``dataset/adult``; None when it is no file."""
        return file_of(self.repository.get_sources(), config_path)

    def label(self, config_path: str) -> str:
        """Return how a file is called in messages: ``conf/...`` for ours, else as near to what was typed as can be."""
        file = self.file(config_path)
        if file is None:
            return config_path
        if file.is_relative_to(CONF):
            return f"conf/{file.relative_to(CONF).as_posix()}"
        if self.config_dir is not None and file.is_relative_to(self.config_dir.absolute()):
            return (self.config_dir / file.relative_to(self.config_dir.absolute())).as_posix()
        return file.as_posix()

    def digest(self, config_path: str) -> ConfigFile | None:
        """Return the file behind a config path with its SHA-256; None when it is no file."""
        file = self.file(config_path)
        if file is None:
            return None
        return ConfigFile(self.label(config_path), sha256(file.read_bytes()).hexdigest())

    def taken(self, config_path: str) -> Fault | None:
        """Return a fault when the user's folder holds a file that one of ours hides."""
        if self.config_dir is None:
            return None
        theirs, ours = (folder / f"{config_path}.yaml" for folder in (self.config_dir, CONF))
        if not (theirs.is_file() and ours.is_file()) or theirs.samefile(ours):
            return None
        return Fault(
            place=theirs.as_posix(),
            problem=f"conf/{config_path}.yaml comes with the runner and can't be replaced",
            remedy="give your file another name",
        )


def find_options(config_dir: str | Path | None = None, primary: str | None = None, searchpath: str = "") -> Options:
    """Find all options.

    Parameters
    ----------
    config_dir : str or Path, optional
        The user's own folder of options; relative to the current folder.
    primary : str, optional
        Configuration to begin with instead of ``config``.
    searchpath : str, optional
        A ``hydra.searchpath=...`` override, when one was given.

    Raises
    ------
    ConfigurationError
        The folder or the primary configuration does not exist.
    """
    version.setbase(VERSION_BASE)
    setup_globals()
    Plugins.instance()  # registers the sources that files are read through
    path = create_config_search_path(str(CONF))
    folder = None if config_dir is None else Path(config_dir)
    if folder is not None:
        if not folder.is_dir():
            raise ConfigurationError(
                Fault(
                    place="--config-dir",
                    problem=f"{folder} is no folder",
                    allowed="a folder that holds groups, such as dataset/mine.yaml",
                )
            )
        # After ours and before the schemas: what comes first wins.
        path.prepend("command-line", f"file://{folder.absolute()}", SearchPathQuery(provider="schema"))
    loader, reader = ConfigLoaderImpl(path), ConfigLoaderImpl(path)
    loader.repository, reader.repository = _Giving(path), _Lending(path)
    primary = primary or PRIMARY
    extra = [searchpath] if searchpath else []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        _, repository = reader._parse_overrides_and_create_caching_repo(None, extra)  # noqa: SLF001
    options = Options(loader, reader, repository, folder, primary)
    if not repository.config_exists(primary):
        raise ConfigurationError(
            Fault(
                place="--config-name",
                problem=f"there is no {primary}.yaml",
                allowed=f"one of {', '.join(options.names(''))}",
            )
        )
    return options
