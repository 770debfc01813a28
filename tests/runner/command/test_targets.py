"""Several targets in a configuration: each is held to what one is, and they are told by name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TWO = "target: [cured, ward]"


@pytest.fixture
def two(mine: Any) -> Any:
    mine.vary("target: cured", TWO)
    return mine


def test_several_targets_compose(two: Any) -> None:
    data = two.compose().config.dataset
    assert data.targets == ("cured", "ward")
    assert data.features == ["age", "sex"]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("[cured,cured]", "listed twice: cured"),
        ("[]", "an empty list is not allowed; must be text or a list that is not empty, each entry text or null"),
        ("[1,cured]", "a list is not allowed"),
        ("3", "3 is a number, not text"),
        ("[cured,wadr]", "did you mean ward?"),
    ],
)
def test_a_list_of_targets_names_columns_once(two: Any, target: str, words: str) -> None:
    fault = two.fault(f"dataset.target={target}")
    assert fault.place == "dataset.target"
    assert words in str(fault)


def test_every_target_has_a_role_that_goes_with_it(two: Any) -> None:
    fault = two.fault("dataset.columns.ward.role=drop")
    assert fault.place == "dataset.columns.ward.role"
    assert fault.problem == "the column is a target, and its role is drop"


def test_no_target_may_be_missing(two: Any) -> None:
    faults = two.faults("+dataset.columns.ward.nullable=true", "+dataset.columns.cured.nullable=true")
    assert [fault.place for fault in faults] == [f"dataset.columns.{name}.nullable" for name in ("cured", "ward")]
    two.compose("+dataset.columns.ward.nullable=true", "+dataset.missing.rows=drop")


def test_no_target_is_minimised(two: Any) -> None:
    fault = two.fault("minimization=tree", "minimization.columns=[age, ward]")
    assert fault.problem == "'ward' is a target, and no input of the model"


def test_a_plan_names_all_targets_and_refuses_two_tasks(two: Any, command: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "toy.csv").write_text("age,sex,ward,cured,stay\n" + "40,f,a,yes,1\n" * 100, encoding="utf-8")
    done = command("plan", "model=tree", "anonymization=none", "dataset.undeclared=drop")
    assert done.code == 0, done.err
    assert "targets           cured, ward (classification)\n" in done.out
    two.vary("target: cured", "  stay: {dtype: number, role: insensitive}\ntarget: [cured, stay]")
    done = command("plan", "model=tree", "anonymization=none")
    assert done.code == 2
    assert "'stay' is a number column, and the task of all targets is classification" in done.err
