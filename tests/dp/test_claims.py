"""An epsilon is printed with all its conditions, never rounded down, and not at all where none holds."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.dp.accounting import Epsilon
from components.dp.claims import Claim, of_person_at_several, sentence, shown, worst


def exact(value: float) -> Epsilon:
    return Epsilon(value, 1e-5, None, "exact")


CLAIM = Claim(
    client="A",
    mechanism="local",
    relation="replace_table",
    rounds=10,
    participations=9,
    clip=1.0,
    multiplier=4.0,
    rate=1.0,
    steps=9,
    epsilons={"outsider": exact(7.51128), "client": exact(7.51128), "server": exact(7.51128)},
    basis="data-derived",
    covered=("updates",),
    not_covered=("row counts", "risks"),
)


def test_the_sentence_says_everything():
    assert sentence(CLAIM) == (
        "For any two inputs of client A that are neighbours under replace table (any two tables), all else fixed, the "
        "messages sent by client A in rounds 1..10 are (7.512, 1e-05)-DP, computed from clip 1, multiplier 4, 9 "
        "participations, rate 1 and 9 noised releases. Against an outsider who sees the released model epsilon 7.512; "
        "another client epsilon 7.512; the server epsilon 7.512. An input is the client's train rows as they were "
        "split and prepared. Covered: updates. Not covered: how its rows were checked, split and prepared; row counts; "
        "risks. Multipliers were data-derived. The released model inherits that epsilon for client A; "
        "for an arbitrary person the guarantee is the largest of all clients."
    )


def test_under_noise_by_record_how_many_rows_there_are_is_public():
    said = sentence(replace(CLAIM, mechanism="record", relation="add_remove_record"))
    assert "as they were split and prepared, and how many there are is public." in said


def test_noise_at_the_server_says_whom_it_does_not_hold_against():
    none = exact(math.inf)
    said = sentence(replace(CLAIM, mechanism="server", epsilons={**CLAIM.epsilons, "client": none, "server": none}))
    assert "the aggregates that the server releases" in said
    assert "another client no formal guarantee; the server no formal guarantee" in said


def test_a_withdrawn_claim_gives_no_epsilon():
    said = sentence(replace(CLAIM, reasons=("the noise was seeded", "nothing was clipped")))
    assert said.startswith("Client A: no formal guarantee, since the noise was seeded; nothing was clipped.")
    assert "7.51" not in said
    assert "DP" not in said
    assert "Not covered" in said


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (9.9, "(9.9, 1e-05)-DP"),
        (12.0, "An epsilon above 10 is weak."),
        (5_088_492, "are under no meaningful guarantee"),
    ],
)
def test_a_large_epsilon_is_called_what_it_is(value: float, words: str):
    said = sentence(replace(CLAIM, epsilons=dict.fromkeys(("outsider", "client", "server"), exact(value))))
    assert words in said
    assert "5088492" not in said
    assert "5.08" not in said


@given(st.floats(0, 100))
def test_no_epsilon_is_rounded_down(value: float):
    assert value - 1e-9 <= float(shown(value)) <= value + 1e-3 + 1e-9


def test_budgets_of_disjoint_clients_do_not_add_but_those_of_one_person_do():
    several = [exact(value) for value in (0.5, 1, 4)]
    assert worst(several) == 4
    assert of_person_at_several(several) == pytest.approx((5.5, 3e-5))
    assert worst([]) == 0
