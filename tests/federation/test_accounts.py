"""What a whole federation claims for each client, when it claims nothing, and the ledger of all that crossed."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bench.tiny_sites import sites
from components.dp.claims import sentence, worst
from components.dp.conditions import NO_GUARANTEE
from components.dp.declarations import Adaptive, Fixed, Global, Noised, Personalized, Record
from components.federation.accounts import Accounts, accounts
from components.federation.declarations import EarlyStop, FedAvg, Federation, Local, Scaffold
from components.federation.drift.declarations import Drift
from components.federation.setting import setting_of
from components.federation.stage import Federated, Sites, federate
from components.models.declarations import Linear
from schemas.ledger import LedgerRow

THREE = sites(40, 50, 60)


def settled(params: Federation, privacy: Noised | None, at: Sites = THREE) -> tuple[Federated, Accounts]:
    done = federate(params, privacy, Linear(), at, 0)
    return done, accounts(done, privacy, None if privacy is None else setting_of(privacy, params))


def of_updates(**given: Any) -> Personalized:
    return Personalized.model_validate(
        {"multiplier": 4.0, "target_epsilon": None, "personalise": {"name": "max"}, **given}
    )


def alike(at: Sites = THREE) -> Sites:
    return replace(at, risks=dict.fromkeys(at.tables, 0.05))


def outside(found: Accounts) -> list[float]:
    return [claim.epsilons["outsider"].value for claim in found.claims.values()]


@pytest.mark.parametrize(
    ("relation", "multiplier", "rounds", "expected"),
    [
        ("replace_table", 4.0, 10, 7.51128),
        ("zero_out", 4.0, 10, 3.34141),
        ("replace_record", 4.0, 10, 7.51128),
        ("zero_out", 5.0, 10, 2.59),
        ("zero_out", 5.0, 20, 3.85),
        ("zero_out", 5.0, 50, 6.57297),
    ],
)
def test_local_noise_costs_what_is_known(relation: str, multiplier: float, rounds: int, expected: float) -> None:
    privacy = of_updates(relation=relation, multiplier=multiplier)
    _, found = settled(FedAvg(rounds=rounds), privacy, alike())
    assert outside(found) == pytest.approx([expected] * 3, abs=5e-3 if round(expected, 2) == expected else 1e-4)
    for claim in found.claims.values():
        assert {each.value for each in claim.epsilons.values()} == {claim.epsilons["outsider"].value}
        check = claim.epsilons["outsider"].check
        assert check is not None
        assert claim.epsilons["outsider"].value <= check <= 1.4 * claim.epsilons["outsider"].value


@pytest.mark.parametrize(
    ("stated", "expected"),
    [(2.0, 1.993), (2.0 / 1.5, 3.147)],
    ids=["for the largest weight", "for equal weights, as papers state it"],
)
def test_weighted_averages_cost_what_their_largest_weight_costs(stated: float, expected: float) -> None:
    # z = 2 over C/3 is z = 1.333 over C/2: who states the weaker noise is not given the smaller epsilon for it.
    rule = {"rule": {"name": "mean", "weights": "fixed", "fixed": {"c0": 2, "c1": 1, "c2": 1}}}
    params = FedAvg.model_validate({"rounds": 1, "drift": None, "aggregation": rule, "local": {"learning_rate": 1e-9}})
    privacy = Global(multiplier=stated, target_epsilon=None, relation="zero_out", clipping=Fixed(norm=1.0))
    _, found = settled(params, privacy)
    assert outside(found)[0] == pytest.approx(expected, abs=1e-3)
    assert outside(found)[1] == outside(found)[2] < outside(found)[0]
    many = federate(params.model_copy(update={"rounds": 200}), privacy, Linear(), THREE, 0).training
    deviation = np.sqrt(np.mean([each.change**2 for each in many.rounds]) / many.network.layout.size)
    assert deviation == pytest.approx(stated * 0.5, rel=0.15)


def test_noise_at_the_server_holds_against_outsiders_alone() -> None:
    privacy = Global(multiplier=4.0, target_epsilon=None)
    _, found = settled(FedAvg(rounds=2, drift=None), privacy)
    for claim in found.claims.values():
        assert claim.epsilons["client"].value == claim.epsilons["server"].value == float("inf")
        assert f"another client {NO_GUARANTEE}; the server {NO_GUARANTEE}" in sentence(claim)
    assert {row.holds_against for row in found.ledger if row.covered} == {"outsider"}


def test_shares_of_noise_hold_against_others_as_far_as_they_go() -> None:
    _, found = settled(FedAvg(rounds=2, drift=None), Global(multiplier=4.0, target_epsilon=None, noise_from="clients"))
    for claim in found.claims.values():
        values = [claim.epsilons[party].value for party in ("outsider", "client", "server")]
        assert values == sorted(values)
        assert len(set(values)) == 3


def test_the_noisiest_and_the_least_noisy_client_each_have_their_own_epsilon() -> None:
    how = {"name": "epsilon", "default": 4.0, "clients": {"c0": 0.5, "c1": 1.0}}
    privacy = of_updates(multiplier=None, personalise=how, relation="zero_out")
    _, found = settled(FedAvg(rounds=3), privacy)
    assert outside(found) == pytest.approx([0.5, 1.0, 4.0], abs=1e-3)
    assert worst([claim.epsilons["outsider"] for claim in found.claims.values()]) == pytest.approx(4.0, abs=1e-3)


def test_steps_of_dp_sgd() -> None:
    params = FedAvg(rounds=5, local=Local(epochs=2, batch_size=64))
    _, found = settled(params, Record(multiplier=2.0, target_epsilon=None), sites(1000, 30))
    big, small = found.claims.values()
    assert (big.steps, big.rate, big.participations) == (160, 0.064, 5)
    assert (small.steps, small.rate) == (10, 1.0)  # fewer rows than a batch: every step takes all of them
    assert "160 noised releases" in sentence(big)
    assert "add or remove one record" in sentence(big)


def rows_of(found: Accounts, kind: str) -> list[LedgerRow]:
    return [row for row in found.ledger if row.kind == kind]


def test_without_privacy_the_ledger_says_that_nothing_covers_the_updates() -> None:
    _, found = settled(FedAvg(rounds=3), None)
    assert not found.claims
    assert [(row.client, row.kind, row.rounds, row.covered, row.epsilon) for row in found.ledger] == [
        (name, "update", "1-3", False, None) for name in ("c0", "c1", "c2")
    ]


def test_in_paper_mode_nothing_covers_the_updates_either() -> None:
    _, found = settled(FedAvg(rounds=3, drift=None), of_updates(paper=True))
    assert [(row.client, row.rounds, row.covered) for row in rows_of(found, "update")] == [
        (name, "1-3", False) for name in THREE.tables
    ]


def test_the_ledger_lists_all_that_tells_of_rows() -> None:
    rule = {"rule": {"name": "mean", "weights": "rows"}}
    given = {"rounds": 4, "aggregation": rule, "drift": {"action": "report"}, "early_stop": {"monitor": "loss"}}
    privacy = of_updates(clipping=Adaptive(), unproven="report")
    _, found = settled(FedAvg.model_validate(given), privacy)
    assert {row.kind for row in found.ledger if not row.covered} >= {"rows", "loss", "noise"}
    assert {row.rounds for row in rows_of(found, "rows")} == {""}
    assert {row.rounds for row in rows_of(found, "loss")} == {"1-4"}
    for kind in ("update", "votes", "all"):
        assert len(rows_of(found, kind)) == 3


def test_the_ledgers_sum_costs_more_than_its_parts_and_less_than_their_sum() -> None:
    _, found = settled(FedAvg(rounds=4), of_updates(clipping=Adaptive()))
    for client in THREE.tables:
        update, votes, together = (
            next(row.epsilon for row in rows_of(found, kind) if row.client == client) or 0.0
            for kind in ("update", "votes", "all")
        )
        assert max(update, votes) < together < update + votes
        claim = found.claims[client]
        assert claim.epsilons["outsider"].value == together
        assert claim.steps == 8


def test_control_variates_are_no_second_release() -> None:
    given = {"rounds": 5, "local": {"learning_rate": 0.1}}
    noise = of_updates(relation="replace_record")
    _, plain = settled(FedAvg.model_validate(given), noise)
    _, found = settled(Scaffold.model_validate(given), noise)
    assert outside(found) == outside(plain)
    assert {row.kind for row in found.ledger if row.covered} == {"update", "all"}
    assert [row.kind for row in found.ledger if row.kind != "steps"] == [row.kind for row in plain.ledger]
    assert len(rows_of(found, "steps")) == 3  # by which they are divided, so that they tell of rows
    assert all("control variate" in sentence(claim).split("Not covered")[0] for claim in found.claims.values())


STOP: dict[str, Any] = {"drift": None, "early_stop": {"monitor": "loss"}}
DRIFT = {"drift": {"action": "exclude"}}
MEDIAN: dict[str, Any] = {"drift": None, "aggregation": {"rule": {"name": "median"}}}
BY_ROWS: dict[str, Any] = {"drift": None, "aggregation": {"rule": {"name": "mean", "weights": "rows"}}}
REALISED: dict[str, Any] = {"drift": None, "aggregation": {"rule": {"name": "mean", "divisor": "realised"}}}
FIXED: dict[str, Any] = {
    "drift": None,
    "aggregation": {"rule": {"name": "mean", "weights": "fixed", "fixed": {"c0": 2, "c1": 1, "c2": 1}}},
}
SERVER = Global(multiplier=4.0, target_epsilon=None, unproven="report")
SHARES = Global(multiplier=4.0, target_epsilon=None, unproven="report", noise_from="clients")
PAPER = of_updates(paper=True)
SEEDED = of_updates(noise_seed=3)


@pytest.mark.parametrize(
    ("privacy", "params"),
    [
        (SERVER, DRIFT),
        (SERVER, MEDIAN),
        (SERVER, BY_ROWS),
        (SERVER, REALISED),
        (SERVER, STOP),
        (SHARES, FIXED),
        (SHARES, DRIFT),
        (PAPER, {}),
        (SEEDED, {}),
        (Record(multiplier=2.0, target_epsilon=None, noise_seed=3), {}),
        (of_updates(unproven="report"), STOP),
        (of_updates(unproven="report"), BY_ROWS),
    ],
    ids=lambda each: next(iter(each), "plain") if isinstance(each, dict) else each.name,
)
def test_where_no_epsilon_holds_none_is_told(privacy: Noised, params: dict[str, Any]) -> None:
    _, found = settled(FedAvg.model_validate({"rounds": 2, "drift": None, **params}), privacy)
    assert len(found.reasons) == 1
    for claim in found.claims.values():
        assert claim.reasons == found.reasons
        text = sentence(claim)
        assert text.startswith(f"Client {claim.client}: {NO_GUARANTEE}")
        assert "-DP" not in text
        assert "epsilon" not in text
    assert not any(row.covered or row.epsilon is not None for row in found.ledger)
    assert {row.client for row in found.ledger} == set(THREE.tables)


@pytest.mark.parametrize("params", [DRIFT, MEDIAN, BY_ROWS, REALISED, FIXED])
def test_clients_own_noise_keeps_its_epsilon_whatever_the_server_makes_of_messages(params: dict[str, Any]) -> None:
    noise = of_updates(relation="replace_record")
    _, found = settled(FedAvg.model_validate({"rounds": 10, **params}), noise, alike())
    assert not found.reasons
    assert outside(found) == pytest.approx([7.51128] * 3, abs=1e-4)


def test_where_nothing_was_released_the_epsilon_is_0() -> None:
    _, found = settled(FedAvg(rounds=0), of_updates())
    assert outside(found) == [0.0] * 3
    _, found = settled(FedAvg(rounds=5), of_updates(budget=1e-3))
    assert outside(found) == [0.0] * 3
    assert not [row for row in found.ledger if row.covered]


def test_the_sentence_has_all_its_conditions() -> None:
    _, found = settled(FedAvg(rounds=10, drift=Drift(), early_stop=EarlyStop(patience=10)), of_updates())
    text = sentence(found.claims["c0"])
    for part in (
        "any two inputs of client c0",
        "replace table",
        "all else fixed",
        "rounds 1..10",
        "clip 1,",
        "10 participations",
        "rate 1 ",
        "Covered: what a round of training changed of the weights.",
        "An input is the client's train rows as they were split and prepared.",
        "Not covered: how its rows were checked, split and prepared; re-identification risk (ARIREC)",
        "standard deviation of the noise",
        "data-derived",
        "the guarantee is the largest of all clients",
    ):
        assert part in text, part


@pytest.mark.parametrize("noise_from", ["server", "clients"])
def test_drift_scores_are_told_of_where_messages_have_not_all_of_the_noise(noise_from: str) -> None:
    noise = Global.model_validate({"multiplier": 4.0, "target_epsilon": None, "noise_from": noise_from})
    _, found = settled(FedAvg(rounds=2, drift=Drift(action="report")), noise)
    assert not found.reasons
    assert [row.client for row in rows_of(found, "drift scores")] == list(THREE.tables)
    assert all("how far its updates stood apart" in sentence(claim) for claim in found.claims.values())
    for blind in (FedAvg(rounds=2, drift=None), FedAvg(rounds=0, drift=Drift(action="report"))):
        assert not rows_of(settled(blind, noise)[1], "drift scores")
    assert not rows_of(settled(FedAvg(rounds=2, drift=Drift(action="report")), of_updates())[1], "drift scores")


def test_other_trainings_on_the_same_rows_are_told_of() -> None:
    params = FedAvg(rounds=1, drift=None)
    for noise in (None, of_updates()):
        done = federate(params, noise, Linear(), THREE, 0)
        found = accounts(done, noise, None if noise is None else setting_of(noise, params), others=39)
        assert [row.client for row in rows_of(found, "other trainings")] == list(THREE.tables)
        assert all("other trainings" in sentence(claim) for claim in found.claims.values())
