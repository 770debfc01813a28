"""What code ran, and where: versions, the state of the checkout, machine and installed distributions."""

import os
import platform
import subprocess
import sys
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path
from typing import Any

from runner import canonical

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "privacy-runner"
CODE = ("runner", "components", "schemas", "conf")
"""The folders whose state decides what a run does; the rest of a checkout does not."""

GIT_SECONDS = 3.0
THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LOKY_MAX_CPU_COUNT")


def code_facts(root: Path = ROOT) -> dict[str, Any]:
    """Return field 5 of the record: package version and, run from a checkout, its git state.

    Git that is absent, slow or unwilling leaves nulls: what is not known never keeps a run from starting.
    """
    try:
        package_version = version(PACKAGE)
    except PackageNotFoundError:
        package_version = "not installed"
    facts: dict[str, Any] = {"package": PACKAGE, "version": package_version}
    facts |= {"commit": None, "dirty": None, "diff_sha256": None}
    if not (root / ".git").exists():  # an installed copy inside somebody else's checkout is not that checkout
        return facts
    try:
        facts["commit"] = _git(root, "rev-parse", "--verify", "HEAD").decode().strip()
        differences = _differences(root)
    except (OSError, subprocess.SubprocessError):
        return facts
    facts["dirty"] = bool(differences)
    facts["diff_sha256"] = sha256(differences).hexdigest() if differences else None
    return facts


def _differences(root: Path) -> bytes:
    """Return what tells the code from the commit: the diff, then each untracked file with its digest."""
    diff = _git(root, "diff", "--no-ext-diff", "--no-textconv", "--binary", "HEAD", "--", *CODE)
    listed = _git(root, "ls-files", "--others", "--exclude-standard", "-z", "--", *CODE)
    names = sorted(name for name in listed.split(b"\0") if name)
    untracked = (name + b"\0" + canonical.digest_file(root / os.fsdecode(name)).encode() for name in names)
    return diff + b"".join(untracked)


def _git(root: Path, *arguments: str) -> bytes:
    own = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    done = subprocess.run(  # noqa: S603  # fixed arguments, no shell
        ["git", "-c", "core.fsmonitor=false", "-C", str(root), *arguments],  # noqa: S607  # the user's own git
        check=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=GIT_SECONDS,
        env={**own, "GIT_OPTIONAL_LOCKS": "0"},
    )
    return done.stdout


def environment_facts() -> dict[str, Any]:
    """Return field 6 of the record. The machine's name and its user are left out on purpose."""
    installed = dict(_installed(tuple(sys.path)))
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "os": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "threads": {name: os.environ[name] for name in THREAD_LIMITS if name in os.environ},
        "gpu": None,
        "distributions": installed,
        "distributions_sha256": canonical.digest(installed),
    }


@lru_cache(maxsize=1)  # the jobs of a sweep have one environment
def _installed(_path: tuple[str, ...]) -> dict[str, str]:
    """Return name and version of each distribution; of two of one name, the one that Python would import."""
    found: dict[str, str] = {}
    for candidate in distributions():
        if candidate.read_text("METADATA") or candidate.read_text("PKG-INFO"):  # else the rest of a broken uninstall
            found.setdefault(str(candidate.name), str(candidate.version))
    return dict(sorted(found.items()))


def _cpu() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)
