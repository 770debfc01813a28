import subprocess
from pathlib import Path

import pytest

from runner import canonical, environment
from runner.environment import code_facts, environment_facts
from schemas.record import Code, Environment


def git(folder: Path, *arguments: str) -> None:
    own = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *own, "-C", str(folder), *arguments], check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "runner").mkdir()
    (tmp_path / "runner" / "code.py").write_text("x = 1\n")
    (tmp_path / "README.md").write_text("read\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "first")
    return tmp_path


def test_a_clean_checkout_has_a_commit_and_no_differences(checkout: Path):
    (checkout / "README.md").write_text("not code\n")
    (checkout / "notes.txt").write_text("not code\n")
    facts = Code.model_validate(code_facts(checkout))
    assert facts.commit is not None
    assert len(facts.commit) == 40
    assert (facts.dirty, facts.diff_sha256) == (False, None)


def test_changed_and_untracked_code_is_dirty_and_has_a_digest_of_its_own(checkout: Path):
    digests = set()
    for name, text in [("code.py", "x = 2\n"), ("code.py", "x = 3\n"), ("new.py", "y = 1\n"), ("new.py", "y = 2\n")]:
        (checkout / "runner" / name).write_text(text)
        facts = code_facts(checkout)
        assert facts["dirty"]
        digests.add(facts["diff_sha256"])
    assert len(digests) == 4


def test_the_callers_git_variables_do_not_lead_elsewhere(checkout: Path, monkeypatch: pytest.MonkeyPatch):
    expected = code_facts(checkout)
    monkeypatch.setenv("GIT_DIR", str(checkout / "nowhere"))
    assert code_facts(checkout) == expected


def test_outside_a_checkout_the_git_facts_are_null_also_inside_another_one(checkout: Path):
    installed = checkout / "venv" / "site-packages"
    installed.mkdir(parents=True)
    facts = code_facts(installed)
    assert facts["version"]
    assert [facts[name] for name in ("commit", "dirty", "diff_sha256")] == [None] * 3


def test_git_that_is_absent_slow_or_unwilling_never_fails_a_run(checkout: Path, monkeypatch: pytest.MonkeyPatch):
    def slow(*_args: object, **_kwargs: object) -> None:
        raise subprocess.TimeoutExpired("git", 3)

    with monkeypatch.context() as patch:
        patch.setenv("PATH", "")
        assert code_facts(checkout)["commit"] is None
    with monkeypatch.context() as patch:
        patch.setattr(environment.subprocess, "run", slow)
        assert code_facts(checkout)["commit"] is None
    (checkout / ".git" / "HEAD").write_text("damaged")
    assert code_facts(checkout)["commit"] is None


def test_the_environment_lists_every_distribution_under_one_digest(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    facts = Environment.model_validate(environment_facts())
    assert facts.distributions["pydantic"]
    assert facts.distributions_sha256 == canonical.digest(facts.distributions)
    assert facts.threads["OMP_NUM_THREADS"] == "2"


def test_the_remains_of_a_broken_uninstall_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "broken-1.0.dist-info").mkdir()
    shadow = tmp_path / "pydantic-0.0.dist-info"
    shadow.mkdir()
    (shadow / "METADATA").write_text("Metadata-Version: 2.1\nName: pydantic\nVersion: 0.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = environment_facts()["distributions"]
    assert not {"broken", "None"} & set(found)
    assert found["pydantic"] == "0.0"  # what an import would find first
