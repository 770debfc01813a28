"""Declarations, and the checks that need no data, start light."""

import subprocess
import sys

import pytest

HEAVY = ("numpy", "pandas", "torch", "sklearn", "scipy", "matplotlib")


@pytest.mark.parametrize(
    "module", ["aggregation.declarations", "aggregation.checks", "attacks.declarations", "drift.declarations"]
)
def test_a_declaration_imports_nothing_heavy(module: str) -> None:
    code = f"import sys, components.federation.{module}; print(*sys.modules.keys() & set({HEAVY}))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout.split() == []
