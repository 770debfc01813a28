"""What takes an epsilon away does so, and nothing else does."""

from dataclasses import replace
from typing import Any

import pytest

from components.dp.conditions import Setting, remedy_of, withdrawn
from components.dp.sensitivity import sensitivity, strengths
from schemas.faults import ConfigurationError

ALL = ("server", "distributed", "local", "record")
SUMS = ("server", "distributed")
OWN = ("local", "record")


@pytest.mark.parametrize("mechanism", ALL)
def test_a_plain_setting_keeps_its_epsilon(mechanism: Any):
    assert withdrawn(Setting(mechanism)) == ()
    assert withdrawn(Setting(mechanism, answered=10, declared=10)) == ()


@pytest.mark.parametrize("mechanism", ALL)
def test_fixed_weights_keep_it_where_no_shares_of_noise_have_to_add_up(mechanism: Any):
    # Shares of z / sqrt(n) under weights .5, .25, .25 sum up to .354 z where the largest client needs .5 z.
    assert len(withdrawn(Setting(mechanism, weights="fixed"))) == (mechanism == "distributed")


@pytest.mark.parametrize("mechanism", ALL)
@pytest.mark.parametrize(
    "change",
    [{"clipped": False}, {"seeded": True}, {"learned_encoder": True}, {"stops_on_raw": True}],
    ids=lambda change: next(iter(change)),
)
def test_some_things_take_every_epsilon_away(mechanism: Any, change: dict[str, Any]):
    assert len(withdrawn(replace(Setting(mechanism), **change))) == 1


@pytest.mark.parametrize("mechanism", SUMS)
@pytest.mark.parametrize(
    "change",
    [
        {"drift": "raw"},
        {"drift": "noised"},
        {"robust": "raw"},
        {"scaffold": "noised"},
        {"weights": "rows"},
        {"divisor": "realised"},
    ],
    ids=lambda change: "-".join(map(str, *change.items())),
)
def test_noise_on_a_sum_bears_nothing_by_which_one_client_changes_others(mechanism: Any, change: dict[str, Any]):
    assert len(withdrawn(replace(Setting(mechanism), **change))) == 1


@pytest.mark.parametrize("mechanism", OWN)
@pytest.mark.parametrize("what", ["drift", "robust", "scaffold"])
def test_noised_messages_bear_all_that_is_computed_from_them_alone(mechanism: Any, what: str):
    assert withdrawn(replace(Setting(mechanism), **{what: "noised"})) == ()
    assert len(withdrawn(replace(Setting(mechanism), **{what: "raw"}))) == 1
    assert withdrawn(Setting(mechanism, weights="rows", divisor="realised")) == ()


@pytest.mark.parametrize("mechanism", OWN)
@pytest.mark.parametrize("change", [{"scaffold": "noised"}, {"weights": "rows"}], ids=["scaffold", "rows"])
@pytest.mark.parametrize("relation", ["zero_out", "replace_table", "add_remove_record", "replace_record"])
def test_what_follows_from_the_number_of_rows_bears_no_neighbours_that_differ_in_it(
    mechanism: Any, change: dict[str, Any], relation: Any
):
    # A table of 100 rows and one of 10,000 are neighbours under replace_table: weights and local steps tell them apart.
    found = withdrawn(Setting(mechanism, relation=relation, **change))
    assert len(found) == (mechanism == "local" and relation != "replace_record")
    assert all(remedy_of(reason) for reason in found)


def test_shares_of_noise_need_the_declared_cohort():
    assert "6 clients" in withdrawn(Setting("distributed", answered=6, declared=10))[0]
    assert withdrawn(Setting("server", answered=6, declared=10)) == ()


def test_all_reasons_are_told_at_once():
    assert len(withdrawn(Setting("server", clipped=False, seeded=True, drift="raw", weights="rows"))) == 4


@pytest.mark.parametrize("mechanism", ["server", "distributed", "local"])
@pytest.mark.parametrize(
    ("unit", "relation", "clips"),
    [
        ("client", "zero_out", 1),
        ("client", "replace_table", 2),
        ("record", "add_remove_record", 2),
        ("record", "replace_record", 2),
    ],
)
def test_an_update_clipped_as_a_whole_moves_by_two_clips_but_for_zero_out(
    mechanism: Any, unit: Any, relation: Any, clips: float
):
    assert sensitivity(unit, relation, mechanism) == clips


def test_a_gradient_clipped_by_record_moves_by_one_clip_a_record():
    assert sensitivity("record", "add_remove_record", "record") == 1
    assert sensitivity("record", "replace_record", "record") == 2


@pytest.mark.parametrize(
    ("unit", "relation", "mechanism"),
    [
        ("client", "zero_out", "record"),
        ("client", "replace_table", "record"),
        ("client", "add_remove_record", "record"),
        ("record", "zero_out", "local"),
        ("record", "replace_table", "server"),
        ("client", "replace_record", "local"),
    ],
)
def test_any_other_combination_is_refused(unit: Any, relation: Any, mechanism: Any):
    with pytest.raises(ConfigurationError, match="no known sensitivity"):
        sensitivity(unit, relation, mechanism)


def test_noise_at_the_server_stands_between_clients_and_outsiders_alone():
    assert strengths("server", 10) == {"outsider": 1, "client": 0, "server": 0}
    assert set(strengths("local", 10).values()) == set(strengths("record", 10).values()) == {1}
    shared = strengths("distributed", 10)
    assert shared["outsider"] == 1
    assert shared["client"] == pytest.approx(0.9**0.5)
    assert shared["server"] == pytest.approx(0.1**0.5)
