"""Answers about the configuration that need no run: Hydra's own flags, with secrets masked."""

import argparse
import io
import logging
import os
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from typing import Any

from hydra._internal.hydra import Hydra
from hydra._internal.utils import get_args_parser
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from runner.commandline import VERBS, Command
from runner.compose import compose_draft, draft_secrets, hydra_known, masked
from runner.draft import Draft
from runner.keys import parts
from runner.options import PRIMARY, find_options
from runner.outcome import say
from runner.secrets import mask, mask_tree
from runner.suggest import did_you_mean, nearest_path
from runner.tree import Path, dotted, get, holds, walk
from schemas.faults import ConfigurationError, Fault


def cfg(command: Command) -> int:
    """Print the composed configuration (``--cfg``).

    Raises
    ------
    ConfigurationError
        Faults of the command line. Missing and mistyped values are shown as they are.
    """
    made, hidden = _draft(command)
    flags = command.flags
    config: Any = made.tree() if flags.cfg == "job" else made.config
    if flags.cfg == "hydra":
        config = OmegaConf.masked_copy(made.config, ["hydra"])
    if flags.resolve:
        config = config.copy()
        try:
            with hydra_known(made):
                OmegaConf.resolve(config)
        except OmegaConfBaseException as error:
            reason = str(error).strip().splitlines()[0]
            raise ConfigurationError(masked([Fault("--resolve", reason)], hidden)) from None
    plain = OmegaConf.to_container(config, resolve=False)
    say(_yaml(plain, flags, hidden))
    return 0


def _yaml(plain: Any, flags: argparse.Namespace, hidden: tuple[str, ...]) -> str:
    """Return the tree, or the section that ``--package`` names, as YAML."""
    heading = ""
    path: Path = ()
    if flags.package and flags.package != "_global_":
        path = parts(flags.package)
        if not holds(plain, path):
            similar = nearest_path(flags.package, (dotted(found) for found, _ in walk(plain)))
            raise ConfigurationError(Fault("--package", f"there is no {flags.package}", remedy=did_you_mean(similar)))
        heading = f"# @package {flags.package}\n"
    asked = mask_tree(get(plain, path), hidden)
    return heading + OmegaConf.to_yaml(asked) if isinstance(asked, dict | list) else f"{asked}\n"


def info(command: Command) -> int:
    """Print Hydra's account of files, defaults and plugins (``--info``)."""
    _, hidden = _draft(command)
    flags = command.flags
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        text = _said(lambda hydra: hydra.show_info(flags.info, _primary(flags), list(command.overrides)), flags)
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
    # In YAML a single quote inside single quotes is doubled.
    written = (*hidden, *(secret.replace("'", "''") for secret in hidden if "'" in secret))
    say("\n".join(mask(line, written) for line in text.splitlines()) + "\n")
    return 0


def hydra_help(command: Command) -> int:
    """Print Hydra's own help (``--hydra-help``)."""
    flags = command.flags
    say(_said(lambda hydra: hydra.hydra_help(_primary(flags), get_args_parser(), command.flags), flags))
    return 0


def shell_completion(command: Command) -> int:
    """Install, remove or answer tab completion (``--shell-completion``).

    A half-typed line is no fault: where it can't be completed nothing is said.
    """
    overrides = list(command.overrides)
    if not any(text.startswith("query=") for text in overrides):
        try:
            say(_said(lambda hydra: hydra.shell_completion(PRIMARY, overrides), command.flags))
        except ValueError as error:
            raise ConfigurationError(Fault("--shell-completion", str(error).strip().splitlines()[0])) from None
        return 0
    with suppress(HydraException, OmegaConfBaseException, ConfigurationError, ValueError, SystemExit, KeyError):
        program, *words = os.environ["COMP_LINE"].split(" ")
        if len(words) == 1:
            say(" ".join(verb for verb in VERBS if verb.startswith(words[0])) + "\n")
        verbless = words[1:] if len(words) > 1 and words[0] in VERBS else words
        os.environ["COMP_LINE"] = " ".join([program, *verbless])
        folder = next((words[i + 1] for i, word in enumerate(words[:-1]) if word in ("--config-dir", "-cd")), None)
        flags = argparse.Namespace(config_dir=folder)
        say(_said(lambda hydra: hydra.shell_completion(PRIMARY, overrides), flags))
    return 0


def _draft(command: Command) -> tuple[Draft, tuple[str, ...]]:
    made = compose_draft(command.overrides, command.flags.config_dir, command.flags.config_name)
    hidden = draft_secrets(made, command.overrides)
    if made.faults:
        raise ConfigurationError(masked(made.faults, hidden))
    return made, hidden


def _primary(flags: argparse.Namespace) -> str:
    return flags.config_name or PRIMARY


def _said(ask: Callable[[Hydra], None], flags: argparse.Namespace) -> str:
    """Return what Hydra prints when it is asked something."""
    options = find_options(flags.config_dir)
    heard = io.StringIO()
    try:
        with redirect_stdout(heard):
            ask(Hydra.create_main_hydra2("runner", options.loader.config_search_path))
    finally:
        GlobalHydra.instance().clear()
        HydraConfig.instance().cfg = None
    return heard.getvalue()
