"""Tables: sources, checks, encodings and splits. The heavy modules are imported when a name is first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from components.data.extract import Header, InputFact
    from components.data.order import canonical_order
    from components.data.reading import Reading, UnfitTableError, header, read
    from components.data.splitting import split
    from components.data.table import Split, Table

__all__ = [
    "Header",
    "InputFact",
    "Reading",
    "Split",
    "Table",
    "UnfitTableError",
    "canonical_order",
    "header",
    "read",
    "split",
]

_HOMES = {
    "Header": "extract",
    "InputFact": "extract",
    "canonical_order": "order",
    "Reading": "reading",
    "UnfitTableError": "reading",
    "header": "reading",
    "read": "reading",
    "split": "splitting",
    "Split": "table",
    "Table": "table",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
