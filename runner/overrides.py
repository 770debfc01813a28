"""Overrides as they are typed: read one by one, so that all that can't be read is told at once."""

import re
import shlex
from collections.abc import Iterator

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

from schemas.faults import Fault

_PARSER = OverridesParser.create()
_GRAMMAR = ("mismatched input", "extraneous input", "token recognition", "no viable alternative", "missing ")


def parse(texts: list[str]) -> tuple[list[Override], list[Fault]]:
    """Read overrides.

    Parameters
    ----------
    texts : list of str
        As typed: ``key=value``, ``+key=value``, ``~key``, ``group=option``, ...

    Returns
    -------
    tuple
        Those that can be read, and a fault for each of the others.
    """
    read: list[Override] = []
    faults: list[Fault] = []
    for text in texts:
        try:
            read.append(_PARSER.parse_override(text))
        except HydraException as error:
            faults.append(_unreadable(text, str(error)))
    return read, faults


def _readable(text: str) -> bool:
    try:
        _PARSER.parse_override(text)
    except HydraException:
        return False
    return True


def _unreadable(text: str, reason: str) -> Fault:
    """Say why an override can't be read, with the quoting that works, or where it belongs instead."""
    key, equals, value = text.partition("=")
    place = key or text or "''"
    if not equals and not text.startswith("~"):
        return Fault(place, "this is no override", "key=value, group=option, +key=value or ~key", source="command line")
    if not _readable(f"{key}=1"):
        return Fault(
            place,
            "such a key can't be given on the command line",
            "keys of plain letters, digits, '_' and '-', joined by dots",
            "set it in a YAML file of your own --config-dir",
            source=text,
        )
    if not any(sign in reason for sign in _GRAMMAR):
        return Fault(place, f"the value can't be read: {reason.splitlines()[0]}", source=text)
    working = quoted(key, value)
    remedy = f"quote it for the shell: {working}" if working else "set it in a YAML file of your own --config-dir"
    return Fault(place, "the value can't be read as it is written", remedy=remedy, source=text)


def quoted(key: str, value: str) -> str:
    """Return the override as it must be typed into a shell for `value` to be taken as text; ``""`` if none works.

    Elements of a plain list are quoted one by one. A list or mapping with brackets inside is better kept in YAML.
    """
    if value.startswith("[") and value.endswith("]"):
        if re.search(r"[\[\](){}\"']", value[1:-1]):
            return ""
        parts = [part.strip() for part in value[1:-1].split(",")]
        value = ",".join(part if _readable(f"{key}=[{part}]") else in_quotes(part) for part in parts)
        typed = f"{key}=[{value}]"
    elif value.startswith("{") and value.endswith("}"):
        return ""
    else:
        typed = f"{key}={in_quotes(value)}"
    return shlex.quote(typed) if _readable(typed) else ""


def in_quotes(text: str) -> str:
    """Return a text as the override grammar takes it whatever it holds."""
    # Backslashes mean themselves, but for those before a quote, the closing one too.
    escaped = re.sub(r'(\\*)("|\Z)', lambda match: match[1] * 2 + match[2].replace('"', r"\""), text)
    return f'"{escaped}"'


def choices(override: Override) -> Iterator[str]:
    """Yield the overrides that a sweep over several values stands for; itself where it is none."""
    if not override.is_sweep_override():
        yield str(override.input_line)
        return
    key = override.get_key_element()
    yield from (f"{key}={value}" for value in override.sweep_string_iterator())


def forced(override: Override) -> str:
    """Return the override in the form that sets a key whether or not the files wrote it out."""
    return "++" + str(override.input_line).lstrip("+")
