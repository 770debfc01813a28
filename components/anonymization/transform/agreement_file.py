"""Read ``transformation.json``, which another site may have written: nothing of it is taken on trust."""

import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from components.anonymization.transform.agreement import FORMAT, VERSION, Agreement, contradictions
from components.data.files import no_file
from schemas.faults import ConfigurationError, Fault
from schemas.wording import shown

LARGEST_FILE = 32 * 2**20
"""Bytes that a transformation may have: a level, a digest or a bound a column take a few hundred each, a box a few."""

MOST_FAULTS = 20
_LONGEST_KEY = 60


def read_agreement(path: str, base: Path) -> tuple[Agreement, str]:
    """Read ``transformation.json``.

    Parameters
    ----------
    path : str
        Relative to `base`, or absolute.
    base : Path

    Returns
    -------
    agreement : Agreement
    digest : str
        SHA-256 of the file's bytes.

    Raises
    ------
    ConfigurationError
        The file isn't there, is no JSON (a key that stands twice and NaN are none), is of another version, or says
        what no transformation can: with all faults, the first twenty in words.
    """
    data = _bytes(path, base / path)
    content = _parsed(path, data)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ConfigurationError(_no_agreement(path, f'it doesn\'t begin as one does, with "format": "{FORMAT}"'))
    if content.get("version") != VERSION or isinstance(content["version"], bool):
        raise ConfigurationError(
            Fault(
                f"{path}: version",
                "is another version of the format",
                f"this program reads version {VERSION}",
                "write it anew with this program",
            )
        )
    try:
        agreement = Agreement.model_validate(content)
    except ValidationError as error:
        raise ConfigurationError(list(_in_words(path, error))) from None
    if faults := list(contradictions(path, agreement)):
        raise ConfigurationError(_first(path, faults))
    return agreement, sha256(data).hexdigest()


def _bytes(path: str, file: Path) -> bytes:
    problem = no_file(file)
    try:
        if not problem:
            with file.open("rb") as stream:
                data = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        problem = f"can't be read: {error.strerror or type(error).__name__}"
    if problem:
        raise ConfigurationError(
            Fault(
                "anonymization.path",
                f"the file {shown(path)}: {problem}",
                "transformation.json of an earlier run",
                "name an existing file",
            )
        )
    if len(data) > LARGEST_FILE:
        raise ConfigurationError(_no_agreement(path, f"it is larger than {LARGEST_FILE // 2**20} MB"))
    return data


def _parsed(path: str, data: bytes) -> Any:
    """Parse JSON; what is written twice, or is no number, would be taken one way here and another way elsewhere."""
    try:
        return json.loads(data.decode(), parse_constant=_refuse_constant, object_pairs_hook=_refuse_twice)
    except UnicodeDecodeError:
        raise ConfigurationError(_no_agreement(path, "it is no UTF-8 text")) from None
    except RecursionError:
        raise ConfigurationError(_no_agreement(path, "it is nested too deeply")) from None
    except ValueError as error:  # json.JSONDecodeError and whole numbers of thousands of digits, too
        where = f"it is no JSON at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else str(error)
        known = where if isinstance(error, json.JSONDecodeError | _NotJsonError) else "a number in it is too long"
        raise ConfigurationError(_no_agreement(path, known)) from None


class _NotJsonError(ValueError):
    """What Python's JSON reader would let pass."""


def _refuse_constant(_: str) -> object:
    raise _NotJsonError("it holds NaN or an infinity, which are no JSON")


def _refuse_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _NotJsonError("a key stands twice in one object of it")
    return found


def _no_agreement(path: str, why: str) -> Fault:
    return Fault(
        "anonymization.path",
        f"{shown(path)} is no transformation: {why}",
        "transformation.json of an earlier run",
        "take the file as a run wrote it",
    )


def _in_words(path: str, error: ValidationError) -> Iterator[Fault]:
    """Turn pydantic's errors into faults that name places, and nothing of what stands there but keys."""
    details = error.errors(include_input=False, include_context=False, include_url=False)
    faults = [Fault(f"{path}: {_place(detail['loc'])}", _problem(detail["type"], detail["msg"])) for detail in details]
    yield from _first(path, faults)


def _place(location: Sequence[str | int]) -> str:
    tagged = len(location) > 2 and location[0] in {"steps", "criteria"}  # pydantic puts a union's tag in
    keys = [str(key) for number, key in enumerate(location) if not (tagged and number == 2)]
    return ".".join(shown(key[:_LONGEST_KEY])[1:-1] for key in keys)


def _problem(kind: str, message: str) -> str:
    plain = {"extra_forbidden": "is no key of a transformation", "missing": "is missing"}
    return plain.get(kind, f"is not allowed: {message[:1].lower()}{message[1:]}")


def _first(path: str, faults: Sequence[Fault]) -> list[Fault]:
    more = len(faults) - MOST_FAULTS
    rest = [Fault(path, f"{more} more faults", remedy="take the file as a run wrote it")] if more > 0 else []
    return [*faults[:MOST_FAULTS], *rest]
