"""What a run says of a release: what it warns of, what its search chose and lost, and what was proved."""

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from components.anonymization import measure
from runner.facts import disclosures, privacy_metrics, search_lines
from schemas.dataset import DatasetSchema

COLUMNS = {
    "who": {"dtype": "text", "role": "identifier"},
    "age": {"dtype": "text", "role": "quasi_identifier"},
    "ill": {"dtype": "text", "role": "sensitive", "nullable": True},
}


def said(who: str, age: str, ill: list[str | None], subject: str | None = "who", **kept: Any) -> list[str]:
    schema = DatasetSchema.model_validate({"name": "m", "source": None, "columns": COLUMNS, "subject_id": subject})
    frame = pd.DataFrame({"who": list(who), "age": list(age), "ill": ill}, dtype="string")
    return disclosures(measure(frame[kept.get("names", list(frame))], schema, persons=kept.get("persons")))


def test_a_value_that_all_persons_have_in_common_is_warned_of_though_rows_hold_others():
    rows: dict[str, Any] = {"who": "aabb", "age": "1111", "ill": ["x", "y", "x", "z"]}
    (told,) = said(**rows)
    assert told == (
        "in at least one class all persons have one value of 'ill' in common, in some row: whoever is known to be in "
        "it has that value"
    )
    assert said(**rows, names=["age", "ill"], persons=list("aabb")) == [told]
    assert said(**rows, subject=None) == []
    assert said("aabb", "1111", ["x", "y", "y", "x"]) == [told]
    assert said("aabb", "1111", ["x", "y", "z", "z"]) == []


def test_a_class_of_one_value_is_warned_of_once():
    (told,) = said("aabb", "1111", ["x", "x", "x", None])
    assert "every known value of 'ill' is the same" in told


def test_persons_whom_linked_rows_tell_apart_are_warned_of():
    rows: dict[str, Any] = {"who": "aabbccd", "age": "1223311", "ill": list("xyxyxyx")}
    (told,) = [text for text in said(**rows) if "links" in text]
    assert told == (
        "k=2 holds for one row of a person; by all rows that the subject id links k is 1: "
        "4 of 4 persons are alone with the set of classes they are in"
    )
    assert not [text for text in said(**rows, names=["age", "ill"], persons=list("aabbccd")) if "links" in text]
    assert not [text for text in said("abab", "1122", list("xyxy")) if "links" in text]


def test_the_figures_stand_in_metrics():
    schema = DatasetSchema.model_validate({"name": "m", "source": None, "columns": COLUMNS, "subject_id": "who"})
    frame = pd.DataFrame({"who": list("aab"), "age": list("121"), "ill": list("xyx")}, dtype="string")
    told = {row.metric: row.value for row in privacy_metrics(measure(frame, schema), "after")}
    assert (told["k_linked"], told["linked_alone"], told["alpha_persons"]) == (1, pytest.approx(1.0), 1.0)


def lines(
    model: str, value: float | None, *, rounds: int = 1, bound: float | None = None, **search: Any
) -> list[tuple[str, str]]:
    said = {
        "levels": [{"age": 2, "sex": 0}] * rounds,
        "quality": {"model": model, "value": value},
        "loss": 0.25,
        "searches": [{"nodes": 1200, "tried": 50, "proved": True, "lower_bound": bound, **search}] * rounds,
    }
    release: Any = SimpleNamespace(transformation=said)
    return search_lines(release)


def test_what_a_search_chose_and_lost_is_said_in_the_terms_of_its_model():
    levels = ("levels", "age 2, sex 0")
    assert lines("loss", 0.5) == [levels, ("loss", "0.5000 (proved best of 1,200)")]
    assert lines("precision", 0.5) == [levels, ("quality", "1 - precision 0.5000 (proved best of 1,200)")]
    assert lines("discernibility", 26600.0) == [levels, ("quality", "discernibility 26600.0000 (proved best of 1,200)")]


def test_a_bound_is_never_rounded_up_and_left_out_where_there_is_none():
    assert lines("loss", 0.5, proved=False, bound=0.04029)[1] == (
        "loss",
        "0.5000 (best of 50 tried of 1,200; proved: none below 0.0402)",
    )
    assert lines("loss", 0.5, proved=False)[1] == ("loss", "0.5000 (best of 50 tried of 1,200)")


def test_local_recoding_tells_its_first_levels_how_many_more_and_the_loss_of_the_whole():
    assert lines("entropy", None, rounds=3, proved=False, bound=0.1) == [
        ("levels", "age 2, sex 0; 2 more for the rows that these levels suppress"),
        ("loss", "0.2500 (first levels: best of 50 tried of 1,200; proved: none below 0.1000 by entropy)"),
    ]
