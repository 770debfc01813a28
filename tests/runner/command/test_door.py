"""Started from anywhere, it is our own packages and configuration that are found."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def started(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "runner", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def crowded(tmp_path: Path) -> Path:
    """Return a folder with packages that are called as ours are, and a module that passes for a library."""
    for name in ("conf", "schemas", "components"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('theirs')\n")
    (tmp_path / "conf" / "config.yaml").write_text("theirs: true\n")
    (tmp_path / "omegaconf.py").write_text("raise SystemExit('theirs')\n")
    return tmp_path


def test_a_folder_with_packages_of_the_same_names_changes_nothing(crowded: Path) -> None:
    shown = started(crowded, "--cfg", "job")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "anonymization:" in shown.stdout
    assert "theirs" not in shown.stdout


def test_packages_that_the_search_path_would_find_first_change_nothing(
    crowded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (crowded / "omegaconf.py").unlink()
    monkeypatch.setenv("PYTHONPATH", str(crowded))
    shown = started(crowded.parent, "--cfg", "job")
    assert (shown.returncode, shown.stderr) == (0, "")


def test_from_our_own_root_it_works_as_well() -> None:
    assert started(ROOT, "--version").stdout.startswith("privacy-runner")


def test_a_fault_is_a_sentence_and_an_exit_code(tmp_path: Path) -> None:
    ended = started(tmp_path, "annon.k=3")
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr == "error: annon.k (annon.k=3): there is no such key; did you mean anonymization.k?\n"
    assert not list(tmp_path.iterdir())


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    line = f"{sys.executable} -m runner --cfg all | true"
    ended = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert ended.stderr == ""
