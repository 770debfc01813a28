import shlex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runner.overrides import choices, forced, in_quotes, parse, quoted


def suggestion(text: str) -> str:
    _, (fault,) = parse([text])
    return fault.remedy.partition(": ")[2]


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("x=[âge]", ["âge"]),
        ("x=[age,âge]", ["age", "âge"]),
        ("x=[20,30)", "[20,30)"),
        ("x=<0 DM (a)", "<0 DM (a)"),
        ('x=a"b"', 'a"b"'),
    ],
)
def test_the_quoting_that_is_shown_works_in_a_shell(typed: str, value: object) -> None:
    (argument,) = shlex.split(suggestion(typed))
    (override,), faults = parse([argument])
    assert not faults
    assert override.value() == value


@pytest.mark.parametrize("typed", ["âge=1", "a b=1", "x=[[20,30),b]", "x={a: âge}"])
def test_what_no_quoting_saves_belongs_in_yaml(typed: str) -> None:
    _, (fault,) = parse([typed])
    assert "YAML" in fault.remedy


def test_a_word_alone_is_no_override() -> None:
    _, (fault,) = parse(["tree"])
    assert "key=value" in fault.allowed


def test_what_can_not_be_read_does_not_hide_the_rest() -> None:
    read, faults = parse(["a=1", "b=[", "c=2", "é=1"])
    assert [one.key_or_group for one in read] == ["a", "c"]
    assert [fault.place for fault in faults] == ["b", "é"]


@example("\\")
@example('\\\\"')
@given(st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1))
def test_any_text_in_quotes_is_read_as_itself(text: str) -> None:
    (override,), faults = parse([f"x={in_quotes(text)}"])
    assert not faults
    assert override.value() == text


@given(st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1))
def test_whatever_quoting_is_offered_can_be_read(text: str) -> None:
    if offered := quoted("x", text):
        (argument,) = shlex.split(offered)
        _, faults = parse([argument])
        assert not faults


def test_a_sweep_stands_for_its_choices() -> None:
    read, _ = parse(["k=3,4", "seed=range(0,3)", "a=[1,2]", "+b='x,y'"])
    assert [list(choices(one)) for one in read] == [
        ["k=3", "k=4"],
        ["seed=0", "seed=1", "seed=2"],
        ["a=[1,2]"],
        ["+b='x,y'"],
    ]


def test_a_forced_override_has_two_signs_however_it_was_typed() -> None:
    read, _ = parse(["a=1", "+a=1", "++a=1"])
    assert {forced(one) for one in read} == {"++a=1"}
