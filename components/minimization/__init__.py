"""Data minimisation: how little of a person a fitted model needs, and what to ask for at the point of collection.

The heavy modules are imported when one of these names is first used, so that the declarations stay light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from components.minimization.contract import dumps, from_contract, load, read, to_contract
    from components.minimization.generalizer import Generalizer
    from components.minimization.personal.questions import Questions
    from components.minimization.transformers import GreedyMinimizer, TreeMinimizer

__all__ = [
    "Generalizer",
    "GreedyMinimizer",
    "Questions",
    "TreeMinimizer",
    "dumps",
    "from_contract",
    "load",
    "read",
    "to_contract",
]

_HOMES = {
    "Generalizer": "generalizer",
    "GreedyMinimizer": "transformers",
    "Questions": "personal.questions",
    "TreeMinimizer": "transformers",
    "dumps": "contract",
    "from_contract": "contract",
    "load": "contract",
    "read": "contract",
    "to_contract": "contract",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
