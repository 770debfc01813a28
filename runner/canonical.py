"""Canonical JSON (RFC 8785): equal content has equal bytes, and so an equal digest.

What JSON can't hold is brought to one stated form first: infinities and NaN become ``infinite``, ``-infinite`` and
``nan``; whole numbers that a double can't hold exactly become their digits as text; text that is no Unicode (bytes
of a command line or a file name) has its broken parts escaped with backslashes.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from hashlib import file_digest, sha256
from pathlib import Path, PurePath
from typing import Any

import rfc8785
from pydantic import BaseModel

SAFE_INTEGER = 2**53 - 1
"""Largest whole number that every JSON reader keeps (RFC 8785, section 3.2.2.3, after I-JSON)."""


def plain(value: object) -> Any:
    """Bring a value to dicts, lists, text, numbers, booleans and None.

    Parameters
    ----------
    value : object
        Mappings, sequences, sets (sorted), dataclasses, pydantic models, enums, dates, paths, scalars of NumPy and
        what JSON knows.

    Returns
    -------
    dict, list, str, int, float, bool or None

    Raises
    ------
    TypeError
        For any other type. Only the type is named: the value may be a person's.
    ValueError
        When two keys of a mapping become the same text.
    """
    if type(value) is str and value.isascii():  # most of all there is, looked at first for speed
        return value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, str | date | PurePath):
        return _text(value)
    if isinstance(value, int | float):
        return _number(value)
    return _collection(value)


def _text(value: str | date | PurePath) -> str:
    if isinstance(value, date):
        return value.isoformat()
    text = value.as_posix() if isinstance(value, PurePath) else str(value)
    return text.encode("utf-8", "backslashreplace").decode()


def _number(value: float) -> int | float | str:
    if isinstance(value, int):
        return int(value) if abs(value) <= SAFE_INTEGER else str(int(value))
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    return float(value)


def _collection(value: object) -> Any:
    if isinstance(value, BaseModel):
        return _mapping((name, getattr(value, name)) for name in type(value).model_fields)
    if is_dataclass(value) and not isinstance(value, type):
        return _mapping((field.name, getattr(value, field.name)) for field in fields(value))
    if isinstance(value, Mapping):
        return _mapping(value.items())
    if isinstance(value, set | frozenset):
        return sorted((plain(item) for item in value), key=rfc8785.dumps)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):  # a NumPy scalar, without importing NumPy
        return plain(value.item())
    raise TypeError(f"{type(value).__module__}.{type(value).__qualname__} has no canonical form")


def _mapping(pairs: Iterable[tuple[object, object]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, item in pairs:
        bare = plain(key)
        text = bare if isinstance(bare, str) else rfc8785.dumps(bare).decode()
        if text in result:
            raise ValueError("two keys of a mapping have the same text")
        result[text] = plain(item)
    return result


def dumps(value: object) -> bytes:
    """Return the canonical form of a value (see `plain` for what may stand in it)."""
    return rfc8785.dumps(plain(value))


def joined(parts: Mapping[str, bytes]) -> bytes:
    """Return the canonical form of an object whose members are in canonical form; their names are ASCII."""
    return b"{" + b",".join(rfc8785.dumps(name) + b":" + parts[name] for name in sorted(parts)) + b"}"


def loads(data: bytes) -> Any:
    """Parse JSON so that canonical input comes back to the same bytes by `dumps`.

    Raises
    ------
    ValueError
        When `data` is no UTF-8 or no JSON, holds NaN or Infinity, or has a key twice in one object.
    """
    return json.loads(
        data.decode("utf-8"), parse_int=_whole, parse_constant=_refuse_constant, object_pairs_hook=_refuse_twice
    )


def _whole(digits: str) -> int | float:
    # Canonical JSON writes the double 1e20 as a run of digits; only a double can have been meant by it.
    double = float(digits)
    if math.isinf(double):
        raise ValueError("a whole number is too large for a double")
    return double if abs(double) > SAFE_INTEGER else int(digits)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def _refuse_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return result


def digest(value: object) -> str:
    """Return the SHA-256 of the canonical form of a value, in hexadecimal."""
    return sha256(dumps(value)).hexdigest()


def digest_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal; the file is streamed."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def map_text(value: Any, change: Callable[[str], str]) -> Any:
    """Apply `change` to every text of a plain value but its keys."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: map_text(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [map_text(item, change) for item in value]
    return value
