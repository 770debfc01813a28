"""The package as outsiders import it."""

import subprocess
import sys
from pathlib import Path

import pytest

from components import models


def test_every_exported_name_is_there() -> None:
    assert all(getattr(models, name) for name in models.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        models.nothing  # noqa: B018


def test_declarations_import_nothing_heavy() -> None:
    script = (
        "import sys, components.models, components.models.declarations;"
        "print([name for name in ('numpy', 'pandas', 'sklearn', 'skops') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.stdout.strip() == "[]"
