"""Nothing crosses between clients and server but what the wire lists: content is copied, and all is counted."""

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bench.reachable import reached
from bench.tiny_sites import Scripted, scripted, sites
from components.data.table import Table
from components.dp.declarations import Adaptive, Global, Personalized
from components.federation.client import Client
from components.federation.declarations import EarlyStop, FedAvg, Local, Scaffold
from components.federation.drift.declarations import Drift
from components.federation.messages import EVERYONE, KINDS, SERVER, Wire
from components.federation.server import Closed, Server
from components.federation.stage import federate
from components.models.declarations import Linear


def holds_rows(each: Any, features: list[np.ndarray]) -> bool:
    if isinstance(each, Client | Table | pd.DataFrame | pd.Series):
        return True
    return isinstance(each, np.ndarray) and any(np.shares_memory(each, rows) for rows in features)


def test_no_row_and_no_client_can_be_got_at_from_the_server() -> None:
    params = FedAvg(rounds=2, drift=Drift(), early_stop=EarlyStop(monitor="loss"))
    privacy = Global(unproven="report", clipping=Adaptive())
    done = federate(params, privacy, Linear(), sites(30, 40), 0)
    features = [client.features for client in done.training.clients]
    seen = list(reached([done.training.server, done.training.wire, done.training.rounds]))
    assert not [type(each) for each in seen if holds_rows(each, features)]
    assert any(each is done.training.server.weights for each in seen)
    assert any(holds_rows(each, features) for each in reached(done.training))  # what the walk is able to find


def test_what_the_server_reads_shares_no_memory_with_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    training = scripted(lambda _name, _round: [1.0, 2.0], ["a"])
    told: list[Any] = []
    close = Server.close

    def watched(self: Server, number: int, said: Any) -> Closed:
        told.append(said)
        return close(self, number, said)

    monkeypatch.setattr(Server, "close", watched)
    training.run()
    engine = training.engine
    assert isinstance(engine, Scripted)
    read = told[0]["a"]["update"]
    assert not np.shares_memory(read, engine.gave[0].update)
    with pytest.raises(ValueError, match="read-only"):
        read[0] = 9.0


ROUNDS, CLIENTS = 3, 4


def crossed(params: Any, privacy: Any = None) -> tuple[Counter[tuple[str, str]], Counter[str], int]:
    """Return messages by (from whom, kind), numbers by kind, and the number of weights."""
    done = federate(params, privacy, Linear(), sites(*[25] * CLIENTS), 0)
    wire = done.training.wire
    counts: Counter[tuple[str, str]] = Counter()
    numbers: Counter[str] = Counter()
    for each in wire.crossings:
        counts["server" if each.sender == SERVER else "client", each.kind] += 1
        numbers[each.kind] += each.numbers
        assert (each.receiver == SERVER) != (each.sender == SERVER)
    return counts, numbers, done.training.network.layout.size


def test_fedavg_crosses_weights_and_updates_alone() -> None:
    counts, numbers, size = crossed(FedAvg(rounds=ROUNDS))
    assert counts == {("server", "global weights"): ROUNDS, ("client", "update"): ROUNDS * CLIENTS}
    assert numbers == {"global weights": ROUNDS * size, "update": ROUNDS * CLIENTS * size}


def test_rows_cross_once_where_they_weigh() -> None:
    params = FedAvg.model_validate({"rounds": ROUNDS, "aggregation": {"rule": {"name": "mean", "weights": "rows"}}})
    counts, _, _ = crossed(params)
    assert counts["client", "rows"] == CLIENTS
    assert sum(counts.values()) == CLIENTS + ROUNDS * (1 + CLIENTS)


def test_scaffold_crosses_control_variates_as_well() -> None:
    counts, numbers, size = crossed(Scaffold(rounds=ROUNDS, local=Local(learning_rate=0.1)))
    assert counts["server", "control"] == ROUNDS
    assert counts["client", "control change"] == ROUNDS * CLIENTS
    assert numbers["control change"] == ROUNDS * CLIENTS * size
    assert sum(counts.values()) == 2 * ROUNDS * (1 + CLIENTS)


def test_losses_cross_where_training_ends_by_them_and_nowhere_else() -> None:
    watched, _, _ = crossed(FedAvg(rounds=ROUNDS, early_stop=EarlyStop(monitor="loss", patience=ROUNDS)))
    assert watched["client", "loss"] == ROUNDS * CLIENTS
    moved, _, _ = crossed(FedAvg(rounds=ROUNDS, early_stop=EarlyStop(monitor="change", patience=ROUNDS)))
    assert ("client", "loss") not in moved


def test_an_adaptive_clip_crosses_with_its_votes_and_noise_where_drift_corrects_for_it() -> None:
    params = FedAvg(rounds=ROUNDS, drift=Drift(action="report"))
    counts, _, _ = crossed(params, Personalized(clipping=Adaptive()))
    assert counts == {
        ("server", "global weights"): ROUNDS,
        ("server", "clip norm"): ROUNDS,
        ("client", "update"): ROUNDS * CLIENTS,
        ("client", "vote"): ROUNDS * CLIENTS,
        ("client", "noise"): ROUNDS * CLIENTS,
        ("client", "risk"): CLIENTS,
        ("server", "multiplier"): CLIENTS,
    }


def test_sent_arrays_are_copies_and_everything_is_counted() -> None:
    wire, mine = Wire(), np.array([1.0, 2.0, 3.0])
    read = wire.to_server(4, "a", "update", mine)
    mine[:] = 0.0
    assert read.tolist() == [1.0, 2.0, 3.0]
    told = wire.to_clients(4, "agreed levels", {"age": 2}, "a")
    assert told == {"age": 2}
    first, second = wire.crossings
    assert (first.round_number, first.sender, first.receiver, first.kind, first.numbers) == (
        4,
        "a",
        SERVER,
        "update",
        3,
    )
    assert first.size >= mine.nbytes
    assert (second.sender, second.receiver, second.numbers) == (SERVER, "a", 0)
    assert wire.to_clients(5, "clip norm", 1.0) == 1.0
    assert wire.crossings[-1].receiver == EVERYONE


@pytest.mark.parametrize(
    ("kind", "content", "error"),
    [
        ("rows of the table", 1, KeyError),
        ("update", np.array([object()]), ValueError),
        ("loss", float("nan"), ValueError),
        ("measured", pd.DataFrame({"age": [1]}), TypeError),
        ("measured", object(), TypeError),
    ],
)
def test_what_the_wire_does_not_list_cannot_cross(kind: str, content: Any, error: type[Exception]) -> None:
    wire = Wire()
    with pytest.raises(error):
        wire.to_server(1, "a", kind, content)
    assert not wire.crossings


def test_every_kind_says_what_it_tells_and_what_covers_it() -> None:
    assert all(kind.about and kind.cover in {"noised", "declared", "public"} for kind in KINDS.values())
