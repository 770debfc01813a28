import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schemas.faults import DataError, Fault

Do = Callable[..., Any]


def only(folder: Path) -> Path:
    (child,) = folder.iterdir()
    return child


def test_every_combination_is_a_job(command: Do, pipeline: Any, tmp_path: Path) -> None:
    ended = command("-m", "model=tree,forest", "anonymization.k=3,4")
    assert ended.code == 0
    assert [(number, one.config.model.name, one.config.anonymization.k) for number, one in pipeline.jobs] == [
        (0, "tree", 3),
        (1, "tree", 4),
        (2, "forest", 3),
        (3, "forest", 4),
    ]
    assert only(tmp_path / "outputs" / "sweeps" / "toy").is_dir()


def test_jobs_keep_their_overrides_as_they_were_typed(command: Do, pipeline: Any) -> None:
    command("-m", "dataset.split.test=0.2,0.3", "+dataset.columns.n.dtype=text", "+dataset.columns.n.role=drop")
    typed = pipeline.jobs[1][1].overrides
    assert set(typed) == {
        "dataset=toy",
        "dataset.split.test=0.3",
        "+dataset.columns.n.dtype=text",
        "+dataset.columns.n.role=drop",
    }


def test_hydra_leaves_nothing(command: Do, pipeline: Any, tmp_path: Path) -> None:
    assert command("-m", "seed=1,2").code == 0
    assert len(pipeline.jobs) == 2
    assert sorted(os.listdir(tmp_path)) == ["options", "outputs"]  # noqa: PTH208
    assert not [path for path in (tmp_path / "outputs").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "setting",
    ["hydra.sweep.dir=theirs", "hydra.output_subdir=.hydra", "hydra.run.dir=x", "hydra.sweeper.params={seed: 1}"],
)
def test_what_is_taken_over_from_hydra_is_not_set_in_silence(command: Do, pipeline: Any, setting: str) -> None:
    for mode in (("-m", "seed=1,2"), ()):
        ended = command(*mode, setting)
        assert ended.code == 2
        assert "would have no effect" in ended.err
    assert not pipeline.jobs


def test_a_sweep_without_end_is_refused_at_once(command: Do, pipeline: Any) -> None:
    ended = command("-m", "seed=range(0,100000000)", "anonymization.k=3,4")
    assert ended.code == 2
    assert "at most 10,000" in ended.err
    assert not pipeline.jobs


def test_every_choice_is_checked_before_any_job(command: Do, pipeline: Any, tmp_path: Path) -> None:
    ended = command("-m", "model=tree,linear,tre", "anonymization.k=3,five,1", "annon.k=2,3")
    assert ended.code == 2
    assert not pipeline.jobs
    assert not (tmp_path / "outputs").exists()
    told = "\n".join(ended.errors)
    for part in ("model=tre)", "linear can't do", "'five'", "1 is not allowed", "annon.k"):
        assert part in told
    assert told.count("annon.k (") == 1


def test_a_failed_job_does_not_stop_the_others(command: Do, pipeline: Any) -> None:
    def fail(composed: Any) -> int:
        if composed.config.seed == 1:
            raise DataError(Fault("table", "0 rows"))
        if composed.config.seed == 2:
            raise ValueError("ZZ-CANARY-7731")
        return 0

    pipeline.ending = fail
    ended = command("-m", "seed=1,2,3")
    assert [composed.config.seed for _, composed in pipeline.jobs] == [1, 2, 3]
    assert ended.code == 5
    assert "job 0: error: table: 0 rows" in ended.errors
    assert "ZZ-CANARY" not in ended.err
    assert "3 jobs, 2 failed" in ended.out


def test_the_worst_code_is_returned(command: Do, pipeline: Any) -> None:
    pipeline.ending = lambda composed: {1: 3, 2: 4, 3: 0}[composed.config.seed]
    assert command("-m", "seed=1,2,3").code == 4


def test_an_interrupted_sweep_stops(command: Do, pipeline: Any) -> None:
    pipeline.ending = lambda _: 130
    assert command("-m", "seed=1,2,3").code == 130
    assert len(pipeline.jobs) == 1


def test_choices_that_only_clash_together_fail_their_job_alone(command: Do, pipeline: Any) -> None:
    # Each is fine beside the first choice of the other.
    ended = command(
        "-m", "dataset.columns.ward.role=sensitive,insensitive", "anonymization.criteria=choice([],[{name:t,t:0.3}])"
    )
    assert ended.code == 2
    assert [number for number, _ in pipeline.jobs] == [0, 1, 2]
    assert any(line.startswith("job 3: error: anonymization.criteria.0.column") for line in ended.errors)


def test_a_sweep_of_one_is_a_sweep(command: Do, pipeline: Any) -> None:
    assert command("-m").code == 0
    assert [number for number, _ in pipeline.jobs] == [0]


def test_a_file_may_ask_for_a_sweep_and_its_values(command: Do, pipeline: Any, mine: Any) -> None:
    mine.write("experiment/seeds", "# @package _global_\nhydra: {mode: MULTIRUN, sweeper: {params: {seed: '4,5'}}}\n")
    assert command("experiment=seeds").code == 0
    assert [composed.config.seed for _, composed in pipeline.jobs] == [4, 5]


def test_values_that_a_file_asks_for_are_checked_too(command: Do, pipeline: Any, mine: Any) -> None:
    mine.write("experiment/seeds", "# @package _global_\nhydra: {sweeper: {params: {seed: '4,five'}}}\n")
    assert command("-m", "experiment=seeds").code == 2
    assert not pipeline.jobs


def test_no_secret_is_said(command: Do, pipeline: Any) -> None:
    ended = command("-m", "seed=1,2", "protection.purpose='x://u:p4ssword@h'")
    assert len(pipeline.jobs) == 2
    assert "p4ssword" not in ended.out + ended.err


@pytest.mark.parametrize("override", ["seed=", "x=[", "model=glob(zz*)", "seed=interval(1,2)"])
def test_what_stands_for_no_value_is_refused(command: Do, pipeline: Any, override: str) -> None:
    assert command("-m", override).code == 2
    assert not pipeline.jobs


def test_a_glob_stands_for_the_options_it_fits(command: Do, pipeline: Any) -> None:
    assert command("-m", "model=glob(*o*e*t)").code == 0
    assert [composed.config.model.name for _, composed in pipeline.jobs] == ["forest"]
