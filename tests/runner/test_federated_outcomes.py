"""What goes wrong in a federated run, or nearly does: an exit code and sentences, and no traceback."""

import random
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bench.made import Made
from components.federation import checkpoint, server, stage
from components.federation.checkpoint import Checkpoint, Keeper
from components.federation.rounds import Training
from runner import federating

CLINICS = ["North", "South", "East", "West"]
OPTION: dict[str, Any] = {
    "name": "clinics",
    "source": {"name": "csv", "path": "clinics.csv"},
    "columns": {
        "age": {
            "dtype": "integer",
            "role": "quasi_identifier",
            "min": 0,
            "max": 99,
            "hierarchy": {"name": "intervals", "widths": [10, 50]},
        },
        "sex": {"dtype": "category", "role": "quasi_identifier", "values": ["f", "m"], "hierarchy": "*"},
        "dose": {"dtype": "number", "role": "insensitive", "min": 0, "max": 10},
        "clinic": {"dtype": "category", "role": "insensitive", "values": CLINICS},
        "sick": {"dtype": "category", "role": "insensitive", "values": ["no", "yes"]},
    },
    "client": "clinic",
    "target": "sick",
    "task": "classification",
    "missing": {"markers": ["NA"]},
    "split": {"test": 0.2},
}
FEDERATED = ("model=logistic", "federation=fedavg", "federation.rounds=2", "minimization=none")
RAW = (*FEDERATED, "anonymization=none", "dp=none")
CALM = ("federation/drift=none",)
LATTICE = (*FEDERATED, "anonymization=lattice", "anonymization.k=5", "dp=none")


def clinics(sizes: Mapping[str, int], *, always_sick: str = "") -> Made:
    """Return rows of clinics; at one of them everybody may be sick."""
    draw = random.Random(3)  # noqa: S311  # no secret
    rows = []
    for clinic, size in sizes.items():
        for _ in range(size):
            age, dose = draw.randrange(100), round(10 * draw.random(), 1)
            sick = clinic == always_sick or age / 10 + dose > 10
            cells = {"age": str(age), "sex": draw.choice("fm"), "dose": str(dose)}
            rows.append({**cells, "clinic": clinic, "sick": "yes" if sick else "no"})
    return Made(OPTION, rows)


@pytest.fixture(scope="module")
def site(empty_site: Any) -> Any:
    """Return a site with tables of clinics."""
    empty_site.write("three", clinics({"North": 60, "South": 50, "East": 40}))
    empty_site.write("alike", clinics({"North": 60, "South": 50, "East": 40}, always_sick="East"))
    empty_site.write("tiny", clinics({"North": 60, "South": 50, "East": 3}))
    empty_site.write("lone", clinics({"North": 60}))
    return empty_site


def completed(ended: Any) -> Mapping[str, Any]:
    """Hold a run to what each owes that comes through, and return the federation's section of its record."""
    assert ended.code == 0, ended.err
    assert "Traceback" not in ended.err
    found = ended.record["federation"]
    assert isinstance(found, Mapping)
    return found


