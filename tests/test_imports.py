"""Which folder may import which, and how little a start may import."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HEAVY = ("torch", "sklearn", "pandas", "pandera")
COMPONENTS = sorted(path.name for path in (ROOT / "components").iterdir() if (path / "__init__.py").is_file())

ALLOWED = {
    "schemas": {"schemas"},
    "components": {"schemas", "components"},
    "runner": {"schemas", "components", "runner"},
}
"""Of our own folders, those that each may import from."""

FORBIDDEN = {
    "schemas": {"hydra", "omegaconf", "torch", "sklearn"},
    "components": {"hydra", "omegaconf", "rich"},
    "runner": set[str](),
}
"""Libraries that a folder must do without."""

KNOWS = {
    "data": {"data"},
    "models": {"data", "models"},
    "classes": {"classes"},
    "risk": {"classes", "risk"},
}
"""Inside components, the folders that know nothing of the others (what all share lies beside them)."""


def imported(file: Path) -> Iterator[str]:
    """Yield the modules that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def sources(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("folder", ALLOWED)
def test_imports_run_one_way(folder: str) -> None:
    for file in sources(folder):
        roots = {name.partition(".")[0] for name in imported(file)}
        assert not roots & FORBIDDEN[folder], file
        assert roots & ALLOWED.keys() <= ALLOWED[folder], file
        assert not roots & {"tests", "bench"}, file


@pytest.mark.parametrize("folder", KNOWS)
def test_a_component_knows_only_those_it_stands_on(folder: str) -> None:
    others = set(COMPONENTS) - KNOWS[folder]
    for file in sources(f"components/{folder}"):
        parts = [name.split(".") for name in imported(file)]
        used = {part[1] for part in parts if part[0] == "components" and len(part) > 1}
        assert not used & others, file


@pytest.mark.parametrize(
    "module",
    [
        "components.registry",
        "components.data.declarations",
        "components.models.declarations",
        "components.anonymization.declarations",
        "components.anonymization.search_rules",
        "components.federation.harmonising.declarations",
        "components.federation.partitioning.declarations",
        "schemas.dataset",
        "schemas.run_config",
        "schemas.faults",
    ],
)
def test_declarations_and_contracts_are_light(module: str) -> None:
    assert not loaded(f"import {module}", Path.cwd()) & {*HEAVY, "numpy", "pyarrow", "hydra"}


def loaded(code: str, folder: Path) -> set[str]:
    """Return the top-level modules that a fresh Python holds after running some code."""
    tail = "import sys; print('LOADED', *{name.partition('.')[0] for name in sys.modules})"
    ended = subprocess.run(
        [sys.executable, "-c", f"{code}\n{tail}"], cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    return set(ended.stdout.rpartition("LOADED")[2].split())


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], 0),
        (["--cfg", "job"], 0),
        (["--info", "defaults"], 0),
        (["list"], 0),
        (["annon.k=3", "anonymization.k=five", "dataset=adlut", "x=[âge]"], 2),
        (["plan", "dataset=adult"], 2),
        (["model=linear"], 2),
        (["-m", "anonymization.k=3,five"], 2),
        (["nosuchverb"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_answers_that_need_no_data_import_nothing_heavy(arguments: list[str], code: int, tmp_path: Path) -> None:
    found = loaded(f"from runner.__main__ import main; assert main({arguments!r}) == {code}", tmp_path)
    assert "hydra" in found or arguments == ["nosuchverb"]
    assert not found & set(HEAVY)
