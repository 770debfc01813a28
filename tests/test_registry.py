import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from components import registry
from components.registry import KINDS, Absent, Declaration, declaration, entries, ignored
from runner.cli import command
from runner.compose import compose_run
from schemas.faults import ConfigurationError


class Mine(Declaration):
    """A third party's component."""

    name: str = "mine"
    strength: int = 3


NOT_A_DECLARATION = 5


@dataclass
class Dist:
    name: str
    version: str


@dataclass
class Point:
    name: str
    value: str
    dist: Dist | None


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Point]]:
    """Return the list of third-party models that are installed, for a test to add to."""
    points: list[Point] = []
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group == "privacy_runner.model" else [])
    monkeypatch.setitem(sys.modules, "third_party", SimpleNamespace(**globals()))
    registry._registered.cache_clear()  # noqa: SLF001
    yield points
    registry._registered.cache_clear()  # noqa: SLF001


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in KINDS.items() for name in names])
def test_every_name_leads_to_a_declaration_of_that_name(kind: str, name: str) -> None:
    found = declaration(kind, name)
    assert issubclass(found, Declaration)
    assert found.model_fields["name"].default == name


def test_an_absent_stage_has_no_parameters() -> None:
    assert Absent().model_dump() == {"name": "none"}


def test_an_unknown_name_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        declaration("model", "nosuch")


def test_a_third_party_component_is_found_run_and_listed(installed: list[Point], tmp_path: Any) -> None:
    installed.append(Point("mine", "third_party:Mine", Dist("their-package", "1.2")))
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "theirs.yaml").write_text("name: mine\nstrength: 4\n")
    composed = compose_run(["model=theirs"], tmp_path)
    assert isinstance(composed.config.model, Mine)
    (plugin,) = composed.plugins
    assert (plugin.kind, plugin.name, plugin.distribution, plugin.version) == ("model", "mine", "their-package", "1.2")


def test_a_name_of_ours_can_not_be_taken_over(installed: list[Point], capsys: pytest.CaptureFixture[str]) -> None:
    installed.append(Point("tree", "third_party:Mine", Dist("their-package", "1.2")))
    assert entries("model")["tree"].distribution == "privacy-runner"
    assert [entry.distribution for entry in ignored()] == ["their-package"]
    assert command(["--cfg", "job", "-p", "seed"]) == 0
    said = capsys.readouterr()
    assert said.err.splitlines() == [
        "warning: the model 'tree' of the distribution their-package is ignored: the name is taken"
    ]
    assert compose_run(["model=tree"]).plugins == ()


def test_of_two_third_parties_with_one_name_the_first_in_the_alphabet_stays(installed: list[Point]) -> None:
    installed += [Point("mine", "b:B", Dist("b", "1")), Point("mine", "a:A", Dist("a", "1"))]
    assert entries("model")["mine"].distribution == "a"
    assert [entry.distribution for entry in ignored()] == ["b"]


@pytest.mark.parametrize("where", ["third_party:Nothing", "no_such_module:X", "third_party:NOT_A_DECLARATION"])
def test_a_broken_third_party_is_one_fault(installed: list[Point], where: str) -> None:
    installed.append(Point("mine", where, Dist("their-package", "1.2")))
    with pytest.raises(ConfigurationError) as caught:
        compose_run(["model.name=mine"])
    (fault,) = caught.value.faults
    assert fault.place == "model.name"
    assert "their-package" in fault.problem


def test_a_broken_third_party_that_nobody_names_is_no_fault(installed: list[Point]) -> None:
    installed.append(Point("mine", "no_such_module:X", None))
    assert compose_run([]).plugins == ()
