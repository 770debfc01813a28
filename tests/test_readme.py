"""What the README shows is run as it stands there."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from runner.__main__ import main

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(kind: str) -> list[tuple[str, str]]:
    return [(name, text) for found, name, text in FENCE.findall(README) if found == kind]


def started(line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    words = shlex.split(line)
    assert words[:3] == ["python", "-m", "runner"], line
    return subprocess.run(
        [sys.executable, *words[1:]], cwd=cwd, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )


def test_the_worked_example_runs(tmp_path: Path) -> None:
    for name, text in [block for kind in ("yaml", "python") for block in blocks(kind) if block[0]]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    subprocess.run([sys.executable, "make_club.py"], cwd=tmp_path, check=True)
    commands = [text.replace("\\\n", "") for _, text in blocks("sh") if text.startswith("python")]
    told = []
    for command in commands:
        done = started(command, tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), command
        told.append(done.stdout)
    plan, anonymised, asked = told
    assert "fault found" in plan
    assert "k            1 -> 10" in anonymised
    assert re.search(r"asked .*agreement .* met", asked)
    assert len(list((tmp_path / "outputs" / "club").glob("*/record.json"))) == 2


def test_one_person_is_asked_as_shown(tmp_path: Path) -> None:
    """The program is run as it stands there, on a smaller run than the one it is shown with."""
    ((_, program),) = (block for block in blocks("python") if block[0] == "ask_one.py")
    (shown,) = re.findall(r"`(python -m runner [^`]*minimization=personal)` one person", README)
    done = started(f"{shown} dataset.source.rows=1500 model=tree", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    said = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert said.stderr == ""
    assert re.fullmatch(r"(\d|1[0-4]) asked, readmitted: (yes|no)\n", said.stdout)


def test_the_faults_are_told_as_shown(tmp_path: Path) -> None:
    (shown,) = (text for _, text in blocks("text") if text.startswith("$"))
    command, _, told = shown.removeprefix("$ ").partition("\n")
    done = started(command, tmp_path)
    assert done.returncode == 2
    assert done.stderr == told


def test_the_first_run_ends_as_shown(tmp_path: Path) -> None:
    (shown,) = (text for _, text in blocks("text") if text.startswith("dataset "))
    done = started("python -m runner", tmp_path)
    said, promised = (_without_noise(text) for text in (done.stdout, shown))
    assert said == promised


def _without_noise(text: str) -> list[str]:
    """Return lines without what privacy noise, new in every run, makes of figures; of what is asked, the first word."""
    lines = re.sub(r"\d*\.\d+", "#", text).splitlines()[:-1]
    return [line.split()[0] if line.startswith(("asked", "warning")) else line for line in lines]


@pytest.mark.parametrize(
    "command", [line for _, text in blocks("text") for line in text.splitlines() if "-m runner" in line]
)
def test_every_command_composes(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = re.split(r"\s{2,}", command.removeprefix("$ "))[0].replace("key=value ...", "")
    words = shlex.split(line)
    assert words[:3] == ["python", "-m", "runner"]
    if "annon.k=3" in words or "-m" in words[3:]:
        return  # the faulty one, and the sweep, which has its own test
    rest = words[3:]
    verbs = [] if rest[:1] in (["plan"], ["list"], ["--help"]) else ["plan"]
    monkeypatch.chdir(tmp_path)
    assert main([*verbs, *rest]) == 0, capsys.readouterr().err
