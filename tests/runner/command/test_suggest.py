import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.suggest import nearest, nearest_path

PATHS = ("seed", "anonymization.k", "anonymization.criteria", "model.min_samples_leaf", "dataset.columns.age.role")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("annon.k", "anonymization.k"),
        ("anonymisation.k", "anonymization.k"),
        ("k", "anonymization.k"),
        ("min_samples_leaf", "model.min_samples_leaf"),
        ("sed", "seed"),
        ("dataset.columns.age.roel", "dataset.columns.age.role"),
    ],
)
def test_a_mistyped_path_finds_the_one_that_was_meant(typed: str, meant: str) -> None:
    assert nearest_path(typed, PATHS) == meant


@pytest.mark.parametrize("typed", ["typo", "perferences.trait", "zzz.k"])
def test_nothing_is_suggested_where_nothing_is_alike(typed: str) -> None:
    assert nearest_path(typed, PATHS) == ""


def test_an_option_with_two_letters_swapped_is_found() -> None:
    assert nearest("adlut", ["adult", "cancer", "diabetes"]) == "adult"


def test_no_candidates_no_suggestion() -> None:
    assert nearest("adult", []) == ""


@given(st.lists(st.text("abcdef", min_size=1), min_size=1, unique=True), st.randoms())
def test_the_answer_does_not_depend_on_the_order_of_candidates(words: list[str], random: object) -> None:
    shuffled = list(words)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis types its random as object
    assert nearest("abc", words) == nearest("abc", shuffled)


@given(st.lists(st.text("abcdef", min_size=1), min_size=1, unique=True))
def test_a_right_spelling_is_its_own_nearest(words: list[str]) -> None:
    assert all(nearest(word, words) == word for word in words)
