"""A function out of a Python file of the user's: what runs is what was hashed."""

import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from components.data.extract import InputFact
from components.data.files import NOT_FOUND, no_file
from schemas.faults import ConfigurationError, Fault


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
        line = getattr(error, "lineno", None)
        where = f", line {line}" if line else ""
        raise ConfigurationError(
            Fault(f"file '{path}'{where}", f"can't be run ({type(error).__name__})", values=str(error))
        ) from None
    function = getattr(module, name, None)
    if not callable(function):
        raise ConfigurationError(Fault("model.function", f"'{path}' has no function {name}", remedy="name one it has"))
    return function, InputFact(path, len(source), sha256(source).hexdigest(), rows=None, columns=None)


def file_fault(path: str) -> Fault | None:
    """Say why a path names no file that can be read."""
    problem = no_file(Path(path))
    if not problem:
        return None
    looked = f"looked in {Path.cwd()}" if problem == NOT_FOUND else "a single file is read"
    return Fault(f"file '{path}'", problem, looked, "set model.path to an existing file")


def _module(source: bytes, path: str) -> ModuleType:
    """Run source text as a module of its own, under a name that no import can mean."""
    module = ModuleType(f"privacy_runner callable {sha256(source).hexdigest()}")
    module.__file__ = str(Path(path).absolute())
    sys.modules[module.__name__] = module  # dataclasses look their module up there
    exec(compile(source, path, "exec"), module.__dict__)  # noqa: S102  # it is what the user asked for
    return module
