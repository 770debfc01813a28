"""Composing and checking one run: the way in for the command line, for sweeps and for notebooks."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import replace as replaced
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import OmegaConf

from components.registry import Entry, entries
from runner.draft import Draft, draft
from runner.interrupts import heeded
from runner.joined import SECTIONS
from runner.options import ConfigFile
from runner.provenance import sources
from runner.secrets import mask, mask_tree, secrets_in
from runner.tree import resolve
from runner.validate import validate
from schemas.faults import ConfigurationError, Fault
from schemas.run_config import RunConfig


@dataclass(frozen=True)
class Composed:
    """One run's configuration, composed and without fault on level 1.

    Parameters
    ----------
    config : RunConfig
        Typed; each section is an instance of its component's declaration.
    resolved : dict
        The same as plain containers, interpolations resolved; secrets stand in it.
    as_written : str
        YAML of the tree with its interpolations; secrets masked.
    choices : dict of str to str
        The option chosen in each group.
    files : tuple of ConfigFile
        The configuration files that took part.
    overrides : tuple of str
        As typed.
    sources : dict of str to str
        The file or override that each setting came from, by its dotted path.
    base : Path
        The folder that relative paths refer to.
    plugins : tuple of Entry
        The third-party components that the configuration names.
    secrets : tuple of str
        Texts that must not be written or printed, longest first.
    multirun : bool
        A file asks for a sweep (``hydra.mode: MULTIRUN``).
    """

    config: RunConfig
    resolved: dict[str, Any]
    as_written: str
    choices: dict[str, str]
    files: tuple[ConfigFile, ...]
    overrides: tuple[str, ...]
    sources: dict[str, str]
    base: Path
    plugins: tuple[Entry, ...]
    secrets: tuple[str, ...]
    multirun: bool = False


@heeded()
def compose_run(
    overrides: list[str] | tuple[str, ...] = (),
    config_dir: str | Path | None = None,
    config_name: str | None = None,
) -> Composed:
    """Compose one run and check all that configuration alone decides.

    Parameters
    ----------
    overrides : sequence of str
        As on the command line: ``group=option``, ``key=value``, ``~group``, ...
    config_dir : str or Path, optional
        A folder with options of your own.
    config_name : str, optional
        Configuration to begin with instead of ``config``.

    Returns
    -------
    Composed

    Raises
    ------
    ConfigurationError
        With every fault found.
    """
    made = compose_draft(overrides, config_dir, config_name)
    with hydra_known(made):
        config, resolved, faults = validate(made)
    hidden = secrets_in(resolved.raw, resolved.plain, overrides)
    faults = [*made.faults, *faults]
    if faults or config is None:
        raise ConfigurationError(masked(faults, hidden))
    return Composed(
        config=config,
        resolved=resolved.plain,
        as_written=OmegaConf.to_yaml(OmegaConf.create(mask_tree(resolved.raw, hidden))),
        choices=made.choices(),
        files=made.files(),
        overrides=tuple(overrides),
        sources=sources(made.layers, resolved.raw),
        base=Path.cwd(),
        plugins=_plugins(config),
        secrets=hidden,
        multirun=made.config.hydra.mode == RunMode.MULTIRUN,
    )


def compose_draft(
    overrides: list[str] | tuple[str, ...],
    config_dir: str | Path | None = None,
    config_name: str | None = None,
) -> Draft:
    """Compose without checking; faults of the command line are in the draft, or raised when nothing can be made of it.

    Raises
    ------
    ConfigurationError
        Nothing can be composed.
    """
    try:
        return draft(list(overrides), config_dir, config_name)
    except ConfigurationError as error:
        raise ConfigurationError(masked(error.faults, secrets_in({}, {}, overrides))) from None


def draft_secrets(made: Draft, overrides: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    """Return the secret texts of a draft, longest first."""
    with hydra_known(made):
        resolved = resolve(made.tree())
    return secrets_in(resolved.raw, resolved.plain, overrides)


def masked(faults: list[Fault] | tuple[Fault, ...], hidden: tuple[str, ...]) -> list[Fault]:
    """Return faults, each once, with the secrets in their sentences masked."""
    told = (
        replaced(
            fault,
            place=mask(fault.place, hidden),
            problem=mask(fault.problem, hidden),
            allowed=mask(fault.allowed, hidden),
            remedy=mask(fault.remedy, hidden),
            source=mask(fault.source, hidden),
        )
        for fault in faults
    )
    return list(dict.fromkeys(told))


@contextmanager
def hydra_known(made: Draft) -> Iterator[None]:
    """Let ``${hydra:...}`` resolve; inside a sweep's job Hydra's own answer stays."""
    if HydraConfig.initialized():
        yield
        return
    HydraConfig.instance().set_config(made.config)
    try:
        yield
    finally:
        HydraConfig.instance().cfg = None


def _plugins(config: RunConfig) -> tuple[Entry, ...]:
    """Return the third-party components that a configuration names."""
    named = [entries(section)[getattr(config, section).name] for section in SECTIONS]
    named.append(entries("source")[config.dataset.source.name])
    return tuple(entry for entry in named if entry.version or entry.distribution == "unknown")