def of(found: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    (client,) = (each for each in found["clients"] if each["name"] == name)
    return client  # type: ignore[no-any-return]


def test_a_clinic_of_one_class_trains_like_any_other(site: Any) -> None:
    found = completed(site.run("alike", *RAW))
    assert of(found, "East")["took_part"]
    assert [each["came"] for each in found["rounds"]] == [3, 3]


def test_clients_that_no_row_was_drawn_for_take_no_part(site: Any) -> None:
    skew = ("federation/clients=quantity_skew", "federation.clients.sizes=dirichlet", "federation.clients.alpha=0.05")
    found = completed(site.run("lone", *RAW, *skew))
    idle = [each for each in found["clients"] if not each["took_part"]]
    assert idle
    assert {each["why_not"] for each in idle} == {"it has no train rows"}
    assert {each["train"] for each in idle} == {0}


def test_clients_too_small_to_keep_test_rows_are_told_apart(site: Any) -> None:
    (told,) = site.run("lone", *RAW, "federation/clients=iid", "federation.clients.clients=90").refused(3)
    assert told.startswith("federation.clients: no client has rows enough to be split into train and test rows")


def test_a_clinic_smaller_than_k_ends_the_run_or_is_left_out(site: Any) -> None:
    first, second = site.run("tiny", *LATTICE).refused(4)
    assert "1 of 3 clients can't reach the criteria: 'East'" in first
    assert "client 'East', anonymization.k: k=5 but" in second
    ended = site.run("tiny", *LATTICE, "federation.harmonising.unreachable=leave_out")
    found = completed(ended)
    assert not of(found, "East")["took_part"]
    assert of(found, "East")["why_not"] == "it can't reach the criteria"
    assert "East" not in set(pd.read_csv(ended.release)["clinic"])
    assert any("'East'" in each for each in ended.record["warnings"])


def test_one_client_and_no_rounds_leave_the_first_weights(site: Any) -> None:
    ended = site.run("lone", *RAW, "federation.rounds=0", "dp=record")
    assert completed(ended)["rounds"] == []
    assert "1 client, 0 rounds; all rounds are done; nothing was learned" in ended.out
    assert ended.record["differential_privacy"]["worst_epsilon"] == 0


def test_a_budget_that_the_first_round_would_exceed(site: Any) -> None:
    strength = ("dp.target_epsilon=null", "dp.multiplier=1", "dp.budget=0.001")
    ended = site.run("three", *RAW, "dp=personalized", *strength)
    found = completed(ended)
    assert found["ended"] == "every client's budget is spent"
    assert found["rounds"] == []
    assert ended.record["differential_privacy"]["worst_epsilon"] == 0
    assert "nothing was learned: every client's budget is spent" in ended.record["warnings"]


def test_updates_that_are_no_numbers_are_refused_and_told(site: Any) -> None:
    ended = site.run("three", *RAW, "federation.attacks=[{name: scaling, clients: [East], factor: 1e308}]")
    found = completed(ended)
    assert of(found, "East")["refused"] == 2
    assert "updates of client East were refused in 2 of 2 rounds: no finite vectors" in ended.record["warnings"]
    assert found["attacks"] == ["scaling at East"]


def test_training_that_runs_away_everywhere_is_told(site: Any) -> None:
    ended = site.run("three", *RAW, "federation.local.learning_rate=1e300")
    completed(ended)
    told = "the global weights stayed as they were in 2 of 2 rounds: every update was refused: none was a finite vector"
    assert told in ended.record["warnings"]
    assert "all rounds are done; nothing was learned" in ended.out


def test_all_clients_left_out_is_told(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:

    check = server.check

    def everybody(*given: Any, **more: Any) -> Any:
        found = check(*given, **more)
        out = np.ones(len(found.clients), dtype=bool)
        return type(found)(
            **{**{name: getattr(found, name) for name in found.__slots__}, "excluded": out, "factors": 1.0 - out}
        )

    monkeypatch.setattr(server, "check", everybody)
    ended = site.run("three", *RAW, "seed=7")
    assert completed(ended)["rounds"][0]["stayed"] == "every client was left out"
    assert (
        "the global weights stayed as they were in 2 of 2 rounds: every client was left out" in ended.record["warnings"]
    )


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["federation.attacks=[{name: lazy, clients: [Nowhere]}]"], "'Nowhere'"),
        (["federation/rule=krum"], "krum needs 5 clients"),
        (["dp=global", *CALM, "dp.noise_from=clients", "federation.participation=0.5"], "smallest_cohort"),
        (["dp=global"], "no epsilon holds: drifting clients are left out"),
        (["dp=global", *CALM, "federation/rule=median"], "a robust aggregation is no sum"),
    ],
)
def test_what_can_not_be_is_refused(site: Any, typed: list[str], told: str) -> None:
    code, _, err = site.do(*_line("three", *RAW, *typed))
    assert code == 2
    assert told in err
    assert "Traceback" not in err


def _line(name: str, *typed: str) -> list[str]:
    return [f"dataset={name}", *typed, "output.dir=refused", "--config-dir", "options"]


def test_a_run_keeps_its_last_round_as_long_as_it_lasts_and_goes_on_from_it_to_the_same_model(
    site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[tuple[Path, Checkpoint]] = []

    class Watched(Keeper):
        """A keeper that looks at what it leaves."""

        def after_round(self, training: Training) -> None:
            """Keep it, and look."""
            Keeper.after_round(self, training)
            for path in (self.state, self.history):
                assert path.stat().st_mode & 0o077 == 0
                assert path.parent.parent.parent.name.startswith(".work-")
            kept.append((self.state.parent, checkpoint.read(self.state.parent)))

    monkeypatch.setattr(federating, "Keeper", Watched)
    whole = site.run("three", *RAW, "seed=9")
    completed(whole)
    (folder, first), _ = kept
    assert not folder.exists()
    assert not [name for name in whole.files if "checkpoint" in name]
    monkeypatch.setattr(federating, "federate", lambda *given, **more: stage.federate(*given, **more, checkpoint=first))
    again = site.run("three", *RAW, "seed=9", "show_values=false")
    completed(again)
    for name in ("model/weights.npz", "federation/rounds.csv", "federation/messages.csv", "ledger.csv"):
        assert whole.files[name] == again.files[name]


def _has_a_round(folder: Path) -> bool:
    path = folder / checkpoint.HISTORY
    return path.exists() and path.read_bytes().count(b'{"round": ') > 1  # the state is of the first at least


def test_what_a_killed_run_leaves_is_enough_to_end_with_the_same_model(
    site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = (*RAW, "federation.rounds=40", "seed=10")
    command = [sys.executable, "-m", "runner", *_line("three", *long), "output.dir=killed"]
    running = subprocess.Popen(command, cwd=site.folder, stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while not (found := [*filter(_has_a_round, site.folder.glob("killed/*/.work-*/federation/checkpoint"))]):
            assert running.poll() is None
            assert time.monotonic() < end
            time.sleep(0.002)
    finally:
        running.kill()
        running.wait()
    (left,) = found
    content = checkpoint.read(left)
    reached: list[int] = []

    class Counting(Keeper):
        """A keeper that counts."""

        def after_round(self, training: Training) -> None:
            """Keep it."""
            reached.append(len(training.rounds))
            Keeper.after_round(self, training)

    def going_on(*given: Any, **more: Any) -> stage.Federated:
        keeper = Counting(more["keeper"].state, more["keeper"].history)
        done = stage.federate(*given, **{**more, "keeper": keeper, "checkpoint": content})
        assert len(done.training.rounds) == 40
        return done

    whole = site.run("three", *long)
    monkeypatch.setattr(federating, "federate", going_on)
    again = site.run("three", *long, "show_values=false")
    completed(again)
    assert 0 < len(reached) < 40
    assert whole.files["model/weights.npz"] == again.files["model/weights.npz"]
