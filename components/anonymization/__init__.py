"""Anonymisation: criteria, methods, and measuring what a table discloses.

What is exported here is imported when it is first used: the declarations beside it must stay light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from components.anonymization.disclosure import Disclosure
    from components.anonymization.measurement import Measurement, measure
    from components.anonymization.release import Given, Release

__all__ = ["Disclosure", "Given", "Measurement", "Release", "measure"]

_HOMES = {
    "Disclosure": "disclosure",
    "Given": "release",
    "Measurement": "measurement",
    "Release": "release",
    "measure": "measurement",
}


def __getattr__(name: str) -> Any:
    """Import an exported name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
