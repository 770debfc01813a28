"""The built wheel: complete in itself, and not to be confused by what lies in the current folder."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel and unpack it into a folder of its own."""
    work = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(work), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = work.glob("privacy_runner-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(work / "site")
    return work / "site"


def test_every_config_file_is_in_the_wheel(site: Path) -> None:
    ours = {path.relative_to(ROOT) for path in (ROOT / "conf").rglob("*.yaml")}
    assert ours
    assert ours == {path.relative_to(site) for path in (site / "conf").rglob("*.yaml")}


def test_decoys_in_the_current_folder_are_not_taken_for_ours(site: Path, tmp_path: Path) -> None:
    for name in ("conf", "schemas", "components"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError('a decoy was imported')\n", encoding="utf-8")
    (tmp_path / "conf" / "config.yaml").write_text("decoy: true\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-m", "runner", "plan", "dataset.source.rows=300"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "hospitals" in done.stdout
    where = subprocess.run(
        [sys.executable, "-c", "import runner; print(runner.__file__)"],
        cwd=ROOT.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(where.stdout.strip()).is_relative_to(site)
