"""A function out of a Python file of the user's: what runs is what was hashed."""

import ast
import sys
from collections.abc import Callable
from hashlib import sha256
from importlib.util import decode_source
from pathlib import Path
from symtable import symtable
from types import ModuleType
from typing import Any
from warnings import catch_warnings

from components.data.extract import InputFact
from components.data.files import NOT_FOUND, no_file
from schemas.faults import ConfigurationError, Fault

MAKERS = frozenset({"globals", "vars", "exec", "setattr"})
"""Names by which code may define others."""


def function_of(path: str, name: str) -> tuple[Callable[..., Any], InputFact]:
    """Run a file and return one of its functions.

    The file may import what is installed. It is run once more each time that it is asked for.

    Parameters
    ----------
    path : str
        Relative to the folder that the command was started in, or absolute.
    name : str
        Of the function.

    Returns
    -------
    function : callable
    fact : InputFact
        Size and digest of the very bytes that were run.

    Raises
    ------
    ConfigurationError
        No such file, no Python, no such function, or the file fails when it is run.
    """
    if fault := file_fault(path):
        raise ConfigurationError(fault)
    try:
        source = Path(path).read_bytes()
        module = _module(source, path)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever a file of the user's may raise
        raise ConfigurationError(_broken(path, error)) from None
    function = getattr(module, name, None)
    if not callable(function):
        raise ConfigurationError(_no_function(path, name))
    return function, InputFact(path, len(source), sha256(source).hexdigest(), rows=None, columns=None)


def file_fault(path: str) -> Fault | None:
    """Say why a path names no file that can be read."""
    problem = no_file(Path(path))
    if not problem:
        return None
    looked = f"looked in {Path.cwd()}" if problem == NOT_FOUND else "a single file is read"
    return Fault(f"file '{path}'", problem, looked, "set model.path to an existing file")


def function_fault(path: str, name: str) -> Fault | None:
    """Say why a file can't be read, is no Python, or defines no such name; it is parsed and not run.

    A file that makes names as it runs (by a star import, ``globals()`` and the like) has the benefit of the doubt.
    """
    if fault := file_fault(path):
        return fault
    try:
        source = Path(path).read_bytes()
        with catch_warnings(action="ignore"):  # their words can quote the source
            tree, names = ast.parse(source), symtable(decode_source(source), path, "exec")
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return _broken(path, error)
    if name in names.get_identifiers():
        symbol = names.lookup(name)
        if symbol.is_assigned() or symbol.is_imported():
            return None
    return None if any(map(_makes_names, ast.walk(tree))) else _no_function(path, name)


def _makes_names(node: ast.AST) -> bool:
    """Tell whether a piece of code may define names of the module that can't be read off it."""
    if isinstance(node, ast.ImportFrom):
        return any(alias.name == "*" for alias in node.names)
    if isinstance(node, ast.FunctionDef):
        return node.name == "__getattr__"
    return isinstance(node, ast.Global) or (isinstance(node, ast.Name) and node.id in MAKERS)


def _no_function(path: str, name: str) -> Fault:
    return Fault("model.function", f"'{path}' has no function {name}", remedy="name one it has")


def _broken(path: str, error: BaseException) -> Fault:
    line = getattr(error, "lineno", None)
    where = f", line {line}" if line else ""
    return Fault(f"file '{path}'{where}", f"can't be run ({type(error).__name__})", values=str(error))


def _module(source: bytes, path: str) -> ModuleType:
    """Run source text as a module of its own, under a name that no import can mean."""
    module = ModuleType(f"privacy_runner callable {sha256(source).hexdigest()}")
    module.__file__ = str(Path(path).absolute())
    sys.modules[module.__name__] = module  # dataclasses look their module up there
    exec(compile(source, path, "exec"), module.__dict__)  # noqa: S102  # it is what the user asked for
    return module
