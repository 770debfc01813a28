"""What the server makes of the updates of a round."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from bench.tiny_sites import scripted, sites
from components.dp.declarations import Fixed, Global
from components.federation import stage
from components.federation.aggregation.declarations import Aggregation, Krum, Mean, Median, TrimmedMean
from components.federation.attacks.declarations import Scaling
from components.federation.declarations import Scaffold
from components.federation.drift.declarations import Drift
from components.federation.layout import Layout
from components.federation.server import Closed, Server
from components.federation.stage import federate
from components.models.declarations import Linear

LAYOUT = Layout(("w",), ((2,),))


def server(shares: Mapping[str, float], **given: Any) -> Server:
    return Server(LAYOUT, np.zeros(2), given.pop("aggregation", Aggregation()), shares, **given)


def told(updates: Mapping[str, Sequence[float]]) -> dict[str, dict[str, Any]]:
    return {name: {"update": np.array(update, dtype=np.float64)} for name, update in updates.items()}


def test_updates_count_by_their_weights() -> None:
    one = server({"a": 0.5, "b": 0.25, "c": 0.25})
    closed = one.close(1, told({"a": [1, 0], "b": [0, 4], "c": [0, 0]}))
    np.testing.assert_allclose(one.weights, [0.5, 1.0])
    assert closed.came == ("a", "b", "c")
    np.testing.assert_allclose(closed.shares, [0.5, 0.25, 0.25])
    assert not closed.stayed


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"weights": "equal"}, [0.5, 0.5]),
        ({"weights": "fixed", "fixed": {"a": 3, "b": 1}}, [0.75, 0.25]),
    ],
    ids=["equal", "fixed"],
)
def test_weights_are_public_shares(rule: dict[str, Any], expected: list[float]) -> None:
    aggregation = Aggregation.model_validate({"rule": {"name": "mean", **rule}})
    training = scripted(lambda name, _: [1, 0] if name == "a" else [0, 1], ["a", "b"], aggregation=aggregation)
    training.run()
    np.testing.assert_allclose(training.server.weights, expected)


@pytest.mark.parametrize(("fixed", "expected"), [(False, 1.0), (True, 2 / 3)])
def test_a_client_that_does_not_come_counts_as_zero_where_the_divisor_is_fixed(fixed: bool, expected: float) -> None:  # noqa: FBT001
    one = server(dict.fromkeys("abc", 1 / 3), fixed_divisor=fixed)
    one.close(1, told({"a": [1, 0], "b": [1, 0]}))
    np.testing.assert_allclose(one.weights, [expected, 0])


def test_the_order_of_arrival_changes_no_bit() -> None:
    updates = {name: np.random.default_rng(place).normal(size=2) for place, name in enumerate("abcde")}
    one, other = (server(dict.fromkeys("abcde", 0.2)) for _ in range(2))
    one.close(1, told(updates))
    other.close(1, told(dict(reversed(updates.items()))))
    np.testing.assert_array_equal(one.weights, other.weights)


@pytest.mark.parametrize("spoiled", [np.nan, np.inf, -np.inf, 1e308])
def test_what_cannot_be_reckoned_with_is_refused_and_named(spoiled: float) -> None:
    one = server({"a": 0.5, "b": 0.5})
    closed = one.close(1, told({"a": [1, 1], "b": [spoiled, 1]}))
    assert (closed.came, closed.refused) == (("a",), ("b",))
    np.testing.assert_allclose(one.weights, [1, 1])


def test_where_every_update_is_refused_the_weights_stay_and_it_says_so() -> None:
    one = server({"a": 0.5, "b": 0.5}, drift=Drift())
    closed = one.close(1, told({"a": [np.nan, 1], "b": [np.inf, 1]}))
    assert closed.refused == ("a", "b")
    assert closed.stayed == "every update was refused: none was a finite vector"
    assert not one.weights.any()
    assert one.close(2, {}).stayed == "no client came"


@pytest.mark.parametrize("rate", [1e300, 1e308])
def test_weights_that_leave_the_range_of_numbers_stay_and_it_says_so(rate: float) -> None:
    one = server({"a": 0.5, "b": 0.5}, aggregation=Aggregation(learning_rate=rate), drift=Drift())
    for number in (1, 2):
        closed = one.close(number, told({"a": [1, 1], "b": [1, 1.1]}))
        assert closed.stayed == (
            "the new weights would be out of the range of numbers: lower federation.aggregation.learning_rate"
        )
    assert not one.weights.any()


def test_a_round_that_too_few_answer_is_aborted_whatever_they_sent() -> None:
    one = server(dict.fromkeys("abc", 1 / 3), fewest=3, drift=Drift(), control=np.zeros(2))
    closed = one.close(1, told({"a": [1, 1], "b": [1, 1], "c": [np.nan, 1]}))
    assert "aborted" in closed.stayed
    assert not one.weights.any()
    assert not one.streaks
    assert not one.close(2, told({"a": [1, 1], "b": [1, 1], "c": [1, 1]})).stayed
    assert one.weights.any()


def test_krum_says_when_too_few_come() -> None:
    one = server(dict.fromkeys("abcde", 0.2), aggregation=Aggregation(rule=Krum(byzantine=1)))
    assert one.close(1, told({"a": [1, 1], "b": [1, 1]})).stayed.startswith("krum needs 5 clients")


HONEST = {f"c{place}": [1.0 + 0.01 * place, 2.0 - 0.01 * place] for place in range(9)}


def test_a_drifting_client_is_left_out_of_the_weights_and_of_the_control_variate() -> None:
    names = [*HONEST, "evil"]
    one = server(dict.fromkeys(names, 0.1), drift=Drift(), control=np.zeros(2))
    said = told({**HONEST, "evil": [-100.0, -200.0]})
    for name, each in said.items():
        each["control change"] = np.array([1e6, 1e6]) if name == "evil" else np.array([0.1, 0.2])
    closed = one.close(1, said)
    assert closed.checked is not None
    assert [name for name, out in zip(closed.checked.clients, closed.checked.excluded, strict=True) if out] == ["evil"]
    np.testing.assert_allclose(one.weights, np.mean(list(HONEST.values()), axis=0))
    assert one.control is not None
    np.testing.assert_allclose(one.control, np.array([0.1, 0.2]) * 9 / 10)


@pytest.mark.parametrize("rule", [Median(), TrimmedMean(share=0.1), Krum(byzantine=1)], ids=lambda rule: rule.name)
def test_under_a_robust_rule_no_control_variate_comes_in_by_a_back_door(rule: Any) -> None:
    names = [*HONEST, "evil"]
    one = server(dict.fromkeys(names, 0.1), aggregation=Aggregation(rule=rule), control=np.zeros(2))
    said = told({**HONEST, "evil": [-100.0, -200.0]})
    for name, each in said.items():
        each["control change"] = np.array([1e6, 1e6]) if name == "evil" else np.array([0.1, 0.2])
    one.close(1, said)
    assert one.control is not None
    np.testing.assert_allclose(one.control, [0.1, 0.2])
    hull = np.array(list(HONEST.values()))
    assert (hull.min(axis=0) <= one.weights).all()
    assert (one.weights <= hull.max(axis=0)).all()


@pytest.mark.parametrize("evil", [1e6, -1e6, 1e200, np.inf, np.nan])
def test_what_bounds_updates_bounds_changes_of_control_variates_too(evil: float) -> None:
    names = [f"c{number}" for number in range(9)] + ["evil"]
    bounded = Aggregation(norm_bound=1.0)
    one = server(dict.fromkeys(names, 0.1), aggregation=bounded, control=np.zeros(2), step_length=0.5)
    said = told({name: [0.1, 0.1] for name in names})
    for name, each in said.items():
        each["control change"] = np.array([evil, 0.0]) if name == "evil" else np.array([0.1, 0.2])
    one.close(1, said)
    assert one.control is not None
    assert np.abs(one.control - np.array([0.1, 0.2]) * 9 / 10).max() <= 2.0 / 10 + 1e-12  # B / (K lr) of one in ten


def test_the_bound_of_control_variates_is_none_to_those_who_keep_that_of_updates() -> None:
    at = sites(40, 60, 80)
    given = {"rounds": 6, "local": {"learning_rate": 0.3, "batch_size": 16, "epochs": 2}}
    free = federate(Scaffold.model_validate(given), None, Linear(), at, 0)
    longest = 0.0

    class Longest(Server):
        """A server that notes the longest update."""

        def close(self, round_number: int, told: Any) -> Closed:
            nonlocal longest
            longest = max(longest, *(float(np.linalg.norm(each["update"])) for each in told.values()))
            return Server.close(self, round_number, told)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage, "Server", Longest)
        federate(Scaffold.model_validate(given), None, Linear(), at, 0)
    bounded = federate(
        Scaffold.model_validate({**given, "aggregation": {"norm_bound": longest}}), None, Linear(), at, 0
    )
    np.testing.assert_allclose(bounded.training.server.weights, free.training.server.weights, rtol=1e-12)


def test_the_control_variate_is_the_mean_of_all_clients_changes() -> None:
    one = server(dict.fromkeys("abcd", 0.25), control=np.ones(2))
    said = told({"a": [1, 1], "b": [1, 1], "c": [1, 1]})
    said["a"]["control change"], said["b"]["control change"] = np.array([4.0, 0.0]), np.array([0.0, 8.0])
    one.close(1, said)  # c has none to tell, and d does not come
    assert one.control is not None
    np.testing.assert_allclose(one.control, [2.0, 3.0])


def noised(updates: Any, rounds: int = 1, size: int = 4000, **given: Any) -> Any:
    privacy = Global(
        multiplier=2.0, target_epsilon=None, unproven="report", clipping=Fixed(norm=1.5), **given.pop("privacy", {})
    )
    training = scripted(
        updates, given.pop("clients", ["a", "b", "c"]), size=size, rounds=rounds, privacy=privacy, **given
    )
    training.run()
    return training


def test_the_servers_noise_is_on_the_sum_once() -> None:
    training = noised(lambda *_: np.zeros(4000))
    assert training.server.weights.std() == pytest.approx(2.0 * 1.5 / 3, rel=0.05)  # not / sqrt(3) / 3


def test_it_is_for_the_largest_weight_and_stays_so_when_that_client_does_not_come() -> None:
    # The accounts of the others count on it: with less noise their epsilon would be false.
    rule = {"rule": {"name": "mean", "weights": "fixed", "fixed": {"a": 2, "b": 1, "c": 1}}}
    aggregation = Aggregation.model_validate(rule)
    training = noised(lambda *_: np.zeros(4000), aggregation=aggregation, rounds=8, participation=0.5)
    before = np.zeros(4000)
    assert any("a" not in each.cohort for each in training.rounds)
    total = sum(each.change**2 for each in training.rounds)
    assert np.sqrt(total / 8 / 4000) == pytest.approx(2.0 * 1.5 * 0.5 / 0.5, rel=0.05)
    for each in training.rounds:
        assert each.change / np.sqrt(before.size) == pytest.approx(3.0, rel=0.1)


def test_a_realised_divisor_divides_noise_as_well() -> None:
    # Guide to dropouts: 10 expected, 6 came: .1 becomes .1667.
    names = [f"c{place}" for place in range(10)]
    mean = Aggregation(rule=Mean(divisor="realised"))
    training = noised(lambda *_: np.zeros(4000), clients=names, aggregation=mean, rounds=10, participation=0.6)
    for each in training.rounds:
        assert each.change / np.sqrt(4000) == pytest.approx(3.0 / len(each.closed.came), rel=0.1)


def test_a_robust_rule_under_the_servers_noise_is_that_rule() -> None:
    attack = Scaling(clients=["c"], factor=100)
    ones = np.full(4000, 0.01)
    training = noised(lambda *_: ones, clients=list("abcde"), aggregation=Aggregation(rule=Median()), attacks=[attack])
    assert training.server.weights.mean() == pytest.approx(0.01, abs=0.05)
    assert training.server.weights.std() == pytest.approx(3.0 / 5, rel=0.05)


def test_drift_that_leaves_everybody_out_is_no_error() -> None:
    one = noised(lambda *_: np.zeros(4000)).server
    shares = np.zeros(3)
    assert one.averaging is not None
    found = one.averaging.averaged(np.zeros((3, 4000)), shares, 1.0)
    assert found.std() == pytest.approx(1.0, rel=0.05)
