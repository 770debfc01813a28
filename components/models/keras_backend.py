"""Keras on the torch backend, unless the user chose another one."""

import os
import sys
from importlib.util import find_spec
from typing import Any

from components.models.engine import absent
from schemas.faults import ConfigurationError, Fault

VARIABLE = "KERAS_BACKEND"

BACKENDS = {"torch": "torch", "jax": "jax", "tensorflow": "tensorflow"}
"""Backends that can train, and the package that each needs."""


def backend_faults() -> list[Fault]:
    """Say why Keras can't start on its backend, without importing either."""
    chosen = os.environ.get(VARIABLE) or "torch"
    if "keras" in sys.modules:
        return []
    if chosen not in BACKENDS:
        return [Fault(VARIABLE, f"names the backend {chosen}", ", ".join(BACKENDS), f"unset {VARIABLE}")]
    if find_spec(BACKENDS[chosen]) is not None:
        return []
    remedy = "pip install 'privacy-runner[keras]'" if chosen == "torch" else f"unset {VARIABLE}, or set it to torch"
    return [Fault(VARIABLE, f"the backend {chosen} is not installed", remedy=remedy)]


def imported() -> Any:
    """Import Keras; where no backend is chosen, on torch, without leaving the choice behind.

    Raises
    ------
    ConfigurationError
        Keras, or its backend, isn't installed.
    """
    if wrong := absent("keras") or backend_faults():
        raise ConfigurationError(wrong)
    given = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = given or "torch"
    try:
        import keras
    finally:
        if given is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = given
    return keras
