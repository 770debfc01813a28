"""A whole run that compares scenarios: what it leaves, what it says, and that the figures are those of its seeds."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scipy import stats

from components.dp.accounting import epsilon
from components.dp.claims import shown
from components.dp.conditions import NO_GUARANTEE
from components.dp.releases import Releases

ROOT = Path(__file__).resolve().parents[2]
TINY = (
    "experiment=unequal_sites",
    "dataset.source.rows=1500",
    "dataset.source.hospitals=3",
    "federation.rounds=2",
    "comparison.seeds=3",
    "~comparison.scenarios.by_tier",
)
SCENARIOS = ["vanilla", "by_client", "alike", "by_risk"]


class Ended:
    """How the command ended, and the run folder that it left."""

    def __init__(self, folder: Path, *typed: str) -> None:
        command = [sys.executable, "-m", "runner", *typed, "output.dir=runs"]
        ended = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self.code, self.out, self.err = ended.returncode, ended.stdout, ended.stderr
        assert self.code == 0, self.err
        (self.folder,) = (folder / "runs" / "hospitals").iterdir()
        self.record: dict[str, Any] = json.loads((self.folder / "record.json").read_text(encoding="utf-8"))

    def table(self, name: str) -> pd.DataFrame:
        return pd.read_csv(self.folder / name)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    return Ended(tmp_path_factory.mktemp("compared"), *TINY)


def _bare(run: Ended) -> list[dict[str, Any]]:
    """Return the ledger's rows that no guarantee covers."""
    ledger = run.table("ledger.csv")
    return [*ledger[~ledger["covered"]].to_dict("records")]


def test_every_scenario_at_every_seed_stands_in_a_table(run: Ended) -> None:
    seeds = run.table("data/seeds.csv")
    assert list(seeds["scenario"]) == SCENARIOS * 3
    assert len(seeds[["number", "seed"]].drop_duplicates()) == 3
    assert len(seeds["seed"].drop_duplicates()) == 3
    assert seeds.loc[seeds["scenario"] == "vanilla", "worst_epsilon"].isna().all()
    assert seeds["accuracy"].between(0, 1).all()


def test_means_and_differences_are_those_of_the_seeds(run: Ended) -> None:
    seeds, found = run.table("data/seeds.csv"), run.table("federation/comparison.csv")
    wide = seeds.pivot_table(index="number", columns="scenario", values="accuracy")
    own = found[(found["metric"] == "accuracy") & found["against"].isna()].set_index("scenario")
    assert list(own.index) == SCENARIOS
    for name in SCENARIOS:
        assert own.loc[name, "mean"] == pytest.approx(wide[name].mean())
    gaps = found[(found["metric"] == "accuracy") & found["against"].notna()]
    assert len(gaps) == 6
    for gap in gaps.to_dict("records"):
        ends = stats.ttest_rel(wide[gap["scenario"]], wide[gap["against"]]).confidence_interval(0.95)
        assert (gap["low"], gap["high"]) == pytest.approx((ends.low, ends.high))


def test_metrics_and_record_say_the_same(run: Ended) -> None:
    metrics, found = run.table("metrics.csv"), run.table("federation/comparison.csv")
    for name in SCENARIOS:
        row = metrics[(metrics["scope"] == f"federated:{name}") & (metrics["metric"] == "accuracy")].iloc[0]
        same = found[(found["scenario"] == name) & (found["metric"] == "accuracy") & found["against"].isna()].iloc[0]
        assert list(row[["value", "low", "high"]]) == pytest.approx(list(same[["mean", "low", "high"]]))
    told = run.record["federation"]["comparison"]
    assert list(told["scenarios"]) == sorted(SCENARIOS)
    assert (told["kept"], told["equalise"], len(told["seeds"])) == ("vanilla", "worst_epsilon", 3)
    assert {each["metric"] for each in told["differences"]} == {"accuracy", "balanced_accuracy", "f1", "auc"}


def test_the_worst_client_is_promised_the_same_everywhere(run: Ended) -> None:
    clients = run.table("federation/comparison_clients.csv")
    assert len(clients) == 12
    noised = clients[clients["scenario"] != "vanilla"]
    assert noised.groupby("scenario")["epsilon"].max().to_numpy() == pytest.approx([1.0, 1.0, 1.0], abs=2e-3)
    assert len(set(noised[noised["scenario"] == "alike"]["multiplier"])) == 1
    assert noised[noised["scenario"] == "by_client"]["epsilon"].to_numpy() == pytest.approx([1.0] * 3, abs=2e-3)
    (common,) = run.record["federation"]["comparison"]["equalised"]
    assert (common["reference"], common["unit"]) == ("by_client", "record")


