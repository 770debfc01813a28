"""What leaves a client is bounded, carries the noise that its account says, and stays within its budget."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from bench.tiny_sites import scripted
from components.dp import gaussian, mechanisms
from components.dp.accounting import multiplier_for
from components.dp.audit import lower_bound
from components.dp.clipping import Clipped
from components.dp.declarations import Adaptive, Fixed, Global, Noised, Personalized
from components.dp.releases import Releases
from components.federation import guards
from components.federation.aggregation.declarations import Aggregation, Mean
from components.federation.guards import Updates
from components.federation.layout import Weights
from components.federation.rounds import Training

SIZE = 4000
NORM = 0.5
Z = 2.0


def updates_of(training: Training) -> list[Weights]:
    """Run, and return every update that crossed."""
    found: list[Weights] = []
    send = training.wire.to_server

    class Watched:
        crossings = training.wire.crossings
        to_clients = training.wire.to_clients

        def to_server(self, number: int, client: str, kind: str, content: Any) -> Any:
            if kind == "update":
                found.append(content)
            return send(number, client, kind, content)

    training.wire = Watched()  # type: ignore[assignment]
    training.run()
    return found


def noise_of(privacy: Noised, clients: Sequence[str] = ("a",), update: float = 0.0) -> Weights:
    """Return the numbers of all updates that cross."""
    training = scripted(lambda *_: np.full(SIZE, update), clients, size=SIZE, privacy=privacy)
    return np.stack(updates_of(training))


def local(**given: Any) -> Personalized:
    return Personalized(**{"multiplier": Z, "target_epsilon": None, "clipping": Fixed(norm=NORM), **given})


@pytest.mark.parametrize("huge", [1.0, 1e6, 1e150, 1e300])
def test_no_update_is_longer_than_the_clip_however_huge(huge: float) -> None:
    privacy = local(multiplier=1e-6)
    (sent,) = updates_of(scripted(lambda *_: [huge, -huge, huge], ["a"], size=3, privacy=privacy))
    assert np.linalg.norm(sent) == pytest.approx(NORM, rel=1e-4)
    np.testing.assert_allclose(sent / np.linalg.norm(sent), np.array([1, -1, 1]) / np.sqrt(3), atol=1e-4)


def test_at_the_servers_noise_updates_cross_clipped_and_without_noise_of_their_own() -> None:
    privacy = Global(multiplier=Z, target_epsilon=None, clipping=Fixed(norm=NORM))
    (sent,) = updates_of(scripted(lambda *_: [30.0, 40.0], ["a"], privacy=privacy))
    np.testing.assert_allclose(sent, np.array([0.6, 0.8]) * NORM, rtol=1e-9)


@pytest.mark.parametrize("spoiled", [np.nan, np.inf])
def test_an_update_that_is_no_finite_vector_leaves_as_noise_alone(spoiled: float) -> None:
    # A message that is missing, or refused, would tell something of the client's rows.
    training = scripted(lambda *_: np.full(SIZE, spoiled), ["a"], size=SIZE, privacy=local())
    (sent,) = updates_of(training)
    assert sent.std() == pytest.approx(Z * NORM, rel=0.05)
    assert training.rounds[0].closed.came == ("a",)
    account = training.clients[0].guard.account
    assert account is not None
    assert account.participations == 1


def test_a_clients_own_noise_is_as_strong_as_its_account_says() -> None:
    assert noise_of(local()).std() == pytest.approx(Z * NORM, rel=0.05)


def test_shares_of_noise_add_up_to_all_of_it() -> None:
    privacy = Global(multiplier=Z, target_epsilon=None, noise_from="clients", clipping=Fixed(norm=NORM))
    sent = noise_of(privacy, "abcd")
    np.testing.assert_allclose(sent.std(axis=1), Z * NORM / 2, rtol=0.05)
    assert sent.sum(axis=0).std() == pytest.approx(Z * NORM, rel=0.05)


def test_with_a_smaller_declared_cohort_every_share_is_larger() -> None:
    privacy = Global(
        multiplier=Z, target_epsilon=None, noise_from="clients", smallest_cohort=2, clipping=Fixed(norm=NORM)
    )
    sent = noise_of(privacy, "abcd")
    assert sent[:2].sum(axis=0).std() == pytest.approx(Z * NORM, rel=0.05)


def test_noise_differs_between_clients_and_rounds() -> None:
    sent = updates_of(scripted(lambda *_: np.zeros(SIZE), ["a", "b"], size=SIZE, rounds=2, privacy=local()))
    assert np.abs(np.corrcoef(np.stack(sent)) - np.eye(4)).max() < 0.1


def test_paper_mode_adds_noise_to_what_nothing_clips_and_keeps_no_account() -> None:
    training = scripted(lambda *_: np.full(SIZE, 50.0), ["a"], size=SIZE, privacy=local(paper=True))
    (sent,) = updates_of(training)
    assert sent.mean() == pytest.approx(50.0, abs=0.2)
    assert sent.std() == pytest.approx(Z, rel=0.05)
    assert training.clients[0].guard.account is None


def test_accounts_count_what_was_released_and_nothing_else() -> None:
    training = scripted(lambda *_: [1.0, 0.0], "abcdef", rounds=20, participation=0.5, privacy=local())
    training.run()
    for client in training.clients:
        account = client.guard.account
        assert account is not None
        took_part = [each.number for each in training.rounds if client.name in each.cohort]
        assert [(each.round_number, each.kind, each.clip) for each in account.entries] == [
            (number, "update", NORM) for number in took_part
        ]
        assert account.releases == (Releases(Z, 1.0, 1, 2.0),) * len(took_part)
        sent = [
            each.round_number for each in training.wire.crossings if (each.sender, each.kind) == (client.name, "update")
        ]
        assert sent == took_part


@pytest.mark.parametrize("clipping", [Fixed(), Adaptive()])
def test_a_budget_is_for_all_that_a_round_releases_and_stops_before_it_is_exceeded(clipping: Any) -> None:
    # Seven updates alone would be within it; with their votes, which have three times the noise, six are.
    budget = gaussian.epsilon(2 * 7**0.5 / 4, 1e-5) * (1 + 1e-9)
    privacy = local(multiplier=4.0, clipping=clipping, budget=budget)
    training = scripted(lambda *_: [1.0, 0.0], "ab", rounds=20, privacy=privacy)
    assert training.run() == "every client's budget is spent"
    assert len(training.rounds) == (7 if isinstance(clipping, Fixed) else 6)


@pytest.mark.parametrize("noise_from", ["server", "clients"])
def test_noise_on_a_sum_is_on_everyones_account(noise_from: Any) -> None:
    privacy = Global(multiplier=Z, target_epsilon=None, noise_from=noise_from)
    training = scripted(lambda *_: [1.0, 0.0], "abc", rounds=4, privacy=privacy)
    training.run()
    accounts = [client.guard.account for client in training.clients]
    assert [each.releases for each in accounts if each] == [(Releases(Z, 1.0, 1, 2.0),) * 4] * 3


@pytest.mark.parametrize("quantile", [0.2, 0.5, 0.8])
def test_an_adaptive_clip_follows_the_quantile_and_its_votes_are_accounted(quantile: float) -> None:
    lengths = {f"c{place:02d}": 1.0 + place for place in range(20)}
    privacy = local(
        multiplier=0.05, clipping=Adaptive(norm=1.0, quantile=quantile, rate=0.3, vote_noise=3.0), unproven="report"
    )
    training = scripted(lambda name, _: [lengths[name], 0.0], list(lengths), rounds=60, privacy=privacy)
    training.run()
    clips = [each.clip for each in training.rounds if each.clip is not None]
    assert clips[0] == 1.0
    assert np.mean(clips[-10:]) == pytest.approx(1 + 20 * quantile, abs=2.5)
    account = training.clients[0].guard.account
    assert account is not None
    assert [each.kind for each in account.entries] == ["update", "votes"] * 60
    assert {each.clip for each in account.entries if each.kind == "update"} == set(clips)
    votes = [each.releases for each in account.entries if each.kind == "votes"]
    assert set(votes) == {Releases(0.05 * 3.0, 1.0, 1, 2.0)}


@pytest.mark.parametrize(("noise_from", "expected"), [("server", 0.0), ("clients", 1.0)])
def test_votes_carry_noise_once(noise_from: Any, expected: float) -> None:
    # vote noise: half a vote times vote_noise times the multiplier, over all clients
    privacy = Global(multiplier=2.0, target_epsilon=None, noise_from=noise_from, clipping=Adaptive(norm=9.0))
    training = scripted(lambda *_: [0.0, 0.0], "abcd", rounds=300, privacy=privacy)
    told: list[float] = []
    send = type(training.wire).to_server

    def watched(wire: Any, number: int, client: str, kind: str, content: Any) -> Any:
        if kind == "vote":
            told.append(content)
        return send(wire, number, client, kind, content)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(training.wire), "to_server", watched)
        training.run()
    sums = np.array(told).reshape(-1, 4).sum(axis=1)
    assert sums.std() == pytest.approx(expected * 0.5 * 2.0 * 3.0, rel=0.25)
    steps = np.diff(np.log([each.clip for each in training.rounds if each.clip]))
    assert len(np.unique(np.round(steps, 6))) > 30  # noised, whoever adds it


def test_the_servers_noise_on_the_votes_is_all_that_is_accounted() -> None:
    # Half a vote times vote_noise times the multiplier on the sum of 8 votes, of which half are each way.
    privacy = Global(multiplier=0.5, target_epsilon=None, clipping=Adaptive(norm=1.0, quantile=0.5, rate=0.1))
    names = "abcdefgh"
    lengths = dict(zip(names, [0.0, 1e9] * 4, strict=True))
    training = scripted(lambda name, _: [lengths[name], 0.0], names, rounds=400, privacy=privacy)
    training.run()
    shares = -np.diff(np.log([each.clip for each in training.rounds if each.clip])) / 0.1
    assert shares.std() * 8 == pytest.approx(0.5 * 0.5 * 3.0, rel=0.12)
    assert shares.mean() == pytest.approx(0.0, abs=0.02)


def test_the_servers_noise_is_for_the_largest_weight_whoever_comes() -> None:
    # The accounts of small clients count on it in rounds that the large one misses, too.
    weights = {"large": 0.6, "small": 0.2, "tiny": 0.2}
    privacy = Global(multiplier=Z, target_epsilon=None, clipping=Fixed(norm=NORM))
    aggregation = Aggregation(rule=Mean(weights="fixed", fixed=weights))
    training = scripted(
        lambda *_: np.zeros(SIZE),
        list(weights),
        size=SIZE,
        rounds=12,
        participation=0.5,
        privacy=privacy,
        aggregation=aggregation,
    )
    passed = [training.server.weights]
    training.run(lambda now: passed.append(now.server.weights))
    found = {
        "large" in each.closed.came: noise.std()
        for each, noise in zip(training.rounds, np.diff(passed, axis=0), strict=True)
        if each.closed.came
    }
    expected = pytest.approx(Z * NORM * 0.6 / 0.5, rel=0.06)
    assert found == {True: expected, False: expected}


def test_where_those_that_came_are_divided_by_the_noise_is_divided_with_them() -> None:
    privacy = Global(multiplier=Z, target_epsilon=None, clipping=Fixed(norm=NORM), unproven="report")
    training = scripted(
        lambda *_: np.zeros(SIZE),
        "abcd",
        size=SIZE,
        rounds=6,
        participation=0.5,
        privacy=privacy,
        aggregation=Aggregation(rule=Mean(divisor="realised")),
    )
    passed = [training.server.weights]
    training.run(lambda now: passed.append(now.server.weights))
    came = [len(each.closed.came) for each in training.rounds]
    assert len(set(came)) > 1
    for count, update in zip(came, np.diff(passed, axis=0), strict=True):
        assert update.std() == pytest.approx(Z * NORM / count, rel=0.06)


@pytest.mark.parametrize("noise_from", ["server", "clients"])
def test_the_clip_follows_the_votes_that_crossed_and_the_servers_noise_alone(noise_from: Any) -> None:
    how = Adaptive(norm=1.0, quantile=0.5, rate=0.1)
    privacy = Global(multiplier=0.1, target_epsilon=None, noise_from=noise_from, clipping=how)
    training = scripted(lambda *_: [0.0, 0.0], "abcd", rounds=8, privacy=privacy)
    told: list[float] = []
    send = type(training.wire).to_server

    def watched(wire: Any, number: int, client: str, kind: str, content: Any) -> Any:
        if kind == "vote":
            told.append(content)
        return send(wire, number, client, kind, content)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(training.wire), "to_server", watched)
        training.run()
    shares = np.clip(np.array(told).reshape(-1, 4).sum(axis=1) / 4 + 0.5, 0, 1)[:-1]
    steps = np.diff(np.log([each.clip for each in training.rounds if each.clip]))
    if noise_from == "clients":
        np.testing.assert_allclose(steps, -0.1 * (shares - 0.5), atol=1e-12)
    else:  # votes of 1/2 each, and noise on their sum
        assert (shares == 1).all()
        assert (np.abs(steps + 0.05) < 0.05).all()
        assert (steps != -0.05).any()


def test_a_clip_that_nobody_voted_on_stays() -> None:
    privacy = Global(
        multiplier=2.0,
        target_epsilon=None,
        noise_from="clients",
        smallest_cohort=3,
        clipping=Adaptive(norm=2.0, quantile=0.8),
    )
    training = scripted(lambda *_: [9.0, 0.0], "abc", rounds=40, participation=0.5, privacy=privacy)
    training.run()
    pairs = zip(training.rounds, training.rounds[1:], strict=False)
    for before, after in pairs:
        assert (before.clip == after.clip) == ("aborted" in before.closed.stayed)


def test_the_deviation_that_is_told_is_that_of_the_noise() -> None:
    training = scripted(lambda *_: [9.0, 0.0], ["a"], privacy=local())
    training.run()
    assert training.clients[0].guard.deviation == Z * NORM


CANARIES = 600
DELTA = 1e-5


def shown(training_of: Any, present: np.ndarray, signal: float) -> float:
    """Return the epsilon that an attacker shows who sees every client's message: each client is a canary."""
    sent = np.stack(updates_of(training_of))[:, 0]
    surest = np.argsort(-np.abs(sent - signal / 2))[: CANARIES // 10]
    right = int(((sent > signal / 2) == present)[surest].sum())
    return lower_bound(right, surest.size, CANARIES, DELTA)


def canaries(seed: int, present: np.ndarray) -> Training:
    """Return a round in which clients send a long update or none at all (zero out), under an epsilon of 1."""
    multiplier = multiplier_for(1.0, DELTA, (Releases(1.0),))
    names = [f"c{place:03d}" for place in range(CANARIES)]
    sends = dict(zip(names, np.where(present, 5.0, 0.0), strict=True))
    privacy = local(multiplier=multiplier, relation="zero_out", noise_seed=seed)
    return scripted(lambda name, _: [sends[name], 0.0], names, privacy=privacy)


def coins(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random(CANARIES) < 0.5


def test_an_audit_of_whole_clients_does_not_exceed_what_is_claimed() -> None:
    found = [shown(canaries(seed, coins(seed)), coins(seed), NORM) for seed in range(8)]
    assert sum(each > 1.0 for each in found) <= 1  # at 95 % confidence, of 8


def test_it_does_where_the_noise_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(clipped: Clipped, *_: Any) -> Weights:
        return clipped.updates

    monkeypatch.setattr(guards, "noised_messages", silent)
    assert shown(canaries(1, coins(1)), coins(1), NORM) > 1.0


def test_it_does_where_the_clip_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def unbounded(update: Weights, _: float) -> Clipped:
        none = np.zeros(1, dtype=np.bool_)
        return Clipped(update[None] * 10, np.ones(1), none, none)

    monkeypatch.setattr(guards, "clipped_to", unbounded)
    assert shown(canaries(1, coins(1)), coins(1), 50.0) > 1.0


def test_it_does_where_the_attacker_knows_the_seed() -> None:
    present = coins(1)
    known = np.stack(updates_of(canaries(1, np.zeros(CANARIES, dtype=bool))))[:, 0]
    sent = np.stack(updates_of(canaries(1, present)))[:, 0] - known
    right = int(((sent > NORM / 2) == present).sum())
    assert lower_bound(right, CANARIES, CANARIES, DELTA) > 1.0


def test_noise_lies_on_a_grid() -> None:
    # The low-order bits of a floating-point sum can tell what was summed.
    sent = noise_of(local(), update=0.001)
    step = mechanisms.grid_step(NORM, Z * NORM)
    np.testing.assert_array_equal(np.rint(sent / step) * step, sent)


def test_guards_of_updates_ask_for_no_privacy_of_records() -> None:
    guard = scripted(lambda *_: [1.0, 0.0], ["a"], privacy=local()).clients[0].guard
    assert isinstance(guard, Updates)
    assert guard.per_record is None
