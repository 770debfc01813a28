"""Passwords in the configuration, and how they are kept out of whatever is written or printed."""

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from runner.tree import walk

if TYPE_CHECKING:
    from runner.compose import Composed

MASK = "***"
SHORT = 4
"""Secrets with fewer characters are masked only where they are the whole text: as parts they'd be everywhere."""

# SQLAlchemy ends the password at the first @. One that holds an @ that should have been escaped is hidden whole all the
# same: up to the last @ of the text, and also where the scheme was lost.
_URL = re.compile(r"(?:[A-Za-z][\w+.\-]*)?://[^:/@\s]*:(\S*)@")
_PARAMETER = re.compile(r"(?i)(?:password|passwd|pwd|passphrase|token|secret|api_?key)(?:=|%3d)([^&;\s\"']+)")
_VARIABLE = re.compile(r"\$\{oc\.env:\s*['\"]?([^,}'\"]+?)['\"]?\s*[,}]")


def secrets(composed: "Composed") -> tuple[str, ...]:
    """Return the secret texts of a run: passwords in URLs and whatever came from an environment variable.

    Parameters
    ----------
    composed : Composed

    Returns
    -------
    tuple of str
        Longest first, for `mask`.
    """
    return composed.secrets


def secrets_in(raw: object, plain: object, overrides: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the secret texts of a tree as written (`raw`) and as resolved (`plain`), longest first."""
    found: set[str] = set()
    values = {path: value for path, value in walk(plain) if isinstance(value, str)}
    for path, text in walk(raw):
        if not isinstance(text, str) or "oc.env:" not in text:
            continue
        found.update(os.environ.get(name, "") for name in _VARIABLE.findall(text))
        if path in values and text.startswith("${") and text.endswith("}"):
            found.add(values[path])
    for text in (*values.values(), *(text for _, text in walk(raw) if isinstance(text, str)), *overrides):
        found.update(passwords(text))
    return tuple(sorted(found - {"", MASK}, key=lambda secret: (-len(secret), secret)))


def passwords(text: str) -> set[str]:
    """Return the passwords in the URLs of a text, as they are written and as they are meant."""
    in_urls = _URL.findall(text)
    found = {*in_urls, *(whole.partition("@")[0] for whole in in_urls), *_PARAMETER.findall(text)}
    return {secret for secret in (*found, *map(unquote, found)) if secret and not secret.startswith("${")}


def mask(text: str, secrets: Iterable[str]) -> str:
    """Return `text` with every secret replaced by ``***``.

    Parameters
    ----------
    text : str
    secrets : iterable of str
        As `secrets` returns them, longest first.
    """
    for secret in secrets:
        if text == secret:
            return MASK
        if len(secret) >= SHORT:
            text = text.replace(secret, MASK)
    # The part before and behind stay readable: only what a short password stands for in a URL goes.
    for pattern in (_URL, _PARAMETER):
        text = pattern.sub(_mask_group, text)
    return text


def _mask_group(match: re.Match[str]) -> str:
    if match[1].startswith("${"):
        return match[0]
    start, end = (position - match.start() for position in match.span(1))
    return match[0][:start] + MASK + match[0][end:]


def mask_tree(tree: Any, secrets: tuple[str, ...]) -> Any:
    """Return a plain tree with the secrets in all its texts replaced."""
    if isinstance(tree, dict):
        return {key: mask_tree(value, secrets) for key, value in tree.items()}
    if isinstance(tree, list):
        return [mask_tree(value, secrets) for value in tree]
    return mask(tree, secrets) if isinstance(tree, str) else tree