def test_every_client_s_noise_and_sentence_stand_beside_its_epsilon_in_every_scenario(run: Ended) -> None:
    clients = run.table("federation/comparison_clients.csv")
    vanilla, noised = (clients[(clients["scenario"] == "vanilla") == is_it] for is_it in (True, False))
    assert set(vanilla["statement"]) == {NO_GUARANTEE}
    assert vanilla[["epsilon", "multiplier", "steps"]].isna().all(axis=None)
    assert set(noised["mechanism"]) == {"record"}
    assert (noised["epsilon_server"] == noised["epsilon"]).all()
    for row in noised.to_dict("records"):
        spent = epsilon([Releases(row["multiplier"], row["rate"], int(row["steps"]))], row["delta"]).value
        assert spent == pytest.approx(row["epsilon"])
        assert row["statement"].startswith(f"For any two inputs of client {row['client']} that are neighbours")
        assert f"({shown(row['epsilon'])}, 1e-05)-DP" in row["statement"]
    assert f"kept         the model of vanilla at the first seed: {NO_GUARANTEE} (dp=none)" in run.out


def test_the_log_says_how_far_it_came(run: Ended) -> None:
    lines = (run.folder / "events.jsonl").read_text(encoding="utf-8").splitlines()
    told = [each["facts"] for each in map(json.loads, lines) if each["event"] == "scenario trained"]
    assert [(each["number"], each["scenario"]) for each in told] == [(n, name) for n in (1, 2, 3) for name in SCENARIOS]


def test_figures_are_for_those_who_ran_it(run: Ended) -> None:
    classes = {each["path"]: each["release"] for each in run.record["outputs"]}
    for name in ("data/seeds.csv", "federation/comparison.csv", "federation/comparison_clients.csv"):
        assert classes[name] == "internal"
    assert any("each epsilon is of one training alone" in text for text in run.record["limits"])


def test_closing_lines_hold_each_scenario_against_the_reference_lines(run: Ended) -> None:
    lines = run.out.splitlines()
    (first,) = (number for number, line in enumerate(lines) if " constant, " in line and line.startswith("accuracy"))
    assert " linear" in lines[first]
    assert [line.split("] ")[1].split(",")[0] for line in lines[first + 1 : first + 5]] == SCENARIOS
    assert "over 3 paired seeds" in lines[first + 5]
    assert "ledger       of that training alone; 11 others used the same rows" in lines
    assert {row["note"].split(" of")[0] for row in _bare(run) if row["kind"] == "other trainings"} == {"figures"}
    assert len({row["client"] for row in _bare(run)}) == 3
    assert "by_client over alike" in run.out
    assert "by_client: 1 at every client" in run.out
    (risks,) = (line for line in lines if line.startswith("arirec"))
    for client in run.record["federation"]["clients"]:
        assert f"{client['name']} {client['arirec']:.4f}" in risks
    assert run.out.count(NO_GUARANTEE) == 1  # of the model that is kept


def test_a_comparison_that_is_cut_off_has_the_ledger_of_what_it_would_have_kept(tmp_path: Path) -> None:
    # The kept training is over, a second one has begun, and then the run is stopped.
    code = (
        "import sys\n"
        "from components.federation import comparison\n"
        "from runner.__main__ import main\n"
        "real, calls = comparison.federate, []\n"
        "def second(*given, **more):\n"
        "    calls.append(1)\n"
        "    if len(calls) == 2:\n"
        "        raise KeyboardInterrupt\n"
        "    return real(*given, **more)\n"
        "comparison.federate = second\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, *TINY, "~comparison.scenarios.vanilla", "output.dir=runs"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 130, ended.stderr
    (folder,) = (tmp_path / "runs" / "hospitals").iterdir()
    record = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    assert (record["status"], record["federation"]["ended"]) == ("interrupted", "interrupted after all rounds")
    assert record["differential_privacy"]["worst_epsilon"] == pytest.approx(1.0, abs=2e-3)
    ledger = pd.read_csv(folder / "ledger.csv")
    assert {"all", "gradients", "other trainings"} <= set(ledger["kind"])
