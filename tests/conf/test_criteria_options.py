"""The ready sets of criteria: each composes, and is what the record says it is."""

from pathlib import Path

import pytest

from runner.cli import command
from runner.compose import compose_run

CONF = Path(__file__).resolve().parents[2] / "conf"
SETS = {
    "k": ["k"],
    "k_l": ["k", "l_distinct"],
    "k_t": ["k", "t"],
    "k_l_t": ["k", "l_distinct", "t"],
    "k_alpha": ["k", "alpha"],
}


def test_every_set_is_tried_here() -> None:
    assert {path.stem for path in (CONF / "anonymization" / "criteria").glob("*.yaml")} == SETS.keys()


@pytest.mark.parametrize("name", SETS)
def test_a_set_takes_the_place_of_the_criteria_and_follows_k(name: str) -> None:
    composed = compose_run([f"+anonymization/criteria={name}", "anonymization.k=7"])
    found = composed.config.anonymization.criteria
    assert [one.name for one in found] == SETS[name]
    assert found[0].k == 7
    assert composed.choices["anonymization/criteria"] == name
    file = f"conf/anonymization/criteria/{name}.yaml"
    assert file in {one.path for one in composed.files}
    assert composed.sources["anonymization.criteria.0.name"] == file


def test_a_set_goes_with_every_method_and_its_limits_can_be_set() -> None:
    composed = compose_run(["anonymization=guided", "+anonymization/criteria=k_l", "anonymization.criteria.1.l=3"])
    assert composed.config.anonymization.criteria[1].l == 3


def test_a_set_is_told_in_help_and_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["--help"]) == 0
    assert "anonymization/criteria" in capsys.readouterr().out
    assert command(["plan", "+anonymization/criteria=k_l"]) == 0
    said = capsys.readouterr().out
    assert "criteria=[k, l_distinct]" in said
    assert "anonymization/criteria=k_l" in said
