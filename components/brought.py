"""Code that a run works with and that is not this project's: what it is, who brought it, and what its source was."""

import sys
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from components.registry import Entry, load

NAMING = ("component", "checks", "precheck", "check_given")
"""What of a declaration names code, as ``"module:attribute"``."""

FOLDERS = frozenset({"components", "runner", "schemas"})
"""Packages of this project: a declaration of others may name code of ours."""


@dataclass(frozen=True, slots=True)
class Brought:
    """One such piece, as the record lists it.

    Parameters
    ----------
    kind : str
        A kind of component, ``torch_module`` or ``callable``.
    name : str
        Registered name, or that of the function.
    module : str
        Python module; of a file that is run as it stands, its path as given.
    sha256 : str or None
        Digest of the source file; None where there is none, as of compiled code.
    distribution, version : str or None
        Who brought it; None for a file of the user's.
    """

    kind: str
    name: str
    module: str
    sha256: str | None
    distribution: str | None = None
    version: str | None = None


def component_code(entry: Entry) -> list[Brought]:
    """Return what the record says of a registered component of others: each module of theirs once.

    First that of the declaration, and then those of the code that it names, where it is not ours. None of the latter
    is imported for this. What these modules import is left aside.
    """
    declared = load(entry.declaration)
    named = [entry.declaration, *(getattr(declared, name, "") for name in NAMING)]
    modules = dict.fromkeys(text.partition(":")[0] for text in named if text)
    who = (entry.distribution, entry.version or None)
    return [
        Brought(entry.kind, entry.name, module, source_digest(module), *who)
        for module in modules
        if module.partition(".")[0] not in FOLDERS
    ]


def source_digest(module: str) -> str | None:
    """Return the digest of the file that a module was, or will be, read from; None where there is no Python text.

    It is read here, also of a module that is imported already: the digest is of what stands there now.
    """
    path = getattr(sys.modules[module], "__file__", None) if module in sys.modules else _found(module)
    if not path or not path.endswith(".py"):
        return None
    try:
        return sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def _found(module: str) -> str | None:
    with suppress(Exception):  # a package of others may raise anything, and will again when the module is used
        spec = find_spec(module)
        return spec.origin if spec else None
    return None
