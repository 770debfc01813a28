"""What can be reached from an object, for tests of who holds what."""

import gc
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType

OPAQUE = (type, BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType)
"""Through these everything is reachable from everywhere."""


def reached(start: object) -> Iterator[object]:
    """Yield every object that can be got at from one."""
    seen: dict[int, object] = {}
    waiting = [start]
    while waiting:
        each = waiting.pop()
        if id(each) not in seen and not isinstance(each, OPAQUE):
            seen[id(each)] = each
            yield each
            waiting += gc.get_referents(each)
