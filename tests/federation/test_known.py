"""What the server knows before training is what clients told it, and no more than it needs."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from bench.tiny_sites import sites
from components.dp.declarations import Global, Noised, Personalized, Record
from components.federation.declarations import FedAvg
from components.federation.messages import EVERYONE, SERVER, Wire
from components.federation.stage import Sites, federate
from components.models.declarations import Linear
from schemas.faults import DataError

THREE = sites(40, 50, 60)
BY_ROWS = FedAvg.model_validate({"rounds": 1, "aggregation": {"rule": {"name": "mean", "weights": "rows"}}})
ALIKE = FedAvg(rounds=1)
TIERS = {"name": "tiers", "tiers": [{"up_to": 0.055, "multiplier": 2.0}, {"up_to": 1.0, "multiplier": 4.0}]}
BY_EPSILON = {"name": "epsilon", "default": 2.0}


def noise(kind: type[Any], how: Any = None, multiplier: float | None = 2.0) -> Noised:
    made: Noised = kind.model_validate({"multiplier": multiplier, "target_epsilon": None, "personalise": how})
    return made


def told(wire: Wire) -> dict[str, int]:
    """Return how many messages of each kind crossed before the first round."""
    return dict(Counter(each.kind for each in wire.crossings if not each.round_number))


@pytest.mark.parametrize(
    ("params", "privacy", "expected"),
    [
        (ALIKE, None, set()),
        (BY_ROWS, None, {"rows"}),
        (ALIKE, Global(multiplier=2.0, target_epsilon=None), set()),
        (ALIKE, noise(Personalized, {"name": "max"}), {"risk", "multiplier"}),
        (ALIKE, noise(Personalized, {"name": "shift"}), {"risk", "multiplier"}),
        (ALIKE, noise(Personalized, TIERS, None), {"risk", "multiplier"}),
        (ALIKE, noise(Personalized, BY_EPSILON, None), set()),
        (ALIKE, noise(Record), {"rows"}),
        (ALIKE, noise(Record, {"name": "mean"}), {"rows", "risk", "multiplier"}),
        (BY_ROWS, noise(Record, {"name": "mean"}), {"rows", "risk", "multiplier"}),
    ],
)
def test_clients_tell_once_what_is_needed_and_nothing_else(
    params: FedAvg, privacy: Noised | None, expected: set[str]
) -> None:
    wire = Wire()
    federate(params, privacy, Linear(), THREE, 0, wire=wire)
    assert told(wire) == dict.fromkeys(expected, len(THREE.tables))
    for each in wire.crossings:
        if each.kind == "multiplier":
            assert (each.sender, each.receiver) == (SERVER, list(THREE.tables)[int(each.receiver[1:])])


def test_what_a_site_said_of_its_release_is_not_asked_again() -> None:
    wire = Wire()
    for client, risk in (("c0", 0.2), ("c1", 0.1), ("c2", 0.1)):
        wire.to_server(0, client, "measured", {"arirec": risk})
    done = federate(ALIKE, noise(Personalized, {"name": "max"}), Linear(), THREE, 0, wire=wire)
    assert told(wire) == {"measured": 3, "multiplier": 3}
    assert [plan.multiplier for plan in done.guarded.plans.values()] == [2.0, 1.0, 1.0]


def test_a_site_without_rows_tells_no_risk() -> None:
    wire = Wire()
    federate(ALIKE, noise(Personalized, {"name": "max"}), Linear(), sites(40, 0, 60), 0, wire=wire)
    assert [each.sender for each in wire.crossings if each.kind == "risk"] == ["c0", "c2"]


def test_a_risk_that_nobody_measured_is_asked_for_in_one_sentence() -> None:
    unknown = replace(THREE, risks={"c0": 0.1, "c2": 0.1})
    with pytest.raises(DataError, match="no risk is known of 'c1'"):
        federate(ALIKE, noise(Personalized, {"name": "max"}), Linear(), unknown, 0)


class Twisted(Wire):
    """A wire on which one kind of message arrives as something else."""

    __slots__ = ("as_read", "kind")

    def to_server(self, round_number: int, client: str, kind: str, content: Any) -> Any:
        """Send it twisted."""
        return Wire.to_server(self, round_number, client, kind, self._twisted(kind, content))

    def to_clients(self, round_number: int, kind: str, content: Any, client: str = EVERYONE) -> Any:
        """Send it twisted."""
        return Wire.to_clients(self, round_number, kind, self._twisted(kind, content), client)

    def _twisted(self, kind: str, content: Any) -> Any:
        return self.as_read(content) if kind == self.kind else content


def twisted(kind: str, as_read: Any) -> Wire:
    wire = Twisted()
    wire.kind, wire.as_read = kind, as_read
    return wire


def multipliers(wire: Wire, privacy: Noised, at: Sites = THREE) -> list[float | None]:
    done = federate(ALIKE, privacy, Linear(), at, 0, wire=wire)
    return [plan.multiplier for plan in done.guarded.plans.values()]


def test_noise_follows_the_risks_that_arrive_and_not_those_that_stayed() -> None:
    by_risk = noise(Personalized, {"name": "max"})
    plain = multipliers(Wire(), by_risk)
    assert plain == pytest.approx([2 * 5 / 7, 2 * 6 / 7, 2.0])
    assert multipliers(twisted("risk", lambda _: 0.3), by_risk) == [2.0] * 3
    raised = replace(THREE, risks={**THREE.risks, "c0": 0.14})
    assert multipliers(Wire(), by_risk, raised) == pytest.approx([2.0, 6 / 7, 1.0])


def test_a_client_adds_the_noise_that_it_was_told() -> None:
    by_risk = noise(Personalized, {"name": "max"})
    wire = twisted("multiplier", lambda _: 9.0)
    assert multipliers(wire, by_risk) == [9.0] * 3


def test_rates_follow_the_rows_that_arrive() -> None:
    done = federate(ALIKE, noise(Record), Linear(), sites(640, 640), 0, wire=twisted("rows", lambda rows: 2 * rows))
    assert [plan.per_round[0].rate for plan in done.guarded.plans.values()] == [0.05] * 2


def test_a_wire_begun_again_has_what_was_told_before_and_nothing_of_the_rounds() -> None:
    wire = Wire()
    wire.once("a", "rows", 5)
    wire.to_server(1, "a", "loss", 0.5)
    other = wire.begun()
    assert [each.kind for each in other.crossings] == ["rows"]
    assert other.once("a", "rows", 6) == 5
    other.to_server(0, "b", "rows", 7)
    assert ("b", "rows") not in wire.before
    assert len(wire.crossings) == 2
