"""What Hydra and OmegaConf say when they can't compose, in one sentence that names the place."""

from hydra.errors import MissingConfigException
from omegaconf.errors import GrammarParseError
from omegaconf.grammar_parser import parse
from yaml import YAMLError, safe_load

from runner.options import Options
from runner.suggest import did_you_mean, nearest
from runner.tree import dotted, walk
from schemas.faults import Fault


def explained(error: BaseException, options: Options) -> Fault:  # one kind of error after the other
    """Say in one sentence why files could not be composed."""
    mark = getattr(error, "problem_mark", None)
    if isinstance(error, YAMLError):
        place = options.label(_config_path(str(mark.name), options)) if mark is not None else "configuration"
        line = f" at line {mark.line + 1}" if mark is not None else ""
        return Fault(place, f"this is no valid YAML{line}: {getattr(error, 'problem', None) or 'it cannot be read'}")
    if isinstance(error, MissingConfigException):
        return _missing(error, options)
    if isinstance(error, UnicodeDecodeError):
        return Fault("configuration", "a file is not UTF-8 text", "YAML in UTF-8")
    if isinstance(error, GrammarParseError) or isinstance(error.__cause__, GrammarParseError):
        return _unread_interpolation(options)
    if isinstance(error, RecursionError):
        return Fault("configuration", "a defaults list leads back to its own file, or a file is nested too deep")
    if isinstance(error, OSError):
        return Fault(
            str(error.filename or "configuration"),
            f"this file can't be read: {error.strerror}" if error.strerror else "a file holds no mapping of settings",
        )
    return Fault("configuration", first_line(error))


def _missing(error: MissingConfigException, options: Options) -> Fault:
    """Say which file or option there isn't, and where it was asked for."""
    asked = str(error.missing_cfg_file)
    inside = str(error).partition("'")[2].partition("'")[0] if str(error).startswith("In '") else ""
    known = list(error.options or [])
    group, _, option = asked.rpartition("/")
    return Fault(
        place=group if known else options.label(inside) if inside else "configuration",
        problem=f"there is no option {option!r}" if known else f"there is no {asked}",
        allowed=f"one of {', '.join(known)}" if known else "",
        remedy=did_you_mean(f"{group}={similar}" if (similar := nearest(option, known)) else ""),
    )


def _unread_interpolation(options: Options) -> Fault:
    """Find the text that Hydra took for an interpolation and could not read: its own error names neither."""
    problem, allowed = "this is no interpolation that can be read", "${key} with the dotted path of another setting"
    remedy = "close it, or write \\${ for a plain dollar sign and bracket"
    folder = options.config_dir
    for file in sorted(folder.rglob("*.yaml")) if folder is not None else ():
        try:
            content = safe_load(file.read_text(encoding="utf-8"))
        except (YAMLError, OSError, ValueError, RecursionError):
            continue  # told as what it is
        for path, text in walk(content):
            if isinstance(text, str) and "${" in text and not _parses(text):
                return Fault(dotted(path), problem, allowed, remedy, str(file))
    return Fault("configuration", problem, allowed, remedy)


def _parses(text: str) -> bool:
    try:
        parse(text)
    except GrammarParseError:
        return False
    return True


def _config_path(name: str, options: Options) -> str:
    for source in options.repository.get_sources():
        if source.scheme() == "file" and name.startswith(source.path):
            return name[len(source.path) :].lstrip("/")
    return name


def first_line(error: BaseException) -> str:
    """Return the first line of a library's message, with that of its cause where it has one."""
    causes = [error, error.__cause__] if error.__cause__ is not None else [error]
    lines = [str(cause).strip().splitlines()[0] for cause in causes if str(cause).strip()]
    return ": ".join(line.rstrip(".") for line in lines) or type(error).__name__
