"""Command lines, from their arguments to exit code and what is said."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schemas.faults import DataError, Fault, GoalError

Do = Callable[..., Any]
CANARY = "ZZ-CANARY-7731"


def test_a_run_is_handed_to_the_pipeline_and_its_code_returned(command: Do, pipeline: Any) -> None:
    pipeline.ending = lambda _: 0
    assert command("model=tree").code == 0
    assert pipeline.runs[0].config.model.name == "tree"


def test_faults_are_lines_on_standard_error_and_nothing_else(command: Do, pipeline: Any) -> None:
    ended = command("annon.k=3", "seed=five")
    assert (ended.code, ended.out, len(ended.errors)) == (2, "", 2)
    assert all(line.startswith("error: ") for line in ended.errors)
    assert not pipeline.runs


@pytest.mark.parametrize(("kind", "code"), [(DataError, 3), (GoalError, 4)])
def test_errors_of_a_run_have_their_codes(command: Do, pipeline: Any, kind: Any, code: int) -> None:
    def fail(_: object) -> int:
        raise kind(Fault("column 'age'", "rows 2 and 3 are no numbers", values=CANARY))

    pipeline.ending = fail
    ended = command()
    assert ended.code == code
    assert ended.errors == ["error: column 'age': rows 2 and 3 are no numbers"]
    assert CANARY in command("show_values=true").err


@pytest.mark.parametrize("debug", ["true", "false"])
def test_the_message_of_an_unforeseen_error_is_for_debugging_only(command: Do, pipeline: Any, debug: str) -> None:
    def fail(_: object) -> int:
        raise ValueError(CANARY)

    pipeline.ending = fail
    ended = command(f"debug={debug}")
    assert ended.code == 5
    assert ended.errors[-1].startswith("internal error: ValueError in tests/runner/command/test_cli.py:")
    assert (CANARY in ended.err) == (debug == "true")
    assert ("Traceback" in ended.err) == (debug == "true")


def test_an_interrupted_run_ends_with_130(command: Do, pipeline: Any) -> None:
    def stop(_: object) -> int:
        raise KeyboardInterrupt

    pipeline.ending = stop
    assert command().code == 130


def test_help_fits_one_screen_and_names_every_option(command: Do, mine: Any) -> None:
    mine.write("model/special", "name: tree\n")
    ended = command("--help", "--config-dir", str(mine.folder), toy=False)
    lines = ended.out.splitlines()
    assert ended.code == 0
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    words = ended.out.split()
    assert {"toy", "special", "hospitals*", "adult", "plan", "list", "--config-dir"} <= set(words)


def test_help_with_a_mistyped_option_is_help_and_the_fault(command: Do) -> None:
    ended = command("--help", "dataset=adlut", toy=False)
    assert ended.code == 2
    assert "Groups" in ended.out
    assert ended.errors == [line for line in ended.errors if "did you mean dataset=adult?" in line]
    assert "Traceback" not in ended.err


def test_the_version_is_ours(command: Do) -> None:
    assert command("--version", toy=False).out.startswith("privacy-runner ")


def test_the_composed_configuration_is_shown(command: Do) -> None:
    ended = command("--cfg", "job", "model=tree", "-p", "model")
    assert ended.out == "# @package model\nname: tree\nmax_depth: null\nmin_samples_leaf: 10\n"
    assert "${anonymization.k}" in command("--cfg", "job").out
    assert "${" not in command("--cfg", "job", "--resolve").out
    assert command("--cfg", "hydra").out.startswith("hydra:\n")
    assert command("plan", "--cfg", "job", "-p", "seed").out == "0\n"


def test_values_that_are_wrong_are_shown_all_the_same(command: Do) -> None:
    assert command("--cfg", "job", "seed=five", "-p", "seed").out == "five\n"


def test_a_mistyped_package_is_told(command: Do) -> None:
    assert "did you mean anonymization?" in command("--cfg", "job", "-p", "anonymisation").err


def test_faults_of_the_command_line_are_told_by_cfg_too(command: Do) -> None:
    ended = command("--cfg", "job", "annon.k=3", "model=tre")
    assert (ended.code, len(ended.errors), ended.out) == (2, 2, "")


@pytest.mark.parametrize("flag", [["--cfg", "job"], ["--cfg", "all"], ["--cfg", "job", "--resolve"], ["--info"]])
def test_secrets_are_masked_in_what_is_shown(command: Do, monkeypatch: pytest.MonkeyPatch, flag: list[str]) -> None:
    monkeypatch.setenv("OF_MINE", "hun'ter22")
    ended = command(*flag, "protection.purpose=${oc.env:OF_MINE}", "protection.recipient='x://u:p4ssword@h'")
    assert ended.code == 0
    assert "ter22" not in ended.out
    assert "p4ssword" not in ended.out


def test_hydras_own_account_is_given(command: Do) -> None:
    assert "dataset/toy" in command("--info", "defaults").out
    assert "Hydra" in command("--hydra-help", toy=False).out


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("privacy-runner dataset=di", "dataset=diabetes"),
        ("privacy-runner plan dataset=di", "dataset=diabetes"),
        ("privacy-runner --config-dir options dataset=to", "dataset=toy"),
        ("privacy-runner model=tree model.min", "model.min_samples_leaf="),
        ("privacy-runner pl", "plan"),
        ("privacy-runner [x dataset=", ""),
    ],
)
def test_a_line_is_completed(command: Do, monkeypatch: pytest.MonkeyPatch, line: str, offered: str) -> None:
    monkeypatch.setenv("COMP_LINE", line)
    monkeypatch.setenv("COMP_POINT", str(len(line)))
    ended = command("--shell-completion", "query=bash", toy=False)
    assert (ended.code, ended.err) == (0, "")
    assert offered in ended.out.split() or not offered


def test_completion_is_installed_for_a_shell_that_there_is(command: Do) -> None:
    assert "hydra_bash_completion" in command("-sc", "install=bash", toy=False).out
    assert command("-sc", "install=nosuch", toy=False).code == 2


def test_runs_are_listed_from_the_folder_that_is_configured(command: Do, tmp_path: Path) -> None:
    ended = command("list", f"output.dir={tmp_path / 'elsewhere'}", toy=False)
    assert ended.code == 0
    assert "elsewhere" in ended.out


def test_nothing_is_left_behind_by_answers(command: Do, tmp_path: Path) -> None:
    for arguments in (["--help"], ["--cfg", "job"], ["--info"], ["seed=five"], ["list"]):
        command(*arguments)
    assert os.listdir(tmp_path) == ["options"]  # noqa: PTH208  # hidden ones too
