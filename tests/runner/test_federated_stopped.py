"""What crossed stays on the record: runs that are interrupted, or fail, leave the accounts of what was released."""

import os
import signal
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from bench.counted import cells
from components.dp.accounting import epsilon
from components.dp.conditions import NO_GUARANTEE
from components.dp.releases import Releases
from components.federation import server
from components.federation.harmonising import agreeing
from runner import accounted, federating, pipeline

SIX = ("federation.rounds=6",)


def stop_in(monkeypatch: pytest.MonkeyPatch, number: int, how: Callable[[], Any]) -> None:
    """Stop training at the server, when the updates of a round have arrived."""
    close = server.Server.close

    def closed(self: server.Server, round_number: int, told: Any) -> server.Closed:
        if round_number == number:
            how()
        return close(self, round_number, told)

    monkeypatch.setattr(server.Server, "close", closed)


def fail() -> None:
    raise RuntimeError("out of luck")


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(
    ("how", "code", "status", "word"),
    [(fail, 5, "failed", "failed"), (interrupt, 130, "interrupted", "interrupted")],
    ids=["failed", "interrupted"],
)
def test_what_was_released_until_then_is_accounted_for(
    how: Any, code: int, status: str, word: str, together: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_in(monkeypatch, 3, how)
    done = together.run("dp=personalized", "dp.multiplier=4.0", "dp.target_epsilon=null", *SIX, f"seed={code}")
    assert (done.code, done.record["status"]) == (code, status)
    assert done.record["federation"]["ended"] == f"{word} in round 3 of 6"
    assert [each["number"] for each in done.record["federation"]["rounds"]] == [1, 2]
    clients = done.record["differential_privacy"]["clients"]
    for client in clients:  # the third round's updates had left, and arrived
        assert client["participations"] == 3
        spent = epsilon([Releases(client["multiplier"], times=3, units=2.0)], 1e-5).value
        assert client["epsilon"] == pytest.approx(spent)
        assert "in rounds 1..3" in client["statement"]
    ledger = cells(done.folder / "ledger.csv")
    assert {row["rounds"] for row in ledger if row["kind"] == "update"} == {"1-3"}
    messages = cells(done.folder / "federation/messages.csv")
    sent = Counter(row["round_number"] for row in messages if row["kind"] == "update")
    assert sent == {"1": 4, "2": 4, "3": 4}
    assert len(cells(done.folder / "federation/rounds.csv")) == 2
    assert not [name for name in done.files if name.startswith("model/") or "checkpoint" in name]
    listed = {each["path"] for each in done.record["outputs"]}
    assert {"ledger.csv", "federation/messages.csv", "federation/rounds.csv"} <= listed
    metrics = [row for row in cells(done.folder / "metrics.csv") if row["metric"] == "epsilon"]
    assert len(metrics) == 5


def test_without_noise_it_is_said_that_nothing_covers_what_left(together: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stop_in(monkeypatch, 2, fail)
    done = together.run(*SIX, "seed=41")
    assert done.code == 5
    assert done.record["differential_privacy"] is None
    rows = [row for row in cells(done.folder / "ledger.csv") if row["kind"] == "update"]
    assert {(row["rounds"], row["covered"]) for row in rows} == {("1-2", "False")}


def test_sites_that_told_their_levels_and_never_trained_have_a_ledger_too(
    together: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agreeing._State, "agree", lambda _: fail())  # noqa: SLF001  # between two messages
    done = together.run("dp=record", "seed=42")
    assert done.code == 5
    assert {row["kind"] for row in cells(done.folder / "federation/messages.csv")} == {"hierarchies", "optimum"}
    assert {row["kind"] for row in cells(done.folder / "ledger.csv")} == {"optimum"}
    assert accounted.NOTHING_RELEASED in done.record["warnings"]
    assert done.record["differential_privacy"] is None


def test_where_nothing_crossed_there_is_nothing_to_account_for(together: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "_anonymization", lambda *_: fail())
    done = together.run("dp=record", "seed=46")
    assert done.code == 5
    assert not {"ledger.csv", "federation/messages.csv"} & done.files.keys()
    assert not done.record["warnings"]


def test_a_run_that_fails_after_training_keeps_its_accounts(together: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(federating, "save", lambda *_given, **_more: fail())
    done = together.run("dp=record", "seed=43")
    assert done.code == 5
    assert done.record["federation"]["ended"] == "all rounds are done"
    assert all(NO_GUARANTEE not in each["statement"] for each in done.record["differential_privacy"]["clients"])
    assert {row["kind"] for row in cells(done.folder / "ledger.csv")} >= {"gradients", "all", "figures", "rows"}


def test_a_failure_while_sites_measure_the_model_comes_after_all_rounds(
    together: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(federating, "side_metrics", lambda *_: fail())
    done = together.run("dp=record", "seed=44")
    assert done.record["federation"]["ended"] == "failed after all rounds"
    assert done.record["differential_privacy"]["clients"][0]["participations"] == 2


def test_the_first_error_is_told_though_the_accounts_can_not_be_written(
    together: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_in(monkeypatch, 1, fail)
    monkeypatch.setattr(accounted, "federation_section", lambda *_: {}["nothing"])
    done = together.run(*SIX, "seed=45")
    assert done.code == 5
    assert done.record["error"]["type"] == "RuntimeError"
