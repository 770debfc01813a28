"""What a federation and its privacy must hold at full size: right values, experiments, and a plan's arithmetic."""

import subprocess
import sys
from pathlib import Path

import pandas as pd

from bench.points import Verdict, passed
from bench.product import ROOT, Finished, call, environment

PAPER = 0.836
"""Mean absolute error of personalised noise as published (arXiv 2605.02372)."""

VANILLA = 0.05
EPSILON = 3.0
SECONDS = 5.0

RIGHT_VALUES = (
    "test_accounting.py::test_known_values",
    "test_accounting.py::test_another_table_costs_twice_the_clip",
    "test_accounting.py::test_one_accountant_grows_and_never_restarts",
    "test_accounting.py::test_the_largest_weight_sets_the_epsilon_of_a_weighted_average",
    "test_accounting.py::test_calibration_gives_the_known_multipliers",
    "test_gaussian.py::test_delta_at_an_epsilon_is_known",
    "test_gaussian.py::test_ten_releases_have_their_known_epsilon",
    "test_gaussian.py::test_a_target_epsilon_gives_its_known_multiplier",
    "test_audit.py::test_with_noise_and_clip_a_true_claim_is_exceeded_no_more_often_than_chance_allows",
    "test_audit.py::test_what_is_missing_is_found_out",
)

TOGETHER = (
    "test_cancer_by_country.py::test_countries_have_their_known_arirec_on_ten_year_bands",
    "test_training_equivalence.py::",
    "test_training_private.py::",
)

ARITHMETIC = """
import sys, time
from components.dp.planning import Training, planned
from components.dp.declarations import Record
rows = dict(zip("abcdefghij", (200, 350, 700, 1200, 2000, 3500, 5000, 8000, 12_000, 20_000)))
found = planned(Record(personalise=None), rows, Training(rounds=20, batch_size=64, epochs=1))
print(max(each.epsilon.value for each in found.values()), time.process_time())
"""


def privacy_values(work: Path) -> Verdict:
    """Run all tests of privacy; those of right values, and 100 audits, are among them and pass."""
    return passed(work, "tests/dp", RIGHT_VALUES)


def federation_values(work: Path) -> Verdict:
    """Run all tests of federations; those of right values are among them and pass."""
    return passed(work, "tests/federation", TOGETHER)


def arithmetic(_work: Path) -> Verdict:
    """Calibrate ten clients of different rates to one epsilon, in seconds of one processor, all imports included."""
    line = [sys.executable, "-c", ARITHMETIC]
    done = subprocess.run(line, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        return Verdict(holds=False, figure=done.stderr.strip().splitlines()[-1])
    worst, taken = map(float, done.stdout.split())
    return Verdict(worst <= EPSILON and taken < SECONDS, f"{taken:.1f} s of processor time, worst epsilon {worst:.4f}")


def cancer(work: Path, *more: str) -> Verdict:
    """Run the cancer experiment whole: training without noise, and with noise on every step at an epsilon of 3."""
    done = call("experiment=cancer_severity", *more, cwd=work)
    if done.exit_code or done.folder is None:
        return Verdict(holds=False, figure=f"exit {done.exit_code}: {done.stderr.strip()}")
    errors = {name: _error(done, f"federated:{name}") for name in ("vanilla", "record", "personalized", "global")}
    lines = {scope: _error(done, scope) for scope in ("constant", "linear")}
    clients = pd.read_csv(done.folder / "federation" / "comparison_clients.csv")
    worst = clients.loc[clients["scenario"] == "record", "epsilon"].max()
    holds = errors["vanilla"] <= VANILLA and worst <= EPSILON and errors["record"] < PAPER / 2
    shown = ", ".join(f"{name} {error:.4f}" for name, error in {**lines, **errors}.items())
    return Verdict(bool(holds), f"MAE {shown}; record at epsilon {worst:.3f} at most (published: {PAPER} without any)")


def unequal(work: Path, *more: str) -> Verdict:
    """Run the sites of unequal size whole: noise by client against noise alike, at the same worst epsilon."""
    done = call("experiment=unequal_sites", *more, cwd=work)
    if done.exit_code or done.folder is None:
        return Verdict(holds=False, figure=f"exit {done.exit_code}: {done.stderr.strip()}")
    found = pd.read_csv(done.folder / "federation" / "comparison.csv", keep_default_na=False)
    fits = (found["metric"] == "accuracy") & (found["against"] != "")
    pairs = {frozenset((row["scenario"], row["against"])): row for row in found[fits].to_dict("records")}
    row = pairs[frozenset(("by_client", "alike"))]
    low, high = sorted((row["low"], row["high"]), key=abs)
    gain = row["mean"] if row["scenario"] == "by_client" else -row["mean"]
    return Verdict(
        gain > 0 and low * high > 0, f"accuracy {gain:.4f} [{abs(low):.4f}, {abs(high):.4f}] over noise alike"
    )


def _error(done: Finished, scope: str) -> float:
    return done.metric("model", "mae", scope=scope, split="test")
