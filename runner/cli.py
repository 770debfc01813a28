"""From a command line to an exit code."""

import os
import sys
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from components.registry import OURS, ignored
from runner.commandline import Command, read
from runner.outcome import INTERRUPTED, guarded, say
from schemas.faults import ConfigurationError


def command(argv: list[str]) -> int:
    """Do what a command line asks for and return the exit code.

    Parameters
    ----------
    argv : list of str
        Without the program's name.
    """
    debug = any(text.lstrip("+") == "debug=true" for text in argv)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  # open to the end
    try:
        code = guarded(lambda: _dispatch(read(argv)), debug=debug)
    except BrokenPipeError:
        code = INTERRUPTED
    with suppress(OSError):
        sys.stdout.flush()
        return code
    # Whoever was reading has left, or has no room: what was done stands, and Python's own flush must not complain.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _dispatch(asked: Command) -> int:
    flags = asked.flags
    if flags.version:
        say(f"{OURS} {version(OURS)} (Hydra {version('hydra-core')})\n")
        return 0
    if not flags.shell_completion:
        _warn_of_ignored()
    if flags.help:
        return _help(asked)
    if flags.hydra_help or flags.cfg or flags.info or flags.shell_completion:
        return _show(asked)
    if asked.verb == "list":
        return _list(asked)
    if flags.multirun or "hydra.mode=MULTIRUN" in asked.overrides:
        return _sweep(asked)
    return _single(asked)


def _warn_of_ignored() -> None:
    for entry in ignored():
        sys.stderr.write(
            f"warning: the {entry.kind} {entry.name!r} of the distribution {entry.distribution} is ignored: "
            f"the name is taken\n"
        )


def _help(asked: Command) -> int:
    """Print the help; faults of the overrides that came with it are told after it."""
    from runner.compose import compose_draft
    from runner.help import help_text
    from runner.options import find_options

    program = "python -m runner" if Path(sys.argv[0]).name == "__main__.py" else OURS
    say(help_text(find_options(asked.flags.config_dir, asked.flags.config_name), program))
    sys.stdout.flush()
    made = compose_draft(asked.overrides, asked.flags.config_dir, asked.flags.config_name)
    if made.faults:
        raise ConfigurationError(made.faults)
    return 0


def _show(asked: Command) -> int:
    from runner import show

    flags = asked.flags
    if flags.hydra_help:
        return show.hydra_help(asked)
    if flags.cfg:
        return show.cfg(asked)
    return show.info(asked) if flags.info else show.shell_completion(asked)


def _list(asked: Command) -> int:
    from runner.compose import compose_run
    from runner.listing import list_runs

    composed = compose_run(asked.overrides, asked.flags.config_dir, asked.flags.config_name)
    return list_runs(composed.base / composed.config.output.dir)


def _sweep(asked: Command) -> int:
    from runner.sweep import sweep

    return sweep(asked)


def _single(asked: Command) -> int:
    """Plan or do one run."""
    from runner.compose import compose_run

    composed = compose_run(asked.overrides, asked.flags.config_dir, asked.flags.config_name)
    if composed.multirun:
        return _sweep(asked)
    config = composed.config

    def act() -> int:
        if asked.verb == "plan":
            from runner.plan import plan

            return plan(composed)
        from runner.pipeline import run

        return run(composed)

    return guarded(act, debug=config.debug, show_values=config.show_values, secrets=composed.secrets)
