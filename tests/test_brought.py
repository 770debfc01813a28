"""Code that is not ours: named by module and digest of its source."""

import sys
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import pytest

from components.brought import Brought, component, source_digest
from components.registry import Entry


def test_a_component_is_named_by_module_and_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "theirs.py"
    source.write_text("class Mine: ...\n")
    module = ModuleType("theirs")
    module.__file__ = str(source)
    monkeypatch.setitem(sys.modules, "theirs", module)
    digest = sha256(source.read_bytes()).hexdigest()
    found = component(Entry("model", "mine", "theirs:Mine", "their-package", "1.2"))
    assert found == Brought("model", "mine", "theirs", digest, "their-package", "1.2")
    assert component(Entry("model", "mine", "theirs:Mine", "unknown")).version is None


def test_what_has_no_python_text_has_no_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    assert source_digest("sys") is None
    assert source_digest("never_imported") is None
    for path in ("/nowhere/gone.py", "/nowhere/compiled.so"):
        module = ModuleType("theirs")
        module.__file__ = path
        monkeypatch.setitem(sys.modules, "theirs", module)
        assert source_digest("theirs") is None
