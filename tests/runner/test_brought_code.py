"""Whole runs with code that is not ours: the record says which."""

import json
from hashlib import sha256
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from components import registry
from components.models import torch_modules
from components.models.declarations import Tree

SCORE = "def predict(frame):\n    return (frame['age'] > 60).map({True: 'yes', False: 'no'})\n"
DIGEST = sha256(Path(__file__).read_bytes()).hexdigest()
SMALL = ("dataset.source.rows=300", "anonymization=none", "minimization=none")


class Straight(nn.Module):
    """One layer."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.only = nn.Linear(inputs, outputs)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.only(features)
        return found


def plugins(site: Any, *typed: str) -> list[dict[str, Any]]:
    where = site.folder / typed[0]
    code, _, err = site.do(*SMALL, *typed, f"output.dir='{where}'")
    assert code == 0, err
    (record,) = where.glob("*/*/record.json")
    found: list[dict[str, Any]] = json.loads(record.read_text(encoding="utf-8"))["invocation"]["plugins"]
    return found


def test_a_function_of_the_users_is_listed_with_the_digest_of_its_file(empty_site: Any) -> None:
    (empty_site.folder / "score.py").write_text(SCORE)
    (found,) = plugins(empty_site, "model=callable", "model.path=score.py")
    digest = sha256(SCORE.encode()).hexdigest()
    named = {"kind": "callable", "name": "predict", "module": "score.py", "sha256": digest}
    assert found == {**named, "distribution": None, "version": None}


def test_a_registered_module_is_listed_with_who_brought_it(empty_site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("straight", f"{__name__}:Straight", torch_modules.GROUP)
    vars(point).update(dist=SimpleNamespace(name="their-package", version="1.2"))
    monkeypatch.setattr(torch_modules, "entry_points", lambda group: [point])  # noqa: ARG005
    (found,) = plugins(empty_site, "model=torch", "model.module=straight", "model.epochs=2")
    named = {"kind": "torch_module", "name": "straight", "module": __name__, "sha256": DIGEST}
    assert found == {**named, "distribution": "their-package", "version": "1.2"}


class Theirs(Tree):
    """Our tree under a name of theirs."""

    name: str = "theirs"  # type: ignore[assignment]


def test_a_component_of_others_is_listed_in_the_same_shape(empty_site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("theirs", f"{__name__}:Theirs", "privacy_runner.model")
    vars(point).update(dist=SimpleNamespace(name="their-package", version="1.2"))
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == point.group else [])
    registry._registered.cache_clear()  # noqa: SLF001
    try:
        (found,) = plugins(empty_site, "model=tree", "model.name=theirs")
    finally:
        registry._registered.cache_clear()  # noqa: SLF001
    named = {"kind": "model", "name": "theirs", "module": __name__, "sha256": DIGEST}
    assert found == {**named, "distribution": "their-package", "version": "1.2"}


def test_what_is_ours_is_not_listed(empty_site: Any) -> None:
    assert plugins(empty_site, "model=mlp", "model.epochs=2") == []
