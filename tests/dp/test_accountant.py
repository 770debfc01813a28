"""One account a client: it grows over the whole run, is never restarted, and never goes beyond its budget."""

import math
from dataclasses import replace

import pytest

from components.dp.accountant import Accountant, Entry
from components.dp.ledger import Terms, covered_rows, spans
from components.dp.releases import Releases
from components.dp.sensitivity import strengths
from schemas.faults import GoalError
from schemas.ledger import LEDGER_COLUMNS

LOCAL = Terms("local", "zero_out", "policy")


def update(number: int, multiplier: float = 5.0, clip: float = 1.0) -> Entry:
    return Entry(number, "update", clip, Releases(multiplier))


def spent(rounds: int, budget: float | None = None) -> Accountant:
    account = Accountant("A", 1e-5, budget)
    for number in range(1, rounds + 1):
        account.record([update(number)])
    return account


def test_it_grows_with_every_round():
    assert spent(10).epsilon().value == pytest.approx(2.59, abs=5e-3)
    account = spent(20)
    assert account.epsilon().value == pytest.approx(3.85, abs=5e-3)
    assert account.participations == 20
    assert account.epsilon(Releases(5.0)).value > account.epsilon().value


def test_a_round_that_was_made_again_counts_twice_and_once_as_a_participation():
    account = spent(10)
    again = Accountant("A", 1e-5, entries=[*account.entries, update(10)])
    assert again.epsilon().value == Accountant("A", 1e-5).epsilon(Releases(5.0, times=11)).value
    assert (again.participations, again.made_again, account.made_again) == (10, [10], [])


def test_a_spent_budget_stops_the_client_and_takes_nothing_down():
    account = spent(10, budget=2.6)
    assert not account.may_contribute(Releases(5.0))
    with pytest.raises(GoalError, match="client A would go beyond its budget"):
        account.record([update(11)])
    assert account.participations == 10
    assert account.epsilon().value <= 2.6
    assert account.may_contribute(Releases(1000.0))


def test_a_budget_can_be_too_small_for_the_first_round():
    account = Accountant("A", 1e-5, budget=0.1)
    assert not account.may_contribute(Releases(1.0))
    assert not account.may_contribute(Releases(1.0, 0.1, 100))
    assert not account.may_contribute(Releases(0.0))
    assert account.epsilon().value == 0


def test_a_budget_holds_for_sampled_releases_to_the_last_digit():
    releases = Releases(1.0, 0.0128, 790)
    whole = Accountant("A", 1e-5).epsilon(releases).value
    assert Accountant("A", 1e-5, whole).may_contribute(releases)
    assert not Accountant("A", 1e-5, whole - 1e-6).may_contribute(releases)


def test_an_account_goes_back_to_no_earlier_round():
    account = spent(3)
    with pytest.raises(ValueError, match="never restarts"):
        account.record([update(2)])


def test_a_weaker_view_has_a_larger_epsilon():
    account = spent(10)
    assert account.epsilon(strength=0.0).value == math.inf
    assert account.epsilon(strength=0.5).value > account.epsilon().value


def test_the_ledger_has_a_row_for_every_kind_and_one_for_all():
    account = Accountant("A", 1e-5)
    for number in (1, 2, 4):
        account.record([update(number, 4.0, 1.0 / number), Entry(number, "votes", 0.5, Releases(12.0))])
    updates, votes, whole = covered_rows(account, LOCAL)
    assert (updates.kind, updates.rounds, updates.steps, updates.multiplier) == ("update", "1-2,4", 3, 4.0)
    assert updates.clip == 0.25
    assert updates.note == "clips from 0.25 to 1"
    assert (updates.unit, updates.relation, updates.holds_against) == ("client", "zero_out", "outsider, client, server")
    assert (votes.kind, votes.multiplier) == ("votes", 12.0)
    assert whole.kind == "all"
    assert whole.epsilon == account.epsilon().value
    assert whole.epsilon > updates.epsilon > votes.epsilon
    assert whole.epsilon_rdp == account.epsilon(check=True).check > whole.epsilon
    assert set(updates.model_dump()) == set(LEDGER_COLUMNS)


def test_rounds_of_other_noise_have_rows_of_their_own():
    account = Accountant("A", 1e-5)
    account.record([update(1, 2.0)])
    account.record([update(2, 4.0)])
    first, second, whole = covered_rows(account, LOCAL)
    assert (first.multiplier, second.multiplier, whole.multiplier) == (2.0, 4.0, None)


def test_rows_of_the_ledger_tell_what_one_release_is_and_how_many_there_were():
    account = Accountant("A", 1e-5)
    account.record([Entry(1, "gradients", 1.0, Releases(4.0, 0.5, 30, 2.0))])
    account.record([Entry(2, "gradients", 0.5, Releases(4.0, 0.5, 12, 2.0))])
    account.record([Entry(3, "gradients", 0.5, Releases(4.0, 0.5, 1, 1.0))])
    replaced, removed, whole = covered_rows(account, Terms("record", "replace_record", "policy"))
    assert (replaced.rounds, replaced.steps, replaced.sensitivity, replaced.rate) == ("1-2", 42, 2.0, 0.5)
    assert (removed.rounds, removed.steps, removed.sensitivity, removed.note) == ("3", 1, 1.0, "")
    assert replaced.note == "clips from 0.5 to 1"
    assert (whole.steps, whole.sensitivity, whole.multiplier, whole.clip, whole.note) == (43, None, None, None, "")


def test_a_withdrawn_claim_leaves_no_epsilon_in_the_ledger():
    rows = covered_rows(spent(3), Terms("server", "zero_out", "policy", reasons=("the noise was seeded",)))
    assert {row.epsilon for row in rows} == {None}
    assert not any(row.covered or row.holds_against for row in rows)
    assert all("no formal guarantee: the noise was seeded" in row.note for row in rows)


def test_noise_at_the_server_is_in_the_ledger_for_outsiders_alone():
    assert covered_rows(spent(1), Terms("server", "zero_out", "policy"))[0].holds_against == "outsider"


def test_the_ledger_tells_what_holds_against_every_party():
    account = spent(10)
    shares = Terms("distributed", "zero_out", "policy", cohort=10)
    told = {party: account.epsilon(strength=each) for party, each in strengths("distributed", 10).items()}
    for row in covered_rows(account, shares):
        assert (row.epsilon, row.epsilon_client, row.epsilon_server) == tuple(each.value for each in told.values())
        assert (row.delta, row.holds_against) == (1e-5, "outsider, client, server")
    withdrawn = covered_rows(account, replace(shares, reasons=("the noise was seeded",)))
    assert {(row.epsilon_client, row.epsilon_server, row.epsilon_rdp, row.delta) for row in withdrawn} == {(None,) * 4}


def test_nothing_released_has_no_rows():
    assert covered_rows(Accountant("A", 1e-5), LOCAL) == []


def test_rounds_are_told_in_spans():
    assert spans([]) == ""
    assert spans([3]) == "3"
    assert spans([5, 1, 2, 3, 7, 8, 3]) == "1-3,5,7-8"
