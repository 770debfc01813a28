"""Code that is not ours: named by module and digest of its source."""

import sys
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import pytest

from components.brought import Brought, component_code, source_digest
from components.registry import Entry

DECLARED = """
from typing import ClassVar

from components.models.declarations import Tree


class Mine(Tree):
    component: ClassVar[str] = "their_package.code:build"
    checks: ClassVar[str] = "their_package.looked:check"
    precheck: ClassVar[str] = "their_package.code:early"


class Ours(Tree): ...


class Gone(Tree):
    component: ClassVar[str] = "their_package.gone:build"
    checks: ClassVar[str] = "not.there:check"
"""


def test_a_component_is_named_by_module_and_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "theirs.py"
    source.write_text("class Mine: ...\n")
    module = ModuleType("theirs")
    module.__file__ = str(source)
    vars(module)["Mine"] = object
    monkeypatch.setitem(sys.modules, "theirs", module)
    digest = sha256(source.read_bytes()).hexdigest()
    (found,) = component_code(Entry("model", "mine", "theirs:Mine", "their-package", "1.2"))
    assert found == Brought("model", "mine", "theirs", digest, "their-package", "1.2")
    (unknown,) = component_code(Entry("model", "mine", "theirs:Mine", "unknown"))
    assert unknown.version is None


def test_the_code_that_a_declaration_names_is_named_too_and_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is theirs: each file once, whichever of its parts are named."""
    package = tmp_path / "their_package"
    package.mkdir()
    texts = {
        "__init__": "",
        "declared": DECLARED,
        "code": "raise RuntimeError('nothing here is run')\n",
        "looked": "def check(*_): return []\n",
    }
    for name, text in texts.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))

    def found(name: str) -> dict[str, str | None]:
        listed = component_code(Entry("model", "mine", f"their_package.declared:{name}", "their-package", "1.2"))
        assert {(each.kind, each.name, each.distribution, each.version) for each in listed} == {
            ("model", "mine", "their-package", "1.2")
        }
        return {each.module: each.sha256 for each in listed}

    digests = {f"their_package.{name}": sha256(text.encode()).hexdigest() for name, text in texts.items()}
    try:
        assert list(found("Mine").items()) == [
            (name, digests[name]) for name in ("their_package.declared", "their_package.code", "their_package.looked")
        ]
        assert list(found("Ours")) == ["their_package.declared"]
        assert list(found("Gone").values()) == [digests["their_package.declared"], None, None]
        assert "their_package.code" not in sys.modules
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "their_package"]:
            del sys.modules[name]


def test_what_has_no_python_text_has_no_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    assert source_digest("sys") is None
    assert source_digest("never_imported") is None
    for path in ("/nowhere/gone.py", "/nowhere/compiled.so"):
        module = ModuleType("theirs")
        module.__file__ = path
        monkeypatch.setitem(sys.modules, "theirs", module)
        assert source_digest("theirs") is None
