"""Lists laid over mappings and mappings over lists, and the words for settings of criteria: place, cause, remedy."""

from collections.abc import Iterator
from typing import Any, get_args

import pytest

from components.anonymization.criteria.declarations import Criterion
from runner.expected import expected, members

BRACKETS = "put the entries in brackets: [..., ...]"
BRACES = "put keys and values in braces: {key: value}"


@pytest.mark.parametrize(
    ("typed", "place", "allowed", "remedy"),
    [
        ("anonymization.criteria={name: k}", "", "must be a list, each entry a mapping", BRACKETS),
        ("anonymization={criteria: {name: k}}", "anonymization.criteria", "must be a list, each entry a ma", BRACKETS),
        ("dataset.risk_thresholds={a: 1}", "", "must be a list, each entry a number > 0 and <= 1", BRACKETS),
        ("dataset.columns.sex.values={f: 1}", "", "must be a list that is not empty, each entry text", BRACKETS),
        ("dataset.columns=[{name: age}]", "", "must be a mapping", BRACES),
        ("anonymization.weights=[1]", "", "must be a mapping", BRACES),
        ("dataset.split=[0.3]", "", "must be a mapping with the keys test, stratify", BRACES),
        ("anonymization.criteria.0=[1]", "", "must be a mapping with name: one of k, ", BRACES),
    ],
)
def test_an_override_of_the_wrong_shape_is_told_in_our_own_words(
    mine: Any, typed: str, place: str, allowed: str, remedy: str
) -> None:
    mine.vary("target: cured", "risk_thresholds: [0.1]\nsplit: {test: 0.3}\ntarget: cured")
    fault = mine.fault("model=none", "anonymization=mondrian", typed)
    assert (fault.place, fault.source) == (place or typed.partition("=")[0], typed)
    assert fault.problem == ("a mapping is not allowed" if remedy == BRACKETS else "a list is not allowed")
    assert fault.allowed.startswith(allowed)
    assert fault.remedy == remedy


@pytest.mark.parametrize(
    ("text", "place", "allowed"),
    [
        ("criteria: {name: k}", "anonymization.criteria", "must be a list"),
        ("weights: [1]", "anonymization.weights", "must be a mapping"),
    ],
)
def test_a_file_of_the_wrong_shape_is_told_with_its_name(mine: Any, text: str, place: str, allowed: str) -> None:
    file = mine.write("anonymization/mine", f"defaults: [mondrian]\n{text}\n")
    fault = mine.fault("anonymization=mine", "model=tree")
    assert (fault.place, fault.allowed, fault.source) == (place, allowed, file.as_posix())
    assert "Config" not in str(fault)


def test_what_has_the_right_shape_is_laid_over_as_ever(mine: Any) -> None:
    composed = mine.compose("model=none", "anonymization=mondrian", "anonymization.weights={age: 2}")
    assert composed.config.anonymization.weights == {"age": 2}


def settings() -> Iterator[tuple[str, str]]:
    """Yield every setting of every criterion."""
    for kind in members(Criterion):
        (name,) = get_args(kind.model_fields["name"].annotation)
        yield from ((name, setting) for setting in kind.model_fields if setting != "name")


@pytest.mark.parametrize(("name", "setting"), list(settings()))
@pytest.mark.parametrize("given", ["-1", "[]", "{}"])
def test_what_a_criterion_takes_is_said_of_that_criterion(mine: Any, name: str, setting: str, given: str) -> None:
    kind = next(kind for kind in members(Criterion) if name in get_args(kind.model_fields["name"].annotation))
    field = kind.model_fields[setting]
    others = {"k": "2", "l": "2", "c": "1", "alpha": "0.5", "t": "0.3", "beta": "1", "delta": "1"}
    whole = {other: others[other] for other in kind.model_fields if other in others} | {setting: given}
    entry = ", ".join(f"{key}: {value}" for key, value in {"name": name, **whole}.items())
    faults = mine.faults("model=none", "anonymization=mondrian", f"anonymization.criteria=[{{{entry}}}]")
    fault = next(fault for fault in faults if fault.place == f"anonymization.criteria.0.{setting}")
    assert fault.allowed == f"must be {expected(field.annotation, tuple(field.metadata))}"


def test_a_number_without_end_is_refused_as_such(mine: Any) -> None:
    asked = "anonymization.criteria=[{name: l_entropy, l: inf}]"
    fault = mine.fault("model=none", "anonymization=mondrian", asked)
    assert (fault.problem, fault.allowed) == ("inf is not finite", "must be a number > 1")
