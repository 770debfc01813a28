"""Code that a run works with and that is not this project's: what it is, who brought it, and what its source was."""

import sys
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from components.registry import Entry


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


def component(entry: Entry) -> Brought:
    """Return what the record says of a registered component, whose declaration is imported."""
    module = entry.declaration.partition(":")[0]
    return Brought(entry.kind, entry.name, module, source_digest(module), entry.distribution, entry.version or None)


def source_digest(module: str) -> str | None:
    """Return the digest of the file that an imported module was read from; None where there is no Python text.

    It is read again here: the digest is of what stands there now.
    """
    path = getattr(sys.modules.get(module), "__file__", None)
    if not path or not path.endswith(".py"):
        return None
    try:
        return sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None
