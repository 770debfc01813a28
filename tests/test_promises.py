"""What must hold, at a size for every day; ``make proof`` runs the same points at full size."""

from pathlib import Path

import pytest

from bench import agreement, anonymisation, federated, methods, points
from bench.product import ADULT

needs_adult = pytest.mark.skipif(not ADULT.exists(), reason="the Adult table is not here")
needs_loans = pytest.mark.skipif(not agreement.LOANS.exists(), reason="the table of loans is not here")
needs_hierarchies = pytest.mark.skipif(
    not (ADULT.exists() and anonymisation.HIERARCHIES.exists()), reason="Adult and its hierarchies are not here"
)
SMALL = ("dataset.source.rows=300", "model=tree")


def test_the_default_run_works_offline_within_a_minute(tmp_path: Path) -> None:
    verdict = points.default_run(tmp_path)
    assert verdict.holds, verdict.figure


@needs_adult
def test_adult_is_k_anonymous_by_an_independent_count(tmp_path: Path) -> None:
    verdict = points.adult_k(tmp_path, k=10)
    assert verdict.holds, verdict.figure


@needs_adult
def test_adult_loses_little_accuracy(tmp_path: Path) -> None:
    verdict = points.adult_accuracy(tmp_path, 100, 0.008, seeds=(0, 1))
    assert verdict.holds, verdict.figure


def test_a_canary_stays_in_the_declared_data_outputs(tmp_path: Path) -> None:
    verdict = points.canary(tmp_path, rows=120, columns=("name", "age", "zip", "diagnosis"))
    assert verdict.holds, verdict.figure


def test_the_order_of_rows_changes_no_byte_of_the_release(tmp_path: Path) -> None:
    verdict = points.row_order(tmp_path, rows=300, shuffles=1)
    assert verdict.holds, verdict.figure


@pytest.mark.parametrize("representative", ["median", "medoid", "range"])
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, representative: str) -> None:
    verdict = points.same_seed(tmp_path, *SMALL, f"anonymization.representative={representative}")
    assert verdict.holds, verdict.figure


def test_a_killed_run_leaves_nothing_half(tmp_path: Path) -> None:
    verdict = points.kills(tmp_path, 4, 1, *SMALL)
    assert verdict.holds, verdict.figure


@needs_hierarchies
@pytest.mark.parametrize("row", [1, 6], ids=["k", "k and l"])
def test_the_best_levels_of_adult_are_found(tmp_path: Path, row: int) -> None:
    verdict = anonymisation.oracle(tmp_path, anonymisation.ORACLE[row : row + 1])
    assert verdict.holds, verdict.figure


@needs_hierarchies
def test_a_benchmark_table_of_eight_columns_runs_complete(tmp_path: Path) -> None:
    verdict = anonymisation.benchmark_tables(tmp_path, ["adult_arx"])
    assert verdict.holds, verdict.figure


def test_eleven_columns_of_three_levels_end_in_time(tmp_path: Path) -> None:
    verdict = anonymisation.eleven_columns(tmp_path)
    assert verdict.holds, verdict.figure


def test_a_large_table_of_eight_columns_is_released_end_to_end(tmp_path: Path) -> None:
    verdict = anonymisation.million(tmp_path, rows=20_000)
    assert verdict.holds, verdict.figure


def test_random_methods_on_random_tables_release_what_was_asked_for_and_told(tmp_path: Path) -> None:
    verdict = methods.methods(tmp_path, examples=25, seed=1_000_000)
    assert verdict.holds, verdict.figure


@needs_adult
def test_minimised_inputs_of_adult_keep_what_was_promised_on_unseen_rows(tmp_path: Path) -> None:
    verdict = agreement.adult(tmp_path, seeds=[0], models=["tree"])
    assert verdict.holds, verdict.figure


@needs_loans
def test_income_and_debts_of_loans_are_asked_for_in_ranges(tmp_path: Path) -> None:
    verdict = agreement.loans(tmp_path, "model.max_iter=15")
    assert verdict.holds, verdict.figure


def test_cancer_severity_is_learned_together_and_record_noise_costs_little(tmp_path: Path) -> None:
    small = ("dataset.source.rows=6000", "comparison.seeds=2", "federation.local.batch_size=64")
    verdict = federated.cancer(tmp_path, *small)
    assert verdict.holds, verdict.figure
