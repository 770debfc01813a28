"""Frameworks that are extras: told when they are absent, and imported only where a model is made."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from components.models import build, check, engine, keras_backend
from components.models.declarations import KerasNetwork, Xgboost
from schemas.dataset import DatasetSchema
from schemas.faults import ConfigurationError

Schemas = Callable[..., DatasetSchema]


@pytest.mark.parametrize(("params", "extra"), [(Xgboost(), "xgboost"), (KerasNetwork(), "keras")])
def test_an_absent_framework_is_a_fault_that_names_the_extra(
    schema_of: Schemas, monkeypatch: pytest.MonkeyPatch, params: Any, extra: str
) -> None:
    found = engine.find_spec
    monkeypatch.setattr(engine, "find_spec", lambda name: None if name == extra else found(name))
    (fault,) = check(params, schema_of("outcome"))
    assert str(fault) == f"model.name: {extra} is not installed; pip install 'privacy-runner[{extra}]'"
    with pytest.raises(ConfigurationError, match="is not installed"):
        build(params, schema_of("outcome"), 0)


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ("jax", "KERAS_BACKEND: the backend jax is not installed; unset KERAS_BACKEND, or set it to torch"),
        ("numpy", "KERAS_BACKEND: names the backend numpy; torch, jax, tensorflow; unset KERAS_BACKEND"),
        ("", "KERAS_BACKEND: the backend torch is not installed; pip install 'privacy-runner[keras]'"),
    ],
)
def test_a_backend_that_can_not_start_is_a_fault(
    schema_of: Schemas, monkeypatch: pytest.MonkeyPatch, chosen: str, told: str
) -> None:
    monkeypatch.setenv("KERAS_BACKEND", chosen)
    monkeypatch.setattr(keras_backend, "find_spec", lambda _: None)
    monkeypatch.delitem(sys.modules, "keras", raising=False)
    (fault,) = check(KerasNetwork(), schema_of("outcome"))
    assert str(fault) == told
    with pytest.raises(ConfigurationError):
        keras_backend.imported()


def test_a_wrong_target_and_an_absent_framework_are_told_together(
    schema_of: Schemas, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "find_spec", lambda _: None)
    schema = schema_of("outcome").model_copy(update={"task": "regression"})
    assert [fault.place for fault in check(Xgboost(), schema)] == ["dataset.task", "model.name"]


SCRIPT = """
import sys
from components.models import check
from components.models.declarations import KerasNetwork, Xgboost
from schemas.dataset import DatasetSchema
columns = [{"name": "x", "dtype": "boolean", "role": "insensitive"},
           {"name": "y", "dtype": "boolean", "role": "sensitive"}]
schema = DatasetSchema(name="s", source=None, columns=columns, target="y", task="classification")
assert check(KerasNetwork(), schema) == check(Xgboost(), schema) == []
assert not {"keras", "xgboost", "torch"} & sys.modules.keys()
"""


def test_a_check_imports_no_framework() -> None:
    environment = {"PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, env=environment)
