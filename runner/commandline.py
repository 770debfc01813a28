"""The command line: a verb first, or else Hydra's flags and overrides."""

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from runner.suggest import did_you_mean, nearest
from schemas.faults import ConfigurationError, Fault

VERBS: dict[str, str] = {
    "plan": "check everything, print the plan, write nothing",
    "list": "runs and sweeps with their headline figures",
}
INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")
_VERB = re.compile(r"[a-z][a-z-]*")


@dataclass(frozen=True)
class Command:
    """What was asked for.

    Parameters
    ----------
    verb : str
        ``run`` where none was given.
    overrides : tuple of str
    flags : argparse.Namespace
        Hydra's flags under Hydra's names.
    """

    verb: str
    overrides: tuple[str, ...]
    flags: argparse.Namespace


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Raise where argparse would print its usage and leave."""
        place, _, problem = message.rpartition(": ") if message.startswith("argument ") else ("", "", message)
        unknown = re.match(r"unrecognized arguments: (\S+)", message)
        remedy = ""
        if unknown:
            flags = [flag for action in self._actions for flag in action.option_strings]
            place, problem = unknown[1], "there is no such flag"
            remedy = did_you_mean(nearest(unknown[1].partition("=")[0], flags)) or "see --help"
        raise ConfigurationError(Fault(place.removeprefix("argument ") or "command line", problem, remedy=remedy))


def _parser() -> _Parser:
    """Return a parser of the flags that Hydra knows, but for those that would run a pickle or replace ``conf``."""
    parser = _Parser(prog="privacy-runner", add_help=False, allow_abbrev=False)
    parser.add_argument("overrides", nargs="*")
    for names in (("--help", "-h"), ("--hydra-help",), ("--version",), ("--resolve",), ("--run", "-r")):
        parser.add_argument(*names, action="store_true")
    parser.add_argument("--multirun", "-m", action="store_true")
    parser.add_argument("--shell-completion", "-sc", action="store_true")
    parser.add_argument("--cfg", "-c", choices=("job", "hydra", "all"))
    parser.add_argument("--package", "-p")
    parser.add_argument("--config-name", "-cn")
    parser.add_argument("--config-dir", "-cd")
    parser.add_argument("--info", "-i", nargs="?", const="all", choices=INFO)
    return parser


def read(arguments: Sequence[str]) -> Command:
    """Read the command line.

    Parameters
    ----------
    arguments : sequence of str
        Without the program's name.

    Raises
    ------
    ConfigurationError
        An unknown verb or flag, a verb that isn't first, or flags that exclude each other.
    """
    verb, rest = _verb(list(arguments))
    flags = _parser().parse_intermixed_args(_explicit_info(rest))
    for text in flags.overrides:
        if text in VERBS and not flags.shell_completion:
            raise ConfigurationError(Fault(text, "put the verb first", remedy=f"privacy-runner {text} ..."))
    _exclusive(flags)
    return Command(verb, tuple(flags.overrides), flags)


def _verb(arguments: list[str]) -> tuple[str, list[str]]:
    if not arguments or not _VERB.fullmatch(arguments[0]):
        return "run", arguments
    verb = arguments[0]
    if verb in VERBS:
        return verb, arguments[1:]
    similar = nearest(verb, [*VERBS, "help", "version"])
    raise ConfigurationError(
        Fault(
            place=verb,
            problem="there is no such verb",
            allowed=f"one of {', '.join(VERBS)}; or key=value for a run",
            remedy=did_you_mean(f"--{similar}" if similar in ("help", "version") else similar),
        )
    )


def _explicit_info(arguments: list[str]) -> list[str]:
    """Give a bare ``--info`` its value, so that it doesn't swallow the override behind it."""
    explicit: list[str] = []
    for here, following in zip(arguments, [*arguments, ""][1:], strict=True):
        explicit.append(here)
        if here in ("--info", "-i") and following not in INFO:
            explicit.append("all")
    return explicit


def _exclusive(flags: argparse.Namespace) -> None:
    asked = {
        "--run": flags.run,
        "--multirun": flags.multirun,
        "--cfg": flags.cfg,
        "--info": flags.info,
        "--shell-completion": flags.shell_completion,
    }
    given = [name for name, value in asked.items() if value]
    if len(given) > 1:
        raise ConfigurationError(Fault(" and ".join(given), "only one of these can be asked for at once"))
    if flags.resolve and not (flags.cfg or flags.help):
        raise ConfigurationError(Fault("--resolve", "goes with --cfg only"))
    if flags.package and not flags.cfg:
        raise ConfigurationError(Fault("--package", "goes with --cfg only"))
