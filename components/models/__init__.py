"""Models: one wrapper per framework behind one small interface.

The heavy modules are imported when one of these names is first used, so that the declarations stay light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from components.models.figures import Figure, utility
    from components.models.interface import Model, build, check
    from components.models.reference import reference_models
    from components.models.sklearn_model import load
    from components.models.target import Target

__all__ = ["Figure", "Model", "Target", "build", "check", "load", "reference_models", "utility"]

_HOMES = {
    "Figure": "figures",
    "Model": "interface",
    "Target": "target",
    "build": "interface",
    "check": "interface",
    "load": "sklearn_model",
    "reference_models": "reference",
    "utility": "figures",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
